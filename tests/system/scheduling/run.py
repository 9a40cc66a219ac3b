#!/usr/bin/env python3
"""Scheduling as users and administrators meet it: reservations, planned starts, reasons in words, preemption and what-if, with real daemons and jobs.

    tests/system/scheduling/run.py --build build/dev
"""

import argparse
import json
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from cluster import Cluster, run_test, wait_for

WAIT = "while :; do sleep 0.2; done"
SETTINGS = ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]


def moment(after_seconds):
    return (datetime.now() + timedelta(seconds=after_seconds)).strftime("%Y-%m-%dT%H:%M:%S")


def reserve(cluster, *words):
    return cluster.run("scontrol", "create", "reservation", *words)


def reason(cluster, job):
    return cluster.job(job).get("Reason")


def started(cluster, job):
    return datetime.fromisoformat(cluster.job(job)["StartTime"])


def cancel_all(cluster):
    cluster.run("scancel", "-u", "root")
    cluster.wait_for_nodes()


def check_refusals(checks, cluster):
    """Slurm's texts and exit codes, and beside them what exactly was wrong."""
    checks.says("a reservation is made", reserve(cluster, "ReservationName=course", "StartTime=now+30minutes", "Duration=60", "Nodes=n1", "Users=root"), 0,
                "Reservation created: course")
    shown = cluster.run("scontrol", "show", "reservation", "course")
    checks.says("and shown", shown, 0, "ReservationName=course", "Duration=01:00:00", "Nodes=n1 NodeCnt=1 CoreCnt=2", "Users=root", "State=INACTIVE")
    times = ["StartTime=now+40minutes", "Duration=60"]
    bad = [
        ("an overlap", ["ReservationName=two", *times, "Nodes=n[1-2]", "Users=root"], "Requested reservation overlaps with another reservation", "course"),
        ("an unknown node", ["ReservationName=two", *times, "Nodes=n9", "Users=root"], "Invalid node name specified", "n9"),
        ("an end before the start", ["ReservationName=two", "StartTime=now+40minutes", "EndTime=now+20minutes", "Nodes=n2", "Users=root"],
         "Requested reservation is invalid", "not after its start"),
        ("nobody to use it", ["ReservationName=two", *times, "Nodes=n2"], "Reservation request lacks users, groups or accounts", "Users="),
        ("a name that is taken", ["ReservationName=course", *times, "Nodes=n2", "Users=root"], "Duplicate reservation name", "course"),
        ("more nodes than are free", ["ReservationName=two", *times, "NodeCnt=3", "Users=root"], "Requested nodes are busy", "only 1 of 3"),
        ("a flag that is not built", ["ReservationName=two", *times, "Nodes=n2", "Users=root", "Flags=MAGNETIC"], "not supported", "MAGNETIC"),
        ("cores instead of nodes", ["ReservationName=two", *times, "CoreCnt=4", "Users=root"], "CoreCnt=", "not built yet"),
        ("a time that is none", ["ReservationName=two", "StartTime=soonish", "Nodes=n2", "Users=root"], "Invalid StartTime", "soonish"),
    ]
    for what, words, *texts in bad:
        checks.says(f"refused: {what}", reserve(cluster, *words), 1, *texts)
    checks.says("sbatch into a reservation that is not there", cluster.run("sbatch", "--reservation=nope", "--wrap", "true"), 1,
                "Batch job submission failed: Requested reservation is invalid", "nope")
    checks.says("a user may not make one", cluster.run("scontrol", "create", "reservation", "ReservationName=mine", *times, "Nodes=n2", "Users=root",
                                                      identity=(65534, 65534, ())), 1, "Access/permission denied")
    checks.says("why of a job that is not there", cluster.run("millrace", "why", "99999"), 1, "Invalid job id specified")
    checks.says("removed", cluster.run("scontrol", "delete", "ReservationName=course"), 0)
    checks.says("and gone", cluster.run("scontrol", "show", "reservation"), 0, "No reservations in the system")


def check_reservation(checks, cluster):
    """Its people start with it, others when it is over; everyone is told."""
    begin, end = moment(8), moment(11)  # what is checked before it begins takes half a second on a quiet machine
    done = reserve(cluster, "ReservationName=lesson", f"StartTime={begin}", f"EndTime={end}", "Nodes=n1", "Users=root", "Flags=FLEX")
    checks.says("a reservation of a few seconds", done, 0, "Reservation created: lesson")
    checks.says("changed", cluster.run("scontrol", "update", "ReservationName=lesson", "Flags=-FLEX"), 0, "Reservation updated.")
    own = cluster.submit("--reservation=lesson", "-n1", "-t", "1", "-o", "/dev/null", "--wrap", WAIT)
    wide = cluster.submit("-N2", "-n2", "-t", "5", "-o", "/dev/null", "--wrap", "true")
    wait_for("the reason of a job that waits for its reservation", lambda: reason(cluster, own) == "Reservation")
    wait_for("the reason of a job that would run into it", lambda: reason(cluster, wide) == "Resources")
    checks.says("why: the reservation", cluster.run("millrace", "why", str(own)), 0, "Reservation lesson begins in", f"Expected start: {begin}")
    checks.says("why: in the way", cluster.run("millrace", "why", str(wide)), 0, "Reservation lesson keeps 1 node", f"Expected start: {end}")
    wait_for("a planned start", lambda: end in cluster.run("squeue", "--start", "-h", "-j", str(wide)).out)
    checks.that("squeue --start shows the end of the reservation", True)
    cluster.wait_for_job(wide)
    checks.that("the wide job started when the reservation was over", started(cluster, wide) >= datetime.fromisoformat(end), cluster.job(wide))
    # A job's limit is a minute at least, so it could not end within this window and was never started in it.
    checks.that("a job that does not fit its reservation does not start", cluster.job(own).get("JobState") == "PENDING", cluster.job(own))
    wait_for("the reason after the end", lambda: reason(cluster, own) == "ReservationDeleted")
    checks.that("and is told that the reservation is gone", True)
    cancel_all(cluster)


def check_own_job(checks, cluster):
    begin = moment(3)
    checks.says("an hour from soon on", reserve(cluster, "ReservationName=hour", f"StartTime={begin}", "Duration=60", "Nodes=n2", "Users=root"), 0)
    own = cluster.submit("--reservation=hour", "-n1", "-t", "1", "-o", "/dev/null", "--wrap", "true")
    other = cluster.submit("-n1", "-w", "n2", "-t", "1", "-o", "/dev/null", "--wrap", "true")
    fields = cluster.wait_for_job(own)
    checks.that("its job starts with it, on its node", fields.get("NodeList") == "n2" and started(cluster, own) >= datetime.fromisoformat(begin), fields)
    checks.that("another's job there waits", cluster.job(other).get("JobState") == "PENDING", cluster.job(other))
    checks.says("show says that it is active", cluster.run("scontrol", "show", "reservation", "hour"), 0, "State=ACTIVE")
    checks.says("removed", cluster.run("scontrol", "delete", "reservation=hour"), 0)
    checks.that("and the other's job runs", cluster.wait_for_job(other).get("JobState") == "COMPLETED")


def check_plan(checks, cluster):
    """Planned starts: squeue, why and what-if agree."""
    long = cluster.submit("-n2", "-w", "n1", "-t", "60", "-J", "long", "-o", "/dev/null", "--wrap", WAIT)
    short = cluster.submit("-n2", "-w", "n2", "-t", "30", "-J", "short", "-o", "/dev/null", "--wrap", WAIT)
    for job in (long, short):
        cluster.wait_for_job(job, ("RUNNING",))
    wide = cluster.submit("-N2", "-n4", "-t", "10", "-J", "wide", "-o", "/dev/null", "--wrap", "true")
    expected = (started(cluster, long) + timedelta(minutes=60)).strftime("%Y-%m-%dT%H:%M:%S")
    line = wait_for("a planned start", lambda: (found := cluster.run("squeue", "--start", "-h", "-j", str(wide)).out) and "T" in found and found)
    checks.that("squeue --start: when the longest is over", expected in line and "n[1-2]" in line, f"{line} wanted {expected}")
    checks.says("why says who is waited for, and until when", cluster.run("millrace", "why", str(wide)), 0, f"Job {wide} is waiting (Resources)",
                f"2 running jobs, the last of them job {long}", f"Expected start: {expected} on n[1-2]", "Sooner on 1 node")
    sooner = (started(cluster, long) + timedelta(minutes=40)).strftime("%Y-%m-%dT%H:%M:%S")
    checks.says("what if the long one were shorter", cluster.run("millrace", "sim", "whatif", "--limit", f"{long}=40"), 0, expected, sooner, "-00:20:00",
                "sooner 1 job")
    done = cluster.run("millrace", "sim", "whatif", "--without-nodes", "n2", "--json")
    found = json.loads(done.out) if done.code == 0 else {}
    checks.that("what if a node left", found.get("no_more") == 1 and found["jobs"][0]["after"] is None, done)
    checks.says("what if a job came", cluster.run("millrace", "sim", "whatif", "--submit", "-n1 -t 5"), 0, "new ")
    checks.says("what if: an unknown node", cluster.run("millrace", "sim", "whatif", "--without-nodes", "n9"), 1, "no node 'n9'")
    checks.says("what if: a job that is refused", cluster.run("millrace", "sim", "whatif", "--submit", "-N9"), 1, "would be refused")
    checks.says("what if: nothing", cluster.run("millrace", "sim", "whatif"), 1, "nothing is supposed")
    cancel_all(cluster)


def check_preemption(checks, cluster):
    out = cluster.directory / "victim.out"
    victim = cluster.submit("-N2", "-n4", "-t", "60", "-o", out, "--open-mode=append", "--wrap", f"echo attempt $SLURM_RESTART_COUNT; {WAIT}")
    cluster.wait_for_job(victim, ("RUNNING",))
    wait_for("its first words", lambda: out.exists() and "attempt" in out.read_text())
    urgent = cluster.submit("-p", "urgent", "-n1", "-t", "5", "-o", "/dev/null", "--wrap", "true")
    fields = cluster.wait_for_job(urgent)
    checks.that("a job of a higher tier starts at once", fields.get("JobState") == "COMPLETED", fields)
    text = wait_for("the words of the end", lambda: "PREEMPTION" in (found := out.read_text()) and found)
    checks.that("the victim's output says why it ended", re.search(rf"JOB {victim} ON n1 CANCELLED AT .* DUE TO PREEMPTION", text), text)
    cluster.wait_for_job(victim, ("RUNNING",))
    checks.that("the victim runs again", wait_for("its second attempt", lambda: "attempt 1" in out.read_text()), out.read_text())
    checks.that("and was counted as restarted", cluster.job(victim).get("Restarts") == "1", cluster.job(victim))
    cancel_all(cluster)


def body(build):
    def run(checks, directory, clusters):
        cluster = Cluster(build, directory / "c", nodes=2, cpus=2, settings=SETTINGS,
                          partitions=["PartitionName=urgent Nodes=n1,n2 PriorityTier=10 MaxTime=INFINITE State=UP"])
        clusters.append(cluster)
        cluster.start()
        check_refusals(checks, cluster)
        check_reservation(checks, cluster)
        check_own_job(checks, cluster)
        check_plan(checks, cluster)
        check_preemption(checks, cluster)
        checks.that("no daemon crashed", not cluster.crashed(), cluster.crashed())
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    build = Path(parser.parse_args().build).resolve()
    return run_test("scheduling", body(build))


if __name__ == "__main__":
    sys.exit(main())

"""Scheduling as users and administrators meet it: reservations, planned starts, reasons in words, preemption, what-if and heterogeneous jobs, with real daemons and jobs.
"""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

from cluster import Cluster, limit, wait_for

WAIT = "while :; do sleep 0.2; done"
SETTINGS = ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2, cpus=2, settings=SETTINGS, partitions=["PartitionName=urgent Nodes=n1,n2 PriorityTier=10 MaxTime=INFINITE State=UP"])


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


def test_refusals(checks, cluster):
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
        ("a flag that is not built", ["ReservationName=two", *times, "Nodes=n2", "Users=root", "Flags=FIRST_CORES"], "not supported", "FIRST_CORES"),
        ("cores instead of nodes", ["ReservationName=two", *times, "CoreCnt=4", "Users=root"], "CoreCnt=", "not built yet"),
        ("a time that is none", ["ReservationName=two", "StartTime=soonish", "Nodes=n2", "Users=root"], "Invalid StartTime", "soonish"),
        ("no start", ["ReservationName=two", "Duration=60", "Nodes=n2", "Users=root"], "A start time must be given.  No reservation created."),
        ("no end", ["ReservationName=two", "StartTime=now", "Nodes=n2", "Users=root"], "An end time or duration must be given.  No reservation created."),
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


def test_reservation(checks, cluster):
    """Its people start with it, others when it is over; everyone is told."""
    begin, end = moment(3600), moment(3660)
    done = reserve(cluster, "ReservationName=lesson", f"StartTime={begin}", f"EndTime={end}", "Nodes=n1", "Users=root", "Flags=FLEX")
    checks.says("a reservation of a few seconds", done, 0, "Reservation created: lesson")
    checks.says("changed", cluster.run("scontrol", "update", "ReservationName=lesson", "Flags=-FLEX"), 0, "Reservation updated.")
    own = cluster.submit("--reservation=lesson", "-n1", "-t", "30", "-o", "/dev/null", "--wrap", WAIT)
    second = cluster.submit("--reservation=lesson", "--exclusive", "-d", f"afternotok:{own}", "-o", "/dev/null", "--wrap", "true")
    wide = cluster.submit("-N2", "-n2", "-t", "120", "-o", "/dev/null", "--wrap", "true")
    wait_for("the reason of a job that waits for its reservation", lambda: reason(cluster, own) == "Reservation")
    wait_for("the reason of a job that would run into it", lambda: reason(cluster, wide) == "Resources")
    checks.says("why: the reservation", cluster.run("millrace", "why", str(own)), 0, "Reservation lesson begins in", f"Expected start: {begin}")
    checks.says("why: in the way", cluster.run("millrace", "why", str(wide)), 0, "Reservation lesson keeps 1 node", f"Expected start: {end}")
    wait_for("a planned start", lambda: end in cluster.run("squeue", "--start", "-h", "-j", str(wide)).out)
    checks.that("squeue --start shows the end of the reservation", True)
    # It is drawn nearer now that all was asked which can only be asked before, and ends when its job runs.
    begin = moment(0)
    checks.says("it begins at once", cluster.run("scontrol", "update", "ReservationName=lesson", "StartTime=now", "Duration=10"), 0, "Reservation updated.")
    cluster.wait_for_job(own, ("RUNNING",))
    end = moment(limit(5))
    checks.says("and ends soon", cluster.run("scontrol", "update", "ReservationName=lesson", f"EndTime={end}"), 0, "Reservation updated.")
    cluster.wait_for_job(wide)
    checks.that("the wide job started when the reservation was over", started(cluster, wide) >= datetime.fromisoformat(end), cluster.job(wide))
    fields = cluster.wait_for_job(own)
    checks.that("a job whose limit is longer than the reservation starts with it and ends with it", fields.get("JobState") == "TIMEOUT"
                and started(cluster, own) >= datetime.fromisoformat(begin), fields)
    wait_for("the reason after the end", lambda: reason(cluster, second) == "ReservationDeleted")
    checks.that("one that did not start is told that the reservation is gone", True)
    cancel_all(cluster)


def test_own_job(checks, cluster):
    checks.says("an hour from later on", reserve(cluster, "ReservationName=hour", "StartTime=now+2hours", "Duration=60", "Nodes=n2", "Users=root"), 0)
    own = cluster.submit("--reservation=hour", "-n1", "-t", "1", "-o", "/dev/null", "--wrap", "true")
    wait_for("its job waits", lambda: reason(cluster, own) == "Reservation")
    begin = moment(0)
    checks.says("it begins at once", cluster.run("scontrol", "update", "ReservationName=hour", "StartTime=now", "Duration=60"), 0)
    other = cluster.submit("-n1", "-w", "n2", "-t", "1", "-o", "/dev/null", "--wrap", "true")
    fields = cluster.wait_for_job(own)
    checks.that("its job starts with it, on its node", fields.get("NodeList") == "n2" and started(cluster, own) >= datetime.fromisoformat(begin), fields)
    checks.that("another's job there waits", cluster.job(other).get("JobState") == "PENDING", cluster.job(other))
    checks.says("show says that it is active", cluster.run("scontrol", "show", "reservation", "hour"), 0, "State=ACTIVE")
    checks.says("removed", cluster.run("scontrol", "delete", "reservation=hour"), 0)
    checks.that("and the other's job runs", cluster.wait_for_job(other).get("JobState") == "COMPLETED")


def test_reasons(checks, cluster):
    """Where nodes are the trouble, the reason says which, or that they are kept."""
    maintenance = reserve(cluster, "start=now", "duration=60", "nodes=ALL", "user=root", "flag=maint,ignore_jobs")
    checks.says("maintenance of all nodes, in short words", maintenance, 0, "Reservation created: root_")
    checks.says("its flags say that all nodes were named", cluster.run("scontrol", "show", "reservation"), 0, "Flags=MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES", "AllowedPartitions=(null) QOS=(null)")
    job = cluster.submit("-n1", "-o", "/dev/null", "--wrap", "true")
    wait_for("the reason of a job during maintenance", lambda: reason(cluster, job) == "ReqNodeNotAvail,_Reserved_for_maintenance")
    checks.that("squeue says it with a blank", "(ReqNodeNotAvail, Reserved for maintenance)" in cluster.run("squeue", "-h", "-j", str(job)).out)
    checks.that("JSON has the word and the words", '"state_reason": "ReqNodeNotAvail"' in (data := cluster.run("squeue", "--json", "-j", str(job)).out)
                and '"state_description": "ReqNodeNotAvail, Reserved for maintenance"' in data, data)
    cluster.run("scontrol", "delete", "res=" + maintenance.out.split()[-1])
    cluster.wait_for_job(job)
    cluster.run("scontrol", "update", "node=n2", "state=down", "reason=test")
    other = cluster.submit("-w", "n2", "-n1", "-o", "/dev/null", "--wrap", "true")
    wait_for("the reason of a job whose node is down", lambda: reason(cluster, other) == "ReqNodeNotAvail,_UnavailableNodes:n2")
    cluster.run("scontrol", "update", "node=n2", "state=resume")
    checks.that("it starts when the node is back", cluster.wait_for_job(other).get("JobState") == "COMPLETED")
    failing = cluster.submit("-n1", "-o", "/dev/null", "--wrap", f"{cluster.bin}/srun sh -c 'exit 3'; exit 0")
    cluster.wait_for_job(failing)
    checks.says("what steps came to is beside what the script did", cluster.run("scontrol", "-d", "show", "job", str(failing)), 0, "ExitCode=0:0", "DerivedExitCode=3:0")


def test_plan(checks, cluster):
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


def test_preemption(checks, cluster):
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


def documented_script():
    """The example of the page about heterogeneous jobs."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "user" / "het-jobs.md").read_text()
    return page.split("```sh\n")[1].split("```")[0]


def test_components(checks, cluster):
    """A heterogeneous job: its components start together, its script is told of all of them, and they end together."""
    script = cluster.directory / "coupled.sh"
    script.write_text(documented_script().replace("srun ", f"{cluster.bin}/srun "))
    done = cluster.run("sbatch", script, cwd=cluster.directory)
    job = int(done.out.split()[-1])
    checks.says("the page's example is submitted", done, 0, f"Submitted batch job {job}")
    first = cluster.wait_for_job(f"{job}+0")
    second = cluster.job(f"{job}+1")
    text = (cluster.directory / f"coupled.{job}.out").read_text()
    checks.that("its script knows both components", text.startswith("2 components\nthe coupler has n1\nthe model has 2 tasks on n2\n"), text)
    checks.that("and runs a step over both", sorted(text.splitlines()[3:]) == ["0: couple", "1: compute", "2: compute"], text)
    checks.that("both completed", first.get("JobState") == second.get("JobState") == "COMPLETED", (first, second))
    checks.that("they started together", first["StartTime"] == second["StartTime"], (first, second))

    out = cluster.directory / "het.out"
    variables = "set | grep ^SLURM | sort"
    job = cluster.submit("-n1", "-c2", "-t", "60", "-o", out, "-J", "het", ":", "-N1", "-n2", "-p", "urgent", "--mem=100", "--wrap", f"{variables}; echo told; {WAIT}")
    cluster.wait_for_job(f"{job}+0", ("RUNNING",))
    text = wait_for("the script's words", lambda: out.exists() and "told" in (found := out.read_text()) and found)
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    wanted = {"SLURM_HET_SIZE": "2", "SLURM_JOB_ID": job, "SLURM_JOB_ID_HET_GROUP_0": job, "SLURM_JOB_ID_HET_GROUP_1": job + 1, "SLURM_JOB_NODELIST": "n1",
              "SLURM_JOB_NODELIST_HET_GROUP_0": "n1", "SLURM_JOB_NODELIST_HET_GROUP_1": "n2", "SLURM_JOB_NUM_NODES_HET_GROUP_1": "1",
              "SLURM_NTASKS_HET_GROUP_0": "1", "SLURM_NTASKS_HET_GROUP_1": "2", "SLURM_CPUS_PER_TASK_HET_GROUP_0": "2", "SLURM_JOB_PARTITION_HET_GROUP_1": "urgent",
              "SLURM_CPUS_ON_NODE_HET_GROUP_1": "2", "SLURM_TASKS_PER_NODE_HET_GROUP_1": "2", "SLURM_MEM_PER_NODE_HET_GROUP_1": "100"}
    found = {name: values.get(name, "").strip("'") for name in wanted}
    checks.that("the variables of all components", found == {name: str(value) for name, value in wanted.items()}, found)
    rows = cluster.run("squeue", "-h", "-o", "%i %T %N", "-j", str(job)).out.split("\n")
    checks.that("squeue -j shows all components", sorted(filter(None, rows)) == [f"{job}+0 RUNNING n1", f"{job}+1 RUNNING n2"], rows)
    checks.that("squeue -j J+1 shows one", cluster.run("squeue", "-h", "-o", "%i", "-j", f"{job}+1").out == f"{job}+1\n")
    checks.says("squeue names them", cluster.run("squeue", "-h", "-O", "HetJobId,HetJobOffset,HetJobIdSet", "-j", f"{job}+1"), 0, str(job), f"{job}-{job + 1}")
    checks.says("scontrol shows all", cluster.run("scontrol", "show", "job", str(job)), 0, f"JobId={job} HetJobId={job} HetJobOffset=0 JobName=het",
                f"JobId={job + 1} HetJobId={job} HetJobOffset=1 JobName=het", f"HetJobIdSet={job}-{job + 1}")
    checks.says("an unknown component: squeue lists nothing", cluster.run("squeue", "-h", "-j", f"{job}+9", "-o", "[%i]"), 0)
    checks.says("an unknown component: scontrol", cluster.run("scontrol", "show", "job", f"{job}+9"), 1, f"Job {job}+9 not found")
    checks.says("an unknown component: scancel", cluster.run("scancel", "-v", f"{job}+9"), 0, "Invalid job id specified")

    waiting = cluster.submit("-n1", "-t", "10", "-o", "/dev/null", ":", "-n2", "-t", "10", "--wrap", "true")
    line = wait_for("a planned start", lambda: (found := cluster.run("squeue", "--start", "-h", "-j", f"{waiting}+1").out) and "T" in found and found)
    checks.that("both have one planned start", line.split()[5:6] == cluster.run("squeue", "--start", "-h", "-j", f"{waiting}+0").out.split()[5:6], line)
    checks.says("why: who keeps whom", cluster.run("millrace", "why", str(waiting)), 0, "2 components, which start together", "Component 1 asks for 2 CPUs on 1 node")
    checks.says("one component of a waiting job cannot be cancelled", cluster.run("scancel", f"{waiting}+1"), 1,
                f"Kill job error on job id {waiting}+1: Operation not permitted on individual component of heterogeneous job")
    checks.says("nor held", cluster.run("scontrol", "hold", f"{waiting}+1"), 1, "Operation not permitted on individual component")
    checks.says("held as one", cluster.run("scontrol", "hold", str(waiting)), 0)
    checks.that("both are", [cluster.job(f"{waiting}+{i}").get("Reason") for i in (0, 1)] == ["JobHeldUser"] * 2, cluster.jobs())
    cluster.run("scancel", str(waiting))
    checks.that("cancelled as one", [cluster.job(f"{waiting}+{i}").get("JobState") for i in (0, 1)] == ["CANCELLED"] * 2, cluster.jobs())
    checks.says("a running component is cancelled alone", cluster.run("scancel", f"{job}+1"), 0)
    cluster.wait_for_job(f"{job}+1")
    checks.that("the leader goes on", [cluster.job(f"{job}+{i}").get("JobState") for i in (0, 1)] == ["RUNNING", "CANCELLED"], cluster.jobs())
    cluster.run("scancel", str(job))
    checks.that("until it is cancelled", cluster.wait_for_job(f"{job}+0").get("JobState") == "CANCELLED")
    checks.says("test only", cluster.run("sbatch", "--test-only", "-n1", ":", "-n2", "--wrap", "true"), 0, "to start at", "using 3 processors on nodes n[1-2]")

    bad = [
        ("an empty component", ["-n1", ":", ":", "-n1", "--wrap", "true"], "HetJob component must not be an empty string"),
        ("nothing after the last ':'", ["-n1", "--wrap", "true", ":"], "HetJob component must not be an empty string"),
        ("an array", ["-n1", "-a", "1-3", ":", "-n1", "--wrap", "true"], "Invalid job array specification", "component 0"),
        ("a component no node could hold", ["-n1", ":", "-N1", "-n64", "--wrap", "true"], "Requested node configuration is not available", "component 1"),
        ("a dependency of a later component", ["-n1", ":", "-n1", "-d", "singleton", "--wrap", "true"], "Job dependency problem", "component 1"),
    ]
    before = len(cluster.jobs())
    for what, words, *texts in bad:
        checks.says(f"refused: {what}", cluster.run("sbatch", *words), 1, *texts)
    for what, lines, text in [("a hetjob line before all options", "#SBATCH hetjob\n#SBATCH -n1", "stands before the options"),
                              ("a hetjob line after all options", "#SBATCH -n1\n#SBATCH hetjob", "one more component")]:
        checks.says(f"refused: {what}", cluster.run("sbatch", stdin=f"#!/bin/sh\n{lines}\ntrue\n"), 1, text)
    checks.says("refused: srun with a component that has no program", cluster.run("srun", "-n1", ":", "-n1", "true"), 1, "No command given to execute")
    checks.that("nothing of them was submitted", len(cluster.jobs()) == before, cluster.jobs())
    cancel_all(cluster)

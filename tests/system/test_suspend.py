"""Suspended jobs with real daemons and processes: scontrol suspend and resume, across kills of agent and controller, preemption by
SUSPEND, jobs that take turns on the same CPUs, and the signal at the start of a grace.
"""

import time
from pathlib import Path

from cluster import Cluster, wait_for

SETTINGS = ["PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG", "SchedulerTimeSlice=3"]
NOBODY = (65534, 65534, ())


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2, cpus=2, settings=SETTINGS,
                   partitions=["PartitionName=urgent Nodes=n[1-2] PriorityTier=5 MaxTime=INFINITE", "PartitionName=shared Nodes=n2 OverSubscribe=FORCE:2 MaxTime=INFINITE",
                               "PartitionName=graced Nodes=n1 PreemptMode=CANCEL GraceTime=300 MaxTime=INFINITE"])


def counting(path):
    return f"i=0; while :; do i=$((i+1)); echo $i > {path}.new; mv {path}.new {path}; sleep 0.05; done"


def count(path):
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return 0


def states(cluster, job_directory=None):
    """States in /proc of all processes of the cluster's jobs, or of those in one attempt's directory."""
    found = []
    for pid, directory in cluster.job_processes():
        if job_directory and job_directory not in directory:
            continue
        try:
            found.append(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0])
        except OSError:
            continue
    return found


def stopped(found):
    """A shell that vforked a child which was stopped before its exec waits for it in the kernel (D)."""
    return "T" in found and set(found) <= {"T", "D"}


def wait_for_stop(cluster):
    wait_for("all processes stopped", lambda: stopped(states(cluster)))


def wait_for_more(path, than):
    return wait_for(f"{path} counts on", lambda: (now := count(path)) > than and now)


def test_by_order(checks, cluster):
    """A counting job stops and goes on; agent and controller may be killed meanwhile."""
    path, begin = cluster.directory / "count", time.monotonic()
    job = cluster.submit("-n1", "-t", "10", "-o", "/dev/null", "--wrap", counting(path))
    wait_for_more(path, 3)
    checks.says("a user may not suspend", cluster.run("scontrol", "suspend", str(job), identity=NOBODY), 1, "Access/permission denied")
    checks.says("a running job cannot be resumed", cluster.run("scontrol", "resume", str(job)), 1, "Job is not suspended for job")
    checks.says("suspended", cluster.run("scontrol", "suspend", str(job)), 0)
    pause_begin = time.monotonic()
    fields = cluster.job(job)
    checks.that("shown as suspended", fields["JobState"] == "SUSPENDED" and fields["SuspendTime"] != "None", fields)
    checks.that("squeue shows it without being asked", str(job) in cluster.run("squeue", "-h", "-o", "%i").out.split())
    checks.that("squeue says S", cluster.run("squeue", "-h", "-t", "S", "-o", "%t %i").out.split() == ["S", str(job)])
    checks.says("twice is refused", cluster.run("scontrol", "suspend", str(job)), 1, "Job is current suspended, requested operation disabled")
    wait_for_stop(cluster)
    stopped_at = count(path)
    checks.says("signals are refused", cluster.run("scancel", "-s", "USR1", str(job)), None, "suspended")
    whole = cluster.submit("-N1", "-n2", "-w", fields["NodeList"], "-t", "1", "-o", "/dev/null", "--wrap", "true")
    checks.that("its CPUs are there for others", cluster.wait_for_job(whole)["JobState"] == "COMPLETED")
    for node in cluster.nodes:
        cluster.agents[node].kill()
        cluster.start_agent(node)
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    wait_for("all nodes back", lambda: all(state in ("idle", "mix") for state in cluster.node_states().values()) and len(cluster.node_states()) == len(cluster.nodes))
    checks.that("still suspended after kill -9 of agents and controller", cluster.job(job)["JobState"] == "SUSPENDED")
    checks.that("and its processes still stopped", count(path) == stopped_at and stopped(states(cluster)), states(cluster))
    pause = time.monotonic() - pause_begin
    checks.says("resumed", cluster.run("scontrol", "resume", str(job)), 0)
    wait_for_more(path, stopped_at)
    checks.that("runs again, and counts on", cluster.job(job)["JobState"] == "RUNNING")
    hours, minutes, seconds = map(int, cluster.job(job)["RunTime"].split(":"))
    longest = time.monotonic() - begin - pause
    checks.that("its run time leaves the pause out", (hours * 60 + minutes) * 60 + seconds < longest + 2, (hours, minutes, seconds, longest, pause))
    cluster.run("scontrol", "suspend", str(job))
    wait_for_stop(cluster)
    checks.says("a stopped job is cancelled", cluster.run("scancel", str(job)), 0)
    checks.that("and ends", cluster.wait_for_job(job)["JobState"] == "CANCELLED")
    wait_for("nothing is left of it", lambda: not cluster.job_processes())


def test_preemption(checks, cluster):
    """A job of a higher tier stops the one below it; it goes on afterwards."""
    path = cluster.directory / "low"
    low = cluster.submit("-N1", "-n2", "-w", "n1", "-t", "10", "-o", "/dev/null", "--wrap", counting(path))
    wait_for_more(path, 3)
    release = cluster.directory / "release"
    urgent = cluster.submit("-p", "urgent", "-N1", "-n2", "-w", "n1", "-t", "10", "-o", "/dev/null", "--wrap", f"while [ ! -e {release} ]; do sleep 0.1; done")
    cluster.wait_for_job(urgent, ("RUNNING",))
    checks.that("the urgent job runs and the other is suspended", cluster.job(low)["JobState"] == "SUSPENDED", cluster.job(low))
    wait_for("the other is stopped", lambda: "T" in states(cluster))
    stopped_at = wait_for("the count stands still", lambda: (before := count(path)) and stopped(states(cluster, f"/{key_of(cluster, path)}")) and before)
    release.write_text("")
    checks.that("the urgent one ends", cluster.wait_for_job(urgent)["JobState"] == "COMPLETED")
    wait_for_more(path, stopped_at)
    checks.that("and the other goes on", cluster.job(low)["JobState"] == "RUNNING")
    cluster.run("scancel", str(low))
    cluster.wait_for_nodes()


def test_grace(checks, cluster):
    """At the start of its grace a job hears of its end, and may end well before it is over."""
    ready, told = cluster.directory / "ready", cluster.directory / "told"
    script = f"trap 'echo told > {told}; exit 0' TERM; touch {ready}; while :; do sleep 0.1; done"
    graced = cluster.submit("-p", "graced", "-N1", "-n2", "-w", "n1", "-t", "10", "-o", "/dev/null", "--wrap", script)
    wait_for("the job runs", ready.exists)
    urgent = cluster.submit("-p", "urgent", "-N1", "-n2", "-w", "n1", "-t", "10", "-o", "/dev/null", "--wrap", "true")
    wait_for("the job is told", told.exists)
    checks.that("the one with grace ends by itself, and was preempted", cluster.wait_for_job(graced)["JobState"] == "PREEMPTED", cluster.job(graced))
    checks.that("and the urgent one runs long before the grace is over", cluster.wait_for_job(urgent, seconds=60)["JobState"] == "COMPLETED")
    cluster.wait_for_nodes()


def key_of(cluster, path):
    """The attempt directory of the job whose shell writes to this path."""
    for pid, directory in cluster.job_processes():
        try:
            if str(path).encode() in Path(directory.split("=", 1)[1], "slurm_script").read_bytes():
                return Path(directory.split("=", 1)[1]).name
        except OSError:
            continue
    return "none"


def test_turns(checks, cluster):
    """Two jobs on the same CPUs: one counts while the other stands still, and in turns."""
    paths = [cluster.directory / name for name in ("one", "two")]

    def both():  # in one answer, because a turn may end between two
        shown = cluster.jobs()
        return sorted(shown[job]["JobState"] for job in jobs)
    jobs = [cluster.submit("-p", "shared", "-N1", "-n2", "-w", "n2", "-t", "10", "-o", "/dev/null", "--wrap", counting(path)) for path in paths]
    wait_for("one runs, one waits for its turn", lambda: both() == ["RUNNING", "SUSPENDED"])
    for _ in range(2):
        for path in paths:
            wait_for_more(path, count(path))
    checks.that("both got their turns", True)
    checks.that("never both at once", (shown := both()) == ["RUNNING", "SUSPENDED"], shown)
    cluster.run("scancel", str(jobs[0]))
    cluster.wait_for_job(jobs[0])
    cluster.wait_for_job(jobs[1], ("RUNNING",))
    wait_for_more(paths[1], count(paths[1]))
    checks.that("alone it is not stopped any more", cluster.job(jobs[1])["JobState"] == "RUNNING")
    cluster.run("scancel", str(jobs[1]))
    cluster.wait_for_nodes()

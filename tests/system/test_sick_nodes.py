"""Nodes that cannot launch jobs, spools that are lost, and daemons that are started twice."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster import Cluster, find_program, limit, remove_cgroup, wait_for

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount, and make cgroups")
AHEAD = 95

# In front of the C library: what asks for the time of day is told another one.
WRONG_CLOCK = f"""#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *out) {{
  const int done = (int)syscall(SYS_clock_gettime, which, out);
  if (done == 0 && which == CLOCK_REALTIME) out->tv_sec += {AHEAD};
  return done;
}}
"""


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2, cpus=2)


def reason_of(cluster, node):
    return cluster.run("sinfo", "-h", "-R", "-n", node, "-o", "%E").out.strip()


def spool_of(cluster, node):
    return cluster.directory / "spool" / node


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def submit_some(cluster):
    return [cluster.submit("--no-requeue", "-o", "/dev/null", "--wrap", "true") for _ in range(6)]


def must_start_elsewhere(checks, cluster, jobs, words):
    """No job pays for what is wrong with n1, which is drained."""
    ends = {cluster.wait_for_job(job)["JobState"] for job in jobs}
    checks.that("all jobs run on the other node", ends == {"COMPLETED"}, ends)
    wait_for("the node is drained", lambda: cluster.node_states()["n1"] == "drain")
    checks.that("and says why", all(word in reason_of(cluster, "n1") for word in words), reason_of(cluster, "n1"))


def must_work_again(checks, cluster):
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    fields = cluster.wait_for_job(cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true"))
    checks.that("when that is mended it runs jobs", fields["JobState"] == "COMPLETED", fields)
    cluster.wait_for_nodes()


def start_again(cluster, node, lose_spool=False):
    cluster.agents[node].kill()
    if lose_spool:
        shutil.rmtree(spool_of(cluster, node))
    cluster.start_agent(node)


def test_the_jobs_fault(checks, cluster):
    """A job that cannot be launched as it asked says why, wherever one looks."""
    job = cluster.submit("-o", f"{cluster.directory}/missing/%j.out", "--wrap", "true")
    fields = cluster.wait_for_job(job)
    words = f"Could_not_open_stdout_file_{cluster.directory}/missing/{job}.out:_No_such_file_or_directory"
    checks.that("it has failed", fields["JobState"] == "FAILED", fields)
    checks.that("scontrol says why", fields["Reason"] == f"JobLaunchFailure,_{words}", fields["Reason"])
    accounted = cluster.run("sacct", "-n", "-X", "-P", "-j", str(job), "-o", "State,Reason").out
    checks.that("sacct says why", accounted.startswith("FAILED|JobLaunchFailure, Could not open stdout file"), accounted)
    checks.says("so does millrace why", cluster.run("millrace", "why", str(job)), 0, "Could not open stdout file")
    checks.that("no node is to blame", set(cluster.node_states().values()) == {"idle"}, cluster.node_states())


def test_spool_is_gone(checks, cluster):
    """A node without its spool is drained by the first job, and no job pays for it."""
    shutil.rmtree(spool_of(cluster, "n1"))
    jobs = [cluster.submit("--no-requeue", "-o", "/dev/null", "--wrap", "true") for _ in range(12)]
    ends = {cluster.wait_for_job(job)["JobState"] for job in jobs}
    checks.that("all jobs run on the other node", ends == {"COMPLETED"}, ends)
    checks.that("the node is drained", cluster.node_states()["n1"] == "drain", cluster.node_states())
    checks.that("and says why", reason_of(cluster, "n1").startswith("launch failed: make "), reason_of(cluster, "n1"))
    waiting = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
    checks.that("who asked for it waits", cluster.job(waiting)["JobState"] == "PENDING")
    cluster.agents["n1"].kill()
    cluster.start_agent("n1")
    wait_for("it is back", lambda: (spool_of(cluster, "n1") / "id").exists())
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    checks.that("and runs jobs", cluster.wait_for_job(waiting)["JobState"] == "COMPLETED", cluster.job(waiting))
    cluster.wait_for_nodes()


def test_spool_is_lost(checks, cluster):
    """What ran under a lost spool is ended before the job is started again."""
    ran = cluster.directory / "ran"
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"echo $$ >> {ran}; exec sleep 1000")
    wait_for("it runs", lambda: ran.exists() and len(ran.read_text().split()) == 1)
    first = int(ran.read_text())
    start_again(cluster, "n1", lose_spool=True)
    wait_for("it runs again", lambda: len(ran.read_text().split()) == 2)
    checks.that("what ran before is gone", is_gone(first))
    fields = cluster.job(job)
    checks.that("it was requeued", fields["Restarts"] == "1", fields)
    cluster.run("scancel", str(job))
    cluster.wait_for_job(job)
    cluster.wait_for_nodes()


def test_second_agent(checks, cluster):
    """A second agent of a node is refused, says who has the spool, and leaves everything as it is."""
    pid_file = cluster.directory / "run" / "n1.pid"
    before = pid_file.read_text()
    done = subprocess.run([find_program(cluster.build, "millrace-agent"), "-D", "-f", cluster.configuration, "-N", "n1"],
                          env=cluster.environment, capture_output=True, text=True, timeout=limit(60))
    checks.that("it is refused", done.returncode == 1, done)
    checks.that("and says by whom", f"another agent, process {cluster.agents['n1'].pid}, has the spool directory" in done.stderr, done.stderr)
    checks.that("the pid file is the first one's", pid_file.read_text() == before)
    checks.that("which runs jobs", cluster.run("srun", "-w", "n1", "true").code == 0)


def test_second_controller(checks, cluster):
    """The same for a controller, also for one that is to forget the state of the first."""
    pid_file = cluster.directory / "run" / "controller.pid"
    before = pid_file.read_text()
    for option in ([], ["-c"]):
        done = subprocess.run([find_program(cluster.build, "millrace-controller"), "-D", "-f", cluster.configuration, *option],
                              env=cluster.environment, capture_output=True, text=True, timeout=limit(60))
        checks.that("it is refused", done.returncode == 1, done)
        checks.that("and says by whom", f"another controller, process {cluster.controller.pid}, uses" in done.stderr, done.stderr)
        checks.that("the pid file is the first one's", pid_file.exists() and pid_file.read_text() == before)
        checks.that("its log is where it was", (cluster.state / "log").is_dir() and not list(cluster.state.glob("log.old*")))
    checks.that("which runs jobs", cluster.run("srun", "true").code == 0)


@only_root
def test_spool_is_full(checks, directory, new_cluster):
    cluster = new_cluster(directory, nodes=2, cpus=2)
    spool = spool_of(cluster, "n1")
    spool.mkdir(mode=0o755)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=755", "none", spool], capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system")
    try:
        cluster.start()
        ballast = spool / "ballast"
        with open(ballast, "wb", buffering=0) as out, pytest.raises(OSError):
            while True:
                out.write(bytes(4096))
        must_start_elsewhere(checks, cluster, submit_some(cluster), ["launch failed: ", "No space left on device"])
        ballast.unlink()
        must_work_again(checks, cluster)
    finally:
        cluster.stop()
        subprocess.run(["umount", "-l", spool], check=True)


def test_no_descriptors_left(checks, cluster):
    pid = cluster.agents["n1"].pid
    before = subprocess.run(["prlimit", f"--pid={pid}", "--nofile", "--noheadings", "--output=SOFT"], capture_output=True, text=True, check=True).stdout.strip()
    open_now = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
    subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={min(set(range(len(open_now) + 1)) - set(open_now))}:"], check=True)
    must_start_elsewhere(checks, cluster, submit_some(cluster), ["launch failed: ", "Too many open files"])
    subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={before}:"], check=True)
    must_work_again(checks, cluster)


@only_root
def test_cgroup_folder_is_gone(checks, directory, new_cluster):
    cluster = new_cluster(directory, nodes=2, cpus=2, settings=["TaskPlugin=task/cgroup"])
    (cluster.directory / "cgroup.conf").write_text("ConstrainRAMSpace=yes\n")
    cluster.start()
    folders = [folder for folder in cluster.cgroups() if folder.name.startswith("millrace_n1_")]
    if not folders:
        pytest.skip("no cgroups can be made here")
    for folder in folders:
        remove_cgroup(folder)
    must_start_elsewhere(checks, cluster, submit_some(cluster), ["launch failed: ", "millrace_n1_", "No such file or directory"])
    start_again(cluster, "n1")
    wait_for("it has made them anew", lambda: all(folder.exists() for folder in folders))
    must_work_again(checks, cluster)


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_clock_is_ahead(checks, directory, new_cluster):
    """It gets no jobs, and those it has go on."""
    cluster = new_cluster(directory, nodes=2, cpus=2)
    cluster.start()
    os.mkfifo(directory / "enough")
    running = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"read word < {directory}/enough")
    cluster.wait_for_job(running, {"RUNNING"})
    (directory / "clock.c").write_text(WRONG_CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", directory / "clock.so", directory / "clock.c"], check=True)
    cluster.agent_prefix = ["env", f"LD_PRELOAD={directory}/clock.so"]
    start_again(cluster, "n1")
    wait_for("it is seen", lambda: cluster.node_states()["n1"] in ("drng", "drain"))
    jobs = submit_some(cluster)
    (directory / "enough").write_text("go\n")
    must_start_elsewhere(checks, cluster, [*jobs, running], ["clock differs by 9", "ahead of the controller's"])
    cluster.agent_prefix = []
    start_again(cluster, "n1")
    cluster.wait_for_nodes()
    fields = cluster.wait_for_job(cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true"))
    checks.that("with the right time it is back by itself", fields["JobState"] == "COMPLETED", fields)

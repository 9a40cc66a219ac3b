"""Jobs kept apart by real daemons and the cgroups of this machine: memory, processors, devices, private folders, and nobody who survives.
"""

import os
import signal
import stat
from pathlib import Path

import pytest

from cluster import Cluster, TestTrouble, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make cgroups")

HOG = "dd if=/dev/zero of=/dev/null bs=200M count=1"


class IsolatedCluster(Cluster):
    """One node with the processors of this machine, two devices and a folder that is each job's own."""

    def __init__(self, build, directory):
        self.devices = [Path(directory) / f"thing{i}" for i in range(2)]
        self.shared, self.base = Path(directory) / "shared", Path(directory) / "base"
        for number, device in enumerate(self.devices):
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, (7, 8)[number]))  # as /dev/full and /dev/random
            device.chmod(0o666)
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        super().__init__(build, Path(directory) / "cluster", nodes=1, cpus=os.cpu_count(), memory=2000,
                         settings=["TaskPlugin=task/cgroup,task/affinity", "GresTypes=thing", "JobContainerType=job_container/tmpfs"])
        (self.directory / "cgroup.conf").write_text("ConstrainCores=yes\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\nConstrainDevices=yes\n")
        (self.directory / "gres.conf").write_text(f"Name=thing File={directory}/thing[0-1]\n")
        (self.directory / "job_container.conf").write_text(f"AutoBasePath=true BasePath={self.base} Dirs={self.shared}\n")

    def configuration_text(self):
        return super().configuration_text().replace("State=UNKNOWN", "Gres=thing:2 State=UNKNOWN")

    def start(self):
        super().start()
        self.said_at_start = (self.directory / "logs" / "n1.log").read_text()
        if "cgroups of version" not in self.said_at_start:
            raise TestTrouble("cgroups are not used: " + self.said_at_start)

    def output(self, name):
        return (self.directory / name).read_text()


def make_cluster(build, directory):
    return IsolatedCluster(build, directory)


def test_said(checks, cluster):
    log = cluster.said_at_start
    checks.that("the agent says once which cgroups it uses", log.count("cgroups of version") == 1 and "controller" not in log.split("cgroups of version")[1].splitlines()[0], log)


def test_memory(checks, cluster):
    job = cluster.submit("--mem=64", "-o", "hog.out", "--wrap", f"{HOG}; echo survived its child")
    after = cluster.submit(f"--dependency=afternotok:{job}", "-o", "after.out", "--wrap", "echo after")
    fields = cluster.wait_for_job(job)
    checks.that("a job above its memory is OUT_OF_MEMORY with 0:125", (fields["JobState"], fields["ExitCode"], fields["Reason"]) ==
                ("OUT_OF_MEMORY", "0:125", "OutOfMemory"), fields)
    note = f"slurmstepd: error: Detected 1 oom_kill event in StepId={job}.batch. Some of the step tasks have been OOM Killed."
    checks.that("its output says so in Slurm's words", note in cluster.output("hog.out"), cluster.output("hog.out"))
    shown = cluster.run("squeue", "-h", "-t", "OOM", "-j", str(job), "-o", "%i %t %T").out.split()
    checks.that("squeue calls it OOM", shown == [str(job), "OOM", "OUT_OF_MEMORY"], shown)
    checks.that("afternotok lets the next one run", cluster.wait_for_job(after)["JobState"] == "COMPLETED")
    fields = cluster.wait_for_job(cluster.submit("--mem=64", "-o", "small.out", "--wrap", "dd if=/dev/zero of=/dev/null bs=8M count=1"))
    checks.that("a job within its memory is COMPLETED", fields["JobState"] == "COMPLETED", fields)
    done = cluster.run("srun", "--mem=64", *HOG.split())
    checks.that("srun says which task ran out of memory", done.code != 0 and "n1: task 0: Out Of Memory" in done.err and "Detected 1 oom_kill event" in done.err, done)


def test_processors(checks, cluster):
    allowed = lambda text: text.split()[-1] if text.split() else text
    one = allowed(cluster.run("srun", "-n1", "grep", "Cpus_allowed_list", "/proc/self/status").out)
    checks.that("a job of one processor sees one", one.isdigit(), one)
    cluster.wait_for_job(cluster.submit("-c1", "-o", "cpus.out", "--wrap", "grep Cpus_allowed_list /proc/self/status"))
    checks.that("a script too", allowed(cluster.output("cpus.out")).isdigit(), cluster.output("cpus.out"))
    count = os.cpu_count()
    done = cluster.run("srun", f"-n{count}", "--cpu-bind=verbose,threads", "sh", "-c", "grep Cpus_allowed_list /proc/self/status; echo $SLURM_CPU_BIND")
    lists = sorted(line.split()[-1] for line in done.out.splitlines() if "Cpus_allowed" in line)
    checks.that("tasks are bound to a thread each", lists == sorted(map(str, range(count))), done)
    checks.that("and say so when asked to", done.err.count("cpu-bind=MASK - n1, task") == count and "verbose,mask_cpu:0x" in done.out, done)
    done = cluster.run("srun", "-n1", "--cpu-bind=map_cpu:4000", "true")
    checks.that("a processor that is not there is refused", done.code != 0, done)
    checks.says("a misspelt binding is refused at once", cluster.run("srun", "--cpu-bind=coers", "true"), None, "cpu-bind", "cores")


def test_devices(checks, cluster):
    look = "; ".join(f"head -c1 {device} >/dev/null 2>&1 && echo {device.name}" for device in cluster.devices) + "; true"
    for wanted, count in (("none", 0), ("thing:1", 1), ("thing:2", 2)):
        options = [] if count == 0 else [f"--gres={wanted}"]
        cluster.wait_for_job(cluster.submit(*options, "-o", "devices.out", "--wrap", look))
        seen = cluster.output("devices.out").split()
        checks.that(f"a job with {wanted} opens {count} of 2 devices", len(seen) == count, seen)


def test_private_folder(checks, cluster):
    cluster.wait_for_nodes()  # an srun may end before its job is gone from the node
    (cluster.shared / "everybodys").write_text("x")
    job = cluster.submit("-o", "private.out", "--wrap", f"ls {cluster.shared} | wc -l; echo secret > {cluster.shared}/own; cat {cluster.shared}/own")
    cluster.wait_for_job(job)
    checks.that("a private folder is empty at first and can be written", cluster.output("private.out").split() == ["0", "secret"], cluster.output("private.out"))
    checks.that("nothing of it is seen outside or left", not (cluster.shared / "own").exists() and not list(cluster.base.iterdir()), list(cluster.base.iterdir()))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def stray_of(cluster, name):
    def pid():
        path = cluster.directory / name
        text = path.read_text().strip() if path.exists() else ""
        return int(text) if text else None
    return wait_for("the stray process", pid)


def test_nobody_survives(checks, cluster):
    # No variable, no session, no parent and no ear for signals by which it could be found.
    stray = f"(env -i setsid sh -c 'trap \"\" TERM; echo $$ > {cluster.directory}/%s; while :; do sleep 100; done' &); "
    job = cluster.submit("-o", "/dev/null", "--wrap", stray % "stray1" + f"until [ -s {cluster.directory}/stray1 ]; do sleep 0.05; done")
    pid = stray_of(cluster, "stray1")
    cluster.wait_for_job(job)
    checks.that("a process that hid itself dies with its job", not alive(pid))
    job = cluster.submit("--no-requeue", "-o", "/dev/null", "--wrap", stray % "stray2" + "sleep 1000")
    pid = stray_of(cluster, "stray2")
    cluster.agents["n1"].kill()
    for supervisor, _ in cluster.supervisors():
        os.kill(supervisor, signal.SIGKILL)
    checks.that("it lives while agent and supervisor are dead", alive(pid))
    cluster.start_agent("n1")
    cluster.wait_for_nodes()
    fields = cluster.wait_for_job(job)
    checks.that("the next agent finds and kills it before it reports the end", not alive(pid) and fields["JobState"] == "NODE_FAIL", fields)


def test_end(checks, cluster):
    """An agent that ends leaves no cgroup, and the next one works."""
    cluster.wait_for_nodes()
    checks.that("the agent ends well", cluster.agents["n1"].terminate() == 0)
    checks.that("no cgroup is left behind it", not cluster.cgroups(), cluster.cgroups())
    cluster.start_agent("n1")
    fields = cluster.wait_for_job(cluster.submit("-o", "/dev/null", "--wrap", "true"))
    checks.that("the next one runs jobs", fields["JobState"] == "COMPLETED", fields)

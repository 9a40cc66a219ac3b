"""`millrace up`, `down`, `doctor`, `key` and `log dump` as a user meets them: as root and as an ordinary user, with real daemons and jobs.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from cluster import TestTrouble, clean_environment, find_program, limit, run_command, wait_for

NOBODY = (65534, 65534, ())


class User:
    """Somebody with a directory, who types commands."""

    def __init__(self, checks, build, home, identity):
        self.checks, self.home, self.identity = checks, home, identity
        self.millrace = find_program(build, "millrace")
        self.cluster = home / "cluster"
        self.environment = clean_environment(HOME=home, SLURM_CONF=self.cluster / "slurm.conf", PATH=f"{self.cluster}/bin:{os.environ['PATH']}")
        self.environment.pop("XDG_STATE_HOME", None)

    def run(self, name, *words, seconds=180):
        return run_command([name, *words], self.environment, seconds, cwd=self.home, identity=self.identity)

    def call(self, *words, seconds=180):
        return self.run(self.millrace, *words, seconds=seconds)

    def up(self, *words):
        return self.call("up", "--dir", self.cluster, *words)

    def down(self, *words):
        return self.call("down", "--dir", self.cluster, *words)

    def pids(self):
        found = {}
        for file in sorted((self.cluster / "run").glob("*.pid")):
            found[file.stem] = int(file.read_text())
        return found

    def scratch(self):
        for line in (self.cluster / "slurm.conf").read_text().splitlines():
            if line.startswith("SlurmdSpoolDir="):
                return Path(line.split("=", 1)[1].removesuffix("/spool/%n"))
        raise TestTrouble("slurm.conf has no SlurmdSpoolDir")

    def output(self, name):
        path = self.home / name
        return path.read_text() if path.exists() else ""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def sanitizer_words(directory):
    words = ("ERROR: AddressSanitizer", "runtime error:", "LeakSanitizer", "bug:")
    return [f"{log.name}: {line}" for log in directory.glob("*.log") for line in log.read_text(errors="replace").splitlines()
            if any(word in line for word in words)]


def start(user):
    checks = user.checks
    done = user.up("--nodes", "3", "--cpus", "2", "--detach")
    checks.says("up starts three nodes and says what to type", done, 0, "3 nodes", "export SLURM_CONF=", "millrace down")
    if done.code != 0:
        raise TestTrouble(repr(done))
    pids = user.pids()
    checks.that("a controller and three agents live", len(pids) == 4 and all(map(alive, pids.values())), pids)
    states = user.run("sinfo", "-h", "-N", "-o", "%N %t").out.split()
    checks.that("all nodes are idle when it returns", states == ["n1", "idle", "n2", "idle", "n3", "idle"], states)
    return pids


def check_jobs(user):
    checks = user.checks
    done = user.run("sbatch", "--wait", "-o", "one.out", "--wrap", "id -u; echo $SLURM_JOB_ID")
    uid = str(user.identity[0] if user.identity else os.getuid())
    checks.that("a batch job runs as its user", done.code == 0 and user.output("one.out").split()[:1] == [uid], f"{done} {user.output('one.out')!r}")
    array = user.run("sbatch", "--parsable", "--array=1-4", "-o", "array-%a.out", "--wrap", "echo task $SLURM_ARRAY_TASK_ID").out.strip()
    done = user.run("sbatch", "--wait", f"--dependency=afterok:{array}", "-o", "sum.out", "--wrap", "cat array-*.out | wc -l")
    checks.that("an array runs, then the job that depends on it", done.code == 0 and user.output("sum.out").strip() == "4", f"{done} {user.output('sum.out')!r}")
    done = user.run("srun", "-N3", "-n3", "sh", "-c", "echo $SLURMD_NODENAME")
    checks.that("srun runs on three nodes", done.code == 0 and sorted(done.out.split()) == ["n1", "n2", "n3"], done)


def check_names(user):
    """Every command of Slurm answers for this cluster, whatever else is installed on the machine."""
    checks = user.checks
    names = user.call("commands").out.split()
    there = {path.name for path in (user.cluster / "bin").iterdir()}
    checks.that("every name of the client is in the cluster's bin", len(names) > 30 and set(names) | {"millrace"} == there, sorted(there.symmetric_difference(names)))
    checks.says("sacct knows the jobs of this cluster", user.run("sacct", "-n", "-X", "-j", "1", "-o", "jobid,state"), 0, "COMPLETED")
    checks.says("sdiag asks this controller", user.run("sdiag"), 0, "Jobs submitted")
    checks.says("crontabs are allowed", user.run("scrontab", "-l"), 1, "no crontab for")
    checks.says("a command that is not here says so", user.run("sreport"), 1, "not built yet in Millrace")


def check_refusals(user, pids):
    checks = user.checks
    checks.says("a second up says that it runs, with the pid", user.up("--detach"), 1, "already runs", str(pids["controller"]))
    checks.says("another shape is refused", user.up("--nodes", "5", "--detach"), 1, "nodes=3", "--forget")
    checks.says("an unknown option is refused", user.up("--nodez", "5"), 1, "--nodez")
    checks.says("no nodes at all are refused", user.up("--nodes", "0"), 1, "--nodes")
    checks.says("a directory that no slurm.conf can name is refused", user.call("up", "--dir", user.home / "a b"), 1, "a b")
    checks.says("down where nothing is", user.call("down", "--dir", user.home / "nothing"), 1, "no cluster")
    foreign = user.home / "foreign"
    foreign.mkdir()
    (foreign / "slurm.conf").write_text("ClusterName=x\n")
    own(user, foreign)
    checks.says("somebody else's slurm.conf is left alone", user.call("up", "--dir", foreign, "--detach"), 1, "not written by")
    checks.that("and unchanged", (foreign / "slurm.conf").read_text() == "ClusterName=x\n")
    checks.that("the cluster still runs", user.pids() == pids and all(map(alive, pids.values())))


def own(user, path):
    if user.identity:
        for each in [path, *path.rglob("*")]:
            os.chown(each, *user.identity[:2])


def check_doctor(user):
    checks = user.checks
    done = user.call("doctor")
    checks.says("doctor finds nothing wrong", done, 0, "answers at", "all 3 are ready")
    checks.that("every line has a verdict", all(line.startswith(("ok ", "note ", "WRONG")) for line in done.out.splitlines()[:-1]), done.out)
    key = user.cluster / "state" / "cluster.key"
    key.chmod(0o644)
    checks.says("a key that others may read is wrong", user.call("doctor"), 1, "WRONG", "chmod 600")
    key.chmod(0o600)
    bad = user.home / "bad.conf"
    bad.write_text("ClusterName=x\nSlurmctldPort=many\n")
    own(user, bad)
    checks.says("a wrong value is named with its line", user.call("doctor", "--conf", bad), 1, "bad.conf:2", "SlurmctldPort")
    checks.says("no slurm.conf", user.call("doctor", "--conf", "/nowhere/slurm.conf"), 1, "WRONG", "/nowhere/slurm.conf")


def check_key_and_log(user):
    checks = user.checks
    done = user.call("key", "node", "n1")
    words = done.out.split()
    checks.that("key node prints the line for a node", done.code == 0 and words[:3] == ["millrace-node-key", "1", "n1"] and len(words[3]) == 64, done)
    fresh = user.home / "fresh.key"
    checks.says("key make", user.call("key", "make", fresh), 0)
    before = fresh.read_bytes()
    checks.that("a new key is 0600", fresh.stat().st_mode & 0o777 == 0o600)
    checks.says("key make does not overwrite", user.call("key", "make", fresh), 1, "fresh.key")
    checks.that("and the key is as it was", fresh.read_bytes() == before)
    other = user.call("key", "node", "n1", "--key", fresh).out
    checks.that("another cluster's key gives another line", other.startswith("millrace-node-key 1 n1 ") and other != done.out, other)
    checks.says("a name that is none", user.call("key", "node", "n 1"), 1, "not the name")
    done = user.call("log", "dump", user.cluster)
    checks.says("log dump of a running controller's log", done, 0, "JobSubmitted", "JobPlaced", "AttemptEnded", "0 damaged")
    last = done.out.splitlines()[-1].split()
    newest = int(last[last.index("index") + 1].rstrip(","))
    events = [line.split() for line in user.call("log", "dump", user.cluster, "--from", newest).out.splitlines() if " event " in line]
    checks.that("--from leaves out what is before", events and all(int(words[2]) >= newest for words in events), events[:3])
    checks.says("--payloads shows scripts", user.call("log", "dump", user.cluster, "--payloads"), 0, "SLURM_ARRAY_TASK_ID")
    copy = user.home / "copy"
    shutil.copytree(user.cluster / "state" / "log", copy)
    segment = sorted(copy.glob("segment-*"))[0]
    with open(segment, "r+b") as file:
        file.seek(200)
        file.write(b"damage")
    own(user, copy)
    checks.says("log dump of a damaged log says where and goes on", user.call("log", "dump", copy), 1, " damaged ", "AttemptEnded")


def leave_jobs(user):
    """One job that ignores TERM and has a child of its own, and one that cannot start."""
    script = user.home / "stubborn.sh"
    script.write_text("#!/bin/bash\ntrap '' TERM\nsleep 100000 &\necho $$ $! >stubborn.pids\nwhile :; do wait; done\n")
    own(user, script)
    user.run("sbatch", "-n1", "--exclusive", "-w", "n1", "-o", "/dev/null", script)
    wait_for("the stubborn job", lambda: len(user.output("stubborn.pids").split()) == 2)
    waiting = user.run("sbatch", "--parsable", "--dependency=singleton", "-w", "n1", "-o", "later.out", "--wrap", "echo later").out.strip()
    return list(map(int, user.output("stubborn.pids").split())), waiting


def check_down_and_up(user, pids):
    checks = user.checks
    processes, waiting = leave_jobs(user)
    scratch = user.scratch()
    checks.says("down says what became of jobs", user.down(), 0, "1 running job cancelled", "1 pending")
    checks.that("no daemon lives", not any(map(alive, pids.values())), pids)
    checks.that("no process of a job lives", not any(map(alive, processes)), processes)
    checks.that("the spool is gone", not scratch.exists(), scratch)
    checks.that("pid files and sockets are gone", list((user.cluster / "run").iterdir()) == [], list((user.cluster / "run").iterdir()))
    checks.that("the state is kept", (user.cluster / "state" / "log").is_dir())
    checks.says("doctor says that no controller answers", user.call("doctor"), 1, "WRONG", "no answer")
    checks.says("down again is no error", user.down(), 0, "No cluster was running")
    checks.says("up again", user.up("--detach"), 0, "3 nodes")
    wait_for("the end of the kept job", lambda: "JobState=COMPLETED" in user.run("scontrol", "show", "job", waiting).out)
    checks.that("the pending job ran after the second up", user.output("later.out").strip() == "later", user.output("later.out"))


def check_crash(user):
    """Every daemon killed: what ran goes on, and the next up takes it over."""
    checks = user.checks
    user.run("sbatch", "-o", "survivor.out", "--wrap", "echo $$ >survivor.pid; until test -e go-on; do sleep 0.1; done; echo survived")
    wait_for("the survivor", lambda: user.output("survivor.pid").strip())
    before = user.pids()
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    wait_for("the end of the daemons", lambda: not any(map(alive, before.values())))
    survivor = int(user.output("survivor.pid"))
    checks.that("a job outlives all daemons", alive(survivor))
    checks.says("up after a crash starts again", user.up("--detach"), 0, "3 nodes")
    (user.home / "go-on").touch()
    wait_for("the survivor's output", lambda: "survived" in user.output("survivor.out"))
    wait_for("an empty queue", lambda: user.run("squeue", "-h").out == "")
    os.kill(user.pids()["controller"], signal.SIGKILL)
    wait_for("the end of the controller", lambda: not alive(user.pids()["controller"]))
    agents = {name: pid for name, pid in user.pids().items() if name != "controller"}
    # A pid file whose number is somebody else's by now.
    bystander = subprocess.Popen(["sleep", "1000"])
    (user.cluster / "run" / "controller.pid").write_text(f"{bystander.pid}\n")
    checks.says("down without a controller", user.down(), 0, "is down")
    checks.that("the agents are gone", not any(map(alive, agents.values())), agents)
    checks.that("a stranger with the controller's old number is left alone", bystander.poll() is None)
    bystander.kill()
    bystander.wait(limit(60))


def check_foreground(user):
    checks = user.checks
    log = user.home / "up.out"
    who = {} if user.identity is None else {"user": user.identity[0], "group": user.identity[1], "extra_groups": []}
    with open(log, "wb") as out:
        process = subprocess.Popen([user.millrace, "up", "--dir", user.cluster], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                   env=user.environment, cwd=user.home, **who)
    wait_for("up in the foreground", lambda: "Ctrl-C stops it" in log.read_text() or process.poll() is not None, 120)
    pids = user.pids()
    process.send_signal(signal.SIGINT)
    code = process.wait(limit(120))
    checks.that("Ctrl-C ends it all", code == 0 and "is down" in log.read_text() and not any(map(alive, pids.values())), f"{code} {pids} {log.read_text()}")


@pytest.mark.parametrize("identity", [pytest.param(None, id="ourselves"),
                                      pytest.param(NOBODY, id="nobody", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user"))])
def test_user(checks, build, directory, identity):
    """From the first up to the last down; each part goes on with the cluster that the one before left."""
    home = directory / "home"
    home.mkdir()
    user = User(checks, build, home, identity)
    own(user, home)
    daemons = {}
    try:
        daemons = start(user)
        check_jobs(user)
        check_names(user)
        check_refusals(user, daemons)
        check_doctor(user)
        check_key_and_log(user)
        check_down_and_up(user, daemons)
        check_crash(user)
        check_foreground(user)
        checks.that("no sanitizer spoke", not sanitizer_words(user.cluster / "logs"), sanitizer_words(user.cluster / "logs"))
        checks.says("down --forget removes everything", user.down("--forget"), 0, "removed")
        checks.that("nothing is left of the directory", not user.cluster.exists(), list(user.cluster.glob("*")))
    finally:
        if user.cluster.exists():
            user.down("--forget")


def test_long_name(checks, build, directory):
    """A socket's path has 107 bytes; a user's directory may have more."""
    home = directory / ("deep" * 30)
    home.mkdir()
    user = User(checks, build, home, None)
    try:
        checks.says("up in a directory with a long name", user.up("--detach"), 0, "Millrace is up")
        checks.says("its commands reach it", user.run("srun", "echo", "hello"), 0, "hello")
    finally:
        checks.says("down there", user.down("--forget"), 0)

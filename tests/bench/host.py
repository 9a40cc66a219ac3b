"""What both clusters need from this machine: free ports, processes that are surely ended, memory, waiting with a bound."""

import ctypes
import fcntl
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path


# Limits are for a quiet machine. MR_SLOW=10 stretches them all for one that is ten times slower.
SLOW = float(os.environ.get("MR_SLOW", "1"))


def limit(seconds):
    """How long a wait may take here: use it for every timeout that is not given to a function that says that it does."""
    return seconds * SLOW


class BenchError(Exception):
    """A measure could not be taken; the table says why and the others go on."""


def adopt_orphans():
    """Makes us the parent of every process that our daemons leave behind, so that end_strays() can find exactly those."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def children_of(parent):
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def has_in_environment(pid, words):
    try:
        return words in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def end_strays(directory=None):
    """Kills what is left of our daemons' jobs, and theirs; call it when no daemon is wanted any more. With a directory: only what has it in its
    environment, as everything that a cluster there started."""
    end = time.monotonic() + limit(30)
    while True:
        left = children_of(os.getpid())
        if directory is not None:
            left = [pid for pid in left if has_in_environment(pid, os.fsencode(directory))]
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if directory is None:
            reap_all()
        else:  # the ends of others are for those who started them
            for pid in left:
                reap(pid)
        if not left:
            return
        if time.monotonic() > end:
            raise BenchError(f"these processes are left, though killed {limit(30):.0f} s ago: {', '.join(map(describe, left))}")
        time.sleep(0.02)


def describe(pid):
    """A process in words, for those who must find out why it is still there."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return f"{pid} ({state}, {words[:100]})"
    except OSError:
        return f"{pid} (gone by now)"


def reap(pid):
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def reap_all():
    while reap(-1):
        pass


class CpuMeter:
    """Processor time of everything we start, by a control group of our own. Unlike a rate it hardly changes when others use the
    machine, too."""

    def __init__(self):
        self.folder = None
        for base, file in (("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "cpu.stat")):
            folder = Path(base) / f"millrace-bench-{os.getpid()}"
            try:
                folder.mkdir()
                if (folder / file).exists():
                    (folder / "cgroup.procs").write_text(str(os.getpid()))
                    self.folder, self.file = folder, folder / file
                    return
                folder.rmdir()
            except OSError:
                continue

    def seconds(self):
        """Since the beginning; None where there are no control groups for us."""
        if self.folder is None:
            return None
        words = self.file.read_text().split()
        return int(words[0]) / 1e9 if len(words) == 1 else int(words[1]) / 1e6

    def close(self):
        if self.folder is None:
            return
        try:
            (self.folder.parent / "cgroup.procs").write_text(str(os.getpid()))
            self.folder.rmdir()
        except OSError as problem:
            say(f"bench: {self.folder} is left: {problem}")


def file_system(path):
    """Type of the file system below `path`. Without a journal, ext4 is slow at creating files soon after others were deleted."""
    device = os.stat(path).st_dev
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, source = line.split(" - ")
        if fields.split()[2] == f"{os.major(device)}:{os.minor(device)}":
            kind, name = source.split()[:2]
            journal = any(Path("/proc/fs/jbd2").glob(Path(name).name + "-*")) if kind == "ext4" else True
            return kind if journal else kind + " without a journal"
    return "?"


claimed_ports = []  # open lock files


def free_ports(count):
    """Ports that nobody listens on, all different, and claimed until this process ends: tests that run at the same time never get the same
    one. They lie below those that the kernel hands out for connections."""
    above = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    folder = Path(tempfile.gettempdir()) / f"millrace-ports-{os.getuid()}"  # of another user bind() tells
    folder.mkdir(exist_ok=True)
    found = []
    for port in random.SystemRandom().sample(range(10000, above if above > 12000 else 32768), 500):
        claim = os.open(folder / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as one:
                one.bind(("", port))
        except OSError:
            os.close(claim)
            continue
        claimed_ports.append(claim)
        found.append(port)
        if len(found) == count:
            return found
    raise BenchError("no free ports")


def wait_until(what, true_when, seconds, every=0.05):
    seconds = limit(seconds)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = true_when()
        if value:
            return value
        time.sleep(every)
    raise BenchError(f"{what}: not within {seconds} s")


def rss_kb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise BenchError(f"process {pid} is gone")


def settled_rss_kb(pid, seconds=15):
    """RSS once it has stopped changing: what is still being written or planned is not what a job costs."""
    last = rss_kb(pid)
    end = time.monotonic() + limit(seconds)
    while time.monotonic() < end:
        time.sleep(1.0)
        now = rss_kb(pid)
        if abs(now - last) <= 64:
            return now
        last = now
    return last


POLICY = Path("/usr/sbin/policy-rc.d")


def apt(*arguments, cwd=None):
    """Runs apt-get so that no package starts a service; our guard is taken away again. None, or why it failed."""
    if os.getuid() != 0:
        return "only root can install packages"
    before = POLICY.read_bytes() if POLICY.exists() else None
    mode = POLICY.stat().st_mode & 0o777 if before is not None else 0o755
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-q", "-y", "--no-install-recommends"]
    try:
        POLICY.write_text("#!/bin/sh\nexit 101\n")
        POLICY.chmod(0o755)
        done = subprocess.run([*command, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, timeout=limit(600))
        if done.returncode != 0:  # the package lists may be missing or old
            subprocess.run([*command, "update"], env=environment, capture_output=True, timeout=limit(600))
            done = subprocess.run([*command, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, timeout=limit(600))
        return None if done.returncode == 0 else f"apt-get {' '.join(arguments)}: {done.stderr.strip()[-200:]}"
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    finally:
        if before is None:
            POLICY.unlink(missing_ok=True)
        else:
            POLICY.write_bytes(before)
            POLICY.chmod(mode)


class Daemon:
    """A server in the foreground, as our child, its words in a log file."""

    def __init__(self, command, log, environment=None):
        self.command = command
        self.log = Path(log)
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def must_live(self):
        if not self.alive():
            tail = self.log.read_text(errors="replace").splitlines()[-5:]
            raise BenchError(f"{self.command[0]} ended with {self.process.returncode}: " + " | ".join(tail))

    def stop(self, seconds=20):
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(limit(seconds))
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self):
        if self.alive():
            self.process.kill()
        self.process.wait(limit(60))


def run(command, environment=None, seconds=120, check=True, cwd=None):
    """Output of a command that must succeed."""
    seconds = limit(seconds)
    try:
        done = subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{Path(command[0]).name}: no end within {seconds} s") from None
    if check and done.returncode != 0:
        raise BenchError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def run_json(command, environment=None, seconds=600, cwd=None):
    """For our small programs, which print one line of JSON."""
    return json.loads(run(command, environment, seconds, cwd=cwd))


def say(text):
    print(text, file=sys.stderr, flush=True)

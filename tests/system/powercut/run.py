#!/usr/bin/env python3
"""A job id once given survives a power cut: a qemu guest runs the controller with its state on a virtual disk; after 200 answers were
received outside the guest, qemu is killed hard, the disk is started again, and every answered job must be there. The guest's page
cache is what a power cut loses; its disk image keeps what the guest has flushed (the guest never writes back by itself).

    tests/system/powercut/run.py --build DIR [--rounds N] [--jobs N] [--mutant]

--mutant runs a controller whose fdatasync and fsync do nothing, and succeeds only when the test notices. Exit 77: no qemu here."""

import argparse
import os
import queue
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))

from host import BenchError, apt, run
from millrace import COMMANDS, find_program

MODULES = ("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk")
BOOT_SECONDS = 90
SUBMIT_SECONDS = 180
FRESH_EVERY = 3  # rounds on one image: first starts and long lives are both cut
CONFIGURATION = """ClusterName=guest
SlurmctldHost=guest(127.0.0.1)
SlurmUser=root
AuthInfo=socket=/run/millrace/socket
StateSaveLocation=/state/controller
SlurmctldPidFile=/run/controller.pid
MaxJobCount=100000
NodeName=n1 CPUs=4 RealMemory=1000
PartitionName=all Nodes=n1 Default=YES State=UP
"""


class Skip(Exception):
    """This machine cannot run the test."""


class Lost(Exception):
    """What the test is there to find."""


def find_kernel(cache):
    """(kernel, folder of its modules): Debian's cloud kernel, unpacked into the build folder, never installed."""
    def look():
        for kernel in sorted(cache.glob("boot/vmlinuz-*-cloud-amd64")):
            modules = cache / "lib/modules" / kernel.name.removeprefix("vmlinuz-")
            if modules.is_dir():
                return kernel, modules
        return None
    if not look():
        cache.mkdir(parents=True, exist_ok=True)
        depends = run(["apt-cache", "depends", "linux-image-cloud-amd64"], check=False).split()
        names = [word for word in depends if word.startswith("linux-image-") and word.endswith("-cloud-amd64")]
        if problem := apt("download", *names[-1:], cwd=cache) if names else "apt knows no linux-image-cloud-amd64":
            raise Skip(problem)
        for package in cache.glob("*.deb"):
            run(["dpkg", "-x", str(package), str(cache)])
            package.unlink()
    return look() or (_ for _ in ()).throw(Skip("the kernel's package holds no kernel"))


def need_programs():
    wanted = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "mkfs.ext4": "e2fsprogs"}
    missing = [package for program, package in wanted.items() if not shutil.which(program)]
    if missing and (problem := apt("install", *missing)):
        raise Skip(problem)


def libraries_of(program):
    words = run(["ldd", str(program)]).split()
    return {word for word in words if word.startswith("/")}


class Archive:
    """A cpio archive (newc), as the kernel unpacks it."""

    def __init__(self):
        self.parts = []
        self.folders = set()

    def add(self, name, mode, content=b""):
        name = name.strip("/")
        parent = os.path.dirname(name)
        if parent and parent not in self.folders:
            self.folders.add(parent)
            self.add(parent, stat.S_IFDIR | 0o755)
        fields = (len(self.parts) + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        self.parts.append(head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4))

    def add_file(self, name, source):
        self.add(name, stat.S_IFREG | 0o755, Path(source).read_bytes())

    def add_text(self, name, text, mode=0o644):
        self.add(name, stat.S_IFREG | mode, text.encode())

    def write(self, path):
        self.add("TRAILER!!!", 0)
        Path(path).write_bytes(b"".join(self.parts))


def make_initramfs(build, modules, shim, path):
    archive = Archive()
    for folder in ("proc", "sys", "dev", "state", "run", "tmp", "root"):
        archive.folders.add(folder)
        archive.add(folder, stat.S_IFDIR | 0o755)
    archive.add_file("init", HERE / "init.sh")
    archive.add_file("bin/busybox", shutil.which("busybox"))
    for name in ("sh", "mount", "insmod", "ip", "hostname", "usleep", "sleep", "stty", "grep", "kill"):
        archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox")
    libraries = set()
    for name in ("millrace", "millrace-controller"):
        program = find_program(build, name)
        libraries |= libraries_of(program)
        stripped = Path(path).with_name(name)
        run(["strip", "-o", str(stripped), program])
        archive.add_file(f"bin/{name}", stripped)
    for name in COMMANDS:
        archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"millrace")
    for library in sorted(libraries):
        archive.add_file(library, library)
    archive.add_file("lib/no_sync.so", shim)
    for name in MODULES:
        archive.add_file(f"modules/{name}.ko", next(modules.rglob(f"{name}.ko")))
    archive.add_text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    archive.add_text("etc/group", "root:x:0:\n")
    archive.add_text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    archive.add_text("etc/hosts", "127.0.0.1 localhost guest\n")
    archive.add_text("etc/slurm.conf", CONFIGURATION)
    archive.add_text("etc/job.sh", "#!/bin/sh\nexit 0\n", 0o755)
    archive.write(path)


class Guest:
    """A running machine; its second serial port is our line to it."""

    def __init__(self, files, image, options):
        self.console = files["root"] / "console.log"
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "512", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-kernel", str(files["kernel"]), "-initrd", str(files["initramfs"]),
                   "-append", f"console=ttyS0 quiet panic=-1 rdinit=/init {options}", "-drive", f"file={image},format=raw,if=virtio,cache=writeback",
                   "-serial", f"file:{self.console}", "-serial", "stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.decode(errors="replace").strip())
        self.lines.put(None)

    def next_line(self, end):
        try:
            line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
        except queue.Empty:
            raise BenchError("the guest says nothing; its console ends with: " + self.console_tail()) from None
        if line is None:
            raise BenchError("qemu ended by itself; the console ends with: " + self.console_tail())
        if line.startswith("fatal"):
            raise Lost(f"{line[6:]}: " + self.console_tail())
        return line

    def console_tail(self):
        return " | ".join(self.console.read_text(errors="replace").splitlines()[-4:]) if self.console.exists() else ""

    def jobs_known(self):
        end = time.monotonic() + BOOT_SECONDS
        jobs = set()
        while (line := self.next_line(end)) != "ready":
            if line.startswith("have "):
                jobs.add(int(line[5:]))
        return jobs

    def answers(self, count):
        end = time.monotonic() + SUBMIT_SECONDS
        jobs = []
        while len(jobs) < count:
            line = self.next_line(end)
            if line.startswith("ack "):
                jobs.append(int(line[4:]))
        return jobs

    def cut_power(self):
        self.process.kill()
        self.process.wait()


def make_image(path):
    path.unlink(missing_ok=True)
    with open(path, "wb") as image:
        image.truncate(1 << 30)
    run(["mkfs.ext4", "-q", "-F", str(path)])


def one_boot(files, image, options, known, jobs):
    """Looks whether all known jobs are there; then submits `jobs` more and cuts the power at the last answer."""
    guest = Guest(files, image, options)
    try:
        lost = known - guest.jobs_known()
        if lost:
            raise Lost(f"{len(lost)} of {len(known)} answered jobs are gone, e.g. {sorted(lost)[:5]}")
        answered = guest.answers(jobs)
    finally:
        guest.cut_power()
    again = known.intersection(answered)
    if again or len(set(answered)) < len(answered):
        raise Lost(f"ids given out again: {sorted(again)[:5]}")
    return set(answered)


def cut_and_look(files, rounds, jobs, options, report):
    image = files["root"] / "disk.img"
    known = set()
    for number in range(rounds):
        begin = time.monotonic()
        if number % FRESH_EVERY == 0:
            make_image(image)
            known = set()
        known |= one_boot(files, image, options, known, jobs)
        if number + 1 == rounds or (number + 1) % FRESH_EVERY == 0:
            one_boot(files, image, options + " only_look", known, 0)
        report(f"powercut: round {number + 1} of {rounds}, {len(known)} jobs on this disk, {time.monotonic() - begin:.0f} s")


def prepare(build, root):
    need_programs()
    kernel, modules = find_kernel(Path(build) / "powercut-kernel")
    shim = root / "no_sync.so"
    run(["cc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(HERE / "no_sync.c")])
    make_initramfs(build, modules, shim, root / "initramfs")
    return {"root": root, "kernel": kernel, "initramfs": root / "initramfs"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--mutant", action="store_true")
    chosen = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="millrace-powercut."))
    report = lambda text: print(text, file=sys.stderr, flush=True)
    try:
        files = prepare(chosen.build, root)
        cut_and_look(files, chosen.rounds, chosen.jobs, "mutant" if chosen.mutant else "", report)
    except Skip as reason:
        print(f"powercut: SKIPPED: {reason}")
        return 77
    except BenchError as problem:
        print(f"powercut: FAILED to run: {problem}")
        return 1
    except Lost as loss:
        if chosen.mutant:
            print(f"powercut: the mutant without fdatasync was found: {loss}")
            return 0
        print(f"powercut: FAILED: {loss}")
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if chosen.mutant:
        print(f"powercut: FAILED: the mutant without fdatasync lost nothing in {chosen.rounds} rounds, so this test proves nothing")
        return 1
    print(f"powercut: {chosen.rounds} rounds, 0 jobs lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())

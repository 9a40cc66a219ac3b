"""A small machine under qemu for system tests: Debian's cloud kernel, unpacked and never installed, and a file system in memory that the test
fills with what it needs. Without hardware support it is some twenty times slower than the host."""

import os
import queue
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from host import BenchError, apt, limit, run

BUSYBOX = ("sh", "mount", "insmod", "ip", "hostname", "usleep", "sleep", "stty", "grep", "kill")


class GuestTrouble(Exception):
    """The guest itself says that something is wrong."""


class Skip(Exception):
    """This machine cannot run the test."""


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


def with_what_they_need(modules, *names):
    """Files of these modules and of those they depend on, in an order in which they can be loaded; which one needs which changes from kernel to kernel."""
    order = {}

    def add(name):
        file = next(modules.rglob(f"{name}.ko"), None)
        if file is None or name in order:
            return  # built into the kernel, or there already
        needs = re.search(rb"depends=([^\0]*)\0", file.read_bytes())
        for other in needs[1].decode().split(",") if needs and needs[1] else []:
            add(other)
        order[name] = file
    for name in names:
        add(name)
    return list(order.values())


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


def bare_archive(commands=BUSYBOX):
    """What every guest has: folders, a shell, users."""
    archive = Archive()
    for folder in ("proc", "sys", "dev", "state", "run", "tmp", "root"):
        archive.folders.add(folder)
        archive.add(folder, stat.S_IFDIR | 0o755)
    archive.add_file("bin/busybox", shutil.which("busybox"))
    for name in commands:
        archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox")
    archive.add_text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    archive.add_text("etc/group", "root:x:0:\n")
    archive.add_text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    archive.add_text("etc/hosts", "127.0.0.1 localhost guest\n")
    return archive


def add_programs(archive, programs, scratch):
    """{path in the guest: program of ours}, stripped, with the libraries they need."""
    libraries = set()
    for name, program in programs.items():
        libraries |= libraries_of(program)
        stripped = Path(scratch) / name.replace("/", "_")
        run(["strip", "-o", str(stripped), program])
        archive.add_file(name, stripped)
    for library in sorted(libraries):
        archive.add_file(library, library)


class Guest:
    """A running machine; its second serial port is our line to it."""

    def __init__(self, files, options, image=None, memory=512, processors=1):
        self.console = files["root"] / "console.log"
        drive = ["-drive", f"file={image},format=raw,if=virtio,cache=writeback"] if image else []
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", str(memory), "-smp", str(processors), "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-kernel", str(files["kernel"]), "-initrd", str(files["initramfs"]),
                   "-append", f"console=ttyS0 quiet panic=-1 rdinit=/init MR_SLOW={limit(1):.0f} {options}", *drive,
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
            raise GuestTrouble(f"{line[6:]}: " + self.console_tail())
        return line

    def console_tail(self):
        return " | ".join(self.console.read_text(errors="replace").splitlines()[-4:]) if self.console.exists() else ""

    def cut_power(self):
        self.process.kill()
        self.process.wait(limit(60))

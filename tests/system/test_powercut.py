"""A job id once given survives a power cut: a qemu guest runs the controller with its state on a virtual disk; after 200 answers were
received outside the guest, qemu is killed hard, the disk is started again, and every answered job must be there. The guest's page
cache is what a power cut loses; its disk image keeps what the guest has flushed (the guest never writes back by itself).

MR_POWERCUT_ROUNDS says how often the power is cut (default 2)."""

import os
import stat
import time
from pathlib import Path

import pytest

from cluster import limit
from guest import Guest, GuestTrouble, Skip, add_programs, bare_archive, find_kernel, need_programs, with_what_they_need
from host import run
from millrace import COMMANDS, find_program

pytestmark = [pytest.mark.extended, pytest.mark.alone, pytest.mark.hangs_after(1800)]
HERE = Path(__file__).resolve().parent / "powercut"
ROUNDS = int(os.environ.get("MR_POWERCUT_ROUNDS", "2"))
JOBS = 200
MODULES = ("virtio_pci", "virtio_blk")
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


class Lost(Exception):
    """What the test is there to find."""


def make_initramfs(build, modules, shim, path):
    archive = bare_archive()
    archive.add_file("init", HERE / "init.sh")
    add_programs(archive, {f"bin/{name}": find_program(build, name) for name in ("millrace", "millrace-controller")}, Path(path).parent)
    for name in COMMANDS:
        archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"millrace")
    archive.add_file("lib/no_sync.so", shim)
    for place, file in enumerate(with_what_they_need(modules, *MODULES)):
        archive.add_file(f"modules/{place:02}-{file.name}", file)
    archive.add_text("etc/slurm.conf", CONFIGURATION)
    archive.add_text("etc/job.sh", "#!/bin/sh\nexit 0\n", 0o755)
    archive.write(path)


class ControllerGuest(Guest):
    def jobs_known(self):
        end = time.monotonic() + limit(BOOT_SECONDS)
        jobs = set()
        while (line := self.next_line(end)) != "ready":
            if line.startswith("have "):
                jobs.add(int(line[5:]))
        return jobs

    def answers(self, count):
        end = time.monotonic() + limit(SUBMIT_SECONDS)
        jobs = []
        while len(jobs) < count:
            line = self.next_line(end)
            if line.startswith("ack "):
                jobs.append(int(line[4:]))
        return jobs


def make_image(path):
    path.unlink(missing_ok=True)
    with open(path, "wb") as image:
        image.truncate(1 << 30)
    run(["mkfs.ext4", "-q", "-F", str(path)])


def one_boot(files, image, options, known, jobs):
    """Looks whether all known jobs are there; then submits `jobs` more and cuts the power at the last answer."""
    guest = ControllerGuest(files, options, image)
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


def cut_and_look(files, rounds, jobs, options):
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
        print(f"round {number + 1} of {rounds}, {len(known)} jobs on this disk, {time.monotonic() - begin:.0f} s", flush=True)


def prepare(build, root):
    try:
        need_programs()
        kernel, modules = find_kernel(Path(build) / "powercut-kernel")
    except Skip as reason:
        pytest.skip(str(reason))
    shim = root / "no_sync.so"
    run(["cc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(HERE / "no_sync.c")])
    make_initramfs(build, modules, shim, root / "initramfs")
    return {"root": root, "kernel": kernel, "initramfs": root / "initramfs"}


def test_no_job_lost(checks, build, directory):
    lost = None
    try:
        cut_and_look(prepare(build, directory), ROUNDS, JOBS, "")
    except (Lost, GuestTrouble) as loss:
        lost = loss
    checks.that(f"no job is lost in {ROUNDS} power cuts", lost is None, lost)


def test_mutant(checks, build, directory):
    """A controller whose fdatasync and fsync do nothing must be found."""
    lost = None
    try:
        cut_and_look(prepare(build, directory), 10, JOBS, "mutant")
    except (Lost, GuestTrouble) as loss:
        lost = loss
        print(f"found: {loss}")
    checks.that("a controller without fdatasync loses jobs, and that is noticed", lost is not None)

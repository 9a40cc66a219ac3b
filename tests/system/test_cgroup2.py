"""Cgroups of version 2 with every controller: the tests of isolation run in a qemu guest, whatever this machine has."""

import time
from pathlib import Path

import pytest

from cluster import TestTrouble, limit
from guest import BUSYBOX, Guest, GuestTrouble, Skip, add_programs, bare_archive, find_kernel, need_programs
from millrace import find_program

pytestmark = [pytest.mark.extended, pytest.mark.alone, pytest.mark.hangs_after(1800)]
HERE = Path(__file__).resolve().parent / "cgroup2"
SECONDS = 240
CONFIGURATION = """ClusterName=guest
SlurmctldHost=guest(127.0.0.1)
SlurmUser=root
AuthInfo=socket=/run/millrace/socket
StateSaveLocation=/state/controller
SlurmctldPidFile=/run/controller.pid
SlurmdPidFile=/run/agent.pid
SlurmdSpoolDir=/state/spool
SelectTypeParameters=CR_CPU_Memory
TaskPlugin=task/cgroup,task/affinity
NodeName=guest CPUs=2 RealMemory=600
PartitionName=all Nodes=guest Default=YES State=UP
"""
CGROUP_CONFIGURATION = "ConstrainCores=yes\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\nConstrainDevices=yes\n"
# What the daemons in the guest must have said, each in a line of its own.
WANTED = ("cgroups of version 2 are used, below /sys/fs/cgroup/millrace_guest_", "daemons 1 OUT_OF_MEMORY ExitCode=0:125",
          "Detected 1 oom_kill event in StepId=1.batch.", "Cpus_allowed_list:\t0", "Cpus_allowed_list:\t1")
COMMANDS = (*BUSYBOX, "cat", "chmod", "dd", "env", "head", "ls", "mkdir", "setsid", "wc")


def prepare(build, root):
    try:
        need_programs()
        kernel, _ = find_kernel(Path(build) / "powercut-kernel")
    except Skip as reason:
        pytest.skip(str(reason))
    archive = bare_archive(COMMANDS)
    archive.add_file("init", HERE / "init.sh")
    archive.add("usr/bin", 0o040755)
    archive.add("usr/bin/env", 0o120777, b"/bin/busybox")
    programs = {"t/isolation_tests": Path(build) / "isolation_tests", "t/step_tests": Path(build) / "step_tests",
                "t/src/apps/millrace-step": find_program(build, "millrace-step"),
                **{f"bin/{name}": find_program(build, name) for name in ("millrace", "millrace-controller", "millrace-agent", "millrace-step")}}
    for program in (programs["t/isolation_tests"], programs["t/step_tests"]):
        if not program.exists():
            raise TestTrouble(f"{program} is not built")
    for name in ("sbatch", "squeue", "sinfo", "scontrol", "srun"):
        archive.add(f"bin/{name}", 0o120777, b"millrace")
    archive.add_text("etc/slurm.conf", CONFIGURATION)
    archive.add_text("etc/cgroup.conf", CGROUP_CONFIGURATION)
    add_programs(archive, programs, root)
    archive.write(root / "initramfs")
    return {"root": root, "kernel": kernel, "initramfs": root / "initramfs"}


def watch(guest):
    """(what went wrong, tests that ran); every line of the guest is shown."""
    wrong, passed, end, lines = [], 0, time.monotonic() + limit(SECONDS), []
    while (line := guest.next_line(end)) != "all done":
        print(f"   {line}", flush=True)
        words = line.split()
        lines.append(line)
        if line.startswith("controllers ") and not {"memory", "cpuset", "cpu", "pids"} <= set(words):
            wrong.append(line)
        passed += line.startswith("[       OK ]")
        if line.startswith(("[  FAILED  ]", "[  SKIPPED ]")) or (words[:1] == ["ended"] and words[2] != "0") or (words[:1] == ["left"] and words[1] != "0"):
            wrong.append(line)
    return wrong + [f"nobody said '{words}'" for words in WANTED if not any(words in line for line in lines)], passed


def test_isolation(checks, build, directory):
    guest = Guest(prepare(build, directory), "", memory=768, processors=2)
    try:
        wrong, passed = watch(guest)
    except GuestTrouble as problem:
        wrong, passed = [str(problem)], 0
    finally:
        guest.cut_power()
    checks.that("nothing goes wrong in the guest", not wrong, "; ".join(wrong))
    checks.that("the tests of isolation ran there", passed >= 20, f"{passed} passed")

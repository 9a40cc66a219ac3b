#!/usr/bin/env python3
"""Cgroups of version 2 with every controller: the tests of isolation run in a qemu guest, whatever this machine has.

    tests/system/cgroup2/run.py --build DIR

Exit 77: no qemu here."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from guest import BUSYBOX, Guest, GuestTrouble, Skip, add_programs, bare_archive, find_kernel, need_programs
from host import BenchError
from millrace import find_program

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
    need_programs()
    kernel, _ = find_kernel(Path(build) / "powercut-kernel")
    archive = bare_archive(COMMANDS)
    archive.add_file("init", HERE / "init.sh")
    archive.add("usr/bin", 0o040755)
    archive.add("usr/bin/env", 0o120777, b"/bin/busybox")
    programs = {"t/isolation_tests": Path(build) / "isolation_tests", "t/step_tests": Path(build) / "step_tests",
                "t/src/apps/millrace-step": find_program(build, "millrace-step"),
                **{f"bin/{name}": find_program(build, name) for name in ("millrace", "millrace-controller", "millrace-agent", "millrace-step")}}
    for name in ("sbatch", "squeue", "sinfo", "scontrol", "srun"):
        archive.add(f"bin/{name}", 0o120777, b"millrace")
    archive.add_text("etc/slurm.conf", CONFIGURATION)
    archive.add_text("etc/cgroup.conf", CGROUP_CONFIGURATION)
    add_programs(archive, programs, root)
    archive.write(root / "initramfs")
    return {"root": root, "kernel": kernel, "initramfs": root / "initramfs"}


def watch(guest):
    """(what went wrong, tests that ran); every line of the guest is shown."""
    wrong, passed, end, lines = [], 0, time.monotonic() + SECONDS, []
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    chosen = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="millrace-cgroup2."))
    try:
        guest = Guest(prepare(chosen.build, root), "", memory=768, processors=2)
        try:
            wrong, passed = watch(guest)
        finally:
            guest.cut_power()
    except Skip as reason:
        print(f"cgroup2: SKIPPED: {reason}")
        return 77
    except (BenchError, GuestTrouble) as problem:
        print(f"cgroup2: FAILED to run: {problem}")
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if wrong or passed < 20:
        print(f"cgroup2: FAILED: {passed} passed; " + "; ".join(wrong))
        return 1
    print(f"cgroup2: {passed} passed in the guest")
    return 0


if __name__ == "__main__":
    sys.exit(main())

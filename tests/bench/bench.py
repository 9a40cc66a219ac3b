#!/usr/bin/python3
"""Measures Millrace against Debian's Slurm on this machine, one after the other in one run, and prints one table.

    tests/bench/bench.py --build DIR [--quick] [--only GROUP,...] [--no-slurm] [--json FILE]

Groups: limit, plan, latency, many, few, srun, steps, sbatch, pending, array, killed, query, storm. Exit 0 when every measure could be taken; a goal that is missed is
said in the table and is no failure of the run."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import slurm as slurm_side
from host import BenchError, CpuMeter, adopt_orphans, end_strays, file_system, say
from measures import Bench, Sizes, calibration, latency, load_average, planning, spawn_limit
from millrace import Millrace
from slurm import Slurm
from table import judge, render

GROUPS = ("limit", "plan", "latency", "many", "few", "srun", "steps", "launch", "footprint", "sbatch", "pending", "array", "killed", "query", "storm")
# Which of Slurm's settings could win which group; the rest would only take time.
SLURM_SETTINGS = {"many": ("default", "tuned", "defer"), "few": ("default", "tuned"), "srun": ("default", "tuned"), "steps": ("default", "tuned"), "launch": (), "footprint": (), "sbatch": ("default", "tuned", "defer"),
                  "pending": ("default", "tuned"), "array": ("default",), "killed": ("default",), "query": ("default",), "storm": ("tuned",)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder with the programs, release settings")
    parser.add_argument("--quick", action="store_true", help="small counts: does the bench itself work?")
    parser.add_argument("--only", default="", help="groups, separated by commas")
    parser.add_argument("--no-slurm", action="store_true", help="only Millrace; ratios against an earlier run's numbers")
    parser.add_argument("--no-millrace", action="store_true", help="only Slurm")
    parser.add_argument("--json", help="write everything that was measured to this file")
    parser.add_argument("--directory", help="where state, spool and output lie, in a folder of its own; otherwise TMPDIR or /tmp")
    parser.add_argument("--keep", action="store_true", help="leave configuration, logs and state in place and say where")
    chosen = parser.parse_args()
    chosen.groups = [name for name in chosen.only.split(",") if name] or list(GROUPS)
    for name in chosen.groups:
        if name not in GROUPS:
            parser.error(f"no group {name}: they are {', '.join(GROUPS)}")
    return chosen


def measure(cluster, group, title, troubles):
    """One group on one cluster; whatever goes wrong, nothing of the cluster is left."""
    say(f"bench: {group} on {title}")
    begin = time.monotonic()
    try:
        found = group_function(cluster, group)
        say(f"    {time.monotonic() - begin:.0f} s: " + ", ".join(f"{name} {value:.4g}" for name, value in found.items()))
        return found
    except BenchError as problem:
        troubles.append(f"{title}, {group}: {problem}")
    except Exception as problem:  # a measure that breaks must not take the others with it
        traceback.print_exc()
        troubles.append(f"{title}, {group}: {problem!r}")
    finally:
        cluster.stop()
    say("    " + troubles[-1])
    return {}


def group_function(cluster, group):
    return cluster.bench.groups()[group](cluster)


def main():
    chosen = arguments()
    adopt_orphans()
    sizes = Sizes.quick() if chosen.quick else Sizes.full()
    cpu = CpuMeter()
    bench = Bench(chosen.build, sizes, cpu)
    troubles, ours, theirs = [], {}, {}
    use_slurm = not chosen.no_slurm
    if use_slurm and (problem := slurm_side.install()):
        troubles.append(problem)
        use_slurm = False
    root = Path(tempfile.mkdtemp(prefix="millrace-bench.", dir=chosen.directory))
    root.chmod(0o755)
    machine = {"processors": os.cpu_count(), "load before": load_average(), "file system": file_system(root)}
    limit = limit_cpu = None
    try:
        machine |= calibration(chosen.build, root)
        if {"limit", "many", "few"} & set(chosen.groups):
            limit, limit_cpu = spawn_limit(chosen.build, root, 300 if chosen.quick else 4000, cpu)
        # Folders stay until the end: deleting one cluster's files would slow the next one's file system.
        for group in chosen.groups:
            if group == "limit":
                continue
            if group in ("plan", "latency"):
                if not chosen.no_millrace:
                    ours.update(planning(chosen.build, chosen.quick) if group == "plan" else latency(chosen.build, root, chosen.quick))
                continue
            for setting in SLURM_SETTINGS[group] if use_slurm else ():
                if chosen.quick and setting != SLURM_SETTINGS[group][-1]:
                    continue
                cluster = Slurm(setting, root / f"slurm-{group}-{setting}")
                cluster.bench = bench
                theirs.setdefault(setting, {}).update(measure(cluster, group, f"Slurm ({setting})", troubles))
            if chosen.no_millrace:
                continue
            cluster = Millrace(chosen.build, root / f"millrace-{group}")
            cluster.bench = bench
            ours.update(measure(cluster, group, "Millrace", troubles))
    finally:
        end_strays()
        cpu.close()
        if chosen.keep:
            say(f"bench: kept {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    machine["load after"] = load_average()
    lines = judge(theirs, ours, limit)
    if chosen.quick:
        for line in lines:
            line["reached"] = None  # nothing is proved by small counts
    print(f"machine: {machine['processors']} processors, fixed loop {machine['loop_one_core_s']:.2f} s on one core and "
          f"{machine['loop_two_cores_s']:.2f} s on two at once, fdatasync {machine['fdatasync_us']:.0f} us on {machine['file system']}, load {machine['load before']}"
          f" before and {machine['load after']} after")
    if limit is not None:
        print(f"physical limit: a bare loop spawns the same script {limit:.0f} times per second with two workers" +
              ("" if limit_cpu is None else f", {limit_cpu:.2f} ms of CPU each"))
    print(f"cluster: {sizes.nodes} nodes of {sizes.cpus} CPUs on this host, both sides" + (f"; Slurm {slurm_side.version()}" if use_slurm else
          "; Slurm not measured: ratios are against an earlier run elsewhere"))
    print()
    print(render(lines))
    if chosen.quick:
        print("\nquick run: counts are too small to compare (" + f"queue of {sizes.queue} instead of 100,000)")
    for trouble in troubles:
        print(f"\nnot measured: {trouble}")
    if chosen.json:
        Path(chosen.json).write_text(json.dumps({"machine": machine, "limit": limit, "limit_cpu_ms": limit_cpu, "rows": lines, "slurm": theirs, "millrace": ours,
                                                 "troubles": troubles}, indent=1) + "\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as problem:
        sys.exit(f"bench: {problem}")

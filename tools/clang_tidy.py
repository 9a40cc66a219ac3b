#!/usr/bin/python3
"""Runs clang-tidy over the units of a build with clang; what .clang-tidy calls an error fails it.

    tools/clang_tidy.py --build build/asan [--part I/N] [WORD...]      only units whose names have one of the words

The build compiles units in groups, so each header is read once for many of them."""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from progress import Progress

ROOT = Path(__file__).resolve().parent.parent


def look(build, unit):
    return subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", unit], cwd=ROOT, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--part", default="0/1", help="every N-th unit, from the I-th")
    parser.add_argument("words", nargs="*")
    chosen = parser.parse_args()
    commands = json.loads((chosen.build / "compile_commands.json").read_text())
    units = sorted({command["file"] for command in commands if "/schema/" not in command["file"] and "_test" not in command["file"]
                    and "/tests/" not in command["file"]})
    units = [unit for unit in units if not chosen.words or any(word in unit for word in chosen.words)]
    part, parts = map(int, chosen.part.split("/"))
    units = units[part % parts::parts]
    findings, progress = set(), Progress("clang-tidy", total=len(units), every=5)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for unit, out in zip(units, pool.map(lambda unit: look(chosen.build, unit), units)):
            findings.update(re.findall(r"^(/\S+:\d+:\d+: (?:error|warning): .*)$", out, re.M))
            progress.done(f"checking {os.path.relpath(unit)}")
    progress.end()
    for finding in sorted(findings):
        print(finding.replace(f"{ROOT}/", ""))
    print(f"clang-tidy: {len(units)} units, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

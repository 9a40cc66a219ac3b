#!/usr/bin/env python3
"""Plants each bug of mutants.py in a copy of the tree, builds the simulation and demands that it fails within the normal seeds.

    tests/mutants/run.py [--seeds N] [--only NAME,...] [--part I/N]      the copy and its build live under build/mutants

--part runs every N-th of them, from the I-th; the places of all are looked for.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from mutants import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants" / "tree"
BUILD = ROOT / "build" / "mutants" / "build"


def copy_tree():
    """Only files that differ are written, so that the build stays warm from run to run."""
    for top in ("src", "schema", "tests", "CMakeLists.txt"):
        source = ROOT / top
        files = [source] if source.is_file() else [f for f in source.rglob("*") if f.is_file()]
        wanted = set()
        for file in files:
            target = COPY / file.relative_to(ROOT)
            wanted.add(target)
            if not target.exists() or target.read_bytes() != file.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        if source.is_dir():
            for old in (COPY / top).rglob("*"):
                if old.is_file() and old not in wanted:
                    old.unlink()
    layers = COPY / "tools" / "layers.py"
    layers.parent.mkdir(parents=True, exist_ok=True)
    layers.touch()


def build():
    return subprocess.run(["ninja", "-C", str(BUILD), "simulation_tests"], capture_output=True, text=True)


def simulate(seeds):
    environment = dict(os.environ, MR_SIM_SEEDS=str(seeds))
    environment.pop("MR_SEED", None)
    return subprocess.run([str(BUILD / "tests" / "simulation_tests"), "--gtest_brief=1", "--gtest_fail_fast"], env=environment, capture_output=True,
                          text=True, timeout=1200)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=int(os.environ.get("MR_SIM_SEEDS", "2000")))
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.only or m[0] in options.only.split(",")]
    part, parts = map(int, options.part.split("/"))
    copy_tree()
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "-S", str(COPY), "-B", str(BUILD), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug"], check=True,
                       stdout=subprocess.DEVNULL)
    survived = []
    for name, file, find, _ in chosen:
        if (COPY / file).read_text().count(find) != 1:
            print(f"mutant {name}: its place in {file} is not there once; mend tests/mutants/mutants.py")
            survived.append(name)
    chosen = [mutant for index, mutant in enumerate(chosen) if index % parts == part and mutant[0] not in survived]
    for name, file, find, put in chosen:
        path = COPY / file
        text = path.read_text()
        path.write_text(text.replace(find, put))
        try:
            made = build()
            if made.returncode != 0:
                print(f"mutant {name}: does not build\n{made.stdout[-2000:]}")
                survived.append(name)
                continue
            result = simulate(options.seeds)
        finally:
            path.write_text(text)
        if result.returncode == 0:
            print(f"mutant {name}: NOT FOUND within {options.seeds} seeds")
            survived.append(name)
        else:
            output = (result.stdout + result.stderr).splitlines()
            why = next((line for line in output if "bug:" in line or "repeat with" in line), "crashed")
            story = next((line for line in output if "bug:" in line or line.startswith("Actual:") or "wrong" in line), "")
            print(f"mutant {name}: found ({why.strip() or story.strip()})")
    print(f"mutants: {len(set(name for name, *_ in chosen) - set(survived))} passed, {len(survived)} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())

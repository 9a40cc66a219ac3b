#!/usr/bin/python3
"""Plants each bug of mutants.py in a build of the simulation and demands that it fails within the normal seeds.

    tests/mutants/run.py --build DIR [--seeds N] [--only NAME,...] [--part I/N]      DIR: a build with simulation_tests

Nothing of the tree or of the build is changed: the changed file alone (or the group of units it is compiled with) is compiled, as the build compiles it,
and linked before the libraries, whose own object is then not taken. --part runs every N-th of them, from the I-th; the places of all are looked for.
One that has no end is a failure, too: it cannot be told from a slow machine. MR_SLOW=10 stretches the limit for one that is ten times slower.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from mutants import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from progress import Progress  # noqa: E402

SECONDS_MAX = 1200 * float(os.environ.get("MR_SLOW", "1"))  # for all seeds of one


class Planter:
    def __init__(self, build, directory):
        self.build, self.directory = build, pathlib.Path(directory)
        commands = json.loads((build / "compile_commands.json").read_text())
        self.compile = {command["file"]: command["command"] for command in commands}
        asked = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "simulation_tests"], capture_output=True, text=True, check=True)
        self.link = asked.stdout.splitlines()[-1]

    def plant(self, name, file, text, with_header):
        """The program with this text instead of the file's, or what the compiler said of it. `with_header`: the file is a header, and this is who reads it."""
        source, group, thing, program = (self.directory / f"{name}{end}" for end in (".cpp", "_group.cpp", ".o", ""))
        before = ""
        if with_header:
            header = self.directory / f"{name}.include" / pathlib.Path(file).relative_to("src")
            header.parent.mkdir(parents=True)
            header.write_text(text)
            before = f"-I{self.directory / f'{name}.include'} "
            file, text = with_header, (ROOT / with_header).read_text()
        source.write_text(text)
        unit = self.unit_of(str(ROOT / file))
        if unit != str(ROOT / file):
            group.write_text(pathlib.Path(unit).read_text().replace(f'#include "{ROOT / file}"', f'#include "{source}"'))
            source = group
        compiler, flags = self.compile[unit].split(" -o ", 1)[0].split(" -", 1)
        made = self.shell(f"{compiler} {before}-{flags} -o {thing} -c {source}")
        if made.returncode == 0:
            made = self.shell(self.link.replace(" -o tests/simulation_tests ", f" {thing} -o {program} "))
        return (program, None) if made.returncode == 0 else (None, made.stdout + made.stderr)

    def unit_of(self, file):
        """What the compiler is given: the file, or the group of units that has it."""
        if file in self.compile:
            return file
        return next(unit for unit in self.compile if "/Unity/" in unit and f'#include "{file}"' in pathlib.Path(unit).read_text())

    def shell(self, command):
        return subprocess.run(command, shell=True, cwd=self.build, capture_output=True, text=True)


def simulate(program, seeds):
    """Whether it was found, and in what words."""
    environment = dict(os.environ, MR_SIM_SEEDS=str(seeds))
    environment.pop("MR_SEED", None)
    command = [str(program), "--gtest_brief=1", "--gtest_fail_fast"]
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return False, f"NO END within {SECONDS_MAX:.0f} s: it hangs, or this machine needs a larger MR_SLOW"
    if result.returncode == 0:
        return False, f"NOT FOUND within {seeds} seeds"
    output = (result.stdout + result.stderr).splitlines()
    why = next((line for line in output if "bug:" in line or "repeat with" in line), "crashed")
    story = next((line for line in output if "bug:" in line or line.startswith("Actual:") or "wrong" in line), "")
    return True, f"found ({why.strip() or story.strip()})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=int(os.environ.get("MR_SIM_SEEDS", "2000")))
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.only or m[0] in options.only.split(",")]
    part, parts = map(int, options.part.split("/"))
    survived = []
    for name, file, find, *_ in chosen:
        if (ROOT / file).read_text().count(find) != 1:
            print(f"mutant {name}: its place in {file} is not there once; mend tests/mutants/mutants.py")
            survived.append(name)
    chosen = [mutant for index, mutant in enumerate(chosen) if index % parts == part and mutant[0] not in survived]
    progress = Progress("mutants", total=len(chosen))
    with tempfile.TemporaryDirectory(prefix="millrace-mutants.") as directory:
        planter = Planter(options.build.resolve(), directory)
        for name, file, find, put, *unit in chosen:
            progress.now(f"planting {name}")
            program, trouble = planter.plant(name, file, (ROOT / file).read_text().replace(find, put), unit[0] if unit else None)
            if trouble is None:
                found, words = simulate(program, options.seeds)
                program.unlink()
            else:
                found, words = False, "does not build"
            if not found:
                survived.append(name)
            progress.done(f"mutant {name}: {words}", important=True)
            if trouble is not None:
                print(trouble[-2000:], flush=True)
    progress.end()
    print(f"mutants: {len(set(name for name, *_ in chosen) - set(survived))} passed, {len(survived)} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())

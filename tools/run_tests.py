#!/usr/bin/python3
"""Runs the tests that `./mill test` asks for, on what it has built, and says at the end what ran, for how long, and what failed.

    tools/run_tests.py [--extended | --all] [--touched] [-k WORD]
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import touched

ROOT = Path(__file__).resolve().parent.parent
ASAN, TSAN, RELEASE = (ROOT / "build" / name for name in ("asan", "tsan", "release"))
PYTHON = sys.executable
NO_TESTS = 5  # what tests/system/run.py ends with when no test was chosen


def seed_from_tree():
    """Seeds come from the tree: a rerun repeats them, each change gets new ones."""
    done = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout[:7] or "0", 16) + 1


class Runner:
    def __init__(self):
        self.rows = []
        self.environment = {**os.environ, "MR_SIM_FIRST": str(seed_from_tree()), "MR_SIM_SEEDS": os.environ.get("MR_SIM_SEEDS", "400"),
                            "TSAN_OPTIONS": "halt_on_error=1"}

    def run(self, name, *command, may_be_none=False, **environment):
        print(f"== {name}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        code = subprocess.run([str(word) for word in command], cwd=ROOT, env={**self.environment, **environment}).returncode
        if may_be_none and code == NO_TESTS:
            return True
        self.rows.append((name, time.monotonic() - begin, code == 0))
        if code != 0:
            print(f"FAILED: {name}", flush=True)
        return code == 0

    def ctest(self, name, build, *choice):
        return self.run(name, PYTHON, "tools/show.py", "ctest", build / "mill-ctest.log", "--test-dir", build, "--output-on-failure", "-j2", "--no-tests=error",
                        "--timeout", str(int(1200 * float(os.environ.get("MR_SLOW", "1")))), *choice)

    def system(self, name, build, *choice, **environment):
        return self.run(name, PYTHON, "tests/system/run.py", "--build", build, *choice, **environment)

    def finish(self):
        width = max((len(name) for name, _, _ in self.rows), default=0)
        print()
        for name, seconds, passed in self.rows:
            print(f"{name:{width}}  {seconds / 60:5.1f} min  {'ok' if passed else 'FAILED'}")
        failed = sum(not passed for _, _, passed in self.rows)
        print(f"{'together':{width}}  {sum(seconds for _, seconds, _ in self.rows) / 60:5.1f} min")
        print(f"{len(self.rows) - failed} passed, {failed} failed", flush=True)
        return 1 if failed else 0


def run_normal(runner):
    runner.ctest(f"unit, scenario, property, simulation, golden, fuzz, tidy (seeds from {runner.environment['MR_SIM_FIRST']})", ASAN)
    runner.system("system tests", ASAN)


def run_extended(runner, whole):
    """`whole`: all planted bugs, all units through clang-tidy, and more power cuts. Otherwise a part of them, each tree another."""
    seed = seed_from_tree()
    bugs = "0/1" if whole else f"{seed % 3}/3"
    units = "0/1" if whole else f"{seed % 4}/4"
    runner.ctest("threads (TSan)", TSAN, "-R", r"^unit\.(platform|store\.real|client)$")
    of_release = "powercut or cgroup2 or clients"
    runner.system("system tests, extended", ASAN, "--extended", "-k", f"not ({of_release})")
    runner.system("system tests, extended, of the release build", RELEASE, "--extended", "-k", of_release, MR_POWERCUT_ROUNDS="6" if whole else "2")
    runner.run(f"clang-tidy (part {units})", PYTHON, "tools/clang_tidy.py", "--build", ASAN, "--part", units)
    runner.run(f"planted bugs are found (part {bugs})", PYTHON, "tests/mutants/run.py", "--build", RELEASE, "--seeds", "2000", "--part", bugs)
    runner.run("every reference number of scheduling", PYTHON, "tools/show.py", "gtest", RELEASE / "mill-references.log",
               RELEASE / "tests" / "reference_tests", MR_REFERENCES="all")
    runner.run("the bench itself", PYTHON, "tests/bench/bench.py", "--build", RELEASE, "--quick", "--no-slurm")


def run_word(runner, word, choice):
    """Test programs that have such a name, cases in them, and system tests. None at all is a failure: the word is probably wrong."""
    listed = subprocess.run(["ctest", "--test-dir", str(ASAN), "-N", "-R", re.escape(word)], capture_output=True, text=True).stdout
    if "Test #" in listed:
        runner.ctest(f"test programs named {word}", ASAN, "-R", re.escape(word))
    programs = sorted([*ASAN.glob("*_tests"), *(ASAN / "tests").glob("*_tests"), *(ASAN / "tests/golden").glob("*_tests")])
    for program in programs if re.fullmatch(r"\w+", word) else []:  # other characters have a meaning in the filter, and are in no case's name
        listed = subprocess.run([program, f"--gtest_filter=*{word}*", "--gtest_list_tests"], cwd=ROOT, capture_output=True, text=True).stdout
        if "\n  " in listed:
            runner.run(f"cases of {program.name}", program, f"--gtest_filter=*{word}*", "--gtest_brief=1")
    runner.system(f"system tests named {word}", ASAN, "-k", word, *choice, may_be_none=bool(runner.rows))


def run_touched(runner):
    programs, systems, extended = touched.choose(touched.changed_files(ROOT))
    print(f"== touched: {', '.join(programs + systems)}", file=sys.stderr)
    runner.ctest("test programs", ASAN, "-R", "^(" + "|".join(programs) + ")$")
    if systems:
        runner.system("system tests", ASAN, *systems, may_be_none=True)
    if extended:
        print("== some of these tests run only with ./mill test --extended", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--extended", action="store_true")
    which.add_argument("--all", action="store_true")
    which.add_argument("--touched", action="store_true")
    parser.add_argument("-k", dest="word")
    chosen = parser.parse_args()
    if chosen.touched and chosen.word:
        parser.error("--touched and -k exclude each other: give one of them")
    runner = Runner()
    if chosen.word:
        run_word(runner, chosen.word, ["--all"] if chosen.all else ["--extended"] if chosen.extended else [])
    elif chosen.touched:
        run_touched(runner)
    else:
        if not chosen.extended:
            run_normal(runner)
        if chosen.extended or chosen.all:
            run_extended(runner, chosen.all)
    return runner.finish()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Runs something long, shows how far it is, and shows its whole output if it fails.

    tools/show.py ninja LOG -C build/release millrace
    tools/show.py ctest LOG --test-dir build/asan -j2
    tools/show.py gtest LOG build/release/tests/reference_tests
    tools/show.py apt   LOG PACKAGE...
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from progress import Progress

EDGE = re.compile(r"\[(\d+)/(\d+)\] (.*)")
TEST = re.compile(r" *(\d+)/(\d+) Test +#\d+: (\S+) \.*(?:\*{3})? *(.*?) +([\d.]+) sec")
CASE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(?:, .*?)?(?: \((\d+) ms\))?$")
APT = ["apt-get", "-y", "--no-install-recommends"]


def unit_of(build, name):
    """What an object file is made of: src/cli/squeue.cpp, or a group of units as src/cli (9 units)."""
    if match := re.search(r"(.*/Unity/unity_\w+_cxx\.cxx)\.o$", name):
        try:
            units = re.findall(r'#include "(.*)"', (build / match[1]).read_text())
        except OSError:
            units = []
        if units:
            return f"{os.path.relpath(Path(units[0]).parent)} ({len(units)} units)"
    name = re.sub(r"\.o$", "", name)
    folder, _, rest = name.partition("CMakeFiles/")
    return folder + rest.partition(".dir/")[2] if rest else name


def words_of_edge(build, text):
    for begin, word in (("Building CXX object ", "compiling "), ("Building C object ", "compiling "), ("Generating ", "generating ")):
        if text.startswith(begin):
            return word + (unit_of(build, text[len(begin):]) if word == "compiling " else text[len(begin):])
    return text.replace("Linking CXX executable ", "linking ").replace("Linking CXX static library ", "archiving ")


def show_ninja(arguments, out):
    build = Path(arguments[arguments.index("-C") + 1])
    progress = Progress("build", every=5)
    def line(text):
        if match := EDGE.match(text):
            progress.total = int(match[2])
            progress.count = int(match[1]) - 1
            progress.done(words_of_edge(build, match[3]))
    code = follow(["ninja", *arguments], out, line)
    progress.end()
    return code


def show_ctest(arguments, out):
    progress = Progress("tests")
    def line(text):
        if match := TEST.match(text):
            progress.total = int(match[2])
            passed = match[4].strip() == "Passed"
            progress.done(f"{'ok' if passed else match[4].strip().upper()} {match[3]} ({float(match[5]):.1f} s)", important=not passed)
    code = follow(["ctest", *arguments], out, line)
    progress.end()
    return code


def show_gtest(arguments, out):
    """A program whose cases take long. Why cases were skipped is said at the end, each reason once."""
    progress, running, words, skipped = Progress("cases"), False, "", {}
    def line(text):
        nonlocal running, words
        if match := re.match(r"\[=+\] Running (\d+) tests?", text):
            progress.total = int(match[1])
        match = CASE.match(text)
        if match and match[1] == "RUN":
            running = True
            if progress.terminal:
                progress.now(match[2])
        elif match and running:
            running = False
            if match[1] == "SKIPPED":
                skipped[words] = skipped.get(words, 0) + 1
            progress.done(f"{match[1].lower() if match[1] == 'OK' else match[1]} {match[2]} ({int(match[3] or 0) / 1000:.1f} s)", important=match[1] == "FAILED")
        elif text:
            words = text
    code = follow(arguments, out, line)
    progress.end()
    for reason, count in skipped.items():
        print(f"{count} skipped: {reason}", flush=True)
    return code


def show_apt(arguments, out):
    dry = subprocess.run([*APT, "-s", "install", *arguments], capture_output=True, text=True).stdout
    progress = Progress("packages", total=2 * dry.count("\nInst ") + 1, every=5)
    def line(text):
        if text.startswith(("Unpacking ", "Setting up ")):
            progress.done(" ".join(text.split()[:3]).removesuffix("..."))
    code = follow([*APT, "install", *arguments], out, line)
    progress.end()
    return code


def follow(command, out, line):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env={**os.environ, "NINJA_STATUS": "[%f/%t] ", "DEBIAN_FRONTEND": "noninteractive"})
    for text in process.stdout:
        out.write(text)
        line(text.rstrip("\n"))
    return process.wait()


def main():
    kind, log, *arguments = sys.argv[1:]
    with open(log, "w", buffering=1) as out:
        code = {"ninja": show_ninja, "ctest": show_ctest, "gtest": show_gtest, "apt": show_apt}[kind](arguments, out)
    if code != 0:
        sys.stderr.write(Path(log).read_text())
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

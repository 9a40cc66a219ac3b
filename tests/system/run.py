#!/usr/bin/python3
"""Runs the system tests, several files at once, and shows how far they are.

    tests/system/run.py --build build/asan                    what every change must pass
    tests/system/run.py --build build/asan -k salloc          the cases whose names have this word
    tests/system/run.py --build build/asan test_steps.py      one file
    tests/system/run.py --build build/asan --shuffle 7        each file's tests in another order
    tests/system/run.py --build build/asan --extended         what takes long or needs more packages; --all: everything

A test that fails is run once more, alone. If it passes then, it is FLAKY: the run stays green, both logs are kept and the first is shown, because
that is a bug to be mended at once. Three of them in a run are a failure. MR_SLOW=10 stretches every limit for a machine that is ten times slower.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(HERE.parent / "bench")]

from host import limit  # noqa: E402
from progress import Progress  # noqa: E402

FLAKY_LIMIT = 3
REPEATED_MAX = 8  # tests that fail; a build that is broken needs no second look at each
SILENCE_MAX = limit(2400)  # seconds without a result: not even the limits of a test work (conftest.py)
NO_TESTS = 5  # as pytest says it


class Run:
    """One pytest session, followed through its report."""

    def __init__(self, arguments, log, progress=None):
        self.tests, self.collected = {}, 0
        with tempfile.TemporaryDirectory(prefix="millrace-report.") as folder:
            report = Path(folder) / "report"
            os.mkfifo(report)
            command = [sys.executable, "-m", "pytest", "-q", "-c", str(HERE / "pytest.ini"), f"--rootdir={HERE}", f"--report={report}", *arguments]
            with open(log, "w") as out:
                process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
                # Opened for writing, too, so that neither a late nor a missing writer blocks us; the end comes with the process.
                reader = os.fdopen(os.open(report, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0)
                try:
                    self.follow(process, reader, progress)
                except BaseException:
                    end_session(process)
                    raise
            self.code = process.returncode
        missing = self.collected - len(self.tests)
        if self.code in (0, 1) and missing > 0:
            words = f"{missing} of {self.collected} tests have no result; {log} says why"
            self.tests["no result"] = dict(test="no result", outcome="failed", seconds=0, text=words, output="")
        if self.code not in (0, 1, 5) or (self.code == 1 and not self.tests):  # 5: nothing chosen
            self.tests["pytest"] = dict(test="pytest", outcome="failed", seconds=0, text=Path(log).read_text()[-4000:], output="")

    def follow(self, process, reader, progress):
        rest, heard = b"", time.monotonic()
        while True:
            ended = process.poll() is not None
            if time.monotonic() - heard > SILENCE_MAX:
                raise SystemExit(f"no test has ended for {SILENCE_MAX:.0f} s; those that are done: {len(self.tests)} of {self.collected}")
            while some := reader.read(1 << 16):
                heard = time.monotonic()
                *lines, rest = (rest + some).split(b"\n")
                for line in lines:
                    self.take(json.loads(line), progress)
            if ended:
                return
            time.sleep(0.05)

    def take(self, told, progress):
        if "collected" in told:
            self.collected = max(self.collected, told["collected"])
            if progress:
                progress.total = self.collected
            return
        known = self.tests.get(told["test"])
        if known and known["outcome"] == "failed":
            return  # a teardown that fails too
        self.tests[told["test"]] = told
        if progress:
            word = {"passed": "ok", "failed": "FAILED"}.get(told["outcome"], told["outcome"])
            why = f": {told['text']}" if told["outcome"] == "skipped" else ""
            progress.done(f"{word} {told['test']} ({told['seconds']:.1f} s){why}")

    def of(self, outcome):
        return [told for told in self.tests.values() if told["outcome"] == outcome]


def end_session(process):
    """pytest takes its clusters down; after a minute it is ended with whatever it started."""
    process.terminate()
    try:
        process.wait(limit(60))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def file_name(test):
    return re.sub(r"[^\w.-]+", "_", test)


def keep(folder, told, which):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{file_name(told['test'])}.{which}.log"
    path.write_text(f"{told['test']} {told['outcome']} after {told['seconds']:.1f} s\n{told['text']}\n{told['output']}\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("-k", dest="word", default="")
    parser.add_argument("--extended", action="store_true", help="only what takes long")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("MR_SYSTEM_JOBS", "6")), help="files at once (6: tests wait most of their time)")
    parser.add_argument("--shuffle", metavar="SEED", help="each file's tests in another order: they must not need each other")
    parser.add_argument("--logs", type=Path, help="where logs of failures are kept (default: system-tests in the build folder)")
    parser.add_argument("files", nargs="*")
    chosen = parser.parse_args()
    logs = (chosen.logs or chosen.build / "system-tests").resolve()
    logs.mkdir(parents=True, exist_ok=True)
    for old in logs.glob("*.log"):
        old.unlink()
    marks = "" if chosen.all else "extended" if chosen.extended else "not extended"
    common = [*(chosen.files or ["."]), f"--build={chosen.build.resolve()}", *(["-k", chosen.word] if chosen.word else []),
              *(["--shuffle", chosen.shuffle] if chosen.shuffle else [])]
    begin, tests = time.monotonic(), {}
    for part, mark, how in (("beside", "not alone", ["-n", str(chosen.jobs), "--dist", "loadfile"]), ("alone", "alone", ["-p", "no:xdist"])):
        wanted = f"({marks}) and {mark}" if marks else mark
        run = Run([*common, "-m", wanted, *how], logs / f"pytest-{part}.log", Progress("system tests" if part == "beside" else "system tests, alone"))
        tests.update(run.tests)
    failed, flaky = [], []
    for count, told in enumerate([told for told in tests.values() if told["outcome"] == "failed"]):
        first = keep(logs, told, "first")
        print(f"FAILED {told['test']}\n{told['text']}\n{told['output'][-20000:]}", flush=True)
        if "::" not in told["test"] or count >= REPEATED_MAX:  # pytest itself, or too many
            failed.append(told["test"])
            continue
        again = Run([told["test"], f"--build={chosen.build.resolve()}", "-p", "no:xdist"], logs / "pytest-again.log")
        results = list(again.tests.values())
        for one in results:
            keep(logs, {**one, "test": told["test"]}, "second")
        if results and all(one["outcome"] == "passed" for one in results):
            flaky.append(told["test"])
            print(f"FLAKY {told['test']}: passed when it was run again alone; both logs are in {first.parent}", flush=True)
        else:
            failed.append(told["test"])
            for one in results:
                print(f"FAILED AGAIN {told['test']}\n{one['text']}", flush=True)
    skipped = [told for told in tests.values() if told["outcome"] == "skipped"]
    for told in skipped:
        print(f"skipped {told['test']}: {told['text']}")
    passed = len(tests) - len(failed) - len(skipped)
    for name in flaky:
        print(f"FLAKY {name}")
    if len(flaky) >= FLAKY_LIMIT:
        print(f"{len(flaky)} tests are flaky, {FLAKY_LIMIT} or more are a failure")
    for name in failed:
        print(f"FAILED {name}")
    print(f"system tests took {time.monotonic() - begin:.0f} s")
    print(f"system: {passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    if not tests:
        print("no test has such a name" if chosen.word else "no test was found")
        return NO_TESTS
    return 1 if failed or len(flaky) >= FLAKY_LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())

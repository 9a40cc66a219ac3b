#!/usr/bin/python3
"""The long run: libFuzzer with coverage, one target after the other. What it finds is minimised and kept in corpus/TARGET/, and the run fails.

python3 tests/fuzz/run.py --build build/fuzz [--seconds 60] [TARGET...]
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

from progress import Progress  # noqa: E402

SYMBOLIZERS = ("llvm-symbolizer-19", "llvm-symbolizer", "llvm-symbolizer-14")
SLOW = float(os.environ.get("MR_SLOW", "1"))
KINDS = ("crash-", "timeout-", "oom-", "leak-")


def table() -> dict[str, dict[str, int]]:
    """targets.txt: what one input of each target may take."""
    out = {}
    for line in (HERE / "targets.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, *cells = line.split()
            out[name] = dict(zip(("length", "seconds", "memory", "alloc", "tries"), map(int, cells), strict=True))
    return out


class Fuzzer:
    def __init__(self, program: pathlib.Path, name: str, limits: dict[str, int], found: pathlib.Path):
        self.program, self.name, self.found = program, name, found
        self.flags = [f"-max_len={limits['length']}", f"-timeout={limits['seconds']}", f"-rss_limit_mb={limits['memory']}",
                      f"-malloc_limit_mb={limits['alloc']}", f"-artifact_prefix={found}/", "-print_final_stats=1"]
        self.environment = dict(os.environ, MR_FUZZ_TARGET=name)
        if symbolizer := next(filter(None, map(shutil.which, SYMBOLIZERS)), None):  # without one there are no lines in the report
            self.environment |= {f"{kind}_SYMBOLIZER_PATH": symbolizer for kind in ("ASAN", "UBSAN")}

    def call(self, *words: str, limit: float | None = None, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *words], env=self.environment | more, capture_output=True, errors="replace", timeout=limit)

    def run(self, seconds: int, corpora: list[pathlib.Path]) -> subprocess.CompletedProcess:
        words = [f"-max_total_time={seconds}", *self.flags]
        if (HERE / "dictionaries" / self.name).exists():
            words.append(f"-dict={HERE / 'dictionaries' / self.name}")
        return self.call(*words, *map(str, corpora), limit=(seconds + 600) * SLOW)

    def fails(self, data: bytes) -> bool:
        path = self.found / "candidate"
        path.write_bytes(data)
        return self.call(*self.flags[:4], str(path)).returncode != 0

    def minimise(self, finding: pathlib.Path) -> bytes:
        """Smaller, and still a finding; a timeout stays as it is, each try would take as long."""
        best = finding.read_bytes()
        if not finding.name.startswith("crash-"):
            return best
        small = finding.with_name("minimised")
        self.call("-minimize_crash=1", "-max_total_time=20", f"-exact_artifact_path={small}", *self.flags[:4], str(finding))
        if small.exists() and self.fails(small.read_bytes()):  # its last try is sometimes none
            best = small.read_bytes()
        tries, size = 120, max(len(best) // 2, 1)
        while tries > 0:
            cuts = [best[:at] + best[at + size:] for at in range(0, len(best), size)][:tries]
            tries -= max(len(cuts), 1)
            if found := next((cut for cut in cuts if self.fails(cut)), None):
                best, size = found, min(size, max(len(found) // 2, 1))
            elif size == 1:
                break
            else:
                size //= 2
        return best


def keep(name: str, kind: str, data: bytes) -> pathlib.Path:
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}{hashlib.sha256(data).hexdigest()[:8]}"
    path.write_bytes(data)
    return path


def fuzz(program: pathlib.Path, work: pathlib.Path, name: str, limits: dict[str, int], seconds: int) -> tuple[str, list[str]]:
    """What was done, and what was found."""
    seeds, grown, made, found = HERE / "corpus" / name, work / name / "grown", work / name / "made", work / name / "found"
    shutil.rmtree(found, ignore_errors=True)
    for folder in (seeds, grown, made, found):
        folder.mkdir(parents=True, exist_ok=True)
    fuzzer = Fuzzer(program, name, limits, found)
    fuzzer.call(MR_FUZZ_SEEDS=str(made))
    try:
        done = fuzzer.run(seconds, [grown, seeds, made])
    except subprocess.TimeoutExpired as late:  # it stopped itself, or waits for something: libFuzzer's own clock does not see that
        problem = f"{name}: no end within {late.timeout:.0f} s\n{(late.stderr or b'').decode(errors='replace')[-3000:]}"
        return f"{name}: NO END within {late.timeout:.0f} s", [problem]
    states = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stderr)
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    findings = sorted(path for path in found.iterdir() if path.name.startswith(KINDS))
    words = f"{name}: {runs[1] if runs else '?'} inputs, coverage {states[-1][0] if states else '?'}, {len(findings)} findings"
    problems = []
    for finding in findings:
        kind = finding.name.split("-")[0] + "-"
        kept = keep(name, kind, fuzzer.minimise(finding))
        report = [line for line in done.stderr.splitlines() if re.match(r"==\d+==|bug:|broken:|.*runtime error:|\s+#\d+ 0x.* /.*/(src|tests)/|SUMMARY|.*ALARM", line)]
        problems.append(f"{kept.relative_to(HERE.parent.parent)}\n  " + "\n  ".join(report[:25]))
    if done.returncode != 0 and not findings:
        problems.append(f"{name}: libFuzzer ended with {done.returncode}\n" + done.stderr[-3000:])
    return words, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build of the preset fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    asked = parser.parse_args()
    rows = table()
    if unknown := [name for name in asked.targets if name not in rows]:
        parser.error(f"no such target: {', '.join(unknown)} (expected one of {', '.join(rows)})")
    program = (asked.build / "tests/fuzz/fuzz_tests").resolve()
    problems = []
    progress = Progress("targets", total=len(asked.targets or rows))
    for name in asked.targets or rows:
        progress.now(f"fuzzing {name} for {asked.seconds} s")
        words, found = fuzz(program, asked.build.resolve() / "fuzz-work", name, rows[name], asked.seconds)
        problems += found
        progress.done(words, important=True)
    progress.end()
    for problem in problems:
        print(f"\nFOUND {problem}")
    print(f"{len(asked.targets or rows)} targets, {len(problems)} findings" + ("; mend them, the inputs stay as tests" if problems else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

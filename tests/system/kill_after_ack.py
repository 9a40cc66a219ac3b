#!/usr/bin/env python3
"""A job id once given is never lost: kills the controller (-9) right after 200 answered sbatch, starts it again, and every job must
be there, and no id may be given out again. Commands under way at that moment ask again by themselves, and one job must come of each.
Several rounds on one log, so that recovery reads what recovery wrote.

    tests/system/kill_after_ack.py --build DIR [--rounds N] [--jobs N]"""

import argparse
import shutil
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

from host import BenchError, adopt_orphans, end_strays
from millrace import Millrace


def submit_and_kill(cluster, script, count, loops=4):
    """Answered ids; several loops at once, so that one group commit holds several jobs and some are under way at the kill."""
    answered, problems, lock = [], [], threading.Lock()

    def one_loop():
        while not problems:
            with lock:
                if len(answered) >= count:
                    return
            try:
                job = cluster.call("sbatch", "--parsable", "--hold", str(script), seconds=30).strip()
            except BenchError as problem:
                problems.append(str(problem))
                return
            with lock:
                answered.append(job)
                if len(answered) == count:
                    cluster.kill_controller()
                    cluster.start_controller()
    threads = [threading.Thread(target=one_loop) for _ in range(loops)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise BenchError(f"{len(answered)} submitted, then: {problems[0]}")
    return answered


def one_round(cluster, script, jobs, known):
    answered = submit_and_kill(cluster, script, jobs)
    twice = [job for job in answered if job in known]
    if twice or len(set(answered)) < len(answered):
        raise BenchError(f"ids given out again: {twice[:5]}")
    known.update(answered)
    listed = set(cluster.queue())
    lost, doubled = known - listed, listed - known
    if lost:
        raise BenchError(f"{len(lost)} of {len(known)} answered jobs are lost, e.g. {sorted(lost, key=int)[:5]}")
    if doubled:
        raise BenchError(f"jobs that nobody was told of: {sorted(doubled, key=int)[:5]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=200)
    chosen = parser.parse_args()
    adopt_orphans()
    root = Path(tempfile.mkdtemp(prefix="millrace-kill."))
    known = set()
    try:
        cluster = Millrace(chosen.build, root / "cluster")
        script = root / "job.sh"
        script.write_text("#!/bin/sh\nexit 0\n")
        try:
            cluster.start(nodes=2, cpus=4, agents=False)
            for _ in range(chosen.rounds):
                one_round(cluster, script, chosen.jobs, known)
        finally:
            cluster.stop()
    except BenchError as problem:
        print(f"kill_after_ack: FAILED: {problem}")
        return 1
    finally:
        end_strays()
        shutil.rmtree(root, ignore_errors=True)
    print(f"kill_after_ack: {chosen.rounds} rounds, {len(known)} jobs, 0 jobs lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())

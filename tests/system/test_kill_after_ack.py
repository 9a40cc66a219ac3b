"""A job id once given is never lost: kills the controller (-9) right after 200 answered sbatch, starts it again, and every job must
be there, and no id may be given out again. Commands under way at that moment ask again by themselves, and one job must come of each.
Several rounds on one log, so that recovery reads what recovery wrote.
"""

import threading

from cluster import TestTrouble, limit

JOBS, ROUNDS, LOOPS = 200, 3, 4


def submit_and_kill(cluster, script):
    """Answered ids; several loops at once, so that one group commit holds several jobs and some are under way at the kill."""
    answered, problems, lock = [], [], threading.Lock()

    def one_loop():
        while not problems:
            with lock:
                if len(answered) >= JOBS:
                    return
            try:
                job = cluster.submit("--hold", script)
            except TestTrouble as problem:
                problems.append(str(problem))
                return
            with lock:
                answered.append(job)
                if len(answered) == JOBS:
                    cluster.controller.kill()
                    cluster.start_controller()
    threads = [threading.Thread(target=one_loop, daemon=True) for _ in range(LOOPS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit(300))
    if problems or any(thread.is_alive() for thread in threads):
        raise TestTrouble(f"{len(answered)} submitted, then: {problems[:1] or 'no end'}")
    return answered


def test_kill_after_ack(checks, directory, new_cluster):
    cluster = new_cluster(directory / "c")
    cluster.start_controller()  # held jobs need no agents
    cluster.wait_for_controller()
    script = directory / "job.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    known = set()
    for number in range(1, ROUNDS + 1):
        answered = submit_and_kill(cluster, script)
        again = sorted(known.intersection(answered)) + sorted(job for job in set(answered) if answered.count(job) > 1)
        checks.that(f"round {number}: no id is given out again", not again, again[:5])
        known.update(answered)
        listed = set(map(int, cluster.run("squeue", "-h", "-o", "%i").out.split()))
        checks.that(f"round {number}: no answered job is lost", not known - listed, sorted(known - listed)[:5])
        checks.that(f"round {number}: there is no job that nobody was told of", not listed - known, sorted(listed - known)[:5])

"""Kills controller, agents and supervisors (-9) at random under load and starts them again; nothing may be lost and nothing doubled.

Every script appends `job attempt` to one file. Afterwards every accepted job has ended, the ledger's attempts equal the lines, and no
process of an ended job lives. A killed agent or controller does no harm to a job; a killed supervisor ends its attempt as NODE_FAIL.
The seed is printed; MR_KILL_SEED gives the same one again.
"""

import collections
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from cluster import TestTrouble, limit, wait_for
from host import children_of

pytestmark = pytest.mark.order(60)

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT")

LINE = 'printf "%s %s\\n" "$SLURM_JOB_ID" "${SLURM_RESTART_COUNT:-0}" >> LINES\n'
SCRIPTS = {
    "short": LINE,
    "sleeper": LINE + "sleep $((${SLURM_JOB_ID} % 4)).3\n",
    # What a job leaves behind must be gone with it.
    "parent": LINE + "sleep 3600 &\nsetsid sleep 3600 &\nsleep 0.5\n",
    "stubborn": "trap '' TERM\n" + LINE + "sleep 1.5\n",
    "failing": LINE + "sleep 0.2\nexit 3\n",
    "long": LINE + "sleep 6\n",
    # A step may lose its supervisor, its agent or its controller: another one is made until one has gone well. Where none does, the job never ends.
    "stepping": LINE + "until timeout SECONDS SRUN sleep 0.2; do sleep 0.1; done\n",
    # The same over both components of a heterogeneous job.
    "components": LINE + "until timeout SECONDS SRUN --het-group=0,1 sleep 0.2; do sleep 0.1; done\n",
}


class Load:
    """Loops that submit, cancel and requeue until told to stop, and remember what they were told."""

    def __init__(self, cluster, directory, seed):
        self.cluster, self.directory, self.seed = cluster, directory, seed
        self.lines = directory / "lines"
        self.lines.touch()
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.accepted = {}      # job or array id: (kind, number of tasks, may be requeued)
        self.unanswered = 0     # submissions that may or may not have become jobs
        self.cancelled, self.requeued, self.sruns = [], [], []
        self.problems = []
        for kind, text in SCRIPTS.items():
            path = directory / f"{kind}.sh"
            path.write_text("#!/bin/sh\n" + text.replace("LINES", str(self.lines)).replace("SRUN", str(cluster.bin / "srun")).replace("SECONDS", f"{limit(20):.0f}"))
        self.threads = [threading.Thread(target=self.guarded, args=(work, number), daemon=True)
                        for number, work in enumerate([self.submit, self.submit, self.submit, self.disturb, self.interactive])]

    def guarded(self, work, number):
        chooser = random.Random(self.seed * 100 + number)
        while not self.stop.is_set():
            try:
                work(chooser)
            except Exception as problem:  # a loop that died silently would make the test weaker, not red
                self.problems.append(repr(problem))
                return

    def backlog(self):
        return len(self.cluster.run("squeue", "-h", "-r", "-o", "%i").out.split())

    def submit(self, chooser):
        if self.backlog() > 60:
            self.stop.wait(0.3)
            return
        kind = chooser.choice(list(SCRIPTS))
        tasks = chooser.choice([0, 0, 0, 3, 8]) if kind != "components" else 0
        requeue = chooser.random() < 0.8
        options = ["--parsable", "-o", "/dev/null", "--requeue" if requeue else "--no-requeue"]
        options += [f"--array=1-{tasks}%{chooser.choice([2, 8])}"] if tasks else []
        options += ["-N2"] if not tasks and chooser.random() < 0.15 else []
        options += [":", "-n1"] if kind == "components" else []
        done = self.cluster.run("sbatch", *options, str(self.directory / f"{kind}.sh"))
        with self.lock:
            if done.code == 0:
                self.accepted[int(done.out.split(";")[0])] = (kind, tasks or 1, requeue)
            elif any(word in done.err for word in ("connect failure", "receive failure", "timed out")):
                self.unanswered += 1  # it may have become a job before the answer was lost
            else:
                self.problems.append(f"sbatch: {done!r}")

    def disturb(self, chooser):
        self.stop.wait(chooser.uniform(0.1, 0.8))
        with self.lock:
            known = list(self.accepted)[-40:]
        if not known:
            return
        job = chooser.choice(known)
        if chooser.random() < 0.7:
            self.cancelled.append(job)  # before the answer, which may be lost
            self.cluster.run("scancel", str(job))
        else:
            self.requeued.append(job)  # before the answer, which may be lost
            self.cluster.run("scontrol", "requeue", str(job))

    def interactive(self, chooser):
        job_file = self.directory / f"srun.{chooser.random()}"
        words = LINE.replace("LINES", str(self.lines)).strip()
        done = self.cluster.run("srun", "-n1", "-J", "interactive", "sh", "-c", f"echo $SLURM_JOB_ID > {job_file}; {words}; sleep 0.4; echo fine", seconds=120)
        job = int(job_file.read_text()) if job_file.exists() and job_file.read_text().strip() else None
        self.sruns.append((job, done))


class Killer:
    """Kills at random and starts again, a little later, what must run."""

    def __init__(self, cluster, seed):
        self.cluster, self.chooser = cluster, random.Random(seed)
        self.kills = collections.Counter()
        self.back = []  # (when, what)

    def heal(self, until):
        for when, start in list(self.back):
            if when <= until:
                self.back.remove((when, start))
                start()

    def supervisor(self):
        """One that runs an attempt, or one that was only just started."""
        young = [child for agent in self.cluster.agents.values() for child in children_of(agent.pid)]
        return self.chooser.choice(([pid for pid, _ in self.cluster.supervisors()] + young) or [None])

    def once(self):
        what = self.chooser.choices(["controller", "agent", "supervisor", "supervisors"], [3, 4, 5, 1])[0]
        later = time.monotonic() + self.chooser.choice([0, 0, 0.3, 1.5])
        if what == "controller" and self.cluster.controller.alive():
            self.cluster.controller.kill()
            self.back.append((later, self.cluster.start_controller))
        elif what == "agent":
            living = [node for node, agent in self.cluster.agents.items() if agent.alive()]
            if not living:
                return
            node = self.chooser.choice(living)
            self.cluster.agents[node].kill()
            self.back.append((later, lambda: self.cluster.start_agent(node)))
        else:
            for _ in range(1 if what == "supervisor" else 4):
                victim = self.supervisor()
                try:
                    if victim and Path(f"/proc/{victim}/comm").read_text().strip() == "millrace-step":
                        os.kill(victim, signal.SIGKILL)
                        self.kills["supervisor"] += 1
                except (OSError, ProcessLookupError):
                    pass
            return
        self.kills[what] += 1

    def rage(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.heal(time.monotonic())
            if crashed := self.cluster.crashed():
                raise TestTrouble("; ".join(crashed))
            self.once()
            time.sleep(self.chooser.uniform(0.05, 0.7))
        self.heal(float("inf"))


def read_lines(path):
    found = collections.Counter()
    for line in path.read_text().splitlines():
        job, attempt = line.split()
        found[int(job), int(attempt)] += 1
    return found


def why_not(cluster):
    """What nodes said of launches that went wrong, but for supervisors that were killed."""
    log = (cluster.directory / "logs" / "controller.log").read_text(errors="replace")
    return [line for line in log.splitlines() if "job key" in line and " was lost" not in line and "before it began" not in line][-10:]


def judge(checks, cluster, load, kills):
    everything = cluster.jobs()
    jobs = {job: fields for job, fields in everything.items() if fields.get("HetJobOffset", "0") == "0"}
    components = {job: fields for job, fields in everything.items() if job not in jobs}
    apart = [(job, fields["JobState"]) for job, fields in components.items() if fields["JobState"] != jobs[int(fields["HetJobId"])]["JobState"]]
    checks.that(f"every component ended as its job did ({len(components)})", not apart, apart[:10])
    lines = read_lines(load.lines)
    by_array = collections.defaultdict(list)
    for job, fields in jobs.items():
        by_array[int(fields.get("ArrayJobId", job))].append(job)
    missing = [job for job in load.accepted if job not in jobs and job not in by_array]
    checks.that(f"all {len(load.accepted)} accepted submissions are known ({len(jobs)} jobs)", not missing, missing[:10])
    # Tasks that never started are one record with a list; every other task has a record of its own.
    short = {}
    for job, (_, asked, _) in load.accepted.items():
        records = [jobs[one].get("ArrayTaskId", "") for one in by_array.get(job, [])]
        if not any(mark in record for record in records for mark in "-,[") and len(records) != asked:
            short[job] = (asked, records)
    checks.that("every array has as many tasks as asked", not short, list(short.items())[:5])
    foreign = [job for job in by_array if job not in load.accepted and jobs[by_array[job][0]].get("JobName") != "interactive"]
    checks.that(f"no more jobs than submissions ({len(foreign)} without an answer, {load.unanswered} answers lost)", len(foreign) <= load.unanswered, foreign[:10])
    living = {job: fields["JobState"] for job, fields in jobs.items() if fields["JobState"] not in ENDED}
    checks.that("every job has ended", not living, list(living.items())[:10])

    twice = [pair for pair, count in lines.items() if count > 1]
    checks.that(f"no attempt ran twice ({sum(lines.values())} lines)", not twice, twice[:10])
    unknown = [(job, attempt) for job, attempt in lines if job not in jobs or attempt > int(jobs[job]["Restarts"])]
    checks.that("every line belongs to an attempt of the ledger", not unknown, unknown[:10])
    silent = [(job, fields["JobState"], fields["Restarts"]) for job, fields in jobs.items()
              if fields["JobState"] == "COMPLETED" and lines[job, int(fields["Restarts"])] != 1]
    checks.that("the last attempt of every completed job has its line", not silent, silent[:10])
    # An attempt may end before its first line only because somebody killed, cancelled or requeued it.
    attempts = sum(int(fields["Restarts"]) + 1 for fields in jobs.values() if fields.get("NodeList", "(null)") not in ("(null)", "") or int(fields["Restarts"]))
    wordless = [(job, attempt) for job, fields in jobs.items() for attempt in range(int(fields["Restarts"]) + 1)
                if lines[job, attempt] == 0 and fields["JobState"] != "CANCELLED"]
    allowed = kills["supervisor"] + len(load.requeued) * 8 + kills["agent"]
    checks.that(f"attempts without a line ({len(wordless)} of {attempts}) are not more than kills", len(wordless) <= allowed, wordless[:10])
    # Controllers and agents were killed too; no job that had begun may have been started again for that.
    restarts = sum(1 for job, fields in jobs.items() for attempt in range(int(fields["Restarts"])) if lines[job, attempt])
    requeues = sum(load.accepted[job][1] for job in load.requeued)
    checks.that(f"jobs that had begun were started again ({restarts}) only after kills of supervisors ({kills['supervisor']}) or requeues ({requeues})",
                restarts <= kills["supervisor"] + requeues)

    wrong = []
    for job, fields in jobs.items():
        kind, _, requeue = load.accepted.get(int(fields.get("ArrayJobId", job)), (None, 0, None))
        state = fields["JobState"]
        if kind is None or state == "CANCELLED":
            continue
        good = state == "FAILED" and fields["ExitCode"] == "3:0" if kind == "failing" else state == "COMPLETED"
        if not good and not (state == "NODE_FAIL" and not requeue):
            wrong.append((job, kind, requeue, state, fields["ExitCode"], fields["Reason"], fields["Restarts"]))
    checks.that("every job ended as its script did, or NODE_FAIL where it may not be requeued", not wrong, (wrong[:10], why_not(cluster)))
    surprise = [job for job, fields in jobs.items() if fields["JobState"] == "CANCELLED" and fields.get("JobName") != "interactive"
                and int(fields.get("ArrayJobId", job)) not in load.cancelled and int(fields.get("ArrayJobId", job)) in load.accepted]
    checks.that("nothing was cancelled that nobody cancelled", not surprise, surprise[:10])
    failed_nodes = [job for job, fields in jobs.items() if fields["JobState"] == "NODE_FAIL"]
    checks.that(f"NODE_FAIL ({len(failed_nodes)}) not more often than supervisors were killed", len(failed_nodes) <= kills["supervisor"] + kills["agent"], failed_nodes[:10])

    lied = [(job, done) for job, done in load.sruns if job in jobs and (jobs[job]["JobState"] == "COMPLETED") != (done.code == 0 and "fine" in done.out)]
    good = sum(1 for _, done in load.sruns if done.code == 0)
    checks.that(f"srun said what became of its job ({good} of {len(load.sruns)} went well)", not lied, lied[:3])
    facts, _ = cluster.step_facts()
    doubled = {step: what for step, what in facts.items() if what[0] != 1 or len(what[1]) > 1}
    checks.that(f"every step started once and ended at most once in the log ({len(facts)} steps)", facts and not doubled, list(doubled.items())[:5])
    running = cluster.run("squeue", "-h", "-s").out
    checks.that("no step outlives its job", not running.strip(), running[-300:])
    hung = [done for _, done in load.sruns if done.code == -1]
    checks.that("no srun hung", not hung, hung[:3])


def settle(cluster, seconds):
    def empty():
        cluster.must_live()
        done = cluster.run("squeue", "-h", "-r", "-o", "%i %T %r %N")
        last.append(done.out)
        return done.code == 0 and not done.out.strip()
    last = []
    try:
        wait_for("an empty queue", empty, seconds, 0.2)
    except TestTrouble as trouble:
        raise TestTrouble(f"{trouble}: {last[-1][:600]}\nnodes: {cluster.node_states()}") from None


@pytest.mark.parametrize("seconds", [pytest.param(25, id="short"), pytest.param(60, id="long", marks=pytest.mark.extended)])
def test_random_kill(checks, directory, new_cluster, seconds):
    seed = int(os.environ.get("MR_KILL_SEED") or random.SystemRandom().randrange(10**6))
    print(f"MR_KILL_SEED={seed}", flush=True)
    cluster = new_cluster(directory / "c", nodes=3, cpus=4)
    cluster.start()
    load = Load(cluster, directory, seed)
    killer = Killer(cluster, seed)
    for thread in load.threads:
        thread.start()
    try:
        killer.rage(seconds)
    finally:
        load.stop.set()
    print(f"killed: {dict(killer.kills)}; {len(load.accepted)} submissions, {len(load.cancelled)} cancelled, {len(load.requeued)} requeued, {len(load.sruns)} sruns", flush=True)
    for thread in load.threads:
        thread.join(limit(150))
    checks.that("the load ran to its end", not load.problems and not any(thread.is_alive() for thread in load.threads), load.problems[:3])
    settle(cluster, 120)
    # Before anything else: the queue is empty, so no process of a job may be left at this moment.
    left = cluster.job_processes()
    checks.that("no process of an ended job lives", not left, [(pid, where, Path(f"/proc/{pid}/cmdline").read_bytes()) for pid, where in left[:5] if Path(f"/proc/{pid}").exists()])
    cluster.wait_for_nodes()
    checks.that("all nodes are idle", True)
    judge(checks, cluster, load, killer.kills)
    before = cluster.jobs()
    code = cluster.controller.terminate()
    checks.that("the controller ends politely", code == 0, code)
    cluster.start_controller()
    cluster.wait_for_controller()
    after = cluster.jobs()
    changed = [job for job in before.keys() | after.keys() if before.get(job) != after.get(job)]
    checks.that("a restart changes nothing", not changed, [(before.get(job), after.get(job)) for job in changed[:2]])
    cluster.wait_for_nodes()

    def forgotten():
        return not list((cluster.directory / "spool").glob("*/*/state"))
    try:
        wait_for("empty spools", forgotten, 30)
        checks.that("nodes have forgotten every attempt", True)
    except TestTrouble:
        checks.that("nodes have forgotten every attempt", False, list((cluster.directory / "spool").glob("*/*/state"))[:5])
    codes = {node: agent.terminate() for node, agent in cluster.agents.items()}
    checks.that("agents end politely", all(code == 0 for code in codes.values()), codes)

"""The measures. Each group starts a fresh cluster, because one measure's leftovers are another's load; what it returns is
{measure: value}. Rates are per second, times in seconds, memory in kB per job or task."""

import statistics
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from host import BenchError, run, run_json, say, settled_rss_kb, wait_until
from millrace import find_program

TRIVIAL = '#!/bin/sh\necho "$SLURM_JOB_ID"\n'


@dataclass
class Sizes:
    """How much of each; Slurm gets smaller counts where it is slow, since a rate does not need more."""

    nodes: int = 8
    cpus: int = 64
    many_jobs: dict = None
    few_jobs: dict = None
    sbatch_sequential: int = 400
    sbatch_parallel: int = 1600
    srun: int = 60
    library: int = 10_000
    queue: int = 100_000
    squeue_runs: int = 7
    storm: int = 50
    steps: dict = None
    array: int = 100_000
    killed: int = 200
    wide: tuple = (10, 100, 1000)
    agent_jobs: int = 100_000

    @staticmethod
    def full():
        return Sizes(many_jobs={"slurm": 1000, "millrace": 6000}, few_jobs={"slurm": 100, "millrace": 3000}, steps={"slurm": 100, "millrace": 400})

    @staticmethod
    def quick():
        return Sizes(many_jobs={"slurm": 100, "millrace": 400}, few_jobs={"slurm": 24, "millrace": 200}, steps={"slurm": 10, "millrace": 20}, sbatch_sequential=50, sbatch_parallel=160,
                     srun=10, library=1000, queue=4000, squeue_runs=3, array=10_000, killed=200, wide=(2, 8), agent_jobs=400)


class Bench:
    """Measures one cluster; `build` is where our small programs lie."""

    def __init__(self, build, sizes, cpu):
        self.build = build
        self.sizes = sizes
        self.cpu = cpu

    def with_cpu(self, name, per, count, action):
        """Runs `action`, which returns a rate, and adds how many milliseconds of processor time one of `count` took."""
        before = self.cpu.seconds()
        found = {name: action()}
        if before is not None:
            found[per] = (self.cpu.seconds() - before) / count * 1000
        return found

    def repeat(self, cluster, count, workers, command, cwd):
        result = run_json([find_program(self.build, "bench_repeat"), "--count", str(count), "--workers", str(workers), "--", *command],
                          cluster.environment, cwd=cwd)
        if result["failed"]:
            raise BenchError(f"{result['failed']} of {count} {command[0]} failed")
        return result

    # ---- jobs that run ----

    def end_to_end(self, cluster, count, until_empty=True):
        """From the first submission until every output file is written, and the queue empty."""
        work = cluster.fresh_folder()
        script = cluster.directory / "trivial.sh"
        script.write_text(TRIVIAL)
        script.chmod(0o755)
        begin = time.monotonic()
        submitted = cluster.submit_library(count, work, script)
        say(f"    submitted {count} in {submitted['seconds']:.1f} s")
        outputs = lambda: sum(1 for entry in work.iterdir() if entry.name.startswith("slurm-"))
        wait_until(f"{count} output files", lambda: outputs() >= count, 300, 0.1)
        if until_empty:
            wait_until("an empty queue", lambda: not cluster.queue(), 60, 0.05)
        took = time.monotonic() - begin
        empty = [entry.name for entry in work.iterdir() if entry.stat().st_size == 0]
        if empty:
            raise BenchError(f"{len(empty)} output files are empty")
        return count / took

    def many_slots(self, cluster):
        cluster.start(self.sizes.nodes, self.sizes.cpus)
        count = self.sizes.many_jobs[cluster.system]
        return self.with_cpu("jobs, many slots", "CPU time per job, many slots", count, lambda: self.end_to_end(cluster, count))

    def few_slots(self, cluster):
        cluster.start(self.sizes.nodes, 1)
        count = self.sizes.few_jobs[cluster.system]
        return self.with_cpu("jobs, 8 slots", "CPU time per job, 8 slots", count, lambda: self.end_to_end(cluster, count))

    def srun(self, cluster):
        cluster.start(self.sizes.nodes, self.sizes.cpus)
        work = cluster.fresh_folder()
        self.repeat(cluster, 3, 1, ["srun", "true"], work)
        return {"srun true": self.repeat(cluster, self.sizes.srun, 1, ["srun", "true"], work)["median_ms"] / 1000}

    def steps(self, cluster):
        """srun inside one allocation, one after the other and eight at a time."""
        cluster.start(self.sizes.nodes, self.sizes.cpus)
        work = cluster.fresh_folder()
        repeat = find_program(self.build, "bench_repeat")
        step = ["srun", "--exact", "-N1", "-n1", "true"]

        def rate(count, workers):
            done = cluster.call("salloc", "-Q", "-N1", "-n8", str(repeat), "--count", str(count), "--workers", str(workers), "--", *step, cwd=work, seconds=300)
            found = json.loads(done.strip().splitlines()[-1])
            if found["failed"]:
                raise BenchError(f"{found['failed']} of {count} steps failed")
            return found["per_second"]
        rate(3, 1)
        two = self.repeat(cluster, max(5, self.sizes.srun // 3), 1, ["srun", "-N2", "-n2", "true"], work)["median_ms"] / 1000
        return {"steps, sequential": rate(self.sizes.steps[cluster.system], 1), "steps, 8 parallel": rate(self.sizes.steps[cluster.system] * 2, 8), "srun -n 2": two}

    def launch(self, cluster):
        """A step of one task on each of many nodes, all on this machine: what it costs for each node more."""
        found = {}
        for nodes in self.sizes.wide:
            cluster.start(nodes, 1, patience=300)
            done = cluster.call("salloc", "-Q", f"-N{nodes}", find_program(self.build, "bench_repeat"), "--count", "5", "--workers", "1", "--", "srun", "true",
                                cwd=cluster.fresh_folder(), seconds=600)
            line = json.loads(done.strip().splitlines()[-1])
            if line["failed"]:
                raise BenchError(f"{line['failed']} of 5 steps on {nodes} nodes failed")
            found[f"step on {nodes} nodes"] = line["median_ms"] / 1000
            cluster.stop()
        least, most = self.sizes.wide[0], self.sizes.wide[-1]
        found["step, growth for each time as many nodes"] = (found[f"step on {most} nodes"] / found[f"step on {least} nodes"]) / (most / least)
        return found

    def footprint(self, cluster):
        """Memory of a supervisor with one task, and of an agent before and after many jobs."""
        cluster.start(1, 64)
        job = cluster.call("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "exec sleep 1000").strip()
        wait_until("its supervisor", lambda: supervisors_of(cluster), 60, 0.05)
        rss, anonymous = memory_kb(supervisors_of(cluster)[0])
        cluster.call("scancel", job)
        wait_until("an empty queue", lambda: not cluster.queue(), 60, 0.05)
        first = max(self.sizes.agent_jobs // 20, 100)
        self.end_to_end(cluster, first)
        before = settled_rss_kb(cluster.agents[0].pid)
        left = self.sizes.agent_jobs - first
        while left > 0:
            self.end_to_end(cluster, min(left, 10_000))
            left -= 10_000
        after = settled_rss_kb(cluster.agents[0].pid)
        return {"supervisor, RSS": rss, "supervisor, anonymous": anonymous, f"agent, RSS after {first} jobs": before, f"agent, RSS after {self.sizes.agent_jobs} jobs": after,
                "agent, growth over all jobs": after / before}

    # ---- submissions to a full cluster ----

    def sbatch(self, cluster):
        cluster.start(self.sizes.nodes, self.sizes.cpus)
        cluster.fill_all_nodes()
        work = cluster.fresh_folder()
        script = cluster.directory / "trivial.sh"
        script.write_text(TRIVIAL)
        loop = lambda count, workers: self.repeat(cluster, count, workers, ["sbatch", str(script)], work)["per_second"]
        one, eight = self.sizes.sbatch_sequential, self.sizes.sbatch_parallel
        return (self.with_cpu("sbatch, sequential", "CPU time per sbatch", one, lambda: loop(one, 1)) |
                self.with_cpu("sbatch, 8 parallel", "CPU time per sbatch, 8 parallel", eight, lambda: loop(eight, 8)))

    def pending(self, cluster):
        """A long queue behind a full cluster: rate of submission, memory, squeue and restart."""
        sizes = self.sizes
        cluster.start(sizes.nodes, sizes.cpus)
        cluster.fill_all_nodes()
        work = cluster.fresh_folder()
        before = settled_rss_kb(cluster.controller.pid)
        found = self.with_cpu("submissions, library", "CPU time per submission, library", sizes.library,
                              lambda: cluster.submit_library(sizes.library, work)["per_second"])
        found["memory per job, 10k"] = (settled_rss_kb(cluster.controller.pid) - before) / sizes.library
        found["squeue, 10k"] = self.repeat(cluster, sizes.squeue_runs, 1, ["squeue"], work)["median_ms"] / 1000
        say(f"    {sizes.library} pending: {found}")
        filled = cluster.submit_library(sizes.queue - sizes.library, work)
        say(f"    filled up to {sizes.queue} at {filled['per_second']:.0f}/s")
        found["memory per job, 100k"] = (settled_rss_kb(cluster.controller.pid) - before) / sizes.queue
        found["squeue, 100k"] = self.repeat(cluster, sizes.squeue_runs, 1, ["squeue"], work)["median_ms"] / 1000
        found["restart, one job listed"], found["restart"] = cluster.restart_controller(sizes.queue)
        return found

    def array(self, cluster):
        cluster.start(self.sizes.nodes, self.sizes.cpus, agents=False)
        script = cluster.directory / "trivial.sh"
        script.write_text(TRIVIAL)
        cluster.call("sbatch", "--hold", str(script))
        before = settled_rss_kb(cluster.controller.pid)
        cluster.call("sbatch", f"--array=0-{self.sizes.array - 1}", str(script))
        return {"memory per array task": max(0, settled_rss_kb(cluster.controller.pid) - before) / self.sizes.array}

    # ---- questions ----

    QUESTIONS = {"squeue": ["squeue"], "squeue -j": ["squeue", "-j", "{job}"], "squeue -u": ["squeue", "-u", "daemon"], "squeue -t R": ["squeue", "-h", "-t", "R", "-o", "%i %T %R"],
                 "squeue --start": ["squeue", "--start"], "sinfo": ["sinfo"], "sinfo -N -l": ["sinfo", "-N", "-l"], "scontrol show job": ["scontrol", "show", "job", "{job}"],
                 "scontrol show node": ["scontrol", "show", "node"], "scontrol show partition": ["scontrol", "show", "partition"], "scontrol show config": ["scontrol", "show", "config"],
                 "scontrol ping": ["scontrol", "ping"], "sdiag": ["sdiag"]}

    def query(self, cluster):
        """Every question at 0, 10,000 and 100,000 waiting jobs, and a storm of them beside running jobs."""
        sizes = self.sizes
        cluster.start(sizes.nodes, sizes.cpus)
        job = cluster.fill_all_nodes()
        work = cluster.fresh_folder()
        found, waiting = {}, 0
        for label, count in (("0", 0), ("10k", sizes.library), ("100k", sizes.queue)):
            if count > waiting:
                cluster.submit_library(count - waiting, work)
                waiting = count
            # Short ones take a moment, in which anything may happen on the machine: all of them in turn, three times.
            medians = {name: [] for name in self.QUESTIONS}
            for turn in range(3):
                for name, words in self.QUESTIONS.items():
                    is_long = name in ("squeue", "squeue --start") and count
                    if is_long and turn > 0:
                        continue
                    words = [word.format(job=job) for word in words]
                    medians[name].append(self.repeat(cluster, sizes.squeue_runs if is_long else 3 * sizes.squeue_runs, 1, words, work)["median_ms"])
            found |= {f"{name} ({label} jobs)": statistics.median(values) for name, values in medians.items()}
        return found

    def storm(self, cluster):
        """Jobs per second beside a long queue, without and with 50 clients that list it in a loop. On a cluster they have machines of their own, so what is measured is what
        their questions cost the controller: ours are a program that throws the answers away, Slurm's are squeue at a priority that gives way to everything else."""
        sizes = self.sizes
        cluster.start(sizes.nodes, sizes.cpus)
        cluster.submit_library(sizes.queue, cluster.fresh_folder(), hold=True)
        jobs = sizes.many_jobs[cluster.system] // 2
        calm = self.end_to_end(cluster, jobs, until_empty=False)
        storm = cluster.start_storm(sizes.storm)
        try:
            wait_until("a client of the storm that was answered", storm.has_answers, 300)
            stormy = self.end_to_end(cluster, jobs, until_empty=False)
        finally:
            answers = storm.end()
        return {"jobs beside a queue of 100k": calm, "jobs in a storm of squeue": stormy, "cost of the storm": max(0.0, 1 - stormy / calm) * 100, "answers during the storm": answers}

    # ---- a killed controller ----

    def killed(self, cluster):
        cluster.start(self.sizes.nodes, self.sizes.cpus, agents=False)
        script = cluster.directory / "trivial.sh"
        script.write_text(TRIVIAL)
        answered = [cluster.call("sbatch", "--parsable", "--hold", str(script)).strip() for _ in range(self.sizes.killed)]
        cluster.kill_controller()
        cluster.start_controller()
        cluster.wait_for_controller()
        lost = set(answered) - set(cluster.queue())
        again = cluster.call("sbatch", "--parsable", "--hold", str(script)).strip()
        return {"jobs lost by kill -9": len(lost), "id given out again": int(again in answered)}

    def groups(self):
        return {"many": self.many_slots, "few": self.few_slots, "srun": self.srun, "steps": self.steps, "launch": self.launch, "footprint": self.footprint, "sbatch": self.sbatch, "pending": self.pending,
                "array": self.array, "killed": self.killed, "query": self.query, "storm": self.storm}


def supervisors_of(cluster):
    """Pids of supervisors below the cluster's spool; the prefork server, which waits to become one, is none."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == "millrace-step" and str(cluster.directory) in os.readlink(entry / "cwd"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def memory_kb(pid):
    fields = {line.split(":")[0]: int(line.split()[1]) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]}
    return fields["Rss"], fields["Anonymous"]


def planning(build, quick):
    """Planner passes over a deep queue, in a process of their own: no daemon, no disk. CPU seconds of one thread."""
    program = Path(build) / "bench" / "plan_bench"
    found = {}
    for label, jobs, nodes in (("10k x 1k", 10_000, 1_000), ("100k x 10k", 100_000, 10_000)):
        if quick:
            jobs, nodes = jobs // 10, 1_000  # fewer could not hold the widest jobs
        line = run_json([program, str(jobs), str(nodes), "100"])
        found |= {f"planning pass, {label}": line["full_pass_s"], f"pass after a submit, {label}": line["after_submit_ms"],
                  f"pass after an end, {label}": line["after_end_ms"]}
    found["growth of a pass, 100x"] = found["planning pass, 100k x 10k"] / found["planning pass, 10k x 1k"]
    return found


def latency(build, directory, quick):
    """What sbatch and squeue wait for the controller while the planner never rests, in times of what they wait when it does."""
    folder = Path(directory) / "latency"
    folder.mkdir()
    jobs, nodes, rounds = (1_000, 1_000, 20) if quick else (100_000, 10_000, 300)
    program = Path(build) / "bench" / "latency_bench"
    line = run_json([program, str(folder), str(jobs), str(nodes), str(rounds)])
    found = {"planner busy meanwhile": line["planner_busy"]}
    for command in ("sbatch", "squeue -j", "squeue -u"):
        idle, busy = line[f"{command} idle p95_ms"], line[f"{command} busy p95_ms"]
        found |= {f"{command} p95, at rest": idle, f"{command} p95, planning": busy, f"{command} p95, planning against rest": busy / idle}
    return found


def spawn_limit(build, directory, count, cpu):
    """The same script with an output file, started by a bare loop: nobody can be faster on this machine. (Rate, CPU ms of one.)"""
    folder = Path(directory) / "limit"
    folder.mkdir()
    script = folder / "trivial.sh"
    script.write_text(TRIVIAL)
    script.chmod(0o755)
    command = [find_program(build, "bench_repeat"), "--count", str(count), "--workers", "2", "--out", f"{folder}/out.%d", "--", str(script)]
    before = cpu.seconds()
    rate = run_json(command)["per_second"]
    return rate, None if before is None else (cpu.seconds() - before) / count * 1000


def calibration(build, directory):
    return run_json([find_program(build, "bench_calibrate"), str(directory)])


def load_average():
    return run(["cat", "/proc/loadavg"]).split()[0]

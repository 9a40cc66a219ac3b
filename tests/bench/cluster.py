"""What a measure may ask of a cluster, whoever runs it."""

import os
import signal
import time
from pathlib import Path

from host import BenchError, end_strays, limit, run, wait_until


class Cluster:
    """Started fresh for each group of measures: nodes n1, n2, ... of equal size on this host."""

    system = ""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True)
        self.configuration = self.directory / "slurm.conf"
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "SQUEUE", "SRUN"))}
        self.environment = {**keep, "SLURM_CONF": str(self.configuration)}
        self.controller = None
        self.agents = []
        self.nodes = self.cpus = 0
        self.folders = 0

    def node_names(self):
        return [f"n{i}" for i in range(1, self.nodes + 1)]

    def start(self, nodes, cpus, agents=True, patience=60):
        self.nodes, self.cpus = nodes, cpus
        self.prepare()
        self.write_configuration()
        self.start_controller()
        self.wait_for_controller()
        if agents:
            self.start_agents()
            wait_until("all nodes idle", self.nodes_are_idle, patience, 0.1)

    def nodes_are_idle(self):
        for daemon in [self.controller, *self.agents]:
            daemon.must_live()
        states = self.call("sinfo", "-h", "-N", "-o", "%N %t", check=False).split()[1::2]
        return len(states) == self.nodes and all(state == "idle" for state in states)

    def wait_for_controller(self, seconds=60):
        def answers():
            self.controller.must_live()
            return "UP" in self.call("scontrol", "ping", check=False)
        wait_until("the controller", answers, seconds)

    def stop(self):
        for daemon in [*self.agents, self.controller]:
            if daemon is not None:
                daemon.kill()
        self.agents, self.controller = [], None
        end_strays()

    def call(self, name, *arguments, check=True, seconds=120, cwd=None):
        return run([name, *arguments], self.environment, seconds, check, cwd or self.directory)

    def fresh_folder(self):
        self.folders += 1
        folder = self.directory / f"work{self.folders}"
        folder.mkdir()
        return folder

    def queue(self):
        return self.call("squeue", "-h", "-o", "%i").split()

    def fill_all_nodes(self):
        """One job on every CPU, so that what comes after it waits and the scheduler has something to think about."""
        job = self.call("sbatch", "--parsable", "-N", str(self.nodes), "--exclusive", "-o", "/dev/null", "--wrap", "exec sleep 36000").strip()
        wait_until("the job that fills all nodes", lambda: self.call("squeue", "-h", "-j", job, "-o", "%t").strip() == "R", 60, 0.1)
        return job

    def kill_controller(self):
        self.controller.kill()

    def restart_controller(self, jobs, seconds=180):
        """Ends it politely, starts it again and returns (seconds until it lists one job, until it lists all of them)."""
        listed = self.queue()
        if len(listed) < jobs:
            raise BenchError(f"{len(listed)} of {jobs} jobs in the queue before the restart")
        os.kill(self.controller.pid, signal.SIGTERM)
        self.controller.process.wait(limit(120))
        begin = time.monotonic()
        self.start_controller()

        def lists_one():
            self.controller.must_live()
            return self.call("squeue", "-h", "-j", listed[-1], "-o", "%i", check=False).strip() == listed[-1]
        wait_until("squeue of one job after the restart", lists_one, seconds, 0.01)
        one = time.monotonic() - begin
        wait_until("squeue after the restart", lambda: len(self.call("squeue", "-h", check=False).splitlines()) >= jobs, seconds, 0.01)
        return one, time.monotonic() - begin

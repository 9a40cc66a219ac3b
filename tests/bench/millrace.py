"""A Millrace cluster on loopback, for measuring."""

import os
import shutil
import socket
from pathlib import Path

from cluster import Cluster
from host import BenchError, Daemon, free_ports, run_json, wait_until
from storms import QuestionStorm

COMMANDS = ("sbatch", "squeue", "scancel", "srun", "salloc", "sinfo", "scontrol", "sdiag", "sacct")


def find_program(build, name):
    for folder in ("src/apps", "bin", "sbin", "bench", "tests/bench", "."):
        path = Path(build) / folder / name
        if os.access(path, os.X_OK):
            return str(path.resolve())
    raise BenchError(f"{name} is not built in {build}")


class Millrace(Cluster):
    system = "millrace"

    def __init__(self, build, directory):
        super().__init__(directory)
        self.build = build
        links = self.directory / "bin"
        links.mkdir()
        for name in COMMANDS:
            (links / name).symlink_to(find_program(build, "millrace"))
        self.environment = {**self.environment, "PATH": f"{links}:{os.environ['PATH']}"}
        self.socket = str(self.directory / "run" / "socket")

    def write_configuration(self):
        here = self.directory
        port, agent_port = free_ports(2)
        lines = [
            "ClusterName=bench", f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", "SlurmUser=root", f"AuthInfo=socket={self.socket}",
            f"SlurmctldPort={port}", f"SlurmdPort={agent_port}", f"StateSaveLocation={here}/state", f"SlurmdSpoolDir={here}/spool/%n",
            f"SlurmctldPidFile={here}/run/controller.pid", f"SlurmdPidFile={here}/run/%n.pid", f"SlurmdLogFile={here}/%n.log",
            "ProctrackType=proctrack/linuxproc", "ReturnToService=2", "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "MaxJobCount=200000", "MaxArraySize=100001",
        ]
        lines += [f"NodeName={name} CPUs={self.cpus} RealMemory=16000 State=UNKNOWN" for name in self.node_names()]
        lines += [f"PartitionName=all Nodes={','.join(self.node_names())} Default=YES MaxTime=INFINITE State=UP"]
        self.configuration.write_text("\n".join(lines) + "\n")

    def prepare(self):
        for name in ("state", "spool", "run"):
            shutil.rmtree(self.directory / name, ignore_errors=True)
            (self.directory / name).mkdir(mode=0o755)

    def start_controller(self):
        command = [find_program(self.build, "millrace-controller"), "-D", "-f", str(self.configuration)]
        self.controller = Daemon(command, self.directory / "controller.log", self.environment)

    def start_agents(self):
        key = self.directory / "state" / "cluster.key"
        wait_until("the cluster key", key.exists, 10)
        command = [find_program(self.build, "millrace-agent"), "-D", "-f", str(self.configuration), "-N"]
        self.agents = [Daemon([*command, name], self.directory / f"{name}.log", self.environment) for name in self.node_names()]

    def submit_library(self, count, work_dir, script=None, threads=8, distinct=True, hold=False):
        command = [find_program(self.build, "bench_submit"), "--socket", self.socket, "--count", str(count), "--threads", str(threads),
                   "--work-dir", str(work_dir)]
        command += ["--script", str(script)] if script else ["--script-bytes", "1024"]
        return run_json(command + (["--distinct"] if distinct else []) + (["--hold"] if hold else []), self.environment)

    def start_storm(self, clients):
        return QuestionStorm(find_program(self.build, "bench_storm"), clients, self.socket, self.directory)

    def labels(self):
        return "millrace"

"""Debian's Slurm on loopback, for comparing: munged, slurmctld and several slurmd of its own, nothing of the system's."""

import os
import shutil
import socket
from pathlib import Path

from cluster import Cluster
from host import BenchError, Daemon, apt, free_ports, run, run_json, say, wait_until
from storms import SqueueStorm

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge", "libslurm-dev")
TUNED = ("sched_interval=1,sched_min_interval=0,batch_sched_delay=0,default_queue_depth=2000,partition_job_depth=0,sched_max_job_start=0,"
         "bf_interval=1,bf_max_job_test=2000,bf_yield_interval=1000000,max_rpc_cnt=0")
SETTINGS = {  # the better one counts, measure by measure
    "default": "",
    "tuned": TUNED,
    "defer": TUNED + ",defer,max_rpc_cnt=150",
}


def install():
    """Installs what is missing without letting a package start its services. None, or why Slurm cannot be measured."""
    if all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "munged")) and Path("/usr/include/slurm/slurm.h").exists():
        return None
    say("bench: installing " + " ".join(PACKAGES))
    return apt("install", *PACKAGES)


class Slurm(Cluster):
    system = "slurm"

    def __init__(self, settings, directory):
        super().__init__(directory)
        self.settings = settings
        self.munged = None
        self.submitter = self.directory / "slurm_submit"

    def write_configuration(self):
        here = self.directory
        port, *ports = free_ports(1 + self.nodes)
        lines = [
            "ClusterName=bench", f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root",
            "AuthType=auth/munge", f"AuthInfo=socket={here}/munge/socket", "CredType=cred/munge", f"SlurmctldPort={port}",
            f"StateSaveLocation={here}/state", f"SlurmdSpoolDir={here}/spool/%n", f"SlurmctldPidFile={here}/slurmctld.pid",
            f"SlurmdPidFile={here}/%n.pid", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "MpiDefault=none",
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "SchedulerType=sched/backfill", "ReturnToService=2",
            "AccountingStorageType=accounting_storage/none", "JobAcctGatherType=jobacct_gather/none", "SlurmdParameters=config_overrides",
            "MaxJobCount=200000", "MaxArraySize=100001", "SwitchType=switch/none", "JobCompType=jobcomp/none",
        ]
        if SETTINGS[self.settings]:
            lines += [f"SchedulerParameters={SETTINGS[self.settings]}", "SlurmctldDebug=error", "SlurmdDebug=error"]
        host = socket.gethostname()
        lines += [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i]} CPUs={self.cpus} RealMemory=16000 State=UNKNOWN"
                  for i, name in enumerate(self.node_names())]
        lines += [f"PartitionName=all Nodes={','.join(self.node_names())} Default=YES MaxTime=INFINITE State=UP"]
        self.configuration.write_text("\n".join(lines) + "\n")
        (here / "cgroup.conf").write_text("CgroupAutomount=no\nConstrainCores=no\nConstrainRAMSpace=no\n")

    def prepare(self):
        for name in ("state", "spool"):
            shutil.rmtree(self.directory / name, ignore_errors=True)
            (self.directory / name).mkdir(mode=0o755)
        for name in self.node_names():
            (self.directory / "spool" / name).mkdir()
        if self.munged is None:
            self.start_munged()

    def start_munged(self):
        here = self.directory / "munge"
        here.mkdir(mode=0o755)
        key = here / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        command = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={here}/socket", f"--pid-file={here}/pid",
                   f"--log-file={here}/log", f"--seed-file={here}/seed", "--num-threads=4"]
        self.munged = Daemon(command, here / "out")
        wait_until("munged", lambda: (here / "socket").exists() or self.munged.must_live(), 20)

    def start_controller(self):
        self.controller = Daemon(["slurmctld", "-D", "-f", str(self.configuration)], self.directory / "slurmctld.log", self.environment)

    def start_agents(self):
        self.agents = [Daemon(["slurmd", "-D", "-N", name, "-f", str(self.configuration)], self.directory / f"{name}.log", self.environment)
                       for name in self.node_names()]

    def stop(self):
        if self.munged is not None:
            self.munged.kill()
            self.munged = None
            shutil.rmtree(self.directory / "munge", ignore_errors=True)
        super().stop()

    def submit_library(self, count, work_dir, script=None, threads=8, distinct=True, hold=False):
        if not self.submitter.exists():
            source = Path(__file__).with_name("slurm_submit.c")
            run(["cc", "-O2", "-o", str(self.submitter), str(source), "-lslurm", "-lpthread"])
        command = [str(self.submitter), str(count), str(threads), str(script or 1024), "3072", str(work_dir)] + (["hold"] if hold else [])
        return run_json(command, self.environment, 900)

    def start_storm(self, clients):
        return SqueueStorm(clients, self.directory, self.environment)


def version():
    try:
        return run(["slurmctld", "-V"]).split()[-1]
    except (BenchError, OSError):
        return "?"

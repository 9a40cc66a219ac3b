"""Programs written for Slurm, none of them ours, from Debian's packages and unchanged: Snakemake both ways, Toil, Dask, mpi4py."""

import shutil

import pytest

from cluster import Cluster, limit, run_command

MISSING = [name for name in ("snakemake", "toil", "dask-scheduler") if shutil.which(name) is None]
pytestmark = [pytest.mark.extended, pytest.mark.order(100), pytest.mark.hangs_after(1800), pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]

PYTHON = "/usr/bin/python3"  # Debian's, whose packages these are

SNAKEFILE = """
rule all:
    input: "sum.txt"

rule number:
    output: "number.{n}.txt"
    resources: mem_mb=50, runtime=5
    shell: "echo $(({wildcards.n} * 10)) > {output}; echo job $SLURM_JOB_ID on $SLURMD_NODENAME with $SLURM_CPUS_ON_NODE"

rule add:
    input: expand("number.{n}.txt", n=range(1, 4))
    output: "sum.txt"
    resources: mem_mb=50, runtime=5
    shell: "cat {input} | awk '{{s += $1}} END {{print s}}' > {output}"

rule fails:
    output: "never.txt"
    resources: mem_mb=50, runtime=5
    shell: "exit 3"
"""

STATUS = """#!/bin/sh
state=$(sacct -j "$1" --format State --noheader | head -1 | awk '{print $1}')
case "$state" in
  COMPLETED) echo success ;;
  PENDING|CONFIGURING|COMPLETING|RUNNING|SUSPENDED|PREEMPTED|"") echo running ;;
  *) echo failed ;;
esac
"""

TOIL = """
from toil.common import Toil
from toil.job import Job
import os

def square(job, n):
    assert os.environ.get("SLURM_JOB_ID"), "not in a job"
    return n * n

def add(job, numbers):
    return sum(numbers)

def begin(job):
    parts = [job.addChildJobFn(square, n, memory="100M", cores=1, disk="10M").rv() for n in range(1, 4)]
    return job.addFollowOnJobFn(add, parts, memory="100M", cores=1, disk="10M").rv()

if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    with Toil(options) as toil:
        print("the sum is", toil.start(Job.wrapJobFn(begin, memory="100M", cores=1, disk="10M")))
"""

DASK = """
import json, os, sys, time
from distributed import Client, Scheduler, Worker
import asyncio

async def scheduler(file):
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False, scheduler_file=file) as it:
        await it.finished()

async def worker(file):
    async with Worker(scheduler_file=file, nthreads=1, dashboard=False, local_directory=sys.argv[2]) as it:
        await it.finished()

def square(n):
    return n * n, os.environ["SLURM_PROCID"]

def wait_for_scheduler(file):
    while True:
        try:
            return json.load(open(file))
        except (OSError, ValueError):
            time.sleep(0.05)

rank, size, file = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]), sys.argv[1]
if rank == 0:
    asyncio.run(scheduler(file))
elif rank == 1:
    wait_for_scheduler(file)
    with Client(scheduler_file=file) as client:
        client.wait_for_workers(size - 2)
        answers = client.gather(client.map(square, range(20)))
        print("the sum is", sum(n for n, _ in answers), "by", len({who for _, who in answers}), "workers", flush=True)
        client.shutdown()
else:
    wait_for_scheduler(file)
    asyncio.run(worker(file))
"""

# One write for a line: with PYTHONUNBUFFERED print() writes word by word, and mpirun passes on what it reads, line or not.
MPI = "import os; from mpi4py import MPI; w = MPI.COMM_WORLD; os.write(1, f'rank {w.rank} of {w.size} sum {w.allreduce(w.rank + 1)}\\n'.encode())"


class WithAccounts(Cluster):
    def start(self):
        super().start()
        self.run("sacctmgr", "-i", "add", "account", "lab")
        self.run("sacctmgr", "-i", "add", "user", "root", "account=lab")


def make_cluster(build, directory):
    return WithAccounts(build, directory, nodes=2, cpus=8,
                        settings=["SchedulerTimeSlice=1", f"MinJobAge={limit(300):.0f}", "AccountingStorageType=accounting_storage/slurmdbd"]).with_own_shared_memory()


class Client:
    """Runs a program in a folder of its own."""

    def __init__(self, cluster, folder):
        self.folder = folder
        self.environment = {**cluster.environment, "PATH": f"{cluster.bin}:/usr/bin:/bin", "USER": "root", "HOME": str(folder), "OMPI_MCA_btl": "self,tcp",
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(self, *command, seconds=300):
        return run_command(command, self.environment, seconds, self.folder)

    def states(self):
        return self.run("sacct", "-X", "-n", "-P", "-S", "1970-01-01", "-o", "JobName,State").out.split()


@pytest.fixture
def client(cluster, request):
    folder = cluster.directory / request.node.name
    folder.mkdir()
    return Client(cluster, folder)


def test_snakemake_by_command(checks, client):
    here = client.folder
    (here / "Snakefile").write_text(SNAKEFILE)
    (here / "status").write_text(STATUS)
    (here / "status").chmod(0o755)
    command = ("snakemake", "--jobs", "4", "--cluster-status", str(here / "status"), "--max-status-checks-per-second", "5", "--latency-wait", "30", "--cluster-cancel", "scancel",
               "--cluster", "sbatch --parsable --job-name={rule} --output=%x-%j.out --time=5 --mem=50 --cpus-per-task=1 --ntasks=1")
    done = client.run(*command)
    checks.that("Snakemake --cluster with a status script runs a workflow", done.code == 0 and (here / "sum.txt").read_text().strip() == "60", done.err[-1500:])
    checks.that("its jobs are in sacct by their names", client.states().count("number|COMPLETED") == 3 and "add|COMPLETED" in client.states(), client.states())
    done = client.run(*command, "never.txt")
    checks.that("a rule that fails fails the workflow", done.code == 1 and "fails|FAILED" in client.states(), done.err[-1500:])


def test_snakemake_slurm(checks, client):
    here = client.folder
    (here / "Snakefile").write_text(SNAKEFILE)
    # It looks at its jobs every 40 seconds: one level of rules.
    done = client.run("snakemake", "--slurm", "--jobs", "4", "--latency-wait", "30", "--default-resources", "slurm_partition='all'", "slurm_account='lab'", "--until", "number")
    logs = "".join(path.read_text() for path in here.rglob("slurm_logs/**/*.log"))
    checks.that("Snakemake --slurm runs the rules, each by srun in its job", done.code == 0 and all((here / f"number.{n}.txt").read_text() == f"{n * 10}\n" for n in (1, 2, 3)) and "job " in logs,
                done.err[-1500:] + logs[-800:])


def test_toil(checks, client):
    here = client.folder
    (here / "flow.py").write_text(TOIL)
    done = client.run(PYTHON, "flow.py", "--batchSystem=slurm", f"--workDir={here}", "--disableCaching", "--clean=always", "--statePollingWait=1", "--logWarning", str(here / "store"))
    checks.that("Toil runs a workflow with --batchSystem=slurm", done.code == 0 and "the sum is 14" in done.out, done.out[-500:] + done.err[-2500:])


def test_dask(checks, client):
    here = client.folder
    (here / "ranks.py").write_text(DASK)
    done = client.run("srun", "-n", "5", "--mem=800", PYTHON, "ranks.py", here / "scheduler.json", here)
    checks.that("Dask's scheduler, client and three workers find each other under srun", "the sum is 2470 by 3 workers" in done.out, done)


def test_mpi4py(checks, client):
    right = sorted(f"rank {rank} of 4 sum 10" for rank in range(4))
    done = client.run("srun", "--mpi=pmix", "-N", "2", "-n", "4", PYTHON, "-c", MPI)
    checks.that("mpi4py under srun --mpi=pmix", done.code == 0 and sorted(done.out.splitlines()) == right, done)
    done = client.run("salloc", "-N", "2", "-n", "4", "mpirun", PYTHON, "-c", MPI)
    checks.that("mpi4py under mpirun in an allocation", done.code == 0 and sorted(done.out.splitlines()) == right, done)

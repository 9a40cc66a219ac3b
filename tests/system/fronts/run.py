#!/usr/bin/env python3
"""Commands of PBS and LSF, and the completion of bash, with real daemons: what they submit, list, change and end, in which words and with
which exit codes, and the variables their jobs have.

    tests/system/fronts/run.py --build build/dev
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from cluster import Cluster, TestTrouble, run_test, wait_for

NOBODY = (65534, 65534, ())


def submitted(done):
    """The number qsub or bsub printed."""
    found = re.search(r"^(?:Job <)?(\d+)", done.out)
    if done.code != 0 or not found:
        raise TestTrouble(f"nothing was submitted: {done}")
    return int(found[1])


def variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class Gate:
    """Jobs that run until the gate is opened."""

    def __init__(self, directory, name):
        self.path = directory / name
        self.command = f"while [ ! -e {self.path} ]; do sleep 0.1; done"

    def open(self):
        self.path.touch()


def script(cluster, name, *lines):
    path = cluster.directory / name
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    return path


def check_pbs_variables(checks, cluster):
    here = cluster.directory / "where it was"
    here.mkdir()
    out = cluster.directory / "pbs.out"
    gate = Gate(cluster.directory, "pbs.gate")
    path = script(cluster, "pbs.sh", "#PBS -N vars -l nodes=2:ppn=2 -j oe", f"#PBS -o {out}", f"cd \"$PBS_O_WORKDIR\" && env > {out}.env; pwd; cat $PBS_NODEFILE; touch {out}.there", gate.command)
    job = submitted(cluster.run("qsub", path, cwd=here, HOME="/home/x", SHELL="/bin/zsh", LOGNAME="me", PBS_ARRAYID="7"))
    wait_for("the job's variables", lambda: Path(f"{out}.there").exists())
    found = variables(Path(f"{out}.env").read_text())
    wanted = {"PBS_JOBID": str(job), "PBS_JOBNAME": "vars", "PBS_O_WORKDIR": str(here), "PBS_O_LOGNAME": "me", "PBS_O_HOME": "/home/x", "PBS_O_SHELL": "/bin/zsh", "PBS_O_QUEUE": "all", "PBS_QUEUE": "all",
              "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_NUM_NODES": "2", "PBS_NUM_PPN": "2", "PBS_NP": "4", "PBS_NODENUM": "0", "PBS_TASKNUM": "1"}
    checks.that("a job of qsub has PBS's variables", wanted.items() <= found.items() and found.get("PBS_O_PATH") and found.get("PBS_O_HOST"), {name: found.get(name) for name in wanted})
    checks.that("an array of the submitter is not the job's, and the marker is gone", "PBS_ARRAYID" not in found and not [name for name in found if name.startswith("MILLRACE_FRONT")], found)
    checks.that("cd $PBS_O_WORKDIR, and the file of nodes", out.read_text().split("\n") == [str(here), "n1", "n1", "n2", "n2", ""], out.read_text())
    gate.open()
    cluster.wait_for_job(job)
    wait_for("the file of nodes is gone", lambda: not Path(found["PBS_NODEFILE"]).exists())
    job = submitted(cluster.run("qsub", "-J", "3-4", "-o", f"{out}.%a", "-j", "oe", "-v", "MINE=1", "--", "env"))
    cluster.wait_for_job(job)
    wait_for("the other task", lambda: Path(f"{out}.4").exists() and "PBS_NP" in Path(f"{out}.4").read_text())
    found = variables(Path(f"{out}.4").read_text())
    checks.that("a task of an array knows its number", (found.get("PBS_ARRAYID"), found.get("PBS_ARRAY_INDEX"), found.get("PBS_JOBID"), found.get("MINE")) == ("4", "4", f"{job}[4]", "1"), found)
    plain = cluster.submit("-o", f"{out}.plain", "--wrap", "env")
    cluster.wait_for_job(plain)
    checks.that("a job of sbatch has none of it", "PBS_" not in Path(f"{out}.plain").read_text() and "LSB_" not in Path(f"{out}.plain").read_text())
    inner = cluster.run("qsub", "-I", seconds=60, stdin="echo it is $PBS_ENVIRONMENT $(wc -l < $PBS_NODEFILE)\nexit\n", SHELL="/bin/sh")
    checks.that("an interactive job of PBS", "it is PBS_INTERACTIVE 1" in inner.out, inner)


def check_lsf_variables(checks, cluster):
    out = cluster.directory / "lsf.out"
    done = cluster.run("bsub", "-K", stdin=f"#!/bin/sh\n#BSUB -J lvars -n 3 -q all -o {out} -R \"span[ptile=2]\"\nenv\ncat $LSB_DJOB_HOSTFILE > {out}.hosts\n", cwd=cluster.directory)
    job = submitted(done)
    checks.says("the queue #BSUB -q names is not the default", done, 0, f"Job <{job}> is submitted to queue <all>.")
    found = variables(out.read_text())
    wanted = {"LSB_JOBID": str(job), "LSB_BATCH_JID": str(job), "LSB_JOBNAME": "lvars", "LSB_JOBINDEX": "0", "LSB_QUEUE": "all", "LSB_HOSTS": "n1 n1 n2", "LSB_MCPU_HOSTS": "n1 2 n2 1",
              "LSB_DJOB_NUMPROC": "3", "LS_SUBCWD": str(cluster.directory)}
    checks.that("a job of bsub has LSF's variables", wanted.items() <= found.items() and found.get("LSB_SUB_HOST"), {name: found.get(name) for name in wanted})
    checks.that("the file of hosts", Path(f"{out}.hosts").read_text().split() == ["n1", "n1", "n2"])
    done = cluster.run("bsub", "-K", "-J", "many[2-3]", "-o", f"{out}.%J.%I", "-env", "none", "echo $LSB_JOBINDEX $LSB_JOBNAME")
    job = submitted(done)
    checks.that("a task of an array, also with -env none", Path(f"{out}.{job}.3").read_text() == "3 many[3]\n", done)


def body(build, checks, directory, clusters):
    cluster = Cluster(build, directory / "c", nodes=2, cpus=4, partitions=("PartitionName=long Nodes=n1,n2 MaxTime=2-0 State=UP",))
    clusters.append(cluster)
    cluster.start()
    for check in (check_pbs_variables, check_lsf_variables):
        check(checks, cluster)
    checks.that("nothing crashed", not cluster.crashed(), cluster.crashed())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    build = str(Path(parser.parse_args().build).resolve())
    return run_test("fronts", lambda checks, directory, clusters: body(build, checks, directory, clusters))


if __name__ == "__main__":
    sys.exit(main())

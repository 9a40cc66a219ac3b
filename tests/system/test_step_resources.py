"""Memory, devices and time of single steps with real daemons and the cgroups of this machine: who waits for whom, what the kernel holds to, what ends alone.
"""

import os
import stat
from pathlib import Path

import pytest

from cluster import Cluster, TestTrouble, limit

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make cgroups")

HOG = "dd if=/dev/zero of=/dev/null bs=200M count=1"


class FencedCluster(Cluster):
    """Two nodes with the processors of this machine and two gpus each, which are devices everybody has."""

    def __init__(self, build, directory):
        self.devices = [Path(directory) / f"gpu{i}" for i in range(2)]
        for number, device in enumerate(self.devices):
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, (7, 8)[number]))  # as /dev/full and /dev/random
            device.chmod(0o666)
        super().__init__(build, Path(directory) / "cluster", nodes=2, cpus=max(os.cpu_count(), 2), memory=2000,
                         settings=["TaskPlugin=task/cgroup,task/affinity", "GresTypes=gpu,nic", f"KillWait={limit(5):.0f}"])
        (self.directory / "cgroup.conf").write_text("ConstrainCores=yes\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\nConstrainDevices=yes\n")
        (self.directory / "gres.conf").write_text(f"Name=gpu File={directory}/gpu[0-1]\nName=nic Count=3\n")

    def configuration_text(self):
        return super().configuration_text().replace("State=UNKNOWN", "Gres=gpu:2,nic:3 Feature=common State=UNKNOWN")

    def start(self):
        super().start()
        log = (self.directory / "logs" / "n1.log").read_text()
        if "cgroups of version" not in log:
            raise TestTrouble("cgroups are not used: " + log)

    def script(self, text, *options, name, seconds=120):
        """Runs a batch script with our commands in its path; (fields of the job, its output)."""
        out = self.directory / f"{name}.out"
        job = self.submit(*options, "-o", out, "--wrap", f"export PATH={self.bin}:$PATH\ncd {self.directory}\n{text}")
        fields = self.wait_for_job(job, seconds=seconds)
        return fields, out.read_text() if out.exists() else ""


def make_cluster(build, directory):
    return FencedCluster(build, directory)


def beside(name, first, second):
    """Two steps that are there at the same time, each told of the other."""
    gate = f"touch {name}.$SLURM_STEP_ID; until [ $(ls {name}.* | wc -l) -ge 2 ]; do sleep 0.05; done"
    return f"rm -f {name}.*; {first} sh -c '{gate}; LOOK' & {second} sh -c '{gate}; LOOK'; wait"


def test_memory(checks, cluster):
    options = ("-N1", "-n2", "--mem=400")
    fields, out = cluster.script(beside("mem", "srun --exact -n1 --mem=200", "srun --exact -n1 --mem=200").replace("LOOK", "echo met with $SLURM_MEM_PER_NODE"), *options, name="memory")
    checks.that("steps share the memory of their job", out.split("\n").count("met with 200") == 2, out)
    text = """mkfifo held
srun --exact -n1 --mem=300 sh -c 'cat held' &
until ls *.steps >/dev/null 2>&1; do squeue -h -s $SLURM_JOB_ID -o %i | grep -q '[.]0' && touch some.steps; sleep 0.05; done
srun -I --exact -n1 --mem=200 true; echo code $?
srun --exact -n1 --mem=100 echo small fits
srun --exact -n1 --mem=0 echo all fits
srun --overlap -n1 --mem=400 echo overlap fits
srun --exact -n1 --mem=401 true; echo code $?
srun --exact -n1 --mem-per-cpu=401 true; echo code $?
srun --exact -n1 --mem=200 echo waited &
until grep -q 'temporarily disabled' waits.out; do sleep 0.05; done
echo go > held
wait"""
    fields, out = cluster.script(f"rm -f held *.steps; {text}", *options, name="waits")
    checks.that("one for which too little is left waits, or fails with -I", out.count("code 1") == 3 and "step creation temporarily disabled, retrying (Requested nodes are busy)" in out and
                "waited" in out and "Unable to create step for job" in out and "Requested nodes are busy" in out, out)
    checks.that("smaller ones, and those that share, do not", all(f"{word} fits" in out for word in ("small", "all", "overlap")), out)
    checks.that("more than the job has is refused in Slurm's words", out.count(": Memory required by task is not available") == 2, out)


def test_shortage(checks, cluster):
    text = f"""srun --exact -n1 --mem=64 {HOG}; echo code $?
srun --exact -n1 --mem=300 {HOG} && echo enough"""
    fields, out = cluster.script(text, "-N1", "-n2", "--mem=400", name="hog")
    job = fields["JobId"]
    checks.that("a step above its own memory is killed alone", f"Detected 1 oom_kill event in StepId={job}.0." in out and "code 0" not in out and "enough" in out and
                fields["JobState"] == "COMPLETED", (fields, out))
    fields, out = cluster.script(f"srun -N1 -n1 -r1 --exact --mem=64 {HOG}; echo code $?; srun -N1 -n1 -r1 --exact --mem=300 {HOG} && echo enough", "-N2", "-n4", "--mem=400", name="far")
    checks.that("on the job's other nodes too", f"oom_kill event in StepId={fields['JobId']}.0." in out and "code 0" not in out and "enough" in out, (fields, out))


def test_devices(checks, cluster):
    look = "; ".join(f"head -c1 {device} >/dev/null 2>&1 && echo opens {device.name}" for device in cluster.devices)
    look = "echo sees $CUDA_VISIBLE_DEVICES has $SLURM_STEP_GPUS of $SLURM_JOB_GPUS on $SLURMD_NODENAME; " + look + "; true"
    options = ("-N1", "-n2", "--gres=gpu:2,nic:3")
    fields, out = cluster.script(beside("dev", "srun --exact -n1 --gres=gpu:1", "srun --exact -n1 --gpus=1").replace("LOOK", look), *options, name="devices")
    lines = out.split("\n")
    checks.that("two steps have different gpus, and can open no other", sorted(line for line in lines if line.startswith("opens")) == ["opens gpu0", "opens gpu1"] and
                all(f"sees 0 has {i} of 0,1 on n1" in lines for i in (0, 1)), out)
    fields, out = cluster.script(f"srun -n1 --gres=none sh -c '{look}'; echo --; srun -n1 sh -c '{look}'; echo --; SLURM_STEP_GRES=none srun -n1 sh -c '{look}'", *options, name="default")
    parts = out.split("--\n")
    checks.that("a step that says nothing has all of them, one with --gres=none or SLURM_STEP_GRES=none has none",
                len(parts) == 3 and "opens" not in parts[0] and parts[1].count("opens") == 2 and "sees 0,1 has 0,1 of 0,1" in parts[1] and "opens" not in parts[2], out)
    text = """mkfifo gpu.held
srun --exact -n1 --gres=gpu:1,nic:2 sh -c 'cat gpu.held' &
until squeue -h -s $SLURM_JOB_ID -o %i | grep -q '[.]0'; do sleep 0.05; done
scontrol show step $SLURM_JOB_ID.0; squeue -h -s $SLURM_JOB_ID.0 -o '%b'
srun -I --exact -n1 --gres=gpu:2 true; echo code $?
srun -I --exact -n1 --gres=none,nic:2 true; echo code $?
srun --exact -n1 --gres=nic:1 echo other fits
srun --exact -n1 --gres=gpu:3 true; echo code $?
srun --exact -n1 --gres=tape:1 true; echo code $?
srun --exact -n1 --gpus-per-task=2 true &
until grep -q 'temporarily disabled' taken.out; do sleep 0.05; done
echo go > gpu.held
wait; echo all over"""
    fields, out = cluster.script(f"rm -f gpu.held; {text}", *options, name="taken")
    checks.that("what others have is waited for", out.count("code 1") >= 3 and "other fits" in out and out.rstrip().endswith("all over") and "Requested nodes are busy" in out, out)
    checks.that("what the job does not have is refused with what it has", out.count("Invalid generic resource (gres) specification") >= 2 and "there is gpu:2,nic:3" in out, out)
    checks.that("show step and squeue tell of devices", "gres/gpu=1,gres/nic=2" in out and "TresPerNode=gres/gpu:1,gres/nic:2" in out and "\ngres/gpu:1,gres/nic:2" in out, out)
    fields, out = cluster.script(f"srun -l -n4 --ntasks-per-node=2 --gpus-per-task=1 --exact sh -c 'echo $SLURMD_NODENAME $SLURM_STEP_GPUS'; srun -N1 -n1 -r1 --exact --gres=gpu:1 sh -c '{look}'",
                                 "-N2", "-n4", "--ntasks-per-node=2", "--gres=gpu:2", name="far_devices")
    lines = sorted(line for line in out.split("\n") if line[:2] in ("0:", "1:", "2:", "3:"))
    checks.that("a gpu for each task of two nodes", lines == ["0: n1 0", "1: n1 1", "2: n2 0", "3: n2 1"], out)
    checks.that("the controller gives a step elsewhere what the step manager chose", "sees 0 has 0 of 0,1 on n2" in out and out.count("opens") == 1, out)


def test_layout(checks, cluster):
    text = """srun -n1 -C common sh -c 'echo has it'
srun -n1 -C rare true; echo code $?
srun -n1 -C '[common|rare]' true; echo code $?
srun -n1 --contiguous --switches=1 --mincpus=1 --tmp=1 --prefer=common -L nothing sh -c 'echo means nothing'
srun -n1 --mem=10 --mem-per-cpu=10 true; echo code $?
srun -n1 --signal=USR1 true; echo code $?
srun --test-only true; echo code $?"""
    fields, out = cluster.script(text, "-N1", "-n2", name="layout")
    checks.that("-C chooses among the nodes of the job", "has it" in out and "no node of the job has --constraint=rare" in out and "not built yet" in out, out)
    checks.that("what chooses nodes for a job means nothing to a step", "means nothing" in out, out)
    checks.that("what cannot be is said", out.count("code 1") == 5 and "mutually exclusive" in out and "it needs --time" in out and "--test-only of a step is not built yet" in out, out)


def test_small_commands(checks, cluster):
    text = """mkfifo bit.held
srun -N1 -n1 -r1 --exact sh -c 'cat bit.held' &
until squeue -h -s $SLURM_JOB_ID -o %i | grep -q '[.]0'; do sleep 0.05; done
echo text > bit.file
sbcast -v -f -j $SLURM_JOB_ID.0 bit.file bit.copy
sbcast -f -w n[1-2] bit.file bit.all; echo code $?
sbcast -f -w n9 bit.file bit.all; echo code $?
sbcast -f -j $SLURM_JOB_ID.7 bit.file bit.all; echo code $?
until scontrol liststeps $SLURM_JOB_ID n2 | tee bit.steps | grep -q STEPID; do sleep 0.1; done; cat bit.steps
until scontrol listjobs '*' n2 | tee bit.jobs | grep -q JOBID; do sleep 0.1; done; cat bit.jobs
cat bit.copy bit.all
echo go > bit.held; wait"""
    fields, out = cluster.script(f"rm -f bit.*; {text}", "-N2", "-n4", name="small")
    job = fields["JobId"]
    checks.that("sbcast to a step, and to some nodes", out.count("text\n") == 2 and out.count("code 0") == 1 and out.count("code 1") == 2 and "n9 is not in this job" in out and f"step {job}.7 does not run" in out, out)
    checks.that("scontrol liststeps and listjobs", f"JOBID    STEPID\n{job}" in out and " 0\n" in out and f"JOBID\n{job}\n" in out, out)


def test_limit(checks, cluster):
    # The warning of the second step is due when its limit is lowered: its shell has its trap by then.
    text = """trap '' USR1
srun --exact -n1 -t5 sh -c 'sleep 1000' &
until squeue -h -s $SLURM_JOB_ID -o '%i %l' | grep '[.]0 5:00'; do sleep 0.05; done
scontrol show step $SLURM_JOB_ID.0 | grep -o 'TimeLimit=.*'
scontrol update StepId=$SLURM_JOB_ID.0 TimeLimit=7
until squeue -h -s $SLURM_JOB_ID -o '%i %l' | grep '[.]0 7:00'; do sleep 0.05; done
scontrol update StepId=$SLURM_JOB_ID.batch TimeLimit=7
scontrol update StepId=$SLURM_JOB_ID.9 TimeLimit=7
scontrol update StepId=$SLURM_JOB_ID.0 Name=x
scontrol update StepId=$SLURM_JOB_ID.0 TimeLimit=soon
( until [ -e trapped ] && squeue -h -s $SLURM_JOB_ID -o %i | grep -q '[.]1'; do sleep 0.05; done; scontrol update StepId=$SLURM_JOB_ID.1 TimeLimit=10 ) &
srun --exact -n1 -t60 --signal=USR1@600 sh -c 'trap "echo warned; exit 3" USR1; touch trapped; while :; do sleep 0.1; done'; echo code $?
squeue -h -s -t R -o %i; squeue -h -s -t PD -o 'pending %i'; squeue -h -s -A none -o 'strange %i'
scancel $SLURM_JOB_ID.0; wait"""
    fields, out = cluster.script(text, "-N1", "-n2", name="limit")
    checks.that("a step has a time of its own, and it can be changed", "TimeLimit=00:05:00" in out and ".0 7:00" in out, out)
    checks.that("what cannot be changed is said", "have the time of their job" in out and "Invalid job id specified" in out and "of a step TimeLimit can be changed" in out and "Invalid TimeLimit value" in out, out)
    checks.that("--signal warns it before the end of its own time", "warned\n" in out and "code 3" in out, out)
    checks.that("squeue -s takes -t, -A and -q", f"{fields['JobId']}.0" in out and "pending" not in out and "strange" not in out, out)


@pytest.mark.extended
def test_time_over(checks, cluster):
    text = """srun --exact -n1 -t1 sh -c 'sleep 1000'; echo code $?
echo script goes on"""
    fields, out = cluster.script(text, "-N1", "-n2", name="over", seconds=180)
    job = fields["JobId"]
    checks.that("a step whose time is over ends alone", f"*** STEP {job}.0 ON n1 CANCELLED AT " in out and "DUE TO TIME LIMIT ***" in out and f"srun: Force Terminated StepId={job}.0" in out and "code 0" not in out and
                "script goes on" in out and fields["JobState"] == "COMPLETED", (fields, out))
    facts, keys = cluster.step_facts()
    checks.that("and is TIMEOUT in the log", facts[(keys[int(job)], 0, 0)] == [1, ["timeout"]], facts)

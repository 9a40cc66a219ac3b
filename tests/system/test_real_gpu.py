"""A machine with a real NVIDIA GPU, as root, with cgroups of version 2: found, fenced, sampled, and divided (MIG).

    /usr/bin/python3 -m pytest tests/system/test_real_gpu.py -s --build DIR                        a whole one
    MR_MIG_PROFILE=19 /usr/bin/python3 -m pytest tests/system/test_real_gpu.py -s --build DIR      divided: two instances of that profile are made

A CUDA program is needed for load: a python3 with PyTorch. What it printed last stands in docs/admin/gpu.md.
"""

import os
import shutil
import subprocess

import pytest

from cluster import Cluster, find_program, wait_for

PROFILE = os.environ.get("MR_MIG_PROFILE", "")
pytestmark = [pytest.mark.extended, pytest.mark.alone, pytest.mark.skipif(os.getuid() != 0 or shutil.which("nvidia-smi") is None, reason="needs root and an NVIDIA GPU")]
BUSY = "import torch,time;a=torch.randn(8192,8192,device='cuda',dtype=torch.bfloat16);e=time.time()+{seconds}\nwhile time.time()<e:\n  for _ in range(50): a@a\n  torch.cuda.synchronize()\nprint(torch.cuda.device_count(),torch.cuda.get_device_name(0))"
OPENS = "(exec 3<>/dev/nvidia0) 2>/dev/null && echo opens || echo cannot open; nvidia-smi -L 2>&1 | sed 's/(UUID.*//'"


class RealCluster(Cluster):
    def __init__(self, build, directory, gres):
        self.gres = gres
        super().__init__(build, directory, nodes=1, cpus=os.cpu_count(), memory=60000, settings=["TaskPlugin=task/cgroup,task/affinity", "GresTypes=gpu"])
        (self.directory / "cgroup.conf").write_text("ConstrainDevices=yes\nConstrainCores=yes\nConstrainRAMSpace=yes\n")
        (self.directory / "gres.conf").write_text("AutoDetect=nvml\n")
        self.programs = self.environment  # jobs need the loader's path on this machine; the agent has to do without
        self.environment = {name: value for name, value in self.environment.items() if name != "LD_LIBRARY_PATH"}

    def configuration_text(self):
        return super().configuration_text().replace("State=UNKNOWN", f"Gres={self.gres} State=UNKNOWN")

    def script(self, name, text, *options):
        path = self.directory / f"{name}.sh"
        path.write_text("#!/bin/sh\n" + f"export LD_LIBRARY_PATH={self.programs.get('LD_LIBRARY_PATH', '')}\n" + text + "\n")
        return self.submit("-o", f"{name}.out", *options, path)

    def output(self, name):
        path = self.directory / f"{name}.out"
        return path.read_text() if path.exists() else ""

    def node(self):
        return self.run("scontrol", "show", "node", "n1", "-d").out


def lines_of(text, *words):
    return [line.strip() for line in text.splitlines() if any(word in line for word in words)]


@pytest.mark.skipif(bool(PROFILE), reason="MR_MIG_PROFILE is set: the GPU is divided")
def test_whole(checks, build, directory, new_cluster):
    cluster = new_cluster(directory, kind=RealCluster, gres="gpu:h200:1")
    print(cluster.run("millrace", "--version").out,
          subprocess.run([find_program(build, "millrace-agent"), "-G"], capture_output=True, text=True, env=cluster.environment).stdout)
    cluster.start()
    print((cluster.directory / "logs" / "n1.log").read_text())
    checks.that("it is found without the loader's help", "Gres=gpu:h200:1" in cluster.node(), cluster.node())
    cluster.wait_for_job(cluster.script("none", OPENS))
    print(cluster.output("none"))
    checks.that("a job with no gpu cannot open one", "cannot open" in cluster.output("none") and "GPU 0" not in cluster.output("none"), cluster.output("none"))
    busy = cluster.script("busy", f"{OPENS}\necho $SLURM_JOB_GPUS/$CUDA_VISIBLE_DEVICES\npython3 -c \"{BUSY.format(seconds=25)}\"", "--gpus=1", "--mem=20000")
    waits = cluster.script("waits", OPENS, "--gpus=1")
    load = wait_for("its load", lambda: [line for line in lines_of(cluster.node(), "GresLoad") if " 0% busy" not in line], 60)
    print(*lines_of(cluster.node(), "Gres"), sep="\n")
    checks.that("a second job waits for the gpu", cluster.job(waits)["JobState"] == "PENDING", cluster.job(waits))
    checks.that("its use is sampled", load, load)
    used = wait_for("what the job's gpu does", lambda: "gres/gpuutil=" in (now := cluster.run("sstat", "-P", "-n", "-o", "TRESUsageInMax", "-j", busy).out) and "gres/gpuutil=0," not in now and now, 60)
    print(used)
    checks.that("and charged to the job", "gres/gpumem=" in used, used)
    fields = cluster.wait_for_job(busy, seconds=120)
    print(cluster.output("busy"))
    checks.that("the job opened it and worked with it", fields["JobState"] == "COMPLETED" and "1 NVIDIA" in cluster.output("busy"), cluster.output("busy"))
    checks.that("then the second runs", cluster.wait_for_job(waits)["JobState"] == "COMPLETED")


@pytest.fixture
def instances():
    """Two instances of the profile, for one test."""
    for command in (["-i", "0", "-mig", "1"], ["mig", "-cgi", f"{PROFILE},{PROFILE}", "-C"], ["-L"]):
        print(subprocess.run(["nvidia-smi", *command], capture_output=True, text=True).stdout)
    yield
    for command in (["mig", "-dci"], ["mig", "-dgi"], ["-i", "0", "-mig", "0"]):
        subprocess.run(["nvidia-smi", *command], capture_output=True)


@pytest.mark.skipif(not PROFILE, reason="MR_MIG_PROFILE is not set")
def test_divided(checks, instances, directory, new_cluster):
    cluster = new_cluster(directory, kind=RealCluster, gres=f"gpu:{PROFILE.split('+')[0] if not PROFILE.isdigit() else '1g'}:2")
    cluster.start()
    print((cluster.directory / "logs" / "n1.log").read_text())
    gate = cluster.directory / "gate"
    program = f"nvidia-smi -L 2>&1\necho visible $CUDA_VISIBLE_DEVICES\npython3 -c \"{BUSY.format(seconds=3)}\"\nfor f in /dev/nvidia-caps/nvidia-cap*; do (exec 3<$f) 2>/dev/null && echo opens $f; done; while [ ! -e {gate} ]; do sleep 0.1; done"
    jobs = [cluster.script(f"part{i}", program, "-n1", "--gpus=1", "--mem=20000") for i in range(2)]
    none = cluster.script("nothing", "nvidia-smi -L 2>&1; " + "for f in /dev/nvidia-caps/nvidia-cap*; do (exec 3<$f) 2>/dev/null && echo opens $f; done; python3 -c 'import torch;print(torch.cuda.is_available())'", "-n1", "--mem=10000")
    for job in jobs:
        cluster.wait_for_job(job, {"RUNNING"})
    both = wait_for("both at work", lambda: all("NVIDIA" in (cluster.output(f"part{i}").split("visible")[-1]) for i in range(2)), 120)
    gate.touch()
    for job in [*jobs, none]:
        cluster.wait_for_job(job, seconds=120)
    for name in ("part0", "part1", "nothing"):
        print(name, cluster.output(name), sep="\n")
    visible = {line.split()[1] for i in range(2) for line in lines_of(cluster.output(f"part{i}"), "visible")}
    checks.that("two jobs work on two instances at a time", both and len(visible) == 2 and all(name.startswith("MIG-") for name in visible), visible)
    checks.that("a job with none has none", "False" in cluster.output("nothing"), cluster.output("nothing"))

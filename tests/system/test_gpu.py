"""GPUs that the node finds by itself, with a library in the place of NVIDIA's: who gets which, who cannot open them, and those that are out of order.
"""

import os
import stat
from pathlib import Path

import pytest

from cluster import Cluster, limit, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices and cgroups")


class GpuCluster(Cluster):
    """One node with the processors of this machine and two gpus."""

    def __init__(self, build, directory):
        self.root, self.said = Path(directory) / "machine", Path(directory) / "nvml"
        (self.root / "dev").mkdir(parents=True)
        for folder in (Path(directory), self.root, self.root / "dev"):
            folder.chmod(0o755)
        self.devices = [self.root / "dev" / f"nvidia{i}" for i in range(2)]
        for number, device in enumerate(self.devices):
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, (7, 8)[number]))  # as /dev/full and /dev/random
            device.chmod(0o666)
        super().__init__(build, Path(directory) / "cluster", nodes=1, cpus=max(os.cpu_count(), 2), memory=2000,
                         settings=["TaskPlugin=task/cgroup", "GresTypes=gpu", f"SlurmdTimeout={limit(30):.0f}"])
        (self.directory / "cgroup.conf").write_text("ConstrainDevices=yes\n")
        (self.directory / "gres.conf").write_text("AutoDetect=nvml\n")
        self.environment |= {"MILLRACE_NVML": str(Path(build).resolve() / "libfake_nvml.so"), "FAKE_NVML": str(self.said),
                             "MILLRACE_ACCELERATOR_ROOT": str(self.root)}
        self.gpus()

    def configuration_text(self):
        return super().configuration_text().replace("State=UNKNOWN", "Gres=gpu:h200:2 State=UNKNOWN")

    def gpus(self, count=2, ecc=(0, 0)):
        lines = [f"gpu NVIDIA_H200 GPU-{i} {i} 00000000:{i + 1}A:00.0 ff 143771 {10 * i} {25 * i} {ecc[i]} 0 0" for i in range(count)]
        new = self.said.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n")
        new.rename(self.said)

    def node(self):
        return self.run("scontrol", "show", "node", "n1", "-d").out

    def output(self, name):
        return (self.directory / name).read_text()

    def opens(self):
        """A script that prints which of the devices it can open."""
        return "; ".join(f"(exec 3<>{device}) 2>/dev/null && echo opens {i}" for i, device in enumerate(self.devices))


def make_cluster(build, directory):
    if not (build / "libfake_nvml.so").exists():
        pytest.skip("libfake_nvml.so is not built")
    return GpuCluster(build, directory)


def test_found(checks, cluster):
    log = (cluster.directory / "logs" / "n1.log").read_text()
    checks.that("the agent says what it found", f"found 2 gpu:h200: {cluster.devices[0]},{cluster.devices[1]}" in log, log)
    wait_for("a first look at their load", lambda: "GresLoad=gpu:h200 1: 25% busy, 10M of 143771M, 40C, 100W" in cluster.node())
    checks.that("the node has them", "Gres=gpu:h200:2" in cluster.node() and "GresDrain=N/A" in cluster.node(), cluster.node())


def test_fences(checks, cluster):
    def run(name, *options):
        fields = cluster.wait_for_job(cluster.submit("-o", name, *options, "--wrap", f"{cluster.opens()}; echo $SLURM_JOB_GPUS/$CUDA_VISIBLE_DEVICES/${{ROCR_VISIBLE_DEVICES-unset}}"))
        return fields["JobState"], cluster.output(name).split("\n")[:-1]
    state, lines = run("none.out")
    checks.that("a job with no gpu opens none and is shown none", lines == ["//unset"], (state, lines))
    state, lines = run("one.out", "--gpus=1")
    checks.that("a job with one opens that one and calls it 0", lines == ["opens 0", "0/0/unset"], (state, lines))
    state, lines = run("two.out", "--gres=gpu:h200:2")
    checks.that("a job with two opens both", lines == ["opens 0", "opens 1", "0,1/0,1/unset"], (state, lines))


def test_two_jobs(checks, cluster):
    gate = cluster.directory / "gate"
    jobs = [cluster.submit("-n1", "--gpus=1", "-o", f"both{i}.out", "--wrap", f"{cluster.opens()}; echo $SLURM_JOB_GPUS; while [ ! -e {gate} ]; do sleep 0.05; done") for i in range(2)]
    for job in jobs:
        cluster.wait_for_job(job, {"RUNNING"})
    used = wait_for("both in use", lambda: "GresUsed=gpu:h200:2(IDX:0-1)" in cluster.node())
    gate.touch()
    for job in jobs:
        cluster.wait_for_job(job)
    seen = sorted(cluster.output(f"both{i}.out").split() for i in range(2))
    checks.that("two jobs at a time get different ones", used and seen == [["opens", "0", "0"], ["opens", "1", "1"]], seen)


def test_use(checks, cluster):
    gate = cluster.directory / "used"
    job = cluster.submit("-n1", "--gpus=2", "-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    cluster.wait_for_job(job, {"RUNNING"})
    shown = wait_for("a look at the gpus of the job", lambda: "gres/gpuutil" in (now := cluster.run("sstat", "-P", "-o", "JobID,TRESUsageInMax", "-j", job).out) and now)
    checks.that("what a job's gpus do is seen while it runs", "gres/gpumem=10M,gres/gpuutil=25," in shown, shown)
    gate.touch()
    cluster.wait_for_job(job)
    log = cluster.run("millrace", "log", "dump", str(cluster.state)).out
    key = cluster.step_facts()[1][job]
    ends = [line for line in log.splitlines() if f" AttemptEnded key={key} " in line and "gpu_busy_max=25" in line]
    checks.that("and stands in its records", len(ends) == 1 and "gpu_memory_max_bytes=10485760" in ends[0], log[-3000:])


def test_tasks(checks, cluster):
    done = cluster.run("srun", "-n2", "--gpus-per-task=1", "sh", "-c", "echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES $SLURM_STEP_GPUS")
    checks.that("each task is shown its own", sorted(done.out.splitlines()) == ["0 0 0", "1 1 1"], done)
    done = cluster.run("srun", "-n2", "--gpus=2", "--gpu-bind=map_gpu:1,0", "sh", "-c", "echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES $SLURM_GPU_BIND")
    checks.that("or what --gpu-bind says", sorted(done.out.splitlines()) == ["0 1 map_gpu:1,0", "1 0 map_gpu:1,0"], done)
    done = cluster.run("srun", "-n2", "--gpus=2", "--gpu-bind=verbose,per_task:1", "true")
    checks.that("and says so when asked to", sorted(done.err.splitlines()) == ["gpu-bind: n1, task 0: 0", "gpu-bind: n1, task 1: 1"], done)
    done = cluster.run("srun", "-n1", "--gpus=1", "--gpu-bind=near", "true")
    checks.that("a misspelt binding is refused at once", done.code != 0 and "closest, single:N" in done.err, done)


def test_out_of_order(checks, cluster):
    cluster.wait_for_nodes()
    cluster.gpus(ecc=(2, 0))
    shown = wait_for("one is out of order", lambda: "GresDrain=gpu:h200:1(IDX:0)" in (now := cluster.node()) and now)
    checks.that("a gpu with errors is drained with a reason, the node is not", "GresDrainReason=gpu:h200 0: 2 uncorrected ECC errors" in shown and "State=IDLE" in shown, shown)
    both = cluster.submit("--gpus=2", "-o", "/dev/null", "--wrap", "true")
    fields = cluster.wait_for_job(cluster.submit("--gpus=1", "-o", "left.out", "--wrap", f"{cluster.opens()}; echo $SLURM_JOB_GPUS"))
    checks.that("the next job gets the other", cluster.output("left.out").split() == ["opens", "1", "1"], (fields, cluster.output("left.out")))
    checks.that("one that needs both waits", cluster.job(both)["JobState"] == "PENDING", cluster.job(both))
    cluster.gpus()
    fields = cluster.wait_for_job(both)
    checks.that("and runs when it is well again", fields["JobState"] == "COMPLETED" and "GresDrain=N/A" in cluster.node(), fields)


def test_missing(checks, cluster):
    cluster.agents["n1"].terminate()
    cluster.gpus(count=1)
    cluster.start_agent("n1")
    shown = wait_for("drained", lambda: "DRAIN" in (now := cluster.node()) and now)
    checks.that("a node with fewer than configured is drained", "Reason=gres/gpu count reported lower than configured (1 < 2)" in shown, shown)
    cluster.agents["n1"].terminate()
    cluster.gpus()
    cluster.start_agent("n1")
    cluster.run("scontrol", "update", "nodename=n1", "state=resume")
    cluster.wait_for_nodes()

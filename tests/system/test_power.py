"""Power saving with real daemons: programs that really stop and start agents, nodes in a cloud, one that never comes up, nodes that are
made and deleted, and a controller that is killed in the middle.
"""

import json
from pathlib import Path

import pytest

from cluster import Cluster, find_program, limit, wait_for

pytestmark = pytest.mark.order(30)

# Both may be run twice for the same nodes: one that is there is not started again, one that is gone not stopped.
RESUME = """#!/bin/sh
cd {here}
echo "resume $1" >> events
cat "$SLURM_RESUME_FILE" > resume.json
for node in $({bin}/scontrol show hostnames "$1"); do
  [ -e broken.$node ] && continue
  while [ -e hold.$node ] || [ -e suspending.$node ]; do sleep 0.05; done
  mkdir lock.$node 2>/dev/null || continue
  {agent} -f {conf} -N $node -L {here}/logs/$node.log </dev/null >/dev/null 2>&1
done
"""
SUSPEND = """#!/bin/sh
cd {here}
for node in $({bin}/scontrol show hostnames "$1"); do touch suspending.$node; done
echo "suspend $1" >> events
for node in $({bin}/scontrol show hostnames "$1"); do
  pid=$(cat run/$node.pid) && kill -9 $pid
  rmdir lock.$node 2>/dev/null
  rm suspending.$node
done
exit 0
"""
FAILED = """#!/bin/sh
echo "failed $1" >> {here}/events
"""


class PowerCluster(Cluster):
    """n1 stays on, n2 is powered down when it is idle, n3 and n4 are in a cloud; n4 has little time to boot."""

    def configuration_text(self):
        text = super().configuration_text()
        for node in ("n3", "n4"):
            text = text.replace(f"NodeName={node} CPUs={self.cpus} RealMemory={self.memory} State=UNKNOWN", f"NodeName={node} CPUs={self.cpus} RealMemory={self.memory} State=CLOUD")
        return text

    def write_programs(self):
        words = {"here": self.directory, "bin": self.bin, "conf": self.configuration, "agent": find_program(self.build, "millrace-agent")}
        for name, text in (("resume", RESUME), ("suspend", SUSPEND), ("failed", FAILED)):
            (self.directory / name).write_text(text.format(**words))
            (self.directory / name).chmod(0o755)
        (self.directory / "events").write_text("")

    def start(self):
        self.write_programs()
        self.start_controller()
        self.wait_for_controller()
        for node in ("n1", "n2"):
            self.start_agent(node)
        wait_for("n1 and n2 are there", lambda: self.node_states().get("n1") == "idle" and self.node_states().get("n2", "").startswith("idle"))
        self.agents["n2"].wanted = False  # it is stopped as its program sees fit

    def events(self):
        return (self.directory / "events").read_text().splitlines()

    def state_of(self, node):
        text = self.run("scontrol", "show", "node", node, "-o").out
        return text.split(" State=")[1].split()[0] if " State=" in text else text

    def set_boot_time(self, seconds):
        """How long n4 may take to come up."""
        self.partitions[0] = f"PartitionName=frail Nodes=n4 ResumeTimeout={limit(seconds):.0f}"
        self.write_configuration()

    def wait_for_state(self, node, *words):
        return wait_for(f"{node} {words}", lambda: (state := self.state_of(node)) and all(word in state.split("+") for word in words) and state)


def make_cluster(build, directory):
    cluster = PowerCluster(build, directory, nodes=4, cpus=4, memory=1000,
                           partitions=["", "NodeSet=extras Feature=extra", "PartitionName=extra Nodes=extras"],
                           settings=[f"SuspendProgram={directory}/suspend", f"ResumeProgram={directory}/resume", f"ResumeFailProgram={directory}/failed",
                                     f"SuspendTime={limit(6):.0f}", f"SuspendTimeout={limit(2):.0f}", f"ResumeTimeout={limit(120):.0f}", "SuspendExcNodes=n1",
                                     "SuspendExcStates=DYNAMIC_NORM", "MaxNodeCount=8"])
    cluster.set_boot_time(5)
    return cluster


def agent_is_gone(cluster, node):
    try:
        pid = int((cluster.directory / "run" / f"{node}.pid").read_text())
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (OSError, ValueError):
        return True


def test_cloud(checks, cluster):
    """A job wakes a node of a cloud; the controller is killed in the middle of it all."""
    for node in ("n3", "n4"):
        cluster.wait_for_state(node, "POWERED_DOWN")
    states = cluster.node_states()
    checks.that("what is powered down in a cloud is not shown", set(states) == {"n1", "n2"}, states)
    checks.that("but can be asked for", cluster.state_of("n3") == "IDLE+CLOUD+POWERED_DOWN", cluster.state_of("n3"))
    (cluster.directory / "hold.n3").write_text("")
    before = len(cluster.events())
    job = cluster.submit("-w", "n3", "-t", "5", "-o", str(cluster.directory / "cloud.out"), "--wrap", "echo $SLURM_JOB_NODELIST $SLURMD_NODENAME")
    wait_for("n3 is asked to come up", lambda: "resume n3" in cluster.events()[before:])
    fields = wait_for("the job is configuring", lambda: (now := cluster.job(job))["JobState"] == "CONFIGURING" and now)
    checks.that("it has its node", fields["NodeList"] == "n3", fields)
    checks.that("which is powered up", "POWERING_UP" in cluster.state_of("n3"), cluster.state_of("n3"))
    checks.that("and shown with its mark", cluster.node_states().get("n3", "").endswith("#"), cluster.node_states())
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    (cluster.directory / "hold.n3").unlink()
    fields = cluster.wait_for_job(job)
    checks.that("the job ran when its node was up", fields["JobState"] == "COMPLETED", fields)
    checks.that("there", (cluster.directory / "cloud.out").read_text().split() == ["n3", "n3"], (cluster.directory / "cloud.out").read_text())
    told = json.loads((cluster.directory / "resume.json").read_text())
    checks.that("the program could read for whom", told["all_nodes_resume"] == "n3" and told["jobs"][0]["job_id"] == job and told["jobs"][0]["nodes_resume"] == "n3", told)
    wait_for("n3 is powered down again", lambda: "suspend n3" in cluster.events()[before:])
    wait_for("its agent is gone", lambda: agent_is_gone(cluster, "n3"))
    cluster.wait_for_state("n3", "POWERED_DOWN")


def test_idle(checks, cluster):
    wait_for("n2 is powered down", lambda: any(line.startswith("suspend n2") for line in cluster.events()))
    cluster.wait_for_state("n2", "IDLE", "POWERED_DOWN")
    checks.that("sinfo marks it", cluster.node_states()["n2"] == "idle~", cluster.node_states())
    checks.that("its agent is gone", wait_for("the end of its agent", lambda: agent_is_gone(cluster, "n2")))
    checks.that("n1 is excepted", cluster.state_of("n1") == "IDLE", cluster.state_of("n1"))
    done = cluster.run("salloc", "-w", "n2", "-t", "5", str(cluster.bin / "srun"), "sh", "-c", "echo $SLURMD_NODENAME", seconds=120)
    checks.that("salloc waits for its node", done.code == 0 and done.out.strip() == "n2", done)
    cluster.wait_for_state("n3", "POWERED_DOWN")
    done = cluster.run("srun", "-w", "n[2-3]", "-N2", "-t", "5", "sh", "-c", "echo $SLURMD_NODENAME", seconds=120)
    checks.that("srun waits for the last of its nodes and runs there", done.code == 0 and sorted(done.out.split()) == ["n2", "n3"], done)


def test_failure(checks, cluster):
    cluster.wait_for_state("n4", "POWERED_DOWN")
    (cluster.directory / "broken.n4").write_text("")
    before = len(cluster.events())
    job = cluster.submit("-p", "frail", "-t", "5", "-o", "/dev/null", "--wrap", "true")
    wait_for("ResumeFailProgram", lambda: "failed n4" in cluster.events()[before:])
    state = cluster.wait_for_state("n4", "DOWN")
    checks.that("a node that does not come up is down", state == "DOWN+CLOUD+POWERED_DOWN", state)
    checks.that("and says why", "ResumeTimeout reached" in cluster.run("scontrol", "show", "node", "n4").out)
    fields = wait_for("its job waits again", lambda: (now := cluster.job(job))["JobState"] == "PENDING" and now)
    checks.that("once more", fields["Restarts"] == "1", fields)
    (cluster.directory / "broken.n4").unlink()
    cluster.set_boot_time(120)
    cluster.run("scontrol", "reconfigure")
    cluster.run("scontrol", "update", "NodeName=n4", "State=RESUME")
    fields = cluster.wait_for_job(job)
    checks.that("and runs when the node was repaired", fields["JobState"] == "COMPLETED", fields)
    cluster.set_boot_time(5)
    cluster.run("scontrol", "reconfigure")


def test_by_hand(checks, cluster):
    cluster.wait_for_state("n3", "POWERED_DOWN")
    checks.says("POWER_DOWN of one that is off is refused", cluster.run("scontrol", "update", "NodeName=n3", "State=POWER_DOWN"), 1, "powered down already")
    done = cluster.run("scontrol", "power", "up", "n3")
    checks.that("power up", done.code == 0, done)
    wait_for("n3 came up", lambda: cluster.node_states().get("n3") in ("idle", "idle!"))
    job = cluster.submit("-w", "n1", "-t", "5", "-o", "/dev/null", "--wrap", "sleep 1000")
    wait_for("a job runs on n1", lambda: cluster.job(job)["JobState"] == "RUNNING")
    cluster.run("scontrol", "power", "down", "asap", "n1")
    state = cluster.state_of("n1")
    checks.that("POWER_DOWN_ASAP drains and waits", "POWER_DOWN" in state and "DRAIN" in state, state)
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    checks.that("RESUME calls it off", cluster.state_of("n1") == "MIXED", cluster.state_of("n1"))
    cluster.run("scancel", str(job))
    cluster.wait_for_job(job)
    checks.says("nobody but an administrator", cluster.run("scontrol", "update", "NodeName=n1", "State=POWER_OFF"), 1, "is not known")


def test_dynamic(checks, cluster):
    cluster.start_agent("d1", "-Z", "--conf", "CPUs=2 RealMemory=1000 Feature=extra")
    wait_for("d1 came by itself", lambda: "DYNAMIC_NORM" in cluster.state_of("d1"))
    wait_for("and is idle", lambda: cluster.state_of("d1") == "IDLE+DYNAMIC_NORM")
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    checks.that("a killed controller still knows it", "DYNAMIC_NORM" in cluster.state_of("d1"), cluster.state_of("d1"))
    done = cluster.run("scontrol", "reconfigure")
    checks.that("and so does one that reads its configuration again", done.code == 0 and "DYNAMIC_NORM" in cluster.state_of("d1"), (done, cluster.state_of("d1")))
    checks.that("node sets take it", "d1" in cluster.run("sinfo", "-h", "-p", "extra", "-o", "%N").out)
    done = cluster.run("srun", "-p", "extra", "-t", "5", "sh", "-c", "echo $SLURMD_NODENAME", seconds=120)
    checks.that("it runs jobs", done.code == 0 and done.out.strip() == "d1", done)
    checks.says("a node of slurm.conf is not deleted", cluster.run("scontrol", "delete", "NodeName=n1"), 1, "slurm.conf")
    wait_for("d1 has no job any more", lambda: cluster.run("squeue", "-h", "-w", "d1").out == "")  # else it is busy until it is given up
    cluster.agents["d1"].kill()
    done = wait_for("d1 is deleted", lambda: (now := cluster.run("scontrol", "delete", "NodeName=d1")).code == 0 and now)
    checks.that("and gone", "not found" in cluster.run("scontrol", "show", "node", "d1").out, cluster.state_of("d1"))
    done = cluster.run("scontrol", "create", "NodeName=d[2-3]", "CPUs=2", "RealMemory=1000", "Feature=extra")
    checks.that("scontrol create", done.code == 0 and "d[2-3]" in done.out, done)
    checks.says("MaxNodeCount is kept", cluster.run("scontrol", "create", "NodeName=d[4-9]", "CPUs=2"), 1, "MaxNodeCount")
    checks.says("keys are checked", cluster.run("scontrol", "create", "NodeName=d4", "Cpuss=2"), 1, "cpuss")
    cluster.start_agent("d3", "-Z", "--conf", "CPUs=2 RealMemory=1000")
    wait_for("one that was made comes", lambda: cluster.state_of("d3") == "IDLE+DYNAMIC_NORM")

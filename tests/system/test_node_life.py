"""The life of nodes with real daemons: prolog and epilog on nodes and at the controller, across kills of both, health checks, node
states, reboots.
"""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from cluster import Cluster, limit, wait_for

pytestmark = pytest.mark.order(90)

# Each program writes down that it began and what it was told, waits while a file of its kind and node says so, and fails when one says so.
PROGRAM = """#!/bin/sh
cd {directory}
where=${{SLURMD_NODENAME:-controller}}
env > env.{kind}.$where.$SLURM_JOB_ID
echo $$ > pid.{kind}.$where
echo "begin {kind} $where $SLURM_JOB_ID" >> events
while [ -e hold.{kind}.$where ] || [ -e hold.{kind} ]; do sleep 0.05; done
if [ -e fail.{kind}.$where ]; then echo "no disk"; exit 3; fi
echo "end {kind} $where $SLURM_JOB_ID" >> events
"""


class Programs:
    def __init__(self, directory, commands):
        self.directory = directory
        directory.mkdir()
        for folder in ("prolog.d", "epilog.d"):
            (directory / folder).mkdir()
        self.write("prolog.d/10-main", PROGRAM.format(directory=directory, kind="prolog"))
        self.write("prolog.d/20-second", f"#!/bin/sh\necho second $SLURMD_NODENAME $SLURM_JOB_ID >> {directory}/events\n")
        self.write("epilog", PROGRAM.format(directory=directory, kind="epilog"))
        self.write("prolog.slurmctld", PROGRAM.format(directory=directory, kind="cprolog"))
        self.write("epilog.slurmctld", PROGRAM.format(directory=directory, kind="cepilog"))
        self.write("check", f"#!/bin/sh\n[ -e {directory}/sick.$SLURMD_NODENAME ] && {commands}/scontrol update NodeName=$SLURMD_NODENAME State=DRAIN Reason=sick\n"
                            f"echo checked >> {directory}/checked.$SLURMD_NODENAME\nexit 0\n")
        self.write("reboot", f"#!/bin/sh\necho reboot $SLURMD_NODENAME >> {directory}/events\n")
        (directory / "events").write_text("")

    def write(self, name, text):
        (self.directory / name).write_text(text)
        (self.directory / name).chmod(0o755)

    def set(self, *names):
        for name in names:
            (self.directory / name).write_text("")

    def clear(self, *names):
        for name in names:
            (self.directory / name).unlink()

    def events(self):
        return (self.directory / "events").read_text().splitlines()

    def count(self, event):
        return self.events().count(event)

    def wait(self, event, count=1):
        wait_for(f"{event} ({count})", lambda: self.count(event) >= count)

    def wait_for_check(self, node):
        """Until a health check has run that began after now."""
        path = self.directory / f"checked.{node}"
        seen = len(path.read_text().splitlines()) if path.exists() else 0
        wait_for(f"another health check of {node}", lambda: path.exists() and len(path.read_text().splitlines()) >= seen + 2)

    def told(self, kind, where, job):
        text = (self.directory / f"env.{kind}.{where}.{job}").read_text()
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def make_cluster(build, directory):
    programs = Programs(directory / "programs", directory / "c" / "bin")
    here = programs.directory
    cluster = Cluster(build, directory / "c", nodes=2, cpus=2,
                      settings=[f"Prolog={here}/prolog.d/*", f"Epilog={here}/epilog", "PrologFlags=Alloc", f"PrologEpilogTimeout={limit(300):.0f}", f"HealthCheckProgram={here}/check",
                                "HealthCheckInterval=1", f"RebootProgram={here}/reboot", f"ResumeTimeout={limit(300):.0f}", "ReturnToService=1"])
    cluster.programs = programs
    return cluster


@pytest.fixture
def programs(cluster):
    return cluster.programs


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def reason_of(cluster, node):
    return cluster.run("sinfo", "-h", "-R", "-n", node, "-o", "%E").out.strip()


def hold_released(cluster, job):
    return wait_for(f"job {job} held", lambda: (fields := cluster.job(job))["JobState"] in ("PENDING", "REQUEUE_HOLD") and fields["Priority"] == "0" and fields)


def test_in_order(checks, cluster, programs):
    """Both nodes of a batch job have their prolog before it and their epilog after it; until then it completes."""
    programs.set("hold.prolog", "hold.epilog.n2")
    job = cluster.submit("-N2", "--exclusive", "-J", "both", "-o", "/dev/null", "--wrap", f"echo script >> {programs.directory}/events; exit 7")
    for node in cluster.nodes:
        programs.wait(f"begin prolog {node} {job}")
    fields = wait_for("the job is configuring", lambda: (now := cluster.job(job))["JobState"] == "CONFIGURING" and now)
    checks.that("a job whose prolog runs is CONFIGURING for Prolog", fields["Reason"] == "Prolog", fields)
    checks.that("squeue says CF", cluster.run("squeue", "-h", "-j", str(job), "-o", "%t").out.strip() == "CF")
    checks.that("the script has not begun", "script" not in programs.events())
    programs.clear("hold.prolog")
    programs.wait(f"begin epilog n2 {job}")
    programs.wait(f"end epilog n1 {job}")
    fields = wait_for("n1 is free", lambda: (now := cluster.job(job)) and cluster.node_states()["n1"] == "idle" and now)
    checks.that("the job is completing while one epilog runs", fields["JobState"] == "COMPLETING", fields)
    next_job = cluster.submit("-w", "n2", "-n2", "-o", "/dev/null", "--wrap", "true")
    alone = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
    cluster.wait_for_job(alone)
    events = programs.events()
    checks.that("in the order of things", events.index(f"end prolog n1 {job}") < events.index("script") < events.index(f"begin epilog n1 {job}"), events)
    checks.that("the second of a pattern comes after the first", events.index(f"end prolog n1 {job}") < events.index(f"second n1 {job}"), events)
    programs.clear("hold.epilog.n2")
    fields = cluster.wait_for_job(job)
    checks.that("and ends as its script did", fields["JobState"] == "FAILED" and fields["ExitCode"] == "7:0", fields)
    cluster.wait_for_job(next_job)
    events = programs.events()
    checks.that("the next job of n2 came after its epilog", events.index(f"end epilog n2 {job}") < events.index(f"begin prolog n2 {next_job}"), events)
    told, after = programs.told("prolog", "n2", job), programs.told("epilog", "n1", job)
    wanted = {"SLURM_JOB_ID": str(job), "SLURM_JOB_USER": "root", "SLURM_JOB_UID": "0", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_PARTITION": "all",
              "SLURM_CLUSTER_NAME": "test", "SLURMD_NODENAME": "n2", "SLURM_SCRIPT_CONTEXT": "prolog_slurmd", "SLURM_JOB_NAME": "both",
              "SLURM_CONF": str(cluster.configuration)}
    checks.that("the prolog is told of its job", wanted.items() <= told.items(), {k: told.get(k) for k in wanted})
    checks.that("the epilog how it ended", after.get("SLURM_JOB_EXIT_CODE") == str(7 << 8) and after.get("SLURM_SCRIPT_CONTEXT") == "epilog_slurmd", after)
    srun = cluster.run("srun", "-w", "n1", "-n1", "sh", "-c", f"tail -1 {programs.directory}/events")
    checks.that("srun's tasks too begin after the prolog", srun.out.startswith("second n1"), srun)
    cluster.wait_for_nodes()
    programs.set("hold.prolog.n1")
    allocation = subprocess.Popen([cluster.bin / "salloc", "-w", "n1", "-n1", cluster.bin / "srun", "sh", "-c", f"echo task; tail -1 {programs.directory}/events"],
                                  env=cluster.environment, cwd=cluster.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running = wait_for("the allocation", lambda: cluster.run("squeue", "-h", "-o", "%i").out.split())[0]
    programs.wait(f"begin prolog n1 {running}")
    programs.clear("hold.prolog.n1")
    out, err = allocation.communicate(timeout=limit(90))
    checks.that("a step of salloc's waits for the prolog", allocation.returncode == 0 and out.splitlines() == ["task", f"second n1 {running}"], f"{allocation.returncode}: {out} {err}")
    cluster.wait_for_nodes()


def test_agent_killed(checks, cluster, programs):
    """An agent killed in a prolog or epilog runs it again, and nothing else twice."""
    programs.set("hold.prolog.n1")
    ran = programs.directory / "ran"
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"echo x >> {ran}")
    programs.wait(f"begin prolog n1 {job}")
    first = int((programs.directory / "pid.prolog.n1").read_text())
    cluster.agents["n1"].kill()
    cluster.start_agent("n1")
    programs.wait(f"begin prolog n1 {job}", 2)
    wait_for("the prolog of the killed agent is gone", lambda: is_gone(first))
    checks.that("the job has not begun", not ran.exists())
    programs.set("hold.epilog.n1")
    programs.clear("hold.prolog.n1")
    programs.wait(f"begin epilog n1 {job}")
    cluster.agents["n1"].kill()
    cluster.start_agent("n1")
    programs.wait(f"begin epilog n1 {job}", 2)
    checks.that("it completes until its epilog is done", cluster.job(job)["JobState"] == "COMPLETING", cluster.job(job))
    programs.clear("hold.epilog.n1")
    checks.that("the job ends well", cluster.wait_for_job(job)["JobState"] == "COMPLETED")
    checks.that("having run once", ran.read_text() == "x\n", ran.read_text())
    checks.that("one epilog went to its end", programs.count(f"end epilog n1 {job}") == 1)
    cluster.wait_for_nodes()


def test_failures(checks, cluster, programs):
    programs.set("fail.prolog.n1")
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
    fields = hold_released(cluster, job)
    checks.that("after a failed prolog the job is held", fields["Reason"] == "launch_failed_requeued_held", fields)
    programs.wait(f"end epilog n1 {job}")
    state = wait_for("nothing runs there", lambda: (now := cluster.node_states()["n1"]) not in ("comp", "drng", "mix", "alloc") and now)
    checks.that("and its node drained", state.startswith("drain") and reason_of(cluster, "n1") == "Prolog error", state)
    checks.that("the log says why", "exited with 3: no disk" in (cluster.directory / "logs" / "n1.log").read_text())
    programs.clear("fail.prolog.n1")
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    checks.says("released", cluster.run("scontrol", "release", str(job)), 0)
    checks.that("it runs", cluster.wait_for_job(job)["JobState"] == "COMPLETED")
    cluster.wait_for_nodes()
    programs.set("fail.prolog.n1")
    done = cluster.run("srun", "-w", "n1", "-n1", "true")
    checks.that("srun fails with its prolog", done.code != 0, done)
    programs.clear("fail.prolog.n1")
    wait_for("drained again", lambda: reason_of(cluster, "n1") == "Prolog error")
    wait_for("nothing runs there", lambda: cluster.node_states()["n1"] == "drain")
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    programs.set("fail.epilog.n2")
    job = cluster.submit("-w", "n2", "-o", "/dev/null", "--wrap", "true")
    checks.that("a failed epilog costs no job", cluster.wait_for_job(job)["JobState"] == "COMPLETED")
    checks.that("but the node", cluster.node_states()["n2"] == "drain" and reason_of(cluster, "n2") == "Epilog error", cluster.node_states())
    programs.clear("fail.epilog.n2")
    cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    cluster.wait_for_nodes()


def test_cancelled(checks, cluster, programs):
    """Cancelled in its prolog, a job never begins; the prolog goes on to its end."""
    programs.set("hold.prolog.n1")
    ran = programs.directory / "never"
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"touch {ran}")
    programs.wait(f"begin prolog n1 {job}")
    cluster.run("scancel", str(job))
    checks.that("it completes", cluster.job(job)["JobState"] == "COMPLETING", cluster.job(job))
    programs.clear("hold.prolog.n1")
    checks.that("it is cancelled", cluster.wait_for_job(job)["JobState"] == "CANCELLED")
    checks.that("its prolog and epilog went to their ends", programs.count(f"end prolog n1 {job}") == 1 and programs.count(f"end epilog n1 {job}") == 1)
    checks.that("its script never began", not ran.exists())
    cluster.wait_for_nodes()


def test_controller(checks, cluster, programs):
    """PrologSlurmctld and EpilogSlurmctld: before and after everything else, run again by the controller after a killed one."""
    before = list(cluster.settings)
    cluster.settings += [f"PrologSlurmctld={programs.directory}/prolog.slurmctld", f"EpilogSlurmctld={programs.directory}/epilog.slurmctld"]
    cluster.write_configuration()
    checks.says("configured", cluster.run("scontrol", "reconfigure"), 0)
    programs.set("hold.cprolog.controller", "hold.cepilog.controller")
    ran = programs.directory / "once"
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"echo x >> {ran}")
    programs.wait(f"begin cprolog controller {job}")
    fields = cluster.job(job)
    checks.that("configuring while PrologSlurmctld runs", fields["JobState"] == "CONFIGURING" and fields["Reason"] == "Prolog", fields)
    checks.that("nothing has begun on the node", programs.count(f"begin prolog n1 {job}") == 0)
    cluster.controller.kill()
    os.kill(int((programs.directory / "pid.cprolog.controller").read_text()), signal.SIGKILL)
    cluster.start_controller()
    cluster.wait_for_controller()
    programs.wait(f"begin cprolog controller {job}", 2)
    programs.clear("hold.cprolog.controller")
    programs.wait(f"begin cepilog controller {job}")
    checks.that("completing while EpilogSlurmctld runs", cluster.job(job)["JobState"] == "COMPLETING", cluster.job(job))
    programs.clear("hold.cepilog.controller")
    checks.that("the job ends well, having run once", cluster.wait_for_job(job)["JobState"] == "COMPLETED" and ran.read_text() == "x\n")
    checks.that("told as at the controller", programs.told("cprolog", "controller", job).get("SLURM_SCRIPT_CONTEXT") == "prolog_slurmctld")
    programs.set("fail.cprolog.controller")
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
    checks.that("a failed PrologSlurmctld holds the job", hold_released(cluster, job)["Reason"] == "launch_failed_requeued_held", cluster.job(job))
    state = wait_for("nothing runs there", lambda: (now := cluster.node_states()["n1"]) not in ("comp", "mix", "alloc") and now)
    checks.that("and drains nothing", state == "idle", state)
    programs.clear("fail.cprolog.controller")
    cluster.run("scancel", str(job))
    programs.set("hold.cprolog.controller")
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
    programs.wait(f"begin cprolog controller {job}")
    pid = int((programs.directory / "pid.cprolog.controller").read_text())
    cluster.run("scancel", str(job))
    checks.that("cancelled in its PrologSlurmctld", cluster.wait_for_job(job)["JobState"] == "CANCELLED")
    wait_for("which is killed", lambda: is_gone(pid))
    programs.clear("hold.cprolog.controller")
    cluster.settings = before
    cluster.write_configuration()
    cluster.run("scontrol", "reconfigure")
    cluster.wait_for_nodes()


def test_states(checks, cluster, programs):
    programs.set("sick.n2")
    wait_for("the health check drains n2", lambda: reason_of(cluster, "n2") == "sick")
    programs.clear("sick.n2")
    programs.wait_for_check("n2")  # one that has seen the file may still drain it
    checks.says("FAIL needs a reason", cluster.run("scontrol", "update", "NodeName=n1", "State=FAIL"), 1, "You must specify a reason")
    checks.says("n1 is about to fail", cluster.run("scontrol", "update", "NodeName=n1", "State=FAIL", "Reason=fan", "Comment=rack 3"), 0)
    checks.that("shown so", cluster.node_states()["n1"] == "fail" and "State=IDLE+FAIL" in (text := cluster.run("scontrol", "show", "node", "n1").out) and "Comment=rack 3" in text)
    checks.says("nobody can power nodes here", cluster.run("scontrol", "update", "NodeName=n1", "State=POWER_DOWN"), 1, "SuspendProgram")
    checks.says("all come back", cluster.run("scontrol", "update", "NodeName=ALL", "State=RESUME"), 0)
    cluster.wait_for_nodes()
    checks.says("features of a node", cluster.run("scontrol", "update", "NodeName=n2", "AvailableFeatures=fast", "Weight=7"), 0)
    checks.that("shown", "AvailableFeatures=fast" in (text := cluster.run("scontrol", "show", "node", "n2").out) and "Weight=7" in text)
    job = cluster.submit("-C", "fast", "-o", "/dev/null", "--wrap", "true")
    checks.that("and used", cluster.wait_for_job(job)["NodeList"] == "n2")
    cluster.wait_for_nodes()


def test_active_features(checks, cluster):
    update = lambda *words: cluster.run("scontrol", "update", "NodeName=n2", *words)
    checks.says("only what is available can be active", update("ActiveFeatures=slow"), 1, "Active features not subset of available features")
    checks.says("one of two features is active", update("AvailableFeatures=fast,slow", "ActiveFeatures=slow"), 0)
    shown = cluster.run("sinfo", "-h", "-n", "n2", "-o", "%f %b").out.split()
    checks.that("sinfo shows both", shown == ["fast,slow", "slow"], shown)
    job = cluster.submit("-C", "fast", "-o", "/dev/null", "--wrap", "true")
    wait_for("a job waits for a feature that is not active", lambda: cluster.run("squeue", "-h", "-j", job, "-o", "%T %r").out.split() == ["PENDING", "Resources"])
    checks.says("millrace why says so", cluster.run("millrace", "why", job), 0, "not active")
    checks.says("it becomes active", update("ActiveFeatures=fast"), 0)
    checks.that("and the job starts", cluster.wait_for_job(job)["NodeList"] == "n2")
    node = json.loads(cluster.run("scontrol", "show", "node", "n2", "--json").out)["nodes"][0]
    checks.that("as data", node["features"] == ["fast", "slow"] and node["active_features"] == ["fast"], node)
    checks.says("all of them again", update("AvailableFeatures=fast"), 0)
    cluster.wait_for_nodes()


def resume_after(cluster):
    return json.loads(cluster.run("scontrol", "show", "node", "n1", "--json").out)["nodes"][0]["resume_after"]


def restart_controller(cluster):
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()


def test_comes_back(checks, cluster):
    """The controller dies in between: that a node is to come back outlives it."""
    checks.says("a node in service has nowhere to come back to", cluster.run("scontrol", "update", "NodeName=n1", "ResumeAfter=60"), 1, "Invalid node state specified")
    checks.says("drained for a while", cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=hot", "ResumeAfter=3600"), 0)
    text = cluster.run("scontrol", "show", "node", "n1").out
    checks.that("the time is shown", "State=IDLE+DRAIN" in text and re.search(r"ResumeAfterTime=\d+-", text), text)
    due = resume_after(cluster)
    checks.that("as data too", due["set"] and due["number"] > 1_700_000_000, due)
    restart_controller(cluster)
    checks.that("it outlives the controller", resume_after(cluster) == due, resume_after(cluster))
    checks.says("it may be drawn nearer", cluster.run("scontrol", "update", "NodeName=n1", "ResumeAfter=5"), 0)
    restart_controller(cluster)
    wait_for("n1 is back by itself", lambda: cluster.node_states()["n1"] == "idle")
    checks.that("with no reason and no time", "ResumeAfterTime=None" in (text := cluster.run("scontrol", "show", "node", "n1").out) and "Reason=" not in text, text)


def test_instance(checks, cluster):
    checks.says("an instance of a cloud", cluster.run("scontrol", "update", "NodeName=n1", "InstanceId=i-1", "InstanceType=large"), 0)
    checks.says("shown", cluster.run("scontrol", "show", "node", "n1"), 0, "InstanceId=i-1 InstanceType=large")
    cluster.agents["n1"].kill()
    cluster.start_agent("n1", "--instance-id=i-2", "--instance-type", "small", "--extra=rack 7")
    wait_for("the agent says which one it is on", lambda: "InstanceId=i-2 InstanceType=small" in cluster.run("scontrol", "show", "node", "n1").out)
    checks.says("and what else it was told", cluster.run("scontrol", "show", "node", "n1"), 0, "Extra=rack 7")
    cluster.wait_for_nodes()


def test_reboot(checks, cluster, programs):
    release = programs.directory / "release"
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", f"while [ ! -e {release} ]; do sleep 0.05; done")
    cluster.wait_for_job(job, ("RUNNING",))
    checks.says("ordered", cluster.run("scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=kernel", "n1"), 0)
    checks.that("no new jobs there", cluster.node_states()["n1"] == "drng@", cluster.node_states())
    checks.says("called off", cluster.run("scontrol", "cancel_reboot", "n1"), 0)
    checks.that("as before", cluster.node_states()["n1"] == "mix", cluster.node_states())
    checks.says("nothing to call off", cluster.run("scontrol", "cancel_reboot", "n1"), 1, "no reboot")
    cluster.run("scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=kernel", "n1")
    checks.that("it waits for the job", programs.count("reboot n1") == 0 and cluster.job(job)["JobState"] == "RUNNING")
    release.write_text("")
    cluster.wait_for_job(job)
    programs.wait("reboot n1")
    wait_for("it boots", lambda: cluster.node_states()["n1"] == "boot^")
    cluster.agents["n1"].kill()
    cluster.start_agent("n1", "-b")
    cluster.wait_for_nodes()
    checks.that("it came back", "Reason" not in cluster.run("scontrol", "show", "node", "n1").out)
    checks.that("and was told once", programs.count("reboot n1") == 1)
    cluster.agents["n2"].kill()
    cluster.start_agent("n2", "-b")
    wait_for("an unexpected boot takes n2 down", lambda: cluster.node_states()["n2"].startswith("down"))
    checks.that("and says so", reason_of(cluster, "n2") == "Node unexpectedly rebooted", reason_of(cluster, "n2"))
    cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    cluster.wait_for_nodes()


def test_unkillable(checks, directory, new_cluster):
    """A supervisor that is stopped stands for a process that hangs in the kernel."""
    told = directory / "unkillable"
    program = directory / "program"
    program.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME $SLURM_STEPD_PID >> {told}\n")
    program.chmod(0o755)
    cluster = new_cluster(directory, nodes=1, settings=["UnkillableStepTimeout=1", f"UnkillableStepProgram={program}", "KillWait=1"])
    cluster.start()
    job = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000")
    cluster.wait_for_job(job, ("RUNNING",))
    pid = wait_for("its supervisor", lambda: [pid for pid, _ in cluster.supervisors()])[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        cluster.run("scancel", job)
        wait_for("UnkillableStepProgram", lambda: told.exists() and told.read_text())
        wait_for("the node is drained", lambda: reason_of(cluster, "n1") == "Kill task failed")
        checks.that("it was told where and of whom", told.read_text() == f"n1 {pid}\n", told.read_text())
        checks.that("no job starts there any more", cluster.node_states()["n1"].startswith("drng"), cluster.node_states())
        checks.that("the job is completing until then", cluster.job(job)["JobState"] == "COMPLETING" or cluster.job(job)["JobState"] == "CANCELLED", cluster.job(job))
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for("the node is empty once it has gone", lambda: cluster.node_states()["n1"].startswith("drain"))
    checks.that("the program ran once", told.read_text().count("\n") == 1, told.read_text())

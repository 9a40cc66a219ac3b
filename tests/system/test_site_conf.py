"""A site's slurm.conf as it is: a controller that is not root, nodes that prove themselves by MUNGE, and `scontrol reconfigure` under a running job.
"""

import os
import pwd
import shutil
import socket as socketlib
from pathlib import Path

import pytest

from cluster import Cluster, Daemon, find_program, limit, wait_for

pytestmark = pytest.mark.skipif(os.getuid() != 0 or shutil.which("munged") is None, reason="needs root and munged (Debian's package munge)")
OWNER = pwd.getpwnam("daemon")  # stands for the site's user slurm


def start_munged(directory, environment):
    place = directory / "munge"
    place.mkdir(mode=0o755)
    key = place / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    munged = Daemon([shutil.which("munged"), "--foreground", "--force", f"--key-file={key}", f"--socket={place}/munge.socket.2", f"--pid-file={place}/pid",
                     f"--log-file={place}/log", f"--seed-file={place}/seed", "--num-threads=2"], directory / "logs" / "munged.log", environment)
    wait_for("munged's socket", lambda: (place / "munge.socket.2").exists())
    return munged, place / "munge.socket.2"


def this_host():
    return socketlib.gethostname().split(".")[0]


class Site(Cluster):
    """SlurmUser is not root, and nodes prove themselves by MUNGE. Agents read a file of their own, as on other hosts, where the cluster's key is
    not to be found."""

    def __init__(self, build, directory):
        self.munged = None
        super().__init__(build, directory, settings=["SlurmUser=daemon", "AuthType=auth/munge", f"NodeName=DEFAULT NodeHostname={this_host()} NodeAddr=127.0.0.1"])

    def start_munged(self):
        self.munged, socket = start_munged(self.directory, {"PATH": os.environ["PATH"]})
        self.settings.append(f"AuthInfo=socket={self.socket},socket={socket}")
        self.write_both()

    def start(self):
        self.start_munged()
        for folder in (self.state, self.socket.parent):
            os.chown(folder, OWNER.pw_uid, OWNER.pw_gid)
        super().start()

    def daemons(self):
        return [*super().daemons(), *([self.munged] if self.munged else [])]

    def start_agent(self, node, *options):
        self.agents[node] = Daemon([find_program(self.build, "millrace-agent"), "-D", "-f", self.node_configuration, "-N", node, *options],
                                   self.directory / "logs" / f"{node}.log", self.environment)

    @property
    def node_configuration(self):
        return self.directory / "nodes" / "slurm.conf"

    def write_node_configuration(self):
        self.node_configuration.parent.mkdir(exist_ok=True)
        self.node_configuration.write_text(self.configuration_text().replace(f"StateSaveLocation={self.state}", "StateSaveLocation=/nonexistent"))

    def write_both(self):
        self.write_configuration()
        self.write_node_configuration()

    def log(self, name):
        return (self.directory / "logs" / f"{name}.log").read_text(errors="replace")

    def fails_to_start(self):
        """What a controller said that did not come up."""
        self.start_controller()
        wait_for("the controller's end", lambda: not self.controller.alive())
        self.controller.wanted = False
        return self.log("controller").splitlines()[-1]


def make_cluster(build, directory):
    return Site(build, directory)


@pytest.fixture
def site(cluster):
    """The shared cluster; slurm.conf is as it was after the test."""
    settings, partitions = list(cluster.settings), list(cluster.partitions)
    yield cluster
    if (cluster.settings, cluster.partitions) != (settings, partitions) and cluster.directory.exists():
        cluster.settings, cluster.partitions = settings, partitions
        cluster.write_both()
        cluster.run("scontrol", "reconfigure")


def owner_of(pid):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Uid:"))
    return {int(word) for word in line.split()[1:]}


def test_slurm_user(checks, directory, new_cluster):
    site = new_cluster(directory, kind=Site)
    site.start_munged()
    said = site.fails_to_start()
    checks.that("a folder of state that is somebody else's is an error that says what to do", "StateSaveLocation" in said and f"chown -R daemon {site.state}" in said, said)
    os.chown(site.state, OWNER.pw_uid, OWNER.pw_gid)
    said = site.fails_to_start()
    checks.that("so is the folder of the socket", "AuthInfo" in said and "chown -R daemon" in said, said)
    os.chown(site.socket.parent, OWNER.pw_uid, OWNER.pw_gid)
    site.start_controller()
    site.wait_for_controller()
    checks.that("the controller is SlurmUser and nobody else", owner_of(site.controller.pid) == {OWNER.pw_uid}, owner_of(site.controller.pid))
    files = [path for path in site.state.rglob("*") if path.stat().st_uid != OWNER.pw_uid]
    checks.that("and so are its files", not files, files)
    shown = site.run("scontrol", "show", "config").out
    checks.that("scontrol shows it", f"daemon({OWNER.pw_uid})" in shown, shown[:400])


def test_munge(checks, site):
    checks.that("nodes without a key come by MUNGE", "proves itself by MUNGE" in site.log("n1") and "prove themselves by MUNGE" in site.log("controller"), site.log("n1"))
    done = site.run("srun", "-N", "2", "id", "-u", identity=(65534, 65534, []), cwd="/")
    checks.that("a user's job runs on them as that user", done.code == 0 and done.out.split() == ["65534", "65534"], done)
    before = site.log("n2").count("registered with cluster")
    site.agents["n2"].kill()
    site.start_agent("n2")
    wait_for("the node comes again", lambda: site.log("n2").count("registered with cluster") > before)
    site.wait_for_nodes()
    checks.that("a node that comes again has a new credential", site.log("n2").count("registered with cluster") == before + 1, site.log("n2"))


def test_reconfigure(checks, site):
    job = site.submit("--wrap", "while ! [ -e go ]; do sleep 0.1; done; echo survived", "-o", "out", cwd=site.directory)
    site.wait_for_job(job, ("RUNNING",))
    site.settings += [f"Prolog={site.directory}/prolog", "KillWait=7"]
    site.partitions.append("PartitionName=late Nodes=n2 MaxTime=10 ReqResv=NO AllocNodes=ALL ExclusiveUser=YES")
    prolog = site.directory / "prolog"
    prolog.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME $SLURM_JOB_ID >> {site.directory}/prologs\n")
    prolog.chmod(0o755)
    site.write_both()
    read = {node: site.log(node).count("configuration read again") for node in site.nodes}
    done = site.run("scontrol", "reconfigure")
    checks.that("the controller takes a changed file", done.code == 0, done)
    shown = site.run("scontrol", "show", "partition", "late").out + site.run("scontrol", "show", "config").out
    checks.that("a new partition is there, and a changed time", "MaxTime=00:10:00" in shown and "Exclusive=USER" in shown and "= 7 sec" in shown, shown)
    wait_for("agents that read it again", lambda: all(site.log(node).count("configuration read again") > read[node] for node in site.nodes))
    second = site.submit("-p", "late", "--wrap", "true", "-o", "/dev/null")
    site.wait_for_job(second)
    checks.that("the agents run the new prolog without a restart", f"n2 {second}" in (site.directory / "prologs").read_text(), site.log("n2"))
    checks.that("the job that ran still does", site.job(job).get("JobState") == "RUNNING", site.job(job))

    good = site.configuration_text()
    site.configuration.write_text(good.replace("KillWait=7", "KillWait=soon"))
    done = site.run("scontrol", "reconfigure")
    checks.that("a wrong file is refused and the old one stays", done.code != 0 and "KillWait" in site.log("controller") and "= 7 sec" in site.run("scontrol", "show", "config").out, done)
    site.configuration.write_text(good.replace(f"SlurmctldPort={site.port}", "SlurmctldPort=1"))
    done = site.run("scontrol", "reconfigure")
    checks.that("what takes a restart is named", done.code == 0 and "SlurmctldPort has changed; it takes effect" in site.log("controller"), done)
    site.write_both()
    (site.directory / "go").write_text("")
    checks.that("the job ends well after all of it", site.wait_for_job(job).get("JobState") == "COMPLETED", site.job(job))


def shown_partition(site, name):
    done = site.run("scontrol", "-o", "show", "partition", name)
    return done.out if done.code == 0 else ""


def test_partitions(checks, site):
    say = lambda *words, **how: site.run("scontrol", *words, **how)
    done = say("create", "PartitionName=night", "Nodes=n1", "MaxTime=8:00:00", "PriorityTier=5", "DenyAccounts=law")
    shown = shown_partition(site, "night")
    checks.that("scontrol makes a partition", done.code == 0 and all(word in shown for word in (" Nodes=n1 ", "MaxTime=08:00:00", "PriorityTier=5", "DenyAccounts=law")), (done, shown))
    done = say("update", "PartitionName=night", "Nodes+=n2", "Default=YES", "AllowAcc=physics", "DenyAcc=")
    shown = shown_partition(site, "night")
    checks.that("and changes it", done.code == 0 and " Nodes=n[1-2] " in shown and "Default=YES" in shown and "AllowAccounts=physics" in shown, (done, shown))
    checks.that("the old default is none any more", "night*" in site.run("sinfo", "-h", "-o", "%P").out and "Default=NO" in shown_partition(site, "all"), site.run("sinfo").out)
    done = say("update", "PartitionName=night", "AllowAccounts=ALL", "State=DOWN", "Default=NO")
    job = site.submit("-p", "night", "--wrap", "true", "-o", "/dev/null")
    wait_for("the reason of a job in it", lambda: "PartitionDown" in site.run("squeue", "-h", "-j", job, "-o", "%r").out)
    done = say("delete", "PartitionName=night")
    checks.says("one with jobs is not deleted", done, 1, "delete_partition PartitionName=night: Partition is in use")
    done = say("create", "PartitionName=night", "Nodes=n1")
    checks.says("nor made twice", done, 1, "Error creating the partition: Invalid partition name specified")
    for words, code, text in ((("Weather=FINE",), 1, "Update of this parameter is not supported: Weather=FINE"), (("State=AJAR",), 1, "Acceptable State values are UP, DOWN, DRAIN and INACTIVE"),
                              (("Nodes=nowhere",), 1, "slurm_update error: Invalid node name specified"), (("Alternate=all",), 1, "is not built yet"), ((), 1, "No changes specified")):
        checks.says(f"update {' '.join(words) or 'of nothing'} is refused", say("update", "PartitionName=night", *words), code, text)
    done = say("update", "PartitionName=night", "State=UP", identity=(65534, 65534, []))
    checks.says("a user may not", done, 1, "slurm_update error: Access/permission denied")

    site.controller.kill()
    site.start_controller()
    site.wait_for_controller()
    shown = shown_partition(site, "night")
    checks.that("the partition and its state outlive the controller", "State=DOWN" in shown and " Nodes=n[1-2] " in shown and "PriorityTier=5" in shown, shown)
    written = say("write", "config", "-").out
    checks.that("scontrol write config has it", "PartitionName=night Nodes=n[1-2] " in written, written[-600:])
    say("update", "PartitionName=night", "State=UP")
    site.wait_for_job(job)
    checks.that("it is deleted when its jobs are gone", say("delete", "PartitionName=night").code == 0 and not shown_partition(site, "night"))
    say("create", "PartitionName=short", "Nodes=ALL")
    say("update", "PartitionName=all", "MaxTime=5")
    checks.that("until the file is read again", say("reconfigure").code == 0 and not shown_partition(site, "short") and "MaxTime=UNLIMITED" in shown_partition(site, "all"), shown_partition(site, "all"))
    done = say("token")
    checks.says("without a key there are no tokens", done, 1, "Error fetching token: Token Generation failed.")
    done = say("fsdampeningfactor", "3")
    checks.that("scontrol fsdampeningfactor", done.code == 0 and "FairShareDampeningFactor = 3" in " ".join(say("show", "config").out.split()), done)


def test_private_data(checks, site):
    games = pwd.getpwnam("games")
    nobody, other = (65534, 65534, []), (games.pw_uid, games.pw_gid, [])
    hidden, own = (site.submit("--hold", "--wrap", "true", "-o", "/dev/null", identity=who, cwd="/") for who in (nobody, other))
    checks.that("without PrivateData users see each other's jobs", str(hidden) in site.run("squeue", "-h", "-o", "%i", identity=other).out.split())
    site.settings.append("PrivateData=jobs,nodes,partitions")
    site.partitions.append("PartitionName=roots Nodes=n1 RootOnly=YES")
    site.write_both()
    site.run("scontrol", "reconfigure")
    seen = site.run("squeue", "-h", "-o", "%i", identity=other).out.split()
    checks.that("PrivateData=jobs: squeue shows one's own", seen == [str(own)], seen)
    done = site.run("scontrol", "show", "job", hidden, identity=other)
    checks.that("another's job is as if it were not there", done.code == 1 and "Invalid job id specified" in done.out + done.err, done)
    done = site.run("squeue", "-h", "-u", "nobody", identity=other)
    checks.that("nor is it found by its user", done.out == "", done)
    done = site.run("sacct", "-n", "-X", "-o", "JobID", "-a", identity=other)
    checks.that("nor by sacct -a", done.out.split() == [str(own)], done)
    done = site.run("sprio", "-h", identity=other)
    checks.that("nor by sprio", str(hidden) not in done.out.split(), done)
    done = site.run("scontrol", "show", "node", "n1", identity=other)
    checks.that("PrivateData=nodes: nodes are not shown", "NodeName" not in done.out and "denied" in done.out + done.err, done)
    shown = site.run("scontrol", "-a", "show", "partition", identity=other).out
    checks.that("PrivateData=partitions: those for root are not shown", "PartitionName=all" in shown and "roots" not in shown, shown)
    shown = site.run("squeue", "-h", "-o", "%i").out.split() + site.run("scontrol", "-a", "show", "partition").out.split()
    checks.that("root sees all", {str(hidden), str(own), "PartitionName=roots"} <= set(shown), shown)
    site.run("scancel", hidden, own)


def test_interactive_step(checks, site):
    site.settings += ["LaunchParameters=use_interactive_step", 'InteractiveStepOptions="--interactive --preserve-env sh"']
    site.write_both()
    script = "echo node=$SLURMD_NODENAME step=$SLURM_STEP_ID tasks=$SLURM_NTASKS; until squeue -s -h -o %i | grep interactive; do :; done; srun sh -c 'echo step=$SLURM_STEP_ID'; exit 3\n"
    done = site.run("salloc", "-N2", "-n2", stdin=script, cwd="/", PATH=f"{site.bin}:{os.environ['PATH']}")
    job = done.err.split("Granted job allocation ")[1].split()[0] if "Granted" in done.err else "?"
    lines = done.out.split("\n")
    checks.that("salloc's shell runs as a step on the first node", done.code == 3 and lines[0] == "node=n1 step=4294967290 tasks=2", done)
    checks.that("the step is called interactive", f"{job}.interactive" in lines, done)
    checks.that("and takes no number from the others", lines.count("step=0") == 2, done)
    wait_for("the end in the records", lambda: site.job(job).get("JobState") == "FAILED")
    shown = site.run("sacct", "-n", "-P", "-j", job, "-o", "JobID,JobName,State").out
    checks.that("sacct knows it by its name", f"{job}.interactive|interactive|FAILED" in shown, shown)


def test_node_of_host(checks, site):
    """Nodes have other names than their hosts: commands on a host mean the node there."""
    job = int(site.run("sbatch", "--parsable", "-w", "n1", "-o", "/dev/null", "--wrap", "sleep 1000").out)
    wait_for("the job", lambda: site.job(job).get("JobState") == "RUNNING")
    pids = wait_for("its processes", lambda: [line for line in site.run("scontrol", "listpids").out.splitlines()[1:] if line.split()[1] == str(job)])
    checks.says("pidinfo by the host's name", site.run("scontrol", "pidinfo", pids[0].split()[0]), 0, f"JobId={job} ends at")
    checks.says("aliases of this host", site.run("scontrol", "show", "aliases"), 0, "n1")
    checks.says("squeue of a node that is not there", site.run("squeue", "-w", "n1,elsewhere"), 1, "Invalid node name elsewhere")
    site.run("scancel", str(job))
    site.wait_for_job(job)


def test_check(checks, site):
    done = site.run("millrace", "check", site.configuration)
    checks.that("millrace check has suggestions", done.code == 0 and "0 errors" in done.out and "suggestion: TaskPlugin" in done.out, done)
    odd = site.directory / "odd.conf"
    odd.write_text("ClusterName=x\nSlurmctldHost=h\nTreeWidth=64\nLaunchType=launch/slurm\nJobSubmitPlugins=lua\nNoSuchKey=1\nNodeName=n1\nPartitionName=p Nodes=n1\n")
    done = site.run("millrace", "check", odd)
    checks.that("and tells keys without effect from keys that are missing and from unknown ones",
                "TreeWidth: has no effect here" in done.out and "LaunchType: has no effect here" in done.out and "JobSubmitPlugins=lua: not built yet" in done.out and "NoSuchKey: unknown key" in done.out, done)


def test_systemd(checks, site):
    """As the units of Slurm's packages start it: slurmctld --systemd -s, which is told of by a datagram."""
    checks.that("the controller ends well", site.controller.terminate() == 0)
    place = site.directory / "notify"
    listener = socketlib.socket(socketlib.AF_UNIX, socketlib.SOCK_DGRAM)
    listener.bind(str(place))
    listener.settimeout(limit(60))
    os.chmod(place, 0o777)
    log = site.state / "own.log"
    site.controller = Daemon([find_program(site.build, "millrace-controller"), "--systemd", "-s", "-n", "5", "-L", log, "-f", site.configuration],
                             site.directory / "logs" / "controller.log", {**site.environment, "NOTIFY_SOCKET": str(place)})
    checks.that("systemd is told when it serves", listener.recv(100) == b"READY=1")
    listener.close()
    checks.that("it has not left for the background", site.controller.alive() and site.run("scontrol", "ping").code == 0)
    checks.that("it logs where it is told to, and works there", "serves: agents on port" in log.read_text() and os.readlink(f"/proc/{site.controller.pid}/cwd") == str(site.state), log.read_text())
    checks.that("it is as nice as asked", os.getpriority(os.PRIO_PROCESS, site.controller.pid) == 5)
    checks.that("and ends well under systemd", site.controller.terminate() == 0)
    site.start_controller()
    site.wait_for_controller()
    site.wait_for_nodes()

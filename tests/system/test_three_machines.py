"""docs/admin/install.md as a test: head, node1 and login1 as three network, mount and host-name namespaces joined by a bridge, each with
an /etc, /var, /run and /usr/local of its own. The slurm.conf and the commands come from the page, so that the page stays true; a fourth
machine joins later."""

import fcntl
import hashlib
import hmac
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from cluster import COMMANDS, Checks, TestTrouble, cgroup_name, clean_environment, find_cgroups, find_program, limit, remove_cgroup, run_command, wait_for
from host import end_strays
from machine_keys import try_keys

PAGE = Path(__file__).resolve().parents[2] / "docs" / "admin" / "install.md"
TOOLS = ("ip", "unshare", "nsenter", "setpriv")
pytestmark = [pytest.mark.extended, pytest.mark.order(150), pytest.mark.hangs_after(1800),
              pytest.mark.skipif(os.getuid() != 0 or not all(map(shutil.which, TOOLS)), reason=f"needs root, {', '.join(TOOLS)}")]
# What the page does in another way than we can: services are started as it says for machines without systemd, files are copied without ssh.
REPLACED = ("systemctl ", "./mill install", "millrace key node node1 | ssh", "tar -C", "sbatch --wrap 'hostname; sleep 10'")


class Page:
    """The commands and the example file of the page; remembers which commands were run."""

    def __init__(self):
        text = PAGE.read_text()
        self.configuration = re.search(r"```conf slurm.conf\n(.*?)```", text, re.S).group(1)
        self.commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines() if line.strip()]
        self.prose = text
        self.used = set()

    def command(self, line):
        if line not in self.commands and f"`{line}`" not in self.prose:
            raise TestTrouble(f"the page has no command '{line}'")
        self.used.add(line)
        return line

    def unused(self):
        return [line for line in self.commands if line not in self.used and not line.startswith(REPLACED)]


class Machine:
    """One set of namespaces, held by a sleeping process."""

    def __init__(self, name, address, directory, environment):
        self.name, self.address, self.environment = name, address, environment
        self.store = directory / name
        self.store.mkdir()
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        own = os.readlink("/proc/self/ns/net")
        wait_for(f"namespaces of {name}", lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own
                 and Path(f"/proc/{self.holder.pid}/comm").read_text().strip() == "sleep", 30, 0.01)
        self.enter = ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "-u", "--"]
        layers = "".join(f"mkdir -p {self.store}/up{path} {self.store}/work{path}\n"
                         f"mount -t overlay overlay -o lowerdir={path},upperdir={self.store}/up{path},workdir={self.store}/work{path} {path}\n"
                         for path in ("/etc", "/var", "/usr/local", "/root"))
        self.must(f"hostname {name}\nmount -t tmpfs -o mode=755 none {self.store}\n{layers}mount -t tmpfs -o mode=755 none /run\nip link set lo up\n"
                  "rm -rf /etc/slurm\nmkdir -p /etc/slurm")

    def sh(self, line, identity=None, seconds=60, cwd="/", stdin=""):
        prefix = list(self.enter)
        if identity:
            groups = ",".join(map(str, identity[2]))
            prefix += ["setpriv", "--reuid", str(identity[0]), "--regid", str(identity[1]), "--groups", groups]
        return run_command(["sh", "-c", f"cd {cwd} && {line}"], self.environment, seconds, stdin=stdin, prefix=prefix)

    def must(self, script, **how):
        done = self.sh("true\nset -e\n" + script, **how)
        if done.code != 0:
            raise TestTrouble(f"{self.name}: {script.strip()[:200]}: {done!r}")
        return done.out

    def write(self, path, text, mode=0o644):
        self.must(f"umask 077; cat > {path} && chmod {mode:o} {path}", stdin=text)

    def read(self, path):
        return self.sh(f"cat {path}").out

    def daemon(self, pid_file):
        text = self.read(pid_file).strip()
        return int(text) if text.isdigit() and Path(f"/proc/{text}").exists() else None

    def end(self, pid_file, how=signal.SIGTERM):
        pid = self.daemon(pid_file)
        if pid is None:
            return
        os.kill(pid, how)

        def gone():
            try:
                return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                return True
        wait_for(f"the end of {pid_file} on {self.name}", gone, 60)

    def install(self, build):
        """As `./mill install --prefix /usr/local` does."""
        lines = ["mkdir -p /usr/local/bin /usr/local/sbin", f"install -m 755 {find_program(build, 'millrace')} /usr/local/bin/millrace"]
        lines += [f"ln -sf millrace /usr/local/bin/{name}" for name in COMMANDS]
        for program in ("controller", "agent", "step", "admin", "key"):
            lines.append(f"install -m 755 {find_program(build, 'millrace-' + program)} /usr/local/sbin/")
        lines += ["ln -sf millrace-controller /usr/local/sbin/slurmctld", "ln -sf millrace-agent /usr/local/sbin/slurmd"]
        self.must("\n".join(lines))

    def stop(self):
        for path in ("/run/slurmd.pid", "/run/slurmctld.pid"):
            if pid := self.daemon(path):
                os.kill(pid, signal.SIGKILL)
        self.holder.kill()
        self.holder.wait(limit(60))

    def show_logs(self):
        for path in ("/var/log/slurmctld.log", "/var/log/slurmd.log"):
            if text := self.sh(f"tail -n 60 {path} 2>/dev/null").out:
                print(f"---- {self.name}:{path}\n{text}")


class Network:
    """The bridge, in a namespace of its own; one cable to each machine."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        own = os.readlink("/proc/self/ns/net")
        wait_for("the bridge's namespace", lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own
                 and Path(f"/proc/{self.holder.pid}/comm").read_text().strip() == "sleep", 30, 0.01)
        self.ip("link", "add", "br0", "type", "bridge")
        self.ip("link", "set", "br0", "up")

    def ip(self, *words):
        done = run_command(["ip", *words], clean_environment(), prefix=["nsenter", "-t", str(self.holder.pid), "-n", "--"])
        if done.code != 0:
            raise TestTrouble(f"ip {' '.join(words)}: {done.err}")

    def plug(self, machine):
        port = f"p-{machine.name}"
        self.ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(machine.holder.pid))
        self.ip("link", "set", port, "master", "br0", "up")
        machine.must(f"ip addr add {machine.address}/24 dev eth0\nip link set eth0 up")

    def cut(self, machine):
        self.ip("link", "set", f"p-{machine.name}", "down")

    def mend(self, machine):
        self.ip("link", "set", f"p-{machine.name}", "up")

    def stop(self):
        self.holder.kill()
        self.holder.wait(limit(60))


def some_user():
    entry = next(entry for entry in pwd.getpwall() if entry.pw_name == "nobody")
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)


def state_of(machine, node):
    return machine.sh(f"sinfo -h -n {node} -o %t").out.strip()


def wait_state(machine, node, *states, seconds=90):
    seen = []

    def there():
        seen.append(state_of(machine, node))
        return seen[-1] in states
    try:
        wait_for(f"{node} {states}", there, seconds, 0.1)
    except TestTrouble as trouble:
        raise TestTrouble(f"{trouble}; it is {seen[-1]!r}") from None
    return seen[-1]


def job_fields(machine, job):
    return dict(word.split("=", 1) for word in machine.sh(f"scontrol -o show job {job}").out.split() if "=" in word)


def wait_job(machine, job, *states, seconds=90):
    def there():
        fields = job_fields(machine, job)
        return fields if fields.get("JobState") in states else None
    return wait_for(f"job {job} {states}", there, seconds, 0.1)


def says(machine, path, *words):
    try:
        return wait_for(f"{words}", lambda: all(word in machine.read(path) for word in words), 30)
    except TestTrouble:
        return False


held_locks = []


def only_one_at_a_time():
    """The nodes' control groups are named after node and spool folder, and these are the page's: two runs of this file would share them."""
    if not held_locks:
        held_locks.append(open(Path(tempfile.gettempdir()) / "millrace-three-machines.lock", "w"))
        fcntl.flock(held_locks[0], fcntl.LOCK_EX)


class Story:
    """The machines of the page, and what it does with them from its first section to its last. As a cluster it is ready for jobs."""

    def __init__(self, build, directory):
        self.checks, self.page, self.build, self.directory = Checks("setup"), Page(), build, directory
        self.work = directory / "shared"  # what machines of a real cluster share by NFS
        self.work.mkdir()
        self.work.chmod(0o777)
        self.user = some_user()
        self.network, self.machines = None, {}

    def make_machines(self):
        only_one_at_a_time()
        environment = clean_environment(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        self.network = Network()
        for number, name in enumerate(("head", "node1", "login1", "node2"), 1):
            machine = self.machines[name] = Machine(name, f"10.99.0.{number}", self.directory, environment)
            self.network.plug(machine)
        self.head, self.node, self.login, self.later = self.machines.values()
        hosts = "".join(f"{machine.address} {machine.name}\n" for machine in self.machines.values())
        for machine in self.machines.values():
            machine.must(f"printf '{hosts}' >> /etc/hosts")
            machine.install(self.build)

    def install(self):
        """The page up to the first job."""
        self.make_machines()
        for part in (self.put_configuration, self.start_controller, self.node_joins, self.login_joins, self.first_job):
            part()

    def start(self):
        self.install()
        if self.checks.failures:
            raise TestTrouble("\n".join(self.checks.failures))

    def crashed(self):
        words = "ERROR: AddressSanitizer|runtime error:|LeakSanitizer"
        return [f"{machine.name}: {line}" for machine in self.machines.values()
                for line in machine.sh(f"grep -hE '{words}' /var/log/slurmctld.log /var/log/slurmd.log 2>/dev/null").out.splitlines()]

    def show_logs(self):
        for machine in self.machines.values():
            machine.show_logs()

    def stop(self):
        for machine in self.machines.values():
            machine.stop()
        if self.network:
            self.network.stop()
        end_strays()
        for folder in find_cgroups({cgroup_name(node, "/var/spool/slurmd") for node in ("node1", "node2")}):
            remove_cgroup(folder)

    def run(self, machine, line, **how):
        return machine.sh(self.page.command(line), **how)

    def put_configuration(self):
        text = self.page.configuration
        line = self.run(self.node, "millrace-agent -C").out.splitlines()[0]
        self.checks.that("the node prints its line for slurm.conf", line.startswith("NodeName=node1 ") and "RealMemory=" in line, line)
        line = re.sub(r"RealMemory=(\d+)", lambda found: f"RealMemory={int(found.group(1)) * 9 // 10}", line) + " State=UNKNOWN"
        text, count = re.subn(r"(?m)^NodeName=node1 .*$", line, text)
        text = text.replace("SlurmdTimeout=60", f"SlurmdTimeout={limit(10):.0f}")  # only so that we need not wait for long
        self.configuration = text
        self.checks.that("the page has a line for the node", count == 1)
        for machine in self.machines.values():
            machine.write("/etc/slurm/slurm.conf", text)
        for machine in (self.head, self.node, self.login):
            done = self.run(machine, "millrace check /etc/slurm/slurm.conf")
            self.checks.that(f"{machine.name}: the page's slurm.conf is right", done.code == 0 and "0 errors, 0 unknown keys, 0 keys not built" in done.out, done)

    def start_controller(self):
        done = self.run(self.head, "millrace-controller")
        self.checks.that("the controller starts", done.code == 0, done)
        self.checks.that("it made the cluster's key, mode 0600", self.head.sh("stat -c %a /var/spool/slurmctld/cluster.key").out.strip() == "600")
        done = self.run(self.head, "scontrol ping")
        self.checks.says("it answers", done, 0, "head", "UP")

    def node_joins(self):
        done = self.run(self.node, "millrace-agent")
        self.checks.says("an agent without a key says so", done, 1, "no key for this node", "/etc/slurm/millrace.key")
        line = self.run(self.head, "millrace key node node1").out
        key = bytes.fromhex(self.head.read("/var/spool/slurmctld/cluster.key").split()[2])
        wanted = hmac.new(key, b"node:node1", hashlib.sha256).hexdigest()
        self.checks.that("the key of the node is derived for its name", line == f"millrace-node-key 1 node1 {wanted}\n", line)
        self.node.write("/etc/slurm/millrace.key", line, 0o644)
        self.checks.says("a key that others may read is refused", self.run(self.node, "millrace-agent"), 1, "/etc/slurm/millrace.key")
        self.node.write("/etc/slurm/millrace.key", line, 0o600)
        done = self.run(self.node, "millrace-agent")
        self.checks.that("the agent starts", done.code == 0, done)
        self.checks.that("the node joins", wait_state(self.head, "node1", "idle"))
        done = self.run(self.head, "sinfo")
        self.checks.says("and sinfo shows it", done, 0, "main*", "idle", "node1")
        self.checks.that("commands work on the node itself, too", "node1" in self.node.sh("sinfo").out)

    def login_joins(self):
        of_node = self.node.read("/etc/slurm/millrace.key")
        self.login.write("/etc/slurm/millrace.key", of_node, 0o600)
        self.checks.says("the key of a node does not work on another machine", self.run(self.login, "millrace-agent --relay"), 1, "key is of node node1")
        self.login.write("/etc/slurm/millrace.key", of_node.replace(" node1 ", " login1 "), 0o600)
        self.login.sh("millrace-agent --relay")
        self.checks.that("nor under another name: the login machine's log says so", says(self.login, "/var/log/slurmd.log", "node key is not accepted"), self.login.read("/var/log/slurmd.log"))
        self.checks.that("and the controller's", says(self.head, "/var/log/slurmctld.log", "refused", "login1", "another key"))
        done = self.login.sh("squeue")
        self.checks.says("commands there say that there is no connection", done, 1, "unable to contact slurm controller", "/run/millrace/demo/controller.sock")
        self.login.end("/run/slurmd.pid")
        line = self.run(self.head, "millrace key node login1 --login").out
        self.login.write("/etc/slurm/millrace.key", line, 0o600)
        self.checks.that("with its own key the relay starts", self.run(self.login, "millrace-agent --relay").code == 0)
        wait_for("the relay's connection", lambda: self.login.sh("sinfo -h").code == 0, 30)
        self.checks.that("a login machine is not a node", "login1" not in self.login.sh("sinfo -h -N").out)

    def first_job(self):
        how = {"identity": self.user, "cwd": str(self.work)}
        done = self.run(self.login, "srun hostname", **how)
        self.checks.that("srun on the login machine prints the node's name", done.code == 0 and done.out == "node1\n", done)
        gate = self.work / "first.go"
        done = self.login.sh(f"sbatch --wrap 'hostname; id -u; until [ -e {gate} ]; do sleep 0.1; done'", **how)
        self.checks.says("sbatch through the relay", done, 0, "Submitted batch job 2")
        self.checks.that("squeue shows it", "wrap" in self.run(self.login, "squeue", **how).out)
        gate.touch()
        fields = wait_job(self.login, 2, "COMPLETED", "FAILED")
        self.checks.that("it runs on the compute node, as the user", fields["JobState"] == "COMPLETED" and fields["BatchHost"] == "node1"
                         and (self.work / "slurm-2.out").read_text().split() == ["node1", str(self.user[0])], fields)
        self.checks.that("scontrol shows who asked", fields["UserId"].endswith(f"({self.user[0]})"), fields["UserId"])
        self.checks.says("scontrol show job", self.run(self.login, "scontrol show job"), 0, "JobId=2")
        self.checks.says("a user of the login machine cannot drain the node", self.login.sh("scontrol update nodename=node1 state=drain reason=x", **how), 1, "denied")
        self.checks.says("srun's exit code travels", self.login.sh("srun sh -c 'echo oops >&2; exit 7'", **how), 7, "oops")

    def long_job(self, name, *options):
        words = f'echo "$SLURM_RESTART_COUNT" >> {self.work}/{name}.lines; while [ ! -e {self.work}/{name}.go ]; do sleep 0.1; done'
        (self.work / f"{name}.sh").write_text(f"#!/bin/sh\n{words}\n")
        out = self.login.must(f"sbatch --parsable -o /dev/null {' '.join(options)} {self.work}/{name}.sh", identity=self.user, cwd=str(self.work))
        job = int(out)
        wait_job(self.login, job, "RUNNING")
        wait_for("its first line", lambda: (self.work / f"{name}.lines").exists(), 30)
        return job

    def let_end(self, job, name):
        (self.work / f"{name}.go").touch()
        return wait_job(self.head, job, "COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL")

    def restarts(self):
        job = self.long_job("restart")
        self.head.end("/run/slurmctld.pid")
        self.checks.that("the controller starts again", self.head.sh("millrace-controller").code == 0)
        self.head.end("/run/slurmctld.pid", signal.SIGKILL)
        self.checks.that("also after it was killed", self.head.sh("millrace-controller").code == 0)
        self.node.end("/run/slurmd.pid")
        self.checks.that("and the agent", self.node.sh("millrace-agent").code == 0)
        wait_state(self.head, "node1", "mix", "alloc")
        wait_for("the relay's connection", lambda: self.login.sh("squeue -h").code == 0, 30)
        fields = self.let_end(job, "restart")
        self.checks.that("the job went on through all three", fields["JobState"] == "COMPLETED" and fields["Restarts"] == "0"
                         and len((self.work / "restart.lines").read_text().splitlines()) == 1, fields)
        wait_state(self.head, "node1", "idle")

    def cable(self):
        job = self.long_job("cable", "--requeue")
        begin = time.monotonic()
        self.network.cut(self.node)
        state = wait_state(self.head, "node1", "down*", seconds=60)
        self.checks.that(f"a node whose cable is cut is {state} after SlurmdTimeout ({time.monotonic() - begin:.0f} s)", True)
        fields = wait_job(self.head, job, "PENDING")
        self.checks.that("its job waits again", fields["Restarts"] == "1", fields)
        done = self.node.sh("sinfo", seconds=60)
        self.checks.that(f"commands on the node say that there is no controller ({done.seconds:.0f} s)", done.code == 1 and "contact slurm controller" in done.err and done.seconds < limit(30), done)
        self.network.mend(self.node)
        wait_state(self.head, "node1", "mix", "alloc", "idle")
        fields = wait_job(self.head, job, "RUNNING")
        wait_for("the second attempt", lambda: len((self.work / "cable.lines").read_text().splitlines()) == 2, 60)
        left = self.attempts_alive(job)
        self.checks.that("the first attempt is gone, the second runs", len(left) == 1, left)
        fields = self.let_end(job, "cable")
        self.checks.that("and ends well", fields["JobState"] == "COMPLETED" and fields["Restarts"] == "1", fields)
        wait_state(self.head, "node1", "idle")
        short = self.long_job("blink")
        self.network.cut(self.node)
        self.network.mend(self.node)
        fields = self.let_end(short, "blink")
        self.checks.that("a cable that is out for a moment costs no job", fields["JobState"] == "COMPLETED" and fields["Restarts"] == "0", fields)
        wait_state(self.head, "node1", "idle")
        self.network.cut(self.login)
        done = self.login.sh("srun hostname", identity=self.user, cwd=str(self.work), seconds=60)
        self.checks.that(f"a login machine without its cable says so ({done.seconds:.0f} s)", done.code == 1 and "contact" in done.err and done.seconds < limit(40), done)
        self.network.mend(self.login)
        wait_for("the login machine", lambda: self.login.sh("sinfo -h").code == 0, 60, 0.2)
        self.checks.that("and works again with it", self.login.sh("srun hostname", identity=self.user, cwd=str(self.work)).out == "node1\n")

    def srun_without_cable(self):
        """srun's machine is cut off, the node is not: the step ends, after about a minute."""
        with subprocess.Popen([*self.login.enter, "setpriv", "--reuid", str(self.user[0]), "--regid", str(self.user[1]), "--clear-groups", "srun", "sleep", "1000"],
                              env=self.login.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as srun:
            wait_for("its task", lambda: self.head.sh("squeue -h -t R -o %j").out == "sleep\n", 60)
            job = int(self.head.sh("squeue -h -o %A").out)
            wait_for("its process", lambda: self.attempts_alive(job), 60)
            begin = time.monotonic()
            self.network.cut(self.login)
            wait_for("the end of its task", lambda: not self.attempts_alive(job), 180, 0.5)
            self.checks.that(f"the tasks of an srun that is cut off end ({time.monotonic() - begin:.0f} s)", True)
            wait_state(self.head, "node1", "idle")
            self.network.mend(self.login)
            code = srun.wait(timeout=limit(180))
            self.checks.that("and so does srun, when it hears of it", code != 0, code)
        wait_for("the login machine", lambda: self.login.sh("sinfo -h").code == 0, 60, 0.2)

    def departed_user(self):
        line = "departed:x:54321:54321::/tmp:/bin/sh"
        for machine in (self.head, self.login):
            machine.must(f"echo {line} >> /etc/passwd; echo departed:x:54321: >> /etc/group")
        job = int(self.login.must("sbatch --parsable -H -o /dev/null --wrap true", identity=(54321, 54321, [54321]), cwd="/tmp"))
        self.head.must("sed -i /^departed:/d /etc/passwd")
        self.head.end("/run/slurmctld.pid")  # it remembers users for some minutes
        self.head.must("millrace-controller")
        wait_state(self.head, "node1", "idle")
        self.head.must(f"scontrol release {job}")
        fields = wait_job(self.head, job, "CANCELLED", "COMPLETED", "FAILED")
        said = self.head.sh("grep 'does not exist any more' /var/log/slurmctld.log").out
        self.checks.that("a job whose user is gone when it could start is cancelled, and the log says why", fields["JobState"] == "CANCELLED" and f"job {job} is cancelled" in said, (fields, said))
        wait_state(self.head, "node1", "idle")
        wait_for("the relay", lambda: self.login.sh("sinfo -h").code == 0, 60, 0.2)

    def attempts_alive(self, job):
        """Attempts of this job whose processes live, on these machines."""
        found, ours = set(), {os.readlink(f"/proc/{machine.holder.pid}/ns/mnt") for machine in self.machines.values()}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if os.readlink(entry / "ns" / "mnt") not in ours:
                        continue
                    words = (entry / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if f"SLURM_JOB_ID={job}".encode() in words:
                    found |= {word for word in words if word.startswith(b"MILLRACE_ATTEMPT=/var/spool/slurmd")}
        return found

    def backup(self):
        self.head.end("/run/slurmctld.pid")
        command = next(line for line in self.page.commands if line.startswith("tar -C"))
        self.checks.that("the page's backup command works", self.head.sh(command).code == 0)
        self.checks.that("the controller starts again after the backup", self.head.sh("millrace-controller").code == 0)
        before = self.head.sh("scontrol -o show job").out
        done = self.run(self.head, "millrace log dump /var/spool/slurmctld")
        self.checks.says("millrace log dump finds no damage", done, 0, "0 damaged places")
        for _ in range(3):  # nodes obey the newest controller they have seen, and the backup is older
            wait_state(self.head, "node1", "idle")
            self.head.end("/run/slurmctld.pid")
            self.head.sh("millrace-controller")
        wait_state(self.head, "node1", "idle")
        self.head.end("/run/slurmctld.pid")
        self.head.must("mv /var/spool/slurmctld /var/spool/slurmctld.lost\nmkdir -m 700 /var/spool/slurmctld\ntar -C /var/spool/slurmctld -xf /root/millrace-backup.tar")
        self.checks.that("the controller starts from a restored backup", self.head.sh("millrace-controller").code == 0)
        after = self.head.sh("scontrol -o show job").out
        self.checks.that("with the same jobs", after == before and "JobId=2 " in after, (before[-300:], after[-300:]))
        wait_state(self.head, "node1", "idle")
        wait_for("the relay", lambda: self.login.sh("sinfo -h").code == 0, 60, 0.2)
        done = self.login.sh("srun hostname", identity=self.user, cwd=str(self.work))
        self.checks.that("nodes and relay accept the restored controller, and jobs run", done.out == "node1\n", done)

    def node_is_added(self):
        text = self.configuration
        line = self.later.sh("millrace-agent -C").out.splitlines()[0]
        line = re.sub(r"RealMemory=(\d+)", lambda found: f"RealMemory={int(found.group(1)) * 9 // 10}", line) + " State=UNKNOWN"
        text = text.replace("PartitionName=main Nodes=node1", f"{line}\nPartitionName=main Nodes=node1,node2")
        for machine in self.machines.values():
            machine.write("/etc/slurm/slurm.conf", text)
        self.checks.says("a node is added while the cluster runs", self.run(self.head, "scontrol reconfigure"), 0)
        self.later.write("/etc/slurm/millrace.key", self.run(self.head, "millrace key node node2").out, 0o600)
        self.checks.that("its agent starts", self.later.sh("millrace-agent").code == 0)
        wait_state(self.head, "node2", "idle")
        done = self.login.sh("srun -N2 hostname", identity=self.user, cwd=str(self.work))
        self.checks.that("a job runs on both nodes", done.code == 0 and sorted(done.out.split()) == ["node1", "node2"], done)

    def doctor(self):
        for machine in (self.head, self.node, self.login):
            done = self.run(machine, "millrace doctor")
            wrong = [line for line in done.out.splitlines() if line.startswith("wrong")]
            self.checks.that(f"{machine.name}: millrace doctor finds nothing wrong", done.code == 0 and not wrong, done.out + done.err)

    def units(self):
        folder = PAGE.parents[2] / "packaging" / "systemd"
        programs = {"millrace-controller": "millrace-controller -D", "millrace-agent": "millrace-agent -D", "millrace-relay": "millrace-agent -D --relay"}
        for unit, words in programs.items():
            text = (folder / f"{unit}.service").read_text()
            self.checks.that(f"{unit}.service starts what is installed", f"ExecStart=/usr/local/sbin/{words}\n" in text)
            if shutil.which("systemd-analyze"):
                done = self.head.sh(f"systemd-analyze verify --man=no {folder}/{unit}.service")
                self.checks.that(f"{unit}.service is well formed", done.code == 0 and unit not in done.err, done)
        self.checks.that("restarting the agent leaves jobs alone", "KillMode=process" in (folder / "millrace-agent.service").read_text())


def make_cluster(build, directory):
    return Story(build, directory)


@pytest.fixture
def story(checks, cluster):
    cluster.checks = checks
    return cluster


def test_page(checks, new_cluster, directory):
    """The page from its first section to its last, on machines of its own."""
    story = new_cluster(directory, kind=Story)
    story.checks = checks
    story.install()
    _ = [part() for part in (story.backup, story.node_is_added, lambda: try_keys(story, says, wait_state), story.doctor, story.units)]
    checks.that("every command of the page was tried", not story.page.unused(), story.page.unused())
    for machine in story.machines.values():
        for path in ("/run/slurmd.pid", "/run/slurmctld.pid"):
            machine.end(path)


def test_restarts(story):
    story.restarts()


def test_cable(story):
    story.cable()


def test_srun_without_cable(story):
    story.srun_without_cable()


def test_departed_user(story):
    story.departed_user()

"""A small Millrace cluster on loopback for system tests: a controller and virtual nodes in a directory of their own, daemons that can
be killed and started again one by one, and commands run as any user."""

import os
import pwd
import re
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from host import end_strays, free_ports, limit

COMMANDS = tuple("sbatch squeue scancel srun salloc sinfo scontrol sbcast sgather swait sattach sstat sacct sacctmgr sdiag scrontab strigger sprio sshare smap sview qsub qstat qdel qhold qrls qalter qrerun pbsnodes bsub bjobs bkill lsid".split())


class TestTrouble(Exception):
    """The test cannot go on; what was checked so far is still reported."""

    __test__ = False


def find_program(build, name):
    for folder in ("src/apps", "bin", "sbin"):
        path = Path(build) / folder / name
        if os.access(path, os.X_OK):
            return path.resolve()
    raise TestTrouble(f"{name} is not built in {build}")


def wait_for(what, true_when, seconds=60, every=0.05):
    """The first true value of `true_when`; asks again until then."""
    seconds = limit(seconds)
    end = time.monotonic() + seconds
    while True:
        value = true_when()
        if value:
            return value
        if time.monotonic() > end:
            raise TestTrouble(f"{what}: not within {seconds} s")
        time.sleep(every)


def clean_environment(**more):
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "SQUEUE", "SRUN", "SINFO"))}
    return {**keep, **{name: str(value) for name, value in more.items()}}


def cgroup_name(node, spool):
    """As src/isolation/cgroup_search makes it."""
    number = 2166136261
    for byte in spool.encode():
        number = (number ^ byte) * 16777619 % (1 << 32)
    return f"millrace_{node}_{number:08x}"


def find_cgroups(names):
    found = []
    for folder, below, _ in os.walk("/sys/fs/cgroup"):
        found += [Path(folder) / name for name in below if name in names]
        below[:] = [name for name in below if not name.startswith(("millrace_", "job_"))]
    return found


def remove_cgroup(folder):
    end = time.monotonic() + limit(30)
    while True:  # one that has dying processes stays for a moment
        for each, _, _ in os.walk(folder, topdown=False):
            try:
                os.rmdir(each)
            except OSError:
                pass
        if not folder.exists():
            return
        if time.monotonic() > end:
            raise TestTrouble(f"{folder} cannot be removed; its processes: {(folder / 'cgroup.procs').read_text().split()}")
        time.sleep(0.02)


def read_line(stream, seconds=60):
    """The next line of a pipe, without its end. What is behind it stays there for communicate()."""
    seconds, line = limit(seconds), b""
    end = time.monotonic() + seconds
    while not line.endswith(b"\n"):
        if not select.select([stream], [], [], max(0, end - time.monotonic()))[0]:
            raise TestTrouble(f"no line within {seconds} s, only {line!r}")
        byte = os.read(stream.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode(errors="replace").strip()


class Checks:
    """Notes what held and what did not. A test goes on after a check that failed; conftest.py lets it fail at its end."""

    def __init__(self, name):
        self.name, self.passed, self.failures = name, 0, []

    def that(self, what, holds, detail=""):
        if holds:
            self.passed += 1
            print(f"ok    {what}", flush=True)
        else:
            self.failures.append(f"{what}" + (f"\n      {str(detail).strip()}" if str(detail).strip() else ""))
            print(f"FAIL  {self.failures[-1]}", flush=True)
        return bool(holds)

    def says(self, what, done, code, *words):
        """A command ended with this code (None: any but 0) and said all of these words."""
        text = done.out + done.err
        right = done.code == code if code is not None else done.code != 0
        return self.that(what, right and all(word.lower() in text.lower() for word in words),
                         f"exit {done.code}, wanted {code} and {words}: {text[-600:]}")


class Done:
    """How a command ended."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return f"exit {self.code} after {self.seconds:.1f} s: {self.out[-300:]!r} {self.err[-300:]!r}"


def run_command(command, environment, seconds=60, cwd="/", stdin="", identity=None, prefix=()):
    """`identity`: (uid, gid, other groups), when root runs something as somebody else."""
    seconds = limit(seconds)
    if identity is not None and os.geteuid() not in (0, identity[0]):
        pytest.skip("only root can act as another user")
    who = {} if identity is None else {"user": identity[0], "group": identity[1], "extra_groups": list(identity[2])}
    begin = time.monotonic()
    try:
        done = subprocess.run([*prefix, *map(str, command)], env=environment, cwd=cwd, input=stdin, capture_output=True, text=True,
                              errors="replace", timeout=seconds, **who)
    except subprocess.TimeoutExpired as late:
        def text(value):
            return value.decode(errors="replace") if isinstance(value, bytes) else value or ""
        return Done(-1, text(late.stdout), text(late.stderr) + f"\n(no end within {seconds} s)", time.monotonic() - begin)
    return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


class Daemon:
    """A server in the foreground as our child. `ended_by_itself` tells a crash from our own kill."""

    def __init__(self, command, log, environment, prefix=()):
        self.log = Path(log)
        self.wanted = True
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([*prefix, *map(str, command)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd="/")

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def ended_by_itself(self):
        return self.wanted and not self.alive()

    def kill(self):
        self.wanted = False
        if self.alive():
            self.process.kill()
        self.process.wait(limit(60))

    def terminate(self, seconds=60):
        """The exit code after SIGTERM; one that does not end is killed and gives None."""
        self.wanted = False
        if self.alive():
            self.process.terminate()
        try:
            return self.process.wait(limit(seconds))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(limit(60))
            return None


class Cluster:
    agent_prefix = ()  # words before the command of an agent, as of unshare

    def __init__(self, build, directory, nodes=2, cpus=4, memory=16000, settings=(), state=None, name="test", partitions=()):
        self.build, self.directory = build, Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o755)  # other users' jobs pass through
        self.nodes = [f"n{i}" for i in range(1, nodes + 1)]
        self.cpus, self.memory, self.name = cpus, memory, name
        self.settings, self.partitions = list(settings), list(partitions)
        self.state = Path(state) if state else self.directory / "state"
        self.socket = self.directory / "run" / "socket"
        self.configuration = self.directory / "slurm.conf"
        self.environment = clean_environment(SLURM_CONF=self.configuration)
        self.port, self.agent_port = free_ports(2)
        self.controller, self.agents, self.mounts = None, {}, []
        self.bin = self.directory / "bin"
        for folder in (self.bin, self.directory / "run", self.directory / "spool", self.directory / "logs", self.state):
            folder.mkdir(exist_ok=True, mode=0o755)
        for command in (*COMMANDS, "millrace"):
            link = self.bin / command
            if not link.is_symlink():
                link.symlink_to(find_program(build, "millrace"))
        self.write_configuration()

    def configuration_text(self):
        here = self.directory
        keys = [f"ClusterName={self.name}", f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", "SlurmUser=root",
                f"AuthInfo=socket={self.socket}", f"SlurmctldPort={self.port}", f"SlurmdPort={self.agent_port}",
                f"StateSaveLocation={self.state}", f"SlurmdSpoolDir={here}/spool/%n", f"SlurmctldPidFile={here}/run/controller.pid",
                f"SlurmdPidFile={here}/run/%n.pid", "ReturnToService=2", "SelectType=select/cons_tres",
                "SelectTypeParameters=CR_CPU_Memory", "DefMemPerCPU=100", f"KillWait={limit(10):.0f}", f"MessageTimeout={limit(10):.0f}", "MinJobAge=100000", "MaxJobCount=200000", "MaxBatchRequeue=100000",
                f"SlurmdTimeout={limit(60):.0f}", "SchedulerParameters=requeue_delay=0"]
        given = {line.split("=")[0].lower() for line in self.settings}
        keys = [line for line in keys if line.split("=")[0].lower() not in given] + self.settings
        keys += [f"NodeName={node} CPUs={self.cpus} RealMemory={self.memory} State=UNKNOWN" for node in self.nodes]
        keys += [f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP", *self.partitions]
        return "\n".join(keys) + "\n"

    def write_configuration(self):
        self.configuration.write_text(self.configuration_text())

    # --- daemons

    def start_controller(self):
        self.controller = Daemon([find_program(self.build, "millrace-controller"), "-D", "-f", self.configuration],
                                 self.directory / "logs" / "controller.log", self.environment)

    def start_agent(self, node, *options):
        self.agents[node] = Daemon([find_program(self.build, "millrace-agent"), "-D", "-f", self.configuration, "-N", node, *options],
                                   self.directory / "logs" / f"{node}.log", self.environment, self.agent_prefix)

    def with_mounts(self, *mounts):
        """Each agent and its jobs see these mounts, and nobody else does, where this machine lets us. Call it before start()."""
        self.mounts += mounts
        prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join([*self.mounts, 'exec "$@"']), "sh"]
        if run_command(["true"], self.environment, prefix=prefix).code == 0:
            self.agent_prefix = prefix
        return self

    def with_plain_logins(self):
        """Jobs that have the environment of a login do not read this user's profile: it may be slow, and may leave locks when it is killed."""
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        files = [str(home / name) for name in (".profile", ".bash_profile", ".bash_login", ".bashrc", ".zprofile", ".zshrc", ".zlogin") if (home / name).exists()]
        return self.with_mounts(*(f"mount --bind /dev/null {file}" for file in files))

    def with_own_shared_memory(self):
        """Open MPI names its segments after the job's number: jobs of clusters that run beside this one would meet there."""
        return self.with_mounts("mount -t tmpfs tmpfs /dev/shm")

    def start(self):
        self.start_controller()
        self.wait_for_controller()
        for node in self.nodes:
            self.start_agent(node)
        self.wait_for_nodes()

    def daemons(self):
        return [daemon for daemon in [self.controller, *self.agents.values()] if daemon]

    def crashed(self):
        """Daemons that ended without having been told to, and words of the sanitizers in the logs."""
        found = [f"{daemon.log.name}: ended with {daemon.process.returncode}" for daemon in self.daemons() if daemon.ended_by_itself()]
        for log in (self.directory / "logs").iterdir():
            text = log.read_text(errors="replace")
            found += [f"{log.name}: {line.strip()}" for line in text.splitlines()
                      if "ERROR: AddressSanitizer" in line or "runtime error:" in line or "LeakSanitizer" in line or "assertion" in line]
        return found

    def must_live(self):
        if gone := self.crashed():
            raise TestTrouble("; ".join(gone[:5]))

    def wait_for_controller(self, seconds=60):
        def answers():
            self.must_live()
            return "UP" in self.run("scontrol", "ping").out
        wait_for("the controller's answer", answers, seconds)

    def node_states(self):
        fields = self.run("sinfo", "-h", "-N", "-p", "all", "-o", "%N %t").out.split()
        return dict(zip(fields[::2], fields[1::2]))

    def wait_for_nodes(self, state="idle", seconds=90):
        def all_there():
            self.must_live()
            states = self.node_states()
            return len(states) == len(self.nodes) and all(value == state for value in states.values())
        wait_for(f"all nodes {state}", all_there, seconds, 0.1)

    def stop(self):
        for daemon in self.daemons():
            daemon.kill()
        end_strays(self.directory)  # not those of other clusters of this test
        for folder in self.cgroups():
            remove_cgroup(folder)

    def cgroups(self):
        """Folders of this cluster's nodes, as agents that were killed leave them."""
        return find_cgroups({cgroup_name(node, f"{self.directory}/spool/{node}") for node in {*self.nodes, *self.agents}})

    def show_logs(self, lines=60):
        for log in sorted((self.directory / "logs").iterdir()):
            print(f"---- {log.name}")
            print("\n".join(log.read_text(errors="replace").splitlines()[-lines:]))

    # --- commands

    def run(self, name, *arguments, seconds=60, cwd=None, stdin="", identity=None, **environment):
        return run_command([self.bin / name, *arguments], {**self.environment, **environment}, seconds, cwd or self.directory, stdin, identity)

    def submit(self, *arguments, **how):
        """The job id of an sbatch that must be accepted."""
        done = self.run("sbatch", "--parsable", *arguments, **how)
        if done.code != 0:
            raise TestTrouble(f"sbatch {' '.join(map(str, arguments))}: {done.err.strip()}")
        return int(done.out.strip().split(";")[0])

    def jobs(self):
        """{job id: its fields as scontrol shows them}; array tasks that were split off have ids of their own."""
        done = self.run("scontrol", "-o", "show", "job", seconds=120)
        found = {}
        for line in done.out.splitlines():
            fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if "JobId" in fields:
                found[int(fields["JobId"])] = fields
        return found

    def job(self, job):
        text = self.run("scontrol", "-o", "show", "job", str(job)).out
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for_job(self, job, states=None, seconds=60):
        """Waits until the job is in one of the states, or has ended; its fields."""
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED")

        def there():
            self.must_live()
            fields = self.job(job)
            return fields if fields.get("JobState") in (states or ended) else None
        return wait_for(f"job {job} in {states or 'its end'}", there, seconds)

    def step_facts(self):
        """What the log says of steps: {(job key, attempt, step): [times started, [outcomes]]}, and {job id: its latest key}."""
        dump = self.run("millrace", "log", "dump", self.state, seconds=120).out
        keys = {int(number): int(key) for key, number in re.findall(r" JobSubmitted key=(\d+) id=(\d+) ", dump)}
        found = {}
        for key, attempt, rest in re.findall(r" StepsReported key=(\d+) attempt=(\d+) (.*)", dump):
            started, _, ended = rest.partition("ended=[")
            for step in re.findall(r"\(id=(\d+) name=", started):
                found.setdefault((int(key), int(attempt), int(step)), [0, []])[0] += 1
            for step, outcome in re.findall(r"\(id=(\d+) outcome=(\w+)", ended):
                found.setdefault((int(key), int(attempt), int(step)), [0, []])[1].append(outcome)
        return found, keys

    def supervisors(self):
        """[(pid, node)] of the supervisors whose attempts have not ended."""
        found = []
        for state in (self.directory / "spool").glob("*/*/state"):
            try:
                lines = state.read_text().splitlines()
                words = lines[0].split()
                pid = int(words[1])
                if any(line.startswith("end") for line in lines[1:]):
                    continue
                if Path(f"/proc/{pid}/comm").read_text().strip() == "millrace-step":
                    found.append((pid, state.parent.parent.name))
            except (OSError, IndexError, ValueError):
                continue
        return found

    def job_processes(self):
        """[(pid, attempt directory)] of living processes that carry the mark of an attempt of this cluster."""
        mark = f"MILLRACE_ATTEMPT={self.directory}/spool/".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found += [(int(entry.name), value.decode(errors="replace")) for value in variables if value.startswith(mark)]
        return found

"""What the daemons say: levels from slurm.conf, from -v and from scontrol, subsystems, the scheduler's own log, forms of times, files that are moved away,
and lines of a supervisor on srun's standard error.
"""

import os
import pwd
import re
import signal
import socket
import stat

import pytest

from cluster import Cluster, find_program, limit, run_command, wait_for

NOBODY = pwd.getpwnam("nobody")

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


class Logged(Cluster):
    def log(self, name):
        path = self.directory / "logs" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def run_daemon(self, name, *options, prefix=()):
        """In the background: the command returns when it serves, or has failed."""
        return run_command([find_program(self.build, name), "-f", self.configuration, *options], self.environment, prefix=prefix)

    def after(self, name, mark):
        return self.log(name)[mark:]

    def shown(self, key):
        text = self.run("scontrol", "show", "config").out
        return next(line.split("=", 1)[1].strip() for line in text.splitlines() if line.split("=")[0].strip() == key)


def make_cluster(build, directory):
    return Logged(build, directory, nodes=2, settings=["DebugFlags=Power", f"SlurmSchedLogFile={directory}/logs/sched.log"])


def run_job(cluster):
    job = cluster.submit("--wrap", "true")
    cluster.wait_for_job(job)
    return job


def test_levels(checks, cluster):
    job = run_job(cluster)
    checks.that("at info there is nothing about single jobs", f"JobId={job}" not in cluster.log("controller"), cluster.log("controller")[-500:])
    checks.that("show config has the level", cluster.shown("SlurmctldDebug") == "info", cluster.shown("SlurmctldDebug"))
    checks.says("setdebug", cluster.run("scontrol", "setdebug", "debug2"), 0)
    checks.that("show config has the level that was set", cluster.shown("SlurmctldDebug") == "debug2", cluster.shown("SlurmctldDebug"))
    mark = len(cluster.log("controller"))
    job = run_job(cluster)
    said = wait_for("lines of the job", lambda: f"JobId={job} done: completed" in cluster.after("controller", mark) and cluster.after("controller", mark))
    for words in ("debug2: Processing RPC: REQUEST_SUBMIT_BATCH_JOB from UID=0", f"submitted JobId={job} ", f"sched: Allocate JobId={job} NodeList=n", "debug2: launch to node n",
                  "debug2: fact ", ": JobPlaced key=", "debug:  sched: a pass over 1 waiting jobs"):
        checks.that(f"at debug2 the controller says '{words}'", words in said, said[-1500:])
    checks.says("update SlurmctldDebug=", cluster.run("scontrol", "update", "SlurmctldDebug=quiet"), 0)
    mark = len(cluster.log("controller"))
    run_job(cluster)
    checks.that("quiet is quiet", cluster.after("controller", mark) == "", cluster.after("controller", mark))
    checks.says("a wrong level", cluster.run("scontrol", "setdebug", "loud"), 1, "invalid debug level: loud", "debug5")
    checks.says("no level", cluster.run("scontrol", "setdebug"), 1, "too few arguments for keyword:setdebug")
    checks.says("too many words", cluster.run("scontrol", "setdebug", "info", "debug"), 1, "too many arguments for keyword:setdebug")
    checks.says("somebody else", cluster.run("scontrol", "setdebug", "debug", identity=(NOBODY.pw_uid, NOBODY.pw_gid, [])), 1, "slurm_set_debug_level error: Access/permission denied")
    checks.says("reconfigure", cluster.run("scontrol", "reconfigure"), 0)
    checks.that("goes back to what the file says", cluster.shown("SlurmctldDebug") == "info", cluster.shown("SlurmctldDebug"))


def test_subsystems(checks, cluster):
    checks.that("DebugFlags of the file", cluster.shown("DebugFlags") == "Power", cluster.shown("DebugFlags"))
    checks.says("more flags", cluster.run("scontrol", "setdebugflags", "+Steps,SelectType", "+backfill"), 0)
    checks.that("show config has all of them", cluster.shown("DebugFlags") == "Backfill,Power,SelectType,Steps", cluster.shown("DebugFlags"))
    mark = len(cluster.log("controller"))
    job = cluster.submit("--wrap", f"{cluster.bin}/srun true")
    cluster.wait_for_job(job)
    said = wait_for("lines of its step", lambda: f"STEPS: JobId={job} StepId=0 ended: completed" in cluster.after("controller", mark) and cluster.after("controller", mark))
    checks.that("the flags' lines, and no others", f"SELECT_TYPE: JobId={job} on n" in said and "debug" not in said and f"sched: Allocate JobId={job}" not in said, said)
    checks.says("fewer flags", cluster.run("scontrol", "setdebugflags", "-Steps,SelectType,Backfill,Power"), 0)
    checks.that("none are left", cluster.shown("DebugFlags") == "(null)", cluster.shown("DebugFlags"))
    checks.says("a flag of Slurm without lines here", cluster.run("scontrol", "setdebugflags", "+TLS"), 0, "TLS", "nothing more to say")
    checks.says("a wrong flag", cluster.run("scontrol", "setdebugflags", "+Nonsense"), 1, "Invalid DebugFlag: Nonsense", "invalid debug flag: +Nonsense")
    checks.says("a flag without its sign", cluster.run("scontrol", "setdebugflags", "Steps"), 1, "invalid debug flag: Steps", "Usage: setdebugflags [+|-]NAME")
    cluster.run("scontrol", "reconfigure")


def test_agents(checks, cluster):
    checks.says("setdebug of one node", cluster.run("scontrol", "setdebug", "debug3", "nodes=n1"), 0)
    wait_for("the agent's word", lambda: "Set debug level to 'debug3'" in cluster.log("n1"))
    checks.that("the controller's level stays", cluster.shown("SlurmctldDebug") == "info", cluster.shown("SlurmctldDebug"))
    job = cluster.submit("-w", "n1", "--wrap", f"{cluster.bin}/srun true")
    cluster.wait_for_job(job)
    other = cluster.submit("-w", "n2", "--wrap", "true")
    cluster.wait_for_job(other)
    said = wait_for("the supervisor's word", lambda: f"[{job}.batch] done with 0:0" in cluster.log("n1") and cluster.log("n1"))
    for words in (f"JobId={job} for UID=0", f"[{job}.batch] debug:  task 0 (", f"[{job}.0] debug:  task 0 (", f"[{job}.batch] debug:  step asked for by UID=0", "debug3: report of "):
        checks.that(f"at debug3 agent and supervisor say '{words}'", words in said, said[-2500:])
    checks.that("the other node says nothing more", f"[{other}.batch]" not in cluster.log("n2"), cluster.log("n2")[-500:])
    checks.says("a node that is not there", cluster.run("scontrol", "setdebug", "info", "nodes=n99"), 1, "slurm_set_debug_level error: Invalid node name specified")
    checks.says("flags of all nodes", cluster.run("scontrol", "setdebugflags", "+Script", "nodes=ALL"), 0)
    wait_for("the other agent's word", lambda: "Set DebugFlags to Power,Script" in cluster.log("n2"))
    checks.says("reconfigure", cluster.run("scontrol", "reconfigure"), 0)
    wait_for("the agent has read it", lambda: "configuration read again" in cluster.log("n1").split("debug level to 'debug3'")[1])
    mark = len(cluster.log("n1"))
    job = cluster.submit("-w", "n1", "--wrap", "true")
    cluster.wait_for_job(job)
    checks.that("agents go back to the file's level too", f"[{job}.batch]" not in cluster.after("n1", mark), cluster.after("n1", mark))


def test_srun(checks, cluster):
    done = cluster.run("srun", "--slurmd-debug=debug", "-n2", "-N1", "true")
    checks.that("--slurmd-debug: lines of the supervisor", done.code == 0 and re.search(r"^slurmstepd: debug:  task 1 \(\d+\) started: true$", done.err, re.M)
                and re.search(r"^slurmstepd: supervisor \d+ for UID=0 on n\d", done.err, re.M), done.err)
    done = cluster.run("srun", "sh", "-c", "echo level $SLURMD_DEBUG", SLURMD_DEBUG="verbose")
    checks.that("SLURMD_DEBUG: only up to its level", "slurmstepd: supervisor" in done.err and "debug:" not in done.err and done.out == "level 4\n", done)
    done = cluster.run("srun", "true")
    checks.that("without it: nothing", done.err == "", done.err)
    checks.says("a wrong level", cluster.run("srun", "--slurmd-debug=loud", "true"), None, "--slurmd-debug 'loud'", "debug5")


def test_scheduler(checks, cluster):
    path = cluster.directory / "logs" / "sched.log"
    checks.that("the scheduler's log is empty while its level is 0", path.read_text() == "" and cluster.shown("SlurmSchedLogLevel") == "0", path.read_text())
    checks.says("schedloglevel 1", cluster.run("scontrol", "schedloglevel", "1"), 0)
    checks.that("show config has it", cluster.shown("SlurmSchedLogLevel") == "1")
    job = run_job(cluster)
    wait_for("the scheduler's lines", lambda: f"sched: Allocate JobId={job} " in path.read_text() and f"JobId={job} done: completed" in path.read_text())
    checks.that("they are in its own file only", f"JobId={job}" not in cluster.log("controller"))
    checks.says("schedloglevel enable is a word for it", cluster.run("scontrol", "schedloglevel", "disable"), 0)
    checks.says("a wrong one", cluster.run("scontrol", "schedloglevel", "7"), 1, "invalid schedlog level: 7")


def test_limits(checks, cluster):
    cluster.settings += ["MaxStepCount=2", "MaxTasksPerNode=3"]
    cluster.write_configuration()
    checks.says("reconfigure with MaxStepCount and MaxTasksPerNode", cluster.run("scontrol", "reconfigure"), 0)
    done = cluster.run("salloc", "-N1", "-n4", "sh", "-c", " && ".join([f"{cluster.bin}/srun -n1 true"] * 3))
    checks.that("the third step is one too many", done.code != 0 and "Step limit reached for this job" in done.err, done)
    done = cluster.run("salloc", "-N1", "-n4", cluster.bin / "srun", "-n4", "true")
    checks.that("four tasks are too many for one node", done.code != 0 and "Task count specification invalid" in done.err and "MaxTasksPerNode" in done.err, done)
    checks.says("so they are in srun's own job", cluster.run("srun", "-N1", "-n4", "true"), 1, "Task count specification invalid", "MaxTasksPerNode")
    checks.says("three are not", cluster.run("srun", "-N1", "-n3", "true"), 0)
    cluster.settings = cluster.settings[:-2]
    cluster.write_configuration()
    cluster.run("scontrol", "reconfigure")


def test_commands(checks, cluster):
    done = cluster.run("sbatch", "-v", "-n2", "-t", "10", "--exclusive", "--wrap", "true")
    want = ["sbatch: defined options", "sbatch: " + "-" * 20 + " " + "-" * 20, "sbatch: exclusive           : exclusive", "sbatch: ntasks              : 2", "sbatch: time                : 00:10:00",
            "sbatch: verbose             : 1", "sbatch: wrap                : true", "sbatch: " + "-" * 20 + " " + "-" * 20, "sbatch: end of defined options"]
    checks.that("sbatch -v lists its options as Slurm does", done.err.splitlines() == want and done.out.startswith("Submitted batch job"), done)
    done = cluster.run("sbatch", "--wrap", "true", SBATCH_DEBUG="1")
    checks.that("SBATCH_DEBUG does the same", "sbatch: verbose             : 1" in done.err, done)
    done = cluster.run("srun", "-vv", "-n1", "true")
    checks.that("srun -vv", all(words in done.err for words in ("srun: ntasks              : 1", "srun: debug:  propagating RLIMIT_", "srun: debug:  propagating UMASK=", f"srun: debug:  connected to {cluster.socket}",
                                                                "srun: jobid ", "task 0: Completed")), done.err)
    done = cluster.run("salloc", "true", SALLOC_DEBUG="1")
    checks.that("SALLOC_DEBUG", "salloc: end of defined options" in done.err and done.code == 0, done)
    for command in ("sbatch", "srun", "salloc"):
        checks.says(f"{command} -v -Q", cluster.run(command, "-v", "-Q", *(["--wrap"] if command == "sbatch" else []), "true"), None, "don't specify both --verbose (-v) and --quiet (-Q)")
    done = cluster.run("squeue", "-v", "-u", "root")
    checks.that("squeue -v lists what was asked for", "users       = root\n" in done.out and "verbose     = 1\n" in done.out and "last_update_time=" in done.out, done.out)
    checks.that("squeue without -v does not", "users " not in cluster.run("squeue").out)
    checks.says("squeue -vv also what is sent", cluster.run("squeue", "-vv"), 0, "squeue: debug:  request 1: ", "squeue: debug:  reply to request 1: ")
    checks.says("sinfo -v", cluster.run("sinfo", "-v", "-p", "all"), 0, "partition   = all", "verbose     = 1")
    checks.says("sshare -v", cluster.run("sshare", "-v"), 0, "Users requested:", "\t: root", "Accounts requested:", "\t: all")
    checks.says("sprio -v", cluster.run("sprio", "-v"), None if cluster.run("sprio").code else 0, "verbose    = 1")
    checks.says("scontrol -v show node", cluster.run("scontrol", "-v", "show", "node"), 0, "last_update_time=20", ", records=2")
    checks.says("sacctmgr -v", cluster.run("sacctmgr", "-v", "show", "account"), 0, "sacctmgr: connected to ")
    checks.says("strigger -v", cluster.run("strigger", "-v", "--get"), 0, "strigger: request 1: ")


class OwnSyslog:
    """A /dev with a log of our own, for a daemon in a mount namespace of its own."""

    def __init__(self, directory):
        self.folder = directory / "dev"
        self.folder.mkdir()
        for name in ("null", "zero", "full", "random", "urandom", "tty"):
            device = os.stat(f"/dev/{name}").st_rdev
            os.mknod(self.folder / name, stat.S_IFCHR | 0o666, device)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.listener.bind(str(self.folder / "log"))
        self.listener.settimeout(limit(60))
        self.prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'mount --bind {self.folder} /dev && exec "$@"', "sh"]

    def works(self):
        return run_command(["true"], os.environ, prefix=self.prefix).code == 0

    def hear(self, words):
        """The message with these words."""
        while words not in (heard := self.listener.recv(4096)):
            pass
        return heard


def test_files(checks, directory, new_cluster):
    """Log files and syslog, forms of times, files that are moved away."""
    log = directory / "ctl.log"
    site = new_cluster(directory, kind=Logged, nodes=1, settings=["LogTimeFormat=rfc5424_ms", f"SlurmctldLogFile={log}", "SlurmctldDebug=error", "SlurmctldSyslogDebug=info"])
    syslog = OwnSyslog(directory)
    if not (syslog_works := syslog.works()):
        print("skip  syslog: cannot make a mount namespace")
    started = site.run_daemon("millrace-controller", "-vv", prefix=syslog.prefix if syslog_works else ())
    checks.that("the controller goes into the background", started.code == 0, started)
    site.wait_for_controller()
    text = log.read_text()
    checks.that("-vv is louder than the file, and times have the form asked for", re.search(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d\] ", text) and "serves: agents" in text, text)
    checks.that("show config says debug", site.shown("SlurmctldDebug") == "debug", site.shown("SlurmctldDebug"))
    if syslog_works:
        heard = syslog.hear(b"serves: agents")
        checks.that("syslog hears up to its own level", b"slurmctld[" in heard and b"debug:" not in heard, heard)
    checks.says("no file, no schedloglevel", site.run("scontrol", "schedloglevel", "1"), 1, "slurm_set_schedlog_level error: Requested operation is presently disabled")
    log.rename(directory / "ctl.log.1")
    pid = int((directory / "run" / "controller.pid").read_text())
    os.kill(pid, signal.SIGUSR2)
    wait_for("the new file", log.exists)
    site.run("scontrol", "setdebug", "info")
    site.run("scontrol", "setdebug", "debug")
    wait_for("lines in the new file", lambda: "Set debug level to 'debug'" in log.read_text())
    checks.that("SIGUSR2 opens the log anew", "Set debug level to 'debug'" not in (directory / "ctl.log.1").read_text())
    os.kill(pid, signal.SIGTERM)
    wait_for("its end", lambda: "controller stopped" in log.read_text())
    site.settings = ["DebugFlags=Backfill,Nonsense"]
    site.write_configuration()
    checks.says("a wrong flag in the file is an error", site.run_daemon("millrace-controller"), 1, "DebugFlags", "Nonsense")

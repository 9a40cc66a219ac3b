"""Steps as facts, with real daemons: they are in the log once each, whatever is killed meanwhile; people see them (squeue --steps, scontrol show
step, listpids), signal them (scancel JOB.STEP), attach to them (sattach) and have them measured (sstat).
"""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
from pathlib import Path

from cluster import Cluster, TestTrouble, limit, wait_for


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2, cpus=4)


def facts(cluster, job):
    """What the log says of the steps of a job: ({step: times started}, {step: [outcomes]})."""
    found, keys = cluster.step_facts()
    mine = {step: what for (key, _, step), what in found.items() if key == keys[job]}
    return {step: what[0] for step, what in mine.items()}, {step: what[1] for step, what in mine.items() if what[1]}


def steps(cluster, *options):
    """{step id: the rest of its line} of squeue --steps."""
    done = cluster.run("squeue", "-h", "-s", "-o", "%i %j %A %N %u", *options)
    if done.code != 0:
        raise TestTrouble(f"squeue --steps: {done}")  # that is not the same as no steps
    return {line.split()[0]: line.split()[1:] for line in done.out.splitlines() if line.strip()}


def script(cluster, text, *options, name):
    out = cluster.directory / f"{name}.out"
    return cluster.submit(*options, "-o", out, "--wrap", f"export PATH={cluster.bin}:$PATH\ncd {cluster.directory}\n{text}"), out


def wait_for_files(cluster, *names):
    wait_for(" and ".join(names), lambda: all((cluster.directory / name).exists() for name in names))


def wait_until_known(cluster, step):
    return wait_for(f"step {step} in squeue --steps", lambda: steps(cluster).get(step))


def test_facts(checks, cluster):
    job, out = script(cluster, "srun -n1 true; srun -n1 -J named false; srun -N2 -n4 sh -c 'touch facts.$SLURM_PROCID; until [ -e go ]; do sleep 0.1; done'; echo code $?", "-N2", "--ntasks-per-node=2", name="facts")
    row = wait_until_known(cluster, f"{job}.2")
    wait_for_files(cluster, *(f"facts.{rank}" for rank in range(4)))
    checks.that("squeue --steps shows what runs, and where", row[1:3] == ["4", "n[1-2]"] and f"{job}.batch" in steps(cluster) and f"{job}.0" not in steps(cluster), (row, steps(cluster)))
    text = cluster.run("squeue", "-s").out
    checks.that("in Slurm's columns", text.splitlines()[0] == "         STEPID     NAME PARTITION     USER      TIME NODELIST" and f"{job}.batch    batch" in text, text)
    checks.that("filters choose among them", set(steps(cluster, "-w", "n2")) == {f"{job}.2"} and not steps(cluster, "-u", "65534") and set(steps(cluster, f"{job}.batch")) == {f"{job}.batch"})
    checks.says("an unknown column is named", cluster.run("squeue", "-s", "-o", "%q"), 0, "Invalid job step format specification: q")
    record = cluster.run("scontrol", "show", "step", f"{job}.2").out
    wanted = [f"StepId={job}.2 UserId={os.getuid()} ", "State=RUNNING Partition=all NodeList=n[1-2]", "Nodes=2 CPUs=", "Tasks=4 Name=sh Network=(null)", "TRES=cpu=", "Dist=Block", "SrunHost:Pid="]
    checks.that("scontrol show step shows one", all(word in record for word in wanted), record)
    checks.says("one that is not there is not found", cluster.run("scontrol", "show", "step", f"{job}.77"), 1, f"Job step {job}.77 not found")
    checks.says("nor one of an unknown job", cluster.run("scontrol", "show", "step", "999999.0"), 1, "Invalid job id specified")
    checks.says("and what is no step is said", cluster.run("scontrol", "show", "step", "x.y"), 1, "JOB.STEP")
    pids = cluster.run("scontrol", "listpids", f"{job}.2", "n2").out.splitlines()
    checks.that("scontrol listpids lists its processes on a node", pids[0] == "PID      JOBID    STEPID   LOCALID GLOBALID" and [line.split()[2:] for line in pids[1:3]] == [["2", "0", "2"], ["2", "1", "3"]], pids)
    checks.that("they are those", all(Path(f"/proc/{line.split()[0]}").exists() for line in pids[1:3]), pids)
    checks.that("of the script too", "batch    0       0" in cluster.run("scontrol", "listpids", str(job), "n1").out)
    checks.says("a node without the job is said", cluster.run("scontrol", "listpids", f"{job}.batch", "n2"), 1, "does not exist on node n2")
    checks.says("strangers see no processes", cluster.run("scontrol", "listpids", str(job), "n1", identity=(65534, 65534, ())), 1, "denied")
    (cluster.directory / "go").touch()
    fields = cluster.wait_for_job(job)
    started, ended = facts(cluster, job)
    checks.that("each start and each end is in the log once", fields["JobState"] == "COMPLETED" and started == {0: 1, 1: 1, 2: 1} and ended == {0: ["completed"], 1: ["failed"], 2: ["completed"]}, (started, ended, out.read_text()))
    checks.that("a step that has ended is not shown", not [step for step in steps(cluster) if step.startswith(f"{job}.")])
    checks.that("usage is told with the end", "user_us=" in cluster.run("millrace", "log", "dump", cluster.state).out)
    srun = subprocess.Popen([cluster.bin / "srun", "-N2", "-n2", "sleep", "1000"], env=cluster.environment, cwd=cluster.directory, stderr=subprocess.DEVNULL)
    own = wait_for("srun's own job", lambda: [step for step in steps(cluster) if step.endswith(".0")])[0]
    checks.that("srun's own job is a step 0", steps(cluster)[own][:3] == ["sleep", "2", "n[1-2]"], steps(cluster))
    cluster.run("scancel", own)
    srun.wait(limit(60))
    checks.that("scancel of that ends the job", cluster.wait_for_job(own.split(".")[0])["JobState"] == "CANCELLED")
    checks.says("no steps: said", cluster.run("scontrol", "show", "step"), 0, "No job steps in the system")


def test_many(checks, cluster):
    text = "for i in 1 2 3 4 5; do srun -n1 --overlap sh -c 'until [ -e many ]; do sleep 0.1; done' & done; wait; for i in 1 2 3 4 5; do srun -n1 true; done; exit 0"
    job, out = script(cluster, text, "-n2", name="many")
    for step in range(5):
        wait_until_known(cluster, f"{job}.{step}")
    # A controller that hears nothing for a while is told of several ends at once.
    os.kill(cluster.controller.pid, signal.SIGSTOP)
    try:
        (cluster.directory / "many").touch()
        wait_for("the end of the steps", lambda: not [where for _, where in cluster.job_processes() if where.rsplit("/", 1)[1].count(".") == 2])
    finally:
        os.kill(cluster.controller.pid, signal.SIGCONT)
    cluster.wait_for_job(job)
    started, ended = facts(cluster, job)
    checks.that("ends shortly before the job's are not lost", len(started) == 10 and all(outcomes == ["completed"] for outcomes in ended.values()) and len(ended) == 10, (started, ended, out.read_text()))
    dump = cluster.run("millrace", "log", "dump", cluster.state).out
    key = cluster.step_facts()[1][job]
    batches = sum(f" StepsReported key={key} " in line for line in dump.splitlines())
    checks.that("they come in batches", 0 < batches < 20, batches)


def test_trouble(checks, cluster):
    for gate in ("one", "two"):
        (cluster.directory / gate).unlink(missing_ok=True)
    text = "srun -N2 -n2 --overlap sh -c 'touch trouble.$SLURM_STEP_ID.$SLURM_PROCID; until [ -e one ]; do sleep 0.1; done' & srun -N2 -n2 --overlap sh -c 'touch trouble.$SLURM_STEP_ID.$SLURM_PROCID; until [ -e two ]; do sleep 0.1; done; exit 3' & wait $!; echo code $?; wait"
    job, out = script(cluster, text, "-N2", "-n2", name="trouble")
    for step in (0, 1):
        wait_until_known(cluster, f"{job}.{step}")
    wait_for_files(cluster, "trouble.0.0", "trouble.0.1", "trouble.1.0", "trouble.1.1")
    cluster.controller.kill()
    (cluster.directory / "one").touch()

    def living():
        return {where.rsplit("/", 1)[1] for _, where in cluster.job_processes() if where.rsplit("/", 1)[1].count(".") == 2}
    wait_for("the end of one step on both nodes", lambda: len(living()) == 1)
    for node in cluster.nodes:
        cluster.agents[node].kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    # An srun that comes back before its node does is not turned away, and asks again.
    wait_for("two questions of srun", lambda: re.search(r"REQUEST_JOB_STEP_CREATE .*count:([2-9]|\d\d)", cluster.run("sdiag").out))
    for node in cluster.nodes:
        cluster.start_agent(node)
    wait_for("the end of the first step in the log", lambda: len(facts(cluster, job)[1]) == 1)
    checks.that("the other one still runs", any(step.startswith(f"{job}.") and not step.endswith("batch") for step in steps(cluster)), (steps(cluster), cluster.job(job), out.read_text()))
    (cluster.directory / "two").touch()
    cluster.wait_for_job(job)
    checks.that("srun saw nothing of it", "does not answer" not in out.read_text() and "code 3" in out.read_text(), out.read_text())
    started, ended = facts(cluster, job)
    checks.that("starts and ends are told until they are heard, and count once", started == {0: 1, 1: 1} and sorted(outcome for outcomes in ended.values() for outcome in outcomes) == ["completed", "failed"], (started, ended))
    cluster.wait_for_nodes()
    job, out = script(cluster, "srun -N2 -n2 sleep 1000", "-N2", "-n2", name="cancelled")
    wait_until_known(cluster, f"{job}.0")
    cluster.run("scancel", str(job))
    cluster.wait_for_job(job)
    dump = [line for line in cluster.run("millrace", "log", "dump", cluster.state).out.splitlines() if " StepsReported " in line][-1]
    checks.that("steps of a cancelled job end as cancelled, with what they used", facts(cluster, job)[1] == {0: ["cancelled"]} and "max_rss_bytes=" in dump, (facts(cluster, job), dump))
    job, out = script(cluster, "srun -n1 sleep 1000 & srun -n1 --overlap sh -c 'until [ -e leave ]; do sleep 0.1; done'; exit 0", "-n1", name="left")
    wait_until_known(cluster, f"{job}.1")
    (cluster.directory / "leave").touch()
    cluster.wait_for_job(job)
    ended = facts(cluster, job)[1]
    checks.that("a step that is left running ends with its job", "completed" in sum(ended.values(), []) and not [step for step in steps(cluster) if step.startswith(f"{job}.")], (ended, steps(cluster)))


def test_signals(checks, cluster):
    waits = "trap \"echo got USR1 $SLURM_STEP_ID >> heard\" USR1; touch waits.$SLURM_STEP_ID.$SLURM_PROCID; while :; do sleep 0.1; done"
    (cluster.directory / "heard").unlink(missing_ok=True)
    (cluster.directory / "waits.sh").write_text(f"#!/bin/sh\n{waits}\n")
    (cluster.directory / "waits.sh").chmod(0o755)
    text = "trap 'echo script got USR2 >> heard' USR2; trap 'echo script got USR1 >> heard' USR1; srun -N2 -n2 --overlap ./waits.sh & srun -n1 --overlap ./waits.sh & until [ -e signals-over ]; do wait; sleep 0.1; done"
    job, out = script(cluster, text, "-N2", "-n2", name="signals")
    for step in (0, 1):
        wait_until_known(cluster, f"{job}.{step}")
    big = next(step for step in (0, 1) if steps(cluster)[f"{job}.{step}"][1] == "2")
    small = 1 - big
    wait_for_files(cluster, f"waits.{big}.0", f"waits.{big}.1", f"waits.{small}.0")  # before its trap is set, a signal would end a shell
    heard = cluster.directory / "heard"

    def lines():
        return heard.read_text().splitlines() if heard.exists() else []

    def signalled():
        return cluster.run("scancel", "-s", "USR1", f"{job}.{big}").code == 0 and lines().count(f"got USR1 {big}") >= 2
    wait_for("both tasks heard the signal", signalled, every=0.3)
    checks.that("scancel -s to a step reaches it on all its nodes, and no other", f"got USR1 {small}" not in lines(), lines())
    checks.says("-v says what is sent", cluster.run("scancel", "-v", "-s", "USR1", f"{job}.{small}"), 0, f"scancel: Signal 10 to step {job}.{small}")
    wait_for("the other step heard it", lambda: cluster.run("scancel", "-s", "USR1", str(job)).code == 0 and f"got USR1 {small}" in lines(), every=0.3)
    checks.that("a plain signal to the job goes to its steps, not to the script", not [line for line in lines() if "script" in line] and cluster.job(job)["JobState"] == "RUNNING", lines())
    wait_for("the script heard its own", lambda: cluster.run("scancel", "-b", "-s", "USR2", str(job)).code == 0 and "script got USR2" in lines(), every=0.3)
    checks.that("with -b it alone", "script got USR1" not in lines(), lines())
    wait_for("with -f the script hears it too", lambda: cluster.run("scancel", "-f", "-s", "USR1", str(job)).code == 0 and "script got USR1" in lines(), every=0.3)
    checks.says("an unknown step is refused where a signal was asked for", cluster.run("scancel", "-s", "USR1", f"{job}.99"), 1, f"Kill job error on job step id {job}.99: Invalid job id specified")
    checks.says("and excused where it should only be gone", cluster.run("scancel", f"{job}.99"), 0)
    checks.says("strangers are refused", cluster.run("scancel", f"{job}.{small}", identity=(65534, 65534, ())), 1, "denied")
    checks.says("what is no step is said", cluster.run("scancel", f"{job}.x"), 1, "JOB.STEP")
    checks.says("-v says which step ends", cluster.run("scancel", "-v", f"{job}.{small}"), 0, f"scancel: Terminating step {job}.{small}")
    wait_for("the end of the step", lambda: f"{job}.{small}" not in steps(cluster))
    checks.that("scancel of a step ends it alone", f"{job}.{big}" in steps(cluster) and cluster.job(job)["JobState"] == "RUNNING", steps(cluster))
    checks.says("a step that has ended is excused", cluster.run("scancel", "-v", f"{job}.{small}"), 0, "already completing or completed")
    cluster.run("scancel", "-s", "KILL", f"{job}.{big}")
    wait_for("the end of the other", lambda: f"{job}.{big}" not in steps(cluster))
    (cluster.directory / "signals-over").touch()
    cluster.wait_for_job(job)
    ended = facts(cluster, job)[1]
    checks.that("both count as cancelled", ended == {0: ["cancelled"], 1: ["cancelled"]}, ended)
    checks.that("and their srun says so", "CANCELLED AT" in out.read_text(), out.read_text())


def test_wait(checks, cluster):
    gate = cluster.directory / "wait-gate"
    job = cluster.submit("-o", "/dev/null", "--wrap", f"until [ -e {gate} ]; do sleep 0.1; done")
    checks.says("scontrol wait_job ends when the job has its nodes", cluster.run("scontrol", "wait_job", str(job)), 0)
    gate.touch()
    cluster.wait_for_job(job)
    checks.says("of an ended one it says so", cluster.run("scontrol", "wait_job", str(job)), 1, "no longer running")
    checks.says("an unknown one is refused", cluster.run("scontrol", "wait_job", "999999"), 1, "Invalid job id")


def test_attach(checks, cluster):
    for gate in ("speak", "end"):
        (cluster.directory / gate).unlink(missing_ok=True)
    task = "until [ -e speak ]; do sleep 0.1; done; echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2; read line; echo read $SLURM_PROCID $line; until [ -e end ]; do sleep 0.1; done; exit $SLURM_PROCID"
    (cluster.directory / "task.sh").write_text(f"#!/bin/sh\n{task}\n")
    (cluster.directory / "task.sh").chmod(0o755)
    # Input that stays open and silent: the words come from those who attach.
    job, out = script(cluster, "mkfifo silence; (exec sleep 1000 > silence) & holder=$!; srun -N2 -n2 ./task.sh < silence; echo code $?; kill $holder", "-N2", "-n2", name="attach")
    wait_until_known(cluster, f"{job}.0")
    layout = cluster.run("sattach", "--layout", f"{job}.0")
    checks.says("sattach --layout says which task is where", layout, 0, "Job step layout:", "2 tasks, 2 nodes (n[1-2])", "Node 0 (n1), 1 task(s): 0", "Node 1 (n2), 1 task(s): 1")
    checks.says("strangers cannot attach", cluster.run("sattach", f"{job}.0", identity=(65534, 65534, ())), 1, "denied")
    checks.says("nor anybody to a script", cluster.run("sattach", f"{job}.batch"), 1, "nothing to attach to")
    checks.says("an unknown step is refused", cluster.run("sattach", f"{job}.42"), 1, "Invalid job id specified")
    checks.says("no step: said", cluster.run("sattach"), 1, "sattach 12.0")
    checks.says("a step without a terminal has none to share", cluster.run("sattach", "--pty", f"{job}.0"), 1, "the step has no terminal")

    def attach(*options, stdin=subprocess.DEVNULL):
        return subprocess.Popen([cluster.bin / "sattach", *options, f"{job}.0"], env=cluster.environment, cwd=cluster.directory, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    everything, some, talker = attach("-l"), attach("--output-filter=1", "--error-filter=0"), attach("--input-filter=1", stdin=subprocess.PIPE)
    # Each has its connections from both nodes before anything is said.
    for one in (everything, some, talker):
        wait_for("its connections", lambda: sockets_of(one.pid) >= 4)
    (cluster.directory / "speak").touch()
    wait_for("the first words", lambda: "out 0" in out.read_text() and "out 1" in out.read_text())
    talker.stdin.write("hello\n")
    talker.stdin.flush()
    wait_for("the words of the one who talks", lambda: "read 1 hello" in out.read_text())
    checks.that("input goes to the task that was named, and to no other", "read 0" not in out.read_text(), out.read_text())
    other = attach("--input-filter=0", stdin=subprocess.PIPE)
    other.stdin.write("bye\n")
    other.stdin.flush()
    wait_for("the other task's words", lambda: "read 0 bye" in out.read_text())
    (cluster.directory / "end").touch()
    done = {name: (*process.communicate(timeout=limit(60)), process.returncode) for name, process in (("everything", everything), ("some", some), ("talker", talker), ("other", other))}
    labelled = sorted(done["everything"][0].splitlines())
    checks.that("sattach -l shows all that is written, with the task", labelled == ["0: out 0", "0: read 0 bye", "1: out 1", "1: read 1 hello"] and sorted(line for line in done["everything"][1].splitlines() if "err " in line) == ["0: err 0", "1: err 1"], done["everything"])
    checks.that("filters choose tasks", sorted(done["some"][0].split("\n")) == ["", "out 1", "read 1 hello"] and "err 0" in done["some"][1] and "err 1" not in done["some"][1], done["some"])
    checks.that("it ends with the step, with its exit code", all(one[2] == 1 for one in done.values()), done)
    cluster.wait_for_job(job)
    checks.that("srun has seen it all too", "code 1" in out.read_text() and out.read_text().count("out ") == 2, out.read_text())


def test_terminal(checks, cluster):
    """sattach --pty: keys and the size of the window go to the terminal of the step."""
    job, out = script(cluster, "mkfifo quiet; (exec sleep 1000 > quiet) & holder=$!; srun --pty sh -c 'read line; echo got $line; stty size' < quiet; kill $holder", name="terminal")
    wait_until_known(cluster, f"{job}.0")
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    attached = subprocess.Popen([cluster.bin / "sattach", "--pty", f"{job}.0"], env=cluster.environment, cwd=cluster.directory, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    is_raw = lambda: not termios.tcgetattr(slave)[3] & termios.ICANON
    wait_for("the terminal is taken", is_raw)
    os.write(master, b"hello\r")
    seen, said = attached.communicate(timeout=limit(60))
    checks.that("sattach --pty: keys and the size of the window go to the step's terminal", "got hello" in seen and "33 77" in seen and attached.returncode == 0, (seen, said))
    checks.that("and the terminal is given back", not is_raw(), "")
    for end in (master, slave):
        os.close(end)
    cluster.wait_for_job(job)
    checks.that("srun sees the same", "got hello" in out.read_text() and "33 77" in out.read_text(), out.read_text())


def sockets_of(pid):
    """Connected and listening sockets of a process."""
    count = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += os.readlink(entry).startswith("socket:")
        except OSError:
            continue
    return count


def test_usage(checks, cluster):
    (cluster.directory / "rest").unlink(missing_ok=True)
    work = "import os,sys,time\nblock=bytearray(60<<20)\nfor i in range(0,len(block),4096): block[i]=1\nopen('/dev/null','wb').write(b'x'*200000)\nend=time.process_time()+1.2\nwhile time.process_time()<end: pass\nopen('worked','a').write('x')\nwhile not os.path.exists('rest'): time.sleep(0.1)\n"
    (cluster.directory / "work.py").write_text(work)
    (cluster.directory / "worked").unlink(missing_ok=True)
    job, out = script(cluster, "srun -N2 -n2 python3 work.py", "-N2", "-n2", name="usage")
    wait_until_known(cluster, f"{job}.0")
    wait_for("both tasks worked", lambda: (cluster.directory / "worked").exists() and (cluster.directory / "worked").read_text() == "xx")
    done = cluster.run("sstat", "-P", "--noconvert", "-j", str(job), "-o", "JobID,NTasks,MaxRSS,MaxVMSize,AveRSS,MinCPU,AveCPU,MaxDiskWrite,MaxRSSNode,Nodelist")
    values = dict(zip(*(line.split("|") for line in done.out.splitlines()[:2]))) if done.code == 0 else {}
    right = values and values["JobID"] == f"{job}.0" and values["NTasks"] == "2" and 60 << 20 < int(values["AveRSS"]) <= int(values["MaxRSS"]) < 200 << 20 and int(values["MaxVMSize"]) > 60 << 20
    checks.that("sstat shows memory, processor time and I/O of a running step", right and values["MinCPU"] >= "00:00:01" and int(values["MaxDiskWrite"]) >= 200000 and values["MaxRSSNode"] in ("n1", "n2") and values["Nodelist"] == "n[1-2]", (done, values))
    every = cluster.run("sstat", "-a", "-n", "-P", "-o", "JobID", str(job)).out.split()
    checks.that("-a shows all of its steps", every == [f"{job}.0", f"{job}.batch"], every)
    pids = cluster.run("sstat", "-i", "-n", "-P", "-j", f"{job}.0").out.strip().split("|")
    checks.that("-i shows their processes", len(pids) == 3 and all(Path(f"/proc/{pid}").exists() for pid in pids[2].split(",")), pids)
    head = cluster.run("sstat", "-P", "-j", f"{job}.batch").out.splitlines()[0]
    checks.that("without -o all of Slurm's fields are there", head.startswith("JobID|AllocTRES|MaxVMSize|MaxVMSizeNode|MaxVMSizeTask|AveVMSize|MaxRSS|") and head.endswith("TRESUsageOutTot"), head)
    checks.says("strangers see nothing", cluster.run("sstat", "-j", f"{job}.0", identity=(65534, 65534, ())), 1, "denied")
    checks.says("no job: said", cluster.run("sstat"), 1, "You didn't give me any jobs to stat.")
    checks.says("an unknown field: said", cluster.run("sstat", "-j", str(job), "-o", "Nonsense"), 1, "Unknown field 'Nonsense'")
    (cluster.directory / "rest").touch()
    cluster.wait_for_job(job)
    checks.says("of an ended job nothing runs", cluster.run("sstat", "-j", str(job)), 1, f"No steps running for JobId={job}")
    dump = cluster.run("millrace", "log", "dump", cluster.state).out
    peaks = [int(number) for number in re.findall(r"max_rss_bytes=(\d+)", dump)]
    checks.that("the peak is in the fact of the end", any(60 << 20 < peak < 200 << 20 for peak in peaks), peaks[-5:])

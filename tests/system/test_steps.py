"""Steps inside allocations with real daemons: srun in scripts and under salloc, on one node and on several, beside and after each other,
through kills of agents and of the controller.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from pathlib import Path

from cluster import Cluster, limit, read_line, wait_for


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2, cpus=4)


def script(cluster, text, *options, name="step"):
    """Runs a batch script with our srun in its path; (fields of the job, its output)."""
    out = cluster.directory / f"{name}.out"
    job = cluster.submit(*options, "-o", out, "--wrap", f"export PATH={cluster.bin}:$PATH\n{text}")
    fields = cluster.wait_for_job(job)
    return fields, out.read_text() if out.exists() else ""


def nobody_left(cluster):
    return wait_for("no process of a job is left", lambda: not cluster.job_processes())


def test_script(checks, cluster):
    fields, out = script(cluster, "srun hostname; srun -n2 sh -c 'echo task $SLURM_PROCID of $SLURM_NTASKS step $SLURM_STEP_ID'; srun false; echo code $?", "-n2", name="plain")
    lines = out.splitlines()
    checks.that("srun runs inside a script", fields["JobState"] == "COMPLETED" and sum("task" in line and "of 2 step 1" in line for line in lines) == 2, out)
    checks.that("and gives the exit code of its tasks", "code 1" in out, out)
    fields, out = script(cluster, "srun --label -N2 -n4 sh -c 'echo $SLURMD_NODENAME $SLURM_NODEID $SLURM_LOCALID'", "-N2", "--ntasks-per-node=2", name="two")
    checks.that("a step over two nodes has its tasks in order", sorted(out.splitlines()) == ["0: n1 0 0", "1: n1 0 1", "2: n2 1 0", "3: n2 1 1"], out)
    fields, out = script(cluster, "srun -N1 -n1 --relative=1 sh -c 'echo on $SLURMD_NODENAME of $SLURM_JOB_NODELIST alone $SLURM_STEP_NODELIST'; srun -w n2 -N1 -n1 sh -c 'echo named $SLURMD_NODENAME'",
                         "-N2", name="relative")
    checks.that("--relative and -w choose nodes of the job", "on n2 of n[1-2] alone n2" in out and "named n2" in out, out)
    fields, out = script(cluster, "srun -N1 -n1 -w n9 true; echo code $?; srun -n99 true; echo code $?; srun --relative=7 true; echo code $?", "-N2", name="never")
    checks.that("what can never be is refused at once", out.count("code 1") == 3 and "Unable to create step for job" in out and "n9 is not in this job" in out, out)
    fields, out = script(cluster, "srun --test-only true; echo code $?; srun --gpus=1 true; echo code $?; srun -n1 --mem=10 -t1 echo both", name="refused")
    checks.that("what a step cannot have is refused", out.count("code 1") == 2 and "of a step is not built yet" in out and "Invalid generic resource (gres) specification" in out and "both" in out, out)
    fields, out = script(cluster, "srun -n1 -o step-%J.txt sh -c 'echo to a file'; cat step-*.txt; ls step-*.txt", name="file")
    checks.that("output files are named after the step", "to a file" in out and f"step-{fields['JobId']}.0.txt" in out, out)
    fields, out = script(cluster, "seq 3 | srun -n1 cat; srun -n1 /no/such/program; echo code $?", name="stdin")
    checks.that("standard input comes through, a missing program is said", out.startswith("1\n2\n3\n") and "No such file" in out and "code 2" in out, out)


def test_parallel(checks, cluster):
    text = """mkdir gate
for i in 1 2 3 4; do srun --exact -n1 sh -c 'touch gate/$SLURM_STEP_ID; while [ $(ls gate | wc -l) -lt 4 ]; do :; done; echo met' & done
wait"""
    fields, out = script(cluster, f"cd {cluster.directory}; rm -rf gate; {text}", "-n4", name="beside")
    checks.that("four exact steps run beside each other", out.split().count("met") == 4, out)
    waits = cluster.directory / "after.out"  # the first to run ends when another has been told to wait
    fields, out = script(cluster, f"for i in 1 2 3; do srun -n1 sh -c 'echo in; until grep -q disabled {waits}; do sleep 0.1; done; echo out' & done; wait", "-n2", name="after")
    checks.that("steps that take whole nodes wait for each other", out.split().count("out") == 3 and "step creation temporarily disabled, retrying (Requested nodes are busy)" in out and "Step created for StepId=" in out, out)
    fields, out = script(cluster, f"cd {cluster.directory}; rm -f go; mkfifo go; srun -n1 sh -c 'cat go >/dev/null; echo first' & srun --overlap -n1 sh -c 'echo second; echo x > go'; wait", "-n1", name="overlap")
    checks.that("--overlap shares what another step has", sorted(out.split()[-2:]) == ["first", "second"], out)


def test_end(checks, cluster):
    fields, out = script(cluster, f"cd {cluster.directory}; srun -N2 -n2 sh -c 'touch orphan-$SLURM_PROCID; exec sleep 1000' & until [ -e orphan-0 ] && [ -e orphan-1 ]; do sleep 0.1; done; exit 3", "-N2", name="orphans")
    checks.that("a script that ends takes its steps with it", fields["JobState"] == "FAILED" and fields["ExitCode"] == "3:0", fields)
    checks.that("on every node", nobody_left(cluster))
    job = cluster.submit("-N2", "-o", "cancelled.out", "--wrap", f"{cluster.bin}/srun -N2 -n2 sleep 1000")
    wait_for("its tasks", lambda: len([1 for pid, _ in cluster.job_processes() if Path(f"/proc/{pid}/comm").read_text().strip() == "sleep"]) == 2)
    cluster.run("scancel", str(job))
    checks.that("scancel ends job and steps", cluster.wait_for_job(job)["JobState"] == "CANCELLED" and nobody_left(cluster))
    cluster.wait_for_nodes()


def test_layout(checks, cluster):
    """What does not fit together is said and settled; a list says where each task runs."""
    say = "sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'"
    hosts = cluster.directory / "hosts"
    hosts.write_text("n2\nn1\nn1\nn2\n")
    listed = ["0 n2", "1 n1", "2 n1", "3 n2"]
    fields, out = script(cluster, f"SLURM_HOSTFILE={hosts} srun {say}", "-N2", "--ntasks-per-node=2", name="hostfile")
    checks.that("SLURM_HOSTFILE of a step", sorted(out.splitlines()) == listed, out)
    fields, out = script(cluster, f"srun -m arbitrary -w n2,n1,n1,n2 {say}", "-N2", "--ntasks-per-node=2", name="arbitrary")
    checks.that("-m arbitrary of a step", sorted(out.splitlines()) == listed, out)
    fields, out = script(cluster, "srun -n1 -w n1,n2 -N1 sh -c 'echo $SLURMD_NODENAME'", "-N2", name="eliminated")
    checks.that("srun takes no more of the named nodes than -N", "n1" in out.splitlines() and "Required nodelist includes more nodes than permitted by max-node count (2 > 1). Eliminating nodes from the nodelist." in out, out)
    done = cluster.run("srun", "-w", "n1,n2", "-N1", "sh", "-c", "echo $SLURM_JOB_NODELIST")
    checks.that("nor outside an allocation", done.out == "n1\n" and "Eliminating nodes" in done.err, done)
    fields, out = script(cluster, "srun --ntasks-per-node=1 echo task", "-N2", "--ntasks-per-node=2", name="honor")
    checks.that("srun ignores --ntasks-per-node that does not match", out.count("task\n") == 4 and
                "Warning: can't honor --ntasks-per-node set to 1 which doesn't match the requested tasks 4 with the number of requested nodes 2. Ignoring --ntasks-per-node." in out, out)
    fields, out = script(cluster, "srun -n1 -o none sh -c 'echo lost'; srun -n1 -e none sh -c 'echo kept; echo lost >&2'; SLURM_STDOUTMODE=none srun -n1 echo lost", name="none")
    checks.that("output to none is discarded", out == "kept\n", out)


GIVE_UP = """import signal, subprocess, sys
one = subprocess.Popen(["srun", "-n1", "--exact", "echo", "RAN"], stderr=subprocess.PIPE, text=True)
first = one.stderr.readline()  # that it waits
one.send_signal(getattr(signal, "SIG" + sys.argv[1]))
print(first + one.stderr.read(), "code", one.wait())
"""


def test_signals(checks, cluster):
    """How srun ends its step, or gives it up."""
    program = cluster.directory / "give_up.py"
    program.write_text(GIVE_UP)
    for name in ("TERM", "HUP", "INT"):
        over = cluster.directory / f"over-{name}"
        held = cluster.directory / f"held-{name}"
        fields, out = script(cluster, f"srun -n1 sh -c 'touch {held}; until [ -e {over} ]; do sleep 0.1; done' & until [ -e {held} ]; do sleep 0.1; done; "
                                      f"python3 {program} {name}; touch {over}; wait", "-n1", name=f"giveup-{name}")
        checks.that(f"SIG{name} to an srun that waits for its step", "Cancelled pending job step with signal" in out and "already completing or completed" in out
                    and "code 1" in out and "RAN" not in out, out)
    bad = "if [ $SLURM_PROCID = 0 ]; then until [ -e $0 ]; do sleep 0.1; done; exit 3; fi;"
    ready = cluster.directory / "bad-exit-trap"
    fields, out = script(cluster, f"srun -n2 -K sh -c '{bad} trap \"echo got TERM; exit 7\" TERM; touch $0; while :; do sleep 0.1; done' {ready}; echo code $?", "-n2", name="trap")
    checks.that("-K ends the others with TERM, which they may catch", "got TERM" in out and "code 7" in out, out)
    ready = cluster.directory / "bad-exit-plain"
    fields, out = script(cluster, f"srun -n2 -K sh -c '{bad} touch $0; exec sleep 1000' {ready}; echo code $?", "-n2", name="plain-end")
    checks.that("or die of", "task 1: Terminated" in out and "code 143" in out, out)
    one = subprocess.Popen([cluster.bin / "srun", "-n1", "sh", "-c", "echo begun; exec sleep 1000"], env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    read_line(one.stdout)
    one.terminate()
    err = one.communicate(timeout=limit(60))[1]
    checks.that("SIGTERM to srun aborts the step", "forcing job termination" in err and err.count("Job step aborted: Waiting up to ") == 1, err)


def test_salloc(checks, cluster):
    done = cluster.run("salloc", "-N2", "-n2", "sh", "-c", f"export PATH={cluster.bin}:$PATH; srun sh -c 'echo $SLURMD_NODENAME'; echo $SLURM_JOB_NODELIST $SLURM_TASKS_PER_NODE; exit 7")
    checks.that("salloc runs a command beside its nodes", done.code == 7 and sorted(done.out.split()) == sorted(["n1", "n2", "n[1-2]", "1(x2)"]), done)
    checks.that("and says what it does", "salloc: Granted job allocation" in done.err and "salloc: Relinquishing job allocation" in done.err, done)
    job = int(done.err.split("Granted job allocation ")[1].split()[0])
    fields = cluster.wait_for_job(job)
    checks.that("its job ends with the command's code", fields["JobState"] == "FAILED" and fields["ExitCode"] == "7:0" and fields["BatchFlag"] == "0", fields)
    done = cluster.run("salloc", "/no/such/command")
    checks.says("a command that is not there gives the nodes back", done, 1, 'Unable to find command "/no/such/command"', "Relinquishing")
    done = cluster.run("salloc", "-n1", "sh", "-c", f"{cluster.bin / 'squeue'} -h -j $SLURM_JOB_ID -o %j")  # the one before may still be there
    checks.that("its name says that it is interactive", done.out == "interactive\n", done)
    done = cluster.run("salloc", "--no-shell")
    job = int(done.err.split("Granted job allocation ")[1].split()[0])
    checks.that("--no-shell is its name", cluster.job(job)["JobName"] == "no-shell", cluster.job(job))
    inside = cluster.run("srun", f"--jobid={job}", "sh", "-c", "echo inside $SLURM_JOB_ID")
    checks.that("--no-shell leaves an allocation that --jobid uses", inside.out == f"inside {job}\n", inside)
    stranger = (65534, 65534, ())
    checks.says("nobody else's step gets in", cluster.run("srun", f"--jobid={job}", "true", identity=stranger), None, "Unable to create step", "denied")
    cluster.run("scancel", str(job))
    checks.that("scancel ends it", cluster.wait_for_job(job)["JobState"] == "CANCELLED")
    checks.says("after that no step can be made", cluster.run("srun", f"--jobid={job}", "true"), 1, f"Slurm job {job} has expired", f"Check SLURM_JOB_ID environment variable. Expired or invalid job {job}")
    checks.says("nor in one that never was", cluster.run("srun", "true", SLURM_JOB_ID="999999"), 1, "Unable to confirm allocation for job 999999: Invalid job id specified")
    for what, words, code in (("a revoked allocation ends the command with -K", ["-K", "sleep", "1000"], 128 + signal.SIGTERM),
                              ("without it the command goes on with what its steps left", ["sh", "-c", f"{cluster.bin}/srun sleep 1000; exit 7"], 7)):
        holder = subprocess.Popen([cluster.bin / "salloc", "-N2", *words], env=cluster.environment, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        wait_for("the allocation", lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%i").out.split())
        job = int(cluster.run("squeue", "-h", "-t", "R", "-o", "%i").out.split()[0])
        if code == 7:
            wait_for("its step", lambda: f"{job}.0" in cluster.run("squeue", "-h", "-s", "-o", "%i").out.split())
        cluster.run("scancel", str(job))
        text = holder.communicate(timeout=limit(60))[1]
        # A command that ends with its steps may be quicker than the nodes are free of the job: then salloc has its nodes back, and nothing to be told.
        told = f"salloc: Job allocation {job} has been revoked." in text or (code == 7 and f"salloc: Relinquishing job allocation {job}" in text)
        checks.that(what, told and holder.returncode == code, (holder.returncode, text))


def in_terminal(cluster, command, keys, rows, columns):
    """Runs a command in a terminal of this size and types; (exit code, what appeared)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen([cluster.bin / command[0], *command[1:]], env=cluster.environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, cwd=cluster.directory)
    os.close(slave)
    seen = b""
    while True:
        try:
            ready = select.select([master], [], [], limit(60))[0]
            some = os.read(master, 4096) if ready else b""
        except OSError:
            some = b""
        if not some:
            break
        seen += some
        for wait, key in list(keys):
            if wait in seen:
                keys.remove((wait, key))
                os.write(master, key)
    return process.wait(limit(60)), seen.decode(errors="replace")


def test_terminal(checks, cluster):
    program = "trap 'echo caught; exit 5' INT; tty; stty size; echo ready; read line; echo got $line; while :; do sleep 0.1; done"
    for name, options in (("a job of its own", ()), ("a step", None)):
        if options is None:
            allocation = cluster.run("salloc", "--no-shell").err
            job = allocation.split("Granted job allocation ")[1].split()[0]
            options = (f"--jobid={job}",)
        code, seen = in_terminal(cluster, ["srun", "--pty", *options, "sh", "-c", program], [(b"ready", b"hello\n"), (b"got hello", b"\x03")], 33, 77)
        checks.that(f"srun --pty of {name} has a terminal of the right size, input and Ctrl-C", code == 5 and "/dev/pts/" in seen and "33 77" in seen and "caught" in seen, (code, seen))
    cluster.run("scancel", job)


def test_trouble(checks, cluster):
    gate = cluster.directory / "agent-gate"
    job = cluster.submit("-N2", "-o", "trouble.out", "--wrap", f"{cluster.bin}/srun -N2 -n2 sh -c 'echo began; until [ -e {gate} ]; do sleep 0.1; done; echo ended'; echo code $?")
    out = cluster.directory / "trouble.out"
    wait_for("the step", lambda: out.exists() and out.read_text().split().count("began") == 2)
    for node in cluster.nodes:
        cluster.agents[node].kill()
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    for node in cluster.nodes:
        cluster.start_agent(node)
    gate.touch()
    fields = cluster.wait_for_job(job)
    checks.that("steps go on while agents and controller are killed", fields["JobState"] == "COMPLETED" and out.read_text().split().count("ended") == 2 and "code 0" in out.read_text(), out.read_text())
    cluster.wait_for_nodes()
    job = cluster.submit("-N2", "-o", "again.out", "--wrap", f"{cluster.bin}/srun -N2 -n2 true; {cluster.bin}/srun -N2 -n2 true; echo code $?")
    checks.that("and new ones are made afterwards", cluster.wait_for_job(job)["JobState"] == "COMPLETED")
    srun = subprocess.Popen([cluster.bin / "srun", "-N2", "-n2", "sh", "-c", "exec sleep 1000"], env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    job = cluster.submit("-N2", "-n2", "-o", "killed.out", "--wrap", f"{cluster.bin}/srun -N2 -n2 sh -c 'exec sleep 1000' & echo $! > {cluster.directory}/pid; wait; echo over")
    srun.kill()
    srun.wait(limit(60))
    pid = int(wait_for("the srun", lambda: (cluster.directory / "pid").exists() and (cluster.directory / "pid").read_text().strip()))
    wait_for("its tasks", lambda: len([1 for p, where in cluster.job_processes() if where.endswith(".0.0") and Path(f"/proc/{p}/comm").read_text().strip() == "sleep"]) == 2)
    os.kill(pid, 9)
    checks.that("an srun killed hard leaves no tasks", cluster.wait_for_job(job)["JobState"] == "COMPLETED" and nobody_left(cluster))
    cluster.wait_for_nodes()
    spools = [path for path in (cluster.directory / "spool").glob("*/*") if path.is_dir()]
    checks.that("spools are empty at the end", wait_for("empty spools", lambda: not [p for p in (cluster.directory / "spool").glob("*/*") if p.is_dir()]) or not spools, spools)

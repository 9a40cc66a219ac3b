"""What a step can be told besides where it runs: several programs in one step, whose standard input, file names, limits, task prologs and epilogs,
srun's own, a signal before the end, and files copied to its nodes.
"""

import os
import stat
import subprocess
from pathlib import Path

from cluster import Cluster, limit, wait_for


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def make_cluster(build, directory):
    prolog = program(directory / "conf_prolog", "echo export FROM_CONF=conf\n")
    epilog = program(directory / "conf_epilog", f"[ -e {directory}/tracing ] && echo conf epilog $SLURM_PROCID >> {directory}/trace\n")
    return Cluster(build, directory, nodes=2, cpus=4, settings=[f"TaskProlog={prolog}", f"TaskEpilog={epilog}"])


def test_multi_prog(checks, cluster):
    here = cluster.directory
    (here / "programs").write_text("# who does what\n0 echo first %t %o\n1,3 sh -c 'echo \"pair $0 $1\"' %t \\\n  %o\n* echo rest %t\n")
    done = cluster.run("srun", "-n4", "-l", "--multi-prog", "programs")
    checks.that("--multi-prog runs each task's program", done.code == 0 and sorted(done.out.splitlines()) ==
                ["0: first 0 0", "1: pair 1 0", "2: rest 2", "3: pair 3 1"], done)
    (here / "gaps").write_text("0-1 true\n3 true\n")
    done = cluster.run("srun", "-n4", "--multi-prog", "gaps")
    checks.that("a task without a program is said before anything runs", done.code == 1 and "no program for task 2" in done.err, done)
    done = cluster.run("srun", "-n4", "--multi-prog", "no-such-file")
    checks.that("so is a missing file", done.code == 1 and "no-such-file" in done.err and "No such file" in done.err, done)


def test_streams(checks, cluster):
    done = cluster.run("srun", "-n3", "-l", "-i", "1", "cat", stdin="for one\n")
    checks.that("--input=N gives standard input to one task", done.out == "1: for one\n", done)
    done = cluster.run("srun", "-n2", "-l", "-i", "none", "cat", stdin="for nobody\n")
    checks.that("--input=none to nobody", done.out == "" and done.code == 0, done)
    done = cluster.run("srun", "-n2", "-l", "cat", stdin="for all\n")
    checks.that("and otherwise it is everybody's", sorted(done.out.splitlines()) == ["0: for all", "1: for all"], done)
    folder = cluster.directory / "files"
    folder.mkdir()
    done = cluster.run("srun", "-N2", "-n2", "-J", "named", "-o", "%x-%3t-%N-%n-%s", "hostname", cwd=folder)
    names = sorted(path.name for path in folder.iterdir())
    checks.that("file names by task and node", len(names) == 2 and names[0].startswith("named-000-n") and names[0].endswith("-0-0"), (names, done))
    job = cluster.submit("--array=3", "-o", "/dev/null", "--wrap", f"{cluster.bin}/srun -o {folder}/own-%A-%a-%b-%2s-%r hostname")
    cluster.wait_for_job(job)
    checks.that("and those that srun opens itself", (folder / f"own-{job}-3-3-00-0").exists(), sorted(folder.iterdir()))
    done = cluster.run("salloc", "-N1", "sh", "-c", f"{cluster.bin}/srun true; {cluster.bin}/srun -o {folder}/step-%J-%t hostname")
    checks.that("of a step, with its number", any(path.name.startswith("step-") and path.name.endswith(".1-0") for path in folder.iterdir()), (done, sorted(folder.iterdir())))


def test_limits(checks, cluster):
    def soft_limit(*words):
        return subprocess.run(["sh", "-c", f"ulimit -S -n 321; exec {cluster.bin}/srun {' '.join(words)} -n1 sh -c 'ulimit -S -n'"], env=cluster.environment, capture_output=True,
                              text=True, timeout=limit(60), cwd=cluster.directory, stdin=subprocess.DEVNULL)
    checks.that("the shell's limits are the job's", soft_limit().stdout == "321\n", soft_limit())
    checks.that("--propagate=NONE keeps them back", soft_limit("--propagate=NONE").stdout != "321\n", soft_limit("--propagate=NONE"))
    checks.that("--propagate=STACK passes on that one only", soft_limit("--propagate=STACK").stdout != "321\n", "")
    checks.that("--propagate=NOFILE passes on this one", soft_limit("--propagate=NOFILE").stdout == "321\n", "")
    done = soft_limit("--propagate=COLOUR")
    checks.that("a limit that is none is refused with those there are", done.returncode != 0 and "NOFILE" in done.stderr, done)


def test_hooks(checks, cluster):
    trace, tracing = cluster.directory / "trace", cluster.directory / "tracing"
    tracing.touch()
    own = program(cluster.directory / "own_prolog", "echo export OWN=$FROM_CONF-and-own\necho print words of the prolog\necho unset GONE\necho noise\n")
    epilog = program(cluster.directory / "own_epilog", f"echo own epilog $SLURM_PROCID $SLURM_SCRIPT_CONTEXT >> {trace}\n")
    done = cluster.run("srun", "-n2", "-l", f"--task-prolog={own}", f"--task-epilog={epilog}", "sh", "-c", "echo $FROM_CONF $OWN ${GONE-unset}", GONE="here")
    checks.that("task prologs change what the task sees", sorted(done.out.splitlines()) ==
                ["0: conf conf-and-own unset", "0: words of the prolog", "1: conf conf-and-own unset", "1: words of the prolog"], done)
    lines = wait_for("the words of the epilogs", lambda: trace.exists() and len(now := trace.read_text().splitlines()) >= 4 and now)
    checks.that("task epilogs run after each task, srun's own first", sorted(lines) ==
                sorted([f"own epilog {rank} epilog_task" for rank in (0, 1)] + [f"conf epilog {rank}" for rank in (0, 1)]) and lines.index("own epilog 0 epilog_task") <
                lines.index("conf epilog 0"), lines)
    job = cluster.submit("-o", cluster.directory / "batch.out", "--wrap", "echo $FROM_CONF")
    cluster.wait_for_job(job)
    wait_for("the words of its epilog", lambda: len(trace.read_text().splitlines()) >= 5)
    checks.that("the script of a batch job has them too", (cluster.directory / "batch.out").read_text() == "conf\n" and "conf epilog 0" in trace.read_text().splitlines()[4:], trace.read_text())
    bad = program(cluster.directory / "bad_prolog", "exit 3\n")
    done = cluster.run("srun", "-n1", f"--task-prolog={bad}", "echo", "never")
    checks.that("a prolog that fails keeps the task from running", done.code == 3 and done.out == "" and "TaskProlog failed status=3" in done.err, done)
    before = program(cluster.directory / "before", "echo before $*\n")
    after = program(cluster.directory / "after", "echo after $*\n")
    done = cluster.run("srun", f"--prolog={before}", f"--epilog={after}", "-n1", "echo", "word")
    checks.that("srun runs its own prolog and epilog", done.out == "before echo word\nword\nafter echo word\n", done)
    tracing.unlink()


def test_signal(checks, cluster):
    here = cluster.directory
    script = f"trap 'echo shell >> {here}/told' USR1; echo up >> {here}/told; export PATH={cluster.bin}:$PATH; srun sh -c 'trap \"echo step >> {here}/told; exit 0\" USR1; " \
             f"echo step up >> {here}/told; while :; do sleep 0.05; done' & wait; wait"

    def told():
        return (here / "told").read_text().splitlines() if (here / "told").exists() else []

    # Due in 50 minutes, until the time limit says that it is due now.
    job = cluster.submit("-t", "60", "--signal=USR1@600", "--wrap", script)
    wait_for("the step runs", lambda: "step up" in told())
    checks.that("nobody is told too early", told() == ["up", "step up"], told())
    cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=9")
    wait_for("the step is told", lambda: "step" in told())
    fields = cluster.wait_for_job(job)
    checks.that("--signal reaches the steps when the end comes near, not the shell", "shell" not in told() and fields["JobState"] == "COMPLETED", (told(), fields))
    (here / "told").unlink()
    job = cluster.submit("-t", "60", "--signal=B:USR1@600", "--wrap", f"trap 'echo shell >> {here}/told; exit 0' USR1; echo up >> {here}/told; while :; do sleep 0.05; done")
    wait_for("the script runs", lambda: "up" in told())
    cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=9")
    fields = cluster.wait_for_job(job)
    checks.that("B: reaches the shell", told() == ["up", "shell"] and fields["JobState"] == "COMPLETED", (told(), fields))
    done = cluster.run("sbatch", "--signal=NOSUCH@5", "--wrap", "true")
    checks.that("an unknown signal is refused", done.code != 0 and "no such signal" in done.err, done)


def test_component(checks, cluster):
    out = cluster.directory / "component.out"
    job = cluster.submit("-N1", "-n1", "-o", out, ":", "-N1", "-n1", "--wrap", f"{cluster.bin}/srun --jobid=$SLURM_JOB_ID_HET_GROUP_1 true; echo code $?; {cluster.bin}/srun echo here")
    cluster.wait_for_job(f"{job}+0")
    checks.that("--jobid with the number of a further component runs there", "code 0" in out.read_text() and "here" in out.read_text(), out.read_text())


def test_sbcast(checks, cluster):
    here = cluster.directory
    source, target = here / "source", here / "copies"
    target.mkdir()
    target.chmod(0o777)
    source.write_bytes(os.urandom(300_000) + b"end")
    source.chmod(0o750)
    os.utime(source, (1_000_000_000, 1_100_000_000))
    # All nodes are this host, so the second to write finds the file of the first: -f lets both.
    done = cluster.run("salloc", "-N2", cluster.bin / "sbcast", "-fp", source, target / "a")
    kept = (target / "a").stat() if (target / "a").exists() else None
    checks.that("sbcast copies a file to the nodes, with mode and times", done.code == 0 and kept and (target / "a").read_bytes() == source.read_bytes() and
                stat.S_IMODE(kept.st_mode) == 0o750 and int(kept.st_mtime) == 1_100_000_000, done)
    done = cluster.run("salloc", "-N1", cluster.bin / "sbcast", source, target / "a")
    checks.that("what is there stays without -f", done.code == 1 and "REQUEST_FILE_BCAST(n" in done.err and "File exists" in done.err, done)
    done = cluster.run("salloc", "-N1", cluster.bin / "sbcast", "-C", "-s", "64k", source, target / "packed")
    checks.that("packed on its way", done.code == 0 and (target / "packed").read_bytes() == source.read_bytes(), done)
    checks.that("nothing half done is left", sorted(path.name for path in target.iterdir()) == ["a", "packed"], sorted(target.iterdir()))
    done = cluster.run("salloc", "-N1", cluster.bin / "sbcast", source, "/no/such/folder/a")
    checks.that("a missing folder is said", done.code == 1 and "No such file or directory" in done.err, done)
    done = cluster.run("salloc", "-N1", cluster.bin / "sbcast", "--send-libs", "--exclude=none", "/bin/ls", target / "ls")
    checks.that("a program with its libraries", done.code == 0 and (target / "ls").exists() and (target / "ls_libs" / "libc.so.6").exists(), (done, list(target.rglob("*"))))
    done = cluster.run("sbcast", source, target / "b")
    checks.that("outside a job it is refused", done.code == 1 and "Need a job id to run this command" in done.err, done)
    if os.geteuid() == 0:
        source.chmod(0o644)
        done = cluster.run("salloc", "-N1", "-D", "/", cluster.bin / "sbcast", "-f", source, "/etc/of-sbcast", identity=(65534, 65534, []), cwd="/")
        checks.that("it has the user's rights only", done.code == 1 and not Path("/etc/of-sbcast").exists(), done)


def test_keys_of_commands(checks, cluster):
    """What slurm.conf says to sbcast, srun --bcast and salloc where they are not told otherwise; the commands read it anew each time."""
    target = cluster.directory / "sent"
    target.mkdir()
    before = list(cluster.settings)
    cluster.settings += [f"BcastParameters=DestDir={target},Compression=zlib,send_libs", "BcastExclude=/no/such/folder", "SallocDefaultCommand=\"echo default of $SLURM_JOB_NUM_NODES\""]
    cluster.write_configuration()
    done = cluster.run("salloc", "-N1", cluster.bin / "srun", "--bcast", "/bin/ls", "-d", "/")
    copies = sorted(path.name for path in target.iterdir())
    checks.that("BcastParameters: the program goes to DestDir with its libraries", done.code == 0 and done.out == "/\n" and len(copies) == 2 and copies[0].startswith("slurm_bcast_") and
                copies[1] == copies[0] + "_libs" and (target / copies[1] / "libc.so.6").exists(), (done, copies))
    cluster.settings[-2] = "BcastExclude=/lib,/usr/lib,/lib64,/usr/lib64"
    cluster.write_configuration()
    done = cluster.run("salloc", "-N1", cluster.bin / "sbcast", "/bin/ls", target / "ls")
    checks.that("BcastExclude: libraries of these folders stay", done.code == 0 and (target / "ls").exists() and not (target / "ls_libs" / "libc.so.6").exists(), (done, list(target.rglob("*"))))
    checks.says("SallocDefaultCommand is run where there is none", cluster.run("salloc", "-N2"), 0, "default of 2\n")
    cluster.settings = before
    cluster.write_configuration()

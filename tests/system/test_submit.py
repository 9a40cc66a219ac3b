"""What sbatch, srun and salloc take beside the request itself, with real daemons: mail, the environment of a login, other owners, overcommitted
CPUs, scripts of PBS and LSF, --immediate, --clusters, and what scontrol changes of it.
"""

import re
from pathlib import Path

from cluster import Cluster, limit, wait_for

NOBODY = (65534, 65534, ())
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "env"
MAIL_PROGRAM = """#!/bin/sh
number=$(mktemp -u XXXXXXXX)
{ echo "subject=$2"; echo "to=$3"; echo "flag=$1"; env | grep ^SLURM_ | sort; echo "body=$(cat)"; } > "@/.$number"
mv "@/.$number" "@/$number"
"""


class Mailbox:
    def __init__(self, directory):
        self.folder = directory / "mails"
        self.folder.mkdir()
        self.program = directory / "mailprog"
        self.program.write_text(MAIL_PROGRAM.replace("@", str(self.folder)))
        self.program.chmod(0o755)

    def all(self):
        return [dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line) for path in self.folder.glob("[!.]*")]

    def of(self, *words):
        return [mail for mail in self.all() if all(word in mail["subject"] for word in words)]

    def wait(self, *words):
        return wait_for(f"a mail with {words}", lambda: self.of(*words))[0]


def make_cluster(build, directory):
    box = Mailbox(directory)
    cluster = Cluster(build, directory / "c", nodes=2, cpus=4, settings=[f"MailProg={box.program}", "MailDomain=example.org"])
    cluster.box = box
    return cluster.with_plain_logins()


def output_of(cluster, job, path):
    cluster.wait_for_job(job)
    return Path(path).read_text()


def test_mail(checks, cluster):
    box = cluster.box
    job = cluster.submit("-n1", "-t", "10", "-J", "mailed", "--mail-type=ALL", "--mail-user=somebody", "-o", "/dev/null", "--wrap", "exit 3")
    began = box.wait(f"Job_id={job} Name=mailed Began, Queued time 00:0")
    failed = box.wait(f"Job_id={job} Name=mailed Failed, Run time 00:0", "FAILED, ExitCode 3")
    checks.that("mail goes to the named one, of the site's domain", began["to"] == "somebody@example.org" and began["flag"] == "-s", began)
    checks.that("mail says what it is about", failed.get("SLURM_JOB_ID") == str(job) and failed.get("SLURM_JOB_MAIL_TYPE") == "Failed"
                and failed.get("SLURM_JOB_STATE") == "FAILED" and failed.get("SLURM_JOB_EXIT_CODE_MAX") == "3" and failed["body"] == "", failed)
    array = cluster.submit("-n1", "-t", "10", "-J", "many", "-a", "0-2", "--mail-type=END", "-o", "/dev/null", "--wrap", "exit $SLURM_ARRAY_TASK_ID")
    summary = box.wait(f"Array Summary Job_id={array}_*", "Ended")
    checks.that("an array is one mail", summary["subject"].endswith("Mixed, ExitCode [0-2]") and len(box.of(f"Job_id={array}_")) == 1, summary)
    tasks = cluster.submit("-n1", "-t", "10", "-J", "each", "-a", "0-1", "--mail-type=END,ARRAY_TASKS", "-o", "/dev/null", "--wrap", "true")
    for task in (0, 1):
        box.wait(f"Array Task Job_id={tasks}_{task} ", "Ended", "COMPLETED, ExitCode 0")
    waits = cluster.submit("-n1", "-t", "10", "-d", f"afterok:{job}", "--mail-type=INVALID_DEPEND", "-o", "/dev/null", "--wrap", "true")
    box.wait(f"Job_id={waits} ", "Invalid dependency")
    cluster.run("scancel", str(waits))
    # A controller that comes back tells nothing twice.
    gate = cluster.directory / "gate"
    over = cluster.submit("-n1", "-t", "10", "-J", "over", "--mail-type=BEGIN,END", "-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.1; done")
    box.wait(f"Job_id={over} ", "Began")
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    gate.touch()
    box.wait(f"Job_id={over} ", "Ended")
    checks.that("nothing is told twice after a restart", len(box.of(f"Job_id={over} ")) == 2, box.of(f"Job_id={over} "))
    checks.that("mail is shown", cluster.job(job).get("MailUser") == "somebody" and "FAIL" in cluster.job(job).get("MailType", ""), cluster.job(job))
    checks.says("a wrong word", cluster.run("sbatch", "--mail-type=sometimes", "--wrap", "true"), 255, "Invalid --mail-type specification")


def test_environment(checks, cluster):
    out = cluster.directory / "environment"
    job = cluster.submit("-n1", "-t", "10", "--export=NONE", "-o", out, "--wrap", "env", ONLY_HERE="yes")
    text = output_of(cluster, job, out)
    checks.that("--export=NONE has the environment of a login", "\nHOME=" in "\n" + text and "\nPATH=" in "\n" + text and "ONLY_HERE" not in text, text[-800:])
    job = cluster.submit("-n1", "-t", "10", "--export=NIL", "-o", out, "--wrap", "/usr/bin/env", ONLY_HERE="yes")
    text = output_of(cluster, job, out)
    checks.that("--export=NIL has not", "\nHOME=" not in "\n" + text and "ONLY_HERE" not in text, text[-800:])
    job = cluster.submit("-n1", "-t", "10", "--get-user-env=20L", "-o", out, "--wrap", "env", ONLY_HERE="yes", HOME="/elsewhere")
    text = output_of(cluster, job, out)
    checks.that("--get-user-env goes under what was submitted", "ONLY_HERE=yes" in text and "HOME=/elsewhere" in text, text[-800:])
    variables = cluster.directory / "variables"
    variables.write_bytes(b"FROM_FILE=one two\0OTHER=x\0")
    job = cluster.submit("-n1", "-t", "10", f"--export-file={variables}", "-o", out, "--wrap", "env")
    text = output_of(cluster, job, out)
    checks.that("--export-file", "FROM_FILE=one two" in text and "OTHER=x" in text, text[-800:])
    job = cluster.submit("-n1", "-t", "10", "-o", out, "--network=n1", "--wrap", "umask; env", SLURM_UMASK="0027")
    text = output_of(cluster, job, out)
    checks.that("SLURM_UMASK and SLURM_NETWORK", text.splitlines()[0] == "0027" and "SLURM_NETWORK=n1" in text and "SLURM_JOB_SLUID=s0" in text, text[-800:])


def differences(kind, text):
    """What of tests/golden/env is not in an environment, or looks otherwise."""
    found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    wrong = []
    for line in (GOLDEN / f"{kind}.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, shape = line.split("=", 1)
        if not re.fullmatch(shape, found.get(name, "")):
            wrong.append(f"{name}={found.get(name)} is not {shape}")
    return wrong


def test_variables(checks, cluster):
    out = cluster.directory / "variables-of-task"
    text = f"env > {out}.batch; {cluster.bin}/srun sh -c 'env > {out}.$SLURM_PROCID'"
    cluster.wait_for_job(cluster.submit("-J", "gold", "-N2", "--ntasks-per-node=2", "-c1", "--mem=100", "-t10", "-o", "/dev/null", "--wrap", text))
    for kind, name in (("batch", "batch"), ("task", "3")):
        path = Path(f"{out}.{name}")
        wrong = differences(kind, path.read_text()) if path.exists() else ["it did not run"]
        checks.that(f"variables of a {kind} as Slurm sets them", not wrong, wrong)
    done = cluster.run("salloc", "-n2", "--mem=50", "-t", "5", "env", cwd="/tmp")
    wrong = differences("salloc", done.out)
    checks.that("variables of salloc's command as Slurm sets them", not wrong, wrong)
    makers = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL")
    batch = Path(f"{out}.batch").read_text() + Path(f"{out}.3").read_text()
    checks.that("no variables of gpus where the nodes have none", not any(f"\n{name}=" in "\n" + batch for name in makers), batch)


def test_trials(checks, cluster):
    """--test-only says a time, processors and nodes also of a job that may not start now; and what is settled or refused before a job is."""
    for option in ("--begin=now+1hour", "-H"):
        done = cluster.run("sbatch", "--test-only", option, "-N2", "-t", "5", "--wrap", "true")
        checks.that(f"--test-only {option}", done.code == 0 and "using 2 processors on nodes n[1-2] in partition" in done.err and "Unknown" not in done.err, done)
    done = cluster.run("sbatch", "--gres=help")
    checks.that("--gres=help", done.code == 0 and done.out.startswith("Valid gres options are:\n"), done)
    checks.says("nodes named beyond -N", cluster.run("sbatch", "-w", "n1,n2", "-N1", "--wrap", "true"), 1, "invalid number of nodes (-N 2-1)")
    checks.says("a node that is required and excluded", cluster.run("sbatch", "-w", "n1", "-x", "n1", "--wrap", "true"), 1, "Batch job submission failed: Invalid node name specified")
    checks.says("salloc into a folder that is not there", cluster.run("salloc", "-D", "/nonexist", "true"), 1, "salloc: error: chdir(/nonexist): No such file or directory")


def test_owner(checks, cluster):
    out = cluster.directory / "open"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    job = cluster.submit("-n1", "-t", "10", "--uid=65534", "-D", out, "-o", out / "id", "--wrap", "id -u")
    text = output_of(cluster, job, out / "id")
    checks.that("root submits for another", text.strip() == "65534" and cluster.job(job)["UserId"].endswith("(65534)"), text)
    checks.says("others do not", cluster.run("sbatch", "--uid=0", "--wrap", "true", identity=NOBODY), 1, "--uid only permitted by root user")


def test_sluids(checks, cluster):
    job = cluster.submit("-H", "-n1", "-t", "10", "-J", "never_again", "-o", "/dev/null", "--wrap", "true")
    sluid = cluster.run("squeue", "-h", "-j", job, "-O", "SLUID").out.strip()
    checks.that("a job has a SLUID", re.fullmatch("s[0-9A-Z]{13}", sluid) is not None, sluid)
    checks.that("squeue takes it", cluster.run("squeue", "-h", "-j", sluid, "-o", "%i").out.split() == [str(job)], sluid)
    checks.that("so does scontrol show job, in small letters", f"JobId={job} " in cluster.run("scontrol", "show", "job", sluid.lower()).out, sluid)
    checks.that("and update", cluster.run("scontrol", "update", f"JobId={sluid}", "Comment=by_sluid").code == 0 and cluster.job(job)["Comment"] == "by_sluid", sluid)
    after = cluster.submit("-n1", "-d", f"afterany:{sluid}", "-t", "10", "-o", "/dev/null", "--wrap", "true")
    checks.that("dependencies too", f"afterany:{job}(unfulfilled)" in cluster.job(after)["Dependency"], cluster.job(after))
    checks.that("release and scancel too", cluster.run("scontrol", "release", sluid).code == 0 and cluster.wait_for_job(job)["JobState"] == "COMPLETED", sluid)
    checks.that("sacct still knows it", cluster.run("sacct", "-n", "-X", "-P", "-j", sluid, "-o", "JobID").out.split() == [str(job)], sluid)
    checks.says("one of nobody", cluster.run("scontrol", "update", "JobId=s00000000ZZZZZ", "Comment=x"), 1, "Invalid job id specified for job s00000000ZZZZZ")
    checks.says("what is none", cluster.run("squeue", "-j", "s00000000ZZZZU"), 1, "SLUID is invalid")
    checks.says("of srun", cluster.run("srun", "--jobid=s00000000ZZZZU", "true"), 1, "SLUID is invalid")
    cluster.wait_for_job(after)


def test_later_changes(checks, cluster):
    job = cluster.submit("-H", "-N", "1,3-7:2", "-n3", "-t", "10", "-o", "/dev/null", "--wrap", "true")
    fields = cluster.job(job)
    checks.that("a list of sizes is shown", fields["NumNodes"] == "1-7:2" and fields["NumTasks"] == "3", fields)
    cluster.run("scontrol", "update", f"JobId={job}", "NumNodes=1,3", "NumCPUs=4-8", "SiteFactor=-30", "ResetAccrueTime")
    fields = cluster.job(job)
    checks.that("scontrol changes it, CPUs in all and the site factor", fields["NumNodes"] == "1,3" and fields["NumCPUs"] == "4" and fields["SiteFactor"] == "-30", fields)
    cluster.run("scontrol", "update", f"JobId={job}", "NumNodes=1")
    checks.that("a number takes the place of the list", cluster.job(job)["NumNodes"] == "1-1", cluster.job(job))
    checks.says("fewer CPUs than its tasks need", cluster.run("scontrol", "update", f"JobId={job}", "NumCPUs=2"), 1, "CPU count specification invalid")
    cluster.run("scancel", job)


def test_overcommit(checks, cluster):
    out = cluster.directory / "tasks"
    job = cluster.submit("-O", "-n16", "-t", "10", "-o", out, "--wrap", f"echo $SLURM_NTASKS $SLURM_OVERCOMMIT; {cluster.bin}/srun sh -c 'echo task' | grep -c task")
    text = output_of(cluster, job, out)
    fields = cluster.job(job)
    checks.that("a job of many tasks has one CPU", fields["NumCPUs"] == "1" and fields["NumTasks"] == "16", fields)
    checks.that("and all of its tasks run there", text.split() == ["16", "1", "16"], text)
    done = cluster.run("srun", "-O", "-N1", "-n9", "-t", "10", "sh", "-c", "echo task")
    checks.that("the same of srun", done.code == 0 and done.out.count("task") == 9, done)


def test_foreign_scripts(checks, cluster):
    script = cluster.directory / "pbs.sh"
    script.write_text("#!/bin/sh\n#PBS -N of_pbs\n#PBS -l nodes=2:ppn=2,walltime=00:30:00\n#PBS -j oe\n#PBS -o /dev/null  # nowhere\n#PBS -m n\ntrue\n")
    job = cluster.submit(script)
    fields = cluster.wait_for_job(job)
    checks.that("#PBS lines", fields["JobName"] == "of_pbs" and fields["NumNodes"] == "2" and fields["NumTasks"] == "4" and fields["TimeLimit"] == "00:30:00"
                and fields["StdOut"] == "/dev/null", fields)
    job = cluster.submit("-N1", "-n1", "--ignore-pbs", "-t", "5", "-o", "/dev/null", script)
    checks.that("--ignore-pbs", cluster.wait_for_job(job)["TimeLimit"] == "00:05:00" and cluster.job(job)["JobName"] == "pbs.sh", cluster.job(job))
    script.write_text("#!/bin/sh\n#BSUB -J of_lsf\n#BSUB -n 3\n#BSUB -W 0:20\n#BSUB -o /dev/null\n#SLURM -n 2\ntrue\n")
    done = cluster.run("sbatch", "--parsable", script)
    checks.that("#SLURM is warned of", done.code == 0 and "Change from #SLURM to #SBATCH in your script" in done.err, done)
    fields = cluster.wait_for_job(int(done.out))
    checks.that("#BSUB lines, and #SLURM over them", fields["JobName"] == "of_lsf" and fields["NumTasks"] == "2" and fields["TimeLimit"] == "00:20:00", fields)


def test_clusters(checks, cluster):
    done = cluster.run("sbatch", "-M", "test", "-o", "/dev/null", "-t", "5", "--wrap", "true")
    checks.that("-M with this cluster's name", done.code == 0 and done.out.endswith(" on cluster test\n"), done)
    done = cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-t", "5", "--wrap", "true", SLURM_CLUSTERS="all")
    checks.that("--parsable says the cluster", done.out.strip().endswith(";test"), done)
    checks.says("another name", cluster.run("sbatch", "-M", "other", "--wrap", "true"), 1, "'other' can't be reached now, or it is an invalid entry for --cluster.")


def test_immediate(checks, cluster):
    gate = cluster.directory / "free"
    blocker = cluster.submit("-N2", "--exclusive", "-t", "10", "-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.1; done")
    cluster.wait_for_job(blocker, ("RUNNING",))
    checks.says("salloc -I gives up", cluster.run("salloc", "-I", "-n1", "-t", "5", "true", SLURM_EXIT_IMMEDIATE="7"), 7, "Unable to allocate resources")
    checks.says("srun -I gives up", cluster.run("srun", "--immediate=1", "-n1", "-t", "5", "true", SLURM_EXIT_IMMEDIATE="8"), 8, "Unable to allocate resources")
    # The script is not a step: the job's CPUs are there for the first, and the second finds them taken.
    busy = cluster.run("srun", f"--jobid={blocker}", "sh", "-c", f"{cluster.bin}/srun --jobid={blocker} --immediate=2 true; echo $?", SLURM_EXIT_IMMEDIATE="9")
    checks.that("so does a step", "9" in busy.out.split() and "Requested nodes are busy" in busy.err, busy)
    gate.touch()
    cluster.wait_for_job(blocker)
    done = cluster.run("salloc", f"-I{limit(60):.0f}", "-n1", "-t", "5", "sh", "-c", f"echo $SLURM_CLUSTER_NAME $SLURM_CONF; {cluster.bin}/srun --external-launcher -n1 true && echo well")
    checks.that("with room it starts, and its variables are there", done.code == 0 and done.out.split() == ["test", str(cluster.configuration), "well"], done)


def test_bcast(checks, cluster):
    cluster.wait_for_nodes()  # the first of them is expected
    copy = cluster.directory / "copy"
    done = cluster.run("salloc", "-N1", "-n1", "-t", "5", cluster.bin / "srun", f"--bcast={copy}", "-v", "/bin/echo", "copied")
    checks.that("srun --bcast runs the copy", done.code == 0 and done.out == "copied\n" and copy.read_bytes() == Path("/bin/echo").read_bytes(), done)
    checks.that("srun -v tells of nodes and tasks", "nodes(1):`n1', cpu counts: 1" in done.err and "Node n1, 1 tasks started" in done.err and "n1: task 0: Completed" in done.err, done)
    checks.says("not without a job", cluster.run("srun", "--bcast", "true"), 1, "--bcast copies to the nodes of the job")


def test_task_of_array(checks, cluster):
    gate = cluster.directory / "array-gate"
    array = cluster.submit("-n1", "-t", "5", "-a", "4-5", "-o", "/dev/null", "--wrap", f"while [ ! -e {gate} ]; do sleep 0.1; done")
    wait_for("both tasks", lambda: set(cluster.run("squeue", "-h", "-j", str(array), "-t", "R", "-r", "-o", "%i").out.split()) == {f"{array}_4", f"{array}_5"})
    done = cluster.run("srun", f"--jobid={array}_4", "printenv", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID")
    checks.that("--jobid names a task of an array", done.code == 0 and done.out.split()[0] == "4", done)
    checks.says("one that is not there", cluster.run("srun", f"--jobid={array}_9", "true"), 1, "Invalid job id specified")
    gate.touch()


def test_children(checks, cluster):
    # It is late, because it waits for the end of the task that left it behind.
    text = "(while kill -0 $$ 2>/dev/null; do sleep 0.05; done; echo late) & echo early"
    done = cluster.run("srun", "-n1", "-t", "5", "--wait-for-children", "sh", "-c", text)
    checks.that("--wait-for-children waits for what a task left behind", done.code == 0 and done.out.split() == ["early", "late"], done)
    done = cluster.run("srun", "-n1", "-t", "5", "sh", "-c", "(exec sleep 1000) & echo early")
    checks.that("without it that is ended", done.code == 0 and done.out.split() == ["early"], done)


def test_update(checks, cluster):
    job = cluster.submit("-n1", "-t", "60", "--wckey=w1", "--extra=text", "--core-spec=1", "-o", "/dev/null", "--wrap", "sleep 300")
    cluster.wait_for_job(job, ("RUNNING",))
    checks.that("words are shown", cluster.job(job).get("Extra") == "text" and cluster.run("squeue", "-h", "-j", str(job), "-o", "%w").out.strip() == "w1", cluster.job(job))
    changes = ["WCKey=w2", "Extra=more", "AdminComment=seen", "MailType=END", "MailUser=x", "EndTime=now+600"]
    checks.says("scontrol changes them", cluster.run("scontrol", "update", f"JobId={job}", *changes), 0)
    fields = cluster.job(job)
    checks.that("as it says", fields["Extra"] == "more" and fields["AdminComment"] == "seen" and fields["MailType"] == "END" and "00:10:00" <= fields["TimeLimit"] < "00:30:00", fields)
    mine = cluster.submit("-n1", "-t", "5", "-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true", identity=NOBODY)
    checks.says("AdminComment is an administrator's", cluster.run("scontrol", "update", f"JobId={mine}", "AdminComment=x", identity=NOBODY), 1, "Access/permission denied")
    checks.says("Comment is not", cluster.run("scontrol", "update", f"JobId={mine}", "Extra=x", "StdIn=/dev/zero", identity=NOBODY), 0)
    checks.that("StdIn", cluster.job(mine)["StdIn"] == "/dev/zero", cluster.job(mine))
    checks.says("what cannot be is refused by name", cluster.run("scontrol", "update", f"JobId={mine}", "BurstBuffer=x"), 1, "BurstBuffer= is refused")
    cluster.run("scancel", str(job), str(mine))

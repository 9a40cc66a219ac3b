"""What programs written for Slurm call, in the order in which they call it, read as they read it: for those that Debian does not have. Each function is
one client; the patterns are the client's own rules for what it accepts.
"""

import datetime
import json
import os
import pty
import re
import select

import pytest

from cluster import Cluster, limit, run_command, wait_for


class WithAccounts(Cluster):
    def start(self):
        super().start()
        self.run("sacctmgr", "-i", "add", "account", "lab")
        self.run("sacctmgr", "-i", "add", "user", "root", "account=lab")


def make_cluster(build, directory):
    return WithAccounts(build, directory, nodes=2, cpus=8, settings=[f"MinJobAge={limit(300):.0f}", f"KillWait={limit(5):.0f}"]).with_plain_logins()


class Shell:
    """Commands as clients give them: a line for a shell, in a folder."""

    def __init__(self, cluster, checks, folder):
        self.cluster, self.checks, self.folder = cluster, checks, folder
        self.environment = {**cluster.environment, "PATH": f"{cluster.bin}:/usr/bin:/bin", "USER": "root"}

    def __call__(self, line, seconds=60, stdin="", **environment):
        return run_command(["/bin/sh", "-c", line], {**self.environment, **environment}, seconds, self.folder, stdin)

    def script(self, name, *lines):
        path = self.folder / name
        path.write_text("#!/bin/bash\n" + "\n".join(lines) + "\n")
        path.chmod(0o755)
        return path

    def until(self, what, line, right, seconds=60):
        """Asks again until the answer is right; the last one."""
        last = []

        def asks():
            last[:] = [self(line)]
            return right(last[0])
        try:
            wait_for(what, asks, seconds, 0.2)
        except Exception:
            self.checks.that(what, False, last[0])
        return last[0]


@pytest.fixture
def sh(checks, cluster, request):
    folder = cluster.directory / request.node.name
    folder.mkdir()
    return Shell(cluster, checks, folder)


def test_nextflow(checks, sh):
    sh.script(".command.run", "#SBATCH -J nf-hello", "#SBATCH -o .command.log", "#SBATCH --no-requeue", "#SBATCH --signal B:USR2@30", "#SBATCH -c 1", "#SBATCH -t 00:05:00",
              "#SBATCH --mem 50M", "echo hello > out.txt", "echo 0 > .exitcode")
    done = sh("sbatch .command.run 2>&1")
    found = re.search(r"Submitted batch job (\d+)", done.out)
    checks.that("Nextflow: the id in sbatch's output", done.code == 0 and found, done)
    job = found[1]
    done = sh.until("Nextflow: the job ends in its poll", "squeue --noheader -o '%i %t' -t all -p all -u root", lambda d: f"{job} CD" in d.out)
    checks.that("Nextflow: every line of the queue has two words", all(len(line.split()) == 2 for line in done.out.splitlines()), done)
    done = sh("squeue --noheader -o '%i %t' -t all --only-job-state")
    checks.that("Nextflow: --only-job-state", f"{job} CD" in done.out and done.code == 0, done)
    sh.script(".array.run", "#SBATCH --array 0-2", "#SBATCH -J nf-array", "#SBATCH -o /dev/null", "#SBATCH --mem 50M", "sleep 1000")
    array = re.search(r"Submitted batch job (\d+)", sh("sbatch .array.run").out)[1]
    done = sh.until("Nextflow: elements of an array", "squeue --noheader -o '%i %t' -t all -u root", lambda d: all(f"{array}_{i} " in d.out for i in range(3)))
    done = sh(f"scancel {array}_0 {array}_1 {array}_2")
    checks.that("Nextflow: scancel of several", done.code == 0, done)


def test_parsl(checks, sh):
    checks.that("Parsl: sacct -X decides by its exit code", sh("sacct -X").code == 0)
    sh.script("parsl.sh", "#SBATCH --job-name=parsl.block-0", "#SBATCH --output=parsl.out", "#SBATCH --error=parsl.err", "#SBATCH --nodes=2", "#SBATCH --time=5", "#SBATCH --ntasks-per-node=1",
              "#SBATCH --mem=1g", "#SBATCH --cpus-per-task=1", "export PARSL=1", "srun --ntasks 2 -l bash -c 'echo worker'")
    done = sh("sbatch parsl.sh")
    found = re.match(r"Submitted batch job (?P<id>\S*)", done.out)
    checks.that("Parsl: the id at the start of a line", found, done)
    job = found["id"]
    done = sh.until("Parsl: state by sacct", f"sacct -X --noheader --format=jobid,state%20 --job '{job}'", lambda d: d.out.split()[:2] == [job, "COMPLETED"])
    done = sh(f"squeue --noheader --format='%i %t' --job '{job}'")
    checks.that("Parsl: state by squeue", done.out.split()[:2] in ([job, "CD"], []), done)
    checks.that("Parsl: the launcher's workers are labelled", sorted((sh.folder / "parsl.out").read_text().split("\n")[:2]) == ["0: worker", "1: worker"], (sh.folder / "parsl.out").read_text())


def test_submitit(checks, sh):
    sh.script("submitit.sh", "#SBATCH --array=0-3%2", "#SBATCH --cpus-per-task=1", "#SBATCH --error=%A_%a_0_log.err", "#SBATCH --job-name=submitit", "#SBATCH --mem=60MB", "#SBATCH --nodes=1",
              "#SBATCH --ntasks-per-node=1", "#SBATCH --open-mode=append", "#SBATCH --output=%A_%a_0_log.out", "#SBATCH --signal=USR2@90", "#SBATCH --time=5", "#SBATCH --wckey=submitit",
              "srun --unbuffered --output %A_%a_%t_log.out --error %A_%a_%t_log.err bash -c 'echo task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID rank $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID'")
    done = sh("sbatch submitit.sh")
    found = re.search(r"job (?P<id>[0-9]+)", done.out)
    checks.that("submitit: the id", found, done)
    job = found["id"]
    other = re.search(r"job (?P<id>[0-9]+)", sh("sbatch --hold -o /dev/null --wrap true").out)["id"]

    def states(text):
        lines = text.splitlines()
        if len(lines) < 2:
            return {}
        names = lines[0].split("|")
        rows = [dict(zip(names, line.split("|"))) for line in lines[1:]]
        out = {}
        for row in rows:
            if "." in row["JobID"]:
                continue
            match = re.match(r"(?P<base>\d+)_\[(?P<list>[\d,%-]+)\]", row["JobID"])
            names = [row["JobID"]]
            if match:
                names = []
                for part in re.sub(r"%.*", "", match["list"]).split(","):
                    first, _, last = part.partition("-")
                    names += [f"{match['base']}_{i}" for i in range(int(first), int(last or first) + 1)]
            for name in names:
                out[name] = row["State"]
        return out
    done = sh.until("submitit: sacct with several -j, ids with brackets", f"sacct -o JobID,State,NodeList --parsable2 -j {job} -j {other}",
                    lambda d: {f"{job}_{i}": "COMPLETED" for i in range(4)}.items() <= states(d.out).items() and states(d.out).get(other) == "PENDING")
    checks.that("submitit: logs of tasks", (sh.folder / f"{job}_3_0_log.out").read_text() == f"task 3 of {job} rank 0 0 0\n")
    checks.that("submitit: scancel", sh(f"scancel {other}").code == 0)
    # Requeue from inside returns before the kill, keeps the id and counts. The word to end may come before the answer.
    sh.script("again.sh", "#SBATCH --open-mode=append", "#SBATCH -o again.%j.out", "#SBATCH --mem=50", "#SBATCH --requeue", "echo run ${SLURM_RESTART_COUNT:-0}",
              "if [ ${SLURM_RESTART_COUNT:-0} = 0 ]; then trap '' TERM; scontrol requeue $SLURM_JOB_ID; echo asked $?; trap - TERM; sleep 1000; fi")
    again = re.search(r"job (?P<id>[0-9]+)", sh("sbatch again.sh").out)["id"]
    sh.until("submitit: a job that requeues itself runs again", f"sacct -n -P -X -o State -j {again}", lambda d: d.out.strip() == "COMPLETED")
    text = (sh.folder / f"again.{again}.out").read_text()
    checks.that("submitit: with its id, its log and its count", text.startswith("run 0\n") and "asked 0\n" in text and text.endswith("run 1\n"), text)


def test_snakemake_plugin(checks, sh):
    checks.that("Snakemake's plugin: which", sh("which sacct && which squeue").code == 0)
    checks.that("Snakemake's plugin: MinJobAge in the configuration", re.search(r"MinJobAge\s*=\s*(\d+) sec", sh("scontrol show config").out))
    done = run_command([sh.cluster.bin / "sacct", "-nu", "root", "-o", "Account%256", "|", "tail", "-1"], sh.environment, 60, sh.folder)
    checks.that("Snakemake's plugin: words of a shell that it forgot fail cleanly", done.code == 1 and "invalid option -- '1'" in done.err, done)
    account = sh("sacctmgr -n -s list user root format=account%256").out.split()
    checks.that("Snakemake's plugin: accounts", "lab" in account, account)
    checks.that("Snakemake's plugin: sshare", "lab" in sh("sshare -U --format Account%256 --noheader").out.split())
    day = datetime.datetime.now().strftime("%Y-%m-%dT%H:00")
    name = "8d5c1c3e-5b0c-4f4b-bb0b-a1e0a3f0f8a1"
    done = sh(f"sbatch --parsable --job-name {name} --output %j.log --export=ALL --comment 'rule_x_wildcards_y' -A lab -p all -t 5 --mem 50 --ntasks=1 --cpus-per-task=1 -D {sh.folder} --wrap='echo done'")
    job = done.out.split(";")[0].strip()
    checks.that("Snakemake's plugin: the id before a semicolon", job.isdigit() and "submission failed" not in done.err, done)
    sh.until("Snakemake's plugin: all jobs of a run by name", f"sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime {day} --endtime now --name {name}",
             lambda d: d.out == f"{job}|COMPLETED\n")
    done = sh(f"squeue --format='%i|%T' --states=all --noheader --name {name}")
    checks.that("Snakemake's plugin: the same by squeue", done.out == f"{job}|COMPLETED\n", done)
    done = sh(f"sacct --name={name} --parsable2 --noheader --format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem")
    checks.that("Snakemake's plugin: its report has nine columns", done.code == 0 and all(len(line.split("|")) == 9 for line in done.out.splitlines()) and "rule_x_wildcards_y" in done.out, done)
    checks.that("Snakemake's plugin: the node of a job", sh(f"sacct -j {job} -n -X -o nodelist%-256").out.strip() in sh.cluster.nodes)
    blocks = sh("scontrol show partition").out
    checks.that("Snakemake's plugin: limits of partitions", dict(re.findall(r"(\w+)=(\S+)", blocks)).get("MaxTime") and re.search(r"MaxMemPerNode=\S+", blocks), blocks)
    checks.that("Snakemake's plugin: scancel of all clusters", sh(f"scancel {job} --clusters=all").code == 0)


def test_batchspawner(checks, sh):
    done = sh("sbatch --parsable", stdin="#!/bin/bash\n#SBATCH --output=spawn.out\n#SBATCH --job-name=spawner-jupyterhub\n#SBATCH --chdir=" + str(sh.folder) + "\n#SBATCH --export=PATH,LANG\n#SBATCH --get-user-env=L\n#SBATCH --mem=50\ntouch begun\nsleep 1000\n")
    job = int(done.out.splitlines()[-1].split(";")[0]) if done.code == 0 else 0
    checks.that("batchspawner: the script on standard input", job > 0, done)
    done = sh.until("batchspawner: state and host", f"squeue -h -j {job} -o '%T %B'", lambda d: re.match(r"^(RUNNING|COMPLETING)", d.out))
    checks.that("batchspawner: the host", re.search(r"\s+((?:[\w_-]+\.?)+)$", done.out.strip()), done)
    wait_for("the script has begun", (sh.folder / "begun").exists)
    sh(f"scancel {job}")
    gone = sh("squeue -h -j 987654 -o '%T %B'")
    checks.that("one unknown id: the message and 1", gone.code == 1 and gone.err.strip() == "slurm_load_jobs error: Invalid job id specified", gone)
    gone = sh("squeue -h -j 987654,987655 -o '%T %B'")
    checks.that("two unknown ids: nothing and 0", gone.code == 0 and gone.out == "" and gone.err == "", gone)


def test_saga(checks, sh):
    checks.that("SAGA: the version is the second word", re.match(r"^\d+\.\d+", sh("scontrol --version").out.split()[1]))
    checks.that("Pilot: and the last of srun -V", int(sh("srun -V").out.split()[-1].split(".")[0]) > 0)
    checks.that("SAGA: CPUs of nodes", re.search(r"CPUTot=\d+", sh("scontrol show nodes | grep CPUTot").out))
    sh.script("saga.sh", '#SBATCH --output "saga.out"', '#SBATCH --job-name "tc"', "#SBATCH --time 00:05:00", "#SBATCH --ntasks=1", "#SBATCH --mem 50", "echo saga")
    job = sh("sbatch saga.sh").out.split()[-1]
    done = sh.until("SAGA: a record of scontrol", f"scontrol show job {job}", lambda d: "JobState=COMPLETED" in d.out)
    fields = {name: re.search(name + r"=(\S*)", done.out) for name in ("JobState", "ExitCode", "SubmitTime", "StartTime", "EndTime", "RunTime", "NodeList", "JobName", "StdOut", "StdErr")}
    checks.that("SAGA: every field it reads is there", all(fields.values()), {name: bool(value) for name, value in fields.items()})
    checks.that("SAGA: sacct", sh(f"sacct --format=JobID,State --parsable2 --noheader --jobs={job}").out.splitlines()[0] == f"{job}|COMPLETED")
    checks.that("SAGA: squeue of a user", sh('squeue -h -o "%i" -u root').code == 0)
    done = sh("salloc -N 2 -n 2 srun --export=ALL -K0 --quit-on-interrupt --exact --nodes 1 --ntasks 1 --cpus-per-task 1 --mem 0 --nodelist=n2 bash -c 'echo $SLURMD_NODENAME'")
    checks.that("Pilot: srun of a task on a chosen node", done.code == 0 and done.out.strip() == "n2", done)


def test_toil_and_others(checks, sh):
    done = sh("sbatch -J toil_job_1_x --signal=B:INT@30 --export=ALL,A=1,B=2 --mem=50 --cpus-per-task=1 --time=0:3600 -o F_%j -e F_%j --wrap='echo $A$B'")
    job = int(done.out.strip().split()[-1])
    sh.until("Toil: state and exit code", f"sacct -n -j {job} --format JobIDRaw,State,ExitCode -P -S 1970-01-01", lambda d: f"{job}|COMPLETED|0:0" in d.out)
    checks.that("Toil: variables given by --export", (sh.folder / f"F_{job}").read_text() == "12\n")
    done = sh("sinfo -a -o '%P %G %l %p %c %m'")
    checks.that("Toil: sinfo", done.code == 0 and all(len(line.split()) == 6 for line in done.out.splitlines()[1:]), done)
    checks.that("Cromwell: squeue of a job that left", sh("squeue -j 876543").code != 0)
    spark = sh("sbatch --parsable -o /dev/null --mem 50 --wrap true").out
    checks.that("Spark: the whole output is the id", spark.strip().isdigit(), spark)
    balsam = sh("squeue -u root", SQUEUE_FORMAT2="jobid,state,partition,numnodes,timelimit,account,timeleft,submittime")
    checks.that("Balsam: eight words from SQUEUE_FORMAT2", all(len(line.split()) == 8 for line in balsam.out.splitlines()[1:]), balsam)
    nodes = sh("sinfo", SINFO_FORMAT="%N %P %t")
    checks.that("Balsam: SINFO_FORMAT", nodes.code == 0 and len(nodes.out.splitlines()[1].split()) == 3, nodes)
    held = sh("sbatch --parsable --hold -o /dev/null --wrap true").out.strip()
    prefect = sh(f"squeue --job={held} --Format=State,exit_code --noheader")
    checks.that("Prefect: state and code", prefect.out.split()[:1] == ["PENDING"] and re.match(r"0(:0)?$", prefect.out.split()[1]), prefect)
    sh(f"scancel {held}")
    airflow = sh(f"scontrol --oneliner show job {job}")
    checks.that("Covalent: the state is in the text", "COMPLETED" in airflow.out and airflow.out.count("\n") == 1, airflow)
    shape = sh("squeue --json")
    checks.that("TorchX: squeue --json has lists of states", all(isinstance(each["job_state"], list) for each in json.loads(shape.out)["jobs"]) if shape.code == 0 else False, shape)
    done = sh("sinfo --format %P,%m --noconvert")
    checks.that("TorchX: partitions and memory", re.search(r"^all\*,\d+", done.out, re.M), done)
    done = sh("squeue -h --format '%i %t %M'")
    checks.that("Toil: elapsed times", done.code == 0 and all(re.match(r"\S+ \S+ ([0-9-]*:?[0-9:]+|INVALID)$", line) for line in done.out.splitlines()), done)


def test_exporters(checks, sh):
    lines = {
        "vpenso": ["sinfo -h -o%R,%C", "squeue -a -r -h -o%P --states=PENDING", "squeue -a -r -h '-o %A|%u|%T|%C'", "squeue -a -r -h '-o %A,%T,%r' --states=all", "sinfo -h '-o %C'", "sinfo -h '-o %D,%T'",
                   "sinfo -h -N -O NodeList,AllocMem,Memory,CPUsState,StateLong", "sshare -n -P -o account,fairshare", "sdiag", "sacct -a -X --format=Allocgres --state=RUNNING --noheader --parsable2",
                   "sinfo -h '-o \"%n %G\"'"],
        "SckyzO": ["squeue -a -r -h -O 'JobID:|,Account:|,UserName:|,Partition:|,State:|,NumNodes:|,NumCPUs:|,tres-alloc:'", "squeue -h -o '%P|%T|%C|%r|%u' --states=all",
                   "sinfo -a -h '--Format=Nodes: ,StateLong: ,Gres: ,GresUsed:'", "sinfo -h -o '%R|%D|%T|%b'", "sinfo -h -N -o '%N|%E|%H|%T'",
                   "sinfo -h '--Format=Nodes: ,Partition: ,Gres: ,GresUsed:' --state=idle,allocated", "scontrol show nodes -o", "scontrol show reservation", "scontrol show licenses -o",
                   "sshare -a -P -n -o Account,User,RawShares,NormShares,RawUsage,NormUsage,FairShare"],
        "rivosinc": ["squeue --json", "sinfo --json", "sdiag --json", "scontrol show lic --json", "sacctmgr show assoc format=User,Account,GrpCPU,GrpMem,GrpJobs,GrpSubmit --noheader --parsable2"],
        "XDMoD": ["TZ=UTC sacct --clusters test --allusers --parsable2 --noheader --allocations --duplicates --format jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,"
                  "elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname --starttime 2020-01-01 --endtime now"],
        "reportseff": ["sacct --helpformat", "sacct --parsable -n '--delimiter=^|^' --format=JobID,State,Elapsed,TotalCPU,ReqMem"],
        "SlurmCommander": ["squeue -a --json", "sinfo -a --json", "sacct -n --json -S now-1hour -E now", "sacctmgr list Association format=account -P -n user=root"],
        "Slurm_tools": ["sinfo -h -N -O NodeList:,StateLong:,CPUsState:", "squeue -h -O JobID:12,UserName:,State:20", "sshare -lUm"],
    }
    sh.cluster.wait_for_job(int(sh("sbatch --parsable -o /dev/null --mem 50 --wrap true").out))  # something to tell of
    for client, commands in lines.items():
        answers = {line: sh(line) for line in commands}
        bad = {line: answer for line, answer in answers.items() if answer.code != 0 or answer.err}
        checks.that(f"{client}: every question is answered, with 0 and without a word on stderr", not bad, "\n      ".join(f"{line}: {answer}" for line, answer in bad.items()))
        for line, answer in answers.items():
            if "--json" in line and answer.code == 0:
                try:
                    json.loads(answer.out)
                except ValueError as wrong:
                    checks.that(f"{client}: {line} is JSON", False, wrong)
    rows = sh.until("XDMoD: a job that began before this second", lines["XDMoD"][0], lambda d: d.out).out.splitlines()
    checks.that("XDMoD: 26 columns in every row", rows and all(len(row.split("|", 25)) == 26 for row in rows), rows[:3])
    text = sh("sdiag").out
    labels = ["Server thread count", "Agent queue size", "DBD Agent queue size", "\tLast cycle:", "\tMean cycle:", "\tCycles per minute:", "\tDepth Mean:", "\tTotal backfilled jobs (since last slurm start):",
              "\tTotal backfilled jobs (since last stats cycle start):", "heterogeneous job components:", "Remote Procedure Call statistics by message type", "Remote Procedure Call statistics by user"]
    checks.that("vpenso: labels of sdiag", all(label in text for label in labels), [label for label in labels if label not in text])
    checks.that("reportseff: rows end with the delimiter", all(row.endswith("^|^") for row in sh(lines["reportseff"][1]).out.splitlines()))


def test_smap(checks, sh):
    """A page printed, and the live one on a terminal: what it shows after each key."""
    wait_for("no other job", lambda: not sh("squeue -h").out)
    job = sh("sbatch --parsable -o /dev/null -w n2 --mem 50 --wrap 'sleep 1000'").out.strip()
    sh.until("smap: the job runs", f"squeue -h -j {job} -o %t", lambda d: d.out.strip() == "R")
    done = sh("smap -c")
    checks.that("smap -c: the node has the letter of its job", done.code == 0 and done.out.startswith(".A\n") and re.search(rf"^A +{job} ", done.out, re.M), done)
    checks.that("smap -c -D s: partitions", "all*" in sh("smap -c -D s").out)
    checks.says("smap: a page that does not exist", sh("smap -c -D x"), None, "is no page")
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("smap", ["smap", "-i", "1"], {**sh.environment, "TERM": "xterm"})
    seen = b""

    def shows(words):
        nonlocal seen
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                pass
        return words in seen
    try:
        for key, words in ((b"", b"JOBID PARTITION"), (b"s", b"TIMELIMIT"), (b"t", b"BELOW IT"), (b"r", b"START_TIME")):
            seen = b""
            os.write(terminal, key)
            wait_for(f"smap after {key}", lambda: shows(words), 60, 0)
        os.write(terminal, b"q")
        ended = wait_for("smap's end", lambda: shows(b"\0") or os.waitpid(child, os.WNOHANG)[0] == child, 60, 0)
        checks.that("smap: pages by keys, and q leaves", ended)
    finally:
        os.close(terminal)
    sh(f"scancel {job}")

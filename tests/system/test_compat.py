"""Commands of PBS and LSF, and the completion of bash, with real daemons: what they submit, list, change and end, in which words and with
which exit codes, and the variables their jobs have.
"""

import datetime
import json
import os
import re
import subprocess
from pathlib import Path

from cluster import Cluster, TestTrouble, wait_for

NOBODY = (65534, 65534, ())


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2, cpus=4, partitions=("PartitionName=long Nodes=n1,n2 MaxTime=2-0 State=UP",)).with_plain_logins()


def wait_until_idle(cluster):
    """Lists show every job: those of other tests must be gone."""
    wait_for("no job", lambda: not cluster.run("squeue", "-h").out)
    cluster.wait_for_nodes()


def submitted(done):
    """The number qsub or bsub printed."""
    found = re.search(r"^(?:Job <)?(\d+)", done.out)
    if done.code != 0 or not found:
        raise TestTrouble(f"nothing was submitted: {done}")
    return int(found[1])


def variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class Gate:
    """Jobs that run until the gate is opened."""

    def __init__(self, directory, name):
        self.path = directory / name
        self.command = f"while [ ! -e {self.path} ]; do sleep 0.1; done"

    def open(self):
        self.path.touch()


def script(cluster, name, *lines):
    path = cluster.directory / name
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    return path


def test_pbs_variables(checks, cluster):
    here = cluster.directory / "where it was"
    here.mkdir()
    out = cluster.directory / "pbs.out"
    gate = Gate(cluster.directory, "pbs.gate")
    path = script(cluster, "pbs.sh", "#PBS -N vars -l nodes=2:ppn=2 -j oe", f"#PBS -o {out}", f"cd \"$PBS_O_WORKDIR\" && env > {out}.env; pwd; cat $PBS_NODEFILE; touch {out}.there", gate.command)
    job = submitted(cluster.run("qsub", path, cwd=here, HOME="/home/x", SHELL="/bin/zsh", LOGNAME="me", PBS_ARRAYID="7"))
    wait_for("the job's variables", lambda: Path(f"{out}.there").exists())
    found = variables(Path(f"{out}.env").read_text())
    wanted = {"PBS_JOBID": str(job), "PBS_JOBNAME": "vars", "PBS_O_WORKDIR": str(here), "PBS_O_LOGNAME": "me", "PBS_O_HOME": "/home/x", "PBS_O_SHELL": "/bin/zsh", "PBS_O_QUEUE": "all", "PBS_QUEUE": "all",
              "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_NUM_NODES": "2", "PBS_NUM_PPN": "2", "PBS_NP": "4", "PBS_NODENUM": "0", "PBS_TASKNUM": "1"}
    checks.that("a job of qsub has PBS's variables", wanted.items() <= found.items() and found.get("PBS_O_PATH") and found.get("PBS_O_HOST"), {name: found.get(name) for name in wanted})
    checks.that("an array of the submitter is not the job's, and the marker is gone", "PBS_ARRAYID" not in found and not [name for name in found if name.startswith("MILLRACE_FRONT")], found)
    checks.that("cd $PBS_O_WORKDIR, and the file of nodes", out.read_text().split("\n") == [str(here), "n1", "n1", "n2", "n2", ""], out.read_text())
    gate.open()
    cluster.wait_for_job(job)
    wait_for("the file of nodes is gone", lambda: not Path(found["PBS_NODEFILE"]).exists())
    job = submitted(cluster.run("qsub", "-J", "3-4", "-o", f"{out}.%a", "-j", "oe", "-v", "MINE=1", "--", "env"))
    cluster.wait_for_job(job)
    wait_for("the other task", lambda: Path(f"{out}.4").exists() and "PBS_NP" in Path(f"{out}.4").read_text())
    found = variables(Path(f"{out}.4").read_text())
    checks.that("a task of an array knows its number", (found.get("PBS_ARRAYID"), found.get("PBS_ARRAY_INDEX"), found.get("PBS_JOBID"), found.get("MINE")) == ("4", "4", f"{job}[4]", "1"), found)
    ours = cluster.directory / "nobody"
    ours.mkdir()
    ours.chmod(0o777)
    done = cluster.run("qsub", "-W", "block=true", "-l", "nodes=1:ppn=3", "-j", "oe", "-o", ours / "out", "--", "sh", "-c", "sort -u $PBS_NODEFILE; wc -l < $PBS_NODEFILE", identity=NOBODY, cwd=ours)
    checks.that("the file of nodes is its owner's to read", (ours / "out").exists() and (ours / "out").read_text().split() == ["n1", "3"], done)
    plain = cluster.submit("-o", f"{out}.plain", "--wrap", "env")
    cluster.wait_for_job(plain)
    checks.that("a job of sbatch has none of it", "PBS_" not in Path(f"{out}.plain").read_text() and "LSB_" not in Path(f"{out}.plain").read_text())
    inner = cluster.run("qsub", "-I", seconds=60, stdin="echo it is $PBS_ENVIRONMENT $(wc -l < $PBS_NODEFILE)\nexit\n", SHELL="/bin/sh")
    checks.that("an interactive job of PBS", "it is PBS_INTERACTIVE 1" in inner.out, inner)


def test_lsf_variables(checks, cluster):
    out = cluster.directory / "lsf.out"
    done = cluster.run("bsub", "-K", stdin=f"#!/bin/sh\n#BSUB -J lvars -n 3 -q all -o {out} -R \"span[ptile=2]\"\nenv\ncat $LSB_DJOB_HOSTFILE > {out}.hosts\n", cwd=cluster.directory)
    job = submitted(done)
    checks.says("the queue #BSUB -q names is not the default", done, 0, f"Job <{job}> is submitted to queue <all>.")
    found = variables(out.read_text())
    wanted = {"LSB_JOBID": str(job), "LSB_BATCH_JID": str(job), "LSB_JOBNAME": "lvars", "LSB_JOBINDEX": "0", "LSB_QUEUE": "all", "LSB_HOSTS": "n1 n1 n2", "LSB_MCPU_HOSTS": "n1 2 n2 1",
              "LSB_DJOB_NUMPROC": "3", "LS_SUBCWD": str(cluster.directory)}
    checks.that("a job of bsub has LSF's variables", wanted.items() <= found.items() and found.get("LSB_SUB_HOST"), {name: found.get(name) for name in wanted})
    checks.that("the file of hosts", Path(f"{out}.hosts").read_text().split() == ["n1", "n1", "n2"])
    done = cluster.run("bsub", "-K", "-J", "many[2-3]", "-o", f"{out}.%J.%I", "-env", "none", "echo $LSB_JOBINDEX $LSB_JOBNAME")
    job = submitted(done)
    checks.that("a task of an array, also with -env none", Path(f"{out}.{job}.3").read_text() == "3 many[3]\n", done)


def test_lsf_lists(checks, cluster):
    wait_until_idle(cluster)
    gate = Gate(cluster.directory, "lsf.gate")
    runs = submitted(cluster.run("bsub", "-J", "runner", "-n", "4", "-m", "n2", "-o", "/dev/null", gate.command))
    cluster.wait_for_job(runs, ("RUNNING",))
    held = submitted(cluster.run("bsub", "-H", "-J", "several[3-4]%1", "-q", "long", "-o", "/dev/null", "true"))
    lines = cluster.run("bjobs").out.splitlines()
    checks.that("bjobs has a row for each task", [line.split()[0] for line in lines] == ["JOBID", str(runs), str(held), str(held)] and "several[3]" in lines[2] and lines[2].split()[2] == "PSUSP", lines)
    checks.that("rows of bjobs keep their columns", all(line.index("root") == 8 for line in lines[1:]), lines)
    fields = cluster.run("bjobs", "-noheader", "-o", "jobid jobindex stat queue exec_host delimiter=','", "-u", "all")
    checks.that("bjobs -o", fields.out.splitlines() == [f"{runs},0,RUN,all,4*n2", f"{held},3,PSUSP,long,-", f"{held},4,PSUSP,long,-"], fields)
    records = json.loads(cluster.run("bjobs", "-json", "-o", "jobid stat", "-J", "run*").out)
    checks.that("bjobs -json", records == {"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [{"JOBID": str(runs), "STAT": "RUN"}]}, records)
    for what, words, rows in (("-m", ("-m", "n2"), [runs]), ("-q", ("-q", "long"), [held, held]), ("-J", ("-J", "several[4]"), [held]), ("-r", ("-r",), [runs]), ("a task", (f"{held}[3]",), [held])):
        done = cluster.run("bjobs", "-noheader", *words)
        checks.that(f"bjobs {what}", [line.split()[0] for line in done.out.splitlines()] == list(map(str, rows)), done)
    checks.says("bjobs -A", cluster.run("bjobs", "-A"), 0, "ARRAY_SPEC", f"{held} ", "several")
    checks.says("bjobs -sum", cluster.run("bjobs", "-sum"), 0, "FWD_PEND")
    checks.says("bjobs of nothing", cluster.run("bjobs", "99999"), 255, "Job <99999> is not found")
    checks.says("what bjobs has not is named", cluster.run("bjobs", "-WL"), None, "-o time_left")
    checks.says("a field there is not", cluster.run("bjobs", "-o", "moons"), None, "moons", "jobid")
    checks.says("bkill of nothing", cluster.run("bkill", "99999"), 255, "Job <99999>: No matching job found")
    checks.says("bkill of another's", cluster.run("bkill", str(runs), identity=NOBODY), 255, f"Job <{runs}>: User permission denied")
    checks.says("bkill -J of nothing", cluster.run("bkill", "-J", "nosuch"), 255, "No matching job found")
    done = cluster.run("bkill", "-J", "runner")
    checks.says("bkill -J names the jobs", done, 0, f"Job <{runs}> is being terminated")
    cluster.wait_for_job(runs)
    checks.says("bkill of one that has ended", cluster.run("bkill", str(runs)), 255, f"Job <{runs}>: Job has already finished")
    checks.says("bkill of a task", cluster.run("bkill", f"{held}[3]"), 0, f"Job <{held}[3]> is being terminated")
    checks.says("bkill 0 names all", cluster.run("bkill", "0"), 0, f"Job <{held}")
    checks.says("bkill 0 of nothing", cluster.run("bkill", "0"), 255, "No matching job found")
    checks.says("lsid", cluster.run("lsid"), 0, "My cluster name is test", "My master name is ")
    checks.says("a requirement that is not met", cluster.run("bsub", "-R", "affinity[core(2)]", "true"), 255, "affinity[]")
    done = cluster.run("bsub", "-K", "-R", "order[ut]", "-o", "/dev/null", "true")
    checks.says("one that only chooses is said", done, 0, "order[]", "default queue <all>")


OTHER_TABLE = "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time"


def test_pbs_lists(checks, cluster):
    wait_until_idle(cluster)
    gate = Gate(cluster.directory, "qstat.gate")
    path = script(cluster, "gated.sh", gate.command)
    runs = submitted(cluster.run("qsub", "-N", "runner", "-l", "nodes=2:ppn=2,walltime=01:30:00,mem=1gb", "-o", "/dev/null", "-j", "oe", path))
    cluster.wait_for_job(runs, ("RUNNING",))
    held = submitted(cluster.run("qsub", "-h", "-t", "3-4", "-N", "several", "-q", "long", "-o", "/dev/null", "-j", "oe", path))

    def ids(*words):
        return [line.split()[0] for line in cluster.run("qstat", *words).out.splitlines() if re.match(r"\d", line)]

    checks.that("qstat has a line for an array", ids() == [str(runs), f"{held}[]"], cluster.run("qstat"))
    checks.that("qstat -t has one for each task", ids("-t") == [str(runs), f"{held}[3]", f"{held}[4]"], cluster.run("qstat", "-t"))
    checks.that("qstat of one task", ids(f"{held}[4]") == [f"{held}[4]"], cluster.run("qstat", f"{held}[4]"))
    for words in (("-a",), ("-u", "root"), ("-r",), ("-i",), ("-s",)):
        checks.says(f"qstat {words[0]} is the other table", cluster.run("qstat", *words), 0, OTHER_TABLE)
    line = cluster.run("qstat", "-n", "-1", str(runs)).out.splitlines()[-1]
    # The session that submitted it; 0 where that began outside of this machine's namespace of processes.
    session = os.getsid(0) or "--"
    wanted = f"{runs:<15} root     all      runner     {session:>6}   2   4    2gb 01:30 R \\d\\d:\\d\\d n1/0\\*2\\+n2/0\\*2"
    checks.that("qstat -n -1", re.fullmatch(wanted, line), line)
    checks.that("qstat -n has nodes below", cluster.run("qstat", "-n", str(runs)).out.splitlines()[-1] == "   n1/0*2+n2/0*2")
    checks.says("qstat -s says why", cluster.run("qstat", "-s", str(held)), 0, "Not Running: JobHeldUser")
    checks.that("qstat -r and -i", ids("-r") == [str(runs)] and ids("-i") == [f"{held}[]"])
    checks.that("qstat of a queue", ids("long") == [f"{held}[]"])
    checks.says("qstat -q", cluster.run("qstat", "-q"), 0, "Queue            Memory CPU Time Walltime Node   Run   Que   Lm  State", "\nlong               --      --    48:00:00  --      0     1  --    E R\n")
    checks.says("qstat -Q", cluster.run("qstat", "-Q"), 0, "Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type", "\nlong                 0     1 yes yes     0     0     1     0     0     0 Exec\n")
    checks.says("qstat -Qf", cluster.run("qstat", "-Qf", "long"), 0, "Queue: long\n    queue_type = Execution\n", "resources_max.walltime = 48:00:00", "Held:1")
    checks.says("qstat -B", cluster.run("qstat", "-B"), 0, "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status", "Active")
    checks.says("qstat -f", cluster.run("qstat", "-f", str(runs)), 0, f"Job Id: {runs}\n    Job_Name = runner\n", "    Resource_List.walltime = 01:30:00\n")
    checks.that("qstat -f -1", len(cluster.run("qstat", "-f", "-1", str(runs)).out.strip().splitlines()) == 1)
    record = json.loads(cluster.run("qstat", "-F", "json", str(runs)).out)["Jobs"][str(runs)]
    checks.that("qstat -F json", record["Job_Name"] == "runner" and record["Resource_List"]["nodes"] == "2", record)
    checks.says("qstat of nothing", cluster.run("qstat", "99999"), 153, "qstat: Unknown Job Id 99999")
    checks.says("what qstat has not is named", cluster.run("qstat", "-T"), None, "squeue --start")
    for command in ("qdel", "qhold", "qrls", "qrerun"):
        checks.says(f"{command} of nothing", cluster.run(command, "99999"), 153, f"{command}: Unknown Job Id 99999")
    checks.says("qalter of nothing", cluster.run("qalter", "-N", "x", "99999"), 153, "qalter: Unknown Job Id 99999")
    checks.says("qdel of another's", cluster.run("qdel", str(runs), identity=NOBODY), 159, f"Unauthorized Request  {runs}")
    checks.says("qrerun", cluster.run("qrerun", str(runs)), 0)
    wait_for("the job runs again", lambda: cluster.job(runs).get("Restarts") == "1" and cluster.job(runs).get("JobState") == "RUNNING")
    checks.says("qdel", cluster.run("qdel", f"{runs}.server"), 0)
    cluster.wait_for_job(runs)
    checks.says("qdel of one that has ended", cluster.run("qdel", str(runs)), 170, "Request invalid for state of job")
    checks.says("qdel of a task", cluster.run("qdel", f"{held}[3]"), 0)
    checks.says("qdel all", cluster.run("qdel", "all"), 0)
    checks.that("nothing is left", ids() == [], cluster.run("qstat"))


def test_pbs_changes(checks, cluster):
    path = script(cluster, "short.sh", "true")
    job = submitted(cluster.run("qsub", "-h", "-o", "/dev/null", "-j", "oe", path))
    fields = cluster.job(job)
    checks.that("qsub -h", fields["Reason"] == "JobHeldUser", fields)
    checks.says("qalter -p of root", cluster.run("qalter", "-p", "5", "-N", "renamed", str(job)), 0)
    checks.that("it is nicer, and renamed", (cluster.job(job)["Nice"], cluster.job(job)["JobName"]) == ("-5", "renamed"), cluster.job(job))
    checks.says("qalter -h n releases", cluster.run("qalter", "-h", "n", str(job)), 0)
    cluster.wait_for_job(job)
    tomorrow = (datetime.datetime.now() + datetime.timedelta(days=1)).strftime("%Y%m%d%H%M")
    later = submitted(cluster.run("qsub", "-a", tomorrow, "-o", "/dev/null", "-j", "oe", "-p", "100", path))
    checks.that("qsub -p of root", cluster.job(later)["Nice"] == "-100", cluster.job(later))
    checks.says("qhold", cluster.run("qhold", str(later)), 0)
    checks.that("it is held", "Held" in cluster.job(later)["Reason"], cluster.job(later))
    checks.says("qrls", cluster.run("qrls", str(later)), 0)
    checks.that("it is not", "Held" not in cluster.job(later)["Reason"], cluster.job(later))
    checks.says("qalter -h o", cluster.run("qalter", "-h", "o", str(later)), 0)
    checks.that("it is held again", "Held" in cluster.job(later)["Reason"], cluster.job(later))
    cluster.run("qdel", str(later))
    checks.says("qsub -p of others", cluster.run("qsub", "-p", "100", "-o", "/dev/null", path, identity=NOBODY), None, "administrator")
    checks.says("a resource that changes nothing is said", cluster.run("qsub", "-l", "vmem=1gb", "-W", "block=true", "-o", "/dev/null", "-j", "oe", path), 0, "-l vmem: changes nothing")


def test_pbsnodes(checks, cluster):
    wait_until_idle(cluster)
    checks.says("pbsnodes -o", cluster.run("pbsnodes", "-o", "-N", "broken fan", "n2"), 0)
    checks.that("pbsnodes -l", cluster.run("pbsnodes", "-l").out == "n2                   offline\n", cluster.run("pbsnodes", "-l"))
    checks.that("pbsnodes -ln", cluster.run("pbsnodes", "-ln").out == "n2                   offline    broken fan\n", cluster.run("pbsnodes", "-ln"))
    checks.that("pbsnodes -l all", [line.split() for line in cluster.run("pbsnodes", "-l", "all").out.splitlines()] == [["n1", "free"], ["n2", "offline"]])
    checks.that("pbsnodes -l free", cluster.run("pbsnodes", "-l", "free").out.split() == ["n1", "free"])
    checks.says("pbsnodes -c", cluster.run("pbsnodes", "-c", "n2"), 0)
    checks.that("none is away", cluster.run("pbsnodes", "-l").out == "")
    checks.says("pbsnodes -v", cluster.run("pbsnodes", "-v", "n1"), 0, "n1\n    state = free\n", "    np = 4\n")
    checks.says("pbsnodes -S is refused", cluster.run("pbsnodes", "-aS"), None, "sinfo -N -l")
    checks.says("pbsnodes of nothing", cluster.run("pbsnodes", "nosuch"), 1, "Unknown node nosuch")


def test_completion(checks, cluster):
    wait_until_idle(cluster)
    completion = cluster.directory / "completion.bash"
    completion.write_text(cluster.run("millrace", "completion", "bash").out)
    (cluster.directory / "a-file").touch()

    def offered(line):
        """What bash offers for the last word; '=' is a word of its own, as readline has it."""
        words = [word for part in line.split(" ") for word in (re.findall(r"=|[^=]+", part) or [""])]
        if line.endswith("="):
            words = words[:-1] + ["="]
        given = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(["bash", "-c", f"source {completion}; COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _millrace; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
                              env={**cluster.environment, "PATH": f"{cluster.bin}:/usr/bin:/bin"}, cwd=cluster.directory, capture_output=True, text=True)
        if done.stderr:
            raise TestTrouble(f"completion of {line}: {done.stderr}")
        return done.stdout.split()

    job = cluster.submit("--hold", "-o", "/dev/null", "--wrap", "true")
    for line, wanted in (("scontrol update ", ["JobId=", "NodeName=", "PartitionName=", "ReservationName="]), ("scontrol update JobId=", [str(job)]), ("scontrol update NodeName=n", ["n1", "n2"]),
                         ("scontrol update PartitionName=l", ["long"]), (f"scontrol update JobId={job} TimeL", ["TimeLimit="]), ("scontrol update NodeName=n1 Re", ["Reason=", "ResumeAfter="]),
                         ("scontrol update PartitionName=long MaxTi", ["MaxTime="]), ("scontrol update ReservationName=r Dur", ["Duration="]), ("scontrol update NodeName=n1 State=x", []),
                         ("sacctmgr mod", ["modify"]), ("sacctmgr show as", ["association"]), ("sacctmgr add co", ["coordinator"]), ("sacct --format=Elap", ["Elapsed", "ElapsedRaw"]),
                         ("sacct -o JobID,ReqM", ["JobID,ReqMem"]), ("sbatch --mail-type=BEG", ["BEGIN"]), ("srun --mpi=no", ["none"]), ("sinfo -n ", ["n1", "n2"]), ("sinfo -w n1", ["n1"]),
                         ("squeue -w n1,n", ["n1,n1", "n1,n2"]), ("qsub -q ", ["all", "long"]), ("qstat --h", ["--help"]), ("bjobs -n", ["-noheader"]), ("bsub -Is", ["-Is"]), ("qdel ", [str(job)]), ("pbsnodes ", ["n1", "n2"]),
                         ("scancel ", [str(job)]), ("sbatch a-f", ["a-file"]), ("sbatch -o a-f", ["a-file"]), ("squeue a-f", [])):
        found = offered(line)
        checks.that(f"completion of '{line}'", found == wanted, found)
    cluster.run("scancel", str(job))
    wait_for("no job", lambda: not cluster.run("squeue", "-h").out)
    checks.that("without jobs scancel offers nothing", offered("scancel ") == [], offered("scancel "))
    for entity in offered("sacctmgr show "):
        checks.says(f"sacctmgr show {entity}, which is offered", cluster.run("sacctmgr", "-n", "show", entity), 0)

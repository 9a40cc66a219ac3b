"""What is kept of what was done: transactions, coordinators and workload keys of sacctmgr, the file and the program of completed jobs, programs around
reservations, scripts and environments of hidden jobs; sgather and swait.
"""

import json
import stat

from cluster import Cluster, wait_for

NOBODY = (65534, 65534, ())
DAEMON = (1, 1, ())


def table(done):
    return [line.split("|") for line in done.out.splitlines()]


def write_program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def ended(cluster, job):
    wait_for(f"job {job} ended", lambda: cluster.must_live() or cluster.run("sacct", "-nXP", "-o", "State", "-j", job).out.split()[:1] not in ([], ["PENDING"], ["RUNNING"], ["COMPLETING"]))


def make_cluster(build, directory):
    files = {name: directory / name for name in ("records", "program", "told", "turns", "begins", "ends")}
    write_program(files["program"], f"env > {files['told']}.new\nmv {files['told']}.new {files['told']}\n")
    write_program(files["begins"], f"echo begin $1 >> {files['turns']}\n")
    write_program(files["ends"], f"echo end $1 >> {files['turns']}\n")
    cluster = Cluster(build, directory / "c", settings=["MinJobAge=2", "TrackWCKey=yes", "AccountingStorageEnforce=wckeys", "AccountingStoreFlags=job_script,job_env",
                                                        "JobCompType=jobcomp/filetxt", f"JobCompLoc={files['records']}", f"ResvProlog={files['begins']}", f"ResvEpilog={files['ends']}"])
    cluster.files = files
    return cluster


def keyed_job(checks, cluster):
    """The id of a job of nobody's with a workload key. The first test that needs it makes the accounts and runs it."""
    if not hasattr(cluster, "keyed"):
        cluster.keyed = keep_book(checks, cluster)
    return cluster.keyed


def test_book(checks, cluster):
    keyed_job(checks, cluster)


def keep_book(checks, cluster):
    """Transactions, coordinators, workload keys, levels."""
    run = cluster.run
    run("sacctmgr", "-i", "add", "account", "physics", "law")
    run("sacctmgr", "-i", "add", "account", "optics", "parent=physics")
    checks.says("a user with a workload key", run("sacctmgr", "-i", "add", "user", "nobody,daemon,root", "account=physics", "wckeys=grant"), 0, "Adding User(s)")
    rows = table(run("sacctmgr", "-nP", "show", "transaction", "format=Action,Actor,Where,Info", "user=nobody"))
    checks.that("who did what", rows == [["Add Users", "root", "name='nobody',name='daemon',name='root'", "acct='physics',wckeys='grant'"]], rows)
    checks.that("the columns", run("sacctmgr", "show", "transaction", "action=none").out.splitlines()[0].split() == ["Time", "Action", "Actor", "Where", "Info"])
    checks.that("none before", run("sacctmgr", "-nP", "show", "transaction", "end=2020-01-01").out == "")
    checks.that("as data", json.loads(run("sacctmgr", "--json", "show", "transactions", "account=law").out)["transactions"][0]["actor"] == "root")
    done = run("sacctmgr", "-i", "add", "coordinator", "account=physics", "names=nobody")
    checks.that("a coordinator is added", done.out == " Adding Coordinator User(s)\n  nobody\n To Account(s) and all sub-accounts\n  physics\n", done)
    checks.that("and shown", table(run("sacctmgr", "-nP", "show", "coordinator")) == [["physics", "nobody"]])
    checks.that("also with the user", table(run("sacctmgr", "-nP", "show", "user", "nobody", "format=User,Coord")) == [["nobody", "physics,optics"]], run("sacctmgr", "-nP", "show", "user", "nobody", "format=User,Coord"))
    checks.says("he may add to the accounts below", run("sacctmgr", "-i", "add", "user", "daemon", "account=optics", identity=NOBODY), 0, "A = optics")
    checks.says("and not to others", run("sacctmgr", "-i", "add", "user", "daemon", "account=law", identity=NOBODY), 1, "Access/permission denied")
    checks.says("others may nothing", run("sacctmgr", "-i", "add", "user", "daemon", "account=law", identity=DAEMON), 1, "Access/permission denied")
    checks.that("what he did is his", table(run("sacctmgr", "-nP", "show", "transaction", "actor=nobody", "format=Action,Info")) == [["Add Users", "acct='optics'"]])
    job = run("sbatch", "--parsable", "-H", "-A", "physics", "-J", "held", "--wrap", "true", identity=DAEMON).out.strip()
    checks.says("he changes jobs of the account", run("scontrol", "update", f"JobId={job}", "Comment=seen", identity=NOBODY), 0)
    checks.says("and cancels them", run("scancel", job, identity=NOBODY), 0)
    ended(cluster, job)
    other = run("sbatch", "--parsable", "-H", "-A", "root", "--wrap", "true").out.strip()
    checks.says("not those of others", run("scancel", other, identity=NOBODY), 1, "Access/permission denied")
    run("scancel", other)
    checks.that("deleted again", run("sacctmgr", "-i", "delete", "coordinator", "account=physics", "names=nobody").out.startswith(" Removing Coordinators with user name\n  nobody\n"))
    checks.says("then he may nothing", run("sacctmgr", "-i", "add", "user", "daemon", "account=physics", identity=NOBODY), 1, "Access/permission denied")
    checks.that("keys", table(run("sacctmgr", "-nP", "show", "wckey", "user=nobody")) == [["*grant", "test", "nobody"]], run("sacctmgr", "-nP", "show", "wckey"))
    checks.that("a default key", run("sacctmgr", "-i", "modify", "user", "nobody", "set", "defaultwckey=other").out == " Modified users...\n  nobody\n")
    checks.that("in the columns of users", table(run("sacctmgr", "-nP", "show", "user", "nobody")) == [["nobody", "physics", "other", "None"]], run("sacctmgr", "-nP", "show", "user", "nobody"))
    checks.says("a key that is not the user's", run("sbatch", "--wckey=stolen", "--wrap", "true", identity=NOBODY), 1, "Invalid wckey specification")
    job = run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true", "-J", "keyed", identity=NOBODY).out.strip()
    ended(cluster, job)
    checks.that("the default one is taken", run("sacct", "-nXP", "-j", job, "-o", "WCKey").out == "*other\n", run("sacct", "-nXP", "-j", job, "-o", "WCKey"))
    run("sacctmgr", "-i", "modify", "user", "daemon", "set", "adminlevel=operator")
    checks.says("an operator changes accounts", run("sacctmgr", "-i", "modify", "account", "law", "set", "grpjobs=3", identity=DAEMON), 0, "Modified account associations")
    checks.says("and no levels", run("sacctmgr", "-i", "modify", "user", "nobody", "set", "adminlevel=admin", identity=DAEMON), 1, "Access/permission denied")
    checks.says("and no nodes", run("scontrol", "update", "nodename=n1", "state=drain", "reason=x", identity=DAEMON), 1, "Access/permission denied")
    run("sacctmgr", "-i", "modify", "user", "daemon", "set", "adminlevel=none")
    return job


def test_small(checks, cluster):
    run, job = cluster.run, keyed_job(checks, cluster)
    for kind, head in (("resource", ["Name", "Server", "Type", "Count", "Allocated", "ServerType"]), ("federation", ["Federation", "Cluster", "ID", "Features", "FedState"]),
                       ("instance", ["Cluster", "NodeName", "InstanceId", "InstanceType", "TimeStart", "TimeEnd"])):
        checks.that(f"show {kind}: a header and no row", run("sacctmgr", "-P", "show", kind).out == "|".join(head) + "\n", run("sacctmgr", "-P", "show", kind))
        checks.that(f"show {kind} as data", isinstance(json.loads(run("sacctmgr", "--json", "show", kind).out)[kind + "s"], list))
    run("sacctmgr", "-i", "modify", "account", "law", "set", "grpjobs=4")  # counted since the controller's start
    checks.says("stats", run("sacctmgr", "show", "stats"), 0, "Rollup statistics", "REQUEST_ACCOUNTING_UPDATE")
    checks.says("ping", run("sacctmgr", "ping"), 0, "is UP")
    checks.says("archive is refused by name", run("sacctmgr", "archive", "dump"), 1, "archive is not built")
    checks.that("problems as data", "problems" in json.loads(run("sacctmgr", "--json", "show", "problem").out))
    checks.says("words about an ended job", run("sacctmgr", "-i", "modify", "job", "where", f"jobid={job}", "set", "DerivedExitCode=3", "Comment=looked at", identity=NOBODY), 0, "Modified jobs", job)
    checks.that("are shown", run("sacct", "-nXP", "-j", job, "-o", "DerivedExitCode,Comment").out == "3:0|looked at\n", run("sacct", "-nXP", "-j", job, "-o", "DerivedExitCode,Comment"))
    checks.says("not of somebody else's", run("sacctmgr", "-i", "modify", "job", f"jobid={job}", "set", "Comment=x", identity=DAEMON), 1, "Access/permission denied")
    checks.says("clear stats leaves sdiag's counters alone", run("sacctmgr", "clear", "stats"), 1, "sdiag --reset")


def test_completions(checks, cluster):
    """The file, the program, and what is kept of a hidden job."""
    run, files, job = cluster.run, cluster.files, keyed_job(checks, cluster)
    lines = wait_for("its line", lambda: [line for line in files["records"].read_text().splitlines() if line.startswith(f"JobId={job} ")] if files["records"].exists() else [])
    words = dict(word.split("=", 1) for word in lines[0].split())
    checks.that("one line per ended job", len(lines) == 1 and words["JobState"] == "COMPLETED" and words["UserId"] == "nobody(65534)" and words["Name"] == "keyed" and words["ExitCode"] == "0:0"
                and words["WcKey"] == "*other" and words["Account"] == "physics" and words["Cluster"] == "test" and words["ProcCnt"] == "1", lines)
    row = table(run("sacct", "-c", "-P", "-n", "-a", "-S", "now-1hour"))
    checks.that("sacct -c reads it", [job, "65534", "keyed"] in [each[:3] for each in row], row)
    checks.that("and of another file", run("sacct", "-f", files["records"], "-nP", "-j", job, "-o", "JobID,State,Account").out == f"{job}|COMPLETED|physics\n")
    checks.says("a file that is not there", run("sacct", "-c", "-f", "/no/such"), 1, "/no/such")
    second = cluster.submit("-J", "scripted", "-o", "/dev/null", "--export=ALL,MARK=seen", "--wrap", "exit 5")
    ended(cluster, str(second))
    wait_for("hidden", lambda: run("scontrol", "show", "job", str(second)).code == 1)
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    checks.says("the script of a hidden job", run("sacct", "-B", "-j", str(second)), 0, f"Batch Script for {second}", "exit 5")
    checks.says("and its environment", run("sacct", "--env-vars", "-j", str(second)), 0, "MARK=seen")
    wait_for("the line of the second", lambda: f"JobId={second} " in files["records"].read_text())
    marks = [line.split()[0] + line.split("EndTime=")[1].split()[0] for line in files["records"].read_text().splitlines()]
    checks.that("no line came twice with the restart", len(marks) == len(set(marks)), marks)


def test_program(checks, cluster):
    """JobCompType=jobcomp/script after a reconfigure."""
    keyed_job(checks, cluster)
    files, conf = cluster.files, cluster.configuration
    old = conf.read_text()
    conf.write_text(old.replace("jobcomp/filetxt", "jobcomp/script").replace(str(files["records"]), str(files["program"])))
    cluster.run("scontrol", "reconfigure")
    job = cluster.submit("-J", "told", "-o", "/dev/null", "--wrap", "exit 4")
    text = wait_for("the program was told", lambda: files["told"].exists() and f"JOBID={job}" in files["told"].read_text() and files["told"].read_text())
    checks.that("the program gets the job's words", all(word in text.splitlines() for word in ("JOBNAME=told", "JOBSTATE=FAILED", "EXITCODE=4:0", "CLUSTER=test", "BATCH=yes", "USERNAME=root")), text)
    conf.write_text(old)
    cluster.run("scontrol", "reconfigure")


def test_reservations(checks, cluster):
    run, files = cluster.run, cluster.files
    checks.says("a reservation that begins now", run("scontrol", "create", "reservation", "ReservationName=course", "StartTime=now", "Duration=60", "NodeCnt=1", "Users=nobody", "Flags=MAGNETIC,REPLACE_DOWN,PURGE_COMP=10",
                                                     "MaxStartDelay=5"), 0, "Reservation created: course")
    shown = run("scontrol", "show", "reservation", "course").out
    checks.that("its flags and delay are shown", all(word in shown for word in ("MAGNETIC", "REPLACE_DOWN", "PURGE_COMP=00:10:00", "MaxStartDelay=00:05:00")), shown)
    wait_for("ResvProlog", lambda: files["turns"].exists() and "begin course" in files["turns"].read_text())
    node = shown.split("Nodes=")[1].split()[0]
    run("scontrol", "update", f"nodename={node}", "state=drain", "reason=broken")
    wait_for("another node", lambda: f" Nodes={node} " not in run("scontrol", "-o", "show", "reservation", "course").out)
    checks.that("a node that is out of order is replaced", "NodeCnt=1 " in run("scontrol", "-o", "show", "reservation", "course").out)
    run("scontrol", "update", f"nodename={node}", "state=resume")
    checks.says("a node more", run("scontrol", "update", "ReservationName=course", "NodeCnt+=1"), 0, "Reservation updated.")
    checks.that("is there", "NodeCnt=2 " in run("scontrol", "-o", "show", "reservation", "course").out)
    checks.says("one user more", run("scontrol", "update", "ReservationName=course", "Users+=daemon"), 0)
    checks.that("too", "Users=nobody,daemon " in run("scontrol", "-o", "show", "reservation", "course").out, run("scontrol", "-o", "show", "reservation", "course").out)
    checks.says("cores are refused by name", run("scontrol", "create", "reservation", "CoreCnt=2", "Users=root", "Duration=5"), 1, "CoreCnt= of a reservation is not built yet")
    run("scontrol", "delete", "ReservationName=course")
    wait_for("ResvEpilog", lambda: "end course" in files["turns"].read_text())
    past = table(run("sacctmgr", "-nP", "show", "reservation", "format=Name,Cluster"))
    checks.that("it is known afterwards", past == [["course", "test"]], past)


def test_steps(checks, cluster, directory):
    keyed_job(checks, cluster)
    run = cluster.run
    script = directory / "gather.sh"
    script.write_text(f"""#!/bin/sh
cd {directory}
{cluster.bin}/srun -N2 -n2 sh -c 'echo of $SLURMD_NODENAME > {directory}/part.$SLURMD_NODENAME'
{cluster.bin}/srun -N2 -n2 sh -c 'cp {directory}/part.$SLURMD_NODENAME {directory}/source'
{cluster.bin}/sgather -k {directory}/source {directory}/got; echo code $?
{cluster.bin}/sgather {directory}/nothing {directory}/none; echo code $?
{cluster.bin}/sgather -f {directory}/nothing {directory}/none; echo code $?
# This step ends when swait has its connection, and asks.
asks='until ls -l /proc/$(cat pid)/fd 2>/dev/null | grep -q socket; do sleep 0.05; done'
{cluster.bin}/srun --async -o /dev/null -n1 --overlap sh -c "cd {directory}; $asks; touch over"
sh -c 'echo $$ > pid; exec {cluster.bin}/swait'; echo waited $? $(ls over)
""")
    job = cluster.submit("-N2", "-n2", "-o", directory / "gather.out", script)
    ended(cluster, str(job))
    out = (directory / "gather.out").read_text()
    got = sorted(path.name for path in directory.glob("got.*"))
    checks.that("sgather brings a file of each node", len(got) == 2 and "code 0\n" in out, (got, out))
    checks.that("a node without the file is an error, or not", "code 1\n" in out and out.count("code 0\n") == 2 and not list(directory.glob("none.*")), out)
    checks.that("swait waits for the steps", "waited 0 over\n" in out, out)
    checks.says("swait without a job", run("swait"), 1, "Need a job id")
    checks.says("swait for one that is over", run("swait", "-t", "5", "99999"), 1, "Invalid job id")

"""sacct over jobs that are long hidden from everybody else, across a kill of the controller, as programs of other people call it; sdiag
and sacctmgr with real daemons.
"""

import json

import pytest

from cluster import Cluster, wait_for

NOBODY = (65534, 65534, ())
XDMOD = ("jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,state,nnodes,ncpus,reqcpus,"
         "reqmem,reqtres,alloctres,timelimit,nodelist,jobname")


def make_cluster(build, directory):
    return Cluster(build, directory, settings=["MinJobAge=2", "PriorityType=priority/multifactor", "PriorityWeightPartition=1000", "PriorityWeightFairshare=1000"],
                   partitions=["PartitionName=short Nodes=ALL PriorityJobFactor=10"])


def rows(cluster, *arguments):
    return [line.split("|") for line in cluster.run("sacct", "-P", "-n", *arguments).out.splitlines()]


def state_of(cluster, job):
    found = rows(cluster, "-X", "-o", "State", "-j", str(job))
    return found[0][0].split()[0] if found else ""


def wait_for_state(cluster, job, *states):
    wait_for(f"job {job} in {states}", lambda: cluster.must_live() or state_of(cluster, job) in states)


def run_jobs(cluster):
    """What the tests look at, all at once so that nobody waits twice."""
    jobs = {"good": cluster.submit("-J", "good", "-t", "5", "-o", "/dev/null", "--wrap", f"{cluster.bin}/srun -J inner true; {cluster.bin}/srun -J twice true"),
            "bad": cluster.submit("-J", "bad", "--wckey=key", "--comment=words", "--extra=more", "-t", "5", "-o", "/dev/null", "--wrap", "exit 3"),
            "array": cluster.submit("-J", "many", "-t", "5", "-o", "/dev/null", "--array=1-3", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 2))"),
            "het": cluster.submit("-J", "pair", "-t", "5", "-n1", "-o", "/dev/null", ":", "-n1", "--wrap", "true"),
            "long": cluster.submit("-J", "long", "-t", "5", "-o", "/dev/null", "--requeue", "--wrap", "sleep 600"),
            "held": cluster.submit("-J", "held", "-H", "--wrap", "true")}
    wait_for_state(cluster, jobs["long"], "RUNNING")
    cluster.run("scontrol", "requeue", str(jobs["long"]))
    wait_for("the second run", lambda: any(row[1] == "REQUEUED" for row in rows(cluster, "-X", "-D", "-o", "JobID,State", "-j", str(jobs["long"]))) and
             state_of(cluster, jobs["long"]) == "RUNNING")
    cluster.run("scancel", str(jobs["long"]))
    for name, ends in (("good", ["COMPLETED"]), ("bad", ["FAILED"]), ("array", ["COMPLETED"]), ("het", ["COMPLETED"]), ("long", ["CANCELLED"])):
        wait_for_state(cluster, jobs[name], *ends)
    wait_for("all tasks", lambda: sorted(row[0] for row in rows(cluster, "-X", "-o", "State", "-j", str(jobs["array"]))) == ["COMPLETED", "COMPLETED", "FAILED"])
    return jobs


@pytest.fixture
def jobs(cluster):
    """The ids of these jobs by name; the first test that asks for them runs them."""
    if not hasattr(cluster, "told"):
        cluster.told = run_jobs(cluster)
    return cluster.told


def test_hidden(checks, cluster, jobs):
    """After MinJobAge nobody but sacct knows them, also after a kill of the controller."""
    gone = [jobs[name] for name in ("good", "bad", "long")]
    wait_for("jobs hidden", lambda: not any(str(job) in cluster.run("squeue", "-t", "all", "-h", "-o", "%A").out.split() for job in gone))
    checks.says("scontrol does not know it", cluster.run("scontrol", "show", "job", str(jobs["good"])), 1, "Invalid job id specified")
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    found = rows(cluster, "-j", str(jobs["good"]), "-o", "JobID,JobName,State,ExitCode")
    want = [[f"{jobs['good']}", "good", "COMPLETED", "0:0"], [f"{jobs['good']}.batch", "batch", "COMPLETED", "0:0"], [f"{jobs['good']}.0", "inner", "COMPLETED", "0:0"],
            [f"{jobs['good']}.1", "twice", "COMPLETED", "0:0"]]
    checks.that("sacct shows the job, its script and its steps", found == want, found)
    checks.that("what the script used is known", rows(cluster, "-j", f"{jobs['good']}.batch", "-o", "TotalCPU,MaxRSS")[0][1] != "", found)
    checks.that("a step alone", rows(cluster, "-j", f"{jobs['good']}.1", "-o", "JobID") == [[f"{jobs['good']}.1"]])
    checks.that("a failed job has its exit code", rows(cluster, "-X", "-j", str(jobs["bad"]), "-o", "State,ExitCode") == [["FAILED", "3:0"]])
    kept = rows(cluster, "-X", "-S", "now-1hour", "-W", "key", "-o", "JobID,WCKey,Comment,Extra")
    checks.that("words that were given with it", kept == [[str(jobs["bad"]), "key", "words", "more"]], kept)
    tasks = sorted(rows(cluster, "-X", "-j", str(jobs["array"]), "-o", "JobID,State"))
    checks.that("tasks of an array", tasks == [[f"{jobs['array']}_1", "COMPLETED"], [f"{jobs['array']}_2", "FAILED"], [f"{jobs['array']}_3", "COMPLETED"]], tasks)
    checks.that("one task of it", rows(cluster, "-X", "-j", f"{jobs['array']}_2", "-o", "JobID,State") == [[f"{jobs['array']}_2", "FAILED"]])
    pair = rows(cluster, "-X", "-j", str(jobs["het"]), "-o", "JobID,State")
    checks.that("components", pair == [[f"{jobs['het']}+0", "COMPLETED"], [f"{jobs['het']}+1", "COMPLETED"]], pair)
    checks.that("the last run of a requeued job", rows(cluster, "-X", "-j", str(jobs["long"]), "-o", "State,Restarts") == [["CANCELLED by 0", "1"]])
    runs = rows(cluster, "-X", "-D", "-j", str(jobs["long"]), "-o", "State,Restarts")
    checks.that("-D: both runs", runs == [["REQUEUED", "0"], ["CANCELLED by 0", "1"]], runs)
    late = cluster.run("sbatch", "--parsable", "-d", f"afterok:{jobs['good']}", "-J", "late", "-o", "/dev/null", "--wrap", "true")
    checks.that("a dependency on a hidden job is answered", late.code == 0, late)
    wait_for_state(cluster, int(late.out), "COMPLETED")


def test_clients(checks, cluster, jobs):
    good, bad = str(jobs["good"]), str(jobs["bad"])
    run = cluster.run
    checks.that("Snakemake: one job", run("sacct", "-P", "-n", "--format=JobIdRaw,State", "-j", good).out.splitlines()[0] == f"{good}|COMPLETED")
    status = run("sacct", "-j", good, "--format", "State", "--noheader").out.splitlines()[0].split()
    checks.that("Snakemake's profile: the first word", status == ["COMPLETED"], status)
    checks.that("Snakemake's profile: brief", run("sacct", "-P", "-b", "-j", bad, "-n").out.splitlines()[0] == f"{bad}|FAILED|3:0")
    checks.that("Snakemake: the account of somebody", run("sacct", "-nu", "root", "-o", "Account%20").code == 0)
    stray = run("sacct", "-nu", "root", "-o", "Account%256", "|", "tail", "-1")
    checks.that("words meant for a shell fail cleanly", stray.code == 1 and "invalid option -- '1'" in stray.err and stray.out == "", stray)
    begin = run("sacct", "-X", "--parsable2", "--clusters", "all", "--noheader", "--format=JobIdRaw,State", "--starttime", "now-2hours", "--endtime", "now", "--name", "bad")
    checks.that("Snakemake's plugin: by name in a window", begin.out == f"{bad}|FAILED\n", begin)
    checks.that("Parsl: the probe", run("sacct", "-X").code == 0)
    parsl = {line.split()[0]: line.split()[1] for line in run("sacct", "-X", "--noheader", "--format=jobid,state%20", "--job", f"{good},{bad}").out.splitlines()}
    checks.that("Parsl: two jobs", parsl == {good: "COMPLETED", bad: "FAILED"}, parsl)
    many = run("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", good, "-j", bad).out.splitlines()
    checks.that("submitit: -j twice", many[0] == "JobID|State|NodeList" and {line.split("|")[0] for line in many[1:]} >= {good, bad}, many)
    toil = run("sacct", "-n", "-j", f"{good},{bad}", "--format", "JobIDRaw,State,ExitCode", "-P", "-S", "1970-01-01").out.splitlines()
    checks.that("Toil: since ever", f"{good}|COMPLETED|0:0" in toil and f"{bad}|FAILED|3:0" in toil, toil)
    xdmod = run("sacct", "--clusters", "test", "--allusers", "--parsable2", "--noheader", "--allocations", "--duplicates", "--format", XDMOD, "--starttime", "2020-01-01", "--endtime",
                "now", TZ="UTC").out.splitlines()
    checks.that("XDMoD: 26 columns, no steps", xdmod and all(len(line.split("|")) == 26 and "." not in line.split("|")[0] for line in xdmod), xdmod[:2])
    reportseff = run("sacct", "--parsable", "-n", "--delimiter=^|^", "--format=JobIDRaw,State", f"--jobs={bad}").out.splitlines()
    checks.that("reportseff: rows end with the delimiter", reportseff[0] == f"{bad}^|^FAILED^|^", reportseff)
    checks.that("reportseff: the fields", {"JobIDRaw", "MaxRSS", "TRESUsageOutTot"} <= set(run("sacct", "--helpformat").out.split()))
    checks.that("an exporter: an old field", run("sacct", "-a", "-X", "--format=Allocgres", "--state=RUNNING", "--noheader", "--parsable2").code == 0)
    torchx = run("sacct", "--parsable2", "-j", str(jobs["het"])).out
    checks.that("TorchX: components", f"{jobs['het']}+0|" in torchx and f"{jobs['het']}+1|" in torchx, torchx)
    shape = json.loads(run("sacct", "--json", "-j", bad).out)
    checks.that("JSON", shape["jobs"][0]["state"]["current"] == ["FAILED"] and shape["jobs"][0]["steps"][0]["step"]["id"] == f"{bad}.batch", shape["jobs"][0]["state"])
    checks.that("somebody else sees his own jobs only", cluster.run("sacct", "-X", "-n", identity=NOBODY).out == "" and good in cluster.run("sacct", "-a", "-X", "-n", identity=NOBODY).out)
    checks.that("SACCT_FORMAT", run("sacct", "-X", "-n", "-P", "-j", bad, SACCT_FORMAT="state,exitcode").out == "FAILED|3:0\n")
    checks.that("-b is before SACCT_FORMAT", run("sacct", "-X", "-n", "-P", "-b", "-j", bad, SACCT_FORMAT="state").out == f"{bad}|FAILED|3:0\n")
    seconds = run("sacct", "-X", "-n", "-P", "-o", "End", "-j", bad, SLURM_TIME_FORMAT="%s").out.strip()
    checks.that("SLURM_TIME_FORMAT", seconds.isdigit(), seconds)
    checks.that("every field at once", len(run("sacct", "-X", "-n", "-P", "-o", "ALL", "-j", bad).out.split("|")) > 100)
    checks.that("an unknown id is no error", run("sacct", "-j", "99999999", "-P").out == "JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode\n")
    checks.that("a held job waits", rows(cluster, "-X", "-j", str(jobs["held"]), "-o", "State,AllocCPUS,Start,End") == [["PENDING", "0", "Unknown", "Unknown"]])
    for words, says in ((("-o", "nosuch"), 'Invalid field requested: "nosuch"'), (("-s", "XX"), "unrecognized job state value 'XX'"), (("-j", "abc"), "Bad job/step specified: abc"),
                        (("-u", "nosuchuser"), "Invalid user id: nosuchuser"), (("-M", "elsewhere"), "can't be reached"), (("-S", "zz"), "Invalid time specification")):
        checks.says(f"sacct {' '.join(words)}", run("sacct", *words), 1, says)


def test_sdiag(checks, cluster):
    wait_for_state(cluster, cluster.submit("-t", "5", "-o", "/dev/null", "--wrap", "true"), "COMPLETED")
    out = cluster.run("sdiag").out
    numbers = {line.split(":")[0].strip(): line.split(":")[1].strip() for line in out.splitlines() if line.count(":") == 1}
    checks.that("sdiag counts since the controller's start", int(numbers["Jobs submitted"]) >= 1 and int(numbers["Jobs completed"]) >= 1 and int(numbers["Total cycles"]) >= 1, out[:1500])
    checks.that("sdiag counts requests", "REQUEST_SUBMIT_BATCH_JOB" in out and "root            (       0) count:" in out, out[-800:])
    checks.that("sdiag --json", json.loads(cluster.run("sdiag", "--json").out)["statistics"]["jobs_submitted"] >= 1)
    checks.says("sdiag -r is not for everybody", cluster.run("sdiag", "-r", identity=NOBODY), 1, "Access/permission denied")
    checks.says("sdiag -r", cluster.run("sdiag", "-r"), 0, "Reset scheduling statistics")
    checks.that("and it counts anew", "Jobs submitted: 0\n" in cluster.run("sdiag").out)


def test_sacctmgr(checks, cluster):
    """Accounts and users: first a few, then what show makes of more of them, then changes."""
    add_accounts(checks, cluster)
    look_at_conditions(checks, cluster)
    change_accounts(checks, cluster)


def add_accounts(checks, cluster):
    run = cluster.run
    run("sacctmgr", "-i", "add", "account", "physics", "fairshare=3", "grptres=cpu=20")
    run("sacctmgr", "-i", "add", "user", "root", "account=physics")
    checks.that("sacctmgr show cluster", run("sacctmgr", "-nP", "show", "cluster", "format=Cluster,ControlPort").out == f"test|{cluster.port}\n")
    checks.says("sacctmgr show event", run("sacctmgr", "-nP", "show", "event"), 0)
    checks.says("sacctmgr show runawayjobs", run("sacctmgr", "show", "runawayjobs"), 0, "No runaway jobs found on cluster test")
    checks.says("sacctmgr show transaction", run("sacctmgr", "show", "transaction"), 0, "Add Accounts")
    checks.says("sacctmgr, an unknown word", run("sacctmgr", "frobnicate"), 1, "invalid keyword: frobnicate")
    book = cluster.directory / "book"
    checks.says("sacctmgr dump", run("sacctmgr", "dump", "test", f"file={book}"), 0, "written to")
    checks.that("with the account and its limit", "Account - 'physics'" in book.read_text() and "GrpTRES=cpu=20" in book.read_text(), book.read_text())
    run("sacctmgr", "-i", "modify", "account", "physics", "set", "grptres=cpu=5")
    checks.says("sacctmgr load", run("sacctmgr", "-i", "load", f"file={book}"), 0)
    checks.that("brings it back", run("sacctmgr", "-nP", "show", "assoc", "account=physics", "format=Account,User,GrpCPU").out.splitlines()[0] == "physics||20",
                run("sacctmgr", "-nP", "show", "assoc", "account=physics", "format=Account,User,GrpCPU").out)
    shape = json.loads(run("sacctmgr", "--json", "show", "assoc", "account=physics").out)
    checks.that("sacctmgr --json", [(one["account"], one["user"]) for one in shape["associations"]] == [("physics", ""), ("physics", "root")], shape)
    checks.that("QOS as JSON", json.loads(run("sacctmgr", "show", "qos", "--json").out)["qos"][0]["name"] == "normal")
    typed = run("sacctmgr", stdin="show account format=account\nexit\n")
    checks.that("the prompt of sacctmgr", typed.code == 0 and typed.out.startswith("sacctmgr: ") and "physics" in typed.out, typed)
    checks.that("an exporter: sshare", run("sshare", "-n", "-P", "-o", "account,fairshare").code == 0 and run("sshare", "-lUm").code == 0)
    checks.that("sprio on this cluster", run("sprio", "-M", "test").code in (0, 1) and run("sprio", "-M", "elsewhere").code == 1)


def look_at_conditions(checks, cluster):
    """What show filters by, and the trees it prints."""
    run = cluster.run
    run("sacctmgr", "-i", "add", "account", "optics", "parent=physics", "description=light", "organization=science")
    run("sacctmgr", "-i", "add", "user", "nobody", "account=optics,physics", "defaultaccount=optics")
    run("sacctmgr", "-i", "add", "qos", "high", "priority=10", "flags=NoReserve", "preemptmode=cancel")
    show = lambda *words: [line.split("|") for line in run("sacctmgr", "-nP", "show", *words).out.splitlines()]
    columns = "format=Account,User"
    below = [["physics", ""], ["physics", "nobody"], ["physics", "root"], ["optics", ""], ["optics", "nobody"]]
    for words, want in ((("assoc", "account=physics", "withsubaccounts", columns), below), (("assoc", "parent=physics", columns), [["optics", ""]]),
                        (("assoc", "acct=optics", "cluster=test", columns), below[3:]), (("assoc", "cluster=foo", columns), []), (("assoc", "account=optics", "qos=high", columns), []),
                        (("assoc", "onlydefaults", "user=nobody", columns), [["optics", "nobody"]]), (("assoc", "account=optics", "wolimits"), [["test", "optics", "", ""], ["test", "optics", "nobody", ""]]),
                        (("assoc", "id=1", columns), [["root", ""]]), (("user", "defaultaccount=optics", "format=User"), [["nobody"]]), (("user", "adminlevel=admin", "format=User"), [["root"]]),
                        (("account", "description=light", "format=Account"), [["optics"]]), (("account", "organization=science", "format=Account"), [["optics"]]),
                        (("account", "parent=physics", "format=Account"), [["optics"]]), (("qos", "flags=noreserve", "format=Name"), [["high"]]), (("qos", "id=1", "format=Name"), [["normal"]]),
                        (("qos", "preemptmode=cancel", "format=Name"), [["high"]]), (("qos", "description=high", "format=Name"), [["high"]]), (("tres", "type=cpu"), [["cpu", "", "1"]]),
                        (("tres", "id=4"), [["node", "", "4"]]), (("cluster", "foo"), []), (("cluster", "format=Cluster,NodeCount,ClusterNodes"), [["test", str(len(cluster.nodes)), cluster.run("sinfo", "-h", "-o", "%N").out.split()[0]]])):
        checks.that(f"show {' '.join(words)}", show(*words) == want, show(*words))
    checks.says("a condition there is not", run("sacctmgr", "show", "qos", "parent=x"), 1, "Unknown condition: parent=x")
    tree = run("sacctmgr", "show", "assoc", "tree").out
    checks.that("a tree begins at the left", any(line[11:].startswith("  optics ") for line in tree.splitlines()), tree)
    node = run("sinfo", "-h", "-N", "-o", "%N").out.split()[0]
    run("scontrol", "update", f"nodename={node}", "state=drain", "reason=looked_at")
    event = ("event", f"nodes={node}", "format=NodeNames,Reason")
    checks.that("an event", show(*event, "start=now-1hour", "state=drain", "event=node") == [[node, "looked_at"]] == show(*event, "all_time"), show(*event))
    checks.that("not before it was", show(*event, "end=2020-01-01") == [] == show(*event, "event=cluster") == show(*event, "state=down"), show(*event, "state=down"))
    run("scontrol", "update", f"nodename={node}", "state=resume")


def change_accounts(checks, cluster):
    """Clusters, defaults and what is said about them."""
    run = cluster.run
    checks.that("add cluster: it is there", (lambda done: done.code == 1 and done.out == " This cluster test already exists.  Not adding.\n")(run("sacctmgr", "-i", "add", "cluster", "test")))
    checks.says("add cluster: no other", run("sacctmgr", "-i", "add", "cluster", "foo"), 1, "Cluster foo can not be added")
    checks.says("delete cluster", run("sacctmgr", "-i", "delete", "cluster", "test"), 1, "can not be deleted")
    checks.that("modify cluster", run("sacctmgr", "-i", "modify", "cluster", "test", "set", "grpjobs=500").out == " Modified cluster...\n  test\n")
    checks.that("is what its root has", run("sacctmgr", "-nP", "show", "cluster", "format=GrpJobs").out == "500\n")
    checks.says("nothing is added to another", run("sacctmgr", "-i", "add", "account", "there", "cluster=foo"), 1, "This cluster 'foo' doesn't exist.")
    checks.says("nor changed there", run("sacctmgr", "-i", "modify", "account", "physics", "where", "cluster=foo", "set", "maxjobs=1"), 1, "Nothing modified")
    checks.says("add wckey", run("sacctmgr", "-i", "add", "wckey", "k", "user=root"), 1, "modify user NAME set wckeys+=KEY")
    checks.says("help", run("sacctmgr", "help"), 0, "add account physics fairshare=10")
    done = run("sacctmgr", "-i", "modify", "user", "nobody", "set", "defaultaccount=physics", identity=NOBODY)
    checks.says("a user chooses his default account", done, 0, "Modified users")
    checks.says("and nothing else", run("sacctmgr", "-i", "modify", "user", "nobody", "set", "maxjobs=5", identity=NOBODY), 1, "Access/permission denied")
    checks.says("a default account stays", run("sacctmgr", "-i", "delete", "user", "nobody", "account=physics"), 1, "Error with request: You can not remove the default account of a user", "C = test A = physics U = nobody")
    job = str(cluster.submit("-H", "-A", "physics", "--wrap", "true"))
    checks.says("jobs are in the way", run("sacctmgr", "-i", "delete", "account", "physics"), 1, f"JobID = {job} C = test A = physics U = root")
    run("scancel", job)
    added = run("sacctmgr", "-i", "add", "account", "zz", "maxjobs=5", "grptres=cpu=3")
    checks.that("what adding an account says", added.out == " Adding Account(s)\n  zz\n Settings\n  Description     = Account Name\n  Organization    = Parent/Account Name\n Associations\n"
                "  A = zz         C = test      \n Settings\n  MaxJobs       = 5\n  GrpTRES       = cpu=3\n", added)
    added = run("sacctmgr", "-i", "add", "user", "daemon", "account=zz,optics", "defaultaccount=optics", "adminlevel=operator", "fairshare=2")
    checks.that("and a user", added.out == " Adding User(s)\n  daemon\n Settings =\n  Default Account = optics\n  Admin Level     = operator\n Associations =\n"
                "  U = daemon    A = zz         C = test      \n  U = daemon    A = optics     C = test      \n Non Default Settings\n  Fairshare     = 2\n", added)
    book = cluster.directory / "book2"
    run("sacctmgr", "dump", "test", f"file={book}")
    checks.that("dump keeps levels and defaults", "User - 'daemon':DefaultAccount='optics':AdminLevel='Operator'" in book.read_text(), book.read_text())
    run("sacctmgr", "-i", "delete", "user", "daemon")
    run("sacctmgr", "-i", "modify", "cluster", "set", "grpjobs=3")
    checks.says("load brings it all back", run("sacctmgr", "-i", "load", f"file={book}"), 0)
    checks.that("the user", run("sacctmgr", "-nP", "show", "user", "daemon", "format=User,DefaultAccount,AdminLevel").out == "daemon|optics|Operator\n", run("sacctmgr", "-nP", "show", "user", "daemon"))
    checks.that("the cluster", run("sacctmgr", "-nP", "show", "cluster", "format=GrpJobs").out == "500\n")
    shares = run("sshare", "-a", "-nP", "-o", "Account,User,Cluster,NormShares").out.splitlines()
    used = run("sshare", "-nP", "-o", "GrpTRESRaw").out.splitlines()[0]
    checks.that("budgets read minutes of every resource", [pair.split("=")[0] for pair in used.split(",")] == ["cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"], used)
    checks.that("the root shares with nobody", shares[0] == "root||test|0.000000", shares)


def test_waiting(checks, cluster):
    """Who is listed by sprio and counted by sdiag."""
    run = cluster.run
    full = cluster.submit("-N", str(len(cluster.nodes)), "--exclusive", "-t", "5", "-o", "/dev/null", "--wrap", "sleep 600")
    wait_for_state(cluster, full, "RUNNING")
    both = str(cluster.submit("-p", "all,short", "-N", str(len(cluster.nodes)), "--exclusive", "-t", "5", "--wrap", "true"))
    held = str(cluster.submit("-H", "--wrap", "true"))
    later = str(cluster.submit("--begin=now+1hour", "--wrap", "true"))
    waits = str(cluster.submit("-d", f"afterok:{full}", "--wrap", "true"))
    rows_of = lambda *words: sorted(line.split() for line in run("sprio", "-h", "-o", "%i %r %P", *words).out.splitlines())
    wait_for("it waits", lambda: rows_of("-j", both))
    checks.that("a row for each partition", rows_of("-j", both) == [[both, "all", "100"], [both, "short", "1000"]] and rows_of("-p", "short") == [[both, "short", "1000"]], rows_of())
    checks.that("who does not compete is not there", not {held, later, waits} & {row[0] for row in rows_of()}, rows_of())
    checks.says("sprio --helpformat", run("sprio", "--helpformat"), 0, "%F  FAIRSHARE")
    pending = lambda: int(run("sdiag").out.split("Jobs pending:")[1].split()[0])
    before = pending()
    array = str(cluster.submit("--array=1-10", "-H", "--wrap", "true"))
    checks.that("sdiag counts the tasks of an array", pending() == before + 10, (before, pending()))
    run("scancel", array)
    checks.that("and cancelled ones no more", pending() == before, (before, pending()))
    for job in (str(full), both, held, later, waits):
        run("scancel", job)
    killed = cluster.submit("-t", "5", "-o", "/dev/null", "--wrap", "kill -9 $$")
    wait_for_state(cluster, killed, "FAILED")
    states = rows(cluster, "-j", str(killed), "-o", "JobID,State,ExitCode")
    checks.that("a script that died of a signal", states == [[str(killed), "FAILED", "0:9"], [f"{killed}.batch", "CANCELLED", "0:9"]], states)
    checks.that("and its reason", rows(cluster, "-X", "-j", str(killed), "-o", "Reason") == [["RaisedSignal:9(Killed)"]], rows(cluster, "-X", "-j", str(killed), "-o", "Reason"))

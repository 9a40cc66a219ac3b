"""What users leave with the controller: jobs of scrontab that come again, and programs of strigger, also through a killed controller.
"""

import re

from cluster import Cluster, limit, wait_for

CRONTAB = """# mine
COLOUR=green
#SCRON --mem=50 -t 1
#SCRON -o {directory}/again.out -J again
@yearly echo $COLOUR $SLURM_JOB_ID $SLURM_RESTART_COUNT; while [ ! -e {directory}/go ]; do sleep 0.1; done
@monthly /bin/true
"""


def make_cluster(build, directory):
    return Cluster(build, directory, settings=["ScronParameters=enable", f"SlurmdTimeout={limit(300):.0f}"])


def start_again(cluster):
    cluster.start_controller()
    cluster.wait_for_controller()


def test_crontabs(checks, cluster):
    wait_for("an empty queue", lambda: cluster.run("squeue", "-h").out == "")
    done = cluster.run("scrontab", "-l")
    checks.says("nobody has a crontab at first", done, 1, "no crontab for root")
    file = cluster.directory / "crontab"
    file.write_text(CRONTAB.format(directory=cluster.directory))
    done = cluster.run("scrontab", file)
    checks.that("a file is taken", done.code == 0 and cluster.run("scrontab", "-l").out == file.read_text(), done)
    rows = cluster.run("squeue", "-h", "-O", "JobID:.10 ,Name:.12 ,State:.12 ,Reason:.14 ,CronJob:.4").out.splitlines()
    checks.that("its entries are jobs that wait for their time", len(rows) == 2 and all("BeginTime" in row and "Yes" in row for row in rows), rows)
    job = next(row.split()[0] for row in rows if " again" in row)
    shown = cluster.run("scontrol", "show", "job", job).out
    checks.that("scontrol shows the times", 'CronJob=Yes CrontabSpec="@yearly"' in shown, shown)
    done = cluster.run("scancel", job)
    checks.says("scancel alone does not end them", done, 1, "Cannot cancel scrontab jobs without --cron flag")
    done = cluster.run("scancel", "-u", "root")
    checks.that("nor does a filter", done.code == 0 and len(cluster.run("squeue", "-h").out.splitlines()) == 2, done)
    bad = cluster.run("scrontab", "-", stdin="0 0 * * * true\n61 * * * * false\n")
    checks.says("a wrong line is named", bad, 1, "line 2", "'61' is no minute", "numbers from 0 to 59")
    for what, text, words in (("cannot be met", "#SCRON --mem=2P\n0 0 * * * true\n", "line 2"), ("has no sense here", "#SCRON --array=1-2\n@daily true\n", "without --array"),
                              ("is not one of sbatch", "#SCRON --colour=red\n@daily true\n", "line 2")):
        bad = cluster.run("scrontab", "-", stdin=text)
        checks.that(f"so is an option that {what}", bad.code == 1 and words in bad.err, bad)
    bad = cluster.run("scrontab", stdin="")
    checks.that("without a word nothing is read, and nothing of this changed it", bad.code != 0 and cluster.run("scrontab", "-l").out == file.read_text(), bad)

    # It need not be waited for: an administrator can have it eligible at once. It ends while there is no controller.
    output = cluster.directory / "again.out"
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    wait_for("the first run", lambda: output.exists() and output.read_text())
    cluster.controller.kill()
    (cluster.directory / "go").write_text("")
    start_again(cluster)

    def waits():
        fields = cluster.job(job)
        return fields if fields.get("JobState") == "PENDING" and fields.get("Reason") == "BeginTime" else None
    fields = wait_for("the job waits for its next time", waits)
    checks.that("through a killed controller it comes again, at its time", fields["StartTime"].endswith("-01-01T00:00:00") and fields["Restarts"] == "1", fields)
    checks.that("and so does the crontab", cluster.run("scrontab", "-l").out == file.read_text())
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    wait_for("the second run and the wait after it", lambda: len(output.read_text().splitlines()) >= 2 and waits())
    checks.that("it has the file's variables, and its number each time", output.read_text().splitlines() == [f"green {job} 0", f"green {job} 1"], output.read_text())
    done = cluster.run("scancel", "--cron", job)
    text = wait_for("the line of a cancelled job is switched off", lambda: (lambda text: text if "#DISABLED" in text else None)(cluster.run("scrontab", "-l").out))
    checks.that("scancel --cron switches its line off, with its options", done.code == 0 and text.count("#DISABLED: ") == 3 and "\n@monthly" in text, (done, text))
    done = cluster.run("scrontab", "-r")
    checks.that("-r removes it and its jobs", done.code == 0 and cluster.run("squeue", "-h").out == "", done)
    done = cluster.run("scrontab", "-e", EDITOR="sh -c 'echo \"@daily true\" > $0'")
    checks.that("-e gives it to an editor", done.code == 0 and cluster.run("scrontab", "-l").out == "@daily true\n", done)
    other = cluster.run("scrontab", "-l", "-u", "root", identity=(65534, 65534, []), cwd="/")
    checks.says("nobody sees another's", other, 1, "denied")
    cluster.run("scrontab", "-r")
    done = cluster.run("scrontab", "-u", "nobody", "-", stdin="@yearly id -un; id -gn\n")
    theirs = cluster.run("squeue", "-h", "-o", "%u %g").out
    checks.that("an administrator sets another's, as that user and group", done.code == 0 and theirs == "nobody nogroup\n" and cluster.run("scrontab", "-r", "-u", "nobody").code == 0, (done, theirs))


def test_triggers(checks, cluster):
    told = cluster.directory / "told"
    program = cluster.directory / "tell"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {told}\n")
    program.chmod(0o755)
    told.write_text("")

    def waits_for(line):
        return wait_for(f"the program told of {line}", lambda: line in told.read_text().splitlines())
    for event in ("--drained", "--resume"):
        done = cluster.run("strigger", "--set", "--node=n1", event, "--offset=1" if event == "--drained" else "--offset=0", f"--program={program} {event[2:]}")
        checks.that(f"{event} is set", done.code == 0, done)
    done = cluster.run("strigger", "--set", "--node=n1", "--resume", f"--program={program} resume")
    checks.says("the same again is refused", done, 1, "slurm_set_trigger: Duplicate event trigger")
    listed = cluster.run("strigger", "--get").out
    checks.that("--get lists them", listed.startswith("TRIG_ID RES_TYPE   RES_ID TYPE") and re.search(r"^ +\d+ node +n1 drained +1 root +/", listed, re.M), listed)
    job = cluster.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000")
    cluster.wait_for_job(job, ("RUNNING",))
    cluster.run("strigger", "--set", f"--jobid={job}", "--fini", f"--program={program} fini")
    cluster.run("strigger", "--set", "--reconfig", "--flags=perm", f"--program={program}")
    cluster.run("strigger", "--set", "--primary_slurmctld_resumed_operation", f"--program={program}")
    cluster.controller.kill()
    start_again(cluster)
    waits_for("primary_slurmctld_resumed_operation")
    checks.that("a killed controller keeps them", len(cluster.run("strigger", "--get", "-N").out.splitlines()) == 4)
    cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
    waits_for("drained n1")
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    waits_for("resume n1")
    cluster.run("scancel", job)
    waits_for(f"fini {job}")
    for _ in range(2):
        before = told.read_text().count("reconfig")
        cluster.run("scontrol", "reconfigure")
        wait_for("the program told of a reconfiguration", lambda: told.read_text().count("reconfig") > before)
    left = cluster.run("strigger", "--get", "-N").out
    checks.that("each was run once, and the permanent one stays", left.count("\n") == 1 and "PERM" in left and told.read_text().count("drained n1") == 1, (left, told.read_text()))
    done = cluster.run("strigger", "--clear", "--user=root")
    checks.that("--clear takes it back", done.code == 0 and cluster.run("strigger", "--get", "-N").out == "", done)
    for what, words, code, says in (("an event is missing", ["--set", "--program=/bin/true"], 255, "one event"), ("a path is not absolute", ["--set", "--down", "--program=x"], 255, "absolute"),
                                    ("a job is unknown", ["--set", "--jobid=9999", "--fini", "--program=/bin/true"], 1, "Invalid job id"), ("nothing matches", ["--clear", "--id=77"], 1, "no trigger")):
        done = cluster.run("strigger", *words)
        checks.that(f"{what}: said", done.code != 0 and says in done.err, done)
    done = cluster.run("strigger", "--set", "--down", "--program=/bin/true", identity=(65534, 65534, []), cwd="/")
    checks.says("users set none", done, 1, "denied")
    done = cluster.run("strigger", "--set", "--backup_slurmctld_failure", "--program=/bin/true")
    checks.that("what cannot happen here is refused by name", done.code != 0 and "no standby" in done.err, done)
    cluster.wait_for_nodes()


def test_triggers_of_users(checks, cluster):
    user = (65534, 65534, [])
    place = cluster.directory / "theirs"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    program = place / "tell"
    program.write_text(f"#!/bin/sh\necho $(id -u):$(id -g) in $(pwd) \"$@\" >> {place}/told\n")
    program.chmod(0o755)
    old = cluster.configuration.read_text()
    cluster.configuration.write_text(old + "SlurmctldParameters=allow_user_triggers\n")
    cluster.run("scontrol", "reconfigure")
    ours = cluster.submit("-o", "/dev/null", "--wrap", "sleep 1000")
    theirs = cluster.submit("-o", "/dev/null", "--wrap", "sleep 1000", identity=user, cwd="/")
    cluster.wait_for_job(theirs, ("RUNNING",))

    def set_one(*words):
        return cluster.run("strigger", "--set", *words, f"--program={program}", identity=user, cwd="/")
    checks.says("a user's trigger about another's job is refused", set_one(f"--jobid={ours}", "--fini"), 1, "denied", "another user's")
    checks.says("and about the controller", set_one("--reconfig"), 1, "denied", "an administrator's")
    checks.that("about the own job it is set", set_one(f"--jobid={theirs}", "--fini").code == 0)
    checks.that("and about nodes", set_one("--node=n1", "--drained").code == 0)
    cluster.run("strigger", "--set", "--node=n2", "--down", "--program=/bin/true")
    done = cluster.run("strigger", "--clear", "--user=root", identity=user, cwd="/")
    checks.says("others' are not theirs to clear", done, 1, "no trigger matches")
    cluster.run("scancel", theirs)
    wait_for("the program as its user", lambda: (place / "told").exists() and f"65534:65534 in / {theirs}" in (place / "told").read_text())
    checks.that("it ran as the user, once", (place / "told").read_text() == f"65534:65534 in / {theirs}\n", (place / "told").read_text())
    done = cluster.run("strigger", "--clear", "--user=nobody", identity=user, cwd="/")
    left = cluster.run("strigger", "--get", "-N").out
    checks.that("their own are", done.code == 0 and left.count("\n") == 1 and "root" in left, (done, left))
    cluster.run("strigger", "--clear", "--user=root")
    cluster.run("scancel", ours)
    cluster.configuration.write_text(old)
    cluster.run("scontrol", "reconfigure")
    cluster.wait_for_nodes()


def test_without_permission(checks, cluster):
    old = cluster.configuration.read_text()
    cluster.configuration.write_text(old.replace("ScronParameters=enable\n", ""))
    cluster.run("scontrol", "reconfigure")
    for words in (["-l"], ["-r"]):
        checks.says(f"scrontab {words[0]} is refused where it is not allowed", cluster.run("scrontab", *words), 1, "scrontab is disabled on this cluster")
    cluster.configuration.write_text(old)
    cluster.run("scontrol", "reconfigure")

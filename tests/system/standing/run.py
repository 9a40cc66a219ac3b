#!/usr/bin/env python3
"""What users leave with the controller: jobs of scrontab that come again, and programs of strigger, also through a killed controller.

    tests/system/standing/run.py --build build/dev
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from cluster import Cluster, run_test, wait_for

CRONTAB = """# mine
COLOUR=green
#SCRON --mem=50 -t 1
#SCRON -o {directory}/often.out -J often
* * * * * echo $COLOUR $SLURM_JOB_ID $SLURM_RESTART_COUNT
@yearly /bin/true
"""


def crontabs(cluster, checks):
    done = cluster.run("scrontab", "-l")
    checks.says("nobody has a crontab at first", done, 1, "no crontab for root")
    file = cluster.directory / "crontab"
    file.write_text(CRONTAB.format(directory=cluster.directory))
    done = cluster.run("scrontab", file)
    checks.that("a file is taken", done.code == 0 and cluster.run("scrontab", "-l").out == file.read_text(), done)
    rows = cluster.run("squeue", "-h", "-O", "JobID:.10 ,Name:.12 ,State:.12 ,Reason:.14 ,CronJob:.4").out.splitlines()
    checks.that("its entries are jobs that wait for their time", len(rows) == 2 and all("BeginTime" in row and "Yes" in row for row in rows), rows)
    job = next(row.split()[0] for row in rows if " often" in row)
    shown = cluster.run("scontrol", "show", "job", job).out
    checks.that("scontrol shows the times", 'CronJob=Yes CrontabSpec="* * * * *"' in shown, shown)
    done = cluster.run("scancel", job)
    checks.says("scancel alone does not end them", done, 1, "Cannot cancel scrontab jobs without --cron flag")
    bad = cluster.run("scrontab", "-", stdin="0 0 * * * true\n61 * * * * false\n")
    checks.says("a wrong line is named and nothing is changed", bad, 1, "line 2", "minute")
    bad = cluster.run("scrontab", "-", stdin="#SCRON --mem=2P\n0 0 * * * true\n")
    checks.that("so is an option that cannot be met", bad.code == 1 and "line 2" in bad.err and cluster.run("scrontab", "-l").out == file.read_text(), bad)
    # It need not be waited for: an administrator can have it eligible at once.
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    output = cluster.directory / "often.out"
    wait_for("the first run", lambda: output.exists() and output.read_text())
    checks.that("a job has the file's variables", output.read_text().splitlines()[-1].startswith(f"green {job}"), output.read_text())
    waits = wait_for("the job waits for its next time", lambda: (lambda f: f if f.get("JobState") == "PENDING" and f.get("Reason") == "BeginTime" else None)(cluster.job(job)))
    checks.that("at the next full minute", waits["StartTime"].endswith(":00"), waits)
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    checks.that("a killed controller keeps it", cluster.run("scrontab", "-l").out == file.read_text() and cluster.job(job).get("JobState") == "PENDING", cluster.job(job))
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    wait_for("the second run", lambda: len(output.read_text().splitlines()) >= 2)
    wait_for("its next wait", lambda: cluster.job(job).get("JobState") == "PENDING")
    done = cluster.run("scancel", "--cron", job)
    text = cluster.run("scrontab", "-l").out
    checks.that("scancel --cron switches its line off", done.code == 0 and "#DISABLED: * * * * *" in text and "\n@yearly" in text, (done, text))
    done = cluster.run("scrontab", "-r")
    checks.that("-r removes it and its jobs", done.code == 0 and cluster.run("squeue", "-h").out == "", done)
    done = cluster.run("scrontab", "-e", EDITOR=f"cp {file}")
    checks.that("-e gives it to an editor", cluster.run("scrontab", "-e", EDITOR="sh -c 'echo \"@daily true\" > $0'").code == 0 and cluster.run("scrontab", "-l").out == "@daily true\n", done)
    if True:
        other = cluster.run("scrontab", "-l", "-u", "root", identity=(65534, 65534, []), cwd="/")
        checks.that("nobody sees another's", other.code == 1 and "denied" in other.err, other)
    cluster.run("scrontab", "-r")


def triggers(cluster, checks):
    told = cluster.directory / "told"
    program = cluster.directory / "tell"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {told}\n")
    program.chmod(0o755)
    told.write_text("")

    def waits_for(line):
        return wait_for(f"the program told of {line}", lambda: line in told.read_text().splitlines())
    for event in ("--drained", "--resume"):
        done = cluster.run("strigger", "--set", "--node=n1", event, f"--program={program} {event[2:]}")
        checks.that(f"{event} is set", done.code == 0, done)
    done = cluster.run("strigger", "--set", "--node=n1", "--drained", f"--program={program} drained")
    checks.says("the same again is refused", done, 1, "slurm_set_trigger: Duplicate event trigger")
    listed = cluster.run("strigger", "--get").out
    checks.that("--get lists them", listed.startswith("TRIG_ID RES_TYPE   RES_ID TYPE") and re.search(r"^ +1 node +n1 drained +0 root +/", listed, re.M), listed)
    job = cluster.submit("-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000")
    cluster.wait_for_job(job, ("RUNNING",))
    cluster.run("strigger", "--set", f"--jobid={job}", "--fini", f"--program={program} fini")
    cluster.run("strigger", "--set", "--reconfig", "--flags=perm", f"--program={program}")
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    cluster.wait_for_nodes("idle") if False else wait_for("both nodes", lambda: len(cluster.node_states()) == 2)
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


def body(build, checks, directory, clusters):
    cluster = Cluster(build, directory, settings=["ScronParameters=enable", "SlurmdTimeout=300"])
    clusters.append(cluster)
    cluster.start()
    crontabs(cluster, checks)
    triggers(cluster, checks)
    cluster.must_live()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path, help="a build folder, or an installed prefix")
    arguments = parser.parse_args()
    sys.exit(run_test("standing", lambda checks, directory, clusters: body(arguments.build, checks, directory, clusters)))

"""Names, paths, arguments and variables are bytes: a job with any of them runs, and what is shown of it is safe for a terminal."""

import json
import os
import subprocess

import pytest

from cluster import wait_for

pytestmark = pytest.mark.order(20)

ODD = os.fsdecode(bytes(range(0x80, 0x100)))  # 128 bytes, no UTF-8
EVIL = "evil\x1b[2J\rJobId=9\nJobId=7 UserId=root\x7f\x9b31m"


def raw(cluster, name, *arguments):
    return subprocess.run([cluster.bin / name, *map(str, arguments)], env=cluster.environment, cwd=cluster.directory, capture_output=True).stdout


def is_safe(output):
    return all(byte in (9, 10) or 32 <= byte < 127 for byte in output)


def test_bytes_that_are_no_utf8(checks, cluster, directory):
    folder = directory / ODD
    folder.mkdir()
    script = folder / "job.sh"
    script.write_text('#!/bin/sh\nprintf %s "$1" > argument\nprintf %s "$ODD" > variable\nprintf %s "$SLURM_JOB_NAME" > name\necho done\n')
    done = cluster.run("sbatch", "--parsable", "-J", ODD, "-D", folder, "-o", ODD + ".out", "--comment", ODD, script, ODD, ODD=ODD)
    checks.that("it is accepted without a word of protobuf", done.code == 0 and done.err == "", done)
    job = int(done.out.split(";")[0])
    checks.that("it runs", cluster.wait_for_job(job)["JobState"] == "COMPLETED", cluster.job(job))
    for name in ("argument", "variable", "name"):
        checks.that(f"its {name} is what was given, byte by byte", (folder / name).read_bytes() == os.fsencode(ODD), (folder / name).read_bytes())
    checks.that("its output is where it was wanted", wait_for("output", lambda: (folder / (ODD + ".out")).exists() and (folder / (ODD + ".out")).read_text() == "done\n"))
    for command in (("squeue", "-t", "all", "-j", job, "-o", "%i %j %Z %k"), ("scontrol", "show", "job", job), ("sacct", "-P", "-j", job, "-o", "jobid,jobname,workdir,comment")):
        out = raw(cluster, *command)
        checks.that(f"{command[0]} shows it escaped", b"\\x80\\x81" in out and b"\\xfe\\xff" in out and is_safe(out), out[-400:])
    shown = json.loads(raw(cluster, "squeue", "-t", "all", "-j", job, "--json"))
    checks.that("JSON is UTF-8, with replacements", shown["jobs"][0]["name"] == "\ufffd" * 128, shown["jobs"][0]["name"])
    held = cluster.submit("-H", "-o", "/dev/null", "--wrap", "true")
    checks.says("scontrol update takes them", cluster.run("scontrol", "update", f"jobid={held}", f"name={ODD}"), 0)
    checks.that("scancel finds it by its name", cluster.run("scancel", "-n", ODD).code == 0 and cluster.wait_for_job(held)["JobState"] == "CANCELLED")


def test_srun_passes_any_bytes(checks, cluster):
    done = subprocess.run([cluster.bin / "srun", "-J", ODD, "printf", "%s", ODD], env={**cluster.environment, "ODD": ODD}, cwd=cluster.directory, capture_output=True)
    checks.that("srun runs a program with any argument", done.returncode == 0 and done.stdout == os.fsencode(ODD), done)


def test_controls_never_reach_a_terminal(checks, cluster):
    job = cluster.submit("-H", "-J", EVIL, "--comment", EVIL, "-o", "/dev/null", "--wrap", "true")
    commands = (("squeue", "-o", "%i %j %k"), ("squeue", "-O", "name:200,comment:200"), ("scontrol", "show", "job"), ("scontrol", "-o", "show", "job"),
                ("sacct", "-n", "-o", "jobname%200"), ("sacct", "-P", "-o", "jobname,comment"), ("sprio", "-l"), ("qstat",), ("qstat", "-f"),
                ("bjobs", "-w"), ("bjobs", "-l"), ("smap", "-c", "-D", "j"), ("millrace", "why", job), ("squeue", "--json"), ("squeue", "--yaml"))
    for command in commands:
        out = raw(cluster, *command)
        checks.that(f"{' '.join(map(str, command))}: nothing that moves a cursor", is_safe(out), out[-600:])
        checks.that(f"{' '.join(map(str, command))}: no line that the name made up", not any(line.strip().startswith(b"JobId=7 UserId=root") for line in out.splitlines()), out[-600:])
    cluster.run("scancel", job)
    cluster.wait_for_job(job)
    log = (cluster.directory / "logs" / "controller.log").read_text(errors="replace")
    checks.that("nor a line of the log", not any(line.startswith("JobId=7") for line in log.splitlines()) and "\x1b" not in log)


def test_fields_that_are_too_long_are_named(checks, cluster):
    checks.says("a job name", cluster.run("sbatch", "-J", "n" * 1025, "-o", "/dev/null", "--wrap", "true"), 1, "too long", "name has 1025 bytes", "1024")
    checks.says("a comment", cluster.run("sbatch", "--comment", "c" * 2000, "-o", "/dev/null", "--wrap", "true"), 1, "too long", "comment")
    job = cluster.submit("-H", "-o", "/dev/null", "--wrap", "true")
    checks.says("in an update", cluster.run("scontrol", "update", f"jobid={job}", "comment=" + "c" * 3000), 1, "too long", "comment")
    cluster.run("scancel", job)

"""Commands whose recordings need running daemons: messages, exit codes, notes in a job's output, and what the listings print as data.
Numbers of jobs and processes, times, hosts and paths are made alike before they are compared; where the recordings are not there,
our own expectations are.
"""

import json
import re
from pathlib import Path

from cluster import run_command, wait_for

RECORDINGS = Path(__file__).resolve().parents[3] / "shared" / "compat" / "golden"
NOBODY = (65534, 65534, ())


def alike(text, cluster=None, job=None):
    """What differs between any two runs, as words."""
    if job is not None:
        text = re.sub(rf"\b{job}\b", "86", text)
    if cluster is not None:
        text = text.replace("n[1-4]", "c[1-4]")
        text = re.sub(r"\bn([1-4])\b", r"c\1", text)
        text = text.replace(str(cluster.directory), "DIRECTORY")
    text = re.sub(r"/tmp/golden\.\w+", "DIRECTORY", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", "TIME", text)
    text = re.sub(r"Slurmctld\(primary\) at \S+", "Slurmctld(primary) at HOST", text)
    return re.sub(r"slurm \d+\.\d+\.\d+\S*", "slurm VERSION", text)


def recorded(name, otherwise):
    """(output, exit code) of a recording, or what we know of it."""
    path = RECORDINGS / f"{name}.txt"
    if not path.exists():
        return otherwise
    lines = path.read_text().splitlines(keepends=True)
    code = int(lines[-1].removeprefix("# rc=")) if lines[-1].startswith("# rc=") else 0
    return "".join(line for line in lines[1 if lines[0].startswith("$") else 0:] if not line.startswith("# rc=")), code


def same(checks, name, cluster, done, otherwise, job=None):
    text, code = recorded(name, otherwise)
    ours = alike(done.out + done.err, cluster, job)
    checks.that(f"{name} as recorded", ours == alike(text) and done.code == code, f"exit {done.code}, wanted {code}\nours:   {ours!r}\ntheirs: {alike(text)!r}")


def test_messages(checks, cluster):
    unknown = "slurm_load_jobs error: Invalid job id specified\n"
    same(checks, "squeue-bad", cluster, cluster.run("squeue", "-j", "99999999"), (unknown, 1))
    same(checks, "scontrol-bad", cluster, cluster.run("scontrol", "show", "job", "99999999"), (unknown, 1))
    same(checks, "scancel-bad", cluster, cluster.run("scancel", "99999999"), ("", 0))
    same(checks, "scontrol-ping", cluster, cluster.run("scontrol", "ping"), ("Slurmctld(primary) at HOST is UP\n", 0))
    same(checks, "scontrol-version", cluster, cluster.run("scontrol", "--version"), ("slurm VERSION\n", 0))
    same(checks, "scontrol-show-hostnames", cluster, cluster.run("scontrol", "show", "hostnames", "c[1-4]"), ("c1\nc2\nc3\nc4\n", 0))
    same(checks, "scontrol-show-lic", cluster, cluster.run("scontrol", "show", "lic"), ("No licenses configured in Slurm.\n", 0))
    same(checks, "scontrol-show-res", cluster, cluster.run("scontrol", "show", "reservation"), ("No reservations in the system\n", 0))
    two = cluster.run("squeue", "-h", "-j", "99999998,99999999")
    checks.that("two unknown ids are no error", two.code == 0 and two.out + two.err == "", two)


def test_small_commands(checks, cluster):
    run = cluster.run
    checks.says("errnumstr", run("scontrol", "errnumstr", "2017"), 0, "Invalid job id specified")
    checks.says("getaddrs", run("scontrol", "getaddrs", "n1"), 0, "n1: ")
    checks.says("gethost of nobody", run("scontrol", "gethost", "nobody"), 1, "Node nobody not found")
    checks.says("setdebug of nonsense", run("scontrol", "setdebug", "loud"), 1, "invalid debug level")
    checks.says("takeover", run("scontrol", "takeover"), 1, "no backup controller")
    checks.says("token", run("scontrol", "token"), 1, "Error fetching token: Token Generation failed.")
    checks.says("daemons", run("scontrol", "show", "daemons"), 0, "slurmctld")
    checks.says("assoc_mgr", run("scontrol", "show", "assoc_mgr", "flags=assoc"), 0, "Association Records")
    checks.says("burst buffers", run("scontrol", "show", "burstbuffer"), 0, "No burst buffer information available")
    checks.says("--uid", run("scontrol", "--uid=1", "ping"), 1, "sudo")
    lines = run("scontrol", stdin="version\n!!\noneliner\nshow partition all\nnonsense\nquit\nversion\n")
    checks.that("lines of commands", lines.out.count("slurm ") == 2 and "PartitionName=all AllowGroups" in lines.out and lines.code == 1, lines)
    written = cluster.directory / "written.conf"
    checks.says("write config", run("scontrol", "write", "config", str(written)), 0, "Slurm config saved to")
    check = run("millrace", "check", str(written))
    checks.that("what was written can be read", check.code == 0 and " 0 errors" in check.out and f"{len(cluster.nodes)} nodes, 1 partitions" in check.out, check)


def test_listing_options(checks, cluster):
    run = cluster.run
    checks.that("-M with our name", run("squeue", "-h", "-M", "test").out.startswith("CLUSTER: test\n"))
    checks.says("-M with another", run("squeue", "-M", "elsewhere"), 1, "'elsewhere' can't be reached now, or it is an invalid entry for --cluster.")
    checks.says("-M of sinfo", run("sinfo", "-M", "all"), 0, "CLUSTER: test")
    checks.says("helpformat", run("squeue", "--helpformat"), 0, "JobArrayId", "WorkDir")
    checks.says("helpstate", run("sinfo", "--helpstate"), 0, "DRAINED")
    checks.says("a state nobody knows", run("squeue", "-t", "nonsense"), 1, "Invalid job state specified: nonsense")
    checks.says("reservations of sinfo", run("sinfo", "-T"), 0, "No reservations in the system")
    checks.says("iterate needs a number", run("squeue", "-i", "soon"), 1, "--iterate=soon")
    checks.says("parsers", run("squeue", "--json=list"), 0, "data_parser/v0.0.46")
    checks.says("a parser nobody knows", run("sinfo", "--json=v0.0.1"), 1, "data_parser/v0.0.1")
    completion = cluster.directory / "completion.bash"
    completion.write_text(run("millrace", "completion", "bash").out)
    ask = f"source {completion}; COMP_WORDS=(squeue --par); COMP_CWORD=1; _millrace; echo ${{COMPREPLY[@]}}; COMP_WORDS=(squeue -p ''); COMP_CWORD=2; _millrace; echo ${{COMPREPLY[@]}}"
    offered = run_command(["bash", "-c", ask], {**cluster.environment, "PATH": f"{cluster.bin}:/usr/bin:/bin"})
    checks.that("bash completes options and partitions", offered.out == "--partition=\nall\n", offered)


def check_data(checks, cluster, job):
    def data(*words):
        done = cluster.run(*words)
        try:
            return json.loads(done.out)
        except ValueError as problem:
            checks.that(f"{' '.join(words)} prints JSON", False, f"{problem}: {done}")
            return {}

    queue = data("squeue", "--json", "-j", str(job))
    jobs = queue.get("jobs", [])
    checks.that("squeue --json keeps to -j", len(jobs) == 1 and jobs[0]["job_id"] == job and jobs[0]["job_state"] == ["RUNNING"], str(queue)[:400])
    checks.that("what was asked stands in it", queue.get("meta", {}).get("command") == ["squeue", "--json", "-j", str(job)])
    nodes = jobs[0]["job_resources"]["nodes"] if jobs and jobs[0]["job_resources"] else {}
    checks.that("where its processors lie", nodes.get("list") == "n1" and nodes["allocation"][0]["sockets"], nodes)
    checks.that("filters hold", data("squeue", "--json", "--name", "nobody").get("jobs") == [])
    shown = data("scontrol", "show", "job", str(job), "--json").get("jobs", [{}])
    checks.that("scontrol shows the same record", jobs and set(shown[0]) == set(jobs[0]))
    checks.that("patterns and what became of them", shown[0].get("standard_output", "").endswith("%j.out") and shown[0].get("stdout_expanded", "").endswith(f"{job}.out"), shown[0])
    for entity, key in (("node", "nodes"), ("partition", "partitions"), ("reservation", "reservations"), ("step", "steps"), ("lic", "licenses")):
        checks.that(f"show {entity} --json", isinstance(data("scontrol", "show", entity, "--json").get(key), list))
    checks.that("ping --json", data("scontrol", "ping", "--json").get("pings", [{}])[0].get("pinged") == "UP")
    checks.that("sinfo --json", sum(len(each["nodes"]["nodes"]) for each in data("sinfo", "--json").get("sinfo", [])) == len(cluster.nodes))
    for words, key in ((("sacctmgr", "show", "qos", "--json"), "qos"), (("sacctmgr", "--json", "show", "assoc"), "associations"), (("sshare", "-a", "--json"), "shares")):
        checks.that(" ".join(words), key in data(*words))
    yaml = cluster.run("squeue", "--yaml").out
    checks.that("squeue --yaml", yaml.startswith("---\njobs:\n- account:") and "\nmeta:\n" in yaml, yaml[:300])


def test_running_job(checks, cluster):
    """One job for all that needs one: its processes, a line for it, its script, its data, its end."""
    script = cluster.directory / "g.sh"
    text = "#!/bin/bash\n#SBATCH -J gold -w n1 -o g.%j.out\nsleep 1000 & echo up > ready; wait\n"
    script.write_text(text)
    ready = cluster.directory / "ready"
    job = cluster.submit(script, "-t", "10")
    wait_for("the script runs", ready.exists)
    output = cluster.directory / f"g.{job}.out"

    pids = cluster.run("scontrol", "listpids", str(job), "n1").out.splitlines()
    theirs, _ = recorded("scontrol-listpids", ("PID      JOBID    STEPID   LOCALID GLOBALID\n", 0))
    shape = r"\d+ +86 +batch    (0       0|-       -)        "
    checks.that("scontrol-listpids as recorded", pids[0] == theirs.splitlines()[0] and all(re.fullmatch(shape, alike(line, job=job)) for line in pids[1:]) and len(pids) >= 2, pids)
    pid = pids[1].split()[0]
    checks.says("pidinfo", cluster.run("scontrol", "pidinfo", pid, SLURMD_NODENAME="n1"), 0, f"Slurm JobId={job} ends at", "slurm_get_rem_time is")
    checks.says("pidinfo of a stranger", cluster.run("scontrol", "pidinfo", "1", SLURMD_NODENAME="n1"), 1, "slurm_pid2jobid error")

    checks.says("notify by a stranger", cluster.run("scontrol", "notify", str(job), "hello", identity=NOBODY), 1, "Access/permission denied")
    checks.says("notify", cluster.run("scontrol", "notify", str(job), "the", "filesystem", "goes", "down"), 0)
    wait_for("the line in the output", lambda: output.exists() and "slurmstepd: error: the filesystem goes down\n" in output.read_text())
    checks.says("notify of nothing", cluster.run("scontrol", "notify", "99999999", "hello"), 1, "Invalid job id specified")

    # The recording "scontrol-write" is its own script, and nothing else.
    checks.that("scontrol-write: the script itself", cluster.run("scontrol", "write", "batch_script", str(job), "-").out == text)
    checks.that("running over and under", cluster.run("squeue", "-h", "-o", "%i", "--running-under", "3600").out.split() == [str(job)]
                and cluster.run("squeue", "-h", "-o", "%i", "--running-over", "3600").out == "")
    check_data(checks, cluster, job)

    first = cluster.submit("-H", "--wrap", "true")
    held = cluster.run("scontrol", "top", str(first))
    checks.says("a held job does not go up", held, 1, f"for job {first}")

    later = [cluster.submit("-b", "now+1day", "-o", "/dev/null", "--wrap", "true", identity=NOBODY, cwd="/") for _ in range(2)]
    checks.says("a user may not put his job first unless the site says so", cluster.run("scontrol", "top", str(later[1]), identity=NOBODY), 1, "Access/permission denied")
    checks.says("an administrator may", cluster.run("scontrol", "top", str(later[1])), 0)
    rank = dict(line.split() for line in cluster.run("squeue", "-h", "-o", "%i %Q", "-j", f"{later[0]},{later[1]}").out.splitlines())
    checks.that("it is before his other one", int(rank[str(later[1])]) > int(rank[str(later[0])]), rank)

    same(checks, "scancel-v", cluster, cluster.run("scancel", "-v", str(job)), ("scancel: Terminating job 86\n", 0), job)
    cluster.wait_for_job(job)
    note = recorded("cancel-note-in-output", ("error: *** JOB 86 ON c1 CANCELLED AT TIME DUE to SIGNAL Terminated ***\n", 0))[0]
    said = alike(note).split("error: ", 1)[1]
    checks.that("cancel-note-in-output as recorded", f"slurmstepd: error: {said}" in alike(output.read_text(), cluster, job), output.read_text())

    listed = cluster.run("squeue", "-t", "all", "-o", "%i %t")
    rows = [line.split() for line in listed.out.splitlines()]
    # As in the recording "squeue-all".
    checks.that("squeue-all as recorded: by state, then by number from the newest", rows[0] == ["JOBID", "ST"] and [str(job), "CA"] in rows and [str(first), "PD"] in rows
                and [row[1] for row in rows[1:]] == sorted(row[1] for row in rows[1:]), listed)

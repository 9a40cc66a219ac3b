"""Steps in the components of heterogeneous jobs, with real daemons: srun --het-group, srun a : b inside an allocation and as a job of its own,
salloc with components, prologs and epilogs on the nodes of all of them, ends, and kills of agents, controller and srun.
"""

import os
import signal
import subprocess
from pathlib import Path

from cluster import limit, wait_for

WHO = "echo $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME step $SLURM_STEP_ID job $SLURM_JOB_ID node $SLURM_NODEID of $SLURM_NNODES"


def script(cluster, text, *options, name="het"):
    """Runs a heterogeneous batch script with our srun in its path; (fields of its first component, its output)."""
    out = cluster.directory / f"{name}.out"
    job = cluster.submit("-o", out, *options, "--wrap", f"export PATH={cluster.bin}:$PATH\n{text}")
    fields = wait_for(f"the end of job {job}", lambda: ended(cluster, job))
    return fields, out.read_text() if out.exists() else ""


def ended(cluster, job):
    """The fields of each component once all have ended; the first one's."""
    cluster.must_live()
    jobs = cluster.jobs()
    mine = [jobs[number] for number in sorted(jobs) if int(jobs[number].get("HetJobId", number)) == job]
    states = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
    return {**mine[0], "all": [each["JobState"] for each in mine]} if mine and all(each["JobState"] in states for each in mine) else None


def nobody_left(cluster):
    return wait_for("no process of a job is left", lambda: not cluster.job_processes())


def tasks_of(cluster, name="sleep"):
    found = []
    for pid, _ in cluster.job_processes():
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
        except OSError:
            pass
    return found


TWO = ("-n1", "-w", "n1", ":", "-n2", "-w", "n2")


def test_script(checks, cluster):
    fields, out = script(cluster, f"srun sh -c '{WHO}'", *TWO, name="plain")
    job = fields["JobId"]
    checks.that("a plain srun runs in the first component", out == f"0 of 1 on n1 step 0 job {job} node 0 of 1\n" and fields["all"] == ["COMPLETED"] * 2, (out, fields))
    fields, out = script(cluster, f"srun --het-group=1 sh -c '{WHO}'", *TWO, name="second")
    job = fields["JobId"]
    checks.that("--het-group=1 in the second, with as many tasks as that has",
                sorted(out.splitlines()) == [f"{rank} of 2 on n2 step 0 job {job} node 0 of 1" for rank in (0, 1)], out)
    fields, out = script(cluster, f"srun -l --het-group=0,1 sh -c '{WHO}'; srun -l --het-group=0-1 sh -c 'echo again $SLURM_STEP_ID $SLURM_HET_SIZE $SLURM_JOB_ID_HET_GROUP_1'", *TWO, name="both")
    job = fields["JobId"]
    wanted = [f"0: 0 of 3 on n1 step 0 job {job} node 0 of 2"] + [f"{rank}: {rank} of 3 on n2 step 0 job {job} node 1 of 2" for rank in (1, 2)]
    wanted += [f"{rank}: again 1 2 {int(job) + 1}" for rank in range(3)]
    checks.that("--het-group=0,1 is one step with tasks in both", sorted(out.splitlines()) == sorted(wanted), out)
    fields, out = script(cluster, "srun -l --het-group=0 sh -c 'echo a $SLURM_PROCID' : --het-group=1 sh -c 'echo b $SLURM_PROCID'; srun sh -c 'exit 3' : -n1 sh -c 'exit 5'; echo code $?\n"
                         "srun --het-group=1 true; srun --het-group=0,1 sh -c 'echo number $SLURM_STEP_ID'", *TWO, name="programs")
    lines = out.splitlines()
    checks.that("a : b runs two programs", {"0: a 0", "1: b 1", "2: b 2"} <= set(lines), out)
    checks.that("the highest exit code is srun's", "code 5" in lines and "n1: task 0: Exited with exit code 3" in out and "n2: task 1: Exited with exit code 5" in out, out)
    checks.that("numbers are those of the whole job", lines.count("number 3") == 3, out)


def test_page(checks, cluster):
    """The example of the page about heterogeneous jobs."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "user" / "het-jobs.md").read_text()
    example = cluster.directory / "steps.sh"
    example.write_text(page.split("```sh\n")[-1].split("```")[0])
    job = cluster.submit(example, PATH=f"{cluster.bin}:{cluster.environment.get('PATH', os.environ['PATH'])}")
    fields = wait_for("the end of the page's example", lambda: ended(cluster, job))
    lines = (cluster.directory / f"steps.{job}.out").read_text().splitlines()
    wanted = [f"{rank}: task {rank} of 3" for rank in range(3)] + ["0: coupler", "1: model", "2: model"]
    checks.that("the page's example does what it says", fields["all"] == ["COMPLETED"] * 2 and sorted(lines) == sorted(wanted), (fields, lines))


def test_refused(checks, cluster):
    text = "\n".join(f"srun {words}; echo code $?" for words in (
        "--het-group=2 true", "--het-group=0,7 true", "--het-group=x true", "--het-group=0 true : --het-group=0 true", "true :", "--mpi=pmix --het-group=0,1 true", "--het-group=1 -n99 true"))
    fields, out = script(cluster, text, *TWO, name="refused")
    checks.that("what cannot be is refused", out.count("code 0") == 0 and fields["all"] == ["COMPLETED"] * 2, out)
    for words in ("HetJob component larger than acceptable range", "--het-group=2: the job has 2 components, counted from 0", "numbers of components from 0 to 127 are expected",
                  "component 0 is named twice", "No command given to execute", "--mpi=pmix over several components", "More processors requested than permitted"):
        checks.that(f"in words: {words}", words in out, out)
    fields, out = script(cluster, "srun --het-group=1 true; echo code $?", "-n1", name="no_het")
    checks.that("a job without components has none", "Job not heterogeneous job" in out and "code 1" in out, out)
    checks.says("and srun outside a job neither", cluster.run("srun", "--het-group=1", "true"), 1, "--het-group names components of the job srun runs in")


def test_own_job(checks, cluster):
    done = cluster.run("srun", "-l", "-n1", "-w", "n1", "sh", "-c", WHO, ":", "-n2", "-w", "n2", "sh", "-c", "echo other $SLURM_PROCID of $SLURM_NTASKS $SLURMD_NODENAME; exit 4")
    lines = sorted(done.out.splitlines())
    checks.that("srun a : b is a heterogeneous job of its own", done.code == 4 and len(lines) == 3 and "0: 0 of 3 on n1 step 0 job" in lines[0] and lines[1:] == [f"{rank}: {rank} of 3 other".replace(f"{rank} of 3 other", f"other {rank} of 3 n2") for rank in (1, 2)], done)
    job = int(lines[0].split(" job ")[1].split()[0]) if lines and " job " in lines[0] else 0
    fields = wait_for("its end", lambda: ended(cluster, job))
    checks.that("and ends with its exit code", fields["all"] == ["FAILED"] * 2 and fields["ExitCode"] == "4:0", fields)
    checks.that("no step runs any more", wait_for("no steps", lambda: not cluster.run("squeue", "-h", "-s").out.strip()))
    holder = subprocess.Popen([cluster.bin / "srun", "-n1", "-w", "n1", "sleep", "1000", ":", "-n1", "-w", "n2", "sleep", "1000"], env=cluster.environment, stderr=subprocess.PIPE, text=True)
    wait_for("its tasks", lambda: len(tasks_of(cluster)) == 2)
    jobs = sorted(cluster.jobs())

    def interrupted():  # signals that come together are one; srun wants two
        holder.send_signal(signal.SIGINT)
        return holder.poll() is not None
    wait_for("the end of srun", interrupted, 120, 0.2)
    text = holder.communicate(timeout=limit(60))[1]
    checks.that("Ctrl-C twice ends all of it", holder.returncode not in (0, None) and "sending Ctrl-C to StepId=" in text, (holder.returncode, text))
    checks.that("on all nodes", wait_for("its end", lambda: ended(cluster, jobs[-2])) and nobody_left(cluster))
    holder = subprocess.Popen([cluster.bin / "srun", "-n1", "-w", "n1", "sleep", "1000", ":", "-n1", "-w", "n2", "sleep", "1000"], env=cluster.environment, stderr=subprocess.DEVNULL)
    wait_for("its tasks", lambda: len(tasks_of(cluster)) == 2)
    jobs = sorted(cluster.jobs())
    holder.kill()
    holder.wait(limit(60))
    checks.that("an srun that is killed hard takes its job with it", wait_for("its end", lambda: ended(cluster, jobs[-2])) and nobody_left(cluster))


def test_salloc(checks, cluster):
    inside = f"export PATH={cluster.bin}:$PATH; echo $SLURM_HET_SIZE $SLURM_JOB_NODELIST $SLURM_JOB_NODELIST_HET_GROUP_1 $SLURM_NTASKS_HET_GROUP_1; srun -l --het-group=0,1 sh -c 'echo $SLURMD_NODENAME'; exit 7"
    done = cluster.run("salloc", *TWO, "sh", "-c", inside)
    checks.that("salloc gives components", done.code == 7 and done.out.splitlines()[0] == "2 n1 n2 2" and sorted(done.out.splitlines()[1:]) == ["0: n1", "1: n2", "2: n2"], done)
    job = int(done.err.split("Granted job allocation ")[1].split()[0])
    fields = wait_for("its end", lambda: ended(cluster, job))
    checks.that("all of which end with it", fields["all"] == ["FAILED"] * 2 and fields["ExitCode"] == "7:0", fields)


def test_steering(checks, cluster):
    out = cluster.directory / "steer.out"
    job = cluster.submit("-o", out, *TWO, "--wrap", f"export PATH={cluster.bin}:$PATH\nsrun --het-group=0,1 sleep 1000; echo code $?; srun --het-group=1 sleep 1001; echo code $?; srun --het-group=1 sleep 1002; echo over")
    shown = wait_for("both parts", lambda: (lambda text: text if text.count("sleep") == 2 else None)(cluster.run("squeue", "-h", "-s", "-o", "%i %j %N").out))
    checks.that("squeue -s shows the parts", f"{job}+0.0 sleep n1" in shown and f"{job}+1.0 sleep n2" in shown, shown)
    checks.says("scontrol show step too", cluster.run("scontrol", "show", "step", f"{job}+1.0"), 0, f"StepId={job}+1.0")
    wait_for("its tasks", lambda: len(tasks_of(cluster)) == 3)
    checks.says("scancel of the step ends all parts", cluster.run("scancel", f"{job}.0"), 0)
    wait_for("the next step", lambda: "code" in out.read_text() and f"{job}+1.1 " in cluster.run("squeue", "-h", "-s", "-o", "%i %j").out)
    wait_for("its tasks", lambda: len(tasks_of(cluster)) == 2)
    checks.says("scancel JOB+1.STEP ends that of the component", cluster.run("scancel", f"{job}+1.1"), 0)
    wait_for("the next step", lambda: out.read_text().count("code") == 2 and len(tasks_of(cluster)) == 2)
    checks.says("scancel JOB+1 ends the component", cluster.run("scancel", f"{job}+1"), 0)
    fields = wait_for("its end", lambda: ended(cluster, job))
    checks.that("and its steps, the script goes on", "over" in out.read_text() and fields["all"] == ["COMPLETED", "CANCELLED"], (fields, out.read_text()))
    job = cluster.submit("-o", "/dev/null", *TWO, "--wrap", f"{cluster.bin}/srun --het-group=0,1 sleep 1000 & sleep 1000")
    wait_for("its tasks", lambda: len(tasks_of(cluster)) == 4)
    cluster.run("scancel", str(job))
    checks.that("scancel ends scripts, components and steps", wait_for("its end", lambda: ended(cluster, job))["all"] == ["CANCELLED"] * 2 and nobody_left(cluster))


def test_trouble(checks, cluster):
    gate, out = cluster.directory / "gate", cluster.directory / "trouble.out"
    job = cluster.submit("-o", out, *TWO, "--wrap", f"export PATH={cluster.bin}:$PATH\nsrun --het-group=0,1 sh -c 'while [ ! -e {gate} ]; do sleep 0.2; done; echo ended'; echo code $?")
    wait_for("its tasks", lambda: len([1 for pid, where in cluster.job_processes() if where.endswith(".0.0")]) >= 3)
    for node in ("n1", "n2"):
        cluster.agents[node].kill()
        cluster.start_agent(node)
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    gate.touch()
    fields = wait_for("its end", lambda: ended(cluster, job))
    text = out.read_text()
    checks.that("agents and controller may be killed meanwhile", fields["all"] == ["COMPLETED"] * 2 and text.split().count("ended") == 3 and "code 0" in text, (fields, text))
    job = cluster.submit("-o", "/dev/null", "--no-requeue", *TWO, "--wrap", "sleep 1000")
    cluster.wait_for_job(f"{job}+1", ("RUNNING",))
    found = wait_for("the supervisor of the second component", lambda: [pid for pid, node in cluster.supervisors() if node == "n2"])
    os.kill(found[0], signal.SIGKILL)
    checks.that("a component that loses its supervisor takes the job with it", wait_for("its end", lambda: ended(cluster, job))["all"] == ["NODE_FAIL"] * 2 and nobody_left(cluster))
    cluster.wait_for_nodes()


def test_spools(checks, cluster):
    script(cluster, "srun --het-group=0,1 true", *TWO, name="spools")
    spools = wait_for("empty spools", lambda: not [p for p in (cluster.directory / "spool").glob("*/*") if p.is_dir()])
    checks.that("spools are empty at the end", spools)


def test_programs(checks, directory, new_cluster):
    log = directory / "programs"
    program = directory / "program"
    program.write_text(f"#!/bin/sh\necho $(basename $0) $SLURMD_NODENAME $SLURM_JOB_ID >> {log}\n[ $(basename $0) = epilog ] || [ ! -e {directory}/fail.$SLURMD_NODENAME ]\n")
    program.chmod(0o755)
    for name in ("prolog", "epilog"):
        (directory / name).symlink_to(program)
    cluster = new_cluster(directory / "c", nodes=2, cpus=4, settings=(f"Prolog={directory}/prolog", f"Epilog={directory}/epilog"))
    cluster.start()
    fields, out = script(cluster, "srun -l --het-group=0,1 sh -c 'echo $SLURMD_NODENAME'", *TWO, name="programs")
    job = int(fields["JobId"])
    told = wait_for("all programs", lambda: len(lines := sorted(log.read_text().splitlines())) >= 4 and lines)
    checks.that("prolog and epilog run on the nodes of all components", told == [f"epilog n1 {job}", f"epilog n2 {job + 1}", f"prolog n1 {job}", f"prolog n2 {job + 1}"] and out.count("n2") == 2, (told, out))
    (directory / "fail.n2").touch()
    # A script that was through before the prolog there failed would have ended well.
    job = cluster.submit("-o", "/dev/null", *TWO, "--wrap", "sleep 1000")
    fields = wait_for("it is held", lambda: (lambda f: f if f.get("Reason") == "launch_failed_requeued_held" else None)(cluster.job(job)))
    checks.that("a prolog that fails on the node of a further component drains it and holds the job", "drain" in cluster.node_states().get("n2", ""), (cluster.node_states(), fields))
    cluster.run("scancel", str(job))

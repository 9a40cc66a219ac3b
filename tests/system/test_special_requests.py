"""What few jobs ask for: steps that are left to themselves, ports for steps, nodes without a script or without an allocation, cores left to the
system, nodes that are rebooted first.
"""

import subprocess

from cluster import Cluster, limit, wait_for

NOBODY = (65534, 65534, [])


def make_cluster(build, directory):
    rebooted, program = directory / "rebooted", directory / "reboot"
    program.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME >> {rebooted}\n")
    program.chmod(0o755)
    # The ports are but numbers here: neither the daemons nor the test use them.
    cluster = Cluster(build, directory / "c", nodes=2, cpus=4,
                      settings=["AllowSpecResourcesUsage=yes", "MpiParams=ports=12000-12019", f"RebootProgram={program}", f"ResumeTimeout={limit(300):.0f}",
                                "SelectTypeParameters=CR_Core", "NodeName=DEFAULT CoreSpecCount=1"])
    cluster.rebooted = rebooted
    return cluster


def test_async(checks, cluster):
    here = cluster.directory
    script = here / "async.sh"
    script.write_text(f"""#!/bin/sh
cd {here}
first=$({cluster.bin}/srun --async --parsable -n1 --exact sh -c 'while [ ! -e {here}/go ]; do sleep 0.05; done; echo done by $SLURM_STEP_ID')
echo "first $first"
{cluster.bin}/srun --async -n1 --exact -o second.out echo second
echo told > {here}/told
{cluster.bin}/swait
echo "left: $({cluster.bin}/squeue -h -s -j $SLURM_JOB_ID -o %i | grep -vc batch)"
""")
    job = cluster.submit("-n2", "-N1", "-o", here / "async.out", script)
    wait_for("srun leaves its steps to themselves", lambda: (here / "told").exists())
    checks.that("the first still runs", f"{job}.0" in cluster.run("squeue", "-h", "-s", "-o", "%i").out.split())
    (here / "go").touch()
    cluster.wait_for_job(job)
    text = (here / "async.out").read_text()
    checks.that("their numbers are told", text.splitlines()[:2] == [f"first {job}.0", f"Submitted step {job}.1"], text)
    checks.that("swait waited for both", text.splitlines()[-1] == "left: 0", text)
    checks.that("output is in a file of the step", (here / f"slurm-{job}.0.out").read_text() == "done by 0\n", list(here.iterdir()))
    checks.that("or where --output says", (here / "second.out").read_text() == "second\n")
    checks.says("outside a job it is refused", cluster.run("srun", "--async", "true"), 1, "--async starts a step of a job")
    done = cluster.run("salloc", "-n1", cluster.bin / "srun", "--async", "-n9", "true")
    checks.that("a step that cannot be is said", done.code == 1 and "Submitted" not in done.out and "Unable to create step" in done.err, done)


def test_ports(checks, cluster):
    show = "echo $SLURM_STEP_RESV_PORTS"
    cluster.wait_for_nodes()
    checks.says("a step has ports of its own", cluster.run("srun", "-n1", "--resv-ports=2", "sh", "-c", show), 0, "12000-12001\n")
    cluster.wait_for_nodes()  # a job keeps its ports until it is gone from the node, which may be after the end of srun
    checks.says("without a count as many as tasks on a node", cluster.run("srun", "-N1", "-n3", "--resv-ports", "sh", "-c", show), 0, "12000-12002\n" * 3)
    cluster.wait_for_nodes()
    done = cluster.run("salloc", "-n2", "-N1", "sh", "-c", f"""
{cluster.bin}/srun -n1 --exact --resv-ports=2 sh -c '{show}; while [ ! -e {cluster.directory}/ports ]; do sleep 0.05; done' > {cluster.directory}/one &
while [ ! -s {cluster.directory}/one ]; do sleep 0.05; done
{cluster.bin}/srun -n1 --exact --resv-ports=3 sh -c '{show}'
until {cluster.bin}/scontrol show step $SLURM_JOB_ID.0 | grep ResvPorts=1; do sleep 0.05; done
touch {cluster.directory}/ports
wait""")
    one = (cluster.directory / "one").read_text().strip()
    two = done.out.splitlines()[0] if done.out else ""
    checks.that("two steps have different ones", one == "12000-12001" and two == "12002-12004", (one, done))
    checks.that("and they are shown", "ResvPorts=12000-12001" in done.out, done)
    done = cluster.run("srun", "-n1", "--resv-ports=30", "true")
    checks.says("more than there are is refused", done, 1, "Requires more ports than can be reserved")
    checks.says("of a job too", cluster.run("sbatch", "--resv-ports=30", "-o", "/dev/null", "--wrap", "true"), 1, "Requires more ports than can be reserved")
    cluster.wait_for_nodes()
    job = cluster.submit("--resv-ports=4", "-o", cluster.directory / "kept", "--wrap", f"{cluster.bin}/srun --resv-ports=1 -n1 sh -c '{show}'; {cluster.bin}/srun --resv-ports=4 -n1 sh -c '{show}'")
    cluster.wait_for_job(job)
    checks.that("what it keeps is for its steps", (cluster.directory / "kept").read_text().split() == ["12000", "12000-12003"], (cluster.directory / "kept").read_text())
    cluster.wait_for_nodes()
    holder = subprocess.Popen([cluster.bin / "srun", "-w", "n1", "-n1", "--resv-ports=15", "sleep", "1000"], env=cluster.environment, cwd=cluster.directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for("somebody has 15", lambda: "12000-12014" in cluster.run("scontrol", "show", "step").out)
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    done = cluster.run("srun", "-w", "n1", "-n1", "--resv-ports=5", "sh", "-c", show)
    checks.says("after a crash of the controller they are still somebody's", done, 0, "12015-12019\n")
    done = cluster.run("srun", "-w", "n1", "-n1", "--resv-ports=9", "true")
    checks.says("who wants too many does not get them", done, 1, "Requires more ports than can be reserved")
    holder.kill()
    holder.wait(limit(60))
    cluster.run("scancel", "-u", "root")
    cluster.wait_for_nodes()


def test_unallocated(checks, cluster):
    job = cluster.submit("-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1000")
    cluster.wait_for_job(job, ("RUNNING",))
    done = cluster.run("srun", "-Z", "-w", "n1,n2", "-n3", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_PROCID")
    checks.that("srun -Z runs on nodes that are full", done.code == 0 and sorted(done.out.splitlines()) == ["n1 0", "n1 1", "n2 2"], done)
    checks.that("and says so", "srun: do not allocate resources" in done.err, done)
    checks.says("without nodes it is refused", cluster.run("srun", "-Z", "true"), 1, "must specify a node list with -Z, --no-allocate.")
    done = cluster.run("srun", "-Z", "-w", "n1", "sh", "-c", "exit 7")
    checks.that("the exit code is the program's", done.code == 7, done)
    done = cluster.run("srun", "-Z", "-w", "n1", "true", identity=NOBODY, cwd="/")
    checks.says("only for administrators", done, 1, "Access/permission denied")
    checks.that("the job there has not noticed", cluster.job(job)["JobState"] == "RUNNING", cluster.job(job))
    cluster.run("scancel", job)
    cluster.wait_for_nodes()


def test_external(checks, cluster):
    done = cluster.run("sbatch", "--external", "-N1", "-n1", "-J", "held")
    checks.says("sbatch --external needs no script", done, 0, "Submitted batch job ")
    job = done.out.split()[-1]
    cluster.wait_for_job(job, ("RUNNING",))
    done = cluster.run("srun", f"--jobid={job}", "sh", "-c", "echo in $SLURM_JOB_ID")
    checks.says("somebody else starts programs there", done, 0, f"in {job}\n")
    checks.that("the job goes on", cluster.job(job)["JobState"] == "RUNNING")
    checks.says("until it is cancelled", cluster.run("scancel", job), 0)
    cluster.wait_for_job(job, ("CANCELLED",))
    cluster.wait_for_nodes()


def test_spared(checks, cluster):
    show = "echo $SLURM_CPUS_ON_NODE $SLURM_JOB_CPUS_PER_NODE"
    def cpus(*options):
        done = cluster.run("srun", "-n1", *options, "sh", "-c", show)
        return done.out.split()[:1] or [repr(done)]
    checks.that("a node's own line keeps a core", cpus("--exclusive") == ["3"], cpus("--exclusive"))
    checks.that("--core-spec keeps so many", cpus("--core-spec=2") == ["2"], cpus("--core-spec=2"))
    checks.that("or none", cpus("-S", "0") == ["4"], cpus("-S", "0"))
    checks.that("--thread-spec in threads", cpus("--thread-spec=3") == ["1"], cpus("--thread-spec=3"))
    job = cluster.submit("-w", "n1", "-n2", "--core-spec=2", "-o", cluster.directory / "spared", "--wrap", f"{cluster.bin}/srun -l sh -c '{show}'")
    cluster.wait_for_job(job)
    checks.that("steps in it have no more", sorted((cluster.directory / "spared").read_text().splitlines()) == ["0: 2 2", "1: 2 2"], (cluster.directory / "spared").read_text())
    shown = cluster.run("scontrol", "show", "job", "-d", job).out
    checks.that("it is charged for the node and shown with what it has", " CoreSpec=2" in shown and "NumCPUs=3" in shown and "OverSubscribe=NO" in shown, shown)
    done = cluster.run("srun", "-n3", "-N1", "--core-spec=2", "true")
    checks.says("more tasks than that leaves cannot be", done, 1, "Requested node configuration is not available")
    checks.says("nor can all cores be kept", cluster.run("sbatch", "--core-spec=4", "--wrap", "true"), 1, "Requested node configuration is not available")
    job = cluster.submit("-H", "-o", "/dev/null", "--wrap", "true")
    checks.says("of a waiting job it can be changed", cluster.run("scontrol", "update", f"JobId={job}", "CoreSpec=1"), 0)
    checks.that("and is shown", " CoreSpec=1" in (text := cluster.run("scontrol", "show", "job", job).out) and "OverSubscribe=NO" in text, text)
    cluster.run("scancel", job)
    # A site that does not allow it.
    old = cluster.configuration.read_text()
    cluster.configuration.write_text(old.replace("AllowSpecResourcesUsage=yes\n", ""))
    checks.says("read again", cluster.run("scontrol", "reconfigure"), 0)
    done = cluster.run("sbatch", "-H", "--core-spec=1", "-o", "/dev/null", "--wrap", "true")
    checks.says("elsewhere it is ignored, and that is said", done, 0, "sbatch: error: Ignoring -S since it's not allowed by configuration (AllowSpecResourcesUsage = No)")
    job = done.out.split()[-1]
    checks.that("and not kept", " CoreSpec=*" in cluster.run("scontrol", "show", "job", job).out)
    cluster.run("scancel", job)
    cluster.configuration.write_text(old)
    cluster.run("scontrol", "reconfigure")


def test_reboot(checks, cluster):
    told = cluster.rebooted
    job = cluster.submit("-w", "n2", "--reboot", "-o", cluster.directory / "booted", "--wrap", "echo here")
    wait_for("its node is told to reboot", lambda: told.exists() and "n2" in told.read_text().split())
    checks.that("the job waits for it", cluster.job(job)["JobState"] == "CONFIGURING" and cluster.job(job)["Reboot"] == "1", cluster.job(job))
    checks.that("nothing has begun", not (cluster.directory / "booted").exists())
    cluster.agents["n2"].kill()
    cluster.start_agent("n2", "-b")
    checks.that("then it runs", cluster.wait_for_job(job)["JobState"] == "COMPLETED" and (cluster.directory / "booted").read_text() == "here\n", cluster.job(job))
    checks.that("once", told.read_text().split() == ["n2"], told.read_text())
    done = cluster.run("sbatch", "--reboot", "-o", "/dev/null", "--wrap", "true", identity=NOBODY, cwd="/")
    checks.says("only for administrators", done, 1, "rebooting of nodes is only allowed for admins", "Access/permission denied")
    cluster.wait_for_nodes()

"""Jobs and steps that go on without nodes that fail (--no-kill) or that they give up (scontrol update NumNodes=), and scripts that need a
certain node (--batch), with real processes.
"""

import subprocess

from cluster import Cluster, limit, wait_for


class WithFeatures(Cluster):
    def configuration_text(self):
        out = super().configuration_text()
        for node, features in (("n1", "small"), ("n2", "small"), ("n3", "big")):
            out = out.replace(f"NodeName={node} CPUs", f"NodeName={node} Feature={features} CPUs")
        return out


def make_cluster(build, directory):
    return WithFeatures(build, directory, nodes=3)


def fail(cluster, node):
    assert cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test").code == 0


def repair(cluster):
    for node in cluster.nodes:
        cluster.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
    wait_for("all nodes are idle again", lambda: set(cluster.node_states().values()) == {"idle"})


def begin(cluster, *words):
    """A command that goes on while nodes fail."""
    return subprocess.Popen([str(word) for word in words], env={**cluster.environment, "PATH": f"{cluster.bin}:/usr/bin:/bin"}, cwd=cluster.directory, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_files(cluster, *names):
    wait_for(f"{' and '.join(names)}", lambda: all((cluster.directory / name).exists() for name in names))


# The daemons of a node that is only set down are there, and end what was of the job.
KILLED = ("137", "143")


def steps(cluster, job):
    """{step: its nodes} of those that run."""
    return dict(line.split() for line in cluster.run("squeue", "-h", "-s", "-j", str(job), "-o", "%i %N").out.splitlines())


# Each task says that it is there, and goes on until it may end.
TASK = "touch at.$0.$SLURM_PROCID; while [ ! -e go.$0 ]; do sleep 0.1; done; echo ended $SLURM_PROCID"


def test_batch(checks, cluster):
    """The script and a step with --no-kill go on; a step without it ends."""
    script = (f"#!/bin/sh\n( {cluster.bin}/srun --overlap --no-kill -N2 -n2 sh -c '{TASK}' kept > kept.out 2> kept.err; echo $? > kept.code ) &\n"
              f"{cluster.bin}/srun --overlap -N2 -n2 sh -c '{TASK}' not > not.out 2> not.err; echo $? > not.code\n"
              "touch alone\nwait\n"
              f"{cluster.bin}/srun -N1 -n1 hostname > /dev/null && touch later\n"
              f"{cluster.bin}/srun -w n2 -N1 -n1 true 2> lost.err\nexit 0\n")
    job = cluster.submit("-N2", "-n2", "-w", "n[1-2]", "--no-kill", "-o", "script.out", cwd=cluster.directory, stdin=script)
    wait_for_files(cluster, "at.kept.0", "at.kept.1", "at.not.0", "at.not.1")
    before = cluster.job(job)
    fail(cluster, "n2")
    fields = wait_for("the node leaves the job", lambda: (now := cluster.job(job))["NodeList"] == "n1" and now)
    checks.that("the job runs on with one node and its CPUs", before["NodeList"] == "n[1-2]" and fields["JobState"] == "RUNNING" and fields["NumNodes"] == "1" and
                int(fields["NumCPUs"]) * 2 == int(before["NumCPUs"]) and "node=1," in fields["AllocTRES"], (before, fields))
    checks.that("squeue shows the same", cluster.run("squeue", "-h", "-j", str(job), "-o", "%D %N").out == "1 n1\n", "")
    wait_for_files(cluster, "not.code", "alone")
    # The node's own daemons still end its task; news of that may come before news of the failure, which is then in the words of the cancelled step.
    said = (cluster.directory / "not.err").read_text()
    checks.that("a step without the option ends, and says why", (cluster.directory / "not.code").read_text() != "0\n" and ("Node failure on n2" in said or "DUE TO NODE FAILURE" in said), said)
    shown = wait_for("the steps are known", lambda: (now := steps(cluster, job)) and len(now) == 2 and now)
    checks.that("the other step runs on, on the node that is left", set(shown.values()) == {"n1"}, shown)
    (cluster.directory / "go.kept").touch()
    fields = cluster.wait_for_job(job)
    said = (cluster.directory / "kept.err").read_text()
    checks.that("its task there ends by itself; those on the lost node count as killed", (cluster.directory / "kept.out").read_text() == "ended 0\n" and
                (cluster.directory / "kept.code").read_text().strip() in KILLED and "Node failure on n2" in said, (said, (cluster.directory / "kept.out").read_text()))
    checks.that("the script goes on, with steps of its own", fields["JobState"] == "COMPLETED" and (cluster.directory / "later").exists(), fields)
    said = (cluster.directory / "lost.err").read_text()
    checks.that("a step on the lost node is refused with the reason", "node n2 has failed" in said or "not available" in said, said)
    wait_for("nothing of the job is left anywhere", lambda: not cluster.job_processes())
    repair(cluster)


def test_batch_host(checks, cluster):
    job = cluster.submit("-N2", "-w", "n[1-2]", "--no-kill", "--no-requeue", "-o", "/dev/null", "--wrap", "exec sleep 1000")
    cluster.wait_for_job(job, {"RUNNING"})
    wait_for("the script is there", cluster.job_processes)
    fail(cluster, "n1")
    fields = cluster.wait_for_job(job)
    checks.that("the node of its script no job outlives", fields["JobState"] == "NODE_FAIL", fields)
    job = cluster.submit("-N2", "-w", "n[2-3]", "--no-requeue", "-o", "/dev/null", "--wrap", "exec sleep 1000")
    cluster.wait_for_job(job, {"RUNNING"})
    fail(cluster, "n3")
    fields = cluster.wait_for_job(job)
    checks.that("without the option the first node that fails ends a job", fields["JobState"] == "NODE_FAIL", fields)
    repair(cluster)


def test_srun(checks, cluster):
    running = begin(cluster, "srun", "-k", "-N3", "-n3", "sh", "-c", TASK, "own")
    wait_for_files(cluster, "at.own.0", "at.own.1", "at.own.2")
    fail(cluster, "n1")
    wait_for("the first node leaves", lambda: cluster.run("squeue", "-h", "-o", "%N").out == "n[2-3]\n")
    (cluster.directory / "go.own").touch()
    out, err = running.communicate(timeout=limit(90))
    checks.that("srun --no-kill: the tasks on other nodes end by themselves", sorted(out.split("\n")) == ["", "ended 1", "ended 2"] and str(running.returncode) in KILLED, (running.returncode, out, err))
    checks.that("and it says which node failed", "srun: error: Node failure on n1" in err, err)
    repair(cluster)
    running = begin(cluster, "salloc", "-N2", "-w", "n[1-2]", "--no-kill", "sh", "-c", f"touch at.salloc; while [ ! -e go.salloc ]; do sleep 0.1; done; {cluster.bin}/srun -N1 -n1 echo step")
    wait_for_files(cluster, "at.salloc")
    fail(cluster, "n2")
    wait_for("the node leaves the allocation", lambda: cluster.run("squeue", "-h", "-o", "%N").out == "n1\n")
    (cluster.directory / "go.salloc").touch()
    out, err = running.communicate(timeout=limit(90))
    checks.that("an allocation of salloc goes on, too", running.returncode == 0 and out == "step\n", (running.returncode, out, err))
    repair(cluster)


def test_batch_features(checks, cluster):
    job = cluster.submit("-N3", "-C", "small|big", "--batch=big", "-o", "where.out", "--wrap", "echo $SLURMD_NODENAME", cwd=cluster.directory)
    fields = cluster.wait_for_job(job)
    checks.that("--batch: the script runs on a node that has the feature", (cluster.directory / "where.out").read_text() == "n3\n" and fields["BatchHost"] == "n3" and
                fields["BatchFeatures"] == "big", fields)
    done = cluster.run("sbatch", "-C", "small", "--batch=big", "--wrap", "true")
    checks.says("one that the constraint does not name is refused", done, 1, "Job --batch option is invalid or not a subset of --constraint")


def test_shrink(checks, cluster):
    """scontrol update NumNodes=: steps on the node given up end, another job gets it, and the script goes on with what is left."""
    script = (f"#!/bin/sh\n( {cluster.bin}/srun --overlap -N1 -n1 -w n1 sh -c '{TASK}' stays > stays.out; echo $? > stays.code ) &\n"
              f"{cluster.bin}/srun --overlap -N3 -n3 sh -c '{TASK}' wide > wide.out 2> wide.err; echo $? > wide.code\n"
              "while [ ! -e resized ]; do sleep 0.1; done\n. ./slurm_job_${SLURM_JOB_ID}_resize.sh\n"
              f"{cluster.bin}/srun --overlap -l sh -c 'echo $SLURMD_NODENAME' > after.out 2> after.err\nwait\n")
    job = cluster.submit("-N3", "-n3", "-o", "/dev/null", cwd=cluster.directory, stdin=script)
    wait_for_files(cluster, "at.stays.0", "at.wide.0", "at.wide.1", "at.wide.2")
    waits = cluster.submit("-N1", "-w", "n3", "--exclusive", "-o", "/dev/null", "--wrap", "true")
    done = cluster.run("scontrol", "update", f"JobId={job}", "NumNodes=4")
    checks.says("a running job gets no more nodes", done, 1, "Node count specification invalid")
    done = cluster.run("scontrol", "update", f"JobId={job}", "NodeList=n[2-3]")
    checks.says("nor does it leave the node of its script", done, 1, "Requested node configuration is not available")
    before = cluster.job(job)
    done = cluster.run("scontrol", "update", f"JobId={job}", "NumNodes=2", cwd=cluster.directory)
    checks.says("fewer are fine, and it is said how shells learn of it", done, 0, "To reset Slurm environment variables, execute\n", f"  For bash or sh shells:  . ./slurm_job_{job}_resize.sh\n",
                f"  For csh shells:         source ./slurm_job_{job}_resize.csh\n")
    after = cluster.job(job)
    checks.that("it has two nodes, and two thirds of the CPUs", (after["NodeList"], after["NumNodes"], after["JobState"]) == ("n[1-2]", "2", "RUNNING") and
                int(after["NumCPUs"]) * 3 == int(before["NumCPUs"]) * 2 and "ResizeTime" in after and "ResizeTime" not in before, (before, after))
    checks.that("squeue says so too", cluster.run("squeue", "-h", "-j", str(job), "-O", "NodeList:|,ResizeTime:").out.startswith("n[1-2]|20"), "")
    wait_for("the code of the step", lambda: (cluster.directory / "wide.code").exists() and (cluster.directory / "wide.code").read_text())
    said = (cluster.directory / "wide.err").read_text()
    checks.that("the step that was there ends, and no node has failed", (cluster.directory / "wide.code").read_text() != "0\n" and "ailure" not in said, said)
    cluster.wait_for_job(waits, {"COMPLETED"})
    checks.that("another job has had the node", cluster.job(job)["JobState"] == "RUNNING", cluster.job(job))
    (cluster.directory / "resized").touch()
    wait_for_files(cluster, "after.out")
    (cluster.directory / "go.stays").touch()
    fields = cluster.wait_for_job(job)
    out = (cluster.directory / "after.out").read_text()
    checks.that("the next step is on both nodes that are left", sorted(out.split("\n")) == ["", "0: n1", "1: n2"], (out, (cluster.directory / "after.err").read_text()))
    checks.that("the step on another node and the script go on to their ends", (cluster.directory / "stays.code").read_text() == "0\n" and fields["JobState"] == "COMPLETED", fields)
    wait_for("nothing of the job is left anywhere", lambda: not cluster.job_processes())


def test_shrink_allocation(checks, cluster):
    running = begin(cluster, "salloc", "-N3", "sh", "-c", f"touch at.wide3; {cluster.bin}/scontrol update JobId=$SLURM_JOB_ID NumNodes=1 > /dev/null && . ./slurm_job_${{SLURM_JOB_ID}}_resize.sh && "
                    f"{cluster.bin}/srun sh -c 'echo $SLURMD_NODENAME $SLURM_NNODES'")
    out, err = running.communicate(timeout=limit(90))
    checks.that("salloc's shell goes on with one node", out == "n1 1\n" and running.returncode == 0 and "ailure" not in err, (running.returncode, out, err))
    wait_for("all nodes are idle again", lambda: set(cluster.node_states().values()) == {"idle"})

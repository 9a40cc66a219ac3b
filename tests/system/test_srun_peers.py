"""Who is at the other end of srun's port: a stranger who bound it after srun died learns nothing and types nothing, and a waiting job whose client is
gone ends.
"""

import os
import socket
import struct
import subprocess
from pathlib import Path

from cluster import Cluster, limit, wait_for

ENDED = {"FAILED", "CANCELLED", "COMPLETED", "TIMEOUT"}


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=1)


def begin(cluster, *words):
    """A command that waits for nodes, in the background."""
    return subprocess.Popen([cluster.bin / words[0], *words[1:]], env=cluster.environment, cwd=cluster.directory, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def listening_port(pid):
    """Of a process that listens on one TCP port."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(entry))
        except OSError:
            continue
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            return int(fields[1].split(":")[1], 16)
    return None


def waiting_job(cluster, name):
    """The number of the waiting job of this name."""
    return wait_for(f"job {name} in the queue", lambda: cluster.run("squeue", "-h", "-o", "%i", "-n", name, "-t", "PD").out.strip() or None)


def fill_node(cluster):
    job = cluster.submit("-n4", "-o", "/dev/null", "--wrap", "exec sleep 100000")
    cluster.wait_for_job(job, {"RUNNING"})
    return job


def frame(message):
    return b"MR" + struct.pack("<HI", 1, len(message)) + message


def in_the_log(cluster, heard):
    """Is any part of 32 bytes, as a secret has, in the controller's log?"""
    log = b"".join(path.read_bytes() for path in cluster.state.rglob("*") if path.is_file())
    return any(heard[at:at + 32] in log for at in range(max(len(heard) - 31, 0)))


def test_a_stranger_on_the_port_of_a_dead_srun(checks, cluster):
    blocker = fill_node(cluster)
    typed = cluster.directory / "typed"
    srun = begin(cluster, "srun", "-J", "victim", "sh", "-c", f"cat > {typed}")
    job = waiting_job(cluster, "victim")
    port = listening_port(srun.pid)
    srun.kill()
    srun.communicate(timeout=limit(60))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(8)
        listener.settimeout(limit(60))
        cluster.run("scancel", str(blocker))
        node, _ = listener.accept()
        node.settimeout(limit(60))
        heard = node.recv(65536)
        checks.that("the node says something first", heard.startswith(b"MR"), heard)
        # Its own words back, and what somebody would type.
        node.sendall(frame(heard[8:]) + frame(b"\x0a\x08pwned...") + frame(b"\x10\x01"))
        try:
            while more := node.recv(65536):
                heard += more
        except ConnectionError:
            pass
    fields = cluster.wait_for_job(job)
    checks.that("the stranger hears nothing that is in the log, as the secret is", not in_the_log(cluster, heard), heard)
    checks.that("a nonce and three names are all it hears", len(heard) < 200, heard)
    checks.that("the task takes nothing from it", not typed.exists(), fields)
    checks.that("the job ends and says why", fields["JobState"] in ENDED, fields)
    checks.that("the node goes on", cluster.run("srun", "echo", "well").out == "well\n", "")
    checks.that("and was not drained", "drain" not in str(cluster.node_states()), cluster.node_states())


def test_waiting_jobs_of_dead_clients_end(checks, cluster):
    blocker = fill_node(cluster)
    commands = [begin(cluster, "srun", "-J", "of-srun", "true"), begin(cluster, "salloc", "-J", "of-salloc", "true")]
    jobs = [waiting_job(cluster, name) for name in ("of-srun", "of-salloc")]
    batch = cluster.submit("-J", "of-sbatch", "-o", "/dev/null", "--wrap", "true")
    for command in commands:
        command.kill()
        command.communicate(timeout=limit(60))
    for job in jobs:
        fields = cluster.wait_for_job(job, seconds=120)
        checks.that("a waiting job without its client is cancelled", fields["JobState"] == "CANCELLED", fields)
    log = cluster.controller.log.read_text()
    checks.that("the controller says so", log.count("is gone while it waits: cancelled") == 2, log[-2000:])
    checks.that("a batch job waits on", cluster.job(batch)["JobState"] == "PENDING", "")
    cluster.run("scancel", str(blocker), str(batch))
    cluster.wait_for_job(blocker)


def test_a_client_that_comes_back_keeps_its_job(checks, cluster):
    blocker = fill_node(cluster)
    srun = begin(cluster, "srun", "-J", "patient", "echo", "served")
    waiting_job(cluster, "patient")
    cluster.controller.kill()
    cluster.start_controller()
    cluster.wait_for_controller()
    cluster.wait_for_nodes("alloc")
    cluster.run("scancel", str(blocker))
    out, err = srun.communicate(timeout=limit(90))
    checks.that("srun outlives a restart of the controller while it waits", srun.returncode == 0 and out == "served\n", (srun.returncode, out, err))

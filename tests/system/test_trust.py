"""Who is believed what: a command by its cluster, a relay by its key, a key until it is revoked.
"""

import os
import subprocess
from pathlib import Path

import pytest

from cluster import find_program, limit
from test_bad_input import a_user, identity_of, log_says, only_root, serves

pytestmark = pytest.mark.order(61)


def relay_configuration(cluster, directory):
    """With it commands go through one of the agents."""
    lonely = directory / "lonely"
    if not Path(f"{lonely}.relay").is_symlink():
        Path(f"{lonely}.relay").symlink_to(f"{cluster.socket}.relay")
    other = directory / "relay.conf"
    other.write_text(cluster.configuration_text().replace(f"socket={cluster.socket}", f"socket={lonely}"))
    return other


@only_root
def test_node_key_speaks_for_few(checks, cluster, directory):
    """Who comes through a compute node is who has a job there; root's word from there is about the node alone."""
    user = a_user()
    how = {"SLURM_CONF": str(relay_configuration(cluster, directory)), "identity": identity_of(user)}
    as_root = {"SLURM_CONF": how["SLURM_CONF"]}
    checks.says("everybody may look", cluster.run("squeue", **how), 0)
    checks.says("a user without a job there submits nothing", cluster.run("sbatch", "--wrap", "true", cwd="/tmp", **how), 1, "permission denied")
    for words in (("sbatch", "--wrap", "true"), ("scontrol", "shutdown"), ("scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=x"), ("scancel", "-u", "root"),
                  ("sacctmgr", "-i", "add", "account", "stolen"), ("scontrol", "token")):
        done = cluster.run(*words, cwd="/tmp", **as_root)
        checks.that(f"root cannot {words[0]} {words[1]} from a compute node", done.code != 0 and "denied" in (done.err + done.out).lower(), done)
    drained = [cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=health", **as_root).code == 0 for node in cluster.nodes]
    checks.that("but say that this very node is not well", drained.count(True) == 1, drained)
    node = cluster.nodes[drained.index(True)]
    cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    cluster.wait_for_nodes()
    job = cluster.submit("-w", node, "-o", "/dev/null", "--wrap", f"until [ -e {directory}/seen ]; do sleep 0.1; done", identity=identity_of(user), cwd="/tmp")
    cluster.wait_for_job(job, ("RUNNING",))
    done = cluster.run("sbatch", "-H", "--parsable", "-o", "/dev/null", "--wrap", "true", cwd="/tmp", **how)
    checks.says("a user who has a job there submits the next", done, 0)
    checks.says("and is still no administrator", cluster.run("scontrol", "shutdown", **how), 1, "denied")
    cluster.run("scancel", "-u", user[0])
    (directory / "seen").touch()
    cluster.wait_for_job(job)


def test_revoked_key(checks, cluster):
    key = cluster.state / "cluster.key"
    cluster.wait_for_nodes()
    old = cluster.run("millrace", "key", "node", "n2", "--key", str(key)).out
    done = cluster.run("millrace", "key", "revoke", "n2", "--key", str(key))
    checks.says("a key is revoked", done, 0, "worthless")
    checks.that("its connection ends, and it does not come back", log_says(cluster.directory / "logs" / "n2.log", "node key is not accepted"))
    checks.that("the controller says so", log_says(cluster.directory / "logs" / "controller.log", "the keys of n2 are revoked", "its key was revoked"))
    checks.that("other nodes are as they were", cluster.node_states().get("n1") == "idle", cluster.node_states())
    new = cluster.run("millrace", "key", "node", "n2", "--key", str(key)).out
    checks.that("the next key is another one", new.startswith("millrace-node-key 1 n2 ") and new != old, (old, new))
    cluster.agents["n2"].terminate()
    cluster.start_agent("n2")  # which makes its key from the cluster's
    cluster.wait_for_nodes()
    cluster.controller.terminate()
    cluster.start_controller()
    cluster.wait_for_controller()
    cluster.wait_for_nodes()
    checks.that("the controller remembers it", cluster.run("millrace", "key", "node", "n2", "--key", str(key)).out == new)


@only_root
def test_state_of_another_user(checks, cluster, directory):
    """Whoever owns the directory could put another log there: nothing is written to it."""
    theirs = directory / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 54321, 54321)
    conf = directory / "theirs.conf"
    conf.write_text(cluster.configuration_text().replace(f"StateSaveLocation={cluster.state}", f"StateSaveLocation={theirs}"))
    done = subprocess.run([find_program(cluster.build, "millrace-controller"), "-D", "-f", conf], env=cluster.environment, capture_output=True, text=True, timeout=limit(60))
    checks.that("the controller does not start", done.returncode == 1, done)
    checks.that("and says why", f"StateSaveLocation: directory {theirs} belongs to user 54321" in done.stderr and "chown -R root" in done.stderr, done.stderr)
    checks.that("nothing is in it", not list(theirs.iterdir()), list(theirs.iterdir()))


def test_another_clusters_configuration(checks, cluster, directory):
    """Two clusters share a socket's path, by mistake: the one that is up answers nothing that was meant for the other."""
    before = len(cluster.run("squeue", "-h", "-a").out.splitlines())
    for name, line, other in (("name", f"ClusterName={cluster.name}", "ClusterName=elsewhere"), ("port", f"SlurmctldPort={cluster.port}", "SlurmctldPort=1")):
        conf = directory / f"other-{name}.conf"
        conf.write_text(cluster.configuration_text().replace(line, other))
        for words in (["sbatch", "--wrap", "true"], ["squeue"], ["scontrol", "shutdown"], ["srun", "-n1", "true"], ["scancel", "1"]):
            done = cluster.run(*words, SLURM_CONF=str(conf))
            checks.says(f"another {name}: {words[0]} says whose controller that is", done, 1, "unable to contact slurm controller")
        done = cluster.run("sbatch", "--wrap", "true", SLURM_CONF=str(conf))
        checks.says(f"another {name}: and who answers", done, 1, str(cluster.socket), f"cluster '{cluster.name}' with slurmctldport={cluster.port}", other.partition("=")[2])
    checks.that("nothing was submitted, nothing was shut down", serves(cluster) and len(cluster.run("squeue", "-h", "-a").out.splitlines()) == before)

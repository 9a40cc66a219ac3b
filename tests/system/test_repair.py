"""A controller starts whatever its log leads to: records that break a law are put aside, said, and kept.
"""

import shutil
from pathlib import Path

from cluster import Cluster, limit

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "logs" / "format1"


def make_cluster(build, directory):
    return Cluster(build, directory, settings=["ScronParameters=enable"])


def restart(cluster):
    cluster.controller.terminate()
    cluster.start_controller()
    cluster.wait_for_controller()


def test_requeue_after_crontab(checks, cluster):
    """Three commands of any user once kept the controller from starting again."""
    user = (65534, 65534, ())
    done = cluster.run("scrontab", "-", stdin="@yearly /bin/true\n", identity=user)
    checks.that("a user has a crontab", done.code == 0, done)
    job = cluster.run("squeue", "-h", "-o", "%i").out.split()[0]
    checks.that("and removes it", cluster.run("scrontab", "-r", identity=user).code == 0)
    done = cluster.run("scontrol", "requeue", job, identity=user)
    checks.that("its job can be requeued", done.code == 0, done)
    restart(cluster)
    shown = cluster.run("scontrol", "show", "job", job).out
    checks.that("the controller starts, and the job is an ordinary one", f"JobId={job} " in shown and "CronJob" not in shown, shown)
    cluster.run("scancel", job)


def test_impossible_log(checks, cluster, new_cluster, directory):
    """A log that a user of an earlier release could write."""
    other = new_cluster(directory / "impossible", nodes=1)
    log = other.directory / "state" / "log"
    log.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(GOLDEN / "impossible", log)
    for file in [log, *log.iterdir()]:
        file.chmod(0o700 if file.is_dir() else 0o600)
    told = cluster.run("millrace", "log", "repair", str(log.parent))
    checks.says("repair says what will be done, and does nothing", told, 1, "it has ports of another job", "put aside: job", "at its next start")
    key = other.state / "cluster.key"
    other.start_controller()
    other.controller.process.wait(limit(60))
    text = other.controller.log.read_text()
    checks.that("a log without the cluster's key: no other key is made in its place", other.controller.process.returncode == 1 and not key.exists()
                and f"millrace key make {key}" in text and "needs a new key" in text, text)
    made = other.run("millrace", "key", "make", str(key))
    checks.that("the administrator makes one", made.code == 0 and key.exists(), made)
    other.start()
    text = other.controller.log.read_text()
    checks.that("the start says what it put aside", "a law of the ledger is broken" in text and "put aside: job" in text, text)
    kept = list(log.parent.glob("log.kept-*"))
    checks.that("the log as it was is kept", len(kept) == 1 and sorted(f.name for f in kept[0].iterdir()) == sorted(f.name for f in (GOLDEN / "impossible").iterdir()), kept)
    checks.that("everything else is served", other.run("squeue", "-h", "-a", "-t", "all").out.strip() != "", other.run("squeue", "-a", "-t", "all"))
    done = other.run("sbatch", "--wrap", "true")
    checks.that("new jobs are taken", done.code == 0, done)
    other.controller.terminate()
    other.start_controller()
    other.wait_for_controller()
    checks.that("the next start has nothing to repair", "put aside" not in other.controller.log.read_text()[len(text):])


def test_state_of_another_cluster(checks, new_cluster, directory):
    """A cluster that is given another name does not take over what it finds."""
    other = new_cluster(directory / "renamed", nodes=1)
    other.start_controller()
    other.wait_for_controller()
    job = other.submit("-H", "--wrap", "true")
    other.controller.terminate()
    text = other.configuration.read_text()
    name = next(line.split("=")[1] for line in text.splitlines() if line.startswith("ClusterName="))
    other.configuration.write_text(text.replace(f"ClusterName={name}", "ClusterName=someother"))
    other.start_controller()
    other.controller.process.wait(limit(60))
    log = other.controller.log.read_text()
    checks.that("it refuses and says whose state it is", other.controller.process.returncode == 1 and "CLUSTER NAME MISMATCH" in log
                and f"cluster '{name}'" in log and "ClusterName=someother" in log and "clustername" in log, log)
    (other.state / "clustername").unlink()
    (other.state / "clustername.new").mkdir()  # as if the disk had no room for it
    other.configuration.write_text(text)
    other.start_controller()
    other.wait_for_controller()
    checks.that("where the name cannot be written it starts all the same", not (other.state / "clustername").exists())
    checks.that("with its own name it has its jobs", str(job) in other.run("squeue", "-h", "-o", "%i").out.split())


def test_lost_end(checks, new_cluster, directory):
    """The last segment is cut short: what was acknowledged is missed, and not taken for a torn write."""
    other = new_cluster(directory / "lost", nodes=1)
    other.start_controller()
    other.wait_for_controller()
    jobs = [other.submit("-H", "--wrap", "true") for _ in range(12)]
    other.controller.kill()
    log = other.state / "log"
    segment = sorted(log.glob("segment-*"))[-1]
    whole = segment.read_bytes().rstrip(b"\0")
    segment.write_bytes(whole[:-1200])
    before = segment.read_bytes()
    other.start_controller()
    other.controller.process.wait(limit(60))
    text = other.controller.log.read_text()
    checks.that("the controller refuses to start, and changes nothing", other.controller.process.returncode == 1 and "lost its end" in text and "were acknowledged" in text
                and "--accept-loss" in text and segment.read_bytes() == before, text)
    told = other.run("millrace", "log", "repair", str(log))
    checks.says("repair says the same", told, 1, "were acknowledged", "--accept-loss")
    done = other.run("millrace", "log", "repair", str(log), "--accept-loss")
    checks.says("the administrator may go on without", done, 0, "the log as it was is kept", "ends with event")
    other.start_controller()
    other.wait_for_controller()
    left = other.run("squeue", "-h", "-a", "-o", "%i").out.split()
    checks.that("what was left is there", 0 < len(left) < len(jobs), left)
    other.controller.terminate()
    other.start_controller()
    other.wait_for_controller()
    checks.that("and after a clean end nothing is missed", other.run("squeue", "-h", "-a", "-o", "%i").out.split() == left)


def test_damaged_log(checks, cluster, directory):
    """A record in the middle is destroyed: nothing is guessed, and the administrator decides."""
    log = directory / "damaged" / "log"
    shutil.copytree(GOLDEN / "plain", log)
    segments = sorted(file for file in log.iterdir())
    segments[0].chmod(0o600)
    bytes_ = bytearray(segments[0].read_bytes())
    bytes_[len(bytes_) // 2] ^= 0xff
    segments[0].write_bytes(bytes_)
    for file in segments:
        file.chmod(0o600)
    told = cluster.run("millrace", "log", "repair", str(log.parent))
    checks.says("it says where the damage is and what would be lost", told, 1, segments[0].name, "can be read", "would be lost", "--cut")
    before = {file.name: file.read_bytes() for file in log.iterdir()}
    cut = cluster.run("millrace", "log", "repair", str(log.parent), "--cut")
    checks.that("--cut leaves a log that can be read", "cut: the log ends with event" in cut.out, cut)
    kept = list(log.parent.glob("log.kept-*"))
    checks.that("and a copy of all of it", len(kept) == 1 and {file.name: file.read_bytes() for file in kept[0].iterdir()} == before, kept)
    dump = cluster.run("millrace", "log", "dump", str(log.parent))
    checks.that("nothing damaged is left", dump.code == 0, dump.out[-300:])

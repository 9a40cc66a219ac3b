"""Trouble around srun and its tasks: streams that are closed, disks that are full, devices and layouts that are not there, signals that are none.
"""

import subprocess

import pytest

from cluster import Cluster, limit, wait_for


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=2)


class WithDevice(Cluster):
    def configuration_text(self):
        return super().configuration_text().replace("State=UNKNOWN", "Gres=thing:1 State=UNKNOWN")


def shell(cluster, line):
    """Through a shell, which can close streams."""
    return subprocess.run(["sh", "-c", line], env={**cluster.environment, "PATH": f"{cluster.bin}:/usr/bin:/bin"}, cwd=cluster.directory, capture_output=True, text=True, timeout=limit(90),
                          stdin=subprocess.DEVNULL)


def test_streams(checks, cluster):
    done = shell(cluster, "srun -n2 sh -c 'cat; echo over' <&-")
    checks.that("closed standard input is an empty one", done.returncode == 0 and done.stdout == "over\nover\n", done)
    done = shell(cluster, "srun -n2 echo words >&-; echo $? > code")
    checks.that("closed standard output is said, and does not hang", (cluster.directory / "code").read_text() != "0\n" and "Bad file descriptor" in done.stderr, done)
    done = shell(cluster, "srun sh -c 'yes | head -c 3000000' | head -c 10 > few; echo done")
    checks.that("nobody reading is no trouble", done.stdout == "done\n" and "error" not in done.stderr, done)


def test_full_disk(checks, cluster):
    done = shell(cluster, "srun -n2 sh -c 'head -c 300000 /dev/zero; touch ran.$SLURM_PROCID; exit 0' > /dev/full")
    checks.that("output on a full disk: srun says it once and fails", done.returncode == 1 and done.stderr.count("output of the tasks cannot be written: No space left on device") == 1, done)
    checks.that("the tasks went on to their ends", all((cluster.directory / f"ran.{rank}").exists() for rank in (0, 1)), "")
    done = shell(cluster, "srun -o /dev/full echo words")
    checks.that("so with --output", done.returncode == 1 and "No space left on device" in done.stderr, done)
    job = cluster.submit("-o", "/dev/full", "--wrap", "echo words || exit 7")
    fields = cluster.wait_for_job(job)
    checks.that("a batch job whose output cannot be written hears of it itself", fields["JobState"] == "FAILED" and fields["ExitCode"] == "7:0", fields)


def test_disk_fills_up(checks, cluster):
    small = cluster.directory / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system")
    try:
        job = cluster.submit("-o", small / "out", "--wrap", "head -c 1000000 /dev/zero || exit 8")
        fields = cluster.wait_for_job(job)
        checks.that("a disk that fills up ends the writer, not the node", fields["ExitCode"] == "8:0" and cluster.run("srun", "-n1", "echo", "well").out == "well\n", fields)
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_requests(checks, cluster):
    for words, said in ((("--signal=NONSENSE@10",), "NONSENSE"), (("-N2", "-n1"), None), (("-n9",), None), (("-w", "n7"), "n7"), (("--chdir=/no/such/folder",), "/no/such/folder"),
                        (("-m", "sideways"), "sideways"), (("--container=/no/bundle",), "/no/bundle")):
        done = cluster.run("srun", *words, "hostname")
        if said is None:
            checks.that(f"srun {' '.join(words)} runs or says why not, and ends", done.code == 0 or "error" in done.err, done)
        else:
            checks.that(f"srun {' '.join(words)} is told what is wrong", said in done.err and ("error" in done.err or done.code != 0), done)
    job = cluster.submit("-o", "/dev/null", "--wrap", "exec sleep 1000")
    cluster.wait_for_job(job, {"RUNNING"})
    done = cluster.run("scancel", "-s", "SIGNONSENSE", str(job))
    checks.that("scancel of an unknown signal does nothing", done.code != 0 and "SIGNONSENSE" in done.err and cluster.job(job)["JobState"] == "RUNNING", done)
    cluster.run("scancel", str(job))
    cluster.wait_for_job(job)
    done = cluster.run("salloc", "-N1", "sh", "-c", f"{cluster.bin}/srun -n99 hostname; {cluster.bin}/srun -w n2 -N1 hostname; {cluster.bin}/srun --relative=7 hostname; true")
    checks.that("steps that do not fit into their job are refused, each with a reason", done.err.count("Unable to create step") + done.err.count("error:") >= 3, done)


def test_missing_device(checks, directory, new_cluster):
    cluster = new_cluster(directory, kind=WithDevice, nodes=1, settings=["GresTypes=thing"])
    (cluster.directory / "gres.conf").write_text(f"Name=thing File={directory}/no-such-device\n")
    cluster.start()
    shown = wait_for("the device is judged", lambda: "GresDrainReason" in (now := cluster.run("scontrol", "-d", "show", "node", "n1").out) and now)
    checks.that("a device whose file is missing is drained, with the file's name", "no-such-device is missing" in shown and "State=IDLE" in shown, shown)
    job = cluster.submit("-o", "/dev/null", "--gres=thing:1", "--wrap", "true")
    (directory / "no-such-device").touch()
    fields = cluster.wait_for_job(job)
    checks.that("a job that wants it waits until it is there", fields["JobState"] == "COMPLETED", fields)

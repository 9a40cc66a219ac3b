"""Files of users that never answer: a job whose output is a pipe that is full, or that nobody reads, ends by scancel and by its time limit like any
other, and its node is not drained.
"""

import fcntl
import os

import pytest

from cluster import Cluster, limit


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=1, settings=[f"UnkillableStepTimeout={limit(10):.0f}", "KillWait=1"])


class FullPipe:
    """A pipe with a name that holds as much as it can."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        os.chmod(path, 0o666)
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, 4096)
        try:
            while True:
                os.write(self.fd, b"x" * 4096)
        except BlockingIOError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def is_well(checks, cluster):
    checks.that("the node is not drained and runs the next job", "drain" not in str(cluster.node_states()) and cluster.run("srun", "echo", "well").out == "well\n",
                cluster.node_states())


def test_scancel_ends_a_job_with_a_full_pipe(checks, cluster):
    with FullPipe(cluster.directory / "full") as pipe:
        for option in ("-o", "-e"):
            begun = cluster.directory / f"begun{option}"
            job = cluster.submit(option, pipe.path, "--wrap", f"touch {begun}; while :; do echo words; echo words >&2; done")
            cluster.wait_for_job(job, {"RUNNING"})
            cluster.run("scancel", str(job))
            fields = cluster.wait_for_job(job)
            checks.that(f"{option} with a full pipe: the job is cancelled", fields["JobState"] == "CANCELLED", fields)
    is_well(checks, cluster)


def test_scancel_ends_a_job_that_waits_for_a_reader(checks, cluster):
    nobody = cluster.directory / "nobody"
    os.mkfifo(nobody)
    for option in ("-o", "-e", "-i"):
        job = cluster.submit(option, nobody, "--wrap", "true")
        cluster.wait_for_job(job, {"RUNNING"})
        cluster.run("scancel", str(job))
        fields = cluster.wait_for_job(job)
        checks.that(f"{option} with a pipe nobody has open: the job is cancelled", fields["JobState"] == "CANCELLED", fields)
    job = cluster.submit("-D", "/", "-o", "/dev/null", "--wrap", f"cat {nobody}")
    cluster.wait_for_job(job, {"RUNNING"})
    cluster.run("scancel", str(job))
    cluster.wait_for_job(job)
    is_well(checks, cluster)


@pytest.mark.extended
def test_the_time_limit_ends_jobs_with_such_pipes(checks, cluster):
    nobody = cluster.directory / "nobody-in-time"
    os.mkfifo(nobody)
    with FullPipe(cluster.directory / "full-in-time") as pipe:
        jobs = [cluster.submit("-t", "1", "-e", pipe.path, "--wrap", "while :; do echo words >&2; done"), cluster.submit("-t", "1", "-o", nobody, "--wrap", "true")]
        for job in jobs:
            fields = cluster.wait_for_job(job, seconds=180)
            checks.that("its time limit ends it", fields["JobState"] == "TIMEOUT", fields)
    is_well(checks, cluster)


def test_an_environment_no_program_could_have_is_refused(checks, cluster):
    large = cluster.directory / "large"
    large.write_bytes(b"".join(b"V%d=%s\0" % (i, b"x" * 100_000) for i in range(70)))
    done = cluster.run("sbatch", f"--export-file={large}", "-o", "/dev/null", "--wrap", "true")
    checks.that("sbatch says how large it may be", done.code != 0 and "6 MiB" in done.err, done)
    is_well(checks, cluster)

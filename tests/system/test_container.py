"""Jobs in OCI bundles: a root file system of busybox, run by crun as the job's user, in its cgroup.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from cluster import Cluster, wait_for

pytestmark = pytest.mark.skipif(not (shutil.which("crun") or shutil.which("runc")) or not os.path.exists("/bin/busybox"),
                                reason="crun (or runc) and busybox-static are not installed")

NOBODY = (65534, 65534, ())


def make_bundle(folder, work):
    root = folder / "rootfs"
    for name in ("bin", "proc", "dev", "tmp", "etc", "sys", "work"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin" / "busybox")
    for applet in ("sh", "cat", "echo", "id", "ls", "sleep", "true", "env", "grep", "pwd"):
        (root / "bin" / applet).symlink_to("busybox")
    (root / "etc" / "inside").write_text("this is the bundle\n")
    config = {"ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True},
              "process": {"terminal": True, "user": {"uid": 0, "gid": 0}, "args": ["sh"], "env": ["PATH=/bin", "OF_BUNDLE=yes"], "cwd": "/"},
              "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                         {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
                         {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=1777", "size=65536k"]},
                         {"destination": "/work", "type": "bind", "source": str(work), "options": ["bind", "rw"]}],
              "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}]}}
    (folder / "config.json").write_text(json.dumps(config))
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.name == "busybox" else 0o644)


def make_cluster(build, directory):
    cluster = Cluster(build, directory / "cluster", nodes=1)
    cluster.bundle, cluster.work = directory / "bundle", directory / "work"
    cluster.work.mkdir()
    cluster.work.chmod(0o777)
    make_bundle(cluster.bundle, cluster.work)
    return cluster


def nothing_left(checks, cluster):
    wait_for("an empty spool", lambda: not [path for path in (cluster.directory / "spool" / "n1").iterdir() if path.name[0].isdigit()])
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(cluster.directory.parent) in line]
    checks.that("nothing is left of them", not mounts, mounts)


def test_srun(checks, cluster):
    bundle, work = cluster.bundle, cluster.work
    done = cluster.run("srun", f"--container={bundle}", "cat", "/etc/inside")
    checks.that("srun runs a program of the bundle", done.code == 0 and done.out == "this is the bundle\n", done)
    done = cluster.run("srun", "-n2", "-l", f"--container={bundle}", "sh", "-c", "echo $SLURM_PROCID $OF_BUNDLE $FROM_HERE $SLURM_CONTAINER; exit 3", FROM_HERE="here")
    lines = sorted(line for line in done.out.splitlines())
    checks.that("with the job's environment and the bundle's", lines == [f"0: 0 yes here {bundle}", f"1: 1 yes here {bundle}"], done)
    checks.that("its exit code is srun's", done.code == 3, done)
    done = cluster.run("srun", f"--container={bundle}", "sh", "-c", "echo mine > /work/mine", identity=NOBODY, cwd=work)
    checks.that("as the job's user, whatever the bundle says", done.code == 0 and (work / "mine").stat().st_uid == NOBODY[0], done)
    done = cluster.run("srun", f"--container={bundle}", "cat", "/etc/shadow", identity=NOBODY, cwd=work)
    checks.that("the machine's files are not there", done.code != 0 and "No such file" in done.err, done)
    nothing_left(checks, cluster)


def test_script(checks, cluster):
    bundle, work = cluster.bundle, cluster.work
    job = cluster.submit(f"--container={bundle}", "-o", work / "batch.out", "--wrap", "cat /etc/inside; pwd", identity=NOBODY, cwd=work)
    fields = cluster.wait_for_job(job)
    checks.that("a script runs in it too", fields["JobState"] == "COMPLETED" and (work / "batch.out").read_text().startswith("this is the bundle"),
                (fields, (work / "batch.out").read_text()))
    nothing_left(checks, cluster)


def test_scancel(checks, cluster):
    cluster.wait_for_nodes()
    job = cluster.submit(f"--container={cluster.bundle}", "-o", "/dev/null", "--wrap", "sleep 1000")
    cluster.wait_for_job(job, {"RUNNING"})
    wait_for("its processes", cluster.job_processes)
    cluster.run("scancel", job)
    fields = cluster.wait_for_job(job)
    checks.that("scancel ends it and all its processes", fields["JobState"] == "CANCELLED" and not cluster.job_processes(), fields)
    nothing_left(checks, cluster)


def test_wrong_bundle(checks, cluster, directory):
    done = cluster.run("srun", "--container=/no/such/bundle", "true")
    checks.that("a bundle that is not there is an error that names it", done.code != 0 and "/no/such/bundle" in done.err, done)
    bundle = directory / "bundle"
    make_bundle(bundle, cluster.work)
    (bundle / "config.json").write_text("{ not json")
    done = cluster.run("srun", f"--container={bundle}", "true")
    checks.that("one that is broken too", done.code != 0 and "config.json" in done.err, done)
    nothing_left(checks, cluster)

"""Parallel programs over several nodes: srun --mpi starts MPICH (pmi2) and Open MPI (pmix) itself, and mpirun of both inside an allocation finds
its hosts and starts through srun. The world must have its size and an allreduce its sum.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster import Cluster, wait_for

MISSING = [name for name in ("mpicc.openmpi", "mpicc.mpich", "mpirun.openmpi", "mpirun.mpich") if shutil.which(name) is None]
pytestmark = [pytest.mark.extended, pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]
KINDS = pytest.mark.parametrize("kind, mpi", [("mpich", "pmi2"), ("openmpi", "pmix")], ids=["mpich", "openmpi"])

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  int rank, size, sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const char* node = getenv("SLURMD_NODENAME");
  printf("rank %d of %d sum %d on %s\n", rank, size, sum, node ? node : "nowhere");
  fflush(stdout);
  if (count > 1 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, atoi(words[1]));
  if (count > 1) MPI_Barrier(MPI_COMM_WORLD);  // never complete
  MPI_Finalize();
  return 0;
}
"""


NAMES = r"""
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int count, char** words) {
  int rank, size;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Publish_name("ocean", MPI_INFO_NULL, "tag#7");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    int found = MPI_Lookup_name("ocean", MPI_INFO_NULL, port);
    printf("found %d %s\n", found == MPI_SUCCESS, port);
    printf("other %d\n", MPI_Lookup_name("desert", MPI_INFO_NULL, port) == MPI_SUCCESS);
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Unpublish_name("ocean", MPI_INFO_NULL, "tag#7");
  MPI_Finalize();
  return 0;
}
"""

# Both nodes are this host: shared memory of one would be taken for that of the other.
VARIABLES = {"OMPI_MCA_btl": "self,tcp"}


def world(done, size, nodes):
    """Is this the output of a world of so many tasks on so many nodes?"""
    lines = [line.rsplit(" ", 1) for line in done.out.splitlines()]
    return sorted(line[0] for line in lines) == sorted(f"rank {rank} of {size} sum {size * (size + 1) // 2} on" for rank in range(size)) and \
        len({line[-1] for line in lines}) == nodes


def left_by(job, uid):
    """Folders of PMIx servers of this job and user; they go while we look."""
    found = []
    for path in Path("/tmp").glob(f"millrace-pmix-{job}.*"):
        try:
            found += [path] if path.stat().st_uid == uid else []
        except FileNotFoundError:
            continue
    return found


def make_cluster(build, directory):
    return Cluster(build, directory, nodes=3, cpus=4).with_own_shared_memory()


def build_program(checks, cluster, kind):
    source, program = cluster.directory / "allreduce.c", cluster.directory / f"allreduce.{kind}"
    source.write_text(PROGRAM)
    made = subprocess.run([f"mpicc.{kind}", "-o", program, source], capture_output=True, text=True)
    checks.that(f"{kind}: the program builds", made.returncode == 0, made.stderr)
    return program


@KINDS
def test_srun(checks, cluster, kind, mpi):
    program = build_program(checks, cluster, kind)

    def srun(*words):
        return cluster.run("srun", f"--mpi={mpi}", *words, seconds=180, **VARIABLES)
    name = f"{kind}: srun --mpi={mpi}"
    done = srun("-N1", "-n3", program)
    checks.that(f"{name} on one node", done.code == 0 and world(done, 3, 1), done)
    done = srun("-N2", "-n4", program)
    checks.that(f"{name} on two nodes", done.code == 0 and world(done, 4, 2), done)
    done = srun("-N3", "-n7", program)
    checks.that(f"{name} on three nodes, not evenly", done.code == 0 and world(done, 7, 3), done)
    done = srun("-N2", "-n4", "-m", "cyclic", program)
    checks.that(f"{name} with tasks dealt out in turn", done.code == 0 and world(done, 4, 2), done)
    done = srun("-N2", "-n4", program, "7")
    checks.that(f"{name}: MPI_Abort ends every task, with its code", done.code == 7 and "aborted StepId=" in done.err, done)
    if os.geteuid() == 0:
        done = cluster.run("srun", "-D", "/", f"--mpi={mpi}", "-N2", "-n4", program, seconds=180, identity=(65534, 65534, []), cwd="/", **VARIABLES)
        checks.that(f"{name} as another user", done.code == 0 and world(done, 4, 2), done)
        job = max(cluster.jobs())
        wait_for("nothing is left of the servers", lambda: not left_by(job, 65534))
    done = cluster.run("salloc", "-N2", "--ntasks-per-node=2", cluster.bin / "srun", f"--mpi={mpi}", program, seconds=180, **VARIABLES)
    checks.that(f"{name} as a step of an allocation", done.code == 0 and world(done, 4, 2), done)
    if mpi == "pmix":
        direct = {"OMPI_MCA_pmix_base_async_modex": "1", "OMPI_MCA_pmix_base_collect_data": "0"}
        done = cluster.run("srun", "--mpi=pmix", "-N2", "-n4", program, seconds=180, **VARIABLES, **direct)
        checks.that("openmpi: what tasks need of each other is fetched when they need it", done.code == 0 and world(done, 4, 2), done)


@KINDS
def test_mpirun(checks, cluster, kind, mpi):
    program = build_program(checks, cluster, kind)
    start = f"export PATH={cluster.bin}:$PATH OMPI_MCA_btl=self,tcp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; mpirun.{kind} {program}"
    done = cluster.run("salloc", "-N2", "--ntasks-per-node=2", "sh", "-c", start, seconds=180)
    lines = sorted(done.out.splitlines())
    checks.that(f"{kind}: mpirun under salloc makes a world of four on two nodes", [line.rsplit(" ", 1)[0] for line in lines] ==
                [f"rank {rank} of 4 sum 10 on" for rank in range(4)] and len({line.split()[-1] for line in lines}) == 2, done)
    out = cluster.directory / f"{kind}.out"
    job = cluster.submit("-N2", "-n4", "-o", out, "--wrap", start)
    fields = cluster.wait_for_job(job, seconds=180)
    checks.that(f"{kind}: and in a script", fields["JobState"] == "COMPLETED" and out.read_text().count("of 4 sum 10") == 4, out.read_text())


def test_components(checks, cluster):
    """MPICH over two components of a heterogeneous job is one world; PMIx is refused there by name."""
    program = build_program(checks, cluster, "mpich")
    parts = ("-n2", "-w", "n1", ":", "-n3", "-w", "n2")
    done = cluster.run("salloc", *parts, cluster.bin / "srun", "--mpi=pmi2", "--het-group=0,1", program, seconds=180, **VARIABLES)
    checks.that("mpich: srun --mpi=pmi2 --het-group=0,1 is one world", done.code == 0 and world(done, 5, 2), done)
    done = cluster.run("srun", "--mpi=pmi2", "-n2", "-w", "n1", program, ":", "-n3", "-w", "n2", program, seconds=180, **VARIABLES)
    checks.that("mpich: and so is srun a : b", done.code == 0 and world(done, 5, 2), done)
    done = cluster.run("srun", "--mpi=pmix", "-n1", program, ":", "-n1", program)
    checks.says("--mpi=pmix over several components is refused by name", done, 1, "--mpi=pmix over several components is not built yet")


@KINDS
def test_names(checks, cluster, kind, mpi):
    source, program = cluster.directory / "names.c", cluster.directory / f"names.{kind}"
    source.write_text(NAMES)
    made = subprocess.run([f"mpicc.{kind}", "-o", program, source], capture_output=True, text=True)
    done = cluster.run("srun", f"--mpi={mpi}", "-N2", "-n2", program, seconds=180, **VARIABLES)
    checks.that(f"{kind}: names are published over nodes with {mpi}", made.returncode == 0 and done.code == 0 and done.out == "found 1 tag#7\nother 0\n", (made.stderr, done))


def test_words(checks, cluster):
    done = cluster.run("srun", "--mpi=list")
    checks.that("--mpi=list says what there is", done.code == 0 and done.out.startswith("MPI plugin types are...\n\tnone\n\tpmi2\n"), done)
    done = cluster.run("srun", "--mpi=lam", "true")
    checks.that("another name is refused with those there are", done.code == 255 and "none, pmi2 or pmix would be right" in done.err, done)
    broken = cluster.directory / "broken"
    broken.mkdir(exist_ok=True)
    (broken / "libpmix.so.2").write_text("no library")
    done = cluster.run("srun", "--mpi=pmix", "-n1", "true", LD_LIBRARY_PATH=str(broken))
    checks.that("a missing PMIx library is said, with its package", done.code != 0 and "libpmix2" in done.err, done)
    done = cluster.run("srun", "-n1", "sh", "-c", "env | grep -c '^PMI' || true", **{"PMI_FD": "9", "PMI_RANK": "3", "PMIX_RANK": "3"})
    checks.that("without it tasks see nothing of an outer one", done.out == "0\n", done)

#!/usr/bin/env python3
"""Parallel programs over two nodes: mpirun of Open MPI and of MPICH inside an allocation finds its hosts and starts through srun. The world must
have its size and an allreduce its sum.

    tests/system/mpi/run.py --build build/dev        needs openmpi-bin, libopenmpi-dev, mpich, libmpich-dev
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from cluster import Cluster, run_test

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
  MPI_Finalize();
  return 0;
}
"""


def body(build):
    def run(checks, directory, clusters):
        cluster = Cluster(build, directory, nodes=2, cpus=4)
        clusters.append(cluster)
        cluster.start()
        source = directory / "allreduce.c"
        source.write_text(PROGRAM)
        for kind in ("openmpi", "mpich"):
            program = directory / f"allreduce.{kind}"
            made = subprocess.run([f"mpicc.{kind}", "-o", program, source], capture_output=True, text=True)
            if not checks.that(f"{kind}: the program builds", made.returncode == 0, made.stderr):
                continue
            # Both nodes are this host: shared memory of one would be taken for that of the other.
            start = f"export PATH={cluster.bin}:$PATH OMPI_MCA_btl=self,tcp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; mpirun.{kind} {program}"
            done = cluster.run("salloc", "-N2", "--ntasks-per-node=2", "sh", "-c", start, seconds=180)
            lines = sorted(done.out.splitlines())
            checks.that(f"{kind}: mpirun under salloc makes a world of four on two nodes", [line.rsplit(" ", 1)[0] for line in lines] ==
                        [f"rank {rank} of 4 sum 10 on" for rank in range(4)] and {line.split()[-1] for line in lines} == {"n1", "n2"}, done)
            out = directory / f"{kind}.out"
            job = cluster.submit("-N2", "-n4", "-o", out, "--wrap", start)
            fields = cluster.wait_for_job(job, seconds=180)
            checks.that(f"{kind}: and in a script", fields["JobState"] == "COMPLETED" and out.read_text().count("of 4 sum 10") == 4, out.read_text())
        checks.that("no daemon crashed", not cluster.crashed(), cluster.crashed())
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    build = parser.parse_args().build
    missing = [name for name in ("mpicc.openmpi", "mpicc.mpich", "mpirun.openmpi", "mpirun.mpich") if shutil.which(name) is None]
    if missing:
        print(f"mpi: SKIPPED: {', '.join(missing)} not installed")
        return 0
    return run_test("mpi", body(build))


if __name__ == "__main__":
    sys.exit(main())

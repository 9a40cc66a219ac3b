#!/usr/bin/env bash
# tools/demo.sh BIN - a cluster of four virtual nodes on this machine: a batch job, an array with a dependent job, a multi-node srun.
set -euo pipefail
bin=$(readlink -f "$1")
work=$(mktemp -d /tmp/millrace-demo.XXXXXX)
trap '"$bin/millrace" down --dir "$work/cluster" --forget >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
show() { printf '\n$ %s\n' "$*"; "$@"; }

"$bin/millrace" up --nodes 4 --cpus 4 --dir "$work/cluster" --detach
export SLURM_CONF=$work/cluster/slurm.conf PATH=$work/cluster/bin:$PATH
cd "$work"

cat >hello.sh <<'SCRIPT'
#!/bin/sh
#SBATCH --job-name=hello
#SBATCH --output=hello.%j.out
echo "job $SLURM_JOB_ID runs on $SLURM_JOB_NODELIST as $(id -un)"
SCRIPT
show sinfo
show sbatch --wait hello.sh
show cat hello.1.out
array=$(sbatch --parsable --array=1-6%2 -o part.%a.out --wrap 'echo part $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT; sleep 0.3')
printf '\n$ sbatch --parsable --array=1-6%%2 ...\n%s\n' "$array"
sum=$(sbatch --parsable -d "afterok:$array" -o sum.out --wrap 'cat part.*.out | wc -l')
printf '\n$ sbatch --parsable -d afterok:%s ...\n%s\n' "$array" "$sum"
show squeue
until [ -z "$(squeue -h)" ]; do sleep 0.2; done
show cat sum.out
show srun -N 4 -n 8 -l hostname
show squeue -t all -o '%.10i %.10j %.10T %.6D %R'
show scontrol show job 1
echo
echo "that was a batch job, an array with a job that waited for it, and an srun over four nodes"

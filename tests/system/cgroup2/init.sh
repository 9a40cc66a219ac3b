#!/bin/sh
# tests/system/cgroup2/init.sh - the guest's first process: cgroups of version 2, then the tests; what they say goes over the second serial port.
export PATH=/bin SLURM_CONF=/etc/slurm.conf
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
chmod 1777 /tmp /dev/shm
ip link set lo up
hostname guest
stty -F /dev/ttyS1 raw -echo
exec >/dev/ttyS1 2>&1
echo "controllers $(cat /sys/fs/cgroup/cgroup.controllers)"
/t/isolation_tests --gtest_color=no
echo "ended isolation_tests $?"
/t/step_tests --gtest_color=no --gtest_filter='IsolationTest*:*AnyTree*whole:*Visited*whole:*bound*:*Private*'
echo "ended step_tests $?"

# The same through real daemons and commands.
millrace-controller -D > /dev/ttyS0 2>&1 &
until scontrol ping 2> /dev/null | grep -q UP; do usleep 50000; done
millrace-agent -D > /tmp/agent.log 2>&1 &
agent=$!
until sinfo -h -o %t | grep -q idle; do kill -0 $agent || { cat /tmp/agent.log; break; }; usleep 50000; done
grep "cgroups of version 2" /tmp/agent.log
sbatch --wait --mem=64 -o /tmp/hog.out --wrap 'dd if=/dev/zero of=/dev/null bs=200M count=1'
echo "daemons $(squeue -h -t all -o '%i %T') $(scontrol show job 1 | grep -o 'ExitCode=[0-9:]*')"
grep slurmstepd /tmp/hog.out
srun -c1 grep Cpus_allowed_list /proc/self/status
srun -n2 --cpu-bind=threads grep Cpus_allowed_list /proc/self/status
# What is left of the last job is put away after its srun has ended; an agent that goes before leaves its own folder around it.
tries=0
while ls -d /sys/fs/cgroup/millrace*/*job* > /dev/null 2>&1 && [ $tries -lt $((600 * MR_SLOW)) ]; do tries=$((tries + 1)); usleep 50000; done
kill $agent
wait $agent
echo "left $(ls -d /sys/fs/cgroup/millrace* 2>/dev/null | wc -l)"
echo all done
sleep 60

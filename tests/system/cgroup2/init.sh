#!/bin/sh
# tests/system/cgroup2/init.sh - the guest's first process: cgroups of version 2, then the tests; what they say goes over the second serial port.
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
chmod 1777 /tmp /dev/shm
ip link set lo up
stty -F /dev/ttyS1 raw -echo
exec >/dev/ttyS1 2>&1
echo "controllers $(cat /sys/fs/cgroup/cgroup.controllers)"
/t/isolation_tests --gtest_color=no
echo "ended isolation_tests $?"
/t/step_tests --gtest_color=no --gtest_filter='IsolationTest*:*AnyTree*whole:*bound*:*Private*'
echo "ended step_tests $?"
echo "left $(ls -d /sys/fs/cgroup/millrace* 2>/dev/null | wc -l)"
echo all done
sleep 60

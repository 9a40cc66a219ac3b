#!/bin/sh
# tests/system/powercut/init.sh - the guest's only program: starts the controller on the disk, says on the second serial port which
# jobs it knows, then submits jobs and says each answered id there, until the power goes.
export PATH=/bin SLURM_CONF=/etc/slurm.conf
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for module in /modules/*; do insmod "$module"; done  # named in their order
# Nothing reaches the disk by itself: what is there after the cut was synced.
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
ip link set lo up
hostname guest
until [ -b /dev/vda ]; do usleep 10000; done
mount -t ext4 -o commit=3600 /dev/vda /state || { echo "fatal no disk" > /dev/ttyS1; exec sleep 1000; }
stty -F /dev/ttyS1 raw -echo 2> /dev/null

mutant=
grep -q mutant /proc/cmdline && mutant=/lib/no_sync.so
LD_PRELOAD=$mutant millrace-controller -D -f /etc/slurm.conf > /dev/ttyS0 2>&1 &
controller=$!
until scontrol ping 2> /dev/null | grep -q UP; do
  kill -0 $controller || { echo "fatal the controller ended" > /dev/ttyS1; exec sleep 1000; }
  usleep 20000
done
squeue -h -o "have %i" > /dev/ttyS1
echo "ready" > /dev/ttyS1

submit() {
  while id=$(sbatch --parsable --hold /etc/job.sh); do echo "ack $id" > /dev/ttyS1; done
  echo "fatal sbatch failed" > /dev/ttyS1
}
if ! grep -q only_look /proc/cmdline; then
  submit &
  submit &
fi
exec sleep 1000

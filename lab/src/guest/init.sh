#!/bin/busybox sh
# The first program of a guest: mounts what programs expect, loads the modules, starts the agent.
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/ TMPDIR=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /run /tmp /mnt /out
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
for module in $(cat /lib/modules/"$(uname -r)"/loaded); do
    modprobe "$module" 2>/dev/null || echo "lab: module $module does not load" >/dev/console
done
if grep -q lab_card /proc/cmdline; then
    modprobe -a sdhci_pci mmc_block
    for _ in $(seq 1000); do [ -b /dev/mmcblk0 ] && break; sleep 0.02; done
fi
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t cgroup2 cgroup2 /sys/fs/cgroup && echo +io +memory +cpu >/sys/fs/cgroup/cgroup.subtree_control
# A device of the lab has no seeks, whatever its driver says.
for queue in /sys/block/vd*/queue; do echo 0 >"$queue/rotational"; done
ip link set lo up
/bin/lab-agent
echo "lab: the agent has ended" >/dev/console
sync
poweroff -f

# Control groups of version 1 for the limits of devices and memory, as the benches' stand needs them.
for d in $(find /sys/fs/cgroup -name cgroup.subtree_control); do
    echo -io >$d; echo -memory >$d
done 2>/dev/null
umount /sys/fs/cgroup
mount -t tmpfs t /sys/fs/cgroup
for c in blkio memory; do
    # Not every kernel has version 1 of each any more.
    mkdir -p /sys/fs/cgroup/$c && mount -t cgroup -o $c c /sys/fs/cgroup/$c 2>/dev/null
done
mkdir /sys/fs/cgroup/unified && mount -t cgroup2 c /sys/fs/cgroup/unified
grep -qw memory /sys/fs/cgroup/unified/cgroup.controllers &&
    echo +memory >/sys/fs/cgroup/unified/cgroup.subtree_control
PATH=/tools:$PATH

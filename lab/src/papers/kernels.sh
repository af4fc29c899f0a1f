# What differs between kernels, as one line of JSON in /out/m.jsonl. On ext4 at /mnt, on /dev/vda.
cd / || exit 1
disk=vda
trace=/sys/kernel/tracing
queue=/sys/block/$disk/queue
groups=/sys/fs/cgroup
[ -e $trace/trace ] || mount -t tracefs t $trace
[ -e /sys/kernel/debug/block ] || mount -t debugfs d /sys/kernel/debug
events() { # on|off EVENT...
    to=0; [ "$1" = on ] && to=1; shift
    for e in "$@"; do echo $to >$trace/events/$e/enable || exit 1; done
}
fresh() { echo >$trace/trace; echo 1 >$trace/tracing_on; }
echo 8192 >$trace/buffer_size_kb
write() { fio --name=w --filename=/mnt/written --size=16M --bs=16k --rw=write --overwrite=1 --number_ios=200 --thinktime=5ms --output=/dev/null "$@"; }

# 1. Journal handles of 200 writes of 16 KiB into blocks that are written already, 5 ms apart.
dd if=/dev/zero of=/mnt/written bs=1M count=16 2>/dev/null && sync
handles() {
    mount -o remount,$1 /mnt; sync
    fresh; events on jbd2/jbd2_handle_start; write --ioengine=psync; events off jbd2/jbd2_handle_start
    grep -c '^ *fio-.*jbd2_handle_start' $trace/trace
}
without=$(handles nolazytime,relatime)
with=$(handles lazytime,noatime)

# 2. Classes of requests: of the log, and of metadata that goes to its place.
fresh; events on block/block_rq_issue
dd if=/dev/zero of=/mnt/new bs=4k count=8 conv=fsync 2>/dev/null
mkdir -p /mnt/many && for i in 1 2 3 4 5 6 7 8 9 10; do echo x >/mnt/many/$i; done; sync
log=$(sed -n 's/^ *jbd2.*block_rq_issue: [0-9,]* \([A-Z]*\) .*/\1/p' $trace/trace | sort -u | tr '\n' ' ')
fresh; umount /mnt
checkpoint=$(sed -n 's/.*block_rq_issue: [0-9,]* \([A-Z]*\) .*/\1/p' $trace/trace | sort -u | tr '\n' ' ')
events off block/block_rq_issue
mount -t ext4 /dev/$disk /mnt

# 3. Scheduler tags that one group's writer of 100 MiB takes beside another group.
echo bfq >$queue/scheduler; echo 256 >$queue/nr_requests
echo +io >$groups/cgroup.subtree_control
for g in one two; do
    mkdir -p $groups/$g
    sh -c "echo \$\$ >$groups/$g/cgroup.procs && exec fio --name=$g --filename=/mnt/$g --size=100M --rw=write --bs=100M \
        --direct=1 --ioengine=psync --time_based --runtime=20 --output=/dev/null" &
done
sleep 5; tags=0; all=0
for i in $(seq 40); do
    file=$(ls /sys/kernel/debug/block/$disk/hctx*/sched_tags | head -n 1)
    busy=$(sed -n 's/^busy=//p' $file | head -n 1); all=$(sed -n 's/^nr_tags=//p' $file | head -n 1)
    [ "${busy:-0}" -gt $tags ] && tags=$busy
    sleep 0.2
done
killall -INT fio; wait; echo none >$queue/scheduler

# 4. How reads of preallocated blocks are kept apart from direct writes.
dioread=$(grep -o 'dioread_[a-z]*' /proc/fs/ext4/$disk/options)

# 5. Buffered writes through io_uring that a kernel thread had to do.
punted=null
if [ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" = 0 ] && grep -q io_uring_setup /proc/kallsyms; then
    fresh; events on io_uring/io_uring_queue_async_work
    write --ioengine=io_uring
    events off io_uring/io_uring_queue_async_work
    punted=$(grep -c 'io_uring_queue_async_work:' $trace/trace)
fi

# 6. Limits of dirty data of one device in bytes.
bdi=$(ls -d /sys/class/bdi/*:* | head -n 1)
fine=false; [ -e $bdi/max_ratio_fine ] && fine=true
cat >/out/m.jsonl <<END
{"kernel":"$(uname -r)","preempt":"$(uname -v)","writes":200,"handles":$without,"handles_lazytime":$with,"log":"$log","checkpoint":"$checkpoint","tags_all":${all:-0},"tags_busy_max":$tags,"dioread":"$dioread","uring_punted":$punted,"dirty_limit_of_device":$fine}
END

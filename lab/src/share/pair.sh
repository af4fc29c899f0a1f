# One cell of `lab share`, in a guest: two fio in two groups at once, and which bytes of either the
# disk has completed between two moments.
#
# Set before: SETTING (default, auto or uncut), DISK (mmcblk0), DIR, RW (read or write), BYTES of an I/O,
# FIRST and SECOND (weights), WARM_S, SECONDS_S, FILE_MB. Leaves in /run/share: NAME.fio, NAME.said,
# NAME.json, weights, queue, status, trace, moments; pair.sh says nothing itself but what went wrong.
queue=/sys/block/$DISK/queue
trace=/sys/kernel/tracing
groups=/sys/fs/cgroup
put() { echo "$2" >"$1" || { echo "$1: does not take $2" >&2; exit 1; }; }
rm -rf /run/share
mkdir -p /run/share
cd /run/share || exit 1
# What was set before a cell is gone with the scheduler.
put "$queue/scheduler" none
# Longer than it takes: all are told to end when enough was seen.
total_s=$((WARM_S + SECONDS_S + 300))
# Words of a command line. fio would change each block of a buffer before it is written again, and want
# nothing of the disk meanwhile: emulated processors are slow at that.
fio() {
    echo "fio --name=$1 --filename=$DIR/$1 --size=${FILE_MB}M --rw=$RW --bs=$BYTES --ioengine=libaio --direct=1
        --iodepth=1 --scramble_buffers=0 --time_based --runtime=$total_s --output=/run/share/$1.fio --output-format=json"
}
start() {
    if [ "$SETTING" = default ]; then
        mkdir -p "$groups/lab-$1"
        put "$groups/lab-$1/io.bfq.weight" "$2"
        sh -c "echo \$\$ >$groups/lab-$1/cgroup.procs && exec $(fio "$1" | tr '\n' ' ')" >"$1.said" 2>&1 &
    else
        cut=auto
        [ "$SETTING" = uncut ] && cut=off
        # shellcheck disable=SC2046
        baro share run --weight "$2" --name "$1" --on "$DIR" --piece "$cut" --format json -- $(fio "$1") \
            >"$1.json" 2>"$1.said" &
    fi
}
[ "$SETTING" = default ] && put "$queue/scheduler" bfq
start first "$FIRST"
start second "$SECOND"
# Read back before `baro share` may trim them, which it does after seconds of both wanting more.
waited=0
for name in first second; do
    until grep -q . "$groups"/*-"$name"/cgroup.procs 2>/dev/null || [ $((waited += 1)) -gt 200 ]; do
        sleep 0.1
    done
done
for group in "$groups"/lab-* "$groups"/baro-*; do
    [ -d "$group" ] && echo "${group##*/} $(cat "$group/io.bfq.weight")"
done >weights
sleep "$WARM_S"
put "$trace/tracing_on" 0
put "$trace/buffer_size_kb" 16384
put "$trace/trace_clock" mono
: >"$trace/trace"
events() { for event in insert complete; do put "$trace/events/block/block_rq_$event/enable" "$1"; done; }
events 1
put "$trace/tracing_on" 1
cut -d' ' -f1 /proc/uptime >moments
sleep "$SECONDS_S"
cut -d' ' -f1 /proc/uptime >>moments
put "$trace/tracing_on" 0
grep . "$queue/scheduler" "$queue/nr_requests" "$queue/max_sectors_kb" "$queue/rotational" "$queue"/iosched/* >queue
[ "$SETTING" = default ] || baro share status --for 3s --format json >status 2>status.said
events 0
cat "$trace/trace" >trace
put "$trace/buffer_size_kb" 64
killall -INT fio
wait
for name in first second; do [ "$SETTING" = default ] && rmdir "$groups/lab-$name"; done
exit 0

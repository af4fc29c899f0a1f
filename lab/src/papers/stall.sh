# Paper D's stall with and without its remedy, traced, and what baro explain says of it.
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs t /sys/kernel/tracing
mkdir -p /dev/shm && mount -t tmpfs -o size=800M t /dev/shm
cat >/stall <<END
exec baro-lab stall --dir /dev/shm --for 40s --file 64M --device 8M --before 128M --after 8M --machine-wide \
    --mount $MOUNT --format json >/dev/shm/stall
END
baro trace --out /dev/shm/s.trace -- sh /stall >/out/said 2>&1
code=$?
baro explain /dev/shm/s.trace --over 300ms --top 3 --format json >/dev/shm/why 2>>/out/said || code=1
{
    printf '{"kernel":"%s","stall":' "$(uname -r)"
    cat /dev/shm/stall
    printf ',"explained":'
    cat /dev/shm/why
    printf '}'
} | tr -d '\n' >/out/m.jsonl
cat /out/said >&2
exit $code

#!/bin/sh
# How long a writer of small new files stands on f2fs, by the device's limit of dirty data (Linux 6.2 on):
#   cargo xtask lab run --kernel 6.12 --fs f2fs --disk flash --time 900 --in scripts/f2fs-limit.sh -- sh /f2fs-limit.sh
# In a guest only: it sets limits of the device below /mnt and does not put them back.
set -eu
files=5000
device=$(grep ' /mnt .* - f2fs ' /proc/self/mountinfo | cut -d' ' -f3)
bdi=/sys/class/bdi/$device
echo 1 > "$bdi/strict_limit"
echo "limit_bytes files longest_wait_s at_file all_s"
for limit in 33554432 25165824 16777216 12582912 8388608; do
    echo "$limit" > "$bdi/max_bytes"
    mkdir "/mnt/$limit"
    sync
    read -r begin _ < /proc/uptime
    i=0
    while [ "$i" -lt "$files" ]; do
        i=$((i + 1))
        echo some text > "/mnt/$limit/$i"
        read -r now _ < /proc/uptime
        echo "$i $now"
    done > /tmp/times
    awk -v limit="$limit" -v last="$begin" -v begin="$begin" '
        { if ($2 - last > longest) { longest = $2 - last; at = $1 } last = $2 }
        END { printf "%d %d %.2f %d %.2f\n", limit, NR, longest, at, last - begin }' /tmp/times
done

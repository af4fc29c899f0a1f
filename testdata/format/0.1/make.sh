#!/bin/bash
# Writes the fixtures of this folder anew, each with what its own baro says is in it:
#
#   bash testdata/format/0.1/make.sh BARO OUT [KIND...]
#
# BARO is a baro of version 0.1.0 (README.md says of which commit), OUT a folder on ext4.
# Needs root, python3 and a tmpfs at /dev/shm; `traces` needs BTF, and `share` loop devices with BFQ.
# Nothing of the machine stays changed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
baro=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
kinds=("$@")
[ $# -gt 0 ] || kinds=(log settled pinned recycled recycled_settled killed ring parquet tune stand share traces)
in=$here/inputs
layout='control=speed:f32@0(m/s),temp:i16be@4*0.1-40(degC),cell:u16[4]@6*0.001(V),on:bool@14,big:u64@16,wild:f64@24'
work=$(mktemp -d /tmp/fixtures-XXXXXX)
rings=$(mktemp -d /dev/shm/fixtures-XXXXXX)
# Where a recorder has its rings, and `baro info` looks for them.
export RUNTIME_DIRECTORY=$rings
clean() {
    local left
    left=$(jobs -p)
    # shellcheck disable=SC2086
    [ -z "$left" ] || kill -KILL $left || true
    rm -rf "$work" "$rings"
}
trap clean EXIT

# A frame of the layout above: speed 1.5, temp 0x00fa, cells, on, a hole, big, wild.
control() {
    printf '\x20\x00\x00\x00\x00\x00\xc0\x3f\x00\xfa\xe8\x03\xd0\x07\xb8\x0b\xff\xff\x01\x5a'
    printf '\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\xf8\xff'
    # Minus 0.0 and the least temp.
    printf '\x20\x00\x00\x00\x00\x00\x00\x80\x80\x00\x00\x00\x01\x00\x02\x00\x03\x00\x00\x00'
    printf '\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x80'
    # One that ends before its last fields, one of a byte, one of none.
    printf '\x08\x00\x00\x00\x00\x00\x80\x7f\x00\x01\xe8\x03\x01\x00\x00\x00\x07\x00\x00\x00\x00'
}

# COUNT frames of 64 KiB, which fill a log and are small when packed; the first is FROM.
filler() {
    for ((n = $1; n < $1 + $2; n++)); do
        printf '%08x' "$n" | sed 's/\(..\)\(..\)\(..\)\(..\)/\\x\4\\x\3\\x\2\\x\1/' | xargs -0 printf
        head -c 65532 /dev/zero
    done
}

# ROUND: twenty samples of two series that no other round has.
round() {
    for ((n = 0; n < 10; n++)); do
        printf '%s,round,%s\n' "$((1700000000000000000 + $1 * 1000000000 + n))" "$(($1 * 10 + n)).5"
        printf '%s,"of{round=""%s""}",%s\n' "$((1700000000000000000 + $1 * 1000000000 + n))" "$1" "$n"
    done
}

# record STORE OPTION...: leaves samples in the log.
record() {
    local store=$1 code=0
    shift
    "$baro" record "$store" --no-settle --ring 1M --format json "$@" >/dev/null || code=$?
    # 3: something was lost, as some of these are to have.
    [ $code -eq 0 ] || [ $code -eq 3 ]
}

fill() {
    filler "$2" "$3" | record "$1" --stdin raw --frame-bytes 64K --channel filler --layout filler=number:u32@0
}

until_it() {
    for _ in {1..100}; do
        if eval "$1"; then return; fi
        sleep 0.02
    done
    echo "never: $1" >&2
    exit 1
}

count() {
    "$baro" info "$1" --format json 2>/dev/null | pick "$2" | sed -n 's/^ "[a-z_]*": //p'
}

# Of a JSON object these keys, or all. Not jq, which takes integers of 64 bits for floats.
pick() {
    python3 -c 'import json, sys
found = json.load(sys.stdin)
keys = sys.argv[1:] or found
print(json.dumps({key: found[key] for key in keys}, indent=1, sort_keys=True, ensure_ascii=False))' "$@"
}

# What the store in $work is, in the words of this baro.
tell() {
    local to=$out/$1
    mkdir -p "$to"
    "$baro" list store --format json >"$to/list.json"
    # The values that count, series by series; everything as it came, in the order of time; an export.
    "$baro" query store --format csv >"$to/query.csv" 2>/dev/null
    "$baro" cat store --format csv --data-only >"$to/cat.csv" || [ $? -eq 3 ]
    rm -f "$to/export.csv"
    "$baro" export store "$to/export.csv" >/dev/null || [ $? -eq 3 ]
    if grep -q '"name":"control"' "$to/list.json"; then
        "$baro" cat store control --format json --data-only >"$to/frames.ndjson" || [ $? -eq 3 ]
    fi
    # Of info and verify what the test compares: not the machine's promises, nor times and speeds.
    "$baro" info store --format json | pick store created_ns segments segment_bytes when_full series \
        channels blocks records dead_blocks segments_used segments_blank segments_grown segments_kept \
        time_min_ns time_max_ns runs runs_samples segments_unsettled pins damage recorded_payload_bytes \
        sessions >"$to/info.json"
    "$baro" verify store --format json | pick whole sessions blocks records frames samples runs \
        runs_samples gaps clock_steps lost lost_ring_full lost_too_large lost_damaged_in_ring \
        lost_unknown records_unexplained records_repeated producers torn_tails dead_blocks time_min_ns \
        time_max_ns damage >"$to/verify.json"
}

# pack NAME FILE...: with nothing in it of this machine's users and days.
pack() {
    local name=$1
    shift
    mkdir -p "$out/$name"
    tar --create --format ustar --owner 0 --group 0 --numeric-owner --mtime @1700000000 --sort name "$@" |
        gzip -9n >"$out/$name/files.tar.gz"
}

# Every kind of value, name and frame, from three sessions; two records of the camera are lost.
everything() {
    record store --stdin csv --declare count:i64:things --declare on:bool <"$in/values.csv"
    control | record store --stdin frames --channel control --layout "$layout"
    "$baro" import store "$in/texts.lp" --precision ns >/dev/null
    record store --stdin json <"$in/later.ndjson"
    # The earliest and the latest times there are.
    record store --stdin csv <"$in/edges.csv"
}


# Samples and frames in segments; nothing settled, no dictionary.
make_log() {
    "$baro" init store --size 8M >/dev/null
    everything
    lossy
    tell log
    pack log store
}

# Two runs, a manifest, a dictionary, and behind them what came since.
make_settled() {
    "$baro" init store --size 12M >/dev/null
    everything
    lossy
    "$baro" settle store --all >/dev/null
    round 1 | record store --stdin csv
    "$baro" settle store --all >/dev/null
    { round 2; printf '1700000000000000000,temp,-1\n1700000001000000001,round,0.25\n'; } |
        record store --stdin csv
    tell settled
    pack settled store
}

# A log that has gone round; the first window was copied out of it, the second lies in it.
make_pinned() {
    "$baro" init store --size 8M --recycle >/dev/null
    { cat "$in/values.csv"; round 1; } |
        record store --stdin csv --declare count:i64:things --declare on:bool
    fill store 0 20
    # More than a quarter of the log: the oldest is copied out of it.
    "$baro" pin store --before 1h --name 'the first, Größe 🌡' >/dev/null
    round 2 | record store --stdin csv
    fill store 20 60
    fill store 80 60
    round 3 | record store --stdin csv
    "$baro" pin store --before 1ms --name second >/dev/null
    until_it '[ "$(count store segments_kept)" -gt 0 ]'
    tell pinned
    pack pinned store
}

# A log that has gone round, and what was in its oldest segments is gone.
make_recycled() {
    "$baro" init store --size 4M --recycle >/dev/null
    for n in 1 2 3 4 5 6; do
        round $n | record store --stdin csv
        fill store $((n * 100)) 20
    done
    tell recycled
    pack recycled store
}

# The same, settled in between: the samples are all there.
make_recycled_settled() {
    "$baro" init store --size 4M --recycle >/dev/null
    for n in 1 2 3 4 5 6; do
        round $n | record store --stdin csv
        fill store $((n * 100)) 20
        [ $n -eq 6 ] || "$baro" settle store --all >/dev/null
    done
    tell recycled_settled
    pack recycled_settled store
}

# Killed while it records, with a window open, in a log that is to grow and has no room for it; all of it
# was durable.
make_killed() {
    "$baro" init store --grow-to 6M >/dev/null
    mkfifo lines
    "$baro" record store --format json --no-settle --stdin csv --declare count:i64:things --declare on:bool \
        --min-free 1000T --durable-within 20ms <lines >/dev/null &
    local recorder=$!
    exec 3>lines
    cat "$in/values.csv" >&3
    until_it '[ "$(count store records)" -gt 10 ]'
    "$baro" pin store --before 1h --after 24h --name open >/dev/null
    for n in 1 2 3; do
        round $n >&3
        sleep 0.1
    done
    # This version has a line in a ring when one of another time follows; this one has not got there.
    echo 1700000009000000000,temp,9 >&3
    until_it '[ "$("$baro" query store round --format csv | wc -l)" -eq 31 ]'
    kill -KILL $recorder
    wait $recorder || true
    exec 3>&-
    rm -r lines "${rings:?}"/*
    tell killed
    pack killed store
}

# Killed with records in three rings that are not in the log: of a source of its own, of another process,
# and of datagrams, of which two were refused, which is not in the log either.
make_ring() {
    "$baro" init store --size 4M >/dev/null
    mkfifo lines
    "$baro" record store --format json --no-settle --stdin csv --declare round:f64 --declare 'of{round="1"}:f64' \
        --declare 'of{round="2"}:f64' --declare 'of{round="3"}:f64' --durable-within 3s --ring 64K \
        --attach 1 --udp 127.0.0.1:47077 --udp-frames camera <lines >/dev/null &
    local recorder=$! import
    exec 3>lines
    { round 1; echo 1700000001000000000,round,10.5; } >&3
    until_it '[ "$(rings_sum durable)" -ge 10 ]'
    { round 2; echo 1700000009000000000,round,9; } >&3
    round 3 | "$baro" import store - --input csv >/dev/null 2>&1 &
    import=$!
    datagrams
    until_it '[ "$(rings_sum offered)" -ge 26 ]'
    kill -KILL $recorder $import
    wait $recorder $import || true
    exec 3>&-
    "$baro" info store --format json | pick rings | sed '/"path"/d' >rings.json
    tell ring/before
    mv "$rings" "$work/rings"
    pack ring store -C "$work" rings
    mv "$work/rings" "$rings"
    # What the next recorder of this version makes of it.
    { "$baro" record store --format json --no-settle --stdin csv </dev/null || [ $? -eq 3 ]; } |
        pick records_taken_over left_in_rings >"$out/ring/taken_over.json"
    mv rings.json "$out/ring"
    tell ring/after
}

rings_sum() {
    "$baro" info store --format json | python3 -c 'import json, sys
print(sum(ring[sys.argv[1]] for ring in json.load(sys.stdin)["rings"]))' "$1"
}

# Two frames, and between them two that are too large for a ring of 64 KiB.
datagrams() {
    for bytes in 100 20000 30000 200; do
        head -c $bytes /dev/zero | tr '\0' 'x' | dd bs=64K iflag=fullblock \
            status=none >/dev/udp/127.0.0.1/47077
    done
}

# Datagrams while the recorder stands still, more than its ring takes, and some that are too large.
lossy() {
    "$baro" record store --format json --no-settle --ring 64K --udp 127.0.0.1:47077 --udp-frames camera >/dev/null &
    local recorder=$! n
    until_it '[ "$(count store recorder_pid)" = '$recorder' ] && "$baro" list store camera >/dev/null 2>&1'
    sleep 0.3
    datagrams
    sleep 0.3
    kill -STOP $recorder
    exec 3>/dev/udp/127.0.0.1/47077
    for ((n = 0; n < 200; n++)); do
        printf '%08000d' $n >&3
    done
    exec 3>&-
    kill -CONT $recorder
    sleep 1
    kill -INT $recorder
    wait $recorder || [ $? -eq 3 ]
}

# A file of each kind of column that `import` takes back.
make_parquet() {
    "$baro" init store --size 8M >/dev/null
    everything
    mkdir -p "$out/parquet"
    "$baro" query store --format parquet -o "$out/parquet/all.parquet"
    tell parquet
    rm "$out"/parquet/{*.json,frames.ndjson,cat.csv,export.csv}
}

# Journals of settings on a machine made of files: as a killed owner leaves it, with settings kept below.
make_tune() {
    local root=root name text
    while read -r name text; do
        mkdir -p "$root/$(dirname "$name")"
        printf '%b\n' "$text" >"$root/$name"
    done <"$in/machine.txt"
    local apply=("$baro" tune apply --state-dir state --root root --machine-wide)
    "${apply[@]}" --only numa --only compaction --keep >/dev/null
    "${apply[@]}" --only reserve --only flusher >/dev/null 2>said &
    until_it 'grep -q "Ctrl-C ends it" said'
    kill -KILL $!
    wait $! || true
    mkdir -p "$out/tune"
    pack tune root state
    cp state/journal "$out/tune/journal.txt"
    cp state/kept/journal "$out/tune/kept-journal.txt"
    "$baro" tune undo --state-dir state --root root --format json | pick >"$out/tune/undo.json"
}

# beside DIR: the files that a journal of settings names, as they are now, for a machine made of files.
beside() {
    local path
    while IFS=$'\t' read -r _ path _; do
        mkdir -p "root/$(dirname "$path")"
        cat "$path" >"root/$path"
    done < <(grep -E $'^(set|moving)\t' "$1/journal")
    mkdir -p root/proc/sys/kernel/random
    cat /proc/sys/kernel/random/boot_id >root/proc/sys/kernel/random/boot_id
}

# A journal with a line of a control group, as a bench leaves it that was killed; the next one removes the
# rest. A file does not lose the line when it is told to, so not all of it is put back there.
make_stand() {
    local stall=("$baro" bench stall --dir "$PWD/stand" --file 32M --before 16M)
    mkdir stand
    "${stall[@]}" --for 20s >/dev/null 2>&1 &
    until_it 'grep -qs "line " stand/*/settings/journal'
    sleep 1
    kill -KILL $!
    wait $! || true
    cp -r stand/*/settings state
    beside state
    "${stall[@]}" --for 1s >/dev/null 2>&1 || true
    mkdir -p "$out/stand"
    pack stand root state
    cp state/journal "$out/stand/journal.txt"
    { "$baro" tune undo --state-dir state --root root --format json || [ $? -eq 3 ]; } |
        pick >"$out/stand/undo.json"
}

# A loop device with an ext4 at $work/mnt, as long as `$1` runs.
on_a_disk() {
    local device
    truncate -s 64M "$work/image"
    mkfs.ext4 -q -F "$work/image"
    mkdir "$work/mnt"
    device=$(losetup --find --show --direct-io=on "$work/image")
    trap 'umount "$work/mnt"; losetup --detach '"$device"'; clean' EXIT
    mount "$device" "$work/mnt"
    "$1" "${device#/dev/}"
    trap clean EXIT
    umount "$work/mnt"
    losetup --detach "$device"
    rm -r "$work/image" "$work/mnt"
}

# What a killed holder of a group leaves: the group's folder with both files of its pieces, what was done
# to the journal of ext4, and the journal of settings with lines of control groups in it. The files that
# it names are beside it, as they were then, so that they can be put back on a machine made of files.
make_share() {
    on_a_disk share_on
}

share_on() {
    local holders
    local share=("$baro" share run --run-dir run --state-dir state --on "$work/mnt")
    # shellcheck disable=SC2016
    "${share[@]}" --name plant --weight 300 -- sh -c 'echo $$ >programs; exec sleep 600' >/dev/null 2>&1 &
    holders=$!
    until_it '[ -s programs ]'
    # shellcheck disable=SC2016
    "${share[@]}" --name plant/player --weight 200 --piece 8M:4M -- sh -c \
        'dd if=/dev/zero of="$0/file" bs=32M count=1 oflag=direct status=none; echo $$ >>programs; exec sleep 600' \
        "$work/mnt" >/dev/null 2>&1 &
    holders+=" $!"
    until_it '[ "$(wc -l <programs)" -eq 2 ]'
    sleep 0.5
    # shellcheck disable=SC2086
    kill -KILL $holders
    # shellcheck disable=SC2086
    wait $holders || true
    beside state
    mkdir -p "$out/share"
    pack share root run state
    cp state/journal "$out/share/journal.txt"
    head -50 run/.journals run/*/group >"$out/share/groups.txt"
    cp -r state undone
    "$baro" tune undo --state-dir undone --root root --format json | pick >"$out/share/undo.json"
    "${share[@]}" --name other -- true >/dev/null 2>&1
    # shellcheck disable=SC2046
    kill $(cat programs)
}

# Three writes of a new ext4, each with its sync, by each collector, in a mount namespace of its own with
# tracefs; and what the analyses say of them.
make_traces() {
    on_a_disk traces_on
}

traces_on() {
    local collector kind
    mkdir -p "$out/traces"
    for collector in tracefs btf; do
        # shellcheck disable=SC2016
        unshare --mount bash -c 'set -e
            mount -t tracefs none /sys/kernel/tracing
            "$0" trace --collector "$1" --out "$1.trace" -- \
                dd if=/dev/zero of="$2/$1" bs=16K count=3 oflag=dsync status=none' \
            "$baro" $collector "$work/mnt" >/dev/null
        for kind in handle state waits syscall; do
            "$baro" trace $kind $collector.trace --format json | pick >"$out/traces/$collector.$kind.json"
        done
    done
    pack traces ./*.trace
}

for kind in "${kinds[@]}"; do
    mkdir "$work/$kind"
    cd "$work/$kind"
    echo "$kind" >&2
    "make_$kind"
done
du -sb "$out"

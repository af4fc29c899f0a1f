#!/bin/sh
# Runs the interposer under the address and thread sanitizers:
#
#     scripts/preload-sanitize.sh
#
# The programs in C of its tests are built with each sanitizer of the C compiler and run with the
# interposer behind the sanitizer's runtime; and once more with an interposer that is itself
# instrumented, so that its own accesses are judged; with that also fio, dd, tar, sqlite, python and
# git. Its unit tests run under Rust's address sanitizer.
# Prints `ok` or `skipped: why` for each part, and exits 1 at the first finding. Needs cc with its
# sanitizers and Rust; leaves nothing but a folder in the target directory.
set -eu

cd "$(dirname "$0")/.."
package=crates/share/preload
target=${CARGO_TARGET_DIR:-target}
place=$target/preload-sanitize
host=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p "$place/files" "$place/share"
place=$(cd "$place" && pwd)
target=$(cd "$target" && pwd)

# The counters: a segment of shared memory, which ends with this script.
segment=$(python3 -c 'import ctypes
number = ctypes.CDLL(None, use_errno=True).shmget(0, 4096, 0o1600)
print(number if number >= 0 else "")')
if [ -z "$segment" ]; then
    echo "skipped: no segment of shared memory can be made, so nothing would be counted"
    exit 0
fi
trap 'ipcrm -m "$segment"' EXIT

# The sizes as the controller writes them, with the smallest pieces, and counters of nothing, in this
# machine's byte order.
share() {
    python3 - "$place/share" "$segment" <<'END'
import ctypes, struct, sys
def page(magic, rest):
    return (struct.pack("=8sI4x", magic, 1) + rest).ljust(4096, b"\0")
token = 0x123456789abcdef0
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
start = libc.shmat(int(sys.argv[2]), None, 0)
ctypes.memmove(start, page(b"baroctr1", struct.pack("=Q", token)), 4096)
sizes = struct.pack("=48xQQ8xQQ", 65536, 65536, int(sys.argv[2]) + 1, token)
open(f"{sys.argv[1]}/pieces", "wb").write(page(b"baropcs1", sizes))
END
}

# How many calls were cut since `share`.
calls_cut() {
    python3 -c 'import ctypes, struct, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
start = libc.shmat(int(sys.argv[1]), None, 0)
print(struct.unpack_from("=Q", ctypes.string_at(start, 4096), 72)[0])' "$segment"
}

found() {
    cat "$place/said" >&2
    echo "found: $*" >&2
    exit 1
}

# compile SANITIZER PROGRAM [OPTION...]
compile() {
    sanitizer=$1 program=$2
    shift 2
    cc -O1 -g -U_FORTIFY_SOURCE -pthread "-fsanitize=$sanitizer" -o "$place/$program" \
        "$package/tests/native/$program.c" "$@"
}

# run RUNTIME LIBRARY PROGRAM CASE
run() {
    share
    if ! BARO_SHARE="$place/share" LD_PRELOAD="$1 $2" \
        ASAN_OPTIONS="detect_leaks=0 abort_on_error=0" TSAN_OPTIONS="halt_on_error=1" \
        "$place/$3" "$place/files" "$4" 2>"$place/said"; then
        found "$3 $4 under $1 with $2"
    fi
    [ "$(calls_cut)" -gt 0 ] || [ "$4" = left_alone ] || [ "$4" = raw ] || [ "$4" = file_limit ] || {
        found "$3 $4 was not cut"
    }
}

# programs RUNTIME LIBRARY CASE-TO-LEAVE-OUT...: all cases of all programs.
programs() {
    runtime=$1 library=$2
    for case in members end_of_file left_alone raw; do run "$runtime" "$library" families $case; done
    for case in threads writers forks handlers executed stacks; do
        run "$runtime" "$library" life $case
    done
    [ ! -e "$place/libaio" ] || for case in in_flight threads destroyed forked; do
        run "$runtime" "$library" libaio $case
    done
}

# What rustc's thread sanitizer calls and an older runtime of gcc lacks, as the functions that it checks.
bridge() {
    printf '%s\n' '#include <string.h>' \
        'void *__tsan_memset(void *a, int b, size_t n) { return memset(a, b, n); }' \
        'void *__tsan_memcpy(void *a, const void *b, size_t n) { return memcpy(a, b, n); }' \
        'void *__tsan_memmove(void *a, const void *b, size_t n) { return memmove(a, b, n); }' |
        cc -shared -fPIC -O1 -fno-builtin -x c -o "$place/bridge.so" -
    echo "$place/bridge.so"
}

# real PRELOADED: fio, dd, tar, sqlite, python and git as the tests run them.
real() {
    if BARO_PRELOAD_TEST=$1 ASAN_OPTIONS="detect_leaks=0" TSAN_OPTIONS="halt_on_error=1" \
        cargo test -q -p baro-preload --test programs -- --show-output >"$place/said" 2>&1; then
        echo "ok: real programs with it"
        grep skipped: "$place/said" || true
    else
        found "real programs with $1"
    fi
}

cargo build -q --release -p baro-preload
for sanitizer in address thread; do
    runtime=$(cc -print-file-name="lib${sanitizer%"${sanitizer#?}"}san.so")
    case $runtime in
    /*) ;;
    *) echo "skipped: cc has no $sanitizer sanitizer"; continue ;;
    esac
    rm -f "$place/libaio"
    compile $sanitizer families
    compile $sanitizer life
    compile $sanitizer libaio -l:libaio.so.1 2>/dev/null ||
        echo "skipped: libaio.so.1 is not installed"
    programs "$runtime" "$target/release/libbaro_preload.so"
    echo "ok: programs under the $sanitizer sanitizer"
    # Rust's own libraries come without it; the thread sanitizer wants that said.
    mismatch=
    [ $sanitizer != thread ] || mismatch=-Cunsafe-allow-abi-mismatch=sanitizer
    if RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$sanitizer $mismatch" \
        CARGO_TARGET_DIR="$target/$sanitizer" \
        cargo build -q --release -p baro-preload --target "$host" 2>"$place/said"; then
        programs "$runtime $(bridge)" "$target/$sanitizer/$host/release/libbaro_preload.so"
        echo "ok: the same with an interposer that is instrumented"
        real "$runtime $(bridge) $target/$sanitizer/$host/release/libbaro_preload.so"
    else
        echo "skipped: no instrumented interposer: $(grep -m 1 error "$place/said")"
    fi
done
if RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR="$target/address" \
    cargo test -q -p baro-preload --lib --target "$host" >"$place/said" 2>&1; then
    echo "ok: unit tests under the address sanitizer"
else
    found "unit tests under the address sanitizer"
fi
rm -rf "$place"

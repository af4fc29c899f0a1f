//! Memory of a recording program on a small board, beside its ring: measured, since buffers,
//! stacks and the library's own data add up to what no single number tells.

use crate::toolchain::{Folder, compile, compiler, run};

/// What a board has to spare for the recorder beside the ring.
const GOAL_KIB: u64 = 8 << 10;
const RING_BYTES: u64 = 4 << 20;

/// Records as `examples/c/record.c` does, without the pauses, and prints the peak of its resident
/// memory in KiB.
const PROGRAM: &str = r#"
#include <barograph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    static unsigned char frame[16384];
    char line[256];
    baro_init_options making;
    baro_open_options options;
    baro_recorder *recorder;
    baro_producer *producer;
    uint64_t last = 0;
    memset(&making, 0, sizeof making);
    making.type_size = sizeof making;
    making.flags = BARO_INIT_RECYCLE;
    making.log_bytes = 64 << 20;
    memset(&options, 0, sizeof options);
    options.type_size = sizeof options;
    options.ring_bytes = 4 << 20;
    options.record_bytes_max = 64 << 10;
    options.block_bytes = (uint64_t)atol(arguments[2]);
    if (count < 3 || baro_init(arguments[1], &making) < 0)
        return puts(baro_last_error());
    if (baro_open(arguments[1], &options, &recorder) < 0)
        return puts(baro_last_error());
    if (baro_producer_open(recorder, &producer) < 0)
        return puts(baro_last_error());
    for (int number = 0; number < 4000; number++) {
        if (baro_push_frame(producer, 1, baro_now_ns(), frame, sizeof frame, &last) < 0)
            return 1;
        if (number % 64 == 63 && baro_producer_wait_durable(producer, last, 60000000000u) < 0)
            return 1;
    }
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            printf("%ld\n", strtol(line + 6, NULL, 10));
    baro_producer_close(producer);
    return baro_close(recorder, NULL);
}
"#;

fn peak_beside_ring_kib(block_bytes: &str) -> Option<u64> {
    let cc = compiler("c")?;
    let folder = Folder::new(&format!("memory-{block_bytes}"));
    let source = folder.write("memory.c", PROGRAM);
    let program = folder.path("memory");
    compile(&cc, "-std=c99", &source, &program);
    let store = folder.path("store");
    let said = run(&program, &[store.to_str().unwrap(), block_bytes]);
    let peak_kib: u64 = said.trim().parse().unwrap();
    Some(peak_kib - RING_BYTES / 1024)
}

#[test]
fn a_board_has_memory_left() {
    let Some(default) = peak_beside_ring_kib("0") else { return };
    let Some(large) = peak_beside_ring_kib("1048576") else { return };
    println!("resident beside the ring: {default} KiB by default, {large} with blocks of 1 MiB");
    assert!(default <= GOAL_KIB, "{default} KiB beside the ring, at most {GOAL_KIB} wanted");
}

//! The programs that are loaded are those of the source beside them.
#![allow(clippy::unwrap_used, reason = "a text in another form fails the test")]

const SUM: &str = include_str!("../src/probes.bpf.sum");

fn fnv(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn stated(key: &str) -> u64 {
    let line = SUM.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap()
}

#[test]
fn the_programs_were_built_of_the_source() {
    let source = [
        &include_bytes!("../bpf/kernel.h")[..],
        include_bytes!("../bpf/records.h"),
        include_bytes!("../bpf/common.h"),
        include_bytes!("../bpf/sleeps.h"),
        include_bytes!("../bpf/calls.h"),
        include_bytes!("../bpf/journals.h"),
        include_bytes!("../bpf/handles.h"),
        include_bytes!("../bpf/probes.bpf.c"),
    ]
    .concat();
    let next = "the source has changed: run cargo xtask probes (needs clang) and commit the result";
    assert_eq!(fnv(&source), stated("source "), "{next}");
    assert_eq!(fnv(include_bytes!("../src/probes.bpf.o")), stated("object "), "{next}");
}

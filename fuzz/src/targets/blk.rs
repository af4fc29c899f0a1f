//! What blktrace records and blkparse prints. Neither has checksums, so nothing is fixed up.

use crate::Target;
use baro_trace::blk::blktrace::Merged;
use baro_trace::blk::{Accounting, Column, blkparse};

pub(crate) const BLKTRACE: Target = Target {
    name: "blk_blktrace",
    fuzz_one: blktrace,
    seeds: || {
        vec![
            include_bytes!("../../../testdata/blk/sdb.blktrace.0").to_vec(),
            include_bytes!("../../../testdata/blk/sdb.blktrace.1").to_vec(),
        ]
    },
    fix_up: |_| {},
};

pub(crate) const BLKPARSE: Target = Target {
    name: "blk_blkparse",
    fuzz_one: blkparse,
    seeds: || vec![include_bytes!("../../../testdata/blk/sdb.blkparse").to_vec()],
    fix_up: |_| {},
};

pub(crate) const PRINTED: Target = Target {
    name: "blk_printed",
    fuzz_one: blkparse,
    seeds: || {
        vec![
            include_bytes!("../../../testdata/blk/printed/perf.txt").to_vec(),
            include_bytes!("../../../testdata/blk/printed/ftrace.txt").to_vec(),
            include_bytes!("../../../testdata/blk/printed/trace-cmd.txt").to_vec(),
        ]
    },
    fix_up: |_| {},
};

fn blktrace(bytes: &[u8]) {
    // As the files of two processors, so that they are merged.
    let (one, two) = bytes.split_at(bytes.len() / 2);
    for files in [vec![bytes], vec![one, two]] {
        let mut merged = Merged::new(files);
        let mut accounting = Accounting::default();
        merged.by_ref().for_each(|event| accounting.take(&event));
        let counts = merged.counts();
        assert!(counts.records as usize <= bytes.len() / 48);
        assert!(accounting.counts().events <= counts.records);
        assert!(merged.damage().len() <= 2);
        check(&accounting);
    }
}

fn blkparse(bytes: &[u8]) {
    let mut accounting = Accounting::default();
    let Ok(counts) = blkparse::read(bytes, &mut accounting) else { panic!("memory is readable") };
    assert!(counts.printed_events <= counts.events && counts.completions <= counts.events);
    assert!(counts.events + counts.bad_lines <= counts.lines);
    assert!(counts.lines as usize <= bytes.len());
    assert_eq!(counts.bad_lines > 0, counts.first_bad.is_some());
    check(&accounting);
}

/// Sums by process are those by device.
fn check(accounting: &Accounting) {
    for (device, traffic) in accounting.by_device() {
        let of_processes = accounting.by_process(device);
        for column in Column::ALL {
            let sum = |sum: u64, one: u64| sum.saturating_add(one);
            let bytes = of_processes.values().map(|one| one.column(column).done_bytes);
            assert_eq!(bytes.fold(0, sum), traffic.column(column).done_bytes);
            assert!((0.0..=1.0).contains(&traffic.share(column)));
        }
    }
}

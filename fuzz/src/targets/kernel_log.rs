//! Logs of a kernel: whatever programs have written into it.

use crate::Target;
use baro_trace::hang::{FRAMES_MAX, describe, log, to_json};

pub(crate) const KERNEL_LOG: Target = Target {
    name: "kernel_log",
    fuzz_one: kernel_log,
    seeds: || {
        vec![
            include_bytes!("../../../testdata/kernel_log/6.18.txt").to_vec(),
            include_bytes!("../../../testdata/kernel_log/5.10-sysrq-w.txt").to_vec(),
            include_bytes!("../../../testdata/kernel_log/6.1-arm64-locks.txt").to_vec(),
            include_bytes!("../../../testdata/kernel_log/5.10-arm.txt").to_vec(),
        ]
    },
    fix_up: |_| {},
};

fn kernel_log(bytes: &[u8]) {
    let Ok(log) = log::read(bytes) else { panic!("memory is readable") };
    assert!(log.lines as usize <= bytes.len());
    assert!(log.tasks.len() as u64 + log.left_out + log.others <= log.lines);
    assert!(log.tasks.iter().all(|task| task.frames.len() <= FRAMES_MAX));
    let text = describe(&log, 10);
    assert!(text.chars().all(|one| one == '\n' || !one.is_control()));
    assert!(to_json(&log, 10)["tasks"].is_array());
}

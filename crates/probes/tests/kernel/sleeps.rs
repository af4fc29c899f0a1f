//! A task that is made to wait: where, for how long, in which call, and who woke it.

use crate::stand::{Ext4, Symbols, Throttle, finish, own_task, probes};
use baro_probes::ProbeOptions;
use baro_sys::clock;
use baro_trace::schema::KernelEvent;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

const O_DIRECT: i32 = 0o40000;
const BYTES: usize = 2 << 20;
#[cfg(target_arch = "x86_64")]
const PWRITE64: i64 = 18;
#[cfg(not(target_arch = "x86_64"))]
const PWRITE64: i64 = 68;

#[test]
fn a_throttled_write_is_told_with_its_stack_and_call() {
    let Some(stand) = Ext4::new("sleeps") else { return };
    let path = stand.mount.join("file");
    fs::write(&path, vec![1; BYTES]).unwrap();
    stand.sync();
    let file = OpenOptions::new().write(true).custom_flags(O_DIRECT).open(&path).unwrap();
    // O_DIRECT asks for memory at whole blocks.
    let memory = vec![7_u8; BYTES + 4_096];
    let from = memory.as_ptr().align_offset(4_096);
    let Some(throttle) = Throttle::new(&stand) else { return };
    let options = ProbeOptions { calls: true, own_sleeps: true, ..Default::default() };
    let Some(probes) = probes(&options) else { return };
    let begin_ns = clock::monotonic_ns();
    file.write_all_at(&memory[from..from + BYTES], 0).unwrap();
    let end_ns = clock::monotonic_ns();
    drop(throttle);
    let told = finish(probes);
    assert_eq!(told.lost, 0);
    let own = own_task();
    let symbols = Symbols::read();
    let (mut slept_ns, mut woken) = (0, 0);
    let mut functions = Vec::new();
    let mut calls = Vec::new();
    for (time_ns, _, event) in &told.events {
        match event {
            KernelEvent::Sleep(sleep) if sleep.pid == own && sleep.call == PWRITE64 => {
                assert!(begin_ns <= sleep.begin_ns && *time_ns <= end_ns, "{sleep:?}");
                assert_eq!(sleep.tgid as u32, std::process::id());
                assert_eq!(sleep.args[2], BYTES as u64);
                let mut names: Vec<&str> = Vec::new();
                for address in &sleep.stack.addresses()[..sleep.frames as usize] {
                    names.push(symbols.name(*address));
                }
                println!("{sleep:?}\n{names:?}");
                if sleep.state == 2 {
                    slept_ns += time_ns - sleep.begin_ns;
                    woken += u32::from(sleep.woken_ns >= sleep.begin_ns);
                    functions.extend(names.into_iter().map(str::to_owned));
                }
            }
            KernelEvent::Call(call) if call.number == PWRITE64 && call.args[2] == BYTES as u64 => {
                calls.push(*call);
            }
            _ => {}
        }
    }
    assert!(slept_ns > 0 && woken > 0, "{:?}", told.summary);
    // Both names are those of 5.18 and of all kernels since.
    for function in ["ext4_file_write_iter", "vfs_write"] {
        assert!(functions.iter().any(|name| name == function), "{functions:?}");
    }
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((call.ret, call.args[3]), (BYTES as i64, 0));
    assert!(begin_ns <= call.begin_ns && call.wait_ns >= slept_ns, "{call:?}, slept {slept_ns}");
}

//! Loads the programs for the kernel that runs and attaches them to its tracepoints.
//!
//! Which tracepoints there are differs: ext4's have had other names, and where ext4 is a module that
//! nobody has loaded there are none. What is not there is told and the rest is attached; only the
//! scheduler's are a must.
//!
//! Invariant: what could not be attached is named. Held by `handles_are_counted_as_jbd2_counts_them`.

use crate::btf::KernelTypes;
use crate::error::{ProbeError, is_missing};
use crate::options::ProbeOptions;
use aya::programs::{BtfTracePoint, ProgramError, RawTracePoint};
use aya::{Ebpf, EbpfLoader};
use baro_sys::identity;
use baro_trace::calls;

/// The programs, built by `cargo xtask probes`. A copy, as the reader of ELF wants it aligned.
static OBJECT: &[u8] = include_bytes!("probes.bpf.o");

/// Room for tasks: a power of two. Numbers of tasks are given one after the other, so only as many
/// tasks at once could meet in one slot. 4 MiB.
pub(crate) const SLOTS: u32 = 1 << 16;
/// From here on the tracepoint of a switch tells the state, and the helpers for stacks and loops
/// are there.
const OLDEST: (u32, u32) = (5, 18);

/// Program and tracepoint that it is attached to with its types.
const TYPED: [(&str, &str); 2] = [("baro_switch", "sched_switch"), ("baro_waking", "sched_waking")];
/// Tells when a task that was off the processor goes on in its own code. Not on every kernel.
const RETURNS: (&str, &str) = ("baro_returned", "rseq_update");
const CALLS: [(&str, &str); 2] = [("baro_enter", "sys_enter"), ("baro_exit", "sys_exit")];
/// Program and tracepoints, at least one of which is to be there.
const RAW: [(&str, &[&str]); 11] = [
    (
        "baro_journal_start",
        &[
            // 6.1 and before; later one of the two with inode or superblock.
            "ext4_journal_start",
            "ext4_journal_start_sb",
            "ext4_journal_start_inode",
            "ext4_journal_start_reserved",
        ],
    ),
    ("baro_handle_start", &["jbd2_handle_start"]),
    ("baro_handle_stats", &["jbd2_handle_stats"]),
    ("baro_start_commit", &["jbd2_start_commit"]),
    ("baro_commit_locking", &["jbd2_commit_locking"]),
    ("baro_commit_flushing", &["jbd2_commit_flushing"]),
    ("baro_commit_logging", &["jbd2_commit_logging"]),
    ("baro_end_commit", &["jbd2_end_commit"]),
    ("baro_drop_transaction", &["jbd2_drop_transaction"]),
    ("baro_tail", &["jbd2_update_log_tail"]),
    ("baro_checkpoint", &["jbd2_checkpoint"]),
];

/// Loads and attaches. Gives also the names of tracepoints that are not there.
pub(crate) fn load(options: &ProbeOptions) -> Result<(Ebpf, Vec<String>), ProbeError> {
    let release = identity::kernel_release();
    if version(&release).is_some_and(|version| version < OLDEST) {
        return Err(ProbeError::Kernel { found: release });
    }
    let types = KernelTypes::read()?;
    let mut ebpf = loaded(options, &types)?;
    let mut missing = Vec::new();
    match types.has_returns {
        true => typed(&mut ebpf, RETURNS.0, RETURNS.1, &types)?,
        false => missing.push(RETURNS.1.to_owned()),
    }
    // The scheduler's last: nothing is told of tasks before all else is there.
    for (program, tracepoints) in RAW {
        let attached = if types.has_journal { raw(&mut ebpf, program, tracepoints)? } else { 0 };
        if attached == 0 {
            missing.extend(tracepoints.last().map(|name| (*name).to_owned()));
        }
    }
    let calls = if options.calls { &CALLS[..] } else { &[] };
    for (program, tracepoint) in calls.iter().chain(&TYPED) {
        typed(&mut ebpf, program, tracepoint, &types)?;
    }
    Ok((ebpf, missing))
}

fn loaded(options: &ProbeOptions, types: &KernelTypes) -> Result<Ebpf, ProbeError> {
    let device = options.device.map_or(0, |device| device.0);
    let own_tgid = if options.own_sleeps { 0 } else { std::process::id() };
    let mask = SLOTS - 1;
    let calls_on = u32::from(options.calls);
    let returns_on = u32::from(types.has_returns);
    let sleep_calls = sleep_calls();
    let object = OBJECT.to_vec();
    let mut loader = EbpfLoader::new();
    loader
        .btf(Some(&types.btf))
        .map_max_entries("records", options.ring_bytes())
        .map_max_entries("slots", SLOTS)
        .map_max_entries("calls", if options.calls { SLOTS } else { 1 })
        .override_global("target_dev", &device, true)
        .override_global("own_tgid", &own_tgid, true)
        .override_global("slot_mask", &mask, true)
        .override_global("calls_on", &calls_on, true)
        .override_global("min_sleep_ns", &options.min_sleep_ns, true)
        .override_global("min_runnable_ns", &options.min_runnable_ns, true)
        .override_global("min_call_sleep_ns", &options.min_call_sleep_ns, true)
        .override_global("min_any_sleep_ns", &options.min_any_sleep_ns, true)
        .override_global("returns_on", &returns_on, true)
        .override_global("sleep_calls", &sleep_calls[..], true)
        .override_global("min_handle_ns", &options.min_handle_ns, true)
        .override_global("min_held_ns", &options.min_held_ns, true)
        .override_global("min_busy_ns", &options.min_busy_ns, true)
        .override_global("sample_ns", &options.sample_ns, true);
    Ok(loader.load(&object)?)
}

/// The calls that wait for storage in sleeps that signals end, a bit each by their numbers here.
fn sleep_calls() -> [u64; 8] {
    let mut bits = [0; 8];
    for number in 0..512_u16 {
        let name = calls::name(Some(std::env::consts::ARCH), number.into());
        if name.is_some_and(calls::is_storage) {
            bits[usize::from(number / 64)] |= 1 << (number % 64);
        }
    }
    bits
}

fn raw(ebpf: &mut Ebpf, program: &str, tracepoints: &[&str]) -> Result<usize, ProbeError> {
    let refused = |error: ProgramError| ProbeError::of(program, &error);
    let found = ebpf.program_mut(program).ok_or(ProgramError::UnexpectedProgramType);
    let loaded: &mut RawTracePoint = found.and_then(TryInto::try_into).map_err(refused)?;
    loaded.load().map_err(refused)?;
    let mut attached = 0;
    for tracepoint in tracepoints {
        match loaded.attach(tracepoint) {
            Ok(_) => attached += 1,
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(ProbeError::of(tracepoint, &error)),
        }
    }
    Ok(attached)
}

fn typed(
    ebpf: &mut Ebpf,
    program: &str,
    tracepoint: &str,
    types: &KernelTypes,
) -> Result<(), ProbeError> {
    let refused = |error: ProgramError| ProbeError::of(program, &error);
    let found = ebpf.program_mut(program).ok_or(ProgramError::UnexpectedProgramType);
    let loaded: &mut BtfTracePoint = found.and_then(TryInto::try_into).map_err(refused)?;
    loaded.load(tracepoint, &types.btf).map_err(refused)?;
    loaded.attach().map_err(refused)?;
    Ok(())
}

/// `6.12.3-amd64` is (6, 12).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("6.12.3-amd64"), Some((6, 12)));
        assert_eq!(version("5.10-rc1"), Some((5, 10)));
        assert_eq!(version("next"), None);
        assert!(version("5.4.0") < Some(OLDEST) && version("6.1.0") > Some(OLDEST));
    }
}

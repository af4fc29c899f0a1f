//! BFQ's messages while a measurement runs: the kernel's `blk` tracer, as text.
//!
//! That tracer is not to be had in an instance, so it is the machine's one: taken only if nobody has
//! it, and given back through the journal, as all settings. The kernel may keep its buffers larger
//! than they were before first use.
//!
//! Invariant: the tracer is off and as it was when the journal is undone, by whomever. Held by
//! `bench_bfq_leaves_nothing` in `tests/bench_bfq.rs`.

use baro_bench::BenchError;
use baro_sys::files;
use baro_tune::{Journal, Setting};
use std::path::{Path, PathBuf};

const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// For each processor. A second of 240 requests of 512 KiB makes about half a MiB.
const BUFFER_KIB: u64 = 48 << 10;
const TEXT_BYTES_MAX: u64 = 1 << 30;

/// A recording under way.
#[derive(Debug)]
pub(super) struct Recording {
    tracing: PathBuf,
    enable: PathBuf,
}

impl Recording {
    /// Records what happens on the device `name` (`loop0`) from now on. Needs root.
    ///
    /// # Errors
    /// tracefs is not mounted, the kernel has no such tracer, or somebody uses the tracer.
    pub(super) fn begin(name: &str, journal: &mut Journal) -> Result<Self, BenchError> {
        let tracing = MOUNTS
            .iter()
            .map(PathBuf::from)
            .find(|mount| files::exists(&mount.join("current_tracer")))
            .ok_or_else(|| {
                BenchError::Refused(
                    "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing".to_owned(),
                )
            })?;
        let tracers = files::read_text(&tracing.join("available_tracers"), TEXT_BYTES_MAX)?;
        let enable = Path::new("/sys/block").join(name).join("trace/enable");
        if !tracers.split_whitespace().any(|tracer| tracer == "blk") || !files::exists(&enable) {
            return Err(BenchError::Refused(format!(
                "this kernel has no tracer `blk` for {name} (CONFIG_BLK_DEV_IO_TRACE): found {}",
                tracers.trim()
            )));
        }
        let current = tracing.join("current_tracer");
        let found = files::read_text(&current, TEXT_BYTES_MAX)?;
        if found.trim() != "nop" {
            return Err(BenchError::Refused(format!(
                "{}: expected nop, found {}: somebody records; wait, or: echo nop > {}",
                current.display(),
                found.trim(),
                current.display()
            )));
        }
        let mut set = |path: &Path, value: &str| {
            let setting = Setting::new(path.display().to_string(), value);
            journal.apply(&setting).map(drop).map_err(BenchError::Settings)
        };
        // The tracer first: before its first use the buffer's size is no number.
        set(&current, "blk")?;
        set(&tracing.join("trace_clock"), "mono")?;
        set(&tracing.join("buffer_size_kb"), &BUFFER_KIB.to_string())?;
        set(&enable, "1")?;
        Ok(Self { tracing, enable })
    }

    /// Stops, and returns all lines as text, and how many were lost.
    ///
    /// # Errors
    /// Those of reading; more than 1 GiB of text.
    pub(super) fn end(&self) -> Result<(String, u64), BenchError> {
        files::write_setting(&self.enable, "0")?;
        let text = files::read_text(&self.tracing.join("trace"), TEXT_BYTES_MAX)?;
        let per_cpu = self.tracing.join("per_cpu");
        let mut lost = 0_u64;
        for cpu in files::list(&per_cpu)? {
            let stats = files::read_text(&per_cpu.join(cpu).join("stats"), TEXT_BYTES_MAX)?;
            lost = lost.saturating_add(lost_in(&stats));
        }
        Ok((text, lost))
    }
}

/// Lines that a processor's buffer had no room for, from its `stats`.
pub(super) fn lost_in(stats: &str) -> u64 {
    let number = |line: &str| {
        ["overrun: ", "dropped events: "]
            .iter()
            .find_map(|key| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    stats.lines().filter_map(number).fold(0, u64::saturating_add)
}

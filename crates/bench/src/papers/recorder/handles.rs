//! Journal handles that a thread starts: what write() must not do, and does for the file time.

use baro_sys::tracefs::{TraceInstance, TraceLine};

const BUFFER_KIB: u64 = 256;
const EVENT: &str = "jbd2/jbd2_handle_start";

/// Counts while it lives.
#[derive(Debug)]
pub(super) struct Handles(TraceInstance);

impl Handles {
    /// Counts those of the thread `tid` from now on; None without a tracer or without ext4.
    pub(super) fn of(tid: u32) -> Option<Self> {
        let mut trace = TraceInstance::new("baro-handles", BUFFER_KIB).ok()?;
        trace.enable(EVENT, Some(&format!("common_pid == {tid}"))).ok()?;
        Some(Self(trace))
    }

    /// How many there were; None if some were lost.
    pub(super) fn finish(mut self) -> Option<u64> {
        self.0.set_recording(false).ok()?;
        let mut lines: Vec<TraceLine> = Vec::new();
        self.0.read(&mut lines).ok()?;
        let lost = self.0.lost().ok()?.total();
        let count = self.0.counts().get("jbd2_handle_start").copied()?;
        (lost == 0).then_some(count)
    }
}

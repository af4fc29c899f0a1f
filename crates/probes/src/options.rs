//! What the probes are to tell, and from which length on.

use baro_trace::record::Device;

/// What is recorded. The defaults cost little on any load; see `docs/trace-probes.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Journals and handles of this file system only; None: of all.
    pub device: Option<Device>,
    /// Sleeps in D from this length on.
    pub min_sleep_ns: u64,
    /// Waits for a processor from this length on.
    pub min_runnable_ns: u64,
    /// Sleeps that signals end from this length on, in calls that wait for storage: direct I/O by
    /// submission and completion, file systems of another program, locks of files.
    pub min_call_sleep_ns: u64,
    /// Sleeps that signals end from this length on, wherever: what the holder of a lock does.
    pub min_any_sleep_ns: u64,
    /// Waits for a handle from this length on; all are counted.
    pub min_handle_ns: u64,
    /// Handles that were open for this long, and all that are synchronous.
    pub min_held_ns: u64,
    /// How often a journal is looked at while handles begin, apart from its own events.
    pub sample_ns: u64,
    /// Whether to tell the bounds of system calls that were slow. This sends every call of the
    /// machine the slow way into the kernel.
    pub calls: bool,
    /// With `calls`: also those that were on a processor for this long without a sleep.
    pub min_busy_ns: u64,
    /// Whether to tell also what this process itself waits for: a recorder that tells of its own
    /// waits may feed itself.
    pub own_sleeps: bool,
    /// Room for records that nobody has taken yet, in KiB; rounded up to a power of two.
    pub ring_kib: u32,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self {
            device: None,
            min_sleep_ns: 1_000_000,
            min_runnable_ns: 5_000_000,
            min_call_sleep_ns: 10_000_000,
            min_any_sleep_ns: 100_000_000,
            min_handle_ns: 100_000,
            min_held_ns: 1_000_000,
            sample_ns: 10_000_000,
            calls: false,
            min_busy_ns: 50_000_000,
            own_sleeps: false,
            ring_kib: 4_096,
        }
    }
}

/// The kernel takes no ring above 1 GiB or below a page.
const RING_KIB_MAX: u32 = 1 << 20;
const RING_KIB_MIN: u32 = 64;

impl ProbeOptions {
    /// Bytes of the ring: a power of two that is a multiple of every kernel's page.
    pub(crate) fn ring_bytes(&self) -> u32 {
        // Half of what 32 bits hold: the next power would be too large.
        let most = RING_KIB_MAX / 2;
        self.ring_kib.clamp(RING_KIB_MIN, most).next_power_of_two() << 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_ring_is_a_power_of_two_that_the_kernel_takes() {
        let bytes = |ring_kib| ProbeOptions { ring_kib, ..Default::default() }.ring_bytes();
        assert_eq!([bytes(0), bytes(65), bytes(4_096)], [64 << 10, 128 << 10, 4 << 20]);
        assert_eq!(bytes(u32::MAX), 512 << 20);
    }
}

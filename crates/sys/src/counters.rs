//! What a thread costs the kernel (page faults, context switches, system calls), and the kernel the
//! thread: interrupts.
//!
//! Promise 1 (the producer never waits) is checked with these: a span of code that makes no
//! system call, no page fault and no voluntary switch cannot have waited in the kernel.
//! Counters are of the calling thread alone, so other threads of a test do not disturb them.
//!
//! Invariant: [`ThreadUsage`] only grows within a thread. Held by `faults_are_counted`; the
//! counter of system calls has its own tests in `counters/syscalls.rs`.

mod allocations;
mod interrupts;
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod syscalls;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "counters/syscalls_unsupported.rs"]
mod syscalls;

pub use allocations::{CountingAllocator, allocations, counting};
pub use interrupts::InterruptCounter;
pub use memory::{MeasuringAllocator, Memory, measured};
pub use syscalls::SyscallCounter;

/// Resource counters of one thread, as the kernel keeps them since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Page faults served without the device.
    pub minor_faults: u64,
    /// Page faults that waited for the device.
    pub major_faults: u64,
    /// Times the thread gave up the processor because it had to wait.
    pub voluntary_switches: u64,
    /// Times the processor was taken from the thread.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// Counters of the calling thread. One system call; does not block. Zero where the kernel
    /// has no RUSAGE_THREAD (before 2.6.26).
    #[must_use]
    pub fn now() -> Self {
        // SAFETY: rusage is plain integers, for which all zeroes is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is valid and writable; a failing call leaves it zero.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
        Self {
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
        }
    }

    /// What was added since `earlier`, a reading of the same thread.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }

    /// Sum of two spans, for work done in several slices.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_add(other.minor_faults),
            major_faults: self.major_faults.saturating_add(other.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_add(other.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_add(other.involuntary_switches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadUsage;

    #[test]
    fn faults_are_counted() {
        let pages = 64;
        let before = ThreadUsage::now();
        // Larger than malloc's mmap threshold: fresh pages, each faulted in by its first write.
        let mut memory = vec![0_u8; pages * 4096 * 16];
        for byte in memory.iter_mut().step_by(4096) {
            *byte = 1;
        }
        std::hint::black_box(&memory);
        let spent = ThreadUsage::now().since(before);
        // Huge pages may serve many writes with one fault.
        assert!(spent.minor_faults >= 1, "{spent:?}");
        assert_eq!(before.plus(spent), before.plus(spent));
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = ThreadUsage::now();
        // One may be over before the thread has left the processor.
        (0..5).for_each(|_| crate::clock::sleep_ns(1_000_000));
        assert!(ThreadUsage::now().since(before).voluntary_switches >= 1);
    }
}

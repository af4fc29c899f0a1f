//! A counter of the interrupts that the calling thread was stopped by.
//!
//! The kernel's tracepoints at the entry of interrupts, counted by perf for one thread: device
//! interrupts everywhere, and on x86 the vectors that go past them (timer, other processors).
//! What runs at an interrupt's end (softirqs) is part of it; what wakes a thread that takes the
//! processor is seen as an involuntary switch, in [`super::ThreadUsage`].
//!
//! Source: include/trace/events/irq.h and arch/x86/include/asm/trace/irq_vectors.h of Linux 5.10 and
//! 6.12; perf_event_open(2).

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The first is there on every architecture.
const EVENTS: [&str; 6] = [
    "irq/irq_handler_entry",
    "irq_vectors/local_timer_entry",
    "irq_vectors/reschedule_entry",
    "irq_vectors/call_function_entry",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/irq_work_entry",
];
// From linux/perf_event.h; libc has no names for them.
const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_FORMAT_GROUP: u64 = 1 << 3;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` as it was first (PERF_ATTR_SIZE_VER0), which every kernel takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
}

/// Counts interrupts of the thread that made it.
#[derive(Debug)]
pub struct InterruptCounter {
    /// The first leads the group and reads all.
    events: Vec<File>,
    /// Its counts are those of one thread.
    not_send: PhantomData<*const ()>,
}

impl InterruptCounter {
    /// Starts counting. Needs tracefs and root, or CAP_PERFMON and a readable tracefs.
    ///
    /// # Errors
    /// No tracefs (`NotFound`), no permission, or a kernel without perf or these tracepoints.
    pub fn new() -> io::Result<Self> {
        let folder = MOUNTS.iter().map(|mount| Path::new(mount).join("events"));
        let folder = folder.into_iter().find(|events| events.is_dir()).ok_or_else(|| {
            let why = "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing";
            io::Error::new(ErrorKind::NotFound, why)
        })?;
        let mut events: Vec<File> = Vec::new();
        for event in EVENTS {
            let file = folder.join(event).join("id");
            let id = match std::fs::read_to_string(&file) {
                Err(error) if error.kind() == ErrorKind::NotFound && !events.is_empty() => continue,
                id => id.map_err(|error| named(&file.to_string_lossy(), &error))?,
            };
            let id = id.trim().parse().map_err(|_| {
                let why = format!("{}: a number expected, found '{id}'", file.display());
                io::Error::new(ErrorKind::InvalidData, why)
            })?;
            let opened = open(id, events.first());
            events.push(opened.map_err(|error| named(&format!("count {event}"), &error))?);
        }
        let this = Self { events, not_send: PhantomData };
        this.count().map(|_| this)
    }

    /// Interrupts that stopped this thread since the counter was made. One system call; does not
    /// block.
    ///
    /// # Errors
    /// The kernel gives another number of counts than it was asked for.
    pub fn count(&self) -> io::Result<u64> {
        // How many there are, then their counts.
        let mut bytes = [0_u8; 8 * (1 + EVENTS.len())];
        let wanted = 8 * (1 + self.events.len());
        let Some(mut first) = self.events.first() else { return Ok(0) };
        let found = first.read(&mut bytes)?;
        if found != wanted {
            let why = format!("interrupt counts: {wanted} bytes expected, found {found}");
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        let counts = bytes[8..wanted].chunks_exact(8);
        Ok(counts.filter_map(|one| one.try_into().ok()).map(u64::from_ne_bytes).sum())
    }
}

fn named(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Opens the counter of a tracepoint for the calling thread, in the group of `leader`.
fn open(id: u64, leader: Option<&File>) -> io::Result<File> {
    let attributes = Attributes {
        kind: PERF_TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: id,
        read_format: PERF_FORMAT_GROUP,
        ..Attributes::default()
    };
    let leader = leader.map_or(-1, AsRawFd::as_raw_fd);
    let (thread, any_cpu): (libc::pid_t, libc::c_int) = (0, -1);
    // SAFETY: the attributes are valid, as long as they say, and only read during the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread,
            any_cpu,
            leader,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    match libc::c_int::try_from(fd) {
        // SAFETY: a descriptor that was just opened and belongs to nobody else.
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;

    #[test]
    fn a_busy_thread_is_interrupted_and_counts_grow() {
        let counter = match InterruptCounter::new() {
            Ok(counter) => counter,
            Err(error) => {
                println!("skipped: no counter of interrupts: {error}");
                return;
            }
        };
        assert_eq!(size_of::<Attributes>(), 64);
        // The scheduler's tick comes some hundred times a second.
        let end_ns = monotonic_ns() + 20_000_000_000;
        let (mut last, mut rounds) = (0, 0);
        while last == 0 && monotonic_ns() < end_ns {
            for _ in 0..1_000_000 {
                std::hint::spin_loop();
            }
            let now = counter.count().unwrap();
            assert!(now >= last);
            last = now;
            rounds += 1;
        }
        assert!(last > 0, "no interrupt in {rounds} rounds");
    }
}

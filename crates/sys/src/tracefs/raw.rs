//! The raw pages of an instance of the kernel's tracer: binary, as its ring buffers have them.
//!
//! Reading text (`trace_pipe`) costs a microsecond an event and more; a raw page holds some hundred
//! events and costs one read. Nothing is understood here: pages and the texts that describe them are
//! handed out as they are.
//!
//! Invariant: as for [`TraceInstance`](super::TraceInstance): gone after drop, a killed process's
//! leftovers removed by the next. A read never waits. Held by `raw_pages_of_each_processor_are_read`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

use super::{Instance, READ_BYTES, TraceError, set};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What is read of a text of tracefs at most.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// Events of one processor that the kernel recorded or not, as it counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStatistics {
    /// The processor.
    pub cpu: u32,
    /// Events that are still in the buffer.
    pub entries: u64,
    /// Overwritten before they were read.
    pub overrun: u64,
    /// Refused inside of too many others.
    pub commit_overrun: u64,
    /// Not recorded, as the buffer was full or not to be had.
    pub dropped: u64,
    /// Read.
    pub read: u64,
}

/// An instance of the kernel's tracer that is read by pages; removed on drop.
#[derive(Debug)]
pub struct RawTrace {
    // Before the instance: an open file keeps it busy, and fields are dropped in this order.
    pipes: Vec<(u32, File)>,
    instance: Instance,
}

impl RawTrace {
    /// Makes the instance `name` as [`TraceInstance::new`](super::TraceInstance::new) does, with the
    /// monotonic clock and `buffer_kib` for each processor. It records nothing until
    /// [`set_recording`](Self::set_recording). Needs root.
    ///
    /// # Errors
    /// tracefs is not mounted or not allowed, the name is of no use, no memory.
    pub fn new(name: &str, buffer_kib: u64) -> Result<Self, TraceError> {
        let instance = Instance::new(name)?;
        set(&instance.dir.join("tracing_on"), "0")?;
        set(&instance.dir.join("trace_clock"), "mono")?;
        set(&instance.dir.join("buffer_size_kb"), &buffer_kib.to_string())?;
        let per_cpu = instance.dir.join("per_cpu");
        let mut pipes = Vec::new();
        for entry in std::fs::read_dir(&per_cpu).map_err(TraceError::at("list", &per_cpu))? {
            let entry = entry.map_err(TraceError::at("list", &per_cpu))?;
            let name = entry.file_name();
            let cpu = name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            let Some(cpu) = cpu else { continue };
            let path = entry.path().join("trace_pipe_raw");
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            pipes.push((cpu, file.map_err(TraceError::at("open", &path))?));
        }
        pipes.sort_unstable_by_key(|(cpu, _)| *cpu);
        Ok(Self { pipes, instance })
    }

    /// The processors that have a buffer, in their order.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.pipes.iter().map(|(cpu, _)| *cpu)
    }

    /// Records an event from now on; see [`TraceInstance::enable`](super::TraceInstance::enable).
    ///
    /// # Errors
    /// The kernel has no such event, or the event has no such field.
    pub fn enable(&self, event: &str, filter: Option<&str>) -> Result<(), TraceError> {
        self.instance.enable(event, filter)
    }

    /// Sets a trigger of an event ("stacktrace if prev_state == 2"); it goes with the instance.
    ///
    /// # Errors
    /// The kernel has no such event, or refuses the trigger.
    pub fn trigger(&self, event: &str, trigger: &str) -> Result<(), TraceError> {
        if event.split('/').any(|part| part.is_empty() || part == "..") {
            return Err(TraceError::NoEvent(event.to_owned()));
        }
        set(&self.instance.dir.join("events").join(event).join("trigger"), trigger)
    }

    /// Starts or stops recording; what was recorded stays readable.
    ///
    /// # Errors
    /// Those of the write to tracefs.
    pub fn set_recording(&self, on: bool) -> Result<(), TraceError> {
        set(&self.instance.dir.join("tracing_on"), if on { "1" } else { "0" })
    }

    /// A text below `events/`: `header_page`, `header_event`, `jbd2/jbd2_run_stats/format`.
    ///
    /// # Errors
    /// Those of reading; a part `..` is refused.
    pub fn event_text(&self, path: &str) -> Result<Vec<u8>, TraceError> {
        if path.split('/').any(|part| part.is_empty() || part == "..") {
            return Err(TraceError::NoEvent(path.to_owned()));
        }
        read_text(&self.instance.dir.join("events").join(path))
    }

    /// The names of tasks that the kernel remembers, as `pid name` lines; some 128 of them.
    ///
    /// # Errors
    /// Those of reading.
    pub fn saved_names(&self) -> Result<Vec<u8>, TraceError> {
        // Instances of older kernels have no such file, and all share the one above.
        let above = self.instance.dir.join("../../saved_cmdlines");
        let own = self.instance.dir.join("saved_cmdlines");
        read_text(if own.exists() { &own } else { &above })
    }

    /// Takes one page of a processor out of its buffer into `page`, which must have the length of a
    /// whole page. 0 if there is nothing to read. Does not wait.
    ///
    /// # Errors
    /// There is no such processor; those of reading.
    pub fn read_page(&mut self, cpu: u32, page: &mut [u8]) -> Result<usize, TraceError> {
        let dir = &self.instance.dir;
        let path = || dir.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let index = self
            .pipes
            .binary_search_by_key(&cpu, |(cpu, _)| *cpu)
            .map_err(|_| TraceError::at("find", &path())(ErrorKind::NotFound.into()))?;
        loop {
            match self.pipes[index].1.read(page) {
                Ok(bytes) => return Ok(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) => return Err(TraceError::at("read", &path())(error)),
            }
        }
    }

    /// What the kernel counts of each processor, since the instance was made.
    ///
    /// # Errors
    /// Those of reading, and statistics in an unknown form.
    pub fn statistics(&self) -> Result<Vec<CpuStatistics>, TraceError> {
        let of_cpu = |cpu: u32| {
            let path = self.instance.dir.join(format!("per_cpu/cpu{cpu}/stats"));
            let text = std::fs::read_to_string(&path).map_err(TraceError::at("read", &path))?;
            parse(cpu, &text).ok_or(TraceError::Statistics(path))
        };
        self.cpus().map(of_cpu).collect()
    }
}

/// Reads a text in large pieces: `show_header` in the kernel has an end after the first read, however
/// little that took.
fn read_text(path: &Path) -> Result<Vec<u8>, TraceError> {
    let mut file = File::open(path).map_err(TraceError::at("open", path))?;
    let mut text = Vec::new();
    while text.len() < TEXT_BYTES_MAX {
        let begin = text.len();
        text.resize(begin + READ_BYTES, 0);
        let read = file.read(&mut text[begin..]);
        text.truncate(begin + read.as_ref().map_or(0, |bytes| *bytes));
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(TraceError::at("read", path)(error)),
        }
    }
    Ok(text)
}

fn parse(cpu: u32, text: &str) -> Option<CpuStatistics> {
    let number = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    Some(CpuStatistics {
        cpu,
        entries: number("entries:")?,
        overrun: number("overrun:")?,
        commit_overrun: number("commit overrun:")?,
        dropped: number("dropped events:")?,
        read: number("read events:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_pages_of_each_processor_are_read() {
        let mut trace = match RawTrace::new("baro-test-raw", 64) {
            Ok(trace) => trace,
            Err(error @ (TraceError::NotMounted | TraceError::File { .. })) => {
                println!("skipped: no trace instance: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let dir = trace.instance.dir.clone();
        trace.enable("raw_syscalls/sys_enter", None).expect("every kernel has it");
        let format = trace.event_text("raw_syscalls/sys_enter/format").expect("there");
        assert!(format.starts_with(b"name: sys_enter"));
        let header = trace.event_text("header_page").expect("there");
        assert!(String::from_utf8_lossy(&header).contains("data;"));
        assert!(trace.event_text("../trace").is_err());
        let cpus: Vec<u32> = trace.cpus().collect();
        assert!(!cpus.is_empty() && cpus.is_sorted());
        let mut page = [0; 4096];
        // Nothing is recorded before it begins.
        assert!(cpus.iter().all(|cpu| trace.read_page(*cpu, &mut page).expect("readable") == 0));
        trace.set_recording(true).expect("startable");
        for _ in 0..1_000 {
            let _ = crate::counters::ThreadUsage::now();
        }
        trace.set_recording(false).expect("stoppable");
        let mut data_bytes = 0;
        for cpu in &cpus {
            while trace.read_page(*cpu, &mut page).expect("readable") > 0 {
                data_bytes += usize::from(page[8]) | usize::from(page[9]) << 8;
            }
        }
        // An event has 68 bytes; what did not fit the buffer was overwritten.
        let statistics = trace.statistics().expect("readable");
        let lost: u64 = statistics.iter().map(|cpu| cpu.overrun + cpu.dropped).sum();
        let read: u64 = statistics.iter().map(|cpu| cpu.read).sum();
        assert!(read + lost >= 1_000 && data_bytes >= read as usize * 64, "{statistics:?}");
        assert!(statistics.iter().all(|cpu| cpu.entries == 0), "{statistics:?}");
        assert!(trace.read_page(9_999, &mut page).is_err());
        drop(trace);
        assert!(!dir.exists());
    }
}

//! An own instance of the kernel's tracer: events on, text out, losses counted.
//!
//! An instance has its own buffers, filters and clock, so a measurement disturbs no other user of
//! tracefs and is not disturbed. Nothing is mounted: a missing tracefs is an error that names the
//! command. Reading does not wait and takes the events out of the buffer, so a measurement of any
//! length needs a small buffer only; what was overwritten meanwhile is counted.
//!
//! Invariant: the instance is gone after drop, and an instance left by a killed process is
//! removed by the next one of that name. Held by `counts_the_events_of_a_device`,
//! `a_process_may_have_two_instances_of_a_name`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

mod error;
mod line;
mod raw;
#[cfg(test)]
mod tests;

pub use error::TraceError;
pub use line::{TraceEvent, TraceLine, parse_line};
pub use raw::{CpuStatistics, RawTrace};

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const READ_BYTES: usize = 64 << 10;
/// Instances of one name that a process has at most.
const OF_PROCESS_MAX: u32 = 9;
/// What the kernel keeps of a task's name.
const TASK_NAME_BYTES: usize = 15;

/// Events that the kernel recorded but nobody will see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEvents {
    /// Overwritten by newer ones.
    pub overrun: u64,
    /// Not recorded because the buffer was full or an interrupt met a half-written page.
    pub dropped: u64,
}

impl LostEvents {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.overrun.saturating_add(self.dropped)
    }
}

/// The folder of an instance, removed on drop: whoever has files of it open drops these first.
#[derive(Debug)]
struct Instance {
    dir: PathBuf,
}

impl Instance {
    fn new(name: &str) -> Result<Self, TraceError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(TraceError::Name(name.to_owned()));
        }
        let instances = MOUNTS
            .iter()
            .map(|mount| Path::new(mount).join("instances"))
            .find(|instances| instances.is_dir())
            .ok_or_else(why_there_is_no_tracefs)?;
        remove_leftovers(&instances, name);
        // Of a process that has one already, as its next recording begins before this one ends.
        let first = instances.join(format!("{name}-{}", std::process::id()));
        let later =
            (2..=OF_PROCESS_MAX).map(|number| format!("{}-{number}", first.display()).into());
        let is_there = |error: &std::io::Error| error.kind() == ErrorKind::AlreadyExists;
        let mut made = std::fs::create_dir(&first).map(|()| first.clone());
        for dir in later {
            if !made.as_ref().is_err_and(is_there) {
                break;
            }
            made = std::fs::create_dir(&dir).map(|()| dir);
        }
        let dir = made.map_err(TraceError::at("make the trace instance", &first))?;
        Ok(Self { dir })
    }

    fn enable(&self, event: &str, filter: Option<&str>) -> Result<(), TraceError> {
        let dir = self.dir.join("events").join(event);
        let two_parts = event.split('/').filter(|part| !part.is_empty() && *part != "..").count();
        if two_parts != 2 || !dir.join("enable").exists() {
            return Err(TraceError::NoEvent(event.to_owned()));
        }
        if let Some(filter) = filter {
            set(&dir.join("filter"), filter).map_err(|error| match error {
                TraceError::File { source, .. } if source.kind() == ErrorKind::InvalidInput => {
                    TraceError::Filter { event: event.to_owned(), filter: filter.to_owned() }
                }
                other => other,
            })?;
        }
        set(&dir.join("enable"), "1")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// An instance of the kernel's tracer that is read as text, removed on drop.
#[derive(Debug)]
pub struct TraceInstance {
    // Before the instance: an open file keeps it busy, and fields are dropped in this order.
    pipe: File,
    instance: Instance,
    /// The end of the last read, if it was the beginning of a line.
    partial: Vec<u8>,
    counts: BTreeMap<String, u64>,
}

impl TraceInstance {
    /// Makes the instance `name` (letters, digits, `-`, `_`; this process's id is added), with
    /// the monotonic clock (that of [`crate::clock::monotonic_ns`]) and `buffer_kib` of memory
    /// for each processor. It records nothing until [`enable`](Self::enable). Needs root.
    ///
    /// # Errors
    /// tracefs is not mounted or not allowed, the name is of no use, no memory.
    pub fn new(name: &str, buffer_kib: u64) -> Result<Self, TraceError> {
        let instance = Instance::new(name)?;
        let pipe = Self::prepare(&instance.dir, buffer_kib)?;
        Ok(Self { pipe, instance, partial: Vec::new(), counts: BTreeMap::new() })
    }

    fn prepare(dir: &Path, buffer_kib: u64) -> Result<File, TraceError> {
        set(&dir.join("trace_clock"), "mono")?;
        set(&dir.join("buffer_size_kb"), &buffer_kib.to_string())?;
        let pipe = dir.join("trace_pipe");
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe)
            .map_err(TraceError::at("open", &pipe))
    }

    /// Records an event ("jbd2/jbd2_run_stats") from now on, all or those that match `filter`
    /// (the kernel's syntax; see [`device_filter`]). Waits for all processors to take it up.
    ///
    /// # Errors
    /// The kernel has no such event, or the event has no such field.
    pub fn enable(&mut self, event: &str, filter: Option<&str>) -> Result<(), TraceError> {
        self.instance.enable(event, filter)?;
        if let Some(name) = event.rsplit('/').next() {
            self.counts.entry(name.to_owned()).or_insert(0);
        }
        Ok(())
    }

    /// Stops or resumes recording; what was recorded stays readable. Enabled at first.
    ///
    /// # Errors
    /// Those of the write to tracefs.
    pub fn set_recording(&self, on: bool) -> Result<(), TraceError> {
        set(&self.instance.dir.join("tracing_on"), if on { "1" } else { "0" })
    }

    /// Takes what was recorded since the last call out of the buffer, appends it to `lines` and
    /// counts it. Does not wait for events; returns when there are none left.
    ///
    /// # Errors
    /// Those of the read from tracefs.
    pub fn read(&mut self, lines: &mut Vec<TraceLine>) -> Result<(), TraceError> {
        let mut chunk = vec![0_u8; READ_BYTES];
        loop {
            let bytes = match self.pipe.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    return Err(TraceError::at("read", &self.instance.dir.join("trace_pipe"))(
                        error,
                    ));
                }
            };
            self.partial.extend_from_slice(&chunk[..bytes]);
            let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else { continue };
            let rest = self.partial.split_off(end + 1);
            let whole = std::mem::replace(&mut self.partial, rest);
            for line in String::from_utf8_lossy(&whole).lines().filter_map(parse_line) {
                if let TraceLine::Event(event) = &line {
                    *self.counts.entry(event.event.clone()).or_insert(0) += 1;
                }
                lines.push(line);
            }
        }
    }

    /// Events read so far, by name; enabled ones that never came are there with 0.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Events lost since the instance was made: a count is exact only if this is zero.
    ///
    /// # Errors
    /// Those of reading tracefs, and a statistics file in an unknown form.
    pub fn lost(&self) -> Result<LostEvents, TraceError> {
        let per_cpu = self.instance.dir.join("per_cpu");
        let entries = std::fs::read_dir(&per_cpu).map_err(TraceError::at("list", &per_cpu))?;
        let mut lost = LostEvents::default();
        for entry in entries {
            let entry = entry.map_err(TraceError::at("list", &per_cpu))?;
            let stats = entry.path().join("stats");
            let text = std::fs::read_to_string(&stats).map_err(TraceError::at("read", &stats))?;
            let one = parse_stats(&text).ok_or_else(|| TraceError::Statistics(stats.clone()))?;
            lost.overrun += one.overrun;
            lost.dropped += one.dropped;
        }
        Ok(lost)
    }
}

/// The filter that lets only events of the file system pass that holds `file`, for events with a
/// field `dev` (jbd2, ext4, block).
///
/// # Errors
/// Those of stat(2).
pub fn device_filter(file: &Path) -> Result<String, TraceError> {
    let device = std::fs::metadata(file).map_err(TraceError::at("stat", file))?.dev();
    // User space packs device numbers otherwise than the kernel, which puts the major above 20
    // bits of minor.
    let (major, minor) = (u64::from(libc::major(device)), u64::from(libc::minor(device)));
    Ok(format!("dev == {}", major << 20 | minor))
}

/// How the name of the journal's thread (`jbd2/sda1-8`) begins for the file system that holds `file`,
/// as far as the kernel keeps names (15 bytes). None where its device is not to be found.
#[must_use]
pub fn journal_task(file: &Path) -> Option<String> {
    let device = std::fs::metadata(file).ok()?.dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let mut name = format!("jbd2/{}-", device.file_name()?.to_str()?);
    let end = (0..=TASK_NAME_BYTES.min(name.len())).rfind(|end| name.is_char_boundary(*end));
    name.truncate(end.unwrap_or(0));
    Some(name)
}

fn set(path: &Path, value: &str) -> Result<(), TraceError> {
    std::fs::write(path, value).map_err(TraceError::at("write to", path))
}

fn why_there_is_no_tracefs() -> TraceError {
    let refused = |mount: &&&str| {
        let found = std::fs::read_dir(Path::new(mount));
        found.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    match MOUNTS.iter().find(refused) {
        Some(mount) => TraceError::File {
            what: "list",
            path: PathBuf::from(mount),
            source: ErrorKind::PermissionDenied.into(),
        },
        None => TraceError::NotMounted,
    }
}

/// Removes instances of this name whose process is gone. One that is still read stays: the
/// kernel refuses to remove it.
fn remove_leftovers(instances: &Path, name: &str) {
    let Ok(entries) = std::fs::read_dir(instances) else { return };
    for entry in entries.filter_map(Result::ok) {
        let file_name = entry.file_name();
        let pid = file_name
            .to_str()
            .and_then(|text| text.strip_prefix(name)?.strip_prefix('-'))
            .and_then(|text| text.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

fn parse_stats(text: &str) -> Option<LostEvents> {
    let number = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    Some(LostEvents { overrun: number("overrun:")?, dropped: number("dropped events:")? })
}

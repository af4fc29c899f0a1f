//! Records the events of this machine to a trace file, with an instance of the tracer of its own.
//!
//! A [`Recorder`] reads raw pages without waiting and appends them to the file; whoever owns it
//! calls [`Recorder::drain`] every few milliseconds, often enough for the buffers to hold what comes
//! meanwhile. What did not fit is counted by the kernel and goes into the file. Nothing of the
//! machine outside of the instance is changed, so nothing has to be restored but to remove it.
//!
//! Invariant: the instance is gone when the recorder is, however it ends; if the process is killed,
//! the next recorder of that name removes it. Held by `records_the_syncs_of_a_file_and_leaves_nothing`
//! and, below, by `raw_pages_of_each_processor_are_read`.

mod block_watch;
mod choice;
mod error;
mod facts;
mod groups;
mod limit_watch;
mod names;
mod ring;
mod session;
pub(crate) mod state;
mod symbols;
#[cfg(test)]
mod tests;

pub use block_watch::{BlockWatch, Watched};
pub use choice::{EventChoice, known_events, rare_events};
pub use error::CollectError;
pub use ring::Shortfall;
pub use session::{Beside, Session};
pub use state::{sleepers, sleeps_for_storage};
pub use symbols::are_hidden as names_are_hidden;

use crate::event_set::EventSet;
use crate::explain::IN_FLIGHT;
use crate::file::{CPUS_MAX, CpuLosses, Machine, Preamble, TraceWriter};
use crate::format::{EventHeader, PageHeader};
use baro_sys::tracefs::{CpuStatistics, RawTrace, TraceError};
use baro_sys::{clock, files, identity};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Pages of one processor that one [`Recorder::drain`] takes at most: it ends even if events come
/// as fast as they are read. It must be more than fills a buffer: with 1,024 of 4 KiB, every 50 ms,
/// bursts of more than 80 MB a second were lost (measured).
const PAGES_OF_DRAIN: usize = 16_384;
/// A kernel's configuration has some 300 KiB.
const CONFIG_BYTES_MAX: u64 = 2 << 20;

/// Settings that changed within a recording and are told, at most: a trace has room for 4,096 facts.
const CHANGED_MAX: usize = 128;

/// Stacks of all tasks that sleep and that no signal can wake: 2 is the state as the event shows it,
/// D, also of a sleep that deadly signals end. And of those that are stopped, by a signal or a debugger (4 and 8):
/// where they were tells whether that was in a call.
pub const STACKS_OF_ALL: &str = "prev_state == 2 || prev_state == 4 || prev_state == 8";

/// What is recorded, and with how much memory.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the instance: letters, digits, `-`, `_`. Leftovers of this name are removed.
    pub name: String,
    /// Memory of the kernel for each processor, in KiB.
    pub buffer_kib: u64,
    /// The events.
    pub events: Vec<EventChoice>,
    /// Whether to write what is around: settings of the machine, and the names of all tasks that
    /// there are, at the beginning and at the end, and of those that the kernel remembers; some
    /// microseconds and 15 bytes a task. Without, names are only where events bring them.
    pub surroundings: bool,
    /// Whether to record where in the kernel a task sleeps that no signal can wake: of which
    /// switches, in the kernel's filter syntax; [`STACKS_OF_ALL`] is the usual one. None: no stacks.
    pub stacks: Option<String>,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pages, most of them not full.
    pub pages: u64,
    /// Bytes of the trace.
    pub bytes: u64,
    /// What was lost, for each processor.
    pub losses: Vec<CpuLosses>,
    /// Chosen events that this kernel does not have.
    pub missing_events: Vec<String>,
}

/// A recording under way.
#[derive(Debug)]
pub struct Recorder<W: Write> {
    trace: RawTrace,
    writer: TraceWriter<W>,
    cpus: Vec<u32>,
    headers: (PageHeader, EventHeader),
    page: Vec<u8>,
    surroundings: bool,
    missing_events: Vec<String>,
    events: EventSet,
    extra_losses: Vec<CpuLosses>,
    /// Settings of the machine when the recording began.
    settings: BTreeMap<String, String>,
    /// Limits of control groups, if surroundings are recorded.
    limits: Option<limit_watch::LimitWatch>,
}

impl<W: Write> Recorder<W> {
    /// Begins to record to `output`. Takes some milliseconds for each event: the kernel waits for
    /// all processors. Needs root and a mounted tracefs.
    ///
    /// # Errors
    /// tracefs is not to be had, a filter is refused, the kernel has none of the events, its texts
    /// are in an unknown form; or those of writing.
    pub fn start(options: &Options, output: W) -> Result<Self, CollectError> {
        Self::start_beside(options, &[], output)
    }

    /// As [`start`](Self::start), with the formats (system, text) of events that another collector
    /// makes; their pages come by [`write_page`](Self::write_page).
    ///
    /// # Errors
    /// As [`start`](Self::start), and if these formats do not go together with the kernel's.
    pub fn start_beside(
        options: &Options,
        extra_formats: &[(String, Vec<u8>)],
        output: W,
    ) -> Result<Self, CollectError> {
        let trace = RawTrace::new(&options.name, options.buffer_kib)?;
        let cpus: Vec<u32> = trace.cpus().filter(|cpu| *cpu < CPUS_MAX).collect();
        let mut preamble = Preamble {
            machine: this_machine(cpus.len() as u32),
            header_page: trace.event_text("header_page")?,
            header_event: trace.event_text("header_event")?,
            formats: Vec::new(),
        };
        let mut missing_events = Vec::new();
        if let Some(of) = &options.stacks {
            match trace.trigger("sched/sched_switch", &format!("stacktrace if {of}")) {
                Ok(()) => {
                    let text = trace.event_text("ftrace/kernel_stack/format")?;
                    preamble.formats.push(("ftrace".to_owned(), text));
                }
                Err(_) => missing_events.push("ftrace/kernel_stack".to_owned()),
            }
        }
        for choice in &options.events {
            let path = format!("{}/{}", choice.system, choice.event);
            match trace.enable(&path, choice.filter.as_deref()) {
                Ok(()) => {
                    let text = trace.event_text(&format!("{path}/format"))?;
                    preamble.formats.push((choice.system.clone(), text));
                }
                Err(TraceError::NoEvent(event)) => missing_events.push(event),
                Err(error) => return Err(error.into()),
            }
        }
        if preamble.formats.is_empty() {
            return Err(CollectError::NoEvents(missing_events));
        }
        preamble.formats.extend_from_slice(extra_formats);
        let headers = (
            PageHeader::parse(&preamble.header_page)?,
            EventHeader::parse(&preamble.header_event)?,
        );
        let mut writer = TraceWriter::new(output, &preamble)?;
        let devices = names::devices();
        writer.devices(devices.iter().map(|(device, name)| (*device, name.as_bytes())))?;
        let tasks = if options.surroundings { names::tasks() } else { BTreeMap::new() };
        writer.tasks(tasks.iter().map(|(pid, name)| (*pid, name.as_bytes())))?;
        let mut settings = BTreeMap::new();
        let mut limits = options.surroundings.then(limit_watch::LimitWatch::start);
        if let Some(limits) = &mut limits {
            for (path, text) in facts::of_machine() {
                limits.knows(&path, &text);
                writer.fact(&path, text.as_bytes())?;
                if facts::is_setting(&path) {
                    settings.insert(path, text);
                }
            }
            writer.fact(groups::HIERARCHIES, groups::hierarchies().as_bytes())?;
            write_state(&mut writer, "", &mut |_| None)?;
        }
        writer.flush()?;
        trace.set_recording(true)?;
        let page = vec![0; headers.0.page_bytes()];
        let (surroundings, events) = (options.surroundings, preamble.events()?);
        let extra_losses = Vec::new();
        Ok(Self {
            trace,
            writer,
            cpus,
            headers,
            page,
            surroundings,
            missing_events,
            events,
            extra_losses,
            settings,
            limits,
        })
    }

    /// Takes what was recorded out of the kernel's buffers and writes it. Does not wait for events;
    /// blocks as the output does. Returns how many pages there were.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub fn drain(&mut self) -> Result<u64, CollectError> {
        let writer = &mut self.writer;
        let before = writer.pages();
        take_pages(&mut self.trace, &self.cpus, &mut self.page, |cpu, page| {
            Ok(writer.page(cpu, page)?)
        })?;
        let pages = writer.pages() - before;
        if pages > 0 {
            writer.flush()?;
        }
        Ok(pages)
    }

    /// Takes what was recorded out of the kernel's buffers and hands it out, page by page, instead of
    /// writing it; see [`write_page`](Self::write_page).
    ///
    /// # Errors
    /// Those of reading.
    pub fn take(&mut self, mut take: impl FnMut(u32, &[u8])) -> Result<(), CollectError> {
        take_pages(&mut self.trace, &self.cpus, &mut self.page, |cpu, page| {
            take(cpu, page);
            Ok(())
        })
    }

    /// Writes a page that was taken; or one of another collector, as that of a processor which this
    /// machine does not have.
    ///
    /// # Errors
    /// Those of writing; a page that is too long, or a processor out of the file's limits.
    pub fn write_page(&mut self, cpu: u32, page: &[u8]) -> crate::Result<()> {
        self.writer.page(cpu, page)
    }

    /// The formats of what is recorded.
    #[must_use]
    pub fn events(&self) -> &EventSet {
        &self.events
    }

    /// How the kernel's pages and the entries in them begin: another collector's must be the same.
    #[must_use]
    pub fn headers(&self) -> (PageHeader, EventHeader) {
        self.headers
    }

    /// What another collector has lost: goes into the trace with the kernel's own losses.
    pub fn extra_losses(&mut self, losses: CpuLosses) {
        self.extra_losses.push(losses);
    }

    /// Notes what the tasks of the machine are doing as the recording ends; `since` tells of a task since
    /// when it sleeps, if another collector knows.
    ///
    /// # Errors
    /// Those of writing.
    pub fn note_ending(
        &mut self,
        since: &mut dyn FnMut(i32) -> Option<u64>,
    ) -> Result<(), CollectError> {
        if let Some(limits) = &mut self.limits {
            for (name, text) in limits.end() {
                self.writer.fact(&name, text.as_bytes())?;
            }
            write_state(&mut self.writer, state::AT_END, since)?;
        }
        Ok(())
    }

    /// Notes the same of the moment at which somebody was seen to wait.
    ///
    /// # Errors
    /// Those of writing.
    pub fn note_trigger(
        &mut self,
        since: &mut dyn FnMut(i32) -> Option<u64>,
    ) -> Result<(), CollectError> {
        if self.surroundings {
            write_state(&mut self.writer, state::AT_TRIGGER, since)?;
        }
        Ok(())
    }

    /// Notes limits of control groups, and suspended mappings, that have changed since the last time.
    ///
    /// # Errors
    /// Those of writing.
    pub fn note_limits(&mut self) -> Result<(), CollectError> {
        for (name, text) in self.limits.as_mut().map_or_else(Vec::new, |limits| limits.look()) {
            self.writer.fact(&name, text.as_bytes())?;
        }
        Ok(())
    }

    /// Adds a fact; see [`TraceWriter::fact`].
    ///
    /// # Errors
    /// Those of writing.
    pub fn note(&mut self, path: &str, text: &str) -> Result<(), CollectError> {
        Ok(self.writer.fact(path, text.as_bytes())?)
    }

    /// Stops recording and takes the rest. What was written so far can be read as a trace that broke
    /// off, to learn which functions [`finish`](Self::finish) is to name.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub fn stop(&mut self) -> Result<(), CollectError> {
        self.trace.set_recording(false)?;
        while self.drain()? > 0 {}
        Ok(self.writer.flush()?)
    }

    /// Stops, takes the rest, writes names and losses, and removes the instance. Names the functions
    /// of the running kernel that have one of `addresses`, as far as the kernel tells.
    ///
    /// # Errors
    /// Those of reading and writing; the instance is removed all the same.
    pub fn finish(
        mut self,
        addresses: impl IntoIterator<Item = u64>,
    ) -> Result<(W, Summary), CollectError> {
        self.stop()?;
        let functions = symbols::of_kernel(addresses);
        self.writer.symbols(functions.iter())?;
        let devices = names::devices();
        self.writer.devices(devices.iter().map(|(device, name)| (*device, name.as_bytes())))?;
        let mut tasks = BTreeMap::new();
        if self.surroundings {
            let mut changed = 0;
            for (path, text) in facts::of_machine() {
                // Limits are told even if they are the same: they may have been lifted in between.
                let is_limit = facts::is_limit(&path);
                let is_new = facts::is_setting(&path) && self.settings.get(&path) != Some(&text);
                if is_limit || is_new && changed < CHANGED_MAX {
                    changed += usize::from(!is_limit);
                    self.writer.fact(&format!("{path}{}", state::AT_END), text.as_bytes())?;
                }
            }
            tasks.extend(names::saved(&self.trace.saved_names().unwrap_or_default()));
            tasks.extend(names::tasks());
        }
        self.writer.tasks(tasks.iter().map(|(pid, name)| (*pid, name.as_bytes())))?;
        let losses: Vec<CpuLosses> = self
            .trace
            .statistics()?
            .into_iter()
            .map(CpuLosses::from)
            .chain(self.extra_losses)
            .collect();
        let (pages, bytes) = (self.writer.pages(), self.writer.bytes());
        let output = self.writer.finish(&losses)?;
        let summary = Summary { pages, bytes, losses, missing_events: self.missing_events };
        Ok((output, summary))
    }

    /// Chosen events that this kernel does not have.
    #[must_use]
    pub fn missing_events(&self) -> &[String] {
        &self.missing_events
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.writer.bytes()
    }
}

/// Writes what the tasks of the machine are doing now.
fn write_state<W: Write>(
    writer: &mut TraceWriter<W>,
    when: &str,
    since: &mut dyn FnMut(i32) -> Option<u64>,
) -> Result<(), CollectError> {
    let quotas = (groups::QUOTAS, groups::quotas());
    let limited = (groups::LIMITED, groups::limited());
    let in_flight = (IN_FLIGHT, facts::in_flight());
    for (name, text) in state::of_tasks(since).into_iter().chain([quotas, limited, in_flight]) {
        if !text.is_empty() {
            writer.fact(&format!("{name}{when}"), text.as_bytes())?;
        }
    }
    Ok(())
}

/// Empties the kernel's buffers, but takes no more than [`PAGES_OF_DRAIN`] of each processor.
fn take_pages(
    trace: &mut RawTrace,
    cpus: &[u32],
    page: &mut [u8],
    mut take: impl FnMut(u32, &[u8]) -> Result<(), CollectError>,
) -> Result<(), CollectError> {
    for cpu in cpus {
        for _ in 0..PAGES_OF_DRAIN {
            let bytes = trace.read_page(*cpu, page)?;
            if bytes == 0 {
                break;
            }
            take(*cpu, &page[..bytes])?;
        }
    }
    Ok(())
}

impl From<CpuStatistics> for CpuLosses {
    fn from(of: CpuStatistics) -> Self {
        let CpuStatistics { cpu, overrun, dropped, commit_overrun, .. } = of;
        Self { cpu, overrun, dropped, commit_overrun }
    }
}

/// What must be known of this machine; `cpus` that have a buffer.
#[must_use]
pub fn this_machine(cpus: u32) -> Machine {
    let kernel = identity::kernel_release();
    // Nothing that runs tells the kernel's ticks; Debian and Fedora keep the configuration here.
    let config = format!("/boot/config-{kernel}");
    let hz = files::read_text(Path::new(&config), CONFIG_BYTES_MAX).ok().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok())
    });
    let clock_ns = i64::try_from(clock::monotonic_ns()).unwrap_or(i64::MAX);
    Machine {
        kernel,
        clock: "mono".to_owned(),
        cpus,
        realtime_offset_ns: clock::realtime_ns().saturating_sub(clock_ns),
        boottime_offset_ns: clock::boottime_ns().saturating_sub(clock_ns),
        hz,
        arch: Some(std::env::consts::ARCH.to_owned()),
    }
}

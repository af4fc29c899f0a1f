//! Analyses of a timeline: handles, transactions, blocks and space of a journal, system calls, waits.
//!
//! Each is a report with two forms, a text for people and JSON for programs, made of a [`Timeline`]
//! alone: the same trace gives the same bytes on any machine. The first four answer what paper D
//! ("why ext3's journal stops a process") asks of its tracer; `docs/trace-analyze.md` says which is
//! which, and what of a figure is counted and what is estimated. An estimate is marked `~` in the
//! text and has `estimated` in its key in JSON.
//!
//! Invariant: a report is bounded by [`Options::top`], however long the trace; what is not known is
//! `-` or null, never 0. Held by `an_empty_timeline_is_reported`,
//! `a_million_transactions_are_reported_in_bounded_text`.

mod blocks;
mod handle;
mod pieces;
mod plot;
mod series;
mod show;
mod space;
mod state;
mod syscall;
#[cfg(test)]
mod tests;
mod waits;

pub use blocks::{BlockRow, Blocks, JournalBlocks, Lane};
pub use handle::{HandleRow, Handles, Holder, JournalHandles, KindRow, kind_name};
pub use pieces::{Cause, Piece, pieces, split};
pub use series::{Series, series};
pub use space::{JournalSpace, Level, Space};
pub use state::{JournalStates, StageTotal, StateRow, States, Why};
pub use syscall::{CallRow, Calls, NameRow};
pub use waits::{KindWaits, WaitRow, Waits, WakerRow};

use crate::explain::Knowledge;
use crate::record::Device;
use crate::timeline::{Journal, Symbols, Task, Timeline};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is analyzed, and what tells its names.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The spans.
    pub line: &'a Timeline,
    /// Names of devices.
    pub devices: &'a BTreeMap<Device, String>,
    /// What kind of machine was traced; see [`crate::calls::name`].
    pub arch: Option<&'a str>,
    /// Functions of its kernel; where none is known, places are shown by address.
    pub symbols: &'a Symbols,
    /// Settings and state of the machine, by path.
    pub facts: &'a BTreeMap<String, String>,
    /// Only calls and waits of these tasks; without, of all. Journals are always whole.
    pub tasks: Option<&'a BTreeSet<i32>>,
}

/// What of it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Only the journal of this file system; without, all of them.
    pub device: Option<Device>,
    /// Rows of a table at most.
    pub top: usize,
    /// Blocks of the journal, if somebody knows them (`dumpe2fs -h` says "Total journal blocks"): a trace
    /// without probes does not tell.
    pub journal_blocks: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { device: None, top: 20, journal_blocks: None }
    }
}

/// Which analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Waits for handles: jbdhdltime of the paper.
    Handle,
    /// Stages of transactions on a time line: jbdstate.
    State,
    /// Blocks of each transaction by stage: jbdjhlen.
    Blocks,
    /// Free and reserved blocks of the journal.
    Space,
    /// System calls by task.
    Syscall,
    /// Where tasks waited.
    Waits,
}

/// The result of an analysis.
pub trait Report {
    /// For people: lines of at most some 120 columns but for long names, each with its end.
    fn text(&self) -> String;
    /// For programs; keys carry units. Times called `at_ns` count from the beginning of the trace.
    fn json(&self) -> Value;
}

/// Makes an analysis. Takes time and memory as the timeline has spans; the result is small.
#[must_use]
pub fn analyze(analysis: Analysis, source: &Source<'_>, options: &Options) -> Box<dyn Report> {
    match analysis {
        Analysis::Handle => Box::new(Handles::of(source, options)),
        Analysis::State => Box::new(States::of(source, options)),
        Analysis::Blocks => Box::new(Blocks::of(source, options)),
        Analysis::Space => Box::new(Space::of(source, options)),
        Analysis::Syscall => Box::new(Calls::of(source, options)),
        Analysis::Waits => Box::new(Waits::of(source, options)),
    }
}

impl<'a> Source<'a> {
    /// The journals that are asked for.
    fn journals(&self, options: &Options) -> impl Iterator<Item = (Device, &'a Journal)> {
        let wanted = options.device;
        let all = self.line.journals.iter().map(|(device, journal)| (*device, journal));
        all.filter(move |(device, _)| wanted.is_none_or(|wanted| wanted == *device))
    }

    /// The tasks that are asked for.
    fn tasks(&self) -> impl Iterator<Item = (i32, &'a Task)> {
        let wanted = self.tasks;
        let all = self.line.tasks.iter().map(|(pid, task)| (*pid, task));
        all.filter(move |(pid, _)| wanted.is_none_or(|wanted| wanted.contains(pid)))
    }

    /// The name of a device, or its number.
    fn device_name(&self, device: Device) -> String {
        match self.devices.get(&device).filter(|name| !name.is_empty()) {
            Some(name) => show::plain(name),
            None => device.to_string(),
        }
    }

    /// A device by its name, or by `major:minor`.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<Device> {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        let of_name = self.devices.iter().find(|(_, one)| *one == name);
        of_name.map(|(device, _)| *device).or_else(|| {
            let (major, minor) = name.split_once(':')?;
            Some(Device::new(major.parse().ok()?, minor.parse().ok()?))
        })
    }

    /// The most blocks that a transaction of a journal may have, by `/proc/fs/jbd2/DEVICE-INODE/info`
    /// ("each up to 1365 blocks").
    fn max_transaction_blocks(&self, device: Device) -> Option<u64> {
        let folder = format!("/proc/fs/jbd2/{}-", self.devices.get(&device)?);
        let of_folder =
            |path: &str| path.strip_prefix(&folder).is_some_and(|rest| rest.ends_with("/info"));
        let near = self.facts.range(folder.clone()..);
        let mut near = near.take_while(|(path, _)| path.starts_with(&folder));
        let (_, text) = near.find(|(path, _)| of_folder(path))?;
        let (_, rest) = text.split_once("each up to ")?;
        rest.split_whitespace().next()?.parse().ok()
    }

    /// The name of a task, without what would upset a terminal.
    fn task_name(&self, pid: i32) -> String {
        match pid {
            0 => "idle".to_owned(),
            _ => self
                .line
                .task_name(pid)
                .map_or_else(|| "?".to_owned(), |name| show::plain(&name.to_string())),
        }
    }
}

impl<'a> From<&'a Knowledge> for Source<'a> {
    fn from(known: &'a Knowledge) -> Self {
        Self {
            line: &known.line,
            devices: &known.devices,
            arch: known.arch.as_deref(),
            symbols: &known.symbols,
            facts: &known.facts,
            tasks: None,
        }
    }
}

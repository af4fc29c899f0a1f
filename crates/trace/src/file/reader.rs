//! Opens a trace: reads its texts, and finds its pages up to the last whole chunk.
//!
//! All chunks are checked when the trace is opened, so it is known at once how much of it there is;
//! the pages themselves are read again when they are merged.
//!
//! Invariant: memory is 8 bytes for each page beside the texts and names, all within the limits of
//! the format. Held by `a_trace_cut_anywhere_is_read_up_to_its_last_whole_chunk` and the fuzz target
//! `trace_file`.

use super::chunk::{
    CHUNK_BYTES, DEVICES, END, FACTS, FORMAT, Found, HEADER_BYTES, HEADER_EVENT, HEADER_PAGE, Head,
    LOSSES, MACHINE, OPTIONAL_FROM, PAGE, SYMBOLS, TASKS, check_file_header, read,
};
use super::merge::Merged;
use super::{
    CPUS_MAX, CpuLosses, DEVICES_MAX, FACTS_MAX, Machine, PAGES_MAX, Preamble, SYMBOLS_MAX,
    TASKS_MAX,
};
use crate::error::{Error, Result};
use crate::event_set::{EVENTS_MAX, EventSet};
use crate::record::{Device, Name};
use crate::timeline::Symbols;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// What is read at once while the chunks are looked for.
const READ_BYTES: usize = 256 << 10;
const LOSSES_OF_CPU_BYTES: usize = 28;
/// Path and text of a fact.
const FACT_BYTES_MAX: usize = 65 << 10;

/// How a trace ends.
#[derive(Debug)]
pub enum Ending {
    /// As its writer ended it: nothing is missing, and its losses are known.
    Finished,
    /// With a whole chunk, but its writer did not end it.
    BrokenOff,
    /// With something that is no whole chunk; what is before it is read.
    Torn(Error),
}

/// A recorded trace.
#[derive(Debug)]
pub struct TraceFile<R> {
    pub(super) input: R,
    machine: Machine,
    events: EventSet,
    pub(super) pages: BTreeMap<u32, Vec<u64>>,
    tasks: BTreeMap<i32, Name>,
    devices: BTreeMap<Device, Name>,
    losses: Vec<CpuLosses>,
    symbols: Symbols,
    facts: BTreeMap<String, String>,
    ending: Ending,
}

/// What is known of a trace while its chunks are read.
#[derive(Default)]
struct Known {
    machine: Option<Machine>,
    preamble: Preamble,
    pages: BTreeMap<u32, Vec<u64>>,
    page_count: u64,
    tasks: BTreeMap<i32, Name>,
    devices: BTreeMap<Device, Name>,
    losses: BTreeMap<u32, CpuLosses>,
    symbols: Symbols,
    facts: BTreeMap<String, String>,
    finished: bool,
}

impl<R: Read + Seek> TraceFile<R> {
    /// Opens the trace at the beginning of `input`. Reads all of it once; blocks as `input` does.
    ///
    /// # Errors
    /// It is no trace, it breaks off before its first page could come, or a whole chunk in it says
    /// what cannot be; or those of reading.
    pub fn open(mut input: R) -> Result<Self> {
        let io = |source| Error::Io { what: "read", offset_bytes: 0, source };
        input.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut found = Known::default();
        let torn = found.scan(&mut BufReader::with_capacity(READ_BYTES, &mut input))?;
        let Some(machine) = found.machine else {
            return Err(torn.unwrap_or_else(|| missing("machine", HEADER_BYTES as u64)));
        };
        let events = match found.preamble.events() {
            Ok(events) => events,
            // If texts are missing, the reason is where the trace is torn.
            Err(error) => return Err(torn.unwrap_or(error)),
        };
        let ending = match (torn, found.finished) {
            (Some(error), _) => Ending::Torn(error),
            (None, true) => Ending::Finished,
            (None, false) => Ending::BrokenOff,
        };
        Ok(Self {
            input,
            machine,
            events,
            pages: found.pages,
            tasks: found.tasks,
            devices: found.devices,
            losses: found.losses.into_values().collect(),
            symbols: found.symbols,
            facts: found.facts,
            ending,
        })
    }

    /// The events of all processors in the order of time. Blocks as the input does.
    ///
    /// # Errors
    /// Those of reading.
    pub fn merge(&mut self) -> Result<Merged<'_, R>> {
        Merged::new(self)
    }
}

impl<R> TraceFile<R> {
    /// The machine that was traced.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The formats of its events.
    #[must_use]
    pub fn events(&self) -> &EventSet {
        &self.events
    }

    /// Names of tasks, as far as they were known at the end.
    #[must_use]
    pub fn tasks(&self) -> &BTreeMap<i32, Name> {
        &self.tasks
    }

    /// Names of devices.
    #[must_use]
    pub fn devices(&self) -> &BTreeMap<Device, Name> {
        &self.devices
    }

    /// What was lost, by processor; empty if the trace was not finished.
    #[must_use]
    pub fn losses(&self) -> &[CpuLosses] {
        &self.losses
    }

    /// Functions of the traced kernel, those that its stacks have.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Settings and state of the machine: text by path.
    #[must_use]
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// How the trace ends.
    #[must_use]
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Pages of all processors.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages.values().map(|pages| pages.len() as u64).sum()
    }
}

fn missing(field: &'static str, offset_bytes: u64) -> Error {
    Error::File { field, offset_bytes, expected: 1, found: 0 }
}

impl Known {
    /// Reads all whole chunks; gives the reason if something else comes before the end.
    fn scan(&mut self, input: &mut impl Read) -> Result<Option<Error>> {
        let mut header = Vec::new();
        let io = |source| Error::Io { what: "read", offset_bytes: 0, source };
        input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header).map_err(io)?;
        let Ok(header) = <[u8; HEADER_BYTES]>::try_from(header.as_slice()) else {
            let (expected, found) = (HEADER_BYTES as u64, header.len() as u64);
            return Err(Error::File { field: "header", offset_bytes: 0, expected, found });
        };
        check_file_header(&header)?;
        let (mut offset, mut payload) = (HEADER_BYTES as u64, Vec::new());
        loop {
            match read(input, offset, &mut payload)? {
                Found::Nothing => return Ok(None),
                Found::Torn(error) => return Ok(Some(error)),
                Found::Chunk(_) if self.finished => {
                    return Ok(Some(Error::File {
                        field: "chunks after the end",
                        offset_bytes: offset,
                        expected: 0,
                        found: 1,
                    }));
                }
                Found::Chunk(head) => {
                    self.take(head, offset, &payload)?;
                    offset += (CHUNK_BYTES + head.payload_bytes) as u64;
                }
            }
        }
    }

    fn take(&mut self, head: Head, offset: u64, payload: &[u8]) -> Result<()> {
        let wrong = |field, expected: u64, found: u64| {
            Err(Error::File { field, offset_bytes: offset, expected, found })
        };
        let preamble = &mut self.preamble;
        // Where kinds 1 to 4 are no longer allowed.
        let begun = self.page_count > 0;
        match head.kind {
            MACHINE..=FORMAT if begun => return wrong("kind", u64::from(PAGE), head.kind.into()),
            MACHINE if self.machine.is_none() => self.machine = Some(Machine::decode(payload)?),
            HEADER_PAGE if preamble.header_page.is_empty() => {
                preamble.header_page = payload.to_vec();
            }
            HEADER_EVENT if preamble.header_event.is_empty() => {
                preamble.header_event = payload.to_vec();
            }
            MACHINE..=HEADER_EVENT => return wrong("times of this kind", 1, 2),
            FORMAT => {
                let Some(end) = payload.iter().position(|byte| *byte == b'\n') else {
                    return wrong("line feed after the system", 1, 0);
                };
                if preamble.formats.len() == EVENTS_MAX {
                    return wrong("formats", EVENTS_MAX as u64, EVENTS_MAX as u64 + 1);
                }
                let system = String::from_utf8_lossy(&payload[..end]).into_owned();
                preamble.formats.push((system, payload[end + 1..].to_vec()));
            }
            PAGE => {
                if head.cpu >= CPUS_MAX {
                    return wrong("processor", u64::from(CPUS_MAX) - 1, head.cpu.into());
                }
                if self.page_count == PAGES_MAX {
                    return wrong("pages", PAGES_MAX, PAGES_MAX + 1);
                }
                self.page_count += 1;
                self.pages.entry(head.cpu).or_default().push(offset);
            }
            TASKS => names(payload, offset, |number, name| {
                self.tasks.insert(i32::from_le_bytes(number), name);
                (self.tasks.len(), TASKS_MAX)
            })?,
            DEVICES => names(payload, offset, |number, name| {
                self.devices.insert(Device(u32::from_le_bytes(number)), name);
                (self.devices.len(), DEVICES_MAX)
            })?,
            SYMBOLS => {
                functions(payload, offset, |begin, end, name| {
                    self.symbols.add(begin, end, String::from_utf8_lossy(name));
                    self.symbols.len()
                })?;
            }
            FACTS => {
                let Some(end) = payload.iter().position(|byte| *byte == b'\n') else {
                    return wrong("line feed after the path", 1, 0);
                };
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                if self.facts.len() == FACTS_MAX || payload.len() > FACT_BYTES_MAX {
                    return wrong("facts", FACTS_MAX as u64, self.facts.len() as u64 + 1);
                }
                self.facts.insert(text(&payload[..end]), text(&payload[end + 1..]));
            }
            LOSSES => {
                let (losses, rest) = payload.as_chunks::<LOSSES_OF_CPU_BYTES>();
                if !rest.is_empty() || losses.len() > CPUS_MAX as usize {
                    let expected = losses.len() * LOSSES_OF_CPU_BYTES;
                    return wrong("losses", expected as u64, payload.len() as u64);
                }
                for loss in losses {
                    let loss = loss_of(loss);
                    self.losses.insert(loss.cpu, loss);
                }
            }
            END => {
                let said = |at: usize| payload.get(at..at + 8).map(number);
                if said(0) != Some(self.page_count) || said(8) != Some(offset) {
                    return wrong("pages at the end", self.page_count, said(0).unwrap_or(0));
                }
                self.finished = true;
            }
            OPTIONAL_FROM.. => {}
            kind => return wrong("kind", u64::from(END), kind.into()),
        }
        Ok(())
    }
}

/// Hands out functions; `take` says how many there are.
fn functions(
    payload: &[u8],
    offset: u64,
    mut take: impl FnMut(u64, u64, &[u8]) -> usize,
) -> Result<()> {
    let mut rest = payload;
    while let Some((head, after)) = rest.split_at_checked(17) {
        let Some((name, after)) = after.split_at_checked(usize::from(head[16])) else { break };
        let there = take(number(&head[..8]), number(&head[8..16]), name);
        if there > SYMBOLS_MAX {
            let (expected, found) = (SYMBOLS_MAX as u64, there as u64);
            return Err(Error::File { field: "symbols", offset_bytes: offset, expected, found });
        }
        rest = after;
    }
    if rest.is_empty() {
        return Ok(());
    }
    let offset_bytes = offset + (CHUNK_BYTES + payload.len() - rest.len()) as u64;
    Err(Error::File { field: "symbol", offset_bytes, expected: 17, found: rest.len() as u64 })
}

/// Up to eight bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn loss_of(bytes: &[u8; LOSSES_OF_CPU_BYTES]) -> CpuLosses {
    let count = |at: usize| number(&bytes[at..at + 8]);
    CpuLosses {
        cpu: number(&bytes[..4]) as u32,
        overrun: count(4),
        dropped: count(12),
        commit_overrun: count(20),
    }
}

/// Hands out numbers and names; `take` says how many there are and may be.
fn names(
    payload: &[u8],
    offset: u64,
    mut take: impl FnMut([u8; 4], Name) -> (usize, usize),
) -> Result<()> {
    let mut rest = payload;
    while let Some((head, after)) = rest.split_at_checked(5) {
        let Some((name, after)) = after.split_at_checked(usize::from(head[4])) else { break };
        let (there, most) = take([head[0], head[1], head[2], head[3]], Name::new(name));
        if there > most {
            let (expected, found) = (most as u64, there as u64);
            return Err(Error::File { field: "names", offset_bytes: offset, expected, found });
        }
        rest = after;
    }
    if rest.is_empty() {
        return Ok(());
    }
    let offset_bytes = offset + (CHUNK_BYTES + payload.len() - rest.len()) as u64;
    Err(Error::File { field: "name", offset_bytes, expected: 5, found: rest.len() as u64 })
}

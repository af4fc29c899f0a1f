//! Writes a trace: the texts first, then pages as they come, names and losses at the end.
//!
//! Each chunk is one write, so with a buffer behind it a recorder that is killed leaves whole chunks
//! but for the last. What could not be read again is refused before anything is recorded.
//!
//! Invariant: a reader takes what this wrote. Held by `what_is_written_is_read_back`.

use super::chunk::{
    DEVICES, END, FACTS, FORMAT, HEADER_EVENT, HEADER_PAGE, LOSSES, MACHINE, PAGE, SYMBOLS, TASKS,
    encode, file_header,
};
use super::{CPUS_MAX, CpuLosses, Machine, PAGES_MAX};
use crate::error::{Error, Result};
use crate::event_set::{Event, EventSet};
use crate::format::{EventFormat, EventHeader, PageHeader};
use crate::record::Device;
use crate::ring_page::used_bytes;
use std::io::Write;

/// Names that go into one chunk: with the longest of 255 bytes it stays below 1 MiB.
const NAMES_OF_CHUNK: usize = 4_000;
const NAME_BYTES_MAX: usize = 255;
const FACT_BYTES_MAX: usize = 64 << 10;

/// What a trace begins with: all that is known before the first event.
#[derive(Clone, Debug, Default)]
pub struct Preamble {
    /// The machine.
    pub machine: Machine,
    /// `events/header_page`.
    pub header_page: Vec<u8>,
    /// `events/header_event`.
    pub header_event: Vec<u8>,
    /// System and `format` of each event that is recorded.
    pub formats: Vec<(String, Vec<u8>)>,
}

impl Preamble {
    /// The formats, read.
    ///
    /// # Errors
    /// A text in an unknown form, or formats that do not go together.
    pub fn events(&self) -> Result<EventSet> {
        let page = PageHeader::parse(&self.header_page)?;
        let entry = EventHeader::parse(&self.header_event)?;
        let parse = |(system, text): &(String, Vec<u8>)| {
            Ok(Event { system: system.clone(), format: EventFormat::parse(text)? })
        };
        EventSet::new(page, entry, self.formats.iter().map(parse).collect::<Result<_>>()?)
    }
}

/// Writes a trace to `W`. Without [`finish`](Self::finish) the trace is one that broke off.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    output: W,
    header: PageHeader,
    offset_bytes: u64,
    pages: u64,
    chunk: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace. Blocks as `output` does.
    ///
    /// # Errors
    /// The preamble could not be read again, see [`Preamble::events`]; or those of writing.
    pub fn new(output: W, preamble: &Preamble) -> Result<Self> {
        preamble.events()?;
        if preamble.machine.cpus > CPUS_MAX {
            let (expected, found) = (u64::from(CPUS_MAX), u64::from(preamble.machine.cpus));
            return Err(Error::File { field: "cpus", offset_bytes: 0, expected, found });
        }
        let header = PageHeader::parse(&preamble.header_page)?;
        let mut writer = Self { output, header, offset_bytes: 0, pages: 0, chunk: Vec::new() };
        writer.chunk.extend(file_header());
        writer.write()?;
        writer.put(MACHINE, 0, &[&preamble.machine.encode()])?;
        writer.put(HEADER_PAGE, 0, &[&preamble.header_page])?;
        writer.put(HEADER_EVENT, 0, &[&preamble.header_event])?;
        for (system, text) in &preamble.formats {
            writer.put(FORMAT, 0, &[system.as_bytes(), b"\n", text])?;
        }
        Ok(writer)
    }

    /// Appends a page of a processor, as it was read.
    ///
    /// # Errors
    /// [`Error::File`]: a page longer than `header_page` says, a processor beyond those of the
    /// machine's limit, too many pages; or those of writing.
    pub fn page(&mut self, cpu: u32, page: &[u8]) -> Result<()> {
        let offset_bytes = self.offset_bytes;
        let wrong =
            |field, expected, found| Err(Error::File { field, offset_bytes, expected, found });
        if page.len() > self.header.page_bytes() {
            return wrong("page", self.header.page_bytes() as u64, page.len() as u64);
        }
        if cpu >= CPUS_MAX {
            return wrong("processor", u64::from(CPUS_MAX) - 1, u64::from(cpu));
        }
        if self.pages == PAGES_MAX {
            return wrong("pages", PAGES_MAX, PAGES_MAX + 1);
        }
        let used = used_bytes(&self.header, page);
        // What is behind the data is filler; of a page that is none, everything is kept.
        let used = if page[used..].iter().all(|byte| *byte == 0) { used } else { page.len() };
        self.pages += 1;
        self.put(PAGE, cpu, &[&page[..used]])
    }

    /// Names tasks. A later name of a task replaces an earlier one.
    ///
    /// # Errors
    /// Those of writing.
    pub fn tasks<'a>(&mut self, names: impl IntoIterator<Item = (i32, &'a [u8])>) -> Result<()> {
        self.names(TASKS, names.into_iter().map(|(pid, name)| (pid.to_le_bytes(), name)))
    }

    /// Names devices.
    ///
    /// # Errors
    /// Those of writing.
    pub fn devices<'a>(
        &mut self,
        names: impl IntoIterator<Item = (Device, &'a [u8])>,
    ) -> Result<()> {
        self.names(DEVICES, names.into_iter().map(|(device, name)| (device.0.to_le_bytes(), name)))
    }

    fn names<'a>(
        &mut self,
        kind: u8,
        names: impl Iterator<Item = ([u8; 4], &'a [u8])>,
    ) -> Result<()> {
        let mut names = names.peekable();
        while names.peek().is_some() {
            let mut payload = Vec::new();
            for (number, name) in names.by_ref().take(NAMES_OF_CHUNK) {
                let name = &name[..name.len().min(NAME_BYTES_MAX)];
                payload.extend(number);
                payload.push(name.len() as u8);
                payload.extend_from_slice(name);
            }
            self.put(kind, 0, &[&payload])?;
        }
        Ok(())
    }

    /// Names functions of the kernel: (begin, end, name).
    ///
    /// # Errors
    /// Those of writing.
    pub fn symbols<'a>(
        &mut self,
        functions: impl IntoIterator<Item = (u64, u64, &'a str)>,
    ) -> Result<()> {
        let mut functions = functions.into_iter().peekable();
        while functions.peek().is_some() {
            let mut payload = Vec::new();
            for (begin, end, name) in functions.by_ref().take(NAMES_OF_CHUNK / 2) {
                let name = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX)];
                payload.extend(begin.to_le_bytes());
                payload.extend(end.to_le_bytes());
                payload.push(name.len() as u8);
                payload.extend_from_slice(name);
            }
            self.put(SYMBOLS, 0, &[&payload])?;
        }
        Ok(())
    }

    /// Keeps a setting or state of the machine, as the file at `path` has it. A later one of the
    /// same path replaces an earlier one. What is longer than 64 KiB is cut.
    ///
    /// # Errors
    /// Those of writing.
    pub fn fact(&mut self, path: &str, text: &[u8]) -> Result<()> {
        let text = &text[..text.len().min(FACT_BYTES_MAX)];
        let path = &path.as_bytes()[..path.len().min(NAME_BYTES_MAX)];
        self.put(FACTS, 0, &[path, b"\n", text])
    }

    /// Hands on what was written, so that it outlives this process. Blocks as `W` does.
    ///
    /// # Errors
    /// Those of writing.
    pub fn flush(&mut self) -> Result<()> {
        let offset_bytes = self.offset_bytes;
        self.output.flush().map_err(|source| Error::Io { what: "write", offset_bytes, source })
    }

    /// Ends the trace with what was lost, and gives the output back, flushed.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self, losses: &[CpuLosses]) -> Result<W> {
        let mut payload = Vec::new();
        for loss in losses {
            payload.extend(loss.cpu.to_le_bytes());
            for count in [loss.overrun, loss.dropped, loss.commit_overrun] {
                payload.extend(count.to_le_bytes());
            }
        }
        self.put(LOSSES, 0, &[&payload])?;
        let (pages, bytes) = (self.pages.to_le_bytes(), self.offset_bytes.to_le_bytes());
        self.put(END, 0, &[&pages, &bytes])?;
        self.flush()?;
        Ok(self.output)
    }

    /// Pages written so far.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offset_bytes
    }

    fn put(&mut self, kind: u8, cpu: u32, parts: &[&[u8]]) -> Result<()> {
        encode(&mut self.chunk, self.offset_bytes, kind, cpu, parts);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        let offset_bytes = self.offset_bytes;
        let written = self.output.write_all(&self.chunk);
        written.map_err(|source| Error::Io { what: "write", offset_bytes, source })?;
        self.offset_bytes += self.chunk.len() as u64;
        Ok(())
    }
}

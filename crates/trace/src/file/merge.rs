//! The events of all processors in the order of time, one page of each in memory.
//!
//! A page that is none, or only in part, costs its rest and is told with its place; the pages after
//! it are read. What the kernel says was lost before a page comes where it was lost.
//!
//! Invariant: each event of each page comes exactly once, those of one processor in their order;
//! where a processor's times do not go back, none of the merged do. Held by
//! `events_of_all_processors_come_in_the_order_of_time`, `a_page_that_is_none_costs_itself`.

use super::chunk::{Found, PAGE, read};
use super::reader::TraceFile;
use crate::error::{Error, Result};
use crate::ring_page::{PageCursor, PageLayout};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek, SeekFrom};

/// What comes next in a trace.
#[derive(Debug)]
pub enum Item<'a> {
    /// An event.
    Event {
        /// The processor that it happened on.
        cpu: u32,
        /// When, in nanoseconds of the tracer's clock.
        time_ns: u64,
        /// Which, by the number in its format.
        id: u16,
        /// Its bytes, from `common_type` on.
        payload: &'a [u8],
    },
    /// Events of a processor were overwritten before they could be read.
    Lost {
        /// The processor.
        cpu: u32,
        /// The time of the page after them.
        time_ns: u64,
        /// How many, if the kernel could say so; else one or more.
        events: Option<u64>,
    },
    /// A page that is none, from some place on.
    Damaged {
        /// The processor.
        cpu: u32,
        /// The time of the last event before.
        time_ns: u64,
        /// Where the page's chunk is in the file.
        offset_bytes: u64,
        /// What is wrong; its offset is one in the page.
        error: &'a Error,
    },
}

#[derive(Debug)]
enum Pending {
    Event { id: u16, from: usize, to: usize },
    Lost(Option<u64>),
    Damaged(Error),
}

/// The pages of one processor.
#[derive(Debug)]
struct Lane {
    cpu: u32,
    /// How many pages were taken.
    taken: usize,
    page: Vec<u8>,
    cursor: Option<PageCursor>,
    time_ns: u64,
    pending: Option<Pending>,
}

/// Reads a trace in the order of time. A new one begins at the beginning.
#[derive(Debug)]
pub struct Merged<'a, R> {
    file: &'a mut TraceFile<R>,
    lanes: Vec<Lane>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// The lane whose event was handed out last: it goes on when that event is no longer used.
    last: Option<usize>,
}

impl<'a, R: Read + Seek> Merged<'a, R> {
    pub(super) fn new(file: &'a mut TraceFile<R>) -> Result<Self> {
        let lane = |cpu: &u32| Lane {
            cpu: *cpu,
            taken: 0,
            page: Vec::new(),
            cursor: None,
            time_ns: 0,
            pending: None,
        };
        let lanes: Vec<Lane> = file.pages.keys().map(lane).collect();
        let mut merged = Self { file, next: BinaryHeap::new(), last: None, lanes };
        for index in 0..merged.lanes.len() {
            merged.go_on(index)?;
        }
        Ok(merged)
    }

    /// What comes next; None at the end.
    ///
    /// # Errors
    /// The file could not be read, or has changed since it was opened.
    #[allow(clippy::should_implement_trait, reason = "an iterator's items cannot borrow from it")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>> {
        if let Some(index) = self.last.take() {
            self.go_on(index)?;
        }
        let Some(Reverse((_, index))) = self.next.pop() else { return Ok(None) };
        self.last = Some(index);
        let Some(lane) = self.lanes.get(index) else { return Ok(None) };
        let (cpu, time_ns) = (lane.cpu, lane.time_ns);
        Ok(lane.pending.as_ref().map(|pending| match pending {
            Pending::Event { id, from, to } => {
                let payload = lane.page.get(*from..*to).unwrap_or(&[]);
                Item::Event { cpu, time_ns, id: *id, payload }
            }
            Pending::Lost(events) => Item::Lost { cpu, time_ns, events: *events },
            Pending::Damaged(error) => {
                let places = self.file.pages.get(&cpu);
                let place = places.and_then(|places| places.get(lane.taken.wrapping_sub(1)));
                let offset_bytes = place.map_or(0, |place| *place);
                Item::Damaged { cpu, time_ns, offset_bytes, error }
            }
        }))
    }

    /// Puts the next event of a lane into the heap, if it has one.
    fn go_on(&mut self, index: usize) -> Result<()> {
        let Some(lane) = self.lanes.get_mut(index) else { return Ok(()) };
        let places = self.file.pages.get(&lane.cpu).map_or(&[][..], Vec::as_slice);
        let layout = *self.file.events().layout();
        if lane.go_on(&mut self.file.input, places, &layout)? {
            self.next.push(Reverse((lane.time_ns, index)));
        }
        Ok(())
    }
}

impl Lane {
    /// True if there is something pending now.
    fn go_on(
        &mut self,
        input: &mut (impl Read + Seek),
        places: &[u64],
        layout: &PageLayout,
    ) -> Result<bool> {
        self.pending = None;
        while self.pending.is_none() {
            if let Some(cursor) = &mut self.cursor {
                match cursor.next(&self.page) {
                    Ok(Some(event)) => {
                        let (from, to) =
                            (event.offset_bytes, event.offset_bytes + event.payload.len());
                        self.pending = Some(Pending::Event { id: event.id, from, to });
                        self.time_ns = event.time_ns;
                    }
                    Ok(None) => self.cursor = None,
                    Err(error) => {
                        self.pending = Some(Pending::Damaged(error));
                        self.time_ns = cursor.time_ns();
                        self.cursor = None;
                    }
                }
                continue;
            }
            let Some(place) = places.get(self.taken) else { return Ok(false) };
            self.taken += 1;
            self.load(input, *place)?;
            match PageCursor::new(layout, &self.page) {
                Ok(cursor) => {
                    if let Some(missed) = cursor.missed() {
                        self.pending = Some(Pending::Lost(missed.events));
                        self.time_ns = cursor.time_ns();
                    }
                    self.cursor = Some(cursor);
                }
                Err(error) => self.pending = Some(Pending::Damaged(error)),
            }
        }
        Ok(true)
    }

    /// Reads a page's chunk and checks it again: the file may have changed.
    fn load(&mut self, input: &mut (impl Read + Seek), offset_bytes: u64) -> Result<()> {
        let io = |source| Error::Io { what: "read", offset_bytes, source };
        input.seek(SeekFrom::Start(offset_bytes)).map_err(io)?;
        let found = match read(input, offset_bytes, &mut self.page)? {
            Found::Chunk(head) if head.kind == PAGE => return Ok(()),
            Found::Chunk(head) => u64::from(head.kind),
            Found::Torn(error) => return Err(error),
            Found::Nothing => 0,
        };
        Err(Error::File { field: "kind", offset_bytes, expected: u64::from(PAGE), found })
    }
}

//! Where records go: a ring of the recorder in this process, or of one that runs in another; and
//! how a source waits for room in it.

use crate::error::{Error, Result};
use crate::fed::Fed;
use crate::refusal::Reason;
use crate::types::Word;
use baro_log::{Catalog, Role, StoreLock};
use baro_ondisk::Type;
use baro_recorder::{Producer, Recorder, Refused, Trouble, attach};
use baro_sys::clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// While the ring is full, how often it is looked whether the recorder is still there.
const LOOK_NS: u64 = 1_000_000_000;
const NAP_NS: u64 = 1_000_000;
/// Samples of a record: few enough that a small ring takes several of them.
const RECORD_MAX: usize = 8192;
/// Longer than a device in trouble is waited for.
const PATIENCE_NS: u64 = 60_000_000_000;

/// What a source does while the ring is full.
#[derive(Clone, Copy, Debug)]
pub enum Room<'a> {
    /// It cannot wait: what finds no room is refused by the ring and counted.
    NotWaitedFor,
    /// It waits, until it is told to stop; what finds no room then is refused and counted.
    Until(&'a AtomicBool),
    /// It waits as long as anything becomes durable; after that, and if the ring refuses a record,
    /// there is an error.
    WhileItMoves,
}

/// A ring of the recorder in this process, or of one that runs in another; and how the source that
/// pushes into it waits for room.
#[derive(Debug)]
pub struct Target<'a> {
    producer: Producer,
    writer: Writer<'a>,
    room: Room<'a>,
}

#[derive(Debug)]
enum Writer<'a> {
    Here(&'a Recorder),
    /// Of another process: the store, and its catalog as it was at the attach.
    Elsewhere {
        store: PathBuf,
        catalog: Box<Catalog>,
    },
}

/// Samples of f64, i64 and bool: their words, as the table of types makes them for their series.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    times_ns: Vec<i64>,
    series: Vec<u32>,
    words: Vec<i64>,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.series.len()
    }

    pub(crate) fn clear(&mut self) {
        self.times_ns.clear();
        self.series.clear();
        self.words.clear();
    }

    /// Only here does a word lose its type: a record has none, and is read by the declarations.
    pub(crate) fn push(&mut self, time_ns: i64, series: u32, word: Word) {
        self.times_ns.push(time_ns);
        self.series.push(series);
        self.words.push(word.bits());
    }
}

impl<'a> Target<'a> {
    /// A new ring of a recorder in this process.
    ///
    /// # Errors
    /// There is no memory, or the recorder has 64 rings already.
    pub fn of(recorder: &'a Recorder, room: Room<'a>) -> Result<Self> {
        Ok(Target { producer: recorder.producer()?, writer: Writer::Here(recorder), room })
    }

    /// A free ring of the process that records into the store at `store`.
    ///
    /// # Errors
    /// It is no store, its catalog is damaged, or no ring is free.
    pub fn attach(store: &Path, room: Room<'a>) -> Result<Self> {
        let attached = attach(store, None)?;
        let catalog = Box::new(attached.catalog);
        let writer = Writer::Elsewhere { store: store.to_owned(), catalog };
        Ok(Target { producer: attached.producer, writer, room })
    }

    pub(crate) fn producer(&self) -> &Producer {
        &self.producer
    }

    /// Id and type of a declared series.
    pub(crate) fn declared(&self, name: &str) -> Option<(u32, Type)> {
        let found = match &self.writer {
            Writer::Here(recorder) => recorder.declared(name),
            Writer::Elsewhere { catalog, .. } => catalog.get(name),
        };
        found.map(|declared| (declared.id, declared.kind))
    }

    /// Whether new series can be declared, and why not.
    pub(crate) fn may_declare(&self) -> std::result::Result<(), Reason<'static>> {
        match &self.writer {
            Writer::Here(_) => Ok(()),
            Writer::Elsewhere { .. } => Err(Reason::DeclaredElsewhere),
        }
    }

    /// Ids of new series; durable when this returns.
    pub(crate) fn declare(
        &self,
        wanted: &[(&str, Type, &str)],
    ) -> std::result::Result<Vec<u32>, baro_recorder::Error> {
        match &self.writer {
            Writer::Here(recorder) => recorder.declare(wanted),
            Writer::Elsewhere { .. } => Ok(Vec::new()),
        }
    }

    /// Pushes samples that were all taken at the first one's time, as one record.
    pub(crate) fn push_at_once(&mut self, fed: &mut Fed, columns: &Columns) -> Result<()> {
        let Columns { times_ns, series, words } = columns;
        let Some(time_ns) = times_ns.first() else { return Ok(()) };
        let count = series.len();
        let push = |producer: &mut Producer| producer.push_words_at(*time_ns, series, words);
        self.push(fed, count, 8 + count * 12, push)
    }

    /// Pushes samples, each with its time, in as many records as they need.
    pub(crate) fn push_timed(&mut self, fed: &mut Fed, columns: &Columns) -> Result<()> {
        let most = (self.producer.record_bytes_max().saturating_sub(8) / 20).clamp(1, RECORD_MAX);
        let Columns { times_ns, series, words } = columns;
        let columns = times_ns.chunks(most).zip(series.chunks(most)).zip(words.chunks(most));
        for ((times_ns, series), words) in columns {
            let count = series.len();
            self.push(fed, count, 8 + count * 20, |producer| {
                producer.push_words(times_ns, series, words)
            })?;
        }
        Ok(())
    }

    /// Pushes a text.
    pub(crate) fn push_text(
        &mut self,
        fed: &mut Fed,
        time_ns: i64,
        series: u32,
        text: &str,
    ) -> Result<()> {
        self.push(fed, 1, text.len(), |producer| producer.push_text(series, time_ns, text))
    }

    /// Pushes a frame.
    pub(crate) fn push_frame(
        &mut self,
        fed: &mut Fed,
        time_ns: i64,
        channel: u32,
        frame: &[u8],
    ) -> Result<()> {
        self.push(fed, 0, frame.len(), |producer| producer.push_frame(channel, time_ns, frame))
    }

    fn push(
        &mut self,
        fed: &mut Fed,
        samples: usize,
        bytes: usize,
        push: impl FnOnce(&mut Producer) -> std::result::Result<u64, Refused>,
    ) -> Result<()> {
        self.wait_for_room(bytes)?;
        let producer = &mut self.producer;
        match (fed.push(samples, bytes, || push(producer)), self.room) {
            (Err(refused), Room::WhileItMoves) => Err(refused.into()),
            _ => Ok(()),
        }
    }

    fn wait_for_room(&self, payload_bytes: usize) -> Result<()> {
        let needed = Producer::record_bytes(payload_bytes);
        match self.room {
            Room::NotWaitedFor => {}
            Room::Until(stop) => {
                while self.producer.free_bytes() < needed && !stop.load(Ordering::Relaxed) {
                    clock::sleep_ns(NAP_NS);
                }
            }
            Room::WhileItMoves => self.wait(|producer| producer.free_bytes() >= needed)?,
        }
        Ok(())
    }

    /// Waits until `done`; an error when there is nothing any more to wait for.
    fn wait(&self, done: impl Fn(&Producer) -> bool) -> Result<()> {
        let mut looked_ns = clock::monotonic_ns();
        let (mut moved_ns, mut durable) = (looked_ns, self.producer.durable());
        while !done(&self.producer) {
            let now_ns = clock::monotonic_ns();
            if now_ns.saturating_sub(looked_ns) >= LOOK_NS {
                looked_ns = now_ns;
                if self.producer.durable() != durable {
                    (moved_ns, durable) = (now_ns, self.producer.durable());
                }
                self.look(now_ns.saturating_sub(moved_ns))?;
            }
            clock::sleep_ns(NAP_NS);
        }
        Ok(())
    }

    /// Whether waiting makes sense, after nothing has become durable for `still_ns`.
    fn look(&self, still_ns: u64) -> Result<()> {
        let trouble = match &self.writer {
            Writer::Here(recorder) => recorder.status().trouble,
            Writer::Elsewhere { store, .. } => {
                let gone = StoreLock::holder_at(store, Role::Recording)
                    .map_err(baro_recorder::Error::Log)?
                    .is_none();
                if gone || self.producer.closed() {
                    return Err(Error::Gone);
                }
                Trouble::None
            }
        };
        let full = matches!(trouble, Trouble::LogFull | Trouble::Held { .. });
        if still_ns >= PATIENCE_NS || (full && still_ns >= LOOK_NS) {
            return Err(Error::Still { still_ns, trouble });
        }
        Ok(())
    }

    /// Waits until all is durable in the other process; a recorder of this one does that when it is
    /// closed.
    pub(crate) fn finish(self) -> Result<()> {
        if let Writer::Elsewhere { .. } = self.writer {
            let end = self.producer.next_sequence();
            self.wait(|producer| producer.durable() >= end)?;
        }
        Ok(())
    }
}

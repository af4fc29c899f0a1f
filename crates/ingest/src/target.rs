//! Where records go: a ring of the recorder in this process, or of one that runs in another; and
//! how a source waits for room in it.

use crate::error::{Error, Result};
use crate::fed::Fed;
use crate::ledger::{Ledger, Unkept};
use crate::types::Word;
use crate::waiting::Waiting;
use baro_log::{Catalog, Declared, Role, StoreLock, open_folder};
use baro_ondisk::{Declaration, Samples};
use baro_recorder::{Producer, Recorder, Refused, RingReport, RingView, Trouble, Waits, attach};
use baro_sys::clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// While the ring is full, how often it is looked whether the recorder is still there.
const LOOK_NS: u64 = 100_000_000;
/// A log that is full for so long stays full.
const FULL_NS: u64 = 200_000_000;
/// What is in the ring has so long to become durable when it is told to stop.
const STOP_NS: u64 = 3_000_000_000;
const NAP_NS: u64 = 1_000_000;
/// Samples of a record: few enough that a small ring takes several of them.
const RECORD_MAX: usize = 8192;
/// Longer than a device in trouble is waited for.
const PATIENCE_NS: u64 = 60_000_000_000;

/// What became of a series: its id, or why it has none.
type Answer = std::result::Result<u32, baro_recorder::Error>;

/// What a source does while the ring is full.
#[derive(Clone, Copy, Debug)]
pub enum Room<'a> {
    /// It cannot wait: what finds no room is refused by the ring and counted.
    NotWaitedFor,
    /// It waits, until the log is full and refuses what is new, or it has been told to stop and nothing has become
    /// durable for a while; what finds no room then is refused and counted.
    Until(&'a AtomicBool),
    /// It waits as long as anything becomes durable or is settled, and it is not told to stop; after
    /// that, and if the ring refuses a record, there is an error.
    WhileItMoves(&'a Waiting),
    /// It waits for so many nanoseconds at most, in all since it was told so; then there is an error, and the
    /// ring has refused nothing.
    /// What it has pushed is in no [`Ledger`]: who needs to know asks how far the ring is durable.
    AtMost(u64),
}

/// A ring of the recorder in this process, or of one that runs in another; and how the source that
/// pushes into it waits for room.
#[derive(Debug)]
pub struct Target<'a> {
    /// `None` where nothing is written.
    producer: Option<Producer>,
    writer: Writer<'a>,
    room: Room<'a>,
    /// With [`Room::AtMost`]: until then all that it waits for has to be there.
    until_ns: u64,
    ledger: Ledger,
    /// With [`Room::Until`]: it was told to stop, and no room came.
    given_up: bool,
    /// The largest record that is taken.
    record_bytes_max: usize,
    /// Ids handed out where nothing is written.
    made_up: u32,
}

#[derive(Debug)]
enum Writer<'a> {
    Here(&'a Recorder),
    /// Of another process: the store, and its catalog as far as it is known here.
    Elsewhere {
        store: PathBuf,
        catalog: Box<Catalog>,
    },
    /// Nothing is written: the catalog of the store that would be.
    Nowhere(Box<Catalog>),
}

/// Samples of f64, i64 and bool: their words, as the table of types makes them for their series.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    times_ns: Vec<i64>,
    series: Vec<u32>,
    words: Vec<i64>,
    lines: Vec<u64>,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.series.len()
    }

    /// Time, series, word and line of a row.
    pub(crate) fn row(&self, row: usize) -> Option<(i64, u32, Word, u64)> {
        let Columns { times_ns, series, words, lines } = self;
        let word = Word::again(*words.get(row)?);
        Some((*times_ns.get(row)?, *series.get(row)?, word, *lines.get(row)?))
    }

    pub(crate) fn set_time_ns(&mut self, row: usize, time_ns: i64) {
        if let Some(time) = self.times_ns.get_mut(row) {
            *time = time_ns;
        }
    }

    /// Keeps the first `rows`.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.times_ns.truncate(rows);
        self.series.truncate(rows);
        self.words.truncate(rows);
        self.lines.truncate(rows);
    }

    /// What it has allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let words = self.times_ns.capacity() + self.words.capacity() + self.lines.capacity();
        words * 8 + self.series.capacity() * 4
    }

    /// Whether all, if there are any, are of one time.
    pub(crate) fn is_of_one_time(&self) -> bool {
        self.times_ns.windows(2).all(|pair| pair.first() == pair.last())
    }

    pub(crate) fn clear(&mut self) {
        self.times_ns.clear();
        self.series.clear();
        self.words.clear();
        self.lines.clear();
    }

    /// Only here does a word lose its type: a record has none, and is read by the declarations.
    pub(crate) fn push(&mut self, time_ns: i64, series: u32, word: Word, line: u64) {
        self.lines.push(line);
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
        Ok(Target::new(Some(recorder.producer()?), Writer::Here(recorder), room))
    }

    /// A free ring of the process that records into the store at `store`.
    ///
    /// # Errors
    /// It is no store, its catalog is damaged, or no ring is free.
    pub fn attach(store: &Path, room: Room<'a>) -> Result<Self> {
        Self::attach_in(store, None, room)
    }

    /// The same where the recorder was given a folder for its rings.
    ///
    /// # Errors
    /// As [`Target::attach`].
    pub fn attach_in(store: &Path, rings: Option<&Path>, room: Room<'a>) -> Result<Self> {
        let (producer, catalog) = attach(store, rings)?;
        let catalog = Box::new(catalog);
        let writer = Writer::Elsewhere { store: store.to_owned(), catalog };
        Ok(Target::new(Some(producer), writer, room))
    }

    /// Nothing is written and nothing declared: for who wants to know what would be taken.
    ///
    /// # Errors
    /// It is no store, or its catalog is damaged.
    pub fn nowhere(store: &Path) -> Result<Self> {
        let read = || {
            let disk = open_folder(store)?;
            baro_log::read_identity(&disk, store)?;
            Catalog::read(&disk)
        };
        let catalog = read().map_err(baro_recorder::Error::Log)?;
        Ok(Target::new(None, Writer::Nowhere(Box::new(catalog)), Room::NotWaitedFor))
    }

    fn new(producer: Option<Producer>, writer: Writer<'a>, room: Room<'a>) -> Self {
        if let Some(producer) = &producer {
            producer.wait_for_room(match room {
                Room::NotWaitedFor => Waits::Not,
                Room::Until(_) | Room::AtMost(_) => Waits::WhileSettled,
                Room::WhileItMoves(_) => Waits::Always,
            });
        }
        let ring = producer.as_ref().map(Producer::report);
        let record_bytes_max = ring.map_or(usize::MAX, |ring| ring.record_bytes_max);
        let (until_ns, ledger) = (until_ns(room), Ledger::default());
        let given_up = false;
        Target { producer, writer, room, until_ns, ledger, given_up, record_bytes_max, made_up: 0 }
    }

    pub(crate) fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// From now on it waits for room like this.
    pub(crate) fn wait_as(&mut self, room: Room<'a>) {
        self.room = room;
        self.until_ns = until_ns(room);
    }

    /// The ring as other threads see it.
    pub(crate) fn view(&self) -> Option<RingView> {
        self.producer.as_ref().map(Producer::view)
    }

    /// The sequence of the next record; 0 without a ring.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.producer.as_ref().map_or(0, Producer::next_sequence)
    }

    /// Random id of the ring; 0 without one.
    pub(crate) fn producer_id(&self) -> u64 {
        self.producer.as_ref().map_or(0, |producer| producer.report().producer)
    }

    /// The largest record that is taken.
    pub(crate) fn record_bytes_max(&self) -> usize {
        self.record_bytes_max
    }

    /// A declared series.
    pub(crate) fn declared(&self, name: &str) -> Option<Declared> {
        match &self.writer {
            Writer::Here(recorder) => recorder.declared(name),
            Writer::Elsewhere { catalog, .. } | Writer::Nowhere(catalog) => catalog.get(name),
        }
    }

    /// Series and channels in the store of another process's recorder, as far as it is known here.
    pub(crate) fn series_in_store(&self) -> u64 {
        match &self.writer {
            // Its recorder can be asked.
            Writer::Here(_) => 0,
            Writer::Elsewhere { catalog, .. } | Writer::Nowhere(catalog) => {
                u64::from(catalog.highest_id())
            }
        }
    }

    /// Learns what others have declared in the store of another process's recorder since it was read.
    pub(crate) fn learn(&mut self) -> std::result::Result<(), baro_recorder::Error> {
        let Writer::Elsewhere { store, catalog } = &mut self.writer else { return Ok(()) };
        let read = open_folder(store).and_then(|disk| catalog.read_on(&disk));
        read.map_err(baro_recorder::Error::Log)
    }

    /// How many of those that are known here, with an id above `id`, have such a name.
    pub(crate) fn count_series_above(&self, id: u32, is_one: impl Fn(&str) -> bool) -> u64 {
        match &self.writer {
            // Only who attaches has a catalog of its own.
            Writer::Here(_) => 0,
            Writer::Elsewhere { catalog, .. } | Writer::Nowhere(catalog) => {
                let above = id.saturating_add(1)..=catalog.highest_id();
                let found = above.filter_map(|id| catalog.of_id(id));
                found.filter(|declared| is_one(declared.name)).count() as u64
            }
        }
    }

    /// Ids of new series, or why one has none; durable when this returns. A recorder in another process is
    /// asked, and waited for like room: until it is told to stop, or for as long as a device in trouble.
    pub(crate) fn declare(
        &mut self,
        wanted: &[Declaration<'_>],
    ) -> std::result::Result<Vec<Answer>, baro_recorder::Error> {
        let (room, until_ns) = (self.room, self.until_ns);
        let go_on = |waited_ns| match room {
            Room::Until(stop) => waited_ns < PATIENCE_NS && !stop.load(Ordering::Relaxed),
            Room::WhileItMoves(waiting) => waited_ns < PATIENCE_NS && !waiting.stops(),
            Room::AtMost(_) => clock::monotonic_ns() < until_ns,
            Room::NotWaitedFor => waited_ns < PATIENCE_NS,
        };
        match (&mut self.writer, &self.producer) {
            (Writer::Here(recorder), _) => recorder.declare_each(wanted),
            (Writer::Elsewhere { catalog, .. }, Some(producer)) => {
                producer.declare_each(Some(catalog), wanted, go_on)
            }
            // Of nobody: behind those that are declared, each its own.
            (Writer::Nowhere(catalog), _) => {
                let first = catalog.highest_id().saturating_add(self.made_up).saturating_add(1);
                let ids = (0..wanted.len() as u32).map(|at| Ok(first.saturating_add(at)));
                self.made_up = self.made_up.saturating_add(wanted.len() as u32);
                Ok(ids.collect())
            }
            _ => Ok((0..wanted.len()).map(|_| Ok(u32::MAX)).collect()),
        }
    }

    /// Pushes samples that were all taken at the first one's time, as one record if the ring takes one so large.
    pub(crate) fn push_at_once(&mut self, fed: &mut Fed, columns: &Columns) -> Result<()> {
        let Columns { times_ns, series, words, lines } = columns;
        let Some(time_ns) = times_ns.first() else { return Ok(()) };
        let one_bytes = Samples::payload_bytes(2, false) - Samples::payload_bytes(1, false);
        let head_bytes = Samples::payload_bytes(0, false);
        let most = (self.record_bytes_max().saturating_sub(head_bytes) / one_bytes).max(1);
        let columns = series.chunks(most).zip(words.chunks(most)).zip(lines.chunks(most));
        for ((series, words), lines) in columns {
            let (count, line) = (series.len(), lines.first().copied().unwrap_or(0));
            let push = |producer: &mut Producer| producer.push_words(&[*time_ns], series, words);
            self.push(fed, (count, line), Samples::payload_bytes(count, false), push)?;
        }
        fed.spans(&[*time_ns]);
        Ok(())
    }

    /// Pushes samples, each with its time, in as many records as they need.
    pub(crate) fn push_timed(&mut self, fed: &mut Fed, columns: &Columns) -> Result<()> {
        let most = (self.record_bytes_max().saturating_sub(8) / 20).clamp(1, RECORD_MAX);
        let Columns { times_ns, series, words, lines } = columns;
        let columns = times_ns.chunks(most).zip(series.chunks(most)).zip(words.chunks(most));
        for (((times_ns, series), words), lines) in columns.zip(lines.chunks(most)) {
            let (count, line) = (series.len(), lines.first().copied().unwrap_or(0));
            // One time is that of all.
            let bytes = Samples::payload_bytes(count, count > 1);
            self.push(fed, (count, line), bytes, |producer| {
                producer.push_words(times_ns, series, words)
            })?;
            fed.spans(times_ns);
        }
        Ok(())
    }

    /// Pushes a text.
    pub(crate) fn push_text(
        &mut self,
        fed: &mut Fed,
        (time_ns, line): (i64, u64),
        series: u32,
        text: &str,
    ) -> Result<()> {
        let push = |producer: &mut Producer| producer.push_text(series, time_ns, text);
        self.push(fed, (1, line), text.len(), push)?;
        fed.spans(&[time_ns]);
        Ok(())
    }

    /// Pushes a frame.
    pub(crate) fn push_frame(
        &mut self,
        fed: &mut Fed,
        time_ns: i64,
        channel: u32,
        frame: &[u8],
    ) -> Result<()> {
        self.push(fed, (0, 0), frame.len(), |producer| producer.push_frame(channel, time_ns, frame))
    }

    fn push(
        &mut self,
        fed: &mut Fed,
        (samples, line): (usize, u64),
        bytes: usize,
        push: impl FnOnce(&mut Producer) -> std::result::Result<u64, Refused>,
    ) -> Result<()> {
        self.wait_for_room(bytes)?;
        let Some(producer) = &mut self.producer else {
            let _ = fed.push(samples, bytes, || Ok(0));
            return Ok(());
        };
        match (fed.push(samples, bytes, || push(producer)), self.room) {
            (Err(refused), Room::WhileItMoves(_) | Room::AtMost(_)) => Err(refused.into()),
            (Ok(sequence), Room::WhileItMoves(_)) => {
                self.ledger.pushed(sequence, samples as u64, line);
                self.ledger.durable_below(producer.durable());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn wait_for_room(&mut self, payload_bytes: usize) -> Result<()> {
        let needed = Producer::record_bytes(payload_bytes);
        let Some(producer) = &self.producer else { return Ok(()) };
        match self.room {
            Room::NotWaitedFor => {}
            Room::AtMost(most_ns) => {
                while producer.free_bytes() < needed {
                    let left_ns = self.until_ns.saturating_sub(clock::monotonic_ns());
                    let still_ns = most_ns.saturating_sub(left_ns);
                    if producer.closed() {
                        return Err(Error::Gone);
                    }
                    if left_ns == 0 {
                        let trouble = producer.report().trouble;
                        return Err(self.still(still_ns, trouble, None));
                    }
                    clock::sleep_ns(NAP_NS);
                }
            }
            Room::Until(stop) => {
                // Of a log that is full and refuses what is new there is no room to wait for, unless it grows.
                let full = || match &self.writer {
                    Writer::Here(recorder) if producer.report().trouble == Trouble::LogFull => {
                        let growth = recorder.status().growth;
                        growth.grown >= growth.target
                    }
                    _ => false,
                };
                let mut still: Option<(u64, u64)> = None;
                while producer.free_bytes() < needed && !full() {
                    if stop.load(Ordering::Relaxed) {
                        let (now_ns, durable) = (clock::monotonic_ns(), producer.durable());
                        let (since_ns, _) = *match &mut still {
                            Some(still) if still.1 == durable => still,
                            still => still.insert((now_ns, durable)),
                        };
                        self.given_up |= now_ns.saturating_sub(since_ns) >= STOP_NS;
                        if self.given_up {
                            break;
                        }
                    }
                    clock::sleep_ns(NAP_NS);
                }
            }
            Room::WhileItMoves(waiting) => {
                self.wait(producer, waiting, 0, || producer.free_bytes() >= needed)?;
            }
        }
        Ok(())
    }

    /// Waits until `done`; an error when there is nothing any more to wait for, or `grace_ns` after it
    /// was told to stop.
    fn wait(
        &self,
        producer: &Producer,
        waiting: &Waiting,
        grace_ns: u64,
        done: impl Fn() -> bool,
    ) -> Result<()> {
        if done() {
            return Ok(());
        }
        let mut looked_ns = clock::monotonic_ns();
        let (mut moved_ns, mut moved) = (looked_ns, self.moved(producer));
        let mut stop_ns = None;
        while !done() {
            let now_ns = clock::monotonic_ns();
            if waiting.stops() && now_ns >= *stop_ns.get_or_insert(now_ns.saturating_add(grace_ns))
            {
                return Err(Error::Stopped);
            }
            if now_ns.saturating_sub(looked_ns) >= LOOK_NS {
                looked_ns = now_ns;
                if self.moved(producer) != moved {
                    (moved_ns, moved) = (now_ns, self.moved(producer));
                }
                self.look(producer, waiting, now_ns.saturating_sub(moved_ns))?;
            }
            clock::sleep_ns(NAP_NS);
        }
        Ok(())
    }

    /// What changes as long as the recorder gets anywhere: what is durable, and how far it is settled.
    fn moved(&self, producer: &Producer) -> (u64, u64) {
        let settled = match &self.writer {
            Writer::Here(recorder) => recorder.status().unsettled_from_epoch,
            Writer::Elsewhere { .. } | Writer::Nowhere(_) => 0,
        };
        (producer.durable(), settled)
    }

    /// Whether waiting makes sense, after nothing has become durable for `still_ns`.
    fn look(&self, producer: &Producer, waiting: &Waiting, still_ns: u64) -> Result<()> {
        let (trouble, unsettled) = match &self.writer {
            Writer::Here(recorder) => (recorder.status().trouble, waiting.unsettled()),
            Writer::Elsewhere { store, .. } => {
                let gone = StoreLock::holder_at(store, Role::Recording)
                    .map_err(baro_recorder::Error::Log)?
                    .is_none();
                if gone || producer.closed() {
                    return Err(Error::Gone);
                }
                let RingReport { trouble, settling_stopped, .. } = producer.report();
                let said = || StoreLock::said_at(store, Role::Settling).ok().flatten();
                let unsettled = settling_stopped
                    .then(|| said().unwrap_or_else(|| "the recorder does not say why".to_owned()));
                (trouble, unsettled)
            }
            Writer::Nowhere(_) => (Trouble::None, None),
        };
        let for_ever = match trouble {
            Trouble::LogFull => true,
            // One of those that are not settled is the one that is written to.
            Trouble::Held { unsettled: others, .. } => others < 2 || unsettled.is_some(),
            _ => false,
        };
        if still_ns >= PATIENCE_NS || (for_ever && still_ns >= FULL_NS) {
            return Err(self.still(still_ns, trouble, unsettled));
        }
        Ok(())
    }

    fn still(&self, still_ns: u64, trouble: Trouble, unsettled: Option<String>) -> Error {
        let store = match &self.writer {
            Writer::Here(recorder) => recorder.opening().path.clone(),
            Writer::Elsewhere { store, .. } => store.clone(),
            Writer::Nowhere(_) => PathBuf::from("STORE"),
        };
        Error::Still { store, still_ns, trouble, unsettled }
    }

    /// Waits until all is durable, as long as that makes sense. A recorder of this process makes it so
    /// when it is closed; but what is to be settled before is waited for here.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let Some(producer) = &self.producer else { return Ok(()) };
        let end = producer.next_sequence();
        let durable = || producer.durable() >= end;
        let result = match (&self.writer, self.room) {
            (Writer::Here(recorder), _) if has_room(recorder) => Ok(()),
            (_, Room::WhileItMoves(waiting)) => self.wait(producer, waiting, STOP_NS, durable),
            (Writer::Here(_) | Writer::Nowhere(_), _) => Ok(()),
            (Writer::Elsewhere { .. }, _) => self.wait(producer, &Waiting::default(), 0, durable),
        };
        self.ledger.durable_below(producer.durable());
        result
    }

    /// What was pushed, for when the recorder is closed; and what of it is gone already.
    pub(crate) fn into_ledger(self) -> (Ledger, Unkept) {
        let gone_below = self.producer.as_ref().map_or(0, |producer| producer.report().gone_below);
        let gone = self.ledger.gone_below(gone_below);
        (self.ledger, gone)
    }
}

/// When waiting ends that has a length.
fn until_ns(room: Room<'_>) -> u64 {
    match room {
        Room::AtMost(most_ns) => clock::monotonic_ns().saturating_add(most_ns),
        _ => u64::MAX,
    }
}

/// Whether what the rings hold goes into segments that need not be settled first.
fn has_room(recorder: &Recorder) -> bool {
    let status = recorder.status();
    let free = u64::from(status.segments_usable.saturating_sub(status.segments_unsettled));
    let segment_bytes = recorder.opening().log_bytes / u64::from(status.segments_usable.max(1));
    let used: u64 = status.rings.iter().map(|ring| ring.capacity_bytes).sum();
    free.saturating_sub(2) * segment_bytes > used
}

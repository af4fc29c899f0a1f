//! A store opened for reading: a snapshot of which segments there are and which blocks are live.
//!
//! Works beside a running writer without stopping it: nothing is locked, segments are read past
//! the page cache, and what is recycled meanwhile is noticed and counted. Data recorded after
//! the open is seen after [`Store::refresh`].

use crate::catalog::Catalog;
use crate::damage::{Damage, Loss, Source};
use crate::index::{Index, Patience, Search, Tail};
use crate::mask::Mask;
use crate::pinned;
use crate::read::{LiveBlock, Notes, RecordRef, read_segment};
use crate::runs::Runs;
use crate::salvage;
use crate::segments::{Segments, read_segments};
use crate::unsettled::KeptBlocks;
use crate::{Error, Hold, Result};
use baro_log::{Blocks, FOLDER, Pins, open_folder, read_identity};
use baro_ondisk::{
    Identity, Kind, Pin, Samples, Section, UnfoldedSamples, WhenFull, without_deleted,
};
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, AnyStorage, Storage};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// A store opened for reading: a snapshot of what is durable, also beside a recorder, which it does not
/// disturb.
#[derive(Debug)]
pub struct Store {
    pub(crate) storage: AnyStorage,
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) identity: Identity,
    pub(crate) catalog: Catalog,
    pub(crate) segments: Segments,
    /// Of the whole log, once somebody needs it.
    index: OnceLock<Index>,
    /// The same for who asks for the newest frames alone.
    near: OnceLock<Index>,
    /// Of the segments that may hold blocks which are in no run.
    recent: OnceLock<Index>,
    /// The same as far as summaries tell it.
    lately: OnceLock<Index>,
    pub(crate) runs: Runs,
    /// The segment that settling has come to ends before that place.
    pub(crate) short: OnceLock<Damage>,
    /// What was read of blocks that are in no run.
    pub(crate) held: Mutex<KeptBlocks>,
    opening: Vec<Damage>,
    /// Buffers of queries that are over.
    pub(crate) spare: crate::query::Spare,
    pins: Pins,
    /// What is wrong with copies that pins hold.
    pub(crate) copies: Vec<Damage>,
    /// What is wrong with the file that says which runs a table has.
    handed: Option<Damage>,
}

/// Looks at pins and log until no pin ends between them.
const PIN_LOOKS: u32 = 8;

impl Store {
    /// Opens the store in the folder `path`. Reads one unit of each segment and the headers of
    /// all blocks.
    ///
    /// # Errors
    /// It is no store, or its identity is damaged (then see [`Store::salvage`]), or the operating
    /// system refuses. Any other damage is in [`Store::damage`].
    pub fn open(path: &Path) -> Result<Self> {
        Store::open_as(path, Access::ReadDirect)
    }

    /// As [`Store::open`]; with [`Access::Read`] through the page cache, which is quicker for who reads
    /// much from its begin to its end, and only for a store that nobody records into: the kernel reads
    /// ahead of us.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_as(path: &Path, access: Access) -> Result<Self> {
        Store::open_in(open_folder(path)?, path, access)
    }

    /// Opens what is left of a store whose identity is damaged or missing: the geometry is taken
    /// from the segment files.
    ///
    /// # Errors
    /// No segment file tells a geometry, or the operating system refuses.
    pub fn salvage(path: &Path) -> Result<Self> {
        Store::salvage_in(open_folder(path)?, path, Access::ReadDirect)
    }
}

impl Store {
    /// As [`Store::open`], in any storage; `path` is for messages. `access` is
    /// [`Access::ReadDirect`] beside a writer, and may be [`Access::Read`] without one.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_in(storage: impl Storage, path: &Path, access: Access) -> Result<Self> {
        let storage = AnyStorage::new(storage);
        let identity = read_identity(&storage, path)?;
        Self::with(storage, path, access, identity, Vec::new())
    }

    /// As [`Store::salvage`], in any storage.
    ///
    /// # Errors
    /// As [`Store::salvage`].
    pub fn salvage_in(storage: impl Storage, path: &Path, access: Access) -> Result<Self> {
        let storage = AnyStorage::new(storage);
        let (identity, damage) = match read_identity(&storage, path) {
            Ok(identity) => (identity, Vec::new()),
            Err(error) => salvage::identity(&storage, path, error)?,
        };
        Self::with(storage, path, access, identity, damage)
    }

    fn with(
        storage: AnyStorage,
        path: &Path,
        access: Access,
        identity: Identity,
        opening: Vec<Damage>,
    ) -> Result<Self> {
        let mut store = Store {
            storage,
            path: path.to_owned(),
            access,
            identity,
            catalog: Catalog::default(),
            segments: Segments::default(),
            index: OnceLock::new(),
            near: OnceLock::new(),
            recent: OnceLock::new(),
            lately: OnceLock::new(),
            runs: Runs::default(),
            short: OnceLock::new(),
            held: Mutex::default(),
            opening,
            spare: crate::query::Spare::default(),
            pins: Pins::default(),
            copies: Vec::new(),
            handed: None,
        };
        store.look()?;
        Ok(store)
    }

    /// Takes in what has been recorded since the open.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn refresh(&mut self) -> Result<()> {
        // What happens when the log is full may have been changed between two recorders: what goes round then is no
        // damage, and what is missing in a log that never goes round is.
        let when_full = read_identity(&self.storage, &self.path).ok();
        let when_full = when_full.filter(|found| found.store == self.identity.store);
        self.identity.when_full =
            when_full.map_or(self.identity.when_full, |found| found.when_full);
        self.look()
    }

    /// Looks at all but the identity.
    fn look(&mut self) -> Result<()> {
        let (storage, access) = (&self.storage, self.access);
        for _ in 0..PIN_LOOKS {
            // Before the log: what a pin holds is there as long as the pin is.
            self.pins = Pins::read(storage, self.identity.store)?;
            // The log first: what it refers to was declared before.
            self.segments = read_segments(storage, &self.identity, access)?;
            let counted = self.pins().any(|pin| pin.copies.count > 0);
            if !counted || Pins::read(storage, self.identity.store)?.hold(&self.pins) {
                break;
            }
        }
        (self.index, self.near, self.recent, self.lately) = Default::default();
        // After the log: what was recycled meanwhile is in a run that is found now.
        self.runs = Runs::open(storage, self.identity.store, &self.runs.files)?;
        self.held = Mutex::default();
        let declared = self.segments.declared(storage, access)?;
        self.catalog = Catalog::open(storage, self.identity.store, access, declared)?;
        let frames = || self.catalog.channels() > 0;
        let (pins, beside) = (&self.pins, (&self.runs.manifest, frames));
        self.copies = pinned::missing(storage, self.identity.store, pins, &self.segments, beside)?;
        self.handed = match Hold::read(storage, self.identity.store) {
            Hold::Unreadable(damage) => Some(*damage),
            Hold::None | Hold::Known(_) => None,
        };
        self.short = OnceLock::new();
        self.trust_settled()
    }

    /// The session that was begun last.
    pub(crate) fn last_session(&self) -> Option<u64> {
        self.segments.started.iter().map(|segment| segment.header.session).max()
    }

    /// Where locks are taken.
    pub(crate) fn disk(&self) -> Result<&Disk> {
        self.storage.disk().ok_or_else(|| {
            Error::Store(baro_log::Error::Setting {
                name: "storage of a store that others may write to",
                expected: "a folder on disk".to_owned(),
                found: self.path.display().to_string(),
            })
        })
    }

    /// The store's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Identity and geometry.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Series and channels.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Damage of identity, catalog, runs and all headers of the log, which are read now if nobody
    /// needed them before. Payloads are looked at when they are read.
    #[must_use]
    pub fn damage(&self) -> Vec<Damage> {
        let failed = self.index().err().map(|error| Damage {
            file: FOLDER.to_owned(),
            offset: 0,
            source: Source::Unreadable(error.to_string()),
            loss: Loss::Segment,
        });
        self.damage_so_far().into_iter().chain(failed).collect()
    }

    /// The same, as far as it has been met: a query need not read all headers.
    #[must_use]
    pub fn damage_so_far(&self) -> Vec<Damage> {
        let index =
            self.index.get().or(self.recent.get()).or(self.near.get()).or(self.lately.get());
        let index = index.map_or(&[][..], |index| &index.damage);
        let parts = [
            &self.opening,
            &self.catalog.opening,
            &self.segments.damage,
            &self.runs.damage,
            &self.copies,
        ];
        let pins = self.pins.damaged.iter().map(|(file, why)| {
            let source = Source::Unreadable(format!("is no valid pin: {why}"));
            Damage { file: file.clone(), offset: 0, source, loss: Loss::Pin }
        });
        let told = self.handed.iter().chain(self.short.get());
        let parts = parts.into_iter().flatten().chain(told).chain(index);
        parts.cloned().chain(pins).collect()
    }

    /// What was met, with the data that was found missing where it was looked for what there is to read:
    /// every way out of samples ends here or in [`Store::with_log`], so that no caller can forget it.
    pub(crate) fn with_headers(&self, notes: Notes) -> Notes {
        self.with_lost(notes, Damage::is_loss)
    }

    /// The same of what records of the log may be missing from.
    pub(crate) fn with_log(&self, notes: Notes) -> Notes {
        self.with_lost(notes, |damage| damage.loss.is_of_log())
    }

    fn with_lost(&self, mut notes: Notes, counts: fn(&Damage) -> bool) -> Notes {
        let lost = self.damage_so_far().into_iter().filter(counts);
        lost.for_each(|damage| notes.take_damage(damage));
        notes
    }

    /// Which blocks of the log are live. Reads the headers of all blocks once.
    pub(crate) fn index(&self) -> Result<&Index> {
        self.index_of(&self.index, 0, Search::Whole)
    }

    /// Which blocks of the log are live, without a look at the blank rest of its last segment, nor at the
    /// headers of blocks of which a summary tells enough.
    pub(crate) fn near(&self) -> Result<&Index> {
        match self.index.get() {
            Some(index) => Ok(index),
            None => self.index_of(&self.near, 0, Search::Told),
        }
    }

    /// Which blocks are live, of the segments that may hold some which are in no run.
    pub(crate) fn recent(&self) -> Result<&Index> {
        self.index_of(&self.recent, self.settled().epoch, Search::Samples)
    }

    /// The same as far as summaries tell it: of their segments the blocks are not listed.
    pub(crate) fn lately(&self) -> Result<&Index> {
        match self.recent.get() {
            Some(index) => Ok(index),
            None => self.index_of(&self.lately, self.settled().epoch, Search::Told),
        }
    }

    /// How segments from `epoch` on are to be judged.
    pub(crate) fn when_full_since(&self, epoch: u64) -> WhenFull {
        if epoch > 0 { WhenFull::Recycle } else { self.identity.when_full }
    }

    fn index_of<'a>(
        &'a self,
        place: &'a OnceLock<Index>,
        epoch: u64,
        search: Search,
    ) -> Result<&'a Index> {
        if let Some(index) = place.get() {
            return Ok(index);
        }
        // Segments before the first one that is looked at are no more missing than recycled ones.
        let when_full = self.when_full_since(epoch);
        let segments = self.segments.since(epoch);
        let (storage, access) = (&self.storage, self.access);
        let index = Index::build(storage, access, when_full, &segments, search)?;
        self.short_of_settled(&index);
        Ok(place.get_or_init(|| index))
    }

    /// Pins: windows kept from recycling, by id. What each holds is read as
    /// [`Interval`](crate::Interval) of [`Pin::window_ns`], whether it lies in the log or was
    /// copied out of it.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.pins.pins.values()
    }

    /// Epochs of the segments that were copied out of the log.
    pub(crate) fn kept(&self) -> impl Iterator<Item = u64> {
        self.pins.kept.iter().copied()
    }

    /// Files of pins that are damaged, and what is wrong with them.
    #[must_use]
    pub fn pins_damaged(&self) -> &[(String, String)] {
        &self.pins.damaged
    }

    /// The pin of this id (hexadecimal), or all of this name, which several may have.
    #[must_use]
    pub fn pins_of(&self, id_or_name: &str) -> Vec<&Pin> {
        let id = u64::from_str_radix(id_or_name, 16).ok();
        match id.and_then(|id| self.pins.pins.get(&id)) {
            Some(pin) => vec![pin],
            None => self.pins().filter(|pin| pin.name == id_or_name).collect(),
        }
    }

    /// Ends of sessions that a crash seems to have torn: normal, and told for those who look.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn tails(&self) -> Result<&[Tail]> {
        Ok(&self.index()?.tails)
    }

    /// Calls `each` with every live block in the order of writing, until it breaks.
    ///
    /// # Errors
    /// The operating system refuses; damage is in the notes.
    pub fn blocks(&self, mut each: impl FnMut(&LiveBlock<'_>) -> ControlFlow<()>) -> Result<Notes> {
        Ok(self.with_log(self.blocks_with(self.access, |block, _| Ok(each(block)))?))
    }

    /// For who tells what the index has met in his own way.
    pub(crate) fn blocks_with(
        &self,
        access: Access,
        mut each: impl FnMut(&LiveBlock<'_>, &mut Notes) -> Result<ControlFlow<()>>,
    ) -> Result<Notes> {
        let mut buffer = Blocks::new()?;
        let (mut notes, mut patience) = (Notes::default(), Patience::new(self.identity.when_full));
        for entry in &self.index()?.segments {
            let flow = read_segment(
                (&self.storage, access),
                &mut buffer,
                &mut patience,
                entry,
                &mut notes,
                &self.runs.deletions,
                &mut each,
            )?;
            if flow.is_break() {
                break;
            }
        }
        Ok(notes)
    }

    /// Calls `each` with every live record in the order of writing, until it breaks. What cannot
    /// be decoded is damage in the notes.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn records_as_written(
        &self,
        mut each: impl FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<Notes> {
        let mut unfolded = UnfoldedSamples::default();
        let notes = self.blocks_with(self.access, |live, notes| {
            Ok(for_each_record(live, notes, &mut unfolded, |record| each(record)))
        })?;
        Ok(self.with_log(notes))
    }
}

/// The records of a block, its section unfolded into samples records by way of `unfolded`; what
/// cannot be decoded goes to the notes.
pub(crate) fn for_each_record(
    live: &LiveBlock<'_>,
    notes: &mut Notes,
    unfolded: &mut UnfoldedSamples,
    mut each: impl FnMut(&RecordRef<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut moved = 0;
    for_each_stored(live, notes, |record, notes| {
        if record.kind == Kind::Moved {
            moved += 1;
            return ControlFlow::Continue(());
        }
        notes.records += 1;
        each(record)
    })?;
    unfold(live, notes, unfolded, moved);
    for (time_ns, at) in unfolded.records() {
        notes.records += 1;
        let payload = unfolded.bytes().get(at).unwrap_or(&[]);
        each(&RecordRef::unfolded(&live.block.header, time_ns, payload))?;
    }
    ControlFlow::Continue(())
}

/// Unfolds the section of a block that `moved` records lead to; what cannot be decoded goes to the
/// notes.
pub(crate) fn unfold(
    live: &LiveBlock<'_>,
    notes: &mut Notes,
    unfolded: &mut UnfoldedSamples,
    moved: u64,
) {
    unfolded.clear();
    let unfold = |section: Option<Section<'_>>| match section {
        Some(section) => {
            let by = live.mask.map_or(&[][..], Mask::by);
            unfolded
                .unfold_kept(&section, by)
                .map_err(|error| error.at(live.block.section_offset()))
        }
        None => Ok(()),
    };
    if let Err(error) = live.block.section().and_then(unfold) {
        let records = u64::from(live.block.header.records);
        notes.undecoded(live, error, records.saturating_sub(moved));
    }
}

/// The records of a block as they are stored: samples that were moved are not among them, nor what has
/// been deleted; a record of samples of which some were is made anew. What
/// cannot be decoded goes to the notes.
pub(crate) fn for_each_stored(
    live: &LiveBlock<'_>,
    notes: &mut Notes,
    mut each: impl FnMut(&RecordRef<'_>, &mut Notes) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let session = live.block.header.session;
    let (mut taken, mut kept) = (0, Vec::new());
    for chunk in live.block.chunks() {
        let records = chunk.map(|chunk| (chunk, chunk.records()));
        let (chunk, records) = match records {
            Ok(found) => found,
            Err(error) => {
                notes.undecoded(live, error, taken);
                break;
            }
        };
        for record in records {
            match record {
                Ok(record) => {
                    taken += 1;
                    let record = RecordRef::new(session, &chunk, &record);
                    match live.mask.map_or(Seen::Whole, |mask| seen(mask, &record, &mut kept)) {
                        Seen::Whole => each(&record, notes)?,
                        Seen::Part => each(&RecordRef { payload: &kept, ..record }, notes)?,
                        Seen::Nothing => {}
                    }
                }
                Err(error) => notes.undecoded(live, error, taken),
            }
        }
    }
    ControlFlow::Continue(())
}

/// What is left of a record behind a mask.
enum Seen {
    Whole,
    /// Other bytes.
    Part,
    Nothing,
}

/// What is left of a record; if not all, its samples are put into `kept`.
fn seen(mask: &Mask, record: &RecordRef<'_>, kept: &mut Vec<u8>) -> Seen {
    match record.kind {
        Kind::Frame | Kind::Text if mask.hides(record.stream, record.time_ns) => Seen::Nothing,
        Kind::Samples => match Samples::decode(record.payload, record.time_ns) {
            Ok(samples) if without_deleted(&samples, mask.by(), kept) => {
                if kept.len() > Samples::HEAD_BYTES { Seen::Part } else { Seen::Nothing }
            }
            _ => Seen::Whole,
        },
        _ => Seen::Whole,
    }
}

impl Notes {
    /// Bytes with right CRCs that are no records: written wrongly, not damaged by the device.
    pub(crate) fn undecoded(
        &mut self,
        live: &LiveBlock<'_>,
        error: baro_ondisk::Error,
        taken: u64,
    ) {
        let left = u64::from(live.block.header.records).saturating_sub(taken);
        let name = live.file.name();
        let error = error.at(live.offset);
        self.damage.push(Damage::format(&name, error, crate::Loss::Records(left)));
    }
}

impl Store {
    /// Whether an error of an open calls for [`Store::salvage`].
    #[must_use]
    pub fn can_salvage(error: &Error) -> bool {
        matches!(
            error,
            Error::Store(baro_log::Error::Format { .. } | baro_log::Error::NotAStore { .. })
        )
    }
}

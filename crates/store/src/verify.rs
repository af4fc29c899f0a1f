//! Reads everything and says what is not as it was written: every CRC and chain, every record,
//! every producer's sequence. Nothing is repaired and nothing is written.
//!
//! Speed: one pass over the bytes for the payload's CRC, and one over record heads; measured by
//! `examples/verify_speed.rs`.

mod copies;
pub(crate) mod runs;
mod sessions;
mod summaries;

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::index::Tail;
use crate::read::{LiveBlock, Notes};
use crate::store::Store;
use baro_log::CATALOG;
use baro_ondisk::{
    Error as Format, Gap, Kind, Record, Recycled, SampleColumns, Samples, Section, What, text,
};
use baro_sys::storage::Access;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

/// What was read and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Sessions with live blocks.
    pub sessions: u64,
    /// Live blocks.
    pub blocks: u64,
    /// Their bytes, padding included.
    pub block_bytes: u64,
    /// Padding in them.
    pub padding_bytes: u64,
    /// Records, gaps and clock steps included.
    pub records: u64,
    /// Frames.
    pub frames: u64,
    /// Samples: in sections, in samples records that were not moved, and texts.
    pub samples: u64,
    /// Clock steps.
    pub clock_steps: u64,
    /// Gap records.
    pub gaps: u64,
    /// Records that gap records account for, by cause.
    pub lost: Gap,
    /// What was recycled since init before it was in runs: [`Store::recycled`].
    pub recycled: Recycled,
    /// Records missing where blocks are missing too: recycled, or damage.
    pub records_missing_with_blocks: u64,
    /// Records missing from a producer's sequence with neither a gap record nor a missing block.
    pub records_unexplained: u64,
    /// Records whose sequence a producer had already passed.
    pub records_repeated: u64,
    /// Producers.
    pub producers: u64,
    /// Earliest and latest time of records and samples; `None` without records.
    pub times_ns: Option<(i64, i64)>,
    /// Damage.
    pub damage: Vec<Damage>,
    /// Ends of sessions that a crash seems to have torn: normal.
    pub tails: Vec<Tail>,
    /// Valid blocks that do not count: superseded, or behind a torn one. Normal.
    pub dead_blocks: u64,
    /// Runs that were read.
    pub runs: u64,
    /// Bytes of their pages.
    pub runs_page_bytes: u64,
    /// Samples in them, all decoded. Those that the log still holds too are counted in both.
    pub runs_samples: u64,
    /// Files that no manifest names: what a killed settling has left. Normal; the next one removes
    /// them.
    pub runs_unnamed: Vec<String>,
    /// Copies of segments that the log still has: read in full, beside their segments.
    pub copies: u64,
    /// Live blocks and segments that a writer recycled while this was reading.
    pub recycled_while_reading: u64,
}

impl VerifyReport {
    /// Whether all that was ever durable is there, as far as can be told.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.records_unexplained == 0
            && self.records_repeated == 0
            && !self.damage.iter().any(Damage::is_loss)
    }
}

/// Reads everything in `store`, through the page cache with [`Access::Read`], past it with
/// [`Access::ReadDirect`] (use that beside a writer). `progress` gets bytes read so far and in
/// all.
///
/// # Errors
/// The operating system refuses; everything else is in the report.
pub fn verify(
    store: &Store,
    access: Access,
    mut progress: impl FnMut(u64, u64),
) -> Result<VerifyReport> {
    let index = store.index()?;
    let log_bytes: u64 = index.segments.iter().map(|s| s.bytes).sum();
    let total = log_bytes + store.runs.bytes();
    let mut ids = Vec::new();
    let mut damage = store.damage();
    damage.extend(sessions::mixed(index));
    for found in store.catalog.check(|id| ids.push(id)) {
        if !damage.contains(&found) {
            damage.push(found);
        }
    }
    let mut pass = Pass {
        report: VerifyReport {
            damage,
            tails: index.tails.clone(),
            dead_blocks: index.dead_blocks,
            recycled: store.recycled(),
            recycled_while_reading: index.recycled,
            ..VerifyReport::default()
        },
        declared: Declared::new(ids.into_iter()),
        producers: HashMap::new(),
        session: None,
        next_block: 0,
        holes: 0,
        columns: SampleColumns::default(),
        summaries: summaries::Read::default(),
        whole_log: store.identity.when_full == baro_ondisk::WhenFull::Stop,
    };
    let notes = store.blocks_with(access, |live, notes| {
        pass.block(live, notes);
        progress(pass.report.block_bytes, total);
        Ok(ControlFlow::Continue(()))
    })?;
    pass.report.damage.extend(summaries::wrong(store, access, &pass.summaries)?);
    runs::check(store, &mut pass, |done| progress(log_bytes + done, total))?;
    let mut done = total;
    let copies = copies::check(store, access, |bytes| {
        // Paced as all reading is.
        done += bytes;
        progress(done, done);
    })?;
    let mut report = pass.report;
    report.copies = copies.copies;
    report.damage.extend(copies.damage);
    report.recycled_while_reading += notes.blocks_recycled;
    report.damage.extend(notes.damage);
    report.producers = pass.producers.len() as u64;
    if let Some(first) = pass.declared.undeclared.first() {
        report.damage.push(Damage {
            file: CATALOG.to_owned(),
            offset: store.catalog.used_bytes(),
            source: Source::Undeclared { id: *first },
            loss: Loss::Declarations,
        });
    }
    Ok(report)
}

struct Pass {
    report: VerifyReport,
    declared: Declared,
    /// Next sequence of each producer, and the number of holes when it was seen.
    producers: HashMap<u64, (u64, u64)>,
    session: Option<u64>,
    next_block: u64,
    holes: u64,
    whole_log: bool,
    columns: SampleColumns,
    summaries: summaries::Read,
}

impl Pass {
    fn block(&mut self, live: &LiveBlock<'_>, notes: &mut Notes) {
        let header = &live.block.header;
        self.summaries.add(live);
        if self.session != Some(header.session) {
            self.session = Some(header.session);
            self.report.sessions += 1;
            self.next_block = 0;
            // The writer's own records start anew.
            self.producers.remove(&0);
        }
        if header.sequence != self.next_block {
            self.holes += 1;
        }
        self.next_block = header.sequence + 1;
        let report = &mut self.report;
        let bytes = header.block_bytes();
        report.blocks += 1;
        report.block_bytes += bytes as u64;
        report.padding_bytes +=
            (bytes - baro_ondisk::BLOCK_HEADER_BYTES - header.payload_bytes()) as u64;
        let mut taken = 0;
        let mut times = (i64::MAX, i64::MIN);
        if let Err(error) = self.chunks(live, &mut taken, &mut times) {
            notes.undecoded(live, error, taken);
            return;
        }
        let found = (u64::from(header.records), header.time_min_ns, header.time_max_ns);
        if found != (taken, times.0, times.1) {
            let fields = [
                ("records", 88, taken, found.0),
                ("earliest time", 56, times.0 as u64, found.1 as u64),
                ("latest time", 64, times.1 as u64, found.2 as u64),
            ];
            for (field, offset, expected, found) in fields {
                if expected != found {
                    let what = What::Block;
                    let source = Format::Mismatch { what, field, offset, expected, found };
                    let name = live.file.name();
                    let source = source.at(live.offset);
                    notes.damage.push(Damage::format(&name, source, Loss::Records(0)));
                }
            }
        }
        if times.0 <= times.1 {
            let all = self.report.times_ns.get_or_insert(times);
            *all = (all.0.min(times.0), all.1.max(times.1));
        }
    }

    fn chunks(
        &mut self,
        live: &LiveBlock<'_>,
        taken: &mut u64,
        times: &mut (i64, i64),
    ) -> std::result::Result<(), Format> {
        let mut moved = 0;
        for chunk in live.block.chunks() {
            let chunk = chunk?;
            self.meets(chunk.producer, chunk.first_sequence);
            let mut next = chunk.first_sequence;
            for record in chunk.records() {
                let record = record?;
                next = record.next_sequence();
                *taken += 1;
                *times = (times.0.min(record.time_ns), times.1.max(record.time_ns));
                self.record(&record)?;
                if record.kind == Kind::Moved {
                    moved += u64::from(record.moved()?);
                }
            }
            self.producers.insert(chunk.producer, (next, self.holes));
        }
        let section = live.block.section()?;
        let base = live.block.section_offset();
        let found = section.map_or(0, |section| section.samples() as u64);
        if found != moved {
            let (what, field, offset) = (What::Section, "samples", base);
            return Err(Format::Mismatch { what, field, offset, expected: moved, found });
        }
        section.map_or(Ok(()), |section| self.section(&section, times)).map_err(|e| e.at(base))
    }

    /// Decodes all samples of a section, which must be in order from strip to strip too.
    fn section(
        &mut self,
        section: &Section<'_>,
        times: &mut (i64, i64),
    ) -> std::result::Result<(), Format> {
        let mut last = None;
        for at in 0..section.strips() {
            section.decode_strip(at, &mut self.columns)?;
            let columns = &self.columns;
            let ends = |at: usize| Some((*columns.series.get(at)?, *columns.times_ns.get(at)?));
            if last.is_some_and(|last| Some(last) > ends(0)) {
                let (what, field, offset) = (What::Section, "order of strips", 4);
                let (expected, found) = (at as u64 - 1, at as u64);
                return Err(Format::Mismatch { what, field, offset, expected, found });
            }
            last = ends(columns.len() - 1);
            columns.series.chunk_by(|a, b| a == b).for_each(|run| {
                if let Some(id) = run.first() {
                    self.declared.see(*id);
                }
            });
            if let Some(entry) = section.strip(at) {
                *times = (times.0.min(entry.time_min_ns), times.1.max(entry.time_max_ns));
            }
        }
        self.report.samples += section.samples() as u64;
        Ok(())
    }

    #[inline]
    fn record(&mut self, record: &Record<'_>) -> std::result::Result<(), Format> {
        let report = &mut self.report;
        report.records += 1;
        match record.kind {
            Kind::Frame => {
                report.frames += 1;
                self.declared.see(record.stream);
            }
            Kind::Samples => {
                let samples = Samples::decode(record.payload, record.time_ns)?;
                report.samples += samples.len() as u64;
                samples.iter().for_each(|(id, _, _)| self.declared.see(id));
            }
            Kind::Gap => {
                let gap = Gap::decode(record.payload)?;
                report.gaps += 1;
                let lost = &mut report.lost;
                lost.ring_full = lost.ring_full.saturating_add(gap.ring_full);
                lost.too_large = lost.too_large.saturating_add(gap.too_large);
                lost.damaged = lost.damaged.saturating_add(gap.damaged);
                lost.unknown = lost.unknown.saturating_add(gap.unknown);
            }
            Kind::Text => {
                text(record.payload)?;
                report.samples += 1;
                self.declared.see(record.stream);
            }
            Kind::Clock => report.clock_steps += 1,
            Kind::Declare | Kind::Moved => {}
        }
        Ok(())
    }

    /// Compares the first sequence of a chunk with where its producer was.
    fn meets(&mut self, producer: u64, first: u64) {
        let known = self.producers.get(&producer).copied();
        // Where beginnings may have been recycled, the first that is found is where it begins.
        let begin = if self.whole_log { (0, 0) } else { (first, self.holes) };
        let (expected, holes) = known.unwrap_or(begin);
        if first < expected {
            self.report.records_repeated += 1;
        } else if holes != self.holes {
            let count = &mut self.report.records_missing_with_blocks;
            *count = count.saturating_add(first - expected);
        } else {
            let count = &mut self.report.records_unexplained;
            *count = count.saturating_add(first - expected);
        }
    }
}

/// Ids above this are looked up, below it there is a flag for each.
const FLAGS_MAX: u32 = 1 << 24;

/// Which ids are declared, fast enough to be asked for every sample.
struct Declared {
    flags: Vec<bool>,
    large: BTreeSet<u32>,
    undeclared: BTreeSet<u32>,
}

impl Declared {
    fn new(ids: impl Iterator<Item = u32>) -> Self {
        let mut flags = Vec::new();
        let mut large = BTreeSet::new();
        for id in ids {
            if id < FLAGS_MAX {
                let least = id as usize + 1;
                if flags.len() < least {
                    flags.resize(least.next_power_of_two(), false);
                }
                if let Some(flag) = flags.get_mut(id as usize) {
                    *flag = true;
                }
            } else {
                large.insert(id);
            }
        }
        Declared { flags, large, undeclared: BTreeSet::new() }
    }

    #[inline]
    fn see(&mut self, id: u32) {
        if self.flags.get(id as usize) == Some(&true) {
            return;
        }
        // Bounded: a hostile file must not fill the memory with ids.
        if !self.large.contains(&id) && self.undeclared.len() < 1 << 16 {
            self.undeclared.insert(id);
        }
    }
}

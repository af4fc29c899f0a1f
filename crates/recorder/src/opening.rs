//! What was found when a store was opened, and which promises hold here.

use crate::Options;
use crate::keeper::{Growth, Keeper};
use crate::ring::RingFolder;
use baro_log::{Held, Recovery};
use baro_ondisk::{Wear, WhenFull};
use baro_promises::{Facts, Holds, Judged, Promise, RingFacts, judge};
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use baro_sys::place::DirectIo;
use baro_sys::storage::Storage;
use std::path::{Path, PathBuf};

/// Facts of an open: shown by `baro record`, and kept with results.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The store's folder.
    pub path: PathBuf,
    /// Name of its file system.
    pub file_system: &'static str,
    /// Device of its file system, major and minor.
    pub device: (u32, u32),
    /// Bytes of all segments.
    pub log_bytes: u64,
    /// Segments never started.
    pub segments_blank: u32,
    /// Segments whose header is not valid.
    pub segments_damaged: u32,
    /// The first of them, and what is wrong with it.
    pub damaged_because: Option<String>,
    /// Segments read by recovery.
    pub segments_scanned: u32,
    /// Valid blocks found in them.
    pub tail_blocks: u64,
    /// Writes go past the page cache.
    pub direct: bool,
    /// If not: why.
    pub not_direct_because: Option<String>,
    /// Where rings are; `None` if they are private memory.
    pub ring_folder: Option<PathBuf>,
    /// Rings of a killed recorder that were taken over.
    pub rings_taken_over: u32,
    /// Records in them that were not in the log yet.
    pub records_taken_over: u64,
    /// Places for rings that could not be used, and why; rings are elsewhere then.
    pub rings_passed_over: Vec<String>,
    /// Rings that could not be used, and why.
    pub rings_refused: Vec<String>,
    /// How many of them are rings that nobody can read: what they held is not known, and lost.
    pub rings_damaged: u32,
    /// Whether a ring's memory can be locked.
    pub rings_locked: bool,
    /// SCHED_FIFO: the priority granted, or why not; `None` if it was not asked for.
    pub fifo: Option<Result<u8, String>>,
    /// The writer's processor, or why it was not granted; `None` if it was not asked for.
    pub cpu: Option<Result<usize, String>>,
    /// Nothing else lies on the store's file system; `None` if it cannot be told.
    pub alone: Option<bool>,
    /// Which promises hold here, and why.
    pub promises: Vec<Judged>,
    /// Bytes of the writer's buffers.
    pub buffer_bytes: usize,
    /// How far the log has grown.
    pub growth: Growth,
    /// Pins of the store.
    pub pins: u32,
    /// Pin files that are damaged, and why; they hold nothing.
    pub pins_damaged: Vec<(String, String)>,
    /// What was handed to the device since init.
    pub wear: Wear,
    /// What earlier recorders, which were killed, had recycled before it was in runs: lost, and told to
    /// nobody. `None` if that is nothing; nothing where it is not known what their segments held.
    pub recycled_before: Option<Held>,
    /// Bytes of the rings, where they are more than half of a log that recycles what is settled.
    pub rings_over_half: Option<u64>,
    /// Time that the open took.
    pub took_ns: u64,
}

impl Opening {
    pub(crate) fn new(path: &Path, disk: &Disk, recovery: &Recovery, rings: &RingFolder) -> Self {
        let file_system = FileSystem::of(disk.folder()).ok();
        Opening {
            path: path.to_owned(),
            file_system: file_system.map_or("unknown", |found| found.name()),
            device: file_system.map_or((0, 0), |found| found.device),
            log_bytes: recovery.identity.segment_bytes * u64::from(recovery.identity.segments),
            segments_blank: recovery.segments.blank.len() as u32,
            segments_damaged: (recovery.segments.damaged.len() + recovery.segments.rebuilt.len())
                as u32,
            damaged_because: recovery
                .segments
                .damaged
                .iter()
                .chain(&recovery.segments.rebuilt)
                .next()
                .map(|(index, error)| format!("{}: {error}", baro_log::segment_name(*index))),
            segments_scanned: recovery.scanned_segments,
            tail_blocks: recovery.tail_blocks,
            recycled_before: recovery.recycled.untold(),
            ring_folder: rings.path().map(Path::to_owned),
            rings_passed_over: rings.passed_over().to_vec(),
            ..Opening::default()
        }
    }

    /// Sentences on what does not hold here or cannot be known, each with what would grant it;
    /// empty if all holds.
    #[must_use]
    pub fn reservations(&self) -> Vec<String> {
        let not_asked =
            |judged: &Judged| judged.promise == Promise::RealTime && self.fifo.is_none();
        let open = |judged: &&Judged| judged.holds != Holds::Yes && !not_asked(judged);
        let mut said: Vec<String> =
            self.promises.iter().filter(open).map(ToString::to_string).collect();
        if let Some(reason) = &self.damaged_because {
            said.push(format!(
                "segments without a valid header: {}, the first is {reason}; a crash while a \
                 segment was being started leaves one such, else it is damage: baro verify",
                self.segments_damaged
            ));
        }
        if let Some(Err(reason)) = &self.cpu {
            said.push(format!("{reason}; the writer runs on any processor"));
        }
        for (name, why) in &self.pins_damaged {
            said.push(format!("{name} is no valid pin and holds nothing: {why}"));
        }
        for reason in &self.rings_passed_over {
            said.push(format!("no rings are made or taken there: {reason}"));
        }
        if let Some(bytes) = self.rings_over_half {
            said.push(format!(
                "rings of {} MiB and a log of {} MiB: after a kill, what the rings hold may take the room \
                 of what is not settled; a smaller ring (--ring), or a larger log (baro init --size)",
                bytes >> 20,
                self.log_bytes >> 20
            ));
        }
        for reason in &self.rings_refused {
            said.push(format!("a ring was not taken over: {reason}"));
        }
        if let Some(Held { records, samples }) = self.recycled_before {
            said.push(format!(
                "an earlier recorder, which was killed or could not settle to its end, had reused the oldest \
                 part of the log before it was settled: as far as known {records} records with {samples} \
                 samples at most are lost"
            ));
        }
        said
    }

    /// Whether so many rings, and one at least, are more than half of a log that recycles what is settled.
    pub(crate) fn weigh_rings(&mut self, options: &Options, when_full: WhenFull, rings: usize) {
        let bytes = options.ring_bytes as u64 * (rings as u64).max(1);
        let keeps = when_full == WhenFull::Recycle && options.retention.keep_unsettled;
        self.rings_over_half = (keeps && bytes > self.log_bytes / 2).then_some(bytes);
    }

    /// What the keeper has found.
    pub(crate) fn meet<S: Storage>(&mut self, keeper: &Keeper<S>) {
        self.growth = keeper.growth().clone();
        self.pins = keeper.pins().count() as u32;
        self.pins_damaged = keeper.damaged().to_vec();
    }

    /// Judges the promises by what was found.
    pub(crate) fn judge(&mut self, mut facts: Facts, options: &Options) {
        facts.buffered = options.buffered;
        facts.fifo = self.fifo.clone();
        self.rings_locked = facts.lockable;
        facts.rings =
            Some(RingFacts { folder: self.ring_folder.clone(), bytes: options.ring_bytes as u64 });
        self.alone = facts.alone;
        self.promises = judge(&facts);
    }
}

/// Whether segments are written past the page cache; if not, why.
pub(crate) fn choose_direct(facts: &Facts, options: &Options) -> (bool, Option<String>) {
    if options.buffered {
        return (false, Some("asked for".to_owned()));
    }
    match &facts.direct {
        // If it turns out to be refused, the device says so at the first segment.
        DirectIo::Yes | DirectIo::Unknown(_) => (true, None),
        DirectIo::PageCache => {
            let reason = "this file system takes O_DIRECT but goes through the page cache";
            (false, Some(reason.to_owned()))
        }
        DirectIo::Refused(reason) => (false, Some(reason.clone())),
        DirectIo::Coarse(bytes) => {
            (false, Some(format!("direct I/O needs {bytes} byte alignment here")))
        }
    }
}

//! What a store is and holds, from headers alone.

use crate::Result;
use crate::segments::{SegmentFile, SegmentRef};
use crate::store::Store;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Identity, Recycled, Wear};

/// A store as its headers tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Identity and geometry.
    pub identity: Identity,
    /// Size of the catalog.
    pub catalog_bytes: u64,
    /// Bytes used in it.
    pub catalog_used_bytes: u64,
    /// Segments with live blocks.
    pub segments_used: u32,
    /// Segments never started.
    pub segments_blank: u32,
    /// Segment files that are there; fewer than the geometry says while the log grows.
    pub segments_grown: u32,
    /// Segments that were copied out of the log for pins.
    pub segments_kept: u32,
    /// Bytes in them.
    pub kept_bytes: u64,
    /// What the store's writers have handed to its device since init.
    pub wear: Wear,
    /// The part of it whose `payload_bytes` are known: without the newest segment, where that has packed
    /// samples and its session was not closed in order. No header tells how long their records were.
    pub counted: Wear,
    /// Bytes of the log and nanoseconds of the newest session, for a rate; `None` if nothing of it
    /// is left but one block.
    pub rate: Option<(u64, u64)>,
    /// Places that are damaged, as far as headers tell.
    pub damaged: u32,
    /// Sessions with live blocks, oldest first.
    pub sessions: Vec<SessionInfo>,
    /// Live blocks.
    pub blocks: u64,
    /// Records in them, gaps and clock steps included.
    pub records: u64,
    /// Bytes of live blocks, padding included.
    pub block_bytes: u64,
    /// Padding in them.
    pub padding_bytes: u64,
    /// Valid blocks that do not count: superseded, or behind a torn one.
    pub dead_blocks: u64,
    /// Earliest and latest record time; `None` without records.
    pub times_ns: Option<(i64, i64)>,
    /// Declared series.
    pub series: u32,
    /// Declared channels.
    pub channels: u32,
    /// Runs.
    pub runs: u32,
    /// Bytes of their files.
    pub runs_bytes: u64,
    /// Samples in them.
    pub runs_samples: u64,
    /// Earliest and latest time in them; `None` without samples.
    pub runs_times_ns: Option<(i64, i64)>,
    /// Segments of the log that are not settled whole.
    pub segments_unsettled: u32,
    /// Sample sections in them.
    pub unsettled_bytes: u64,
    /// What was recycled since init before it was in runs.
    pub recycled: Recycled,
}

impl Info {
    /// Bytes of the runs for each sample in them; `None` without samples.
    #[must_use]
    pub fn bytes_per_sample(&self) -> Option<f64> {
        (self.runs_samples > 0).then(|| self.runs_bytes as f64 / self.runs_samples as f64)
    }
}

/// One session: the time from one open for recording to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its number; rises from session to session.
    pub session: u64,
    /// Realtime clock at the start of its first surviving segment.
    pub started_ns: i64,
    /// Whether its beginning is there.
    pub from_start: bool,
    /// Segments.
    pub segments: u32,
    /// Live blocks.
    pub blocks: u64,
    /// Records.
    pub records: u64,
    /// Earliest and latest record time; `None` without records.
    pub times_ns: Option<(i64, i64)>,
}

pub(crate) fn join(a: Option<(i64, i64)>, (min, max): (i64, i64)) -> Option<(i64, i64)> {
    if min > max {
        return a;
    }
    Some(a.map_or((min, max), |a| (a.0.min(min), a.1.max(max))))
}

impl Store {
    /// What was recycled since init before it was in runs, as far as headers of segments tell: a segment's
    /// says what was lost when it was begun. What settling had read then counts as lost too, unless the
    /// session was closed in order and a run has come: so beside a recorder, and after a kill, it is the
    /// most that can be lost. Reads a header and one unit more.
    #[must_use]
    pub fn recycled(&self) -> Recycled {
        let Some((_, told)) = self.segments.recycled else { return Recycled::default() };
        let in_log = |segment: &&SegmentRef| matches!(segment.file, SegmentFile::Log(_));
        let newest = self.segments.started.iter().rev().find(in_log);
        let closed = newest.and_then(|segment| {
            let closed = segment.closed(&self.storage, self.access).ok()??;
            (closed.end > 0).then_some(closed)
        });
        if closed.is_some() { told.closed(self.settled()) } else { told.killed() }
    }

    /// Time of the earliest record there is; `None` if there is none. Reads the headers of all blocks, and
    /// of the log no more.
    ///
    /// # Errors
    /// The operating system refuses to read them.
    pub fn earliest_ns(&self) -> Result<Option<i64>> {
        let runs = self.runs.manifest.runs.iter().filter(|run| run.samples > 0);
        let runs = runs.map(|run| (run.time_min_ns, run.time_max_ns));
        let log = self.near()?.segments.iter().map(|entry| entry.times);
        let all = runs.chain(log).fold(None, join);
        Ok(all.map(|(earliest_ns, _)| earliest_ns))
    }

    /// What the headers tell. Losses are known only to [`crate::verify()`].
    ///
    /// # Errors
    /// The operating system refuses to read them.
    pub fn info(&self) -> Result<Info> {
        let index = self.index()?;
        let channels = self.catalog.channels() as u32;
        let mut info = Info {
            identity: self.identity,
            catalog_bytes: self.catalog.bytes,
            catalog_used_bytes: self.catalog.used_bytes(),
            segments_used: index.segments.len() as u32,
            segments_blank: self.segments.blank,
            segments_grown: self.segments.grown,
            segments_kept: 0,
            kept_bytes: 0,
            wear: self.segments.wear,
            counted: self.segments.wear,
            rate: index.rate(),
            damaged: self.damage().len() as u32,
            sessions: Vec::new(),
            blocks: 0,
            records: 0,
            block_bytes: 0,
            padding_bytes: 0,
            dead_blocks: index.dead_blocks,
            times_ns: None,
            series: self.catalog.len() as u32 - channels,
            channels,
            runs: self.runs.manifest.runs.len() as u32,
            runs_bytes: self.runs.bytes(),
            runs_samples: self.runs.manifest.runs.iter().map(|run| run.samples).sum(),
            runs_times_ns: None,
            segments_unsettled: 0,
            unsettled_bytes: 0,
            recycled: self.recycled(),
        };
        let settled = self.settled();
        for run in self.runs.manifest.runs.iter().filter(|run| run.samples > 0) {
            let times = (run.time_min_ns, run.time_max_ns);
            info.runs_times_ns = join(info.runs_times_ns, times);
            info.times_ns = join(info.times_ns, times);
        }
        for entry in &index.segments {
            let header = &entry.segment.header;
            info.blocks += entry.blocks;
            info.records += entry.records;
            info.block_bytes += entry.bytes;
            info.padding_bytes += entry.padding_bytes;
            // A mark alone holds nothing that could be settled.
            let last = entry.live.end.min(entry.unmarked_end).checked_sub(1);
            if last.is_some_and(|last| !settled.covers(header.epoch, last)) {
                info.segments_unsettled += 1;
                info.unsettled_bytes += entry.section_bytes;
            }
            if let SegmentFile::Kept(_) = entry.segment.file {
                info.segments_kept += 1;
                info.kept_bytes += entry.bytes;
            }
            info.times_ns = join(info.times_ns, entry.times);
            if info.sessions.last().is_none_or(|last| last.session != header.session) {
                info.sessions.push(SessionInfo {
                    session: header.session,
                    started_ns: header.realtime_ns,
                    from_start: header.first_block == 0,
                    segments: 0,
                    blocks: 0,
                    records: 0,
                    times_ns: None,
                });
            }
            if let Some(session) = info.sessions.last_mut() {
                session.segments += 1;
                session.blocks += entry.blocks;
                session.records += entry.records;
                session.times_ns = join(session.times_ns, entry.times);
            }
        }
        // The newest header counts what came before it; behind it there may be no blocks yet.
        let newest = self.segments.newest_epoch;
        let mut behind =
            Wear { log_bytes: if newest > 0 { UNIT_BYTES as u64 } else { 0 }, ..Wear::default() };
        let last = index.segments.last();
        let last = last.filter(|last| last.segment.header.epoch == newest);
        if let Some(last) = last {
            behind.log_bytes += last.bytes;
            behind.padding_bytes += last.padding_bytes;
            // As far as headers of blocks tell: with the heads of the records.
            behind.payload_bytes += last.body_bytes;
        }
        let closed = match last {
            Some(last) => last.segment.closed(&self.storage, self.access)?,
            None => None,
        };
        if let Some(closed) = closed {
            behind.payload_bytes = closed.payload_bytes.saturating_sub(info.wear.payload_bytes);
        }
        let packed = last.is_some_and(|last| last.section_bytes > 0);
        info.wear = info.wear.with(&behind);
        if closed.is_some() || !packed {
            info.counted = info.wear;
        }
        Ok(info)
    }
}

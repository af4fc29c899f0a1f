//! What a query reads: the runs, and of the log what is in no run yet.

use crate::columns::Columns;
use crate::damage::Damage;
use crate::facts::Wanted;
use crate::interval::Interval;
use crate::merge::{Part, Piece};
use crate::read::Notes;
use crate::runs::{RunFile, RunPart, Runs};
use crate::unsettled::{LogPart, TextSample, Unsettled};
use crate::{Result, Store};
use baro_ondisk::SampleColumns;
use baro_ondisk::Type;
use std::sync::Arc;

/// Pieces of a part of the log that one series costs about as much as.
const STRIPS_PER_PART: usize = 4;
/// To decode and merge a strip or page costs so many times as much as to decode it and look for one series.
const MERGING: usize = 4;

/// See the module. Of several samples of one series and time that of the later source counts, and
/// the log comes after the runs.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(super) runs: Vec<Arc<RunFile>>,
    pub(super) parts: Vec<LogPart>,
    /// In the order of recording.
    pub(crate) texts: Vec<Arc<TextSample>>,
    /// What was met when the log was read.
    pub(super) notes: Notes,
}

/// Whether times from `min` to `max`, both included, touch an interval.
pub(super) fn touches((min_ns, max_ns): (i64, i64), interval: Interval) -> bool {
    max_ns >= interval.from_ns && (min_ns < interval.to_ns || interval.to_ns == i64::MAX)
}

impl Sources {
    /// What of the store touches the interval.
    pub(super) fn of(store: &Store, wanted: &Wanted) -> Result<Self> {
        let unsettled = store.unsettled(&store.unsettled_with(wanted)?)?;
        Ok(Self::within(&store.runs, unsettled, wanted.interval))
    }

    /// What of these touches the interval.
    pub(crate) fn within(
        runs: &Runs,
        unsettled: impl std::borrow::Borrow<Unsettled>,
        interval: Interval,
    ) -> Self {
        let unsettled = unsettled.borrow();
        let runs = runs.files.iter();
        let runs = runs.filter(|run| {
            run.entry.samples > 0
                && touches((run.entry.time_min_ns, run.entry.time_max_ns), interval)
        });
        let parts = unsettled.parts.iter().filter(|part| touches(part.times_ns(), interval));
        let texts = unsettled.texts.iter().filter(|text| interval.holds(text.time_ns));
        Sources {
            runs: runs.cloned().collect(),
            parts: parts.map(LogPart::share).collect(),
            texts: texts.cloned().collect(),
            notes: unsettled.notes.clone(),
        }
    }

    /// Whether to read all there is once costs less than to look for each of so many series: of each part
    /// of the log that takes a strip for each of them.
    pub(super) fn are_fewer_than(&self, series: usize) -> bool {
        let pages: usize = self.runs.iter().map(|run| run.index.pages().len()).sum();
        let strips: usize = self.parts.iter().map(LogPart::pieces).sum();
        let each = series.saturating_mul(self.parts.len());
        series > pages + self.parts.len() * STRIPS_PER_PART || each > (pages + strips) * MERGING
    }

    /// Whether no two sources have times in common, so that what is known of each may be put
    /// together. The log counts as one.
    pub(super) fn apart(&self) -> bool {
        let mut ranges: Vec<(i64, i64)> =
            self.runs.iter().map(|run| (run.entry.time_min_ns, run.entry.time_max_ns)).collect();
        let log = self.parts.iter().map(LogPart::times_ns);
        ranges.extend(log.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))));
        ranges.sort_unstable();
        ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
    }

    /// All of it as parts to be merged.
    pub(crate) fn share_parts(&self) -> Vec<AnyPart> {
        let run = |run: &Arc<RunFile>| {
            let pages = 0..run.index.pages().len();
            AnyPart::Run(Box::new(RunPart::new(Arc::clone(run), pages)))
        };
        let runs = self.runs.iter().map(run);
        runs.chain(self.parts.iter().map(|part| AnyPart::Log(part.share()))).collect()
    }

    /// Those of `ids` (sorted) that may have texts: pages hold texts of neighbours or none.
    pub(super) fn text_series(&self, ids: &[u32]) -> Vec<u32> {
        let mut found = Vec::new();
        let pages = self.runs.iter().flat_map(|run| run.index.pages());
        for page in pages.filter(|page| page.kind == Type::Text) {
            let start = ids.partition_point(|id| *id < page.first_series);
            let end = ids.partition_point(|id| *id <= page.last_series);
            found.extend_from_slice(ids.get(start..end).unwrap_or(&[]));
        }
        let in_log = self.texts.iter().map(|text| text.series);
        found.extend(in_log.filter(|id| ids.binary_search(id).is_ok()));
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// A part of either kind.
#[derive(Debug)]
pub(crate) enum AnyPart {
    Run(Box<RunPart>),
    Log(LogPart),
}

impl AnyPart {
    /// What was damaged in what was decoded.
    pub(crate) fn into_damage(self) -> Vec<Damage> {
        match self {
            AnyPart::Run(part) => part.damage,
            AnyPart::Log(part) => part.damage,
        }
    }
}

impl Part for AnyPart {
    fn pieces(&self) -> usize {
        match self {
            AnyPart::Run(part) => part.pieces(),
            AnyPart::Log(part) => part.pieces(),
        }
    }

    fn piece(&self, at: usize) -> Piece {
        match self {
            AnyPart::Run(part) => part.piece(at),
            AnyPart::Log(part) => part.piece(at),
        }
    }

    fn decode(&mut self, at: usize, scratch: &mut SampleColumns, to: &mut Columns) -> Result<()> {
        match self {
            AnyPart::Run(part) => part.decode(at, scratch, to),
            AnyPart::Log(part) => part.decode(at, scratch, to),
        }
    }
}

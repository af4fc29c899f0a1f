//! One run from many sorted parts: one thread merges, another encodes and writes.

use super::batch::{Batch, take};
use super::output::Output;
use super::{Changes, Extent, Settled, Settler};
use crate::damage::Damage;
use crate::delete::{bring_back, is_whole};
use crate::merge::{Gather, Key, Part, Portion, Wanted};
use crate::runs::{HeldTexts, RunFile, RunPart};
use crate::unsettled::TextSample;
use crate::{Error, Hold, Result, SegmentFile};
use baro_log::run_name;
use baro_ondisk::{RunEntry, Type};
use baro_runs::{RunInfo, RunSummary, RunWriter};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Samples merged at once, if not more begin at one place.
const PORTION_SAMPLES: usize = 128 << 10;
/// The same of runs: a page of each is held beside, so a portion is little more than a page.
const RUNS_PORTION_SAMPLES: usize = 32 << 10;
/// Texts handed to the writer of a run at once.
const TEXTS_AT_ONCE: usize = 1024;
/// Portions on their way between the threads.
const PORTIONS: usize = 2;

impl Settler {
    /// Settles what the log has; false if there was nothing worth it.
    pub(super) fn settle_log(
        &mut self,
        extent: Extent,
        recording: bool,
        report: &mut Settled,
    ) -> Result<bool> {
        let Batch { mut parts, mut texts, settled, full, notes, mut lost_blocks, .. } = {
            let batch = take(&self.store, &self.options, &self.pace, recording)?;
            report.more |= batch.again;
            let empty = batch.parts.is_empty() && batch.texts.is_empty();
            let owes = self.pace.taken().holds_the_only_copy();
            if !batch.enough(extent, &self.options) && !empty && !owes {
                self.pace.taken().give_up();
                return Ok(false);
            }
            batch
        };
        report.damage.extend(self.store.recent()?.damage.iter().cloned());
        report.damage.extend(notes.damage);
        let before = self.store.settled();
        if !recording {
            self.sync_tail()?;
        }
        if parts.is_empty() && texts.is_empty() {
            // Only a whole segment is worth a manifest: it may be recycled then.
            if settled.epoch > before.epoch {
                let mut manifest = self.store.runs.manifest.clone();
                manifest.settled = settled;
                manifest.lost_blocks = manifest.lost_blocks.saturating_add(lost_blocks);
                self.commit(manifest, &Changes::Nothing)?;
                self.pace.taken().committed(settled);
            }
            return Ok(false);
        }
        report.samples_read += parts.iter().map(|part| part.samples()).sum::<u64>();
        report.samples_read += texts.len() as u64;
        parts.retain(|part| part.pieces() > 0);
        last_of_each(&mut texts);
        let of_runs = HeldTexts::default();
        let gather = Gather::new(parts, Wanted::ALL, PORTION_SAMPLES);
        let (run, parts, back) = self.write_run(0, Vec::new(), gather, (&texts, &of_runs))?;
        let undecoded = parts.into_iter().flat_map(|part| part.damage);
        let told = report.damage.len();
        report.damage.extend(undecoded);
        lost_blocks += (report.damage.len() - told) as u64;
        let mut manifest = self.store.runs.manifest.clone();
        manifest.settled = settled;
        manifest.lost_blocks = manifest.lost_blocks.saturating_add(lost_blocks);
        manifest.next_run = run.id + 1;
        if run.samples > 0 {
            manifest.runs.push(run);
        }
        bring_back(&mut manifest.deletions, &back);
        self.commit(manifest, &Changes::Nothing)?;
        self.pace.taken().committed(settled);
        if run.samples == 0 {
            // All of it had been deleted.
            self.remove(&[run])?;
        }
        report.runs += 1;
        report.samples += run.samples;
        report.bytes += run.bytes;
        report.more |= full;
        Ok(true)
    }

    /// Makes durable what a killed recorder may have left in the page cache: what counts as settled is in
    /// the log after a power cut too, or the manifest would seem to be of another log.
    fn sync_tail(&self) -> Result<()> {
        for entry in self.store.recent()?.segments.iter().rev().take(2) {
            if let SegmentFile::Log(_) = entry.segment.file {
                let file = self.store.storage.open(&entry.segment.file.name(), Access::Write)?;
                file.sync_data()?;
            }
        }
        Ok(())
    }

    /// Makes one run of several neighbours of one level, if there are enough. One that turns out
    /// to be damaged is left out from then on.
    pub(super) fn merge(&mut self, report: &mut Settled) -> Result<bool> {
        let Some(range) = self.mergeable() else { return Ok(false) };
        let level = self.store.runs.manifest.runs.get(range.clone()).unwrap_or(&[]);
        let level = level.iter().map(|run| run.level).max().unwrap_or(0) + 1;
        if let Some(run) = self.make_one(range, level, report)? {
            report.merged += 1;
            report.samples += run.samples;
            report.bytes += run.bytes;
        }
        Ok(true)
    }

    /// Writes the first run anew that has something deleted, without it; what no run and no segment of
    /// the log has any more is forgotten.
    pub(super) fn drop_deleted(&mut self, report: &mut Settled) -> Result<()> {
        if let Some(at) = self.deleted_in() {
            let level = self.store.runs.manifest.runs.get(at).map_or(0, |run| run.level);
            if self.make_one(at..at + 1, level, report)?.is_some() {
                report.cleaned += 1;
            }
        }
        let mut manifest = self.store.runs.manifest.clone();
        let needed = self.store.needed_deletions();
        if needed.len() < manifest.deletions.len() {
            manifest.deletions = needed;
            self.commit(manifest, &Changes::Nothing)?;
        }
        Ok(())
    }

    /// The place in the manifest of a run that has something deleted and can be read.
    pub(super) fn deleted_in(&self) -> Option<usize> {
        let whole = |run: &&Arc<RunFile>| {
            let id = run.entry.id;
            let is_free = self.standing(&run.entry).is_some();
            run.mask.is_some() && !self.damaged.contains(&id) && is_free
        };
        let found = self.store.runs.files.iter().find(whole)?;
        self.store.runs.manifest.runs.iter().position(|run| *run == found.entry)
    }

    /// Makes one run of those at `range`; `None`, and all stays, if one of them is damaged. Of what is
    /// all deleted there is none, and it has no samples.
    fn make_one(
        &mut self,
        range: std::ops::Range<usize>,
        level: u8,
        report: &mut Settled,
    ) -> Result<Option<RunEntry>> {
        let entries: Vec<RunEntry> =
            self.store.runs.manifest.runs.get(range.clone()).unwrap_or(&[]).to_vec();
        let files = self.store.runs.files.iter();
        let files: Vec<Arc<RunFile>> =
            files.filter(|file| entries.contains(&file.entry)).cloned().collect();
        let (texts, page) = (Arc::new(HeldTexts::default()), Arc::default());
        let part = |file: &Arc<_>| RunPart::whole(Arc::clone(file), &texts, &page);
        let gather =
            Gather::new(files.iter().map(part).collect(), Wanted::ALL, RUNS_PORTION_SAMPLES);
        let gather = gather.cut_at(2 * RUNS_PORTION_SAMPLES);
        let note = match &self.hold {
            Hold::Known(handover) if entries.iter().all(|run| self.standing(run) == Some(true)) => {
                handover.note(self.store.identity.store)
            }
            _ => Vec::new(),
        };
        let (run, parts, _) = self.write_run(level, note, gather, (&[], &texts))?;
        let damage: Vec<Damage> = parts.into_iter().flat_map(|part| part.damage).collect();
        if !damage.is_empty() {
            let names = |run: &&RunEntry| damage.iter().any(|d| d.file == run_name(run.id));
            self.damaged.extend(entries.iter().filter(names).map(|run| run.id));
            report.damage.extend(damage);
            return self.remove(&[run]).map(|()| None);
        }
        let mut manifest = self.store.runs.manifest.clone();
        manifest.next_run = run.id + 1;
        manifest.runs.splice(range, (run.samples > 0).then_some(run));
        self.commit(manifest, &Changes::Replaced(&entries))?;
        self.remove(&entries)?;
        if run.samples == 0 {
            self.remove(&[run])?;
        }
        Ok(Some(run))
    }

    /// Neighbours in the manifest that should become one run: by recording order they are
    /// neighbours in time too, but for what came late. Those that are known to be damaged stay as
    /// they are: merging would hide what is missing. So do those that a table is getting, and what it has is
    /// merged with nothing else.
    pub(super) fn mergeable(&self) -> Option<std::ops::Range<usize>> {
        let runs = &self.store.runs.manifest.runs;
        let open: BTreeSet<u64> = self.store.runs.files.iter().map(|file| file.entry.id).collect();
        let whole = |run: &RunEntry| open.contains(&run.id) && !self.damaged.contains(&run.id);
        let mut end = runs.len();
        while end > 0 {
            let last = runs.get(end - 1)?;
            let standing = self.standing(last);
            let apart = |run: &RunEntry| {
                let alike = standing.is_some() && self.standing(run) == standing;
                run.level != last.level || !whole(run) || !alike
            };
            let start = runs.get(..end)?.iter().rposition(apart).map_or(0, |at| at + 1);
            if let Some(found) = self.enough(start, runs.get(start..end)?) {
                return Some(found);
            }
            end = start.min(end - 1);
        }
        None
    }

    /// The first of these neighbours, which begin at `start`, that are enough and not too large.
    fn enough(&self, start: usize, runs: &[RunEntry]) -> Option<std::ops::Range<usize>> {
        let (fan_in, bytes_max) = (self.options.fan_in.max(2), self.options.run_bytes_max);
        let (mut first, mut bytes) = (0, 0_u64);
        for (at, run) in runs.iter().enumerate() {
            bytes += run.bytes;
            if bytes > bytes_max && at - first >= fan_in {
                return Some(start + first..start + at);
            }
            while bytes > bytes_max {
                bytes -= runs.get(first)?.bytes;
                first += 1;
            }
        }
        (runs.len() - first >= fan_in).then_some(start + first..start + runs.len())
    }

    /// Writes a run of what the parts hold, the oldest first, and of texts: those of the log, sorted, and
    /// those of the parts.
    fn write_run<P: Part + Send>(
        &mut self,
        level: u8,
        note: Vec<u8>,
        gather: Gather<'static, P>,
        (texts, of_parts): (&[TextSample], &HeldTexts),
    ) -> Result<(RunEntry, Vec<P>, BTreeSet<u32>)> {
        let id = self.store.runs.manifest.next_run;
        let info = RunInfo { store: self.store.identity.store, run: id, level, note };
        let storage = &self.store.storage;
        let mut output = Output::create(storage, Arc::clone(&self.pace))?;
        let catalog = &self.store.catalog;
        // Without a declaration the bits are kept as they are.
        let (mut back, deletions) = (BTreeSet::new(), Arc::clone(&self.store.runs.deletions));
        let mut kind = |series| {
            if is_whole(&deletions, series) {
                back.insert(series);
            }
            catalog.kind(series).unwrap_or(Type::I64)
        };
        let (full, portions) = sync_channel::<Portion>(PORTIONS);
        let (empty, spare) = sync_channel::<Portion>(PORTIONS + 1);
        for _ in 0..PORTIONS {
            let _ = empty.send(Portion::default());
        }
        for of_series in texts.chunk_by(|a, b| a.series == b.series) {
            let _ = of_series.first().map(|text| kind(text.series));
        }
        let written = std::thread::scope(|scope| {
            let merging = scope.spawn(move || merge_parts(gather, &full, &spare));
            let texts = (texts, of_parts);
            let written = encode(&info, (&portions, &empty), texts, &mut kind, &mut output);
            // Ends the other thread if this one failed.
            drop((portions, empty));
            let merged = merging.join().unwrap_or(Err(Error::Thread { name: "merging" }));
            let summary = written?;
            Ok::<_, Error>((summary, merged?))
        });
        let (summary, parts) = match written {
            Ok(written) => written,
            Err(error) => {
                output.abandon(storage);
                return Err(error);
            }
        };
        let bytes = output.finish(storage, &run_name(id))?;
        let (time_min_ns, time_max_ns) = summary.times_ns.unwrap_or((0, 0));
        let (samples, footer_crc) = (summary.samples, Some(summary.footer_crc));
        Ok((
            RunEntry { id, level, bytes, samples, time_min_ns, time_max_ns, footer_crc },
            parts,
            back,
        ))
    }
}

/// Merges until everything is taken or nobody wants more.
fn merge_parts<P: Part>(
    mut gather: Gather<'_, P>,
    full: &SyncSender<Portion>,
    spare: &Receiver<Portion>,
) -> Result<Vec<P>> {
    while let Ok(mut portion) = spare.recv() {
        if !gather.next(&mut portion)? || full.send(portion).is_err() {
            break;
        }
    }
    Ok(gather.into_parts().collect())
}

/// Encodes portions as they come, texts where their series stand.
fn encode(
    info: &RunInfo,
    (portions, empty): (&Receiver<Portion>, &SyncSender<Portion>),
    (mut texts, of_parts): (&[TextSample], &HeldTexts),
    mut kind: impl FnMut(u32) -> Type,
    output: &mut Output,
) -> Result<RunSummary> {
    let mut writer = RunWriter::new(info, |bytes: &[u8]| output.write(bytes))?;
    while let Ok(portion) = portions.recv() {
        let samples = portion.samples();
        for (series, range) in portion.groups() {
            let before = texts.partition_point(|text| text.series < series);
            push_texts(&mut writer, texts.get(..before).unwrap_or(&[]))?;
            texts = texts.get(before..).unwrap_or(&[]);
            let times_ns = samples.times_ns.get(range.clone()).unwrap_or(&[]);
            let bits = samples.bits.get(range).unwrap_or(&[]);
            match of_parts.of(series) {
                None => writer.push(series, kind(series), times_ns, bits)?,
                Some(texts) => {
                    let places = times_ns.chunks(TEXTS_AT_ONCE).zip(bits.chunks(TEXTS_AT_ONCE));
                    for (times_ns, bits) in places {
                        let texts = bits.iter().map(|bits| texts.get(*bits));
                        let texts: Vec<&str> = texts.collect::<std::result::Result<_, _>>()?;
                        writer.push_text(series, times_ns, &texts)?;
                    }
                }
            }
        }
        if let (Some(series), Some(time_ns)) = (samples.series.last(), samples.times_ns.last()) {
            of_parts.release(Key { series: *series, time_ns: *time_ns });
        }
        // Nobody takes it when all is merged.
        let _ = empty.send(portion);
    }
    push_texts(&mut writer, texts)?;
    writer.finish()
}

fn push_texts<W: FnMut(&[u8]) -> Result<()>>(
    writer: &mut RunWriter<W, Error>,
    texts: &[TextSample],
) -> Result<()> {
    for of_series in texts.chunk_by(|a, b| a.series == b.series) {
        let times_ns: Vec<i64> = of_series.iter().map(|text| text.time_ns).collect();
        let values: Vec<&str> = of_series.iter().map(|text| text.text.as_str()).collect();
        let series = of_series.first().map_or(0, |text| text.series);
        writer.push_text(series, &times_ns, &values)?;
    }
    Ok(())
}

/// Sorts texts, given in the order of recording, and keeps the last of each series and time.
fn last_of_each(texts: &mut Vec<TextSample>) {
    texts.reverse();
    texts.sort_by_key(|text| (text.series, text.time_ns));
    texts.dedup_by_key(|text| (text.series, text.time_ns));
}

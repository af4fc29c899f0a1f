//! Whether the log can have been settled as far as the manifest says. A manifest whose CRC is right may
//! have been changed all the same, or be of another history of the store; what is in the log would not
//! be read then, and nobody would miss it.
//!
//! Invariant: no sample of the log is passed over because of what was never in the log. Held by
//! `tests/changed.rs`.

use crate::Result;
use crate::Store;
use crate::damage::{Damage, Loss};
use crate::index::Index;
use crate::segments::{Segments, read_segments};
use baro_log::MANIFEST;
use baro_ondisk::{Error as Format, Manifest, Settled, What};

impl Store {
    /// How far the log is settled.
    pub(crate) fn settled(&self) -> Settled {
        let settled = self.runs.manifest.settled;
        // Of a segment that ends before that place nothing is known to be settled.
        match self.short.get() {
            Some(_) => Settled { end: 0, ..settled },
            None => settled,
        }
    }

    /// Takes all of the log for unsettled if the manifest says more than there can have been. A
    /// damaged header may be that of the segment which was settled last; then it is believed.
    pub(crate) fn trust_settled(&mut self) -> Result<()> {
        self.runs.damage.extend(self.older());
        // Into a backup the manifest comes before the log.
        let reaches = baro_log::backup_reaches(&self.storage).unwrap_or(0);
        let manifest = &self.runs.manifest;
        let beyond = |segments: &Segments| {
            beyond(manifest.settled, segments, reaches).or_else(|| of_another(manifest, segments))
        };
        let Some(mut damage) = beyond(&self.segments) else { return Ok(()) };
        // Whoever records and settles may have begun that segment since the log was looked at.
        if damage.offset == EPOCH_AT {
            let since = read_segments(&self.storage, &self.identity, self.access)?;
            match beyond(&since) {
                Some(found) => damage = found,
                None => return Ok(()),
            }
        }
        self.runs.damage.push(damage);
        let manifest = &mut self.runs.manifest;
        (manifest.settled, manifest.settled_crc) = (Settled::default(), 0);
        // Whoever writes a manifest mends this, and it stays told.
        manifest.lost_blocks = manifest.lost_blocks.saturating_add(1);
        Ok(())
    }

    /// An older manifest was put back, or the manifest was taken away: a header knows of a younger one.
    fn older(&self) -> Option<Damage> {
        let told = self.runs.damage.iter().any(|damage| damage.loss == Loss::Manifest);
        let known = self.segments.beside.generation;
        if told { None } else { older(known, self.runs.manifest.generation) }
    }

    /// What is wrong with a manifest that was read now, to write another one by it: it is older than headers or
    /// this view know, or the one of this view is wrong.
    pub(crate) fn older_now(&self, manifest: &Manifest) -> Option<Damage> {
        let known = self.segments.beside.generation.max(self.runs.manifest.generation);
        let wrong = self.runs.damage.iter().find(|damage| damage.loss.is_of_manifest());
        wrong.cloned().or_else(|| older(known, manifest.generation))
    }

    /// Notes that the segment which settling has come to ends before that place.
    pub(crate) fn short_of_settled(&self, index: &Index) {
        let settled = self.runs.manifest.settled;
        if settled.end == 0 {
            return;
        }
        let Some(entry) = index.of_epoch(settled.epoch) else { return };
        let name = entry.segment.file.name();
        // What is missing there is told by itself.
        let told = index.damage.iter().any(|damage| damage.file == name);
        if entry.live.end < settled.end
            && !told
            && baro_log::backup_reaches(&self.storage).is_none()
        {
            let _ = self.short.set(damage("settled end", END_AT, entry.live.end, settled.end));
        }
    }
}

fn older(known: u64, found: u64) -> Option<Damage> {
    let (what, field, offset) = (What::Manifest, "generation", 32);
    let source = Format::Mismatch { what, field, offset, expected: known, found };
    (found < known).then(|| Damage::format(MANIFEST, source, Loss::Since))
}

/// Offsets in the manifest.
const EPOCH_AT: u64 = 40;
const END_AT: u64 = 48;
const CRC_AT: u64 = 76;

/// What is wrong with it, as far as headers tell, and the mark of a backup that reaches so far.
fn beyond(settled: Settled, segments: &Segments, reaches: u64) -> Option<Damage> {
    if segments.unread > 0 {
        return None;
    }
    let headers = || segments.started.iter().map(|segment| &segment.header);
    // What was begun last may be reused since, and not be among them.
    let newest = headers().map(|header| header.epoch).max().unwrap_or(0).max(segments.newest_epoch);
    if settled.last_epoch() > newest.max(reaches) {
        let most = if settled.end == 0 { newest + 1 } else { newest };
        return Some(damage("settled epoch", EPOCH_AT, most, settled.epoch));
    }
    let last = headers().find(|header| header.epoch == settled.epoch)?;
    let next = headers().find(|header| header.epoch == settled.epoch + 1)?;
    let ends = next.session == last.session && next.first_block < settled.end;
    ends.then(|| damage("settled end", END_AT, next.first_block, settled.end))
}

/// That the segment which is settled last is of another session here: the manifest is of a copy of the store that
/// went on by itself.
fn of_another(manifest: &Manifest, segments: &Segments) -> Option<Damage> {
    let headers = segments.started.iter().map(|segment| &segment.header);
    let (expected, found) = (manifest.other_session(headers)?.into(), manifest.settled_crc.into());
    let (what, field, offset) = (What::Manifest, "session of what is settled", CRC_AT);
    let source = Format::Mismatch { what, field, offset, expected, found };
    Some(Damage::format(MANIFEST, source, Loss::Settled))
}

fn damage(field: &'static str, offset: u64, limit: u64, found: u64) -> Damage {
    let source = Format::OutOfRange { what: What::Manifest, field, offset, limit, found };
    Damage::format(MANIFEST, source, Loss::Settled)
}

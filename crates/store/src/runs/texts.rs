//! Texts while runs are merged. Samples of a page of texts carry the number of their text, and the
//! page's texts are held, each once, until the last of its samples has been written: a page of each run
//! and those of the portions that are on their way, whatever the runs have.
//!
//! Held by `tests/settle_memory.rs`, and the tests below.

use super::page::SeenPage;
use crate::columns::Columns;
use crate::merge::Key;
use baro_ondisk::Type;
use baro_runs::{Error, PageEntry, What};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many bytes of a page of texts weigh as much as a sample where it is chosen how much is merged at
/// once: a page of long texts, of which few fill a megabyte, is as much as a page of numbers.
const SAMPLE_BYTES: u32 = 8;

/// What a page weighs where a portion is filled.
pub(super) fn weight(page: &PageEntry) -> u32 {
    match page.kind {
        Type::Text => page.samples.max(page.bytes / SAMPLE_BYTES),
        _ => page.samples,
    }
}

/// The texts of one page.
#[derive(Debug)]
pub(crate) struct PageTexts {
    /// Number under which it is held.
    number: u32,
    /// Its series, ascending.
    ids: Vec<u32>,
    /// No sample of it comes behind this.
    last: Key,
    texts: String,
    /// Where each text ends.
    ends: Vec<u32>,
}

impl PageTexts {
    fn bytes(&self) -> usize {
        self.texts.len() + (self.ends.len() + self.ids.len()) * size_of::<u32>()
    }

    fn get(&self, text: u32) -> Option<&str> {
        let at = text as usize;
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        self.texts.get(start.map_or(0, |start| *start as usize)..end)
    }
}

#[derive(Debug, Default)]
struct Pages {
    next: u32,
    held: BTreeMap<u32, Arc<PageTexts>>,
    bytes: usize,
    most_bytes: usize,
}

/// Texts of pages that are being merged; one thread reads pages, another writes samples.
#[derive(Debug, Default)]
pub(crate) struct HeldTexts(Mutex<Pages>);

impl HeldTexts {
    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the samples of a page of texts, and holds its texts.
    pub(super) fn take(
        &self,
        entry: &PageEntry,
        page: &mut SeenPage<'_, '_>,
        to: &mut Columns,
    ) -> Result<(), Error> {
        let before = to.len();
        page.read_all(i64::MIN, i64::MAX, |series, times_ns, bits| {
            to.append(series, times_ns, bits);
        })?;
        let bits = to.bits.get_mut(before..).unwrap_or(&mut []);
        // A number without a text is damage of the page.
        let Some(most) = bits.iter().copied().max() else { return Ok(()) };
        page.text(most)?;
        let (mut texts, mut ends) = (String::new(), Vec::new());
        for text in 0..page.texts() {
            texts.push_str(page.text(text as u64)?);
            ends.push(texts.len() as u32);
        }
        let ids = page.series().collect();
        let last = Key { series: entry.last_series, time_ns: entry.time_max_ns };
        let mut pages = self.lock();
        let number = pages.next;
        pages.next += 1;
        bits.iter_mut().for_each(|bits| *bits |= u64::from(number) << 32);
        let page = PageTexts { number, ids, last, texts, ends };
        pages.bytes += page.bytes();
        pages.most_bytes = pages.most_bytes.max(pages.bytes);
        pages.held.insert(number, Arc::new(page));
        Ok(())
    }

    /// The texts of a series, if it has any.
    pub(crate) fn of(&self, series: u32) -> Option<SeriesTexts> {
        let pages = self.lock();
        let has = |page: &&Arc<PageTexts>| page.ids.binary_search(&series).is_ok();
        let pages: Vec<_> = pages.held.values().filter(has).cloned().collect();
        (!pages.is_empty()).then_some(SeriesTexts { pages })
    }

    /// All samples up to this one have been written: what only they had is held no longer.
    pub(crate) fn release(&self, until: Key) {
        let mut pages = self.lock();
        let mut bytes = 0;
        pages.held.retain(|_, page| {
            let done = page.last <= until;
            bytes += if done { page.bytes() } else { 0 };
            !done
        });
        pages.bytes -= bytes;
    }
}

/// Texts of one series, of all pages that are held.
#[derive(Debug)]
pub(crate) struct SeriesTexts {
    /// By rising number.
    pages: Vec<Arc<PageTexts>>,
}

impl SeriesTexts {
    /// The text of a sample.
    ///
    /// # Errors
    /// It is of no page: a series has texts in one run and numbers in another.
    pub(crate) fn get(&self, bits: u64) -> Result<&str, Error> {
        let at = self.pages.binary_search_by_key(&((bits >> 32) as u32), |page| page.number);
        let page = at.ok().and_then(|at| self.pages.get(at));
        page.and_then(|page| page.get(bits as u32)).ok_or(Error::OutOfRange {
            what: What::Page,
            field: "number of a text",
            offset: 0,
            limit: self.pages.len() as u64,
            found: bits,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::merge::{Gather, Portion, Wanted};
    use crate::runs::{RunFile, RunPart, open_any};
    use baro_log::{RUNS, run_name};
    use baro_ondisk::{RunEntry, StoreId};
    use baro_runs::{RunInfo, RunWriter};
    use baro_sys::sim::SimDisk;
    use baro_sys::storage::{AnyStorage, Storage, StorageFile};

    type Rows = BTreeMap<(u32, i64), String>;

    fn run(disk: &SimDisk, id: u64, rows: &Rows) -> Arc<RunFile> {
        let info = RunInfo { store: StoreId([1; 16]), run: id, level: 0, note: Vec::new() };
        let mut bytes = Vec::new();
        let out = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok::<_, Error>(())
        };
        let mut writer = RunWriter::new(&info, out).unwrap();
        for ((series, time_ns), text) in rows {
            writer.push_text(*series, &[*time_ns], &[text]).unwrap();
        }
        writer.finish().unwrap();
        disk.create(&run_name(id)).unwrap().write_at(0, &bytes).unwrap();
        let any = RunEntry { id, ..RunEntry::default() };
        let Ok((run, _)) = open_any(&AnyStorage::new(disk.clone()), info.store, &any) else {
            panic!("{id}")
        };
        Arc::new(run)
    }

    /// Merges runs, the oldest first; what comes, and most bytes of texts held at once.
    fn merged(all: &[Rows]) -> (Rows, usize) {
        let disk = SimDisk::new(1);
        disk.create_folder(RUNS).unwrap();
        let (held, page) = (Arc::new(HeldTexts::default()), Arc::default());
        let parts = all
            .iter()
            .zip(1..)
            .map(|(rows, id)| RunPart::whole(run(&disk, id, rows), &held, &page));
        let mut gather = Gather::new(parts.collect(), Wanted::ALL, 32 << 10).cut_at(64 << 10);
        let (mut portion, mut found) = (Portion::default(), Rows::new());
        while gather.next(&mut portion).unwrap() {
            let samples = portion.samples();
            for (series, range) in portion.groups() {
                let texts = held.of(series).unwrap();
                for at in range {
                    let text = texts.get(samples.bits[at]).unwrap().to_owned();
                    assert!(found.insert((series, samples.times_ns[at]), text).is_none());
                }
            }
            if let Some(series) = samples.series.last() {
                held.release(Key { series: *series, time_ns: *samples.times_ns.last().unwrap() });
            }
        }
        assert!(gather.into_parts().all(|part| part.damage.is_empty()));
        let pages = held.lock();
        assert_eq!((pages.held.len(), pages.bytes), (0, 0));
        (found, pages.most_bytes)
    }

    #[test]
    fn texts_are_merged_a_few_pages_at_once_and_each_text_of_a_page_is_held_once() {
        const RUNS: i64 = 4;
        // 1,000 lines of 200 bytes again and again, and long texts of which no two are equal.
        let line = |n: i64| format!("{:0>200}", n * 7919 % 1000);
        let long = |n: i64| format!("{n:0>60000}");
        let texts: [(i64, &dyn Fn(i64) -> String); 2] = [(120_000, &line), (120, &long)];
        for (count, text) in texts {
            // One run behind the other, or all at the same times; of one series or of many.
            for (apart, series) in [(true, 1), (false, 1), (false, 50)] {
                let rows = |run: i64| {
                    let first = if apart { run * count } else { run * count / 8 };
                    let row = |n: i64| ((1 + (n % series) as u32, n), text(n + run));
                    (first..first + count).map(row).collect::<Rows>()
                };
                let all: Vec<Rows> = (0..RUNS).map(rows).collect();
                let (found, most_bytes) = merged(&all);
                let expected: Rows = all.into_iter().flatten().collect();
                assert!(found == expected, "{count}, {apart}, {series}");
                // A page of each run, and those of a portion.
                assert!(most_bytes <= (RUNS as usize + 3) << 20, "{most_bytes} bytes, {count}");
            }
        }
    }
}

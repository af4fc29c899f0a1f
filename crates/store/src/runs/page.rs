//! Pages of a run as parts that can be merged: one read each, believed only if the CRC is right.

use super::RunFile;
use crate::Result;
use crate::columns::Columns;
use crate::damage::{Damage, Loss, Source};
use crate::merge::{Part, Piece};
use baro_log::run_name;
use baro_ondisk::{SampleColumns, Type};
use baro_runs::{PageEntry, PageReader};
use baro_sys::storage::StorageFile;
use std::ops::Range;
use std::sync::Arc;

/// Buffer and decoder for pages; used for one page after another.
#[derive(Debug, Default)]
pub(crate) struct PageAt {
    bytes: Vec<u8>,
    reader: PageReader,
}

impl PageAt {
    pub(crate) fn new() -> Self {
        PageAt::default()
    }

    /// Reads a page and hands it to `each`. Damage, of the page or found by `each`, is returned as
    /// such, a place that cannot be read too.
    ///
    /// # Errors
    /// None by itself.
    pub(crate) fn with<F: StorageFile, T>(
        &mut self,
        run: &RunFile<F>,
        entry: &PageEntry,
        each: impl FnOnce(&mut baro_runs::Page<'_>) -> std::result::Result<T, baro_runs::Error>,
    ) -> Result<std::result::Result<T, Damage>> {
        self.bytes.resize(entry.bytes as usize, 0);
        let damage = |source| Damage {
            file: run_name(run.entry.id),
            offset: entry.offset,
            source,
            loss: Loss::Samples(u64::from(entry.samples)),
        };
        let read = match run.file.read_at(entry.offset, &mut self.bytes) {
            Ok(read) => read,
            Err(error) => return Ok(Err(damage(Source::Unreadable(error.to_string())))),
        };
        let bytes = self.bytes.get(..read).unwrap_or(&[]);
        let done = self.reader.open(entry, bytes).and_then(|mut page| each(&mut page));
        Ok(done.map_err(|error| damage(Source::Run(error))))
    }
}

/// The pages of a run that hold numbers.
#[derive(Debug)]
pub(crate) struct RunPart<F> {
    run: Arc<RunFile<F>>,
    /// Places in the index.
    pages: Vec<u32>,
    page: PageAt,
    /// Pages that could not be decoded; their samples are left out.
    pub(crate) damage: Vec<Damage>,
}

impl<F> RunPart<F> {
    /// The pages of a range of the index that hold numbers.
    pub(crate) fn new(run: Arc<RunFile<F>>, range: Range<usize>) -> Self {
        let index = run.index.pages();
        let numbers = |at: &usize| index.get(*at).is_some_and(|page| page.kind != Type::Text);
        let pages = range.filter(numbers).map(|at| at as u32).collect();
        RunPart { run, pages, page: PageAt::new(), damage: Vec::new() }
    }

    fn entry(&self, at: usize) -> Option<&PageEntry> {
        self.run.index.pages().get(*self.pages.get(at)? as usize)
    }
}

impl<F: StorageFile> Part for RunPart<F> {
    fn pieces(&self) -> usize {
        self.pages.len()
    }

    fn piece(&self, at: usize) -> Piece {
        self.entry(at).map_or(Piece::EMPTY, |entry| Piece {
            first_series: entry.first_series,
            last_series: entry.last_series,
            time_min_ns: entry.time_min_ns,
            time_max_ns: entry.time_max_ns,
            samples: entry.samples,
        })
    }

    fn decode(&mut self, at: usize, _: &mut SampleColumns, to: &mut Columns) -> Result<()> {
        let run = Arc::clone(&self.run);
        let entry = self.pages.get(at).and_then(|at| run.index.pages().get(*at as usize));
        let Some(entry) = entry else { return Ok(()) };
        let before = to.len();
        let done = self.page.with(&run, entry, |page| {
            page.read_all(i64::MIN, i64::MAX, |series, times_ns, bits| {
                to.append(series, times_ns, bits);
            })
        })?;
        if let Err(damage) = done {
            to.truncate(before);
            self.damage.push(damage);
        }
        Ok(())
    }
}

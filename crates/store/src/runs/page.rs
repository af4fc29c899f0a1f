//! Pages of a run as parts that can be merged: one read each, believed only if the CRC is right.

use super::RunFile;
use super::texts::{HeldTexts, weight};
use crate::Result;
use crate::columns::Columns;
use crate::damage::{Damage, Loss, Source};
use crate::interval::Interval;
use crate::mask::Mask;
use crate::merge::{Part, Piece};
use baro_log::run_name;
use baro_ondisk::{SampleColumns, Type};
use baro_runs::{Aggregate, Error, Known, Page, PageEntry, PageReader};
use baro_sys::storage::StorageFile;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A page without what has been deleted: it has the methods of [`Page`].
#[derive(Debug)]
pub(crate) struct SeenPage<'a, 'b> {
    page: &'a mut Page<'b>,
    /// Only if something of the page may be deleted.
    mask: Option<&'a Mask>,
}

type Decoded<T> = std::result::Result<T, Error>;

impl SeenPage<'_, '_> {
    /// The series that it has or had.
    pub(crate) fn series(&self) -> impl Iterator<Item = u32> {
        self.page.series()
    }

    pub(crate) fn kind(&self) -> Type {
        self.page.kind()
    }

    /// How many texts it has or had, each once.
    pub(crate) fn texts(&self) -> usize {
        self.page.texts()
    }

    /// The text of this number, which stands in the bits of a sample.
    pub(crate) fn text(&self, number: u64) -> Decoded<&str> {
        self.page.text(number)
    }

    pub(crate) fn read(
        &mut self,
        series: u32,
        from_ns: i64,
        to_ns: i64,
        times_ns: &mut Vec<i64>,
        bits: &mut Vec<u64>,
    ) -> Decoded<()> {
        let before = times_ns.len();
        self.page.read(series, from_ns, to_ns, times_ns, bits)?;
        if let Some(mask) = self.mask {
            mask.retain_of(series, times_ns, bits, before);
        }
        Ok(())
    }

    pub(crate) fn read_all(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, &[i64], &[u64]),
    ) -> Decoded<()> {
        let Some(mask) = self.mask else { return self.page.read_all(from_ns, to_ns, each) };
        let (mut times, mut values) = (Vec::new(), Vec::new());
        self.page.read_all(from_ns, to_ns, |series, times_ns, bits| {
            times.clear();
            times.extend_from_slice(times_ns);
            values.clear();
            values.extend_from_slice(bits);
            mask.retain_of(series, &mut times, &mut values, 0);
            if !times.is_empty() {
                each(series, &times, &values);
            }
        })
    }

    pub(crate) fn aggregate_all(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, Known<'_>),
    ) -> Decoded<()> {
        if self.mask.is_none() {
            return self.page.aggregate_all(from_ns, to_ns, each);
        }
        let kind = self.kind();
        if kind == Type::Text {
            return Ok(());
        }
        self.read_all(from_ns, to_ns, |series, times_ns, bits| {
            if let Some(found) = Aggregate::of(kind, times_ns, bits) {
                each(series, Known::floats(&found));
            }
        })
    }

    pub(crate) fn aggregate(
        &mut self,
        series: u32,
        from_ns: i64,
        to_ns: i64,
    ) -> Decoded<Option<Aggregate>> {
        if self.mask.is_none() || self.kind() == Type::Text {
            return self.page.aggregate(series, from_ns, to_ns);
        }
        let (mut times_ns, mut bits) = (Vec::new(), Vec::new());
        self.read(series, from_ns, to_ns, &mut times_ns, &mut bits)?;
        Ok(Aggregate::of(self.kind(), &times_ns, &bits))
    }

    pub(crate) fn read_text(
        &mut self,
        series: u32,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(i64, &str),
    ) -> Decoded<()> {
        let mask = self.mask;
        self.page.read_text(series, from_ns, to_ns, |time_ns, text| {
            if mask.is_none_or(|mask| !mask.hides(series, time_ns)) {
                each(time_ns, text);
            }
        })
    }

    pub(crate) fn read_all_text(
        &mut self,
        from_ns: i64,
        to_ns: i64,
        mut each: impl FnMut(u32, i64, &str),
    ) -> Decoded<()> {
        let mask = self.mask;
        self.page.read_all_text(from_ns, to_ns, |series, time_ns, text| {
            if mask.is_none_or(|mask| !mask.hides(series, time_ns)) {
                each(series, time_ns, text);
            }
        })
    }
}

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

    /// Reads a page and hands it to `each`, without what has been deleted. Damage, of the page or found
    /// by `each`, is returned as such, a place that cannot be read too.
    ///
    /// # Errors
    /// None by itself.
    pub(crate) fn with<T>(
        &mut self,
        run: &RunFile,
        entry: &PageEntry,
        each: impl FnOnce(&mut SeenPage<'_, '_>) -> Decoded<T>,
    ) -> Result<std::result::Result<T, Damage>> {
        let mask = run.mask_of(entry);
        self.with_stored(run, entry, |page| each(&mut SeenPage { page, mask }))
    }

    /// The same as it is stored, with what has been deleted: for who counts and checks bytes.
    ///
    /// # Errors
    /// None by itself.
    pub(crate) fn with_stored<T>(
        &mut self,
        run: &RunFile,
        entry: &PageEntry,
        each: impl FnOnce(&mut Page<'_>) -> Decoded<T>,
    ) -> Result<std::result::Result<T, Damage>> {
        self.bytes.resize(entry.bytes as usize, 0);
        run.reads.add(u64::from(entry.bytes));
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

/// The pages of a run that hold numbers, or all.
#[derive(Debug)]
pub(crate) struct RunPart {
    run: Arc<RunFile>,
    /// Places in the index.
    pages: Vec<u32>,
    /// What is read of them.
    interval: Interval,
    page: Arc<Mutex<PageAt>>,
    /// Where texts are held, if they are read too.
    texts: Option<Arc<HeldTexts>>,
    /// Pages that could not be decoded; their samples are left out.
    pub(crate) damage: Vec<Damage>,
}

impl RunPart {
    /// The pages of a range of the index that hold numbers.
    pub(crate) fn new(run: Arc<RunFile>, range: Range<usize>) -> Self {
        Self::within(run, range, Interval::ALL)
    }

    /// The same, of which nothing but an interval is read.
    pub(crate) fn within(run: Arc<RunFile>, range: Range<usize>, interval: Interval) -> Self {
        let index = run.index.pages();
        let numbers = |at: &usize| index.get(*at).is_some_and(|page| page.kind != Type::Text);
        let pages = range.filter(numbers).map(|at| at as u32).collect();
        let page = Arc::default();
        RunPart { run, pages, interval, page, texts: None, damage: Vec::new() }
    }

    /// All pages; of texts the bits are what `texts` gives back. `page` is the same for all runs that are
    /// merged, so that each does not hold what a page is decoded into.
    pub(crate) fn whole(
        run: Arc<RunFile>,
        texts: &Arc<HeldTexts>,
        page: &Arc<Mutex<PageAt>>,
    ) -> Self {
        let (pages, interval) = ((0..run.index.pages().len() as u32).collect(), Interval::ALL);
        let (texts, page) = (Some(Arc::clone(texts)), Arc::clone(page));
        RunPart { run, pages, interval, page, texts, damage: Vec::new() }
    }

    fn entry(&self, at: usize) -> Option<&PageEntry> {
        self.run.index.pages().get(*self.pages.get(at)? as usize)
    }
}

impl Part for RunPart {
    fn pieces(&self) -> usize {
        self.pages.len()
    }

    fn piece(&self, at: usize) -> Piece {
        self.entry(at).map_or(Piece::EMPTY, |entry| Piece {
            first_series: entry.first_series,
            last_series: entry.last_series,
            time_min_ns: entry.time_min_ns,
            time_max_ns: entry.time_max_ns,
            samples: weight(entry),
        })
    }

    fn decode(&mut self, at: usize, _: &mut SampleColumns, to: &mut Columns) -> Result<()> {
        let run = Arc::clone(&self.run);
        let entry = self.pages.get(at).and_then(|at| run.index.pages().get(*at as usize));
        let Some(entry) = entry else { return Ok(()) };
        let before = to.len();
        let Interval { from_ns, to_ns } = self.interval;
        let texts = self.texts.as_ref().filter(|_| entry.kind == Type::Text);
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let done = page.with(&run, entry, |page| match texts {
            Some(texts) => texts.take(entry, page, to),
            None => page.read_all(from_ns, to_ns, |series, times_ns, bits| {
                to.append(series, times_ns, bits);
            }),
        })?;
        if let Err(damage) = done {
            to.truncate(before);
            self.damage.push(damage);
        }
        Ok(())
    }
}

//! What one file of /proc holds, learned at open, and the fast reading of it afterwards.
//!
//! The kernel prints the same lines in the same order nearly always, so a reading walks the text
//! and the plan side by side: one comparison per line, no hashing. When a line is not the
//! expected one (a device came or went) the plan is searched once around.
//!
//! Invariant: a reading gives each series at most one value, whatever the text, so that the
//! output is bounded by the number of series. Held by `tests::any_text_is_read_without_panic` and
//! `tests::repeated_lines_count_once`.

use std::collections::HashSet;

use super::source::ProcSource;
use super::{SeriesSpec, names, text};

/// After so many lines that are not in the plan, a reading searches no more: a text that has
/// nothing to do with the plan must not cost lines x entries.
const UNKNOWN_SEARCHES: u64 = 1024;

#[derive(Debug)]
struct Entry {
    key: Box<[u8]>,
    /// The first of `fields` consecutive series.
    first: u32,
    /// 0 for lines that are known and not wanted.
    fields: u32,
    scale: i64,
    /// A device without series because nobody used it when the plan was made.
    idle: bool,
    /// The reading that saw this line last.
    seen: u64,
}

/// The lines of one file and the series they feed.
#[derive(Debug)]
pub(super) struct Plan {
    source: ProcSource,
    entries: Vec<Entry>,
    readings: u64,
    /// Devices left out because nobody had used them.
    pub(super) idle_devices: u64,
}

/// What was odd in one reading.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Oddities {
    /// Lines not seen at open: devices that came later.
    pub(super) unknown: u64,
    /// Lines that could not be cut, had fewer numbers than at open, or came twice.
    pub(super) malformed: u64,
}

impl Plan {
    /// Learns the lines of `text`. New series are appended to `series` while there are fewer than
    /// `series_max`, and their names to `taken`.
    pub(super) fn learn(
        source: ProcSource,
        mut text: &[u8],
        idle_disks: bool,
        series: &mut Vec<SeriesSpec>,
        series_max: usize,
        taken: &mut HashSet<String>,
    ) -> Self {
        let mut plan = Self { source, entries: Vec::new(), readings: 0, idle_devices: 0 };
        let mut keys = HashSet::new();
        while let Some(line) = text::next_line(&mut text) {
            let text::Line::Row { key, rest } = text::cut(source, line) else { continue };
            if !keys.insert(key) || plan.entries.len() >= series_max {
                continue;
            }
            let (values, kilobytes) = numbers(source, rest);
            let idle = !idle_disks && source == ProcSource::Diskstats && is_idle(key, &values);
            plan.idle_devices += u64::from(idle);
            let mut specs = Vec::new();
            if let Some(row) = names::row(source, key, kilobytes).filter(|_| !idle) {
                specs.extend(row.series(source).take(row.len().min(values.len())));
            }
            let fits = series.len() + specs.len() <= series_max
                && !specs.iter().any(|spec| taken.contains(&spec.name));
            if !fits {
                specs.clear();
            }
            taken.extend(specs.iter().map(|spec| spec.name.clone()));
            plan.entries.push(Entry {
                key: key.into(),
                first: u32::try_from(series.len()).unwrap_or(u32::MAX),
                fields: u32::try_from(specs.len()).unwrap_or(0),
                scale: if kilobytes { 1024 } else { 1 },
                idle,
                seen: 0,
            });
            series.append(&mut specs);
        }
        plan
    }

    /// Appends the values of `text` to `out`.
    pub(super) fn read(&mut self, mut text: &[u8], out: &mut Vec<(u32, i64)>) -> Oddities {
        self.readings += 1;
        let mut odd = Oddities::default();
        let mut expected = 0;
        while let Some(line) = text::next_line(&mut text) {
            let (key, mut rest) = match text::cut(self.source, line) {
                text::Line::Row { key, rest } => (key, rest),
                text::Line::Other => continue,
                text::Line::Malformed => {
                    odd.malformed += 1;
                    continue;
                }
            };
            let found = match self.entries.get(expected) {
                Some(entry) if *entry.key == *key => Some(expected),
                _ if odd.unknown >= UNKNOWN_SEARCHES => None,
                _ => self.search(key, expected),
            };
            let Some(entry) = found.and_then(|index| self.entries.get_mut(index)) else {
                odd.unknown += 1;
                continue;
            };
            expected = found.map_or(0, |index| index + 1);
            if entry.seen == self.readings {
                odd.malformed += 1;
                continue;
            }
            entry.seen = self.readings;
            if entry.idle {
                odd.unknown += u64::from(has_work(rest));
                continue;
            }
            for series in entry.first..entry.first + entry.fields {
                let value = text::next_number(&mut rest);
                let Some(value) = value.and_then(|value| value.checked_mul(entry.scale)) else {
                    odd.malformed += 1;
                    break;
                };
                out.push((series, value));
            }
        }
        odd
    }

    fn search(&self, key: &[u8], start: usize) -> Option<usize> {
        let (before, after) = self.entries.split_at(start.min(self.entries.len()));
        let matches = |entry: &Entry| *entry.key == *key;
        match after.iter().position(matches) {
            Some(index) => Some(before.len() + index),
            None => before.iter().position(matches),
        }
    }
}

/// The numbers of a line, at most as many as any line has names, and whether they are kB.
fn numbers(source: ProcSource, mut rest: &[u8]) -> (Vec<i64>, bool) {
    let values = std::iter::from_fn(|| text::next_number(&mut rest)).take(32).collect();
    (values, source == ProcSource::Meminfo && text::is_kilobytes(rest))
}

/// Whether this is one of the devices a kernel makes in advance, still unused.
fn is_idle(device: &[u8], values: &[i64]) -> bool {
    let made_ahead = [b"loop".as_slice(), b"ram", b"nbd"].iter().any(|prefix| {
        device.strip_prefix(*prefix).is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    });
    made_ahead && values.iter().all(|value| *value == 0)
}

fn has_work(mut rest: &[u8]) -> bool {
    std::iter::from_fn(|| text::next_number(&mut rest)).take(32).any(|value| value != 0)
}

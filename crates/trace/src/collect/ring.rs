//! The last minute of a recording, in memory: older pages are dropped as new ones come.
//!
//! What events come at which rate is the machine's: the ring says as soon as it knows that its memory
//! will not hold the time that was asked for.
//!
//! Invariant: what is kept is what came last, in its order, and no more than was asked for. Held by
//! `old_pages_go_and_the_rest_keeps_its_order`, `memory_that_is_too_small_is_told_once`,
//! `a_rate_that_grows_is_told_again`.

use crate::format::PageHeader;
use crate::ring_page::used_bytes;
use crate::watch::{Only, Seen, Watch};
use std::collections::VecDeque;

/// The rate of events is taken over so long.
const RATE_OVER_NS: u64 = 2_000_000_000;

/// What the memory of a ring holds at the rate of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Bytes that come in a second.
    pub bytes_per_s: u64,
    /// For how long the memory is enough.
    pub holds_ns: u64,
    /// What would be enough for the time that was asked for.
    pub needed_bytes: u64,
}

/// Pages that may still be asked for.
#[derive(Debug)]
pub(super) struct Ring {
    watch: Watch,
    header: PageHeader,
    keep_ns: u64,
    bytes_max: u64,
    bytes: u64,
    /// What came since a time, over which the rate is taken.
    taken_bytes: u64,
    begin_ns: Option<u64>,
    /// The rate that was told last; 0 if none was.
    told_per_s: u64,
    /// When they were taken, by which processor they were made, and what they hold.
    pages: VecDeque<(u64, u32, Box<[u8]>)>,
}

impl Ring {
    pub(super) fn new(watch: Watch, header: PageHeader, keep_ns: u64, bytes_max: u64) -> Self {
        let (bytes, taken_bytes, begin_ns, told_per_s) = (0, 0, None, 0);
        let pages = VecDeque::new();
        Self { watch, header, keep_ns, bytes_max, bytes, taken_bytes, begin_ns, told_per_s, pages }
    }

    /// Tells of calls of some tasks only.
    pub(super) fn only(&mut self, only: Only) {
        self.watch.only(only);
    }

    /// Adds a page, and tells of a slow call in it.
    pub(super) fn add(&mut self, now_ns: u64, cpu: u32, page: &[u8]) -> Option<Seen> {
        // Behind its events a page is filled with zeros, which a trace does not keep.
        let used = used_bytes(&self.header, page);
        let is_filler = page.get(used..).is_some_and(|rest| rest.iter().all(|byte| *byte == 0));
        let kept = page.get(..used).filter(|_| is_filler).unwrap_or(page);
        self.begin_ns.get_or_insert(now_ns);
        self.taken_bytes += kept.len() as u64;
        self.bytes += kept.len() as u64;
        self.pages.push_back((now_ns, cpu, kept.into()));
        while let Some((at_ns, _, page)) = self.pages.front() {
            let old = at_ns.saturating_add(self.keep_ns) < now_ns;
            if !old && self.bytes <= self.bytes_max {
                break;
            }
            self.bytes -= page.len() as u64;
            self.pages.pop_front();
        }
        self.watch.page(page)
    }

    /// The call that has waited longest of those that wait now, if one has for long enough; or one that waited
    /// for I/O that it gave to the kernel before.
    pub(super) fn waiting(&mut self, now_ns: u64) -> Option<Seen> {
        self.watch.ended_by_disk().or_else(|| self.watch.waiting(now_ns))
    }

    /// The call that has waited longest of those that wait now, if one has for so long.
    pub(super) fn waiting_over(&self, now_ns: u64, over_ns: u64) -> Option<Seen> {
        self.watch.waiting_over(now_ns, over_ns)
    }

    /// Tells if the memory holds less than the time that was asked for, at the rate of now; again each time
    /// that the rate has doubled.
    pub(super) fn shortfall(&mut self, now_ns: u64) -> Option<Shortfall> {
        let passed_ns = now_ns.saturating_sub(self.begin_ns?);
        if passed_ns < RATE_OVER_NS {
            return None;
        }
        let taken_bytes = std::mem::take(&mut self.taken_bytes);
        self.begin_ns = Some(now_ns);
        let of_time = |ns: u64| {
            let bytes = u128::from(taken_bytes) * u128::from(ns) / u128::from(passed_ns);
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        let (needed_bytes, bytes_per_s) = (of_time(self.keep_ns), of_time(1_000_000_000));
        if needed_bytes <= self.bytes_max || bytes_per_s < self.told_per_s.saturating_mul(2) {
            return None;
        }
        self.told_per_s = bytes_per_s;
        let holds_ns = u128::from(self.bytes_max) * u128::from(passed_ns) / u128::from(taken_bytes);
        let holds_ns = u64::try_from(holds_ns).unwrap_or(u64::MAX);
        Some(Shortfall { bytes_per_s, holds_ns, needed_bytes })
    }

    /// What is kept, and goes as it is taken.
    pub(super) fn into_pages(self) -> impl Iterator<Item = (u32, Box<[u8]>)> {
        self.pages.into_iter().map(|(_, cpu, page)| (cpu, page))
    }

    #[cfg(test)]
    fn pages(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.pages.iter().map(|(_, cpu, page)| (*cpu, &page[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::TraceFile;

    #[test]
    fn memory_that_is_too_small_is_told_once() {
        let bytes = include_bytes!("../../../../testdata/trace/6.18.trace");
        let trace = TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        const S: u64 = 1_000_000_000;
        for (bytes_max, expected) in [(60_000, None), (30_000, Some((30 * S, 60_000)))] {
            let watch = Watch::new(trace.events().clone(), None, 1).unwrap();
            let header = trace.events().layout().header();
            let mut ring = Ring::new(watch, header, 60 * S, bytes_max);
            // 1,000 bytes a second, whatever is behind them in their pages: time, length, data.
            let mut page = [1; 4_096];
            page[8..16].copy_from_slice(&984_u64.to_le_bytes());
            page[1_000..].fill(0);
            let mut told = Vec::new();
            for second in 0..5 {
                told.extend(ring.shortfall(second * S));
                ring.add(second * S, 0, &page);
            }
            let told: Vec<_> =
                told.iter().map(|one| (one.bytes_per_s, one.holds_ns, one.needed_bytes)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(holds_ns, needed)| (1_000, holds_ns, needed)).collect();
            assert_eq!(told, expected);
            assert!(ring.pages().all(|(_, page)| page.len() == 1_000));
        }
    }

    /// After an hour of quiet a storm: the rate is that of now, and each time it has doubled it is told.
    #[test]
    fn a_rate_that_grows_is_told_again() {
        let bytes = include_bytes!("../../../../testdata/trace/6.18.trace");
        let trace = TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        const S: u64 = 1_000_000_000;
        let watch = Watch::new(trace.events().clone(), None, 1).unwrap();
        let header = trace.events().layout().header();
        let mut ring = Ring::new(watch, header, 60 * S, 600_000);
        let mut page = [1; 4_096];
        page[8..16].copy_from_slice(&984_u64.to_le_bytes());
        page[1_000..].fill(0);
        let mut told = Vec::new();
        for second in 0..3_700 {
            let pages = match second {
                0..3_600 => 1,
                3_600..3_640 => 20,
                _ => 50,
            };
            for _ in 0..pages {
                ring.add(second * S, 0, &page);
            }
            told.extend(ring.shortfall(second * S + S / 2).map(|one| (second, one.bytes_per_s)));
        }
        let rates: Vec<u64> = told.iter().map(|(_, rate)| *rate).collect();
        let times: Vec<u64> = told.iter().map(|(second, _)| *second).collect();
        assert_eq!(times.len(), 2, "{told:?}");
        assert!(
            (3_600..3_605).contains(&times[0]) && (3_640..3_645).contains(&times[1]),
            "{told:?}"
        );
        assert!(rates[0] >= 10_500 && rates[1] >= 2 * rates[0], "{told:?}");
    }

    #[test]
    fn old_pages_go_and_the_rest_keeps_its_order() {
        let bytes = include_bytes!("../../../../testdata/trace/6.18.trace");
        let trace = TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let watch = Watch::new(trace.events().clone(), None, 1).unwrap();
        let mut ring = Ring::new(watch, trace.events().layout().header(), 10, 100);
        for at in 0..30_u8 {
            assert_eq!(ring.add(u64::from(at), 1, &[at; 8]), None);
        }
        let kept: Vec<u8> = ring.pages().map(|(_, page)| page[0]).collect();
        assert_eq!(kept, (19..30).collect::<Vec<u8>>());
        // More than may be kept at once.
        ring.add(30, 1, &[30; 90]);
        let kept: Vec<u8> = ring.pages().map(|(_, page)| page[0]).collect();
        assert_eq!(kept, [29, 30]);
    }
}

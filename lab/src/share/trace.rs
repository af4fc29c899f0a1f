//! What the disk did for each of two files, out of the kernel's events of its requests.
//!
//! Bytes are those of `block_rq_complete` whose place lies in the file. A gap is the time from when
//! the last request of a file was completed to when its next one came: one longer than BFQ's
//! `slice_idle` costs a group its turn, whatever its weight. Invariant: a trace that lost events gives an
//! error, never figures. Held by the tests below.

use std::collections::BTreeSet;

const SECTOR_BYTES: u64 = 512;

/// Where a file is on its disk, in sectors: (first, one past the last).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extents(Vec<(u64, u64)>);

impl Extents {
    /// Out of what `filefrag -v -b512` prints: `0: 0.. 65535: 34816.. 100351: 65536: last,eof`.
    pub(super) fn read(text: &str) -> Self {
        let extent = |line: &str| {
            let (index, _) = line.split_once(':')?;
            index.trim().parse::<u64>().ok()?;
            let numbers: Vec<u64> = line
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            Some((*numbers.get(3)?, numbers.get(4)?.checked_add(1)?))
        };
        Self(text.lines().filter_map(extent).collect())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|(from, to)| to.saturating_sub(*from)).sum::<u64>() * SECTOR_BYTES
    }

    fn holds(&self, sector: u64) -> bool {
        self.0.iter().any(|(from, to)| (*from..*to).contains(&sector))
    }
}

/// What was seen of one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Work {
    /// Completed.
    pub(super) bytes: u64,
    /// Times without a request, in ms, sorted.
    pub(super) gaps_ms: Vec<f64>,
}

/// An event of a request.
struct Event {
    at_s: f64,
    is_completed: bool,
    is_read: bool,
    sector: u64,
    sectors: u64,
}

impl Event {
    /// `fio-7 [001] .... 1.25: block_rq_insert: 8,0 R 4096 () 2048 + 8 [fio]`; of a completion
    /// without the bytes, since 6.11 with a priority behind.
    fn read(line: &str) -> Option<Self> {
        let (before, event) = line.split_once(": block_rq_")?;
        let (name, event) = event.split_once(": ")?;
        let (place, length) = event.split_once(" + ")?;
        Some(Self {
            at_s: before.rsplit(' ').next()?.parse().ok()?,
            is_completed: match name {
                "complete" => true,
                "insert" => false,
                _ => return None,
            },
            is_read: event.split(' ').nth(1)?.contains('R'),
            sector: place.rsplit(' ').next()?.parse().ok()?,
            sectors: length.split(' ').next()?.parse().ok()?,
        })
    }
}

/// What each file got in this direction.
pub(super) fn work(trace: &str, direction: &str, places: &[Extents]) -> Result<Vec<Work>, String> {
    for line in trace.lines() {
        let Some((_, counts)) = line.split_once("entries-in-buffer/entries-written: ") else {
            continue;
        };
        let words = counts.split_whitespace().next().unwrap_or("");
        if words.split_once('/').is_none_or(|(kept, written)| kept != written) {
            return Err(format!("the trace lost events: {words} are there"));
        }
    }
    let mut work = vec![Work::default(); places.len()];
    // First sectors of requests under way, and since when there are none.
    let mut open: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); places.len()];
    let mut idle_since_s: Vec<Option<f64>> = vec![None; places.len()];
    let events = trace.lines().filter_map(Event::read);
    for event in events.filter(|event| event.is_read == (direction == "read")) {
        let Some(file) = places.iter().position(|extents| extents.holds(event.sector)) else {
            continue;
        };
        if !event.is_completed {
            if let Some(since_s) = idle_since_s[file].take() {
                work[file].gaps_ms.push((event.at_s - since_s) * 1e3);
            }
            open[file].insert(event.sector);
            continue;
        }
        work[file].bytes += event.sectors.saturating_mul(SECTOR_BYTES);
        // Requests that were put together are completed as one.
        let end = event.sector.saturating_add(event.sectors);
        open[file].retain(|sector| !(event.sector..end).contains(sector));
        idle_since_s[file] = open[file].is_empty().then_some(event.at_s);
    }
    work.iter_mut().for_each(|one| one.gaps_ms.sort_by(f64::total_cmp));
    Ok(work)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::share) const TRACE: &str = "# entries-in-buffer/entries-written: 7/7   #P:2\n\
        fio-7 [000] ..s. 0.5: block_rq_insert: 179,0 R 524288 () 4096 + 1024 [fio]\n\
        fio-7 [000] ..s. 0.6: block_rq_insert: 179,0 R 524288 () 5120 + 1024 [fio]\n\
        <idle>-0 [000] ..s. 1.0: block_rq_complete: 179,0 R () 4096 + 2048 [0]\n\
        kworker-7 [001] ..s1. 1.1: block_rq_complete: 179,0 RA () 9000 + 1000 none,0,0 [0]\n\
        fio-7 [000] ..s. 1.25: block_rq_insert: 179,0 R 524288 () 4096 + 1024 [fio]\n\
        <idle>-0 [000] ..s. 1.3: block_rq_complete: 179,0 WS () 4096 + 8 [0]\n\
        <idle>-0 [000] ..s. 1.4: block_rq_issue: 179,0 R 4096 () 4096 + 8 [fio]\n";

    pub(in crate::share) fn places() -> Vec<Extents> {
        let text = "Filesystem type is: ef53\nFile size of /mnt/first is 1048576 (2048 blocks of 512 bytes)\n \
            ext: logical_offset: physical_offset: length: expected: flags:\n   \
            0:        0..    2047:       4096..      6143:   2048:             last,eof\n\
            /mnt/first: 1 extent found\n";
        vec![Extents::read(text), Extents(vec![(9000, 11_000)])]
    }

    #[test]
    fn bytes_and_gaps_count_for_the_file_in_which_they_lie() {
        assert_eq!(places()[0], Extents(vec![(4096, 6144)]));
        assert_eq!(places()[0].bytes(), 1 << 20);
        let read = work(TRACE, "read", &places()).unwrap();
        assert_eq!(read.iter().map(|one| one.bytes).collect::<Vec<_>>(), [2048 * 512, 1000 * 512]);
        assert_eq!(read[0].gaps_ms, [250.0]);
        assert!(read[1].gaps_ms.is_empty());
        assert_eq!(work(TRACE, "write", &places()).unwrap()[0].bytes, 8 * 512);
    }

    #[test]
    fn a_trace_with_holes_gives_no_figures() {
        for counts in ["7/8", "7"] {
            let error = work(&TRACE.replace("7/7", counts), "read", &places()).unwrap_err();
            assert!(error.contains("lost events"), "{error}");
        }
    }
}

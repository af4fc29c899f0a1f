//! The last minute of a recording, in memory: older pages are dropped as new ones come.
//!
//! Invariant: what is kept is what came last, in its order, and no more than was asked for. Held by
//! `old_pages_go_and_the_rest_keeps_its_order`.

use crate::watch::{Seen, Watch};
use std::collections::VecDeque;

/// Pages that may still be asked for.
#[derive(Debug)]
pub(super) struct Ring {
    watch: Watch,
    keep_ns: u64,
    bytes_max: u64,
    bytes: u64,
    /// When they were taken, by which processor they were made, and what they hold.
    pages: VecDeque<(u64, u32, Box<[u8]>)>,
}

impl Ring {
    pub(super) fn new(watch: Watch, keep_ns: u64, bytes_max: u64) -> Self {
        Self { watch, keep_ns, bytes_max, bytes: 0, pages: VecDeque::new() }
    }

    /// Adds a page, and tells of a slow call in it.
    pub(super) fn add(&mut self, now_ns: u64, cpu: u32, page: &[u8]) -> Option<Seen> {
        self.bytes += page.len() as u64;
        self.pages.push_back((now_ns, cpu, page.into()));
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

    /// What is kept.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.pages.iter().map(|(_, cpu, page)| (*cpu, &page[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::TraceFile;

    #[test]
    fn old_pages_go_and_the_rest_keeps_its_order() {
        let bytes = include_bytes!("../../../../testdata/trace/6.18.trace");
        let trace = TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let watch = Watch::new(trace.events().clone(), None, 1).unwrap();
        let mut ring = Ring::new(watch, 10, 100);
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

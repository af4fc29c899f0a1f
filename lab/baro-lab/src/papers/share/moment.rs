//! What groups have got at moments, and rates between them. Pure.
//!
//! Invariant: the rate of large I/Os is that of whole ones, since BFQ counts bytes when it gets them and
//! not when the disk has served them. Held by `a_large_io_that_is_counted_at_once_is_measured_whole`.

/// What the groups had got at some moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    /// On the monotonic clock.
    pub(super) at_ns: u64,
    /// Bytes of each group.
    pub(super) bytes: Vec<u64>,
}

impl Moment {
    /// MB/s of each group since `before`.
    pub(super) fn rates(&self, before: &Moment) -> Vec<f64> {
        let took_ns = self.at_ns.saturating_sub(before.at_ns).max(1) as f64;
        let pairs = self.bytes.iter().zip(&before.bytes);
        pairs.map(|(now, then)| now.saturating_sub(*then) as f64 * 1e3 / took_ns).collect()
    }
}

/// Whole I/Os of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Whole {
    /// How many.
    pub(super) blocks: u64,
    /// MB/s from the begin of the first to the end of the last.
    pub(super) mb_per_s: f64,
}

/// The rate over whole I/Os of `block` bytes: BFQ counts bytes when it gets them, not when the disk has
/// served them, so a large I/O is counted in one jump; between the begins of two I/Os all is served.
pub(super) fn whole(seen: &[Moment], group: usize, block: u64) -> Option<Whole> {
    // Some bytes are not the load's: a begun I/O shows by more than those.
    let begun = |moment: &Moment| {
        let bytes = moment.bytes.get(group).copied().unwrap_or(0);
        bytes.saturating_sub(block / 16) / block
    };
    let mut begins = seen.windows(2).filter_map(|pair| match pair {
        [before, now] if begun(now) > begun(before) => Some((begun(now), now.at_ns)),
        _ => None,
    });
    let first = begins.next()?;
    let last = begins.next_back()?;
    let blocks = last.0 - first.0;
    let took_ns = last.1.saturating_sub(first.1).max(1) as f64;
    Some(Whole { blocks, mb_per_s: (blocks * block) as f64 * 1e3 / took_ns })
}

//! Numbers over time: space of a journal, requests in flight.
//!
//! The kernel's events do not say how much of a journal is free, only what a commit has written and
//! what a move of the tail has freed. So without samples of the probes the blocks in use are known up
//! to a constant; it is taken as small as can be, and what is shown says "at least".
//!
//! Invariant: a series is in the order of time and never below 0. Held by
//! `space_is_exact_with_samples_and_a_lower_bound_without` and `requests_in_flight_rise_and_fall`.

use crate::timeline::{Disk, Journal};

/// Blocks of a journal over time, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Free blocks, as the probes saw them.
    Free(Vec<(u64, u64)>),
    /// Blocks in use, at least: estimated from commits and moves of the tail.
    UsedAtLeast(Vec<(u64, u64)>),
    /// Nothing is known.
    Unknown,
}

pub(super) fn space(journal: &Journal) -> Space {
    if !journal.samples.is_empty() {
        let samples = journal.samples.iter();
        let mut free: Vec<_> = samples.map(|one| (one.time_ns, one.free_blocks)).collect();
        free.sort_by_key(|(time_ns, _)| *time_ns);
        return Space::Free(free);
    }
    let transactions = journal.transactions.values();
    let logged = transactions
        .filter_map(|one| Some((one.end_ns?, i128::from(one.stats.as_ref()?.blocks_logged))));
    let freed = journal.tails.iter().map(|tail| (tail.time_ns, -i128::from(tail.freed_blocks)));
    let mut moves: Vec<(u64, i128)> = logged.chain(freed).collect();
    if moves.is_empty() {
        return Space::Unknown;
    }
    moves.sort_by_key(|(time_ns, _)| *time_ns);
    let mut used = 0;
    for (_, change) in &mut moves {
        used += *change;
        *change = used;
    }
    // It was never negative: so much was in use before the trace began, if not more.
    let least = moves.iter().map(|(_, used)| *used).min().unwrap_or(0).min(0);
    let above = |used: i128| u64::try_from(used - least).unwrap_or(u64::MAX);
    Space::UsedAtLeast(moves.into_iter().map(|(time_ns, used)| (time_ns, above(used))).collect())
}

/// Requests that are with a disk's driver, from each time on.
pub(super) fn in_flight(disk: &Disk) -> Vec<(u64, u64)> {
    let mut steps: Vec<(u64, bool)> = Vec::with_capacity(disk.requests.len() * 2);
    for request in &disk.requests {
        steps.push((request.issued_ns, true));
        // One that seems to be done before it was issued counts for no time.
        steps.extend(request.done_ns.map(|done_ns| (done_ns.max(request.issued_ns), false)));
    }
    // What begins comes before what ends at the same time: a count below 0 cannot be.
    steps.sort_by_key(|(time_ns, issued)| (*time_ns, !issued));
    let mut count = 0_u64;
    let mut series: Vec<(u64, u64)> = Vec::new();
    for (time_ns, issued) in steps {
        count = if issued { count + 1 } else { count.saturating_sub(1) };
        match series.last_mut() {
            Some((last_ns, last)) if *last_ns == time_ns => *last = count,
            _ => series.push((time_ns, count)),
        }
    }
    series
}

/// Transactions whose commit is done but whose blocks are not home, from each time on: at least, as
/// those of before the trace are not known.
pub(super) fn not_home(journal: &Journal) -> Vec<(u64, u64)> {
    let mut steps: Vec<(u64, i64)> = Vec::new();
    for one in journal.transactions.values() {
        if let Some(end_ns) = one.end_ns {
            steps.push((end_ns, 1));
            steps.extend(one.dropped_ns.map(|dropped_ns| (dropped_ns.max(end_ns), -1)));
        }
    }
    steps.sort_by_key(|(time_ns, change)| (*time_ns, -change));
    let mut count = 0_u64;
    let steps = steps.into_iter();
    steps
        .map(|(time_ns, change)| {
            count = count.saturating_add_signed(change);
            (time_ns, count)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::RunStats;
    use crate::timeline::Request;
    use crate::timeline::{JournalSample, TailMove, Transaction};

    fn commit(tid: u32, end_ns: u64, blocks_logged: u32) -> (u32, Transaction) {
        let stats = RunStats {
            dev: crate::record::Device(0),
            tid,
            wait_jiffies: 0,
            request_delay_jiffies: 0,
            running_jiffies: 0,
            locked_jiffies: 0,
            flushing_jiffies: 0,
            logging_jiffies: 0,
            handles: 1,
            blocks: 1,
            blocks_logged,
        };
        let end_ns = Some(end_ns);
        (tid, Transaction { tid, end_ns, stats: Some(stats), ..Transaction::default() })
    }

    #[test]
    fn space_is_exact_with_samples_and_a_lower_bound_without() {
        let mut journal = Journal::default();
        assert_eq!(space(&journal), Space::Unknown);
        journal.transactions.extend([commit(1, 10, 5), commit(2, 30, 7)]);
        let tail = TailMove { time_ns: 20, pid: 1, freed_blocks: 50, first_tid: 1 };
        journal.tails.push(tail);
        // 45 blocks must have been in use before, or 50 could not have become free.
        assert_eq!(space(&journal), Space::UsedAtLeast(vec![(10, 50), (20, 0), (30, 7)]));
        assert_eq!(not_home(&journal), [(10, 1), (30, 2)]);
        let sample = JournalSample { time_ns: 9, free_blocks: 77, ..JournalSample::default() };
        journal.samples.push(sample);
        assert_eq!(space(&journal), Space::Free(vec![(9, 77)]));
    }

    #[test]
    fn requests_in_flight_rise_and_fall() {
        let request = |issued_ns, done_ns| Request {
            sector: 0,
            bytes: 512,
            class: crate::record::Name::new(b"W"),
            pid: 1,
            queued_ns: None,
            issued_ns,
            done_ns,
        };
        let requests = vec![request(10, Some(30)), request(20, Some(25)), request(30, None)];
        let disk = Disk { requests };
        assert_eq!(in_flight(&disk), [(10, 1), (20, 2), (25, 1), (30, 1)]);
        let backwards = Disk { requests: vec![request(9, Some(3))] };
        assert_eq!(in_flight(&backwards), [(9, 0)]);
    }
}

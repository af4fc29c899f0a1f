//! How long commits take, from two independent sources: the journal's events, one commit each, and
//! the journal's own sums in /proc/fs/jbd2.
//!
//! A commit begins when its transaction is locked and ends when it is on the device. The sums are
//! averages in whole milliseconds over all commits that ended, so they tell the total to half a
//! millisecond a commit.
//!
//! Invariant: a commit that had not ended when the half was over counts with its length until then
//! and says so. Held by the tests below.

use baro_bench::error::BenchError;
use baro_bench::stand::Stand;
use baro_command::say;
use baro_sys::tracefs::{TraceInstance, TraceLine, device_filter};
use baro_sys::{clock, files};
use std::collections::BTreeMap;
use std::path::PathBuf;

const EVENTS: [&str; 4] = [
    "jbd2/jbd2_commit_locking",
    "jbd2/jbd2_commit_flushing",
    "jbd2/jbd2_commit_logging",
    "jbd2/jbd2_end_commit",
];
const BUFFER_KIB: u64 = 1024;
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The commit of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The transaction's number.
    pub transaction: u64,
    /// When it was locked, on the monotonic clock.
    pub begin_ns: u64,
    /// From then until it was on the device.
    pub length_ns: u64,
    /// Of it: waiting for those who had a handle.
    pub locked_ns: u64,
    /// Of it: handing the data that must come first to the device.
    pub flushing_ns: u64,
    /// Of it: waiting for that data, and writing the log.
    pub logging_ns: u64,
    /// False: the half was over before.
    pub ended: bool,
}

/// What the journal says of its commits itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitSums {
    /// Commits that ended.
    pub commits: u64,
    /// Time in which their transactions were locked, flushed data and were logged, ns.
    pub length_ns: u64,
}

impl CommitSums {
    /// Reads `/proc/fs/jbd2/*/info`: a count and averages.
    fn parse(info: &str) -> Self {
        let commits = info.split_whitespace().next().and_then(|count| count.parse().ok());
        let commits: u64 = commits.unwrap_or(0);
        let stages = ["transaction was being locked", "flushing data", "logging transaction"];
        let of_stage = |line: &str| -> Option<u64> {
            let (ms, rest) = line.trim_start().split_once("ms ")?;
            stages.iter().any(|stage| rest.starts_with(stage)).then(|| ms.parse().ok())?
        };
        let average_ms: u64 = info.lines().filter_map(of_stage).fold(0, u64::saturating_add);
        let length_ns = average_ms.saturating_mul(1_000_000).saturating_mul(commits);
        Self { commits, length_ns }
    }

    fn since(self, before: Self) -> Self {
        Self {
            commits: self.commits.saturating_sub(before.commits),
            length_ns: self.length_ns.saturating_sub(before.length_ns),
        }
    }
}

/// Watches the commits of a stand's journal.
#[derive(Debug)]
pub(super) struct CommitWatch {
    trace: Option<TraceInstance>,
    lines: Vec<TraceLine>,
    info: PathBuf,
    before: CommitSums,
}

impl CommitWatch {
    pub(super) fn start(stand: &Stand) -> Result<Self, BenchError> {
        let info = format!("/proc/fs/jbd2/{}-8/info", stand.device_name());
        let mut watch = Self {
            trace: None,
            lines: Vec::new(),
            info: PathBuf::from(info),
            before: CommitSums::default(),
        };
        watch.before = watch.sums()?;
        match TraceInstance::new("baro-stall", BUFFER_KIB) {
            Ok(mut trace) => {
                let filter = device_filter(&stand.mount_dir()).map_err(BenchError::Tracer)?;
                for event in EVENTS {
                    trace.enable(event, Some(&filter)).map_err(BenchError::Tracer)?;
                }
                watch.trace = Some(trace);
            }
            Err(error) => say!("stall: no lengths of single commits: {error}"),
        }
        Ok(watch)
    }

    fn sums(&self) -> Result<CommitSums, BenchError> {
        Ok(CommitSums::parse(&files::read_text(&self.info, TEXT_BYTES_MAX)?))
    }

    /// Takes what is in the tracer's buffers.
    pub(super) fn look(&mut self) -> Result<(), BenchError> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        trace.read(&mut self.lines).map_err(BenchError::Tracer)
    }

    /// Everything until now; no commits without a tracer.
    pub(super) fn finish(&mut self) -> Result<(Option<Vec<Commit>>, CommitSums), BenchError> {
        self.look()?;
        let sums = self.sums()?.since(self.before);
        let Some(trace) = &self.trace else { return Ok((None, sums)) };
        let lost = trace.lost().map_err(BenchError::Tracer)?.total();
        if lost > 0 {
            return Err(BenchError::Refused(format!("{lost} events of the journal were lost")));
        }
        Ok((Some(commits(&self.lines, clock::monotonic_ns())), sums))
    }
}

/// Puts events together.
fn commits(lines: &[TraceLine], end_ns: u64) -> Vec<Commit> {
    /// Times of locking, flushing, logging and end.
    type Times = [Option<u64>; 4];
    let mut all: BTreeMap<u64, Times> = BTreeMap::new();
    for line in lines {
        let TraceLine::Event(event) = line else { continue };
        let stage = EVENTS.iter().position(|name| name.ends_with(&format!("/{}", event.event)));
        let mut words = event.text.split_whitespace().skip_while(|word| *word != "transaction");
        let transaction = words.nth(1).and_then(|word| word.parse().ok());
        if let (Some(stage), Some(transaction)) = (stage, transaction) {
            let times = all.entry(transaction).or_default();
            if let Some(time) = times.get_mut(stage) {
                *time = Some(event.time_ns);
            }
        }
    }
    let whole = all.into_iter().filter_map(|(transaction, times)| {
        // Those that were under way already are not whole.
        let begin_ns = times[0]?;
        let end = times[3].unwrap_or(end_ns);
        let flushing = times[1].unwrap_or(end);
        let logging = times[2].unwrap_or(end);
        Some(Commit {
            transaction,
            begin_ns,
            length_ns: end.saturating_sub(begin_ns),
            locked_ns: flushing.saturating_sub(begin_ns),
            flushing_ns: logging.saturating_sub(flushing),
            logging_ns: end.saturating_sub(logging),
            ended: times[3].is_some(),
        })
    });
    whole.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_sys::tracefs::parse_line;

    #[test]
    fn events_become_commits_with_their_stages() {
        let line = |second: u32, event: &str, transaction: u32| {
            parse_line(&format!(
                " jbd2/loop1-8-77 [000] ..... {second}.000000: {event}: dev 7,1 transaction \
                 {transaction} sync 0"
            ))
            .unwrap()
        };
        let lines = [
            line(1, "jbd2_end_commit", 4),
            line(2, "jbd2_commit_locking", 5),
            line(3, "jbd2_commit_flushing", 5),
            line(5, "jbd2_commit_logging", 5),
            line(9, "jbd2_end_commit", 5),
            line(10, "jbd2_commit_locking", 6),
            line(11, "jbd2_commit_flushing", 6),
        ];
        const S: u64 = 1_000_000_000;
        let found = commits(&lines, 20 * S);
        assert_eq!(found.len(), 2);
        let Commit { transaction, length_ns, locked_ns, flushing_ns, logging_ns, ended, .. } =
            found[0];
        assert_eq!((transaction, length_ns, ended), (5, 7 * S, true));
        assert_eq!((locked_ns, flushing_ns, logging_ns), (S, 2 * S, 4 * S));
        let open = found[1];
        assert_eq!((open.length_ns, open.flushing_ns, open.ended), (10 * S, 9 * S, false));
    }

    #[test]
    fn averages_become_sums() {
        let info = "12 transactions (9 requested), each up to 341 blocks\naverage: \n  0ms waiting \
            for transaction\n  7ms request delay\n  90ms running transaction\n  1ms transaction \
            was being locked\n  0ms flushing data (in ordered mode)\n  40ms logging transaction\n";
        let sums = CommitSums::parse(info);
        assert_eq!(sums, CommitSums { commits: 12, length_ns: 12 * 41_000_000 });
        assert_eq!(
            sums.since(CommitSums { commits: 2, length_ns: 92_000_000 }).length_ns,
            400_000_000
        );
        assert_eq!(CommitSums::parse("no such thing"), CommitSums::default());
    }
}

//! What `baro record` keeps of a log that recycles, and what makes it pin a window: SIGUSR1, or a
//! value of a series (`--pin-when 'temp>90'`).

use crate::failure::Result;
use crate::size;
use baro_log::{Role, StoreLock};
use baro_ondisk::Type;
use baro_recorder::{PinRequest, Recorder, Retention, Trigger};
use baro_store::RunRetention;
use baro_sys::termination;
use clap::Args;
use std::fmt;
use std::ops::Bound;
use std::path::Path;

#[derive(Clone, Debug, Args)]
pub(crate) struct Keeping {
    /// Use at most this much of the log, then reuse the oldest part of it
    #[arg(long, value_parser = size::kept, value_name = "SIZE", hide_short_help = true)]
    keep_bytes: Option<u64>,
    /// Recycle nothing younger than this
    ///
    /// Time the machine was running. If the log is full of younger data, new records are refused and
    /// counted.
    #[arg(long, value_parser = size::nanoseconds, value_name = "TIME")]
    keep: Option<u64>,
    /// Let the log grow only as long as its file system has this much free
    #[arg(long, value_parser = size::left_free, value_name = "SIZE", default_value = "0", hide_short_help = true)]
    min_free: u64,
    /// Leave samples in the log instead of moving them to runs in the background
    #[arg(long, hide_short_help = true)]
    no_settle: bool,
    /// Drop settled samples that are older than this
    ///
    /// Runs whose newest sample is older, measured from the newest one of all, or from the clock if that is
    /// earlier.
    #[arg(long, value_parser = size::nanoseconds_above_0, value_name = "TIME")]
    keep_runs: Option<u64>,
    /// Drop the oldest runs while all together are larger than this
    ///
    /// While less than --min-free is free they are dropped too, but none where all would not give that much.
    #[arg(long, value_parser = size::kept, value_name = "SIZE", hide_short_help = true)]
    runs_size: Option<u64>,
    /// Pin a window when a value crosses a limit: 'temp>90'
    ///
    /// May be repeated. Comparisons: > >= < <=
    #[arg(long, value_parser = condition, value_name = "WHEN")]
    pin_when: Vec<Condition>,
    /// How far such a window, or one asked for by SIGUSR1, reaches back
    #[arg(long, default_value = "30s", value_parser = size::nanoseconds, value_name = "TIME", hide_short_help = true)]
    pin_before: u64,
    /// How far it goes on
    #[arg(long, default_value = "10s", value_parser = size::nanoseconds, value_name = "TIME", hide_short_help = true)]
    pin_after: u64,
}

/// A condition on a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    series: String,
    values: (Bound<f64>, Bound<f64>),
}

fn condition(text: &str) -> std::result::Result<Condition, String> {
    let wanted = || {
        format!(
            "expected a condition such as temp>90 (> >= < <=, a number; in single quotes, since a shell takes > \
             and < for itself), found {text:?}"
        )
    };
    let at = text.rfind(['<', '>']).ok_or_else(wanted)?;
    let (series, rest) = text.split_at(at);
    let (is_above, rest) = (rest.starts_with('>'), rest.get(1..).unwrap_or_default());
    let (includes, number) = match rest.strip_prefix('=') {
        Some(number) => (true, number),
        None => (false, rest),
    };
    let limit = number.trim().parse::<f64>().ok();
    let limit = limit.filter(|limit| limit.is_finite()).ok_or_else(wanted)?;
    let series = series.trim();
    // A second comparison would wait for ever for a series of that name.
    let doubled = series.ends_with(['<', '>', '=', '!']);
    let is_number = |part: &str| part.trim_start_matches('=').trim().parse::<f64>().is_ok();
    let chained = series.contains(['<', '>']) && series.split(['<', '>']).any(is_number);
    if series.is_empty() || doubled || chained {
        return Err(wanted());
    }
    let limit = if includes { Bound::Included(limit) } else { Bound::Excluded(limit) };
    let values = if is_above { (limit, Bound::Unbounded) } else { (Bound::Unbounded, limit) };
    Ok(Condition { series: series.to_owned(), values })
}

impl Keeping {
    /// `yields`: rather than wait for settling, unsettled samples are recycled.
    pub(crate) fn retention(&self, yields: bool) -> Retention {
        Retention {
            keep_bytes: self.keep_bytes,
            keep_ns: self.keep,
            keep_unsettled: !self.no_settle,
            unsettled_yield: yields,
            min_free_bytes: self.min_free,
        }
    }

    /// Which runs are kept; `None` if none are to be made.
    pub(crate) fn run_retention(&self) -> Option<RunRetention> {
        let (keep_ns, keep_bytes) = (self.keep_runs, self.runs_size);
        let min_free_bytes = self.min_free;
        (!self.no_settle).then_some(RunRetention { keep_ns, keep_bytes, min_free_bytes })
    }

    /// What is dropped of the runs, for an import beside: see [`Dropped`].
    pub(crate) fn says(&self) -> Option<String> {
        let (keep_ns, keep_bytes) = (self.keep_runs, self.runs_size);
        let min_free = Some(self.min_free).filter(|bytes| *bytes > 0);
        (!self.no_settle).then(|| Dropped { keep_ns, keep_bytes, min_free }.to_string())
    }

    /// Begins to watch.
    ///
    /// # Errors
    /// The signal cannot be watched.
    pub(crate) fn watch(&self) -> Result<Watching<'_>> {
        termination::watch_user_signal()?;
        Ok(Watching { keeping: self, undeclared: self.pin_when.iter().collect() })
    }
}

/// What a recorder drops of the runs, as its lock says it: `keep-runs=NANOSECONDS runs-size=BYTES
/// min-free=BYTES`. An import beside it reads that, since what it brings is old, and would be dropped when it has settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Samples older than this.
    pub(crate) keep_ns: Option<u64>,
    /// The oldest, while all runs are larger.
    pub(crate) keep_bytes: Option<u64>,
    /// The oldest, while less is free.
    pub(crate) min_free: Option<u64>,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settles")?;
        let all = [
            ("keep-runs", self.keep_ns),
            ("runs-size", self.keep_bytes),
            ("min-free", self.min_free),
        ];
        all.into_iter().try_for_each(|(name, bound)| match bound {
            Some(bound) => write!(f, " {name}={bound}"),
            None => Ok(()),
        })
    }
}

impl Dropped {
    /// What the recorder of the store at `path` says; nothing if there is none, or it is of an earlier version.
    pub(crate) fn of(path: &Path) -> Self {
        let said = StoreLock::said_at(path, Role::Recording).ok().flatten().unwrap_or_default();
        let bound = |name: &str| {
            let bound = said.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            bound.and_then(|bound| bound.parse().ok())
        };
        Dropped {
            keep_ns: bound("keep-runs"),
            keep_bytes: bound("runs-size"),
            min_free: bound("min-free"),
        }
    }
}

/// What is watched while recording.
#[derive(Debug)]
pub(crate) struct Watching<'a> {
    keeping: &'a Keeping,
    /// Conditions on series that no source has declared yet.
    undeclared: Vec<&'a Condition>,
}

impl Watching<'_> {
    /// To be called a few times a second: hands conditions to the writer once their series is
    /// declared, and pins a window if SIGUSR1 has come.
    pub(crate) fn look(&mut self, recorder: &Recorder) {
        self.undeclared.retain(|condition| {
            let Some(declared) = recorder.declared(&condition.series) else { return true };
            let (series, kind) = (declared.id, declared.kind);
            if !matches!(kind, Type::F64 | Type::I64 | Type::Bool) {
                let (name, kind) = (&condition.series, kind.name());
                say!("note: --pin-when {name}: {kind} has no value to compare");
                return false;
            }
            // A recorder that has ended pins nothing anyway.
            let _ = recorder.watch(Trigger {
                series,
                kind,
                values: condition.values,
                name: condition.series.clone(),
                before_ns: self.keeping.pin_before,
                after_ns: self.keeping.pin_after,
            });
            false
        });
        if termination::take_user_signal() {
            self.pin(recorder);
        }
    }

    fn pin(&self, recorder: &Recorder) {
        let Keeping { pin_before, pin_after, .. } = *self.keeping;
        let name = "SIGUSR1".to_owned();
        let (before_ns, after_ns) = (pin_before, pin_after);
        match recorder.pin(&PinRequest { name, before_ns, after_ns }) {
            Ok(pin) if pin.reason.is_empty() => say!("pinned {:016x}", pin.id),
            Ok(pin) => say!("pinned {:016x}: {}", pin.id, pin.reason),
            // Recording goes on.
            Err(error) => say!("{error}"),
        }
    }

    /// Says which conditions were never looked at.
    pub(crate) fn end(&self) {
        for condition in &self.undeclared {
            say!("note: --pin-when {}: no source has declared it", condition.series);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let read = |text| condition(text).map(|c| (c.series, c.values));
        let expected = |series: &str, values| Ok((series.to_owned(), values));
        let (above, all) = (Bound::Excluded(90.0), Bound::Unbounded);
        assert_eq!(read("temp>90"), expected("temp", (above, all)));
        assert_eq!(read("a b <= -1.5"), expected("a b", (all, Bound::Included(-1.5))));
        assert_eq!(read("x>=0"), expected("x", (Bound::Included(0.0), all)));
        assert_eq!(read("x<1e3"), expected("x", (all, Bound::Excluded(1000.0))));
        for bad in [
            "", "temp", ">1", "temp>", "temp>x", "temp=1", "temp>NaN", "a>>3", "a=>3", "a<>3",
            "1<a<3", "a>1>3", "a>=1>3", "a>inf",
        ] {
            assert!(condition(bad).is_err(), "{bad}");
        }
    }
}

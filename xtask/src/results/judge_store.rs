//! The rows of `baro bench store`: rates by their ratio to the plain append of the same run, since
//! the rates of one machine vary by two; the rest as it is.
//!
//! Invariant: what was not measured is named, and never meets a goal. Held by the tests below.

use super::judge::{Spread, Verdict, key, mib, spread, time, two};
use serde_json::Value;

/// What a number of series is to cost at most, and to give at least.
struct Goal {
    /// Durable and settled samples a second, each by the plain append's.
    durable: f64,
    settled: f64,
    bytes_per_sample: f64,
    device_bytes_ratio: f64,
    peak_rss_mb: f64,
    open_cold_ms: f64,
    queries_ms: [f64; 4],
}

// Settled: 12, 12 and 10 M/s where the goal of durable is 30.
const AT_1K: Goal = Goal {
    durable: 0.55,
    settled: 0.22,
    bytes_per_sample: 0.47,
    device_bytes_ratio: 0.16,
    peak_rss_mb: 64.0,
    open_cold_ms: 10.0,
    queries_ms: [0.10, 0.02, 1.5, 5.0],
};
const AT_100K: Goal = Goal {
    durable: 0.65,
    settled: 0.26,
    bytes_per_sample: 0.50,
    device_bytes_ratio: 0.17,
    peak_rss_mb: 96.0,
    open_cold_ms: 10.0,
    queries_ms: [0.02, 0.02, 0.7, 10.0],
};
const AT_1M: Goal = Goal {
    durable: 0.55,
    settled: 0.18,
    bytes_per_sample: 0.60,
    device_bytes_ratio: 0.20,
    peak_rss_mb: 160.0,
    open_cold_ms: 30.0,
    queries_ms: [0.02, 0.02, 0.7, 25.0],
};

pub(super) const GOAL_1K: &str = "20 million samples of 1,000 series: durable >= 0.55 x plain \
    append, settled >= 0.22 x; <= 0.47 B a sample, 0.16 of 16 B to the device, 64 MB; cold open \
    <= 10 ms; q1 to q4 <= 0.10, 0.02, 1.5, 5 ms";
pub(super) const GOAL_100K: &str = "the same of 100,000: 0.65 x, 0.26 x; 0.50 B, 0.17, 96 MB; \
    10 ms; 0.02, 0.02, 0.7, 10 ms";
pub(super) const GOAL_1M: &str = "the same of 1,000,000: 0.55 x, 0.18 x; 0.60 B, 0.20, 160 MB; \
    30 ms; 0.02, 0.02, 0.7, 25 ms";
pub(super) const GOAL_SHUFFLED: &str =
    "any order within 10 ticks: durable >= 0.28 x plain append in order (half of the goal)";

pub(super) fn at_1k(runs: &[&Value]) -> Verdict {
    against(&AT_1K, runs)
}

pub(super) fn at_100k(runs: &[&Value]) -> Verdict {
    against(&AT_100K, runs)
}

pub(super) fn at_1m(runs: &[&Value]) -> Verdict {
    against(&AT_1M, runs)
}

fn by_append(name: &'static str) -> impl Fn(&Value) -> Option<f64> {
    move |run| {
        let append = run["log_append_per_s"].as_f64().filter(|rate| *rate > 0.0)?;
        Some(run[name].as_f64()? / append)
    }
}

fn ms(ms: f64) -> String {
    time(ms * 1e6)
}

fn megabytes(bytes: f64) -> String {
    format!("{:.0} MB", bytes / 1e6)
}

/// Sentences one behind the other, and whether all goals so far are met.
struct Said {
    sentences: Vec<String>,
    missed: Vec<&'static str>,
    unknown: bool,
}

impl Said {
    fn new() -> Self {
        Said { sentences: Vec::new(), missed: Vec::new(), unknown: false }
    }

    fn add(
        &mut self,
        name: &'static str,
        found: Option<Spread>,
        show: fn(f64) -> String,
        met: impl Fn(f64) -> bool,
    ) {
        match found {
            Some(spread) => {
                self.sentences.push(format!("{name} {}", spread.show(show)));
                if !met(spread.median) {
                    self.missed.push(name);
                }
            }
            None => {
                self.sentences.push(format!("{name} not measured"));
                self.unknown = true;
            }
        }
    }

    fn verdict(self) -> Verdict {
        let mut measured = self.sentences.join(", ");
        if !self.missed.is_empty() {
            measured += &format!("; missed: {}", self.missed.join(", "));
        }
        let met = match (self.missed.is_empty(), self.unknown) {
            (false, _) => Some(false),
            (true, true) => None,
            (true, false) => Some(true),
        };
        Verdict { measured, met }
    }
}

fn against(goal: &Goal, runs: &[&Value]) -> Verdict {
    let mut said = Said::new();
    let of = |name| spread(runs, key(name));
    said.add("durable x append", spread(runs, by_append("ingest_durable_per_s")), two, |found| {
        found >= goal.durable
    });
    said.add("settled x append", spread(runs, by_append("ingest_settled_per_s")), two, |found| {
        found >= goal.settled
    });
    said.add("B/sample", of("bytes_per_sample"), two, |b| b <= goal.bytes_per_sample);
    said.add("device/16 B", of("device_bytes_ratio"), two, |r| r <= goal.device_bytes_ratio);
    said.add("peak", of("peak_rss_bytes"), megabytes, |b| b <= goal.peak_rss_mb * 1e6);
    said.add("cold open", of("open_cold_ms"), ms, |found| found <= goal.open_cold_ms);
    let names = ["q1", "q2", "q3", "q4"].into_iter().zip(["q1_ms", "q2_ms", "q3_ms", "q4_ms"]);
    for ((name, field), most) in names.zip(goal.queries_ms) {
        said.add(name, of(field), ms, |found| found <= most);
    }
    let mut verdict = said.verdict();
    let files: Vec<String> = ["files_q1_ms", "files_q2_ms", "files_q3_ms"]
        .iter()
        .filter_map(|name| Some(ms(of(name)?.median)))
        .collect();
    verdict.measured += &format!(" (a file per sensor, q1 to q3: {})", files.join(", "));
    verdict
}

/// Shuffled pushes against the plain append, which gets the same samples in order.
pub(super) fn shuffled(runs: &[&Value]) -> Verdict {
    let mut said = Said::new();
    let durable = spread(runs, by_append("ingest_durable_per_s"));
    said.add("durable x append", durable, two, |ratio| ratio >= 0.28);
    let settled = spread(runs, by_append("ingest_settled_per_s"));
    if let Some(settled) = settled {
        said.sentences.push(format!("settled x append {}", settled.show(two)));
    }
    said.verdict()
}

pub(super) fn stated(runs: &[&Value]) -> Verdict {
    Verdict { met: None, ..shuffled(runs) }
}

/// Of each number of series the median.
pub(super) fn sweep(runs: &[&Value]) -> Verdict {
    let mut all: Vec<u64> = runs.iter().filter_map(|run| run["series"].as_u64()).collect();
    all.sort_unstable();
    all.dedup();
    let rate = |series: u64| -> Option<f64> {
        let of: Vec<&Value> = runs.iter().filter(|run| run["series"] == series).copied().collect();
        Some(spread(&of, key("ingest_durable_per_s"))?.median)
    };
    let mut sentences: Vec<String> = all
        .iter()
        .filter_map(|series| Some(format!("{series}: {:.1} M/s", rate(*series)? / 1e6)))
        .collect();
    let ratio = rate(1_000_000).zip(rate(1)).map(|(many, one)| many / one);
    if let Some(ratio) = ratio {
        sentences.push(format!("at 1,000,000 {ratio:.2} x at 1"));
    }
    Verdict { measured: sentences.join(", "), met: ratio.map(|ratio| ratio >= 0.8) }
}

/// Nothing lost; memory and files at the end at most 5 % above those after a tenth.
pub(super) fn steady(runs: &[&Value]) -> Verdict {
    let mut said = Said::new();
    let growth = |first: &'static str, last: &'static str| {
        spread(runs, move |run| Some(run[last].as_f64()? / run[first].as_f64()?))
    };
    said.add("lost", spread(runs, key("lost")), |lost| format!("{lost:.0}"), |lost| lost == 0.0);
    let unsettled = spread(runs, key("segments_lost_unsettled"));
    said.add("reused unsettled", unsettled, |lost| format!("{lost:.0}"), |lost| lost == 0.0);
    let held = |ratio: f64| ratio <= 1.05;
    said.add("memory x", growth("first_resident_bytes", "last_resident_bytes"), two, held);
    said.add("files x", growth("first_disk_bytes", "last_disk_bytes"), two, held);
    said.add("push p99.99", spread(runs, key("push_p9999_ns")), time, |_| true);
    if let Some(backlog) = spread(runs, key("unsettled_bytes_max")) {
        said.sentences.push(format!("at most {} not settled", backlog.show(mib)));
    }
    if let Some(rate) = spread(runs, key("pushed_per_s")) {
        said.sentences.push(rate.show(|rate| format!("{:.2} M/s", rate / 1e6)));
    }
    said.verdict()
}

pub(super) fn real(runs: &[&Value]) -> Verdict {
    let said = runs.iter().map(|run| {
        let name = run["data"].as_str().unwrap_or("unknown");
        match run["bytes_per_sample"].as_f64() {
            Some(bytes) => format!("{name}: {bytes:.2} B a sample in runs"),
            None => {
                let log = run["log_bytes_per_sample"].as_f64().map_or("unknown".to_owned(), two);
                format!("{name}: not settled, {log} B a sample in the log")
            }
        }
    });
    Verdict { measured: said.collect::<Vec<_>>().join(", "), met: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> Value {
        json!({
            "series": 1000, "log_append_per_s": 50e6, "ingest_durable_per_s": 30e6,
            "ingest_settled_per_s": 12e6, "bytes_per_sample": 0.46, "device_bytes_ratio": 0.15,
            "peak_rss_bytes": 60_000_000, "open_cold_ms": 8.0, "q1_ms": 0.09, "q2_ms": 0.02,
            "q3_ms": 1.4, "q4_ms": 4.0, "files_q1_ms": 0.05
        })
    }

    #[test]
    fn what_is_missed_or_not_measured_is_named() {
        assert_eq!(at_1k(&[&run()]).met, Some(true), "{}", at_1k(&[&run()]).measured);
        let mut unsettled = run();
        unsettled["ingest_settled_per_s"] = Value::Null;
        let verdict = at_1k(&[&unsettled]);
        assert_eq!(verdict.met, None);
        assert!(verdict.measured.contains("settled x append not measured"));
        unsettled["q4_ms"] = json!(6.0);
        let verdict = at_1k(&[&unsettled]);
        assert_eq!(verdict.met, Some(false));
        assert!(verdict.measured.contains("; missed: q4 ("), "{}", verdict.measured);
        assert_eq!(at_100k(&[&run()]).met, Some(false), "60 % of the append is too little there");
    }

    #[test]
    fn a_sweep_is_judged_by_its_ends() {
        let of = |series: u32, rate: f64| json!({"series": series, "ingest_durable_per_s": rate});
        let (one, many) = (of(1, 40e6), of(1_000_000, 33e6));
        let verdict = sweep(&[&one, &many]);
        assert_eq!(verdict.measured, "1: 40.0 M/s, 1000000: 33.0 M/s, at 1,000,000 0.82 x at 1");
        assert_eq!(verdict.met, Some(true));
        assert_eq!(sweep(&[&one]).met, None);
        assert_eq!(sweep(&[&one, &of(1_000_000, 30e6)]).met, Some(false));
    }

    #[test]
    fn steady_is_no_loss_and_no_growth() {
        let mut run = json!({
            "lost": 0, "segments_lost_unsettled": 0, "first_resident_bytes": 100, "last_resident_bytes": 104,
            "first_disk_bytes": 50, "last_disk_bytes": 50, "push_p9999_ns": 50_000
        });
        assert_eq!(steady(&[&run]).met, Some(true));
        run["last_resident_bytes"] = json!(120);
        assert_eq!(steady(&[&run]).met, Some(false));
        run["last_resident_bytes"] = json!(100);
        run["lost"] = json!(1);
        assert!(steady(&[&run]).measured.ends_with("missed: lost"));
    }

    #[test]
    fn real_data_is_stated_by_name() {
        let settled = json!({"data": "proc", "bytes_per_sample": 1.5});
        let not = json!({"data": "a.csv", "bytes_per_sample": null, "log_bytes_per_sample": 12.0});
        let measured = real(&[&settled, &not]).measured;
        let expected =
            "proc: 1.50 B a sample in runs, a.csv: not settled, 12.00 B a sample in the log";
        assert_eq!(measured, expected);
    }
}

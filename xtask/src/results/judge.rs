//! From the runs of a row to what the table says: the measured, and whether the goal is met.
//!
//! Invariant: what was not counted is never taken for zero; the verdict is then "unknown". Held by
//! the tests below.

use serde_json::Value;

/// What a row's runs amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) measured: String,
    /// None: cannot be told.
    pub(super) met: Option<bool>,
}

/// Median, smallest and largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// Of the runs that have the number; None if one has not.
pub(super) fn spread(runs: &[&Value], pick: impl Fn(&Value) -> Option<f64>) -> Option<Spread> {
    let mut all = runs.iter().map(|run| pick(run)).collect::<Option<Vec<f64>>>()?;
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    let median = match all.len() % 2 {
        0 => (all.get(middle.checked_sub(1)?)? + all.get(middle)?) / 2.0,
        _ => *all.get(middle)?,
    };
    Some(Spread { median, min: *all.first()?, max: *all.last()? })
}

pub(super) fn key<'a>(name: &'a str) -> impl Fn(&Value) -> Option<f64> + 'a {
    move |run| run[name].as_f64()
}

impl Spread {
    pub(super) fn show(self, unit: fn(f64) -> String) -> String {
        let (median, min, max) = (unit(self.median), unit(self.min), unit(self.max));
        if min == max { median } else { format!("{median} ({min} to {max})") }
    }
}

pub(super) fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.1} us", ns / 1e3),
        ..1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        ..1e9 => format!("{:.1} MB/s", bytes_per_s / 1e6),
        _ => format!("{:.2} GB/s", bytes_per_s / 1e9),
    }
}

pub(super) fn two(ratio: f64) -> String {
    format!("{ratio:.2}")
}

fn count(number: f64) -> String {
    format!("{number:.0}")
}

pub(super) fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// A spread shown, or "unknown".
fn shown(runs: &[&Value], name: &str, unit: fn(f64) -> String) -> String {
    spread(runs, key(name)).map_or("unknown".to_owned(), |spread| spread.show(unit))
}

fn unknown(what: &str) -> Verdict {
    Verdict { measured: format!("{what} not counted"), met: None }
}

fn all_zero(runs: &[&Value], names: &[&str]) -> Verdict {
    let mut measured = Vec::new();
    let mut met = Some(true);
    for name in names {
        match spread(runs, key(name)) {
            Some(spread) => {
                measured.push(format!("{} {}", name.replace('_', " "), spread.show(count)));
                if spread.max > 0.0 {
                    met = Some(false);
                }
            }
            None => {
                let why = runs.iter().find_map(|run| run["kernel_counts_missing"].as_str());
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                measured.push(format!("{} not counted{why}", name.replace('_', " ")));
                met = met.filter(|met| !met);
            }
        }
    }
    Verdict { measured: measured.join(", "), met }
}

pub(super) fn inside(runs: &[&Value]) -> Verdict {
    all_zero(runs, &["syscalls", "allocations", "page_faults", "voluntary_switches"])
}

pub(super) fn commits(runs: &[&Value]) -> Verdict {
    all_zero(runs, &["journal_commits", "forced_commits", "block_allocations", "size_changes"])
}

fn push_to_memcpy(run: &Value) -> Option<f64> {
    let memcpy = run["memcpy_p9999_ns"].as_f64().filter(|ns| *ns > 0.0)?;
    Some(run["push_p9999_ns"].as_f64()? / memcpy)
}

pub(super) fn ratio(runs: &[&Value]) -> Verdict {
    let Some(ratio) = spread(runs, push_to_memcpy) else { return unknown("p99.99") };
    let records = runs.first().and_then(|run| run["records"].as_u64()).unwrap_or(0);
    let measured = format!(
        "{}; push {}, memcpy {}; of {records} records",
        ratio.show(two),
        shown(runs, "push_p9999_ns", time),
        shown(runs, "memcpy_p9999_ns", time)
    );
    Verdict { measured, met: Some(ratio.median <= 2.0) }
}

/// What a stall would have had to exceed.
fn covers_ns(run: &Value) -> Option<f64> {
    let records = run["records"].as_f64().filter(|n| *n > 0.0)?;
    let bytes = records * (run["record_bytes"].as_f64()? + 24.0);
    Some(run["ring_bytes"].as_f64()? * run["paced_ns"].as_f64()? / bytes)
}

pub(super) fn lost(runs: &[&Value]) -> Verdict {
    let (Some(lost), Some(advances)) =
        (spread(runs, key("lost")), spread(runs, key("durable_advances")))
    else {
        return unknown("loss");
    };
    let ratio = spread(runs, push_to_memcpy).map_or("unknown".to_owned(), |r| r.show(two));
    let covers = spread(runs, covers_ns).map_or("unknown".to_owned(), |s| s.show(time));
    let measured = format!(
        "{} lost of {}; durable moved {} times; push/memcpy p99.99 {ratio}; forced commits {}; \
         longest write {}, sync {}, push to durable {}; the ring covers {covers}, at most {} of {} \
         were used",
        lost.show(count),
        shown(runs, "records", count),
        advances.show(count),
        shown(runs, "forced_commits", count),
        shown(runs, "longest_write_ns", time),
        shown(runs, "longest_sync_ns", time),
        shown(runs, "longest_durable_ns", time),
        shown(runs, "ring_used_bytes_max", mib),
        shown(runs, "ring_bytes", mib),
    );
    Verdict { measured, met: Some(lost.max == 0.0 && advances.min > 0.0) }
}

/// Nothing lost is no achievement if the rate was not reached.
fn lost_at(runs: &[&Value], bytes_per_s: f64) -> Verdict {
    let reached = |run: &Value| -> Option<f64> {
        let ns = run["paced_ns"].as_f64().filter(|ns| *ns > 0.0)?;
        Some(run["records"].as_f64()? * run["record_bytes"].as_f64()? * 1e9 / ns)
    };
    let Some(reached) = spread(runs, reached) else { return unknown("rate") };
    let Verdict { measured, met } = lost(runs);
    let enough = reached.min >= 0.99 * bytes_per_s;
    let measured = format!("{} offered; {measured}", reached.show(rate));
    Verdict { measured, met: met.map(|met| met && enough) }
}

pub(super) fn lost_at_200(runs: &[&Value]) -> Verdict {
    lost_at(runs, 200e6)
}

pub(super) fn lost_at_500(runs: &[&Value]) -> Verdict {
    lost_at(runs, 500e6)
}

/// Nothing lost, at the rate of 16 KiB each 5 ms, and no push slower for it.
pub(super) fn board(runs: &[&Value]) -> Verdict {
    let Verdict { measured, met } = lost_at(runs, 16384.0 * 200.0);
    let Some(ratio) = spread(runs, push_to_memcpy) else { return unknown("p99.99") };
    // Private memory and the program's pages, without the memcpy's area: that is no recorder's.
    let beside_ring = spread(runs, |run| {
        let memory = |name: &str| run["process_memory"][name].as_f64();
        Some(memory("private_bytes")? + memory("file_bytes")? - memory("yardstick_bytes")?)
    });
    let own = spread(runs, |run| Some(run["memory_bytes"].as_f64()? - run["ring_bytes"].as_f64()?));
    let board = |name: &'static str| spread(runs, move |run| run["board"][name].as_f64());
    let show = |found: Option<Spread>, unit| found.map_or("unknown".to_owned(), |s| s.show(unit));
    let measured = format!(
        "{measured}; push {}, memcpy {}; beside the ring {} by its own account, {} resident with \
         program and measurement; the board used {} of memory at most and was stopped in {} \
         periods, {} in all",
        shown(runs, "push_p9999_ns", time),
        shown(runs, "memcpy_p9999_ns", time),
        show(own, mib),
        show(beside_ring, mib),
        show(board("board_memory_peak_bytes"), mib),
        show(board("board_periods_stopped"), count),
        show(board("board_stopped_ns"), time),
    );
    Verdict { measured, met: met.map(|met| met && ratio.median <= 2.0) }
}

/// Loss is allowed where a neighbour's commit may stop the writer; silence about it is not.
pub(super) fn paper_d_shared(runs: &[&Value]) -> Verdict {
    let verdict = lost(runs);
    let advances = spread(runs, key("durable_advances")).map(|spread| spread.min > 0.0);
    Verdict { met: verdict.met.and(advances), ..verdict }
}

pub(super) fn throughput(runs: &[&Value]) -> Verdict {
    let ours = |run: &Value| -> Option<f64> {
        let fio = run["fio_psync_bytes_per_s"].as_f64().filter(|rate| *rate > 0.0)?;
        Some(run["durable_bytes_per_s"].as_f64()? / fio)
    };
    let Some(ratio) = spread(runs, ours) else { return unknown("durable rate") };
    let measured = format!(
        "{}; durable {}, fio psync {}; beside it fio libaio depth 4 {}",
        ratio.show(two),
        shown(runs, "durable_bytes_per_s", rate),
        shown(runs, "fio_psync_bytes_per_s", rate),
        shown(runs, "fio_libaio4_bytes_per_s", rate)
    );
    Verdict { measured, met: Some(ratio.median >= 0.9) }
}

pub(super) fn records_64(runs: &[&Value]) -> Verdict {
    let Some(rate) = spread(runs, key("durable_records_per_s")) else {
        return unknown("durable rate");
    };
    let millions = rate.show(|n| format!("{:.1} million", n / 1e6));
    Verdict { measured: format!("{millions} records/s"), met: Some(rate.median >= 10e6) }
}

pub(super) fn producers(runs: &[&Value]) -> Verdict {
    let counted = ["lost", "missing", "out_of_order", "wrong"];
    let Verdict { measured, met } = all_zero(runs, &counted);
    let Some(rate) = spread(runs, key("records_per_s_each")) else { return unknown("rate") };
    let producers = spread(runs, key("producers")).map_or(0.0, |spread| spread.min);
    let measured = format!(
        "{measured} of {}; {producers:.0} producers, {} records/s each; push to durable {}",
        shown(runs, "pushed", count),
        rate.show(count),
        shown(runs, "longest_durable_ns", time),
    );
    let reached = rate.min >= 0.99 * 20_000.0 && producers >= 16.0;
    Verdict { measured, met: met.map(|met| met && reached) }
}

pub(super) fn verify(runs: &[&Value]) -> Verdict {
    let Some(speed) = spread(runs, key("bytes_per_s")) else { return unknown("rate") };
    let whole = runs.iter().all(|run| run["whole"] == true);
    let bytes = shown(runs, "block_bytes", mib);
    let state = if whole { "whole" } else { "NOT WHOLE" };
    let measured = format!("{}, {bytes}, {state}", speed.show(rate));
    Verdict { measured, met: Some(speed.median >= 1e9 && whole) }
}

pub(super) fn recovery(runs: &[&Value]) -> Verdict {
    let open = |which: &'static str| spread(runs, move |run| run[which]["open_ns"].as_f64());
    let (Some(dropped), Some(warm)) = (open("dropped"), open("warm")) else {
        return unknown("time to open");
    };
    let measured = format!(
        "{} with the log out of memory, {} with it in memory; {}",
        dropped.show(time),
        warm.show(time),
        shown(runs, "store_bytes", mib)
    );
    Verdict { measured, met: Some(dropped.max <= 1e9 && warm.max <= 1e9) }
}

pub(super) fn memory(runs: &[&Value]) -> Verdict {
    let (Some(peak), Some(ring)) =
        (spread(runs, key("peak_resident_bytes")), spread(runs, key("ring_bytes")))
    else {
        return unknown("memory");
    };
    let measured = format!(
        "{} resident at most (VmHWM: a page counts each time it is mapped), {} of memory (Pss), \
         with a ring of {}; {} by its own account without the ring",
        peak.show(mib),
        shown(runs, "proportional_bytes", mib),
        ring.show(mib),
        shown(runs, "memory_bytes", mib)
    );
    // A process that was gone before it was looked at has no peak.
    let met = (peak.min > 0.0).then_some(peak.max <= ring.max + f64::from(16 << 20));
    Verdict { measured, met }
}

pub(super) fn idle_cpu(runs: &[&Value]) -> Verdict {
    let Some(share) = spread(runs, key("cpu_share")) else { return unknown("processor time") };
    let measured = share.show(|share| format!("{:.2} %", share * 100.0));
    Verdict { measured, met: Some(share.max <= 0.01) }
}

/// For rows that say where to read.
/// Whether anything has grown while the log was recycled over and over.
pub(super) fn recycled(runs: &[&Value]) -> Verdict {
    let grown = |first: &str, last: &str| {
        spread(runs, |run| Some(run[last].as_f64()? / run[first].as_f64()?))
    };
    let latency = grown("first_push_p9999_ns", "last_push_p9999_ns");
    let memory = grown("resident_first_bytes", "resident_last_bytes");
    let (lost, rounds) = (spread(runs, key("lost")), spread(runs, key("rounds")));
    let files = spread(runs, |run| {
        // The last pin stays, with what was copied out for it.
        Some(run["files_after"].as_f64()? - run["files_before"].as_f64()?)
    });
    let (Some(latency), Some(memory), Some(lost), Some(rounds), Some(files)) =
        (latency, memory, lost, rounds, files)
    else {
        return unknown("push, memory or files");
    };
    let measured = format!(
        "{} rounds: memory x {}, push p99.99 x {} ({} to {}), {} more files (a pin and its copies), \
         lost {}",
        count(rounds.median),
        two(memory.max),
        two(latency.max),
        shown(runs, "first_push_p9999_ns", time),
        shown(runs, "last_push_p9999_ns", time),
        count(files.max),
        count(lost.max)
    );
    let same = latency.max <= 1.5 && memory.max <= 1.02 && files.max <= 9.0;
    Verdict { measured, met: Some(rounds.min >= 1000.0 && same && lost.max == 0.0) }
}

/// Whether a pin at full rate is exact and costs no push anything.
pub(super) fn pinned(runs: &[&Value]) -> Verdict {
    let ratio = spread(runs, |run| {
        let beside = run["beside_pin_push_p9999_ns"].as_f64()?;
        Some(beside / run["without_pin_push_p9999_ns"].as_f64()?)
    });
    let (missing, window) =
        (spread(runs, key("window_records_missing")), spread(runs, key("window_records")));
    let (lost, pushed) = (spread(runs, key("lost")), spread(runs, key("bytes_per_s")));
    let (Some(ratio), Some(missing), Some(window), Some(lost), Some(pushed)) =
        (ratio, missing, window, lost, pushed)
    else {
        return unknown("push, window or rate");
    };
    let measured = format!(
        "{}: {} of {} records of the window missing, lost {}, push p99.99 {} beside the pin, {} \
         without",
        pushed.show(rate),
        count(missing.max),
        window.show(count),
        count(lost.max),
        shown(runs, "beside_pin_push_p9999_ns", time),
        shown(runs, "without_pin_push_p9999_ns", time)
    );
    let exact = missing.max == 0.0 && window.min > 0.0 && lost.max == 0.0;
    Verdict { measured, met: Some(exact && ratio.median <= 1.1 && pushed.min >= 490e6) }
}

/// The most bytes handed to the device for each byte pushed.
pub(super) fn most_to_device(runs: &[&Value]) -> Option<f64> {
    device_to_pushed(runs).map(|ratio| ratio.max)
}

fn device_to_pushed(runs: &[&Value]) -> Option<Spread> {
    spread(runs, |run| Some(run["device_bytes"].as_f64()? / run["payload_bytes"].as_f64()?))
}

/// Bytes to the device for each byte pushed.
pub(super) fn wear(runs: &[&Value]) -> Verdict {
    let Some(ratio) = device_to_pushed(runs) else { return unknown("bytes") };
    let measured = format!("{:.3} bytes to the device for each pushed", ratio.max);
    Verdict { measured, met: Some(ratio.max <= 1.05) }
}

/// The same where no goal is set.
pub(super) fn wear_stated(runs: &[&Value]) -> Verdict {
    let Some(ratio) = device_to_pushed(runs) else { return unknown("bytes") };
    let measured = format!("{} bytes to the device for each pushed", two(ratio.max));
    Verdict { measured, met: None }
}

pub(super) fn nothing(_: &[&Value]) -> Verdict {
    Verdict { measured: String::new(), met: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_counted_is_not_zero() {
        let zero = json!({"syscalls": 0, "allocations": 0, "page_faults": 0,
                          "voluntary_switches": 0});
        let mut blind = zero.clone();
        blind["syscalls"] = Value::Null;
        let mut bad = blind.clone();
        bad["page_faults"] = json!(3);
        assert_eq!(inside(&[&zero, &zero]).met, Some(true));
        assert_eq!(inside(&[&zero, &blind]).met, None);
        assert_eq!(inside(&[&zero, &bad]).met, Some(false));
        assert_eq!(spread(&[], |_| Some(1.0)), None);
    }

    #[test]
    fn the_ratio_is_the_median_of_the_ratios() {
        let run = |push, memcpy| json!({"push_p9999_ns": push, "memcpy_p9999_ns": memcpy});
        let runs = [run(300, 100), run(150, 100), run(100, 100)];
        let verdict = ratio(&runs.iter().collect::<Vec<_>>());
        assert_eq!(verdict.met, Some(true));
        assert!(verdict.measured.starts_with("1.50 (1.00 to 3.00)"), "{}", verdict.measured);
        assert_eq!(ratio(&[&runs[0]]).met, Some(false));
    }

    #[test]
    fn producers_must_reach_their_rate() {
        let run = |rate: f64, lost: u64| {
            json!({"lost": lost, "missing": 0, "out_of_order": 0, "wrong": 0, "producers": 16,
                   "records_per_s_each": rate, "pushed": 100})
        };
        assert_eq!(producers(&[&run(19_990.0, 0)]).met, Some(true));
        assert_eq!(producers(&[&run(19_990.0, 1)]).met, Some(false));
        assert_eq!(producers(&[&run(10_000.0, 0)]).met, Some(false));
    }

    #[test]
    fn a_board_that_loses_or_waits_is_not_met() {
        let run = |lost: u64, push_ns: u64, paced_ns: u64| {
            json!({"records": 1000, "record_bytes": 16384, "paced_ns": paced_ns, "lost": lost,
                   "durable_advances": 5, "ring_bytes": 1 << 20, "memory_bytes": 3 << 20,
                   "push_p9999_ns": push_ns, "memcpy_p9999_ns": 100,
                   "process_memory": {"private_bytes": 7 << 20, "file_bytes": 1 << 20,
                                      "yardstick_bytes": 4 << 20},
                   "board": {"board_memory_peak_bytes": 5 << 20}})
        };
        let met = |run: Value| board(&[&run]).met;
        let good = board(&[&run(0, 200, 5_000_000_000)]);
        assert_eq!(good.met, Some(true));
        let said = "ring 2.0 MiB by its own account, 4.0 MiB resident";
        assert!(good.measured.contains(said), "{}", good.measured);
        assert!(good.measured.ends_with("stopped in unknown periods, unknown in all"));
        assert_eq!(met(run(1, 200, 5_000_000_000)), Some(false));
        assert_eq!(met(run(0, 201, 5_000_000_000)), Some(false));
        assert_eq!(met(run(0, 200, 6_000_000_000)), Some(false));
    }

    #[test]
    fn nothing_lost_below_the_rate_is_not_met() {
        let run = |paced_ns: u64| {
            json!({"records": 1000, "record_bytes": 20_000, "paced_ns": paced_ns, "lost": 0,
                   "durable_advances": 5, "ring_bytes": 1 << 20})
        };
        assert_eq!(lost_at(&[&run(100_000_000)], 200e6).met, Some(true));
        assert_eq!(lost_at(&[&run(110_000_000)], 200e6).met, Some(false));
    }
}

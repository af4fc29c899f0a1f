//! What a pair of readers or writers left in the guest, made into figures.
//!
//! Invariant: events that were lost, weights that are not what was written and a disk that did
//! nothing are errors, never figures. Held by the tests below.

use super::trace::{Extents, Work, work};
use super::{NAMES, WEIGHTS};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Files by name.
#[derive(Debug)]
pub(super) struct Seen(BTreeMap<String, String>);

impl Seen {
    pub(super) fn new(files: impl Iterator<Item = (String, String)>) -> Self {
        Self(files.collect())
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// What programs said on stderr.
    pub(super) fn said(&self) -> String {
        let said = NAMES.map(|name| self.text(&format!("{name}.said")).trim().to_owned());
        let status = self.text("status.said").trim().to_owned();
        let all: Vec<_> =
            said.into_iter().chain([status]).filter(|text| !text.is_empty()).collect();
        all.join(" / ")
    }

    /// The figures of a cell.
    pub(super) fn judge(
        &self,
        direction: &str,
        setting: &str,
        places: &[Extents],
    ) -> Result<Value, String> {
        let read = self.weights()?;
        let seconds = self.seconds()?;
        let work = work(self.text("trace"), direction, places)?;
        let mb_per_s: Vec<f64> = work.iter().map(|one| one.bytes as f64 / 1e6 / seconds).collect();
        let [first, second] = mb_per_s[..] else {
            return Err(format!("expected two files, found {}", mb_per_s.len()));
        };
        if first <= 0.0 || second <= 0.0 {
            return Err(format!("expected both to get something, found {first} and {second} MB/s"));
        }
        let round = |value: f64, parts: f64| (value * parts).round() / parts;
        let mut row = json!({
            "weights_read": read,
            "mb_per_s": [round(first, 100.0), round(second, 100.0)],
            "ratio": round(first / second, 1000.0),
            "total_mb_per_s": round(first + second, 100.0),
            "measured_s": seconds,
            "fio_mb_per_s": NAMES.map(|name| self.fio(name, direction, "/bw_bytes", 1e6)),
            "submit_ms": NAMES.map(|name| self.fio(name, direction, "/slat_ns/mean", 1e6)),
            "piece_bytes": Value::Null, "calls_cut": Value::Null,
            "gaps": work.iter().map(|one| one.gaps_ms.len()).collect::<Vec<_>>(),
            "gap_ms_median": work.iter().map(median_gap_ms).collect::<Vec<_>>(),
            "gaps_over_slice_idle": work.iter().map(too_long).collect::<Vec<_>>(),
            "gaps_longest_ms": work.iter().map(longest).collect::<Vec<_>>(),
            "queue": self.queue(),
        });
        if setting != "default" {
            let status: Value = serde_json::from_str(self.text("status"))
                .map_err(|error| format!("status: {error}: {}", self.text("status")))?;
            let key = if direction == "read" { "read_piece_bytes" } else { "write_piece_bytes" };
            row["piece_bytes"] = self.of_groups(&status, &format!("/{key}"));
            row["calls_cut"] = self.of_groups(&status, "/counters/calls_cut");
            row["weights_trimmed"] = self.of_groups(&status, "/weight_trimmed");
            row["reasons"] = self.of_groups(&status, "/reasons");
        }
        Ok(row)
    }

    /// One value of each group in what `baro share status` says.
    fn of_groups(&self, status: &Value, path: &str) -> Value {
        let groups = status.pointer("/disks/0/groups").and_then(Value::as_array);
        let of = |name: &str| {
            let group = groups?.iter().find(|group| group["name"] == name)?;
            group.pointer(path).cloned()
        };
        json!(NAMES.map(of))
    }

    /// Weights as the kernel had them; all must be what was written.
    fn weights(&self) -> Result<Vec<u16>, String> {
        let text = self.text("weights");
        let of = |name: &str| {
            let line = text.lines().find(|line| {
                let group = line.split(' ').next().unwrap_or("");
                group.ends_with(&format!("-{name}"))
            })?;
            line.rsplit(' ').next()?.parse().ok()
        };
        let read: Vec<u16> = NAMES.iter().filter_map(|name| of(name)).collect();
        if read != WEIGHTS {
            return Err(format!("io.bfq.weight: expected {WEIGHTS:?}, found {text:?}"));
        }
        Ok(read)
    }

    /// How long it was looked at, by the guest's clock.
    fn seconds(&self) -> Result<f64, String> {
        let text = self.text("moments");
        let moments: Vec<f64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        match moments[..] {
            [from, to] if to > from => Ok(((to - from) * 100.0).round() / 100.0),
            _ => Err(format!("moments: expected two times of /proc/uptime, found {text:?}")),
        }
    }

    /// What fio says itself, of whole I/Os, with the time before and after; null if it failed.
    fn fio(&self, name: &str, direction: &str, path: &str, unit: f64) -> Value {
        let text = self.text(&format!("{name}.fio"));
        // Warnings come before the document.
        let from = text.find('{').unwrap_or(text.len());
        let found: Option<Value> = serde_json::from_str(&text[from..]).ok();
        let value = found.and_then(|found| found["jobs"][0][direction].pointer(path)?.as_f64());
        json!(value.map(|value| (value / unit * 100.0).round() / 100.0))
    }

    /// The queue's settings while it was looked at, by the file's name.
    fn queue(&self) -> Value {
        let pairs = self.text("queue").lines().filter_map(|line| {
            let (path, value) = line.split_once(':')?;
            let name = path.rsplit('/').next()?.to_owned();
            let number = value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number));
            Some((name, number))
        });
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

/// What BFQ waits for a group's next request, unless it was told otherwise.
const SLICE_IDLE_MS: f64 = 8.0;

fn median_gap_ms(work: &Work) -> Option<f64> {
    let gap_ms = work.gaps_ms.get(work.gaps_ms.len() / 2)?;
    Some((gap_ms * 100.0).round() / 100.0)
}

/// The part of gaps for which BFQ does not wait.
fn too_long(work: &Work) -> Option<f64> {
    let all = work.gaps_ms.len();
    let long = work.gaps_ms.iter().filter(|gap_ms| **gap_ms > SLICE_IDLE_MS).count();
    (all > 0).then(|| (long as f64 / all as f64 * 100.0).round() / 100.0)
}

/// The ten longest, longest first: between two I/Os of a program, or in the middle of one.
fn longest(work: &Work) -> Vec<f64> {
    work.gaps_ms.iter().rev().take(10).map(|gap_ms| (gap_ms * 10.0).round() / 10.0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::trace::tests::{TRACE, places};
    use super::*;

    fn seen(trace: &str, weights: &str) -> Seen {
        let files = [("trace", trace), ("weights", weights), ("moments", "10.00\n12.00\n")];
        let queue = "/sys/block/x/queue/nr_requests:64\n/sys/block/x/queue/scheduler:none [bfq]\n";
        let files = files.into_iter().chain([("queue", queue), ("first.said", "oh\n")]);
        Seen::new(files.map(|(name, text)| (name.to_owned(), text.to_owned())))
    }

    const WRITTEN: &str = "lab-first default 200\nlab-second default 100\n";

    #[test]
    fn figures_are_of_what_was_completed() {
        let row = seen(TRACE, WRITTEN).judge("read", "default", &places()).unwrap();
        assert_eq!((&row["ratio"], &row["measured_s"]), (&json!(2.048), &json!(2.0)));
        assert_eq!(
            (&row["gap_ms_median"], &row["gaps_over_slice_idle"]),
            (&json!([250.0, null]), &json!([1.0, null]))
        );
        assert_eq!(row["gaps_longest_ms"], json!([[250.0], []]));
        assert_eq!(row["queue"], json!({ "nr_requests": 64, "scheduler": "none [bfq]" }));
    }

    #[test]
    fn what_is_not_sure_has_no_figures() {
        let lost = TRACE.replace("7/7", "7/9");
        for (trace, weights, why) in [
            (lost.as_str(), WRITTEN, "lost events"),
            ("", WRITTEN, "both to get something"),
            (TRACE, "lab-first default 200\nlab-second default 34\n", "io.bfq.weight"),
            (TRACE, "", "io.bfq.weight"),
        ] {
            let error = seen(trace, weights).judge("read", "default", &places()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        // The automatic setting without what it said of itself.
        let error = seen(TRACE, WRITTEN).judge("read", "auto", &places()).unwrap_err();
        assert!(error.contains("status"), "{error}");
        assert_eq!(seen("", "").said(), "oh");
    }
}

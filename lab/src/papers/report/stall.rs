//! Paper D: a script that stops for seconds beside large writes, why, and the remedy.

use super::page::{Section, Table};
use super::{Found, Goal, figure};
use crate::papers::plan::{KERNELS, STALLS};
use serde_json::Value;

/// How much shorter commits or gaps become, to be called a remedy.
const REMEDY: f64 = 2.0;
/// A gap or commit this long is a stall, ns.
const STALL_NS: f64 = 5e8;
/// Of a wait, what may stay without an explanation.
const UNEXPLAINED: f64 = 0.02;

/// One kernel with one way to mount.
struct Stall<'a> {
    before: &'a Value,
    after: &'a Value,
    calls: &'a [Value],
}

impl<'a> Stall<'a> {
    fn of(line: &'a Value) -> Option<Self> {
        let (stall, explained) = (line.get("stall")?, line.get("explained")?);
        let calls = explained["calls"].as_array()?;
        Some(Self { before: &stall["before"], after: &stall["after"], calls })
    }

    /// Seconds.
    fn seconds(half: &Value, key: &str) -> Option<f64> {
        Some(half[key].as_f64()? / 1e9)
    }

    /// How many times shorter the longest commit became; None where none was long. The gap of the script
    /// depends on when it happens to write, so it is shown and judges nothing.
    fn shorter(&self) -> Option<f64> {
        let of = |half| Self::seconds(half, "commit_max_ns");
        let (before, after) = (of(self.before)?, of(self.after)?);
        (before * 1e9 > STALL_NS).then(|| before / after.max(1e-3))
    }

    /// Of the longest waits nothing stays unexplained, and where the journal's own events have seen a
    /// commit flush data for most of its time, a chain says so. Where no wait was found, the script's own
    /// clock has seen none either.
    fn is_right(&self) -> bool {
        if self.calls.is_empty() {
            return self.before["gap_max_ns"].as_f64().is_some_and(|gap| gap < STALL_NS);
        }
        let explained = self.calls.iter().all(|call| {
            let (wait, none) = (call["wait_ns"].as_f64(), call["unexplained_ns"].as_f64());
            wait.zip(none).is_some_and(|(wait, none)| none <= wait * UNEXPLAINED)
        });
        explained && (!self.flushed() || self.names("ordered_data"))
    }

    fn flushed(&self) -> bool {
        let commits = self.before["commits"].as_array().map_or(&[][..], Vec::as_slice);
        let longest = commits.iter().max_by_key(|commit| commit["length_ns"].as_u64());
        longest.is_some_and(|commit| {
            let of = |key: &str| commit[key].as_f64().unwrap_or(0.0);
            of("length_ns") > 1e9 && of("flushing_ns") > of("length_ns") / 2.0
        })
    }

    fn names(&self, cause: &str) -> bool {
        let in_chain = |call: &Value| {
            call["cause"] == cause
                || call["chain"]
                    .as_array()
                    .is_some_and(|chain| chain.iter().any(|link| link["cause"] == cause))
        };
        self.calls.iter().any(in_chain)
    }
}

pub(super) fn section(found: &Found) -> (Section, Vec<Goal>) {
    let mut table = Table::new(
        "Without and with the limit of dirty data (8 MB, one second of the device): the longest commit and \
         the longest gap of the script, s",
        &[
            "kernel",
            "mount",
            "commit before",
            "after",
            "gap before",
            "after",
            "times shorter",
            "what the longest wait was for",
            "right",
        ],
    );
    let (mut right, mut cured, mut stalls, mut cells) = (0, 0, 0, 0);
    for kernel in KERNELS {
        for (name, _) in STALLS {
            let lines = found.get(&format!("d/{kernel}/{name}"));
            let Some(stall) = lines.and_then(|lines| Stall::of(lines.first()?)) else { continue };
            let of = |half, key| figure(Stall::seconds(half, key), 2);
            let shorter = stall.shorter();
            cells += 1;
            right += usize::from(stall.is_right());
            stalls += usize::from(shorter.is_some());
            cured += usize::from(shorter.is_some_and(|times| times >= REMEDY));
            let sentence = stall.calls.first().and_then(|call| call["sentence"].as_str());
            table.rows.push(vec![
                kernel.to_owned(),
                name.to_owned(),
                of(stall.before, "commit_max_ns"),
                of(stall.after, "commit_max_ns"),
                of(stall.before, "gap_max_ns"),
                of(stall.after, "gap_max_ns"),
                figure(shorter, 1),
                sentence.unwrap_or("nothing waited 0.3 s").to_owned(),
                if stall.is_right() { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    let all = KERNELS.len() * STALLS.len();
    let goals = vec![
        Goal {
            what: "D: the stall explained on each kernel, mounted by default and ordered as ext3 was",
            goal: "right on each",
            measured: format!("{right} of {all}"),
            is_met: right == all,
        },
        Goal {
            what: "D: its remedy, a limit of dirty data",
            goal: "the longest commit half as long wherever it was 0.5 s",
            measured: format!("{cured} of {stalls} long commits, {cells} of {all} places measured"),
            is_met: cells == all && stalls > 0 && cured == stalls,
        },
    ];
    let says = vec![
        "The paper (ext3, Linux 2.6.9): a script that stamps the time each second stops for up to 76 s while \
         another program writes files of 8 GB on another disk: both share the limit of dirty data, and the other's \
         journal had no room; less dirty data allowed ends it. Here both are on one disk, and a hundredth as large."
            .to_owned(),
        "Today: with delayed allocation a commit has hardly any data to wait for, and waits are for the disk's \
         queue; mounted as ext3 was, the stall is there on every kernel."
            .to_owned(),
        "Barograph: `baro trace` and `baro explain` name the transaction and whose data it waited for; `baro tune` \
         sets the limit for one device (from 6.2 on) and puts it back."
            .to_owned(),
    ];
    let section = Section {
        title: "D: why a program stops while another writes",
        says,
        command: "cargo xtask lab papers --out FOLDER --only d/",
        tables: vec![table],
    };
    (section, goals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_commit_that_flushed_has_to_be_named() {
        let commits = json!([{"length_ns": 9_000_000_000_u64, "flushing_ns": 8_000_000_000_u64}]);
        let line = |cause: &str, unexplained: u64| {
            json!({
                "stall": {
                    "before": {"commit_max_ns": 9_000_000_000_u64, "gap_max_ns": 1, "commits": commits},
                    "after": {"commit_max_ns": 1_000_000_000_u64, "gap_max_ns": 1},
                },
                "explained": {"calls": [{
                    "wait_ns": 9_000_000_000_u64, "unexplained_ns": unexplained, "cause": "commit",
                    "chain": [{"cause": cause}],
                }]},
            })
        };
        let right = |line: &Value| Stall::of(line).unwrap().is_right();
        assert!(right(&line("ordered_data", 0)));
        assert!(!right(&line("device_queue", 0)));
        assert!(!right(&line("ordered_data", 1_000_000_000)));
        assert_eq!(Stall::of(&line("x", 0)).unwrap().shorter(), Some(9.0));
    }

    #[test]
    fn a_stall_without_an_explanation_is_not_right() {
        let line = |gap_ns: u64| {
            let half = json!({"commit_max_ns": 1, "gap_max_ns": gap_ns, "commits": []});
            json!({"stall": {"before": half, "after": half}, "explained": {"calls": []}})
        };
        let right = |line: &Value| Stall::of(line).unwrap().is_right();
        assert!(right(&line(120_000_000)), "nothing stalled");
        assert!(!right(&line(3_000_000_000)), "the script stood still, and no wait was found");
    }
}

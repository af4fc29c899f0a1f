//! Paper A, table 2: three cases of `write()` and Barograph's `push` on every medium.

use super::page::{Section, Table};
use super::{Found, Goal, cell, figure, quantile_us};
use crate::papers::plan::{FILE_SYSTEMS, KERNELS, MEDIA};
use serde_json::Value;

const CASES: [&str; 3] = ["NONE", "ALL", "ALL-BGALL"];
const SHARE: f64 = 0.9999;
/// Worst over best that still is independent of the place.
const INDEPENDENT: f64 = 2.0;
/// The paper's tables 1 and 2 (IPSJ Journal 61(8), 2020): kernel, medium, the longest write() in ms of
/// NONE, ALL, ALL-BGALL.
const PRINTED: [[&str; 5]; 4] = [
    ["4.4", "eMMC", "4.5", "0.3", "12.5"],
    ["4.14", "eMMC", "7.1", "0.7", "-"],
    ["4.4", "microSDXC", "11.1", "0.4", "-"],
    ["4.14", "microSDXC", "12.4", "0.7", "-"],
];

/// What was pushed in one place.
struct Pushes {
    half_us: f64,
    most_us: f64,
    copy_us: f64,
    lost: u64,
}

impl Pushes {
    fn of(lines: &[Value]) -> Option<Self> {
        let data = cell(lines, "barograph/BGALL")?;
        Some(Self {
            half_us: quantile_us(&data["write"], 0.5)?,
            most_us: quantile_us(&data["write"], SHARE)?,
            copy_us: quantile_us(&data["memcpy"], SHARE)?,
            lost: data["lost"].as_u64()?,
        })
    }

    /// What a copy of the same bytes by the same thread took as well is the machine.
    fn ratio(&self) -> f64 {
        self.most_us / self.copy_us
    }
}

pub(super) fn section(found: &Found) -> (Section, Vec<Goal>) {
    let mut table = Table::new(
        "The longest of 1,000 write() of 16 KiB, ms; of 10,000 push() beside BGALL the median, the \
         99.99th percentile and that of a memcpy of the same bytes, us",
        &[
            "kernel",
            "medium",
            "fs",
            "NONE",
            "ALL",
            "BGALL",
            "push p50",
            "p99.99",
            "memcpy p99.99",
            "push / memcpy",
            "lost",
        ],
    );
    for [kernel, medium, printed @ ..] in PRINTED {
        let mut row = vec![format!("{kernel} (paper)"), medium.to_owned(), "ext4".to_owned()];
        row.extend(printed.map(str::to_owned));
        row.resize(table.columns.len(), "-".to_owned());
        table.rows.push(row);
    }
    let (mut ratios, mut writes, mut cells, mut lost) = (Vec::new(), Vec::new(), 0, 0);
    for kernel in KERNELS {
        for medium in MEDIA {
            for fs in FILE_SYSTEMS {
                let place = format!("{kernel}/{medium}/{fs}");
                let cases = found.get(&format!("a/{place}"));
                let pushes =
                    found.get(&format!("push/{place}")).and_then(|lines| Pushes::of(lines));
                if cases.is_none() && pushes.is_none() {
                    continue;
                }
                let longest = CASES.map(|case| {
                    let data = cell(cases?, &format!("case/{case}/"))?;
                    Some(data["write"]["max_ns"].as_f64()? / 1e6)
                });
                cells += usize::from(longest.iter().all(Option::is_some) && pushes.is_some());
                writes.extend(longest[2]);
                ratios.extend(pushes.as_ref().map(Pushes::ratio));
                lost += pushes.as_ref().map_or(0, |pushes| pushes.lost);
                let of =
                    |pick: fn(&Pushes) -> f64, digits| figure(pushes.as_ref().map(pick), digits);
                let mut row = vec![kernel.to_owned(), medium.to_owned(), fs.to_owned()];
                row.extend(longest.map(|ms| figure(ms, 1)));
                row.extend([of(|p| p.half_us, 1), of(|p| p.most_us, 0), of(|p| p.copy_us, 0)]);
                row.push(of(Pushes::ratio, 2));
                row.push(pushes.as_ref().map_or("-".to_owned(), |p| p.lost.to_string()));
                table.rows.push(row);
            }
        }
    }
    let all = KERNELS.len() * MEDIA.len() * FILE_SYSTEMS.len();
    let (best, worst) = (least(&ratios), most(&ratios));
    let spread = best.zip(worst).map(|(best, worst)| worst / best);
    let goals = vec![
        Goal {
            what: "A, table 2: NONE, ALL, BGALL and Barograph on 5 kernels, 4 media, 2 file systems",
            goal: "every cell",
            measured: format!("{cells} of {all}"),
            is_met: cells == all,
        },
        Goal {
            what: "A: push independent of medium and kernel: worst / best p99.99, each over memcpy's",
            goal: "<= 2",
            measured: format!(
                "{} ({} places; push / memcpy {} to {})",
                figure(spread, 2),
                ratios.len(),
                figure(best, 2),
                figure(worst, 2)
            ),
            is_met: cells == all && spread.is_some_and(|spread| spread <= INDEPENDENT),
        },
    ];
    let says = vec![
        "The paper (Linux 4.4, eMMC): the longest `write()` is 4.5 ms, 0.3 ms with its recipe (ALL), and 12.5 ms \
         with it beside a load that allocates and truncates (BGALL)."
            .to_owned(),
        format!(
            "Today: the longest `write()` beside BGALL is {} to {} ms.",
            figure(least(&writes), 0), figure(most(&writes), 0)
        ),
        format!(
            "Barograph: `push` makes no system call; of {} million pushes beside BGALL {lost} were lost, and \
             its 99.99th percentile is {} to {} times that of a plain copy.",
            ratios.len() as f64 / 100.0, figure(best, 2), figure(worst, 2)
        ),
    ];
    let section = Section {
        title: "A: how long write() keeps a recorder",
        says,
        command: "cargo xtask lab papers --out FOLDER --only a/,push/",
        tables: vec![table],
    };
    (section, goals)
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

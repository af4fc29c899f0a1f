//! Paper A, table 2: three cases of `write()` and Barograph's `push` on every medium.

use super::page::{Section, Table};
use super::{Found, Goal, cell, figure, quantile_us, span};
use crate::papers::plan::{FILE_SYSTEMS, KERNELS, MEDIA};
use serde_json::Value;

const CASES: [&str; 3] = ["NONE", "ALL", "ALL-BGALL"];
/// A maximum counts if it is so many times as long as what a thread that only slept is late by beside it.
const STANDS_OUT: f64 = 2.0;
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

/// What was pushed in one place, in us of the guest's clock.
struct Pushes {
    half: f64,
    most: f64,
    copy_most: f64,
    /// Of calls that nothing interrupted.
    alone: f64,
    copy_alone: f64,
    /// Share of the calls that were interrupted.
    interrupted: f64,
    copy_interrupted: f64,
    pushed: f64,
    lost: u64,
}

impl Pushes {
    fn of(lines: &[Value]) -> Option<Self> {
        let data = cell(lines, "barograph/BGALL")?;
        let calls = |name: &str| data[name]["calls"].as_f64().filter(|calls| *calls > 0.0);
        let most = |name: &str| quantile_us(&data[name], SHARE);
        Some(Self {
            half: quantile_us(&data["write"], 0.5)?,
            most: most("write")?,
            copy_most: most("memcpy")?,
            alone: most("write_alone")?,
            copy_alone: most("memcpy_alone")?,
            interrupted: 1.0 - calls("write_alone")? / calls("write")?,
            copy_interrupted: 1.0 - calls("memcpy_alone")? / calls("memcpy")?,
            pushed: calls("write")?,
            lost: data["lost"].as_u64()?,
        })
    }
}

/// The longest write() of a case.
struct Longest {
    ms: f64,
    stands_out: bool,
    flusher_off: bool,
}

impl Longest {
    fn of(data: &Value) -> Option<Self> {
        let ms = data["write"]["max_ns"].as_f64()? / 1e6;
        let noise_ms = data["noise"]["max_ns"].as_f64().unwrap_or(0.0) / 1e6;
        let flusher_off = data["flusher"].as_str().is_some_and(|flusher| flusher != "as_found");
        Some(Self { ms, stands_out: ms >= noise_ms * STANDS_OUT, flusher_off })
    }

    fn shown(&self) -> String {
        let noise = if self.stands_out { "" } else { "~" };
        format!("{noise}{:.1}", self.ms)
    }
}

/// What is said of all of them.
#[derive(Default)]
struct Writes {
    count: usize,
    standing_out: usize,
    flusher_off: usize,
    beside_load: Vec<f64>,
}

impl Writes {
    fn add(&mut self, longest: &Longest) {
        self.count += 1;
        self.standing_out += usize::from(longest.stands_out);
        self.flusher_off += usize::from(longest.flusher_off);
    }
}

/// Worst over best.
fn spread(pushes: &[Pushes], of: fn(&Pushes) -> f64) -> Option<f64> {
    let all: Vec<f64> = pushes.iter().map(of).collect();
    Some(most(&all)? / least(&all)?)
}

pub(super) fn section(found: &Found) -> (Section, Vec<Goal>) {
    let mut table = Table::new(
        "The longest of 1,000 write() of 16 KiB, ms, with ~ where it is less than twice what a thread that \
         only slept was late by in the same cell; of 10,000 push() beside BGALL the median and the \
         99.99th percentile, us, then those that nothing interrupted, then how many were; and a memcpy of \
         the same bytes by the same thread",
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
            "push alone p99.99",
            "memcpy alone p99.99",
            "push interrupted",
            "memcpy interrupted",
            "lost",
        ],
    );
    for [kernel, medium, printed @ ..] in PRINTED {
        let mut row = vec![format!("{kernel} (paper)"), medium.to_owned(), "ext4".to_owned()];
        row.extend(printed.map(str::to_owned));
        row.resize(table.columns.len(), "-".to_owned());
        table.rows.push(row);
    }
    let (mut pushed, mut writes, mut cells) = (Vec::new(), Writes::default(), 0);
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
                let longest =
                    CASES.map(|case| Longest::of(cell(cases?, &format!("case/{case}/"))?));
                cells += usize::from(longest.iter().all(Option::is_some) && pushes.is_some());
                longest.iter().flatten().for_each(|longest| writes.add(longest));
                writes.beside_load.extend(longest[2].as_ref().map(|longest| longest.ms));
                let mut row = vec![kernel.to_owned(), medium.to_owned(), fs.to_owned()];
                row.extend(longest.map(|one| one.map_or("-".to_owned(), |one| one.shown())));
                row.extend(columns(pushes.as_ref()));
                table.rows.push(row);
                pushed.extend(pushes);
            }
        }
    }
    let goals = goals(cells, &pushed);
    let section = Section {
        title: "A: how long write() keeps a recorder",
        says: says(&writes, &pushed),
        command: "cargo xtask lab papers --out FOLDER --only a/,push/",
        tables: vec![table],
    };
    (section, goals)
}

fn columns(pushes: Option<&Pushes>) -> [String; 8] {
    let us = |of: fn(&Pushes) -> f64, digits| figure(pushes.map(of), digits);
    let share = |of: fn(&Pushes) -> f64| {
        pushes.map_or("-".to_owned(), |pushes| format!("{:.1} %", 100.0 * of(pushes)))
    };
    [
        us(|p| p.half, 1),
        us(|p| p.most, 0),
        us(|p| p.copy_most, 0),
        us(|p| p.alone, 1),
        us(|p| p.copy_alone, 1),
        share(|p| p.interrupted),
        share(|p| p.copy_interrupted),
        pushes.map_or("-".to_owned(), |pushes| pushes.lost.to_string()),
    ]
}

fn goals(cells: usize, pushed: &[Pushes]) -> Vec<Goal> {
    let all = KERNELS.len() * MEDIA.len() * FILE_SYSTEMS.len();
    let alone = spread(pushed, |p| p.alone);
    vec![
        Goal {
            what: "A, table 2: NONE, ALL, BGALL and Barograph on 5 kernels, 4 media, 2 file systems",
            goal: "every cell",
            measured: format!("{cells} of {all}"),
            is_met: cells == all,
        },
        Goal {
            what: "A: push independent of medium and kernel: worst / best p99.99 of those that nothing \
                   interrupted",
            goal: "<= 2",
            measured: format!(
                "{} ({} places; with the interrupted ones {}, of memcpy {})",
                figure(alone, 2),
                pushed.len(),
                figure(spread(pushed, |p| p.most), 1),
                figure(spread(pushed, |p| p.copy_most), 1),
            ),
            is_met: cells == all && alone.is_some_and(|spread| spread <= INDEPENDENT),
        },
    ]
}

fn says(writes: &Writes, pushed: &[Pushes]) -> Vec<String> {
    let range = |of: fn(&Pushes) -> f64, digits| {
        let all: Vec<f64> = pushed.iter().map(of).collect();
        span(&all, digits)
    };
    let (calls, lost) =
        pushed.iter().fold((0.0, 0), |(calls, lost), one| (calls + one.pushed, lost + one.lost));
    // In per cent; in one place one of the two may meet the clock's tick each time.
    let mean = |of: fn(&Pushes) -> f64| {
        100.0 * pushed.iter().map(of).sum::<f64>() / pushed.len().max(1) as f64
    };
    vec![
        "The paper (Linux 4.4, eMMC): the longest `write()` is 4.5 ms, 0.3 ms with its recipe (ALL), and 12.5 ms \
         with it beside a load that allocates and truncates (BGALL)."
            .to_owned(),
        format!(
            "Today: the longest `write()` beside BGALL is {} ms. But {} of the {} maxima stand out of what a \
             sleeping thread is late by in these guests, so nothing follows from the others.",
            span(&writes.beside_load, 0),
            writes.standing_out,
            writes.count
        ),
        match writes.flusher_off {
            0 => "The kernel's flusher was left on: ALL and BGALL here are what the paper calls WPRE-SDATA-FON and \
                  WPRE-SDATA-FON-BGALL. One set of 1,000 writes, files of 32 MiB; the paper has five sets of \
                  10,000 and files of 100 MB."
                .to_owned(),
            off => format!(
                "The flusher was off in {off} of {} cells. One set of 1,000 writes, files of 32 MiB; the paper has \
                 five sets of 10,000 and files of 100 MB.",
                writes.count
            ),
        },
        format!(
            "Barograph: of {calls} pushes beside BGALL {lost} were lost. Their 99.99th percentile is {} us where \
             nothing interrupted them, that of a memcpy {} us. An interrupt or another thread came into {:.1} % of \
             all pushes and {:.1} % of all copies.",
            range(|p| p.alone, 0),
            range(|p| p.copy_alone, 0),
            mean(|p| p.interrupted),
            mean(|p| p.copy_interrupted),
        ),
        "Pushes are timed in guests whose clock counts instructions, 8 ns each: times of this table are to be \
         compared with each other only. `push` makes no system call, so that what interrupts it is the machine. \
         That they are equal everywhere says that the same instructions run, and not how long they take."
            .to_owned(),
    ]
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pushes(alone_ns: u64) -> Vec<Value> {
        let of =
            |calls: u64, ns: u64| json!({"calls": calls, "max_ns": ns, "steps": [[ns, calls]]});
        let data = json!({
            "write": of(10, 9_000), "memcpy": of(10, 8_000), "lost": 0,
            "write_alone": of(8, alone_ns), "memcpy_alone": of(9, 1_000),
        });
        vec![json!({"cell": "barograph/BGALL/1", "data": data})]
    }

    #[test]
    fn what_is_within_the_noise_is_marked_and_the_flusher_is_named() {
        let mut found = Found::new();
        let case = |name: &str, noise: u64| {
            json!({"cell": format!("case/{name}/1"), "data": {
                "write": {"max_ns": 10_000_000}, "noise": {"max_ns": noise}, "flusher": "as_found"}})
        };
        let cases =
            vec![case("NONE", 4_000_000), case("ALL", 5_100_000), case("ALL-BGALL", 9_000_000)];
        found.insert("a/6.1/sd/ext4".to_owned(), cases);
        let (section, _) = section(&found);
        let row = section.tables[0].rows.last().unwrap();
        assert_eq!(row[3..6], ["10.0", "~10.0", "~10.0"]);
        assert!(section.says[1].contains("1 of the 3 maxima"), "{:?}", section.says);
        assert!(section.says[2].contains("WPRE-SDATA-FON"), "{:?}", section.says);
    }

    #[test]
    fn the_goal_is_about_pushes_alone_and_needs_every_place() {
        let mut found = Found::new();
        for kernel in KERNELS {
            for medium in MEDIA {
                for fs in FILE_SYSTEMS {
                    let place = format!("{kernel}/{medium}/{fs}");
                    let case = |name: &str| json!({"cell": format!("case/{name}/1"), "data": {"write": {"max_ns": 5}}});
                    found.insert(format!("a/{place}"), CASES.map(case).to_vec());
                    found.insert(format!("push/{place}"), pushes(1_000));
                }
            }
        }
        let met =
            |found: &Found| section(found).1.iter().map(|goal| goal.is_met).collect::<Vec<_>>();
        assert_eq!(met(&found), [true, true]);
        let place = "push/6.1/sd/f2fs".to_owned();
        found.insert(place.clone(), pushes(2_100));
        assert_eq!(met(&found), [true, false]);
        let mut unwatched = pushes(1_000);
        unwatched[0]["data"]["write_alone"] = Value::Null;
        found.insert(place, unwatched);
        assert_eq!(met(&found), [false, false]);
    }
}

//! Paper B: 2:1 by weight with I/O of 100 MB, by default and with `baro share run`.

use super::page::{Section, Table};
use super::{Found, Goal, figure, median, span};
use crate::papers::plan::{MEDIA, SHARES, Shares};
use std::collections::BTreeMap;

const GOAL: std::ops::RangeInclusive<f64> = 1.94..=2.06;
const LARGE_BYTES: u64 = 100 << 20;
/// A ratio below this is no longer by weight.
const COLLAPSED: f64 = 1.75;
/// The paper's tables 3 to 5: kernel, disk, direction, MB a call, ratio by default.
const PRINTED: [[&str; 4]; 5] = [
    ["read", "1", "1.96", "-"],
    ["read", "30", "1.92", "-"],
    ["read", "100", "1.26", "1.93"],
    ["write", "10", "1.92", "-"],
    ["write", "100", "1.15", "-"],
];

/// Kernel, disk, direction, bytes of a call.
type Place = (String, String, String, u64);

#[derive(Default)]
struct Cells {
    default: Vec<f64>,
    auto: Vec<f64>,
    default_total: Vec<f64>,
    auto_total: Vec<f64>,
}

pub(super) fn section(found: &Found) -> (Section, Vec<Goal>) {
    let mut places: BTreeMap<Place, Cells> = BTreeMap::new();
    let (mut rows, mut read_back) = (0, 0);
    for row in found.get("share").into_iter().flatten() {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        let place = (|| {
            Some((text("kernel")?, text("disk")?, text("direction")?, row["block_bytes"].as_u64()?))
        })();
        let figures = row["ratio"].as_f64().zip(row["total_mb_per_s"].as_f64());
        let (Some(place), Some((ratio, total))) = (place, figures) else { continue };
        rows += 1;
        read_back +=
            usize::from(row["weights_read"].is_array() && row["weights_read"] == row["weights"]);
        let cells = places.entry(place).or_default();
        let (ratios, totals) = match row["setting"].as_str() {
            Some("default") => (&mut cells.default, &mut cells.default_total),
            Some("auto") => (&mut cells.auto, &mut cells.auto_total),
            _ => continue,
        };
        ratios.push(ratio);
        totals.push(total);
    }
    let mut table = Table::new(
        "Two programs of weights 200:100, libaio, direct, one call at a time: medians over repeats of a \
         minute (least to most)",
        &[
            "kernel",
            "disk",
            "direction",
            "MiB a call",
            "default",
            "`baro share run`",
            "repeats",
            "MB/s, default",
            "MB/s, shared",
        ],
    );
    for [direction, mb, default, cut] in PRINTED {
        let mut row = vec!["5.10 (paper)".to_owned(), "eMMC".to_owned()];
        row.extend([direction, mb, default, cut].map(str::to_owned));
        row.resize(table.columns.len(), "-".to_owned());
        table.rows.push(row);
    }
    for ((kernel, disk, direction, bytes), cells) in &places {
        table.rows.push(vec![
            kernel.clone(),
            disk.clone(),
            direction.clone(),
            (bytes >> 20).to_string(),
            spread(&cells.default),
            spread(&cells.auto),
            format!("{}, {}", cells.default.len(), cells.auto.len()),
            figure(median(&cells.default_total), 1),
            figure(median(&cells.auto_total), 1),
        ]);
    }
    let read = format!(
        "`io.bfq.weight` was read back as both began: as asked in {read_back} of {rows} minutes."
    );
    let section = Section {
        title: "B: bandwidth by weight",
        says: [says(&places), vec![read]].concat(),
        command: "cargo xtask lab papers --out FOLDER --only share/",
        tables: vec![table],
    };
    (section, goals(&places))
}

fn goals(places: &BTreeMap<Place, Cells>) -> Vec<Goal> {
    let large = || places.iter().filter(|(place, _)| place.3 == LARGE_BYTES);
    let collapsed = large()
        .filter(|(_, cells)| median(&cells.default).is_some_and(|ratio| ratio < COLLAPSED))
        .count();
    let on_card = large().any(|(place, cells)| {
        place.0.starts_with("5.10")
            && place.1 == "sd"
            && median(&cells.default).is_some_and(|ratio| ratio < COLLAPSED)
    });
    let auto: Vec<(&Place, f64)> =
        places.iter().filter_map(|(place, cells)| Some((place, median(&cells.auto)?))).collect();
    let held = auto.iter().filter(|(_, ratio)| GOAL.contains(ratio)).count();
    let planned: Vec<_> = SHARES.iter().flat_map(Shares::places).collect();
    let is_measured = |(series, disk, bytes, direction): &(&str, &str, u64, &str)| {
        auto.iter().any(|(place, _)| {
            let (kernel, of_disk, of_direction, of_bytes) = place;
            kernel.starts_with(&format!("{series}."))
                && (of_disk, of_direction, of_bytes)
                    == (&(*disk).to_owned(), &(*direction).to_owned(), bytes)
        })
    };
    let missing = planned.iter().filter(|one| !is_measured(one)).count();
    // Not every medium: a card in the paper's year, and 6.1 and 6.12.
    let is_thrice = |series: &str| {
        large().any(|(place, cells)| place.0.starts_with(series) && cells.auto.len() >= 3)
    };
    let all = ["5.10.", "6.1.", "6.12."].into_iter().all(is_thrice)
        && large().any(|(place, cells)| MEDIA.contains(&place.1.as_str()) && cells.auto.len() >= 3);
    vec![
        Goal {
            what: "B: the collapse of 2:1 with calls of 100 MB, 5.10 on an SD card",
            goal: "shown",
            measured: format!(
                "below {COLLAPSED} in {collapsed} of {} places by default",
                large().count()
            ),
            is_met: on_card,
        },
        Goal {
            what: "B: 2:1 with `baro share run`, every size, kernel and medium",
            goal: "1.94 to 2.06",
            measured: format!(
                "{held} of {} places measured; {} of {} planned have no figure",
                auto.len(),
                missing,
                planned.len()
            ),
            is_met: all && held == auto.len() && missing == 0,
        },
    ]
}

fn says(places: &BTreeMap<Place, Cells>) -> Vec<String> {
    let all = |pick: fn(&Cells) -> &Vec<f64>| -> Vec<f64> {
        places
            .iter()
            .filter(|(place, _)| place.3 == LARGE_BYTES)
            .filter_map(|(_, cells)| median(pick(cells)))
            .collect()
    };
    vec![
        "The paper (Linux 5.10, eMMC): weights of 2:1 give 1.26 when both read 100 MB at a time, 1.15 when they write; an \
         application that was changed to cut its I/O has 1.93."
            .to_owned(),
        format!("Today, by default: {}.", span(&all(|cells| &cells.default), 2)),
        format!(
            "Barograph, programs as they are, sizes chosen by itself: {}.",
            span(&all(|cells| &cells.auto), 2)
        ),
    ]
}

/// `2.00 (1.98 to 2.02)`
fn spread(ratios: &[f64]) -> String {
    let of = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick);
    match (median(ratios), of(f64::min), of(f64::max)) {
        (Some(median), Some(least), Some(most)) if ratios.len() > 1 => {
            format!("{median:.2} ({least:.2} to {most:.2})")
        }
        (Some(median), ..) => format!("{median:.2}"),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rows(kernel: &str, disk: &str, setting: &str, ratios: &[f64]) -> Vec<Value> {
        let row = |ratio: &f64| {
            json!({"what": "share", "kernel": kernel, "disk": disk, "setting": setting,
                   "direction": "read", "block_bytes": LARGE_BYTES, "ratio": ratio, "total_mb_per_s": 20.0})
        };
        ratios.iter().map(row).collect()
    }

    #[test]
    fn every_kernel_has_to_hold_with_three_repeats() {
        let mut all = rows("5.10.0-46-amd64", "sd", "default", &[1.2, 1.3, 1.1]);
        all.extend(rows("5.10.0-46-amd64", "sd", "auto", &[1.9, 2.0, 2.02]));
        all.extend(rows("6.1.0-56-amd64", "flash", "auto", &[2.0, 2.0, 2.0]));
        let met = |all: &[Value]| {
            let found = Found::from([("share".to_owned(), all.to_vec())]);
            section(&found).1.iter().map(|goal| goal.is_met).collect::<Vec<_>>()
        };
        assert_eq!(met(&all), [true, false], "6.12 is missing");
        all.extend(rows("6.12.1", "flash", "auto", &[2.0, 1.95]));
        assert_eq!(met(&all), [true, false], "a repeat is missing");
        all.extend(rows("6.12.1", "flash", "auto", &[1.97]));
        assert_eq!(met(&all), [true, false], "planned places are missing");
        for (series, disk, bytes, direction) in SHARES.iter().flat_map(Shares::places) {
            let mut row = rows(&format!("{series}.9"), disk, "auto", &[2.0]).remove(0);
            (row["block_bytes"], row["direction"]) = (json!(bytes), json!(direction));
            all.push(row);
        }
        assert_eq!(met(&all), [true, true]);
        all.extend(rows("6.12.1", "ssd", "auto", &[1.9]));
        assert_eq!(met(&all), [true, false], "one place is off");
        // A cell without figures is none.
        all.push(json!({"kernel": "6.1.0", "disk": "sd", "cannot": "why"}));
        assert_eq!(met(&all), [true, false]);
    }
}

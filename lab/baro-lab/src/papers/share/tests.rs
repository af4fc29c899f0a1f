//! What fio says, names of cells, and the study of measurements whose conclusions are known: the
//! paper's own figures, others, few and none.

mod mutations;

use super::cells::settled;
use super::moment::{Moment, whole};
use super::printed::{TABLES, WEIGHTS};
use super::read::Spread;
use super::row::{Case, Direction, Figures, Late, Load, Settled, Task};
use super::setting::Setting;
use super::*;
use Direction::{Read, Write};
use baro_bench::experiment::{Head, Measured, Measurement, Study, Verdict};
use std::collections::BTreeMap;

fn spec(extent: Extent) -> ShareSpec {
    ShareSpec {
        dir: "/".into(),
        extent,
        repeats: 2,
        seconds: 1,
        file_bytes: 1 << 30,
        only: Vec::new(),
        reader: Vec::new(),
    }
}

#[test]
fn names_of_cells_read_back() {
    for extent in [Extent::Quick, Extent::Default, Extent::Full] {
        let plan = plan::plan(&spec(extent));
        let mut ids = std::collections::BTreeSet::new();
        for cell in &plan.cells {
            let case = Case::of_cell(&cell.id).unwrap();
            let repeat = cell.id.rsplit('/').next().unwrap().parse().unwrap();
            assert_eq!(case.cell(repeat), cell.id);
            assert!(ids.insert(cell.id.clone()), "twice: {}", cell.id);
        }
        assert!(ids.iter().any(|id| id.ends_with("/1")) && ids.iter().any(|id| id.ends_with("/2")));
    }
    for bad in [
        "",
        "pair/2:1/auto/direct-read/1M/libaio",
        "pair/2:x/auto/direct-read/1M/libaio/1",
        "pair/2:1/other/direct-read/1M/libaio/1",
        "pair/2:1/auto/odd-read/1M/libaio/1",
        "pair/2:1/auto/direct-read/1/libaio/1",
        "pair/2:1/auto/direct-read/1M/libaio/1/2",
    ] {
        assert!(Case::of_cell(bad).is_none(), "{bad}");
    }
}

#[test]
fn cells_are_chosen_by_prefix_and_must_fit_their_file() {
    let few = ShareSpec { only: vec!["player/".into(), "device".into()], ..spec(Extent::Full) };
    let ids: Vec<String> = plan::plan(&few).cells.into_iter().map(|cell| cell.id).collect();
    assert_eq!(ids.iter().filter(|id| id.starts_with("device/")).count(), 4);
    assert!(ids.iter().all(|id| id.starts_with("player/") || id.starts_with("device/")));
    let small = ShareSpec { file_bytes: 20 << 20, ..spec(Extent::Full) };
    let largest = plan::plan(&small)
        .cells
        .iter()
        .filter_map(|cell| Some(Case::of_cell(&cell.id)?.load?.block_mb))
        .max();
    assert_eq!(largest, Some(10));
}

#[test]
fn the_rate_of_fio_is_read_and_its_failure_said() {
    let said = "note: stopped\n{\"jobs\": [{\"error\": 0, \"read\": {\"io_bytes\": 5000000, \"runtime\": \
                2000}, \"write\": {\"io_bytes\": 0, \"runtime\": 0}}]}";
    assert_eq!(fio::rate(said, Read).unwrap(), 2.5);
    assert_eq!(fio::rate(said, Write).unwrap(), 0.0);
    let failed = said.replace("\"error\": 0", "\"error\": 28");
    assert!(fio::rate(&failed, Read).unwrap_err().to_string().contains("error 28"));
    for bad in ["", "fio: no such file", "{", "{}", "{\"jobs\": []}", "{\"jobs\": [{\"read\": 1}]}"]
    {
        assert!(fio::rate(bad, Read).is_err(), "{bad}");
    }
}

#[test]
fn settings_change_what_they_are_named_for_and_nothing_else() {
    for setting in Setting::ALL {
        assert_eq!(Setting::named(setting.name()), Some(setting));
        let policy = setting.policy();
        let ours = matches!(setting, Setting::Remedies | Setting::Auto | Setting::StrictAuto);
        assert_eq!(policy.remedies, ours, "{setting:?}");
        let strict = matches!(setting, Setting::StrictGuarantees | Setting::StrictAuto);
        assert_eq!(policy.strict, strict, "{setting:?}");
        let cuts = matches!(setting, Setting::Fixed | Setting::Auto | Setting::StrictAuto);
        assert_eq!(setting.cuts(), cuts, "{setting:?}");
        let parameter = matches!(setting, Setting::FifoExpire | Setting::MaxBudget);
        assert_eq!(policy.set.is_empty(), !parameter, "{setting:?}");
    }
}

/// Moments 50 ms apart at which the groups have got bytes by these rates.
fn seen(rates: impl Fn(f64) -> [f64; 2]) -> Vec<Moment> {
    let mut bytes = [0.0, 0.0];
    let moments = (0..=400).map(|tick: u64| {
        let now = Moment {
            at_ns: 7_000_000_000 + tick * 50_000_000,
            bytes: bytes.iter().map(|bytes| *bytes as u64).collect(),
        };
        let rate = rates(tick as f64 * 0.05);
        bytes = [bytes[0] + rate[0] * 5e4, bytes[1] + rate[1] * 5e4];
        now
    });
    moments.collect()
}

#[test]
fn a_ratio_has_settled_when_it_stays() {
    let at_once = settled(&seen(|_| [80.0, 40.0]), &[2, 1]);
    assert_eq!((at_once.one_s, at_once.four_s), (Some(1.0), Some(4.0)));
    assert!((at_once.ratio_after_5_s.unwrap() - 2.0).abs() < 1e-6);
    // As asked, then not, then again: only the last time counts, a second after it begins.
    let again = settled(
        &seen(|s| if (2.0..3.0).contains(&s) { [60.0, 60.0] } else { [80.0, 40.0] }),
        &[2, 1],
    );
    let from_s = again.one_s.unwrap();
    assert!((3.85..=4.0).contains(&from_s), "{again:?}");
    // Three seconds of something else count in the rest until little of them is left.
    let rest = settled(&seen(|s| if s < 3.0 { [60.0, 60.0] } else { [80.0, 40.0] }), &[2, 1]);
    assert!((1.5..=2.0).contains(&rest.rest_s.unwrap()), "{rest:?}");
    assert_eq!(at_once.rest_s, Some(0.0));
    let never = settled(&seen(|s| if s > 19.5 { [60.0, 60.0] } else { [80.0, 40.0] }), &[2, 1]);
    assert_eq!(never.one_s, None);
    let starved = settled(&seen(|_| [80.0, 0.0]), &[2, 1]);
    assert_eq!((starved.one_s, starved.rest_s, starved.ratio_after_5_s), (None, None, None));
    assert_eq!(settled(&[], &[2, 1]).one_s, None);
}

#[test]
fn a_large_io_that_is_counted_at_once_is_measured_whole() {
    // An I/O of 100 MB each 2.5 s, counted when it begins, and a few bytes of the file system's.
    let block = 100_000_000;
    let seen: Vec<Moment> = (0..200_u64)
        .map(|tick| Moment {
            at_ns: tick * 50_000_000,
            bytes: vec![(tick / 50 + 1) * block + 4096],
        })
        .collect();
    let found = whole(&seen, 0, block).unwrap();
    assert_eq!(found.blocks, 2);
    assert!((found.mb_per_s - 40.0).abs() < 1e-9, "{found:?}");
    // Between any two moments it would have been another rate.
    assert!((seen[120].rates(&seen[40])[0] - 50.0).abs() < 1e-9);
    assert_eq!(whole(&seen[..60], 0, block), None);
    assert_eq!(whole(&seen, 1, block), None);
    assert_eq!(whole(&[], 0, block), None);
}

#[test]
fn repeats_become_a_median_with_its_spread() {
    let of = |values: &[f64]| Spread::of(values.iter().copied());
    assert_eq!(of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, low: 1.0, high: 3.0 }));
    assert_eq!(of(&[4.0, 1.0]).unwrap().median, 2.5);
    assert_eq!(of(&[f64::NAN]), None);
    assert_eq!(of(&[]), None);
}

fn empty(extent: &str) -> Measurement {
    let machine = Machine::default().with("kernel", "5.10");
    let head = Head::new(NAME, json!({ "extent": extent, "seconds": 60 }), machine);
    Measurement { head, cells: BTreeMap::new() }
}

fn put(measurement: &mut Measurement, case: &Case, repeats: u32, figures: &Figures) {
    for repeat in 1..=repeats {
        let cell = case.cell(repeat);
        let data = serde_json::to_value(figures).unwrap();
        measurement.cells.insert(cell.clone(), Measured { cell, took_ns: 1, data });
    }
}

fn case(task: Task, weights: &[u16], setting: Setting, load: Load) -> Case {
    Case { task, weights: weights.to_vec(), setting, load: Some(load) }
}

fn rates(rates: &[f64]) -> Figures {
    Figures {
        mb_per_s: rates.to_vec(),
        fio_mb_per_s: vec![None; rates.len()],
        seconds: 60.0,
        ..Figures::default()
    }
}

fn played(late_frames: u64) -> Figures {
    let late = Late { frames: 480, late_frames, read_bytes: 41, file_bytes: 40 };
    Figures { late: Some(late), ..rates(&[2.5, 80.0]) }
}

/// What the paper measured, and a machine on which all that we promise holds.
fn of_the_paper() -> Measurement {
    let mut all = empty("full");
    for table in &TABLES {
        for (block_mb, a, b, ..) in table.rows {
            let load = Load::direct(table.direction, *block_mb);
            put(&mut all, &case(Task::Pair, &[2, 1], table.setting, load), 3, &rates(&[*a, *b]));
        }
    }
    for (weights, setting, block_mb, parts) in WEIGHTS {
        let load = Load::direct(Read, block_mb);
        put(&mut all, &case(Task::Pair, weights, setting, load), 3, &rates(parts));
    }
    for (direction, bare) in [(Read, [125.0, 99.2]), (Write, [23.0, 19.9])] {
        let load = Load::direct(direction, 100);
        let total: f64 = bare.iter().sum();
        let healed = rates(&[total * 2.0 / 3.0, total / 3.0]);
        for setting in [Setting::Fixed, Setting::Auto] {
            put(&mut all, &case(Task::Pair, &[2, 1], setting, load), 3, &healed);
        }
        put(&mut all, &case(Task::Player, &[2, 1], Setting::Auto, load), 3, &played(0));
    }
    let load = Load::direct(Read, 100);
    put(&mut all, &case(Task::Player, &[2, 1], Setting::Default, load), 3, &played(9));
    put(&mut all, &case(Task::Player, &[2, 1], Setting::Fixed, load), 3, &played(0));
    put(&mut all, &case(Task::Pair, &[3, 2], Setting::Auto, load), 3, &rates(&[61.0, 40.0]));
    let four = rates(&[31.0, 20.0, 20.0, 10.0]);
    put(&mut all, &case(Task::Pair, &[3, 2, 2, 1], Setting::Auto, load), 3, &four);
    let nested = rates(&[41.0, 30.0, 20.0, 10.0]);
    put(&mut all, &case(Task::Nested, &[4, 3, 2, 1], Setting::Auto, load), 3, &nested);
    put(&mut all, &case(Task::Device, &[1], Setting::Default, load), 3, &rates(&[120.0]));
    for group in [0, 1] {
        let alone = rates(if group == 0 { &[119.0, 0.0] } else { &[0.0, 119.0] });
        put(&mut all, &case(Task::Alone(group), &[2, 1], Setting::Auto, load), 3, &alone);
    }
    let settled = Some(Settled { rest_s: Some(3.0), ..Settled::default() });
    let change = Figures { settled, ..rates(&[80.0, 40.0]) };
    put(&mut all, &case(Task::Change, &[2, 1], Setting::Auto, load), 3, &change);
    all
}

fn verdicts(study: &Study) -> BTreeMap<&str, Verdict> {
    study.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect()
}

#[test]
fn the_papers_figures_fulfil_what_it_says_of_shares() {
    let judged = study(&of_the_paper(), &[]);
    let failed: Vec<_> =
        judged.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(judged.claims.len(), 20);
    // Its tables show themselves beside themselves, to their last digit.
    let ids: Vec<&str> = judged.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids[..6], ["Table 3", "Table 4", "Table 5", "Table 6", "Table 7", "Table 8"]);
    for table in &judged.tables[1..6] {
        for row in &table.rows {
            for pair in row.cells.iter().take(3).filter(|pair| pair.paper.is_some()) {
                let (paper, here) = (pair.paper.unwrap(), pair.here.unwrap());
                assert!((paper - here).abs() < 0.051, "{} {}: {pair:?}", table.id, row.name);
            }
        }
    }
    let figures: Vec<&str> = judged.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(figures, ["Figure 6", "Figure 7", "Figure 8", "Figure 9"]);
    assert!(judged.figures.iter().all(|figure| !figure.svg.contains("NaN")));
}

#[test]
fn rows_have_what_programs_ask_for() {
    let judged = study(&of_the_paper(), &[]);
    let find = |task: &str, setting: &str, direction: &str, mb: u64| {
        let fits = |row: &&Value| {
            row["task"] == task
                && row["setting"] == setting
                && row["direction"] == direction
                && row["block_bytes"] == mb << 20
                && row["weights"] == json!([2, 1])
        };
        judged.rows.iter().find(fits).unwrap_or_else(|| panic!("{task} {setting} {mb}"))
    };
    let row = find("pair", "default", "read", 100);
    assert_eq!(row["mb_per_s"], json!([125.0, 99.2]));
    assert!((row["ratio"].as_f64().unwrap() - 1.26).abs() < 0.001);
    assert!((row["total_mb_per_s"].as_f64().unwrap() - 224.2).abs() < 1e-9);
    assert_eq!((&row["late_frames"], &row["piece_bytes"]), (&Value::Null, &Value::Null));
    assert_eq!((row["repeats"].as_u64(), row["engine"].as_str()), (Some(3), Some("libaio")));
    // Who does not want all that it can get has no ratio.
    let player = find("player", "auto", "read", 100);
    assert_eq!((&player["ratio"], player["late_frames"].as_u64()), (&Value::Null, Some(0)));
    assert_eq!(find("alone-a", "auto_alone_a", "read", 100)["ratio"], Value::Null);
}

#[test]
fn other_figures_refute_it_and_few_repeats_are_not_judged() {
    let mut other = of_the_paper();
    let load = Load::direct(Read, 100);
    let worse = rates(&[60.0, 40.0]);
    put(&mut other, &case(Task::Pair, &[2, 1], Setting::Auto, load), 3, &worse);
    put(&mut other, &case(Task::Pair, &[2, 1], Setting::Default, load), 3, &rates(&[80.0, 40.0]));
    put(&mut other, &case(Task::Pair, &[3, 2], Setting::Auto, load), 3, &worse);
    put(&mut other, &case(Task::Pair, &[3, 2, 2, 1], Setting::Auto, load), 3, &rates(&[1.0; 4]));
    put(&mut other, &case(Task::Alone(1), &[2, 1], Setting::Auto, load), 3, &rates(&[0.0, 100.0]));
    put(&mut other, &case(Task::Player, &[2, 1], Setting::Auto, load), 1, &played(1));
    let never = Figures { settled: Some(Settled::default()), ..rates(&[80.0, 40.0]) };
    put(&mut other, &case(Task::Change, &[2, 1], Setting::Auto, load), 3, &never);
    let judged = study(&other, &[]);
    let found = verdicts(&judged);
    for id in [
        "auto",
        "auto-total",
        "auto-four",
        "auto-alone",
        "auto-player",
        "auto-change",
        "large-reads",
    ] {
        assert_eq!(found[id], Verdict::DoesNotHold, "{id}: {:#?}", judged.claims);
    }
    assert_eq!(found["auto-3-2"], Verdict::Holds);
    // A video from memory proves nothing.
    let late = Late { frames: 480, late_frames: 0, read_bytes: 1, file_bytes: 40 };
    let cached = Figures { late: Some(late), ..rates(&[2.5, 80.0]) };
    put(&mut other, &case(Task::Player, &[2, 1], Setting::Auto, load), 3, &cached);
    assert_eq!(verdicts(&study(&other, &[]))["auto-player"], Verdict::DoesNotHold);
    // One repeat each: shown, not judged.
    let mut few = empty("quick");
    put(&mut few, &case(Task::Pair, &[2, 1], Setting::Auto, load), 1, &worse);
    let judged = study(&few, &[]);
    let claim = judged.claims.iter().find(|claim| claim.id == "auto").unwrap();
    assert_eq!(claim.verdict, Verdict::CannotBeJudged);
    assert!(claim.here.contains("1.50") && claim.why.contains("three times"), "{claim:?}");
    assert!(judged.notes.iter().any(|note| note.starts_with("--quick")), "{:?}", judged.notes);
    // Files of disks measured side by side are one record.
    let again = few.clone();
    let judged = study(&few, &[again.clone(), again]);
    assert_eq!(verdicts(&judged)["auto"], Verdict::DoesNotHold);
}

#[test]
fn repeats_that_differ_too_much_do_not_judge_the_total() {
    let mut all = empty("default");
    let load = Load::direct(Read, 100);
    let cut = case(Task::Pair, &[2, 1], Setting::Auto, load);
    for (repeat, total) in [(1, 110.0), (2, 117.0), (3, 130.0)] {
        let figures = rates(&[total * 2.0 / 3.0, total / 3.0]);
        let (cell, data) = (cut.cell(repeat), serde_json::to_value(&figures).unwrap());
        all.cells.insert(cell.clone(), Measured { cell, took_ns: 1, data });
    }
    put(&mut all, &case(Task::Pair, &[2, 1], Setting::Default, load), 3, &rates(&[70.0, 50.0]));
    let judged = study(&all, &[]);
    assert_eq!(verdicts(&judged)["auto-total"], Verdict::CannotBeJudged);
}

#[test]
fn nothing_measured_is_said_and_paper_b_is_there() {
    let mut none = empty("default");
    let cell = case(Task::Player, &[2, 1], Setting::Auto, Load::direct(Read, 100)).cell(1);
    let data =
        baro_bench::experiment::unavailable("ffmpeg is not installed: apt-get install ffmpeg");
    none.cells.insert(cell.clone(), Measured { cell, took_ns: 1, data });
    let judged = study(&none, &[]);
    assert!(judged.claims.iter().all(|claim| claim.verdict == Verdict::CannotBeJudged));
    assert!(judged.claims.iter().all(|claim| !claim.why.is_empty()));
    assert!(judged.rows.is_empty());
    assert!(judged.text().contains("1.26 | -"), "{}", judged.text());
    assert!(judged.notes.iter().any(|note| note.contains("apt-get install ffmpeg")));
}

#[test]
fn a_cut_that_did_not_happen_is_said() {
    let mut all = empty("default");
    let load = Load::direct(Read, 100);
    let mut figures = rates(&[80.0, 40.0]);
    figures.piece_bytes = Some(vec![8 << 20, 4 << 20]);
    let cut = case(Task::Pair, &[2, 1], Setting::Auto, load);
    put(&mut all, &cut, 1, &figures);
    let said = |all: &Measurement| {
        study(all, &[]).notes.iter().any(|note| note.contains("no call was cut"))
    };
    assert!(said(&all));
    figures.counters = vec![BTreeMap::from([("calls_cut".to_owned(), 3)]), BTreeMap::new()];
    put(&mut all, &cut, 1, &figures);
    assert!(!said(&all));
}

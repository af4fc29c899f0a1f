//! The study on records whose conclusions are known: the paper's own figures, and others.

use super::printed::{FIGURE_5, TABLE_1, TABLE_3_WITH_READER};
use super::study;
use crate::experiment::{Head, Machine, Measured, Measurement, Study, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn latency(min_us: f64, max_us: f64, mean_us: f64) -> Value {
    let ns = |us: f64| (us * 1e3) as u64;
    json!({
        "calls": 10_000, "min_ns": ns(min_us), "max_ns": ns(max_us), "mean_ns": mean_us * 1e3,
        "steps": [[ns(min_us), 4_000], [ns(mean_us), 5_990], [ns(max_us), 10]],
    })
}

fn measurement(machine_wide: bool) -> Measurement {
    let settings = json!({ "machine_wide": machine_wide, "writes": 10_000, "sets": 5 });
    let machine = Machine::default()
        .with("kernel", "4.4")
        .with("device", "mmcblk0")
        .with("device model", "as found")
        .with("mount options", "rw,noatime,lazytime");
    Measurement { head: Head::new("recorder", settings, machine), cells: BTreeMap::new() }
}

fn put(measurement: &mut Measurement, cell: &str, data: Value) {
    let measured = Measured { cell: cell.to_owned(), took_ns: 1, data };
    measurement.cells.insert(cell.to_owned(), measured);
}

fn noise(max_us: f64) -> Value {
    json!({ "max_ns": (max_us * 1e3) as u64 })
}

/// What the paper measured, as a run would have stored it.
fn of_the_paper(noise_us: f64) -> Measurement {
    let mut all = measurement(true);
    for (name, [min, max, mean]) in TABLE_1 {
        let cause = if name.contains("-BG") { "transaction_locked" } else { "extent_lock" };
        let outlier = json!({ "call": "write", "wait_ns": (max * 1e3) as u64, "cause": cause,
                              "root": cause, "unexplained_ns": 0 });
        let data = json!({
            "write": latency(min, max, mean), "noise": noise(noise_us), "journal_handles": 3,
            "lost_periods": 0, "outliers": [outlier],
        });
        put(&mut all, &format!("case/{name}/1"), data);
    }
    put(&mut all, "reader/alone", json!({ "load": { "read_bytes_per_s": 40e6 } }));
    for ((name, [min, max, mean]), (_, share)) in TABLE_3_WITH_READER.into_iter().zip(FIGURE_5) {
        let data = json!({ "write": latency(min, max, mean), "noise": noise(noise_us),
                           "load": { "read_bytes_per_s": share * 40e6 } });
        put(&mut all, &format!("reader/{name}"), data);
    }
    for (bytes, ns) in [(256_u64 << 10, 40e6), (8 << 20, 700e6)] {
        let flush = json!({ "mean_ns": ns, "calls": 10, "max_ns": ns });
        let data = json!({ "write": latency(1.0, 2.0, 1.5), "flush": flush });
        put(&mut all, &format!("unit/{bytes}"), data);
    }
    for load in ["idle", "BGALL"] {
        let data = json!({ "write": latency(1.0, 40.0, 2.0), "noise": noise(noise_us) });
        put(&mut all, &format!("barograph/{load}/1"), data);
    }
    all
}

fn verdicts(study: &Study) -> BTreeMap<&str, Verdict> {
    study.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect()
}

#[test]
fn the_papers_figures_fulfil_its_claims() {
    let all = of_the_paper(20.0);
    let judged = study(&all, std::slice::from_ref(&all));
    let failed: Vec<_> =
        judged.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(judged.claims.len(), 19);
    // Table and figure show them beside themselves.
    let table = &judged.tables[0];
    assert_eq!((table.id.as_str(), table.rows.len()), ("Table 1", 12));
    for row in &table.rows {
        for pair in row.cells.iter().take(3) {
            let (paper, here) = (pair.paper.unwrap(), pair.here.unwrap());
            assert!((paper - here).abs() < 0.5, "{}: {pair:?}", row.name);
        }
    }
}

#[test]
fn other_figures_refute_them_and_noise_forbids_to_judge() {
    let mut other = of_the_paper(20.0);
    let cell = |max: f64| {
        json!({ "write": latency(80.0, max, 300.0), "noise": noise(20.0), "journal_handles": 10_000,
                "outliers": [{ "call": "write", "wait_ns": 1, "cause": "device", "root": "device",
                               "unexplained_ns": 0 }] })
    };
    put(&mut other, "case/ALL/1", cell(500_000.0));
    put(&mut other, "case/NONE/1", cell(400_000.0));
    put(&mut other, "case/ALL-BGTRUNC/1", cell(90.0));
    put(&mut other, "case/ALL-BGALL/1", cell(90.0));
    put(&mut other, "barograph/BGALL/1", json!({ "write": latency(1.0, 81.0, 2.0) }));
    let judged = study(&other, &[]);
    let found = verdicts(&judged);
    for id in [
        "all-below-1ms",
        "all-beats-none",
        "mean",
        "sall",
        "truncate",
        "idle-gaps",
        "flusher",
        "locked",
        "extent-lock",
        "lazytime",
        "barograph",
        "append-sdata",
    ] {
        assert_eq!(found[id], Verdict::DoesNotHold, "{id}: {judged:#?}");
    }
    assert_eq!(found["media"], Verdict::CannotBeJudged);
    let noisy = of_the_paper(1e6);
    let judged = study(&noisy, &[]);
    let found = verdicts(&judged);
    for id in [
        "all-beats-none",
        "sall",
        "sall-loaded",
        "append-sync",
        "truncate",
        "flusher",
        "append-sdata",
    ] {
        assert_eq!(found[id], Verdict::CannotBeJudged, "{id}");
    }
}

#[test]
fn nothing_measured_is_said_and_the_paper_is_there() {
    let judged = study(&measurement(false), &[]);
    assert!(judged.claims.iter().all(|claim| claim.verdict == Verdict::CannotBeJudged));
    assert!(judged.claims.iter().all(|claim| !claim.why.is_empty()), "{:#?}", judged.claims);
    let ids: Vec<&str> = judged.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids[..3], ["Table 1", "Table 2", "Table 3"]);
    let figures: Vec<&str> = judged.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(figures[..2], ["Figure 4", "Figure 5"]);
    assert!(judged.notes.iter().any(|note| note.contains("Figures 1 to 3")));
    assert!(judged.text().contains("121,756 | -"), "{}", judged.text());
    assert!(judged.html().contains("<i>121,756</i> -"));
}

#[test]
fn of_several_sets_the_worst_counts() {
    let mut all = of_the_paper(20.0);
    let worse = json!({ "write": latency(50.0, 9_999.0, 60.0), "noise": noise(5.0) });
    put(&mut all, "case/NONE/2", worse);
    put(&mut all, "case/NONE/3", json!({ "unavailable": "no" }));
    let judged = study(&all, &[]);
    assert_eq!(judged.tables[0].rows[0].cells[1].here, Some(9_999.0));
    assert_eq!(judged.tables[0].rows[0].cells[0].here, Some(50.0));
}

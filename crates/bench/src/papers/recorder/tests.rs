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
        // A second set, as equal as runs are.
        let data =
            json!({ "write": latency(min, max * 0.99, mean * 1.01), "noise": noise(noise_us) });
        put(&mut all, &format!("case/{name}/2"), data);
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

/// Sets a figure of a cell, whatever else is in it.
fn set(measurement: &mut Measurement, cell: &str, key: &str, value: Value) {
    let data = &mut measurement.cells.get_mut(cell).unwrap().data;
    match key.split_once('.') {
        Some((outer, inner)) => data[outer][inner] = value,
        None => data[key] = value,
    }
}

fn set_max(measurement: &mut Measurement, case: &str, max_us: f64) {
    for number in [1, 2] {
        set(measurement, &format!("case/{case}/{number}"), "write", latency(1.0, max_us, 2.0));
    }
}

fn waits_for_the_device(measurement: &mut Measurement) {
    let outlier = json!([{ "call": "write", "wait_ns": 1, "cause": "device", "root": "device",
                           "unexplained_ns": 0 }]);
    for (name, _) in TABLE_1 {
        set(measurement, &format!("case/{name}/1"), "outliers", outlier.clone());
    }
}

/// What refutes a claim, and what leaves it open, beginning with what fulfils it.
type Mutation = (&'static str, fn(&mut Measurement), fn(&mut Measurement));

/// Noise as long as anything measured.
fn noisy(measurement: &mut Measurement) {
    for measured in measurement.cells.values_mut() {
        measured.data["noise"] = noise(1e6);
    }
}

/// A device with a bucket for reads and one for writes.
fn modelled(measurement: &mut Measurement) {
    let machine = Machine::default().with("device model", "12 MB/s, 40 MB/s").with("kernel", "4.4");
    measurement.head.machine = machine;
}

fn without_causes(measurement: &mut Measurement) {
    for measured in measurement.cells.values_mut() {
        measured.data["outliers"] = json!([]);
    }
}

#[rustfmt::skip]
const MUTATIONS: [Mutation; 19] = [
    ("all-below-1ms", |m| set_max(m, "ALL", 5e5), |m| { set_max(m, "ALL", 2e3); noisy(m); }),
    ("all-beats-none", |m| set_max(m, "ALL", 5e5), noisy),
    ("mean", |m| for n in [1, 2] { set(m, &format!("case/ALL/{n}"), "write", latency(1.0, 300.0, 290.0)); },
             |m| set(m, "case/ALL/2", "write", latency(1.0, 300.0, 290.0))),
    ("sall", |m| set_max(m, "WPRE-SALL-FOFF", 100.0), noisy),
    ("sall-loaded", |m| set_max(m, "WPRE-SALL-FOFF-BGALL", 100.0), noisy),
    ("append-sdata", |m| set_max(m, "WAPPEND-SDATA-FOFF", 100.0),
                     // The noise of another case than its own.
                     |m| set(m, "case/NONE/1", "noise", noise(1e6))),
    ("append-sync", |m| set_max(m, "WAPPEND-SDATA-FOFF", 100.0), noisy),
    ("truncate", |m| set_max(m, "ALL-BGTRUNC", 90.0), noisy),
    ("idle-gaps", |m| set_max(m, "ALL-BGALL", 90.0), noisy),
    ("barograph", |m| set(m, "barograph/BGALL/1", "write", latency(1.0, 4e3, 2.0)), noisy),
    ("flusher", |m| set_max(m, "WPRE-SDATA-FON", 100.0), noisy),
    ("flusher-loaded", |m| set_max(m, "WPRE-SDATA-FON-BGALL", 100.0),
                       |m| m.head.settings["machine_wide"] = json!(false)),
    ("media", |m| set_max(m, "ALL", 5e5), |m| { set_max(m, "ALL", 2e3); noisy(m); }),
    ("reader-latency", |m| set(m, "reader/ALL", "write", latency(1.0, 9e7, 2.0)), modelled),
    ("reader-share", |m| set(m, "reader/ALL", "load.read_bytes_per_s", json!(1e6)), modelled),
    ("locked", waits_for_the_device, without_causes),
    ("extent-lock", waits_for_the_device, without_causes),
    ("lazytime", |m| set(m, "case/ALL/1", "journal_handles", json!(10_000)), modelled),
    ("unit", |m| set(m, "unit/8388608", "flush.mean_ns", json!(9e10)), modelled),
];

#[test]
fn each_claim_is_refuted_by_what_refutes_it_and_open_where_nothing_follows() {
    let sound = of_the_paper(20.0);
    let claims = study(&sound, std::slice::from_ref(&sound)).claims;
    assert_eq!(claims.len(), MUTATIONS.len());
    for claim in &claims {
        let mutation = MUTATIONS.iter().find(|mutation| mutation.0 == claim.id);
        let (id, refuting, opening) = mutation.unwrap_or_else(|| panic!("{} has none", claim.id));
        let verdict = |mutate: &fn(&mut Measurement)| {
            let mut other = of_the_paper(20.0);
            mutate(&mut other);
            let judged = study(&other, std::slice::from_ref(&other));
            judged.claims.into_iter().find(|claim| claim.id == *id).unwrap()
        };
        let refuted = verdict(refuting);
        assert_eq!(refuted.verdict, Verdict::DoesNotHold, "{refuted:#?}");
        let open = verdict(opening);
        let unjudged = [Verdict::CannotBeJudged, Verdict::ModelCannotShow];
        assert!(unjudged.contains(&open.verdict) && !open.why.is_empty(), "{open:#?}");
        assert!(!open.why.contains("not measured"), "the reason is another: {open:#?}");
    }
    let mut there = of_the_paper(20.0);
    modelled(&mut there);
    let judged = study(&there, &[]);
    let found = verdicts(&judged);
    for id in ["reader-latency", "reader-share", "unit"] {
        assert_eq!(found[id], Verdict::ModelCannotShow, "{id}");
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

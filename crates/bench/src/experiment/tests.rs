//! Runs of an experiment that only counts, its file at every prefix, and reports of any numbers.

use super::chart::{BarChart, BoxChart, BoxPlot, Line, LineChart};
use super::*;
use crate::BenchError;
use std::path::PathBuf;

/// Three cells; the second ends as it is told to.
struct Counting {
    settings: Value,
    measured: Vec<String>,
    second: fn() -> Result<Value, BenchError>,
}

impl Counting {
    fn new(second: fn() -> Result<Value, BenchError>) -> Self {
        Self { settings: json!({ "writes": 10 }), measured: Vec::new(), second }
    }
}

impl Experiment for Counting {
    fn plan(&self) -> Plan {
        let cell = |id: &str| Cell { id: id.to_owned(), expected_ns: 1_000 };
        Plan {
            experiment: "counting",
            settings: self.settings.clone(),
            cells: vec![cell("a"), cell("b/1"), cell("b/2")],
        }
    }

    fn measure(&mut self, cell: &Cell, _stop: &AtomicBool) -> Result<Value, BenchError> {
        self.measured.push(cell.id.clone());
        match cell.id.as_str() {
            "b/1" => (self.second)(),
            _ => Ok(json!({ "nested": { "number": 7 } })),
        }
    }
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-exp-{name}-{}", std::process::id()));
        let _ = baro_sys::files::remove_empty_folder(&path);
        baro_sys::files::make_folder(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("m.jsonl")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = baro_sys::files::remove_empty_folder(&self.0);
    }
}

fn here() -> Machine {
    Machine::default().with("kernel", "6.18").with("memory", "23 GB")
}

fn go(experiment: &mut Counting, machine: Machine, file: &Path) -> Result<Measurement, BenchError> {
    run(experiment, machine, file, &AtomicBool::new(false), &mut |_| {})
}

#[test]
fn a_run_that_broke_off_goes_on_where_it_was() {
    let place = Place::new("resume");
    let mut broken = Counting::new(|| Err(BenchError::Refused("no".to_owned())));
    assert!(go(&mut broken, here(), &place.file()).is_err());
    assert_eq!(broken.measured, ["a", "b/1"]);
    let mut whole = Counting::new(|| Ok(unavailable("needs root")));
    let mut seen = Vec::new();
    let measured = run(&mut whole, here(), &place.file(), &AtomicBool::new(false), &mut |now| {
        seen.push((now.done, now.cell.map(str::to_owned)));
    });
    let measured = measured.unwrap();
    assert_eq!(whole.measured, ["b/1", "b/2"]);
    assert_eq!(seen, [(1, Some("b/1".to_owned())), (2, Some("b/2".to_owned())), (3, None)]);
    assert_eq!(measured.number("a", "nested.number"), Some(7.0));
    assert_eq!(measured.unavailable("b/1"), Some("needs root"));
    assert!(measured.data("b/1").is_none() && measured.number("a", "nested").is_none());
    assert_eq!(Measurement::read(&place.file()).unwrap(), measured);
    let mut again = Counting::new(|| Err(BenchError::Stopped));
    go(&mut again, here(), &place.file()).unwrap();
    assert!(again.measured.is_empty(), "{:?}", again.measured);
}

#[test]
fn other_settings_machines_versions_and_files_are_refused() {
    let place = Place::new("refused");
    let refused = |experiment: &mut Counting, machine| {
        go(experiment, machine, &place.file()).unwrap_err().to_string()
    };
    let good = || Counting::new(|| Ok(json!(1)));
    go(&mut good(), here(), &place.file()).unwrap();
    let mut other = good();
    other.settings = json!({ "writes": 11 });
    assert!(refused(&mut other, here()).contains("\"writes\":10"), "settings");
    let kernel = refused(&mut good(), here().with("kernel", "5.10"));
    assert!(kernel.contains("where kernel is 6.18, here it is 5.10"), "{kernel}");
    // What changes from day to day does not matter.
    go(&mut good(), here().with("memory", "22 GB"), &place.file()).unwrap();
    for (text, expected) in [
        ("{\"barograph_measurement\":2,\"x\":1}\n", "version 2"),
        ("{\"other\":1}\n", "does not say so"),
        ("a text\n", "no JSON"),
        ("a text without a line's end", "is no measurement"),
    ] {
        baro_sys::files::write(&place.file(), text.as_bytes()).unwrap();
        let said = refused(&mut good(), here());
        assert!(said.contains(expected), "{said}");
        let kept = baro_sys::files::read_text(&place.file(), 1 << 20).unwrap();
        assert_eq!(kept, text);
        assert!(Measurement::read(&place.file()).is_err());
    }
}

#[test]
fn every_prefix_of_a_measurement_gives_its_whole_cells() {
    let place = Place::new("prefix");
    let mut whole = Counting::new(|| Ok(json!({ "µs": 3 })));
    let measured = go(&mut whole, here(), &place.file()).unwrap();
    let bytes = baro_sys::files::read_text(&place.file(), 1 << 20).unwrap().into_bytes();
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for length in 0..=bytes.len() {
        baro_sys::files::write(&place.file(), &bytes[..length]).unwrap();
        let lines = ends.iter().filter(|end| **end < length).count();
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        match Measurement::parse(&text) {
            Ok((found, kept)) => {
                assert_eq!(found.cells.len() + 1, lines, "{length}");
                assert_eq!(kept, ends[lines - 1] + 1, "{length}");
            }
            Err(said) => assert!(lines == 0, "{length}: {said}"),
        }
        // A cut in the middle of a character too: whoever continues gets the whole of it again.
        if std::str::from_utf8(&bytes[..length]).is_ok() && (length == 0 || length > 24) {
            let mut rest = Counting::new(|| Ok(json!({ "µs": 3 })));
            let mut again = go(&mut rest, here(), &place.file()).unwrap();
            assert_eq!(rest.measured.len(), 3 - lines.saturating_sub(1).min(3), "{length}");
            again.head.begun_unix_ns = measured.head.begun_unix_ns;
            for (cell, found) in &again.cells {
                assert_eq!(found.data, measured.cells[cell].data);
            }
        }
    }
}

#[test]
fn a_stop_ends_before_the_next_cell() {
    let place = Place::new("stop");
    let mut experiment = Counting::new(|| Ok(json!(1)));
    let stop = AtomicBool::new(false);
    let result = run(&mut experiment, here(), &place.file(), &stop, &mut |now| {
        if now.cell == Some("b/1") {
            stop.store(true, Relaxed);
        }
    });
    assert!(matches!(result, Err(BenchError::Stopped)), "{result:?}");
    assert_eq!(experiment.measured, ["a", "b/1"]);
}

fn study() -> Study {
    let table = Table {
        id: "Table 1".to_owned(),
        caption: "write() <latency>".to_owned(),
        first: "case".to_owned(),
        columns: vec![Column::new("max us", 0), Column::new("ours", 2)],
        rows: vec![
            Row {
                name: "NONE".to_owned(),
                cells: vec![Pair::new(Some(4454.0), Some(12_345_678.9)), Pair::here(Some(0.5))],
                missing: None,
            },
            Row {
                name: "ALL".to_owned(),
                cells: vec![Pair::new(Some(309.0), None), Pair::default()],
                missing: Some("needs \"root\"".to_owned()),
            },
        ],
    };
    let claim = |id: &str| Claim::new(id, "section 4", "A < B & C", "1 against 2");
    Study {
        title: "Paper <A>".to_owned(),
        paper: "A journal, 2020".to_owned(),
        machine: here(),
        tables: vec![table],
        figures: vec![Figure {
            id: "Figure 4".to_owned(),
            caption: "boxes".to_owned(),
            svg: "<svg></svg>".to_owned(),
        }],
        claims: vec![
            claim("a").judged(Some((true, "0.5 against 2".to_owned())), "the rule", "-"),
            claim("b").judged(Some((false, "3 against 2".to_owned())), "the rule", "-"),
            claim("c").judged(None, "the rule", "needs root"),
        ],
        notes: vec!["one <disk> only".to_owned()],
        rows: Vec::new(),
    }
}

#[test]
fn a_report_holds_everything_and_refers_to_nothing() {
    let html = study().html();
    for part in [
        "Paper &lt;A&gt;",
        "<td><i>4,454</i> 12,345,679</td>",
        "A &lt; B &amp; C",
        "does not hold here",
        "<svg></svg>",
        "one &lt;disk&gt; only",
        "6.18",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    for outside in ["http", "<script", "src=", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let text = study().text();
    for part in [
        "  NONE  4,454 | 12,345,679  0.50",
        "  ALL              309 | -     -  (needs \"root\")",
        "[holds] A < B & C (section 4)",
        "3 claims: 1 hold, 1 do not hold here, 1 cannot be judged here",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn coordinates_are_finite_whatever_the_data() {
    let strange = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300, 5.0];
    for (log, values) in [(true, &strange[..]), (false, &strange[..]), (true, &[]), (false, &[])] {
        let points = values.iter().copied().zip(values.iter().copied()).collect();
        let name = "a<b".to_owned();
        let lines = LineChart {
            title: name.clone(),
            x: "x".to_owned(),
            y: "y".to_owned(),
            log_x: log,
            log_y: log,
            lines: vec![Line { name: name.clone(), points, dashed: true }],
        };
        let boxes = values.iter().map(|value| BoxPlot {
            name: name.clone(),
            marks: [*value; 6],
            paper_max: Some(*value),
        });
        let boxes = BoxChart {
            title: name.clone(),
            y: "us".to_owned(),
            limit: values.first().copied(),
            boxes: boxes.collect(),
        };
        let bars = BarChart {
            title: name.clone(),
            y: "MB/s".to_owned(),
            log,
            series: vec![name.clone()],
            groups: values.iter().map(|value| (name.clone(), vec![Some(*value), None])).collect(),
            digits: 1,
        };
        for svg in [lines.svg(), boxes.svg(), bars.svg()] {
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("a<b"), "{svg}");
            for attribute in [" y=\"", " x=\"", " cy=\"", " cx=\""] {
                for part in svg.split(attribute).skip(1) {
                    let number: f64 = part.split('"').next().unwrap().parse().unwrap();
                    assert!((-10.0..2000.0).contains(&number), "{number}: {svg}");
                }
            }
        }
    }
}

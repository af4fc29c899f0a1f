//! A writing process's end of the pipes, the ways of reading, and the study of measurements that were
//! committed, made of the paper's own numbers, and empty.

mod mutations;

use super::order::STOP;
use super::reads::{Data, read, write};
use super::*;
use crate::files::{Point, Progress, Steady};
use baro_bench::experiment::{Claim, Head, Machine, Measured, Measurement, Verdict};
use baro_bench::store::ingest;
use baro_store::{Interval, Query, Selection, Store};
use baro_sys::{clock, files};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-files-{name}-{}", std::process::id()));
        let _ = files::remove_tree(&path);
        files::make_folder(&path).unwrap();
        Self(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = files::remove_tree(&self.0);
    }
}

/// What a worker says, line by line.
struct Lines(Sender<String>, String);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1.push_str(std::str::from_utf8(bytes).unwrap());
        while let Some((line, rest)) = self.1.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            let _ = self.0.send(line);
            self.1 = rest;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn next(said: &Receiver<String>) -> Said {
    serde_json::from_str(&said.recv().unwrap()).unwrap()
}

fn order(kind: Kind, folder: PathBuf) -> Order {
    Order {
        kind,
        folder,
        files: 7,
        block_bytes: 4_096,
        file_bytes_max: 40_960,
        flat: true,
        sync: false,
        layer: false,
        log_bytes: 64 << 20,
        points_every_ns: 5_000_000,
        group: None,
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let names = files::list(folder).unwrap();
    names.iter().map(|name| files::size_bytes(&folder.join(name)).unwrap()).sum()
}

#[test]
fn a_worker_prepares_writes_reports_and_ends_with_its_input() {
    let place = Place::new("worker");
    let folder = place.0.join("w");
    let (tell, told) = channel::<std::io::Result<String>>();
    let (sender, said) = channel();
    let worker = std::thread::spawn(move || work(told.into_iter(), Lines(sender, String::new())));
    let line = |text: String| tell.send(Ok(text)).unwrap();
    // No rotation: then what is there is what was written.
    let order = Order { file_bytes_max: u64::MAX, ..order(Kind::Files, folder.clone()) };
    line(serde_json::to_string(&order).unwrap());
    assert!(matches!(next(&said), Said::Ready { .. }));
    let mut written = 0;
    for rate in [Some(1_000_000), None] {
        line(serde_json::to_string(&Go { bytes_per_s: rate }).unwrap());
        let Said::Point(point) = next(&said) else { panic!("no point") };
        assert!(point.at_ns >= 5_000_000);
        line(STOP.to_owned());
        let report = loop {
            match next(&said) {
                Said::Report(report) => break report,
                other => assert!(matches!(other, Said::Point(_)), "{other:?}"),
            }
        };
        assert_eq!(report.written_bytes, report.writes * 4_096);
        if let Some(rate) = rate {
            assert!(report.written_bytes <= rate * report.duration_ns / 1_000_000_000);
        }
        written += report.written_bytes;
    }
    drop(tell);
    worker.join().unwrap().unwrap();
    assert_eq!(bytes_in(&folder), written);
}

#[test]
fn a_worker_says_what_is_wrong() {
    let place = Place::new("wrong");
    for (text, expected) in [
        ("{}".to_owned(), "expected an order"),
        (
            serde_json::to_string(&order(Kind::Files, place.0.join("a/b"))).unwrap(),
            "cannot make the directory",
        ),
        (
            serde_json::to_string(&Order {
                block_bytes: 15,
                ..order(Kind::Store, place.0.join("s"))
            })
            .unwrap(),
            "at least 16",
        ),
    ] {
        let (sender, said) = channel();
        let lines = vec![Ok(text)].into_iter();
        assert!(work(lines, Lines(sender, String::new())).is_err());
        let Said::Error(what) = next(&said) else { panic!("no error") };
        assert!(what.contains(expected), "{what}");
    }
}

#[test]
fn a_store_holds_what_was_counted() {
    let place = Place::new("store");
    let path = place.0.join("store");
    let mut store = StoreWriter::prepare(&order(Kind::Store, path.clone())).unwrap();
    let stop = AtomicBool::new(false);
    let pace = crate::files::Pace { bytes_per_s: Some(10_000_000) };
    let progress = Progress::default();
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while progress.point(0).bytes < 1_000_000 {
                clock::sleep_ns(1_000_000);
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        store.run(pace, &progress, &stop).unwrap()
    });
    store.close().unwrap();
    assert!(report.written_bytes >= 1_000_000);
    assert_eq!(progress.point(0).bytes, report.written_bytes);
    let store = Store::open(&path).unwrap();
    let selection = Selection::all(store.catalog(), false).unwrap();
    let mut rows = 0;
    store
        .query(&selection, &Query::raw(Interval::ALL), |batch| {
            rows += batch.times_ns.len() as u64;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(rows * 16, report.written_bytes);
}

#[test]
fn each_way_of_reading_finds_the_interval() {
    let place = Place::new("reads");
    let data = Data { sensors: 20, block_bytes: 4_096, rounds: 16 };
    for of in ["log", "files", "store"] {
        let folder = place.0.join(of);
        write(of, &folder, data, &AtomicBool::new(false)).unwrap();
        assert_eq!(read(of, &folder, 13, data).unwrap(), 4 * 4_096, "{of}");
    }
    let store = place.0.join("store");
    ingest::settle(&store).unwrap();
    assert_eq!(read("store", &store, 0, data).unwrap(), 4 * 4_096);
    // Nobody's samples are not found.
    assert_eq!(read("log", &place.0.join("log"), 20, data).unwrap(), 0);
    let stopped = write("log", &place.0.join("x"), data, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(BenchError::Stopped)));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let place = Place::new("refused");
    let options = |scale, only: &str| FilesOptions {
        dir: place.0.clone(),
        extent: Extent::Quick,
        device: Device::Hdd,
        scale,
        only: vec![only.to_owned()],
        worker: Vec::new(),
        no_stand: None,
        no_model: None,
    };
    for (options, expected) in [
        (options(0, ""), "scale is 0"),
        (options(1_000, "no-such"), "no cell of a quick run"),
        (FilesOptions { dir: place.0.join("missing"), ..options(1_000, "") }, "missing"),
    ] {
        let error = FilesExperiment::new(options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A measurement with greedy cells of these rates, read shares and write sizes.
fn measurement(device: &str, cells: &[(String, Value)]) -> Measurement {
    let settings = json!({ "device": device, "extent": "default", "scale": 1, "stand": "loop" });
    let measured = |(cell, data): &(String, Value)| {
        (cell.clone(), Measured { cell: cell.clone(), took_ns: 1, data: data.clone() })
    };
    Measurement {
        head: Head::new(NAME, settings, Machine::default()),
        cells: cells.iter().map(measured).collect(),
    }
}

/// A cell with a steady rate, and classes of share (percent) and mean (KiB).
fn cell(mb_per_s: f64, kwa: f64, classes: &[(&str, f64, f64)]) -> Value {
    let point = |s: u64| Point {
        at_ns: s * 1_000_000_000,
        bytes: (s as f64 * mb_per_s * 1e6) as u64,
        rotations: 0,
    };
    let class = |(name, share, mean): &(&str, f64, f64)| {
        let done_bytes = (share * 1e9) as u64;
        let requests = (done_bytes as f64 / (mean * 1024.0)).ceil() as u64;
        let class = Class { requests, requested_bytes: done_bytes, done_bytes };
        ((*name).to_owned(), class)
    };
    let traffic = Traffic {
        written_bytes: (kwa * 1e9) as u64,
        classes: classes.iter().map(class).collect::<BTreeMap<_, _>>(),
        ..Traffic::default()
    };
    serde_json::to_value(Greedy {
        points: (1..=9).map(point).collect(),
        steady: Steady {
            steady: true,
            from_ns: 3_000_000_000,
            to_ns: 9_000_000_000,
            bytes_per_s: mb_per_s * 1e6,
            rotations: 0,
        },
        application_synced_bytes: 1_000_000_000,
        synced: Some(traffic),
        ..Greedy::default()
    })
    .unwrap()
}

/// What the paper has, as if it had been measured; each rate is put to the power.
fn papers(power: f64) -> (Measurement, Measurement) {
    let rate = |v: f64| v.powf(power);
    let table = |group: &str, rows: &[paper::Printed]| -> Vec<(String, Value)> {
        let each = rows.iter().map(|row| {
            let id = format!("{group}/F={}/B={}K", row.files, row.block_kib);
            (id, cell(rate(row.mb_per_s), row.kwa, row.classes))
        });
        each.collect()
    };
    let mut hdd = table("matrix", &paper::TABLE_3);
    let usual = |group: &str, kib: u64| format!("{group}/F=100000/B={kib}K");
    for (group, part) in paper::FIGURE_5.into_iter().skip(1) {
        hdd.push((usual(group, 4), cell(rate(3.5 * part), 1.5, &[])));
    }
    for (kib, v) in [(4, 3.0), (16, 9.0), (32, 20.0), (48, 19.0), (64, 15.0)] {
        hdd.push((usual("layer", kib), cell(rate(v), 1.2, &[])));
    }
    hdd.push((usual("fsync", 4), cell(0.1, paper::FSYNC_KWA, &[])));
    for files in [100_000, 1_000_000] {
        hdd.push((format!("store/F={files}/B=4K"), cell(rate(100.0), 0.5, &[])));
    }
    let mut ssd = table("matrix", &paper::TABLE_4);
    // Figure 7, by its text: 20 % are left with the best B.
    ssd.push(("matrix/F=1000000/B=32K".to_owned(), cell(rate(40.0), 1.5, &[])));
    ssd.extend(table("f2fs", &paper::TABLE_5));
    (measurement("hdd", &hdd), measurement("ssd", &ssd))
}

fn verdicts(claims: &[Claim], verdict: Verdict) -> Vec<&str> {
    let of = claims.iter().filter(|claim| claim.verdict == verdict);
    of.map(|claim| claim.id.as_str()).collect()
}

#[test]
fn the_papers_own_numbers_fulfil_what_it_says_of_files() {
    let (hdd, ssd) = papers(1.0);
    let study = study(&hdd, &[ssd]);
    assert_eq!(verdicts(&study.claims, Verdict::DoesNotHold), [""; 0]);
    // Rotations are no part of its tables, reads it did not measure, and swap is not used here.
    let open = ["rotation-dips", "swapping", "one-file-reads-all", "index-for-reads"];
    assert_eq!(verdicts(&study.claims, Verdict::CannotBeJudged), open);
    let row = &study.tables[0].rows[0];
    let last = row.cells.last().unwrap();
    assert_eq!(last.paper, Some(1.001));
    assert!((last.here.unwrap() - 1.001).abs() < 1e-6, "{last:?}");
    assert!(
        study
            .tables
            .iter()
            .take(3)
            .all(|table| { table.rows.iter().all(|row| row.missing.is_none()) })
    );
    for id in ["Figure 2", "Figure 3", "Figure 4", "Figure 5", "Figure 6", "Figure 7", "Figure 8"] {
        let figure = study.figures.iter().find(|figure| figure.id == id).unwrap();
        assert!(!figure.caption.contains("not measured"), "{}", figure.caption);
    }
}

#[test]
fn other_numbers_refute_it_and_uneven_ones_are_not_judged() {
    let (hdd, ssd) = papers(-1.0);
    let found = study(&hdd, &[ssd]);
    let refuted = verdicts(&found.claims, Verdict::DoesNotHold);
    for id in ["falls-with-files", "flat", "half-cache", "larger-buffers", "f2fs-or-ext4"] {
        assert!(refuted.contains(&id), "{id}: {refuted:?}");
    }
    let (mut hdd, _) = papers(1.0);
    let uneven = hdd.cells.get_mut("flat/F=100000/B=4K").unwrap();
    let mut cell: Greedy = serde_json::from_value(uneven.data.clone()).unwrap();
    // All of it in the last third.
    let end = cell.points.last().unwrap().bytes;
    cell.points.iter_mut().filter(|point| point.at_ns < 8_000_000_000).for_each(|point| {
        point.bytes = 0;
    });
    cell.points.last_mut().unwrap().bytes = end;
    uneven.data = serde_json::to_value(cell).unwrap();
    let found = study(&hdd, &[]);
    let flat = found.claims.iter().find(|claim| claim.id == "flat").unwrap();
    assert_eq!(flat.verdict, Verdict::CannotBeJudged);
    assert!(flat.why.contains("vary more"), "{}", flat.why);
}

#[test]
fn an_empty_measurement_leaves_the_paper_and_judges_nothing() {
    let empty = measurement("hdd", &[]);
    let found = study(&empty, &[]);
    assert_eq!(verdicts(&found.claims, Verdict::Holds), [""; 0]);
    assert!(verdicts(&found.claims, Verdict::DoesNotHold).is_empty());
    assert!(found.claims.iter().all(|claim| !claim.why.is_empty()));
    assert_eq!(found.tables[0].rows.len(), 12);
    assert!(found.tables[0].rows.iter().all(|row| row.missing.is_some()));
    assert!(found.html().contains("Table 5"));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "test code reads its fixtures")]
fn a_committed_measurement_gives_the_expected_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bench");
    let measured = Measurement::read(&folder.join("files.jsonl")).unwrap();
    let text = study(&measured, &[]).text();
    let expected = folder.join("files.txt");
    if std::env::var_os("BARO_BLESS").is_some() {
        std::fs::write(&expected, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&expected).unwrap());
    assert!(text.contains("F=100000 (2000) B=4K"), "{text}");
}

/// What f2fs keeps from write-back fits into the limit of dirty data.
#[test]
fn f2fs_is_not_stopped_by_its_limit() {
    let dirty = |scale, f2fs| {
        let variant = Variant { f2fs, ..Variant::BASE };
        greedy::limits(Scale(scale), &variant, 100, 4096).unwrap().1
    };
    assert_eq!((dirty(100, false), dirty(100, true)), (12_000_000, 32 << 20));
    assert_eq!((dirty(1, false), dirty(1, true)), (1_200_000_000, 1_200_000_000));
}

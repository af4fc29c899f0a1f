//! Each claim of the paper, made to come out otherwise and made impossible to judge.
//!
//! A rule that no figures can refute is none, and one that noise can fulfil is worth nothing.

use super::super::reads::Way;
use super::super::study;
use super::papers;
use crate::papers::files::{Greedy, Reading};
use baro_bench::experiment::{Measured, Measurement, Verdict};
use serde_json::Value;

/// Both measurements, of a disk and of an SSD.
type Both = (Measurement, Measurement);

fn put(all: &mut Measurement, id: &str, data: Value) {
    all.cells.insert(id.to_owned(), Measured { cell: id.to_owned(), took_ns: 1, data });
}

fn change(all: &mut Measurement, id: &str, with: impl FnOnce(&mut Greedy)) {
    let data = &mut all.cells.get_mut(id).unwrap_or_else(|| panic!("no cell {id}")).data;
    let mut greedy: Greedy = serde_json::from_value(data.clone()).unwrap();
    with(&mut greedy);
    *data = serde_json::to_value(greedy).unwrap();
}

/// Its rate at every moment.
fn rate(all: &mut Measurement, id: &str, mb_per_s: f64) {
    change(all, id, |greedy| {
        for point in &mut greedy.points {
            point.bytes = (point.at_ns as f64 / 1e9 * mb_per_s * 1e6) as u64;
        }
        greedy.steady.bytes_per_s = mb_per_s * 1e6;
    });
}

/// All that it wrote in the last third of its time.
fn uneven(all: &mut Measurement, id: &str) {
    change(all, id, |greedy| {
        let early = greedy.points.iter_mut().filter(|point| point.at_ns < 8_000_000_000);
        early.for_each(|point| point.bytes = 0);
    });
}

fn class(all: &mut Measurement, id: &str, class: &str, share: f64, mean_kib: f64) {
    change(all, id, |greedy| {
        let bytes = (share * 1e9) as u64;
        let classes = &mut greedy.synced.as_mut().unwrap().classes;
        let class = classes.entry(class.to_owned()).or_default();
        (class.done_bytes, class.requested_bytes) = (bytes, bytes);
        class.requests = (bytes as f64 / (mean_kib * 1024.0)).ceil() as u64;
    });
}

fn kwa(all: &mut Measurement, id: &str, kwa: f64) {
    change(all, id, |greedy| greedy.synced.as_mut().unwrap().written_bytes = (kwa * 1e9) as u64);
}

fn uncounted(all: &mut Measurement, id: &str) {
    change(all, id, |greedy| greedy.synced = None);
}

/// Ways to read an interval, each asked three times: its bytes, and how long it took in ms.
fn reading(all: &mut Measurement, group: &str, name: &str, read: u64, ms: [u64; 3]) {
    let took_ns = ms.map(|ms| ms * 1_000_000).to_vec();
    let way = Way { name: name.to_owned(), took_ns, read_bytes: vec![read; 3] };
    let reading = Reading { bytes: 100_000_000, ways: vec![way], ..Reading::default() };
    put(all, &format!("{group}/F=100000/B=4K"), serde_json::to_value(reading).unwrap());
}

/// What the paper has, what it says without figures as if it had measured it, and files renamed.
fn sound() -> Both {
    let (mut hdd, ssd) = papers(1.0);
    reading(&mut hdd, "read-log", "log", 100_000_000, [800, 810, 820]);
    reading(&mut hdd, "read-files", "files", 1_000_000, [20, 21, 22]);
    reading(&mut hdd, "read-store", "store settled", 1_000_000, [20, 21, 22]);
    // 96 MB/s in all; slower in the two seconds in which files are renamed.
    change(&mut hdd, "matrix/F=10000/B=4K", |greedy| {
        for (at, point) in greedy.points.iter_mut().enumerate() {
            point.rotations = if at < 4 { 0 } else { 1 };
            if at == 4 {
                point.bytes -= 20_000_000;
            }
        }
    });
    (hdd, ssd)
}

const F10K: &str = "matrix/F=10000/B=4K";
const F100K: &str = "matrix/F=100000/B=4K";
const F1M: &str = "matrix/F=1000000/B=4K";
const HALF: &str = "half-cache/F=100000/B=4K";
const QUARTER: &str = "quarter-cache/F=100000/B=4K";
const LAYER_64K: &str = "layer/F=100000/B=64K";

/// A claim, what refutes it, what leaves it open.
type Mutation = (&'static str, fn(&mut Both), fn(&mut Both));

#[rustfmt::skip]
const MUTATIONS: [Mutation; 24] = [
    ("one-file", |b| rate(&mut b.0, "matrix/F=1/B=1K", 20.0), |b| uneven(&mut b.0, "matrix/F=1/B=1K")),
    ("rotation-dips", |b| change(&mut b.0, F10K, |g| g.points[4].bytes += 60_000_000),
                      |b| change(&mut b.0, F10K, |g| g.points.iter_mut().for_each(|p| p.rotations = 0))),
    ("falls-with-files", |b| rate(&mut b.0, F1M, 200.0), |b| { rate(&mut b.0, F1M, 60.0); uneven(&mut b.0, F1M); }),
    ("hdd-collapse", |b| rate(&mut b.0, F1M, 60.0), |b| { rate(&mut b.0, F1M, 9.0); uneven(&mut b.0, F1M); }),
    ("aggregation", |b| class(&mut b.0, F100K, "W", 52.0, 511.0), |b| uncounted(&mut b.0, F100K)),
    ("larger-buffers", |b| rate(&mut b.0, "matrix/F=100000/B=48K", 3.5), |b| uneven(&mut b.0, "matrix/F=100000/B=48K")),
    ("rise-at-48k", |b| rate(&mut b.0, "matrix/F=350000/B=48K", 3.0), |b| uneven(&mut b.0, "matrix/F=350000/B=48K")),
    ("metadata-reads", |b| { class(&mut b.0, F1M, "R", 0.0, 4.0); class(&mut b.0, F1M, "RM", 0.0, 4.0); },
                       |b| uncounted(&mut b.0, F1M)),
    ("small-blocks-slow", |b| rate(&mut b.0, "matrix/F=10000/B=1K", 95.0), |b| uneven(&mut b.0, "matrix/F=10000/B=1K")),
    ("small-blocks-read", |b| class(&mut b.0, "matrix/F=100000/B=1K", "R", 0.0, 4.0), |b| uncounted(&mut b.0, F100K)),
    ("flat", |b| rate(&mut b.0, "flat/F=100000/B=4K", 3.0), |b| uneven(&mut b.0, "flat/F=100000/B=4K")),
    ("writers", |b| rate(&mut b.0, "writers-16/F=100000/B=4K", 9.0), |b| uneven(&mut b.0, "writers-16/F=100000/B=4K")),
    ("half-cache", |b| rate(&mut b.0, HALF, 9.0), |b| uneven(&mut b.0, HALF)),
    ("quarter-cache", |b| rate(&mut b.0, QUARTER, 0.1), |b| uneven(&mut b.0, QUARTER)),
    ("best-split", |b| rate(&mut b.0, "layer/F=100000/B=4K", 90.0),
                   // The fastest is hardly faster than one with nearly no memory for buffers.
                   |b| { rate(&mut b.0, "layer/F=100000/B=4K", 19.0); uneven(&mut b.0, "layer/F=100000/B=4K"); }),
    ("beyond-the-split", |b| rate(&mut b.0, LAYER_64K, 3.0), |b| uneven(&mut b.0, LAYER_64K)),
    ("ssd-no-collapse", |b| { rate(&mut b.1, "matrix/F=1000000/B=32K", 1.0); rate(&mut b.1, F1M, 1.0); },
                        |b| { rate(&mut b.1, F1M, 1.0); uneven(&mut b.1, "matrix/F=1000000/B=32K"); }),
    ("f2fs-or-ext4", |b| rate(&mut b.1, "f2fs/F=100000/B=4K", 9.0), |b| uneven(&mut b.1, "f2fs/F=100000/B=4K")),
    ("kwa-near-one", |b| kwa(&mut b.0, F10K, 1.4), |b| uncounted(&mut b.0, F10K)),
    ("kwa-worst", |b| kwa(&mut b.0, F1M, 9.0), |b| b.0.cells.retain(|id, _| !id.starts_with("matrix/"))),
    ("kwa-fsync", |b| kwa(&mut b.0, "fsync/F=100000/B=4K", 1.1), |b| uncounted(&mut b.0, "fsync/F=100000/B=4K")),
    ("one-file-reads-all", |b| reading(&mut b.0, "read-files", "files", 90_000_000, [20, 21, 22]),
                           |b| { b.0.cells.remove("read-files/F=100000/B=4K"); }),
    ("log-not-hashing", |b| rate(&mut b.0, "store/F=100000/B=4K", 1.0),
                        |b| { rate(&mut b.0, "store/F=100000/B=4K", 5.0); uneven(&mut b.0, "store/F=100000/B=4K"); }),
    ("index-for-reads", |b| reading(&mut b.0, "read-store", "store settled", 1, [900, 910, 920]),
                        |b| reading(&mut b.0, "read-store", "store settled", 1, [20, 410, 900])),
];

#[test]
fn each_claim_is_refuted_by_what_refutes_it_and_open_where_nothing_follows() {
    let judged = |mutate: &dyn Fn(&mut Both)| {
        let mut both = sound();
        mutate(&mut both);
        study(&both.0, &[both.1]).claims
    };
    for claim in judged(&|_| {}) {
        // Nothing of a machine's swap is used, so nothing is said of it.
        if claim.id == "swapping" {
            assert_eq!(claim.verdict, Verdict::CannotBeJudged);
            continue;
        }
        assert_eq!(claim.verdict, Verdict::Holds, "{claim:#?}");
        let mutation = MUTATIONS.iter().find(|mutation| mutation.0 == claim.id);
        let (id, refuting, opening) = mutation.unwrap_or_else(|| panic!("{} has none", claim.id));
        let of = |mutate: &fn(&mut Both)| {
            let claims = judged(mutate);
            claims.into_iter().find(|claim| claim.id == *id).unwrap()
        };
        let refuted = of(refuting);
        assert_eq!(refuted.verdict, Verdict::DoesNotHold, "{refuted:#?}");
        let open = of(opening);
        assert_eq!(open.verdict, Verdict::CannotBeJudged, "{open:#?}");
        assert!(!open.why.is_empty(), "{open:#?}");
    }
}

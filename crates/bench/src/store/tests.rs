//! Small runs from end to end, in every order; and data that claims to be other than what was pushed.

use super::generate::{Feed, Order, Timed, Times, Values, Walk, WalkSpec};
use super::report::Field;
use super::*;
use baro_ondisk::Type;
use baro_store::Interval;
use baro_sys::files;

/// A folder of the test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-store-{}-{name}", std::process::id()));
        disk::Disk::create(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = files::remove_tree(&self.0);
    }
}

fn spec(order: Order) -> StoreSpec {
    StoreSpec {
        log_bytes: Some(16 << 20),
        seed: 5,
        data: "walk".to_owned(),
        order: order.name(),
        times: "grid",
        values: "walk",
        late_percent: 0,
        state: State::Fresh,
        budget_ns: 1,
    }
}

/// The keys that results are judged by.
const KEYS: [&str; 15] = [
    "series",
    "samples",
    "log_append_per_s",
    "ingest_durable_per_s",
    "ingest_settled_per_s",
    "bytes_per_sample",
    "catalog_bytes_per_series",
    "device_bytes_ratio",
    "peak_rss_bytes",
    "open_cold_ms",
    "open_warm_ms",
    "q1_ms",
    "q2_ms",
    "q3_ms",
    "q4_ms",
];

#[test]
fn a_small_store_is_asked_and_checked_at_all_times() {
    for times in Times::ALL {
        let folder = Folder::new(times.name());
        let walk = Walk::new(WalkSpec::about(100, 10_000, 5, Order::Ticks).unwrap());
        let data = Timed::new(walk, times).unwrap();
        let spec = StoreSpec { times: times.name(), ..spec(Order::Ticks) };
        let report = run(&folder.0, &data, &spec, &AtomicBool::new(false)).unwrap();
        assert_eq!((report.samples, report.times), (10_000, times.name()));
        assert!(report.rows_checked > 2_000, "{times:?}: {}", report.rows_checked);
    }
}

/// Every how many of the combinations is taken, no divisor of how many there are: few with each push,
/// more in the full tier and where nothing is said, all of them with `BARO_COMBINATIONS=1`.
fn every() -> usize {
    let push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    let said = std::env::var("BARO_COMBINATIONS").ok().and_then(|every| every.parse().ok());
    said.unwrap_or(if push { 11 } else { 5 })
}

#[test]
fn times_values_late_samples_and_states_all_answer_as_what_was_pushed() {
    let mut combinations = Vec::new();
    for times in Times::ALL {
        for values in Values::ALL {
            for state in State::ALL {
                combinations.extend([0, 7].map(|late| (times, values, late, state)));
            }
        }
    }
    for (times, values, late_percent, state) in combinations.into_iter().step_by(every()) {
        let named = format!("{}-{}-{late_percent}-{}", times.name(), values.name(), state.name());
        let folder = Folder::new(&named);
        let walk = Walk::new(WalkSpec::about(120, 6_000, 5, Order::Ticks).unwrap());
        let data = Timed::new(walk, times).unwrap().with_values(values);
        let data = data.with_late(late_percent).unwrap();
        let (times, values) = (times.name(), values.name());
        let spec = StoreSpec { times, values, late_percent, state, ..spec(Order::Ticks) };
        let report = run(&folder.0, &data, &spec, &AtomicBool::new(false))
            .unwrap_or_else(|error| panic!("{named}: {error}"));
        assert!(report.rows_checked > 2_000, "{named}: {}", report.rows_checked);
        assert_eq!(report.settled_ns.is_some(), state != State::Half, "{named}");
        let aged = state == State::Aged;
        assert_eq!((report.runs_merged > 0, report.runs_dropped > 0), (aged, aged), "{named}");
        assert_eq!(report.runs, if aged { 4 } else { 1 }, "{named}");
        let [q1, .., q4] = report.costs.map(Option::unwrap);
        assert!(q1.pages >= 1.0 && q1.page_bytes > 100.0, "{named}: {q1:?}");
        // The middle of the range of so few Poisson arrivals is behind them.
        assert!(times == "poisson" || q4.runs >= 1.0, "{named}: {q4:?}");
    }
}

#[test]
fn a_small_store_is_filled_asked_and_checked_in_every_order() {
    for order in Order::ALL {
        let folder = Folder::new(order.name());
        let data = Walk::new(WalkSpec::about(100, 10_000, 5, order).unwrap());
        let report = run(&folder.0, &data, &spec(order), &AtomicBool::new(false)).unwrap();
        assert_eq!((report.series, report.samples), (100, 10_000));
        // 20 x q1 of 100 rows, 100 x q2 of 1, 10 x q3 of 100 x 10, q4 of 100.
        assert_eq!(report.rows_checked, 2000 + 100 + 10_000 + 100);
        let fields = report.fields();
        let keys: Vec<_> = fields.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys[..KEYS.len()], KEYS);
        assert!(keys.iter().all(|key| keys.iter().filter(|k| k == &key).count() == 1));
        let field = |key| fields.iter().find(|(name, _)| *name == key).unwrap().1.clone();
        for key in ["log_append_per_s", "ingest_durable_per_s", "q1_ms", "q4_ms", "files_q3_ms"] {
            assert!(matches!(field(key), Field::Number(n) if n > 0.0), "{key}: {:?}", field(key));
        }
        // What is not measured says so.
        let unsettled = report.settled_ns.is_none();
        assert_eq!(field("ingest_settled_per_s") == Field::Missing, unsettled);
        assert_eq!(field("bytes_per_sample") == Field::Missing, unsettled);
        assert_eq!(report.missing.iter().any(|why| why.contains("settle")), unsettled);
        assert_eq!(files::list(&folder.0).unwrap().len(), 0, "nothing is left behind");
    }
}

/// A walk that claims one sample to be another than what is pushed, or that one more was.
struct Tampered {
    walk: Walk,
    surplus: bool,
}

impl Data for Tampered {
    fn series(&self) -> u32 {
        self.walk.series()
    }

    fn samples(&self) -> u64 {
        self.walk.samples()
    }

    fn declaration(&self, series: u32) -> (String, Type) {
        self.walk.declaration(series)
    }

    fn range(&self) -> Interval {
        self.walk.range()
    }

    fn feed(&self, first_id: u32) -> Box<dyn Feed + '_> {
        self.walk.feed(first_id)
    }

    fn in_order(&self) -> Box<dyn Feed + '_> {
        self.walk.in_order()
    }

    fn expected(&self, series: u32, interval: Interval, each: &mut dyn FnMut(i64, u64)) {
        let at = self.range().from_ns + 50_000_000_000;
        self.walk.expected(series, interval, &mut |time_ns, bits| {
            each(time_ns, bits ^ u64::from(time_ns == at && !self.surplus) << 40);
            if time_ns == at && self.surplus {
                each(time_ns + 1, bits);
            }
        });
    }
}

#[test]
fn a_wrong_and_a_missing_answer_are_found() {
    for surplus in [false, true] {
        let folder = Folder::new(if surplus { "surplus" } else { "wrong" });
        let walk = Walk::new(WalkSpec::about(10, 1000, 5, Order::Ticks).unwrap());
        let data = Tampered { walk, surplus };
        let result = run(&folder.0, &data, &spec(Order::Ticks), &AtomicBool::new(false));
        let error = result.unwrap_err();
        assert!(matches!(error, BenchError::WrongAnswer(_)), "{error}");
        assert_eq!(files::list(&folder.0).unwrap().len(), 0);
        // Every kind of question meets it but q2, which may ask for other times.
        let path = folder.0.join("store");
        let mut report = StoreReport::default();
        let first =
            fill::fill(&path, &walk, &spec(Order::Ticks), &mut report, &AtomicBool::new(false))
                .unwrap();
        let (right, wrong) = (Questions::new(&walk, first, 5), Questions::new(&data, first, 5));
        let store = Store::open(&path).unwrap();
        for kind in Kind::ALL {
            assert!(right.check(&store, kind).unwrap().rows > 0, "{kind:?}");
            let found = wrong.check(&store, kind).is_err();
            assert!(found || kind == Kind::Q2, "{kind:?} {surplus}");
        }
    }
}

#[test]
fn a_stopped_run_is_an_error_and_leaves_nothing() {
    let folder = Folder::new("stopped");
    let data = Walk::new(WalkSpec::about(10, 1000, 5, Order::Ticks).unwrap());
    let result = run(&folder.0, &data, &spec(Order::Ticks), &AtomicBool::new(true));
    assert!(matches!(result.unwrap_err(), BenchError::Lost(_)));
    assert_eq!(files::list(&folder.0).unwrap().len(), 0);
}

#[test]
fn files_of_sensors_answer_by_binary_search() {
    let folder = Folder::new("files");
    let data = Walk::new(WalkSpec::about(2500, 25_000, 5, Order::Ticks).unwrap());
    let files = yardsticks::SensorFiles::make(&folder.0.join("files"), &data, &[3, 2499]).unwrap();
    let from = data.range().from_ns;
    let mut buffer = Vec::new();
    let interval = Interval { from_ns: from + 1_500_000_000, to_ns: from + 5_000_000_000 };
    assert_eq!(files.read(2499, interval, &mut buffer).unwrap(), 3);
    assert_eq!(buffer[..8], (from + 2_000_000_000).to_le_bytes());
    assert_eq!(files.read(3, Interval::ALL, &mut buffer).unwrap(), 10);
    assert!(files.read(4, interval, &mut buffer).is_err());
}

#[test]
fn a_timing_is_median_and_99th_percentile() {
    let timing = queries::Timing::of((1..=200).map(|ms| ms * 1_000_000).rev().collect()).unwrap();
    assert_eq!((timing.runs, timing.median_ms, timing.p99_ms), (200, 100.0, 198.0));
    assert_eq!(queries::Timing::of(Vec::new()), None);
}

#[test]
fn a_short_steady_run_loses_nothing_and_its_points_add_up() {
    use super::steady::{SteadySpec, run};
    let folder = Folder::new("steady");
    let spec = SteadySpec {
        series: 5000,
        rate: 2_000_000,
        duration_ns: 500_000_000,
        seed: 1,
        log_bytes: 4 << 20,
        retention: baro_recorder::Retention::default(),
        runs: baro_store::RunRetention::default(),
        points: 5,
    };
    let report = run(&folder.0, &spec, &AtomicBool::new(false)).unwrap();
    let last = report.points.last().unwrap();
    assert_eq!((last.pushed + last.lost, report.segments), (1_000_000, 4));
    assert!(report.segments_started >= 1);
    assert_eq!(report.segments_lost_unsettled, 0);
    assert!(report.samples_settled <= last.pushed);
    // Two pushes a tick: 4,096 samples and the rest.
    assert_eq!(report.push_ns.len(), 400);
    assert!(report.points.len() >= 2);
    assert!(report.points.is_sorted_by_key(|point| (point.at_ns, point.pushed, point.lost)));
    assert_eq!(report.csv().lines().count(), report.points.len() + 1);
    let width = |line: &str| line.split(',').count();
    assert!(report.csv().lines().all(|line| width(line) == 11));
    assert!(report.points.iter().all(|point| point.unsettled_bytes.is_some()));
    assert!(report.svg().contains("not settled yet"));
    assert!(run(&folder.0, &SteadySpec { rate: 0, ..spec }, &AtomicBool::new(false)).is_err());
    assert_eq!(files::list(&folder.0).unwrap().len(), 0);
}

//! The front door: what is recorded through it comes back through it, of every type, also after it was
//! settled and from another open of the store.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use barograph::{Aggregate, Attached, Recorder, Refused, Store, Time, Value};
use std::error::Error as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A folder of this test's, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("baro-front-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn every_type_comes_back() {
    let folder = Folder::new("types");
    let open = || Recorder::create_or_open(folder.store()).size(8 << 20).recycle().open().unwrap();
    let recorder = open();
    let float = recorder.series::<f64>("float{a=\"b\"}", "mm").unwrap();
    let integer = recorder.series::<i64>("integer", "").unwrap();
    let truth = recorder.series::<bool>("truth", "").unwrap();
    let text = recorder.series::<String>("text", "").unwrap();
    let pair = recorder.group::<i64>(&["pair.a", "pair.b"], "").unwrap();
    let frames = recorder.channel("control", "n:u16@0").unwrap();
    let mut push = recorder.producer().unwrap();
    let large = 9_007_199_254_740_993;
    for n in 0..3_i64 {
        push.sample(float, n, -0.0).unwrap();
        push.sample(integer, n, large + n).unwrap();
        push.sample(truth, n, n == 1).unwrap();
        push.sample(text, n, ["", "a\nb", "ü"][n as usize]).unwrap();
        push.row(&pair, n, &[n, -n]).unwrap();
        push.frame(frames, n, &[n as u8, 1]).unwrap();
    }
    assert_eq!(push.row(&pair, 3, &[1]), Err(Refused::Uneven));
    // A row that does not fit its group was never a record.
    assert_eq!(push.pushed(), 18);
    push.wait_durable(MINUTE).unwrap();
    drop(push);
    let closed = recorder.close();
    assert_eq!((closed.lost(), closed.damage()), (0, &[][..]));

    let store = Store::open(folder.store()).unwrap();
    let names = ["float{a=\"b\"}", "integer", "truth", "text", "pair.a", "pair.b", "control.n"];
    assert_eq!(store.series().unwrap(), names);
    let rows = |name: &str| {
        let columns: Vec<_> = store.query(name).columns().unwrap().map(Result::unwrap).collect();
        assert_eq!(columns.len(), 1, "{name}");
        let rows = columns[0].rows();
        rows.map(|(time, value)| (time.ns(), format!("{value:?}"))).collect::<Vec<_>>()
    };
    let expect = |values: [&str; 3]| (0..3).zip(values.map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(rows("float{a=\"b\"}"), expect(["F64(-0.0)"; 3]));
    let integers = ["I64(9007199254740993)", "I64(9007199254740994)", "I64(9007199254740995)"];
    assert_eq!(rows("integer"), expect(integers));
    assert_eq!(rows("truth"), expect(["Bool(false)", "Bool(true)", "Bool(false)"]));
    assert_eq!(rows("text"), expect(["Text(\"\")", "Text(\"a\\nb\")", "Text(\"ü\")"]));
    assert_eq!(rows("pair.b"), expect(["I64(0)", "I64(-1)", "I64(-2)"]));
    assert_eq!(rows("control.n"), expect(["I64(256)", "I64(257)", "I64(258)"]));

    // The same store again: handles are those of before.
    let recorder = open();
    let again = recorder.series::<f64>("float{a=\"b\"}", "mm").unwrap();
    let mut push = recorder.producer().unwrap();
    push.sample(again, 3, 4.0).unwrap();
    push.wait_durable(MINUTE).unwrap();
    let store = Store::open(folder.store()).unwrap();
    let column = store.query("float").from(1).newest(2).columns().unwrap().next().unwrap().unwrap();
    assert_eq!((column.times_ns(), column.f64s()), (&[2, 3][..], Some(&[-0.0, 4.0][..])));
    assert_eq!((column.unit(), column.len()), ("mm", 2));
}

/// Labels that are those of another series and more: each column has its own rows.
#[test]
fn a_store_that_is_there_recycles_where_that_is_asked_for() {
    let folder = Folder::new("switch");
    let open = || Recorder::create_or_open(folder.store()).size(2 << 20);
    let fill = |recorder: &Recorder, wait: Duration| {
        let frames = recorder.channel("frames", "").unwrap();
        let mut push = recorder.producer().unwrap();
        for n in 0..200_i64 {
            push.frame(frames, n, &[7; 16 << 10]).unwrap();
        }
        push.wait_durable(wait).is_ok()
    };
    let recorder = open().without_settling().open().unwrap();
    assert!(!fill(&recorder, Duration::from_millis(500)), "a log of 2 MiB that stops has all of 3");
    drop(recorder);
    let recorder = open().recycle().without_settling().open().unwrap();
    assert!(fill(&recorder, MINUTE));
    assert_eq!(recorder.close().damage(), [""; 0]);
}

#[test]
fn a_column_is_one_series() {
    let folder = Folder::new("labels");
    let recorder = Recorder::create_or_open(folder.store()).size(8 << 20).open().unwrap();
    let names = ["t{a=\"b\"}", "t{a=\"b\",c=\"d\"}", "t"];
    let group = recorder.group::<i64>(&names, "").unwrap();
    let frames = recorder.channel("c", "n:u8@0,m:u8@1").unwrap();
    let mut push = recorder.producer().unwrap();
    push.row(&group, 5, &[1, 2, 3]).unwrap();
    push.frame(frames, 5, &[4, 6]).unwrap();
    push.wait_durable(MINUTE).unwrap();
    let store = Store::open(folder.store()).unwrap();
    let rows = |selector: &str| {
        let columns = store.query(selector).columns().unwrap().map(Result::unwrap);
        columns.map(|one| (one.name().to_owned(), one.i64s().unwrap().to_vec())).collect::<Vec<_>>()
    };
    let own = |at: usize, value: i64| (names[at].to_owned(), vec![value]);
    assert_eq!(rows("{a=\"b\"}"), [own(0, 1), own(1, 2)]);
    assert_eq!(rows("c.*"), [("c.n".to_owned(), vec![4]), ("c.m".to_owned(), vec![6])]);
}

#[test]
fn steps_moments_and_limits() {
    let folder = Folder::new("steps");
    let recorder = Recorder::create_or_open(folder.store()).size(8 << 20).open().unwrap();
    let x = recorder.series::<f64>("x", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let second = 1_000_000_000;
    for n in 0..120 {
        push.sample(x, n * second, n as f64).unwrap();
    }
    push.sample(x, SystemTime::now(), 1.5).unwrap();
    push.wait_durable(MINUTE).unwrap();
    let mut store = Store::open(folder.store()).unwrap();
    let means = store.query("x").to(120 * second).every(MINUTE, Aggregate::Mean);
    let column = means.columns().unwrap().next().unwrap().unwrap();
    assert_eq!(column.f64s(), Some(&[29.5, 89.5][..]));
    let newest = store.query("x").last(MINUTE).columns().unwrap().next().unwrap().unwrap();
    assert_eq!(newest.rows().map(|(_, value)| value).collect::<Vec<_>>(), [Value::F64(1.5)]);
    let mut seen = 0;
    let notes = store.query("x").each(|name, times, values| {
        assert_eq!((name, times.len()), ("x", values.len()));
        seen += times.len();
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((seen, notes.unwrap().read.damage), (121, vec![]));
    push.sample(x, Time::now(), 2.5).unwrap();
    push.wait_durable(MINUTE).unwrap();
    store.refresh().unwrap();
    assert_eq!(store.query("x").columns().unwrap().next().unwrap().unwrap().len(), 122);
}

#[test]
fn one_that_is_attached_declares_what_it_pushes() {
    let folder = Folder::new("attached");
    let recorder = Recorder::create_or_open(folder.store()).size(8 << 20).open().unwrap();
    if let Err(error) = recorder.ring_to_attach() {
        println!("skipped: {error}");
        return;
    }
    let mut rig = Attached::to(folder.store()).unwrap().timeout(MINUTE);
    let x = rig.series::<f64>("x", "mm").unwrap();
    let frames = rig.channel("control", "n:u8@0").unwrap();
    let pair = rig.group::<i64>(&["a", "b"], "").unwrap();
    let other = rig.series::<i64>("x", "mm").unwrap_err().to_string();
    assert_eq!(other, "type of a series: expected f64 as declared for x, found i64");
    rig.producer().sample(x, 5, 1.5).unwrap();
    rig.producer().frame(frames, 5, &[7]).unwrap();
    rig.producer().row(&pair, 5, &[1, 2]).unwrap();
    rig.producer().wait_durable(MINUTE).unwrap();
    assert!(recorder.series::<bool>("x", "mm").is_err());
    drop(rig);
    assert_eq!(recorder.close().lost(), 0);
    let store = Store::open(folder.store()).unwrap();
    let mut found = Vec::new();
    let each = |name: &str| store.query(name).columns().unwrap().next().unwrap().unwrap().len();
    found.extend(["x", "a", "b"].map(each));
    assert_eq!(found, [1, 1, 1]);
}

#[test]
fn errors_say_what_and_from_where() {
    let folder = Folder::new("errors");
    let none = Recorder::existing(folder.store()).open().unwrap_err();
    assert!(none.source().is_some() && none.to_string().contains("store"), "{none}");
    assert!(Store::open(folder.store()).unwrap_err().source().is_some());
    let recorder = Recorder::create_or_open(folder.store()).size(8 << 20).open().unwrap();
    let busy = Recorder::existing(folder.store()).open().unwrap_err().to_string();
    assert!(busy.contains("process"), "{busy}");
    recorder.series::<f64>("x", "").unwrap();
    let other = recorder.series::<i64>("x", "").unwrap_err().to_string();
    assert!(other.contains('x') && other.contains("i64") && other.contains("f64"), "{other}");
    let layout = recorder.channel("c", "n:u99@0").unwrap_err();
    assert!(layout.to_string().contains("u99"), "{layout}");
    let store = Store::open(folder.store()).unwrap();
    let unknown = store.query("nothing").columns().unwrap_err().to_string();
    assert!(unknown.contains("nothing"), "{unknown}");
    assert!(store.query("x{").columns().is_err());
}

#[test]
fn times_are_those_of_the_standard_library() {
    for ns in [0, 1, -1, i64::MAX, -5_000_000_000] {
        assert_eq!(Time::from(SystemTime::from(Time::from(ns))), Time::from(ns));
    }
    assert_eq!(Time::MIN.before(MINUTE), Time::MIN);
    assert_eq!(Time::from(0).before(MINUTE).ns(), -60_000_000_000);
}

/// A block whose very head is rotten is met before any sample is read, and told like all others.
#[test]
fn damage_is_told_wherever_it_is_met() {
    let folder = Folder::new("damage");
    let recorder = Recorder::create_or_open(folder.store()).size(8 << 20).recycle().open().unwrap();
    let level = recorder.series::<f64>("level", "").unwrap();
    let mut push = recorder.producer().unwrap();
    for n in 0..6_i64 {
        push.sample(level, n, n as f64).unwrap();
        push.wait_durable(MINUTE).unwrap();
    }
    drop(push);
    assert_eq!(recorder.close().lost(), 0);
    let rows = || {
        let store = Store::open(folder.store()).unwrap();
        let mut columns = store.query("level").columns().unwrap();
        let rows: usize = columns.by_ref().flatten().map(|column| column.rows().count()).sum();
        let damage = columns.damage().map(str::to_owned);
        // Who looks at what comes cannot miss it.
        let last = store.query("level").columns().unwrap().last().unwrap();
        let told = last.err().map(|error| error.to_string());
        assert_eq!(told, damage.as_ref().map(|why| format!("rows are missing: {why}")));
        (rows, damage)
    };
    assert_eq!(rows(), (6, None));
    let segment = folder.store().join("log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let is_block = |at: &usize| bytes[*at..].starts_with(b"BBLK");
    let third = (0..bytes.len()).step_by(4096).filter(is_block).nth(2).unwrap();
    bytes[third] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let (left, damage) = rows();
    assert!(left < 6 && damage.is_some_and(|said| said.contains("00000000.seg")), "{left}");
}

/// Each life starts a segment, and none is long enough for the settling beside it.
#[test]
fn many_short_lives_lose_nothing() {
    let folder = Folder::new("lives");
    for life in 0..30_i64 {
        let opening = Recorder::create_or_open(folder.store()).size(8 << 20).recycle();
        let recorder = opening.open().unwrap();
        let series = recorder.series::<i64>("life", "").unwrap();
        let mut push = recorder.producer().unwrap();
        push.sample(series, life, life).unwrap();
        drop(push);
        assert_eq!(recorder.close().lost(), 0, "life {life}");
    }
    let store = Store::open(folder.store()).unwrap();
    let column = store.query("life").columns().unwrap().next().unwrap().unwrap();
    assert_eq!(column.i64s().unwrap(), (0..30).collect::<Vec<_>>());
}

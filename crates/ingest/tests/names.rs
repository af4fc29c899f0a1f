//! New names cost a wait for the device for each read that brings some, not for each name; what is known
//! waits for none of them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_ingest::{
    Intake, Joint, Manner, Place, Recount, Room, Row, Target, Types, Unseen, Value, Waiting,
};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_sys::disk::Disk;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn recorder(name: &str) -> (Folder, Recorder) {
    let path = std::env::temp_dir().join(format!("baro-names-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let folder = Folder(path);
    let disk = Disk::create(&folder.0).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 16, catalog_bytes, when_full };
    init(&disk, &folder.0, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    (folder, recorder)
}

fn take(intake: &mut Intake<'_>, time_ns: i64, series: &str) {
    let (value, types) = (Value::Float(1.0), Types::Numbers);
    let row = Row { line: 1, series, time_ns, value, types, joint: None, written: None };
    intake.take(&row, &mut |_| {}).unwrap();
}

#[test]
fn new_names_of_one_read_are_declared_at_once() {
    let (_folder, recorder) = recorder("at-once");
    let waiting = Waiting::default();
    let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let mut intake = Intake::new("test", target, Manner::as_they_come(usize::MAX)).unwrap();
    // Three reads: of many names at one time, of many at many times, and of none that is new.
    (0..3_000).for_each(|at| take(&mut intake, 7, &format!("one{at}")));
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.declarations, intake.fed.declared), (1, 3_000));
    (0..3_000).for_each(|at| take(&mut intake, at, &format!("two{at}")));
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.declarations, intake.fed.declared), (2, 6_000));
    (0..3_000).for_each(|at| take(&mut intake, 9_000 + at, &format!("one{at}")));
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.declarations, intake.fed.samples, intake.fed.bad), (2, 9_000, 0));
}

#[test]
fn what_is_known_is_pushed_before_what_is_new_is_declared() {
    let (_folder, recorder) = recorder("known");
    let waiting = Waiting::default();
    let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let mut intake = Intake::new("test", target, Manner::as_they_come(2)).unwrap();
    take(&mut intake, 1, "known");
    intake.flush(&mut |_| {}).unwrap();
    let records = intake.fed.records;
    // Two records of one time, that of the known series first; the third name is one too many.
    for name in ["known", "new", "known", "other"] {
        take(&mut intake, 2, name);
    }
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.records - records, intake.fed.samples, intake.fed.bad), (2, 4, 1));
}

#[test]
fn names_that_cannot_be_declared_cost_the_others_nothing() {
    let (_folder, recorder) = recorder("bad");
    let waiting = Waiting::default();
    let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let mut intake = Intake::new("test", target, Manner::as_they_come(usize::MAX)).unwrap();
    // Values that have nothing to do with each other; a line is taken whole or not at all.
    intake.begin_in_parts();
    let long = "x".repeat(1_025);
    let longer = "x".repeat(1 << 20);
    for at in 0..500 {
        take(&mut intake, 1, &format!("good{at}"));
        for name in [&*long, &*longer, "", "oven{zone=1}"] {
            take(&mut intake, 1, name);
        }
        // One series by two names, before it is declared.
        take(&mut intake, 2, &format!("labels{{b=\"{at}\",a=\"1\"}}"));
        take(&mut intake, 3, &format!("labels{{a=\"1\",b=\"{at}\"}}"));
    }
    intake.flush(&mut |_| {}).unwrap();
    let fed = &intake.fed;
    assert_eq!((fed.declarations, fed.declared, fed.bad, fed.samples), (1, 1_000, 2_000, 1_500));
    assert!(fed.complaints.iter().all(|one| one.len() < 500), "{:?}", fed.complaints);
    // And by another after that.
    take(&mut intake, 4, "labels{ a=\"1\", b=\"7\" }");
    intake.flush(&mut |_| {}).unwrap();
    assert_eq!((intake.fed.declarations, intake.fed.series, intake.fed.samples), (1, 1_000, 1_501));
}

#[test]
fn a_line_with_a_value_of_another_type_is_refused_whole_and_declares_nothing() {
    let (_folder, recorder) = recorder("whole");
    let declared = recorder.declare(&[("n", Type::I64, "")]).unwrap();
    assert_eq!(declared.len(), 1);
    for manner in [Manner::as_they_come(3), Manner::together()] {
        let waiting = baro_ingest::Waiting::default();
        let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
        let mut intake = Intake::new("test", target, manner).unwrap();
        let mut told = Vec::new();
        let mut take = |line, series, value| {
            let row = Row {
                line,
                series,
                time_ns: 5,
                value,
                types: Types::Exact,
                joint: None,
                written: None,
            };
            intake.take(&row, &mut |refusal| told.push(refusal.to_string())).unwrap();
        };
        take(1, "kept", Value::Float(1.0));
        for (series, value) in [
            ("new", Value::Text("x")),
            ("kept", Value::Float(2.0)),
            ("n", Value::Float(1.5)),
            ("late", Value::Float(3.0)),
            ("n", Value::Integer(3)),
        ] {
            take(2, series, value);
        }
        take(3, "n", Value::Integer(4));
        assert_eq!(told, ["line 2: series n: expected i64, found 1.5"]);
        let fed = intake.finish(&mut |_| {}).unwrap();
        assert_eq!((fed.samples, fed.bad, fed.bad_lines), (2, 1, 1));
    }
    assert!(recorder.declared("kept").is_some());
    assert!(recorder.declared("new").is_none() && recorder.declared("late").is_none());
}

#[test]
fn a_line_without_a_time_has_that_at_which_it_came() {
    let (_folder, recorder) = recorder("came");
    let waiting = Waiting::default();
    let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let mut intake = Intake::new("test", target, Manner::as_they_come(usize::MAX)).unwrap();
    // Two that came before names of the first were declared; the second has waited for that.
    for (line, came_ns) in [(1, 1_000), (2, 2_000)] {
        intake.came_at(came_ns);
        let time_ns = intake.line_time_ns(line);
        take(&mut intake, time_ns, &format!("one{line}"));
        intake.flush(&mut |_| {}).unwrap();
        // All of a line have that of its first.
        intake.came_at(came_ns + 500);
        assert_eq!((time_ns, intake.line_time_ns(line)), (came_ns, came_ns));
    }
    // Of a series and time one sample counts, so lines that came together have times of their own; a
    // clock that was set back is followed.
    intake.came_at(2_000);
    assert_eq!([3, 4, 4, 5].map(|line| intake.line_time_ns(line)), [2_001, 2_002, 2_002, 2_003]);
    intake.came_at(2_002);
    assert_eq!(intake.line_time_ns(6), 2_004);
    intake.came_at(-5_000_000_000);
    assert_eq!(intake.line_time_ns(7), -5_000_000_000);
}

/// Several points may stand in one line, as elements of a JSON array do.
#[test]
fn points_of_one_line_have_times_of_their_own_and_are_refused_by_themselves() {
    let (_folder, recorder) = recorder("points");
    recorder.declare(&[("n", Type::I64, "")]).unwrap();
    for manner in [Manner::as_they_come(9), Manner::together()] {
        let target = Target::of(&recorder, Room::NotWaitedFor).unwrap();
        let mut intake = Intake::new("test", target, manner).unwrap();
        intake.came_at(1_000);
        let mut times = Vec::new();
        for (point, series, value) in [
            (1, "n", Value::Integer(1)),
            (1, "x", Value::Float(1.0)),
            (2, "x", Value::Float(2.0)),
            (2, "n", Value::Float(1.5)),
            (3, "n", Value::Integer(3)),
        ] {
            intake.point(point);
            let (line, time_ns, types) = (1, intake.line_time_ns(1), Types::Exact);
            times.push(time_ns);
            let row = Row { line, series, time_ns, value, types, joint: None, written: None };
            intake.take(&row, &mut |_| {}).unwrap();
        }
        assert_eq!(times, [1_000, 1_000, 1_001, 1_001, 1_002]);
        // Another input that comes at once, such as a datagram.
        intake.begin();
        intake.came_at(1_001);
        assert_eq!(intake.line_time_ns(1), 1_003);
        let fed = intake.finish(&mut |_| {}).unwrap();
        assert_eq!((fed.samples, fed.bad, fed.bad_lines), (3, 1, 1));
    }
    // By the clock, too.
    let target = Target::of(&recorder, Room::NotWaitedFor).unwrap();
    let mut intake = Intake::new("test", target, Manner::together()).unwrap();
    let times: Vec<i64> = (1..1_000).map(|line| intake.line_time_ns(line)).collect();
    assert!(times.is_sorted_by(|a, b| a < b));
}

#[test]
fn other_names_that_come_to_the_same_are_refused() {
    for manner in [Manner::as_they_come(9), Manner::together()] {
        let (_folder, recorder) = recorder("joint");
        recorder.declare(&[("old_a_b", Type::F64, "")]).unwrap();
        let target = Target::of(&recorder, Room::NotWaitedFor).unwrap();
        let mut intake = Intake::new("test", target, manner).unwrap();
        let mut told = Vec::new();
        let mut take = |line, series, joint, value| {
            let row =
                Row { line, series, time_ns: 5, value, types: Types::Exact, joint, written: None };
            intake.take(&row, &mut |refusal| told.push(refusal.to_string())).unwrap();
        };
        let (float, other) = (Value::Float(1.0), Value::Text("x"));
        let behind = |bytes| Some(Joint::behind(bytes));
        // A line that is refused decides nothing, and one without two names nothing either.
        take(1, "m_a_b", behind(3), float);
        take(1, "m_c", behind(1), float);
        take(1, "m_c", behind(1), other);
        take(2, "m_a_b", None, float);
        take(3, "m_a_b", behind(1), float);
        take(4, "beside", None, float);
        take(4, "m_a_b", behind(3), float);
        take(5, "m_a_b", Some(Joint::WHOLE), float);
        take(6, "m_a_b", behind(1), float);
        take(7, "m_a_b", Some(Joint { repeated: true, ..Joint::behind(1) }), float);
        // Labels are part of the series, in any order, and whoever has declared it.
        take(8, "m_a_b{x=\"1\",y=\"2\"}", behind(3), float);
        take(9, "m_a_b{y=\"2\",x=\"1\"}", behind(1), float);
        take(10, "old_a_b", behind(5), float);
        take(11, "old_a_b", behind(3), float);
        take(12, "{\"m a_b_c\",x=\"1\"}", behind(3), float);
        take(13, "{\"m a_b_c\",x=\"1\"}", behind(5), float);
        let of = |line, series, first, found| {
            format!(
                "line {line}: series {series}: expected {first}, of which the series was made \
                 so far, found {found}, which would be the same series: rename one of them, or bring it \
                 into another store"
            )
        };
        let whole = r#""m" with "a_b""#;
        let expected = [
            "line 1: series m_c: expected f64, found \"x\"".to_owned(),
            of(4, "m_a_b", whole, r#""m_a" with "b""#),
            of(5, "m_a_b", whole, r#""m_a_b" alone"#),
            of(7, "m_a_b", whole, r#""m" with "a_b" and a tag __name__"#),
            of(9, "m_a_b{y=\"2\",x=\"1\"}", r#""m_a" with "b""#, whole),
            of(11, "old_a_b", r#""old_a" with "b""#, r#""old" with "a_b""#),
            of(13, "{\"m a_b_c\",x=\"1\"}", r#""m a" with "b_c""#, r#""m a_b" with "c""#),
        ];
        assert_eq!(told, expected);
        let fed = intake.finish(&mut |_| {}).unwrap();
        assert_eq!((fed.samples, fed.bad_lines), (6, 7));
        assert!(recorder.declared("beside").is_none() && recorder.declared("m_c").is_none());
    }
}

/// What was recorded once is known at the next start: of which two names it was made.
#[test]
fn other_names_that_come_to_the_same_are_refused_at_another_time() {
    let (folder, first) = recorder("joint-again");
    let behind = |bytes| Some(Joint::behind(bytes));
    let repeated = Some(Joint { repeated: true, ..Joint::behind(2) });
    let take = |target: Target<'_>, rows: &[(&str, Option<Joint>)]| {
        let mut intake = Intake::new("test", target, Manner::together()).unwrap();
        let mut told = Vec::new();
        for ((series, joint), line) in rows.iter().zip(1..) {
            let (value, types, joint) = (Value::Float(1.0), Types::Exact, *joint);
            let row = Row { line, series, time_ns: 5, value, types, joint, written: None };
            intake.take(&row, &mut |refusal| told.push(refusal.line)).unwrap();
        }
        intake.finish(&mut |refusal| told.push(refusal.line)).unwrap();
        told
    };
    let here = Target::of(&first, Room::NotWaitedFor).unwrap();
    let rows = [("m_a_b", behind(3)), ("n_n_c", repeated), ("plain_d", None), ("k_d", behind(1))];
    assert!(take(here, &rows).is_empty());
    assert_eq!(first.close().left, 0);
    let options = Options { rings: Rings::Private, ..Options::default() };
    let again = Recorder::open(&folder.0, options).unwrap();
    let rows = [
        ("m_a_b", behind(1)),
        ("m_a_b", behind(3)),
        // From a table of whole names it comes again, but not beside line protocol.
        ("k_d", Some(Joint::WHOLE)),
        ("k_d", behind(1)),
        ("n_n_c", behind(2)),
        ("n_n_c", None),
        ("plain_d", behind(5)),
    ];
    assert_eq!(take(Target::nowhere(&folder.0).unwrap(), &rows), [1, 4, 5]);
    assert_eq!(take(Target::of(&again, Room::NotWaitedFor).unwrap(), &rows), [1, 4, 5]);
    // Two that meet while neither is declared: the catalog decides.
    let [one, other] = [behind(1), behind(3)].map(|joint| {
        let mut intake = Intake::new(
            "test",
            Target::of(&again, Room::NotWaitedFor).unwrap(),
            Manner::together(),
        )
        .unwrap();
        let (value, types) = (Value::Float(1.0), Types::Exact);
        let row = Row { line: 1, series: "r_r_r", time_ns: 5, value, types, joint, written: None };
        intake.take(&row, &mut |refusal| panic!("{refusal}")).unwrap();
        intake
    });
    assert_eq!(one.finish(&mut |refusal| panic!("{refusal}")).unwrap().samples, 1);
    let mut told = Vec::new();
    let fed = other.finish(&mut |refusal| told.push(refusal.to_string())).unwrap();
    assert_eq!((fed.samples, fed.bad), (0, 1));
    assert!(told[0].contains(r#"expected "r" with "r_r", as r_r_r was declared"#), "{told:?}");
}

#[test]
fn values_of_one_time_that_replace_each_other_are_counted() {
    let (_folder, recorder) = recorder("replaced");
    let waiting = Waiting::default();
    let target = Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let mut intake = Intake::new("test", target, Manner::together()).unwrap();
    intake.begin();
    let mut line = 0;
    let mut take = |intake: &mut Intake<'_>, series: &str, time_ns: i64, value: f64| {
        line += 1;
        let types = Types::Exact;
        let value = Value::Float(value);
        let row = Row { line, series, time_ns, value, types, joint: None, written: None };
        intake.take(&row, &mut |refusal| panic!("{refusal}")).unwrap();
    };
    let counted = |intake: &mut Intake<'_>| {
        intake.flush(&mut |_| {}).unwrap();
        (intake.fed.replaced, intake.fed.replaced_first.map(|first| first.line))
    };
    // Other times, other series, and the same once more.
    for (series, time_ns, value) in [("a", 1, 1.0), ("b", 1, 2.0), ("a", 2, 1.0), ("a", 2, 1.0)] {
        take(&mut intake, series, time_ns, value);
    }
    assert_eq!(counted(&mut intake), (0, None));
    // Behind what was pushed before, and where times go back: of a table that was misread.
    take(&mut intake, "a", 2, 5.0);
    assert_eq!(counted(&mut intake), (1, Some(4)));
    for (time_ns, value) in [(10, 1.0), (11, 2.0), (12, 3.0), (10, 4.0), (11, 2.0), (12, 6.0)] {
        take(&mut intake, "a", time_ns, value);
    }
    assert_eq!(counted(&mut intake), (3, Some(4)));
    intake.begin();
    take(&mut intake, "b", 1, 7.0);
    intake.flush(&mut |_| {}).unwrap();
    let first = intake.fed.replaced_first.unwrap();
    assert_eq!((intake.fed.replaced, first.input, first.line), (4, 0, 2));
}

#[test]
fn what_replaces_each_other_far_apart_is_counted_by_reading_again() {
    // Two devices under one name, one behind the other; a series in order, and one that goes back once.
    let mut rows = Vec::new();
    for device in 0..2 {
        rows.extend((0..300).map(|at| ("a", at, f64::from(at as i32 * 2 + device))));
    }
    rows.extend((0..300).map(|at| ("b", at, 0.5)));
    rows.extend([("b", 299, 0.75), ("c", 1, 1.0), ("c", 3, 1.0), ("c", 2, 1.0), ("c", 2, 2.0)]);
    rows.extend([("a", 10, 20.0), ("a", 10, 21.0), ("a", 10, 20.0)]);
    let (_folder, recorder) = recorder("far-apart");
    let waiting = Waiting::default();
    let target = || Target::of(&recorder, Room::WhileItMoves(&waiting)).unwrap();
    let read = |held: usize, recount: Option<Recount>| {
        let mut intake = Intake::new("test", target(), Manner::together()).unwrap();
        recount.into_iter().for_each(|recount| intake.recount(recount));
        intake.begin();
        for (at, (series, time_ns, value)) in rows.iter().enumerate() {
            let (line, types, value) = (at as u64 + 1, Types::Exact, Value::Float(*value));
            let row =
                Row { line, series, time_ns: *time_ns, value, types, joint: None, written: None };
            intake.take(&row, &mut |refusal| panic!("{refusal}")).unwrap();
            if at % held == held - 1 {
                intake.flush(&mut |_| {}).unwrap();
            }
        }
        intake.end(Ok(()), &mut |_| {})
    };
    let first = |place: Option<Place>| place.map(|place| place.line);
    // All that is held at once is compared.
    let all = read(rows.len(), None);
    assert_eq!((all.fed.replaced, first(all.fed.replaced_first)), (305, Some(1)));
    assert_eq!(all.fed.unseen, Unseen::default());
    for (held, most) in [(100, 1000), (100, 64), (7, 300), (1, 1000)] {
        let once = read(held, None);
        assert!(once.fed.replaced < 305, "{held}");
        assert!(once.fed.unseen.samples >= 300 && once.fed.unseen.series.len() <= 2, "{held}");
        let mut recount = Recount::new(&once.fed.unseen).holding(most);
        while recount.begin() {
            recount = read(held, Some(recount)).recount.unwrap();
        }
        let (count, place) = recount.result().unwrap();
        assert_eq!((count, first(place)), (305, Some(1)), "{held} {most}");
    }
}

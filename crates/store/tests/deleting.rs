//! Deleting where something else goes on: a recorder, a settler of this or an earlier version, pins, a
//! log that goes round; and what queries cost where nothing is deleted.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use baro_log::{
    IDENTITY, MANIFEST, ManifestLock, Role, StoreLock, open_folder, read_identity, switch_when_full,
};
use baro_ondisk::{Identity, Manifest, Type, WhenFull};
use baro_recorder::{Options, PinRequest, Recorder, Retention};
use baro_store::{
    Error, Every, Extent, Filter, Interval, Logged, Query, Reading, SettleOptions, Settler,
    Settling, SettlingOptions, Store, Values, verify,
};
use baro_sys::counters::{CountingAllocator, allocations, counting};
use baro_sys::storage::Access;
use common::{Folder, options};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const A: u32 = 1;
const B: u32 = 2;
const CHANNEL: u32 = 3;
const ALL: Interval = Interval::ALL;

/// Values by series and time.
type Rows = BTreeMap<(u32, i64), i64>;

fn opened(path: &Path, options: Options) -> Recorder {
    let recorder = Recorder::open(path, options).unwrap();
    let wanted = [("a", Type::I64, ""), ("b", Type::I64, ""), ("frames", Type::Channel, "")];
    assert_eq!(recorder.declare(&wanted).unwrap(), [A, B, CHANNEL]);
    recorder
}

fn rows(path: &Path) -> Rows {
    let mut rows = Rows::new();
    let store = Store::open(path).unwrap();
    let notes = store.query_ids(&[A, B], &Query::raw(ALL), |batch| {
        let Values::I64(values) = batch.values else { panic!("{batch:?}") };
        for (time_ns, value) in batch.times_ns.iter().zip(values) {
            assert_eq!(rows.insert((batch.target.id, *time_ns), *value), None);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    rows
}

fn frames(path: &Path) -> usize {
    let (store, mut frames) = (Store::open(path).unwrap(), 0);
    let filter = Filter::ids(&[CHANNEL]).data_only();
    let notes = store.records(ALL, &filter, &Reading::default(), |_| {
        frames += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().damage, []);
    frames
}

/// One session: samples of these times with this value in both series, and frames.
fn record(path: &Path, times_ns: std::ops::Range<i64>, value: i64, frames: i64) {
    let recorder = opened(path, options());
    let mut producer = recorder.producer().unwrap();
    for time_ns in times_ns {
        producer.push_samples(time_ns, &[A, B], &[value, value]).unwrap();
    }
    for time_ns in 0..frames {
        while producer.free_bytes() < 1 << 17 {
            std::thread::yield_now();
        }
        producer.push_frame(CHANNEL, time_ns, &[7; 40_000]).unwrap();
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
}

fn settle(path: &Path) {
    let mut settler = Settler::open(path, SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

fn delete(path: &Path, ids: &[u32], interval: Interval) -> u64 {
    let mut store = Store::open(path).unwrap();
    let counted = store.count_rows(ids, interval).unwrap();
    let deleted = store.delete(ids, interval).unwrap();
    assert_eq!(counted, deleted);
    deleted.rows.values().sum()
}

/// What older versions are told, and how many deletions there are.
fn told(path: &Path) -> (bool, usize) {
    let identity = std::fs::read(path.join(IDENTITY)).unwrap();
    let manifest = std::fs::read(path.join(MANIFEST)).ok();
    let deletions = manifest.map_or(0, |bytes| Manifest::decode(&bytes).unwrap().deletions.len());
    (Identity::tells_deletions(&identity), deletions)
}

fn whole(path: &Path) {
    let report = verify(&Store::open(path).unwrap(), Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole() && report.damage.is_empty(), "{report:?}");
}

/// What a full log does lies in the same file, and who switches it takes turns with who deletes.
#[test]
fn what_is_deleted_stays_told_when_the_log_is_switched() {
    let folder = Folder::init("deleting-switched", 4, WhenFull::Stop);
    let path = &folder.0;
    record(path, 0..10, 1, 0);
    assert_eq!((delete(path, &[A], Interval { from_ns: 1, to_ns: 2 }), told(path)), (1, (true, 1)));
    let disk = open_folder(path).unwrap();
    let held = ManifestLock::take(&disk, "deletes", &mut |_, _| false).unwrap();
    let seen = || read_identity(&disk, path).unwrap().when_full;
    std::thread::scope(|scope| {
        let recycle = WhenFull::Recycle;
        let switch = scope.spawn(move || {
            let disk = open_folder(path).unwrap();
            switch_when_full(&disk, path, recycle).unwrap()
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(seen(), WhenFull::Stop, "who deletes has the turn");
        drop(held);
        assert_eq!(switch.join().unwrap().when_full, recycle);
    });
    assert_eq!((seen(), told(path)), (WhenFull::Recycle, (true, 1)));
    switch_when_full(&disk, path, WhenFull::Stop).unwrap();
    assert_eq!(told(path), (true, 1));
    whole(path);
}

/// Who deletes, who settles and who records are at it together: each deletion takes all that was
/// durable before it, nothing that came later, and no settling brings anything back.
#[test]
fn beside_a_recorder_that_settles_what_was_there_goes_and_what_comes_stays() {
    let folder = Folder::init("deleting-beside", 6, WhenFull::Recycle);
    let path = &folder.0;
    let retention = Retention { keep_unsettled: true, ..Retention::default() };
    let recorder = opened(path, Options { retention, ring_bytes: 1 << 20, ..options() });
    let settle = SettleOptions { memory_bytes: 1 << 20, least_bytes: 4 << 10, ..<_>::default() };
    let often = SettlingOptions { look_every_ns: 5_000_000, ..SettlingOptions::default() };
    let settling = Settling::start(path, settle, often).unwrap();
    let mut producer = recorder.producer().unwrap();
    let mut model = Rows::new();
    for round in 0..12_i64 {
        for time_ns in 0..1500 {
            producer.push_samples(time_ns, &[A, B], &[round, time_ns]).unwrap();
            model.extend([((A, time_ns), round), ((B, time_ns), time_ns)]);
        }
        // Enough for the log to go round.
        for time_ns in 0..30 {
            while producer.free_bytes() < 1 << 17 {
                settling.logged(Logged::from(&recorder.status()));
                std::thread::yield_now();
            }
            producer.push_frame(CHANNEL, time_ns, &[7; 40_000]).unwrap();
        }
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
        settling.logged(Logged::from(&recorder.status()));
        assert_eq!(rows(path), model, "round {round}");
        let interval = if round % 3 == 0 {
            ALL
        } else {
            Interval { from_ns: round * 100, to_ns: round * 100 + 300 }
        };
        let ids = if round % 2 == 0 { vec![A] } else { vec![A, B] };
        let goes = |key: &(u32, i64)| ids.contains(&key.0) && interval.holds(key.1);
        let count = model.keys().filter(|key| goes(key)).count() as u64;
        let deleted = Store::open(path).unwrap().delete(&ids, interval).unwrap();
        assert_eq!(deleted.rows.values().sum::<u64>(), count, "round {round}");
        model.retain(|key, _| !goes(key));
        assert_eq!(rows(path), model, "round {round}");
        assert_eq!(Store::open(path).unwrap().delete(&ids, interval).unwrap().damage, []);
    }
    drop(producer);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    let status = settling.end();
    assert!(status.runs > 0, "{status:?}");
    assert_eq!(rows(path), model);
    whole(path);
}

/// An earlier version does not look at deletions: it would write them away.
#[test]
fn a_settler_of_an_earlier_version_is_named_and_nothing_is_deleted() {
    let folder = Folder::init("deleting-old", 6, WhenFull::Stop);
    record(&folder.0, 0..100, 1, 3);
    settle(&folder.0);
    let before = rows(&folder.0);
    let disk = open_folder(&folder.0).unwrap();
    let lock = StoreLock::take(&disk, Role::Settling).unwrap().unwrap();
    let refused = Store::open(&folder.0).unwrap().delete(&[A], ALL).unwrap_err();
    assert!(matches!(refused, Error::OldSettler { .. }), "{refused}");
    assert!(refused.to_string().contains("end it first"), "{refused}");
    assert_eq!((rows(&folder.0), told(&folder.0)), (before, (false, 0)));
    drop(lock);
    assert_eq!(delete(&folder.0, &[A], ALL), 100);
}

/// As long as deletions are in force the store says so by a version that who does not know them
/// refuses; when the log has gone round and the runs are written anew they are forgotten.
#[test]
fn deletions_are_told_by_the_store_until_nothing_of_them_is_left() {
    let folder = Folder::init("deleting-told", 6, WhenFull::Recycle);
    let path = &folder.0;
    record(path, 0..500, 1, 10);
    settle(path);
    record(path, 500..600, 1, 0);
    assert_eq!(told(path), (false, 0));
    let interval = Interval { from_ns: 50, to_ns: 550 };
    assert_eq!(delete(path, &[A, CHANNEL], interval), 500);
    assert_eq!(told(path), (true, 1));
    let held = rows(path);
    assert_eq!(held.len(), 700);
    settle(path);
    assert_eq!((rows(path), told(path)), (held.clone(), (true, 1)), "the log has it still");
    let room = Store::open(path).unwrap().deleted_room();
    assert_eq!((room.deletions, room.series, room.runs_bytes), (1, 2, 0), "{room:?}");
    // Frames enough for every segment.
    record(path, 0..0, 0, 200);
    settle(path);
    assert_eq!((rows(path), told(path)), (held, (false, 0)));
    whole(path);
}

/// Series that are not listed cost one deletion, however many verbs took them away.
#[test]
fn series_that_stay_hidden_are_one_deletion() {
    let folder = Folder::init("deleting-hidden", 6, WhenFull::Recycle);
    let path = &folder.0;
    record(path, 0..100, 1, 0);
    delete(path, &[A], ALL);
    delete(path, &[B], ALL);
    record(path, 0..0, 0, 200);
    settle(path);
    assert_eq!(told(path), (true, 1));
    let hidden = |path: &Path| {
        let hidden = Store::open(path).unwrap().hidden().unwrap();
        [A, B, CHANNEL].map(|id| hidden.has(id))
    };
    assert_eq!(hidden(path), [true, true, false]);
    let recorder = opened(path, options());
    recorder.producer().unwrap().push_samples(7, &[B], &[7_i64]).unwrap();
    assert_eq!(recorder.close().left, 0);
    assert_eq!(hidden(path), [true, false, false]);
    settle(path);
    assert_eq!(hidden(path), [true, false, false]);
    assert_eq!(rows(path), Rows::from([((B, 7), 7)]));
}

/// A pin keeps from recycling, not from who deletes: in the log and in what was copied out of it.
#[test]
fn a_deletion_takes_what_a_pin_keeps_and_leaves_the_rest_of_it() {
    let folder = Folder::init("deleting-pins", 8, WhenFull::Recycle);
    let path = &folder.0;
    let recorder = opened(path, options());
    let mut producer = recorder.producer().unwrap();
    for time_ns in 0..10 {
        producer.push_frame(CHANNEL, time_ns, &[7; 4000]).unwrap();
        producer.push_samples(time_ns, &[A, B], &[time_ns, time_ns]).unwrap();
    }
    let sequence = producer.next_sequence();
    assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
    let before_ns = 3_600_000_000_000;
    recorder.pin(&PinRequest { name: "fault".into(), before_ns, ..<_>::default() }).unwrap();
    assert_eq!(delete(path, &[A, CHANNEL], Interval { from_ns: 0, to_ns: 4 }), 8);
    let left = |path: &Path| (rows(path).len(), frames(path));
    assert_eq!(left(path), (16, 6));
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    settle(path);
    assert_eq!(left(path), (16, 6));
    for _ in 0..2 {
        record(path, 0..0, 0, 250);
    }
    // What is pinned is there still, and what was deleted of it is not.
    assert_eq!(Store::open(path).unwrap().pins().count(), 1);
    assert_eq!((rows(path).len(), told(path)), (16, (true, 1)));
    let mut pinned = Vec::new();
    let filter = Filter::ids(&[CHANNEL]).data_only();
    Store::open(path)
        .unwrap()
        .records(ALL, &filter, &Reading::default(), |record| {
            if record.payload.len() == 4000 {
                pinned.push(record.time_ns);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(pinned, (4..10).collect::<Vec<_>>());
    whole(path);
}

#[test]
fn what_is_recorded_again_after_a_deletion_stays() {
    let folder = Folder::init("deleting-again", 8, WhenFull::Stop);
    let path = &folder.0;
    let expected = |value| -> Rows {
        (0..300).flat_map(|time_ns| [((A, time_ns), value), ((B, time_ns), value)]).collect()
    };
    for value in 1..4 {
        record(path, 0..300, value, 0);
        assert_eq!(rows(path), expected(value));
        if value == 2 {
            settle(path);
        }
        assert_eq!(delete(path, &[A, B], ALL), 600);
        assert_eq!(rows(path), Rows::new());
    }
    record(path, 0..300, 9, 0);
    assert_eq!(rows(path), expected(9));
    settle(path);
    assert_eq!(rows(path), expected(9));
}

/// Bytes that this process has asked files for.
fn read_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

/// Bytes read and allocations of this thread.
fn cost(store: &Store, query: &Query, ids: &[u32]) -> (u64, u64) {
    let before = (read_bytes(), allocations());
    let mut rows = 0;
    let notes = store.query_ids(ids, query, |batch| {
        rows += batch.times_ns.len();
        ControlFlow::Continue(())
    });
    assert!(rows > 0 && notes.unwrap().read.damage.is_empty());
    (read_bytes() - before.0, allocations() - before.1)
}

/// A mask is asked where something was deleted and nowhere else: other queries read as many bytes and
/// allocate as often as before.
#[test]
fn queries_of_what_is_not_deleted_cost_what_they_did() {
    assert!(counting());
    let folder = Folder::init("deleting-cost", 8, WhenFull::Stop);
    let path = &folder.0;
    let settle = || {
        let options = SettleOptions { least_bytes: 0, fan_in: 64, ..SettleOptions::default() };
        let mut settler = Settler::open(path, options).unwrap();
        while settler.step(Extent::All).unwrap().more {}
    };
    for start in [0, 50_000] {
        record(path, start..start + 5_000, start, 0);
        settle();
    }
    record(path, 90_000..91_000, 3, 0);
    let behind = Interval { from_ns: 40_000, to_ns: i64::MAX };
    let every = Every { step_ns: 0, aggregate: baro_store::Aggregate::Max };
    let queries = [
        (vec![B], Query::raw(ALL)),
        (vec![A], Query::raw(behind)),
        (vec![A], Query::every(behind, every)),
        (vec![A, B], Query::every(behind, every)),
    ];
    let costs = || {
        let store = Store::open(path).unwrap();
        // What is in the log is read once, whatever is asked.
        let _ = cost(&store, &queries[0].1, &[B]);
        queries.iter().map(|(ids, query)| cost(&store, query, ids)).collect::<Vec<_>>()
    };
    let before = costs();
    assert_eq!(delete(path, &[A], Interval { from_ns: 0, to_ns: 1_000 }), 1_000);
    assert_eq!(told(path), (true, 1));
    assert_eq!(costs(), before);
}

//! Beside a writer that recycles fast: what is read is exact, and what is gone is counted and
//! never called damage.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, options};
use baro_log::set_when_full;
use baro_ondisk::{Kind, Type, WhenFull};
use baro_recorder::{Options, Recorder};
use baro_store::{Filter, Follow, Interval, Loss, Query, Reading, RecordRef, Store, verify};
use baro_sys::disk::Disk;
use baro_sys::storage::Access;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The frame that belongs to a sequence.
fn frame(sequence: u64) -> Vec<u8> {
    let word = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    word.iter().copied().cycle().take(200 + (sequence as usize * 7) % 3000).collect()
}

fn check(record: &RecordRef<'_>) {
    if record.kind == Kind::Frame {
        assert!(record.payload == frame(record.sequence), "record {}", record.sequence);
        assert_eq!(record.time_ns, record.sequence as i64);
    }
}

#[test]
fn reading_beside_a_fast_writer_is_exact() {
    let folder = Folder::init("live", 3, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, Options { ring_bytes: 1 << 20, ..options() }).unwrap();
    let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
    let mut ring = recorder.producer().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = 0;
            while !stop.load(Ordering::Relaxed) {
                if ring.report().used_bytes > 500_000 {
                    std::thread::yield_now();
                    continue;
                }
                assert_eq!(ring.push_frame(id, next as i64, &frame(next)), Ok(next));
                next += 1;
            }
        });
        let mut recycled = 0;
        let mut records = 0;
        // A disk may stand still for a while: then nothing is recycled meanwhile.
        for round in 0..6_000 {
            if round >= 60 && recycled > 0 {
                break;
            }
            let store = Store::open(&folder.0).unwrap();
            assert!(store.damage().is_empty(), "round {round}: {:?}", store.damage());
            let mut last: HashMap<u64, u64> = HashMap::new();
            let notes = store
                .records_as_written(|record| {
                    check(record);
                    let before = last.insert(record.producer, record.sequence);
                    assert!(before.is_none_or(|before| before < record.sequence));
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert!(notes.damage.is_empty(), "round {round}: {:?}", notes.damage);
            recycled += notes.blocks_recycled;
            records += notes.records;
            let mut time = i64::MIN;
            let notes = store
                .records(Interval::ALL, &Filter::all().data_only(), &Reading::default(), |r| {
                    check(r);
                    assert!(r.time_ns > time);
                    time = r.time_ns;
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert!(notes.damage.is_empty(), "round {round}: {:?}", notes.damage);
            recycled += notes.blocks_recycled;
            let report = verify(&store, Access::ReadDirect, |_, _| {}).unwrap();
            assert!(report.is_whole() && report.damage.is_empty(), "round {round}: {report:?}");
            recycled += report.recycled_while_reading;
        }
        stop.store(true, Ordering::Relaxed);
        assert!(recycled > 0 && records > 0);
    });
    drop(recorder);
    let store = Store::open(&folder.0).unwrap();
    assert!(store.tails().unwrap().is_empty(), "{:?}", store.tails().unwrap());
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole() && report.recycled_while_reading == 0, "{report:?}");
}

#[test]
fn a_log_that_grows_while_its_headers_are_read_has_no_holes() {
    let folder = Folder::init("grow", 60, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
    let mut ring = recorder.producer().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = 0;
            while !stop.load(Ordering::Relaxed) && next < 30_000 {
                if ring.report().used_bytes > 4_000_000 {
                    std::thread::yield_now();
                    continue;
                }
                assert_eq!(ring.push_frame(id, next as i64, &frame(next)), Ok(next));
                next += 1;
            }
        });
        let mut records = 0;
        while records < 25_000 {
            let store = Store::open(&folder.0).unwrap();
            assert!(store.damage().is_empty(), "{:?}", store.damage());
            let mut next = 0;
            let notes = store
                .records_as_written(|record| {
                    check(record);
                    assert_eq!(record.sequence, next);
                    next += 1;
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert!(notes.damage.is_empty(), "{:?}", notes.damage);
            assert!(next >= records, "what was there is there");
            records = next;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Who stood still while a session that began meanwhile went round is told of what he has not seen.
#[test]
fn what_went_round_before_it_was_followed_is_told() {
    let folder = Folder::init("follow-late", 8, WhenFull::Recycle);
    let mut store = Store::open(&folder.0).unwrap();
    let mut place = store.end().unwrap();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
    let mut ring = recorder.producer().unwrap();
    let segments = store.identity().segment_bytes * 8;
    let frames = 2 * segments / 4096;
    for at in 0..frames {
        ring.push_frame(id, at as i64, &[7; 4096]).unwrap();
        if at % 16 == 0 {
            assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
        }
    }
    drop(ring);
    assert_eq!(recorder.close().left, 0);
    store.refresh().unwrap();
    let mut seen = 0;
    let notes = store.follow(&mut place, |record| {
        seen += u64::from(record.kind == Kind::Frame);
        ControlFlow::Continue(())
    });
    let notes = notes.unwrap();
    assert!(seen < frames && notes.blocks_recycled > 0, "{seen} of {frames}: {notes:?}");
}

/// However much has gone round of what was to be followed, in one session or in many: it is counted, and
/// nothing is called damaged.
#[test]
fn a_place_that_goes_round_is_not_called_damaged() {
    for (of_session, name) in [(i64::MAX, "follow-round"), (10, "follow-sessions")] {
        let folder = Folder::init(name, 4, WhenFull::Recycle);
        let mut store = Store::open(&folder.0).unwrap();
        let (mut place, mut time_ns, mut losses) = (None, 0, 0);
        while losses < 100 {
            let recorder = Recorder::open(&folder.0, options()).unwrap();
            let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
            let mut ring = recorder.producer().unwrap();
            for _ in 0..of_session {
                ring.push_frame(id, time_ns, &[7; 60_000]).unwrap();
                assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
                store.refresh().unwrap();
                let place: &mut Follow = place.get_or_insert_with(|| store.end().unwrap());
                let mut first = None;
                let notes = store.follow(&mut place.clone(), |record| {
                    first = first.or((record.kind == Kind::Frame).then_some(record.time_ns));
                    ControlFlow::Continue(())
                });
                let notes = notes.unwrap();
                assert_eq!(notes.damage, [], "{name}: after {time_ns} frames");
                let all = first == (time_ns > 0).then_some(1);
                assert_eq!(all, notes.blocks_recycled == 0, "{name}: {first:?} {notes:?}");
                time_ns += 1;
                losses += u64::from(!all);
                if losses == 100 {
                    break;
                }
            }
            drop(ring);
            assert_eq!(recorder.close().left, 0);
        }
    }
}

/// A store that is held open while `init --when-full` says that its log goes round from now on.
#[test]
fn a_log_that_is_made_to_go_round_is_not_called_damaged_by_who_has_it_open() {
    let folder = Folder::init("switched", 4, WhenFull::Stop);
    let mut store = Store::open(&folder.0).unwrap();
    let disk = Disk::open(&folder.0).unwrap();
    let mut time_ns = 0;
    for when_full in [WhenFull::Stop, WhenFull::Recycle] {
        set_when_full(&disk, &folder.0, when_full).unwrap();
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
        let mut ring = recorder.producer().unwrap();
        let count = if when_full == WhenFull::Stop { 20 } else { 100 };
        for _ in 0..count {
            ring.push_frame(id, time_ns, &[7; 60_000]).unwrap();
            time_ns += 1;
            assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
            store.refresh().unwrap();
            assert_eq!(store.damage(), [], "{when_full:?}: after {time_ns} frames");
        }
        drop(ring);
        assert_eq!(recorder.close().left, 0);
    }
    assert_eq!(store.identity().when_full, WhenFull::Recycle);
    let first = store.info().unwrap().times_ns.unwrap().0;
    assert!(first > 20, "what the first session wrote has gone round: {first}");
}

/// Whoever is slow is overtaken while he reads.
#[test]
fn what_goes_round_while_it_is_followed_is_not_called_damaged() {
    let folder = Folder::init("follow-overtaken", 4, WhenFull::Recycle);
    let mut store = Store::open(&folder.0).unwrap();
    let mut place = store.end().unwrap();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
    let mut ring = recorder.producer().unwrap();
    let mut push = |times: std::ops::Range<i64>| {
        for time_ns in times {
            ring.push_frame(id, time_ns, &[7; 60_000]).unwrap();
            assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
        }
    };
    push(0..50);
    store.refresh().unwrap();
    let mut seen = 0;
    let notes = store.follow(&mut place, |record| {
        if record.kind == Kind::Frame {
            seen += 1;
            if seen == 2 {
                push(50..120);
            }
        }
        ControlFlow::Continue(())
    });
    let notes = notes.unwrap();
    assert_eq!(notes.damage, [], "{notes:?}");
    assert!(seen < 50 && notes.blocks_recycled > 0, "{seen} seen: {notes:?}");
}

/// From a place on, each once, whatever has gone round or is still under way.
#[test]
fn what_is_followed_is_what_is_recorded_from_there_on() {
    let folder = Folder::init("follow", 4, WhenFull::Stop);
    let mut store = Store::open(&folder.0).unwrap();
    let mut place = store.end().unwrap();
    let mut found = Vec::new();
    let mut next = 0;
    for session in 0..3 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
        let mut ring = recorder.producer().unwrap();
        let first = next;
        for round in 0..8 {
            for _ in 0..40 {
                ring.push_frame(id, next, &frame(next as u64)).unwrap();
                next += 1;
            }
            if round % 3 == 0 {
                assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
            }
            store.refresh().unwrap();
            let notes = store.follow(&mut place, |record| {
                if record.kind == Kind::Frame {
                    found.push(record.time_ns);
                }
                ControlFlow::Continue(())
            });
            let notes = notes.unwrap();
            assert_eq!((notes.damage.len(), notes.blocks_recycled), (0, 0));
            if round % 3 == 0 {
                assert_eq!(found.len(), next as usize, "session {session}, round {round}");
            }
        }
        drop(ring);
        assert_eq!(recorder.close().left, 0);
        // A place taken now is behind all of it.
        store.refresh().unwrap();
        let mut end = store.end().unwrap();
        let count = store.follow(&mut end, |_| ControlFlow::Continue(())).unwrap().records;
        assert_eq!((count, first < next), (0, true));
    }
    store.refresh().unwrap();
    store
        .follow(&mut place, |record| {
            if record.kind == Kind::Frame {
                found.push(record.time_ns);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(found, (0..next).collect::<Vec<_>>());
}

/// A recorder writes between two looks of one view, and a query and what is followed look differently.
#[test]
fn who_queries_and_then_follows_has_each_row_once() {
    let folder = Folder::init("follow-last", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("a", Type::F64, "")]).unwrap()[0];
    let mut ring = recorder.producer().unwrap();
    let mut push = |times: std::ops::Range<i64>| {
        times.for_each(|at| _ = ring.push_sample(id, at, at as f64).unwrap());
        assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
    };
    push(0..10);
    let mut store = Store::open(&folder.0).unwrap();
    let mut place = store.end_of_reads().unwrap();
    push(10..20);
    let mut found = Vec::new();
    let last = Query { last: Some(3), ..Query::raw(Interval::ALL) };
    let queried = store.query_ids(&[id], &last, |batch| {
        found.extend_from_slice(batch.times_ns);
        ControlFlow::Continue(())
    });
    queried.unwrap();
    store.refresh().unwrap();
    let followed = store.follow(&mut place, |record| {
        found.push(record.time_ns);
        ControlFlow::Continue(())
    });
    followed.unwrap();
    assert_eq!(found, (7..20).collect::<Vec<_>>());
}

/// A block that is damaged while it is followed costs itself, and is told while its segment is still written
/// to; so where its segment is over by then.
#[test]
fn a_block_that_is_damaged_while_it_is_followed_costs_itself() {
    const DAMAGED: i64 = 10;
    // In its header, which leads on, and behind it.
    for (at, bytes, name) in [(100, 200, "header"), (200, 200, "payload"), (400, 30_000, "later")] {
        let folder = Folder::init(&format!("follow-damaged-{name}"), 4, WhenFull::Stop);
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
        let mut store = Store::open(&folder.0).unwrap();
        let mut place = store.end().unwrap();
        let mut ring = recorder.producer().unwrap();
        let frames = if name == "later" { 60 } else { 20 };
        for time_ns in 0..frames {
            ring.push_frame(id, time_ns, &vec![7; bytes]).unwrap();
            assert!(recorder.wait_durable(&ring, ring.next_sequence(), 60_000_000_000));
        }
        let (mut offset, mut in_it) = (None, Vec::new());
        let all = Store::open(&folder.0).unwrap().blocks(|live| {
            let records = live.block.chunks().flat_map(|chunk| chunk.unwrap().records());
            let frames = records.map(Result::unwrap).filter(|record| record.kind == Kind::Frame);
            let times: Vec<i64> = frames.map(|record| record.time_ns).collect();
            if times.contains(&DAMAGED) {
                (offset, in_it) = (Some((live.file.name(), live.offset)), times);
            }
            ControlFlow::Continue(())
        });
        assert_eq!(all.unwrap().damage, []);
        let (file, offset) = offset.unwrap();
        let file = std::fs::File::options().read(true).write(true).open(folder.0.join(file));
        let (file, mut byte) = (file.unwrap(), [0]);
        file.read_exact_at(&mut byte, offset + at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], offset + at).unwrap();
        let (mut seen, mut damage, mut last) = (Vec::new(), Vec::new(), 0);
        for look in 0..64 {
            store.refresh().unwrap();
            let notes = store.follow(&mut place, |record| {
                if record.kind == Kind::Frame {
                    seen.push(record.time_ns);
                    last = look;
                }
                ControlFlow::Continue(())
            });
            damage.extend(notes.unwrap().damage);
        }
        let expected: Vec<i64> = (0..frames).filter(|time_ns| !in_it.contains(time_ns)).collect();
        assert_eq!(seen, expected, "{name}");
        let told: Vec<_> = damage.iter().map(|one| (one.offset / 4096 * 4096, one.loss)).collect();
        assert_eq!(told, [(offset, Loss::Blocks(1))], "{name}: {damage:?}");
        assert!(name != "later" || last == 0, "{name}: told at look {last}");
        drop(ring);
        assert_eq!(recorder.close().left, 0);
    }
}

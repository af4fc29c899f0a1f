//! Producer and reader over one ring: order, wrap, refusal, crashes on either side, hostility.

#![allow(clippy::disallowed_methods, reason = "a test")]

use super::consumer::Next;
use super::layout::{CAPACITY_MIN, HEAD_BYTES, Ring, record_bytes};
use super::{Producer, Refused, RingReader};
use baro_ondisk::{Gap, Samples, StoreId};
use baro_sys::memory::SharedMemory;
use std::sync::atomic::Ordering;

fn memory() -> SharedMemory {
    SharedMemory::private(Ring::memory_bytes(CAPACITY_MIN)).unwrap()
}

fn pair() -> (Producer, RingReader, SharedMemory) {
    let memory = memory();
    let writer = Ring::format(memory.clone(), StoreId([3; 16]), 77, 1 << 20);
    let producer = Producer::new(Ring::attach(memory.clone(), None).unwrap()).unwrap();
    (producer, RingReader::new(writer, 0).unwrap(), memory)
}

/// Takes everything; (sequence, payload) of records, and gaps.
fn drain(reader: &mut RingReader) -> (Vec<(u64, Vec<u8>)>, Vec<Gap>) {
    let (mut records, mut gaps) = (Vec::new(), Vec::new());
    reader.look();
    loop {
        match reader.next() {
            Next::Empty => break,
            Next::Record(head) => {
                let mut payload = vec![0; head.length];
                reader.copy_payload(&mut payload);
                records.push((head.sequence, payload));
                reader.take_record(&head);
            }
            Next::Gap(gap) => {
                gaps.push(gap);
                reader.take_gap(&gap);
            }
        }
    }
    let position = reader.position();
    reader.release(&position);
    (records, gaps)
}

#[test]
fn records_come_out_in_order_around_the_end() {
    let (mut producer, mut reader, _) = pair();
    let mut expected = 0_u64;
    for round in 0..200_usize {
        for n in 0..20_usize {
            let payload = vec![(round + n) as u8; (round * 37 + n * 101) % 2500];
            assert_eq!(producer.push_frame(1, 5, &payload), Ok(expected + n as u64));
        }
        let (records, gaps) = drain(&mut reader);
        assert!(gaps.is_empty());
        assert_eq!(records.len(), 20);
        for (n, (sequence, payload)) in records.iter().enumerate() {
            assert_eq!(*sequence, expected + n as u64);
            assert_eq!(*payload, vec![(round + n) as u8; (round * 37 + n * 101) % 2500]);
        }
        expected += 20;
    }
    assert_eq!(producer.durable(), expected);
}

#[test]
fn a_full_ring_refuses_the_newest_and_the_gap_is_seen_with_its_cause() {
    let (mut producer, mut reader, _) = pair();
    let mut taken = 0;
    while producer.push_frame(1, 0, &[7; 1000]).is_ok() {
        taken += 1;
    }
    assert_eq!(taken, CAPACITY_MIN / record_bytes(1000));
    assert_eq!(producer.push_frame(1, 0, &[7; 1000]), Err(Refused::RingFull));
    assert!(matches!(producer.push_frame(1, 0, &[0; 1 << 20]), Err(Refused::TooLarge { .. })));
    let (records, gaps) = drain(&mut reader);
    assert_eq!(records.len(), taken);
    assert_eq!(gaps, [Gap { ring_full: 2, too_large: 1, ..Gap::default() }]);
    assert_eq!(producer.push_frame(1, 0, &[8; 10]), Ok(taken as u64 + 3));
    let (records, gaps) = drain(&mut reader);
    assert_eq!((records.len(), gaps.len()), (1, 0));
    assert_eq!(producer.durable(), taken as u64 + 4);
}

#[test]
fn a_record_leaves_the_ring_only_when_released() {
    let (mut producer, mut reader, _) = pair();
    while producer.push_frame(1, 0, &[7; 1000]).is_ok() {}
    reader.look();
    while let Next::Record(head) = reader.next() {
        reader.take_record(&head);
    }
    assert_eq!(producer.push_frame(1, 0, &[7; 1000]), Err(Refused::RingFull));
    assert_eq!(producer.durable(), 0);
    reader.rewind();
    assert!(drain(&mut reader).0.len() > 60);
    assert!(producer.push_frame(1, 0, &[7; 1000]).is_ok());
}

#[test]
fn the_next_writer_finds_what_was_not_durable_and_skips_what_was_logged() {
    let (mut producer, mut reader, memory) = pair();
    for n in 0..10_u8 {
        producer.push_frame(1, 0, &[n; 100]).unwrap();
    }
    reader.look();
    for _ in 0..4 {
        let Next::Record(head) = reader.next() else { panic!() };
        reader.take_record(&head);
    }
    let position = reader.position();
    reader.release(&position);
    drop(reader);
    let again = |skip| {
        let ring = Ring::attach(memory.clone(), Some(StoreId([3; 16]))).unwrap();
        let mut reader = RingReader::new(ring, skip).unwrap();
        reader.look();
        let mut sequences = Vec::new();
        while let Next::Record(head) = reader.next() {
            sequences.push(head.sequence);
            reader.take_record(&head);
        }
        sequences
    };
    assert_eq!(again(0), (4..10).collect::<Vec<_>>());
    assert_eq!(again(7), (7..10).collect::<Vec<_>>());
    // Killed between the stores of `release`: durable has moved, the tail has not.
    memory.counter(264).store(8, Ordering::Release);
    assert_eq!(again(0), [8, 9]);
    assert!(Ring::attach(memory.clone(), Some(StoreId([4; 16]))).is_err());
}

#[test]
fn gaps_that_recovery_found_in_the_log_are_not_logged_twice() {
    let (mut producer, reader, memory) = pair();
    while producer.push_frame(1, 0, &[7; 1000]).is_ok() {}
    let _ = producer.push_frame(1, 0, &[7; 1000]);
    let offered = producer.next_sequence();
    drop(reader);
    let ring = Ring::attach(memory.clone(), None).unwrap();
    let mut reader = RingReader::new(ring, offered - 1).unwrap();
    let (records, gaps) = drain(&mut reader);
    assert_eq!(records.len(), 0);
    assert_eq!(gaps, [Gap { ring_full: 1, ..Gap::default() }]);
    assert_eq!(producer.durable(), offered);
}

#[test]
fn a_producer_that_takes_over_goes_on_after_the_last_record() {
    let (mut producer, mut reader, memory) = pair();
    for _ in 0..3 {
        producer.push_frame(1, 0, b"x").unwrap();
    }
    // Killed between its two stores.
    memory.counter(136).store(2, Ordering::Release);
    drop(producer);
    let mut producer = Producer::new(Ring::attach(memory, None).unwrap()).unwrap();
    assert_eq!(producer.push_frame(1, 0, b"y"), Ok(3));
    let (records, gaps) = drain(&mut reader);
    assert_eq!((records.len(), gaps.len()), (4, 0));
}

#[test]
fn a_producer_that_takes_over_does_not_reuse_the_sequence_of_a_record_released_meanwhile() {
    let (mut producer, mut reader, memory) = pair();
    for _ in 0..3 {
        producer.push_frame(1, 0, b"x").unwrap();
    }
    // Killed between its two stores.
    memory.counter(136).store(2, Ordering::Release);
    drop(producer);
    assert_eq!(drain(&mut reader).0.len(), 3);
    let mut producer = Producer::new(Ring::attach(memory, None).unwrap()).unwrap();
    assert_eq!(producer.push_frame(1, 0, b"y"), Ok(3));
    let (records, gaps) = drain(&mut reader);
    assert_eq!((records, gaps.len()), (vec![(3, b"y".to_vec())], 0));
}

#[test]
fn a_ring_is_finished_only_if_nothing_was_pushed_since_it_was_looked_at() {
    let folder = std::path::Path::new("/dev/shm");
    if !folder.is_dir() {
        println!("skipped: no tmpfs at /dev/shm");
        return;
    }
    let name = format!("baro-finished-{}", std::process::id());
    let path = folder.join(&name);
    let bytes = Ring::memory_bytes(CAPACITY_MIN);
    let folder = baro_sys::state::StateFolder::open(folder).unwrap();
    let memory = SharedMemory::create_in(&folder, &name, bytes, 0o600).unwrap();
    let ring = Ring::format(memory, StoreId([3; 16]), 77, 1 << 20);
    // It is another store's, however it came into this one's folder.
    let found = super::FoundRing::at(&path).unwrap();
    let refused = found.adopt(&path, StoreId([4; 16])).unwrap_err().to_string();
    assert!(refused.contains(&StoreId([4; 16]).to_string()), "{refused}");
    let mut reader = RingReader::new(ring, 0).unwrap();
    let mut producer = Producer::attach(&path).unwrap();
    drain(&mut reader);
    assert!(reader.drained() && !reader.finished(), "a producer is attached");
    // A push that had begun when the ring closed, by a producer that is gone now.
    producer.push_frame(1, 0, b"late").unwrap();
    drop(producer);
    assert!(reader.drained() && !reader.finished(), "a record is there");
    drain(&mut reader);
    assert!(reader.finished());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_closed_ring_refuses() {
    let (mut producer, mut reader, _) = pair();
    reader.close();
    assert_eq!(producer.push_frame(1, 0, b"x"), Err(Refused::Closed));
    assert_eq!(producer.push_samples(0, &[1], &[0.5]), Err(Refused::Closed));
    assert_eq!(producer.push_samples(0, &[1, 2], &[0.5]), Err(Refused::Uneven));
}

#[test]
fn words_have_one_time_for_all_or_one_for_each() {
    let (mut producer, mut reader, _) = pair();
    for times_ns in [&[][..], &[1, 2], &[1, 2, 3, 4]] {
        assert_eq!(producer.push_words(times_ns, &[1, 2, 3], &[7, 8, 9]), Err(Refused::Uneven));
    }
    assert_eq!(producer.push_words(&[5], &[1, 2], &[7]), Err(Refused::Uneven));
    assert_eq!(producer.push_words(&[5], &[1, 2], &[7, 8]), Ok(0));
    assert_eq!(producer.push_words(&[5, 6], &[1, 2], &[7, 8]), Ok(1));
    let (records, _) = drain(&mut reader);
    let samples = |at: usize| {
        let samples = Samples::decode(&records[at].1, 5).unwrap();
        samples.iter().collect::<Vec<_>>()
    };
    assert_eq!(samples(0), [(1, 5, 7), (2, 5, 8)]);
    assert_eq!(samples(1), [(1, 5, 7), (2, 6, 8)]);
    let bytes = |times| Samples::payload_bytes(2, times);
    assert_eq!([records[0].1.len(), records[1].1.len()], [bytes(false), bytes(true)]);
}

/// Any bytes, anywhere: nothing panics, nothing loops, and what comes out fits the ring.
#[test]
fn hostile_contents_are_survived() {
    let mut seed = 1_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for _ in 0..3_000 {
        let (mut producer, mut reader, memory) = pair();
        for n in 0..20_u8 {
            let _ = producer.push_frame(1, 0, &vec![n; (random() % 2000) as usize]);
        }
        for _ in 0..(random() % 4) {
            let value = match random() % 3 {
                0 => random(),
                1 => random() % 70_000,
                _ => u64::MAX,
            };
            let offset = [128, 136, 144, 152, 256, 4096, 4104, 4096 + 2048][random() as usize % 8];
            memory.counter(offset).store(value, Ordering::Release);
        }
        for _ in 0..3 {
            let (records, gaps) = drain(&mut reader);
            assert!(records.len() <= CAPACITY_MIN / HEAD_BYTES && gaps.len() <= 40);
            let _ = producer.push_frame(1, 0, &[1; 50]);
        }
        drop((reader, producer));
        if let Ok(ring) = Ring::attach(memory.clone(), None) {
            let _ = RingReader::new(ring, random() % 30).map(|mut reader| drain(&mut reader));
        }
        if let Ok(mut producer) = Ring::attach(memory, None).and_then(Producer::new) {
            let _ = producer.push_frame(1, 0, &[2; 50]);
        }
    }
}

#[test]
fn a_damaged_header_is_refused_by_name() {
    let (_, _, memory) = pair();
    for offset in 0..64_usize {
        let mut byte = [0];
        memory.read(offset, &mut byte);
        memory.write(offset, &[byte[0] ^ 4]);
        let error = Ring::attach(memory.clone(), None).unwrap_err();
        assert!(error.to_string().contains("expected"), "{error}");
        memory.write(offset, &byte);
    }
    assert!(Ring::attach(memory, None).is_ok());
}

/// Offsets: `docs/format.md`, "Ring".
#[test]
fn counts_that_cannot_be_give_a_ring_up_and_no_gap_is_larger_than_what_was_pushed() {
    const MOST: u64 = u64::MAX;
    let hostile: [&[(usize, u64)]; 8] = [
        &[(136, MOST)],
        &[(144, MOST), (152, MOST)],
        &[(144, MOST - 1)],
        &[(264, MOST)],
        &[(136, MOST - 5), (144, MOST - 5)],
        &[(136, MOST), (144, MOST), (264, MOST - 1), (272, MOST), (304, MOST)],
        &[(136, 1 << 40)],
        &[(264, 1 << 40)],
    ];
    for fields in hostile {
        let (mut producer, reader, memory) = pair();
        assert_eq!(
            (producer.push_frame(1, 5, &[1]), producer.push_frame(1, 5, &[2])),
            (Ok(0), Ok(1))
        );
        drop((producer, reader));
        for (at, value) in fields {
            memory.counter(*at).store(*value, Ordering::Release);
        }
        let report = Ring::attach(memory.clone(), None).unwrap().report();
        for count in [report.refused_full, report.refused_large, report.durable, report.written] {
            assert!(count <= 1 << 40, "{fields:?}: {report:?}");
        }
        let mut reader = RingReader::new(Ring::attach(memory, None).unwrap(), 1).unwrap();
        assert!(reader.broken(), "{fields:?}");
        let (records, gaps) = drain(&mut reader);
        assert_eq!((records.len(), gaps.len()), (0, 1), "{fields:?}: {gaps:?}");
        assert!(gaps[0].lost() <= 2, "{fields:?}: {gaps:?}");
        assert!(reader.sequence() <= 3, "{fields:?}: {}", reader.sequence());
    }
    // Counts of refused records that were logged already are the writer's own.
    let (_, _, memory) = pair();
    memory.counter(280).store(MOST, Ordering::Release);
    memory.counter(288).store(MOST, Ordering::Release);
    let mut reader = RingReader::new(Ring::attach(memory, None).unwrap(), 0).unwrap();
    assert_eq!(drain(&mut reader), (Vec::new(), Vec::new()));
}

//! A push costs the kernel nothing: no system call, no page fault, no wait, no allocation; and a
//! forked child's copy of a producer is refused.

use super::scene::{Owned, Scene};
use baro_recorder::{Options, Producer, Refused};
use baro_sys::counters::{SyscallCounter, ThreadUsage, allocations, counting};
use std::hint::black_box;

/// What a span of code cost.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    system_calls: u64,
    page_faults: u64,
    waits: u64,
    allocations: u64,
}

fn cost(counter: Option<&SyscallCounter>, mut work: impl FnMut()) -> Cost {
    let allocated = allocations();
    let before = ThreadUsage::now();
    if let Some(counter) = counter {
        counter.arm();
    }
    work();
    let system_calls = counter.map_or(0, SyscallCounter::disarm);
    let spent = ThreadUsage::now().since(before);
    Cost {
        system_calls,
        page_faults: spent.minor_faults + spent.major_faults,
        waits: spent.voluntary_switches,
        allocations: allocations() - allocated,
    }
}

fn counter() -> Option<SyscallCounter> {
    match SyscallCounter::new() {
        Ok(counter) => Some(counter),
        Err(reason) => {
            println!("skipped: system calls are not counted: {reason}");
            None
        }
    }
}

fn push(producer: &mut Producer, count: u64, bytes: usize) -> impl FnMut() {
    let payload = vec![5; bytes];
    let series: Vec<u32> = (0..8).collect();
    let mut taken = 0;
    move || {
        for n in 0..count {
            taken += u64::from(producer.push_frame(1, n as i64, &payload).is_ok());
            if n % 1000 == 0 {
                let _ = black_box(producer.push_samples(n as i64, &series, &[0.5; 8]));
                let _ = black_box(producer.push_batch(&[n as i64; 8], &series, &[0.5; 8]));
                let _ = black_box(producer.push_batch(&[n as i64; 8], &series, &[1; 8]));
                let _ = black_box(producer.push_sample(1, n as i64, 0.5));
                let _ = black_box(producer.push_sample(2, n as i64, 5));
                let _ = black_box(producer.push_text(3, n as i64, "a text"));
                black_box((producer.durable(), producer.report().written, producer.free_bytes()));
            }
        }
        assert_eq!(taken, count, "the ring was made large enough");
    }
}

#[test]
fn a_push_enters_the_kernel_never() {
    let Some(scene) = Scene::new("push", 80).map(Owned) else { return };
    assert!(counting());
    let counter = counter();
    // Room for everything: what is measured is the push, not the disk of this machine.
    let options = Options { ring_bytes: 80 << 20, record_bytes_max: 16 << 10, ..scene.options() };
    let recorder = baro_recorder::Recorder::open(scene.store(), options).unwrap();
    let mut producer = recorder.producer().unwrap();
    push(&mut producer, 2, 256)();
    let locked = format!("{:?}", producer.locked());
    let nothing = Cost { system_calls: 0, page_faults: 0, waits: 0, allocations: 0 };
    for (count, bytes) in [(100_000, 256), (2_000, 16 << 10)] {
        let work = push(&mut producer, count, bytes);
        let found = cost(counter.as_ref(), work);
        println!("{count} pushes of {bytes} bytes: {found:?}, memory locked: {locked}");
        if locked == "Yes" {
            assert_eq!(found, nothing);
        } else {
            println!("skipped: page faults, because no memory may be locked here");
            assert_eq!(Cost { page_faults: 0, ..found }, nothing);
        }
    }
    // A push that is refused costs no more.
    let large = vec![0; 17 << 10];
    let found = cost(counter.as_ref(), || {
        assert!(matches!(producer.push_frame(1, 0, &large), Err(Refused::TooLarge { .. })));
    });
    assert_eq!(found, nothing);
    drop(producer);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 1));
}

/// A ring's first way around its end, and its first refusal, may come hours after the first record:
/// no page of the program is met for the first time there.
#[test]
fn the_first_round_and_the_first_refusal_cost_no_more() {
    let Some(scene) = Scene::new("push-around", 80).map(Owned) else { return };
    let options = Options { ring_bytes: 256 << 10, record_bytes_max: 1 << 10, ..scene.options() };
    let recorder = baro_recorder::Recorder::open(scene.store(), options).unwrap();
    let mut producer = recorder.producer().unwrap();
    let locked = format!("{:?}", producer.locked());
    // A tenth of the ring, so that the test's own code has run.
    let frame = [5; 256];
    for _ in 0..90 {
        producer.push_frame(1, 0, &frame).unwrap();
    }
    let (mut taken, mut refused) = (0_u64, 0_u64);
    let found = cost(None, || {
        while taken < 5_000 || refused == 0 {
            match producer.push_frame(1, 0, black_box(&frame)) {
                Ok(_) => taken += 1,
                Err(_) => refused += 1,
            }
        }
    });
    println!("{taken} taken, {refused} refused: {found:?}, memory locked: {locked}");
    assert_eq!((found.waits, found.allocations), (0, 0));
    if locked == "Yes" {
        assert_eq!(found.page_faults, 0);
    } else {
        println!("skipped: page faults, because no memory may be locked here");
    }
    drop(producer);
    assert_eq!(recorder.close().status.lost, refused);
}

#[test]
fn every_counter_counts() {
    let counter = counter();
    if let Some(counter) = &counter {
        let found = cost(Some(counter), || {
            black_box(std::os::unix::process::parent_id());
        });
        assert_eq!(found.system_calls, 1);
    }
    let found = cost(None, || drop(black_box(Box::new(1_u64))));
    assert_eq!(found.allocations, 1);
    let found = cost(None, || {
        let mut memory = vec![0_u8; 64 << 20];
        for byte in memory.iter_mut().step_by(4096) {
            *byte = 1;
        }
        black_box(&memory);
    });
    assert!(found.page_faults >= 32, "{found:?}");
    let found = cost(None, || baro_sys::clock::sleep_ns(1_000_000));
    assert!(found.waits >= 1, "{found:?}");
}

#[test]
fn a_forked_childs_producer_refuses() {
    let Some(scene) = Scene::new("fork", 4).map(Owned) else { return };
    let recorder = scene.open();
    let mut producer = recorder.producer().unwrap();
    assert_eq!(producer.push_frame(1, 0, b"parent"), Ok(0));
    let code = baro_sys::fork::exit_code_of(|| {
        let refused = producer.push_frame(1, 0, b"child") == Err(Refused::Forked);
        let samples = producer.push_samples(0, &[1], &[0.5]) == Err(Refused::Forked);
        let text = producer.push_text(1, 0, &"x".repeat(70_000)) == Err(Refused::Forked);
        u8::from(refused) + u8::from(samples) + u8::from(text)
    });
    assert_eq!(code.unwrap(), 3);
    assert_eq!(producer.push_frame(1, 0, b"parent"), Ok(1));
    drop(producer);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0));
    assert_eq!(super::reading::read(scene.store()).len(), 2);
}

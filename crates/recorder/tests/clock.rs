//! Steps of the realtime clock are recorded as facts, whatever times the producers give; slewing by
//! NTP is not a step; and a step disturbs no record.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_log::{Blocks, Found, Geometry, Segments, init, recover, segment_name};
use baro_ondisk::{Kind, StoreId, WhenFull};
use baro_recorder::simulate::{Completion, Device, Engine, Now, Operation, Start};
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;

/// Does at once what it is asked for; the test hands the completions back.
struct AtOnce {
    disk: SimDisk,
    done: Vec<Completion>,
}

impl Device for AtOnce {
    fn submit(&mut self, operation: Operation) {
        let open = |segment| self.disk.open(&segment_name(segment), Access::WriteDirect).unwrap();
        self.done.push(match operation {
            Operation::Write { ticket, segment, offset, bytes, buffer } => {
                let result = open(segment).write_at(offset, &buffer[..bytes]);
                Completion { ticket, buffer: Some(buffer), result }
            }
            Operation::Sync { ticket, segment } => {
                Completion { ticket, buffer: None, result: open(segment).sync_data() }
            }
        });
    }
}

const SECOND_NS: i64 = 1_000_000_000;

#[test]
fn steps_are_recorded_and_slewing_is_not() {
    let disk = SimDisk::new(1);
    let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
    let when_full = WhenFull::Stop;
    let geometry = Geometry { segment_bytes, segments: 2, catalog_bytes, when_full };
    init(&disk, Path::new("sim"), StoreId([5; 16]), 0, &geometry, |_| {}).unwrap();
    let recovery = recover(&disk, Path::new("sim")).unwrap();
    let start = Start {
        durable_within_ns: 4_000_000,
        block_bytes: 64 << 10,
        buffers: 3,
        session: 1 << 32,
        boot_id: [0; 16],
        boottime_ns: 0,
        retention: baro_recorder::Retention::default(),
    };
    let mut engine = Engine::new(start, &recovery).unwrap();
    let mut producer = engine.add_private_ring(9, 64 << 10, 1000).unwrap();
    let mut device = AtOnce { disk: disk.clone(), done: Vec::new() };
    // Of each round: how far realtime is from boottime. 20 ms is slewing, the others are steps:
    // forward by an hour (a board that gets the time), back by two, back by a second (leap).
    let hour = 3600 * SECOND_NS;
    let offsets = [0, 20_000_000, hour, hour, -hour, -hour - SECOND_NS];
    for (round, offset_ns) in offsets.iter().enumerate() {
        let monotonic_ns = (round as u64 + 1) * 100_000_000;
        producer.push_frame(1, round as i64, &[round as u8; 10]).unwrap();
        for step in 0..10 {
            let monotonic_ns = monotonic_ns + step * 2_000_000;
            let boottime_ns = monotonic_ns as i64;
            let now = Now { monotonic_ns, realtime_ns: boottime_ns + offset_ns, boottime_ns };
            for completion in std::mem::take(&mut device.done) {
                engine.complete(now, completion);
            }
            engine.step(now, &mut device);
        }
    }
    assert_eq!(producer.durable(), offsets.len() as u64);

    let identity = recovery.identity;
    let segments = Segments::read(&disk, &identity).unwrap();
    let mut blocks = Blocks::new().unwrap();
    let (mut frames, mut steps) = (Vec::new(), Vec::new());
    for (header, crc) in segments.started {
        let file = disk.open(&segment_name(header.index), Access::Read).unwrap();
        let mut walk = blocks.walk(&file, header, crc);
        while let Found::Block(block) = walk.next_block().unwrap() {
            for record in block.chunks().flat_map(|chunk| chunk.unwrap().records()) {
                let record = record.unwrap();
                let number =
                    |at: usize| i64::from_le_bytes(record.payload[at..at + 8].try_into().unwrap());
                match record.kind {
                    Kind::Clock => steps.push((number(0), number(8))),
                    _ => frames.push(record.payload[0]),
                }
            }
        }
    }
    assert_eq!(frames, [0, 1, 2, 3, 4, 5]);
    assert_eq!(steps, [(0, hour), (hour, -hour), (-hour, -hour - SECOND_NS)]);
}

//! A segment that is started again has no earlier life any more, whatever a crash leaves of it: neither
//! samples that were given up come back, nor is what was written over them told as damage.

use baro_log::{Geometry, Segments, init_growing, read_identity, recover, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{BlockBuilder, BlockHeader, Kind, SegmentHeader, SegmentKind, StoreId, WhenFull};
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;

const STORE: StoreId = StoreId([7; 16]);
const SESSION: u64 = 1 << 32 | 5;

fn header(index: u32, epoch: u64, first_block: u64) -> SegmentHeader {
    SegmentHeader {
        kind: SegmentKind::Log,
        store: STORE,
        session: SESSION,
        epoch,
        index,
        previous_crc: 0,
        segment_bytes: 1 << 20,
        first_block,
        realtime_ns: 1_000,
        boottime_ns: 10,
        boot_id: [3; 16],
    }
}

fn write(disk: &SimDisk, index: u32, offset: usize, bytes: &[u8]) {
    let file = disk.open(&segment_name(index), Access::Write).unwrap();
    file.write_at(offset as u64, bytes).unwrap();
    file.sync_data().unwrap();
}

/// A header, and `blocks` blocks of two units behind it, each durable when the next was made.
fn life(disk: &SimDisk, header: &SegmentHeader, blocks: u64) {
    let (unit, mut previous_crc) = header.encode();
    let mut bytes = unit.to_vec();
    let mut builder = BlockBuilder::new(8);
    for sequence in header.first_block..header.first_block + blocks {
        let mut block = vec![0; 2 * UNIT_BYTES];
        let fill = |room: &mut [u8]| room.fill(0xab);
        assert!(builder.push(&mut block, 9, Kind::Frame, 2, sequence, 1_000, 5_000, fill));
        let start = BlockHeader {
            store: STORE,
            session: SESSION,
            epoch: header.epoch,
            sequence,
            durable: sequence,
            previous_crc,
            ..BlockHeader::default()
        };
        previous_crc = builder.finish(&mut block, start).crc;
        bytes.extend(block);
    }
    write(disk, header.index, 0, &bytes);
}

#[test]
fn a_header_torn_over_an_empty_segment_brings_no_earlier_life_back() {
    let geometry = Geometry {
        segment_bytes: 1 << 20,
        segments: 2,
        catalog_bytes: 1 << 20,
        when_full: WhenFull::Recycle,
    };
    let path = Path::new("sim");
    // Of the first block of the new life its second unit has come, or half of its first.
    for written in [2 * UNIT_BYTES..3 * UNIT_BYTES, UNIT_BYTES..UNIT_BYTES + 2048] {
        let disk = SimDisk::new(1);
        init_growing(&disk, path, STORE, 1, &geometry, 0, |_| {}).unwrap();
        life(&disk, &header(0, 1, 0), 4);
        life(&disk, &header(1, 2, 4), 2);
        // The first segment anew, killed when its first block was on its way.
        write(&disk, 0, 0, &header(0, 3, 6).encode().0);
        write(&disk, 0, written.start, &vec![0xee; written.len()]);

        let recovery = recover(&disk, path).unwrap();
        assert_eq!((recovery.empty, recovery.tail_blocks), (Some(0), 2));

        // It is started again in place, and the power fails while its header is written.
        write(&disk, 0, 0, &header(0, 4, 6).encode().0[..40]);
        let identity = read_identity(&disk, path).unwrap();
        let segments = Segments::read(&disk, &identity).unwrap();
        let epochs: Vec<u64> = segments.started.iter().map(|(header, _)| header.epoch).collect();
        assert_eq!(epochs, [2], "an earlier life came back");
        let indexes = |list: &[(u32, baro_log::BadHeader)]| -> Vec<u32> {
            list.iter().map(|(index, _)| *index).collect()
        };
        assert_eq!((indexes(&segments.damaged), indexes(&segments.rebuilt)), (vec![0], vec![]));
        let again = recover(&disk, path).unwrap();
        assert_eq!((again.last_epoch, again.tail_blocks), (2, 2));
    }
}

//! All records of a log, read with the public API by the readers' rule ([`judge`]).

use baro_log::{Blocks, Extent, Found, Segments, judge, read_identity, segment_name};
use baro_ondisk::Kind;
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, Storage};
use std::path::Path;

/// One record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub producer: u64,
    pub sequence: u64,
    pub kind: Kind,
    pub stream: u32,
    pub time_ns: i64,
    pub payload: Vec<u8>,
}

/// Every record that counts, oldest session first. No damage may be found; segments whose header
/// is not valid may hold nothing.
pub fn read(store: &Path) -> Vec<Entry> {
    let disk = Disk::open(store).unwrap();
    let identity = read_identity(&disk, store).unwrap();
    let segments = Segments::read(&disk, &identity).unwrap();
    let mut buffer = Blocks::new().unwrap();
    let mut entries = Vec::new();
    for session in segments.started.chunk_by(|a, b| a.0.session == b.0.session) {
        let (mut extents, mut found) = (Vec::new(), Vec::new());
        for (header, crc) in session {
            let file = disk.open(&segment_name(header.index), Access::ReadDirect).unwrap();
            let mut walk = buffer.walk(&file, *header, *crc);
            let (mut durable, mut blocks) = (0, Vec::new());
            while let Found::Block(block) = walk.next_block().unwrap() {
                durable = durable.max(block.header.durable);
                let mut records = Vec::new();
                for chunk in block.chunks() {
                    let chunk = chunk.unwrap();
                    for record in chunk.records() {
                        let record = record.unwrap();
                        records.push(Entry {
                            producer: chunk.producer,
                            sequence: record.sequence,
                            kind: record.kind,
                            stream: record.stream,
                            time_ns: record.time_ns,
                            payload: record.payload.to_vec(),
                        });
                    }
                }
                blocks.push((block.header.sequence, records));
            }
            let end = walk.scan().sequence();
            let (epoch, first_block) = (header.epoch, header.first_block);
            extents.push(Extent { epoch, first_block, end, durable });
            assert!(walk.skip_damage().unwrap().is_none(), "damage in segment {}", header.index);
            found.push(blocks);
        }
        for (verdict, blocks) in judge(&extents).into_iter().zip(found) {
            assert_eq!(verdict.hole, None, "in {extents:?}");
            let live = blocks.into_iter().filter(|(block, _)| verdict.live.contains(block));
            entries.extend(live.flat_map(|(_, records)| records));
        }
    }
    entries
}

//! The newest rows of series and channels: blocks are read from the end of the log backwards, so
//! that the cost depends on how long ago the rows were recorded and not on the size of the log.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::index::{BlockPlace, Patience};
use crate::mask::Mask;
use crate::read::{LiveBlock, Notes};
use crate::store::{Store, for_each_record};
use baro_log::{Blocks, FoundHeader};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{End, Kind, UnfoldedSamples};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::StorageFile;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What a series or channel had at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its time.
    pub time_ns: i64,
    /// Its value.
    pub value: Value,
}

/// A value, to be understood by the type in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of a sample: the bits of an f64 or i64, or 0 or 1.
    Bits(u64),
    /// Of a sample of a text series.
    Text(String),
    /// Of a channel.
    Frame(Vec<u8>),
}

impl Store {
    /// The `rows` rows recorded last of each of `ids`, by time. Reads until it has them, so an id
    /// that was never recorded costs the whole log; memory is that of the rows.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn tail(&self, ids: &[u32], rows: usize) -> Result<(HashMap<u32, Vec<Row>>, Notes)> {
        let mut found: HashMap<u32, Vec<Row>> = ids.iter().map(|id| (*id, Vec::new())).collect();
        let (mut notes, mut patience) = (Notes::default(), Patience::new(self.identity.when_full));
        let mut headers = Blocks::new()?;
        let mut buffer = AlignedBuffer::unlocked(UNIT_BYTES)?;
        for entry in self.near()?.segments.iter().rev() {
            if found.values().all(|have| have.len() >= rows) {
                break;
            }
            let name = entry.segment.file.name();
            let Some(file) = entry.segment.file.open(&self.storage, self.access)? else {
                notes.blocks_recycled += entry.live.end.saturating_sub(entry.live.start);
                continue;
            };
            let mut blocks: Vec<BlockPlace> = Vec::new();
            let mut walk = headers.walk(&file, entry.segment.header, entry.segment.crc);
            walk.set_durable(entry.live.end);
            walk.pass_unreadable();
            while walk.scan().sequence() < entry.live.end {
                let (offset, sequence) = (walk.scan().offset(), walk.scan().sequence());
                let source = match walk.next_header() {
                    Ok(FoundHeader::Block(header)) => {
                        blocks.push(BlockPlace::new(offset, &header));
                        continue;
                    }
                    Ok(FoundHeader::End(End::Full)) => break,
                    Ok(FoundHeader::End(End::Tail(source))) => Source::Format(source),
                    Err(error) => Source::Unreadable(error.to_string()),
                };
                // The index may not have looked: a summary tells enough for it.
                let proof = walk.find_proof().ok().flatten();
                let next = proof.map_or(entry.live.end, |(_, header)| header.sequence);
                if patience.recycled(&file, &entry.segment, true)? {
                    notes.blocks_recycled += next - sequence;
                } else {
                    let loss = Loss::Blocks(next - sequence);
                    notes.take_damage(Damage::at(&name, offset, source, loss));
                }
                let Some((at, header)) = proof else { break };
                walk.resume(at, &header);
            }
            for place in blocks.into_iter().rev() {
                if found.values().all(|have| have.len() >= rows) {
                    break;
                }
                let (offset, bytes) = (place.offset, place.bytes as usize);
                if buffer.len() < bytes {
                    buffer = AlignedBuffer::unlocked(bytes)?;
                }
                let read = file.read_at(offset, buffer.get_mut(..bytes).unwrap_or(&mut []));
                notes.blocks += 1;
                match place.of_read(read, &buffer) {
                    Ok(block) => {
                        let mask = Mask::of_block(&self.runs.deletions, &block.header);
                        let (file, mask) = (entry.segment.file, mask.as_ref());
                        let live = LiveBlock { block, file, offset, mask };
                        take(&live, rows, &mut found, &mut notes);
                    }
                    Err(_) if patience.recycled(&file, &entry.segment, true)? => {
                        notes.blocks_recycled += 1;
                    }
                    Err(source) => {
                        notes.take_damage(Damage::at(&name, offset, source, Loss::Blocks(1)));
                    }
                }
            }
        }
        for have in found.values_mut() {
            have.reverse();
            have.sort_by_key(|row| row.time_ns);
        }
        Ok((found, self.with_log(notes)))
    }
}

/// Adds the rows of a block, the last first, behind those of later blocks.
fn take(live: &LiveBlock<'_>, rows: usize, found: &mut HashMap<u32, Vec<Row>>, notes: &mut Notes) {
    let mut here: HashMap<u32, Vec<Row>> = HashMap::new();
    let wanted = |id: &u32| found.get(id).is_some_and(|have| have.len() < rows);
    let mut unfolded = UnfoldedSamples::default();
    let _ = for_each_record(live, notes, &mut unfolded, |record| {
        if let Some(text) = record.text().filter(|_| wanted(&record.stream)) {
            let value = Value::Text(text.to_owned());
            here.entry(record.stream).or_default().push(Row { time_ns: record.time_ns, value });
        }
        if record.kind == Kind::Frame && wanted(&record.stream) {
            let value = Value::Frame(record.payload.to_vec());
            here.entry(record.stream).or_default().push(Row { time_ns: record.time_ns, value });
        }
        for (id, time_ns, bits) in record.samples().iter().flat_map(|samples| samples.iter()) {
            if wanted(&id) {
                here.entry(id).or_default().push(Row { time_ns, value: Value::Bits(bits) });
            }
        }
        ControlFlow::Continue(())
    });
    for (id, new) in here {
        if let Some(have) = found.get_mut(&id) {
            let room = rows - have.len();
            have.extend(new.into_iter().rev().take(room));
        }
    }
}

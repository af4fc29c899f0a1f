//! Live blocks in the order in which they were written, with their payloads checked.
//!
//! The index has said which blocks are live; here a payload can still turn out damaged, or a
//! writer can have recycled the segment since. What is handed out is always exact: a block is
//! checked against both its CRCs, its store, session, epoch and place in the chain.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::index::{Patience, SegmentIndex};
use crate::mask::Mask;
use crate::segments::SegmentFile;
use baro_log::{Blocks, Found, FoundHeader};
use baro_ondisk::{Block, BlockHeader, Chunk, Deletion, End, Kind, Record, Samples};
use baro_sys::storage::{Access, AnyStorage};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A live block.
/// What is read of it by its records and samples is without what has been deleted; `block` has the
/// bytes as they are.
#[derive(Clone, Copy, Debug)]
pub struct LiveBlock<'a> {
    /// The block.
    pub block: Block<'a>,
    /// The segment's file.
    pub file: SegmentFile,
    /// Offset of the block in it.
    pub offset: u64,
    pub(crate) mask: Option<&'a Mask>,
}

/// A record with where it comes from.
///
/// Samples come out of a block's section sorted, and whose record one was in is not kept: they
/// are handed out as records of their own, one for each distinct time of the block, of producer 0
/// and with the block's sequence. Only samples records that were not moved to a section are seen
/// as they were pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Session that wrote it.
    pub session: u64,
    /// Who pushed it; 0 is the writer.
    pub producer: u64,
    /// Number among those of its producer.
    pub sequence: u64,
    /// Time given by the producer.
    pub time_ns: i64,
    /// What it carries.
    pub kind: Kind,
    /// Channel of a frame, else 0.
    pub stream: u32,
    /// The bytes.
    pub payload: &'a [u8],
}

impl<'a> RecordRef<'a> {
    pub(crate) fn new(session: u64, chunk: &Chunk<'_>, record: &Record<'a>) -> Self {
        let Record { kind, stream, sequence, time_ns, payload } = *record;
        let producer = chunk.producer;
        RecordRef { session, producer, sequence, time_ns, kind, stream, payload }
    }

    /// A record of samples from the section of the block of this sequence: nobody's in particular.
    pub(crate) fn unfolded(header: &BlockHeader, time_ns: i64, payload: &'a [u8]) -> Self {
        let (session, sequence, kind) = (header.session, header.sequence, Kind::Samples);
        RecordRef { session, producer: 0, sequence, time_ns, kind, stream: 0, payload }
    }

    /// The text of a text record; `None` of any other, and of one that is not valid.
    #[must_use]
    pub fn text(&self) -> Option<&'a str> {
        (self.kind == Kind::Text).then(|| baro_ondisk::text(self.payload).ok()).flatten()
    }

    /// The samples of a samples record; `None` of any other, and of one that is not valid.
    #[must_use]
    pub fn samples(&self) -> Option<Samples<'a>> {
        (self.kind == Kind::Samples)
            .then(|| Samples::decode(self.payload, self.time_ns).ok())
            .flatten()
    }
}

/// What a pass over the store met beside what it handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Records handed out.
    pub records: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Blocks read a second time, because too many overlapped in time for the memory given.
    pub blocks_again: u64,
    /// Blocks that a writer recycled before they were read.
    pub blocks_recycled: u64,
    /// Damage found on the way, and data that was found missing when it was looked for what there is
    /// to read, each once.
    pub damage: Vec<Damage>,
}

impl Notes {
    /// Adds what another pass met; damage that both met counts once.
    pub(crate) fn add(&mut self, other: Notes) {
        self.records += other.records;
        self.blocks += other.blocks;
        self.blocks_again += other.blocks_again;
        self.blocks_recycled += other.blocks_recycled;
        other.damage.into_iter().for_each(|damage| self.take_damage(damage));
    }

    /// Adds damage that was not met before.
    pub(crate) fn take_damage(&mut self, damage: Damage) {
        if !self.damage.contains(&damage) {
            self.damage.push(damage);
        }
    }
}

/// Hands out the live blocks of one segment. A block that is damaged or cannot be read costs itself:
/// reading goes on behind it.
pub(crate) fn read_segment(
    (storage, access): (&AnyStorage, Access),
    buffer: &mut Blocks,
    patience: &mut Patience,
    entry: &SegmentIndex,
    notes: &mut Notes,
    deletions: &Arc<[Deletion]>,
    mut each: impl FnMut(&LiveBlock<'_>, &mut Notes) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let SegmentIndex { segment, live, .. } = entry;
    let name = segment.file.name();
    let Some(file) = segment.file.open(storage, access)? else {
        notes.blocks_recycled += live.end.saturating_sub(live.start);
        return Ok(ControlFlow::Continue(()));
    };
    let mut walk = buffer.walk(&file, segment.header, segment.crc);
    // The index has judged: what follows below the end is live, whatever is missing before it.
    walk.set_durable(live.end);
    walk.pass_unreadable();
    loop {
        let (offset, sequence) = (walk.scan().offset(), walk.scan().sequence());
        if sequence >= live.end {
            return Ok(ControlFlow::Continue(()));
        }
        let source = match walk.next_block() {
            Ok(Found::Block(block)) => {
                notes.blocks += 1;
                let mask = Mask::of_block(deletions, &block.header);
                let block = LiveBlock { block, file: segment.file, offset, mask: mask.as_ref() };
                if each(&block, notes)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            }
            Ok(Found::End(end)) => {
                if patience.recycled(&file, segment, false)? {
                    notes.blocks_recycled += live.end - sequence;
                    return Ok(ControlFlow::Continue(()));
                }
                let End::Tail(source) = end else { return Ok(ControlFlow::Continue(())) };
                Source::Format(source)
            }
            Err(error) => Source::Unreadable(error.to_string()),
        };
        // A payload that is damaged or cannot be read: its header still leads on.
        if let Ok(FoundHeader::Block(_)) = walk.next_header() {
            if patience.recycled(&file, segment, true)? {
                notes.blocks_recycled += live.end - sequence;
                return Ok(ControlFlow::Continue(()));
            }
            notes.damage.push(Damage::at(&name, offset, source, Loss::Blocks(1)));
            continue;
        }
        // A damaged header: the index has reported it.
        match walk.find_proof() {
            Ok(Some((at, header))) => walk.resume(at, &header),
            Ok(None) | Err(_) => {
                let loss = Loss::Blocks(live.end - sequence);
                notes.damage.push(Damage::at(&name, offset, source, loss));
                return Ok(ControlFlow::Continue(()));
            }
        }
    }
}

//! The geometry of a store whose identity is lost, from its segment files: the store id and the
//! segment size that most valid headers agree on.

use crate::damage::{Damage, Loss, Source};
use crate::{Error, Result};
use baro_log::{FOLDER, IDENTITY, segment_name};
use baro_ondisk::limits::{SEGMENTS_MAX, UNIT_BYTES};
use baro_ondisk::{Identity, SegmentHeader, SegmentKind, StoreId, WhenFull};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyStorage, Storage, StorageFile};
use std::collections::HashMap;
use std::path::Path;

/// An identity that fits the segment files; `why` the real one was not to be had becomes damage.
pub(crate) fn identity(
    storage: &AnyStorage,
    path: &Path,
    why: baro_log::Error,
) -> Result<(Identity, Vec<Damage>)> {
    let source = match why {
        baro_log::Error::Format { source, .. } => Source::Format(source),
        error @ baro_log::Error::NotAStore { .. } => Source::Unreadable(error.to_string()),
        other => return Err(other.into()),
    };
    let nothing = || Error::NoSegments { path: path.to_owned() };
    let names = storage.list(FOLDER).map_err(|_| nothing())?;
    let mut votes: HashMap<(StoreId, u64), u32> = HashMap::new();
    let mut last = 0;
    let mut created_ns = i64::MAX;
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    for name in names {
        let number = name.strip_suffix(".seg").and_then(|number| number.parse::<u32>().ok());
        let Some(index) = number.filter(|index| *index < SEGMENTS_MAX) else { continue };
        last = last.max(index);
        let file = storage.open(&segment_name(index), Access::Read);
        let Ok(read) = file.and_then(|file| file.read_at(0, &mut unit)) else { continue };
        let Ok((header, _)) = SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) else {
            continue;
        };
        if header.kind == SegmentKind::Log {
            *votes.entry((header.store, header.segment_bytes)).or_default() += 1;
            created_ns = created_ns.min(header.realtime_ns);
        }
    }
    let most = votes.into_iter().max_by_key(|(_, count)| *count).ok_or_else(nothing)?;
    let ((store, segment_bytes), _) = most;
    // Recycling is the mode in which missing beginnings are normal: nothing is reported wrongly.
    let when_full = WhenFull::Recycle;
    let identity = Identity {
        store,
        created_ns,
        segment_bytes,
        segments: last + 1,
        when_full,
        init_segments: 0,
    };
    let damage = Damage { file: IDENTITY.to_owned(), offset: 0, source, loss: Loss::Identity };
    Ok((identity, vec![damage]))
}

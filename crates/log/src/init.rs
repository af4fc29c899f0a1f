//! Makes a store: every segment is written once in full, so that recording later allocates
//! nothing, changes no size, and finds no unwritten extent (whose conversion is a journal commit).

use super::lock::InitLock;
use super::making::{Use, allocated};
use super::names::{CATALOG, FOLDER, IDENTITY, IDENTITY_NEW, LOCK, segment_name};
use crate::{Error, Result};
use baro_ondisk::limits::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENTS_MAX, UNIT_BYTES};
use baro_ondisk::{Identity, SegmentHeader, SegmentKind, StoreId, WhenFull};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;

/// Size of a store's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Size of each segment.
    pub segment_bytes: u64,
    /// Number of segments, at least 2.
    pub segments: u32,
    /// Size of the catalog: about 60 bytes and one unit per batch of declarations.
    pub catalog_bytes: u64,
    /// What happens when every segment holds data.
    pub when_full: WhenFull,
}

const MIB: u64 = 1 << 20;

impl Geometry {
    /// A geometry for a log of about `log_bytes`: 16 segments, of at most 256 MiB so that the tail
    /// that recovery reads stays small, and more of them beyond 4 GiB.
    ///
    /// # Errors
    /// Less than two segments of the smallest size, or more than the format's limits.
    pub fn for_log(log_bytes: u64, when_full: WhenFull) -> Result<Self> {
        let segment_bytes = (log_bytes / 16).clamp(SEGMENT_BYTES_MIN, 256 * MIB) / MIB * MIB;
        let segments = log_bytes / segment_bytes;
        if segments < 2 || segments > u64::from(SEGMENTS_MAX) {
            return Err(Error::Setting {
                name: "size of the log",
                expected: format!("{} MiB to 16 TiB", 2 * SEGMENT_BYTES_MIN / MIB),
                found: format!("{log_bytes} bytes"),
            });
        }
        let catalog_bytes = (log_bytes / 64).clamp(SEGMENT_BYTES_MIN, 64 * MIB) / MIB * MIB;
        Ok(Geometry { segment_bytes, segments: segments as u32, catalog_bytes, when_full })
    }

    /// The same for the files of `storage`: where segments take whole sections of a file system
    /// (f2fs) they fill them, so that none is taken in part. At least two segments stay.
    #[must_use]
    pub fn fitted_to<S: Storage>(self, storage: &S) -> Self {
        self.in_units_of(storage.fixed_unit_bytes())
    }

    fn in_units_of(self, unit_bytes: u64) -> Self {
        let log_bytes = self.segment_bytes * u64::from(self.segments);
        let segment_bytes = self.segment_bytes.next_multiple_of(unit_bytes.max(1));
        let segments = (log_bytes / segment_bytes).max(2) as u32;
        Geometry { segment_bytes, segments, ..self }
    }

    fn check(&self) -> Result<()> {
        let fits = |bytes: u64| {
            bytes.is_multiple_of(UNIT_BYTES as u64)
                && (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&bytes)
        };
        let bad = |name, expected: &str, found: u64| {
            let (expected, found) = (expected.to_owned(), found.to_string());
            Err(Error::Setting { name, expected, found })
        };
        if !fits(self.segment_bytes) {
            return bad("segment bytes", "1 MiB to 4 GiB in whole 4 KiB units", self.segment_bytes);
        }
        if !fits(self.catalog_bytes) {
            return bad("catalog bytes", "1 MiB to 4 GiB in whole 4 KiB units", self.catalog_bytes);
        }
        if !(2..=SEGMENTS_MAX).contains(&self.segments) {
            return bad("segments", "2 to 65,536", u64::from(self.segments));
        }
        Ok(())
    }

    /// Bytes of all files.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.segment_bytes * u64::from(self.segments) + self.catalog_bytes + UNIT_BYTES as u64
    }
}

/// Makes a store in `storage`, whose place is named `path` in errors. `progress` is called with
/// the bytes written so far. Blocks until everything is durable. What an init that did not finish
/// has left is removed first. One process at a time does this in a folder: see [`InitLock`].
///
/// # Errors
/// Another process makes a store there, or there is a store already (or segments that hold records, though its identity is missing), a
/// setting is outside its limits, or the device is full or fails; then the identity has not been
/// written, the folder is no store, and the space is given back as far as the device lets us. Only
/// if the very last sync, of the folder, fails, there is a whole store that a power cut may take
/// away again.
pub fn init<S: Storage>(
    storage: &S,
    path: &Path,
    store: StoreId,
    created_ns: i64,
    geometry: &Geometry,
    progress: impl FnMut(u64),
) -> Result<Identity> {
    init_growing(storage, path, store, created_ns, geometry, 0, progress)
}

/// As [`init`], but writes only the first `init_segments` segments (all if 0), and leaves the
/// others to the recorder, which adds them in the background.
///
/// # Errors
/// As [`init`].
pub fn init_growing<S: Storage>(
    storage: &S,
    path: &Path,
    store: StoreId,
    created_ns: i64,
    geometry: &Geometry,
    init_segments: u32,
    progress: impl FnMut(u64),
) -> Result<Identity> {
    geometry.check()?;
    // Who is too late need not lock what another one uses.
    if has_identity(storage)? {
        return Err(Error::Exists { path: path.to_owned() });
    }
    refuse_strangers(storage)?;
    let lock = match InitLock::take(storage, path) {
        Err(Error::Making { .. }) if has_identity(storage)? => {
            return Err(Error::Exists { path: path.to_owned() });
        }
        taken => taken?,
    };
    init_held(&lock, storage, path, store, created_ns, geometry, (init_segments, progress))
}

/// As [`init_growing`], for who has taken the lock already, to look at the folder before.
///
/// # Errors
/// As [`init`].
pub fn init_held<S: Storage>(
    _lock: &InitLock,
    storage: &S,
    path: &Path,
    store: StoreId,
    created_ns: i64,
    geometry: &Geometry,
    (init_segments, progress): (u32, impl FnMut(u64)),
) -> Result<Identity> {
    geometry.check()?;
    if init_segments == 1 || init_segments > geometry.segments {
        return Err(Error::Setting {
            name: "segments of init",
            expected: format!("0 (all) or 2 to {}", geometry.segments),
            found: init_segments.to_string(),
        });
    }
    let identity = Identity {
        store,
        created_ns,
        segment_bytes: geometry.segment_bytes,
        segments: geometry.segments,
        when_full: geometry.when_full,
        init_segments: if init_segments == geometry.segments { 0 } else { init_segments },
    };
    if has_identity(storage)? {
        return Err(Error::Exists { path: path.to_owned() });
    }
    storage.create_folder(FOLDER)?;
    if holds_records(storage)? {
        return Err(Error::Exists { path: path.to_owned() });
    }
    remove_unfinished(storage)?;
    let made = make(storage, identity, geometry.catalog_bytes, progress);
    // After a rename whose sync failed there is a whole store.
    if made.is_err() && !has_identity(storage).unwrap_or(true) {
        let _ = remove_unfinished(storage);
    }
    made.map_err(|error| match error {
        Error::System(source) if source.is_full() => {
            let needed_bytes = geometry.total_bytes();
            Error::NoRoom { path: path.to_owned(), needed_bytes, source }
        }
        other => other,
    })
}

/// Refuses to replace files that have a name of a store's and are none: somebody else's, who calls his own list
/// `catalog`. What an init that was stopped has left begins with the magic of a segment, or with zeros.
fn refuse_strangers<S: Storage>(storage: &S) -> Result<()> {
    let top = storage.list("")?;
    let segments =
        if top.iter().any(|name| name == FOLDER) { storage.list(FOLDER)? } else { vec![] };
    let segments = segments.iter().filter(|name| name.ends_with(".seg"));
    let own =
        [CATALOG, IDENTITY_NEW, LOCK].into_iter().filter(|own| top.iter().any(|name| name == own));
    for name in own.map(str::to_owned).chain(segments.map(|name| format!("{FOLDER}/{name}"))) {
        let mut begin = [0; 8];
        let file = match storage.open(&name, Access::Read) {
            // Another process has just ended making a store here, or given up.
            Err(error) if error.is_missing() => continue,
            other => other?,
        };
        let read = file.read_at(0, &mut begin)?;
        let begin = begin.get(..read).unwrap_or(&[]);
        let is_ours = match name.as_str() {
            // The id of a process, and what it does.
            LOCK => begin.first().is_none_or(|byte| byte.is_ascii_digit() || *byte == 0),
            IDENTITY_NEW => begin.starts_with(b"BARO") || begin.iter().all(|byte| *byte == 0),
            _ => begin == b"BAROSEG1" || begin.iter().all(|byte| *byte == 0),
        };
        if !is_ours {
            return Err(Error::Setting {
                name: "folder of a new store",
                expected: "no file that the store would replace".to_owned(),
                found: format!("{name}, which is no store's: move it, or name another folder"),
            });
        }
    }
    Ok(())
}

fn has_identity<S: Storage>(storage: &S) -> Result<bool> {
    Ok(storage.list("")?.iter().any(|name| name == IDENTITY))
}

/// Whether a segment has ever been started, as its header tells, or anything lies where its first block
/// would: a header may be damaged. What an init that was stopped has left is zero there.
///
/// # Errors
/// The files cannot be read.
pub fn holds_records<S: Storage>(storage: &S) -> Result<bool> {
    let mut begin = AlignedBuffer::unlocked(2 * UNIT_BYTES)?;
    for name in storage.list(FOLDER)?.iter().filter(|name| name.ends_with(".seg")) {
        let file = storage.open(&format!("{FOLDER}/{name}"), Access::ReadDirect)?;
        let read = file.read_at(0, &mut begin)?;
        let (header, block) = begin.get(..read).unwrap_or(&[]).split_at(read.min(UNIT_BYTES));
        let started = SegmentHeader::decode(header).is_ok_and(|(header, _)| header.started());
        if started || block.iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the files of a store without identity: they take space, and may be of another size.
fn remove_unfinished<S: Storage>(storage: &S) -> Result<()> {
    for name in storage.list(FOLDER)?.iter().filter(|name| name.ends_with(".seg")) {
        storage.remove(&format!("{FOLDER}/{name}"))?;
    }
    let top = storage.list("")?;
    for name in top.iter().filter(|name| *name == CATALOG || *name == IDENTITY_NEW) {
        storage.remove(name)?;
    }
    Ok(())
}

fn make<S: Storage>(
    storage: &S,
    identity: Identity,
    catalog_bytes: u64,
    mut progress: impl FnMut(u64),
) -> Result<Identity> {
    let (mut piece, _) = AlignedBuffer::new(MIB as usize)?;
    let mut done = 0;
    let segments = match identity.init_segments {
        0 => identity.segments,
        some => some,
    };
    for index in 0..=segments {
        let (mut name, mut header) = (segment_name(index), blank_header(&identity, index));
        if index == segments {
            name = CATALOG.to_owned();
            header = SegmentHeader {
                kind: SegmentKind::Catalog,
                segment_bytes: catalog_bytes,
                index: 0,
                ..header
            };
        }
        write_segment(storage, &name, &header, &mut piece, |bytes| progress(done + bytes))?;
        done += header.segment_bytes;
    }
    storage.sync_folder(FOLDER)?;
    // Last, so that a folder with an identity is a whole store.
    let file = storage.create(IDENTITY_NEW)?;
    file.write_at(0, &identity.encode())?;
    file.sync_data()?;
    storage.sync_folder("")?;
    storage.rename(IDENTITY_NEW, IDENTITY)?;
    storage.sync_folder("")?;
    Ok(identity)
}

/// Header of a segment that was never started.
#[must_use]
pub fn blank_header(identity: &Identity, index: u32) -> SegmentHeader {
    SegmentHeader {
        kind: SegmentKind::Log,
        store: identity.store,
        session: 0,
        epoch: 0,
        index,
        previous_crc: 0,
        segment_bytes: identity.segment_bytes,
        first_block: 0,
        realtime_ns: identity.created_ns,
        boottime_ns: 0,
        boot_id: [0; 16],
    }
}

fn write_segment<S: Storage>(
    storage: &S,
    name: &str,
    header: &SegmentHeader,
    piece: &mut AlignedBuffer,
    mut progress: impl FnMut(u64),
) -> Result<()> {
    // The catalog is only added to, seldom, and may be of any size.
    let what_for = if header.kind == SegmentKind::Log { Use::Overwritten } else { Use::Kept };
    let file = allocated(storage, name, header.segment_bytes, what_for)?;
    piece.fill(0);
    if let Some(unit) = piece.get_mut(..UNIT_BYTES) {
        unit.copy_from_slice(&header.encode().0);
    }
    let mut offset = 0;
    while offset < header.segment_bytes {
        let bytes = (header.segment_bytes - offset).min(MIB);
        file.write_at(offset, piece.get(..bytes as usize).unwrap_or(piece))?;
        if offset == 0 {
            piece.fill(0);
        }
        offset += bytes;
        progress(offset);
    }
    Ok(file.sync_data()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test, of files as others leave them")]
    fn files_of_others_that_are_called_as_a_stores_are_not_replaced() {
        let geometry = Geometry::for_log(2 << 20, WhenFull::Stop).unwrap();
        let path = std::env::temp_dir().join(format!("baro-strangers-{}", std::process::id()));
        let make = |disk: &baro_sys::disk::Disk| {
            init(disk, &path, StoreId([1; 16]), 1, &geometry, |_| {}).map(drop)
        };
        for name in ["catalog", "lock", "log/00000000.seg"] {
            let disk = baro_sys::disk::Disk::create(&path).unwrap();
            disk.create_folder("log").unwrap();
            std::fs::write(path.join(name), "my own list").unwrap();
            let said = make(&disk).unwrap_err().to_string();
            assert!(said.contains(&format!("found {name}, which is no store's")), "{said}");
            assert_eq!(std::fs::read(path.join(name)).unwrap(), b"my own list");
            // As a killed init leaves it.
            std::fs::write(path.join(name), if name == "lock" { "17\n" } else { "" }).unwrap();
            make(&disk).unwrap();
            std::fs::remove_dir_all(&path).unwrap();
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test, of headers that rot has changed")]
    fn a_log_whose_headers_are_all_damaged_is_not_replaced() {
        let geometry = Geometry::for_log(2 << 20, WhenFull::Stop).unwrap();
        let path = std::env::temp_dir().join(format!("baro-headless-{}", std::process::id()));
        let disk = baro_sys::disk::Disk::create(&path).unwrap();
        let make = || init(&disk, &path, StoreId([1; 16]), 1, &geometry, |_| {}).map(drop);
        make().unwrap();
        let segment = path.join("log/00000000.seg");
        let (empty, mut used) =
            (std::fs::read(&segment).unwrap(), std::fs::read(&segment).unwrap());
        used[UNIT_BYTES + 40] = 1;
        for (header, held) in [(&empty, false), (&used, true)] {
            std::fs::remove_file(path.join(IDENTITY)).unwrap();
            let mut torn = header.clone();
            torn[100] ^= 1;
            std::fs::write(&segment, torn).unwrap();
            assert_eq!(holds_records(&disk).unwrap(), held);
            assert_eq!(matches!(make(), Err(Error::Exists { .. })), held);
        }
        std::fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn segments_fill_the_sections_that_they_take() {
        let log = |mib: u64| Geometry::for_log(mib * MIB, WhenFull::Recycle).unwrap();
        let shape = |of: Geometry| (of.segment_bytes / MIB, of.segments);
        assert_eq!((shape(log(17)), shape(log(17).in_units_of(2 * MIB))), ((1, 17), (2, 8)));
        assert_eq!((shape(log(2)), shape(log(2).in_units_of(2 * MIB))), ((1, 2), (2, 2)));
        assert_eq!(log(1024).in_units_of(2 * MIB), log(1024));
        assert_eq!(log(17).in_units_of(1), log(17));
        assert_eq!(log(17).fitted_to(&baro_sys::sim::SimDisk::new(1)), log(17));
    }
}

//! The log that QEMU's driver blklogwrites keeps of a disk: every write, flush and discard. Layout:
//! `drivers/md/dm-log-writes.c` of Linux, which the driver follows.
//!
//! The count of entries in its first sector is that of the last flush, so that of a killed machine
//! is too low: the entries are followed until one does not fit into the file.
//!
//! A write gets its place in the log when it has been done, a flush when it arrives, as the file
//! beneath has nothing to flush (`cache.no-flush`; QEMU's block/blklogwrites.c:
//! blk_log_writes_co_log, blk_log_writes_co_do_log). So a write that was begun before a flush and
//! done after its arrival stands behind it, and is not durable by it: as strict as a device may be.
//! Only a flush that waits for another one is logged later than it arrived.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// First byte on the disk.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// What was written before it is durable.
    pub(crate) flush: bool,
    /// It is durable by itself.
    pub(crate) fua: bool,
    pub(crate) discard: bool,
    /// Where its data are in the log.
    data_at: u64,
}

/// A log that was read.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    pub(crate) entries: Vec<Entry>,
}

impl Log {
    /// Reads the entries of a log, whole ones only.
    ///
    /// # Errors
    /// It cannot be read or is no log.
    pub(crate) fn read(path: &Path) -> Result<Log, String> {
        let at = |error: std::io::Error| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(at)?;
        let size = file.metadata().map_err(at)?.len();
        let mut head = [0; 32];
        file.read_exact_at(&mut head, 0).map_err(at)?;
        let number = |bytes: &[u8], index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let found = number(&head, 0);
        if found != MAGIC {
            let path = path.display();
            return Err(format!(
                "{path}: no log of writes: magic {MAGIC:#x} expected, {found:#x} found"
            ));
        }
        let sector = number(&head, 3) & 0xffff_ffff;
        if !matches!(sector, 512..=65536) || !sector.is_power_of_two() {
            return Err(format!("{}: sectors of {sector} bytes", path.display()));
        }
        let mut entries = Vec::new();
        let mut at_byte = sector;
        let mut words = [0; 32];
        while at_byte + sector <= size {
            file.read_exact_at(&mut words, at_byte).map_err(at)?;
            let (first, count, flags) = (number(&words, 0), number(&words, 1), number(&words, 2));
            // Beyond the last entry the file is empty or ends.
            if count == 0 && flags == 0 {
                break;
            }
            let bytes = count.saturating_mul(sector);
            let discard = flags & DISCARD != 0;
            let data_at = at_byte + sector;
            let data_bytes = if discard { 0 } else { bytes };
            let Some(next) = data_at.checked_add(data_bytes).filter(|next| *next <= size) else {
                break;
            };
            entries.push(Entry {
                offset: first.saturating_mul(sector),
                bytes,
                flush: flags & FLUSH != 0,
                fua: flags & FUA != 0,
                discard,
                data_at,
            });
            at_byte = next;
        }
        Ok(Log { file, entries })
    }

    /// What an entry wrote; a buffer is used again.
    pub(crate) fn data(&self, entry: &Entry, data: &mut Vec<u8>) -> Result<(), String> {
        data.resize(usize::try_from(entry.bytes).map_err(|error| error.to_string())?, 0);
        let read = self.file.read_exact_at(data, entry.data_at);
        read.map_err(|error| format!("log of writes at {}: {error}", entry.data_at))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const SECTOR: usize = 512;

    /// A log of (offset in sectors, data, flags), as the driver writes it.
    pub(crate) fn written(entries: &[(u64, Vec<u8>, u64)]) -> Vec<u8> {
        let mut log = vec![0; SECTOR];
        log[..8].copy_from_slice(&MAGIC.to_le_bytes());
        log[8..16].copy_from_slice(&1_u64.to_le_bytes());
        log[24..28].copy_from_slice(&512_u32.to_le_bytes());
        for (sector, data, flags) in entries {
            let mut head = vec![0; SECTOR];
            let count = (data.len() / SECTOR) as u64;
            for (place, word) in head.chunks_exact_mut(8).zip([*sector, count, *flags, 0]) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            log.extend(head);
            if flags & DISCARD == 0 {
                log.extend(data);
            }
        }
        log
    }

    pub(crate) fn log_of(name: &str, bytes: &[u8]) -> Result<Log, String> {
        let path = crate::scratch::tempfile(name);
        let _remove = crate::scratch::Remove(path.clone());
        std::fs::write(&path, bytes).unwrap();
        Log::read(&path)
    }

    #[test]
    fn entries_are_read_up_to_the_last_whole_one() {
        let entries = [
            (8, vec![1; 1024], 0),
            (0, Vec::new(), FLUSH),
            (100, vec![0; 4096], DISCARD),
            (10, vec![2; 512], FUA),
        ];
        let bytes = written(&entries);
        let log = log_of("log", &bytes).unwrap();
        let found: Vec<_> =
            log.entries.iter().map(|e| (e.offset / 512, e.bytes, e.flush)).collect();
        assert_eq!(found, [(8, 1024, false), (0, 0, true), (100, 4096, false), (10, 512, false)]);
        let mut data = Vec::new();
        log.data(&log.entries[3], &mut data).unwrap();
        assert_eq!(data, vec![2; 512]);
        assert!(log.entries[2].discard && log.entries[3].fua);
        // A machine that was killed while the last one was written.
        assert_eq!(log_of("log", &bytes[..bytes.len() - 1]).unwrap().entries.len(), 3);
        let mut longer = bytes;
        longer.extend([0; 4096]);
        assert_eq!(log_of("log", &longer).unwrap().entries.len(), 4);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(log_of("log", b"short").is_err());
        assert!(log_of("log", &[7; 4096]).unwrap_err().contains("magic"));
        let mut odd = written(&[]);
        odd[24] = 3;
        assert!(log_of("log", &odd).unwrap_err().contains("sectors"));
    }
}

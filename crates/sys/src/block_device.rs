//! Block devices as sysfs has them: which disk is meant, what it has done, what is mounted from it.
//!
//! Requests carry the disk, never a partition; and devices that are made of others (dm, md, zram)
//! have no requests at all, but pass pieces on to those below. Both must be known before requests
//! are watched, or nothing is seen and nobody knows why.
//!
//! Invariant: reads only; what the kernel does not tell is None, never zero. Held by
//! `a_disk_is_found_by_its_names_and_by_a_partition`, `statistics_are_read_as_the_kernel_writes_them`.

use crate::files::{list, read_lossy, read_text};
use crate::{Error, Result};
use std::io;
use std::path::{Path, PathBuf};

const SYS: &str = "/sys";
const TEXT_BYTES_MAX: u64 = 64 << 10;
const MOUNTS_BYTES_MAX: u64 = 32 << 20;
/// Bytes of the kernel's sectors, whatever those of the device are.
const SECTOR_BYTES: u64 = 512;

/// A whole disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its name below `/sys/block`.
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    /// The partition that was asked for, if it was one.
    pub partition: Option<String>,
    /// Whether it has requests. If not, those of `below` are what it does.
    pub has_requests: bool,
    /// Names of the devices that it is made of.
    pub below: Vec<String>,
}

/// What a disk has done since it is there, as the kernel counts it (`Documentation/block/stat.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStatistics {
    /// Read requests done.
    pub read_requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests done.
    pub written_requests: u64,
    /// Bytes written, those too that the device filled with zeroes by itself.
    pub written_bytes: u64,
    /// Bytes discarded; kernels before 4.19 do not say.
    pub discarded_bytes: Option<u64>,
    /// Flushes done; kernels before 5.5 do not say.
    pub flushes: Option<u64>,
}

impl BlockDevice {
    /// The disk that is meant by a name (`sda`), a device file (`/dev/sda1`, `/dev/disk/by-id/...`) or
    /// the folder `/sys/block/sda`. Of a partition, the disk that it is on.
    ///
    /// # Errors
    /// There is no such disk.
    pub fn find(what: &Path) -> Result<Self> {
        Self::find_below(Path::new(SYS), what)
    }

    fn find_below(sys: &Path, what: &Path) -> Result<Self> {
        // Names like those in /dev/disk and /dev/mapper are links.
        let resolved = what.canonicalize().unwrap_or_else(|_| what.to_path_buf());
        let missing = || {
            let source = io::Error::new(
                io::ErrorKind::NotFound,
                "expected a disk or partition that is listed in /proc/partitions",
            );
            Error::new("find the block device", what, source)
        };
        let name = resolved.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?;
        let block = sys.join("block");
        if block.join(name).join("dev").exists() {
            return Self::of(&block.join(name), name, None);
        }
        let on = |disk: &String| block.join(disk).join(name).join("partition").exists();
        let disk = list(&block)?.into_iter().find(on).ok_or_else(missing)?;
        Self::of(&block.join(&disk), &disk, Some(name.to_owned()))
    }

    fn of(folder: &Path, name: &str, partition: Option<String>) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            number: number(folder)?,
            partition,
            has_requests: folder.join("mq").exists() || folder.join("device").exists(),
            below: list(&folder.join("slaves")).unwrap_or_default(),
        })
    }

    /// All disks that there are.
    ///
    /// # Errors
    /// sysfs is not to be had.
    pub fn all() -> Result<Vec<Self>> {
        let block = Path::new(SYS).join("block");
        let names = list(&block)?;
        // One that has gone since it was listed is none.
        Ok(names.iter().filter_map(|name| Self::of(&block.join(name), name, None).ok()).collect())
    }

    /// What it has done so far.
    ///
    /// # Errors
    /// It is gone, or the kernel's text is in an unknown form.
    pub fn statistics(&self) -> Result<DiskStatistics> {
        let path = Path::new(SYS).join("block").join(&self.name).join("stat");
        let text = read_text(&path, TEXT_BYTES_MAX)?;
        parse(&text).ok_or_else(|| unknown_form(&path, &text))
    }

    /// Where it or a partition of it is mounted, each file system once.
    ///
    /// # Errors
    /// `/proc` is not to be had.
    pub fn mounts(&self) -> Result<Vec<PathBuf>> {
        let folder = Path::new(SYS).join("block").join(&self.name);
        let mut numbers = vec![self.number];
        for name in list(&folder)?.iter().filter(|name| name.starts_with(&self.name)) {
            numbers.extend(number(&folder.join(name)));
        }
        let text = read_lossy(Path::new("/proc/self/mountinfo"), MOUNTS_BYTES_MAX)?;
        Ok(mounts(&text, &numbers))
    }
}

fn unknown_form(path: &Path, text: &str) -> Error {
    let short: String = text.chars().take(60).collect();
    let source = io::Error::new(io::ErrorKind::InvalidData, format!("unknown form: {short:?}"));
    Error::new("understand", path, source)
}

fn number(folder: &Path) -> Result<(u32, u32)> {
    let path = folder.join("dev");
    let text = read_text(&path, TEXT_BYTES_MAX)?;
    numbers(text.trim()).ok_or_else(|| unknown_form(&path, &text))
}

fn numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn parse(text: &str) -> Option<DiskStatistics> {
    let fields: Vec<u64> =
        text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>().ok()?;
    let bytes = |index: usize| fields.get(index)?.checked_mul(SECTOR_BYTES);
    Some(DiskStatistics {
        read_requests: *fields.first()?,
        read_bytes: bytes(2)?,
        written_requests: *fields.get(4)?,
        written_bytes: bytes(6)?,
        discarded_bytes: bytes(13),
        flushes: fields.get(15).copied(),
    })
}

/// The lines `ID PARENT MAJOR:MINOR ROOT MOUNT-POINT ...` of these devices.
fn mounts(text: &str, devices: &[(u32, u32)]) -> Vec<PathBuf> {
    let mut found: Vec<((u32, u32), PathBuf)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace().skip(2);
        let device = words.next().and_then(numbers);
        let (Some(device), Some(point)) = (device, words.nth(1)) else { continue };
        if devices.contains(&device) && found.iter().all(|(other, _)| *other != device) {
            found.push((device, PathBuf::from(unescape(point))));
        }
    }
    found.into_iter().map(|(_, point)| point).collect()
}

/// Undoes `\040` and its like.
fn unescape(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&piece[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(piece);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::make_folders;

    #[test]
    fn a_disk_is_found_by_its_names_and_by_a_partition() {
        let sys = std::env::temp_dir().join(format!("baro-block-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = sys.join("block").join(path);
            make_folders(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sda/dev", "8:0\n");
        write("sda/sda1/partition", "1\n");
        write("sda/mq/0", "");
        write("dm-0/dev", "252:0\n");
        write("dm-0/slaves/sda1", "");
        let find = |what: &str| BlockDevice::find_below(&sys, Path::new(what));
        let disk = find("sda").unwrap();
        assert_eq!((disk.number, disk.partition.clone(), disk.has_requests), ((8, 0), None, true));
        assert_eq!(find("/dev/no-such-folder/sda").unwrap(), disk);
        let partition = find("sda1").unwrap();
        assert_eq!(
            (partition.name.as_str(), partition.partition.as_deref()),
            ("sda", Some("sda1"))
        );
        let made = find("dm-0").unwrap();
        assert_eq!((made.has_requests, made.below), (false, vec!["sda1".to_owned()]));
        let message = find("sdz").unwrap_err().to_string();
        assert!(message.contains("sdz") && message.contains("/proc/partitions"), "{message}");
        std::fs::remove_dir_all(&sys).unwrap();
    }

    #[test]
    fn statistics_are_read_as_the_kernel_writes_them() {
        let text = "  1  2  16 4  5 6 24 8 0 10 11 12 13 32 15 16 17\n";
        let expected = DiskStatistics {
            read_requests: 1,
            read_bytes: 8_192,
            written_requests: 5,
            written_bytes: 12_288,
            discarded_bytes: Some(16_384),
            flushes: Some(16),
        };
        assert_eq!(parse(text), Some(expected));
        let old = parse("1 2 16 4 5 6 24 8 0 10 11").unwrap();
        assert_eq!((old.written_bytes, old.discarded_bytes, old.flushes), (12_288, None, None));
        for bad in ["", "1 2 3", "1 2 x 4 5 6 7 8 9 10 11", "1 2 3 4 5 6 99999999999999999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn each_file_system_of_a_disk_is_found_once() {
        let text = "22 27 0:21 / /proc rw - proc proc rw\n30 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                    31 1 8:1 /x /y rw - ext4 /dev/sda1 rw\n32 1 8:2 / /a\\040b\\x rw - ext4 x rw\nshort\n";
        let found = mounts(text, &[(8, 0), (8, 1), (8, 2)]);
        assert_eq!(found, [PathBuf::from("/"), PathBuf::from("/a b\\x")]);
        assert!(mounts(text, &[(9, 0)]).is_empty());
        assert!(BlockDevice::all().is_ok());
    }
}

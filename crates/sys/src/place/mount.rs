//! Lines of /proc/self/mountinfo (proc(5)): a pure parser.
//!
//! Paths in it have blanks, tabs, newlines and backslashes as three octal digits; the number of
//! optional fields before the dash varies. Invariant: any bytes are taken; a line that is not one
//! is passed over. Held by the tests below.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Device number: anonymous for btrfs, overlayfs, tmpfs.
    pub(super) device: (u32, u32),
    pub(super) mount_point: PathBuf,
    /// Of the mount and of its file system, without repetition.
    pub(super) options: Vec<String>,
    pub(super) kind: String,
    pub(super) source: String,
}

/// The mount with this id.
pub(super) fn find(mountinfo: &[u8], id: u64) -> Option<Mount> {
    mountinfo.split(|byte| *byte == b'\n').find_map(|line| {
        let (found, mount) = parse(line)?;
        (found == id).then_some(mount)
    })
}

/// All mounts, with their ids.
pub(super) fn all(mountinfo: &[u8]) -> impl Iterator<Item = (u64, Mount)> {
    mountinfo.split(|byte| *byte == b'\n').filter_map(parse)
}

impl Mount {
    /// The folders that an overlay is made of.
    pub(super) fn layers(&self) -> Vec<PathBuf> {
        if self.kind != "overlay" {
            return Vec::new();
        }
        let keys = ["lowerdir", "lowerdir+", "upperdir"];
        let of = |option: &String| {
            let (key, value) = option.split_once('=')?;
            keys.contains(&key).then(|| value.split(':').map(PathBuf::from).collect::<Vec<_>>())
        };
        self.options.iter().filter_map(of).flatten().collect()
    }
}

fn parse(line: &[u8]) -> Option<(u64, Mount)> {
    let mut words = line.split(|byte| *byte == b' ');
    let text = |word: &[u8]| Some(std::str::from_utf8(word).ok()?.to_owned());
    let id = text(words.next()?)?.parse().ok()?;
    let device = text(words.nth(1)?)?;
    let (major, minor) = device.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let mount_point = PathBuf::from(OsString::from_vec(unescape(words.nth(1)?)));
    let mut options = Vec::new();
    let mut add = |list: &[u8]| {
        for option in list.split(|byte| *byte == b',') {
            let option = String::from_utf8_lossy(&unescape(option)).into_owned();
            if !option.is_empty() && !options.contains(&option) {
                options.push(option);
            }
        }
    };
    add(words.next()?);
    words.find(|word| *word == b"-")?;
    let kind = text(words.next()?)?;
    let source = String::from_utf8_lossy(&unescape(words.next()?)).into_owned();
    add(words.next().unwrap_or_default());
    Some((id, Mount { device, mount_point, options, kind, source }))
}

/// `\040` and its like back to the byte.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| *first == b'\\');
        let byte = digits.and_then(|digits| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 8).ok()
        });
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[3..] } else { tail };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"23 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n\
        not a line\n\
        36 35 98:0 /mnt1 /mnt2/a\\040b rw,noatime master:1 shared:2 - ext4 /dev/root rw,data=journal\n\
        40 35 0:44 / /mnt rw - overlay overlay rw,lowerdir=/a,upperdir=/b\\134c\n\
        41 35 0:45 / /half rw -\n";

    #[test]
    fn a_name_that_is_no_text_hides_no_mount() {
        let text = b"40 35 0:44 / /tmp/\xff rw - fuse.\xfe mallory rw\n\
            41 35 0:45 / /tmp/\xff rw - fuse mallory rw\n\
            42 35 7:1 / /mnt rw - ext4 /dev/loop1 rw\n";
        let points: Vec<PathBuf> = all(text).map(|(_, mount)| mount.mount_point).collect();
        let hostile = OsString::from_vec(b"/tmp/\xff".to_vec());
        assert_eq!(points, [PathBuf::from(hostile), PathBuf::from("/mnt")]);
    }

    #[test]
    fn mounts_are_found_by_their_id() {
        let ext4 = find(TEXT, 36).unwrap();
        assert_eq!((ext4.device, ext4.kind.as_str()), ((98, 0), "ext4"));
        assert_eq!(ext4.mount_point, PathBuf::from("/mnt2/a b"));
        assert_eq!(ext4.options, ["rw", "noatime", "data=journal"]);
        assert_eq!(ext4.source, "/dev/root");
        assert_eq!(all(TEXT).map(|(id, _)| id).collect::<Vec<_>>(), [23, 36, 40]);
        let layers = find(TEXT, 40).unwrap().layers();
        assert_eq!(layers, [PathBuf::from("/a"), PathBuf::from("/b\\c")]);
        assert!(find(TEXT, 36).unwrap().layers().is_empty());
        assert!(find(TEXT, 40).unwrap().options.contains(&"upperdir=/b\\c".to_owned()));
        assert_eq!((find(TEXT, 41), find(TEXT, 99), find(b"\xff \\", 1)), (None, None, None));
    }
}

//! Where devices are mounted, by the texts of `mountinfo` in a trace: as it began, and as it ended.

use super::Knowledge;
use super::stands::AT_END;
use crate::record::Device;
use std::collections::BTreeMap;

/// Where a device is mounted, by the lines of `mountinfo`.
pub(super) fn mount(known: &Knowledge, device: Device) -> Option<String> {
    known.mounts.get(&device.to_string()).map(|one| one.path.clone())
}

impl Knowledge {
    /// At how many places a device is mounted.
    pub(super) fn mounts_of(&self, device: Device) -> usize {
        let text = self.fact(MOUNTINFO).unwrap_or("");
        let of = device.to_string();
        text.lines().filter(|line| line.split(' ').nth(2) == Some(of.as_str())).count()
    }
}

/// A line of `mountinfo`.
#[derive(Clone, Debug)]
pub(super) struct Mount {
    pub(super) path: String,
    pub(super) kind: String,
    pub(super) options: String,
}

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// Lines of `mountinfo`, by device; of several of one device the first. What was mounted last goes before what
/// was there at the beginning.
pub(super) fn mounts_by_device(facts: &BTreeMap<String, String>) -> BTreeMap<String, Mount> {
    let mut mounts = BTreeMap::new();
    for path in [format!("{MOUNTINFO}{AT_END}"), MOUNTINFO.to_owned()] {
        let text = facts.get(&path).map_or("", String::as_str);
        for line in text.lines() {
            let Some((device, mount)) = mount_of(line) else { continue };
            mounts.entry(device).or_insert(mount);
        }
    }
    mounts
}

fn mount_of(line: &str) -> Option<(String, Mount)> {
    let (before, after) = line.split_once(" - ")?;
    let mut words = before.split(' ');
    let (device, path) = (words.nth(2)?, words.nth(1)?);
    let mut words = after.split(' ');
    let kind = words.next()?.to_owned();
    let options = words.nth(1).unwrap_or("").to_owned();
    Some((device.to_owned(), Mount { path: unescaped(path), kind, options }))
}

/// A path as it is: the kernel writes blanks, ends of lines and backslashes in it as `\040` (fs/proc_namespace.c).
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut plain = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let digits = part.get(..3).filter(|digits| digits.bytes().all(|one| one.is_ascii_digit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(part.get(3..).unwrap_or(""));
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn paths_are_as_they_are() {
        assert_eq!(unescaped("/media/u/My\\040Disk"), "/media/u/My Disk");
        assert_eq!(unescaped("/a\\134040\\011b"), "/a\\040\tb");
        for plain in ["/", "/data", "/a\\", "/a\\x41", "/a\\400", "/\u{e4}\\9\u{e4}"] {
            assert_eq!(unescaped(plain), plain);
        }
    }
}

//! What a disk stands on, as the traced machine said: the disk of a partition, the disk or file of a loop
//! device, and the disks of a composed one.
//!
//! Devices are told by number. In a trace that does not say which disk a partition is of, the name says it,
//! by the kernel's own rule: a number behind the disk's name, with a `p` between if that ends with a digit.
//!
//! Invariant: a partition is of one disk, whatever others are called. Held by
//! `partitions_are_of_their_disk_alone`.

use super::mounts::Mount;
use crate::record::Device;
use std::collections::BTreeMap;

/// What is told of disks; see the module.
#[derive(Debug, Default)]
pub(super) struct Stands {
    /// Disks of partitions.
    wholes: BTreeMap<Device, Device>,
    /// What is below a disk.
    below: BTreeMap<Device, Vec<Device>>,
    /// Loop devices.
    loops: Vec<Device>,
}

impl Stands {
    pub(super) fn of(
        facts: &BTreeMap<String, String>,
        devices: &BTreeMap<Device, String>,
        mounts: &BTreeMap<String, Mount>,
    ) -> Self {
        let mut stands = Self::default();
        let by_name: BTreeMap<&str, Device> =
            devices.iter().map(|(device, name)| (name.as_str(), *device)).collect();
        for (device, name) in devices {
            if let Some(whole) = disk_name(name).and_then(|disk| by_name.get(disk)) {
                stands.wholes.insert(*device, *whole);
            }
        }
        // What the machine said of numbers goes before names.
        let texts = [PARTITIONS.to_owned(), format!("{PARTITIONS}{AT_END}")];
        let texts = texts.iter().filter_map(|name| facts.get(name));
        for line in texts.flat_map(|text| text.lines()) {
            if let Some((part, whole)) = line.split_once(' ')
                && let (Some(part), Some(whole)) = (device_of(part), device_of(whole))
            {
                stands.wholes.insert(part, whole);
            }
        }
        for (path, text) in facts {
            // A disk that was set up within the trace is known from its end only.
            let at_begin = path.strip_suffix(AT_END).filter(|path| path.starts_with("/sys/block/"));
            if at_begin.is_some_and(|path| facts.contains_key(path)) {
                continue;
            }
            let path = at_begin.unwrap_or(path);
            let Some((name, of)) =
                path.strip_prefix("/sys/block/").and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            let Some(device) = by_name.get(name) else { continue };
            match of {
                "loop/backing_file" => {
                    stands.loops.push(*device);
                    let file = text.trim();
                    let lower =
                        file.strip_prefix("/dev/").and_then(|name| by_name.get(name).copied());
                    let lower = lower.or_else(|| fs_of(file, mounts));
                    stands.below.entry(*device).or_default().extend(lower);
                }
                "slaves" => {
                    let slaves = text.split_whitespace().filter_map(|name| by_name.get(name));
                    stands.below.entry(*device).or_default().extend(slaves);
                }
                _ => {}
            }
        }
        stands
    }

    /// The disk that a partition is of.
    pub(super) fn whole(&self, device: Device) -> Option<Device> {
        self.wholes.get(&device).copied()
    }

    pub(super) fn below(&self, device: Device) -> &[Device] {
        self.below.get(&device).map_or(&[], Vec::as_slice)
    }

    /// Disks that stand on others.
    pub(super) fn composed(&self) -> impl Iterator<Item = Device> {
        self.below.keys().copied()
    }

    pub(super) fn is_loop(&self, device: Device) -> bool {
        self.loops.contains(&device)
    }
}

/// The fact that has the numbers of each partition and of its disk.
pub(super) const PARTITIONS: &str = "partitions";

/// `8:1` as a device.
pub(super) fn device_of(text: &str) -> Option<Device> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(Device::new(major.parse().ok()?, minor.parse().ok()?))
}

/// The disk of a partition, by the rule of names: `sda1` is of `sda`, `nvme0n1p2` of `nvme0n1`.
fn disk_name(name: &str) -> Option<&str> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    let before = disk.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    before.or_else(|| Some(disk).filter(|_| !disk.is_empty()))
}

/// The file system that a file is on, by the longest path of a mount.
fn fs_of(file: &str, mounts: &BTreeMap<String, Mount>) -> Option<Device> {
    let holds = |mount: &&(&String, &Mount)| {
        let path = mount.1.path.trim_end_matches('/');
        file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    };
    let all: Vec<(&String, &Mount)> = mounts.iter().collect();
    let (device, _) = all.iter().filter(holds).max_by_key(|(_, mount)| mount.path.len())?;
    device_of(device)
}

/// What facts that are read again when a recording ends have behind their path.
pub(super) const AT_END: &str = " at the end";

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(names: &[&str], facts: &[(&str, &str)]) -> (Stands, BTreeMap<String, Device>) {
        let devices: BTreeMap<Device, String> = names
            .iter()
            .zip(0..)
            .map(|(name, minor)| (Device::new(7, minor), (*name).to_owned()))
            .collect();
        let facts =
            facts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mount = |path: &str| Mount {
            path: path.to_owned(),
            kind: "ext4".to_owned(),
            options: String::new(),
        };
        let mounts =
            [("7:0", "/"), ("7:1", "/data")].map(|(device, path)| (device.to_owned(), mount(path)));
        let stands = Stands::of(&facts, &devices, &mounts.into());
        (stands, devices.into_iter().map(|(device, name)| (name, device)).collect())
    }

    #[test]
    fn partitions_are_of_their_disk_alone() {
        let names = [
            "loop1",
            "loop10",
            "loop10p1",
            "loop1p1",
            "sda",
            "sdaa",
            "sdaa1",
            "sda1",
            "nvme0n1",
            "nvme0n10",
            "nvme0n10p2",
            "nvme0n1p2",
            "dm-0",
            "vdb",
            "mmcblk0",
            "mmcblk0p1",
        ];
        let (stands, of) = stands(&names, &[]);
        let parts = [
            ("loop10p1", "loop10"),
            ("loop1p1", "loop1"),
            ("sdaa1", "sdaa"),
            ("sda1", "sda"),
            ("nvme0n10p2", "nvme0n10"),
            ("nvme0n1p2", "nvme0n1"),
            ("mmcblk0p1", "mmcblk0"),
        ];
        for name in names {
            let disk = parts.iter().find(|(part, _)| *part == name).map(|(_, disk)| of[*disk]);
            assert_eq!(stands.whole(of[name]), disk, "{name}");
        }
    }

    #[test]
    fn numbers_go_before_names() {
        let (stands, of) =
            stands(&["sda", "sda1", "sdb"], &[(PARTITIONS, "7:1 7:2\nnonsense\n7:x 7:1")]);
        assert_eq!(stands.whole(of["sda1"]), Some(of["sdb"]));
    }

    #[test]
    fn loops_stand_on_their_file_or_disk() {
        let facts = [
            ("/sys/block/loop2/loop/backing_file", "/dev/loop1"),
            ("/sys/block/loop3/loop/backing_file", "/data/image"),
            ("/sys/block/loop4/loop/backing_file", "/database/image"),
            ("/sys/block/dm-0/slaves", "loop2 loop3"),
        ];
        let (stands, of) =
            stands(&["vda", "vdb", "loop1", "loop2", "loop3", "loop4", "dm-0"], &facts);
        assert_eq!(stands.below(of["loop2"]), [of["loop1"]]);
        assert_eq!(stands.below(of["loop3"]), [of["vdb"]]);
        assert_eq!(stands.below(of["loop4"]), [of["vda"]]);
        assert_eq!(stands.below(of["dm-0"]), [of["loop2"], of["loop3"]]);
        assert!(stands.is_loop(of["loop3"]) && !stands.is_loop(of["dm-0"]));
    }
}

//! The queue of a block device, as sysfs has it: how much it may hold, and whether the kernel
//! flushes the device's cache.
//!
//! A partition has no queue of its own; its disk has. Invariant: a value that sysfs does not have
//! is `None`. Held by the test below.

use std::path::Path;

/// What the kernel believes about the device's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueCache {
    /// There is one that loses its contents with the power: syncs flush it.
    WriteBack,
    /// There is none: syncs send no flush. Wrong if the device does not tell the truth, or if
    /// somebody has written this into `queue/write_cache`.
    WriteThrough,
}

/// A block device's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Name of the device or partition: `sda1`.
    pub name: String,
    /// Name of the disk, which has the queue: `sda`.
    pub disk: String,
    /// Whether syncs flush the device's cache.
    pub cache: Option<QueueCache>,
    /// Requests that the queue takes (`queue/nr_requests`).
    pub requests: Option<u64>,
    /// Bytes of the largest request (`queue/max_sectors_kb`).
    pub request_bytes: Option<u64>,
}

impl Queue {
    /// Of the device `major:minor` below `sys`, which is `/sys` on a real machine.
    #[must_use]
    pub fn of(sys: &Path, device: (u32, u32)) -> Option<Self> {
        let link = sys.join(format!("dev/block/{}:{}", device.0, device.1));
        let folder = std::fs::canonicalize(link).ok()?;
        let name = folder.file_name()?.to_str()?.to_owned();
        let is_partition = folder.join("partition").exists();
        let disk = if is_partition { folder.parent()? } else { &folder };
        let text = |file: &str| std::fs::read_to_string(disk.join("queue").join(file)).ok();
        let number = |file: &str| text(file)?.trim().parse::<u64>().ok();
        Some(Queue {
            name,
            disk: disk.file_name()?.to_str()?.to_owned(),
            cache: match text("write_cache")?.trim() {
                "write back" => Some(QueueCache::WriteBack),
                "write through" => Some(QueueCache::WriteThrough),
                _ => None,
            },
            requests: number("nr_requests"),
            request_bytes: number("max_sectors_kb").map(|kib| kib.saturating_mul(1024)),
        })
    }

    /// Bytes that the queue holds at most: what a write may have to wait for.
    #[must_use]
    pub fn bytes_max(&self) -> Option<u64> {
        Some(self.requests?.saturating_mul(self.request_bytes?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_has_the_queue_of_its_disk() {
        let sys = std::env::temp_dir().join(format!("baro-queue-{}", std::process::id()));
        let disk = sys.join("devices/pci/sda");
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::create_dir_all(disk.join("sda1")).unwrap();
        std::fs::create_dir_all(sys.join("dev/block")).unwrap();
        std::fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        for (file, text) in [("write_cache", "write back\n"), ("nr_requests", "64\n")] {
            std::fs::write(disk.join("queue").join(file), text).unwrap();
        }
        std::os::unix::fs::symlink(disk.join("sda1"), sys.join("dev/block/8:1")).unwrap();
        let mut queue = Queue::of(&sys, (8, 1)).unwrap();
        assert_eq!((queue.name.as_str(), queue.disk.as_str()), ("sda1", "sda"));
        assert_eq!((queue.cache, queue.bytes_max()), (Some(QueueCache::WriteBack), None));
        queue.request_bytes = Some(512 << 10);
        assert_eq!(queue.bytes_max(), Some(32 << 20));
        assert_eq!(Queue::of(&sys, (8, 2)), None);
        std::fs::remove_dir_all(&sys).unwrap();
    }
}

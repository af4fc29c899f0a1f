//! How deep the queue of a device may be, so that a write never waits long behind others'.
//!
//! A new request waits for what lies before it in the device's queue: `nr_requests` of up to
//! `max_sectors_kb` each. On a slow device behind a deep queue that is many seconds for every
//! write of the recorder, whoever filled it, and two such waits (write, sync) before a record is
//! durable. The queue is made as short as the device's own speed asks for: [`DRAIN_NS`] of work,
//! which costs no throughput. The speed is what the device does while it is busy (sectors over
//! `io_ticks` in its `stat`): since the watch began, or until that is known, since it came up.
//!
//! Invariant: a plan never makes a queue deeper than it was found, and a device whose speed is
//! unknown is left alone. Tests: `tests/queue.rs` on a fake root; on a real device through the
//! journal.

use crate::error::Error;
use crate::setting::Setting;
use baro_sys::files;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Work that a queue may hold: enough to keep any device busy, little against a ring's seconds.
/// (With a whole second half of a ring of 20 s was in use beside greedy loads.)
pub const DRAIN_NS: u64 = 500_000_000;
/// What the kernel takes at least (BLKDEV_MIN_RQ).
const REQUESTS_MIN: u64 = 4;
/// Requests are not made smaller than this: it is what small flash writes well.
const REQUEST_BYTES_MIN: u64 = 128 << 10;
/// Busy for less than this, a device has not shown its speed.
const BUSY_NS_MIN: u64 = 1_000_000_000;
const SECTOR_BYTES: u64 = 512;
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// Devices below devices below devices; deeper is a loop.
const LEVELS_MAX: usize = 8;

/// The queue of one device: as it is, and as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePlan {
    /// The whole device, such as `sda`.
    pub device: String,
    /// As it is.
    pub now: Queue,
    /// As it should be.
    pub wanted: Queue,
    /// Bytes a second while it was busy; None if it has done too little to tell.
    pub bytes_per_s: Option<u64>,
}

/// How much a queue takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Requests.
    pub requests: u64,
    /// Largest request in bytes.
    pub request_bytes: u64,
}

impl Queue {
    /// How long a device of that speed works on a full queue, in ns.
    #[must_use]
    pub fn drain_ns(self, bytes_per_s: u64) -> u64 {
        let bytes = u128::from(self.requests) * u128::from(self.request_bytes);
        u64::try_from(bytes * 1_000_000_000 / u128::from(bytes_per_s.max(1))).unwrap_or(u64::MAX)
    }

    /// As short as that speed asks for; fewer requests first, and only where the fewest are still
    /// too much, smaller ones.
    fn shortened(self, bytes_per_s: u64) -> Queue {
        if self.drain_ns(bytes_per_s) <= DRAIN_NS {
            return self;
        }
        let bytes = u128::from(bytes_per_s) * u128::from(DRAIN_NS) / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let requests = bytes / self.request_bytes.max(1);
        if requests >= REQUESTS_MIN {
            return Queue { requests, ..self };
        }
        let each = (bytes / REQUESTS_MIN) >> 12 << 12;
        Queue {
            requests: self.requests.min(REQUESTS_MIN),
            request_bytes: each.max(REQUEST_BYTES_MIN).min(self.request_bytes),
        }
    }
}

impl QueuePlan {
    /// What is to be set: nothing if the queue is nearly as it should be, so that a speed that
    /// wavers changes nothing.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let differs = |now: u64, wanted: u64| wanted < now / 4 * 3 || wanted / 4 * 3 > now;
        let setting = |name: &str, value: u64| {
            Setting::new(format!("/sys/block/{}/queue/{name}", self.device), value.to_string())
        };
        let mut settings = Vec::new();
        if differs(self.now.request_bytes, self.wanted.request_bytes) {
            settings.push(setting("max_sectors_kb", self.wanted.request_bytes >> 10));
        }
        if differs(self.now.requests, self.wanted.requests) {
            settings.push(setting("nr_requests", self.wanted.requests));
        }
        settings
    }
}

/// Watches the queues below a block device.
#[derive(Debug)]
pub struct QueueWatch {
    root: PathBuf,
    disks: Vec<Disk>,
}

#[derive(Debug)]
struct Disk {
    name: String,
    found: Queue,
    work: Work,
}

/// What a device has done since it came up.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    bytes: u64,
    busy_ns: u64,
}

impl Work {
    fn since(self, before: Work) -> Work {
        Work {
            bytes: self.bytes.saturating_sub(before.bytes),
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
        }
    }

    fn bytes_per_s(self) -> Option<u64> {
        let per_s = u128::from(self.bytes) * 1_000_000_000 / u128::from(self.busy_ns.max(1));
        (self.busy_ns >= BUSY_NS_MIN).then_some(u64::try_from(per_s).ok()?)
    }
}

impl QueueWatch {
    /// Finds the queues below `(major, minor)`: that of its disk, or those of the disks that it is
    /// made of (device mapper, RAID). `root` stands for `/`, as in [`Options`](crate::Options).
    /// Reads only. A device without a queue (a network or memory file system) has none.
    ///
    /// # Errors
    /// A file of the host cannot be read.
    pub fn new(root: &Path, device: (u32, u32)) -> Result<QueueWatch, Error> {
        let mut watch = QueueWatch { root: root.to_owned(), disks: Vec::new() };
        let (major, minor) = device;
        let Ok(uevent) = read(root, &format!("sys/dev/block/{major}:{minor}/uevent")) else {
            return Ok(watch);
        };
        let name = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="));
        let mut names = BTreeSet::new();
        if let Some(name) = name {
            // In DEVNAME a path below /dev, in /sys a name with `!` for `/`.
            collect(root, &name.replace('/', "!"), LEVELS_MAX, &mut names)?;
        }
        for name in names {
            if let Some(found) = queue(root, &name) {
                let work = work(root, &name)?;
                watch.disks.push(Disk { name, found, work });
            }
        }
        Ok(watch)
    }

    /// What each queue should be, by what its device has done so far. Reads only.
    ///
    /// # Errors
    /// A file of the host cannot be read: the device may have been taken away.
    pub fn plans(&self) -> Result<Vec<QueuePlan>, Error> {
        let mut plans = Vec::new();
        for disk in &self.disks {
            let work = work(&self.root, &disk.name)?;
            let speed = work.since(disk.work).bytes_per_s().or(work.bytes_per_s());
            let now = queue(&self.root, &disk.name).unwrap_or(disk.found);
            plans.push(QueuePlan {
                device: disk.name.clone(),
                now,
                wanted: speed.map_or(now, |speed| disk.found.shortened(speed)),
                bytes_per_s: speed,
            });
        }
        Ok(plans)
    }
}

fn collect(
    root: &Path,
    name: &str,
    levels: usize,
    disks: &mut BTreeSet<String>,
) -> Result<(), Error> {
    let Some(levels) = levels.checked_sub(1) else { return Ok(()) };
    let Some(disk) = disk_of(root, name)? else { return Ok(()) };
    let slaves = list(root, &format!("sys/block/{disk}/slaves")).unwrap_or_default();
    if slaves.is_empty() {
        disks.insert(disk);
        return Ok(());
    }
    slaves.iter().try_for_each(|slave| collect(root, slave, levels, disks))
}

/// The whole disk of a device or partition.
fn disk_of(root: &Path, name: &str) -> Result<Option<String>, Error> {
    let disks = list(root, "sys/block")?;
    if disks.iter().any(|disk| disk == name) {
        return Ok(Some(name.to_owned()));
    }
    let holds = |disk: &String| {
        let parts = list(root, &format!("sys/block/{disk}"));
        parts.is_ok_and(|parts| parts.iter().any(|part| part == name))
    };
    Ok(disks.into_iter().find(holds))
}

fn queue(root: &Path, device: &str) -> Option<Queue> {
    let number = |file: &str| -> Option<u64> {
        read(root, &format!("sys/block/{device}/queue/{file}")).ok()?.trim().parse().ok()
    };
    let request_bytes = number("max_sectors_kb")?.checked_mul(1024)?;
    Some(Queue { requests: number("nr_requests")?, request_bytes })
}

/// Documentation/block/stat.rst; what is no such text is no work.
fn work(root: &Path, device: &str) -> Result<Work, Error> {
    let stat = read(root, &format!("sys/block/{device}/stat"))?;
    let numbers: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    let bytes = at(2).saturating_add(at(6)).saturating_mul(SECTOR_BYTES);
    Ok(Work { bytes, busy_ns: at(9).saturating_mul(1_000_000) })
}

fn read(root: &Path, path: &str) -> Result<String, Error> {
    Ok(files::read_text(&root.join(path), TEXT_BYTES_MAX)?)
}

fn list(root: &Path, path: &str) -> Result<Vec<String>, Error> {
    Ok(files::list(&root.join(path))?)
}

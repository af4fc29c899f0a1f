//! What a disk's queue is set to and what the disk has done.
//!
//! Invariant: reads only; a file that this kernel does not have is None, never a guess. Held by the
//! test below on a folder that stands for /sys.

use crate::error::ShareError;
use baro_sys::files;
use std::path::{Path, PathBuf};

const TEXT_BYTES_MAX: u64 = 64 << 10;
const SECTOR_BYTES: u64 = 512;

/// A disk's queue and, where BFQ has it, BFQ's parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Name of the disk: `sda`.
    pub disk: String,
    /// `major:minor`.
    pub number: String,
    /// The scheduler in use.
    pub scheduler: String,
    /// Those that can be chosen now; one in a module may come with its name.
    pub schedulers: Vec<String>,
    /// Requests that the scheduler holds (`nr_requests`).
    pub requests: Option<u64>,
    /// The largest request, bytes (`max_sectors_kb`).
    pub request_bytes: Option<u64>,
    /// Reads that take longer hold the write-back of buffered writes back, us; 0: none do
    /// (`wbt_lat_usec`).
    pub write_back_us: Option<u64>,
    /// It turns: a request elsewhere costs a seek.
    pub rotational: bool,
    /// Its driver hands over one request at a time, and takes more of the scheduler meanwhile: a card
    /// behind an SD or MMC host that does not use the card's command queue.
    pub one_at_a_time: bool,
    /// BFQ's parameters, if it is the scheduler.
    pub bfq: Option<Bfq>,
}

/// Parameters of BFQ (`Documentation/block/bfq-iosched.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bfq {
    /// Raises weights of what it takes for interactive, whatever was asked.
    pub low_latency: u64,
    /// How long it waits for the next request of a queue, us; 0 keeps no ratio.
    pub slice_idle_us: u64,
    /// After this a queue's turn is over, ms.
    pub timeout_ms: u64,
    /// One request at a time, always waiting.
    pub strict_guarantees: u64,
    /// Sectors of a turn; 0: by the disk's speed and `timeout_ms`.
    pub max_budget: u64,
}

/// What a disk has done since it came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with any request under way, ns.
    pub busy_ns: u64,
}

impl Work {
    /// What came since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
        }
    }
}

fn dir(root: &Path, disk: &str) -> PathBuf {
    root.join("sys/block").join(disk)
}

/// The queue of `disk` below `root`, which is `/` on a real machine.
///
/// # Errors
/// There is no such disk (any more), or it has no queue: a device that is made of others.
pub fn queue(root: &Path, disk: &str) -> Result<Queue, ShareError> {
    let dir = dir(root, disk);
    let text = |file: &str| files::read_text(&dir.join(file), TEXT_BYTES_MAX);
    let number = |file: &str| -> Option<u64> { text(file).ok()?.trim().parse().ok() };
    let name = text("dev")?.trim().to_owned();
    let all = text("queue/scheduler").map_err(|error| match files::is_gone(&error) {
        true => ShareError::Refused(format!(
            "{disk}: has no queue of its own; share the disks that it is made of: `lsblk -s /dev/{disk}`"
        )),
        false => ShareError::System(error),
    })?;
    let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let active = all.split_whitespace().find(|word| word.starts_with('['));
    let scheduler = active.map_or_else(|| "none".to_owned(), plain);
    let bfq = (scheduler == "bfq").then(|| Bfq {
        low_latency: number("queue/iosched/low_latency").unwrap_or(0),
        slice_idle_us: number("queue/iosched/slice_idle_us")
            .or_else(|| Some(number("queue/iosched/slice_idle")? * 1000))
            .unwrap_or(0),
        timeout_ms: number("queue/iosched/timeout_sync").unwrap_or(0),
        strict_guarantees: number("queue/iosched/strict_guarantees").unwrap_or(0),
        max_budget: number("queue/iosched/max_budget").unwrap_or(0),
    });
    Ok(Queue {
        disk: disk.to_owned(),
        number: name,
        scheduler,
        schedulers: all.split_whitespace().map(plain).collect(),
        requests: number("queue/nr_requests"),
        request_bytes: number("queue/max_sectors_kb").map(|kib| kib.saturating_mul(1024)),
        write_back_us: number("queue/wbt_lat_usec"),
        rotational: number("queue/rotational") == Some(1),
        one_at_a_time: text("device/type").is_ok_and(|kind| ["SD", "MMC"].contains(&kind.trim()))
            && number("device/cmdq_en") != Some(1),
        bfq,
    })
}

/// What `disk` has done (`Documentation/block/stat.rst`).
///
/// # Errors
/// There is no such disk (any more).
pub fn work(root: &Path, disk: &str) -> Result<Work, ShareError> {
    let text = files::read_text(&dir(root, disk).join("stat"), TEXT_BYTES_MAX)?;
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    Ok(Work {
        read_bytes: at(2).saturating_mul(SECTOR_BYTES),
        written_bytes: at(6).saturating_mul(SECTOR_BYTES),
        busy_ns: at(9).saturating_mul(1_000_000),
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a folder that stands for /sys")]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_read_and_what_is_missing_is_none() {
        let root = std::env::temp_dir().join(format!("baro-share-{}", std::process::id()));
        let disk = root.join("sys/block/sda");
        std::fs::create_dir_all(disk.join("queue/iosched")).unwrap();
        for (file, text) in [
            ("dev", "8:0\n"),
            ("stat", "1 0 8 5 2 0 16 7 0 12 3\n"),
            ("queue/scheduler", "none mq-deadline [bfq]\n"),
            ("queue/nr_requests", "64\n"),
            ("queue/wbt_lat_usec", "0\n"),
            ("queue/rotational", "1\n"),
            ("queue/iosched/low_latency", "1\n"),
            ("queue/iosched/slice_idle", "8\n"),
        ] {
            std::fs::write(disk.join(file), text).unwrap();
        }
        let found = queue(&root, "sda").unwrap();
        assert_eq!((found.number.as_str(), found.scheduler.as_str()), ("8:0", "bfq"));
        assert_eq!((found.requests, found.request_bytes), (Some(64), None));
        assert_eq!(found.write_back_us, Some(0));
        assert!(found.rotational && !found.one_at_a_time);
        std::fs::create_dir_all(disk.join("device")).unwrap();
        for (kind, command_queue, expected) in
            [("disk", "0", false), ("SD", "", true), ("MMC", "0", true), ("MMC", "1", false)]
        {
            std::fs::write(disk.join("device/type"), format!("{kind}\n")).unwrap();
            std::fs::write(disk.join("device/cmdq_en"), command_queue).unwrap();
            assert_eq!(queue(&root, "sda").unwrap().one_at_a_time, expected, "{kind}");
        }
        let bfq = found.bfq.unwrap();
        assert_eq!((bfq.low_latency, bfq.slice_idle_us, bfq.timeout_ms), (1, 8000, 0));
        let expected = Work { read_bytes: 4096, written_bytes: 8192, busy_ns: 12_000_000 };
        assert_eq!(work(&root, "sda").unwrap(), expected);
        assert!(queue(&root, "sdb").is_err());
        std::fs::remove_dir_all(&root).unwrap();
    }
}

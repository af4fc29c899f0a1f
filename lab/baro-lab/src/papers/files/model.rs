//! The sizes of the experiment, and the device it is made on.
//!
//! The paper had a file system of C = 100 GB, about 6 GB of page cache and an hour for each cell.
//! What decides there is how much cache there is for each file, and how much of the file system each
//! file may take. Divided by one *scale*, C, cache, dirty limit, journal and F keep these proportions:
//! at 50 a cell of F = 100,000 has 2,000 files, C is 2 GB and the cache 120 MB, and the files are
//! renamed after seconds instead of minutes. B, the request sizes and the device's speed are not
//! divided, nor is time: a commit comes each 5 s as ever.
//!
//! Of a disk the stand has bytes a second and requests a second, for reads and writes each. A seek's
//! distance is not modelled: neighbouring small requests cost as much as distant ones.

use baro_bench::stand::Speed;
use serde::{Deserialize, Serialize};

const MB: u64 = 1_000_000;
const GB: u64 = 1_000 * MB;
/// The paper's C.
pub const PAPER_CAPACITY_BYTES: u64 = 100 * GB;
/// What it saw as page cache, of 8 GB.
pub const PAPER_CACHE_BYTES: u64 = 6 * GB;
/// Memory of its machine: what the full buffer layer and the cache share.
pub const PAPER_MEMORY_BYTES: u64 = 8 * GB;
/// The journal that mke2fs of its time makes on 100 GB.
const PAPER_JOURNAL_MIB: u64 = 128;
/// The least that mke2fs takes, with blocks of 4 KiB.
const JOURNAL_MIB_MIN: u64 = 4;
/// vm.dirty_ratio, of what the cache can have.
const DIRTY_PERCENT: u64 = 20;
/// Twice what f2fs holds back.
const F2FS_DIRTY_BYTES_MIN: u64 = 32 << 20;
/// U_max, and R.
const FILL_PERCENT: u64 = 90;
const ROTATED: u64 = 2;

/// The paper's sizes, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(pub u64);

impl Scale {
    /// Files of a cell that had `paper_files` in the paper.
    #[must_use]
    pub fn files(self, paper_files: u64) -> u64 {
        if paper_files == 1 { 1 } else { (paper_files / self.0).max(2) }
    }

    /// Size of the file system, whole mebibytes.
    #[must_use]
    pub fn capacity_bytes(self) -> u64 {
        (PAPER_CAPACITY_BYTES / self.0) >> 20 << 20
    }

    /// Page cache, and memory of kernel objects, that the writers may have.
    #[must_use]
    pub fn cache_bytes(self) -> u64 {
        PAPER_CACHE_BYTES / self.0
    }

    /// Memory that the full buffer layer and the cache share.
    #[must_use]
    pub fn memory_bytes(self) -> u64 {
        PAPER_MEMORY_BYTES / self.0
    }

    /// Dirty data where there is so much cache.
    #[must_use]
    pub fn dirty_bytes(cache_bytes: u64) -> u64 {
        (cache_bytes * DIRTY_PERCENT / 100).max(1 << 20)
    }

    /// The same on f2fs, which keeps 16 MiB of nodes from write-back however small it is: with a limit
    /// below that its writers stand until a checkpoint (docs/tune.md).
    #[must_use]
    pub fn dirty_bytes_f2fs(cache_bytes: u64) -> u64 {
        Self::dirty_bytes(cache_bytes).max(F2FS_DIRTY_BYTES_MIN)
    }

    /// Size of the journal, MiB.
    #[must_use]
    pub fn journal_mib(self) -> u64 {
        (PAPER_JOURNAL_MIB / self.0).max(JOURNAL_MIB_MIN)
    }

    /// L: at which size a file is renamed.
    #[must_use]
    pub fn file_bytes_max(self, files: u64) -> u64 {
        (self.capacity_bytes() * FILL_PERCENT / 100 / (files * ROTATED)).max(1)
    }

    /// The paper's rule, at its own sizes: 2BF >= 0.9 C would fill the disk.
    #[must_use]
    pub fn is_skipped(paper_files: u64, block_bytes: u64) -> bool {
        2 * block_bytes * paper_files >= PAPER_CAPACITY_BYTES * FILL_PERCENT / 100
    }
}

/// What is modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// A disk of 7,200 turns a minute.
    #[default]
    Hdd,
    /// The paper's SSD, at the rates it measured.
    Ssd,
    /// A slow eMMC.
    Emmc,
    /// The machine's own speed.
    None,
}

impl Device {
    /// All of them.
    pub const ALL: [Device; 4] = [Device::Hdd, Device::Ssd, Device::Emmc, Device::None];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Device::Hdd => "hdd",
            Device::Ssd => "ssd",
            Device::Emmc => "emmc",
            Device::None => "none",
        }
    }

    /// What the stand limits. Of the HDD the paper's rate at F = 1, and as many requests a second as
    /// follow from its table 3: shares and means give 267 (of them 250 of 5 KB) at F = 100,000 and
    /// 231 (143 of them reads) at F = 1,000,000, B = 4 KiB; 250 writes are also what 124 MB/s take in
    /// pieces of 512 KiB. Of the SSD its rate at F = 1 and what SATA disks of its age do with 4 KiB;
    /// of the eMMC the 12 MB/s at which this project models one.
    #[must_use]
    pub fn speed(self) -> Speed {
        let of = |write, writes, read, reads| Speed {
            write_bytes: write * MB,
            writes,
            read_bytes: read * MB,
            reads,
        };
        match self {
            Device::Hdd => of(124, 250, 124, 150),
            Device::Ssd => of(197, 20_000, 400, 20_000),
            Device::Emmc => of(12, 1_000, 80, 4_000),
            Device::None => Speed::default(),
        }
    }

    /// Highest rate that is worth trying, bytes a second.
    #[must_use]
    pub fn rate_max(self) -> u64 {
        match self {
            Device::None => 2 * GB,
            other => 2 * other.speed().write_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportions_are_the_papers_at_any_scale() {
        for scale in [1, 10, 50, 100].map(Scale) {
            let cache_of_file = scale.cache_bytes() as f64 / scale.files(100_000) as f64;
            assert!((cache_of_file - 60_000.0).abs() < 600.0, "{scale:?} {cache_of_file}");
            let files = scale.files(1_000_000);
            let held = 2 * files * scale.file_bytes_max(files);
            assert!(held <= scale.capacity_bytes() * 9 / 10, "{scale:?} {held}");
            assert_eq!(scale.files(1), 1);
            assert!(scale.file_bytes_max(1) >= scale.capacity_bytes() * 44 / 100);
        }
        assert_eq!(Scale(50).journal_mib(), 4);
        assert_eq!(Scale(1).journal_mib(), 128);
    }

    #[test]
    fn what_the_paper_left_out_is_left_out() {
        assert!(!Scale::is_skipped(1_000_000, 32 << 10));
        assert!(Scale::is_skipped(1_000_000, 48 << 10));
        assert!(Scale::is_skipped(350_000, 128 << 10));
        assert!(!Scale::is_skipped(700_000, 48 << 10));
    }
}

//! The table of rows: what is measured on which disk, and what the goal is. A new claim in the
//! README is a new row here.
//!
//! Invariant: names are unique and stay: they are the keys of committed runs. Held by the test
//! below.

use super::judge::{self, Verdict};
use super::judge_store as store;
use serde_json::Value;

/// A plain loop device with direct I/O.
const PLAIN: &[&str] = &["--rate", "none", "--size", "8G"];
const SLOW_12: &[&str] = &["--write", "12MB", "--read", "40MB"];
/// As paper A's eMMC 5.0, which has no command queue: one request at work and one prepared.
const EMMC_12: &[&str] =
    &["--write", "12MB", "--read", "40MB", "--queue-depth", "2", "--request-kb", "512"];
/// As eMMC 5.1 with its command queue: 16 MiB, 1.4 s of this device's work, lie before a new request.
const EMMC_QUEUE_12: &[&str] =
    &["--write", "12MB", "--read", "40MB", "--queue-depth", "32", "--request-kb", "512"];
const SLOW_100: &[&str] = &["--write", "100MB", "--read", "100MB"];
/// Paper D's file system: ordered data behind a small journal.
const JOURNAL: &[&str] =
    &["--write", "60MB", "--mkfs-opts", "-J size=8", "--mount-opts", "nodelalloc,dioread_lock"];
/// No commit but those that somebody forces.
const NO_TIMER: &[&str] = &["--rate", "none", "--mount-opts", "commit=600,noatime"];

/// How a row is measured; see `measure`.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// `baro bench push` with these options.
    Push(&'static str),
    /// The same, with the load on a second disk like the first.
    PushLoadElsewhere(&'static str),
    /// `baro bench push` with these options on a modelled board of 1 GHz and 1 GB.
    PushOnBoard(&'static str),
    /// `baro-lab keep` with these options.
    Keep(&'static str),
    /// fio beside `baro bench push --greedy`.
    Throughput {
        greedy: &'static str,
        fio_file: &'static str,
        log: &'static str,
    },
    /// `baro-lab producers` with these options.
    Producers(&'static str),
    /// `baro bench store` with these options.
    Store(&'static str),
    /// The same at equal input for each number of series.
    StoreSweep(&'static [u32]),
    /// `baro bench store --rate` with these options.
    StoreSteady(&'static str),
    /// Real data: a public set, and kernel counters recorded for so long.
    StoreReal(&'static str),
    Verify,
    Recovery,
    Memory,
    IdleCpu,
    /// Nothing to measure: where to read it.
    Document(&'static str),
}

/// A row of the table of results.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) goal: &'static str,
    /// None: as many as asked for.
    pub(super) runs: Option<u32>,
    pub(super) disk: &'static [&'static str],
    pub(super) what: What,
    pub(super) judge: fn(&[&Value]) -> Verdict,
}

const INSIDE: &str = "no system call, allocation, page fault or voluntary switch inside push";
const RATIO: &str = "push p99.99 <= 2 x that of a bare memcpy";
const FIO: &str = ">= 0.9 x fio's sequential direct write (psync, 1 MiB)";

macro_rules! row {
    ($name:literal, $goal:expr, $runs:expr, $disk:expr, $what:expr, $judge:expr) => {
        Row { name: $name, goal: $goal, runs: $runs, disk: $disk, what: $what, judge: $judge }
    };
}

/// In the order of the README.
#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    row!("inside-256", INSIDE, None, PLAIN,
         What::Push("--record-bytes 256 --records 10000000 --interval 1us --greedy 0s"),
         judge::inside),
    row!("inside-16k", INSIDE, None, PLAIN,
         What::Push("--record-bytes 16K --records 100000 --interval 200us --greedy 0s"),
         judge::inside),
    row!("ratio-256-idle-plain", RATIO, None, PLAIN,
         What::Push("--record-bytes 256 --records 5000000 --interval 2us --greedy 0s --cpu 1"),
         judge::ratio),
    row!("ratio-256-load-plain", RATIO, None, PLAIN,
         What::Push("--record-bytes 256 --records 5000000 --interval 2us --greedy 0s --cpu 1 \
                     --load buffered,allocate"), judge::ratio),
    row!("ratio-256-idle-throttled", RATIO, Some(3), SLOW_12,
         What::Push("--record-bytes 256 --records 1000000 --interval 32us --greedy 0s --cpu 1 --log 128M"),
         judge::ratio),
    row!("ratio-256-load-throttled", RATIO, Some(3), SLOW_12,
         What::Push("--record-bytes 256 --records 1000000 --interval 32us --greedy 0s --cpu 1 --log 128M \
                     --load buffered,allocate"), judge::ratio),
    row!("ratio-16k-idle-plain", RATIO, None, PLAIN,
         What::Push("--record-bytes 16K --records 100000 --interval 200us --greedy 0s --cpu 1"),
         judge::ratio),
    row!("ratio-16k-load-plain", RATIO, None, PLAIN,
         What::Push("--record-bytes 16K --records 100000 --interval 200us --greedy 0s --cpu 1 \
                     --load buffered,allocate"), judge::ratio),
    row!("ratio-16k-idle-throttled", RATIO, Some(3), SLOW_12,
         What::Push("--record-bytes 16K --records 6000 --interval 5ms --greedy 0s --cpu 1 --log 128M"),
         judge::ratio),
    row!("ratio-16k-load-throttled", RATIO, Some(3), SLOW_12,
         What::Push("--record-bytes 16K --records 6000 --interval 5ms --greedy 0s --cpu 1 --log 128M \
                     --load buffered,allocate"), judge::ratio),
    row!("ratio-256-load-unpinned", RATIO, None, PLAIN,
         What::Push("--record-bytes 256 --records 5000000 --interval 2us --greedy 0s \
                     --load buffered,allocate"), judge::ratio),
    row!("ratio-256-load-huge",
         "the same, bound, beside a memcpy into huge pages, as the ring has: <= 2 x", None, PLAIN,
         What::Push("--record-bytes 256 --records 5000000 --interval 2us --greedy 0s --cpu 1 \
                     --load buffered,allocate --huge-yardstick"), judge::ratio),
    row!("ratio-16k-load-huge",
         "16 KiB beside a memcpy into huge pages: <= 2 x", None, PLAIN,
         What::Push("--record-bytes 16K --records 100000 --interval 200us --greedy 0s --cpu 1 \
                     --load buffered,allocate --huge-yardstick"), judge::ratio),
    row!("lost-12MBs",
         "16 KiB each 5 ms, 10 minutes, 12 MB/s behind 128 x 1,280 KiB of queue, which the \
          recorder makes short (--short-queue): 0 lost",
         Some(1), SLOW_12,
         What::Push("--record-bytes 16K --interval 5ms --for 10m --greedy 0s --log 256M \
                     --load buffered,allocate --short-queue"), judge::lost),
    row!("lost-12MBs-emmc",
         "the same on a device that takes two requests at a time (eMMC 5.0), queue as it is",
         Some(1), EMMC_12,
         What::Push("--record-bytes 16K --interval 5ms --for 10m --greedy 0s --log 256M \
                     --load buffered,allocate"), judge::lost),
    row!("lost-12MBs-queue32",
         "the same behind a command queue of 32 x 512 KiB (eMMC 5.1), queue as it is",
         Some(1), EMMC_QUEUE_12,
         What::Push("--record-bytes 16K --interval 5ms --for 10m --greedy 0s --log 256M \
                     --load buffered,allocate"), judge::lost),
    row!("lost-12MBs-deep", "the same behind 128 x 1,280 KiB, queue as it is",
         Some(1), SLOW_12,
         What::Push("--record-bytes 16K --interval 5ms --for 10m --greedy 0s --log 256M \
                     --load buffered,allocate"), judge::lost),
    row!("board-30m",
         "16 KiB each 5 ms, 30 minutes, on a board of 1 GHz and 1 GiB with 12 MB/s, beside a \
          reader, third-party writers and paper A's load: 0 lost, push p99.99 <= 2 x memcpy",
         Some(1), SLOW_12,
         What::PushOnBoard("--record-bytes 16K --interval 5ms --for 30m --greedy 0s --log 256M \
                            --ring 64M --load buffered,allocate,read --short-queue"),
         judge::board),
    row!("lost-200", "200 MB/s for a minute: 0 lost", Some(1), PLAIN,
         What::Push("--record-bytes 16K --rate 200MB --for 60s --greedy 0s --ring 64M --log 4G"),
         judge::lost_at_200),
    row!("lost-500", "500 MB/s for a minute: 0 lost", Some(1), PLAIN,
         What::Push("--record-bytes 16K --rate 500MB --for 60s --greedy 0s --ring 256M --log 4G"),
         judge::lost_at_500),
    row!("paper-d-shared", "beside paper D's load on the same file system: any loss is counted",
         Some(1), JOURNAL,
         What::Push("--record-bytes 16K --interval 5ms --for 120s --greedy 0s --log 256M \
                     --load churn"), judge::paper_d_shared),
    row!("paper-d-own", "the same with a file system of its own: 0 lost", Some(1), JOURNAL,
         What::PushLoadElsewhere("--record-bytes 16K --interval 5ms --for 120s --greedy 0s \
                     --log 256M --load churn"), judge::lost),
    row!("commits", "no journal commit, block allocation or size change while recording",
         None, NO_TIMER,
         What::Push("--record-bytes 16K --interval 5ms --for 30s --greedy 0s"), judge::commits),
    row!("throughput-plain", FIO, None, PLAIN,
         What::Throughput { greedy: "3s", fio_file: "1G", log: "1G" }, judge::throughput),
    row!("throughput-100MBs", FIO, None, SLOW_100,
         What::Throughput { greedy: "3s", fio_file: "512M", log: "512M" }, judge::throughput),
    row!("throughput-12MBs", FIO, None, SLOW_12,
         What::Throughput { greedy: "10s", fio_file: "64M", log: "128M" }, judge::throughput),
    row!("records-64", ">= 10 million records of 64 bytes a second, durable", None, PLAIN,
         What::Push("--record-bytes 64 --records 100000 --greedy 3s"), judge::records_64),
    row!("producers-16", "16 processes at 20,000 records/s each: 0 lost, order kept for each", None,
         PLAIN, What::Producers("--producers 16 --rate 20000 --record-bytes 64 --for 30s"),
         judge::producers),
    row!("recycle-1000", "log recycled 1,000 times: no growth of memory, files, push p99.99",
         Some(1), PLAIN,
         What::Keep("--log 32M --rounds 1050 --rate 200MB --ring 16M --pins 9 --before 20ms \
                     --after 10ms --cpu 1"), judge::recycled),
    row!("pin-full-rate", "500 MB/s, 2 s before and 1 s after pinned: window exact, 0 lost, push as without",
         Some(3), PLAIN,
         What::Keep("--log 4G --rounds 3 --rate 500MB --ring 256M --pins 1 --before 2s --after 1s \
                     --cpu 1"), judge::pinned),
    row!("wear-16k", "16 KiB each 5 ms: bytes to the device <= 1.05 x pushed", Some(1), PLAIN,
         What::Push("--record-bytes 16K --interval 5ms --for 60s --greedy 0s"), judge::wear),
    row!("wear-100-10ms", "100 B each 10 ms, durable within 10 ms: stated", Some(1), PLAIN,
         What::Push("--record-bytes 100 --interval 10ms --for 60s --greedy 0s --log 64M \
                     --durable-within 10ms"), judge::wear_stated),
    row!("wear-100-100ms", "the same within 100 ms: stated", Some(1), PLAIN,
         What::Push("--record-bytes 100 --interval 10ms --for 60s --greedy 0s --log 64M \
                     --durable-within 100ms"), judge::wear_stated),
    row!("wear-100-1s", "the same within 1 s: stated", Some(1), PLAIN,
         What::Push("--record-bytes 100 --interval 10ms --for 60s --greedy 0s --log 64M \
                     --durable-within 1s"), judge::wear_stated),
    row!("wear-100-10s", "the same within 10 s: stated", Some(1), PLAIN,
         What::Push("--record-bytes 100 --interval 10ms --for 120s --greedy 0s --log 64M \
                     --durable-within 10s"), judge::wear_stated),
    row!("verify", ">= 1 GB/s, from memory", None, PLAIN, What::Verify, judge::verify),
    row!("recovery", "a killed recorder's full log of 4 GiB opens in <= 1 s", Some(3), PLAIN,
         What::Recovery, judge::recovery),
    row!("memory", "<= ring + 16 MiB", None, PLAIN, What::Memory, judge::memory),
    row!("idle-cpu", "<= 1 % of a processor when nothing comes", Some(1), PLAIN, What::IdleCpu,
         judge::idle_cpu),
    row!("store-1k", store::GOAL_1K, None, PLAIN,
         What::Store("--series 1000 --samples 20000000 --seed 1"), store::at_1k),
    row!("store-100k", store::GOAL_100K, None, PLAIN,
         What::Store("--series 100000 --samples 20000000 --seed 1"), store::at_100k),
    row!("store-1m", store::GOAL_1M, None, PLAIN,
         What::Store("--series 1000000 --samples 20000000 --seed 1"), store::at_1m),
    row!("store-order-shuffled-1k", store::GOAL_SHUFFLED, Some(3), PLAIN,
         What::Store("--series 1000 --samples 20000000 --seed 1 --order shuffled"),
         store::shuffled),
    row!("store-order-shuffled", store::GOAL_SHUFFLED, Some(3), PLAIN,
         What::Store("--series 100000 --samples 20000000 --seed 1 --order shuffled"),
         store::shuffled),
    row!("store-order-shuffled-1m", store::GOAL_SHUFFLED, Some(3), PLAIN,
         What::Store("--series 1000000 --samples 20000000 --seed 1 --order shuffled"),
         store::shuffled),
    row!("store-order-bursty", "each series 50 ticks at once, 100,000 series: stated", Some(3), PLAIN,
         What::Store("--series 100000 --samples 20000000 --seed 1 --order bursty"), store::stated),
    row!("store-order-late", "1 % late by up to a tenth of the range, 100,000 series: stated",
         Some(3), PLAIN,
         What::Store("--series 100000 --samples 20000000 --seed 1 --order late"), store::stated),
    row!("store-sweep", "20 million samples of 1 to 4,000,000 series: at 1,000,000 >= 0.8 x at 1",
         Some(3), PLAIN,
         What::StoreSweep(&[1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 4_000_000]),
         store::sweep),
    row!("store-steady", "1,000,000 samples/s of 100,000 series for an hour, log recycled: 0 lost, \
          nothing grows", Some(1), PLAIN,
         What::StoreSteady("--series 100000 --rate 1000000 --for 1h --log 256M"), store::steady),
    row!("store-real", "a public data set, and kernel counters: bytes a sample stated", Some(1), PLAIN,
         What::StoreReal("60s"), store::real),
    row!("libbaro", "static on armv7 <= 1 MiB; resident beside the ring <= 8 MiB", Some(0), &[],
         What::Document("docs/c.md"), judge::nothing),
    row!("package", "installed in a clean root, started, recorded, upgraded, removed: data kept",
         Some(0), &[], What::Document("docs/service.md"), judge::nothing),
    row!("dependencies", "each with its reason", Some(0), &[],
         What::Document("docs/dependencies.md"), judge::nothing),
];

/// The row of that name.
pub(super) fn find(name: &str) -> Result<&'static Row, String> {
    ROWS.iter().find(|row| row.name == name).ok_or_else(|| {
        let known: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        format!("no row '{name}'; the rows are {}", known.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_finds_its_row() {
        for row in ROWS {
            assert!(std::ptr::eq(find(row.name).unwrap(), row), "{} is there twice", row.name);
        }
        assert!(find("no").unwrap_err().contains("inside-256"));
    }
}

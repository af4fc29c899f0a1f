//! What the disk has completed of each group's file, as the tracer tells it.
//!
//! The kernel's count of a group takes an I/O when it is submitted: one of 100 MB is counted at once and
//! served for seconds. From when on a ratio is as asked can be seen only in what is done.
//!
//! Invariant: it counts nothing but the groups' files, and says so if an event was lost. Held by
//! `bytes_count_where_they_are_and_once` in `baro_trace::blk::places` and
//! `completions_of_a_file_are_counted` in `tests/bench_share.rs`.

use super::site::Site;
use baro_bench::error::BenchError;
use baro_sys::place::bytes_on_disk;
use baro_trace::blk::Places;
use baro_trace::collect::BlockWatch;
use baro_trace::record::Device;

const NAME: &str = "baro-share";
/// For each processor; a second of 240 requests takes some 50 KiB.
const BUFFER_KIB: u64 = 1 << 10;
/// A file of 200 MB has a few.
const EXTENTS_MAX: usize = 10_000;

/// Counts from [`start`](Self::start) on.
#[derive(Debug)]
pub(super) struct Completed {
    watch: BlockWatch<Places>,
}

impl Completed {
    /// Begins to count for the files of the first `groups`.
    ///
    /// # Errors
    /// Why nothing can be counted here.
    pub(super) fn start(site: &Site, groups: usize) -> Result<Self, String> {
        let mut places = Vec::new();
        for file in (0..groups).map(|group| site.file(group)) {
            let found = bytes_on_disk(&file, EXTENTS_MAX).map_err(|error| error.to_string())?;
            places.push(found.ok_or("the file system does not tell where its files are")?);
        }
        let number = site.number.split_once(':');
        let number = number.and_then(|(a, b)| Some(Device::new(a.parse().ok()?, b.parse().ok()?)));
        let device = number.ok_or_else(|| format!("no number of a disk: {}", site.number))?;
        BlockWatch::start_into(Places::new(&places), NAME, &[device], BUFFER_KIB)
            .map(|watch| Self { watch })
            .map_err(|error| error.to_string())
    }

    /// Takes what came; to be called each 100 ms or so.
    ///
    /// # Errors
    /// Those of reading the tracer.
    pub(super) fn drain(&mut self) -> Result<(), BenchError> {
        let drained = self.watch.drain();
        drained.map(drop).map_err(|error| BenchError::Refused(error.to_string()))
    }

    /// Bytes of each group, of requests that were done some milliseconds before the last drain.
    pub(super) fn bytes(&self) -> Vec<u64> {
        self.watch.so_far().done_bytes().to_vec()
    }

    /// Ends; returns how many events were lost.
    ///
    /// # Errors
    /// As [`drain`](Self::drain).
    pub(super) fn finish(self) -> Result<u64, BenchError> {
        let seen = self.watch.finish().map_err(|error| BenchError::Refused(error.to_string()))?;
        let lost: u64 = seen.losses.iter().map(|cpu| cpu.total()).sum();
        Ok(lost + seen.damaged)
    }
}

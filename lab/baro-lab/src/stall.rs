//! Paper D's stall: a script that writes a time stamp stops for seconds while another writes large
//! files; and what the advised remedy does about it.
//!
//! Scaled to a minute: a device of 20 MB/s, a journal of 4 MiB, large files of 256 MiB. A kernel of
//! today has hardly any data to write in a commit unless delayed allocation is off, so the stand is
//! mounted as ext3 was ([`MOUNT_AS_EXT3`]) unless something else is said. Before the remedy the device may have as much
//! dirty data as a machine with some GB of memory lets one have; then as much as it writes in a
//! second. The gap between two stamps is chancy, since the script must come at the wrong moment; the
//! length of a commit is not. So both are reported.
//!
//! Invariant: both halves run on one stand with nothing changed but the limit of dirty data, which
//! is undone at the end. Held by `a_small_stall_is_measured_before_and_after` in `tests/stall.rs`.

mod commits;
mod scripts;
mod shown;

pub use commits::{Commit, CommitSums};
pub use scripts::Stamp;

use baro_bench::error::BenchError;
use baro_bench::stand::{Speed, Stand, StandSpec};
use baro_sys::{clock, footprint};
use commits::CommitWatch;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Allocation at once and data before metadata, as ext3 had it.
pub const MOUNT_AS_EXT3: &str = "noatime,nodelalloc,dioread_lock";

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallSpec {
    /// Options of the mount, without blanks.
    pub mount: String,
    /// Limit the dirty data of the whole machine, as the paper does, not that of the device:
    /// kernels before 6.2 have no other limit.
    pub machine_wide: bool,
    /// Length of each half.
    pub length_ns: u64,
    /// Time between two stamps.
    pub stamp_period_ns: u64,
    /// A gap is counted from here on.
    pub gap_ns: u64,
    /// Size of the large files; there are three at most.
    pub file_bytes: u64,
    /// What the device writes in a second.
    pub device_bytes_per_s: u64,
    /// Dirty data that it may have in the first half.
    pub before_bytes: u64,
    /// And in the second.
    pub after_bytes: u64,
}

impl Default for StallSpec {
    fn default() -> Self {
        Self {
            mount: MOUNT_AS_EXT3.to_owned(),
            machine_wide: false,
            length_ns: 60_000_000_000,
            stamp_period_ns: 100_000_000,
            gap_ns: 500_000_000,
            file_bytes: 256 << 20,
            device_bytes_per_s: 20 << 20,
            before_bytes: 512 << 20,
            after_bytes: 20 << 20,
        }
    }
}

/// One half.
#[derive(Clone, Debug, Default)]
pub struct Half {
    /// When it began, on the monotonic clock.
    pub begin_ns: u64,
    /// Dirty data that the device might have.
    pub limit_bytes: u64,
    /// All stamps.
    pub stamps: Vec<Stamp>,
    /// Bytes that the other script wrote.
    pub written_bytes: u64,
    /// Commits that were under way, by the journal's events; none without tracefs.
    pub commits: Option<Vec<Commit>>,
    /// Commits that ended, by the journal's own sums.
    pub sums: CommitSums,
}

/// Both.
#[derive(Clone, Debug)]
pub struct StallReport {
    /// What was run.
    pub spec: StallSpec,
    /// Before and after the remedy.
    pub halves: [Half; 2],
}

const MIB: u64 = 1 << 20;

/// Runs both halves on a stand below `dir`, an image of up to 1 GiB. Needs root, and tracefs for
/// the lengths of single commits. Blocks for twice the length and some seconds.
///
/// # Errors
/// The stand could not be made, a call failed, or `stop` was set.
pub fn run(spec: StallSpec, dir: &Path, stop: &AtomicBool) -> Result<StallReport, BenchError> {
    let bytes = spec.file_bytes.saturating_mul(scripts::LARGE_FILES) + 200 * MIB;
    let on = StandSpec { bytes, mkfs: &["-J", "size=4"], mount: &spec.mount };
    let mut stand = Stand::build(dir, &on)?;
    let halves = [spec.before_bytes, spec.after_bytes]
        .map(|limit_bytes| Half { limit_bytes, ..Half::default() });
    let mut report = StallReport { spec, halves };
    for half in &mut report.halves {
        measure(&report.spec, &mut stand, stop, half)?;
    }
    Ok(report)
}

fn measure(
    spec: &StallSpec,
    stand: &mut Stand,
    stop: &AtomicBool,
    half: &mut Half,
) -> Result<(), BenchError> {
    if spec.machine_wide {
        stand.limit_dirty_of_machine(half.limit_bytes)?;
    } else {
        stand.limit_dirty(half.limit_bytes)?;
    }
    stand.set_speed(Speed { write_bytes: spec.device_bytes_per_s, ..Speed::default() })?;
    let dir = stand.mount_dir();
    let watch = std::cell::RefCell::new(CommitWatch::start(stand)?);
    half.begin_ns = clock::monotonic_ns();
    let mut end = || -> Result<(), BenchError> {
        let watched = watch.borrow_mut().finish();
        // Fast again for the rest of what is dirty, which belongs to neither half.
        stand.undo_settings();
        (half.commits, half.sums) = watched?;
        Ok(())
    };
    let written = scripts::run(spec, &dir, stop, &mut || watch.borrow_mut().look(), &mut end)?;
    (half.stamps, half.written_bytes) = (written.stamps, written.large_bytes);
    scripts::remove(&dir)?;
    Ok(footprint::sync_file_system(&dir)?)
}

impl Half {
    /// The longest time between two stamps, ns.
    #[must_use]
    pub fn gap_ns_max(&self) -> u64 {
        self.stamps.iter().map(|stamp| stamp.gap_ns).max().unwrap_or(0)
    }

    /// Gaps of at least so long.
    #[must_use]
    pub fn gaps(&self, at_least_ns: u64) -> usize {
        self.stamps.iter().filter(|stamp| stamp.gap_ns >= at_least_ns).count()
    }

    /// The longest commit; one that had not ended counts with its length until then.
    #[must_use]
    pub fn longest_commit(&self) -> Option<&Commit> {
        self.commits.as_ref()?.iter().max_by_key(|commit| commit.length_ns)
    }
}

impl StallReport {
    /// How many times shorter the longest commit is with the remedy.
    #[must_use]
    pub fn commit_ratio(&self) -> Option<f64> {
        let [before, after] = self.halves.each_ref().map(Half::longest_commit);
        Some(before?.length_ns as f64 / after?.length_ns.max(1) as f64)
    }
}

//! Which device is measured: the user's, or a stand that is as slow as an eMMC.

use super::{Speed, Stand, StandSpec};
use crate::error::BenchError;
use baro_sys::files;
use std::path::Path;

const THROTTLE: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";

/// The device that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceModel {
    /// The user's.
    AsFound,
    /// A loop device with ext4 as in the paper, limited to so much a second.
    Limited {
        /// Bytes written.
        write_bytes_per_s: u64,
        /// Bytes read.
        read_bytes_per_s: u64,
        /// Requests of each kind.
        requests_per_s: u64,
    },
}

impl DeviceModel {
    /// The paper's eMMC: 12 MB/s written in units of 2 MB; reads and requests as measured of such
    /// devices (docs/lab.md).
    #[must_use]
    pub fn emmc() -> Self {
        Self::Limited {
            write_bytes_per_s: 12_000_000,
            read_bytes_per_s: 40_000_000,
            requests_per_s: 2_000,
        }
    }

    /// For a report.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::AsFound => "as found".to_owned(),
            Self::Limited { write_bytes_per_s, read_bytes_per_s, requests_per_s } => format!(
                "loop device limited to {} MB/s written, {} MB/s read, {requests_per_s} requests/s",
                write_bytes_per_s as f64 / 1e6,
                read_bytes_per_s as f64 / 1e6,
            ),
        }
    }

    /// What a stand is told to be so slow.
    #[must_use]
    pub fn speed(self) -> Speed {
        match self {
            Self::AsFound => Speed::default(),
            Self::Limited { write_bytes_per_s, read_bytes_per_s, requests_per_s } => Speed {
                write_bytes: write_bytes_per_s,
                writes: requests_per_s,
                read_bytes: read_bytes_per_s,
                reads: requests_per_s,
            },
        }
    }

    /// What a modelled device needs and this machine has not; `None` if one can be made.
    #[must_use]
    pub fn lacks() -> Option<String> {
        if !baro_sys::schedule::is_root() {
            return Some(
                "needs root (loop device, mount, limits of the block controller)".to_owned(),
            );
        }
        (!files::exists(Path::new(THROTTLE))).then(|| {
            format!(
                "needs the block controller of control groups version 1, and {THROTTLE} is not there"
            )
        })
    }

    /// A stand of this device, with ext4 as in the paper: a journal of 128 MB, these options, a file
    /// system of its own. It is fast until [`Stand::set_speed`].
    ///
    /// # Errors
    /// This machine lacks what it needs, or a step failed.
    pub fn build(self, parent: &Path, bytes: u64) -> Result<Stand, BenchError> {
        if let Some(lacks) = Self::lacks() {
            return Err(BenchError::Refused(format!(
                "a modelled device {lacks}; measure the folder as it is: --device none"
            )));
        }
        let mount = "noatime,lazytime,delalloc,nodiscard,data=ordered";
        Stand::build(parent, &StandSpec { bytes, mkfs: &["-J", "size=128"], mount })
    }
}

//! Files or log: which of both a plan comes to, and why.

use crate::files::Files;
use crate::inputs::Inputs;
use crate::numbers::Numbers;

/// Files have to carry more than comes, or any other program's traffic would stop them.
const SPARE: f64 = 2.0;

/// One reason to write a log and not one file for each sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// Files do not carry twice what comes, so that nothing is left for others.
    TooSlow {
        /// What they carry, bytes a second.
        carried: f64,
        /// What comes.
        wanted: f64,
    },
    /// A power cut takes more of a sensor than `durable_within`.
    AtRisk {
        /// So much of each, seconds.
        seconds: f64,
    },
    /// There is no memory for a buffer of one unit for each file.
    NoBuffers {
        /// Bytes for each.
        bytes: f64,
    },
    /// More bytes go to the device.
    MoreWear {
        /// Kwa of files.
        files: f64,
        /// Kwa of log and runs.
        store: f64,
    },
    /// Frames are few streams: each file is a log already.
    Frames,
}

/// Why a log is better than one file for each sensor; none where files do as well.
#[must_use]
pub fn reasons(inputs: &Inputs, all: &Numbers) -> Vec<Reason> {
    let Files { rate, at_risk_s, buffer_bytes, wear, .. } = all.files;
    let wanted = all.raw_bytes_per_s;
    let mut found = Vec::new();
    if rate < wanted * SPARE {
        found.push(Reason::TooSlow { carried: rate, wanted });
    }
    if at_risk_s > inputs.durable_within_s {
        found.push(Reason::AtRisk { seconds: at_risk_s });
    }
    if buffer_bytes < 4_096.0 {
        found.push(Reason::NoBuffers { bytes: buffer_bytes });
    }
    if wear > all.wear {
        found.push(Reason::MoreWear { files: wear, store: all.wear });
    }
    if inputs.has_frames() {
        found.push(Reason::Frames);
    }
    found
}

//! What is merged: something sorted that comes in pieces.

use crate::Result;
use crate::columns::Columns;
use baro_ondisk::SampleColumns;

/// Place of a sample in the order of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) series: u32,
    pub(crate) time_ns: i64,
}

/// A piece of a part, before it is decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) first_series: u32,
    pub(crate) last_series: u32,
    pub(crate) time_min_ns: i64,
    pub(crate) time_max_ns: i64,
    pub(crate) samples: u32,
}

impl Piece {
    /// Nothing.
    pub(crate) const EMPTY: Piece =
        Piece { first_series: 0, last_series: 0, time_min_ns: 0, time_max_ns: 0, samples: 0 };

    /// No sample of the piece comes before this.
    pub(crate) fn start(&self) -> Key {
        let single = self.first_series == self.last_series;
        let time_ns = if single { self.time_min_ns } else { i64::MIN };
        Key { series: self.first_series, time_ns }
    }
}

/// Samples sorted by series and time, in pieces that follow each other.
pub(crate) trait Part {
    /// Number of pieces.
    fn pieces(&self) -> usize;

    /// What is known of piece `at` without decoding it.
    fn piece(&self, at: usize) -> Piece;

    /// Appends the samples of piece `at`; `scratch` is for whoever needs one, the same for all parts,
    /// so that hundreds of them do not hold one each. What is damaged is noted elsewhere and left
    /// out.
    ///
    /// # Errors
    /// The operating system refuses.
    fn decode(&mut self, at: usize, scratch: &mut SampleColumns, to: &mut Columns) -> Result<()>;
}

//! How far a log has come, told by who records to who settles. It stands here because the two do
//! not know each other: the recorder makes it of its status, the store's settling judges by it.

/// How far the log is, as its recorder's status tells (`baro_recorder::Status`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logged {
    /// Bytes of samples, as pushed, that are in the log.
    pub sample_bytes: u64,
    /// Segments with samples that are in no run.
    pub segments_unsettled: u32,
    /// Segments that recording may use.
    pub segments_usable: u32,
    /// Nothing before this epoch is unsettled.
    pub unsettled_from_epoch: u64,
    /// Nothing more can be recorded before something is settled, however little that is.
    pub held: bool,
}

impl Logged {
    /// More than half of the log is unsettled, or recording waits for what is.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.held
            || self.segments_unsettled > 1
                && u64::from(self.segments_unsettled) * 2 > u64::from(self.segments_usable)
    }
}

//! What a recorder keeps of a log that recycles. Ages are running time (`crates/log/src/running.rs`): while
//! the machine is off nothing grows older, and a clock that somebody sets decides nothing.

/// What is kept. The default keeps all that the log has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Use at most so many bytes of the log (at least two segments); then the oldest segment is
    /// reused although the log could be larger.
    pub keep_bytes: Option<u64>,
    /// Nothing younger is recycled, nanoseconds of running time. If the log is full of younger
    /// data, new records are refused and counted.
    pub keep_ns: Option<u64>,
    /// Nothing is recycled whose samples are not in runs yet. How far they are is what
    /// `runs/manifest` says, whoever settles; until there is one, nothing is recycled.
    pub keep_unsettled: bool,
    /// Before new records wait longer than half of what they may wait to be durable, or a ring
    /// fills up, the oldest segment is recycled although its samples are in no run, and counted.
    /// [`Recorder::unsettled_yield`](crate::Recorder::unsettled_yield) changes it later.
    pub unsettled_yield: bool,
    /// The log grows only as long as its file system has so many bytes free.
    pub min_free_bytes: u64,
}

impl Retention {
    /// Whether anything of it asks for recycling.
    pub(crate) fn recycles(&self) -> bool {
        self.keep_bytes.is_some() || self.keep_ns.is_some()
    }
}

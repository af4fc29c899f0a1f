//! A disk: the requests that were given to it.

use crate::record::Name;

/// The requests of one disk, in the order of their issue.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// Requests.
    pub requests: Vec<Request>,
}

/// A request of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its first sector of 512 bytes.
    pub sector: u64,
    /// Its length.
    pub bytes: u32,
    /// Its class: letters as `WS`, `RAM`; see [`crate::schema::RqIssue`].
    pub class: Name,
    /// The task in whose context it was queued or issued; [`Request::BEFORE`] if that was before the trace.
    pub pid: i32,
    /// When the scheduler of the device took it; None if it has none, or before the trace.
    pub queued_ns: Option<u64>,
    /// When the driver got it; of one from before the trace when that began.
    pub issued_ns: u64,
    /// When it was done; None if it was not before the trace ended.
    pub done_ns: Option<u64>,
}

impl Request {
    /// The task of a request that was with the driver when the trace began: nobody saw whose it is.
    pub const BEFORE: i32 = -1;

    /// When it was first seen.
    #[must_use]
    pub fn begin_ns(&self) -> u64 {
        self.queued_ns.unwrap_or(self.issued_ns)
    }

    /// Whether it writes.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.kind() == Some(b'W')
    }

    /// Whether it reads. A flush does neither.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.kind() == Some(b'R')
    }

    fn kind(&self) -> Option<u8> {
        self.class.as_bytes().iter().copied().find(|letter| b"RWDN".contains(letter))
    }
}

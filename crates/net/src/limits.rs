//! What a client may cost: a number for each, with the reason for its default.

/// What a client may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. One more is told to come again.
    pub connections: usize,
    /// Those of one address; of an IPv6 address its network of 64 bits counts. One more is told to come again.
    pub connections_per_address: usize,
    /// Bytes of a request's head. One that is larger is answered with 431.
    pub head_bytes: usize,
    /// Headers of a request, answered in the same way.
    pub headers: usize,
    /// Bytes of a body, both as it comes and unpacked. One that is larger is answered with 413.
    pub body_bytes: u64,
    /// A head must be whole so long after its first byte.
    pub head_ns: u64,
    /// A connection without a request is closed after so long.
    pub idle_ns: u64,
    /// A body, or a client that takes an answer, may stand still for so long.
    pub stall_ns: u64,
    /// Bytes of a body that must come in a second, on average of each `stall_ns` in which it is waited for.
    pub body_bytes_per_s: u64,
    /// Bytes of an answer that must be taken in a second, on average since it began and beside `stall_ns`. A client
    /// that is slower is cut off.
    pub answer_bytes_per_s: u64,
    /// Requests that are under way when the server stops have so long.
    pub stop_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1_024,
            // Half of all: one address never takes the places of all others.
            connections_per_address: 512,
            // Clients send less than 2 KiB; tokens and proxies add some.
            head_bytes: 16 << 10,
            headers: 64,
            // Telegraf drops what is answered with 413, and may hold back a day of samples.
            body_bytes: 1 << 30,
            head_ns: 10_000_000_000,
            idle_ns: 75_000_000_000,
            stall_ns: 15_000_000_000,
            body_bytes_per_s: 128,
            // A phone on the road takes more: the largest answers are there in minutes, and not in an hour.
            answer_bytes_per_s: 128 << 10,
            stop_ns: 5_000_000_000,
        }
    }
}

//! The model of a slow device: when would an operation of so many bytes be done?
//!
//! One queue, one head: each operation takes a latency and its bytes at the rate of its
//! direction, after the one before it. A slot is given at arrival, so an oversleeping timer
//! delays one answer but not the device: under load the rate holds exactly.
//!
//! Invariant: slots never overlap and never start before their arrival. Held by the tests below.

/// What the device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speed {
    /// Bytes a second, reading.
    pub(crate) read_bytes_per_s: u64,
    /// Bytes a second, writing.
    pub(crate) write_bytes_per_s: u64,
    /// Fixed time of each read and write.
    pub(crate) operation_latency_ns: u64,
    /// Time of a flush of the device's cache.
    pub(crate) flush_ns: u64,
}

/// One operation on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A read of so many bytes.
    Read(u64),
    /// A write of so many bytes.
    Write(u64),
    /// A flush of the device's cache.
    Flush,
}

/// The device's time line.
#[derive(Debug)]
pub(crate) struct Device {
    speed: Speed,
    busy_until_ns: u64,
}

impl Device {
    pub(crate) fn new(speed: Speed) -> Self {
        Self { speed, busy_until_ns: 0 }
    }

    /// Time at which an operation that arrives at `now_ns` is done.
    pub(crate) fn done_at_ns(&mut self, operation: Operation, now_ns: u64) -> u64 {
        let cost_ns = match operation {
            Operation::Read(bytes) => self.transfer_ns(bytes, self.speed.read_bytes_per_s),
            Operation::Write(bytes) => self.transfer_ns(bytes, self.speed.write_bytes_per_s),
            Operation::Flush => self.speed.flush_ns,
        };
        self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(cost_ns);
        self.busy_until_ns
    }

    fn transfer_ns(&self, bytes: u64, bytes_per_s: u64) -> u64 {
        let bytes_ns = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1));
        self.speed.operation_latency_ns.saturating_add(u64::try_from(bytes_ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, Operation, Speed};

    const SPEED: Speed = Speed {
        read_bytes_per_s: 40_000_000,
        write_bytes_per_s: 10_000_000,
        operation_latency_ns: 50_000,
        flush_ns: 2_000_000,
    };

    #[test]
    fn operations_queue_behind_each_other() {
        let mut device = Device::new(SPEED);
        let first_ns = device.done_at_ns(Operation::Write(1_000_000), 1_000);
        assert_eq!(first_ns, 1_000 + 50_000 + 100_000_000);
        let second_ns = device.done_at_ns(Operation::Read(4_000), 2_000);
        assert_eq!(second_ns, first_ns + 50_000 + 100_000);
        let third_ns = device.done_at_ns(Operation::Flush, 3_000);
        assert_eq!(third_ns, second_ns + 2_000_000);
    }

    #[test]
    fn an_idle_device_saves_nothing_up() {
        let mut device = Device::new(SPEED);
        let done_ns = device.done_at_ns(Operation::Flush, 0);
        let later_ns = done_ns + 5_000_000_000;
        assert_eq!(device.done_at_ns(Operation::Flush, later_ns), later_ns + 2_000_000);
    }

    #[test]
    fn a_rate_of_zero_is_a_stop_not_a_crash() {
        let mut device = Device::new(Speed { write_bytes_per_s: 0, ..SPEED });
        assert!(device.done_at_ns(Operation::Write(u64::MAX), 7) > 1_000_000_000);
    }
}

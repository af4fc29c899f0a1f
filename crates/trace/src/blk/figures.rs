//! What follows from sums: write amplification, rates, how long a device lasts.
//!
//! Invariant: what cannot be said is None, never zero or infinite. Held by
//! `the_figures_are_those_of_the_paper`.

/// Bytes of a terabyte, as makers of disks count.
pub const TB: f64 = 1e12;
const SECONDS_OF_DAY: f64 = 86_400.0;

/// Bytes a second over an interval; None if it has no length.
#[must_use]
pub fn bytes_per_s(bytes: u64, interval_ns: u64) -> Option<f64> {
    (interval_ns > 0).then(|| bytes as f64 * 1e9 / interval_ns as f64)
}

/// Write amplification Kwa: bytes written to the device for each byte of the application.
#[must_use]
pub fn write_amplification(device_bytes: u64, application_bytes: u64) -> Option<f64> {
    (application_bytes > 0).then(|| device_bytes as f64 / application_bytes as f64)
}

/// Terabytes a day at the interval's rate.
#[must_use]
pub fn tb_per_day(bytes: u64, interval_ns: u64) -> Option<f64> {
    bytes_per_s(bytes, interval_ns).map(|rate| rate * SECONDS_OF_DAY / TB)
}

/// Days until `endurance_tb` terabytes (TBW of the device's data sheet) are written at the
/// interval's rate; None if nothing is written.
#[must_use]
pub fn lifetime_days(bytes: u64, interval_ns: u64, endurance_tb: f64) -> Option<f64> {
    tb_per_day(bytes, interval_ns).filter(|rate| *rate > 0.0).map(|rate| endurance_tb / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_paper() {
        // Paper C: 290 TBW at 100 MB/s last 34 days.
        let days = lifetime_days(100_000_000, 1_000_000_000, 290.0).unwrap();
        assert_eq!(days.round(), 34.0);
        assert_eq!(tb_per_day(100_000_000, 1_000_000_000), Some(8.64));
        assert_eq!(write_amplification(254, 100), Some(2.54));
        assert_eq!(write_amplification(1, 0), None);
        assert_eq!(bytes_per_s(1, 0), None);
        assert_eq!(lifetime_days(0, 1_000, 290.0), None);
    }
}

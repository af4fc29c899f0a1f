//! Clocks and sleeping: the three Linux clocks that Barograph uses, in nanoseconds.
//!
//! `monotonic` measures distances and deadlines, `realtime` stamps what is shown to people,
//! `boottime` goes on counting while the machine is suspended. Sleeping to an absolute deadline
//! keeps a period free of drift, which a relative sleep cannot.
//!
//! Invariant: reading a clock neither allocates nor fails; `monotonic_ns` never goes back.
//! Held by `monotonic_never_goes_back` and `sleep_until_reaches_its_deadline`.

/// Nanoseconds in a second.
const NS_PER_S: u64 = 1_000_000_000;

#[inline]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a valid, writable timespec. The three clocks read here exist since
    // Linux 2.6.39, so the call cannot fail; were it to, `ts` stays zero, which is still valid.
    unsafe { libc::clock_gettime(clock, &raw mut ts) };
    ts
}

// time_t and c_long are 32 bits wide on armv7, hence conversions that are no-ops on 64-bit.
#[inline]
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn signed_ns(ts: libc::timespec) -> i64 {
    i64::from(ts.tv_sec).saturating_mul(NS_PER_S as i64).saturating_add(i64::from(ts.tv_nsec))
}

/// Time of CLOCK_MONOTONIC in ns: never goes back, stands still while suspended. Does not block.
#[must_use]
#[inline]
pub fn monotonic_ns() -> u64 {
    u64::try_from(signed_ns(read(libc::CLOCK_MONOTONIC))).unwrap_or(0)
}

/// Time of CLOCK_REALTIME in ns since the Unix epoch; may jump when it is set. Does not block.
#[must_use]
#[inline]
pub fn realtime_ns() -> i64 {
    signed_ns(read(libc::CLOCK_REALTIME))
}

/// Time of CLOCK_BOOTTIME in ns since boot, suspended time included. Does not block.
#[must_use]
#[inline]
pub fn boottime_ns() -> i64 {
    signed_ns(read(libc::CLOCK_BOOTTIME))
}

/// Blocks the calling thread for at least `duration_ns`, signals notwithstanding.
pub fn sleep_ns(duration_ns: u64) {
    sleep_until_ns(monotonic_ns().saturating_add(duration_ns));
}

/// Blocks the calling thread until [`monotonic_ns`] is at least `deadline_ns`, signals
/// notwithstanding. Returns at once if the deadline has passed.
#[allow(clippy::unnecessary_cast)]
pub fn sleep_until_ns(deadline_ns: u64) {
    let ts = libc::timespec {
        tv_sec: libc::time_t::try_from(deadline_ns / NS_PER_S).unwrap_or(libc::time_t::MAX),
        tv_nsec: (deadline_ns % NS_PER_S) as libc::c_long,
    };
    loop {
        // SAFETY: `ts` is a valid timespec; with TIMER_ABSTIME the remainder may be null.
        let rc = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const ts,
                std::ptr::null_mut(),
            )
        };
        // The call returns its error instead of setting errno. An absolute deadline makes the
        // restart after a signal exact.
        if rc != libc::EINTR {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_never_goes_back() {
        let mut last = monotonic_ns();
        for _ in 0..100_000 {
            let now = monotonic_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn sleep_until_reaches_its_deadline() {
        let deadline_ns = monotonic_ns() + 2_000_000;
        sleep_until_ns(deadline_ns);
        assert!(monotonic_ns() >= deadline_ns);
        // A deadline in the past, the far past included, returns.
        sleep_until_ns(deadline_ns);
        sleep_until_ns(0);
    }

    #[test]
    fn clocks_are_plausible() {
        // 2020-01-01 would be too strict: boards boot in 1970.
        assert!(realtime_ns() >= 0);
        assert!(boottime_ns() > 0);
    }
}

//! Times as people read and write them. Always UTC: a record of a machine has no time zone.

pub(crate) use baro_show::rfc3339 as show;
use baro_sys::clock;

/// A point in time: RFC 3339, nanoseconds since the epoch, seconds with a point, `now`, or `-30s`
/// for a time before now.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    if text == "now" {
        return Ok(clock::realtime_ns());
    }
    if let Some(ago_ns) = text.strip_prefix('-').and_then(|ago| crate::size::nanoseconds(ago).ok())
    {
        return Ok(clock::realtime_ns().saturating_sub_unsigned(ago_ns));
    }
    baro_sources::csv::parse_time(text).ok_or_else(|| {
        format!(
            "expected a time such as 2026-11-21T21:03:49Z, 1700000000.5 (seconds), \
             1700000000500000000 (nanoseconds), now, or -30s (before now), found {text:?}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for time_ns in [0, -1, 1, 1_700_000_000_123_456_789, 951_782_400_000_000_000, i64::MAX] {
            assert_eq!(parse(&show(time_ns)), Ok(time_ns), "{}", show(time_ns));
        }
        assert_eq!(show(951_782_400_000_000_000), "2000-02-29T00:00:00.000000000Z");
        assert!(parse("-30s").unwrap() < clock::realtime_ns());
        let (before, now) = (clock::realtime_ns(), parse("now").unwrap());
        assert!((before..=clock::realtime_ns()).contains(&now));
        assert!(parse("yesterday").is_err());
    }
}

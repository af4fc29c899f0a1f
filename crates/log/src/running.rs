//! Running time: boottime strung together from boot to boot in the order of epochs, so that ages
//! and windows need no clock that somebody sets. Boards boot in 1970.
//!
//! Invariant: from one moment to a later one running time passes no faster than real time; so what
//! is kept is kept too long rather than too short. Held by the tests below.

use baro_ondisk::SegmentHeader;

/// When a segment was in use, in running time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its header was written then.
    pub starts_ns: i64,
    /// Its last block was made then or before.
    pub ends_ns: i64,
}

/// Spans of segments by rising epoch, and what to add to this boot's boottime to get running time.
/// `last_block_ns` is the boottime of the newest segment's last block, if it has one.
#[must_use]
pub fn spans(
    headers: &[SegmentHeader],
    last_block_ns: Option<i64>,
    boot_id: [u8; 16],
    boottime_ns: i64,
) -> (Vec<Span>, i64) {
    let mut found: Vec<Span> = Vec::with_capacity(headers.len());
    // Running time at the start of the boot, and the latest boottime seen of it.
    let (mut base_ns, mut top_ns) = (0_i64, 0_i64);
    let mut boot = headers.first().map(|header| header.boot_id);
    for header in headers {
        let new_boot = boot != Some(header.boot_id);
        if new_boot {
            base_ns = base_ns.saturating_add(top_ns);
            (top_ns, boot) = (0, Some(header.boot_id));
        }
        top_ns = top_ns.max(header.boottime_ns.clamp(0, LONGEST_BOOT_NS));
        let starts_ns = base_ns.saturating_add(top_ns);
        if let Some(before) = found.last_mut() {
            // That of an earlier boot ended before this boot began.
            before.ends_ns = if new_boot { base_ns } else { starts_ns };
        }
        found.push(Span { starts_ns, ends_ns: i64::MAX });
    }
    if let Some(last_ns) = last_block_ns {
        top_ns = top_ns.max(last_ns.clamp(0, LONGEST_BOOT_NS));
    }
    let end_ns = base_ns.saturating_add(top_ns);
    let same = boot.is_none_or(|boot| boot == boot_id);
    let base_now_ns = if same { base_ns } else { end_ns };
    if let Some(last) = found.last_mut() {
        // Without a block that tells, until now at the latest.
        let now_ns = base_now_ns.saturating_add(boottime_ns.max(0));
        last.ends_ns = if last_block_ns.is_some() || !same { end_ns } else { now_ns.max(end_ns) };
    }
    (found, base_now_ns)
}

/// Whatever a header says, no machine runs longer: a century.
const LONGEST_BOOT_NS: i64 = 36_500 * 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use baro_ondisk::{SegmentKind, StoreId};

    fn header(boot: u8, boottime_ns: i64) -> SegmentHeader {
        SegmentHeader {
            kind: SegmentKind::Log,
            store: StoreId::default(),
            session: 1,
            epoch: 1,
            index: 0,
            previous_crc: 0,
            segment_bytes: 1 << 20,
            first_block: 0,
            realtime_ns: 0,
            boottime_ns,
            boot_id: [boot; 16],
        }
    }

    fn pairs(
        headers: &[SegmentHeader],
        last: Option<i64>,
        boot: u8,
        now: i64,
    ) -> (Vec<(i64, i64)>, i64) {
        let (found, base_ns) = spans(headers, last, [boot; 16], now);
        (found.iter().map(|span| (span.starts_ns, span.ends_ns)).collect(), base_ns)
    }

    #[test]
    fn within_a_boot_it_is_boottime() {
        let headers = [header(1, 100), header(1, 150), header(1, 160)];
        assert_eq!(
            pairs(&headers, Some(170), 1, 500),
            (vec![(100, 150), (150, 160), (160, 170)], 0)
        );
        assert_eq!(pairs(&headers, None, 1, 500).0[2], (160, 500));
        assert_eq!(pairs(&[], None, 1, 500), (vec![], 0));
    }

    #[test]
    fn from_boot_to_boot_at_least_nothing_has_passed() {
        let headers = [header(1, 100), header(1, 150), header(2, 20), header(2, 60)];
        let (found, base_ns) = pairs(&headers, Some(70), 3, 5);
        assert_eq!(found, [(100, 150), (150, 150), (170, 210), (210, 220)]);
        assert_eq!(base_ns, 220);
        // A clock that was set back, or a header that lies, makes nothing older.
        let (found, base_ns) =
            pairs(&[header(1, 100), header(1, 40), header(1, i64::MIN)], None, 1, 50);
        assert_eq!((found, base_ns), (vec![(100, 100), (100, 100), (100, 100)], 0));
        assert!(pairs(&[header(1, i64::MAX), header(2, i64::MAX)], Some(i64::MAX), 3, 1).1 > 0);
    }
}

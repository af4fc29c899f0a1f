//! The rules of a time zone, from a file that any package of the system has brought.

use crate::Target;
use baro_sources::{Rules, Zone};
use std::cell::RefCell;

pub(crate) const ZONE: Target = Target { name: "zone", fuzz_one: zone, seeds, fix_up: |_| {} };

/// Moments at which a rule is asked: to the ends of what a time of a record can be.
const MOMENTS_S: [i64; 6] = [-9_223_372_036, -1, 0, 1_700_000_000, 4_000_000_000, 9_223_372_036];
/// Rules live as long as the program, so only so many are asked in a thread.
const ASKED_MAX: usize = 2_000;

thread_local! {
    static ASKED: RefCell<usize> = const { RefCell::new(0) };
}

fn zone(bytes: &[u8]) {
    let Some(rules) = Rules::parse(bytes) else { return };
    let asked = ASKED.with_borrow_mut(|asked| {
        *asked += 1;
        *asked
    });
    if asked > ASKED_MAX {
        return;
    }
    let zone = Zone::Of(Box::leak(Box::new(rules)));
    for moment_s in MOMENTS_S {
        assert!(zone.ahead_s(moment_s).abs() < 8 * 86_400, "{moment_s}");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    vec![tzif("CET-1CEST,M3.5.0,M10.5.0/3"), tzif("<-03>3"), tzif("EST5EDT,J60/2,300/-1"), tzif("")]
}

/// A file of version 2 with two changes and a rule for the time behind them (RFC 9636).
fn tzif(footer: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let head = |bytes: &mut Vec<u8>, counts: [u32; 6]| {
        bytes.extend(b"TZif2");
        bytes.extend([0; 15]);
        counts.iter().for_each(|count| bytes.extend(count.to_be_bytes()));
    };
    head(&mut bytes, [0, 0, 0, 0, 1, 1]);
    bytes.extend([0; 7]);
    head(&mut bytes, [0, 0, 0, 2, 3, 1]);
    for moment_s in [0_i64, 1_000_000_000] {
        bytes.extend(moment_s.to_be_bytes());
    }
    bytes.extend([1, 2]);
    for offset_s in [0_i32, 3_600, 7_200] {
        bytes.extend(offset_s.to_be_bytes());
        bytes.extend([0; 2]);
    }
    bytes.push(0);
    bytes.extend(format!("\n{footer}\n").as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else nothing but the refusal of the seeds would be tried.
    #[test]
    fn the_seeds_are_rules() {
        assert!(seeds().iter().all(|seed| Rules::parse(seed).is_some()));
    }
}

//! The payloads of records, by themselves: no checksum stands before them, so mutations reach
//! every branch at once. The segment target calls the same functions.

use crate::Target;
use baro_ondisk::{Declaration, Gap, Samples, Type};

fn nothing_to_fix(_: &mut [u8]) {}

pub(crate) const SAMPLES: Target = Target {
    name: "samples",
    fuzz_one: samples,
    seeds: || vec![samples_seed(false), samples_seed(true)],
    fix_up: nothing_to_fix,
};

pub(crate) const DECLARATION: Target = Target {
    name: "declaration",
    fuzz_one: declaration,
    seeds: || vec![declaration_seed()],
    fix_up: nothing_to_fix,
};

pub(crate) const GAP: Target = Target {
    name: "gap",
    fuzz_one: gap,
    seeds: || vec![Gap { ring_full: 1, unknown: 2, ..Gap::default() }.encode().to_vec()],
    fix_up: nothing_to_fix,
};

pub(crate) fn samples(payload: &[u8]) {
    if let Ok(samples) = Samples::decode(payload, 50) {
        assert_eq!(samples.iter().count(), samples.len());
        assert!(samples.len() <= payload.len(), "a count larger than its bytes");
    }
}

pub(crate) fn declaration(payload: &[u8]) {
    if let Ok(declaration) = Declaration::decode(payload) {
        let encoded = declaration.encode();
        let again = encoded.as_ref().map(|bytes| Declaration::decode(bytes));
        assert_eq!(again, Ok(Ok(declaration)));
    }
}

pub(crate) fn gap(payload: &[u8]) {
    if let Ok(gap) = Gap::decode(payload) {
        assert_eq!(gap.encode(), payload);
        assert!(gap.lost() >= gap.unknown);
    }
}

pub(crate) fn samples_seed(times: bool) -> Vec<u8> {
    let mut payload = Samples::head(3, times).to_vec();
    payload.extend([7_u32, 8, 9].iter().flat_map(|series| series.to_le_bytes()));
    if times {
        payload.extend([100_i64, 200, -1].iter().flat_map(|time| time.to_le_bytes()));
    }
    payload.extend([1.5_f64, -2.0, f64::NAN].iter().flat_map(|value| value.to_le_bytes()));
    payload
}

pub(crate) fn declaration_seed() -> Vec<u8> {
    let declaration = Declaration { id: 3, kind: Type::F64, name: "t{site=\"ä\"}", unit: "°C" };
    declaration.encode().unwrap_or_default()
}

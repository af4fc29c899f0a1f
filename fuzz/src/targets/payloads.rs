//! The payloads of records, by themselves: no checksum stands before them, so mutations reach
//! every branch at once. The segment target calls the same functions.

use crate::Target;
use baro_ondisk::{
    Declaration, DeclarationBatch, Gap, Layout, NameParser, SampleColumns, SampleStage, Samples,
    Section, Type, UnfoldedSamples, section_bytes_max,
};
use std::borrow::Cow;

const LAYOUT_SEED: &str = "speed:f32@0,temp:i16be@4*0.1-40(°C),cell:u16[3]@6*0.001(V),on:bool@12";

fn nothing_to_fix(_: &mut [u8]) {}

pub(crate) const SAMPLES: Target = Target {
    name: "samples",
    fuzz_one: samples,
    seeds: || vec![samples_seed(false), samples_seed(true)],
    fix_up: nothing_to_fix,
};

pub(crate) const SECTION: Target = Target {
    name: "section",
    fuzz_one: section,
    seeds: || (0..4).map(section_seed).collect(),
    fix_up: nothing_to_fix,
};

pub(crate) const DECLARATION: Target = Target {
    name: "declaration",
    fuzz_one: declaration,
    seeds: || vec![declaration_seed(), channel_seed(), batch_seed()],
    fix_up: nothing_to_fix,
};

/// A layout as bytes and as text: the first byte says which.
pub(crate) const LAYOUT: Target = Target {
    name: "layout",
    fuzz_one: layout,
    seeds: || vec![layout_seed(false), layout_seed(true)],
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

/// Decoded strips are sorted and as long as the directory says, and unfold to the same samples.
pub(crate) fn section(bytes: &[u8]) {
    let Ok(section) = Section::decode(bytes) else { return };
    let (mut columns, mut samples) = (SampleColumns::default(), 0);
    let mut whole = true;
    for at in 0..section.strips() {
        if section.decode_strip(at, &mut columns).is_err() {
            assert!(columns.is_empty());
            whole = false;
            continue;
        }
        samples += columns.len();
        let keys = || columns.series.iter().zip(&columns.times_ns);
        assert!(keys().is_sorted(), "samples in order");
        assert_eq!(columns.bits.len(), columns.len());
        let entry = section.strip(at);
        assert_eq!(entry.map(|entry| entry.samples as usize), Some(columns.len()));
        for series in [columns.series.first(), columns.series.last()].into_iter().flatten() {
            assert!(section.find(*series).contains(&at), "found by its series");
        }
    }
    let mut unfolded = UnfoldedSamples::default();
    assert_eq!(unfolded.unfold(&section).is_ok(), whole);
    if whole {
        assert_eq!((section.samples(), unfolded.samples()), (samples, samples as u64));
        assert!(unfolded.records().map(|(time_ns, _)| time_ns).is_sorted());
        unfolded.records().for_each(|(_, at)| self::samples(&unfolded.bytes()[at]));
    }
}

/// A name: what is canonical stays so, and labels come back by rising name.
pub(crate) const NAME: Target = Target {
    name: "name",
    fuzz_one: name,
    seeds: || vec![b"temp{site=\"a\\\"b\", line = \"3\",}".to_vec(), b"a{b=\"\"}".to_vec()],
    fix_up: nothing_to_fix,
};

fn name(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let mut parser = NameParser::new();
    let canonical = parser.canonical(text).to_owned();
    assert_eq!(parser.canonical(&canonical), canonical);
    // It means what the text means.
    let [meant, found] = [text, &canonical].map(|text| {
        parser.parse(text);
        let labels: Vec<_> = (0..parser.len())
            .filter_map(|at| parser.label_at(text, at))
            .map(|(label, value)| (label.into_owned(), value.into_owned()))
            .collect();
        assert!(labels.len() == parser.len() && labels.is_sorted());
        (parser.metric(text).into_owned(), labels)
    });
    assert_eq!(meant, found, "{text}");
}

pub(crate) fn declaration(payload: &[u8]) {
    let mut declared = Vec::new();
    let decoded = Declaration::decode_each(payload, |one| {
        assert!(one.id > 0 && one.check().is_ok());
        declared.push(one.id);
    });
    assert!(declared.len() <= payload.len(), "a count larger than its bytes");
    assert!(declared.is_sorted() && (decoded.is_err() || !declared.is_empty()));
    if let Ok(declaration) = Declaration::decode(payload) {
        let encoded = declaration.encode();
        let again = encoded.as_ref().map(|bytes| Declaration::decode(bytes));
        assert_eq!(again, Ok(Ok(declaration.clone())));
    }
}

fn layout(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return };
    let found = match form % 2 {
        0 => Layout::decode(rest).ok(),
        _ => str::from_utf8(rest).ok().and_then(|text| text.parse().ok()),
    };
    let Some(layout) = found else { return };
    assert_eq!(Layout::decode(&layout.encode()).as_ref(), Ok(&layout));
    assert_eq!(layout.to_string().parse().as_ref(), Ok(&layout));
    // A frame cut anywhere gives the values that lie in it, and no other.
    for field in layout.fields() {
        let values = (0..=field.values()).filter_map(|element| field.read(bytes, element)).count();
        let room = (bytes.len() as u64).saturating_sub(u64::from(field.offset_bytes));
        assert_eq!(values, field.values().min(room as usize / field.kind.bytes()));
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

/// Few and regular samples, then ever more and wilder ones.
pub(crate) fn section_seed(number: u64) -> Vec<u8> {
    let count = [5, 200, 700, 5_000].get(number as usize).copied().unwrap_or(1);
    let mut stage = SampleStage::new(section_bytes_max(count));
    let mut bytes = vec![0; section_bytes_max(count)];
    if let Some((series, times_ns, bits)) = stage.add(count) {
        for at in 0..count {
            let wild = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let n = at as u32;
            (series[at], times_ns[at], bits[at]) = match number {
                0 => (n, 7, wild),
                1 => (n % 3, i64::from(n) * 1_000_000, (f64::from(n) / 8.0).to_bits()),
                2 => (n / 9, wild as i64, if n.is_multiple_of(2) { wild } else { 0 }),
                _ => (n % 2_000, i64::from(n / 2_000), wild >> 50),
            };
        }
    }
    let encoded = stage.encode(&mut bytes).map_or(0, |encoded| encoded.bytes);
    bytes.truncate(encoded);
    bytes
}

pub(crate) fn declaration_seed() -> Vec<u8> {
    let (kind, name, unit) = (Type::F64, "t{site=\"ä\"}", "°C");
    let declaration = Declaration { id: 3, kind, name, unit, joint: None, layout: None };
    declaration.encode().unwrap_or_default()
}

pub(crate) fn declared(id: u32, kind: Type, name: &str) -> Vec<u8> {
    let declaration = Declaration { id, kind, name, unit: "", joint: None, layout: None };
    declaration.encode().unwrap_or_default()
}

fn layout_seed(text: bool) -> Vec<u8> {
    let layout: Option<Layout> = LAYOUT_SEED.parse().ok();
    let mut bytes = vec![u8::from(text)];
    match layout {
        Some(_) if text => bytes.extend(LAYOUT_SEED.as_bytes()),
        Some(layout) => bytes.extend(layout.encode()),
        None => {}
    }
    bytes
}

fn batch_seed() -> Vec<u8> {
    let mut batch = DeclarationBatch::default();
    let _ = batch.start(9, Type::I64, "1/s", None);
    for name in ["t{a=\"1\",b=\"20\"}", "t{a=\"2\",b=\"9\"}", "u", "a long name without labels"] {
        let _ = batch.push(name, 1000);
    }
    batch.finish().to_vec()
}

fn channel_seed() -> Vec<u8> {
    let layout = LAYOUT_SEED.parse().ok().map(Cow::Owned);
    let (kind, name, unit) = (Type::Channel, "control", "");
    Declaration { id: 4, kind, name, unit, joint: None, layout }.encode().unwrap_or_default()
}

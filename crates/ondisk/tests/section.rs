//! Any samples go through a section and come back bit by bit, sorted by (series, time, arrival);
//! any bytes give samples in order or an error.

#![allow(clippy::unwrap_used, reason = "a test")]

use baro_ondisk::limits::STRIP_SAMPLES_MAX;
use baro_ondisk::{
    SampleColumns, SampleStage, Samples, Section, UnfoldedSamples, section_bytes_max,
};

type Sample = (u32, i64, u64);

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

fn stage(samples: &[Sample]) -> SampleStage {
    let mut stage = SampleStage::new(section_bytes_max(samples.len().max(1)));
    add(&mut stage, samples);
    stage
}

fn add(stage: &mut SampleStage, samples: &[Sample]) {
    let (series, times, bits) = stage.add(samples.len()).unwrap();
    for (at, sample) in samples.iter().enumerate() {
        (series[at], times[at], bits[at]) = *sample;
    }
}

fn encode(samples: &[Sample]) -> Vec<u8> {
    let mut bytes = vec![0xcc; section_bytes_max(samples.len())];
    let encoded = stage(samples).encode(&mut bytes).expect("the bound holds");
    let times = samples.iter().map(|(_, time, _)| *time);
    assert_eq!(Some(encoded.time_min_ns), times.clone().min());
    assert_eq!(Some(encoded.time_max_ns), times.max());
    bytes.truncate(encoded.bytes);
    bytes
}

fn decode(bytes: &[u8]) -> Result<Vec<Sample>, baro_ondisk::Error> {
    let section = Section::decode(bytes)?;
    let mut columns = SampleColumns::default();
    let mut all = Vec::new();
    for at in 0..section.strips() {
        section.decode_strip(at, &mut columns)?;
        let entry = section.strip(at).unwrap();
        assert_eq!(columns.len(), entry.samples as usize);
        assert_eq!(columns.series.first(), Some(&entry.first_series));
        assert_eq!(columns.series.last(), Some(&entry.last_series));
        assert_eq!(columns.times_ns.iter().min(), Some(&entry.time_min_ns));
        assert_eq!(columns.times_ns.iter().max(), Some(&entry.time_max_ns));
        let ordered = |pair: &[(&u32, &i64)]| pair[0] <= pair[1];
        let keys: Vec<_> = columns.series.iter().zip(&columns.times_ns).collect();
        assert!(keys.windows(2).all(ordered));
        all.extend(columns.iter());
    }
    assert_eq!(all.len(), section.samples());
    Ok(all)
}

fn check(samples: &[Sample]) -> Vec<u8> {
    let bytes = encode(samples);
    let mut expected = samples.to_vec();
    expected.sort_by_key(|(series, time, _)| (*series, *time));
    assert!(decode(&bytes).unwrap() == expected, "{} samples differ", samples.len());
    let section = Section::decode(&bytes).unwrap();
    for (series, ..) in expected.iter().step_by(1 + expected.len() / 50) {
        for near in [series.wrapping_sub(1), *series, series.saturating_add(1)] {
            let holds = |at: &usize| {
                let entry = section.strip(*at).unwrap();
                (entry.first_series..=entry.last_series).contains(&near)
            };
            let found: Vec<usize> = (0..section.strips()).filter(holds).collect();
            assert_eq!(section.find(near).collect::<Vec<_>>(), found);
        }
    }
    bytes
}

fn value(random: &mut Random, kind: u64, at: usize) -> u64 {
    match kind {
        0 => random.next(),
        1 => ((random.below(11) as f64 + at as f64) / 1000.0).to_bits(),
        2 => at as u64,
        3 => [f64::NAN.to_bits() | 7, (-0.0_f64).to_bits(), 0, f64::INFINITY.to_bits(), u64::MAX]
            [random.below(5) as usize],
        4 => (random.below(1000) as f64 * 0.1).to_bits(),
        5 => 21.5_f64.to_bits(),
        _ => ((random.below(100_000) as f64) / 10_f64.powi(random.below(8) as i32)).to_bits(),
    }
}

fn time(random: &mut Random, kind: u64, at: usize) -> i64 {
    match kind {
        0 => random.next() as i64,
        1 => 1_700_000_000_000_000_000 + at as i64 / 100 * 10_000_000,
        2 => [i64::MIN, i64::MAX, 0, -1][random.below(4) as usize],
        3 => (at as i64).wrapping_mul(1_000_000_000 * 86_400 * 365),
        4 => 5,
        5 => 1_700_000_000_000_000_000 + at as i64 * 1_000 + random.below(20_000) as i64,
        _ => 1_700_000_000_000_000_000 - at as i64,
    }
}

fn series(random: &mut Random, kind: u64, at: usize) -> u32 {
    match kind {
        0 => random.next() as u32,
        1 => (at % 100) as u32,
        2 => at as u32,
        3 => 9,
        4 => [0, u32::MAX, 1 << 31][random.below(3) as usize],
        _ => random.below(5_000) as u32 * 7,
    }
}

#[test]
fn any_samples_round_trip() {
    let mut random = Random(1);
    for round in 0..600 {
        let kinds = [random.below(7), random.below(7), random.below(6)];
        let count = match round % 6 {
            0 => 1 + random.below(3),
            1 => 127 + random.below(4),
            2 => STRIP_SAMPLES_MAX as u64 - 1 + random.below(3),
            _ => 1 + random.below(9_000),
        };
        let samples: Vec<Sample> = (0..count as usize)
            .map(|at| {
                let mixed = |random: &mut Random, kind| {
                    if random.below(200) == 0 { random.below(7) } else { kind }
                };
                let (v, t) = (mixed(&mut random, kinds[0]), mixed(&mut random, kinds[1]));
                let id = series(&mut random, kinds[2], at);
                (id, time(&mut random, t, at), value(&mut random, v, at))
            })
            .collect();
        check(&samples);
    }
}

#[test]
fn duplicates_stay_in_the_order_of_arrival() {
    let samples: Vec<Sample> =
        (0..10_000_u64).map(|at| ((at % 3) as u32, 7 - (at % 2) as i64, at)).collect();
    check(&samples);
}

/// A stage serves for one section after another, whatever the ones before were.
#[test]
fn a_stage_is_used_again() {
    let mut random = Random(5);
    let mut stage = SampleStage::new(section_bytes_max(3_000));
    assert_eq!(stage.samples_max(), 3_000);
    let mut bytes = vec![0; section_bytes_max(3_000)];
    for round in 0..50 {
        let count = 1 + random.below(3_000) as usize;
        let kinds = [random.below(7), random.below(7), random.below(6)];
        let mut samples: Vec<Sample> = Vec::new();
        stage.clear();
        assert!(stage.encode(&mut bytes).is_none());
        for at in 0..count {
            let sample = (
                series(&mut random, kinds[2], at),
                time(&mut random, kinds[1], at),
                value(&mut random, kinds[0], at),
            );
            add(&mut stage, &[sample]);
            samples.push(sample);
        }
        assert!(stage.add(3_001 - count).is_none());
        assert_eq!(stage.len(), count, "round {round}");
        let encoded = stage.encode(&mut bytes).unwrap();
        samples.sort_by_key(|(series, time, _)| (*series, *time));
        assert!(decode(&bytes[..encoded.bytes]).unwrap() == samples);
    }
}

/// What regular input costs: steps that are constant cost nothing, small ones their bits.
#[test]
fn regular_samples_take_few_bytes() {
    let tick = |series: u32, at: i64, bits: u64| (series, 1_700_000_000_000_000_000 + at, bits);
    let constant: Vec<Sample> = (0..40_000_u32)
        .map(|at| tick(at % 1000, i64::from(at / 1000) * 10_000_000, 20.5_f64.to_bits()))
        .collect();
    let bytes = check(&constant).len();
    // 39 strips of 66 bytes each with their entry in the directory, and nothing for the samples.
    assert!(bytes < 2_700, "{bytes} bytes for constants");
    let counters: Vec<Sample> = (0..40_000_u64)
        .map(|at| tick((at % 1000) as u32, (at / 1000) as i64 * 10_000_000, at / 1000 * 17))
        .collect();
    let bytes = check(&counters).len();
    assert!(bytes < 2_700, "{bytes} bytes for counters");
    let mut random = Random(3);
    let mut walk = vec![20_000_i64; 1000];
    let walks: Vec<Sample> = (0..40_000_u32)
        .map(|at| {
            let value = &mut walk[(at % 1000) as usize];
            *value += random.below(11) as i64 - 5;
            let bits = (*value as f64 / 1000.0).to_bits();
            tick(at % 1000, i64::from(at / 1000) * 10_000_000, bits)
        })
        .collect();
    let bytes = check(&walks).len();
    assert!(bytes < 40_000 * 58 / 100, "{bytes} bytes for walks of 3.5 bits a step");
}

#[test]
fn a_section_unfolds_into_records_by_time() {
    let mut random = Random(9);
    let samples: Vec<Sample> =
        (0..7_000).map(|at| (random.below(50) as u32, random.below(300) as i64, at)).collect();
    let bytes = encode(&samples);
    let mut unfolded = UnfoldedSamples::default();
    unfolded.unfold(&Section::decode(&bytes).unwrap()).unwrap();
    let mut found = Vec::new();
    let mut before = None;
    for (time_ns, range) in unfolded.records() {
        assert!(before < Some(time_ns), "one record for a time, in order");
        before = Some(time_ns);
        found.extend(Samples::decode(&unfolded.bytes()[range], time_ns).unwrap().iter());
    }
    let mut expected = samples;
    expected.sort_by_key(|(series, time, _)| (*time, *series));
    assert!(found == expected);
}

#[test]
fn damaged_bytes_are_errors_or_samples_in_order() {
    let mut random = Random(11);
    let samples: Vec<Sample> = (0..600)
        .map(|at| {
            (at % 40, i64::from(at) * 1_000, value(&mut random, u64::from(at) % 7, at as usize))
        })
        .collect();
    let bytes = encode(&samples);
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "cut at {length} not seen");
    }
    let mut refused = 0;
    for at in 0..bytes.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x10] {
            let mut bad = bytes.clone();
            bad[at] = byte;
            // `decode` asserts order and counts of what it gets.
            refused += usize::from(decode(&bad).is_err());
            let mut unfolded = UnfoldedSamples::default();
            if Section::decode(&bad).is_ok_and(|section| unfolded.unfold(&section).is_err()) {
                assert_eq!(unfolded.bytes().len(), 0);
            }
        }
    }
    assert!(refused > 400, "only {refused} were refused");
    let mut grown = bytes.clone();
    grown.push(0);
    assert!(decode(&grown).is_err());
    let section = Section::decode(&bytes).unwrap();
    let mut columns = SampleColumns::default();
    assert!(section.decode_strip(section.strips(), &mut columns).is_err());
    assert!(section.decode_strip(usize::MAX, &mut columns).is_err() && columns.is_empty());
}

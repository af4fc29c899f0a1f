//! Samples go to sections of blocks, and every reader hands out each of them once, bit by bit;
//! `recover` copies them; bytes that are no section are named, whatever their checksums say.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, Random, options};
use baro_log::segment_name;
use baro_ondisk::{BLOCK_HEADER_BYTES, Kind, Type, WhenFull, crc32c};
use baro_recorder::{Options, Recorder};
use baro_store::{
    Datum, Filter, Interval, Loss, Reading, RecordRef, SegmentFile, Selection, Store, Value,
    recover, verify,
};
use baro_sys::storage::Access;
use std::ops::ControlFlow;
use std::path::Path;

/// (series, time, bits)
type Sample = (u32, i64, u64);

/// What was pushed: samples in the order of each producer's pushes, texts, and records of all kinds.
#[derive(Default)]
struct Pushed {
    samples: Vec<Sample>,
    texts: Vec<(i64, String)>,
    records: u64,
}

const TEXT: u32 = 3;

fn record(path: &Path, sessions: u64, options: &Options) -> Pushed {
    let mut pushed = Pushed::default();
    let mut random = Random(77);
    for session in 0..sessions {
        let recorder = Recorder::open(path, options.clone()).unwrap();
        let wanted = [
            ("a", Type::F64, ""),
            ("b", Type::I64, ""),
            ("log", Type::Text, ""),
            ("c", Type::F64, ""),
            ("frames", Type::Channel, ""),
        ];
        assert_eq!(recorder.declare(&wanted).unwrap(), [1, 2, TEXT, 4, 5]);
        let mut rings = [recorder.producer().unwrap(), recorder.producer().unwrap()];
        for n in 0..600_u64 {
            let ring = &mut rings[random.below(2) as usize];
            let time_ns = (session * 1_000_000 + n * 1_000) as i64;
            let count = 1 + random.below(200) as usize;
            let series: Vec<u32> = (0..count).map(|_| [1, 4][random.below(2) as usize]).collect();
            let late: Vec<i64> = (0..count).map(|_| time_ns - random.below(5_000) as i64).collect();
            let floats: Vec<f64> = (0..count)
                .map(|at| match random.below(30) {
                    0 => f64::from_bits(f64::NAN.to_bits() | 5),
                    1 => -0.0,
                    _ => (n * 10 + at as u64) as f64 / 1000.0,
                })
                .collect();
            let integers: Vec<i64> = (0..count as i64).map(|at| at - (n as i64)).collect();
            let samples = &mut pushed.samples;
            let bits = floats.iter().map(|value| value.to_bits());
            match random.below(6) {
                0 => {
                    ring.push_samples(time_ns, &series, &floats).unwrap();
                    samples.extend(series.iter().zip(bits).map(|(s, b)| (*s, time_ns, b)));
                }
                1 => {
                    ring.push_batch(&late, &series, &floats).unwrap();
                    let rest = late.iter().zip(bits);
                    samples.extend(series.iter().zip(rest).map(|(s, (t, b))| (*s, *t, b)));
                }
                2 => {
                    let series = vec![2; count];
                    ring.push_batch(&late, &series, &integers).unwrap();
                    samples.extend(
                        late.iter().zip(&integers).map(|(t, v)| (2, *t, v.cast_unsigned())),
                    );
                }
                3 => {
                    ring.push_sample(1, time_ns, floats[0]).unwrap();
                    ring.push_sample(2, time_ns, integers[0]).unwrap();
                    samples.push((1, time_ns, floats[0].to_bits()));
                    samples.push((2, time_ns, integers[0].cast_unsigned()));
                    pushed.records += 1;
                }
                4 => {
                    let text = format!("text {n} with \"ä\"");
                    ring.push_text(TEXT, time_ns, &text).unwrap();
                    pushed.texts.push((time_ns, text));
                }
                _ => {
                    ring.push_frame(5, time_ns, &[n as u8; 100]).unwrap();
                }
            }
            pushed.records += 1;
            if n % 100 == 99 {
                for ring in &rings {
                    let sequence = ring.next_sequence() - 1;
                    assert!(recorder.wait_durable(ring, sequence, 60_000_000_000));
                }
            }
        }
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
    }
    pushed.samples.sort_unstable();
    pushed
}

fn samples_of(read: impl FnOnce(&mut dyn FnMut(&RecordRef<'_>) -> ControlFlow<()>)) -> Vec<Sample> {
    let mut found = Vec::new();
    read(&mut |record| {
        found.extend(record.samples().iter().flat_map(|samples| samples.iter()));
        ControlFlow::Continue(())
    });
    found.sort_unstable();
    found
}

fn check(path: &Path, pushed: &Pushed) {
    let store = Store::open(path).unwrap();
    let written = samples_of(|each| {
        store.records_as_written(|record| each(record)).unwrap();
    });
    assert!(written == pushed.samples, "as written");
    for memory_bytes in [1, 64 << 20] {
        let reading = Reading { memory_bytes, ..Reading::default() };
        let mut before = i64::MIN;
        let in_order = samples_of(|each| {
            let notes = store.records(Interval::ALL, &Filter::all(), &reading, |record| {
                assert!(before <= record.time_ns, "in the order of time");
                before = record.time_ns;
                for (_, time_ns, _) in record.samples().iter().flat_map(|s| s.iter()) {
                    assert_eq!(time_ns, record.time_ns);
                }
                each(record)
            });
            assert!(notes.unwrap().damage.is_empty());
        });
        assert!(in_order == pushed.samples, "in time order");
    }
    let part = Interval { from_ns: 100_000, to_ns: 400_000 };
    let found = samples_of(|each| {
        store.records(part, &Filter::all(), &Reading::default(), |record| each(record)).unwrap();
    });
    let within = |sample: &&Sample| part.holds(sample.1);
    assert!(found == pushed.samples.iter().filter(within).copied().collect::<Vec<_>>());
    let mut texts = Vec::new();
    let selection = Selection::named(store.catalog(), &["log"]).unwrap();
    store
        .points(Interval::ALL, &selection, &Reading::default(), |point| {
            if let Datum::Text(text) = point.value {
                texts.push((point.time_ns, text.to_owned()));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(texts, pushed.texts);
    let (tail, _) = store.tail(&[TEXT], 1).unwrap();
    assert_eq!(tail[&TEXT][0].value, Value::Text(pushed.texts.last().unwrap().1.clone()));
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert!(report.is_whole(), "{:?}", report.damage);
    assert_eq!(report.records, pushed.records);
    assert_eq!(report.samples, (pushed.samples.len() + pushed.texts.len()) as u64);
}

#[test]
fn every_reader_hands_out_every_sample_once() {
    let folder = Folder::init("samples-all", 8, WhenFull::Stop);
    let pushed = record(&folder.0, 2, &options());
    check(&folder.0, &pushed);
    let copy = Folder::new("samples-copy");
    let recovered = recover(&folder.0, &copy.0, |_, _| {}).unwrap();
    assert!(!recovered.lost() && recovered.copy.is_whole());
    assert_eq!(recovered.records, pushed.records);
    check(&copy.0, &pushed);
}

/// Blocks so small that a section holds a few thousand samples, and records larger than that,
/// which stay as they were pushed.
#[test]
fn what_is_too_large_for_a_section_stays_a_record() {
    let folder = Folder::init("samples-large", 8, WhenFull::Stop);
    let small = Options { block_bytes: 64 << 10, record_bytes_max: 60 << 10, ..options() };
    let recorder = Recorder::open(&folder.0, small).unwrap();
    recorder.declare(&[("a", Type::F64, "")]).unwrap();
    let mut ring = recorder.producer().unwrap();
    let mut pushed = Vec::new();
    for (n, count) in [1, 2_000, 5_000, 2_700, 3, 4_900].into_iter().enumerate() {
        let values: Vec<f64> = (0..count).map(f64::from).collect();
        let (time_ns, series) = (n as i64, vec![1; count as usize]);
        ring.push_samples(time_ns, &series, &values).unwrap();
        pushed.extend(values.iter().map(|value| (1, time_ns, value.to_bits())));
        assert!(recorder.wait_durable(&ring, n as u64, 60_000_000_000));
    }
    drop(ring);
    let _ = recorder.close();
    pushed.sort_unstable();
    let store = Store::open(&folder.0).unwrap();
    let mut stayed = 0;
    let found = samples_of(|each| {
        store
            .records_as_written(|record| {
                stayed += usize::from(record.producer != 0);
                each(record)
            })
            .unwrap();
    });
    assert!(found == pushed && stayed == 2, "{stayed}");
    assert!(verify(&store, Access::Read, |_, _| {}).unwrap().is_whole());
}

/// A section that a checksum vouches for, changed: named, or other samples in order; never more
/// than it says, and never a panic.
#[test]
fn a_section_that_is_none_is_named() {
    let folder = Folder::init("samples-hostile", 4, WhenFull::Stop);
    let pushed = record(&folder.0, 1, &options());
    let mut last = None;
    let each = |live: &baro_store::LiveBlock<'_>| {
        if !live.block.section_bytes().is_empty() {
            let SegmentFile::Log(file) = live.file else { panic!("nothing is pinned") };
            last = Some((file, live.offset as usize, live.block.header));
        }
        ControlFlow::Continue(())
    };
    Store::open(&folder.0).unwrap().blocks(each).unwrap();
    // The last one: no block names its checksum.
    let (file, offset, header) = last.unwrap();
    let path = folder.0.join(segment_name(file));
    let whole = std::fs::read(&path).unwrap();
    let section = offset + BLOCK_HEADER_BYTES + header.body_bytes as usize;
    let mut random = Random(3);
    let mut named = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        // Most often in the directory or the heads of columns.
        let reach = [16, 100, u64::from(header.section_bytes)][round % 3];
        let at = section + random.below(reach.min(u64::from(header.section_bytes))) as usize;
        bytes[at] ^= 1 << random.below(8);
        let end = offset + BLOCK_HEADER_BYTES + header.payload_bytes();
        let crc = crc32c(0, &bytes[offset + BLOCK_HEADER_BYTES..end]);
        bytes[offset + 100..offset + 104].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32c(0, &bytes[offset..offset + 124]);
        bytes[offset + 124..offset + 128].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let store = Store::open(&folder.0).unwrap();
        let report = verify(&store, Access::Read, |_, _| {}).unwrap();
        let mut found = 0;
        let notes = store
            .records_as_written(|record| {
                found += record.samples().map_or(0, |samples| samples.len());
                assert_ne!(record.kind, Kind::Moved);
                ControlFlow::Continue(())
            })
            .unwrap();
        if notes.damage.is_empty() {
            assert_eq!(found, pushed.samples.len(), "round {round}");
        } else {
            let near = notes.damage.iter().any(|d| {
                d.file == segment_name(file) && (offset..end).contains(&(d.offset as usize))
            });
            assert!(near && !report.is_whole() && found < pushed.samples.len());
            named += 1;
        }
        if round % 50 == 0 {
            let copy = Folder::new("samples-hostile-copy");
            let recovered = recover(&folder.0, &copy.0, |_, _| {}).unwrap();
            // A changed id may be 0, which nothing declares.
            let other = |damage: &baro_store::Damage| damage.loss != Loss::Declarations;
            assert!(!recovered.copy.damage.iter().any(other), "{:?}", recovered.copy.damage);
            assert_eq!(recovered.copy.samples, (found + pushed.texts.len()) as u64);
        }
    }
    assert!(named > 100, "{named}");
}

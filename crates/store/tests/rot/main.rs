//! A flipped bit anywhere in the files of a store that was closed in order is found and named, or
//! harmless: every sample, text and frame is as it was and the store verifies clean. None is taken
//! for what a crash leaves.
//!
//! Flips are drawn from a seed, each by its number alone: `BARO_ROT_FROM` and `BARO_ROT_TO` run a
//! piece of them, `BARO_ROT_SEED` others. Totals are printed as JSON, to be added up.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(missing_docs, unreachable_pub, reason = "a test")]

#[path = "../common/mod.rs"]
mod common;
mod copies;
mod lives;
mod memory;
mod pairs;
mod stores;

use baro_ondisk::Kind;
use baro_store::{Damage, Filter, Interval, Query, Reading, Store, Values, verify};
use baro_sys::storage::Access;
use memory::Memory;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// SplitMix64: a flip follows from its number.
fn mixed(seed: u64, number: u64, what: u64) -> u64 {
    let mut x = seed
        ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ what.wrapping_mul(0xd1b5_4a32_d192_ed03);
    for factor in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 30)).wrapping_mul(factor);
        x ^= x >> 27;
    }
    x ^ (x >> 31)
}

/// All that is read of a store.
#[derive(Debug, Default, PartialEq, Eq)]
struct Contents {
    samples: Vec<(u32, i64, u64)>,
    texts: Vec<(u32, i64, String)>,
    frames: Vec<(i64, Vec<u8>)>,
    names: Vec<String>,
}

/// What a reader got, and what it was told.
struct Seen {
    contents: Contents,
    /// Who reads is told of a loss, without verification.
    told: bool,
    damage: Vec<Damage>,
    whole: bool,
}

impl Contents {
    /// Whether nothing is in it that is not in `all`.
    fn within(&self, all: &Contents) -> bool {
        fn within<T: Ord>(some: &[T], all: &[T]) -> bool {
            let all: BTreeSet<&T> = all.iter().collect();
            some.iter().all(|one| all.contains(one))
        }
        within(&self.samples, &all.samples)
            && within(&self.texts, &all.texts)
            && within(&self.frames, &all.frames)
    }
}

fn read(files: &Memory) -> Result<Seen, baro_store::Error> {
    let store = Store::open_in(files.clone(), Path::new("memory"), Access::Read)?;
    let mut contents = Contents::default();
    let ids = [1, 2, 3, 4];
    let Contents { samples, texts, frames, names } = &mut contents;
    let notes = store.query_ids(&ids, &Query::raw(Interval::ALL), |batch| {
        let id = batch.target.id;
        let bits: Vec<u64> = match &batch.values {
            Values::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
            Values::I64(values) => values.iter().map(|value| value.cast_unsigned()).collect(),
            Values::Bool(values) => values.iter().map(|value| u64::from(*value)).collect(),
            Values::Text(all) => {
                let all =
                    batch.times_ns.iter().zip(0..).map(|(time_ns, at)| (time_ns, all.get(at)));
                texts.extend(all.map(|(time_ns, text)| (id, *time_ns, text.unwrap().to_owned())));
                return ControlFlow::Continue(());
            }
            other => panic!("{other:?}"),
        };
        samples.extend(batch.times_ns.iter().zip(bits).map(|(time_ns, bits)| (id, *time_ns, bits)));
        ControlFlow::Continue(())
    })?;
    let mut damage = notes.read.damage;
    let filter = Filter::all().data_only();
    let notes = store.records(Interval::ALL, &filter, &Reading::default(), |record| {
        if record.kind == Kind::Frame {
            frames.push((record.time_ns, record.payload.to_vec()));
        }
        ControlFlow::Continue(())
    })?;
    damage.extend(notes.damage);
    // What has been met of damage by now, as commands tell it when they have read.
    damage.extend(store.damage_so_far());
    damage.extend(store.catalog().damage());
    store.catalog().scan(|one| {
        names.push(format!("{} {} {:?} {}", one.id, one.name, one.kind, one.unit));
        ControlFlow::Continue(())
    })?;
    // In the order of names with a dictionary, in that of ids without.
    names.sort();
    let report = verify(&store, Access::Read, |_, _| {})?;
    let whole = report.is_whole();
    // Each reader tells by itself what costs something.
    let told = damage.iter().any(Damage::is_loss);
    damage.extend(report.damage);
    if whole && told {
        panic!("a reader tells of a loss that verification does not find: {damage:?}");
    }
    Ok(Seen { contents, told, damage, whole })
}

/// Samples between two waits for durability, which is more than a block here holds.
const BLOCK_SAMPLES_MAX: usize = 200;

#[derive(Debug, Default)]
struct Totals {
    flips: u64,
    /// The open was refused, with file and offset.
    refused: u64,
    /// Named as a loss.
    lost: u64,
    /// Named; nothing was missing.
    named: u64,
    /// All equal, verifies clean.
    harmless: u64,
    silent: Vec<String>,
}

/// The place of flip `number`: half of them anywhere in a file, half in what is used of it.
fn place(files: &Memory, seed: u64, number: u64) -> (String, u64, u32) {
    let all = files.files();
    let (name, bytes) = &all[(mixed(seed, number, 1) % all.len() as u64) as usize];
    let used = files.used_bytes(name).max(1);
    let bytes = if mixed(seed, number, 2).is_multiple_of(2) { *bytes } else { used };
    (name.clone(), mixed(seed, number, 3) % bytes, (mixed(seed, number, 4) % 8) as u32)
}

fn try_flip(files: &Memory, sound: &Contents, place: &(String, u64, u32), totals: &mut Totals) {
    let (name, at, bit) = place;
    files.flip(name, *at, *bit);
    let seen = read(files);
    files.flip(name, *at, *bit);
    totals.flips += 1;
    match seen {
        Err(error) => {
            assert!(error.to_string().contains(name.as_str()), "{place:?}: {error}");
            totals.refused += 1;
        }
        Ok(seen) => {
            let equal = seen.contents == *sound;
            let named = seen.damage.iter().any(|damage| damage.file == *name);
            // Nothing else than what was recorded; of a damaged block of the log, only that is missing.
            assert!(seen.contents.within(sound), "{place:?}: {:?}", seen.damage);
            assert!(equal || seen.told, "{place:?}: who reads is not told: {:?}", seen.damage);
            if name.starts_with("log/") || name.starts_with("kept/") {
                let missing = sound.samples.len() - seen.contents.samples.len();
                assert!(missing <= BLOCK_SAMPLES_MAX, "{place:?}: {missing}: {:?}", seen.damage);
            }
            match (equal, seen.whole) {
                (_, false) if named => totals.lost += 1,
                (true, true) if named => totals.named += 1,
                (true, true) => totals.harmless += 1,
                _ => {
                    let (found, all) = (seen.contents.samples.len(), sound.samples.len());
                    totals.silent.push(format!(
                        "{place:?}: equal {equal}, whole {}, {found} of {all} samples: {:?}",
                        seen.whole, seen.damage
                    ));
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_is_named_or_harmless() {
    let push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    let seed = number("BARO_ROT_SEED").unwrap_or(1);
    let from = number("BARO_ROT_FROM").unwrap_or(0);
    let to = number("BARO_ROT_TO").unwrap_or(if push { 400 } else { 4000 });
    let mut totals = Totals::default();
    let mut took_s = 0.0;
    for (kind, name) in stores::KINDS.into_iter().enumerate() {
        let files = stores::make(kind);
        let sound = read(&files).unwrap();
        assert!(sound.whole && sound.damage.is_empty(), "{name}: {:?}", sound.damage);
        assert!(sound.contents.samples.len() >= 30, "{name}");
        let started = Instant::now();
        let kinds = stores::KINDS.len() as u64;
        for flip in (from..to).filter(|flip| flip % kinds == kind as u64) {
            let place = place(&files, seed, flip);
            try_flip(&files, &sound.contents, &place, &mut totals);
        }
        took_s += started.elapsed().as_secs_f64();
    }
    let Totals { flips, refused, lost, named, harmless, silent } = totals;
    println!(
        "{{\"seed\": {seed}, \"from\": {from}, \"to\": {to}, \"flips\": {flips}, \"refused\": \
         {refused}, \"lost\": {lost}, \"named\": {named}, \"harmless\": {harmless}, \"silent\": \
         {}, \"flips_per_s\": {:.1}}}",
        silent.len(),
        flips as f64 / f64::max(took_s, 1e-9)
    );
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    assert!(flips == to - from && lost > 0, "{flips} {lost}");
}

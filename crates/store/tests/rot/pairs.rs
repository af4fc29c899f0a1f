//! Two bits flipped at once in a store that was closed in order: that one of them hits what proves the
//! other to be damage (the mark of an end, a header, a summary, a link between blocks) hides neither.
//!
//! Half of the pairs have one such place, a quarter two. `BARO_ROT_PAIRS` says how many pairs,
//! `BARO_ROT_SEED` which.

use crate::memory::Memory;
use crate::{BLOCK_SAMPLES_MAX, Contents, Totals, mixed, number, place, read, stores};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{BLOCK_HEADER_BYTES, BlockHeader};
use baro_sys::storage::{Access, Storage, StorageFile};

/// File, offset and bit.
type Place = (String, u64, u32);
/// File, and offsets from and to.
type Range = (String, u64, u64);

/// Bytes of a header that say something: fields and the first entries behind them, and the summary.
const HEADER_BYTES: u64 = 160;
const SUMMARY: (u64, u64) = (3976, 4032);

/// What proves something: of each kind the places of the store.
fn proofs(files: &Memory) -> Vec<Vec<Range>> {
    let (mut headers, mut summaries, mut links) = (Vec::new(), Vec::new(), Vec::new());
    let (mut marks, mut small, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    for (name, bytes) in files.files() {
        if !name.starts_with("log/") && !name.starts_with("kept/") {
            let used = files.used_bytes(&name).max(1);
            small.push((name, 0, used.min(UNIT_BYTES as u64)));
            continue;
        }
        let used = files.used_bytes(&name);
        if used <= UNIT_BYTES as u64 {
            continue;
        }
        headers.push((name.clone(), 0, HEADER_BYTES));
        summaries.push((name.clone(), SUMMARY.0, SUMMARY.1));
        let file = files.open(&name, Access::Read).unwrap();
        let mut unit = [0; UNIT_BYTES];
        let last = bytes - UNIT_BYTES as u64;
        let mut at = UNIT_BYTES as u64;
        firsts.push((name.clone(), at, at + BLOCK_HEADER_BYTES as u64));
        while at < last.min(used) {
            file.read_at(at, &mut unit).unwrap();
            let Ok(header) = BlockHeader::decode(&unit) else { break };
            let of = if header.is_end_mark() { &mut marks } else { &mut links };
            of.push((name.clone(), at, at + BLOCK_HEADER_BYTES as u64));
            at += header.block_bytes() as u64;
        }
        if used > last {
            marks.push((name.clone(), last, last + HEADER_BYTES));
            summaries.push((name, last + SUMMARY.0, last + SUMMARY.1));
        }
    }
    let all = [headers, summaries, links, marks, small, firsts];
    all.into_iter().filter(|kind| !kind.is_empty()).collect()
}

/// A place of one of the kinds, in `file` if that is said and has one.
fn aimed(proofs: &[Vec<Range>], of: impl Fn(u64) -> u64, file: Option<&str>) -> Place {
    let kind = &proofs[(of(5) % proofs.len() as u64) as usize];
    let near: Vec<&Range> =
        kind.iter().filter(|(name, _, _)| file.is_none_or(|file| file == name)).collect();
    let all: Vec<&Range> = if near.is_empty() { kind.iter().collect() } else { near };
    let (name, from, to) = all[(of(6) % all.len() as u64) as usize];
    (name.clone(), from + of(7) % (to - from), (of(8) % 8) as u32)
}

fn pair(files: &Memory, proofs: &[Vec<Range>], seed: u64, number: u64) -> (Place, Place) {
    let first = |what| mixed(seed, number, what);
    let second = |what| mixed(!seed, number, what);
    let one = aimed(proofs, first, None);
    let same = first(9).is_multiple_of(2).then_some(one.0.as_str());
    match number / stores::KINDS.len() as u64 % 4 {
        0 => (place(files, seed, number), place(files, !seed, number)),
        1 => {
            let other = aimed(proofs, second, same);
            (one, other)
        }
        2 => (one, place(files, !seed, number)),
        _ => {
            let used = files.used_bytes(&one.0).max(1);
            let other = (one.0.clone(), second(3) % used, (second(4) % 8) as u32);
            (one, other)
        }
    }
}

fn try_pair(files: &Memory, sound: &Contents, (one, two): &(Place, Place), totals: &mut Totals) {
    if one == two {
        return;
    }
    let flip = || [one, two].into_iter().for_each(|(name, at, bit)| files.flip(name, *at, *bit));
    flip();
    let seen = read(files);
    flip();
    totals.flips += 1;
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            let text = error.to_string();
            assert!(
                [one, two].iter().any(|place| text.contains(&place.0)),
                "{one:?} {two:?}: {text}"
            );
            totals.refused += 1;
            return;
        }
    };
    let equal = seen.contents == *sound;
    let in_log = |place: &Place| place.0.starts_with("log/") || place.0.starts_with("kept/");
    let missing = sound.samples.len() - seen.contents.samples.len().min(sound.samples.len());
    let mut wrong = Vec::new();
    if !seen.contents.within(sound) {
        wrong.push("what was never recorded is handed out".to_owned());
    }
    if !equal && !seen.told {
        wrong.push(format!("who reads is not told of {missing} samples"));
    }
    if !equal && seen.whole {
        wrong.push("verified as whole".to_owned());
    }
    if in_log(one) && in_log(two) && missing > 2 * BLOCK_SAMPLES_MAX {
        wrong.push(format!("{missing} samples are hidden by two bits"));
    }
    if !wrong.is_empty() {
        totals.silent.push(format!("{one:?} {two:?}: {}: {:?}", wrong.join(", "), seen.damage));
    }
    match (seen.whole, seen.damage.is_empty()) {
        (false, _) => totals.lost += 1,
        (true, false) => totals.named += 1,
        (true, true) => totals.harmless += 1,
    }
}

#[test]
fn two_flipped_bits_are_named_or_harmless() {
    let push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    let seed = number("BARO_ROT_SEED").unwrap_or(1);
    let pairs = number("BARO_ROT_PAIRS").unwrap_or(if push { 120 } else { 4000 });
    let mut totals = Totals::default();
    for (kind, name) in stores::KINDS.into_iter().enumerate() {
        let files = stores::make(kind);
        let sound = read(&files).unwrap();
        assert!(sound.whole && sound.damage.is_empty(), "{name}: {:?}", sound.damage);
        let proofs = proofs(&files);
        for number in (kind as u64..pairs).step_by(stores::KINDS.len()) {
            let pair = pair(&files, &proofs, seed, number);
            let before = totals.silent.len();
            try_pair(&files, &sound.contents, &pair, &mut totals);
            if totals.silent.len() > before {
                let said = totals.silent.pop();
                totals.silent.extend(said.map(|said| format!("{name}, {number}: {said}")));
            }
        }
    }
    let Totals { flips, refused, lost, named, harmless, silent } = totals;
    println!(
        "{{\"seed\": {seed}, \"pairs\": {flips}, \"refused\": {refused}, \"lost\": {lost}, \"named\": \
         {named}, \"harmless\": {harmless}, \"silent\": {}}}",
        silent.len()
    );
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    assert!(lost > 0, "{flips}");
}

#[test]
fn what_proves_a_loss_may_be_damaged_with_it() {
    // One block and its mark: of header, block and mark any two.
    let files = stores::make(0);
    let sound = read(&files).unwrap().contents;
    let name = "log/00000000.seg";
    let file = files.open(name, Access::Read).unwrap();
    let mut unit = [0; UNIT_BYTES];
    file.read_at(UNIT_BYTES as u64, &mut unit).unwrap();
    let block = BlockHeader::decode(&unit).unwrap();
    let first = UNIT_BYTES as u64;
    let mark = first + block.block_bytes() as u64;
    let payload = first + BLOCK_HEADER_BYTES as u64 + 5;
    for (one, two, all) in [
        (40, mark + 8, true),
        (40, first + 33, false),
        (40, payload, false),
        (first + 33, mark + 8, false),
        (payload, mark + 8, false),
    ] {
        [one, two].into_iter().for_each(|at| files.flip(name, at, 3));
        let seen = read(&files).unwrap();
        [one, two].into_iter().for_each(|at| files.flip(name, at, 3));
        let damage = &seen.damage;
        assert_eq!(seen.contents.samples == sound.samples, all, "{one} {two}: {damage:?}");
        let named = seen.damage.iter().any(|damage| damage.file == name);
        assert!(named && !seen.whole && (all || seen.told), "{one} {two}: {damage:?}");
    }
    // Several segments: header and first block of each hide no other block.
    let files = stores::make(1);
    let sound = read(&files).unwrap().contents;
    let started = files
        .files()
        .into_iter()
        .filter(|(name, _)| name.starts_with("log/") && files.used_bytes(name) > UNIT_BYTES as u64);
    for (name, _) in started {
        [40, first + 33].into_iter().for_each(|at| files.flip(&name, at, 3));
        let seen = read(&files).unwrap();
        [40, first + 33].into_iter().for_each(|at| files.flip(&name, at, 3));
        let missing = sound.samples.len() - seen.contents.samples.len();
        assert!(missing > 0 && missing <= BLOCK_SAMPLES_MAX, "{name}: {missing}");
        assert!(seen.told && !seen.whole, "{name}: {:?}", seen.damage);
    }
}

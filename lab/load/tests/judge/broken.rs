//! What is taken away, changed, or promised too much is found, and named.

use crate::place::Place;
use crate::{durable, faster, has_done, judged, record};
use baro_log::IDENTITY;
use baro_ondisk::limits::UNIT_BYTES;
use baro_store::{LiveBlock, SegmentFile, Store};
use lab_load::Statement;
use lab_load::content::PORTION;
use lab_load::scenario::Scenario;
use lab_load::statement::Span;
use std::fs::{self, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A store with what it was recorded with.
struct Recorded {
    place: Place,
    one: &'static Scenario,
    statement: Statement,
}

impl Recorded {
    fn new(name: &str) -> Self {
        let (one, place) = (faster(name), Place::new(name));
        let statement = record(&place, one, |running| has_done(one, running)).statement;
        Recorded { place, one, statement }
    }

    /// Spoils a copy; what the judge says must begin with `what`.
    fn found(&self, what: &str, spoil: impl FnOnce(&Path, &mut Statement)) {
        let (copy, mut statement) = (self.place.copy(), self.statement.clone());
        spoil(&copy, &mut statement);
        match judged(&copy, self.one, Some(statement)) {
            Ok(found) => panic!("{what}: not found, {found}"),
            Err(said) => assert!(said.starts_with(what), "expected {what}, found: {said}"),
        }
    }

    /// File, offset and bytes of the blocks in the log: those with records, and marks of ends.
    fn blocks(&self) -> [Vec<(PathBuf, u64, usize)>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        let store = Store::open(&self.place.store()).unwrap();
        let each = |live: &LiveBlock<'_>| {
            if matches!(live.file, SegmentFile::Log(_)) {
                let bytes = live.block.header.block_bytes();
                let marks = usize::from(live.block.header.is_end_mark());
                found[marks].push((PathBuf::from(live.file.name()), live.offset, bytes));
            }
            ControlFlow::Continue(())
        };
        store.blocks(each).unwrap();
        found
    }
}

fn change(file: &Path, offset: u64, bytes: usize, change: impl Fn(&mut u8)) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut found = vec![0; bytes];
    file.read_exact_at(&mut found, offset).unwrap();
    found.iter_mut().for_each(change);
    file.write_all_at(&found, offset).unwrap();
}

fn zero(byte: &mut u8) {
    *byte = 0;
}

fn only_file(folder: &Path, ending: &str) -> PathBuf {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    files.sort();
    files.pop().unwrap()
}

#[test]
fn what_is_missing_wrong_or_not_promised_is_found() {
    let recorded = Recorded::new("direct-100ms");
    let [blocks, marks] = recorded.blocks();
    let (file, offset, bytes) = &blocks[blocks.len() / 2];
    let (last_file, last, last_bytes) = &blocks[blocks.len() - 1];
    assert_eq!(marks.len(), 1);
    let (mark_file, mark, mark_bytes) = &marks[0];
    let end = recorded.statement.slots[0].durable;

    recorded.found("damage: expected no loss", |store, _| {
        change(&store.join(file), *offset, *bytes, zero);
    });
    recorded.found("verify: expected no loss", |store, _| {
        change(&store.join(file), offset + 200, 1, |byte| *byte ^= 1);
    });
    // The mark behind it shows that it was there.
    recorded.found("damage: expected no loss", |store, _| {
        change(&store.join(last_file), *last, *last_bytes, zero);
    });
    // Without the mark the segment's last unit shows it.
    let both_zero = |store: &Path| {
        change(&store.join(mark_file), *mark, *mark_bytes, zero);
        change(&store.join(last_file), *last, *last_bytes, zero);
    };
    recorded.found("damage: expected no loss", |store, _| both_zero(store));
    // Without both it is for the product what a crash leaves, and no damage: only the promise tells.
    recorded.found("durable records of producer", |store, _| {
        both_zero(store);
        let segment = store.join(mark_file);
        let end = fs::metadata(&segment).unwrap().len();
        change(&segment, end - UNIT_BYTES as u64, UNIT_BYTES, zero);
    });
    recorded.found("durable records of producer 0", |_, said| said.slots[0].durable = end + 1);
    recorded.found("record 0/100: expected refused, found there", |_, said| {
        let gap = said.slots[0].refused.partition_point(|span| span.to <= 100);
        said.slots[0].refused.insert(gap, Span { from: 100, to: 101 });
    });
    recorded.found("declared: expected load{at=\"00\",p=\"1\",portion=\"00\"}", |_, said| {
        said.slots[1].portions[0] += 1;
    });
    recorded.found("declared: expected load{at=\"00\",p=\"0\",portion=\"", |_, said| {
        let ids = said.slots.iter().map(|slot| slot.portions.len() * PORTION).sum::<usize>();
        said.slots[0].portions.push(ids as u32 + 1);
    });
    recorded.found("pin 5: expected granted", |_, said| said.pins.push(pin(5)));
    recorded.found("open: expected a store that opens", |store, _| {
        fs::remove_file(store.join(IDENTITY)).unwrap();
    });
    recorded.found("statement: ", |_, said| said.seed += 1);
    // All that was found is found again where nothing was spoilt.
    let whole = judged(&recorded.place.copy(), recorded.one, Some(recorded.statement.clone()));
    assert_eq!(whole.unwrap().durable, durable(&recorded.statement));
}

fn pin(id: u64) -> lab_load::statement::PinSaid {
    lab_load::statement::PinSaid { id, ..<_>::default() }
}

#[test]
fn a_run_that_is_missing_or_changed_is_found() {
    let recorded = Recorded::new("settle");
    recorded.found("damage: expected no loss", |store, _| {
        fs::remove_file(only_file(&store.join("runs"), "run")).unwrap();
    });
    recorded.found("damage: expected no loss", |store, _| {
        change(&store.join("runs/manifest"), 40, 1, |byte| *byte ^= 4);
    });
    recorded.found("damage: expected no loss", |store, _| {
        // As if nothing had ever been settled: headers of segments know better.
        fs::remove_dir_all(store.join("runs")).unwrap();
    });
    recorded.found("verify: expected no loss", |store, _| {
        let run = only_file(&store.join("runs"), "run");
        let middle = fs::metadata(&run).unwrap().len() / 2;
        change(&run, middle, 1, |byte| *byte ^= 1);
    });
}

#[test]
fn dropping_more_runs_than_are_to_be_dropped_is_found() {
    let recorded = Recorded::new("retention");
    let keeps: &'static Scenario =
        Box::leak(Box::new(Scenario { settle: faster("settle").settle, ..*recorded.one }));
    let found = judged(&recorded.place.copy(), keeps, Some(recorded.statement.clone()));
    assert!(found.unwrap_err().starts_with("samples of record "), "nothing may be dropped then");
}

#[test]
fn pins_and_what_they_hold_are_missed() {
    let recorded = Recorded::new("pins");
    let held = recorded.statement.pins[0];
    recorded.found(&format!("pin {:x}: expected granted", held.id), |store, _| {
        fs::remove_file(store.join(format!("pins/{:016x}.pin", held.id))).unwrap();
    });
    recorded.found(&format!("pin {:x}: expected released", held.id), |_, said| {
        said.pins.retain(|pin| pin.id != held.id);
        said.released.push(held.id);
    });
    recorded.found("record 0/", |_, said| {
        // From the first record on: that has been recycled long ago.
        said.pins[0].windows[0] = Span { from: 0, to: said.slots[0].durable };
    });
    recorded.found("name of a pin", |_, said| said.pins[0].number += 100);
    // A segment in the middle of the log is gone, and the log has gone round.
    let [blocks, _] = recorded.blocks();
    let (file, ..) = &blocks[blocks.len() * 3 / 4];
    recorded.found("", |store, _| {
        change(&store.join(file), 0, recorded.one.segment_bytes as usize, zero);
    });
}

#[test]
fn whatever_is_in_the_folder_the_judge_answers() {
    let recorded = Recorded::new("direct-5ms");
    let one = recorded.one;
    let none = recorded.place.store().join("none");
    let answer = |store: &Path| judged(store, one, None);
    // No folder, an empty one, a store half made: one is made there as if nothing had been.
    assert_eq!(answer(&none).unwrap().note, "no-statement+no-store");
    let copy = recorded.place.copy();
    fs::remove_file(copy.join(IDENTITY)).unwrap();
    let said = answer(&copy).unwrap_err();
    assert!(said.starts_with("init again: expected a store"), "{said}");
    for file in fs::read_dir(copy.join("log")).unwrap() {
        // The header alone would not do: what lies behind it may be read yet.
        change(&file.unwrap().path(), 0, 8192, zero);
    }
    assert_eq!(answer(&copy).unwrap().found, 0);
    // Garbage in one place after the other: any answer, and no panic.
    let mut state = 9_u64;
    let mut random = move |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % limit
    };
    let [blocks, _] = recorded.blocks();
    let mut bad = 0;
    for round in 0..24 {
        let copy = recorded.place.copy();
        let name = match round % 4 {
            0 => "catalog".into(),
            1 => "log/00000.seg".into(),
            _ => blocks[random(blocks.len() as u64) as usize].0.clone(),
        };
        let file = copy.join(name);
        let file = if file.exists() { file } else { only_file(&copy.join("log"), "seg") };
        let offset = random(64) * 4096 + random(4000);
        change(&file, offset, 96, |byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
        if let Err(said) = judged(&copy, one, Some(recorded.statement.clone())) {
            assert!(!said.starts_with("panic"), "{said}");
            bad += 1;
        }
    }
    assert!(bad > 4, "most of it hits what was durable: {bad}");
}

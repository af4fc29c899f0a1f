//! The store is opened for recording on the image, as its owner does after the power is back: what
//! it reports must be true, and what is recorded then must be durable beside what was.

use super::{Looked, Verdict, bad};
use crate::content::{AFTER, Load};
use crate::scenario::Scenario;
use crate::statement::{Slot, Statement};
use crate::write::{Buffers, declare, options, push, said, settle_options};
use baro_recorder::{Opening, Options, Recorder, Rings, Trouble};
use baro_store::{Extent, Settler};
use baro_sys::clock;
use std::path::Path;

/// Records that are pushed.
const RECORDS: u64 = 20;
/// Long enough for an emulated machine.
const WAIT_NS: u64 = 30_000_000_000;

/// Records into the store and adds to the statement what that promised. Whether the log was full.
pub(super) fn record(
    path: &Path,
    scenario: &'static Scenario,
    seed: u64,
    statement: &mut Statement,
    first: &Looked,
) -> Verdict<bool> {
    let options = Options { rings: Rings::Private, ..options(scenario) };
    let recorder = match Recorder::open(path, options) {
        Ok(recorder) => recorder,
        Err(error) => return bad("open for recording", "a recorder", error),
    };
    honest(&recorder, scenario, first)?;
    let load = Load::new(scenario, seed, AFTER);
    let ids = declare(&recorder, AFTER, 0)?;
    let mut producer = recorder.producer().map_err(said)?;
    let mut buffers = Buffers::default();
    for sequence in 0..RECORDS {
        if let Err(refused) = push(&load, &mut producer, &ids, &mut buffers) {
            return bad(format!("push {sequence} after reopening"), "taken", refused);
        }
    }
    let mut settler = match scenario.settle {
        Some(_) => Some(Settler::open(path, settle_options(scenario)).map_err(said)?),
        None => None,
    };
    let blank = recorder.opening().segments_blank;
    let growth = recorder.status().growth;
    let grown = growth.grown >= growth.target;
    let until_ns = clock::monotonic_ns() + WAIT_NS;
    let mut full = false;
    while producer.durable() < RECORDS && !full {
        // Where all is unsettled, no segment is free before some of it is settled.
        if let Some(settler) = &mut settler {
            settle(settler)?;
        }
        let trouble = recorder.status().trouble;
        full = trouble == Trouble::LogFull && !scenario.recycle && blank == 0 && grown;
        if clock::monotonic_ns() > until_ns {
            let found = format!("{} after 30 s, trouble: {trouble:?}", producer.durable());
            return bad("durable after reopening", RECORDS, found);
        }
        clock::sleep_ns(200_000);
    }
    let durable = producer.durable();
    let closed = recorder.close();
    if closed.left > 0 && !full {
        return bad("left after closing", 0, closed.left);
    }
    // Now that nobody records, all of it can be settled.
    if let Some(settler) = &mut settler {
        settle(settler)?;
    }
    statement.slots.resize_with(AFTER, Slot::default);
    let portions = ids.first().copied().into_iter().collect();
    let id = producer.report().producer;
    let known = RECORDS;
    statement.slots.push(Slot { producer: id, durable, known, refused: Vec::new(), portions });
    Ok(full)
}

fn settle(settler: &mut Settler) -> Verdict {
    loop {
        let done = match settler.step(Extent::All) {
            Ok(done) => done,
            Err(error) => return bad("settling", "it to go on", error),
        };
        if let Some(damage) = done.damage.first() {
            return bad("settling", "no damage", damage);
        }
        if !done.more {
            return Ok(());
        }
    }
}

/// Whether what the open reports is so.
fn honest(recorder: &Recorder, scenario: &Scenario, first: &Looked) -> Verdict {
    let opening: &Opening = recorder.opening();
    let same = |what: &str, expected: u64, found: u64| match expected == found {
        true => Ok(()),
        false => bad(format!("{what} at open"), expected, found),
    };
    same("pins", first.judged.pins, u64::from(opening.pins))?;
    same("damaged pins", 0, opening.pins_damaged.len() as u64)?;
    same("rings taken over", 0, u64::from(opening.rings_taken_over))?;
    same("series", first.judged.series, recorder.catalog_size().0 as u64)?;
    same(
        "bytes of the log",
        scenario.segment_bytes * u64::from(scenario.segments),
        opening.log_bytes,
    )?;
    // A power cut tears at most the header of the one segment that is being started.
    if opening.segments_damaged > 1 {
        let why = opening.damaged_because.clone().unwrap_or_default();
        return bad(
            "damaged segments at open",
            "at most 1",
            format!("{}: {why}", opening.segments_damaged),
        );
    }
    if opening.tail_blocks > first.report.blocks {
        return bad(
            "blocks of the tail at open",
            format!("at most {}", first.report.blocks),
            opening.tail_blocks,
        );
    }
    if scenario.buffered && opening.direct {
        return bad("direct I/O at open", "not used, as it was asked for", "used");
    }
    Ok(())
}

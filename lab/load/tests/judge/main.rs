//! The load records and the judge finds all of it; and whatever is taken away, changed or promised
//! too much, the judge finds that too. What a power cut itself leaves only the lab can make.
//!
//! A load ends when it has done what its scenario is about, not after a time.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unreachable_pub, reason = "a test")]

mod broken;
mod killed;
mod place;

use lab_load::scenario::{Scenario, scenario};
use lab_load::verify::{Judged, Request, judge};
use lab_load::write::{self, Ended, Running};
use lab_load::{SCENARIOS, Statement};
use place::Place;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const SEED: u64 = 42;
/// Looks at a load, 10 ms apart, after which it has hung.
const LOOKS_MAX: u32 = 30_000;

/// The scenario at several times its rate: the shape counts here, and an emulated machine's speed
/// does not.
fn faster(name: &str) -> &'static Scenario {
    let one = *scenario(name).unwrap();
    Box::leak(Box::new(Scenario { bytes_per_s: one.bytes_per_s * 5, ..one }))
}

/// Records until `enough` says so.
fn record(place: &Place, one: &'static Scenario, enough: impl Fn(&Running) -> bool) -> Ended {
    let request = write::Request {
        store: place.store(),
        acks: Some(place.acks()),
        scenario: one,
        seed: SEED,
        for_ns: u64::MAX / 2,
    };
    let looks = AtomicU32::new(0);
    let ended = write::run(
        &request,
        || (),
        |running| {
            assert!(looks.fetch_add(1, Ordering::Relaxed) < LOOKS_MAX, "{}", one.name);
            !enough(running)
        },
    )
    .unwrap();
    assert_eq!(ended.complaints, Vec::<String>::new(), "{}", one.name);
    assert_eq!(ended.statement, place.last_statement().unwrap(), "{}", one.name);
    ended
}

fn judged(
    store: &Path,
    one: &'static Scenario,
    statement: Option<Statement>,
) -> Result<Judged, String> {
    judge(&Request { store: store.to_owned(), statement, scenario: one, seed: SEED })
}

/// Records of both producers promised durable.
fn durable(statement: &Statement) -> u64 {
    statement.slots.iter().map(|slot| slot.durable).sum()
}

/// Whether the scenario has come to what it is about.
fn has_done(one: &Scenario, running: &Running) -> bool {
    let statement = running.told().statement();
    let status = running.recorder().status();
    let round = status.segments_started > one.segments + 2;
    match one.name {
        "pins" => round && statement.released.len() > 2 && statement.pins.len() > 3,
        "catalog" => statement.slots.iter().all(|slot| slot.portions.len() > 40),
        "grow" => status.growth.grown >= status.growth.target && durable(&statement) > 4000,
        "retention" | "settle" | "fault" => round,
        "direct" => status.segments_started + 3 >= one.segments,
        _ => durable(&statement) > 3000,
    }
}

fn records_and_finds(name: &str) {
    let one = faster(name);
    let place = Place::new(name);
    let ended = record(&place, one, |running| has_done(one, running));
    let statement = ended.statement;
    let found = judged(&place.store(), one, Some(statement.clone())).unwrap();
    assert_eq!(found.durable, durable(&statement), "{name}");
    assert_eq!(found.pins, statement.pins.len() as u64, "{name}");
    let portions: usize = statement.slots.iter().map(|slot| slot.portions.len()).sum();
    assert_eq!(found.series, 16 * portions as u64, "{name}");
    assert!(found.found > 0 && found.samples > 0, "{name}: {found}");
    let refused = ended.pushed.large + ended.pushed.full;
    // What went round has lost old records, and nothing else has.
    let whole = ended.pushed.taken == found.found;
    assert_eq!(
        whole,
        !matches!(name, "settle" | "retention" | "pins" | "fault"),
        "{name}: {found}"
    );
    assert!(refused > 0, "{name}: too large ones are pushed always");
    // Once more, after the judge itself has recorded into it: the same is found.
    let again = judged(&place.store(), one, Some(statement)).unwrap();
    assert_eq!((again.durable, again.pins), (found.durable, found.pins), "{name}");
    assert_eq!(again.series, found.series + 16, "{name}");
}

/// One test for each scenario, so that they run beside each other.
macro_rules! scenarios {
    ($($test:ident $name:literal,)*) => {
        $(#[test] fn $test() { records_and_finds($name); })*

        #[test]
        fn every_scenario_has_a_test() {
            let names: Vec<_> = SCENARIOS.iter().map(|one| one.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

scenarios! {
    what_is_recorded_is_found_direct "direct",
    what_is_recorded_is_found_direct_5ms "direct-5ms",
    what_is_recorded_is_found_direct_100ms "direct-100ms",
    what_is_recorded_is_found_buffered "buffered",
    what_is_recorded_is_found_settle "settle",
    what_is_recorded_is_found_retention "retention",
    what_is_recorded_is_found_pins "pins",
    what_is_recorded_is_found_catalog "catalog",
    what_is_recorded_is_found_grow "grow",
    what_is_recorded_is_found_fault "fault",
}

//! Crash tests of the recorder on a simulated disk: every crash point recovers a prefix of what
//! each producer pushed, and what a producer was told to be durable is in it.
//!
//! One seed gives one run, always the same: `cargo xtask sim --seed N` repeats it with a log.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a test")]

mod asking;
mod device;
mod earlier;
mod failing;
mod ledger;
mod making;
mod mending;
mod pinned_failing;
mod pinning;
mod reading;
mod world;

use baro_ondisk::WhenFull;
use baro_sys::sim::{Fault, Rng, Survival};
use world::{Cuts, Plan, SMALL, World};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How many seeds of `all` this run takes: some with each push (`cargo xtask ci` says so in the
/// environment), all of them in the full tier and wherever nothing is said.
fn of_all(some: u64, all: u64) -> u64 {
    if std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push") { some } else { all }
}

/// Runs seeds until one fails; names the command that repeats it.
fn seeds(count: u64, mut scenario: impl FnMut(u64, bool) -> Result<u64, String>) {
    let (first, loud) = match number("BARO_SIM_SEED") {
        Some(seed) => (seed, number("BARO_SIM_COUNT").unwrap_or(1) == 1),
        None => (0, false),
    };
    let count = match number("BARO_SIM_SEED") {
        Some(_) => number("BARO_SIM_COUNT").unwrap_or(1),
        None => count,
    };
    let mut cuts = 0;
    for seed in first..first.saturating_add(count) {
        match scenario(seed, loud) {
            Ok(these) => cuts += these,
            Err(error) => panic!("seed {seed}: {error}\nrepeat: cargo xtask sim --seed {seed}"),
        }
    }
    println!("{count} seeds, {cuts} power cuts");
}

/// Tries every mode of power cut after everything that happens in two sessions on one disk.
fn everywhere(seed: u64, plan: Plan, steps: u64) -> World {
    let mut world = World::new(seed, plan);
    let done = (0..2).try_for_each(|_| {
        world.open()?;
        world.run(steps, true)?;
        world.power_cut(Survival::Torn)
    });
    done.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert!(world.cuts > 100, "only {} power cuts", world.cuts);
    world
}

#[test]
fn every_crash_point_of_small_workloads() {
    for seed in 0..of_all(2, 8) {
        let when_full = if seed % 2 == 0 { WhenFull::Stop } else { WhenFull::Recycle };
        everywhere(seed, Plan { when_full, ..SMALL }, 25);
    }
}

#[test]
fn every_crash_point_while_segments_are_started_and_recycled() {
    for seed in 0..of_all(2, 6) {
        let plan = Plan {
            when_full: WhenFull::Recycle,
            segments: 2 + (seed % 2) as u32,
            ring_bytes: 512 << 10,
            record_bytes_max: 100 << 10,
            block_bytes: 256 << 10,
            large: true,
            ..SMALL
        };
        let world = everywhere(seed, plan, 35);
        assert!(world.ledger.recycling, "seed {seed} never came to recycling");
    }
}

/// Several opens of one store, each ending in its own way, with faults or without.
fn lives(seed: u64, loud: bool) -> Result<u64, String> {
    let mut rng = Rng::new(seed);
    let plan = Plan::random(&mut rng);
    let mut world = World::new(rng.next(), plan);
    world.loud = loud;
    if loud {
        println!("seed {seed}: {plan:?}");
    }
    for _ in 0..1 + rng.below(4) {
        world.open()?;
        if rng.chance(1, 2) {
            for _ in 0..rng.below(4) {
                let (writes, syncs) = (world.disk.writes(), world.disk.syncs());
                let fault = match rng.below(8) {
                    0..4 => Fault::Write(writes + rng.below(40)),
                    4..7 => Fault::Sync { number: syncs + rng.below(15), loses: rng.chance(1, 2) },
                    _ => {
                        let index = rng.below(u64::from(plan.segments)) as u32;
                        Fault::Broken(baro_log::segment_name(index))
                    }
                };
                if loud {
                    println!("fault: {fault:?}");
                }
                world.disk.inject(fault);
            }
        }
        let steps = rng.pick(&[5, 60, 400]);
        let steps = rng.below(steps);
        world.run(steps, true)?;
        let end = rng.below(8);
        match end {
            0 | 1 => {
                world.disk.heal();
                world.close()?;
            }
            2..5 => world.kill(),
            _ => {
                let modes = [Survival::None, Survival::All, Survival::Some, Survival::Torn];
                world.power_cut(rng.pick(&modes))?;
            }
        }
    }
    world.disk.heal();
    world.open()?;
    world.run(3, true)?;
    world.close()?;
    Ok(world.cuts)
}

#[test]
fn many_lives() {
    seeds(of_all(100, 600), lives);
}

#[test]
fn no_block_reaches_a_reused_segment_before_its_header_is_durable() {
    // A kill and a power cut found the old header over overwritten blocks.
    lives(50_335, false).unwrap();
}

#[test]
fn an_earlier_life_whose_blocks_were_written_over_does_not_come_back() {
    // A kill while the first block of a recycled segment was on its way, and a power cut while the
    // segment was started again in place: the first block of the earlier life was told as damage.
    lives(539, false).unwrap();
}

#[test]
fn a_disk_whose_syncs_do_nothing_is_found_out() {
    let mut found = 0;
    for seed in 0..20 {
        let mut world = World::new(seed, Plan { cuts: Cuts::OneIn(20), ..SMALL });
        world.open().unwrap();
        world.disk.inject(Fault::NoOpSync);
        let done = world.run(200, true).and_then(|()| world.power_cut(Survival::None));

        found += u64::from(done.is_err());
    }
    assert_eq!(found, 20, "the checker must see that durable records are lost");
}

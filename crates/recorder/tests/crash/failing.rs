//! Devices that fail for long or for good, and damage: what is lost is counted, what was durable
//! stays, the engine neither spins nor hangs, and damage is told from the tail of a crash.

use crate::of_all;
use crate::reading::check;
use crate::world::{Cuts, Plan, SMALL, World};
use baro_log::segment_name;
use baro_ondisk::WhenFull;
use baro_recorder::Trouble;
use baro_sys::sim::{Fault, Survival};

fn plan(when_full: WhenFull) -> Plan {
    Plan { when_full, segments: 4, cuts: Cuts::OneIn(30), slowest_ns: 2_000_000, ..SMALL }
}

#[test]
fn a_disk_that_always_fails_costs_counted_records_and_no_processor() {
    for seed in 0..20 {
        let mut world = World::new(seed, Plan { cuts: Cuts::Never, ..plan(WhenFull::Recycle) });
        world.open().unwrap();
        world.run(40, true).unwrap();
        // Headers are written all the same where there are holes.
        world.disk.inject(if seed < 10 { Fault::AllBroken } else { Fault::Holes });
        let submitted = world.device.as_ref().unwrap().submitted;
        let until_ns = world.now_ns + 5_000_000_000;
        let mut steps = 0;
        while world.now_ns < until_ns {
            world.run(1, true).unwrap();
            steps += 1;
        }
        assert!(steps < 5_000, "{steps} steps in 5 s");
        let engine = world.engine.as_ref().unwrap();
        assert!(matches!(engine.status().trouble, Trouble::Device { .. }));
        let attempts = world.device.as_ref().unwrap().submitted - submitted;
        assert!((10..300).contains(&attempts), "seed {seed}: {attempts} operations in 5 s");
        let refused: u64 = world.producers.iter().map(|p| p.report().refused_full).sum();
        assert!(refused > 0);
        world.disk.heal();
        // Whatever the rings still hold, and the count of what they refused, goes to the log.
        world.close().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn one_bad_segment_is_worked_around() {
    for (seed, when_full) in [(1, WhenFull::Stop), (2, WhenFull::Recycle), (3, WhenFull::Recycle)] {
        for bad in 0..4 {
            let mut world = World::new(seed, Plan { burst: 30, ..plan(when_full) });
            world.open().unwrap();
            world.disk.inject(Fault::Broken(segment_name(bad)));
            let steps = if when_full == WhenFull::Stop { 100 } else { 1500 };
            let done = world.run(steps, true);
            done.unwrap_or_else(|error| panic!("seed {seed}, segment {bad}: {error}"));
            let status = world.engine.as_ref().unwrap().status();
            if when_full == WhenFull::Recycle {
                assert!(status.segments_started > 6, "{status:?}");
            }
            world.close().unwrap_or_else(|error| panic!("seed {seed}, segment {bad}: {error}"));
        }
    }
}

/// Segment 0 fails with blocks on their way, and again for good when its turn to be recycled comes;
/// so the header that superseded those blocks goes before they do. (Seed 50114, made shorter.)
#[test]
fn a_dead_tail_outlives_the_header_that_superseded_it() {
    let recycle = Plan {
        ring_bytes: 512 << 10,
        record_bytes_max: 100 << 10,
        block_bytes: 128 << 10,
        large: true,
        ..plan(WhenFull::Recycle)
    };
    for (seed, kills) in (0..of_all(6, 60)).map(|seed| (seed, seed % 3 == 0)) {
        let mut world = World::new(seed, Plan { cuts: Cuts::OneIn(4), ..recycle });
        world.open().unwrap();
        let number = world.disk.syncs() + 2;
        world.disk.inject(Fault::Sync { number, loses: false });
        let failed = |world: &World| world.engine.as_ref().unwrap().status().failures > 0;
        while !failed(&world) {
            world.run(1, true).unwrap();
        }
        world.run(20, true).unwrap();
        if kills {
            world.kill();
            world.open().unwrap();
        }
        world.disk.inject(Fault::Broken(segment_name(0)));
        let done = world.run(300, true);
        done.unwrap_or_else(|error| panic!("seed {seed}, kills {kills}: {error}"));
        let started = world.engine.as_ref().unwrap().status().segments_started;
        assert!(started > 6, "seed {seed}: {started} segments started");
        world.close().unwrap_or_else(|error| panic!("seed {seed}, kills {kills}: {error}"));
    }
}

#[test]
fn damage_is_seen_and_told_from_a_torn_tail() {
    for seed in 0..20 {
        let mut world = World::new(seed, Plan { cuts: Cuts::Never, ..plan(WhenFull::Stop) });
        world.open().unwrap();
        world.run(150, true).unwrap();
        let (disk, contents) = world.cut(Survival::Torn).unwrap();
        assert!(contents.blocks > 10 && contents.damage.is_empty());
        // A bit of the second block, long durable.
        let at = 8192 + world.rng.below(100);
        assert!(disk.flip(&segment_name(0), at, 1));
        let found = check(&disk, &world.ledger);
        let seen = found.as_ref().is_err_and(|error| error.contains("expected record"))
            || found.as_ref().is_ok_and(|contents| !contents.damage.is_empty());
        assert!(seen, "seed {seed}: {found:?}");
        disk.heal();
        assert_eq!(check(&disk, &world.ledger).as_ref(), Ok(&contents));
    }
}

#[test]
fn an_idle_engine_is_called_seldom() {
    let mut world = World::new(1, Plan { cuts: Cuts::Never, ..plan(WhenFull::Stop) });
    world.open().unwrap();
    world.run(50, true).unwrap();
    let mut steps = 0;
    let until_ns = world.now_ns + 3_000_000_000;
    while world.now_ns < until_ns {
        world.run(1, false).unwrap();
        steps += 1;
    }
    // One look in a quarter of the bound, 2.5 ms here.
    assert!((1000..1400).contains(&steps), "{steps} steps in 3 s");
}

//! A segment of the log that fails while its log is pinned, and power cuts on top of that.
//!
//! The oracle is that of `pinning.rs`: what was durable in the window of a granted pin is there after
//! each cut, or the pin says that it is short. The reader takes nothing for whole beside that.

use crate::pinning::{Kept, pinned};
use crate::world::{Cuts, Plan, World};
use crate::{of_all, seeds};
use baro_log::segment_name;
use baro_sys::sim::{Fault, Rng, Survival};

/// What has happened in all seeds.
#[derive(Debug, Default)]
struct Seen {
    failures: u64,
    granted: u64,
    /// Cuts with pins that were granted before.
    pinned_cuts: u64,
    started: u64,
}

/// Records with pins, lets one segment fail for a time or to the end, and cuts the power.
fn lives(seed: u64, loud: bool, seen: &mut Seen) -> Result<u64, String> {
    let mut rng = Rng::new(seed ^ 0x66_61_69_6c);
    let plan = Plan { cuts: Cuts::OneIn(150), pins: 15, keep_ns: 0, ..pinned(seed) };
    let mut world = World::new(rng.next(), plan);
    world.loud = loud;
    for _ in 0..2 {
        world.open()?;
        world.run(40 + rng.below(80), true)?;
        let bad = segment_name(rng.below(u64::from(world.first_segments())) as u32);
        if loud {
            println!("seed {seed}: {bad} fails, {plan:?}");
        }
        world.disk.inject(Fault::Broken(bad));
        world.run(40 + rng.below(100), true)?;
        // Well again, or bad to the end.
        if rng.chance(1, 3) {
            world.disk.heal();
            world.run(rng.below(100), true)?;
        }
        let status = world.engine.as_ref().map(|engine| engine.status().clone()).unwrap();
        seen.failures += status.failures;
        seen.started += u64::from(status.segments_started);
        seen.granted += world.kept.granted;
        seen.pinned_cuts += u64::from(!world.ledger.pins.is_empty());
        world.kept = Kept::default();
        if rng.chance(1, 4) {
            world.kill();
        } else {
            let modes = [Survival::None, Survival::All, Survival::Some, Survival::Torn];
            world.power_cut(rng.pick(&modes))?;
        }
    }
    world.disk.heal();
    world.open()?;
    world.run(20, true)?;
    world.close()?;
    Ok(world.cuts)
}

#[test]
fn what_is_pinned_outlives_a_bad_segment_and_a_power_cut() {
    let mut seen = Seen::default();
    let mut count = 0;
    seeds(of_all(2, 100), |seed, loud| {
        count += 1;
        lives(seed, loud, &mut seen)
    });
    println!("{seen:?}");
    let Seen { failures, granted, pinned_cuts, started } = seen;
    if count >= 2 {
        let rare = [failures, granted, pinned_cuts, started];
        assert!(rare.iter().all(|n| *n > 0), "something never happens: {rare:?}");
    }
}

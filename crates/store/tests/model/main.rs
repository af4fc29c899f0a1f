//! Model test of the store in the simulator: random declarations, samples of every type, late ones,
//! duplicates and texts go through the recorder's engine into a small log that is recycled; settling
//! runs in between, and power cuts and kills come at its storage operations. What is read is held
//! against all that was pushed: what was durable is there once with the value recorded last, nothing
//! else is, and retention takes nothing that is to be kept.
//!
//! One seed gives one life, always the same: `BARO_SIM_SEED=N` repeats it with a log,
//! `BARO_SIM_COUNT=M` runs M of them.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a test")]

#[path = "../../../recorder/tests/crash/device.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod device;
mod faults;
mod machine;
mod reference;

use baro_store::{Extent, RunRetention, SettleOptions};
use baro_sys::sim::{Fault, Rng, Survival};
use machine::{Machine, Plan};

const MODES: [Survival; 4] = [Survival::None, Survival::All, Survival::Some, Survival::Torn];

/// What has happened in all lives.
#[derive(Debug, Default)]
struct Total {
    runs: u32,
    merged: u32,
    dropped: u32,
    cuts: u64,
    checks: u64,
    recycled: u64,
    refused: u64,
    recycled_under_a_reader: u64,
    dictionaries: u64,
    backups_cut: u64,
    corrected: u64,
}

fn plan(rng: &mut Rng) -> Plan {
    // Of what is kept by size no more is known than that nothing of it is wrong.
    let keep = RunRetention {
        keep_ns: rng.chance(1, 2).then(|| 20_000 + rng.below(100_000)),
        keep_bytes: rng.chance(1, 4).then(|| (20 << 10) + rng.below(40 << 10)),
        min_free_bytes: 0,
    };
    let retention = if rng.chance(1, 3) { keep } else { RunRetention::default() };
    Plan {
        settle: SettleOptions {
            memory_bytes: rng.pick(&[2 << 10, 8 << 10, 64 << 10]),
            least_bytes: rng.pick(&[0, 2 << 10, 8 << 10]),
            fan_in: rng.pick(&[2, 3, 4]),
            run_bytes_max: rng.pick(&[40 << 10, 1 << 30]),
            retention,
            rest: 0,
        },
        segments: rng.pick(&[3, 4, 6]),
        slowest_ns: rng.pick(&[100_000, 10_000_000, 100_000_000]),
        extremes: retention.keep_ns.is_none() && rng.chance(1, 3),
        frame_bytes: rng.pick(&[2_000, 60_000, 95_000]),
    }
}

/// One store through many days: records, settles, declares, is cut off and opened again.
fn life(seed: u64, loud: bool, steps: u64, total: &mut Total) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let plan = plan(&mut rng);
    if loud {
        println!("seed {seed}: {plan:?}");
    }
    let mut machine = Machine::new(rng.next(), plan, loud);
    machine.declare(4);
    machine.open()?;
    for _ in 0..steps {
        if machine.is_open() {
            machine.push_some();
            let ticks = rng.pick(&[1, 10, 60]);
            machine.run(ticks)?;
        }
        match rng.below(24) {
            0 => machine.declare(1 + rng.below(4) as u32),
            1 => total.dictionaries += u64::from(machine.dictionary(&mut rng)?),
            2..10 => {
                let extent = if rng.chance(1, 3) { Extent::All } else { Extent::Enough };
                for _ in 0..2 {
                    let mode = rng.pick(&MODES);
                    total.cuts += u64::from(machine.cut_while_settling(extent, &mut rng, mode)?);
                }
                let done = machine.settle(extent)?;
                total.runs += done.runs;
                total.merged += done.merged;
                total.dropped += done.dropped.runs;
            }
            10 | 11 => machine.kill_settling(&mut rng)?,
            12 => machine.close()?,
            13 => machine.kill_recorder()?,
            14 => {
                total.cuts += 1;
                machine.power_cut(rng.pick(&MODES))?;
            }
            15 => total.recycled_under_a_reader += u64::from(machine.reader()?),
            16 | 17 => machine.cut_here(&mut rng, &MODES)?,
            18 => {
                let cut = machine.back_up(rng.below(80), rng.pick(&MODES))?;
                total.backups_cut += u64::from(cut);
            }
            19 if rng.chance(1, 2) => {
                machine.correct()?;
                total.corrected += 1;
            }
            _ => {}
        }
        if !machine.is_open() && rng.chance(2, 3) {
            machine.open()?;
        }
    }
    machine.check_all()?;
    if !machine.is_open() {
        machine.open()?;
    }
    machine.settle_until_idle()?;
    machine.close()?;
    machine.settle_until_idle()?;
    machine.power_cut(Survival::None)?;
    machine.check_all()?;
    total.checks += machine.checks;
    total.recycled += machine.recycled;
    total.refused += machine.refused;
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How many seeds of `all` this run takes: some with each push (`cargo xtask ci` says so in the
/// environment), all of them in the full tier and wherever nothing is said.
fn of_all(some: u64, all: u64) -> u64 {
    if std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push") { some } else { all }
}

#[test]
fn many_lives_of_a_store_read_as_a_model() {
    let first = number("BARO_SIM_SEED").unwrap_or(0);
    let count = number("BARO_SIM_COUNT").unwrap_or(if first > 0 { 1 } else { of_all(10, 40) });
    let mut total = Total::default();
    for seed in first..first + count {
        if let Err(error) = life(seed, count == 1, 60, &mut total) {
            panic!("seed {seed}: {error}\nrepeat: BARO_SIM_SEED={seed} BARO_SIM_COUNT=1");
        }
    }
    println!("{total:?}");
    if count >= 40 {
        let Total { runs, merged, dropped, cuts, recycled, refused, .. } = total;
        let rare =
            [u64::from(runs), u64::from(merged), u64::from(dropped), cuts, recycled, refused];
        assert!(rare.iter().all(|n| *n > 10) && total.dictionaries > 3, "never happens: {total:?}");
        assert!(total.recycled_under_a_reader > 0, "never happens: {total:?}");
        assert!(total.backups_cut > 3 && total.corrected > 10, "never happens: {total:?}");
    }
}

#[test]
fn a_crash_at_every_operation_of_settling_leaves_what_was_there() {
    let mut cuts = 0;
    for seed in 0..of_all(2, 6) {
        let mut rng = Rng::new(seed);
        let settle = SettleOptions {
            memory_bytes: 4 << 10,
            least_bytes: 0,
            fan_in: 2,
            retention: RunRetention { keep_bytes: Some(60 << 10), ..RunRetention::default() },
            ..SettleOptions::default()
        };
        let settle = match seed % 2 {
            0 => SettleOptions { retention: RunRetention::default(), ..settle },
            _ => settle,
        };
        let plan =
            Plan { settle, segments: 4, slowest_ns: 1_000_000, extremes: false, frame_bytes: 0 };
        let mut machine = Machine::new(seed, plan, false);
        machine.declare(6);
        machine.open().unwrap();
        for _ in 0..12 {
            machine.push_some();
            machine.run(30).unwrap();
            for at in 0.. {
                let mode = rng.pick(&MODES);
                let cut = machine.cut_at(Extent::All, at, mode);
                let more = cut.unwrap_or_else(|e| panic!("seed {seed}, operation {at}: {e}"));
                if !more {
                    break;
                }
                cuts += 1;
            }
            machine.settle(Extent::All).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        }
    }
    assert!(cuts > of_all(100, 300), "{cuts} cuts");
}

#[test]
fn what_a_killed_settling_said_lets_nothing_be_recycled_before_it_is_durable() {
    let mut recycled = 0;
    for at in 0..40 {
        let settle = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
        let plan =
            Plan { settle, segments: 3, slowest_ns: 100_000, extremes: false, frame_bytes: 95_000 };
        let mut machine = Machine::new(at, plan, false);
        machine.declare(4);
        machine.open().unwrap();
        for _ in 0..30 {
            machine.push_some();
            machine.run(60).unwrap();
        }
        machine.kill_settling_at(at, Extent::All).unwrap();
        for _ in 0..30 {
            machine.push_some();
            machine.run(60).unwrap();
        }
        recycled += u64::from(machine.recycled > 0);
        let cut = machine.power_cut(Survival::None);
        cut.unwrap_or_else(|error| panic!("killed at operation {at}: {error}"));
    }
    assert!(recycled > 0, "nothing was recycled");
}

/// A store that was recorded into and closed.
fn closed(seed: u64) -> Machine {
    let settle = SettleOptions { least_bytes: 0, ..SettleOptions::default() };
    let plan = Plan { settle, segments: 4, slowest_ns: 100_000, extremes: false, frame_bytes: 0 };
    let mut machine = Machine::new(seed, plan, false);
    machine.declare(4);
    machine.open().unwrap();
    record(&mut machine);
    machine.close().unwrap();
    machine
}

fn record(machine: &mut Machine) {
    for _ in 0..6 {
        machine.push_some();
        machine.run(60).unwrap();
    }
}

/// Runs go by age and by size, with corrections between: what was corrected never comes back.
#[test]
fn retention_brings_no_value_back_that_was_corrected() {
    let mut dropped = 0;
    for seed in 0..6 {
        let keep = RunRetention::default();
        let retention = match seed % 2 {
            0 => RunRetention { keep_ns: Some(20_000), ..keep },
            _ => RunRetention { keep_bytes: Some(12 << 10), ..keep },
        };
        let settle = SettleOptions { least_bytes: 0, fan_in: 3, retention, ..Default::default() };
        let plan =
            Plan { settle, segments: 4, slowest_ns: 100_000, extremes: false, frame_bytes: 0 };
        let mut machine = Machine::new(seed, plan, false);
        machine.declare(6);
        for _ in 0..12 {
            machine.open().unwrap();
            record(&mut machine);
            machine.correct().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            if machine.is_open() {
                machine.close().unwrap();
            }
            for _ in 0..3 {
                let done = machine.settle(Extent::All);
                dropped += done.unwrap_or_else(|e| panic!("seed {seed}: {e}")).dropped.runs;
            }
        }
    }
    assert!(dropped > 20, "{dropped} runs were dropped");
}

#[test]
fn a_settled_epoch_is_never_given_again() {
    let mut machine = closed(1);
    machine.settle_until_idle().unwrap();
    let newest = baro_log::segment_name(0);
    assert!(machine.disk.flip(&newest, 100, 1));
    machine.open().unwrap();
    record(&mut machine);
    machine.disk.heal();
    machine.check_all().unwrap();
}

#[test]
fn who_starts_to_record_while_it_is_settled_loses_nothing() {
    let mut machine = closed(2);
    // Whoever settles looked before the recorder opened and reads when it has recorded.
    let mut settler = machine.settler(&machine.disk).unwrap();
    machine.open().unwrap();
    record(&mut machine);
    settler.step_with(Extent::All, false).unwrap();
    machine.check_all().unwrap();
    record(&mut machine);
    machine.check_all().unwrap();
    machine.close().unwrap();
    settler.step_with(Extent::All, false).unwrap();
    assert_eq!(settler.step_with(Extent::All, false).unwrap().samples_read, 0);
    machine.check_all().unwrap();
}

#[test]
fn a_disk_whose_syncs_do_nothing_while_settling_is_found_out() {
    let mut found = 0;
    for seed in 0..12 {
        let settle = SettleOptions { memory_bytes: 8 << 10, least_bytes: 0, ..Default::default() };
        let plan =
            Plan { settle, segments: 3, slowest_ns: 100_000, extremes: false, frame_bytes: 95_000 };
        let mut machine = Machine::new(seed, plan, false);
        machine.declare(4);
        machine.open().unwrap();
        let mut lying = || {
            for _ in 0..30 {
                machine.push_some();
                machine.run(60)?;
                machine.disk.inject(Fault::NoOpSync);
                let settled = machine.settle(Extent::All);
                machine.disk.heal();
                settled?;
            }
            machine.power_cut(Survival::None)?;
            machine.check_all()
        };
        found += u64::from(lying().is_err());
    }
    assert_eq!(found, 12, "the checker must see that settled samples are lost");
}

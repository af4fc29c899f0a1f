//! A device that is full or fails while runs are written: settling stops with an error, the store is
//! as before, recording goes on, and so does settling once there is room.

use crate::machine::{Machine, Plan};
use crate::record;
use baro_store::{Extent, RunRetention, SettleOptions};
use baro_sys::sim::Fault;

fn machine(seed: u64, retention: RunRetention) -> Machine {
    let settle = SettleOptions { least_bytes: 0, fan_in: 2, retention, ..Default::default() };
    let plan = Plan { settle, segments: 3, slowest_ns: 100_000, extremes: false, frame_bytes: 0 };
    let mut machine = Machine::new(seed, plan, false);
    machine.declare(6);
    machine.open().unwrap();
    record(&mut machine);
    machine
}

#[test]
fn a_device_without_room_stops_settling_and_nothing_else() {
    let mut stopped = 0;
    for kib in 0..24 {
        let mut machine = machine(kib, RunRetention::default());
        machine.settle(Extent::All).unwrap();
        record(&mut machine);
        machine.disk.inject(Fault::Full(machine.disk.used_bytes() + kib * 1024));
        for _ in 0..2 {
            let files = machine.disk.files();
            match machine.settle(Extent::All) {
                Err(error) => {
                    assert_eq!(machine.disk.files(), files, "{kib}: what is left takes room");
                    assert!(error.contains("No space"), "{kib}: {error}");
                    stopped += 1;
                }
                Ok(done) => assert!(kib > 4, "{kib}: {done:?}"),
            }
            machine.check_all().unwrap();
            let before = machine.truth.durable;
            record(&mut machine);
            machine.run(200).unwrap();
            assert!(machine.truth.durable > before, "{kib}: recording goes on");
        }
        machine.disk.heal();
        machine.settle_until_idle().unwrap();
        machine.power_cut(baro_sys::sim::Survival::None).unwrap();
    }
    assert!(stopped > 20, "{stopped}");
}

#[test]
fn retention_makes_the_room_that_settling_needs() {
    let min_free_bytes = 64 << 10;
    let retention = RunRetention { min_free_bytes, ..RunRetention::default() };
    let mut machine = machine(3, retention);
    machine.settle(Extent::All).unwrap();
    machine.disk.inject(Fault::Full(machine.disk.used_bytes() + min_free_bytes));
    let mut dropped = 0;
    for _ in 0..60 {
        record(&mut machine);
        dropped += machine.settle(Extent::All).unwrap().dropped.runs;
    }
    assert!(dropped > 3, "{dropped}");
    machine.close().unwrap();
}

#[test]
fn a_write_or_sync_that_fails_leaves_the_store_as_it_was() {
    let mut failed = 0;
    for number in 0..12 {
        for kind in 0..3 {
            let mut machine = machine(number, RunRetention::default());
            machine.settle(Extent::All).unwrap();
            record(&mut machine);
            let (writes, syncs) = (machine.disk.writes(), machine.disk.syncs());
            machine.disk.inject(match kind {
                0 => Fault::Write(writes + number),
                1 => Fault::Sync { number: syncs + number, loses: true },
                _ => Fault::Sync { number: syncs + number, loses: false },
            });
            let done = machine.settle(Extent::All).and_then(|_| machine.settle(Extent::All));
            failed += u64::from(done.is_err());
            machine.check_all().unwrap();
            machine.settle_until_idle().unwrap();
            machine.power_cut(baro_sys::sim::Survival::None).unwrap();
        }
    }
    assert!(failed > 6, "{failed}");
}

//! A handle that is waited for, since the journal is full: told, counted, and with its reason.

use crate::stand::{Ext4, Symbols, Throttle, finish, own_task, probes};
use baro_probes::ProbeOptions;
use baro_trace::schema::KernelEvent;
use std::fs::File;

/// Their inodes are more blocks than the journal has.
const FILES: u32 = 36_000;
/// The first class whose waits are all told: 131 us and more.
const TOLD: usize = 17;

#[test]
fn a_wait_for_room_in_the_journal_is_told_and_counted() {
    let Some(stand) = Ext4::new("waits") else { return };
    let options = ProbeOptions {
        device: Some(stand.device()),
        min_sleep_ns: 100_000,
        own_sleeps: true,
        ..Default::default()
    };
    // Who finds no room writes blocks to their places itself, slowly.
    let Some(throttle) = Throttle::new(&stand) else { return };
    let Some(probes) = probes(&options) else { return };
    for number in 0..FILES {
        File::create(stand.mount.join(number.to_string())).unwrap();
    }
    drop(throttle);
    let told = finish(probes);
    assert_eq!(told.lost, 0);
    let (mut waits, mut sleeps) = (Vec::new(), Vec::new());
    let (mut in_classes, mut longest_ns) = (0, 0);
    for (time_ns, pid, event) in &told.events {
        match event {
            KernelEvent::HandleWait(wait) => waits.push((*pid, wait.begin_ns, *time_ns)),
            KernelEvent::Sleep(sleep) if sleep.state == 2 => sleeps.push((*time_ns, *sleep)),
            KernelEvent::HandleWaits(counted) => {
                in_classes += counted.buckets[TOLD..].iter().sum::<u64>();
                longest_ns = longest_ns.max(counted.max_wait_ns);
            }
            _ => {}
        }
    }
    let lengths = waits.iter().map(|(_, begin_ns, end_ns)| end_ns - begin_ns);
    assert_eq!(lengths.clone().filter(|wait_ns| *wait_ns >= 1 << TOLD).count() as u64, in_classes);
    assert_eq!(lengths.max(), Some(longest_ns));
    // In the wait the task slept, and its stack says for what.
    let own: Vec<_> = waits.iter().filter(|(pid, _, _)| *pid == own_task()).collect();
    assert!(!own.is_empty(), "{waits:?}");
    let symbols = Symbols::read();
    let for_room = own.iter().filter(|(pid, begin_ns, end_ns)| {
        sleeps.iter().any(|(time_ns, sleep)| {
            let inside = sleep.begin_ns >= *begin_ns && time_ns <= end_ns;
            let stack = &sleep.stack.addresses()[..sleep.frames as usize];
            let named = stack.iter().any(|place| symbols.name(*place) == "start_this_handle");
            sleep.pid == *pid && inside && named
        })
    });
    let sleeps: Vec<_> = sleeps.iter().filter(|(_, sleep)| sleep.pid == own_task()).collect();
    assert!(for_room.count() > 0, "{own:?} {sleeps:?}");
}

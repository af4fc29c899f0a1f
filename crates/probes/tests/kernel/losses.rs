//! What finds no room is counted, and nothing stays behind.

use crate::stand::{Ext4, finish, probes};
use baro_probes::ProbeOptions;
use baro_sys::clock;
use baro_trace::schema::KernelEvent;
use std::collections::BTreeSet;
use std::fs;

const FILES: u64 = 3_000;

#[test]
fn a_ring_that_is_too_small_loses_and_says_so() {
    let Some(stand) = Ext4::new("losses") else { return };
    let options = ProbeOptions {
        device: Some(stand.device()),
        min_handle_ns: 0,
        min_held_ns: 0,
        ring_kib: 64,
        ..Default::default()
    };
    let Some(probes) = probes(&options) else { return };
    for number in 0..FILES {
        fs::File::create(stand.mount.join(number.to_string())).unwrap();
    }
    let told = finish(probes);
    let (mut starts, mut ends, mut counted) = (0, 0, 0);
    for (_, _, event) in &told.events {
        match event {
            KernelEvent::HandleWait(_) => starts += 1,
            KernelEvent::HandleHeld(_) => ends += 1,
            KernelEvent::HandleWaits(waits) => counted += waits.count - waits.unpaired,
            _ => {}
        }
    }
    let lost = |name| {
        let of_it = told.summary.lost.records.iter().find(|(event, _)| *event == name);
        of_it.unwrap().1
    };
    assert!(counted >= FILES, "{counted}");
    assert!(lost("baro_handle") > 0 && starts > 0, "{:?}", told.summary);
    // What was told and what was lost is all there was: the counts are never lost.
    assert_eq!(starts + lost("baro_handle"), counted);
    assert!(ends + lost("baro_held") >= counted, "{ends} {:?}", told.summary);
    // The pages say it at its place, the file in all.
    assert_eq!(told.lost, told.summary.lost.total());
    assert_eq!(told.summary.losses.total(), told.lost);
}

/// The programs that this process holds.
fn own_programs() -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc/self/fdinfo").unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        let of_program = text.lines().filter_map(|line| line.strip_prefix("prog_id:"));
        found.extend(of_program.filter_map(|number| number.trim().parse::<u32>().ok()));
    }
    found
}

#[test]
fn nothing_is_left_in_the_kernel() {
    let Some(_stand) = Ext4::new("nothing") else { return };
    assert_eq!(own_programs(), BTreeSet::new());
    let Some(probes) = probes(&ProbeOptions::default()) else { return };
    let ours = own_programs();
    assert!(ours.len() >= 13, "{ours:?}");
    let there = || {
        let all = aya::programs::loaded_programs().map(|info| info.unwrap().id());
        all.filter(|id| ours.contains(id)).count()
    };
    assert_eq!(there(), ours.len());
    drop(probes);
    assert_eq!(own_programs(), BTreeSet::new());
    // The kernel frees them when no processor can be in one any more.
    for _ in 0..100 {
        if there() == 0 {
            return;
        }
        clock::sleep_ns(100_000_000);
    }
    panic!("{} programs are left", there());
}

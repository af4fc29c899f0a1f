//! Handles and journals: the probes' counts against jbd2's own.

use crate::stand::{Ext4, decode, finish, own_task, probes};
use baro_probes::{PROBES_CPU, ProbeOptions};
use baro_trace::collect::{CollectError, Options, Recorder, known_events};
use baro_trace::schema::KernelEvent;
use std::fs::File;
use std::io::Write;

const SYNCS: u64 = 40;

fn load(stand: &Ext4) {
    let mut file = File::create(stand.mount.join("file")).unwrap();
    for number in 0..SYNCS {
        file.write_all(&[number as u8; 10_000]).unwrap();
        file.sync_all().unwrap();
    }
}

#[test]
fn handles_are_counted_as_jbd2_counts_them() {
    let Some(stand) = Ext4::new("handles") else { return };
    let device = stand.device();
    stand.sync();
    let options = ProbeOptions { device: Some(device), min_held_ns: 0, ..Default::default() };
    let Some(mut probes) = probes(&options) else { return };
    assert_eq!(probes.missing(), &[""; 0]);
    let filter = format!("dev == {}", device.0);
    let mut events = known_events(Some(&filter), std::process::id());
    events.retain(|choice| choice.system == "jbd2");
    let name = "baro-probes-test".to_owned();
    let recording = Options { name, buffer_kib: 1_024, events, surroundings: false, stacks: None };
    let mut recorder = match Recorder::start_beside(&recording, &baro_probes::formats(), Vec::new())
    {
        Ok(recorder) => recorder,
        Err(error @ CollectError::Tracer(_)) => {
            println!("skipped: nothing to compare with: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (page, event) = recorder.headers();
    probes.lay_out(page, event);
    load(&stand);
    stand.sync();
    probes.drain(&mut |page| recorder.write_page(PROBES_CPU, page)).unwrap();
    let summary = probes.finish(&mut |page| recorder.write_page(PROBES_CPU, page)).unwrap();
    recorder.extra_losses(summary.losses);
    let (bytes, recorded) = recorder.finish([]).unwrap();
    assert!(recorded.losses.iter().any(|cpu| cpu.cpu == PROBES_CPU));
    assert!(recorded.losses.iter().all(|cpu| cpu.total() == 0), "{recorded:?}");

    let (events, lost) = decode(bytes);
    assert_eq!(lost, 0);
    let (mut jbd2_starts, mut jbd2_handles, mut commits) = (0, 0, 0);
    let (mut counted, mut in_classes, mut unpaired, mut held) = (0, 0, 0, 0);
    let (mut logged, mut stages) = (Vec::new(), Vec::new());
    for (_, pid, event) in &events {
        match event {
            KernelEvent::HandleStart(_) => jbd2_starts += 1,
            KernelEvent::RunStats(stats) => {
                jbd2_handles += u64::from(stats.handles);
                commits += 1;
                logged.push((stats.tid, stats.handles as i32));
            }
            KernelEvent::HandleWaits(waits) => {
                assert_eq!(waits.dev, device);
                counted += waits.count;
                unpaired += waits.unpaired;
                in_classes += waits.buckets.iter().sum::<u64>();
            }
            KernelEvent::HandleHeld(handle) => {
                assert_eq!(handle.dev, device);
                held += u64::from(*pid == own_task());
            }
            KernelEvent::TransactionLists(lists) => stages.push(*lists),
            _ => {}
        }
    }
    assert!(commits >= SYNCS, "{commits}");
    assert_eq!((counted, counted), (jbd2_starts, jbd2_handles));
    assert_eq!((in_classes, unpaired), (counted, 0));
    assert!(held >= SYNCS, "{held} of {counted} are this thread's");
    // Each commit goes through its stages in their order, with the handles that jbd2 counted.
    for (tid, handles) in logged {
        let of_it: Vec<_> = stages.iter().filter(|lists| lists.tid == tid).collect();
        let order: Vec<u32> = of_it.iter().map(|lists| lists.stage).collect();
        assert_eq!(order.get(..5), Some(&[1, 2, 3, 4, 5][..]), "{tid}: {of_it:?}");
        assert_eq!(of_it[3].handles, handles, "{tid}");
        assert!(of_it[2].metadata > 0 && !of_it[2].capped, "{tid}: {of_it:?}");
        assert!(of_it[4].checkpoint > 0, "{tid}: {of_it:?}");
    }
}

#[test]
fn a_journal_is_as_long_as_its_file_system_says() {
    let Some(stand) = Ext4::new("journal") else { return };
    let options = ProbeOptions { device: Some(stand.device()), ..Default::default() };
    let Some(probes) = probes(&options) else { return };
    load(&stand);
    let told = finish(probes);
    let blocks = stand.told("Total journal blocks");
    let mut reasons = [0_u32; 9];
    for (_, _, event) in &told.events {
        let KernelEvent::JournalSample(sample) = event else { continue };
        assert_eq!((sample.dev, sample.total_blocks), (stand.device(), blocks));
        // The journal's superblock is no block for transactions.
        assert_eq!(sample.usable_blocks, blocks - 1);
        assert!(sample.free_blocks <= sample.usable_blocks, "{sample:?}");
        assert!(sample.max_transaction_buffers > 0, "{sample:?}");
        reasons[sample.reason as usize] += 1;
        match sample.reason {
            0 => assert!(sample.has & 1 != 0 && sample.running_updates > 0, "{sample:?}"),
            // From flushing on the transaction is the committing one, until its commit has ended.
            4 => assert!(sample.has & 2 != 0 && sample.committing_state >= 3, "{sample:?}"),
            _ => {}
        }
    }
    assert!(
        reasons[0] > 0 && reasons[1..6].iter().all(|count| *count >= SYNCS as u32),
        "{reasons:?}"
    );
}

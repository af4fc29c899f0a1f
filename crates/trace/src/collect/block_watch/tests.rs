//! Tests of watching: on the running kernel where it lets us, and of the order of events.

use super::*;
use crate::blk::{Class, Column, Kind, Process};
use baro_sys::{files, footprint, identity};
use std::path::Path;

fn event(time_ns: u64) -> BlockEvent {
    BlockEvent {
        time_ns,
        device: Device(1),
        kind: Kind::Issue,
        sector: 0,
        bytes: 512,
        class: Class::default(),
        process: Process::default(),
    }
}

#[test]
fn events_wait_for_older_ones_of_other_processors() {
    let mut waiting = Waiting::default();
    let mut taken = Vec::new();
    waiting.events.extend([event(10), event(30), event(20), event(40)]);
    waiting.release(30, |event| taken.push(event.time_ns));
    assert_eq!(taken, [10, 20, 30]);
    waiting.events.push(event(35));
    waiting.release(u64::MAX, |event| taken.push(event.time_ns));
    assert_eq!(taken, [10, 20, 30, 35, 40]);
}

#[test]
fn what_is_written_to_a_disk_is_accounted_for() {
    let folder = std::env::temp_dir();
    let (major, minor) = identity::FileSystem::of(&folder).unwrap().device;
    let disk = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    if files::list(&disk.join("mq")).is_err() {
        println!("skipped: {} is on no disk that has requests", folder.display());
        return;
    }
    let device = Device::new(major, minor);
    let mut watch = match BlockWatch::start("baro-watch-test", &[device], 1_024) {
        Ok(watch) => watch,
        Err(error @ CollectError::Tracer(TraceError::NotMounted | TraceError::File { .. })) => {
            println!("skipped: no trace instance: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let path = folder.join(format!("baro-watch-{}", std::process::id()));
    let file = files::create(&path).unwrap();
    let before = footprint::device_written_bytes(&path).unwrap().unwrap();
    for piece in 0..64_u64 {
        files::write_at(&file, &[1; 65_536], piece << 16).unwrap();
        file.sync_all().unwrap();
        watch.drain().unwrap();
    }
    let after = footprint::device_written_bytes(&path).unwrap().unwrap();
    let watched = watch.finish().unwrap();
    files::remove(&path).unwrap();
    assert_eq!(
        (watched.damaged, watched.losses.iter().map(|cpu| cpu.total()).sum::<u64>()),
        (0, 0)
    );
    let by_device = watched.sums.by_device();
    assert_eq!(by_device.keys().copied().collect::<Vec<_>>(), [device]);
    let traffic = &by_device[&device];
    let written = traffic.written_bytes() + traffic.column(Column::Zeroes).done_bytes;
    // Others may write to the same disk before and after the kernel was asked, never less.
    assert!(after - before >= 64 << 16, "{before} {after}");
    assert!(written >= after - before, "{written} of {}", after - before);
    let instances = files::list(Path::new("/sys/kernel/tracing/instances")).unwrap_or_default();
    assert!(!instances.contains(&format!("baro-watch-test-{}", std::process::id())));
}

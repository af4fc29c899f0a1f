//! Tests of instances on the running kernel, where it lets us.

use super::{LostEvents, TraceError, TraceInstance, TraceLine, device_filter, parse_stats};
use std::path::{Path, PathBuf};

/// An instance, or a line that says why there is none.
fn instance(name: &str, buffer_kib: u64) -> Option<TraceInstance> {
    match TraceInstance::new(name, buffer_kib) {
        Ok(instance) => Some(instance),
        Err(error @ (TraceError::NotMounted | TraceError::File { .. })) => {
            println!("skipped: no trace instance: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn write_and_sync(path: &Path) {
    let file = crate::files::create(path).expect("a new file");
    crate::files::write_at(&file, &[1; 4096], 0).expect("written");
    file.sync_all().expect("synced");
}

#[test]
fn counts_the_events_of_a_device() {
    let Some(mut trace) = instance("baro-test", 512) else { return };
    let dir: PathBuf = trace.instance.dir.clone();
    let path = std::env::temp_dir().join(format!("baro-trace-{}", std::process::id()));
    write_and_sync(&path);
    let filter = device_filter(&path).expect("the file is there");
    for event in ["ext4/ext4_sync_file_enter", "jbd2/jbd2_run_stats"] {
        if let Err(error) = trace.enable(event, Some(&filter)) {
            println!("skipped: {error}");
            return;
        }
    }
    let before_ns = crate::clock::monotonic_ns();
    for _ in 0..5 {
        write_and_sync(&path);
    }
    let after_ns = crate::clock::monotonic_ns();
    crate::files::remove(&path).expect("removed");
    let mut lines = Vec::new();
    trace.read(&mut lines).expect("readable");
    // Nothing is read twice.
    let read = lines.len();
    trace.set_recording(false).expect("stoppable");
    trace.read(&mut lines).expect("readable");

    let own: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            TraceLine::Event(event) => Some(event),
            TraceLine::Lost { .. } => None,
        })
        .filter(|event| event.event == "ext4_sync_file_enter")
        .filter(|event| (before_ns..=after_ns).contains(&(event.time_ns + 999)))
        .collect();
    if read == 0 {
        println!("skipped: {} is not on ext4", path.display());
    } else {
        // Others may sync files of the same device.
        assert!(own.len() >= 5, "{lines:?}");
        assert!(own.iter().all(|event| event.number("ino").is_some()));
        assert!(trace.counts()["ext4_sync_file_enter"] >= 5);
        assert!(trace.counts().contains_key("jbd2_run_stats"));
    }
    assert_eq!(trace.lost().expect("statistics"), LostEvents::default());
    drop(trace);
    assert!(!dir.exists());
}

#[test]
fn losses_are_counted() {
    let Some(mut trace) = instance("baro-test-loss", 8) else { return };
    trace.enable("raw_syscalls/sys_enter", None).expect("every kernel has it");
    for _ in 0..20_000 {
        let _ = crate::counters::ThreadUsage::now();
    }
    trace.set_recording(false).expect("stoppable");
    let mut lines = Vec::new();
    trace.read(&mut lines).expect("readable");
    let lost = trace.lost().expect("statistics").total();
    let seen = trace.counts()["sys_enter"];
    assert!(lost > 0);
    assert!(seen > 0 && seen + lost >= 20_000, "{seen} {lost}");
}

#[test]
fn unknown_events_fields_and_names_are_told() {
    for name in ["", "a/b", "..", "a b"] {
        assert!(matches!(TraceInstance::new(name, 8), Err(TraceError::Name(_))), "{name}");
    }
    let Some(mut trace) = instance("baro-test-errors", 8) else { return };
    for event in ["jbd2/no_such", "no_such/x", "jbd2", "../tracing_on", "../../x", ""] {
        assert!(matches!(trace.enable(event, None), Err(TraceError::NoEvent(_))), "{event}");
    }
    let refused = trace.enable("sched/sched_switch", Some("no_such_field == 1"));
    assert!(matches!(refused, Err(TraceError::Filter { .. })), "{refused:?}");
}

#[test]
fn statistics_are_read() {
    let text = "entries: 45\noverrun: 12\ncommit overrun: 3\nbytes: 2428\ndropped events: 4\n";
    assert_eq!(parse_stats(text), Some(LostEvents { overrun: 12, dropped: 4 }));
    assert_eq!(parse_stats("entries: 45\n"), None);
}

#[test]
fn a_process_may_have_two_instances_of_a_name() {
    let Some(first) = instance("baro-test-two", 64) else { return };
    let second = TraceInstance::new("baro-test-two", 64).expect("a second one");
    let folders = [&first, &second].map(|one| one.instance.dir.clone());
    assert!(folders[0] != folders[1] && folders.iter().all(|dir| dir.is_dir()), "{folders:?}");
    drop((first, second));
    assert!(folders.iter().all(|dir| !dir.exists()), "{folders:?}");
}

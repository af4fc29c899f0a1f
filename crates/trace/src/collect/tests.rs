//! Tests on the running kernel, where it lets us, and of what is chosen to be recorded.

use super::*;
use crate::file::{Ending, Item, TraceFile};
use crate::schema::{KNOWN, KernelEvent, Schemas};
use baro_sys::{files, tracefs};
use std::io::Cursor;
use std::os::unix::fs::MetadataExt;

fn start(name: &str, events: Vec<EventChoice>, buffer_kib: u64) -> Option<Recorder<Vec<u8>>> {
    // Each test has a name of its own: they run in one process.
    let options = Options {
        name: name.to_owned(),
        buffer_kib,
        events,
        surroundings: true,
        stacks: Some(STACKS_OF_ALL.to_owned()),
    };
    match Recorder::start(&options, Vec::new()) {
        Ok(recorder) => Some(recorder),
        Err(error @ CollectError::Tracer(TraceError::NotMounted | TraceError::File { .. })) => {
            println!("skipped: no trace instance: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn choice(system: &str, event: &str, filter: Option<String>) -> EventChoice {
    EventChoice { system: system.to_owned(), event: event.to_owned(), filter }
}

#[test]
fn records_the_syncs_of_a_file_and_leaves_nothing() {
    let path = std::env::temp_dir().join(format!("baro-trace-collect-{}", std::process::id()));
    let file = files::create(&path).unwrap();
    let ino = file.metadata().unwrap().ino();
    let filter = tracefs::device_filter(&path).unwrap();
    let own = format!("common_pid == {}", own_task());
    let mut events = known_events(Some(&filter), std::process::id());
    events.retain(|choice| choice.system != "sched" && choice.system != "raw_syscalls");
    events.push(choice("raw_syscalls", "sys_enter", Some(own.clone())));
    events.push(choice("raw_syscalls", "sys_exit", Some(own)));
    let Some(mut recorder) = start("baro-trace-test", events, 16_384) else {
        files::remove(&path).unwrap();
        return;
    };
    let mut around = Vec::new();
    for number in 0..5_u8 {
        files::write_at(&file, &[number; 4_096], u64::from(number) * 4_096).unwrap();
        let before_ns = clock::monotonic_ns();
        file.sync_all().unwrap();
        around.push(before_ns..=clock::monotonic_ns());
        recorder.drain().unwrap();
    }
    let missing = recorder.missing_events().to_vec();
    let (bytes, summary) = recorder.finish([]).unwrap();
    files::remove(&path).unwrap();
    assert_eq!(summary.missing_events, missing);
    assert!(summary.losses.iter().all(|cpu| cpu.total() == 0), "{summary:?}");

    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    assert!(matches!(trace.ending(), Ending::Finished));
    assert_eq!(trace.pages(), summary.pages);
    let schemas = Schemas::resolve(trace.events()).unwrap();
    let own_pid = own_task();
    assert!(trace.tasks().contains_key(&own_pid));
    let (mut syncs, mut enters) = (0, 0);
    let set = trace.events().clone();
    let mut merged = trace.merge().unwrap();
    let mut last_ns = 0;
    while let Some(item) = merged.next().unwrap() {
        let Item::Event { time_ns, id, payload, .. } = item else { panic!("{item:?}") };
        assert!(time_ns >= last_ns);
        last_ns = time_ns;
        if set.pid(payload).unwrap() != own_pid {
            continue;
        }
        match schemas.decode(id, payload).unwrap() {
            // Each decoded time lies between those that the same clock said around the call.
            Some(KernelEvent::SyncFileEnter(event)) => {
                assert_eq!((event.ino, event.datasync), (ino, false));
                assert!(around[syncs].contains(&time_ns), "{syncs}: {time_ns} {around:?}");
                syncs += 1;
            }
            Some(KernelEvent::SyncFileExit(event)) => {
                assert_eq!((event.ino, event.ret), (ino, 0));
                assert!(around[syncs - 1].contains(&time_ns), "{syncs}: {time_ns} {around:?}");
            }
            Some(KernelEvent::SysEnter(_)) => enters += 1,
            _ => {}
        }
    }
    assert!(enters >= 10, "{enters} calls: 5 writes and 5 syncs at least");
    assert!(last_ns <= clock::monotonic_ns());
    if syncs == 0 {
        println!("skipped: {} is not on ext4", path.display());
    } else {
        assert_eq!(syncs, 5);
    }
    for mount in ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"] {
        let left = files::list(Path::new(mount)).unwrap_or_default();
        let own = format!("baro-trace-test-{}", std::process::id());
        assert!(!left.contains(&own), "{left:?}");
    }
}

/// The kernel's number of this thread: its folder in `/proc` is named after it.
fn own_task() -> i32 {
    let status = files::read_text(Path::new("/proc/thread-self/status"), 1 << 16).unwrap();
    let pid = status.lines().find_map(|line| line.strip_prefix("Pid:")).unwrap();
    pid.trim().parse().unwrap()
}

#[test]
fn losses_are_in_the_trace() {
    let filter = Some(format!("common_pid == {}", own_task()));
    let events = vec![choice("raw_syscalls", "sys_enter", filter)];
    let Some(mut recorder) = start("baro-trace-loss", events, 8) else { return };
    let burst = || (0..5_000).for_each(|_| drop(files::list(Path::new("/proc/self/fdinfo"))));
    burst();
    recorder.drain().unwrap();
    burst();
    let (bytes, summary) = recorder.finish([]).unwrap();
    let lost: u64 = summary.losses.iter().map(|cpu| cpu.total()).sum();
    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    assert_eq!(trace.losses(), summary.losses);
    let mut merged = trace.merge().unwrap();
    let (mut events, mut told, mut places) = (0, 0, 0);
    while let Some(item) = merged.next().unwrap() {
        match item {
            Item::Event { .. } => events += 1,
            // 60 of these events fill a page: no room to say how many were lost.
            Item::Lost { events, .. } => {
                places += 1;
                told += events.unwrap_or(0);
            }
            Item::Damaged { .. } => panic!("{item:?}"),
        }
    }
    assert!(lost > 0 && places > 0 && told <= lost, "{told} in {places} places, {lost}");
    assert!(events > 0 && events + lost >= 10_000, "{events} {lost}");
}

#[test]
fn says_what_is_missing() {
    let refused = |events: Vec<EventChoice>| {
        let options = Options {
            name: "baro-trace-none".to_owned(),
            buffer_kib: 8,
            events,
            surroundings: false,
            stacks: None,
        };
        Recorder::start(&options, Vec::new()).unwrap_err()
    };
    let error = refused(vec![choice("jbd2", "no_such_event", None)]);
    match &error {
        CollectError::NoEvents(events) => assert_eq!(events, &["jbd2/no_such_event"]),
        CollectError::Tracer(TraceError::NotMounted | TraceError::File { .. }) => {
            println!("skipped: no trace instance: {error}");
            return;
        }
        _ => panic!("{error}"),
    }
    assert!(error.to_string().contains("available_events"), "{error}");
    let error = refused(vec![choice("sched", "sched_switch", Some("nobody == 1".to_owned()))]);
    assert!(matches!(error, CollectError::Tracer(TraceError::Filter { .. })), "{error}");
}

#[test]
fn all_known_events_are_chosen_but_the_frequent_one() {
    let events = known_events(Some("dev == 5"), 42);
    // What another collector makes is not the tracer's to record.
    let of_probes = KNOWN.iter().filter(|(system, _)| *system == "baro").count();
    assert_eq!(of_probes, 7);
    assert_eq!(events.len(), KNOWN.len() - of_probes - 3);
    let filter = |system: &str, event: &str| {
        let is = |choice: &&EventChoice| choice.system == system && choice.event == event;
        events.iter().find(is).and_then(|choice| choice.filter.clone())
    };
    assert_eq!(filter("jbd2", "jbd2_run_stats").as_deref(), Some("dev == 5"));
    assert_eq!(filter("block", "block_rq_issue"), None);
    assert_eq!(filter("sched", "sched_switch"), None);
    assert!(filter("raw_syscalls", "sys_exit").unwrap().contains("common_pid != 42"));
    assert_eq!(filter("writeback", "global_dirty_state"), None);
}

#[test]
fn a_session_leaves_a_whole_trace() {
    let folder = std::env::temp_dir().join(format!("baro-trace-session-{}", std::process::id()));
    files::make_folder(&folder).unwrap();
    let path = folder.join("a.trace");
    let events = vec![choice("raw_syscalls", "sys_enter", None)];
    let name = "baro-trace-session".to_owned();
    let stacks = Some(STACKS_OF_ALL.to_owned());
    let options = Options { name, buffer_kib: 256, events, surroundings: true, stacks };
    let session = Session::start(&options, None, &path);
    if let Err(CollectError::Tracer(TraceError::NotMounted | TraceError::File { .. })) = &session {
        println!("skipped: no trace instance");
        files::remove_empty_folder(&folder).unwrap();
        return;
    }
    let mut session = session.unwrap();
    // While it is recorded it has another name.
    assert!(!path.exists() && folder.join("a.trace.part").exists());
    session.focus(&[1, 2]).unwrap();
    assert_eq!(session.turn().unwrap(), None);
    let summary = session.finish().unwrap();
    assert!(path.exists() && !folder.join("a.trace.part").exists());
    let bytes = baro_sys::files::open(&path).unwrap();
    let trace = TraceFile::open(std::io::BufReader::new(bytes)).unwrap();
    assert!(matches!(trace.ending(), Ending::Finished) && trace.pages() == summary.pages);
    assert_eq!(trace.facts().get(crate::file::FOCUS).map(String::as_str), Some("1\n2"));
    assert!(trace.facts().contains_key("/proc/self/mountinfo"));
    // What is there is not written over.
    let error = Session::start(&options, None, &path).unwrap_err().to_string();
    assert!(error.contains("is there already"), "{error}");
    files::remove(&path).unwrap();
    files::remove_empty_folder(&folder).unwrap();
}

//! Records a trace of this machine and prints what is in it, by decoding the file. OUT is a new file.
//!
//! ```text
//! record_trace OUT FOLDER SECONDS [load]
//! record_trace FILE
//! ```
//!
//! The second form prints what is in a trace that was recorded before.
//!
//! Events of jbd2 and ext4 are those of the file system that holds FOLDER. With `load`, a thread of
//! that name writes and syncs files in FOLDER, and scheduler, system calls and block layer are
//! limited to it and the journal: so a trace stays small enough to be kept with the tests.
#![allow(clippy::disallowed_methods, reason = "an example is a program: it opens its files itself")]

use baro_sys::{clock, files, tracefs};
use baro_trace::collect::{EventChoice, Options, STACKS_OF_ALL, Session, known_events};
use baro_trace::file::{Item, TraceFile};
use baro_trace::schema::Schemas;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

const DRAIN_EVERY_NS: u64 = 20_000_000;
/// Syncs of the load; the first makes the file and its folder durable.
const SYNCS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [file] = &args[..] {
        return print(Path::new(file));
    }
    let [out, folder, seconds, rest @ ..] = &args[..] else {
        return Err("usage: record_trace OUT FOLDER SECONDS [load] | FILE".into());
    };
    let load = rest.first().is_some_and(|word| word == "load");
    let duration_ns = (seconds.parse::<f64>()?.clamp(0.0, 1e6) * 1e9) as u64;
    record(Path::new(out), Path::new(folder), duration_ns, load)?;
    print(Path::new(out))
}

fn record(out: &Path, folder: &Path, duration_ns: u64, load: bool) -> Result<(), Box<dyn Error>> {
    let filter = tracefs::device_filter(folder)?;
    let mut events = known_events(Some(&filter), std::process::id());
    let mut stacks = STACKS_OF_ALL.to_owned();
    if load {
        events.iter_mut().for_each(|choice| narrow(choice, &filter));
        stacks = format!("{stacks} && ({})", ours("prev_comm"));
    }
    let name = "baro-record-trace".to_owned();
    let stacks = Some(stacks);
    let options = Options { name, buffer_kib: 4_096, events, surroundings: !load, stacks };
    let mut session = Session::start(&options, None, out)?;
    let begin_ns = clock::monotonic_ns();
    let path = folder.join("record_trace.load");
    let writer = load.then(|| {
        let path = path.clone();
        std::thread::Builder::new().name("load".to_owned()).spawn(move || write_and_sync(&path))
    });
    while clock::monotonic_ns().saturating_sub(begin_ns) < duration_ns {
        // Else each page would have a few events only, and the trace more pages than it needs.
        if load {
            clock::sleep_ns(DRAIN_EVERY_NS);
        } else {
            session.turn()?;
        }
    }
    if let Some(writer) = writer {
        writer?.join().map_err(|_| "the load has panicked")??;
        files::remove(&path)?;
    }
    let cpu_ns = files::read_text(Path::new("/proc/self/schedstat"), 100)?;
    let summary = session.finish()?;
    println!("missing events {}", summary.missing_events.join(" "));
    println!("processor time of the recorder {} ns", cpu_ns.split(' ').next().unwrap_or(""));
    Ok(())
}

/// Tasks of the load and of journals, by a field with a name.
fn ours(field: &str) -> String {
    format!("{field} ~ \"jbd2*\" || {field} == \"load\"")
}

/// Limits an event to the load and the journal.
fn narrow(choice: &mut EventChoice, device_filter: &str) {
    choice.filter = Some(match (choice.system.as_str(), choice.event.as_str()) {
        ("sched", "sched_switch") => format!("{} || {}", ours("prev_comm"), ours("next_comm")),
        ("sched", "sched_process_fork") => ours("parent_comm"),
        ("sched", _) => ours("comm"),
        ("raw_syscalls" | "writeback" | "vmscan", _) => "COMM == \"load\"".to_owned(),
        _ => device_filter.to_owned(),
    });
}

fn write_and_sync(path: &Path) -> std::io::Result<()> {
    let file = files::create(path)?;
    for number in 0..SYNCS {
        files::write_at(&file, &[number as u8; 16_384], number * 16_384)?;
        file.sync_all()?;
    }
    Ok(())
}

fn print(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut trace = TraceFile::open(BufReader::new(File::open(path)?))?;
    println!("{:?}", trace.machine());
    println!(
        "ending {:?}, {} tasks, {} devices",
        trace.ending(),
        trace.tasks().len(),
        trace.devices().len()
    );
    for loss in trace.losses().iter().filter(|loss| loss.total() > 0) {
        println!("lost {loss:?}");
    }
    let events = trace.events().clone();
    let schemas = Schemas::resolve(&events)?;
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    let (mut first_ns, mut last_ns, mut lost, mut damaged) = (None, 0, 0, 0_u64);
    let begin_ns = clock::monotonic_ns();
    let mut merged = trace.merge()?;
    while let Some(item) = merged.next()? {
        match item {
            Item::Event { time_ns, id, payload, .. } => {
                schemas.decode(id, payload)?;
                *counts.entry(id).or_default() += 1;
                first_ns.get_or_insert(time_ns);
                last_ns = time_ns;
            }
            Item::Lost { events, .. } => lost += events.unwrap_or(1),
            Item::Damaged { error, .. } => {
                println!("damaged: {error}");
                damaged += 1;
            }
        }
    }
    let decode_ns = clock::monotonic_ns().saturating_sub(begin_ns);
    for (id, count) in &counts {
        println!("{count:8} {}", events.event(*id).map_or("?", |event| &event.format.name));
    }
    let total: u64 = counts.values().sum();
    println!("{total:8} events in {} ns", last_ns - first_ns.unwrap_or(last_ns));
    println!("told as lost in pages {lost}, damaged pages {damaged}, decoded in {decode_ns} ns");
    Ok(())
}

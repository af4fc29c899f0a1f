//! Prints what the probes tell while files in a folder are written and synced: to see what a kernel
//! lets them tell.
//!
//! ```text
//! watch_probes FOLDER [FILES=20]
//! ```
//!
//! Goes the way of a recording: pages, a trace file in memory, its reader.
#![allow(clippy::disallowed_methods, reason = "an example is a program: it opens its files itself")]

use baro_probes::{PROBES_CPU, ProbeOptions, Probes, formats, header_event, header_page};
use baro_sys::clock;
use baro_trace::collect::this_machine;
use baro_trace::file::{Item, Preamble, TraceFile, TraceWriter};
use baro_trace::schema::Schemas;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::Path;

/// Of each kind of event.
const SHOWN: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = &args[..] else {
        return Err("usage: watch_probes FOLDER [FILES]".into());
    };
    let folder = Path::new(folder);
    let files: u32 = rest.first().map_or(Ok(20), |number| number.parse())?;
    let options = ProbeOptions {
        min_held_ns: 0,
        min_handle_ns: 0,
        own_sleeps: true,
        ..ProbeOptions::default()
    };
    let begin_ns = clock::monotonic_ns();
    let mut probes = Probes::start(&options)?;
    println!("started in {} ms", (clock::monotonic_ns() - begin_ns) / 1_000_000);
    println!("missing tracepoints {:?}", probes.missing());
    let preamble = Preamble {
        machine: this_machine(1),
        header_page: header_page().into(),
        header_event: header_event().into(),
        formats: formats(),
    };
    let mut writer = TraceWriter::new(Vec::new(), &preamble)?;
    for number in 0..files {
        let path = folder.join(format!("watch_probes-{number}"));
        let mut file = File::create(&path)?;
        file.write_all(&[1; 50_000])?;
        file.sync_all()?;
        fs::remove_file(path)?;
        probes.drain(&mut |page| writer.page(PROBES_CPU, page))?;
    }
    let summary = probes.finish(&mut |page| writer.page(PROBES_CPU, page))?;
    println!("{summary:?}");
    let mut trace = TraceFile::open(Cursor::new(writer.finish(&[summary.losses])?))?;
    let events = trace.events().clone();
    let schemas = Schemas::resolve(&events)?;
    let mut counts: BTreeMap<u16, u32> = BTreeMap::new();
    let mut merged = trace.merge()?;
    while let Some(item) = merged.next()? {
        let Item::Event { time_ns, id, payload, .. } = item else {
            println!("{item:?}");
            continue;
        };
        let count = counts.entry(id).or_default();
        *count += 1;
        if *count <= SHOWN {
            println!("{time_ns} {} {:?}", events.pid(payload)?, schemas.decode(id, payload)?);
        }
    }
    for (id, count) in counts {
        println!("{count:8} {}", events.event(id).map_or("?", |event| &event.format.name));
    }
    Ok(())
}

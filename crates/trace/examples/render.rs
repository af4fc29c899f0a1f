//! Draws a recorded trace, without reasons: a file for Perfetto and a page.
//!
//! ```text
//! render FILE OUT.pftrace OUT.html
//! ```
//!
//! The longest calls stand for slow ones, with no chain: finding reasons is not the example's.
#![allow(clippy::disallowed_methods, reason = "an example is a program: it opens its files itself")]

use baro_trace::file::TraceFile;
use baro_trace::record::Device;
use baro_trace::render::{Names, SlowCall, View, html, perfetto};
use baro_trace::timeline::{Limits, Timeline};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;

/// Calls that are shown as slow.
const SLOW: usize = 20;

/// Names that the trace itself has.
#[derive(Debug)]
struct OfTrace(BTreeMap<Device, String>);

impl Names for OfTrace {
    fn device(&self, device: Device) -> Option<String> {
        self.0.get(&device).cloned()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, trace_out, page_out] = &args[..] else {
        return Err("usage: render FILE OUT.pftrace OUT.html".into());
    };
    let mut trace = TraceFile::open(File::open(file)?)?;
    let line = Timeline::of(&mut trace, Limits::default())?;
    let devices = trace.devices().iter().map(|(device, name)| (*device, name.to_string()));
    let names = OfTrace(devices.collect());
    let slow = longest(&line);
    let view = View {
        title: file,
        machine: trace.machine(),
        line: &line,
        slow: &slow,
        names: &names,
        remarks: &["Drawn by an example: nobody looked for reasons.".to_owned()],
    };
    perfetto(&view, File::create(trace_out)?)?;
    html(&view, File::create(page_out)?)?;
    println!("{} events of {} tasks", line.events, line.tasks.len());
    Ok(())
}

fn longest(line: &Timeline) -> Vec<SlowCall> {
    let mut slow: Vec<SlowCall> = Vec::new();
    for (pid, task) in &line.tasks {
        for call in &task.calls {
            let wait_ns = call.end_ns.unwrap_or(line.end_ns).saturating_sub(call.begin_ns);
            slow.push(SlowCall {
                pid: *pid,
                task: task.name.to_string(),
                call: format!("system call {}", call.number),
                begin_ns: call.begin_ns,
                end_ns: call.end_ns.unwrap_or(line.end_ns),
                wait_ns,
                unexplained_ns: wait_ns,
                sentence: format!("{} spent {wait_ns} ns in one call.", task.name),
                ..SlowCall::default()
            });
        }
    }
    slow.sort_by_key(|call| (Reverse(call.wait_ns), call.begin_ns));
    slow.truncate(SLOW);
    slow
}

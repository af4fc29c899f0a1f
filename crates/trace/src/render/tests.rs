//! Pictures of recorded traces and of made-up ones.

mod any;
pub(in crate::render) mod decoder;
mod page;
mod trace;

use super::{Names, SlowCall, SlowLink, View, html, perfetto};
use crate::file::{Machine, TraceFile};
use crate::record::Device;
use crate::timeline::{Limits, StackId, Timeline};
use std::io::Cursor;

const FIXTURES: [(&str, &[u8]); 4] = [
    ("5.10", include_bytes!("../../../../testdata/trace/5.10.trace")),
    ("6.1", include_bytes!("../../../../testdata/trace/6.1.trace")),
    ("6.12", include_bytes!("../../../../testdata/trace/6.12.trace")),
    ("6.18", include_bytes!("../../../../testdata/trace/6.18.trace")),
];

/// Names that would be markup, were they not escaped.
#[derive(Debug)]
struct Hostile;

impl Names for Hostile {
    fn call(&self, number: i64) -> Option<String> {
        Some(format!("<script>call({number})</script>"))
    }

    fn place(&self, _: StackId) -> Option<String> {
        Some("jbd2_log_wait_commit\"'<b>&amp;".to_owned())
    }

    fn device(&self, _: Device) -> Option<String> {
        Some("\"".repeat(500))
    }
}

/// A trace with the machine it is of.
fn fixture(bytes: &[u8]) -> (Machine, Timeline) {
    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    let limits = Limits {
        min_call_ns: 0,
        min_wait_ns: 0,
        min_handle_wait_ns: 0,
        min_handle_open_ns: 0,
        ..Limits::default()
    };
    let line = Timeline::of(&mut trace, limits).unwrap();
    (trace.machine().clone(), line)
}

/// A slow call for each of the longest calls, with a chain that is made up.
fn slow_calls(line: &Timeline, count: usize) -> Vec<SlowCall> {
    let mut calls: Vec<SlowCall> = Vec::new();
    for (pid, task) in &line.tasks {
        for call in &task.calls {
            let wait_ns = call.end_ns.unwrap_or(line.end_ns).saturating_sub(call.begin_ns);
            let link = |depth: usize, part: u64| SlowLink {
                depth,
                who: "jbd2/loop0-8 <i>".to_owned(),
                pid: (depth > 0).then_some(*pid),
                waits_for: format!("the commit of transaction {depth}"),
                place: "jbd2_log_wait_commit".to_owned(),
                begin_ns: call.begin_ns + wait_ns / 10 * (10 - part),
                end_ns: call.begin_ns + wait_ns,
                ns: wait_ns / 10 * part,
                count: 1,
                cause: "it writes 12 blocks & waits for the disk".to_owned(),
            };
            calls.push(SlowCall {
                pid: *pid,
                task: task.name.to_string(),
                call: format!("call {}", call.number),
                begin_ns: call.begin_ns,
                end_ns: call.begin_ns + wait_ns,
                wait_ns,
                unexplained_ns: wait_ns / 10,
                sentence: format!("<script>alert({pid})</script> waited & waited"),
                links: vec![link(0, 9), link(1, 8), link(2, 3), link(1, 1)],
                advice: vec![(
                    "sysctl -w vm.dirty_bytes=\"1 << 20\"".to_owned(),
                    "less is dirty".to_owned(),
                    "writers wait earlier".to_owned(),
                )],
            });
        }
    }
    calls.sort_by_key(|call| (std::cmp::Reverse(call.wait_ns), call.begin_ns));
    calls.truncate(count);
    calls
}

fn drawn(view: &View<'_>) -> (Vec<u8>, String) {
    let (mut trace, mut page) = (Vec::new(), Vec::new());
    perfetto(view, &mut trace).unwrap();
    html(view, &mut page).unwrap();
    (trace, String::from_utf8(page).unwrap())
}

#[test]
fn an_output_that_is_full_is_an_error() {
    let (machine, line) = fixture(FIXTURES[3].1);
    let view =
        View { title: "t", machine: &machine, line: &line, slow: &[], names: &(), remarks: &[] };
    for room_bytes in [0, 10, 1_000] {
        let mut room = vec![0; room_bytes];
        assert!(perfetto(&view, Cursor::new(&mut room[..])).is_err());
        assert!(html(&view, Cursor::new(&mut room[..])).is_err());
    }
}

//! An explanation in English.

use super::{Cause, Explanation, Knowledge, Node, SlowCall};
use baro_show::duration;
use std::fmt::{self, Write};

/// Parts of a wait that are told beside the longest: those of a tenth of it.
const PART: u64 = 10;

/// The report.
#[must_use]
pub fn describe(known: &Knowledge, explanation: &Explanation) -> String {
    let mut text = String::new();
    let _ = write_all(known, explanation, &mut text);
    text
}

fn write_all(known: &Knowledge, explanation: &Explanation, out: &mut String) -> fmt::Result {
    let told = explanation.calls.len() as u64;
    writeln!(
        out,
        "{} slow calls in {}{}",
        explanation.slow_calls,
        duration(known.line.duration_ns()),
        if told < explanation.slow_calls {
            format!(", the {told} longest:")
        } else {
            String::new()
        }
    )?;
    for call in &explanation.calls {
        writeln!(out)?;
        writeln!(out, "{}", sentence(call))?;
        tree(known, &call.tree, 1, call.wait_ns, out)?;
        if call.unexplained_ns > 0 {
            writeln!(out, "  {} unexplained", duration(call.unexplained_ns))?;
        }
        for one in &call.advice {
            writeln!(out, "  try: {}", one.command)?;
            writeln!(out, "       {}; price: {}", one.effect, one.price)?;
        }
    }
    if explanation.slow_calls > 0 {
        writeln!(out, "\nall slow calls by what is behind them:")?;
    }
    for (cause, ns, count) in &explanation.causes {
        writeln!(out, "  {:>9} {count:>6} calls  {}", duration(*ns), cause.name())?;
    }
    for note in &explanation.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

/// The chain of a call in one sentence.
pub(super) fn sentence(call: &SlowCall) -> String {
    let place = match (&call.mount, call.call.as_str()) {
        (Some(mount), _) => format!(" on {mount}"),
        (None, _) => String::new(),
    };
    let mut text = format!(
        "{}() of {} (pid {}){place} waited {}",
        call.call,
        call.comm,
        call.pid,
        duration(call.wait_ns)
    );
    let mut who = call.pid;
    for (index, link) in call.chain.iter().enumerate() {
        let glue = match index {
            0 => ": ".to_owned(),
            _ if link.cause == Cause::Running => {
                let _ = write!(text, "; {} ran for {} of it", link.who, duration(link.ns));
                who = link.pid;
                continue;
            }
            _ if link.pid != who => format!("; {} waited ", link.who),
            _ => ", that is ".to_owned(),
        };
        let place =
            if link.place.is_empty() { String::new() } else { format!(" ({})", link.place) };
        let _ = write!(text, "{glue}{} for {}{place}", duration(link.ns), link.cause.phrase());
        who = link.pid;
    }
    text
}

fn tree(
    known: &Knowledge,
    nodes: &[Node],
    depth: usize,
    whole_ns: u64,
    out: &mut String,
) -> fmt::Result {
    for node in nodes.iter().filter(|node| node.ns * PART >= whole_ns) {
        let indent = "  ".repeat(depth);
        let who = if depth == 1 { String::new() } else { format!("{} ", known.who(node.pid)) };
        match node.cause {
            Cause::Running => write!(out, "{indent}{} {who}ran", duration(node.ns))?,
            cause => write!(out, "{indent}{} {who}for {}", duration(node.ns), cause.phrase())?,
        }
        if !node.place.is_empty() {
            write!(out, " [{}]", node.place)?;
        }
        if node.count > 1 {
            write!(out, " x {}", node.count)?;
        }
        if !node.evidence.is_empty() {
            write!(out, ": {}", node.evidence)?;
        }
        writeln!(out)?;
        tree(known, &node.children, depth + 1, node.ns, out)?;
    }
    Ok(())
}

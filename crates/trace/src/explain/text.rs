//! An explanation in English.
//!
//! Tasks, mounts and devices are named as others named them, so that each line goes through
//! [`push_line`]. Invariant: one line of the report stays one line. Held by
//! `foreign_names_of_tasks_stay_in_their_line`.

use super::{Cause, Evidence, Explanation, Knowledge, Node, SlowCall};
use baro_show::{duration, push_line};
use std::fmt::Write;

/// Parts of a wait that are told beside the longest: those of a tenth of it.
const PART: u64 = 10;

/// The report.
#[must_use]
pub fn describe(known: &Knowledge, explanation: &Explanation) -> String {
    let mut text = String::new();
    let out = &mut text;
    let told = explanation.calls.len() as u64;
    let longest = if told < explanation.slow_calls {
        format!(", the {told} longest:")
    } else {
        String::new()
    };
    let span = duration(known.line.duration_ns());
    push_line(out, format_args!("{} slow calls in {span}{longest}", explanation.slow_calls));
    for call in &explanation.calls {
        push_line(out, format_args!(""));
        push_line(out, format_args!("{}", sentence(call)));
        tree(known, &call.tree, 1, call.wait_ns, out);
        if call.unexplained_ns > 0 {
            push_line(out, format_args!("  {} unexplained", duration(call.unexplained_ns)));
        }
        for one in &call.advice {
            push_line(out, format_args!("  try: {}", one.command));
            push_line(out, format_args!("       {}; price: {}", one.effect, one.price));
        }
    }
    if explanation.slow_calls > 0 {
        push_line(out, format_args!(""));
        push_line(out, format_args!("all slow calls by what is behind them:"));
    }
    for (cause, ns, count) in &explanation.causes {
        let (ns, cause) = (duration(*ns), cause.name());
        push_line(out, format_args!("  {ns:>9} {count:>6} calls  {cause}"));
    }
    for note in &explanation.notes {
        push_line(out, format_args!("note: {note}"));
    }
    text
}

/// The chain of a call in one sentence.
pub(super) fn sentence(call: &SlowCall) -> String {
    let place = match (&call.mount, call.call.as_str()) {
        (Some(mount), _) => format!(" on {mount}"),
        (None, _) => String::new(),
    };
    let made = match call.call.as_str() {
        "page fault" => "a page fault of ".to_owned(),
        "io_uring" => "work for io_uring of ".to_owned(),
        "its own code" => String::new(),
        name => format!("{name}() of "),
    };
    let waited = match (call.began_before, call.is_open) {
        (false, false) => "waited",
        (true, false) => "was waiting when the recording began, and waited, as far as is known,",
        (false, true) => "waits still at the end of the recording, by then for",
        (true, true) => {
            "waits from before the recording till after its end, as far as is known for"
        }
    };
    let mut text = format!(
        "{made}{} (pid {}){place} {waited} {}",
        call.comm,
        call.pid,
        duration(call.wait_ns)
    );
    // Beside its waits it ran: for who called it the call is as long as both.
    let took_ns = call.end_ns.saturating_sub(call.begin_ns);
    if took_ns.saturating_sub(call.wait_ns) > call.wait_ns / 50 {
        let _ = write!(text, " of {}", duration(took_ns));
    }
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
        let how = match link.known_by {
            Evidence::AbsenceAndSetting => " as a setting says: not seen itself",
            Evidence::Absence if link.cause != Cause::Unknown => " perhaps: nothing shows it",
            _ => "",
        };
        let phrase = phrase(link.cause, link.detail);
        let _ = write!(text, "{glue}{} for {phrase}{place}{how}", duration(link.ns));
        who = link.pid;
    }
    text
}

/// What is waited for, as exactly as it is known.
fn phrase(cause: Cause, detail: Option<&'static str>) -> &'static str {
    match (cause, detail) {
        (Cause::Cpu, Some("cpu_quota")) => "its control group's next share of the processors",
        (Cause::DataRead, Some("swap_in")) => "memory to be read from swap",
        (Cause::Lock, Some("file_lock")) => "a lock of a file (flock, fcntl)",
        (Cause::Lock, Some("lease")) => "another program to give up its lease of the file",
        (Cause::DirectIo, Some("io_uring")) => "I/O that it gave to io_uring",
        (Cause::DirectIo, Some("aio")) => "I/O that it submitted",
        (Cause::Daemon, Some("fuse")) => "the program that is the file system (FUSE)",
        (Cause::Daemon, Some("nfs_server")) => "the server of the file system",
        (Cause::Commit, Some("fast_commit")) => "a fast commit of the journal",
        (Cause::QueueFrozen, Some("suspended")) => {
            "a mapping to be resumed: it is suspended while its table is changed"
        }
        (Cause::Stopped, Some("signal")) => "being allowed to go on: a signal had stopped it",
        (Cause::Stopped, Some("freezer")) => "its control group to be thawed",
        (Cause::Stopped, Some("debugger")) => "its debugger",
        _ => cause.phrase(),
    }
}

fn tree(known: &Knowledge, nodes: &[Node], depth: usize, whole_ns: u64, out: &mut String) {
    for node in nodes.iter().filter(|node| node.ns.saturating_mul(PART) >= whole_ns) {
        let who = if depth == 1 { String::new() } else { format!("{} ", known.who(node.pid)) };
        let what = match node.cause {
            Cause::Running => format!("{who}ran"),
            cause => format!("{who}for {}", phrase(cause, node.detail)),
        };
        let place =
            if node.place.is_empty() { String::new() } else { format!(" [{}]", node.place) };
        let count = if node.count > 1 { format!(" x {}", node.count) } else { String::new() };
        let evidence =
            if node.evidence.is_empty() { String::new() } else { format!(": {}", node.evidence) };
        let (indent, ns) = ("  ".repeat(depth), duration(node.ns));
        push_line(out, format_args!("{indent}{ns} {what}{place}{count}{evidence}"));
        tree(known, &node.children, depth + 1, node.ns, out);
    }
}

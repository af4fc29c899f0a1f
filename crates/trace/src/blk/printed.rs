//! Events of requests as programs print the kernel's own text of them, a line for each.
//!
//! ```text
//! ftrace:    dd-10189 [001] d..1. 48008.400337: block_rq_issue: 7,0 WS 65536 () 0 + 128 be,0,4 [dd]
//! trace-cmd: dd-10189 [001] 48008.400337: block_rq_issue:       7,0 WS 65536 () 0 + 128 [dd]
//! perf:      dd 10189 [001] 48008.400337: block:block_rq_issue: 7,0 WS 65536 () 0 + 128 0x2,0,4 [dd]
//! ```
//!
//! Task and processor, seconds, event, and then what the kernel prints of it: device, class, bytes (not
//! of what is done or given back), the driver's own command in parentheses, sector and length in sectors,
//! the priority from 6.5 on, and in brackets the task's name or the error. Names of tasks can have
//! blanks, so a line is read from its time on and back from its processor.
//!
//! Invariant: any line is an event, passed over, or not understood; one of a request that is not
//! understood is never passed over. Held by `lines_are_read_as_programs_print_them` and the fuzz target
//! `blk_printed`.

use super::blkparse::Line;
use super::event::BlockEvent;
use crate::record::{Device, Name};
use crate::schema::{KernelEvent, RqComplete, RqInsert, RqIssue, RqRequeue};

/// Reads a line.
#[must_use]
pub fn parse_line(line: &str) -> Line {
    let Some(found) = find(line) else { return Line::PassedOver };
    match event(&found) {
        Some(event) => Line::Event(event),
        None => Line::Bad,
    }
}

/// Events that the kernel, or the program, says are missing: `CPU:0 [LOST 12 EVENTS]`,
/// `CPU:0 [12 EVENTS DROPPED]`, and of a ring that has gone round
/// `# entries-in-buffer/entries-written: 100/250`.
#[must_use]
pub fn lost(line: &str) -> Option<u64> {
    let line = line.trim();
    if let Some(counts) = line.strip_prefix("# entries-in-buffer/entries-written:") {
        let (kept, written) = counts.split_whitespace().next()?.split_once('/')?;
        let (kept, written): (u64, u64) = (kept.parse().ok()?, written.parse().ok()?);
        return Some(written.saturating_sub(kept));
    }
    let (_, inside) = line.strip_prefix("CPU:")?.split_once('[')?;
    let inside = inside.strip_suffix(']')?;
    let dropped = || inside.strip_suffix(" EVENTS DROPPED");
    inside
        .strip_prefix("LOST ")
        .and_then(|rest| rest.strip_suffix(" EVENTS"))
        .or_else(dropped)?
        .parse()
        .ok()
}

/// A line of a request's event, in its parts.
struct Found<'a> {
    /// Before the time: task, processor, flags.
    task: &'a str,
    /// None: there is no time where it should be.
    time_ns: Option<u64>,
    event: &'a str,
    /// Behind the event's name.
    rest: &'a str,
}

fn find(line: &str) -> Option<Found<'_>> {
    let (mut at, mut before) = (0, None);
    for word in line.split_ascii_whitespace() {
        // Words are parts of the line, in their order.
        let start = at + line.get(at..)?.find(word)?;
        at = start + word.len();
        if let Some(event) = of_request(word) {
            let (task_end, time_ns) = match before {
                Some((start, word)) => (start, time_ns(word)),
                None => (0, None),
            };
            let (task, rest) = (line.get(..task_end)?, line.get(at..)?);
            return Some(Found { task, time_ns, event, rest });
        }
        before = Some((start, word));
    }
    None
}

/// The name of an event that is accounted for.
fn of_request(word: &str) -> Option<&str> {
    let name = word.strip_suffix(':')?;
    let name = name.strip_prefix("block:").unwrap_or(name);
    let known = ["block_rq_insert", "block_rq_issue", "block_rq_requeue", "block_rq_complete"];
    known.contains(&name).then_some(name)
}

/// `48008.400337:`, with six digits behind the point or nine.
fn time_ns(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    let scale = match fraction.len() {
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    let (seconds, fraction): (u64, u64) = (number(seconds)?, number(fraction)?);
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction.checked_mul(scale)?)
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    // A sign is none of the kernel's.
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

fn event(found: &Found<'_>) -> Option<BlockEvent> {
    let time_ns = found.time_ns?;
    let has_bytes = matches!(found.event, "block_rq_insert" | "block_rq_issue");
    let (dev, rest) = word(found.rest)?;
    let (major, minor) = dev.split_once(',')?;
    let (major, minor): (u32, u32) = (number(major)?, number(minor)?);
    if major >= 1 << 12 || minor >= 1 << 20 {
        return None;
    }
    let dev = Device::new(major, minor);
    let (class, rest) = word(rest)?;
    let (bytes, rest) = if has_bytes { word(rest)? } else { ("0", rest) };
    let bytes = number(bytes)?;
    let rest = rest.trim_start().strip_prefix('(')?.split_once(')')?.1;
    let (sector, rest) = word(rest)?;
    let sector = number(sector)?;
    let (plus, rest) = word(rest)?;
    let (sectors, rest) = word(rest)?;
    let sectors = number(sectors).filter(|_| plus == "+")?;
    // The name can have any characters: it is what is between the first bracket and the last.
    let (_priority, inside) = rest.split_once('[')?;
    let inside = inside.get(..inside.rfind(']')?)?;
    let (rwbs, comm, ioprio) = (Name::new(class.as_bytes()), Name::new(inside.as_bytes()), None);
    let event = match found.event {
        "block_rq_insert" => {
            KernelEvent::RqInsert(RqInsert { dev, sector, sectors, bytes, ioprio, rwbs, comm })
        }
        "block_rq_issue" => {
            KernelEvent::RqIssue(RqIssue { dev, sector, sectors, bytes, ioprio, rwbs, comm })
        }
        "block_rq_requeue" => {
            KernelEvent::RqRequeue(RqRequeue { dev, sector, sectors, ioprio, rwbs })
        }
        _ => {
            let error = inside.parse().ok()?;
            KernelEvent::RqComplete(RqComplete { dev, sector, sectors, error, ioprio, rwbs })
        }
    };
    BlockEvent::from_kernel(time_ns, pid(found.task), &event)
}

/// The next word and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The task's number: in the word before the processor, `dd-10189`, `10189` or `10189/10190` (process and
/// task); `(  123)` between is the process. -1 where the program was told not to print it.
fn pid(task: &str) -> i32 {
    let words: Vec<&str> = task.split_ascii_whitespace().collect();
    let cpu = words.iter().rposition(|word| {
        let inside = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        inside.is_some_and(|inside| number::<u32>(inside).is_some())
    });
    let before = words.get(..cpu.unwrap_or(words.len())).unwrap_or_default();
    let own = before.iter().rev().find(|word| !word.starts_with('(') && !word.ends_with(')'));
    let last = own.and_then(|word| word.rsplit(['-', '/']).next());
    last.and_then(number).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blk::{Class, Column, Kind, Process};

    fn of(line: &str) -> BlockEvent {
        match parse_line(line) {
            Line::Event(event) => event,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lines_are_read_as_programs_print_them() {
        let expected = BlockEvent {
            time_ns: 48_008_400_337_000,
            device: Device::new(7, 0),
            kind: Kind::Issue,
            sector: 8,
            bytes: 65_536,
            class: Class::parse(b"WS"),
            process: Process { pid: 10_189, comm: Name::new(b"d d") },
        };
        for line in [
            "d d-10189   [001] d..1. 48008.400337: block_rq_issue: 7,0 WS 65536 () 8 + 128 be,0,4 [d d]",
            "d d-10189   (  10180) [001] d..1. 48008.400337: block_rq_issue: 7,0 WS 65536 () 8 + 128 [d d]",
            " d d-10189 [001] 48008.400337000: block_rq_issue:       7,0 WS 65536 () 8 + 128 none,0,0 [d d]",
            " d d 10189 [001] 48008.400337:   block:block_rq_issue: 7,0 WS 65536 () 8 + 128 0x2,0,4 [d d]",
            " d d 10180/10189 [001] 48008.400337: block:block_rq_issue: 7,0 WS 65536 () 8 + 128 [d d]\r",
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
        let done =
            of("<idle>-0 [1] 1.000002: block_rq_complete: 259,1 FWFSM (f 0) 18 + 8 none,0,0 [-5]");
        assert_eq!((done.kind, done.bytes), (Kind::Complete { failed: true }, 4_096));
        assert_eq!((done.sector, done.process.pid), (18, 0));
        let flush =
            of("a 9 [000] 1.000002: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [a]");
        assert_eq!((flush.sector, flush.bytes, flush.class.column(true)), (0, 0, Column::Flush));
        let own = of("a-9 [000] 1.000002: block_rq_issue: 8,0 N 36 (12 00 00) 0 + 0 [a] b]");
        assert_eq!((own.bytes, own.class.column(false)), (36, Column::Other));
        assert_eq!(own.process.comm, Name::new(b"a] b"));
        let back = of("a-9 [000] 1.000002: block_rq_requeue: 8,0 W () 8 + 16 [0]");
        assert_eq!((back.kind, back.bytes), (Kind::Requeue, 8_192));
        assert_eq!(
            of("a-9 [0] 1.000002: block_rq_insert: 8,0 W 512 () 8 + 1 [a]").kind,
            Kind::Insert
        );
        // Without task and processor, as `perf script -F time,event,trace` prints it.
        assert_eq!(of("1.000002: block:block_rq_issue: 8,0 W 512 () 8 + 1 [a]").process.pid, -1);
    }

    #[test]
    fn what_is_no_event_of_a_request_is_passed_over_or_named() {
        for line in [
            "",
            "# tracer: nop",
            "cpus=2",
            "dd-9 [001] d..1. 1.000002: block_bio_queue: 7,0 WS 0 + 128 [dd]",
            "dd 9 [001] 1.000002: block:block_plug: [dd]",
            "dd-9 [001] 1.000002: sched_switch: prev_comm=block_rq_issue ==> next_comm=x",
            "8,0 1 1 0.000000001 9 D W 8 + 8 [x]",
        ] {
            assert_eq!(parse_line(line), Line::PassedOver, "{line}");
        }
        for line in [
            "block_rq_issue: 8,0 W 512 () 8 + 1 [a]",
            "a-9 [0] 1.02: block_rq_issue: 8,0 W 512 () 8 + 1 [a]",
            "a-9 [0] 1.000002: block_rq_issue: 8,0 W () 8 + 1 [a]",
            "a-9 [0] 1.000002: block_rq_issue: 8,0 W 512 () 8 + 1",
            "a-9 [0] 1.000002: block_rq_issue: 8,0 W 512 () -8 + 1 [a]",
            "a-9 [0] 1.000002: block_rq_issue: 8,0 W 512 () 8 - 1 [a]",
            "a-9 [0] 1.000002: block_rq_issue: dev=8388608 sector=8",
            "a-9 [0] 1.000002: block_rq_complete: 8,0 W () 8 + 1 [a]",
            "a-9 [0] 1.000002: block_rq_complete: 4096,0 W () 8 + 1 [0]",
            "a-9 [0] 99999999999999999999.000002: block_rq_complete: 8,0 W () 8 + 1 [0]",
            "a-9 [0] 1.000002: block_rq_complete:",
        ] {
            assert_eq!(parse_line(line), Line::Bad, "{line}");
        }
    }

    #[test]
    fn what_is_lost_is_read() {
        assert_eq!(lost("CPU:1 [LOST 12 EVENTS]"), Some(12));
        assert_eq!(lost("CPU:0 [7 EVENTS DROPPED]"), Some(7));
        assert_eq!(lost("# entries-in-buffer/entries-written: 100/250   #P:2"), Some(150));
        for line in
            ["", "CPU:0", "CPU:0 [x EVENTS DROPPED]", "# entries-in-buffer/entries-written: 1"]
        {
            assert_eq!(lost(line), None, "{line}");
        }
    }
}

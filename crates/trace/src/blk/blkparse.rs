//! The text of blkparse in its default form, a line for each event.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  D   W 223490 + 8 [kjournald]
//!   8,0    3       12     0.009632111     0  C   W 223490 + 8 [0]
//! ```
//!
//! Device, processor, number, seconds, task, action, class; then, of a request, sector and length in
//! sectors, and the task's name or the error. Where there are no sectors, there is only the name
//! (issue) or the sector (completion); of a command of the driver's own there is the number of
//! bytes. What does not begin with a device is a summary, and passed over.
//!
//! Invariant: any line is an event, passed over, or counted as not understood. Held by
//! `lines_are_read_as_blkparse_writes_them` and the fuzz target `blk_blkparse`.

use super::accounting::Accounting;
use super::class::{Class, Operation};
use super::event::{BlockEvent, Kind, Process, place};
use super::printed;
use crate::record::{Device, Name};
use std::io::{self, BufRead, Read};

/// The longest line; a longer one is not understood, and costs only itself.
pub const LINE_BYTES_MAX: u64 = 64 << 10;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Something happens to a request.
    Event(BlockEvent),
    /// Another event, or no event at all: a summary.
    PassedOver,
    /// An event in another form.
    Bad,
}

/// What was in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextCounts {
    /// All lines.
    pub lines: u64,
    /// Events of requests.
    pub events: u64,
    /// Those of them that the kernel printed: see [`printed`].
    pub printed_events: u64,
    /// Those that tell that something is done.
    pub completions: u64,
    /// Events of which a line says that they are missing.
    pub lost_events: u64,
    /// Lines that are not understood.
    pub bad_lines: u64,
    /// The number of the first of them, from 1, and its beginning.
    pub first_bad: Option<(u64, String)>,
}

/// Reads a line.
#[must_use]
pub fn parse_line(line: &str) -> Line {
    let mut words = line.split_whitespace();
    let Some(device) = words.next().and_then(device) else { return Line::PassedOver };
    match event(device, line, words) {
        None => Line::Bad,
        Some(None) => Line::PassedOver,
        Some(Some(event)) => Line::Event(event),
    }
}

fn device(word: &str) -> Option<Device> {
    let (major, minor) = word.split_once(',')?;
    let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then(|| Device::new(major, minor))
}

/// None: in another form; Some(None): of no request.
fn event<'a>(
    device: Device,
    line: &str,
    mut words: impl Iterator<Item = &'a str>,
) -> Option<Option<BlockEvent>> {
    let _cpu: u32 = words.next()?.parse().ok()?;
    let _sequence: i64 = words.next()?.parse().ok()?;
    let (seconds, fraction) = words.next()?.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let nanoseconds: u64 = (fraction.len() == 9).then(|| fraction.parse().ok())??;
    let time_ns = seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)?;
    let pid: i32 = words.next()?.parse().ok()?;
    let action = words.next()?;
    if !matches!(action, "I" | "D" | "R" | "C") {
        return Some(None);
    }
    let class = Class::parse(words.next()?.as_bytes());
    // The name can have any characters: it is what is between the first and the last bracket.
    let open = line.find('[')?;
    let inside = line.get(open + 1..line.rfind(']')?)?;
    let before = line.get(..open)?.split_whitespace().skip(7);
    let (sector, bytes, own) = extent(before)?;
    let class = if own { Class::new(Operation::Other, 0) } else { class };
    let (kind, comm) = match action {
        "I" => (Kind::Insert, Name::new(inside.as_bytes())),
        "D" => (Kind::Issue, Name::new(inside.as_bytes())),
        "R" => (Kind::Requeue, Name::default()),
        _ => (Kind::Complete { failed: inside.parse::<i64>().ok()? != 0 }, Name::default()),
    };
    let process = Process { pid, comm };
    Some(Some(BlockEvent { time_ns, device, kind, sector: place(sector), bytes, class, process }))
}

/// Sector and bytes from the words between class and bracket, and whether it is a command of the
/// driver's own: `223490 + 8`, with the time since the event before in parentheses or not; `223490`;
/// `36 (12 00 ..)`, `(12 00 ..)`; or nothing.
fn extent<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<(u64, u64, bool)> {
    let Some(first) = words.next() else { return Some((0, 0, false)) };
    if first.starts_with('(') {
        return Some((0, 0, true));
    }
    let number: u64 = first.parse().ok()?;
    match words.next() {
        Some("+") => {
            let sectors: u32 = words.next()?.parse().ok()?;
            Some((number, u64::from(sectors) * 512, false))
        }
        Some(word) if word.starts_with('(') => Some((0, number, true)),
        None => Some((number, 0, false)),
        Some(_) => None,
    }
}

/// Reads a text to its end, of blkparse or of events as the kernel prints them, each line as what it is, into `accounting`. Blocks as the input does; memory is that of a line.
///
/// # Errors
/// Those of reading.
pub fn read(mut input: impl BufRead, accounting: &mut Accounting) -> io::Result<TextCounts> {
    let (mut counts, mut bytes) = (TextCounts::default(), Vec::new());
    loop {
        bytes.clear();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(counts);
        }
        counts.lines += 1;
        let whole = bytes.ends_with(b"\n") || (bytes.len() as u64) < LINE_BYTES_MAX;
        if !whole {
            skip_line(&mut input)?;
        }
        let line = String::from_utf8_lossy(&bytes);
        let mut read = if whole { parse_line(&line) } else { Line::Bad };
        if read == Line::PassedOver {
            read = printed::parse_line(&line);
            counts.printed_events += u64::from(matches!(read, Line::Event(_)));
        }
        match read {
            Line::Event(event) => {
                counts.events += 1;
                counts.completions += u64::from(matches!(event.kind, Kind::Complete { .. }));
                accounting.take(&event);
            }
            Line::PassedOver => {
                let lost = printed::lost(&line).unwrap_or(0);
                counts.lost_events = counts.lost_events.saturating_add(lost);
            }
            Line::Bad => {
                counts.bad_lines += 1;
                let quote = || (counts.lines, crate::error::quoted(line.trim()));
                counts.first_bad = counts.first_bad.take().or_else(|| Some(quote()));
            }
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let piece = input.fill_buf()?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(piece.len(), |end| end + 1);
        input.consume(length);
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blk::Column;

    fn of(line: &str) -> BlockEvent {
        match parse_line(line) {
            Line::Event(event) => event,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lines_are_read_as_blkparse_writes_them() {
        let issue = of("  8,0    3       11     0.009507758   697  D   W 223490 + 8 [kjournald]");
        let process = Process { pid: 697, comm: Name::new(b"kjournald") };
        let expected = BlockEvent {
            time_ns: 9_507_758,
            device: Device::new(8, 0),
            kind: Kind::Issue,
            sector: 223_490,
            bytes: 4_096,
            class: Class::parse(b"W"),
            process,
        };
        assert_eq!(issue, expected);
        let done = of("259,1   11  4294967295 12345.000000001 0 C WSM 18 + 8 (  777) [-5]");
        assert_eq!((done.kind, done.sector), (Kind::Complete { failed: true }, 18));
        assert_eq!(done.time_ns, 12_345_000_000_001);
        let flush = of("8,0 1 2 0.000000003 9 D FN [kworker/0:1H]");
        assert_eq!((flush.bytes, flush.class.column(true)), (0, Column::Flush));
        let flushed = of("8,0 1 2 0.000000003 0 C FN 0 [0]");
        assert_eq!((flushed.bytes, flushed.sector), (0, 0));
        let own = of("8,0 1 2 0.000000003 9 D R 36 (12 00 00 00 24 00 ..) [a] b]");
        assert_eq!((own.bytes, own.class.column(false)), (36, Column::Other));
        assert_eq!(own.process.comm, Name::new(b"a] b"));
        assert_eq!(of("8,0 1 2 0.000000003 9 C R (12 00 ..) [0]").bytes, 0);
        assert_eq!(of("8,0 1 2 0.000000003 9 I WS 8 + 16 [x]").kind, Kind::Insert);
        assert_eq!(of("8,0 1 2 0.000000003 9 R WS 8 + 16 [0]").kind, Kind::Requeue);
    }

    #[test]
    fn what_is_no_event_of_a_request_is_passed_over_or_named() {
        for line in [
            "",
            "CPU0 (8,0):",
            " Reads Queued:  1, 4KiB\t Writes Queued: 2, 8KiB",
            "8,0 1 2 0.000000003 9 Q W 8 + 8 [x]",
            "8,0 1 2 0.000000003 9 m N cfq 1 x",
            "8,0 1 2 0.000000003 9 A W 8 + 8 <- (8,1) 0",
            "8,0 1 2 0.000000003 9 P N [x]",
            "Throughput (R/W): 0KiB/s / 12KiB/s",
            "Events (8,0): 14 entries",
        ] {
            assert_eq!(parse_line(line), Line::PassedOver, "{line}");
        }
        for line in [
            "8,0",
            "8,0 1 2 3 9 D W 8 + 8 [x]",
            "8,0 1 2 0.03 9 D W 8 + 8 [x]",
            "8,0 1 2 0.000000003 9 D W 8 + x [x]",
            "8,0 1 2 0.000000003 9 D W 8 + 8",
            "8,0 1 2 0.000000003 9 D W 8 / 8 [x]",
            "8,0 1 2 0.000000003 9 C W 8 + 8 [x]",
            "8,0 1 2 99999999999999999999.000000003 9 C W 8 + 8 [0]",
            "8,0 1 2 0.000000003 9 D ][",
        ] {
            assert_eq!(parse_line(line), Line::Bad, "{line}");
        }
    }

    #[test]
    fn a_text_is_read_to_its_end_and_bad_lines_cost_themselves() {
        let long = "8,0 1 2 0.000000003 9 D W 8 + 8 [".to_owned() + &"x".repeat(200_000);
        let text = format!(
            "8,0 1 1 0.000000001 9 D W 8 + 8 [x]\n{long}\n8,0 1 2 0.5 C\n\
             8,0 1 2 0.000000002 0 C W 8 + 8 [0]"
        );
        let mut accounting = Accounting::default();
        let counts = read(text.as_bytes(), &mut accounting).unwrap();
        assert_eq!((counts.lines, counts.events, counts.bad_lines), (4, 2, 2));
        let (line, quote) = counts.first_bad.unwrap();
        assert!(line == 2 && quote.len() < 200, "{line} {quote}");
        let traffic = &accounting.by_device()[&Device::new(8, 0)];
        assert_eq!(traffic.written_bytes(), 4_096);
    }
}

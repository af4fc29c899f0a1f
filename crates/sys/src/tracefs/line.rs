//! One line of the kernel's trace text -> event. Pure: no files, no clock.
//!
//! Text and not raw pages, because it needs no event formats and its speed is enough for the
//! rates of journal and block events. Its price: times have microseconds only.
//!
//! Invariant: any text gives an event, a loss or nothing, never a panic; a task name that looks
//! like a part of the line does no harm. Held by the tests below.

use std::collections::BTreeMap;

/// One recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Name of the task, as the kernel cut it to 15 bytes; `<...>` where it forgot it.
    pub task: String,
    /// The thread's id (the kernel calls it pid); 0 is the idle task.
    pub pid: u32,
    /// Processor that recorded it.
    pub cpu: u32,
    /// Recorded by an interrupt: the task is then only the one that was interrupted.
    pub interrupt: bool,
    /// Time on the instance's clock, ns; a multiple of 1,000.
    pub time_ns: u64,
    /// Name of the event without its subsystem.
    pub event: String,
    /// The printed fields by name. Positional parts (the device and sectors of block events) are
    /// in [`text`](Self::text) only.
    pub fields: BTreeMap<String, String>,
    /// Everything after the event's name.
    pub text: String,
}

impl TraceEvent {
    /// The field as a number, if it is there and is one.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<u64> {
        self.fields.get(field)?.parse().ok()
    }
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceLine {
    /// An event.
    Event(TraceEvent),
    /// Events of one processor that were overwritten before they were read.
    Lost {
        /// The processor.
        cpu: u32,
        /// How many events; None where the kernel does not know.
        events: Option<u64>,
    },
}

/// Reads one line; None for comments, blank lines and what is no event.
#[must_use]
pub fn parse_line(line: &str) -> Option<TraceLine> {
    let line = line.trim_end();
    if line.trim_start().starts_with('#') {
        return None;
    }
    parse_lost(line).or_else(|| {
        // The task's name may contain brackets and blanks: the first place where all of the rest
        // is right is the processor.
        line.match_indices('[').find_map(|(at, _)| parse_event(line, at)).map(TraceLine::Event)
    })
}

/// "CPU:1 [LOST 123 EVENTS]", "CPU:1 [LOST EVENTS]".
fn parse_lost(line: &str) -> Option<TraceLine> {
    let (cpu, rest) = line.trim_start().strip_prefix("CPU:")?.split_once(" [LOST")?;
    let events = rest.strip_suffix("EVENTS]")?.trim();
    Some(TraceLine::Lost { cpu: cpu.trim().parse().ok()?, events: events.parse().ok() })
}

/// `  task-pid  [cpu] flags  seconds.micros: event: text`, the bracket being at `at`.
fn parse_event(line: &str, at: usize) -> Option<TraceEvent> {
    let (task, pid) = parse_task(line.get(..at)?)?;
    let (cpu, rest) = line.get(at + 1..)?.split_once(']')?;
    let cpu = cpu.parse().ok()?;
    let (stamp, rest) = rest.split_once(": ")?;
    // The flags are missing where the option irq-info is off. Their third letter tells hard and
    // soft interrupts from tasks.
    let mut words = stamp.split_whitespace();
    let time_ns = parse_seconds(words.next_back()?)?;
    let interrupt = words.next().and_then(|flags| flags.chars().nth(2)).is_some_and(|c| c != '.');
    let (event, text) = rest.split_once(':')?;
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if event.is_empty() || !event.chars().all(named) {
        return None;
    }
    let text = text.trim();
    Some(TraceEvent {
        task,
        pid,
        cpu,
        interrupt,
        time_ns,
        event: event.to_owned(),
        fields: parse_fields(text),
        text: text.to_owned(),
    })
}

/// "  task-123  " or, with the option record-tgid, "  task-123  (  99) ".
fn parse_task(text: &str) -> Option<(String, u32)> {
    let mut text = text.trim();
    if let Some(without) = text.strip_suffix(')') {
        text = without.rsplit_once('(')?.0.trim_end();
    }
    let (task, pid) = text.rsplit_once('-')?;
    Some((task.to_owned(), pid.parse().ok()?))
}

fn parse_seconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    let fraction: u64 = fraction.parse().ok()?;
    let whole_ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
    whole_ns.checked_add(fraction * 10_u64.pow(9 - digits))
}

/// "name value name value", "name=value" and mixtures, with or without commas. A word that cannot
/// be a name is skipped, so positional parts do not shift what follows by more than themselves.
fn parse_fields(text: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut words = text.split_whitespace().map(|word| word.trim_end_matches(',')).peekable();
    while let Some(word) = words.next() {
        if let Some((name, value)) = word.split_once('=') {
            if is_name(name) {
                fields.insert(name.to_owned(), value.to_owned());
            }
        } else if is_name(word) && words.peek().is_some_and(|next| !next.contains('=')) {
            fields.insert(word.to_owned(), words.next().unwrap_or_default().to_owned());
        }
    }
    fields
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{TraceEvent, TraceLine, parse_line};

    fn event(line: &str) -> TraceEvent {
        match parse_line(line) {
            Some(TraceLine::Event(event)) => event,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn reads_journal_events() {
        let found = event(
            "    jbd2/loop0-8-1234    [001] ...1.  1942.043969: jbd2_run_stats: dev 7,0 tid 2 wait \
             0 request_delay 0 running 4 locked 0 flushing 0 logging 8 handle_count 5 blocks 3 \
             blocks_logged 4",
        );
        assert_eq!((found.task.as_str(), found.pid, found.cpu), ("jbd2/loop0-8", 1234, 1));
        assert_eq!(found.time_ns, 1_942_043_969_000);
        assert_eq!(found.event, "jbd2_run_stats");
        assert_eq!(found.fields.get("dev").map(String::as_str), Some("7,0"));
        assert_eq!(found.number("logging"), Some(8));
        assert_eq!(found.number("blocks_logged"), Some(4));
        assert_eq!(found.fields.len(), 11);
        assert_eq!(found.number("dev"), None);
    }

    #[test]
    fn reads_commas_and_equal_signs() {
        let found = event(
            "a-1 [000] d..1. 5.000001: ext4_journal_start_inode: dev 7,0 blocks 2, rsv_blocks 0, \
             type 1, ino 12, caller ext4_x+0x12/0x30",
        );
        assert_eq!((found.number("blocks"), found.number("ino")), (Some(2), Some(12)));
        let found = event("a-1 [000] 5.5: sched_x: comm=b c pid=7 prio=120");
        assert_eq!((found.number("pid"), found.number("prio")), (Some(7), Some(120)));
        assert_eq!(found.time_ns, 5_500_000_000);
    }

    #[test]
    fn keeps_positional_text() {
        let text = "254,0 RA 8192 () 12911688 + 16 be,0,4 [sh]";
        let line = format!("  <idle>-0  [001] ..s1.  1942.044123: block_rq_complete: {text}");
        let found = event(&line);
        assert_eq!((found.task.as_str(), found.pid, found.interrupt), ("<idle>", 0, true));
        assert_eq!(found.text, text);
        assert!(event("a-1 [000] d.h2. 5.000001: ev: n 5").interrupt);
        assert!(!event("a-1 [000] d..2. 5.000001: ev: n 5").interrupt);
    }

    #[test]
    fn survives_odd_task_names() {
        for task in ["a b", "x-[0] y", "[3]", "-", "(sd-pam)", "a: b:", "kworker/u8:3", "<...>"] {
            let found = event(&format!("  {task}-77 [003] ..... 1.000002: ev: n 5"));
            assert_eq!((found.task.as_str(), found.pid, found.cpu), (task, 77, 3));
        }
        let found = event("  a-77  (   99) [003] ..... 1.000002: ev: n 5");
        assert_eq!((found.task.as_str(), found.pid), ("a", 77));
    }

    #[test]
    fn reads_losses() {
        let lost = |events| Some(TraceLine::Lost { cpu: 1, events });
        assert_eq!(parse_line("CPU:1 [LOST 123 EVENTS]"), lost(Some(123)));
        assert_eq!(parse_line("CPU:1 [LOST EVENTS]"), lost(None));
    }

    #[test]
    fn anything_else_is_nothing() {
        for line in [
            "",
            "# tracer: nop",
            "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION",
            "a-1 [000] ..... 1.000002",
            "a-1 [000] ..... 1: ev: n 5",
            "a-1 [000] ..... 99999999999999999999.1: ev: n 5",
            "a-1 [000] ..... 1.: ev: n 5",
            "a-1 [",
            "]-[: : .",
            "\u{e9}[\u{e9}] \u{e9}: \u{e9}: \u{e9}",
            "CPU:x [LOST 1 EVENTS]",
            " => stack_frame",
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }
}

//! What the probes write, described as the kernel describes its own events.
//!
//! The C source of the programs is the one place that says what is in a record; its text is read
//! here, so that no second table can differ from it. `tests/built.rs` sees to it that the programs
//! were built from that text.
//!
//! Invariant: each format is one that readers take, and each event has a schema. Held by
//! `each_record_has_a_format_and_a_schema`.

use std::fmt::Write;

const SOURCE: &str = include_str!("../bpf/records.h");
pub(crate) const SYSTEM: &str = "baro";
/// What all records begin with: time, and then the event.
pub(crate) const TIME_BYTES: usize = 8;
/// What all events begin with: number, flags, task.
const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
";
const COMMON_BYTES: usize = 8;

/// What is lost or told, in the order of the numbers in the source.
pub(crate) const KINDS: [&str; 7] = [
    "baro_sleep",
    "baro_handle",
    "baro_held",
    "baro_handles",
    "baro_call",
    "baro_journal",
    "baro_lists",
];
/// Number of the first event: far above those of any kernel.
pub(crate) const FIRST_ID: u16 = 60_000;
/// Place of `baro_handles` in [`KINDS`].
pub(crate) const HANDLES: u16 = 3;
/// Classes of waits.
pub(crate) const BUCKETS: usize = baro_trace::schema::BUCKETS;

/// `events/header_page` where no tracer says it: that of x86-64 with pages of 4 KiB.
#[must_use]
pub fn header_page() -> &'static str {
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"
}

/// `events/header_event` where no tracer says it: the same everywhere.
#[must_use]
pub fn header_event() -> &'static str {
    "# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"
}

pub(crate) fn formats() -> Vec<(String, Vec<u8>)> {
    let format = |(kind, name): (usize, &&str)| {
        let text = format_text(name, FIRST_ID + kind as u16);
        (SYSTEM.to_owned(), text.into_bytes())
    };
    KINDS.iter().enumerate().map(format).collect()
}

/// A field of a record: its C type, size of one, how many if it is an array, its name.
struct Field {
    type_name: &'static str,
    size_bytes: usize,
    signed: bool,
    count: Option<usize>,
    name: &'static str,
}

/// The fields of a struct of the source behind what all events have.
fn fields(name: &str) -> Vec<Field> {
    let begin = format!("struct {name} {{\n");
    let Some((_, rest)) = SOURCE.split_once(&begin) else { return Vec::new() };
    let body = rest.split("};").next().unwrap_or_default();
    body.lines().filter_map(|line| field(line.trim())).collect()
}

/// `u64 stack[FRAMES];`
fn field(line: &'static str) -> Option<Field> {
    let (type_name, rest) = line.strip_suffix(';')?.split_once(' ')?;
    let (name, count) = match rest.strip_suffix(']') {
        Some(array) => {
            let (name, count) = array.split_once('[')?;
            (name, Some(count.parse().ok().or_else(|| constant(count))?))
        }
        None => (rest, None),
    };
    let (type_name, size_bytes, signed) = match (type_name, name) {
        ("u32", "dev") => ("dev_t", 4, false),
        ("u32", _) => ("u32", 4, false),
        ("s32", _) => ("s32", 4, true),
        ("u64", _) => ("u64", 8, false),
        ("s64", _) => ("s64", 8, true),
        ("char", _) => ("char", 1, false),
        _ => return None,
    };
    Some(Field { type_name, size_bytes, signed, count, name })
}

/// `#define FRAMES 48`
fn constant(name: &str) -> Option<usize> {
    let line = SOURCE.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name))?;
    line.trim().parse().ok()
}

fn format_text(name: &str, id: u16) -> String {
    let mut text = format!("name: {name}\nID: {id}\nformat:\n{COMMON}\n");
    let mut offset = COMMON_BYTES;
    let mut shown = (String::new(), String::new());
    for field in fields(name) {
        let bytes = field.size_bytes * field.count.unwrap_or(1);
        if !field.name.starts_with("unused") {
            let bounds = field.count.map(|count| format!("[{count}]")).unwrap_or_default();
            // A String takes any text.
            let _ = writeln!(
                text,
                "\tfield:{} {}{bounds};\toffset:{offset};\tsize:{bytes};\tsigned:{};",
                field.type_name,
                field.name,
                u8::from(field.signed)
            );
            if field.count.is_none() {
                let space = if shown.0.is_empty() { "" } else { " " };
                let _ = write!(shown.0, "{space}{}=%lld", field.name);
                let _ = write!(shown.1, ", (long long)REC->{}", field.name);
            }
        }
        offset += bytes;
    }
    let _ = write!(text, "\nprint fmt: \"{}\"{}\n", shown.0, shown.1);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_trace::file::Preamble;
    use baro_trace::format::EventFormat;
    use baro_trace::schema::{KNOWN, KernelEvent, Schemas};

    /// Where the stack of a sleep begins; before it stands how many of its entries count.
    const STACK_BYTES: usize = 8 + 192;

    #[test]
    fn each_record_has_a_format_and_a_schema() {
        let preamble = Preamble {
            header_page: header_page().into(),
            header_event: header_event().into(),
            formats: formats(),
            ..Preamble::default()
        };
        let set = preamble.events().unwrap();
        Schemas::resolve(&set).unwrap();
        let names: Vec<_> = set.iter().map(|event| event.format.name.as_str()).collect();
        let known: Vec<_> =
            KNOWN.iter().filter(|(system, _)| *system == SYSTEM).map(|(_, event)| *event).collect();
        assert_eq!((&names, &known[..]), (&KINDS.to_vec(), &KINDS[..]));
        // Each C struct has fields, none of them between two others' bytes.
        for (_, text) in formats() {
            let format = EventFormat::parse(&text).unwrap();
            for field in &format.fields[4..] {
                let one = field.size_bytes / constant_of(&field.shape);
                assert_eq!(field.offset_bytes % one, 0, "{} {}", format.name, field.name);
            }
        }
    }

    fn constant_of(shape: &baro_trace::format::Shape) -> u32 {
        match shape {
            baro_trace::format::Shape::Array(Some(count)) => *count,
            _ => 1,
        }
    }

    /// Traces have the format that was written then: 24 frames, and nothing that says how many there was room for.
    #[test]
    fn sleeps_of_older_traces_are_read() {
        let now = String::from_utf8(formats().swap_remove(0).1).unwrap();
        let is_new = |line: &&str| !line.contains("frames_max");
        let before: Vec<String> = now
            .lines()
            .filter(is_new)
            .map(|line| line.replace("stack[48]", "stack[24]").replace("size:384", "size:192"))
            .collect();
        assert!(before.iter().any(|line| line.contains("stack[24];\toffset:200;\tsize:192")));
        let events = |text: &str| {
            let preamble = Preamble {
                header_page: header_page().into(),
                header_event: header_event().into(),
                formats: vec![(SYSTEM.to_owned(), text.as_bytes().to_vec())],
                ..Preamble::default()
            };
            preamble.events().unwrap()
        };
        let told = |text: &str, frames: u64, bytes: usize| {
            let mut event = vec![0; STACK_BYTES + bytes];
            event[STACK_BYTES - 8..STACK_BYTES].copy_from_slice(&frames.to_ne_bytes());
            for (place, address) in event[STACK_BYTES..].chunks_exact_mut(8).zip(7_u64..) {
                place.copy_from_slice(&address.to_ne_bytes());
            }
            let set = events(text);
            match Schemas::resolve(&set).unwrap().decode(FIRST_ID, &event).unwrap() {
                Some(KernelEvent::Sleep(sleep)) => {
                    (sleep.frames_max, sleep.stack.addresses().len(), sleep.stack.addresses()[1])
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(told(&before.join("\n"), 2, 24 * 8), (None, 24, 8));
        // One of now ends behind what counts.
        assert_eq!(told(&now, 2, 2 * 8), (Some(0), 2, 8));
    }

    #[test]
    fn sizes_and_places_are_those_of_c() {
        let text = formats();
        let format = |kind: usize| EventFormat::parse(&text[kind].1).unwrap();
        let sleep = format(0);
        assert_eq!(sleep.id, 60_000);
        assert_eq!(sleep.field("stack").map(|field| field.end_bytes()), Some(STACK_BYTES + 48 * 8));
        assert_eq!(
            sleep.field("stack").map(|field| field.offset_bytes as usize),
            Some(STACK_BYTES)
        );
        assert_eq!(sleep.field("frames").map(|field| field.end_bytes()), Some(STACK_BYTES));
        assert_eq!(sleep.field("woken_ns").map(|field| field.offset_bytes), Some(24));
        assert!(format(1).field("unused").is_none());
        let handles = format(usize::from(HANDLES));
        assert_eq!(handles.name, "baro_handles");
        assert_eq!(handles.field("buckets").map(|field| field.size_bytes), Some(320));
        assert_eq!(constant("BUCKETS"), Some(BUCKETS));
        assert_eq!(constant("FRAMES"), Some(baro_trace::schema::FRAMES));
    }
}

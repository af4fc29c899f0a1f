//! Kernel traces: texts of tracefs, pages of its ring buffer, recorded files.

use crate::Target;
use baro_ondisk::crc32c;
use baro_trace::analyze::{Analysis, Options, Source, analyze};
use baro_trace::event_set::{Event, EventSet};
use baro_trace::explain::{Knowledge, Question, describe, drawn, to_json};
use baro_trace::file::{CpuLosses, Item, Machine, Preamble, TraceFile, TraceWriter};
use baro_trace::format::{EVENT_BYTES_MAX, EventFormat, EventHeader, FIELDS_MAX, PageHeader};
use baro_trace::record::Device;
use baro_trace::render::{View, html, perfetto};
use baro_trace::ring_page::PageEvents;
use baro_trace::schema::Schemas;
use std::io::Cursor;

pub(crate) const FORMAT: Target = Target {
    name: "trace_format",
    fuzz_one: format,
    seeds: || [SWITCH, SYNC, PAGE, EVENT].map(|text| text.as_bytes().to_vec()).to_vec(),
    fix_up: |_| {},
};

pub(crate) const RING_PAGE: Target = Target {
    name: "trace_page",
    fuzz_one: page,
    seeds: || vec![page_seed(0), page_seed(3 << 30)],
    fix_up: page_fix_up,
};

pub(crate) const FILE: Target =
    Target { name: "trace_file", fuzz_one: file, seeds: || vec![file_seed()], fix_up: file_fix_up };

/// A whole trace, whatever was recorded in it now, and all that is made of one.
pub(crate) const EXPLAIN: Target = Target {
    name: "trace_explain",
    fuzz_one: explain,
    seeds: || vec![RECORDED.to_vec()],
    fix_up: file_fix_up,
};

/// A recorded trace of 5.10: its stacks, stages, calls and requests.
const RECORDED: &[u8] = include_bytes!("../../../testdata/trace/5.10.trace");

const SWITCH: &str = "name: sched_switch\nID: 372\nformat:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:__data_loc char[] next_comm;\toffset:40;\tsize:4;\tsigned:0;
\tfield:pid_t next_pid;\toffset:44;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:48;\tsize:4;\tsigned:1;

print fmt: \"%s\", REC->prev_comm\n";

const SYNC: &str = "name: ext4_sync_file_exit\nID: 7\nformat:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:ino_t ino;\toffset:16;\tsize:8;\tsigned:0;
\tfield:int ret;\toffset:24;\tsize:4;\tsigned:1;\n";

const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const EVENT: &str = "\ttype_len : 5 bits\n\ttime_delta : 27 bits\n\tarray : 32 bits
\tpadding : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31
\tdata max type_len == 28\n";

fn preamble() -> Preamble {
    Preamble {
        machine: Machine {
            kernel: "6.1".to_owned(),
            clock: "mono".to_owned(),
            ..Machine::default()
        },
        header_page: PAGE.as_bytes().to_vec(),
        header_event: EVENT.as_bytes().to_vec(),
        formats: vec![
            ("sched".to_owned(), SWITCH.as_bytes().to_vec()),
            ("ext4".to_owned(), SYNC.as_bytes().to_vec()),
        ],
    }
}

fn format(bytes: &[u8]) {
    let page = PageHeader::parse(bytes);
    if let Ok(page) = &page {
        assert!(page.page_bytes() <= 64 << 10 && page.data_offset_bytes >= 12);
    }
    if let Ok(event) = EventHeader::parse(bytes) {
        assert!(event.data_words_max < event.padding.min(event.time_extend));
    }
    let Ok(format) = EventFormat::parse(bytes) else { return };
    assert!(format.fields.len() <= FIELDS_MAX);
    assert!(format.fields.iter().all(|field| field.end_bytes() <= EVENT_BYTES_MAX as usize));
    let Ok(preamble) = preamble().events() else { return };
    // As if the event were of a known kind, whatever its fields are now.
    for (system, name) in [("sched", "sched_switch"), ("ext4", "ext4_sync_file_exit")] {
        let format = EventFormat { name: name.to_owned(), ..format.clone() };
        let id = format.id;
        let event = Event { system: system.to_owned(), format };
        let page = PageHeader::parse(PAGE.as_bytes());
        let entry = EventHeader::parse(EVENT.as_bytes());
        let (Ok(page), Ok(entry)) = (page, entry) else { return };
        let Ok(set) = EventSet::new(page, entry, vec![event]) else { continue };
        let Ok(schemas) = Schemas::resolve(&set) else { continue };
        for length in [0, 8, 60, 200] {
            let _ = (schemas.decode(id, &bytes[..bytes.len().min(length)]), set.pid(bytes));
        }
    }
    assert_eq!(preamble.iter().count(), 2);
}

fn page(bytes: &[u8]) {
    let Ok(set) = preamble().events() else { return };
    let used = set.layout().used_bytes(bytes);
    assert!(used <= bytes.len());
    let Ok(schemas) = Schemas::resolve(&set) else { return };
    let Ok(events) = PageEvents::new(set.layout(), bytes) else { return };
    let (mut count, mut errors) = (0, 0);
    for event in events {
        match event {
            Ok(event) => {
                assert!(event.offset_bytes + event.payload.len() <= used);
                let _ = (schemas.decode(event.id, event.payload), set.pid(event.payload));
                count += 1;
            }
            Err(_) => errors += 1,
        }
    }
    assert!(count <= bytes.len() / 4 && errors <= 1);
}

/// A page with each kind of entry.
fn page_seed(flags: u64) -> Vec<u8> {
    let head = |kind: u32, delta: u32| (kind | delta << 5).to_le_bytes();
    let switch = |id: u16| {
        let mut event = vec![0; 56];
        event[..2].copy_from_slice(&id.to_le_bytes());
        // The name of the next task is behind the event.
        event[40..44].copy_from_slice(&(52_u32 | 4 << 16).to_le_bytes());
        event
    };
    let mut data = Vec::new();
    data.extend([&head(14, 0)[..], &switch(372)].concat());
    data.extend([&head(30, 3)[..], &2_u32.to_le_bytes()].concat());
    data.extend([&head(0, 9)[..], &60_u32.to_le_bytes(), &switch(7)].concat());
    data.extend([&head(29, 4)[..], &8_u32.to_le_bytes(), &[0; 4]].concat());
    data.extend([&head(31, 5)[..], &200_u32.to_le_bytes()].concat());
    data.extend([&head(14, 1)[..], &switch(1)].concat());
    data.extend(head(29, 0));
    let mut page = 1_000_u64.to_le_bytes().to_vec();
    page.extend((data.len() as u64 | flags).to_le_bytes());
    page.extend(data);
    page.extend(77_u64.to_le_bytes());
    page
}

/// A length that fits the bytes: so that entries are read whatever was cut.
fn page_fix_up(bytes: &mut [u8]) {
    let length = bytes.len().saturating_sub(16).min(4_080) as u16;
    if let Some(place) = bytes.get_mut(8..16) {
        place.fill(0);
        place[..2].copy_from_slice(&length.to_le_bytes());
    }
}

fn file(bytes: &[u8]) {
    let Ok(mut trace) = TraceFile::open(Cursor::new(bytes)) else { return };
    assert!(trace.pages() as usize <= bytes.len() / 16);
    let schemas = Schemas::resolve(trace.events());
    let Ok(mut merged) = trace.merge() else { panic!("opened, and then unreadable") };
    let mut items = 0;
    loop {
        match merged.next() {
            Ok(Some(Item::Event { id, payload, .. })) => {
                let _ = schemas.as_ref().map(|schemas| schemas.decode(id, payload));
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => panic!("opened, and then unreadable: {error}"),
        }
        items += 1;
        assert!(items <= bytes.len(), "more events than bytes");
    }
}

fn explain(bytes: &[u8]) {
    let Ok(mut trace) = TraceFile::open(Cursor::new(bytes)) else { return };
    let Ok(known) = Knowledge::of(&mut trace) else { return };
    let explanation = known.explain(&Question { over_ns: 1_000, top: 50 });
    for call in &explanation.calls {
        assert!(call.unexplained_ns <= call.wait_ns && call.wait_ns <= call.end_ns - call.begin_ns);
    }
    let text = describe(&known, &explanation);
    assert!(text.len() < 10 << 20, "a report of {} bytes", text.len());
    let _ = to_json(&known, &explanation);
    for analysis in [
        Analysis::Handle,
        Analysis::State,
        Analysis::Blocks,
        Analysis::Space,
        Analysis::Syscall,
        Analysis::Waits,
    ] {
        let report = analyze(analysis, &Source::from(&known), &Options::default());
        assert!(report.text().len() < 10 << 20);
    }
    let slow = drawn(&known, &explanation);
    let view = View {
        title: "fuzz",
        machine: &known.machine,
        line: &known.line,
        slow: &slow,
        names: &known,
        remarks: &explanation.notes,
    };
    assert!(html(&view, std::io::sink()).is_ok() && perfetto(&view, std::io::sink()).is_ok());
}

fn file_seed() -> Vec<u8> {
    let write = || {
        let mut writer = TraceWriter::new(Vec::new(), &preamble())?;
        writer.page(0, &page_seed(0))?;
        writer.page(1, &page_seed(3 << 30))?;
        writer.tasks([(1, &b"init"[..])])?;
        writer.devices([(Device::new(8, 1), &b"sda1"[..])])?;
        writer.finish(&[CpuLosses::default()])
    };
    let written: Result<Vec<u8>, baro_trace::Error> = write();
    written.unwrap_or_default()
}

/// Makes the checksums of header and chunks right, as far as their lengths lead.
fn file_fix_up(bytes: &mut [u8]) {
    let Some(header) = bytes.get_mut(..16) else { return };
    let crc = crc32c(0, &header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    let mut offset = 16;
    while let Some(&[a, b, c, d]) = bytes.get(offset + 8..offset + 12) {
        let end = offset + 16 + u32::from_le_bytes([a, b, c, d]) as usize;
        if end > bytes.len() {
            return;
        }
        let crc = crc32c(crc32c(0, &(offset as u64).to_le_bytes()), &bytes[offset..offset + 12]);
        let crc = crc32c(crc, &bytes[offset + 16..end]);
        bytes[offset + 12..offset + 16].copy_from_slice(&crc.to_le_bytes());
        offset = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else nothing but the refusal of the seeds would be tried.
    #[test]
    fn the_seeds_are_read() {
        assert_eq!(preamble().events().map(|set| set.iter().count()).ok(), Some(2));
        let trace = TraceFile::open(Cursor::new(file_seed()));
        assert_eq!(trace.map(|trace| trace.pages()).ok(), Some(2));
        let recorded = TraceFile::open(Cursor::new(RECORDED));
        assert!(recorded.is_ok_and(|mut trace| Knowledge::of(&mut trace).is_ok()));
    }
}

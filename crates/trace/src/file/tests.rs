//! Tests of trace files: written, cut, damaged, merged.

use super::machine::Machine;
use super::*;
use crate::error::{Error, Result};
use crate::format::tests::{EVENT, PAGE, SCHED_SWITCH};
use crate::record::{Device, Name};
use proptest::prelude::*;
use std::io::Cursor;

fn preamble() -> Preamble {
    let machine = Machine {
        kernel: "6.12.1".to_owned(),
        clock: "mono".to_owned(),
        cpus: 3,
        realtime_offset_ns: 1_700_000_000_000_000_000,
        boottime_offset_ns: -5,
        hz: Some(250),
        arch: Some("x86_64".to_owned()),
    };
    let other = SCHED_SWITCH.replace("372", "9").replace("sched_switch", "other");
    Preamble {
        machine,
        header_page: PAGE.as_bytes().to_vec(),
        header_event: EVENT.as_bytes().to_vec(),
        formats: vec![
            ("sched".to_owned(), SCHED_SWITCH.as_bytes().to_vec()),
            ("other".to_owned(), other.into_bytes()),
        ],
    }
}

/// A page with events of number 372, one nanosecond after the other from `time_ns` on; in each
/// the number `first` and up. Twelve bytes an event.
fn page(time_ns: u64, first: u32, events: u32, missed: Option<u64>) -> Vec<u8> {
    let mut data = Vec::new();
    for number in first..first + events {
        data.extend((2_u32 | u32::from(number > first) << 5).to_le_bytes());
        data.extend(372_u32.to_le_bytes());
        data.extend(number.to_le_bytes());
    }
    let flags: u64 = if missed.is_some() { 3 << 30 } else { 0 };
    let mut page = time_ns.to_le_bytes().to_vec();
    page.extend((data.len() as u64 | flags).to_le_bytes());
    page.extend(data);
    missed.iter().for_each(|missed| page.extend(missed.to_le_bytes()));
    page.resize(4096, 0);
    page
}

/// The trace that most tests use: 4 + 3 + 2 events on three processors, some lost.
fn trace() -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
    writer.page(0, &page(100, 0, 2, None)).unwrap();
    writer.page(2, &page(99, 10, 3, None)).unwrap();
    writer.page(0, &page(200, 2, 2, Some(77))).unwrap();
    writer.tasks([(1, &b"init"[..]), (7, b"old")]).unwrap();
    writer.tasks([(7, &b"new"[..])]).unwrap();
    writer.devices([(Device::new(8, 1), &b"sda1"[..])]).unwrap();
    writer.page(1, &page(150, 20, 2, None)).unwrap();
    assert_eq!(writer.pages(), 4);
    let losses = [CpuLosses { cpu: 0, overrun: 77, dropped: 1, commit_overrun: 2 }];
    writer.finish(&losses).unwrap()
}

/// All items as text: processor, time, and number, `lost N` or `damaged`.
fn items(bytes: &[u8]) -> Result<Vec<String>> {
    let mut file = TraceFile::open(Cursor::new(bytes))?;
    let mut merged = file.merge()?;
    let mut items = Vec::new();
    while let Some(item) = merged.next()? {
        items.push(match item {
            Item::Event { cpu, time_ns, id, payload } => {
                assert_eq!((id, payload.len()), (372, 8));
                format!("{cpu} {time_ns} {}", payload[4])
            }
            Item::Lost { cpu, time_ns, events } => format!("{cpu} {time_ns} lost {events:?}"),
            Item::Damaged { cpu, time_ns, offset_bytes, error } => {
                assert!(offset_bytes > 0 && error.to_string().contains("offset"));
                format!("{cpu} {time_ns} damaged")
            }
        });
    }
    Ok(items)
}

#[test]
fn what_is_written_is_read_back() {
    let bytes = trace();
    let file = TraceFile::open(Cursor::new(&bytes)).unwrap();
    assert_eq!(file.machine(), &preamble().machine);
    assert_eq!(file.events().find("other", "other").unwrap().id, 9);
    assert!(matches!(file.ending(), Ending::Finished));
    assert_eq!(file.pages(), 4);
    assert_eq!(file.losses()[0].total(), 80);
    let tasks: Vec<_> = file.tasks().iter().map(|(pid, name)| (*pid, *name)).collect();
    assert_eq!(tasks, [(1, Name::new(b"init")), (7, Name::new(b"new"))]);
    assert_eq!(file.devices()[&Device::new(8, 1)], Name::new(b"sda1"));
    // Filler is not written.
    assert!(bytes.len() < 5_000, "{}", bytes.len());
}

#[test]
fn events_of_all_processors_come_in_the_order_of_time() {
    let expected = [
        "2 99 10",
        "0 100 0",
        "2 100 11",
        "0 101 1",
        "2 101 12",
        "1 150 20",
        "1 151 21",
        "0 200 lost Some(77)",
        "0 200 2",
        "0 201 3",
    ];
    assert_eq!(items(&trace()).unwrap(), expected);
}

#[test]
fn a_trace_cut_anywhere_is_read_up_to_its_last_whole_chunk() {
    let bytes = trace();
    let whole = items(&bytes).unwrap();
    let mut counts = Vec::new();
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        let Ok(file) = TraceFile::open(Cursor::new(cut)) else {
            assert!(counts.is_empty(), "readable and then, longer, not: {length}");
            continue;
        };
        assert!(!matches!(file.ending(), Ending::Finished), "{length}");
        let items = items(cut).unwrap();
        assert!(items.iter().all(|item| whole.contains(item)));
        counts.push(items.len());
    }
    // The pages have 2, 3, 3 (with what was lost) and 2 items; a format may be missing before.
    assert!(counts.is_sorted());
    counts.dedup();
    assert_eq!(counts, [0, 2, 5, 8, 10]);
}

#[test]
fn every_flipped_bit_is_found() {
    let bytes = trace();
    let whole = items(&bytes).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let Ok(file) = TraceFile::open(Cursor::new(&damaged)) else { continue };
        match file.ending() {
            Ending::Torn(error) => {
                let text = error.to_string();
                let chunks = text.contains("offset");
                assert!(chunks && items(&damaged).unwrap().len() <= whole.len(), "{bit} {text}");
            }
            ending => panic!("bit {bit} is not found: {ending:?}"),
        }
    }
}

#[test]
fn a_chunk_of_another_place_is_not_taken() {
    let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
    let begin = writer.bytes() as usize;
    writer.page(0, &page(100, 0, 2, None)).unwrap();
    let end = writer.bytes() as usize;
    let mut bytes = writer.finish(&[]).unwrap();
    bytes.truncate(end);
    assert_eq!(items(&bytes).unwrap().len(), 2);
    let again = bytes[begin..end].to_vec();
    bytes.extend(again);
    assert_eq!(items(&bytes).unwrap().len(), 2);
    let file = TraceFile::open(Cursor::new(&bytes)).unwrap();
    assert!(matches!(file.ending(), Ending::Torn(Error::File { field: "CRC of the chunk", .. })));
}

#[test]
fn a_page_that_is_none_costs_itself() {
    let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
    let mut cut = page(100, 0, 3, None);
    // The second event begins at 28: another length, which leads out of the page.
    cut[28] = 28 | 1 << 5;
    writer.page(0, &cut).unwrap();
    writer.page(0, &[1, 2, 3]).unwrap();
    writer.page(0, &page(300, 9, 1, None)).unwrap();
    writer.page(1, &page(200, 5, 1, None)).unwrap();
    let bytes = writer.finish(&[]).unwrap();
    let expected = ["0 100 0", "0 101 damaged", "0 101 damaged", "1 200 5", "0 300 9"];
    assert_eq!(items(&bytes).unwrap(), expected);
}

#[test]
fn what_cannot_be_read_again_is_not_recorded() {
    let refused = |change: fn(&mut Preamble)| {
        let mut preamble = preamble();
        change(&mut preamble);
        TraceWriter::new(Vec::new(), &preamble).unwrap_err().to_string()
    };
    assert!(refused(|preamble| preamble.formats.clear()).contains("at least one event"));
    assert!(refused(|preamble| preamble.header_page.clear()).contains("header_page"));
    assert!(refused(|preamble| preamble.machine.cpus = 100_000).contains("cpus"));
    let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
    assert!(writer.page(0, &[0; 4097]).is_err());
    assert!(writer.page(CPUS_MAX, &page(1, 1, 1, None)).is_err());
}

#[test]
fn names_of_any_number_and_length_round_trip() {
    let long = [b'x'; 300];
    let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
    writer.tasks((0..10_000).map(|pid| (pid, &long[..]))).unwrap();
    writer.tasks([(5, &b"a\nb\xff"[..])]).unwrap();
    let bytes = writer.finish(&[]).unwrap();
    let file = TraceFile::open(Cursor::new(&bytes)).unwrap();
    assert_eq!(file.tasks().len(), 10_000);
    assert_eq!(file.tasks()[&5].as_bytes(), b"a\nb\xff");
    assert_eq!(file.tasks()[&6].as_bytes(), &long[..32]);
}

#[test]
fn the_machine_round_trips_and_what_is_missing_is_named() {
    let machine = Machine { kernel: "a\nclock x".to_owned(), ..preamble().machine };
    let read = Machine::decode(&machine.encode()).unwrap();
    assert_eq!(read, Machine { kernel: "a clock x".to_owned(), ..machine.clone() });
    let without = Machine { hz: None, arch: None, ..preamble().machine };
    assert_eq!(Machine::decode(&without.encode()).unwrap(), without);
    for key in ["kernel", "clock", "cpus", "realtime_offset_ns", "boottime_offset_ns"] {
        let text = String::from_utf8(machine.encode()).unwrap().replace(key, "other");
        let error = Machine::decode(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
    let error = Machine::decode(b"kernel 6\nclock mono\ncpus many\n").unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("many"), "{error}");
}

proptest! {
    #[test]
    fn any_pages_come_out_in_order_and_none_is_lost(
        pages in proptest::collection::vec((0_u32..5, 1_u64..1000, 1_u32..20), 0..40)
    ) {
        let mut writer = TraceWriter::new(Vec::new(), &preamble()).unwrap();
        let (mut times, mut expected) = ([0; 5], 0);
        for (cpu, after_ns, events) in pages {
            let time = &mut times[cpu as usize];
            *time += after_ns + 20;
            writer.page(cpu, &page(*time, 0, events, None)).unwrap();
            expected += events as usize;
        }
        let items = items(&writer.finish(&[]).unwrap()).unwrap();
        prop_assert_eq!(items.len(), expected);
        let times: Vec<u64> =
            items.iter().map(|item| item.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        prop_assert!(times.is_sorted());
    }
}

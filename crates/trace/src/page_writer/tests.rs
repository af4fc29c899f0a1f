//! Pages that were written are read by the reader of the kernel's own.

use super::*;
use crate::format::EventFormat;
use crate::format::tests::{EVENT, PAGE, SCHED_SWITCH};
use crate::ring_page::{Missed, PageCursor, PageLayout};
use proptest::prelude::*;

fn layout(page: PageHeader) -> PageLayout {
    let format = EventFormat::parse(SCHED_SWITCH.as_bytes()).unwrap();
    let event = EventHeader::parse(EVENT.as_bytes()).unwrap();
    PageLayout::new(page, event, format.field("common_type").unwrap()).unwrap()
}

fn writer(page: PageHeader) -> PageWriter {
    PageWriter::new(page, EventHeader::parse(EVENT.as_bytes()).unwrap())
}

fn header() -> PageHeader {
    PageHeader::parse(PAGE.as_bytes()).unwrap()
}

/// Times and bytes of all events, and what was said to be missed, with the page's place.
type Read = (Vec<(u64, Vec<u8>)>, Vec<(usize, Option<u64>)>);

fn read(page: PageHeader, pages: &[Vec<u8>]) -> Read {
    let (mut events, mut missed) = (Vec::new(), Vec::new());
    for (index, bytes) in pages.iter().enumerate() {
        assert!(bytes.len() <= page.page_bytes());
        let layout = layout(page);
        assert_eq!(layout.used_bytes(bytes), bytes.len());
        let mut cursor = PageCursor::new(&layout, bytes).unwrap();
        if let Some(Missed { events }) = cursor.missed() {
            missed.push((index, events));
        }
        while let Some(event) = cursor.next(bytes).unwrap() {
            events.push((event.time_ns, event.payload.to_vec()));
        }
    }
    (events, missed)
}

#[test]
fn what_was_missed_is_told_by_the_page_behind_it() {
    let mut pages = Vec::new();
    let mut sink = |page: &[u8]| {
        pages.push(page.to_vec());
        Ok(())
    };
    let mut writer = writer(header());
    writer.push(5, &[1; 8], &mut sink).unwrap();
    writer.missed(0, &mut sink).unwrap();
    writer.push(6, &[2; 8], &mut sink).unwrap();
    writer.missed(7, &mut sink).unwrap();
    writer.missed(2, &mut sink).unwrap();
    writer.push(3, &[3; 8], &mut sink).unwrap();
    writer.flush(&mut sink).unwrap();
    writer.flush(&mut sink).unwrap();
    assert_eq!(writer.pages(), 2);
    let (events, missed) = read(header(), &pages);
    // The third came late, and is where the second was.
    let times: Vec<_> = events.iter().map(|(time, bytes)| (*time, bytes[0])).collect();
    assert_eq!(times, [(5, 1), (6, 2), (6, 3)]);
    assert_eq!(missed, [(1, Some(9))]);
}

#[test]
fn an_event_that_fits_no_page_is_refused_and_the_rest_is_written() {
    let mut pages = Vec::new();
    let mut sink = |page: &[u8]| {
        pages.push(page.to_vec());
        Ok(())
    };
    let mut writer = writer(header());
    let most = header().data_bytes - HEAD_BYTES;
    for bytes in [0, most + 1] {
        let error = writer.push(1, &vec![1; bytes], &mut sink).unwrap_err().to_string();
        assert!(error.contains("fits into a page"), "{error}");
    }
    writer.push(1, &vec![9; most], &mut sink).unwrap();
    writer.missed(1, &mut sink).unwrap();
    writer.push(1, &vec![8; most], &mut sink).unwrap();
    writer.flush(&mut sink).unwrap();
    let (events, missed) = read(header(), &pages);
    assert_eq!(events, [(1, vec![9; most]), (1, vec![8; most])]);
    // No room behind the data to say how many.
    assert_eq!(missed, [(1, None)]);
}

proptest! {
    #[test]
    fn any_events_are_read_back_from_pages(
        events in prop::collection::vec((0_u64..1 << 34, 1_usize..300, any::<u8>()), 0..200),
        data_bytes in 400_usize..5_000,
        commit_bytes in prop::sample::select(vec![4_usize, 8]),
    ) {
        let page = PageHeader {
            timestamp_offset_bytes: 0,
            commit_offset_bytes: 8,
            commit_bytes,
            data_offset_bytes: 8 + commit_bytes,
            data_bytes,
        };
        let mut writer = writer(page);
        let mut pages = Vec::new();
        let mut sink = |page: &[u8]| { pages.push(page.to_vec()); Ok(()) };
        let (mut expected, mut time_ns) = (Vec::new(), 1_u64 << 40);
        for (delta, words, value) in events {
            time_ns += delta;
            let payload = vec![value; words];
            writer.push(time_ns, &payload, &mut sink).unwrap();
            let mut padded = payload;
            padded.resize(words.next_multiple_of(4), 0);
            expected.push((time_ns, padded));
        }
        writer.flush(&mut sink).unwrap();
        prop_assert_eq!(writer.pages(), pages.len() as u64);
        let (found, missed) = read(page, &pages);
        prop_assert_eq!(found, expected.clone());
        prop_assert!(missed.is_empty());
    }
}

//! Tests of pages, made as the kernel makes them.

use super::*;
use crate::format::EventFormat;
use proptest::prelude::*;

const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";
const EVENT: &str = "\ttype_len : 5 bits\n\ttime_delta : 27 bits\n\tarray : 32 bits\n
\tpadding : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n
\tdata max type_len == 28\n";
const FORMAT: &str =
    "name: a\nID: 7\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";

fn layout() -> PageLayout {
    let format = EventFormat::parse(FORMAT.as_bytes()).unwrap();
    PageLayout::new(
        PageHeader::parse(PAGE.as_bytes()).unwrap(),
        EventHeader::parse(EVENT.as_bytes()).unwrap(),
        format.field("common_type").unwrap(),
    )
    .unwrap()
}

fn head(kind: u32, delta: u32) -> [u8; 4] {
    (kind | delta << 5).to_le_bytes()
}

fn page(time_ns: u64, flags: u64, data: &[u8], behind: &[u8]) -> Vec<u8> {
    let mut page = time_ns.to_le_bytes().to_vec();
    page.extend((data.len() as u64).wrapping_add(flags).to_le_bytes());
    page.extend(data);
    page.extend(behind);
    page.resize(4096, 0);
    page
}

fn read(page: &[u8]) -> Result<Vec<(u64, u16, usize)>> {
    PageEvents::new(&layout(), page)?
        .map(|event| event.map(|event| (event.time_ns, event.id, event.payload.len())))
        .collect()
}

#[test]
fn times_lengths_and_kinds_are_read() {
    let mut data = Vec::new();
    data.extend([&head(1, 0)[..], &[7, 0, 1, 1]].concat());
    data.extend([&head(28, 5)[..], &[8, 0], &[1; 110]].concat());
    // Longer than 28 words: its length, which counts the word it is in, comes first.
    data.extend([&head(0, 1)[..], &120_u32.to_le_bytes(), &[9, 0], &[1; 114]].concat());
    data.extend([&head(30, 3)[..], &2_u32.to_le_bytes()].concat());
    data.extend([&head(1, 0)[..], &[7, 0, 0, 0]].concat());
    // Discarded: 1 stands for 0, anything else counts.
    data.extend([&head(29, 1)[..], &8_u32.to_le_bytes(), &[0; 4]].concat());
    data.extend([&head(29, 10)[..], &4_u32.to_le_bytes()].concat());
    data.extend([&head(1, 1)[..], &[7, 0, 0, 0]].concat());
    data.extend([&head(31, 77)[..], &100_u32.to_le_bytes()].concat());
    data.extend([&head(1, 0)[..], &[7, 0, 0, 0]].concat());
    // The rest of the page is filler.
    data.extend([&head(29, 0)[..], &[0xff; 40]].concat());
    let extended = 1_006 + (2 << 27) + 3;
    let stamp = (100 << 27) + 77;
    let expected = vec![
        (1_000, 7, 4),
        (1_005, 8, 112),
        (1_006, 9, 116),
        (extended, 7, 4),
        (extended + 11, 7, 4),
        (stamp, 7, 4),
    ];
    assert_eq!(read(&page(1_000, 0, &data, &[])).unwrap(), expected);
    let whole = page(1_000, 0, &data, &[]);
    let used = layout().used_bytes(&whole);
    assert_eq!(used, 16 + data.len());
    assert_eq!(read(&whole[..used]).unwrap(), expected);
}

#[test]
fn a_time_stamp_keeps_the_bits_it_has_no_room_for() {
    let above = 3_u64 << 59;
    let stamped = |before: u64, stamp: u64| {
        let mut data =
            [head(31, (stamp & 0x7ff_ffff) as u32), ((stamp >> 27) as u32).to_le_bytes()].concat();
        data.extend([&head(1, 0)[..], &[7, 0, 0, 0]].concat());
        read(&page(before, 0, &data, &[])).map(|events| events[0].0)
    };
    assert_eq!(stamped(5, 9).unwrap(), 9);
    assert_eq!(stamped(above | 5, 9).unwrap(), above | 9);
    // The 59 bits have begun again.
    assert_eq!(stamped(above | 9, 5).unwrap(), (4 << 59) | 5);
    assert!(stamped(u64::MAX, 5).is_err());
}

#[test]
fn missed_events_are_counted() {
    let event = [&head(1, 2)[..], &[7, 0, 0, 0]].concat();
    let missed = |flags: u64, behind: &[u8]| {
        let page = page(10, flags, &event, behind);
        let used = layout().used_bytes(&page);
        PageEvents::new(&layout(), &page[..used]).map(|events| (events.missed(), events.count()))
    };
    let known = |events| Some(Missed { events });
    assert_eq!(missed(0, &[]).unwrap(), (None, 1));
    // Bit 31 as the kernel adds it to a long: sign and all.
    let negative = i64::from(i32::MIN) as u64;
    assert_eq!(missed(1 << 31, &[]).unwrap(), (known(None), 1));
    assert_eq!(missed(negative, &[]).unwrap(), (known(None), 1));
    let stored = negative.wrapping_add(1 << 30);
    assert_eq!(missed(stored, &5_000_u64.to_le_bytes()).unwrap(), (known(Some(5_000)), 1));
    assert!(missed(1 << 30, &5_u64.to_le_bytes()).is_err());
    assert!(missed(1 << 33, &[]).is_err());
}

#[test]
fn what_is_wrong_is_named_with_its_offset() {
    let wrong = |data: &[u8], field: &str, offset: usize| {
        let error = read(&page(u64::MAX - 5, 0, data, &[])).unwrap_err().to_string();
        let place = format!("{field} at offset {offset}:");
        assert!(error.contains(&place), "{error}");
    };
    wrong(&[&head(3, 0)[..], &[7, 0, 0, 0]].concat(), "length of an event", 16);
    wrong(&[&head(1, 6)[..], &[7, 0, 0, 0]].concat(), "time_delta", 16);
    wrong(&[&head(0, 0)[..], &3_u32.to_le_bytes()].concat(), "array[0]", 20);
    wrong(&[&head(0, 0)[..], &4_u32.to_le_bytes()].concat(), "common_type", 24);
    wrong(&[&head(0, 0)[..], &u32::MAX.to_le_bytes()].concat(), "length of an event", 16);
    wrong(&[&head(29, 1)[..], &u32::MAX.to_le_bytes()].concat(), "length of padding", 24);
    wrong(&head(30, 1), "array[0]", 20);
    wrong(&[7, 0], "entry", 16);
    let too_long = [16_u64.to_le_bytes(), 4_081_u64.to_le_bytes()].concat();
    assert!(PageCursor::new(&layout(), &too_long).is_err());
    for length in 0..16 {
        assert!(PageCursor::new(&layout(), &vec![0; length]).is_err());
    }
    assert!(PageCursor::new(&layout(), &vec![0; 4_097]).is_err());
}

#[test]
fn after_an_error_there_is_nothing() {
    let data = [&head(30, 1)[..], &[1, 0, 0, 0], &head(31, 1), &[0, 0, 0, 0], &head(9, 0)].concat();
    let page = page(1, 0, &data, &[]);
    let mut events = PageEvents::new(&layout(), &page).unwrap();
    assert!(events.next().unwrap().is_err());
    assert!(events.next().is_none());
}

proptest! {
    #[test]
    fn any_page_is_read_to_its_end_or_refused(
        words in proptest::collection::vec(
            prop_oneof![any::<u32>(), 0_u32..200, (0_u32..32, 0_u32..3).prop_map(|(k, d)| k | d << 5)],
            0..200,
        ),
        flags in 0_u64..4,
        cut in 0_usize..4_096,
    ) {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let page = page(1, flags << 30, &data, &[]);
        for page in [&page[..], &page[..cut]] {
            let Ok(mut events) = PageEvents::new(&layout(), page) else { continue };
            let end = page.as_ptr_range().end;
            let mut count = 0;
            for event in events.by_ref().flatten() {
                prop_assert!(event.payload.as_ptr_range().end <= end);
                count += 1;
            }
            prop_assert!(count <= data.len() / 4);
            prop_assert!(events.next().is_none());
        }
    }
}

//! Tests of the sums: each request and each byte once, whoever asked.

use super::*;
use crate::record::Name;
use proptest::prelude::*;

const DISK: Device = Device(8 << 20);

fn event(kind: Kind, sector: u64, sectors: u64, class: &str, pid: i32) -> BlockEvent {
    BlockEvent {
        time_ns: 1_000,
        device: DISK,
        kind,
        sector,
        bytes: sectors * 512,
        class: Class::parse(class.as_bytes()),
        process: Process { pid, comm: Name::new(b"task") },
    }
}

const DONE: Kind = Kind::Complete { failed: false };
const FAILED: Kind = Kind::Complete { failed: true };

fn sums(events: &[BlockEvent]) -> Accounting {
    let mut accounting = Accounting::default();
    events.iter().for_each(|event| accounting.take(event));
    accounting
}

fn column(accounting: &Accounting, column: Column) -> Totals {
    accounting.by_device().get(&DISK).map(|traffic| traffic.column(column)).unwrap_or_default()
}

#[test]
fn a_request_issued_again_counts_once() {
    let issue = event(Kind::Issue, 8, 16, "W", 1);
    let requeue = event(Kind::Requeue, 8, 16, "W", 1);
    let done = event(DONE, 8, 16, "W", 0);
    let accounting = sums(&[issue, requeue, issue, requeue, issue, done]);
    let expected = Totals {
        requests: 1,
        requested_bytes: 8_192,
        done_requests: 1,
        done_bytes: 8_192,
        ..Totals::default()
    };
    assert_eq!(column(&accounting, Column::W), expected);
    assert_eq!(accounting.counts().reissued_requests, 2);
    assert_eq!(accounting.counts().pending_requests, 0);
    // Two at one place that nobody gave back are two.
    let accounting = sums(&[issue, issue, done, done]);
    assert_eq!(column(&accounting, Column::W).requests, 2);
    assert_eq!(accounting.counts().reissued_requests, 0);
}

#[test]
fn parts_of_a_request_add_up() {
    let accounting = sums(&[
        event(Kind::Issue, 100, 16, "WS", 7),
        event(DONE, 100, 8, "WS", 0),
        event(Kind::Requeue, 108, 8, "WS", 0),
        event(Kind::Issue, 108, 8, "WS", 9),
        event(DONE, 108, 8, "WS", 0),
    ]);
    let totals = column(&accounting, Column::Ws);
    assert_eq!((totals.requests, totals.done_requests, totals.done_bytes), (1, 1, 8_192));
    let by_process = accounting.by_process(DISK);
    assert_eq!(by_process.keys().map(|process| process.pid).collect::<Vec<_>>(), [7]);
}

#[test]
fn what_fails_is_no_traffic_and_what_was_issued_before_is() {
    let accounting = sums(&[
        event(Kind::Issue, 0, 8, "R", 1),
        event(FAILED, 0, 8, "R", 0),
        event(DONE, 50, 8, "RM", 0),
    ]);
    let totals = column(&accounting, Column::R);
    assert_eq!((totals.failed_requests, totals.failed_bytes, totals.done_bytes), (1, 4_096, 0));
    assert_eq!(column(&accounting, Column::Rm).done_bytes, 4_096);
    assert_eq!(accounting.counts().unmatched_requests, 1);
    let comms: Vec<_> = accounting.by_process(DISK).keys().map(|p| p.comm.to_string()).collect();
    assert_eq!(comms, ["(unknown)", "task"]);
}

#[test]
fn flushes_have_no_place_and_the_second_end_of_a_write_is_none() {
    // The order of a write with FUA on a device without: flush, data, flush, and an end of it all.
    let accounting = sums(&[
        event(Kind::Issue, 0, 0, "FF", 3),
        event(DONE, u64::MAX, 0, "FF", 0),
        event(Kind::Issue, 64, 8, "WFS", 2),
        event(DONE, 64, 8, "WFS", 0),
        event(Kind::Issue, 0, 0, "FF", 3),
        event(DONE, u64::MAX, 0, "FF", 0),
        event(DONE, 72, 0, "FWFS", 0),
    ]);
    let flush = column(&accounting, Column::Flush);
    assert_eq!((flush.requests, flush.done_requests, flush.done_bytes), (2, 2, 0));
    let data = column(&accounting, Column::Ws);
    assert_eq!((data.requests, data.done_requests, data.done_bytes), (1, 1, 4_096));
    assert_eq!(accounting.counts().unmatched_requests, 0);
}

#[test]
fn a_request_belongs_to_who_queued_it() {
    let mut late = event(Kind::Issue, 8, 8, "W", 2);
    late.time_ns += QUEUED_NS_MAX + 1;
    let accounting = sums(&[
        event(Kind::Insert, 8, 8, "W", 1),
        event(Kind::Issue, 8, 8, "W", 2),
        event(Kind::Issue, 16, 8, "W", 3),
        // A later request at the place of one that was merged away.
        event(Kind::Insert, 8, 8, "W", 4),
        late,
    ]);
    let pids: Vec<_> = accounting.by_process(DISK).keys().map(|process| process.pid).collect();
    assert_eq!(pids, [1, 2, 3]);
}

#[test]
fn reads_and_writes_at_one_place_are_told_apart() {
    let accounting = sums(&[
        event(Kind::Issue, 8, 8, "W", 1),
        event(Kind::Issue, 8, 8, "R", 2),
        event(DONE, 8, 8, "R", 0),
    ]);
    assert_eq!(column(&accounting, Column::R).done_bytes, 4_096);
    assert_eq!(column(&accounting, Column::W).done_bytes, 0);
    assert_eq!(accounting.counts().pending_requests, 1);
}

#[test]
fn tables_are_bounded() {
    let mut accounting = Accounting::with_limits(4, 3);
    for number in 0..100 {
        accounting.take(&event(Kind::Issue, number, 8, "W", number as i32));
        accounting.take(&event(Kind::Insert, number + 1_000, 8, "W", 1));
    }
    assert_eq!((accounting.issued.len(), accounting.queued.len()), (4, 4));
    assert_eq!(accounting.counts().forgotten_requests, 96);
    assert_eq!(accounting.rows.len(), 4);
    assert_eq!(column(&accounting, Column::W).requests, 100);
    for number in 0..2 * DEVICES_MAX as u32 {
        let device = Device(number << 4 | 1);
        accounting.take(&BlockEvent { device, ..event(Kind::Issue, 0, 8, "W", 1) });
    }
    assert_eq!(accounting.devices.len(), DEVICES_MAX);
    assert_eq!(accounting.counts().left_out_events, DEVICES_MAX as u64 + 1);
}

fn any_event() -> impl Strategy<Value = BlockEvent> {
    let kind = prop_oneof![
        Just(Kind::Insert),
        Just(Kind::Issue),
        Just(Kind::Requeue),
        Just(DONE),
        Just(FAILED)
    ];
    let class = prop_oneof![Just("W"), Just("R"), Just("FF"), Just("D"), Just("FWFSM")];
    (kind, 0..4_u64, 0..3_u64, class, 0..3)
        .prop_map(|(kind, sector, sectors, class, pid)| event(kind, sector, sectors, class, pid))
}

proptest! {
    #[test]
    fn done_bytes_are_those_of_completions(events in proptest::collection::vec(any_event(), 0..200)) {
        let accounting = sums(&events);
        let of = |kind| events.iter().filter(|e| e.kind == kind).map(|e| e.bytes).sum::<u64>();
        let (mut done, mut failed, mut requests) = (0, 0, 0);
        for column in Column::ALL {
            let totals = super::tests::column(&accounting, column);
            done += totals.done_bytes;
            failed += totals.failed_bytes;
            requests += totals.requests;
        }
        prop_assert_eq!((done, failed), (of(DONE), of(FAILED)));
        let issues = events.iter().filter(|e| e.kind == Kind::Issue).count() as u64;
        prop_assert_eq!(requests + accounting.counts().reissued_requests, issues);
    }
}

//! Waits for handles, whole and in pieces.

use super::{DISK, MS, line, report};
use crate::analyze::{Analysis, Cause, Options, Piece, pieces, split};
use crate::timeline::{CheckpointCall, Journal, Processor, TailMove, Wait, WaitKind};

#[test]
fn handles_of_a_hand_made_journal() {
    let (text, json) = report(&line(), Analysis::Handle, &Options::default());
    let journal = &json["journals"][0];
    assert_eq!(journal["device"], "sda1");
    assert_eq!(journal["waits"]["handles"], 2);
    assert_eq!(journal["waits"]["max_wait_ns"], 11 * MS);
    assert_eq!(journal["kinds"][0]["kind"], "inode");
    let longest = &journal["longest_waits"][0];
    assert_eq!((&longest["pid"], &longest["transaction"]), (&10.into(), &8.into()));
    assert_eq!(longest["causes"][0]["cause"], "locked");
    assert_eq!(longest["causes"][0]["transaction"], 7);
    assert_eq!(longest["causes"][0]["sum_ns"], 11 * MS);
    assert_eq!(longest["causes"].as_array().unwrap().len(), 1);
    assert_eq!(longest["holders"][0]["task"], "holder");
    assert_eq!(longest["holders"][0]["overlap_ns"], 11 * MS);
    assert_eq!(journal["open_longest"][0]["open_ns"], 31 * MS);
    assert!(text.contains("11.0 ms  transaction 7 was locked"), "{text}");
    assert!(text.contains("holder (11) held transaction 7 open, for inode"), "{text}");
}

#[test]
fn pieces_fill_a_wait() {
    let of = |journal: &Journal, tid, begin_ms: u64, end_ms: u64| {
        let found = pieces(journal, 10, tid, (begin_ms * MS, end_ms * MS));
        found.iter().map(|one| (one.cause, one.begin_ns / MS, one.end_ns / MS)).collect::<Vec<_>>()
    };
    let line = line();
    let journal = &line.journals[&DISK];
    // It asked while 7 was running and got 8: 7 had no room.
    let full = [(Cause::Full(7), 30, 51), (Cause::Locked(7), 51, 71)];
    assert_eq!(of(journal, 8, 30, 71), full);
    // It got 7 itself: that 7 was full cannot be.
    assert_eq!(of(journal, 7, 30, 40), [(Cause::Unknown, 30, 40)]);
    assert_eq!(of(journal, 8, 71, 71), []);
    // It made room itself, from the call until the tail has moved.
    let mut journal = journal.clone();
    journal.checkpoints.push(CheckpointCall { time_ns: 100 * MS, pid: 10, result: 1 });
    journal.tails.push(TailMove { time_ns: 110 * MS, pid: 10, freed_blocks: 5, first_tid: 8 });
    let unknown = |from, to| (Cause::Unknown, from, to);
    let own = [unknown(99, 100), (Cause::Space, 100, 110), unknown(110, 112)];
    assert_eq!(of(&journal, 8, 99, 112), own);
    journal.tails.clear();
    assert_eq!(of(&journal, 8, 99, 112), [unknown(99, 100), (Cause::Space, 100, 112)]);
    // What it waited for before stands.
    journal.checkpoints[0].time_ns = 75 * MS;
    let [full, locked] = full;
    let all = [full, locked, unknown(71, 75), (Cause::Space, 75, 85)];
    assert_eq!(of(&journal, 8, 30, 85), all);
    journal.checkpoints[0].time_ns = 100 * MS;
    // Another did.
    journal.checkpoints[0].pid = 12;
    assert_eq!(of(&journal, 8, 99, 112), [(Cause::SpaceByOther(12), 99, 112)]);
}

#[test]
fn what_is_unexplained_is_split_by_what_the_task_did() {
    let piece = |cause, begin_ns, end_ns| Piece { cause, begin_ns, end_ns };
    let sleep = |kind, begin_ns, woken_ns, end_ns| Wait {
        kind,
        begin_ns,
        woken_ns,
        end_ns,
        stack: None,
        waker: None,
        next_pid: None,
        processor: Processor::default(),
    };
    let sleeps = [
        sleep(WaitKind::Sleep, 0, Some(4), Some(5)),
        sleep(WaitKind::Sleep, 20, Some(28), Some(30)),
        sleep(WaitKind::Runnable, 35, None, Some(40)),
        sleep(WaitKind::Sleep, 50, None, None),
    ];
    let whole = vec![piece(Cause::Space, 2, 10), piece(Cause::Unknown, 10, 60)];
    let expected = [
        piece(Cause::Space, 2, 10),
        piece(Cause::Awake, 10, 20),
        piece(Cause::Unknown, 20, 28),
        piece(Cause::Ready, 28, 30),
        piece(Cause::Awake, 30, 35),
        piece(Cause::Ready, 35, 40),
        piece(Cause::Awake, 40, 50),
        piece(Cause::Unknown, 50, 60),
    ];
    assert_eq!(split(whole, &sleeps, 100), expected);
    // A damaged record of a sleep that ends before it begins takes no time.
    let odd = [sleep(WaitKind::Sleep, 50, Some(30), Some(20))];
    let found = split(vec![piece(Cause::Unknown, 10, 60)], &odd, 100);
    assert_eq!(found, [piece(Cause::Awake, 10, 60)]);
}

//! Transactions, their blocks, and the space that they take.

use super::{DISK, MS, line, report};
use crate::analyze::{Analysis, Options, Source, analyze};
use crate::schema::CheckpointStats;
use crate::timeline::{JournalSample, ListLengths, Stage, Symbols, Sync, TailMove, Transaction};
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn stages_of_a_hand_made_journal() {
    let mut line = line();
    let journal = line.journals.get_mut(&DISK).unwrap();
    journal.transactions.get_mut(&7).unwrap().dropped_ns = Some(196 * MS);
    // 9 has only begun.
    journal.transactions.insert(9, Transaction { tid: 9, ..Transaction::default() });
    let sync =
        Sync { device: DISK, ino: 1, data_only: false, begin_ns: 110 * MS, end_ns: Some(170 * MS) };
    line.tasks.entry(10).or_default().syncs.push(sync);
    let (text, json) = report(&line, Analysis::State, &Options::default());
    let journal = &json["journals"][0];
    assert_eq!(
        (&journal["transactions"], &journal["committed_transactions"]),
        (&3.into(), &2.into())
    );
    assert_eq!((&journal["handles"], &journal["logged_blocks"]), (&6.into(), &24.into()));
    let sums: Vec<u64> = journal["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["sum_ns"].as_u64().unwrap() / MS)
        .collect();
    assert_eq!(sums, [100, 2, 40, 20, 30, 92, 100]);
    let rows = journal["longest_commits"].as_array().unwrap();
    assert_eq!((&rows[0]["why"], &rows[0]["why_pid"]), (&Value::Null, &Value::Null));
    assert_eq!((&rows[1]["why"], &rows[1]["why_pid"]), (&"sync".into(), &10.into()));
    assert_eq!(rows[2]["commit_ns"], Value::Null);
    let row = text.lines().find(|line| line.starts_with("           7 |")).unwrap();
    let expected = format!(
        "{}{}{}{}{}",
        "r".repeat(17) + "s",
        "L".repeat(8),
        "F".repeat(3),
        "W".repeat(6),
        ".".repeat(35)
    );
    assert_eq!(row, format!("           7 |{expected}D"), "{text}");
}

#[test]
fn why_a_commit_came_is_told_where_it_shows() {
    let mut line = line();
    line.tasks.get_mut(&10).unwrap().handles[0].asked_ns = Some(40 * MS);
    let journal = line.journals.get_mut(&DISK).unwrap();
    let old = journal.transactions.get_mut(&8).unwrap();
    old.begin_ns = Some(old.commit_ns.unwrap() - 5_000 * MS.min(old.commit_ns.unwrap() / 5_000));
    let (_, json) = report(&line, Analysis::State, &Options::default());
    let why = |row: usize| json["journals"][0]["longest_commits"][row]["why"].clone();
    assert_eq!((why(0), why(1)), ("full".into(), Value::Null));
    let journal = line.journals.get_mut(&DISK).unwrap();
    for one in journal.transactions.values_mut() {
        for at_ns in [&mut one.commit_ns, &mut one.locking_ns, &mut one.flushing_ns] {
            *at_ns = at_ns.map(|at_ns| at_ns + 5_000 * MS);
        }
    }
    let (text, json) = report(&line, Analysis::State, &Options::default());
    assert_eq!(json["journals"][0]["longest_commits"][1]["why"], "age_estimated");
    assert!(text.contains("~age"), "{text}");
    // Who asks just when the timer ends 7 gets 8, and had room; who has waited had none.
    let commit_ns = line.journals[&DISK].transactions[&7].commit_ns.unwrap();
    for (before_ns, expected) in [(50_000, "age_estimated"), (MS, "full")] {
        let handle = &mut line.tasks.get_mut(&10).unwrap().handles[0];
        handle.asked_ns = Some(commit_ns - before_ns);
        handle.begin_ns = commit_ns + 20 * MS;
        let (_, json) = report(&line, Analysis::State, &Options::default());
        let rows = json["journals"][0]["longest_commits"].as_array().unwrap();
        let of_7 = rows.iter().find(|row| row["transaction"] == 7).unwrap();
        assert_eq!(of_7["why"], expected, "{of_7}");
    }
}

#[test]
fn blocks_of_a_hand_made_journal() {
    let mut line = line();
    let journal = line.journals.get_mut(&DISK).unwrap();
    let one = journal.transactions.get_mut(&7).unwrap();
    (one.data_files, one.data_pages, one.dropped_ns) = (1, 25, Some(180 * MS));
    one.checkpoint = Some(CheckpointStats {
        dev: DISK,
        tid: 7,
        time_jiffies: 0,
        forced_to_close: 0,
        written: 4,
        dropped: 5,
    });
    let (text, json) = report(&line, Analysis::Blocks, &Options::default());
    let journal = &json["journals"][0];
    assert_eq!((&journal["data"]["unit"], &journal["data"]["max"]), (&"pages".into(), &25.into()));
    assert_eq!(journal["checkpoint"]["max"], 9 + 10, "9 that were found of 7, 10 of 8");
    assert_eq!(journal["checkpoint"]["max_at_ns"], 167 * MS);
    assert_eq!(journal["most_blocks"][0]["checkpoint_estimated_blocks"], 9);
    assert_eq!(journal["most_blocks"][1]["checkpoint_estimated_blocks"], Value::Null);
    assert!(text.contains("at most ~19 at 0.167000 s"), "{text}");

    // With probes the lists are exact.
    let list = |ms: u64, stage, metadata| ListLengths {
        time_ns: ms * MS,
        stage,
        data_files: 2,
        reserved: 0,
        metadata,
        shadow: 0,
        forget: 0,
        checkpoint: 0,
        capped: metadata > 20,
    };
    let journal = line.journals.get_mut(&DISK).unwrap();
    let one = journal.transactions.get_mut(&7).unwrap();
    one.lists = vec![list(51, Stage::Locked, 10), list(81, Stage::Logging, 21)];
    journal.samples.push(JournalSample {
        time_ns: 5,
        checkpoint_blocks: 33,
        ..JournalSample::default()
    });
    let (text, json) = report(&line, Analysis::Blocks, &Options::default());
    let journal = &json["journals"][0];
    assert_eq!(
        (&journal["metadata"]["estimated"], &journal["metadata"]["max"]),
        (&false.into(), &21.into())
    );
    assert_eq!(
        (&journal["checkpoint"]["estimated"], &journal["checkpoint"]["max"]),
        (&false.into(), &33.into())
    );
    assert_eq!(journal["most_blocks"][0]["lists"][1]["is_lower_bound"], true);
    assert!(text.contains(">=2"), "{text}");
}

#[test]
fn space_of_a_hand_made_journal() {
    let mut line = line();
    let sample = |ms: u64, free_blocks| JournalSample {
        time_ns: ms * MS,
        total_blocks: 100,
        free_blocks,
        reserved_credits: 3,
        max_transaction_blocks: 33,
        ..JournalSample::default()
    };
    line.journals.get_mut(&DISK).unwrap().samples =
        vec![sample(0, 90), sample(50, 20), sample(150, 80)];
    let (text, json) = report(&line, Analysis::Space, &Options::default());
    let journal = &json["journals"][0];
    assert_eq!((&journal["estimated"], &journal["min_free_blocks"]), (&false.into(), &20.into()));
    assert_eq!(journal["below_quarter_ns"], 100 * MS);
    assert_eq!(journal["max_reserved_credits"], 3);
    assert!(text.contains("100 blocks, at most 33 a transaction") && !text.contains('~'), "{text}");
}

#[test]
fn the_size_of_a_transaction_is_a_fact_of_the_machine() {
    let (line, symbols) = (line(), Symbols::default());
    let devices = BTreeMap::from([(DISK, "sda1".to_owned())]);
    let info = "5 transactions (4 requested), each up to 1365 blocks\naverage: \n";
    let facts = BTreeMap::from([
        ("/proc/fs/jbd2/sda12-8/info".to_owned(), info.replace("1365", "7")),
        ("/proc/fs/jbd2/sda1-8/info".to_owned(), info.to_owned()),
    ]);
    let source = Source {
        line: &line,
        devices: &devices,
        arch: None,
        symbols: &symbols,
        facts: &facts,
        tasks: None,
    };
    let json = analyze(Analysis::Space, &source, &Options::default()).json();
    assert_eq!(json["journals"][0]["max_transaction_blocks"], 1_365);
    assert_eq!(source.device("/dev/sda1"), Some(DISK));
    assert_eq!(source.device("8:1"), Some(DISK));
    assert_eq!(source.device("sdb"), None);
}

#[test]
fn books_are_corrected_where_they_can_be() {
    let mut line = line();
    // Nothing has moved: at least what was logged.
    let (text, json) = report(&line, Analysis::Space, &Options::default());
    let journal = &json["journals"][0];
    assert_eq!(
        (&journal["is_lower_bound"], &journal["max_used_blocks"]),
        (&true.into(), &24.into())
    );
    assert_eq!(journal["min_free_blocks"], Value::Null, "nobody told the size");
    assert!(text.contains("--journal-blocks"), "{text}");
    // The tail moves to 8, and all from there on were seen: 12 blocks are used. So 7 had come to 22
    // that were used before.
    let journal = line.journals.get_mut(&DISK).unwrap();
    let tail = |ms: u64, freed_blocks, first_tid| TailMove {
        time_ns: ms * MS,
        pid: 1,
        freed_blocks,
        first_tid,
    };
    journal.tails = vec![tail(170, 34, 8)];
    let options = Options { journal_blocks: Some(101), ..Options::default() };
    let (text, json) = report(&line, Analysis::Space, &options);
    let journal = &json["journals"][0];
    assert_eq!((&journal["anchors"], &journal["corrected_blocks"]), (&1.into(), &0.into()));
    assert_eq!(
        (&journal["max_used_blocks"], &journal["last_used_blocks"]),
        (&46.into(), &12.into())
    );
    assert_eq!((&journal["total_blocks"], &journal["min_free_blocks"]), (&100.into(), &54.into()));
    assert!(text.contains("least free ~54 at 0.167000 s"), "{text}");
    // One that freed less than was there: the books are corrected.
    let journal = line.journals.get_mut(&DISK).unwrap();
    journal.tails.push(tail(171, 10, 9));
    let (_, json) = report(&line, Analysis::Space, &options);
    let journal = &json["journals"][0];
    assert_eq!((&journal["anchors"], &journal["corrected_blocks"]), (&2.into(), &2.into()));
    assert_eq!(journal["last_used_blocks"], 0);
}

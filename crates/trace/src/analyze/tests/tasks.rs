//! System calls and waits of tasks.

use super::report;
use crate::analyze::{Analysis, Options, Source, analyze};
use crate::explain::Knowledge;
use crate::record::Name;
use crate::timeline::{
    Call, CallCount, Context, Processor, Symbols, Timeline, Wait, WaitKind, Waker,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn calls_of_hand_made_tasks() {
    let mut line = Timeline { end_ns: 100, calls_are_exact: true, ..Timeline::default() };
    let count =
        |count, failed, sum_ns, sum_ret| CallCount { count, failed, sum_ns, max_ns: 9, sum_ret };
    line.tasks.entry(5).or_default().call_counts.insert(1, count(3, 1, 30, 4_096));
    line.tasks.entry(6).or_default().call_counts.insert(1, count(1, 0, 10, 100));
    line.tasks.entry(6).or_default().call_counts.insert(9_999, count(1, 0, 99, 7));
    let call = Call { number: 74, args: [0; 6], begin_ns: 40, end_ns: None, ret: 0 };
    line.tasks.entry(6).or_default().calls.push(call);
    let exit = Call { number: 60, ..call };
    line.tasks.entry(5).or_default().calls.push(exit);
    let (text, json) = report(&line, Analysis::Syscall, &Options::default());
    assert_eq!(json["calls"][0]["call"], "call 9999");
    assert_eq!(
        (&json["calls"][0]["is_storage"], &json["calls"][0]["written_bytes"]),
        (&Value::Null, &Value::Null)
    );
    let write = &json["calls"][1];
    assert_eq!(
        (&write["call"], &write["calls"], &write["failed_calls"]),
        (&"write".into(), &4.into(), &1.into())
    );
    assert_eq!((&write["written_bytes"], &write["tasks"]), (&4_196.into(), &2.into()));
    assert_eq!(json["by_task"].as_array().unwrap().len(), 3);
    assert_eq!(json["not_ended"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&json["not_ended"][0]["call"], &json["not_ended"][0]["so_far_ns"]),
        (&"fsync".into(), &60.into())
    );
    assert!(text.contains("60 ns+"), "{text}");
    let (text, json) = report(&line, Analysis::Syscall, &Options { top: 1, ..Options::default() });
    assert_eq!(json["by_task"].as_array().unwrap().len(), 1);
    assert_eq!((&json["pairs"], &json["different_calls"]), (&3.into(), &2.into()));
    assert!(text.contains("and 2 more of a task"), "{text}");
}

#[test]
fn calls_and_waits_are_those_of_the_tasks_that_are_asked_for() {
    let mut line = Timeline { end_ns: 100, ..Timeline::default() };
    for pid in [5, 6, 7] {
        let task = line.tasks.entry(pid).or_default();
        task.call_counts.insert(1, CallCount { count: 1, ..CallCount::default() });
        task.waits.push(Wait {
            kind: WaitKind::Sleep,
            begin_ns: 1,
            woken_ns: None,
            end_ns: Some(2),
            stack: None,
            waker: None,
            next_pid: None,
            processor: Processor::default(),
        });
    }
    let known = Knowledge::new(
        line,
        Symbols::default(),
        BTreeMap::new(),
        BTreeMap::new(),
        None,
        BTreeSet::new(),
    );
    let tasks = BTreeSet::from([5, 7]);
    let source = Source { tasks: Some(&tasks), ..Source::from(&known) };
    let json = |analysis| analyze(analysis, &source, &Options::default()).json();
    assert_eq!(json(Analysis::Syscall)["pairs"], 2);
    assert_eq!(json(Analysis::Waits)["kinds"][0]["waits"], 2);
}

#[test]
fn waits_of_hand_made_tasks() {
    let mut line = Timeline { end_ns: 1_000, ..Timeline::default() };
    let one = line.stacks.add(crate::record::Frames::new([1, 2, 3]));
    let other = line.stacks.add(crate::record::Frames::new([1, 2, 4]));
    let wait = |kind, stack, begin_ns, end_ns, waker| Wait {
        kind,
        begin_ns,
        woken_ns: None,
        end_ns,
        stack,
        waker,
        next_pid: None,
        processor: Processor::default(),
    };
    let by = |pid, context| Some(Waker { pid, context, call: None });
    let task = line.tasks.entry(5).or_default();
    task.waits = vec![
        wait(WaitKind::Sleep, Some(one), 0, Some(100), by(7, Context::Task)),
        wait(WaitKind::Sleep, Some(one), 100, Some(300), by(7, Context::Task)),
        wait(WaitKind::Sleep, Some(one), 300, Some(310), by(7, Context::Interrupt)),
        wait(WaitKind::Runnable, None, 310, Some(320), None),
        wait(WaitKind::Sleep, Some(other), 400, None, None),
    ];
    line.tasks.entry(7).or_default().name = Name::new(b"jbd2/sda1-8");
    let (text, json) = report(&line, Analysis::Waits, &Options::default());
    let sleep = &json["kinds"][0];
    assert_eq!((&sleep["waits"], &sleep["sum_ns"]), (&4.into(), &910.into()));
    let rows = sleep["longest"].as_array().unwrap();
    assert_eq!(
        (&rows[0]["place"], &rows[0]["sum_ns"], &rows[0]["open_waits"]),
        (&"0x4".into(), &600.into(), &1.into())
    );
    assert_eq!(
        (&rows[1]["waits"], &rows[1]["max_ns"], &rows[1]["max_at_ns"]),
        (&3.into(), &200.into(), &100.into())
    );
    assert_eq!(
        (&rows[1]["wakers"][0]["pid"], &rows[1]["wakers"][0]["waits"]),
        (&7.into(), &2.into())
    );
    assert_eq!(rows[1]["wakers"][1]["name"], "interrupt");
    let sum: u64 = rows.iter().map(|row| row["sum_ns"].as_u64().unwrap()).sum();
    assert_eq!(sum, 910);
    assert!(text.contains("jbd2/sda1-8 (7), interrupt"), "{text}");
}

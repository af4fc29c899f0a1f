//! What is in a Perfetto trace: counted in the file by the decoder, and in the timeline here.

use super::decoder::Trace;
use super::{FIXTURES, Hostile, drawn, fixture, slow_calls};
use crate::render::View;
use crate::timeline::{Context, Task, Timeline, Transaction};
use std::collections::BTreeMap;

fn sum(line: &Timeline, of: impl Fn(&Task) -> usize) -> usize {
    line.tasks.values().map(of).sum()
}

/// Stages of which a beginning is known, but the last if nothing follows it.
fn known_stages(one: &Transaction) -> usize {
    let times = [one.begin_ns, one.commit_ns, one.locking_ns, one.flushing_ns, one.logging_ns];
    times.iter().flatten().count()
}

/// Slices and instants that a timeline must give, by category.
pub(super) fn expected(line: &Timeline, slow: usize, links: usize) -> BTreeMap<String, usize> {
    let mut waits = 0;
    let mut wakes = 0;
    for (pid, task) in &line.tasks {
        for wait in &task.waits {
            waits += 1 + usize::from(wait.woken_ns.is_some());
            let by_task = wait.waker.filter(|waker| waker.context == Context::Task);
            let waker = by_task.and_then(|waker| Some((waker.pid, line.tasks.get(&waker.pid)?)));
            wakes += usize::from(
                wait.woken_ns.is_some()
                    && waker.is_some_and(|(waker, task)| {
                        waker != *pid
                            && task.waits.len()
                                + task.calls.len()
                                + task.handles.len()
                                + task.syncs.len()
                                + task.reclaims.len()
                                + task.throttles.len()
                                > 0
                    }),
            );
        }
    }
    let transactions = || line.journals.values().flat_map(|journal| journal.transactions.values());
    let points = line.journals.values().map(|journal| {
        journal.tails.len() + journal.checkpoints.len() + journal.buffer_stalls.len()
    });
    let counts = [
        ("about", 1),
        ("slow", slow),
        ("reason", links),
        ("call", sum(line, |task| task.calls.len())),
        ("sync", sum(line, |task| task.syncs.len())),
        ("reclaim", sum(line, |task| task.reclaims.len())),
        ("throttle", sum(line, |task| task.throttles.len())),
        (
            "handle",
            sum(line, |task| {
                task.handles.len()
                    + task.handles.iter().filter(|one| one.asked_ns.is_some()).count()
            }),
        ),
        ("wait", waits),
        ("wake", wakes),
        ("journal", transactions().filter(|one| known_stages(one) > 0).count()),
        ("stage", transactions().map(known_stages).sum()),
        ("space", points.sum()),
        ("disk", line.disks.values().map(|disk| disk.requests.len()).sum()),
    ];
    let there = counts.into_iter().filter(|(_, count)| *count > 0);
    there.map(|(category, count)| (category.to_owned(), count)).collect()
}

#[test]
fn every_span_of_every_fixture_is_in_the_perfetto_trace() {
    for (name, bytes) in FIXTURES {
        let (machine, line) = fixture(bytes);
        let slow = slow_calls(&line, 5);
        let view = View {
            title: name,
            machine: &machine,
            line: &line,
            slow: &slow,
            names: &Hostile,
            remarks: &[],
        };
        let trace = Trace::read(&drawn(&view).0);
        assert_eq!(trace.categories(), expected(&line, 5, 20), "{name}");
        assert!(trace.categories()["wake"] > 0, "{name}");

        // CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME.
        let ids: Vec<u64> = trace.clocks.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [3, 6, 1], "{name}");
        assert_eq!(trace.clocks[0].1, line.begin_ns, "{name}");
        let real = i128::from(line.begin_ns) + i128::from(machine.realtime_offset_ns);
        assert_eq!(i128::from(trace.clocks[2].1), real, "{name}");

        let in_flight = trace.tracks.iter().filter(|(_, (name, _))| name == "in flight");
        let (in_flight, disk) = (in_flight.map(|(id, _)| *id), line.disks.values().next());
        let values: Vec<i64> = in_flight
            .flat_map(|id| trace.counters.iter().filter(move |(track, ..)| *track == id))
            .map(|(.., value)| *value)
            .collect();
        let open = disk
            .unwrap()
            .requests
            .iter()
            .filter(|one| one.done_ns.is_none() && one.bytes > 0)
            .count();
        assert!(values.iter().any(|value| *value > 0), "{name}");
        if line.disks.len() == 1 {
            assert_eq!(values.last(), Some(&(open as i64)), "{name}");
        }
        // An arrow has two ends at least.
        assert!(trace.flows.values().all(|ends| *ends >= 2), "{name}");
        assert_eq!(trace.flows.len(), trace.categories()["wake"] + 20, "{name}");
    }
}

#[test]
fn slices_have_the_bounds_of_their_spans() {
    for (name, bytes) in FIXTURES {
        let (machine, line) = fixture(bytes);
        let view = View {
            title: name,
            machine: &machine,
            line: &line,
            slow: &[],
            names: &(),
            remarks: &[],
        };
        let trace = Trace::read(&drawn(&view).0);
        let bounds = |category: &str| {
            let slices = trace.slices.iter().filter(|slice| slice.category == category);
            let mut bounds: Vec<_> = slices.map(|one| (one.begin_ns, one.end_ns)).collect();
            bounds.sort_unstable();
            bounds
        };
        let tasks = || line.tasks.values();
        let mut calls: Vec<_> =
            tasks().flat_map(|task| &task.calls).map(|one| (one.begin_ns, one.end_ns)).collect();
        calls.sort_unstable();
        assert_eq!(bounds("call"), calls, "{name}");
        let waits = tasks().flat_map(|task| &task.waits);
        let mut spans: Vec<_> = waits
            .flat_map(|one| [Some(one.begin_ns), one.woken_ns].map(|at| Some((at?, one.end_ns))))
            .flatten()
            .collect();
        spans.sort_unstable();
        assert_eq!(bounds("wait"), spans, "{name}");
        let disks = line.disks.values().flat_map(|disk| &disk.requests);
        let told = disks.filter(|one| one.bytes > 0 || one.done_ns.is_some());
        let mut requests: Vec<_> = told.map(|one| (one.begin_ns(), one.done_ns)).collect();
        requests.sort_unstable();
        assert_eq!(bounds("disk"), requests, "{name}");
        // A sync of the load waits inside of its call, and the tracks of a task tell which is which.
        let inner = trace.slices.iter().filter(|slice| slice.category == "sync");
        assert!(inner.clone().all(|slice| slice.depth > 0), "{name}");
        assert!(inner.count() >= 5, "{name}");
        // Stages of a transaction lie in it, on one track.
        let stages = trace.slices.iter().filter(|slice| slice.category == "stage");
        assert!(stages.clone().all(|slice| slice.depth == 1), "{name}");
        assert!(stages.count() >= 20, "{name}");
    }
}

//! Texts cost what is asked for: of runs no page outside the interval, for the last rows few pages, and
//! memory that does not grow with the answer. Held against a plain map of what was pushed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, Random, options};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{
    Aggregate, Every, Extent, Interval, Query, Reading, Selection, SettleOptions, Settler, Store,
    Values,
};
use baro_sys::counters::{MeasuringAllocator, measured};
use baro_sys::disk::Disk;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

fn made(name: &str, segments: u32) -> Folder {
    let folder = Folder::new(name);
    let disk = Disk::create(&folder.0).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (4 << 20, 1 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
    init(&disk, &folder.0, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    folder
}

fn push(folder: &Folder, texts: impl Iterator<Item = (i64, String)>) {
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("log", Type::Text, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    for (time_ns, text) in texts {
        while producer.push_text(id, time_ns, &text).is_err() {
            baro_sys::clock::sleep_ns(1_000_000);
        }
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
}

fn settle(folder: &Folder) {
    let options = SettleOptions { least_bytes: 1, ..Default::default() };
    let mut settler = Settler::open(&folder.0, options).unwrap();
    while settler.step(Extent::All).unwrap().more {}
}

type Rows = Vec<(i64, String)>;

fn ask(store: &Store, query: &Query) -> Rows {
    let selection = Selection::named(store.catalog(), &["log"]).unwrap();
    let mut rows = Vec::new();
    let notes = store.query(&selection, query, |batch| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let text = match batch.values {
                Values::Text(texts) => texts.get(at).unwrap().to_owned(),
                values => values.bits(at).unwrap().to_string(),
            };
            rows.push((*time_ns, text));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(notes.unwrap().read.damage, []);
    rows
}

fn pages_read(store: &Store) -> u64 {
    store.pages_read().map(|run| run.1.pages).sum()
}

fn last(rows: usize) -> Query {
    Query { last: Some(rows), ..Query::raw(Interval::ALL) }
}

/// 20 MB of texts of which no two are equal: about as many pages.
const TEXTS: i64 = 20_000;

fn text(at: i64) -> String {
    format!("{at:0>1000}")
}

#[test]
fn a_question_about_texts_reads_the_pages_that_it_needs() {
    let folder = made("texts-cost", 12);
    push(&folder, (0..TEXTS).map(|at| (at, text(at))));
    settle(&folder);
    let asked = |query: &Query| {
        let store = Store::open(&folder.0).unwrap();
        let ((rows, batches), memory) = measured(|| {
            let selection = Selection::named(store.catalog(), &["log"]).unwrap();
            let (mut rows, mut batches) = (Vec::new(), 0);
            let take = |batch: &baro_store::Batch<'_>| {
                rows.extend_from_slice(batch.times_ns);
                batches += 1;
                ControlFlow::Continue(())
            };
            store.query(&selection, query, take).unwrap();
            (rows, batches)
        });
        assert!(rows.is_sorted() && batches < 40, "{batches}");
        (rows, pages_read(&store), memory.peak_bytes)
    };
    let (rows, all, peak) = asked(&Query::raw(Interval::ALL));
    assert_eq!(rows.len(), TEXTS as usize);
    assert!(all >= 19, "{all} pages");
    assert!(peak < 16 << 20, "{peak} bytes");
    let (rows, pages, _) = asked(&last(1));
    assert_eq!((rows, pages), (vec![TEXTS - 1], 1));
    let (rows, pages, peak) = asked(&last(10_000));
    assert_eq!((rows.len(), rows[0]), (10_000, TEXTS - 10_000));
    assert!(pages <= all + 2 && peak < 16 << 20, "{pages} pages, {peak} bytes");
    let interval = Interval { from_ns: TEXTS / 2, to_ns: TEXTS / 2 + 10 };
    let (rows, pages, _) = asked(&Query::raw(interval));
    assert_eq!(rows, (TEXTS / 2..TEXTS / 2 + 10).collect::<Vec<_>>());
    assert!(pages <= 2, "{pages} pages");
    let (rows, pages, _) = asked(&Query { limit: Some(10), ..Query::raw(Interval::ALL) });
    assert_eq!((rows.len(), pages), (10, 1));
    let every = Every { step_ns: 100, aggregate: Aggregate::Last };
    let (rows, _, peak) = asked(&Query { last: Some(150), ..Query::every(Interval::ALL, every) });
    assert_eq!((rows.len(), rows[149]), (150, TEXTS - 100));
    assert!(peak < 16 << 20, "{peak} bytes");
}

#[test]
fn a_text_that_is_repeated_in_a_page_is_held_once() {
    const ROWS: i64 = 1500;
    let folder = made("texts-same", 40);
    let long = |at: i64| format!("{}{}", at % 2, "x".repeat(50_000));
    push(&folder, (0..ROWS).map(|at| (at, long(at))));
    settle(&folder);
    let store = Store::open(&folder.0).unwrap();
    let selection = Selection::named(store.catalog(), &["log"]).unwrap();
    let (mut rows, mut largest) = (0, 0);
    let (_, memory) = measured(|| {
        let take = |batch: &baro_store::Batch<'_>| {
            let Values::Text(texts) = batch.values else { panic!("{batch:?}") };
            for (at, time_ns) in batch.times_ns.iter().enumerate() {
                assert_eq!((*time_ns, texts.get(at)), (rows, Some(long(rows).as_str())));
                rows += 1;
            }
            largest = largest.max(texts.bytes.len());
            ControlFlow::Continue(())
        };
        store.query(&selection, &Query::raw(Interval::ALL), take).unwrap();
    });
    assert_eq!(rows, ROWS);
    // 75 MB in all.
    assert!(largest < 2 << 20 && memory.peak_bytes < 8 << 20, "{largest}, {memory:?}");
    // In the order of time they come in slices, which end where they are full.
    let mut rows = 0;
    let (_, memory) = measured(|| {
        let reading = Reading { memory_bytes: 4 << 20, ..Reading::default() };
        let take = |_: &baro_store::Point<'_>| {
            rows += 1;
            ControlFlow::Continue(())
        };
        store.points(Interval::ALL, &selection, &reading, take).unwrap();
    });
    assert_eq!(rows, ROWS);
    assert!(memory.peak_bytes < 24 << 20, "{memory:?}");
}

#[test]
fn texts_of_runs_and_log_are_those_that_were_recorded_last() {
    let mut random = Random(0x7e47_0000_0042);
    let folder = made("texts-random", 30);
    let mut model: BTreeMap<i64, String> = BTreeMap::new();
    for round in 0..8_u64 {
        let texts: Vec<(i64, String)> = (0..random.below(900))
            .map(|number| {
                let time_ns = (round * 300 + random.below(900)) as i64;
                let long = if random.below(3) == 0 { 700 } else { 1 };
                let kind = random.below(5);
                (time_ns, format!("{round}.{}.{}", kind * (number % 2), "y".repeat(long)))
            })
            .collect();
        model.extend(texts.iter().cloned());
        push(&folder, texts.into_iter());
        if random.below(2) == 0 {
            settle(&folder);
        }
        let store = Store::open(&folder.0).unwrap();
        for _ in 0..40 {
            let from_ns = random.below(3500) as i64 - 100;
            let interval = match random.below(3) {
                0 => Interval::ALL,
                1 => Interval { from_ns, to_ns: i64::MAX },
                _ => Interval { from_ns, to_ns: from_ns + 1 + random.below(1500) as i64 },
            };
            let inside = model.iter().filter(|row| interval.holds(*row.0));
            let mut expected: Rows =
                inside.map(|(time_ns, text)| (*time_ns, text.clone())).collect();
            let mut query = Query::raw(interval);
            if random.below(2) == 0 {
                let step_ns = 1 + random.below(400);
                let aggregate =
                    [Aggregate::First, Aggregate::Last, Aggregate::Count][random.below(3) as usize];
                query.every = Some(Every { step_ns, aggregate });
                let start = |row: &(i64, String)| row.0.div_euclid(step_ns as i64);
                let step = |rows: &[(i64, String)]| {
                    let text = match aggregate {
                        Aggregate::First => rows[0].1.clone(),
                        Aggregate::Last => rows[rows.len() - 1].1.clone(),
                        _ => rows.len().to_string(),
                    };
                    (start(&rows[0]) * step_ns as i64, text)
                };
                expected = expected.chunk_by(|a, b| start(a) == start(b)).map(step).collect();
            }
            let rows = random.below(400) as usize;
            match random.below(3) {
                0 => {
                    query.last = Some(rows);
                    expected.drain(..expected.len().saturating_sub(rows));
                }
                1 => {
                    query.limit = Some(rows as u64);
                    expected.truncate(rows);
                }
                _ => {}
            }
            assert!(ask(&store, &query) == expected, "round {round}: {query:?}");
        }
    }
}

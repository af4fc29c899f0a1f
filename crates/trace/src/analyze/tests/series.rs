//! Every event of an analysis, as rows and as a picture.

use super::{DISK, MS, line};
use crate::analyze::{Analysis, Options, Series, Source, series};
use crate::timeline::{JournalSample, Symbols, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn of(line: &Timeline, analysis: Analysis) -> Series {
    let devices = BTreeMap::from([(DISK, "sda\",1".to_owned())]);
    let (symbols, facts) = (Symbols::default(), BTreeMap::new());
    let source = Source {
        line,
        devices: &devices,
        arch: None,
        symbols: &symbols,
        facts: &facts,
        tasks: None,
    };
    series(analysis, &source, &Options { journal_blocks: Some(1_024), ..Options::default() })
        .unwrap()
}

#[test]
fn a_series_has_every_event_and_draws_itself() {
    let mut line = line();
    let journal = line.journals.get_mut(&DISK).unwrap();
    for (at_ms, free_blocks) in [(10, 900), (100, 20), (150, 1_000)] {
        journal.samples.push(JournalSample {
            time_ns: at_ms * MS,
            total_blocks: 1_024,
            free_blocks,
            ..JournalSample::default()
        });
    }
    line.tasks.get_mut(&11).unwrap().handles[0].asked_ns = None;
    let handles = of(&line, Analysis::Handle);
    let csv = handles.csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "journal,at_ns,pid,task,tid,kind,wait_ns,open_ns");
    // In the order of time; what was not asked within the trace has no wait.
    assert_eq!(lines[1], "\"sda\"\",1\",40000000,\"11\",\"holder\",7,\"inode\",,31000000");
    assert_eq!(lines[2], "\"sda\"\",1\",60000000,\"10\",\"writer\",8,\"inode\",11000000,1000000");
    assert_eq!(lines.len(), 3);
    let told = handles.json();
    assert_eq!(told["series"][0]["wait_ns"], Value::Null);
    assert_eq!(told["series"][1]["wait_ns"], 11_000_000);
    // Six stages of each of two transactions were seen.
    let states = of(&line, Analysis::State).json();
    let begins = states["series"].as_array().unwrap();
    assert_eq!(begins.len(), 12);
    assert_eq!(
        begins[0],
        json!({ "journal": "sda\",1", "at_ns": 0, "tid": 7, "begins": "running" })
    );
    let space = of(&line, Analysis::Space).json();
    let levels = space["series"].as_array().unwrap();
    assert_eq!(levels.len(), 3, "{space}");
    assert_eq!(levels[1]["free_blocks"], 20);
    assert!(!of(&line, Analysis::Blocks).csv().is_empty());
    for analysis in [Analysis::Handle, Analysis::State, Analysis::Blocks, Analysis::Space] {
        for line in [&line, &Timeline::default()] {
            let svg = of(line, analysis).svg();
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{analysis:?}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{analysis:?}: {svg}");
        }
    }
    // The free blocks as steps: two levels, each up to the next.
    assert!(of(&line, Analysis::Space).svg().matches('V').count() >= 2);
}

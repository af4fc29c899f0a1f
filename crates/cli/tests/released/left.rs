//! What else a released version leaves behind: journals of settings, groups, traces.

use crate::calls::{json, run};
use crate::fixture::{Fixture, assert_includes};
use baro_share::pieces::{PieceFiles, Pieces};
use baro_share::{Cut, Registry};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn settings_that_0_1_left_changed_are_put_back() {
    for (kind, journals) in [
        ("tune", &["journal.txt", "kept-journal.txt"][..]),
        ("stand", &["journal.txt"]),
        ("share", &["journal.txt"]),
    ] {
        let fixture = Fixture::new(kind, "undo");
        let [root, state] = ["root", "state"].map(|name| fixture.folder.path(name));
        let undo = ["tune", "undo", "--root", &root, "--state-dir", &state, "--format", "json"];
        // A machine made of files keeps a line that it is told to take away.
        let said = fixture.said_json("undo.json");
        let clean = said["clean"] == true;
        let report = json(&run(&undo), if clean { 0 } else { 3 });
        assert_eq!(report["clean"], clean, "{report:#}");
        let mut settings = 0;
        for line in journals.iter().flat_map(|name| fixture.lines(name)) {
            let fields: Vec<_> = line.split('\t').collect();
            let ["set", path, form, was, ..] = fields[..] else { continue };
            settings += 1;
            let (path, was) = match (form, was.split_once(' ')) {
                // Of two files that are one setting, the one that was in force.
                ("pair", Some((end, was))) => (path.replace("bytes", end), was),
                // What takes the line away.
                _ if form.starts_with("line ") => (path.to_owned(), &form[5..]),
                _ => (path.to_owned(), was),
            };
            let now = fs::read_to_string(format!("{root}{path}")).unwrap();
            assert_eq!(now.trim(), was, "{path}");
        }
        assert!(settings >= 4, "{settings}");
        assert_eq!(report["settings"].as_array().map(Vec::len), Some(settings));
        assert_eq!(Path::new(&format!("{state}/journal")).exists(), !clean);
        assert!(!Path::new(&format!("{state}/kept/journal")).exists());
    }
}

#[test]
fn groups_that_0_1_left_are_known_and_their_pieces_read() {
    let fixture = Fixture::new("share", "groups");
    let registry = Registry::at(&fixture.folder.0.join("run"));
    let mut found = registry.list();
    found.sort_by(|a, b| a.asked.name.cmp(&b.asked.name));
    let seen: Vec<_> = found
        .iter()
        .map(|entry| {
            let asked = &entry.asked;
            (asked.name.as_str(), asked.weight.get(), asked.disks.join(" "), asked.cut, entry.alive)
        })
        .collect();
    let sizes = Pieces { read_bytes: 8 << 20, write_bytes: 4 << 20 };
    let disk = || "loop0".to_owned();
    let cut = Some(Cut::Fixed(sizes));
    let expected = [("plant", 300, disk(), None, false), ("plant/player", 200, disk(), cut, false)];
    assert_eq!(seen, expected);
    // What the interposer reads and counts in.
    let files = PieceFiles::open(&found[1].dir).unwrap();
    assert_eq!(files.get(), sizes);
    let counters: BTreeMap<_, _> = files.counters().into_iter().collect();
    assert_eq!(
        (counters["calls_cut"], counters["pieces"], counters["bytes_cut"]),
        (1, 8, 32 << 20)
    );
    found.iter().for_each(|entry| registry.forget(entry));
    assert!(registry.list().is_empty());
}

#[test]
fn traces_of_0_1_are_analyzed_as_they_were() {
    let fixture = Fixture::new("traces", "analyze");
    for collector in ["tracefs", "btf"] {
        let file = fixture.folder.path(&format!("{collector}.trace"));
        for analysis in ["handle", "state", "waits", "syscall"] {
            let found = json(&run(&["trace", analysis, &file, "--format", "json"]), 0);
            let mut said = fixture.said_json(&format!("{collector}.{analysis}.json"));
            // Which calls are of storage is what a reader knows, not what a trace says: more are known
            // by now. Those that were known still are.
            let calls = said.get_mut("calls").and_then(|calls| calls.as_array_mut());
            for call in calls.into_iter().flatten() {
                if call["is_storage"] == false {
                    call.as_object_mut().unwrap().remove("is_storage");
                }
            }
            if (collector, analysis) == ("btf", "syscall") {
                // 0.1 counted no calls of such traces; those that slept or were slow are counted by now.
                assert_eq!(found["counted"], false);
                assert!(!found["calls"].as_array().unwrap().is_empty(), "{found}");
                let none = ["calls", "by_task", "pairs", "different_calls"];
                let said = said.as_object_mut().unwrap();
                none.iter().for_each(|key| drop(said.remove(*key).unwrap()));
            }
            assert_includes(&found, &said, &format!("{collector}: {analysis}"));
        }
    }
}

//! What is in the repository, unpacked, and how what is read is held against what was said of it.

use crate::calls::{json, run, text};
use crate::place::Folder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const RELEASED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/format/0.1");
const STORES: [&str; 6] = ["log", "settled", "pinned", "recycled", "recycled_settled", "killed"];

/// What is in the repository of one kind, with its files unpacked in a folder of the test's own.
pub(crate) struct Fixture {
    pub(crate) kind: &'static str,
    pub(crate) folder: Folder,
}

impl Fixture {
    pub(crate) fn new(kind: &'static str, test: &str) -> Self {
        let fixture = Fixture { kind, folder: Folder::new(&format!("released-{test}-{kind}")) };
        let mut tar = Command::new("tar");
        tar.args(["-xzf", &fixture.beside("files.tar.gz"), "-C"]).arg(&fixture.folder.0);
        assert!(tar.status().unwrap().success(), "{kind}");
        fixture
    }

    /// All stores.
    pub(crate) fn stores(test: &str) -> impl Iterator<Item = Self> {
        STORES.into_iter().map(move |kind| Fixture::new(kind, test))
    }

    /// A file in the repository.
    pub(crate) fn beside(&self, name: &str) -> String {
        format!("{RELEASED}/{}/{name}", self.kind)
    }

    /// What the version that wrote it said.
    pub(crate) fn said(&self, name: &str) -> String {
        fs::read_to_string(self.beside(name)).unwrap()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.said(name).lines().map(str::to_owned).collect()
    }

    pub(crate) fn said_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.said(name)).unwrap()
    }

    pub(crate) fn store(&self) -> String {
        self.folder.path("store")
    }
}

/// Every key of `said` is in `found` with the same value.
fn includes(found: &Value, said: &Value) -> bool {
    match (found, said) {
        (Value::Object(found), Value::Object(said)) => {
            said.iter().all(|(key, said)| found.get(key).is_some_and(|f| includes(f, said)))
        }
        (Value::Array(found), Value::Array(said)) => {
            found.len() == said.len() && found.iter().zip(said).all(|(f, said)| includes(f, said))
        }
        _ => found == said,
    }
}

#[track_caller]
pub(crate) fn assert_includes(found: &Value, said: &Value, what: &str) {
    assert!(includes(found, said), "{what}: expected {said:#}, found {found:#}");
}

pub(crate) fn rows(store: &str) -> String {
    untyped(&text(&run(&["query", store, "--format", "csv"]), 0))
}

/// Rows as 0.1 wrote them: without the types of their values, and with a zero and large numbers in
/// digits alone.
pub(crate) fn untyped(rows: &str) -> String {
    let kinds = [",value_type", ",f64", ",i64", ",u64", ",bool", ",text"];
    let bare = |line: &str| {
        let bare = kinds.iter().find_map(|kind| line.strip_suffix(kind)).unwrap_or(line);
        match bare.rsplit_once(',').map(|(row, value)| (row, value.parse::<f64>())) {
            Some((row, Ok(value))) if !bare.ends_with("NaN") => {
                let digits = bare.len() - row.len() - 1;
                match bare.ends_with("-0.0")
                    || bare.get(bare.len() - digits..).is_some_and(|v| v.contains('e'))
                {
                    true => format!("{row},{value}\n"),
                    false => format!("{bare}\n"),
                }
            }
            _ => format!("{bare}\n"),
        }
    };
    rows.lines().map(bare).collect()
}

pub(crate) fn sorted(rows: &str) -> Vec<&str> {
    let mut lines: Vec<_> = rows.lines().collect();
    lines.sort_unstable();
    lines
}

/// An array of objects in the order of a key, as nobody promised another.
pub(crate) fn ordered(mut array: Value, key: &str) -> Value {
    array.as_array_mut().unwrap().sort_by_key(|one| one[key].to_string());
    array
}

/// Lines of JSON.
fn parsed(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn verified(store: &str) -> Value {
    let found = json(&run(&["verify", store, "--format", "json"]), 0);
    assert_eq!((&found["whole"], &found["damage"]), (&true.into(), &Value::Array(vec![])));
    found
}

/// Samples, fields, and frames as they are.
#[track_caller]
pub(crate) fn assert_reads_as_said(fixture: &Fixture, store: &str) {
    let kind = fixture.kind;
    assert_eq!(rows(store), fixture.said("query.csv"), "{kind}");
    if Path::new(&fixture.beside("frames.ndjson")).exists() {
        let found = run(&["cat", store, "control", "--format", "json", "--data-only"]);
        let found = parsed(&String::from_utf8_lossy(&found.stdout));
        assert_eq!(found, parsed(&fixture.said("frames.ndjson")), "{kind}");
    }
    verified(store);
}

/// What came is all there, and nothing that did not come: of rows of one series and time the last, which
/// `all` has; 0.1 wrote every one of them.
#[track_caller]
pub(crate) fn assert_lines(kind: &str, found: &str, said: &str, all: &str) {
    let (found, said, all) = (sorted(found), sorted(said), sorted(all));
    let key = |line: &str| line.rsplit_once(',').map(|(key, _)| key.to_owned());
    let last: BTreeSet<_> = all.iter().filter_map(|line| key(line)).collect();
    let superseded = |line: &str| {
        all.binary_search(&line).is_err() && key(line).is_some_and(|key| last.contains(&key))
    };
    let missing = said.iter().filter(|line| found.binary_search(line).is_err());
    let missing: Vec<_> = missing.filter(|line| !superseded(line)).collect();
    let more: Vec<_> = found
        .iter()
        .filter(|line| said.binary_search(line).is_err() && all.binary_search(line).is_err())
        .collect();
    assert!(missing.is_empty() && more.is_empty(), "{kind}: missing {missing:?}, more {more:?}");
}

/// What 0.1 said of a gap, in the words of today.
pub(crate) fn in_words(rows: &str) -> String {
    let anew = |line: &str| {
        let Some((head, counts)) = line.split_once("Gap {") else { return format!("{line}\n") };
        let counts = counts.split(|letter: char| !letter.is_ascii_digit());
        let counts: Vec<u64> = counts.filter_map(|digits| digits.parse().ok()).collect();
        let [ring_full, too_large, damaged, unknown] = counts[..] else { panic!("{line}") };
        let gap = baro_ondisk::Gap { ring_full, too_large, damaged, unknown };
        // One is told as one now.
        format!("{}{gap}\n", head.replace(" 1 records lost", " 1 record lost"))
    };
    rows.lines().map(anew).collect()
}

/// Bytes of every file below a folder.
pub(crate) fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(bytes(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

//! Random series and selectors, given to Prometheus' own tool and to a store. Each series has one sample,
//! whose value says which it is: so what was chosen is compared without reading names.

use crate::calls::{run, stderr, text};
use crate::place::Folder;
use crate::{COUNT, Random, number, peer};
use baro_ondisk::NameParser;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const LABELS: [&str; 4] = ["job", "site", "line", "_x"];
const TIME_S: &str = "1700000000";

/// In quotes, as both read it.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Names that no two have, some without labels.
fn series(random: &mut Random) -> Vec<String> {
    let mut names = BTreeSet::new();
    while names.len() < 120 {
        let metric = random.pick(&["up", "up_total", "temp", "a:b"]);
        let mut labels = Vec::new();
        for label in LABELS {
            // No line breaks: a point means them too since Prometheus 3, and here.
            let letters = ["a", "b", "A", "7", ".", "-", " ", "é", "\"", "\\", "|", "{", "}", ","];
            let value = random.some(&letters, 3);
            if random.below(2) == 0 && !value.is_empty() {
                labels.push(format!("{label}={}", quoted(&value)));
            }
        }
        names.insert(format!("{metric}{{{}}}", labels.join(",")));
    }
    names.into_iter().collect()
}

fn selector(random: &mut Random) -> String {
    const PARTS: [&str; 20] = [
        "a", "b", "A", "7", ".", ".*", ".+", "|", "(a|b)", "[ab]", "[^a]", "^", "$", "a?", "(?i)a",
        "\\d", "\\\\", "é", "a{2}", "(",
    ];
    let mut matchers = Vec::new();
    for _ in 0..random.below(4) {
        let label = match random.below(8) {
            0 => "nosuch",
            _ => random.pick(&LABELS),
        };
        let test = random.pick(&["=", "!=", "=~", "!~"]);
        let blank = random.pick(&["", "", " "]);
        matchers.push(format!("{label}{blank}{test}{blank}{}", quoted(&random.some(&PARTS, 3))));
    }
    let comma = random.pick(&["", "", "", ","]);
    let labels =
        format!("{{{}{}}}", matchers.join(","), if matchers.is_empty() { "" } else { comma });
    match random.below(5) {
        // Of nothing Prometheus chooses nothing, and we everything.
        0 if !matchers.is_empty() => labels,
        1 => {
            let test = random.pick(&["=", "=~", "!=", "!~"]);
            let metric = random.pick(&["up", "up.*", "temp|a:b", ""]);
            let comma = if matchers.is_empty() { "" } else { "," };
            format!("{{__name__{test}{}{comma}{}}}", quoted(metric), matchers.join(","))
        }
        _ => {
            let metric = random.pick(&["up", "temp", "a:b", "none"]);
            format!("{metric}{labels}")
        }
    }
}

/// The values that a program has printed, or why it has none.
type Chosen = Result<BTreeSet<u64>, String>;

fn theirs(promtool: &Path, blocks: &str, selector: &str) -> Chosen {
    let matching = format!("--match={selector}");
    let output = Command::new(promtool).args(["tsdb", "dump", &matching, blocks]).output().unwrap();
    if !output.status.success() {
        return Err(stderr(&output));
    }
    let value = |line: &str| line.rsplit(' ').nth(1).unwrap().parse().unwrap();
    Ok(String::from_utf8(output.stdout).unwrap().lines().map(value).collect())
}

fn ours(store: &str, selector: &str) -> Chosen {
    let output = run(&["query", store, selector, "--format", "text"]);
    let said = stderr(&output);
    match output.status.code() {
        Some(0) => {
            let shown = String::from_utf8(output.stdout).unwrap();
            let value = |line: &str| line.rsplit("  ").find_map(|word| word.trim().parse().ok());
            Ok(shown.lines().map(|line| value(line).unwrap()).collect())
        }
        _ if said.contains("no such series") || said.contains("no series") => Ok(BTreeSet::new()),
        _ => Err(said),
    }
}

#[test]
fn selectors_choose_as_prometheus_does() {
    let Some(promtool) = peer("promtool") else { return };
    let folder = Folder::new("peers-prometheus");
    let (store, file, blocks) = (folder.path("store"), folder.path("a.om"), folder.path("blocks"));
    let mut random = Random::new();
    let (mut lines, mut names, mut parser) = (String::new(), BTreeMap::new(), NameParser::new());
    for (at, name) in (0_u64..).zip(series(&mut random)) {
        lines.push_str(&format!("{name} {at} {TIME_S}\n"));
        names.insert(parser.canonical(&name).to_owned(), at);
    }
    std::fs::write(&file, format!("{lines}# EOF\n")).unwrap();
    let made = Command::new(&promtool)
        .args(["tsdb", "create-blocks-from", "openmetrics", &file, &blocks])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    // A data base has a log too, which may be empty.
    std::fs::create_dir_all(std::path::Path::new(&blocks).join("wal")).unwrap();
    text(&run(&["init", &store, "--size", "8M"]), 0);
    text(&run(&["import", &store, &file, "--precision", "s"]), 0);
    let mut chosen = 0;
    for _ in 0..number("BARO_PEERS_COUNT", COUNT) {
        let selector = selector(&mut random);
        let (theirs, ours) = (theirs(&promtool, &blocks, &selector), ours(&store, &selector));
        match (&theirs, &ours) {
            (Ok(theirs), Ok(ours)) => {
                // What is the whole name of a series means that one here, but for a label that is to be empty.
                let name = names.get(parser.canonical(&selector));
                match name.filter(|_| !selector.replace(' ', "").contains("=\"\"")) {
                    Some(one) => {
                        assert!(theirs.contains(one) && ours.iter().eq([one]), "{selector}")
                    }
                    None => assert_eq!(theirs, ours, "{selector}"),
                }
                chosen += ours.len();
            }
            (Err(_), Err(_)) => {}
            other => panic!("{selector:?}: {other:?}"),
        }
    }
    println!("{chosen} series were chosen by both");
    assert!(chosen > 0);
}

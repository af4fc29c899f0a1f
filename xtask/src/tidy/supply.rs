//! What comes from others: licences, sources, forbidden crates and second versions, from
//! `cargo metadata` alone, so that it costs each push nothing and needs no network.
//!
//! A crate that breaks a rule and stays has a row with its reason; a row that nothing needs any more is
//! an error too. What is known of weaknesses is not looked up here: docs/supply.md says how and when.

use super::Finding;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CHECK: &str = "supply";

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences of which one must do for each crate: they ask for their notice, and nothing of our own.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates under another one, with the reason.
const OTHER_LICENCES: &[(&str, &str)] =
    &[("cbindgen", "MPL-2.0: writes barograph.h; nothing of it is in a program")];

/// Crates that may not come in, not behind another one either.
const FORBIDDEN: &[(&str, &str)] = &[
    ("async-std", "unmaintained; and no asynchronous runtime"),
    ("atty", "unmaintained: std has is_terminal"),
    ("failure", "unmaintained: errors are enums by hand"),
    ("instant", "unmaintained"),
    ("native-tls", "links the C library of the machine"),
    ("openssl", "links the C library of the machine"),
    ("openssl-sys", "links the C library of the machine"),
    ("proc-macro-error", "unmaintained"),
    ("serde_yaml", "unmaintained"),
    ("tokio", "no asynchronous runtime: threads"),
    ("yaml-rust", "unmaintained"),
];

/// Crates that nobody maintains any more and that stay, with the reason.
const UNMAINTAINED: &[(&str, &str)] = &[
    (
        "bincode",
        "RUSTSEC-2025-0141: reads the tables of promql-parser's grammar, which were written while it \
         was compiled; it sees no other bytes",
    ),
    (
        "paste",
        "RUSTSEC-2024-0436: a macro that joins names while mcap is compiled; nothing of it runs in a \
         program, it sees our source and that of mcap only, and it is frozen",
    ),
];

/// Crates that are there in several versions, with the reason.
const SEVERAL: &[(&str, &str)] = &[
    ("block-buffer", "as digest"),
    ("crypto-common", "as digest"),
    ("digest", "sha1 of WebSocket and sha2 of ours, and those of rusty-s3, each ask for another"),
    ("sha2", "as digest"),
    ("cpufeatures", "sha1 and sha2, and rand of tungstenite and proptest, each ask for another"),
    (
        "getrandom",
        "const-random and ahash behind arrow-array, and rand of tungstenite and proptest, each ask for another",
    ),
    (
        "rand_core",
        "rand_xoshiro behind pco, and rand of tungstenite and proptest, each ask for another",
    ),
    ("syn", "macros of two generations; while compiling only"),
    ("toml", "cbindgen's own, a build tool"),
    ("toml_datetime", "as toml"),
    (
        "unicode-width",
        "lrpar behind promql-parser, and getopts behind its generator, each ask for another",
    ),
    ("winnow", "as toml"),
];

/// A crate that is not ours.
#[derive(Debug)]
struct Crate<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
    source: &'a str,
}

/// Checks the output of `cargo metadata`.
pub(super) fn check(metadata: &str) -> Result<Vec<Finding>, String> {
    let json: Value = serde_json::from_str(metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let ours: BTreeSet<String> = list(&json["workspace_members"]).iter().map(text).collect();
    // Crates of other platforms are listed too, but not resolved.
    let used: BTreeSet<String> =
        list(&json["resolve"]["nodes"]).iter().map(|node| text(&node["id"])).collect();
    let packages = list(&json["packages"]);
    let crates: Vec<Crate<'_>> = packages
        .iter()
        .filter(|package| {
            let id = text(&package["id"]);
            used.contains(&id) && !ours.contains(&id)
        })
        .map(|package| Crate {
            name: package["name"].as_str().unwrap_or_default(),
            version: package["version"].as_str().unwrap_or_default(),
            licence: package["license"].as_str().unwrap_or_default(),
            source: package["source"].as_str().unwrap_or_default(),
        })
        .collect();
    Ok(judge(&crates))
}

fn judge(crates: &[Crate<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut error = |place: &str, message: String| {
        findings.push(Finding::error(CHECK, place, message));
    };
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in crates {
        let place = format!("{} {}", one.name, one.version);
        versions.entry(one.name).or_default().insert(one.version);
        if one.source != REGISTRY {
            error(&place, format!("expected the source crates.io, found '{}'", one.source));
        }
        if !allowed(one.licence) && !has(OTHER_LICENCES, one.name) {
            let licence = one.licence;
            error(&place, format!("expected a licence of the list, found '{licence}'"));
        }
        if let Some((_, why)) = FORBIDDEN.iter().find(|(name, _)| *name == one.name) {
            error(&place, format!("is not to be used: {why}"));
        }
    }
    for (name, found) in &versions {
        if found.len() > 1 && !has(SEVERAL, name) {
            let found: Vec<&str> = found.iter().copied().collect();
            error(name, format!("is there in versions {}; give a reason", found.join(", ")));
        }
    }
    let several = |name: &str| versions.get(name).is_some_and(|found| found.len() > 1);
    let there = |name: &str| versions.contains_key(name);
    for (rows, needed) in [
        (OTHER_LICENCES, &there as &dyn Fn(&str) -> bool),
        (UNMAINTAINED, &there),
        (SEVERAL, &several),
    ] {
        for (name, _) in rows.iter().filter(|(name, _)| !needed(name)) {
            error(name, "has a row in supply.rs that nothing needs any more".to_owned());
        }
    }
    findings
}

fn has(rows: &[(&str, &str)], name: &str) -> bool {
    rows.iter().any(|(row, _)| *row == name)
}

/// Whether an SPDX expression (or the older form with `/`) can be met by licences of the list.
fn allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = either(&words, &mut at);
    met && at == words.len()
}

fn either(words: &[&str], at: &mut usize) -> bool {
    let mut met = both(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= both(words, at);
    }
    met
}

fn both(words: &[&str], at: &mut usize) -> bool {
    let mut met = one(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at);
    }
    met
}

fn one(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let met = either(words, at);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return met && closed;
    }
    let mut name = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    LICENCES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of<'a>(name: &'a str, version: &'a str, licence: &'a str) -> Crate<'a> {
        Crate { name, version, licence, source: REGISTRY }
    }

    /// What each row of the tables is for.
    fn known() -> Vec<Crate<'static>> {
        let mut crates: Vec<_> = SEVERAL
            .iter()
            .flat_map(|(name, _)| ["1", "2"].map(|v| crate_of(name, v, "MIT")))
            .collect();
        crates.extend(UNMAINTAINED.iter().map(|(name, _)| crate_of(name, "1", "MIT")));
        crates.extend(OTHER_LICENCES.iter().map(|(name, _)| crate_of(name, "1", "MPL-2.0")));
        crates
    }

    fn messages(crates: &[Crate<'_>]) -> Vec<String> {
        judge(crates)
            .into_iter()
            .map(|found| format!("{}: {}", found.place, found.message))
            .collect()
    }

    #[test]
    fn a_licence_must_be_met_by_those_of_the_list() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "Apache-2.0 AND MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(allowed(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "MIT MIT", "MIT WITH x", "OR"]
        {
            assert!(!allowed(bad), "{bad}");
        }
    }

    #[test]
    fn what_comes_from_others_is_judged() {
        assert_eq!(messages(&known()), Vec::<String>::new());
        let mut crates = known();
        crates.push(crate_of("a", "1", "GPL-3.0"));
        crates.push(crate_of("tokio", "1", "MIT"));
        crates.push(crate_of("b", "1", "MIT"));
        crates.push(crate_of("b", "2", "MIT"));
        crates.push(Crate { source: "git+https://example.org/c", ..crate_of("c", "1", "MIT") });
        assert_eq!(
            messages(&crates),
            [
                "a 1: expected a licence of the list, found 'GPL-3.0'",
                "tokio 1: is not to be used: no asynchronous runtime: threads",
                "c 1: expected the source crates.io, found 'git+https://example.org/c'",
                "b: is there in versions 1, 2; give a reason",
            ]
        );
        let without: Vec<_> = known().into_iter().filter(|one| one.name != "paste").collect();
        assert_eq!(
            messages(&without),
            ["paste: has a row in supply.rs that nothing needs any more"]
        );
    }

    #[test]
    fn crates_are_taken_from_metadata_without_ours_and_other_platforms() {
        let metadata = r#"{"workspace_members": ["x 1"], "resolve": {"nodes": [{"id": "x 1"}, {"id": "a 1"}]},
            "packages": [{"id": "x 1", "name": "x", "version": "1", "license": null, "source": null},
                         {"id": "a 1", "name": "a", "version": "1", "license": "GPL-3.0", "source": ""},
                         {"id": "w 1", "name": "w", "version": "1", "license": "GPL-3.0", "source": ""}]}"#;
        let found = check(metadata).unwrap();
        let of = |name: &str| found.iter().filter(|one| one.place.starts_with(name)).count();
        assert_eq!((of("a 1"), of("x "), of("w ")), (2, 0, 0));
    }
}

//! The notices of all crates that are linked into what is handed out: their licences ask that these go
//! along. Made from the crates' own files, as cargo has them on this machine.
//!
//! Invariant: no crate behind a program is without a text; the same Cargo.lock gives the same bytes.
//! Held by `each_linked_crate_has_its_notice`.

use crate::shell::{self, Cmd};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is handed out.
pub(crate) const PROGRAMS: [&str; 5] =
    ["baro-cli", "baro-lake", "baro-listen", "baro-serve", "baro-preload"];

/// How names of files begin that hold a licence or a notice.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"];

struct Crate {
    name: String,
    version: String,
    licence: String,
    authors: String,
    home: String,
    folder: PathBuf,
}

/// The text: a list of the crates behind `programs`, then each licence's text once, with those that have it.
pub(crate) fn text(programs: &[&str]) -> Result<String, String> {
    let metadata = Cmd::new(
        "cargo metadata --format-version 1 --locked --filter-platform x86_64-unknown-linux-gnu",
    )
    .output()?;
    let crates = linked(&metadata, programs)?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut out = "Notices of the libraries of others that are linked into these programs.\n\
                   Each is used under one of the licences that its line names.\n\n"
        .to_owned();
    for one in &crates {
        let Crate { name, version, licence, home, .. } = one;
        let _ = writeln!(out, "{name} {version}: {licence}; {home}");
        for text in texts_of(one)? {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    // In the order of the first crate that has it.
    let mut texts: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, of)| (of, text)).collect();
    texts.sort();
    for (of, text) in texts {
        let _ = write!(out, "\n{}\n{}\n\n{text}\n", "=".repeat(80), of.join(", "));
    }
    Ok(out)
}

/// The crates behind these packages, tests and what runs while compiling left out.
fn linked(metadata: &str, programs: &[&str]) -> Result<Vec<Crate>, String> {
    let json: Value = serde_json::from_str(metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let macros: BTreeSet<String> = list(&json["packages"])
        .iter()
        .filter(|package| {
            let kinds = list(&package["targets"])
                .iter()
                .flat_map(|one| list(&one["kind"]))
                .collect::<Vec<_>>();
            kinds.iter().any(|kind| kind == "proc-macro")
        })
        .map(|package| text(&package["id"]))
        .collect();
    let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&json["resolve"]["nodes"]) {
        let normal =
            |dep: &Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let deps = list(&node["deps"])
            .iter()
            .filter(|dep| normal(dep))
            .map(|dep| text(&dep["pkg"]))
            .collect();
        edges.insert(text(&node["id"]), deps);
    }
    let ours: BTreeSet<String> = list(&json["workspace_members"]).iter().map(text).collect();
    let packages = list(&json["packages"]);
    let mut open: Vec<String> = packages
        .iter()
        .filter(|one| {
            programs.contains(&text(&one["name"]).as_str()) && ours.contains(&text(&one["id"]))
        })
        .map(|one| text(&one["id"]))
        .collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !macros.contains(&id) && seen.insert(id.clone()) {
            open.extend(edges.get(&id).cloned().unwrap_or_default());
        }
    }
    let mut crates: Vec<Crate> = packages
        .iter()
        .filter(|one| seen.contains(&text(&one["id"])) && !ours.contains(&text(&one["id"])))
        .map(|one| Crate {
            name: text(&one["name"]),
            version: text(&one["version"]),
            licence: text(&one["license"]),
            authors: list(&one["authors"]).iter().map(text).collect::<Vec<_>>().join(", "),
            home: [&one["repository"], &one["homepage"]]
                .into_iter()
                .find_map(Value::as_str)
                .unwrap_or("crates.io")
                .to_owned(),
            folder: Path::new(&text(&one["manifest_path"]))
                .parent()
                .map_or_else(PathBuf::new, Path::to_owned),
        })
        .collect();
    crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    if crates.is_empty() {
        return Err(format!("cargo metadata: no crate behind {}", programs.join(", ")));
    }
    Ok(crates)
}

/// The texts that a crate brings; of one that brings none, the licence it names, in our copy.
fn texts_of(one: &Crate) -> Result<Vec<String>, String> {
    let folder = &one.folder;
    let fail = |e| format!("{}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        if NAMES.iter().any(|begin| upper.starts_with(begin)) && entry.path().is_file() {
            names.push(name);
        }
    }
    names.sort();
    let mut texts = Vec::new();
    for name in names {
        let bytes = std::fs::read(folder.join(&name)).map_err(fail)?;
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim().to_owned();
        if !text.is_empty() {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        texts.push(standing_in(one)?);
    }
    Ok(texts)
}

fn standing_in(one: &Crate) -> Result<String, String> {
    let file = match &one.licence {
        licence if licence.contains("MIT") => "LICENSE-MIT",
        licence if licence.contains("Apache-2.0") => "LICENSE-APACHE",
        licence if licence.contains("BSD-3-Clause") => "packaging/deb/BSD-3-Clause.txt",
        licence => {
            return Err(format!(
                "{} {}: no text of '{licence}' to go along",
                one.name, one.version
            ));
        }
    };
    let path = shell::root().join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let who = if one.authors.is_empty() { "its authors" } else { &one.authors };
    // Of our copy of the MIT licence the first paragraphs are title and owner.
    let begin = text.find("Permission is hereby granted").filter(|_| file == "LICENSE-MIT");
    let body = text.get(begin.unwrap_or(0)..).unwrap_or(&text).trim();
    Ok(format!("Copyright (c) {who}\n\n{body}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_linked_crate_has_its_notice() {
        let text = text(&PROGRAMS).unwrap();
        let (list, texts) = text.split_once("\n==").unwrap();
        let names: Vec<&str> =
            list.lines().filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
        assert!(names.len() > 60, "{}", names.len());
        for name in &names {
            assert!(texts.lines().any(|line| line.split(", ").any(|one| one == *name)), "{name}");
        }
        for (linked, name) in [
            (true, "parquet "),
            (true, "mcap "),
            (true, "pco "),
            (true, "libc "),
            (false, "proptest "),
            (false, "cbindgen "),
            (false, "paste "),
        ] {
            assert_eq!(names.iter().any(|one| one.starts_with(name)), linked, "{name}");
        }
        assert!(texts.contains("Permission is hereby granted") && texts.contains("Apache License"));
        assert_eq!(super::text(&PROGRAMS).unwrap(), text);
    }
}

//! `cargo xtask tidy`: rules of this repository that no compiler checks.
//!
//! Each check is a pure function over a [`tree::Tree`] held in memory (and over the output of
//! `cargo metadata`), so that it is tested on small trees made for it. A check has a name, and
//! `docs/invariants.md` must mention it: a rule nobody can read is no rule.

mod arrows;
mod docs;
mod face;
mod figures;
mod graph;
mod index;
mod map;
mod paths;
mod printing;
mod results;
mod rust_text;
mod sentences;
mod source;
mod state;
mod supply;
mod tiers;
mod tree;

use crate::shell::{self, Cmd};
use std::fmt;
use tree::Tree;

/// What to do with files that are generated from the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generated {
    Check,
    Rewrite,
}

/// Something that breaks a rule, or (warnings) comes near to it.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    check: &'static str,
    /// `file` or `file:line`, or the name of a package.
    place: String,
    message: String,
    fatal: bool,
}

impl Finding {
    fn error(check: &'static str, place: impl fmt::Display, message: impl fmt::Display) -> Finding {
        let (place, message) = (place.to_string(), message.to_string());
        Finding { check, place, message, fatal: true }
    }

    fn warning(check: &'static str, place: impl fmt::Display, msg: impl fmt::Display) -> Finding {
        Finding { fatal: false, ..Finding::error(check, place, msg) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.fatal { "error" } else { "warning" };
        write!(f, "tidy: {severity}: {}: {} [{}]", self.place, self.message, self.check)
    }
}

type Check = fn(&Tree) -> Vec<Finding>;

/// The checks over the tree, by the names that docs/invariants.md mentions.
const CHECKS: &[(&str, Check)] = &[
    ("size", source::size),
    ("util", source::util),
    ("unsafe", source::unsafe_code),
    ("header", source::header),
    ("markers", source::markers),
    ("paths", paths::machine_paths),
    ("text", paths::text),
    (printing::CHECK, printing::printing),
    ("results", results::results),
    (figures::CHECK, figures::figures),
    ("links", docs::links),
    ("pages", docs::pages),
    (map::CHECK, map::map),
    (sentences::CHECK, sentences::sentences),
    (tiers::CHECK, tiers::tiers),
    (state::CHECK, state::state),
];

/// The checks that need `cargo metadata` or the list of checks itself.
const OTHER_CHECKS: &[&str] = &[arrows::CHECK, graph::CHECK, docs::CHECK, supply::CHECK];

/// Runs every check and prints what it finds; fails if anything is an error.
pub(crate) fn run(generated: Generated) -> Result<(), String> {
    let mut tree = Tree::of_repository(shell::root())?;
    let metadata =
        Cmd::new("cargo metadata --format-version 1 --filter-platform x86_64-unknown-linux-gnu")
            .output()?;
    let packages = graph::packages(&metadata)?;

    let mut findings = arrows::check(&packages);
    findings.extend(guided_lock());
    findings.extend(supply::check(&metadata)?);
    let mut generated_files = vec![graph::generated_file(&packages)];
    generated_files.push(face::generated_file(&tree));
    generated_files.push(figures::generated_file(&tree));
    generated_files.push(index::generated_file(&tree));
    generated_files.push((
        "crates/capi/barograph.h".to_owned(),
        Cmd::new("cargo run --quiet --package header").output()?,
    ));
    for (path, text) in generated_files {
        if tree.text(&path) == Some(text.as_str()) {
            continue;
        }
        if generated == Generated::Rewrite {
            let file = shell::root().join(&path);
            std::fs::write(&file, &text).map_err(|e| format!("{}: {e}", file.display()))?;
            println!("tidy: wrote {path}");
            tree.insert(&path, text.into_bytes());
        } else {
            let message = "not what the code says; run cargo xtask tidy --bless";
            findings.push(Finding::error(graph::CHECK, path, message));
        }
    }
    let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).chain(OTHER_CHECKS.to_vec()).collect();
    findings.extend(docs::architecture(&tree, &names));
    findings.extend(CHECKS.iter().flat_map(|(_, check)| check(&tree)));

    findings.sort_by(|a, b| (a.fatal, a.check, &a.place).cmp(&(b.fatal, b.check, &b.place)));
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.iter().filter(|f| f.fatal).count() {
        0 => Ok(()),
        errors => Err(format!("tidy: {errors} errors in {} files", tree.len())),
    }
}

/// The guided fuzzing is a workspace of its own, whose lock nobody else looks at.
fn guided_lock() -> Option<Finding> {
    let manifest = "fuzz/guided/Cargo.toml";
    let metadata = "cargo metadata --locked --quiet --format-version 1 --manifest-path";
    let message = "its Cargo.lock is behind; run cargo metadata --manifest-path on it";
    let error = || Finding::error(supply::CHECK, manifest, message);
    Cmd::new(metadata).arg(manifest).output().err().map(|_| error())
}

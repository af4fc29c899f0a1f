//! The packages of the workspace as `cargo metadata` tells them, and the two texts generated from
//! them: the picture in ARCHITECTURE.md and `docs/dependencies.md`. Nothing of it is drawn by
//! hand, so it cannot be out of date.

use super::arrows;
use super::tree::Tree;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) const CHECK: &str = "generated";

const PICTURE_FILE: &str = "ARCHITECTURE.md";
const PICTURE_BEGIN: &str = "<!-- dependency picture: written by cargo xtask tidy --bless -->\n";
const PICTURE_END: &str = "<!-- end of dependency picture -->";
const TABLE_FILE: &str = "docs/dependencies.md";

/// What a dependency is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Kind {
    pub(super) fn label(self) -> &'static str {
        match self {
            Kind::Normal => "",
            Kind::Build => " (build script)",
            Kind::Dev => " (tests)",
        }
    }
}

/// One dependency as a Cargo.toml declares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dep {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) in_house: bool,
}

/// A package of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) deps: Vec<Dep>,
    /// Every third-party crate that ends up behind it, directly or not, tests not counted.
    pub(super) behind: Vec<String>,
}

/// Reads the output of `cargo metadata --format-version 1`.
pub(super) fn packages(metadata: &str) -> Result<Vec<Package>, String> {
    let json: Value = serde_json::from_str(metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let members: BTreeSet<&str> =
        list(&json["workspace_members"]).filter_map(Value::as_str).collect();
    let names: BTreeMap<&str, &str> =
        list(&json["packages"]).map(|p| (text(&p["id"]), text(&p["name"]))).collect();
    let edges: BTreeMap<&str, Vec<&str>> = list(&json["resolve"]["nodes"])
        .map(|node| {
            let deps = list(&node["deps"]).filter(|dep| {
                list(&dep["dep_kinds"]).any(|kind| kind["kind"].as_str() != Some("dev"))
            });
            (text(&node["id"]), deps.map(|dep| text(&dep["pkg"])).collect())
        })
        .collect();

    let mut packages: Vec<Package> = list(&json["packages"])
        .filter(|package| members.contains(text(&package["id"])))
        .map(|package| {
            let mut deps: Vec<Dep> = list(&package["dependencies"]).map(dependency).collect();
            deps.sort();
            let behind = reachable(text(&package["id"]), &edges)
                .difference(&members)
                .filter_map(|id| names.get(id).map(|name| (*name).to_owned()))
                .collect::<BTreeSet<_>>();
            let name = text(&package["name"]).to_owned();
            Package { name, deps, behind: behind.into_iter().collect() }
        })
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    if packages.is_empty() {
        return Err("cargo metadata names no package".to_owned());
    }
    Ok(packages)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn dependency(value: &Value) -> Dep {
    let kind = match value["kind"].as_str() {
        Some("dev") => Kind::Dev,
        Some("build") => Kind::Build,
        _ => Kind::Normal,
    };
    Dep { name: text(&value["name"]).to_owned(), kind, in_house: value["path"].is_string() }
}

fn reachable<'a>(from: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    seen
}

/// The generated files as they should be, by path. The picture replaces what is between its marks
/// in ARCHITECTURE.md; a missing ARCHITECTURE.md is for another check to report.
pub(super) fn generated_files(tree: &Tree, packages: &[Package]) -> Vec<(String, String)> {
    let mut files = vec![(TABLE_FILE.to_owned(), dependency_tables(packages))];
    let parts = tree.text(PICTURE_FILE).and_then(|old| {
        let (head, rest) = old.split_once(PICTURE_BEGIN)?;
        let (_, tail) = rest.split_once(PICTURE_END)?;
        Some((head, tail))
    });
    if let Some((head, tail)) = parts {
        let picture = picture(packages);
        let new = format!("{head}{PICTURE_BEGIN}{picture}{PICTURE_END}{tail}");
        files.push((PICTURE_FILE.to_owned(), new));
    }
    files
}

/// An arrow that others imply is left out, else nobody could read the picture.
fn picture(packages: &[Package]) -> String {
    let in_house = |p: &Package| -> Vec<String> {
        let deps = p.deps.iter().filter(|d| d.in_house && d.kind != Kind::Dev);
        deps.map(|d| d.name.clone()).collect()
    };
    let arrows: BTreeMap<String, Vec<String>> =
        packages.iter().map(|p| (p.name.clone(), in_house(p))).collect();
    let edges: BTreeMap<&str, Vec<&str>> = arrows
        .iter()
        .map(|(from, to)| (from.as_str(), to.iter().map(String::as_str).collect()))
        .collect();
    let mut out = "```mermaid\ngraph TD\n".to_owned();
    for (from, tos) in &edges {
        if tos.is_empty() {
            let _ = writeln!(out, "    {from}");
        }
        for to in tos {
            let implied = tos.iter().any(|via| reachable(via, &edges).contains(to));
            if !implied {
                let _ = writeln!(out, "    {from} --> {to}");
            }
        }
    }
    out + "```\n"
}

fn dependency_tables(packages: &[Package]) -> String {
    let mut out = "# Dependencies\n\nWritten by `cargo xtask tidy --bless` from `cargo metadata` \
        and the table in [arrows.rs](../xtask/src/tidy/arrows.rs), where a new dependency gets its \
        reason.\n\n## In-house\n\n| package | uses | may also use |\n|---|---|---|\n"
        .to_owned();
    for package in packages {
        let (uses, may) = in_house_cells(package);
        let _ = writeln!(out, "| {} | {} | {} |", package.name, or_dash(&uses), or_dash(&may));
    }
    out += "\n## Third-party, with the reason\n\n| package | crate | reason |\n|---|---|---|\n";
    for package in packages {
        for dep in package.deps.iter().filter(|d| !d.in_house) {
            let reason = arrows::reason(&package.name, &dep.name).unwrap_or("none given");
            let label = dep.kind.label();
            let _ = writeln!(out, "| {} | {}{label} | {reason} |", package.name, dep.name);
        }
    }
    out += "\n## Everything behind a package\n\nThird-party crates compiled on Linux, directly or \
        not, tests not counted.\n\n| package | number | crates |\n|---|---|---|\n";
    for package in packages {
        let (count, behind) = (package.behind.len(), package.behind.join(", "));
        let _ = writeln!(out, "| {} | {count} | {} |", package.name, or_dash(&behind));
    }
    out
}

fn in_house_cells(package: &Package) -> (String, String) {
    let uses: Vec<String> = package
        .deps
        .iter()
        .filter(|dep| dep.in_house)
        .map(|dep| format!("{}{}", dep.name, dep.kind.label()))
        .collect();
    let may: Vec<&str> = arrows::allowed(&package.name)
        .iter()
        .copied()
        .filter(|name| !package.deps.iter().any(|dep| dep.name == *name))
        .collect();
    (uses.join(", "), may.join(", "))
}

fn or_dash(cell: &str) -> &str {
    if cell.is_empty() { "-" } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "workspace_members": ["cli 1", "store 1", "sys 1"],
        "packages": [
            {"id": "cli 1", "name": "cli", "dependencies": [
                {"name": "store", "kind": null, "path": "/x"},
                {"name": "sys", "kind": null, "path": "/x"},
                {"name": "proptest", "kind": "dev"}]},
            {"id": "store 1", "name": "store",
                "dependencies": [{"name": "sys", "kind": null, "path": "/x"}]},
            {"id": "sys 1", "name": "sys", "dependencies": [{"name": "libc", "kind": null}]},
            {"id": "libc 1", "name": "libc", "dependencies": []},
            {"id": "proptest 1", "name": "proptest", "dependencies": []}],
        "resolve": {"nodes": [
            {"id": "cli 1", "deps": [
                {"pkg": "store 1", "dep_kinds": [{"kind": null}]},
                {"pkg": "sys 1", "dep_kinds": [{"kind": null}]},
                {"pkg": "proptest 1", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "store 1", "deps": [{"pkg": "sys 1", "dep_kinds": [{"kind": null}]}]},
            {"id": "sys 1", "deps": [{"pkg": "libc 1", "dep_kinds": [{"kind": null}]}]},
            {"id": "libc 1", "deps": []}]}}"#;

    #[test]
    fn metadata_is_read_and_tests_do_not_count() {
        let packages = packages(METADATA).unwrap();
        let names: Vec<_> = packages.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["cli", "store", "sys"]);
        assert_eq!(packages[0].behind, ["libc"]);
        assert_eq!(packages[0].deps.len(), 3);
        assert!(super::packages("{}").is_err() && super::packages("no").is_err());
    }

    #[test]
    fn the_picture_replaces_what_is_between_its_marks() {
        let old = format!("# A\n{PICTURE_BEGIN}old\n{PICTURE_END}\nrest\n");
        let tree = Tree::of(&[(PICTURE_FILE, &old)]);
        let files = generated_files(&tree, &packages(METADATA).unwrap());
        let (path, new) = &files[1];
        assert_eq!(path, PICTURE_FILE);
        let picture = "```mermaid\ngraph TD\n    cli --> store\n    store --> sys\n    sys\n```\n";
        assert_eq!(*new, format!("# A\n{PICTURE_BEGIN}{picture}{PICTURE_END}\nrest\n"));
    }
}

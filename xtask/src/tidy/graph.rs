//! The packages of the workspace as `cargo metadata` tells them, and the page generated from them,
//! `docs/dependencies.md`: a picture and tables. Nothing of it is drawn by hand, so it cannot be out
//! of date.

use super::arrows;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) const CHECK: &str = "generated";

const FILE: &str = "docs/dependencies.md";

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

/// `docs/dependencies.md` as it should be.
pub(super) fn generated_file(packages: &[Package]) -> (String, String) {
    (FILE.to_owned(), document(packages))
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

fn document(packages: &[Package]) -> String {
    let mut out = "# Dependencies\n\n*For people who change Barograph or judge what it links.* \
        Written by `cargo xtask tidy --bless` from `cargo metadata` and the table in \
        [arrows.rs](../xtask/src/tidy/arrows.rs). A new dependency gets its reason there.\n\n\
        ## Picture\n\nAn arrow means \"uses\". Arrows that others imply are left out.\n\n"
        .to_owned();
    out += &picture(packages);
    out += "\n## In-house\n\n| package | uses | may also use |\n|---|---|---|\n";
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
        let crates = if count == 0 { "-".to_owned() } else { format!("`{behind}`") };
        let _ = writeln!(out, "| {} | {count} | {crates} |", package.name);
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
    fn the_page_has_the_picture_and_what_is_behind_each_package() {
        let (path, page) = generated_file(&packages(METADATA).unwrap());
        assert_eq!(path, FILE);
        let picture = "```mermaid\ngraph TD\n    cli --> store\n    store --> sys\n    sys\n```\n";
        assert!(page.contains(picture), "{page}");
        assert!(page.contains("| cli | 1 | `libc` |\n"), "{page}");
        assert!(page.contains("| cli | store, sys | - |\n"), "{page}");
    }
}

//! The shared library exports the interface and nothing else.

use crate::toolchain::library;
use std::collections::BTreeSet;
use std::process::Command;

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = include_str!("../../barograph.h");
    let code = header.lines().filter(|line| !line.starts_with("//") && !line.starts_with(" *"));
    let text = code.collect::<Vec<_>>().join("\n");
    text.split('(')
        .filter_map(|before| before.rsplit([' ', '*', '\n']).next())
        .filter(|name| name.starts_with("baro_"))
        .map(str::to_owned)
        .collect()
}

fn exported(library: &std::path::Path) -> Option<BTreeSet<String>> {
    let out = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
    let Some(out) = out.ok().filter(|out| out.status.success()) else {
        println!("skipped: no nm that reads {} (apt-get install binutils)", library.display());
        return None;
    };
    let text = String::from_utf8(out.stdout).unwrap();
    let symbols = text.lines().filter_map(|line| line.rsplit(' ').next());
    Some(
        symbols
            .filter(|name| !name.contains("BARO_"))
            .map(|name| name.split('@').next().unwrap_or(name).to_owned())
            .collect(),
    )
}

#[test]
fn only_the_interface_is_exported() {
    if cfg!(target_feature = "crt-static") {
        println!("skipped: a static target has no shared library");
        return;
    }
    let Some(found) = exported(&library("libbaro.so")) else { return };
    assert_eq!(found, declared());
    assert!(found.len() >= 25, "{found:?}");
}

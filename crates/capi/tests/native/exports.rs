//! The shared library exports the interface and nothing else.

use crate::toolchain::{Folder, SYSTEM, compiler, library};
use std::collections::BTreeSet;
use std::process::Command;

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = include_str!("../../barograph.h");
    let code = header.lines().filter(|line| !line.starts_with("#define"));
    let text = code.collect::<Vec<_>>().join("\n");
    // Without comments.
    let code = text.split("*/").map(|text| text.split_once("/*").map_or(text, |(code, _)| code));
    let text = code.collect::<String>();
    text.split('(')
        .filter_map(|before| before.rsplit([' ', '*', '\n']).next())
        // A typedef of a function's pointer has its name in parentheses.
        .filter(|name| name.starts_with("baro_") && !name.ends_with(')'))
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
            .filter(|name| !name.starts_with("BARO_"))
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

/// As `cargo xtask libbaro` links it.
#[test]
fn the_shared_library_has_only_versioned_symbols() {
    let Some(cc) = compiler("c") else { return };
    let folder = Folder::new("shared");
    let shared = folder.path("libbaro.so");
    let map = concat!("-Wl,--version-script=", env!("CARGO_MANIFEST_DIR"), "/libbaro.map");
    let out = Command::new(cc)
        .args(["-shared", "-Wl,--gc-sections", "-Wl,--no-undefined", map, "-Wl,--whole-archive"])
        .arg(library("libbaro.a"))
        .arg("-Wl,--no-whole-archive")
        .args(SYSTEM)
        .arg("-o")
        .arg(&shared)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let Some(found) = exported(&shared) else { return };
    assert_eq!(found, declared());
    let out = Command::new("nm").arg("-D").arg(&shared).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let versioned = text.lines().filter(|line| line.contains(" T ") && line.contains("@@BARO_0.1"));
    assert_eq!(versioned.count(), found.len());
}

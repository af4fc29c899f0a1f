//! What `make install` puts where.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, into),
            path => into.push(path),
        }
    }
}

#[test]
fn an_installation_has_the_program_its_pages_and_the_service() {
    let folder = Folder::new("install");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = Path::new(env!("CARGO_BIN_EXE_baro")).parent().unwrap();
    let install = || {
        let mut command = Command::new(root.join("scripts/install.sh"));
        command.arg(programs).env("DESTDIR", &folder.0).env("PREFIX", "/opt/b");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(install().contains("/opt/b/bin/baro"));
    let mut found = Vec::new();
    files(&folder.0, &mut found);
    let has = |name: &str| found.contains(&folder.0.join(name));
    for name in [
        "opt/b/bin/baro",
        "opt/b/share/man/man1/baro.1",
        "opt/b/share/man/man1/baro-share-run.1",
        "opt/b/share/bash-completion/completions/baro",
        "opt/b/share/zsh/site-functions/_baro",
        "opt/b/share/fish/vendor_completions.d/baro.fish",
        "opt/b/lib/systemd/system/barograph.service",
        "opt/b/lib/systemd/system/barograph-listen.service",
        "etc/barograph/barograph.toml",
    ] {
        assert!(has(name), "{name} is not among {found:?}");
    }
    let unit = folder.path("opt/b/lib/systemd/system/barograph.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(
        unit.contains("ExecStart=/opt/b/bin/baro ") && !unit.contains("/usr/bin/baro"),
        "{unit}"
    );
    let listener = folder.path("opt/b/lib/systemd/system/barograph-listen.service");
    let listener = std::fs::read_to_string(listener).unwrap();
    assert!(listener.contains("ExecStart=/opt/b/lib/barograph/baro-listen "), "{listener}");
    // Settings that somebody has changed stay.
    let settings = folder.path("etc/barograph/barograph.toml");
    std::fs::write(&settings, "[record]\n").unwrap();
    install();
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "[record]\n");
    let program = Command::new(folder.path("opt/b/bin/baro")).arg("-h").output().unwrap();
    assert!(program.status.success());
}

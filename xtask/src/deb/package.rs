//! The package's files, laid out below a folder and packed by dpkg-deb.
//!
//! Invariant: the same commit gives the same package, and only what is listed here is in it.

use super::{notices, read, write};
use crate::shell::{self, Cmd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files of the repository and where they go.
const FILES: &[(&str, &str, u32)] = &[
    ("packaging/systemd/barograph.service", "usr/lib/systemd/system/barograph.service", 0o644),
    (
        "packaging/systemd/barograph-listen.service",
        "usr/lib/systemd/system/barograph-listen.service",
        0o644,
    ),
    ("packaging/barograph.toml", "etc/barograph/barograph.toml", 0o644),
    ("packaging/completions/bash/baro", "usr/share/bash-completion/completions/baro", 0o644),
    ("packaging/completions/zsh/_baro", "usr/share/zsh/vendor-completions/_baro", 0o644),
    (
        "packaging/completions/fish/baro.fish",
        "usr/share/fish/vendor_completions.d/baro.fish",
        0o644,
    ),
    ("docs/service.md", "usr/share/doc/barograph/service.md", 0o644),
    ("docs/network.md", "usr/share/doc/barograph/network.md", 0o644),
    ("docs/settings.md", "usr/share/doc/barograph/settings.md", 0o644),
    ("docs/durability.md", "usr/share/doc/barograph/durability.md", 0o644),
    ("docs/tutorial.md", "usr/share/doc/barograph/tutorial.md", 0o644),
    ("docs/faq.md", "usr/share/doc/barograph/faq.md", 0o644),
    ("docs/command-line.md", "usr/share/doc/barograph/command-line.md", 0o644),
    ("docs/sources.md", "usr/share/doc/barograph/sources.md", 0o644),
    ("docs/query.md", "usr/share/doc/barograph/query.md", 0o644),
    ("docs/c.md", "usr/share/doc/barograph/c.md", 0o644),
    ("packaging/deb/postinst", "DEBIAN/postinst", 0o755),
    ("packaging/deb/prerm", "DEBIAN/prerm", 0o755),
    ("packaging/deb/postrm", "DEBIAN/postrm", 0o755),
];
/// Settings, which dpkg keeps as the administrator has changed them.
const CONFFILES: &str = "/etc/barograph/barograph.toml\n";

/// Builds the package of `program` below `out` and returns its path.
pub(super) fn build(program: &Path, version: &str, out: &Path) -> Result<PathBuf, String> {
    let stage = out.join("stage");
    match std::fs::remove_dir_all(&stage) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("{}: {error}", stage.display()));
        }
        _ => {}
    }
    for (from, to, mode) in FILES {
        put(&stage.join(to), &read(&shell::root().join(from))?, *mode)?;
    }
    for page in names(&shell::root().join("packaging/man"))? {
        let to = stage.join("usr/share/man/man1").join(&page);
        put(&to, &read(&shell::root().join("packaging/man").join(&page))?, 0o644)?;
        succeed(&Cmd::new("gzip -9n").arg(&text(&to)))?;
    }
    let mut libc = 0;
    let mut put_program = |to: PathBuf, from: &Path, mode| {
        let binary = read(from)?;
        libc = libc.max(libc_needed(&binary));
        put(&to, &binary, mode)
    };
    put_program(stage.join("usr/bin/baro"), program, 0o755)?;
    // Started by baro, by hand or not at all.
    for name in ["baro-lake", "baro-listen", "baro-serve"] {
        let file = stage.join("usr/lib/barograph").join(name);
        put_program(file, &program.with_file_name(name), 0o755)?;
    }
    let interposer = stage.join("usr/lib/barograph/libbaro_preload.so");
    put_program(interposer, &program.with_file_name("libbaro_preload.so"), 0o644)?;
    let doc = stage.join("usr/share/doc/barograph");
    put(&doc.join("copyright"), copyright()?.as_bytes(), 0o644)?;
    put(&doc.join("changelog"), &read(&shell::root().join("CHANGELOG.md"))?, 0o644)?;
    succeed(&Cmd::new("gzip -9n").arg(&text(&doc.join("changelog"))))?;
    put(&doc.join("THIRD-PARTY"), notices::text(&notices::PROGRAMS)?.as_bytes(), 0o644)?;
    succeed(&Cmd::new("gzip -9n").arg(&text(&doc.join("THIRD-PARTY"))))?;
    put(&stage.join("DEBIAN/conffiles"), CONFFILES.as_bytes(), 0o644)?;

    let architecture = Cmd::new("dpkg --print-architecture").output()?.trim().to_owned();
    let control = control(version, &architecture, &format!("2.{libc}"), installed_kib(&stage)?);
    put(&stage.join("DEBIAN/control"), control.as_bytes(), 0o644)?;
    let package = out.join(format!("barograph_{version}_{architecture}.deb"));
    let commit_time = Cmd::new("git log -1 --format=%ct").output().unwrap_or_default();
    // Folders made under a closed umask would be closed on the user's machine too.
    succeed(&Cmd::new("chmod -R u=rwX,go=rX").arg(&text(&stage)))?;
    let pack = Cmd::new("dpkg-deb --root-owner-group --build")
        .arg(&text(&stage))
        .arg(&text(&package))
        .env("SOURCE_DATE_EPOCH", commit_time.trim());
    pack.output()?;
    Ok(package)
}

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).map_err(fail)?.collect();
    let names = entries.map_err(fail)?.into_iter();
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    write(path, bytes)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn succeed(cmd: &Cmd) -> Result<(), String> {
    cmd.output().map(drop)
}

/// The head of packaging/deb/copyright with the text of LICENSE-MIT as the control file has it.
fn copyright() -> Result<String, String> {
    let head = read(&shell::root().join("packaging/deb/copyright"))?;
    let licence = read(&shell::root().join("LICENSE-MIT"))?;
    let mut text = String::from_utf8_lossy(&head).into_owned();
    // The first two paragraphs are title and owner.
    for line in String::from_utf8_lossy(&licence).lines().skip(4) {
        text.push_str(if line.is_empty() { " ." } else { " " });
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}

fn control(version: &str, architecture: &str, libc: &str, installed_kib: u64) -> String {
    // Whoever builds a package answers for it, and Debian's tools read these too.
    let said = |name: &str| std::env::var(name).ok().filter(|said| !said.is_empty());
    let maintainer = match (said("DEBFULLNAME"), said("DEBEMAIL")) {
        (name, Some(email)) => format!("{} <{email}>", name.unwrap_or_default()),
        _ => "The Barograph authors <root@localhost>".to_owned(),
    };
    format!(
        "Package: barograph\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {installed_kib}\n\
         Depends: libc6 (>= {libc}), libgcc-s1, passwd\n\
         Section: science\n\
         Priority: optional\n\
         Description: records sensor data without ever making the producer wait\n\
        \x20A recorder for sensor and control data under any I/O pressure: a push copies into\n\
        \x20shared memory and never waits; a writer makes it durable; what is lost is counted.\n\
        \x20The package has the command line, baro, and a service that records what\n\
        \x20/etc/barograph/barograph.toml says. `baro share` gives programs shares of a disk.\n"
    )
}

/// The newest version of the C library that the program asks for: 31 is 2.31, the least we say.
fn libc_needed(binary: &[u8]) -> u32 {
    let mark = b"GLIBC_2.";
    let newest = binary
        .windows(mark.len())
        .enumerate()
        .filter(|(_, window)| window == mark)
        .filter_map(|(at, _)| {
            let digits = binary.get(at + mark.len()..at + mark.len() + 2)?;
            let digits: String = digits
                .iter()
                .map(|byte| char::from(*byte))
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse::<u32>().ok()
        })
        .max();
    newest.unwrap_or(31)
}

fn installed_kib(stage: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    let mut folders = vec![stage.to_owned()];
    while let Some(folder) = folders.pop() {
        let fail = |error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let meta = entry.metadata().map_err(fail)?;
            if !meta.is_dir() {
                bytes += meta.len();
            } else if entry.file_name() != "DEBIAN" {
                folders.push(entry.path());
            }
        }
    }
    Ok(bytes.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides() {
        assert_eq!(libc_needed(b"..GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.17\0GLIBC_2."), 34);
        assert_eq!(libc_needed(b"static"), 31);
    }

    #[test]
    fn a_control_file_has_every_field_on_a_line_of_its_own() {
        let control = control("1.2", "amd64", "2.34", 7);
        assert!(control.contains("\nVersion: 1.2\nArchitecture: amd64\n"), "{control}");
        let continued = control.lines().filter(|line| line.starts_with(' ')).count();
        assert_eq!((control.lines().count(), continued), (13, 4), "{control}");
        assert!(copyright().unwrap().contains("\n Permission is hereby granted"));
    }
}

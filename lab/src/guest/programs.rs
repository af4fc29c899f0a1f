//! Programs of the host for a guest: found by name, with the shared libraries they need.

use crate::tool::{at, output, which};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the host and its place in a guest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Brought {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
}

impl Brought {
    /// Its permission bits and bytes.
    pub(crate) fn read(&self) -> Result<(u32, Vec<u8>), String> {
        let mode = fs::metadata(&self.host).map_err(at(&self.host))?.permissions().mode() & 0o777;
        Ok((mode, fs::read(&self.host).map_err(at(&self.host))?))
    }
}

/// A program at `host` as `guest`, and its libraries where the loader looks for them.
pub(crate) fn with_libraries(host: &Path, guest: &str) -> Result<BTreeSet<Brought>, String> {
    let mut all = BTreeSet::new();
    all.insert(Brought { host: host.to_owned(), guest: guest.to_owned() });
    // Fails for a static program and for a script, which need none.
    let listed = output(Command::new("ldd").arg(host)).unwrap_or_default();
    for path in libraries(&listed) {
        all.insert(Brought { host: PathBuf::from(&path), guest: path });
    }
    if let Some(missing) = listed.lines().find(|line| line.contains("not found")) {
        return Err(format!("{}: {}", host.display(), missing.trim()));
    }
    Ok(all)
}

/// The paths in what `ldd` prints.
fn libraries(listed: &str) -> Vec<String> {
    let path = |line: &str| -> Option<String> {
        let line = line.split_once("=> ").map_or(line, |(_, path)| path);
        let path = line.split_whitespace().next()?;
        path.starts_with('/').then(|| path.to_owned())
    };
    listed.lines().filter(|line| line.contains(".so")).filter_map(path).collect()
}

/// A program that the user named: a path, or what is in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    which(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_the_loader_says() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            libraries(said),
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        );
        assert!(libraries("\tstatically linked\n").is_empty());
    }
}

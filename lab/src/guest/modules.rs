//! The modules that a guest may need, out of the thousands of a package, with what they depend on.
//! A package has no `modules.dep`; each module says itself what it needs (`depends=`).

use crate::tool::{at, filter};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// To be counted up with the lists below.
pub(crate) const LIST_VERSION: u32 = 3;

/// Loaded when a guest starts.
pub(crate) const LOADED: &[&str] = &[
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "crc32c_generic",
    "crc32c_intel",
    "crc32_generic",
    "crc32_pclmul",
    "libcrc32c",
    "ext4",
    "f2fs",
    "bfq",
    "loop",
];

/// There for `modprobe`.
const AT_HAND: &[&str] = &[
    "sdhci_pci",
    "mmc_block",
    "dm_mod",
    "dm_flakey",
    "dm_delay",
    "dm_log_writes",
    "dm_crypt",
    "xts",
    "ecb",
    "raid1",
    "null_blk",
    "scsi_debug",
    "sd_mod",
    "ahci",
    "nvme",
    "kyber_iosched",
    "fuse",
    "overlay",
    "nbd",
    "xfs",
    "btrfs",
];

/// Copies the modules and all they need from an unpacked package to `to`, as busybox's modprobe
/// wants them.
///
/// # Errors
/// Files cannot be read or written; a module is needed that is not there.
pub(crate) fn select(package: &Path, release: &str, to: &Path) -> Result<(), String> {
    let mut index = BTreeMap::new();
    for place in ["lib/modules", "usr/lib/modules"] {
        walk(&package.join(place).join(release), &mut index);
    }
    if index.is_empty() {
        return Err(format!("{}: no modules of {release}", package.display()));
    }
    let folder = to.join(release);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open: Vec<String> =
        LOADED.iter().chain(AT_HAND).map(|name| (*name).to_owned()).collect();
    while let Some(name) = open.pop() {
        // What a kernel has built in has no file.
        let Some(path) = index.get(&name) else { continue };
        if needs.contains_key(&name) {
            continue;
        }
        let module = load(path)?;
        let depends = depends(&module);
        fs::write(folder.join(format!("{name}.ko")), module).map_err(at(&folder))?;
        open.extend(depends.iter().cloned());
        needs.insert(name, depends);
    }
    let mut text = String::new();
    for name in needs.keys() {
        let mut all = Vec::new();
        closure(name, &needs, &mut all);
        let _ = write!(text, "{name}.ko:");
        // The nearest first, as depmod writes it.
        for needed in all.iter().rev().filter(|needed| *needed != name) {
            let _ = write!(text, " {needed}.ko");
        }
        text.push('\n');
    }
    fs::write(folder.join("modules.dep"), text).map_err(at(&folder))?;
    let loaded: Vec<&str> =
        LOADED.iter().copied().filter(|name| needs.contains_key(*name)).collect();
    fs::write(folder.join("loaded"), loaded.join("\n") + "\n").map_err(at(&folder))
}

/// All that `name` needs, in the order of loading, itself last.
fn closure(name: &str, needs: &BTreeMap<String, Vec<String>>, all: &mut Vec<String>) {
    if all.iter().any(|known| known == name) {
        return;
    }
    for needed in needs.get(name).into_iter().flatten() {
        if needs.contains_key(needed) {
            closure(needed, needs, all);
        }
    }
    all.push(name.to_owned());
}

fn walk(folder: &Path, index: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, index);
        } else if let Some((name, _)) = entry.file_name().to_string_lossy().split_once(".ko") {
            index.insert(name.replace('-', "_"), path);
        }
    }
}

fn load(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = fs::read(path).map_err(at(path))?;
    let packer = match path.extension().and_then(|ending| ending.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return Ok(bytes),
    };
    filter(Command::new(packer).arg("-dc"), &bytes)
}

/// What a module says it needs.
fn depends(module: &[u8]) -> Vec<String> {
    let tag = b"\0depends=";
    let Some(at) = module.windows(tag.len()).position(|bytes| bytes == tag) else {
        return Vec::new();
    };
    let rest = &module[at + tag.len()..];
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
    let names = String::from_utf8_lossy(&rest[..end]).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_names_what_it_needs() {
        assert_eq!(
            depends(b"\x7fELF\0depends=mbcache,crc-16,jbd2\0retpoline=Y\0"),
            ["mbcache", "crc_16", "jbd2"]
        );
        assert!(depends(b"\0depends=\0").is_empty() && depends(b"none").is_empty());
    }

    #[test]
    fn what_is_needed_comes_first() {
        let needs = [("a", vec!["b", "c"]), ("b", vec!["c"]), ("c", vec![])];
        let needs = needs
            .map(|(name, all)| (name.to_owned(), all.iter().map(|n| (*n).to_owned()).collect()));
        let mut all = Vec::new();
        closure("a", &BTreeMap::from(needs), &mut all);
        assert_eq!(all, ["c", "b", "a"]);
    }
}

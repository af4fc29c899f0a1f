//! The registry of `baro share`: the file of a group, which any program that may enter groups wrote.
//! What is read back from it says the same again.
#![allow(clippy::disallowed_methods, reason = "what others lay in the way, by hand")]

use crate::Target;
use baro_share::Registry;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

pub(crate) const REGISTRY: Target = Target {
    name: "registry",
    fuzz_one: registry,
    seeds: || {
        vec![
            b"weight 200\ndisks sda sdb\ncgroup system.slice/x y.service\ncut 5 6\n".to_vec(),
            b"weight 1000\ndisks \n".to_vec(),
        ]
    },
    fix_up: |_| {},
};

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = above.join(format!("baro-fuzz-registry-{}", std::process::id()));
        let _ = fs::create_dir_all(folder.join("group"));
        for path in [folder.clone(), folder.join("group")] {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
        }
        folder
    })
}

fn registry(bytes: &[u8]) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = folder().join("group/group");
    let _ = fs::write(&file, bytes);
    let _ = fs::set_permissions(&file, fs::Permissions::from_mode(0o644));
    let found = Registry::at(folder()).list();
    for entry in found {
        assert!((1..=1000).contains(&entry.asked.weight.get()), "{:?}", entry.asked.weight);
        assert!(!entry.alive, "nobody holds it");
    }
}

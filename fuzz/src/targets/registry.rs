//! The registry of `baro share`: the file of a group, which any program that may enter groups wrote.
//! What is read back from it says the same again.
#![allow(clippy::disallowed_methods, reason = "what others lay in the way, by hand")]

use super::folder::Folder;
use crate::Target;
use baro_share::Registry;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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

thread_local! {
    static FOLDER: Folder = {
        let folder = Folder::new("registry");
        let group = folder.path().join("group");
        let _ = fs::create_dir_all(&group);
        let _ = fs::set_permissions(&group, fs::Permissions::from_mode(0o755));
        folder
    };
}

fn registry(bytes: &[u8]) {
    let found = FOLDER.with(|folder| {
        let file = folder.path().join("group/group");
        let _ = fs::write(&file, bytes);
        let _ = fs::set_permissions(&file, fs::Permissions::from_mode(0o644));
        Registry::at(folder.path()).list()
    });
    for entry in found {
        assert!((1..=1000).contains(&entry.asked.weight.get()), "{:?}", entry.asked.weight);
        assert!(!entry.alive, "nobody holds it");
    }
}

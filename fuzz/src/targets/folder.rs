//! A folder of files for targets whose readers take files alone: in memory where the machine has such a
//! place, for each thread its own, and removed when its thread ends.
//!
//! A process that is killed leaves its folder. The next one removes it.
#![allow(
    clippy::disallowed_methods,
    reason = "a tool beside the product: makes and removes its own files"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the names of all such folders begin with; part, process and number follow.
const PREFIX: &str = "baro-fuzz-";

pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new folder, which only this user may write to.
    pub(super) fn new(part: &str) -> Folder {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        remove_left(&above, Path::new("/proc"));
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let name = format!("{PREFIX}{part}-{}-{number}", std::process::id());
        let folder = Folder(above.join(name));
        let _ = fs::create_dir_all(folder.path());
        let _ = fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755));
        folder
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of processes that are no more, of which `processes` has a folder each.
fn remove_left(above: &Path, processes: &Path) {
    // Where nobody's processes are listed, nobody is known to be gone.
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut parts = name.strip_prefix(PREFIX).unwrap_or("").split('-');
        let process = parts.nth(1).and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|process| !processes.join(process.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_ends_with_its_thread_and_what_the_dead_left_is_removed() {
        thread_local!(static FOLDER: Folder = Folder::new("test"));
        let path = std::thread::spawn(|| {
            let path = FOLDER.with(|folder| folder.path().to_owned());
            fs::write(path.join("file"), "1").unwrap();
            path
        });
        let path = path.join().unwrap();
        assert!(path.to_string_lossy().contains("baro-fuzz-test-") && !path.exists());

        let folder = Folder::new("left");
        let (above, processes) = (folder.path().join("above"), folder.path().join("processes"));
        for name in ["self", "7"] {
            fs::create_dir_all(processes.join(name)).unwrap();
        }
        let names =
            ["baro-fuzz-a-7-1", "baro-fuzz-a-8-1", "baro-fuzz-b-9", "baro-fuzz", "other-a-8"];
        for name in names {
            fs::create_dir_all(above.join(name).join("below")).unwrap();
        }
        remove_left(&above, &processes);
        let left = names.map(|name| above.join(name).exists());
        assert_eq!(left, [true, false, false, true, true]);
        fs::remove_dir(processes.join("self")).unwrap();
        fs::remove_dir(processes.join("7")).unwrap();
        remove_left(&above, &processes);
        assert!(above.join("baro-fuzz-a-7-1").exists(), "no processes are listed");
    }
}

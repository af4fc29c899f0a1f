//! Room for what the steps build and write, asked before the first of them: a linker that finds the
//! disk full half an hour later dies of a bus error and names neither.

use crate::shell::{Cmd, target_dir};
use std::path::Path;

/// What a build of everything and its tests take at most, with what cargo keeps for the next change.
const NEEDED_BYTES: u64 = 8 << 30;
/// With a build folder that is there, most of it is written already.
const NEEDED_AGAIN_BYTES: u64 = 3 << 30;

/// An error where the disk of the build folder has less free than a run may take.
pub(super) fn check() -> Result<(), String> {
    let target = target_dir();
    let built = target.join("debug/deps").exists();
    let needed_bytes = if built { NEEDED_AGAIN_BYTES } else { NEEDED_BYTES };
    let Some(free_bytes) = free_bytes(&target) else { return Ok(()) };
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    let (gib, free_gib) = (needed_bytes >> 30, free_bytes as f64 / f64::from(1 << 30));
    Err(format!(
        "{}: {free_gib:.1} GiB are free on its disk, a run of all steps may take {gib}; remove \
         something, or name a folder elsewhere with CARGO_TARGET_DIR",
        target.display()
    ))
}

/// What `df` says of the disk that holds `folder`, or will; nothing where it does not know.
fn free_bytes(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let df = Cmd::new("df --output=avail --block-size=1").arg(&there.to_string_lossy());
    df.output().ok()?.lines().nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::free_bytes;
    use std::path::Path;

    #[test]
    fn a_folder_not_made_yet_lies_on_the_disk_of_its_parent() {
        let free = free_bytes(Path::new("/proc/../no-such-folder/nor-this"));
        assert!(free.is_some_and(|bytes| bytes > 0));
    }
}

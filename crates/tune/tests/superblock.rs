//! The journal's size as the superblock has it, of file systems that mke2fs makes in a file.

#![allow(clippy::disallowed_methods, reason = "tests make the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_tune::{JournalFacts, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, journal_of};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_journal_of_a_file_system_is_as_large_as_it_was_made() {
    let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join("superblock-image");
    for (arguments, expected) in [
        (vec!["-J", "size=4"], JournalFacts::Inside(4 << 20)),
        (vec!["-b", "1024", "-J", "size=16"], JournalFacts::Inside(16 << 20)),
        (vec!["-t", "ext3", "-J", "size=8"], JournalFacts::Inside(8 << 20)),
        (vec!["-O", "^has_journal"], JournalFacts::None),
    ] {
        fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).unwrap();
        let mut mkfs = Command::new("mkfs.ext4");
        let Ok(made) = mkfs.args(["-q", "-F"]).args(&arguments).arg(&image).output() else {
            println!("skipped: mkfs.ext4 is not installed");
            return;
        };
        assert!(made.status.success(), "{arguments:?}: {made:?}");
        let bytes = fs::read(&image).unwrap();
        let at = usize::try_from(SUPERBLOCK_OFFSET).unwrap();
        let superblock = &bytes[at..at + SUPERBLOCK_BYTES];
        assert_eq!(journal_of(superblock), Some(expected), "{arguments:?}");
    }
    fs::remove_file(&image).unwrap();
}

//! A pool on a real file system: what its files hold, what is left, and what is refused.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_plain::{Error, Pool, Sizes};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const SIZES: Sizes = Sizes { file_bytes: 1 << 20, unit_bytes: 64 << 10, ready: 2 };

struct Folder(PathBuf);

impl Folder {
    /// Below the checkout's target folder: a file system in memory reserves nothing.
    fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| ((at * 31 + seed * 7) % 251) as u8).collect()
}

#[test]
fn files_have_what_was_written_and_nothing_else() {
    let folder = Folder::new("plain-written");
    let mut pool = Pool::open(&folder.0, SIZES).unwrap();
    assert_eq!(folder.names().len(), 2, "made before anything is taken");
    let mut expected = Vec::new();
    let mut finishing = Vec::new();
    for run in 0..8 {
        let name = format!("run-{run}");
        let mut file = pool.take(&name).unwrap();
        let mut all = Vec::new();
        // Of all sizes: nothing, less than a unit, many units, all that has room.
        for write in 0..[0, 1, 9, 40][run % 4] {
            let piece = bytes([1, 4_096, 16_384, 26_000][run % 4], write);
            file.write(&piece).unwrap();
            all.extend(piece);
        }
        if run == 3 {
            let free = file.free_bytes();
            let more = bytes(free as usize + 1, 9);
            let refused = file.write(&more).unwrap_err();
            assert!(
                matches!(refused, Error::Full { free_bytes, .. } if free_bytes == free),
                "{refused}"
            );
            file.write(&more[1..]).unwrap();
            all.extend(&more[1..]);
            assert_eq!(file.free_bytes(), 0);
        }
        assert_eq!(file.written_bytes(), all.len() as u64);
        finishing.push((file.finish(), all.len() as u64));
        expected.push((name, all));
    }
    for (one, length) in finishing {
        assert_eq!(one.wait().unwrap(), length);
    }
    for (name, all) in &expected {
        let path = folder.0.join(name);
        assert!(fs::read(&path).unwrap() == *all, "{name}");
        // What was reserved and not written is given back.
        let held = fs::metadata(&path).unwrap().blocks() * 512;
        assert!(held <= all.len() as u64 + 65_536, "{name}: {held} of {}", all.len());
    }
    pool.close().unwrap();
    assert_eq!(folder.names(), expected.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
}

#[test]
fn names_and_sizes_of_no_use_are_refused() {
    let folder = Folder::new("plain-refused");
    for sizes in [
        Sizes { file_bytes: 0, ..SIZES },
        Sizes { unit_bytes: 1, ..SIZES },
        Sizes { ready: 0, ..SIZES },
    ] {
        assert!(matches!(Pool::open(&folder.0, sizes), Err(Error::Size { .. })), "{sizes:?}");
    }
    assert!(matches!(Pool::open(&folder.0.join("none"), SIZES), Err(Error::Io { .. })));
    let huge = Sizes { file_bytes: 16 << 40, ..SIZES };
    let refused = Pool::open(&folder.0, huge).unwrap_err();
    assert!(
        matches!(&refused, Error::Io { said, .. } if said.contains(".baro-ready-")),
        "{refused}"
    );
    assert_eq!(folder.names(), Vec::<String>::new(), "nothing is left of what failed");
    let mut pool = Pool::open(&folder.0, SIZES).unwrap();
    for name in ["", ".", "..", "a/b", "/etc/passwd", "a\0b"] {
        assert!(matches!(pool.take(name), Err(Error::Name(_))), "{name:?}");
    }
    fs::write(folder.0.join("there"), "mine").unwrap();
    assert!(matches!(pool.take("there"), Err(Error::Taken(_))));
    assert_eq!(fs::read(folder.0.join("there")).unwrap(), b"mine");
    // A file outlives its pool: it is not lost, and whoever waits is told.
    let mut file = pool.take("late").unwrap();
    file.write(b"late").unwrap();
    pool.close().unwrap();
    assert!(matches!(file.finish().wait(), Err(Error::Closed)));
    assert_eq!(&fs::read(folder.0.join("late")).unwrap()[..4], b"late");
}

#[test]
fn what_a_killed_pool_left_goes_unless_it_has_data() {
    let folder = Folder::new("plain-left");
    let name = |number: u64| folder.0.join(format!(".baro-ready-{number:016x}.part"));
    let pool = Pool::open(&folder.0, SIZES).unwrap();
    let held = folder.names();
    // What was only reserved, what has data, and what only looks alike.
    fs::File::create(name(1)).unwrap();
    fs::write(name(2), "recorded").unwrap();
    fs::write(folder.0.join(".baro-ready-1.part"), "").unwrap();
    let other = Pool::open(&folder.0, SIZES).unwrap();
    assert_eq!(other.left(), [name(2)]);
    assert!(!name(1).exists() && name(2).exists() && folder.0.join(".baro-ready-1.part").exists());
    assert!(held.iter().all(|one| folder.0.join(one).exists()), "another pool's files stay");
    other.close().unwrap();
    pool.close().unwrap();
    assert_eq!(folder.names().len(), 2);
}

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
    // Killed between its new name and the end of its old one.
    fs::write(name(3), "named").unwrap();
    fs::hard_link(name(3), folder.0.join("named")).unwrap();
    let other = Pool::open(&folder.0, SIZES).unwrap();
    assert_eq!(other.left(), [name(2)]);
    assert!(!name(3).exists() && fs::read(folder.0.join("named")).unwrap() == b"named");
    assert!(!name(1).exists() && name(2).exists() && folder.0.join(".baro-ready-1.part").exists());
    assert!(held.iter().all(|one| folder.0.join(one).exists()), "another pool's files stay");
    other.close().unwrap();
    pool.close().unwrap();
    assert_eq!(folder.names().len(), 3);
}

/// Until the flusher has named it.
fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::yield_now();
    }
}

#[test]
fn a_name_is_handed_out_once() {
    let folder = Folder::new("plain-twice");
    let mut pool = Pool::open(&folder.0, Sizes { file_bytes: 4_096, ready: 16, ..SIZES }).unwrap();
    for run in 0..60 {
        let name = format!("run-{run}");
        let mut first = pool.take(&name).unwrap();
        first.write(b"first").unwrap();
        // Whether the flusher has named the first already or not.
        let refused = pool.take(&name).unwrap_err();
        assert!(matches!(&refused, Error::Taken(path) if path.ends_with(&name)), "{refused}");
        assert_eq!(first.finish().wait().unwrap(), 5);
        assert_eq!(fs::read(folder.0.join(&name)).unwrap(), b"first");
        // Who removes a file may take its name again.
        fs::remove_file(folder.0.join(&name)).unwrap();
        pool.take(&name).unwrap().finish().wait().unwrap();
    }
    pool.close().unwrap();
}

#[test]
fn a_file_of_another_is_never_replaced() {
    let folder = Folder::new("plain-another");
    let mut pool = Pool::open(&folder.0, SIZES).unwrap();
    let mut theirs = 0;
    for run in 0..20 {
        // Keeps the flusher busy, so that the other is the first as a rule.
        let mut busy = pool.take(&format!("busy-{run}")).unwrap();
        busy.write(&bytes(500_000, run)).unwrap();
        let busy = busy.finish();
        let path = folder.0.join(format!("run-{run}"));
        let mut file = pool.take(&format!("run-{run}")).unwrap();
        file.write(b"ours").unwrap();
        let other = fs::File::create_new(&path);
        let told = file.finish().wait();
        busy.wait().unwrap();
        if other.is_err() {
            assert_eq!((told.unwrap(), fs::read(&path).unwrap()), (4, b"ours".to_vec()));
            continue;
        }
        theirs += 1;
        assert_eq!(fs::read(&path).unwrap(), b"", "it stays with who has it");
        let Err(Error::Unnamed { path: name, left, .. }) = &told else { panic!("{told:?}") };
        assert_eq!((name, fs::read(left).unwrap()), (&path, b"ours".to_vec()));
        let said = told.unwrap_err().to_string();
        assert!(said.contains(".part") && said.contains("rename it"), "{said}");
    }
    println!("{theirs} of 20 names were taken by the other first");
    pool.close().unwrap();
}

#[test]
fn a_file_whose_pool_is_closed_is_refused() {
    let folder = Folder::new("plain-closed");
    let mut pool = Pool::open(&folder.0, SIZES).unwrap();
    let mut file = pool.take("late").unwrap();
    file.write(b"before").unwrap();
    assert!(file.status().is_ok());
    pool.close().unwrap();
    assert!(matches!(file.status(), Err(Error::Closed)));
    assert!(matches!(file.write(b"after"), Err(Error::Closed)));
    assert_eq!(file.written_bytes(), 6);
    assert_eq!(&fs::read(folder.0.join("late")).unwrap()[..8], b"before\0\0");
}

#[test]
fn what_fails_behind_is_told_by_the_next_call_and_once() {
    let folder = Folder::new("plain-untold");
    let (place, away) = (folder.0.join("place"), folder.0.join("away"));
    fs::create_dir(&place).unwrap();
    let mut pool = Pool::open(&place, Sizes { ready: 4, ..SIZES }).unwrap();
    let [first, second, third, mut goes_on] = ["1", "2", "3", "4"].map(|name| {
        let mut file = pool.take(name).unwrap();
        file.write(b"before").unwrap();
        wait_for(&place.join(name));
        file
    });
    // A folder that is not where it was cannot be synced.
    fs::rename(&place, &away).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    drop(first);
    let told = loop {
        if let Err(error) = goes_on.write(b"") {
            break error.to_string();
        }
        assert!(std::time::Instant::now() < deadline, "nothing was told");
    };
    assert!(told.contains("place") && told.contains("No such file"), "{told}");
    goes_on.write(b", after").unwrap();
    // One that was waited for no longer, though it could have been.
    drop(second.finish());
    while pool.status().is_ok() {
        assert!(std::time::Instant::now() < deadline, "nothing was told");
    }
    pool.status().unwrap();
    // Who waits is told, and nobody else.
    let mut third = third.finish();
    let told = loop {
        if let Some(told) = third.told() {
            break told;
        }
    };
    assert!(told.is_err());
    fs::rename(&away, &place).unwrap();
    assert_eq!(goes_on.finish().wait().unwrap(), 13);
    pool.close().unwrap();
    assert_eq!(fs::read(place.join("4")).unwrap(), b"before, after");
}

//! What a hostile neighbour can lay into the way of a state file, and what comes of it.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

/// A user who is nobody's friend; only root can give files to him.
const OTHER: u32 = 65_534;

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("baro-state-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn refusal<T>(done: Result<T>) -> String {
    done.map(drop).expect_err("refused").to_string()
}

#[test]
fn what_others_can_replace_is_not_roots() {
    if !crate::schedule::is_root() {
        println!("skipped: needs root, to make what belongs to others");
        return;
    }
    // No folder above it may be sticky, as the one for temporary files is.
    let place = PathBuf::from(format!("/run/baro-state-{}-roots", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    for (folder, mode) in [("own", 0o755), ("other", 0o755), ("sticky", 0o1777)] {
        fs::create_dir_all(place.join(folder).join("below")).unwrap();
        for file in ["file", "below/file"] {
            fs::write(place.join(folder).join(file), "").unwrap();
        }
        fs::set_permissions(place.join(folder), fs::Permissions::from_mode(mode)).unwrap();
    }
    chown(place.join("other"), Some(12_345), None).unwrap();
    let own = place.join("own/file");
    assert!(super::place_of_roots(&own).unwrap().ends_with("own/file"));
    let said = super::place_of_roots(&place.join("other/file")).unwrap_err().to_string();
    assert!(said.contains("other") && said.contains("12345"), "{said}");
    // Once it is gone, the name is anybody's.
    for file in ["sticky/file", "sticky/below/file"] {
        let said = super::place_of_roots(&place.join(file)).unwrap_err().to_string();
        assert!(said.contains("sticky") && said.contains("mode 1777"), "{said}");
    }
    // By a link that root made.
    symlink(place.join("other/file"), place.join("own/link")).unwrap();
    assert!(super::place_of_roots(&place.join("own/link")).is_err());
    fs::set_permissions(&own, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(super::place_of_roots(&own).unwrap_err().to_string().contains("mode 0666"));
    assert!(super::place_of_roots(&place.join("none")).is_err());
    assert!(super::place_of_roots(Path::new("/")).is_err());
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_file_is_made_replaced_locked_and_removed() {
    let place = place("plain");
    let folder = StateFolder::make_all(&place.join("a/b"), 0o750).unwrap();
    assert_eq!(fs::metadata(place.join("a/b")).unwrap().mode() & PERMISSIONS, 0o750);
    // One that is there is taken, or not, as was asked; where it is has no link.
    let above = StateFolder::open(&place.join("a")).unwrap();
    assert!(above.make_below("b", 0o750).is_ok());
    assert_eq!(above.make_new("b", 0o750).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let new = above.make_new("new", 0o705).unwrap();
    assert_eq!(fs::metadata(place.join("a/new")).unwrap().mode() & PERMISSIONS, 0o705);
    symlink(place.join("a"), place.join("link")).unwrap();
    let linked = StateFolder::open(&place.join("link/new")).unwrap();
    assert_eq!(linked.place().unwrap(), new.place().unwrap());
    assert_eq!(new.place().unwrap(), place.canonicalize().unwrap().join("a/new"));
    above.remove_folder("new").unwrap();
    assert_eq!(folder.read_text("journal", 10).unwrap(), None);
    folder.replace_durable("journal", b"one", 0o640).unwrap();
    folder.replace("journal", b"2", 0o604).unwrap();
    assert_eq!(fs::metadata(place.join("a/b/journal")).unwrap().mode() & PERMISSIONS, 0o604);
    assert_eq!(folder.read_text("journal", 10).unwrap().as_deref(), Some("2"));
    assert!(refusal(folder.read_text("journal", 0)).contains("expected at most 0 bytes"));
    folder.create_file(".journal.new-0123", 0o600).unwrap();
    assert_eq!(folder.list().unwrap(), [".journal.new-0123", "journal"]);
    folder.clear_temporaries("journal").unwrap();
    let held = folder.lock("lock").unwrap().unwrap();
    let holder = folder.lock("lock").unwrap().unwrap_err();
    assert_eq!(folder.lock_holder("lock").unwrap(), Some(holder));
    held.say("who").unwrap();
    assert_eq!(folder.lock_said("lock").unwrap().as_deref(), Some("who"));
    drop(held);
    assert_eq!(folder.lock_holder("lock").unwrap(), None);
    assert_eq!(folder.lock_said("lock").unwrap(), None);
    let part = folder.lock_part("parts", 7).unwrap().unwrap();
    assert!(folder.lock_part("parts", 7).unwrap().is_none());
    assert!(folder.lock_part("parts", 8).unwrap().is_some());
    drop(part);
    assert!(folder.lock_part("parts", 7).unwrap().is_some());
    folder.remove("parts").unwrap();
    assert_eq!(folder.lock_holder("none").unwrap(), None);
    assert_eq!(folder.list().unwrap(), ["journal", "lock"]);
    for name in ["journal", "journal", "lock"] {
        folder.remove_durable(name).unwrap();
    }
    for name in ["", ".", "..", "a/b", "../b", "\0"] {
        assert!(folder.open_file(name).is_err() && folder.below(name).is_err(), "{name:?}");
        assert!(folder.remove(name).is_err() && folder.remove_folder(name).is_err(), "{name:?}");
    }
    StateFolder::open(&place.join("a")).unwrap().remove_folder("b").unwrap();
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn links_pipes_and_second_names_are_refused_and_nothing_is_touched() {
    let place = place("links");
    let folder = StateFolder::make(&place.join("state"), 0o700).unwrap();
    let victim = place.join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, place.join("state/link")).unwrap();
    symlink(&place, place.join("state/folder")).unwrap();
    fs::hard_link(&victim, place.join("state/second")).unwrap();
    let pipe = CString::new(place.join("state/pipe").as_os_str().as_bytes()).unwrap();
    // SAFETY: a name that ends with 0.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    for (name, found) in [
        ("link", "a symbolic link"),
        ("second", "one with 2"),
        ("pipe", "a pipe, socket or device"),
    ] {
        for said in [
            refusal(folder.open_file(name)),
            refusal(folder.open_file_to_write(name)),
            refusal(folder.lock(name)),
            refusal(folder.lock_holder(name)),
            refusal(folder.read_text(name, 100)),
        ] {
            assert!(said.contains(found) && said.contains(name), "{said}");
        }
        assert!(folder.create_file(name, 0o600).is_err());
    }
    assert!(refusal(folder.below("folder")).contains("folder"));
    // Replacing and removing take the name, and leave what it led to.
    folder.replace_durable("link", b"new", 0o600).unwrap();
    assert!(!place.join("state/link").is_symlink());
    folder.remove("second").unwrap();
    folder.remove("folder").unwrap();
    assert!(folder.remove_folder("pipe").is_err());
    folder.remove("pipe").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(folder.list().unwrap(), ["link"]);
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn folders_and_files_that_others_write_are_refused() {
    let place = place("modes");
    let folder = StateFolder::make(&place.join("state"), 0o700).unwrap();
    folder.replace("file", b"text", 0o666).unwrap();
    assert!(refusal(folder.open_file("file")).contains("mode 0666"));
    assert!(folder.open_anybodys("file").is_ok());
    let mode = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
    for open in [0o777, 0o770, 0o702] {
        mode(open);
        let said = refusal(StateFolder::open(&place.join("state")));
        assert!(said.contains(&format!("mode {open:04o}")), "{said}");
    }
    // As /tmp is: others make files there, and cannot take another's away.
    mode(0o1777);
    StateFolder::open(&place.join("state")).unwrap();
    mode(0o700);
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn what_another_user_owns_is_refused() {
    if !crate::schedule::is_root() {
        println!("skipped: only root can give a file to another user");
        return;
    }
    let place = place("owner");
    let folder = StateFolder::make(&place.join("state"), 0o700).unwrap();
    folder.replace("file", b"text", 0o600).unwrap();
    chown(place.join("state/file"), Some(OTHER), None).unwrap();
    let said = refusal(folder.read_text("file", 100));
    assert!(said.contains("belongs to root") && said.contains("65534's"), "{said}");
    // Root, who was told whose it is, takes it.
    chown(place.join("state"), Some(OTHER), None).unwrap();
    assert!(refusal(StateFolder::open(&place.join("state"))).contains("65534's"));
    let theirs = StateFolder::open_of(&place.join("state"), OTHER).unwrap();
    assert_eq!(theirs.read_text("file", 100).unwrap().as_deref(), Some("text"));
    assert_eq!(theirs.owner().unwrap(), OTHER);
    // A folder of his on the way is enough.
    chown(&place, Some(OTHER), None).unwrap();
    chown(place.join("state"), Some(0), None).unwrap();
    assert!(refusal(StateFolder::open(&place.join("state"))).contains("65534's"));
    fs::remove_dir_all(&place).unwrap();
}

//! A folder on a real file system: what is kept, what is refused, what is locked.

use super::*;

#[test]
fn where_they_are_kept_apart_a_write_waits_for_the_sync_under_way() {
    let path = std::env::temp_dir().join(format!("baro-apart-{}", std::process::id()));
    let file = File::create(&path).unwrap();
    let file = DiskFile { file, path: path.clone(), apart: Some(RwLock::default()) };
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let syncing = file.apart.as_ref().unwrap().write().unwrap();
        scope.spawn(|| {
            file.write_at(0, b"later").unwrap();
            ended.send(()).unwrap();
        });
        // Too short a wait would only let a fault pass, not invent one.
        end.recv_timeout(std::time::Duration::from_millis(50)).unwrap_err();
        assert_eq!(file.size_bytes().unwrap(), 0);
        drop(syncing);
        end.recv().unwrap();
    });
    file.sync_data().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"later");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn files_keep_what_is_written_and_errors_name_the_file() {
    let base = std::env::temp_dir().join(format!("baro-disk-{}", std::process::id()));
    let folder = base.join("below/it");
    assert!(Disk::open(&folder).unwrap_err().is_missing());
    let disk = Disk::create(&folder).unwrap();
    assert_eq!(Disk::create(&folder).unwrap().folder(), folder);
    let file = disk.create("a").unwrap();
    file.write_at(10, b"hello").unwrap();
    file.sync_data().unwrap();
    let mut bytes = [1; 20];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), 15);
    assert_eq!(&bytes[8..15], b"\0\0hello");
    assert!(disk.create("a").is_err());
    disk.rename("a", "b").unwrap();
    disk.sync_folder("").unwrap();
    assert_eq!(disk.list("").unwrap(), ["b"]);
    let error = disk.open("a", Access::Read).unwrap_err();
    assert!(error.is_missing() && error.to_string().contains("/a: open: "));
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn what_is_no_regular_file_is_refused_and_waited_for_never() {
    let base = std::env::temp_dir().join(format!("baro-below-{}", std::process::id()));
    let disk = Disk::create(&base.join("store")).unwrap();
    disk.create_folder("log/deep").unwrap();
    let real = base.join("store/log");
    let outside = base.join("outside");
    std::fs::write(&outside, "precious").unwrap();
    std::os::unix::fs::symlink(&outside, real.join("link")).unwrap();
    std::os::unix::fs::symlink(&base, base.join("store/way")).unwrap();
    let pipe = std::ffi::CString::new(real.join("pipe").to_str().unwrap()).unwrap();
    // SAFETY: a path that ends with 0.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o666) }, 0);
    let socket = std::os::unix::net::UnixListener::bind(real.join("socket")).unwrap();
    for access in [Access::Read, Access::ReadDirect, Access::Write, Access::WriteDirect] {
        for (name, found) in [
            ("log/link", "found a symbolic link"),
            ("log/pipe", "found a pipe"),
            ("log/socket", "found a pipe, socket or device"),
            ("log/deep", ""),
            ("way/outside", ""),
            ("../outside", "expected one plain name"),
            ("log/../../outside", "expected one plain name"),
            ("/etc/passwd", ""),
        ] {
            let said = disk.open(name, access).unwrap_err();
            assert!(!said.is_missing() || name.starts_with('/'), "{name}: {said}");
            assert!(said.to_string().contains(found), "{name}: {said}");
        }
    }
    for name in ["log/link", "log/pipe", "log/socket", "way/lock"] {
        assert!(disk.lock(name).is_err() && disk.lock_holder(name).is_err(), "{name}");
        assert!(disk.lock_part(name, 0).is_err() && disk.is_part_locked(name, 0).is_err());
    }
    assert!(disk.create("log/link").is_err() && disk.create("way/new").is_err());
    assert!(disk.list("way").is_err() && disk.create_folder("way/new").is_err());
    assert!(disk.rename("log/pipe", "way/pipe").is_err());
    // A link is removed and replaced itself, and not what it names.
    disk.create("log/a").unwrap();
    disk.rename("log/a", "log/link").unwrap();
    assert!(disk.open("log/link", Access::Write).is_ok());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    assert_eq!(disk.list("log").unwrap(), ["deep", "link", "pipe", "socket"]);
    drop(socket);
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_file_of_another_that_was_linked_here_is_read_and_not_written() {
    let base = std::env::temp_dir().join(format!("baro-linked-{}", std::process::id()));
    let disk = Disk::create(&base).unwrap();
    disk.create("mine").unwrap().write_at(0, b"mine").unwrap();
    std::fs::hard_link(base.join("mine"), base.join("copy")).unwrap();
    disk.open("copy", Access::Write).unwrap();
    if crate::schedule::user_id() != 0 {
        println!("skipped: files of another user need root");
    } else {
        for (file, folder) in [(12345, 0), (12345, 12345), (0, 12345), (12345, 12346)] {
            std::os::unix::fs::chown(base.join("mine"), Some(file), None).unwrap();
            std::os::unix::fs::chown(&base, Some(folder), None).unwrap();
            let said = disk.open("copy", Access::Write).unwrap_err().to_string();
            assert!(said.contains(&format!("one of user {file} with 2 names")), "{said}");
            assert!(disk.lock("copy").is_err() && disk.lock_part("copy", 0).is_err());
            disk.open("copy", Access::Read).unwrap();
        }
    }
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_folder_that_is_moved_is_gone_on_with_and_not_what_took_its_place() {
    let base = std::env::temp_dir().join(format!("baro-moved-{}", std::process::id()));
    let disk = Disk::create(&base.join("a")).unwrap();
    disk.create("file").unwrap();
    let before = (disk.found_here().unwrap(), disk.found("file").unwrap());
    std::fs::rename(base.join("a"), base.join("b")).unwrap();
    let other = Disk::create(&base.join("a")).unwrap();
    other.create("file").unwrap();
    assert_eq!((disk.found_here().unwrap(), disk.found("file").unwrap()), before);
    assert_ne!(other.found("file").unwrap().identity, before.1.identity);
    disk.open("file", Access::Write).unwrap().write_at(0, b"here").unwrap();
    disk.create("new").unwrap();
    assert_eq!(std::fs::read(base.join("b/file")).unwrap(), b"here");
    assert!(!base.join("a/new").exists() && disk.available_bytes().unwrap().is_some());
    std::fs::remove_dir_all(base.join("b")).unwrap();
    assert_eq!(disk.found_here().unwrap().names, 0);
    assert!(disk.found("file").unwrap_err().is_missing());
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_part_of_a_file_has_one_holder() {
    let base = std::env::temp_dir().join(format!("baro-parts-{}", std::process::id()));
    let disk = Disk::create(&base).unwrap();
    assert!(disk.lock_part("store", 0).unwrap_err().is_missing());
    assert!(!disk.is_part_locked("store", 0).unwrap());
    disk.create("store").unwrap();
    let held = disk.lock_part("store", 0).unwrap().unwrap();
    assert!(disk.is_part_locked("store", 0).unwrap() && !disk.is_part_locked("store", 1).unwrap());
    assert!(disk.lock_part("store", 0).unwrap().is_none());
    let other = disk.lock_part("store", 1).unwrap().unwrap();
    // Reading the file, and closing it, gives nothing back.
    disk.open("store", Access::Read).unwrap();
    assert!(disk.lock_part("store", 0).unwrap().is_none());
    drop(held);
    assert!(disk.lock_part("store", 0).unwrap().is_some());
    drop(other);
    let named = disk.lock("lock").unwrap().unwrap();
    assert_eq!(disk.lock_holder("lock").unwrap().unwrap().pid, Some(std::process::id()));
    named.say("full").unwrap();
    assert_eq!(disk.lock_said("lock").unwrap().as_deref(), Some("full"));
    drop(named);
    assert_eq!(disk.lock_said("lock").unwrap(), None);
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn what_root_makes_in_a_store_belongs_to_the_owner_of_the_store() {
    if crate::schedule::user_id() != 0 {
        println!("skipped: only root gives files away");
        return;
    }
    let base = std::env::temp_dir().join(format!("baro-given-{}", std::process::id()));
    let disk = Disk::create(&base).unwrap();
    disk.create(OWNER_SAYS).unwrap();
    std::os::unix::fs::chown(base.join(OWNER_SAYS), Some(12345), Some(12346)).unwrap();
    disk.create_folder("runs/deep").unwrap();
    disk.create("runs/lake").unwrap();
    drop(disk.lock("lock").unwrap().unwrap());
    for made in ["runs", "runs/deep", "runs/lake", "lock"] {
        let found = std::fs::metadata(base.join(made)).unwrap();
        assert_eq!((found.uid(), found.gid()), (12345, 12346), "{made}");
    }
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_file_is_made_in_the_folder_that_is_held_with_the_rights_that_are_asked_for() {
    use std::io::Write;
    let base = std::env::temp_dir().join(format!("baro-elsewhere-{}", std::process::id()));
    let (path, old) = (base.join("table"), base.join("old"));
    let disk = Disk::create(&path).unwrap();
    disk.create_folder_with("log", 0o775).unwrap();
    assert!(!disk.is_elsewhere().unwrap());
    std::fs::rename(&path, &old).unwrap();
    assert!(disk.is_elsewhere().unwrap());
    std::fs::create_dir_all(path.join("log")).unwrap();
    assert!(disk.is_elsewhere().unwrap());
    let mut output = disk.create_paced("log/x", 0o664).unwrap();
    output.write_all(b"whole").unwrap();
    let part = crate::files::list(&old.join("log")).unwrap().remove(0);
    assert!(PacedOutput::is_part(&part) && disk.is_held(&format!("log/{part}")).unwrap());
    output.finish().unwrap();
    assert_eq!(std::fs::read(old.join("log/x")).unwrap(), b"whole");
    assert_eq!(crate::files::list(&path.join("log")).unwrap().len(), 0);
    assert_eq!(disk.found("log/x").unwrap().rights, 0o664);
    assert_eq!(disk.found("log").unwrap().rights, 0o775);
    let taken = disk.create_paced("log/x", 0o664).map(drop).map_err(|error| error.kind());
    assert_eq!(taken, Err(std::io::ErrorKind::AlreadyExists));
    // A link in place of a folder is not followed, when something is made either.
    std::fs::remove_dir_all(old.join("log")).unwrap();
    std::os::unix::fs::symlink(path.join("log"), old.join("log")).unwrap();
    assert!(disk.create_paced("log/y", 0o600).is_err());
    assert_eq!(crate::files::list(&path.join("log")).unwrap().len(), 0);
    std::fs::remove_dir_all(&base).unwrap();
}

//! What another user lays where root measures: root removes, overwrites and waits for nothing of it.

#![allow(clippy::disallowed_methods, reason = "tests lay and look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_bench::load::{AllocateTruncate, Load, LoadSpec};
use baro_bench::stand::{Stand, StandSpec, remove_leftovers};
use baro_bench::store::Scratch;
use baro_bench::verb::new_store::in_new_store;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A user who is nobody's friend.
const OTHER: u32 = 65_534;
/// So long nobody waits, however busy the machine is.
const NEVER: Duration = Duration::from_secs(60);

/// A folder of root's, gone with this.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Option<Self> {
        if !baro_sys::schedule::is_root() {
            println!("skipped: needs root, to make what belongs to others");
            return None;
        }
        let path = std::env::temp_dir().join(format!("baro-hostile-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Some(Self(folder(&path, 0, 0o755)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(path: &Path, owner: u32, mode: u32) -> PathBuf {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chown(path, Some(owner), Some(owner)).unwrap();
    path.to_owned()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_others_link_where_a_stand_was_leads_root_nowhere() {
    let Some(place) = Place::new("links") else { return };
    let settings = folder(&place.0.join("settings"), 0, 0o700);
    for file in ["lock", "image"] {
        fs::write(settings.join(file), "precious").unwrap();
    }
    folder(&settings.join("mnt"), 0, 0o700);
    // His own, and one like /tmp, in which everybody makes names.
    let his = folder(&place.0.join("his"), OTHER, 0o755);
    let everybodys = folder(&place.0.join("everybodys"), 0, 0o1777);
    for around in [&his, &everybodys] {
        symlink(&settings, around.join("baro-stand-1-0")).unwrap();
        let stand = folder(&around.join("baro-stand-1-1"), OTHER, 0o755);
        symlink(settings.join("lock"), stand.join("lock")).unwrap();
        symlink(settings.join("mnt"), stand.join("mnt")).unwrap();
        remove_leftovers(around);
        assert_eq!(names(&settings), ["image", "lock", "mnt"]);
        assert_eq!(names(around), ["baro-stand-1-0", "baro-stand-1-1"]);
        assert_eq!(names(&stand), ["lock", "mnt"]);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_stands_lock_holds_nobody_up() {
    let Some(place) = Place::new("pipes") else { return };
    // Root's own folder too: it may be a copy of somebody else's.
    for (name, owner) in [("his", OTHER), ("roots", 0)] {
        let around = folder(&place.0.join(name), owner, 0o755);
        let stand = folder(&around.join("baro-stand-1-0"), owner, 0o755);
        assert!(Command::new("mkfifo").arg(stand.join("lock")).status().unwrap().success());
        let (ended, waits) = channel();
        std::thread::spawn(move || {
            remove_leftovers(&around);
            let _ = ended.send(());
        });
        waits.recv_timeout(NEVER).unwrap_or_else(|_| panic!("{name}: waits for a pipe"));
        assert_eq!(names(&stand), ["lock"]);
    }
}

#[test]
fn root_measures_in_no_folder_in_which_others_decide() {
    let Some(place) = Place::new("refused") else { return };
    let his = folder(&place.0.join("his"), OTHER, 0o755);
    let roots_in_his = folder(&his.join("roots"), 0, 0o755);
    let everybodys = folder(&place.0.join("everybodys"), 0, 0o777);
    for (dir, found) in
        [(&his, "user 65534's"), (&roots_in_his, "user 65534's"), (&everybodys, "mode 0777")]
    {
        let spec = StandSpec { bytes: 64 << 20, mkfs: &[], mount: "" };
        let load = LoadSpec::AllocateTruncate(AllocateTruncate::default());
        let never = |_: &Path| -> baro_command::failure::Result<()> { panic!("measures there") };
        let refusals = [
            Stand::build(dir, &spec).map(drop).unwrap_err().to_string(),
            Load::start(load, dir).map(drop).unwrap_err().to_string(),
            Scratch::in_folder(dir).map(drop).unwrap_err().to_string(),
            in_new_store(dir, 8 << 20, baro_ondisk::WhenFull::Stop, never).unwrap_err().to_string(),
        ];
        for said in refusals {
            assert!(said.contains(found), "{said}");
            assert!(said.contains("name another folder with --dir"), "{said}");
            assert!(said.contains("run it as the user"), "{said}");
        }
    }
    assert_eq!(names(&his), ["roots"]);
    assert_eq!((names(&roots_in_his), names(&everybodys)), (Vec::new(), Vec::new()));
    // Where others make names and take none away, as in /tmp, it is done.
    fs::set_permissions(&everybodys, fs::Permissions::from_mode(0o1777)).unwrap();
    drop(Scratch::in_folder(&everybodys).unwrap());
    // A name that somebody else has taken is not used.
    let taken = everybodys.join(format!("baro-bench-store-{}", std::process::id()));
    folder(&taken, OTHER, 0o777);
    assert!(Scratch::in_folder(&everybodys).is_err());
    assert_eq!(names(&everybodys).len(), 1);
}

//! Journals that somebody else wrote, and what a second user lays where root looks for one: nothing of it
//! is written, replaced, emptied or waited for.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use baro_tune::{Error, Journal, Options};

/// A user who is nobody's friend; only root can give files to him.
const OTHER: u32 = 65_534;
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// What a journal would have root write, with the value that is there in a fake machine.
const FORGED: [(&str, &str, &str); 8] = [
    ("/proc/sys/kernel/core_pattern", "whole", "|/tmp/evil %P"),
    ("/proc/sys/kernel/modprobe", "whole", "/tmp/evil"),
    ("/sys/kernel/uevent_helper", "whole", "/tmp/evil"),
    ("/sys/fs/cgroup/memory/release_agent", "whole", "/tmp/evil"),
    ("/proc/sys/vm/../kernel/core_pattern", "whole", "1"),
    ("/sys/fs/cgroup/a/cgroup.procs", "whole", "1"),
    ("/proc/sys/vm/swappiness", "line 8:0 0", "1"),
    ("/proc/sys/vm/swappiness", "whole", "|/tmp/evil"),
];

/// A folder of a fake machine and a state folder, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("baro-forged-{}-{name}", std::process::id());
        let place = Place(std::env::temp_dir().join(name));
        let _ = fs::remove_dir_all(&place.0);
        fs::create_dir_all(place.state()).unwrap();
        for folder in [&place.0, &place.state()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        place.put(BOOT_ID, &fs::read_to_string(BOOT_ID).unwrap());
        FORGED.iter().for_each(|(path, ..)| place.put(path, "as found\n"));
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join("root").join(path.trim_start_matches('/'))
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn options(&self, root: &Path) -> Options {
        Options { state_dir: self.state(), root: root.to_owned(), ..Options::default() }
    }

    fn refusal(&self) -> String {
        Journal::open(&self.options(&self.0.join("root"))).map(drop).unwrap_err().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A journal of this boot whose checksums all fit.
fn sealed(path: &str, form: &str, value: &str) -> String {
    let seal = |line: String| format!("{line}\t{:08x}\n", crc32c::crc32c(line.as_bytes()));
    let boot = fs::read_to_string(BOOT_ID).unwrap();
    let text = seal(format!("barograph-tune\t1\t{}", boot.trim()))
        + &seal(format!("moving\t{path}\t{form}\t{value}\tx"));
    format!("{text}end\t1\t{:08x}\n", crc32c::crc32c(format!("{text}end\t1").as_bytes()))
}

fn is_root() -> bool {
    let is_root = baro_sys::schedule::is_root();
    if !is_root {
        println!("skipped: only root can give files to another user");
    }
    is_root
}

#[test]
fn a_forged_journal_is_refused_whole_and_kept() {
    let place = Place::new("fake");
    let journal = place.state().join("journal");
    for (path, form, value) in FORGED {
        let text = sealed(path, form, value);
        fs::write(&journal, &text).unwrap();
        let error = Journal::open(&place.options(&place.0.join("root"))).map(drop).unwrap_err();
        assert!(matches!(error, Error::Foreign { line: 2, .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("nothing of it was put back") && said.contains(path), "{said}");
        assert_eq!(fs::read_to_string(place.at(path)).unwrap(), "as found\n", "{path}");
        assert_eq!(fs::read_to_string(&journal).unwrap(), text);
    }
    // One of our own settings is put back by the same text: it is the place that is refused.
    place.put("/proc/sys/vm/swappiness", "60\n");
    fs::write(&journal, sealed("/proc/sys/vm/swappiness", "whole", "10")).unwrap();
    Journal::open(&place.options(&place.0.join("root"))).unwrap();
    assert_eq!(fs::read_to_string(place.at("/proc/sys/vm/swappiness")).unwrap(), "10\n");
}

#[test]
fn root_does_not_write_this_machines_core_pattern() {
    if !is_root() {
        return;
    }
    let place = Place::new("real");
    let pattern = || fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    let found = pattern();
    // What is there already, so that even a fault would change nothing.
    let text = sealed("/proc/sys/kernel/core_pattern", "whole", found.trim());
    fs::write(place.state().join("journal"), text).unwrap();
    let error = Journal::open(&place.options(Path::new("/"))).map(drop).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(pattern(), found);
}

#[test]
fn a_journal_or_folder_of_another_user_is_not_taken() {
    if !is_root() {
        return;
    }
    let place = Place::new("owner");
    let swappiness = place.at("/proc/sys/vm/swappiness");
    let journal = place.state().join("journal");
    fs::write(&journal, sealed("/proc/sys/vm/swappiness", "whole", "10")).unwrap();
    // His file, then a file that he may write, then his folder, then one above it.
    chown(&journal, Some(OTHER), None).unwrap();
    assert!(place.refusal().contains("65534's"), "{}", place.refusal());
    chown(&journal, Some(0), None).unwrap();
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(place.refusal().contains("mode 0666"), "{}", place.refusal());
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();
    for folder in [place.state(), place.0.clone()] {
        chown(&folder, Some(OTHER), None).unwrap();
        assert!(place.refusal().contains("65534's"), "{}", place.refusal());
        chown(&folder, Some(0), None).unwrap();
    }
    assert_eq!(fs::read_to_string(&swappiness).unwrap(), "as found\n");
    assert!(Journal::open(&place.options(&place.0.join("root"))).is_ok());
    assert_eq!(fs::read_to_string(&swappiness).unwrap(), "10\n");
}

#[test]
fn links_and_pipes_in_the_place_of_its_files_touch_nothing() {
    let place = Place::new("links");
    let victim = place.0.join("victim");
    for name in ["lock", "journal"] {
        fs::write(&victim, "precious").unwrap();
        let at = place.state().join(name);
        symlink(&victim, &at).unwrap();
        assert!(place.refusal().contains("a symbolic link"), "{}", place.refusal());
        fs::remove_file(&at).unwrap();
        fs::hard_link(&victim, &at).unwrap();
        assert!(place.refusal().contains("one with 2"), "{}", place.refusal());
        fs::remove_file(&at).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&at).status().unwrap().success());
        assert!(place.refusal().contains("a pipe"), "{}", place.refusal());
        fs::remove_file(&at).unwrap();
    }
    // Where 0.1 wrote its new text first.
    symlink(&victim, place.state().join("journal.tmp")).unwrap();
    place.put("/proc/sys/vm/swappiness", "60\n");
    let (mut journal, _) = Journal::open(&place.options(&place.0.join("root"))).unwrap();
    journal.apply(&baro_tune::Setting::new("/proc/sys/vm/swappiness", "5")).unwrap();
    drop(journal);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

//! What a less trusted user lays where a more trusted one works, end to end: the folders are those of the
//! package, in a mount namespace of the test's own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

/// A user who is nobody's friend.
const OTHER: u32 = 65_534;

/// The service's user lays links, a forged journal and a link for a folder; then root uses every verb that
/// keeps a state. Each line that is printed is compared below.
const SCRIPT: &str = r#"
set -u
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /run
as_service() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
install -d -o 65534 -g 65534 -m 0750 /var/lib/barograph /run/barograph
mkdir -p /var/lib/victim/etc
for file in passwd shadow etc/sudoers; do echo precious >"/var/lib/victim/$file"; done
as_service mkdir -p /var/lib/barograph/tune/kept /var/lib/barograph/tune/share
as_service cp "$FORGED" /var/lib/barograph/tune/journal
as_service cp "$FORGED" /var/lib/barograph/tune/kept/journal
as_service ln -s /var/lib/victim/passwd /var/lib/barograph/tune/lock
as_service ln -s /var/lib/victim/shadow /var/lib/barograph/tune/journal.tmp
as_service ln -s /var/lib/victim/shadow /var/lib/barograph/tune/share/lock
as_service ln -s /var/lib/victim /run/barograph/share
as_service ln -s /var/lib/victim/etc /var/lib/barograph/traces
"$BARO" tune undo >"$OUT/undo" 2>&1; echo "undo $?"
"$BARO" tune apply --machine-wide --only compaction -- true >"$OUT/apply" 2>&1; echo "apply $?"
"$BARO" tune undo --state-dir /var/lib/barograph/tune >"$OUT/asked" 2>&1; echo "asked $?"
"$BARO" share run --name etc --on / -- true >"$OUT/share" 2>&1
"$BARO" share run --name etc --on / --run-dir /run/barograph/share --state-dir /var/lib/barograph/tune/share \
    -- true >"$OUT/share-there" 2>&1; echo "there $((! ! $?))"
cat /var/lib/victim/passwd /var/lib/victim/shadow /var/lib/victim/etc/sudoers
find /var/lib/victim | wc -l
stat -c '%n %a %u' /var/lib/barograph-root /var/lib/barograph-root/tune
cmp "$FORGED" /var/lib/barograph/tune/journal && echo "kept"
"#;

#[test]
fn what_a_service_lays_in_its_folders_moves_root_to_nothing() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: only root has mount namespaces and other users");
        return;
    }
    let folder = Folder::new("privileges");
    let out = std::env::temp_dir().join(format!("baro-privileges-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let pattern = || fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    let (found, forged) = (pattern(), out.join("forged"));
    // The value that is there: even a fault changes nothing.
    fs::write(&forged, journal("/proc/sys/kernel/core_pattern", found.trim())).unwrap();
    let done = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", SCRIPT])
        .env("BARO", env!("CARGO_BIN_EXE_baro"))
        .env("FORGED", &forged)
        .env("OUT", &out)
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let text = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let all = ["undo", "apply", "asked", "share", "share-there"].map(text).join("\n");
    if String::from_utf8_lossy(&done.stderr).contains("Operation not permitted") {
        println!("skipped: no mount namespaces here");
        return;
    }
    let expected = "undo 3\napply 0\nasked 1\nthere 1\nprecious\nprecious\nprecious\n5\n\
                    /var/lib/barograph-root 700 0\n/var/lib/barograph-root/tune 700 0\nkept\n";
    assert_eq!(said, expected, "{all}\n{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(pattern(), found);
    for (name, part) in [
        ("undo", "/var/lib/barograph/tune/journal: a journal of an older version is not put back"),
        ("undo", "/var/lib/barograph/tune/kept/journal: a journal of an older version"),
        ("asked", "expected one that belongs to root, found user 65534's"),
        ("share-there", "65534's"),
    ] {
        assert!(text(name).contains(part), "{name}: {}", text(name));
    }
    fs::remove_dir_all(&out).unwrap();
}

/// As root with `timeout`, so that waiting for a pipe is told from an end.
fn roots(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120", env!("CARGO_BIN_EXE_baro")]).args(arguments);
    let done = command.current_dir(folder).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn root_demonstrates_and_measures_in_no_folder_in_which_others_decide() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, to make what belongs to others");
        return;
    }
    let folder = Folder::new("ground");
    let make = |name: &str, mode, owner| {
        let path = folder.0.join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        path
    };
    let settings = make("settings", 0o700, 0);
    fs::write(settings.join("lock"), "precious").unwrap();
    // His home, where he has laid links; and one like /tmp, where he has laid a pipe.
    let home = make("home", 0o755, OTHER);
    make("home/baro-demo", 0o755, OTHER);
    symlink(&settings, home.join("baro-demo/baro-stand-1-0")).unwrap();
    let everybodys = make("everybodys", 0o1777, 0);
    make("everybodys/baro-demo", 0o755, OTHER);
    let stand = make("everybodys/baro-demo/baro-stand-1-0", 0o755, OTHER);
    assert!(Command::new("mkfifo").arg(stand.join("lock")).status().unwrap().success());
    let demo: &[&str] = &["demo", "--for", "1s", "--device", "none"];
    let push = &["bench", "push", "--records", "1000", "--log", "8M", "--greedy", "0s"];
    for (place, arguments) in [
        (&home, demo),
        (&everybodys, demo),
        (&home, push),
        (&home, &["bench", "store", "--series", "1", "--samples", "100"]),
        (&home, &["bench", "recorder", "--sets", "1", "--writes", "10", "--only", "noise"]),
        (&home, &["bench", "load", ".", "--for", "1s"]),
    ] {
        let (code, said) = roots(place, arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains("expected one that belongs to root, found user 65534's"), "{said}");
        assert!(said.contains("name another folder with --dir"), "{said}");
        assert!(said.contains("run it as the user whose folder this is"), "{said}");
    }
    assert_eq!(fs::read_to_string(settings.join("lock")).unwrap(), "precious");
    assert!(home.join("baro-demo/baro-stand-1-0").is_symlink() && stand.join("lock").exists());
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
    // Root does it beside, and he in his own, which his group may write.
    let (code, said) = roots(&everybodys, push);
    assert_eq!(code, Some(0), "{said}");
    fs::set_permissions(&home, Permissions::from_mode(0o775)).unwrap();
    let his = ["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_baro")];
    let done = Command::new("setpriv").args(his).args(push).current_dir(&home).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(127)
        || said.contains("Permission denied") && done.stdout.is_empty()
    {
        println!("skipped: another user does not reach the program: {said}");
        return;
    }
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
}

/// A journal of this boot whose checksums fit.
fn journal(path: &str, value: &str) -> String {
    let seal = |line: String| format!("{line}\t{:08x}\n", crc32c(line.as_bytes()));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = seal(format!("barograph-tune\t1\t{}", boot.trim()))
        + &seal(format!("moving\t{path}\twhole\t{value}\tx"));
    format!("{text}end\t1\t{:08x}\n", crc32c(format!("{text}end\t1").as_bytes()))
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

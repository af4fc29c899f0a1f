//! What a less trusted user lays where a more trusted one works, end to end: the folders are those of the
//! package, in a mount namespace of the test's own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use std::fs;
use std::process::Command;

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

//! `cargo xtask deb readme [FILE]`: README's first lines, typed in a clean Debian, and their number. The
//! transcript goes into FILE.
//!
//! Rust comes from where `scripts/setup.sh` fetches it. Where that cannot be reached, the root has this
//! machine's toolchain and its cargo registry instead, and the transcript says so.

use super::trial::{base, remove, unpack};
use super::{folder, write};
use crate::shell::{self, Cmd};
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = include_str!("readme.sh");
/// Asked for before Rust is: where it comes from.
const RUSTUP: &str = "https://sh.rustup.rs";
/// This machine's Rust in the root; what is written beside it is in memory.
const OWN_RUST: &str = "mkdir -p root/.rustup root/.cargo mnt; mount -t tmpfs tmpfs mnt; mkdir mnt/u mnt/w; \
    mount --bind -o ro \"$RUST_HOME/.rustup\" root/.rustup; \
    mount -t overlay -o lowerdir=\"$RUST_HOME/.cargo\",upperdir=mnt/u,workdir=mnt/w overlay root/.cargo; ";
const ENTER: &str = "mount --rbind /dev dev; mount -t proc proc proc; mount -t tmpfs tmpfs run; \
    mount -t tmpfs tmpfs tmp; exec env -u RUST_HOME chroot . sh /readme.sh 2>&1";

/// Makes the root, types, and removes it.
pub(super) fn run(transcript: Option<&Path>) -> Result<(), String> {
    let folder = folder().join("trial");
    base(&folder)?;
    let root = folder.join("readme");
    remove(&root)?;
    std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    unpack(&folder, &root)?;
    let clone =
        Cmd::new("git clone --quiet --depth 1").arg(&format!("file://{}", shell::root().display()));
    clone.arg(&root.join("barograph").to_string_lossy()).output()?;
    write(&root.join("readme.sh"), SCRIPT.as_bytes())?;
    let reached = Cmd::new("curl --silent --fail --max-time 20 --output /dev/null").arg(RUSTUP);
    let own_rust = reached.output().is_err();
    let mut said = format!(
        "# cargo xtask deb readme: a clean {}, commit {}\n",
        Cmd::new("sh -c").arg(". /etc/os-release; echo $PRETTY_NAME").output()?.trim(),
        Cmd::new("git rev-parse --short HEAD").output()?.trim(),
    );
    if own_rust {
        said.push_str(
            "# Rust was there already, as rustup leaves it, with the crates: rustup's page is not reached here\n",
        );
    }
    let enter = format!("{}{ENTER}", if own_rust { OWN_RUST } else { "" });
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", &enter])
        .current_dir(&root)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", "/root")
        .env("RUST_HOME", home)
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    said.push_str(&String::from_utf8_lossy(&output.stdout));
    print!("{said}");
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("README's lines ended with {}: {complaint}", output.status));
    }
    remove(&root)?;
    transcript.map_or(Ok(()), |file| write(file, said.as_bytes()))
}

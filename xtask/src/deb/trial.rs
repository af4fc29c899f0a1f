//! The package in a clean Debian: a root made by debootstrap, kept packed for the next time.
//!
//! Mounts and processes are in namespaces of their own and end with them; the service manager's
//! place is taken by a thread that notes what it is told. Invariant: nothing of this machine is
//! changed but files below `target/deb`.

use super::{VERSION, folder, package, program, read, write};
use crate::shell::Cmd;
use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SCRIPT: &str = include_str!("trial.sh");
/// Newer than any version of this source.
const NEXT: &str = "+trial1";

/// What came of it.
#[derive(Debug)]
pub(crate) enum Trial {
    /// All checks that were made.
    Done(Vec<String>),
    /// There can be no trial here, and why.
    Skipped(String),
}

/// Builds two versions, then installs, uses, upgrades, removes and purges them.
pub(crate) fn run() -> Result<Trial, String> {
    if let Some(why) = missing() {
        return Ok(Trial::Skipped(why));
    }
    let folder = folder().join("trial");
    let program = program()?;
    let old = package::build(&program, VERSION, &folder)?;
    let new = package::build(&program, &format!("{VERSION}{NEXT}"), &folder)?;
    if let Err(why) = base(&folder) {
        return Ok(Trial::Skipped(why));
    }
    let root = folder.join("root");
    remove(&root)?;
    std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    unpack(&folder, &root)?;
    let trial = root.join("trial");
    write(&trial.join("old.deb"), &read(&old)?)?;
    write(&trial.join("new.deb"), &read(&new)?)?;
    write(&trial.join("trial.sh"), SCRIPT.as_bytes())?;
    write(&trial.join("said"), b"")?;
    let checks = with_manager(&trial, || in_root(&root))?;
    remove(&root)?;
    Ok(Trial::Done(checks))
}

fn missing() -> Option<String> {
    if Cmd::new("id -u").output().is_ok_and(|id| id.trim() != "0") {
        return Some("needs root, for a clean root and its mounts".to_owned());
    }
    for tool in ["dpkg-deb", "debootstrap", "unshare", "chroot"] {
        if Cmd::new("sh -c").arg(&format!("command -v {tool}")).output().is_err() {
            return Some(format!("no {tool} (apt-get install {})", package_of(tool)));
        }
    }
    None
}

fn package_of(tool: &str) -> &str {
    match tool {
        "dpkg-deb" => "dpkg",
        "unshare" => "util-linux",
        "chroot" => "coreutils",
        other => other,
    }
}

/// A clean Debian of this machine's release, packed; made at the first time.
pub(super) fn base(folder: &Path) -> Result<(), String> {
    let packed = folder.join("base.tar");
    if packed.exists() {
        return Ok(());
    }
    let release = Cmd::new("sh -c").arg(". /etc/os-release; echo $VERSION_CODENAME").output()?;
    let root = folder.join("base");
    remove(&root)?;
    println!("   a clean Debian by debootstrap (a minute, kept in {})", packed.display());
    let make = Cmd::new("debootstrap --variant=minbase").arg(release.trim());
    if let Err(error) = make.arg(&root.to_string_lossy()).output() {
        remove(&root)?;
        return Err(format!("no clean Debian to be had: {error}"));
    }
    // Under another name first: one that is half packed must not be taken for whole.
    let partial = folder.join("base.tar.new");
    let pack = Cmd::new("tar --numeric-owner --exclude=./var/cache/apt/archives/*.deb -C");
    pack.arg(&root.to_string_lossy())
        .arg("-cf")
        .arg(&partial.to_string_lossy())
        .arg(".")
        .output()?;
    remove(&root)?;
    std::fs::rename(&partial, &packed).map_err(|error| format!("{}: {error}", packed.display()))
}

pub(super) fn unpack(folder: &Path, root: &Path) -> Result<(), String> {
    let tar = Cmd::new("tar --numeric-owner -C").arg(&root.to_string_lossy()).arg("-xf");
    tar.arg(&folder.join("base.tar").to_string_lossy()).output().map(drop)
}

/// Removes a root in which nothing is mounted; what is mounted there is another file system.
pub(super) fn remove(root: &Path) -> Result<(), String> {
    Cmd::new("rm -rf --one-file-system").arg(&root.to_string_lossy()).output().map(drop)
}

/// Runs `inside` while what is sent to the trial's socket is noted in the file `said`.
fn with_manager<T>(trial: &Path, inside: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let fail = |error| format!("{}: {error}", trial.display());
    // A path of a socket is short; that of this folder may not be.
    let folder = std::fs::File::open(trial).map_err(fail)?;
    let path = format!("/proc/self/fd/{}/notify", std::os::fd::AsRawFd::as_raw_fd(&folder));
    let socket = UnixDatagram::bind(path).map_err(fail)?;
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(trial.join("notify"), open).map_err(fail)?;
    socket.set_read_timeout(Some(Duration::from_millis(100))).map_err(fail)?;
    let mut said =
        std::fs::OpenOptions::new().append(true).open(trial.join("said")).map_err(fail)?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = [0; 4096];
            while !over.load(Ordering::Relaxed) {
                if let Ok(count) = socket.recv(&mut bytes) {
                    let _ = said.write_all(&bytes[..count]);
                    let _ = said.write_all(b"\n");
                }
            }
        });
        let result = inside();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// Runs the script in the root; the checks that were made.
fn in_root(root: &Path) -> Result<Vec<String>, String> {
    let enter = "mount --rbind /dev dev; mount -t proc proc proc; mount -t tmpfs tmpfs run; \
                 mount -t tmpfs tmpfs tmp; mount --bind /sys sys; \
                 exec chroot . sh /trial/trial.sh /trial/old.deb /trial/new.deb 2>&1";
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", enter])
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    for line in said.lines() {
        println!("   {line}");
    }
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the trial ended with {}: {}", output.status, complaint.trim()));
    }
    Ok(said.lines().filter_map(|line| line.strip_prefix("ok: ")).map(str::to_owned).collect())
}

//! Programs of the host that the lab calls: one that is missing is a reason to skip, which names
//! the package; one that fails gives its last words.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why something cannot be done here, as opposed to a failure.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// What is missing, and how to get it: a skip.
    Missing(String),
    /// It went wrong.
    Failed(String),
    /// What was asked for makes no sense.
    Usage(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Missing(why) | Trouble::Failed(why) | Trouble::Usage(why) => f.write_str(why),
        }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Trouble::Failed(why)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Trouble>;

/// What the lab needs, and the Debian package that has it.
const TOOLS: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.f2fs", "f2fs-tools"),
    ("dmsetup", "dmsetup"),
    ("dpkg-deb", "dpkg"),
    ("apt-get", "apt"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// Has every tool; installs what is missing where we are root.
pub(crate) fn ready() -> Result<()> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Trouble::Missing("the lab runs on x86-64 only".to_owned()));
    }
    let missing = || TOOLS.iter().filter(|(tool, _)| which(tool).is_none()).map(|(_, p)| *p);
    let packages: Vec<&str> = missing().collect();
    if packages.is_empty() {
        return Ok(());
    }
    let install = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    let root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root || which("apt-get").is_none() {
        return Err(Trouble::Missing(format!("packages are missing: sudo {install}")));
    }
    eprintln!("lab: installing {}", packages.join(" "));
    let _ = output(Command::new("apt-get").args(["-qq", "update"]));
    let words = install.split(' ').skip(1);
    let done = output(
        Command::new("apt-get").arg("-qq").args(words).env("DEBIAN_FRONTEND", "noninteractive"),
    );
    match missing().next() {
        None => Ok(()),
        Some(_) => Err(Trouble::Missing(format!(
            "{} cannot be installed: {}",
            packages.join(" "),
            done.err().unwrap_or_default()
        ))),
    }
}

/// Where a program is, by PATH and the folders of root's programs.
pub(crate) fn which(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"]);
    folders.map(|folder| Path::new(folder).join(program)).find(|found| found.is_file())
}

/// Runs a program and returns what it printed on stdout.
///
/// # Errors
/// It does not start or fails; with the end of its stderr.
pub(crate) fn output(command: &mut Command) -> std::result::Result<String, String> {
    let out = command.stdin(Stdio::null()).output().map_err(|e| format!("{command:?}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(format!("{command:?}: {}: {}", out.status, last_lines(&said, 4)))
}

/// Passes bytes through a program.
///
/// # Errors
/// It does not start or fails.
pub(crate) fn filter(command: &mut Command, input: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let pipe = child.stdin.take();
    let out = std::thread::scope(|scope| {
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input)));
        child.wait_with_output()
    });
    let out = out.map_err(|error| format!("{command:?}: {error}"))?;
    if !out.status.success() {
        return Err(format!("{command:?}: {}", out.status));
    }
    Ok(out.stdout)
}

/// The last lines of a text, on one line.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join(" | ")
}

/// The SHA-256 of a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn sha256(path: &Path) -> std::result::Result<String, String> {
    let line = output(Command::new("sha256sum").arg(path))?;
    line.split_whitespace().next().map(str::to_owned).ok_or_else(|| "sha256sum: no hash".to_owned())
}

/// An error of a file, with its name.
pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}

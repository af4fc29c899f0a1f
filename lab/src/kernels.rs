//! Debian's kernels by series: found, fetched and made ready to boot.
//!
//! `lab/kernels.lock` names the packages that were tested last. That one is taken while the cache
//! or a mirror has it; mirrors drop point releases, and then the newest of the series is taken and
//! said so. The version that was booted is in every result. `cargo xtask lab kernels --newest`
//! moves the lock on.

use crate::apt::{Apt, Package};
use crate::cache::Cache;
use crate::guest::{modules, vmlinux};
use crate::tool::{Result, Trouble, at, output, sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A series of kernels.
#[derive(Debug)]
pub(crate) struct Series {
    /// As users name it.
    pub(crate) name: &'static str,
    /// Names of its packages, as a regular expression.
    packages: &'static str,
    /// Where they are, in the order to look.
    suites: &'static [&'static str],
}

pub(crate) const SERIES: &[Series] = &[
    Series {
        name: "5.10",
        packages: r"^linux-image-5\.10\.0-[0-9]+-amd64$",
        suites: &["bullseye-security", "bullseye"],
    },
    Series {
        name: "6.1",
        packages: r"^linux-image-6\.1\.0-[0-9]+-amd64$",
        suites: &["bookworm-security", "bookworm"],
    },
    Series {
        name: "6.1-rt",
        packages: r"^linux-image-6\.1\.0-[0-9]+-rt-amd64$",
        suites: &["bookworm-security", "bookworm"],
    },
    Series {
        name: "6.12",
        packages: r"^linux-image-6\.12\.[0-9]+\+deb13(\.[0-9]+)?-amd64$",
        suites: &["trixie-security", "trixie"],
    },
    Series {
        name: "6.12-rt",
        packages: r"^linux-image-6\.12\.[0-9]+\+deb13(\.[0-9]+)?-rt-amd64$",
        suites: &["trixie-security", "trixie"],
    },
];

/// A kernel that can be booted.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    pub(crate) series: &'static str,
    pub(crate) package: Package,
    /// The uncompressed image, which QEMU starts at once.
    pub(crate) vmlinux: PathBuf,
    /// Its modules, with `modules.dep`.
    pub(crate) modules: PathBuf,
    /// As `uname -r` says it.
    pub(crate) release: String,
    /// Whether it is not the one of the lock.
    pub(crate) differs: bool,
}

pub(crate) fn series(name: &str) -> std::result::Result<&'static Series, String> {
    SERIES.iter().find(|series| series.name == name).ok_or_else(|| {
        let known: Vec<_> = SERIES.iter().map(|series| series.name).collect();
        format!("no kernel series '{name}'; there are {}", known.join(" "))
    })
}

/// Which package of a series to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The one of the lock, else the newest.
    Locked,
    /// The newest.
    Newest,
}

/// Has a kernel of the series ready; fetches what is not in the cache.
///
/// # Errors
/// Missing where no mirror can be reached that has one.
pub(crate) fn ready(cache: &Cache, series: &'static Series, wanted: Wanted) -> Result<Kernel> {
    let locked = locked(series)?.filter(|_| wanted == Wanted::Locked);
    let debs = cache.folder("packages")?;
    if let Some(package) = &locked {
        let deb = deb_path(&debs, package);
        if deb.exists() {
            if sha256(&deb)? == package.sha256 {
                return Ok(unpacked(cache, series, package, &deb, false)?);
            }
            eprintln!("lab: {} is not what the lock says; fetched again", deb.display());
            fs::remove_file(&deb).map_err(at(&deb))?;
        }
    }
    let mut why = String::new();
    for suite in series.suites {
        let found = Apt::of(cache, suite).and_then(|apt| Ok((apt.packages(series.packages)?, apt)));
        let (mut found, apt) = match found {
            Ok(found) => found,
            Err(error) => {
                why = error;
                continue;
            }
        };
        if found.is_empty() {
            why = "its list has none, or was not to be had".to_owned();
        }
        found.sort_by(Package::order);
        let same = locked.as_ref().and_then(|locked| found.iter().find(|one| *one == locked));
        let Some(package) = same.or(found.last()) else { continue };
        let deb = deb_path(&debs, package);
        if !deb.exists() {
            eprintln!("lab: fetching {} {}", package.name, package.version);
            let got = apt.download(package, &debs)?;
            let hash = sha256(&got)?;
            if hash != package.sha256 {
                let expected = &package.sha256;
                let got = got.display();
                let why = format!("{got}: SHA-256 expected {expected}, found {hash}");
                return Err(Trouble::Failed(why));
            }
            fs::rename(&got, &deb).map_err(at(&deb))?;
        }
        let differs = locked.as_ref().is_some_and(|locked| locked != package);
        return Ok(unpacked(cache, series, package, &deb, differs)?);
    }
    let suites = series.suites.join(", ");
    let name = series.name;
    Err(Trouble::Missing(format!("no package of series {name} can be had from {suites}: {why}")))
}

fn deb_path(debs: &Path, package: &Package) -> PathBuf {
    debs.join(format!("{}_{}.deb", package.name, package.version))
}

/// Image and modules out of a package.
fn unpacked(
    cache: &Cache,
    series: &'static Series,
    package: &Package,
    deb: &Path,
    differs: bool,
) -> std::result::Result<Kernel, String> {
    // The list of modules is part of the name: another list is another folder.
    let name = format!("kernels/{}_{}-{}", package.name, package.version, modules::LIST_VERSION);
    let folder = cache.once(&name, |folder| {
        let whole = folder.join("whole");
        output(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&whole))?;
        let boot = whole.join("boot");
        let list = fs::read_dir(&boot).map_err(at(&boot))?;
        let image = list
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.to_string_lossy().contains("vmlinuz-"))
            .ok_or_else(|| format!("{}: no vmlinuz", boot.display()))?;
        let release = image.to_string_lossy().split("vmlinuz-").last().unwrap_or("").to_owned();
        let bytes = fs::read(&image).map_err(at(&image))?;
        let kernel =
            vmlinux::extract(&bytes).map_err(|why| format!("{}: {why}", image.display()))?;
        fs::write(folder.join("vmlinux"), kernel).map_err(at(folder))?;
        modules::select(&whole, &release, &folder.join("modules"))?;
        fs::write(folder.join("release"), &release).map_err(at(folder))?;
        fs::remove_dir_all(&whole).map_err(at(&whole))
    })?;
    let path = folder.join("release");
    let release = fs::read_to_string(&path).map_err(at(&path))?;
    Ok(Kernel {
        series: series.name,
        package: package.clone(),
        vmlinux: folder.join("vmlinux"),
        modules: folder.join("modules"),
        release,
        differs,
    })
}

fn lock_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels.lock")
}

/// The package that the lock names.
fn locked(series: &Series) -> std::result::Result<Option<Package>, String> {
    let path = lock_path();
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    let line = text.lines().find(|line| line.split(' ').next() == Some(series.name));
    let Some(line) = line else { return Ok(None) };
    match line.split(' ').collect::<Vec<_>>()[..] {
        [_, name, version, sha256] => Ok(Some(Package {
            name: name.to_owned(),
            version: version.to_owned(),
            sha256: sha256.to_owned(),
        })),
        _ => Err(format!(
            "{}: expected 'series package version sha256', found '{line}'",
            path.display()
        )),
    }
}

/// Writes the packages of `kernels` into the lock; lines of other series stay.
pub(crate) fn lock(kernels: &[Kernel]) -> std::result::Result<(), String> {
    let path = lock_path();
    let old = fs::read_to_string(&path).unwrap_or_default();
    let mut text = String::from(
        "# Debian's kernels that were tested last: series, package, version, SHA-256.\n\
         # Written by: cargo xtask lab kernels --newest\n",
    );
    for series in SERIES {
        if let Some(kernel) = kernels.iter().find(|kernel| kernel.series == series.name) {
            let Package { name, version, sha256 } = &kernel.package;
            text += &format!("{} {name} {version} {sha256}\n", series.name);
        } else if let Some(line) = old.lines().find(|l| l.split(' ').next() == Some(series.name)) {
            text += &format!("{line}\n");
        }
    }
    fs::write(&path, text).map_err(at(&path))
}

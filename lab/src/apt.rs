//! Debian's packages without root: lists and downloads in folders of the lab's own, signatures
//! checked by apt as for the machine's own packages.
//!
//! The mirror is the machine's own, or `BARO_LAB_MIRROR` (its address up to `/debian`).

use crate::cache::Cache;
use crate::tool::{at, output};
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Lists of one suite.
#[derive(Debug)]
pub(crate) struct Apt {
    folder: PathBuf,
}

/// A package as a list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) sha256: String,
}

impl Package {
    /// Newer ones are greater, as dpkg sees it.
    pub(crate) fn order(&self, other: &Package) -> Ordering {
        let is = |relation: &str| {
            let mut dpkg = Command::new("dpkg");
            dpkg.args(["--compare-versions", &self.version, relation, &other.version]);
            output(&mut dpkg).is_ok()
        };
        if is("lt") {
            Ordering::Less
        } else if is("gt") {
            Ordering::Greater
        } else {
            self.name.cmp(&other.name)
        }
    }
}

impl Apt {
    /// The lists of `suite` ("bookworm-security"), fetched anew.
    pub(crate) fn of(cache: &Cache, suite: &str) -> Result<Apt, String> {
        let folder = cache.folder(&format!("apt/{suite}"))?;
        for name in ["state/lists/partial", "cache/archives/partial"] {
            let made = folder.join(name);
            fs::create_dir_all(&made).map_err(at(&made))?;
        }
        let mirror = mirror(suite)?;
        let signed =
            if Path::new(KEYS).exists() { format!("[signed-by={KEYS}] ") } else { String::new() };
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(at(&path))
        };
        write("state/status", "")?;
        write("sources.list", &format!("deb {signed}{mirror} {suite} main\n"))?;
        let apt = Apt { folder };
        output(apt.command("apt-get").args(["-q", "update"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let place = self.folder.display();
        let mut command = Command::new(program);
        let options = [
            format!("Dir::State={place}/state"),
            format!("Dir::State::status={place}/state/status"),
            format!("Dir::Cache={place}/cache"),
            format!("Dir::Etc::sourcelist={place}/sources.list"),
            "Dir::Etc::sourceparts=-".to_owned(),
            "APT::Architecture=amd64".to_owned(),
            "APT::Architectures=amd64".to_owned(),
            "APT::Sandbox::User=".to_owned() + &std::env::var("USER").unwrap_or("root".to_owned()),
            "Acquire::Languages=none".to_owned(),
        ];
        for option in options {
            command.arg("-o").arg(option);
        }
        command
    }

    /// The packages whose name matches the regular expression `names`.
    pub(crate) fn packages(&self, names: &str) -> Result<Vec<Package>, String> {
        let found = output(self.command("apt-cache").args(["search", "--names-only", names]))?;
        let found: Vec<&str> = found.lines().filter_map(|line| line.split(' ').next()).collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let shown = output(self.command("apt-cache").arg("show").args(found))?;
        Ok(shown.split("\n\n").filter_map(parse).collect())
    }

    /// Fetches a package into `folder`; apt checks that it is the one of the list.
    pub(crate) fn download(&self, package: &Package, folder: &Path) -> Result<PathBuf, String> {
        let wanted = format!("{}={}", package.name, package.version);
        output(self.command("apt-get").args(["-q", "download"]).arg(wanted).current_dir(folder))?;
        let begins = format!("{}_", package.name);
        let list = fs::read_dir(folder).map_err(at(folder))?;
        list.filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(&begins) && name.ends_with(".deb")
            })
            .ok_or_else(|| format!("apt-get download {} left no package", package.name))
    }
}

/// One paragraph of `apt-cache show`.
fn parse(paragraph: &str) -> Option<Package> {
    let field = |name: &str| {
        let line = paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.map(str::to_owned)
    };
    Some(Package { name: field("Package")?, version: field("Version")?, sha256: field("SHA256")? })
}

/// Where the packages of a suite are: security updates beside the others.
fn mirror(suite: &str) -> Result<String, String> {
    let security = suite.ends_with("-security");
    if let Ok(mirror) = std::env::var("BARO_LAB_MIRROR") {
        let mirror = mirror.trim_end_matches('/');
        return Ok(if security { format!("{mirror}-security") } else { mirror.to_owned() });
    }
    let known = output(Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]))?;
    let end = if security { "/debian-security" } else { "/debian" };
    let found = known.lines().map(|line| line.trim_end_matches('/')).find(|uri| uri.ends_with(end));
    found.map(str::to_owned).ok_or_else(|| {
        format!(
            "apt knows no mirror whose address ends in {end}: set BARO_LAB_MIRROR to one's \
                 address up to /debian"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_one_that_dpkg_says() {
        if crate::tool::which("dpkg").is_none() {
            println!("skipped: no dpkg here");
            return;
        }
        let package = |version: &str| Package {
            name: "linux-image".to_owned(),
            version: version.to_owned(),
            sha256: String::new(),
        };
        for (older, newer) in [
            ("6.1.99-1", "6.1.192-2"),
            ("6.12.115-1", "6.12.115+deb13.1-1"),
            ("5.10.209-2", "5.10.234-1"),
            ("6.1.192-1", "6.1.192-2"),
        ] {
            assert_eq!(package(older).order(&package(newer)), Ordering::Less, "{older} {newer}");
            assert_eq!(package(newer).order(&package(older)), Ordering::Greater);
        }
        assert_eq!(package("6.1").order(&package("6.1")), Ordering::Equal);
    }

    #[test]
    fn a_paragraph_gives_a_package() {
        let text = "Package: linux-image-x\nVersion: 6.1.192-2\nDepends: a\nSHA256: abc\nSize: 7";
        let package = parse(text).unwrap();
        assert_eq!(
            (package.name.as_str(), package.version.as_str()),
            ("linux-image-x", "6.1.192-2")
        );
        assert_eq!(parse("Package: x\nVersion: 1"), None);
    }
}

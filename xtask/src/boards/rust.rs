//! A Rust compiler with its libraries for another machine, from Debian's packages, unpacked into
//! the build folder: nothing is installed, and rustup's own compiler, whose libraries for other
//! machines not every network lets through, is left alone.
//!
//! All packages are of one version, since a compiler takes only the libraries built with it. They
//! come by apt, which checks their signatures; where a mirror lags behind with its list for one
//! machine, a package whose hash is written down here is taken all the same.

use super::Board;
use super::packages::update_lists;
use crate::shell::{self, Cmd};
use std::path::{Path, PathBuf};

/// SHA-256 of packages seen and tested, for lists that lag behind.
const KNOWN: &[(&str, &str)] = &[
    (
        "libstd-rust-web-dev_1.96.0+dfsg1-1~deb12u2_armhf.deb",
        "b9f9dd1d03a903680f918cb2bba00a2a3d76558545d5e6a8061072ab461bb989",
    ),
    (
        "libstd-rust-web-dev_1.96.0+dfsg1-1~deb12u2_arm64.deb",
        "02419380801b9f61391294823659b17b90f7a863ca3bbccb9140d2f0f8a2c910",
    ),
];

const LIBRARY: &str = "libstd-rust-web-dev";

/// A compiler for a board.
#[derive(Debug)]
pub(super) struct Rust {
    pub(super) rustc: String,
    /// Where the loader finds what rustc is linked with.
    pub(super) libraries: String,
    pub(super) target_dir: PathBuf,
}

/// Has the compiler and its libraries for `board`; else why not.
pub(super) fn ready(board: &Board) -> Result<Rust, String> {
    let target_dir = shell::target_dir().join("boards");
    let version = newest_version()?;
    let folder = target_dir.join(format!("rust-{}", version.split('+').next().unwrap_or("")));
    let root = folder.join("root");
    let rustc = root.join("usr/bin/rustc");
    if !rustc.exists() {
        compiler(&folder, &version)?;
    }
    if !root.join("usr/lib/rustlib").join(board.target).exists() {
        libraries(&folder, &version, board)?;
    }
    let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
    let libraries = libraries.map(|path| root.join(path).to_string_lossy().into_owned()).join(":");
    let rustc = rustc.to_string_lossy().into_owned();
    let found = Cmd::new(&rustc).arg("--version").env("LD_LIBRARY_PATH", &libraries).output();
    found.map_err(|error| format!("Debian's compiler does not run here: {error}"))?;
    Ok(Rust { rustc, libraries, target_dir })
}

/// The version of Debian's newest Rust, if it can build this workspace.
fn newest_version() -> Result<String, String> {
    let found = || -> Option<String> {
        let policy = Cmd::new("apt-cache policy rustc-web").output().ok()?;
        let line = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
        Some(line.to_owned()).filter(|version| version != "(none)")
    };
    let version = found().or_else(|| {
        update_lists();
        found()
    });
    let version = version.ok_or("no package rustc-web here (Debian 12 has it)")?;
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    let number = |text: &str| -> Vec<u32> {
        text.split(['.', '+']).take(2).filter_map(|part| part.parse().ok()).collect()
    };
    if number(&version) < number(oldest) {
        return Err(format!("rustc-web is {version} here, {oldest} is needed (security updates?)"));
    }
    Ok(version)
}

/// Fetches and unpacks rustc with the shared libraries that it needs.
fn compiler(folder: &Path, version: &str) -> Result<(), String> {
    let debs = folder.join("compiler");
    make(&debs)?;
    let own = format!("libstd-rust-web-{}", version.rsplitn(2, '.').last().unwrap_or(version));
    let needs = Cmd::new(
        "apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
         --no-replaces --no-enhances",
    );
    let needs = needs.arg(&own).output()?;
    // The C library and the compiler's are the machine's own.
    let shared = needs.lines().filter(|line| line.starts_with("lib") && !line.contains(':'));
    let shared: Vec<&str> = shared
        .filter(|name| !["libc6", "libgcc-s1", "libstdc++6", "libcrypt1"].contains(name))
        .collect();
    let mut download = Cmd::new("apt-get -q -o APT::Sandbox::User=root download").within(&debs);
    for name in shared {
        download = download.arg(name);
    }
    download = download.arg(&format!("rustc-web={version}")).arg(&format!("{LIBRARY}={version}"));
    download.output()?;
    unpack(&debs, &folder.join("root"))
}

/// Fetches and unpacks the standard library for `board`.
fn libraries(folder: &Path, version: &str, board: &Board) -> Result<(), String> {
    let debs = folder.join(board.debian);
    make(&debs)?;
    let lists = folder.join("lists");
    for made in ["state/lists/partial", "cache/archives/partial"] {
        make(&lists.join(made))?;
    }
    std::fs::write(lists.join("state/status"), "")
        .map_err(|e| format!("{}: {e}", lists.display()))?;
    let place = lists.display();
    let apt = |verb: &str| {
        let other = board.debian;
        Cmd::new(&format!(
            "apt-get -q -o Dir::State={place}/state -o Dir::State::status={place}/state/status \
             -o Dir::Cache={place}/cache -o APT::Architectures::={other} \
             -o APT::Sandbox::User=root {verb}"
        ))
        .within(&debs)
    };
    let _ = apt("update").quiet().output();
    let wanted = format!("{LIBRARY}:{}={version}", board.debian);
    if apt("download").arg(&wanted).quiet().output().is_err() {
        known(&debs, version, board)?;
    }
    unpack(&debs, &folder.join("root"))
}

/// Takes a package that no list has, from the place of its neighbour, by its hash.
fn known(debs: &Path, version: &str, board: &Board) -> Result<(), String> {
    let name = format!("{LIBRARY}_{version}_{}.deb", board.debian);
    let why = || format!("Debian's lists have no {name}");
    let (_, hash) = KNOWN.iter().find(|(known, _)| *known == name).ok_or_else(why)?;
    let uris = Cmd::new("apt-get -q download --print-uris");
    let uris = uris.arg(&format!("{LIBRARY}={version}")).output()?;
    let uri = uris.lines().find_map(|line| line.split('\'').nth(1)).ok_or_else(why)?;
    let uri = uri.replace("_amd64.deb", &format!("_{}.deb", board.debian));
    let fetch = Cmd::new("/usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file");
    let place = debs.join(&name);
    let fetch = fetch.arg(&uri).arg(&place.to_string_lossy()).arg(&format!("SHA256:{hash}"));
    fetch.output().map(|_| ()).map_err(|error| format!("{}: {error}", why()))
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// Unpacks every package in `debs`; what is there already is the same.
fn unpack(debs: &Path, root: &Path) -> Result<(), String> {
    make(root)?;
    let list = std::fs::read_dir(debs).map_err(|e| format!("{}: {e}", debs.display()))?;
    let packages = list.filter_map(|entry| Some(entry.ok()?.path()));
    for package in packages.filter(|path| path.extension().is_some_and(|e| e == "deb")) {
        let unpack = Cmd::new("dpkg -x").arg(&package.to_string_lossy());
        unpack.arg(&root.to_string_lossy()).output()?;
        let _ = std::fs::remove_file(&package);
    }
    Ok(())
}

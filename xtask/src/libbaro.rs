//! `cargo xtask libbaro FOLDER`: what a C program needs, as a package would install it: header,
//! static and shared library, pkg-config file. Also for other machines (see `boards`).
//!
//! The shared library is linked from the static one: cargo's own has no version of the interface
//! in its symbols, since rustc brings a map of its own and linkers take only one.
//! Invariant: only `libbaro.map` is exported (`test the_shared_library_has_only_versioned_symbols`).

use crate::ci::{Outcome, Report};
use crate::shell::{self, Cmd};
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the static library needs of the system.
const PRIVATE: &str = "-lpthread -ldl -lm -lgcc_eh";

/// For which machine, and by which tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    /// Rust's target; empty for this machine.
    pub(crate) target: String,
    /// Prefix of compiler and binutils.
    pub(crate) prefix: String,
    /// Environment for cargo.
    pub(crate) env: Vec<(String, String)>,
    /// Where cargo builds with it.
    pub(crate) target_dir: PathBuf,
}

impl Machine {
    fn this() -> Machine {
        Machine { target_dir: shell::target_dir(), ..Machine::default() }
    }

    pub(crate) fn cargo(&self, line: &str) -> Cmd {
        let mut cmd = Cmd::new(line);
        if !self.target.is_empty() {
            cmd = cmd.arg("--target").arg(&self.target);
        }
        for (name, value) in &self.env {
            cmd = cmd.env(name, value);
        }
        cmd
    }

    pub(crate) fn tool(&self, name: &str) -> Cmd {
        Cmd::new(&format!("{}{name}", self.prefix))
    }
}

/// A command that must succeed.
pub(crate) fn must(cmd: &Cmd) -> Result<(), String> {
    match cmd.run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("failed: {cmd}")),
        Err(error) => Err(format!("did not start: {cmd}: {error}")),
    }
}

pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    let [folder] = args else {
        return Err("expected one folder: cargo xtask libbaro FOLDER".into());
    };
    let folder = std::path::absolute(folder).map_err(|e| format!("{folder}: {e}"))?;
    install(&Machine::this(), &folder)?;
    println!("libbaro {VERSION} is in {}; PKG_CONFIG_PATH={0}/lib/pkgconfig", folder.display());
    Ok(())
}

/// Installs into the build folder and compiles an example as a user would, by pkg-config, against
/// the shared library.
pub(crate) fn step() -> Outcome {
    let mut report = Report::default();
    let folder = shell::target_dir().join("libbaro");
    install(&Machine::this(), &folder)?;
    let config = Cmd::new("pkg-config --cflags --libs baro");
    let config = config.env("PKG_CONFIG_PATH", text(&folder.join("lib/pkgconfig")));
    let Ok(flags) = config.output() else {
        report.skip("an example by pkg-config", "no pkg-config (apt-get install pkg-config)");
        return Ok(report);
    };
    let program = folder.join("read");
    let compile = Cmd::new("cc -std=c99 -Wall -Wextra -Werror examples/c/read.c");
    let compile = flags.split_whitespace().fold(compile, |cmd, flag| cmd.arg(flag));
    must(&compile.arg("-o").arg(text(&program)))?;
    let run = Cmd::new(text(&program)).arg("/nonexistent");
    let run = run.env("LD_LIBRARY_PATH", text(&folder.join("lib"))).quiet();
    match run.output() {
        // It was found and started; a store that is not there is an error of the program's.
        Err(said) if said.contains("exit status: 1") => report.pass(),
        other => return Err(format!("{run}: {other:?}")),
    }
    Ok(report)
}

/// Builds and lays out everything below `folder`.
pub(crate) fn install(machine: &Machine, folder: &Path) -> Result<(), String> {
    must(&machine.cargo(
        "cargo rustc --locked --quiet --profile board -p baro-capi --lib --crate-type staticlib",
    ))?;
    let built = machine.target_dir.join(&machine.target).join("board/libbaro.a");
    let capi = shell::root().join("crates/capi");
    let lib = folder.join("lib");
    for made in ["include", "lib/pkgconfig"] {
        let made = folder.join(made);
        std::fs::create_dir_all(&made).map_err(|e| format!("{}: {e}", made.display()))?;
    }
    copy(&capi.join("barograph.h"), &folder.join("include/barograph.h"))?;
    let archive = lib.join("libbaro.a");
    copy(&built, &archive)?;
    must(&machine.tool("strip").arg("--strip-unneeded").arg(text(&archive)))?;
    let names = names();
    let shared = lib.join(&names[0]);
    let map = format!("-Wl,--version-script={}", text(&capi.join("libbaro.map")));
    let link = machine.tool("gcc -shared -s -Wl,--gc-sections -Wl,--no-undefined");
    let link = link.arg(&map).arg(&format!("-Wl,-soname,{}", names[1]));
    let link = link.arg("-Wl,--whole-archive").arg(text(&archive)).arg("-Wl,--no-whole-archive");
    let link = PRIVATE.split(' ').fold(link, |link, library| link.arg(library));
    must(&link.arg("-o").arg(text(&shared)))?;
    for name in &names[1..] {
        let place = lib.join(name);
        let _ = std::fs::remove_file(&place);
        std::os::unix::fs::symlink(&names[0], &place)
            .map_err(|e| format!("{}: {e}", place.display()))?;
    }
    let template = capi.join("baro.pc.in");
    let description = std::fs::read_to_string(&template)
        .map_err(|e| format!("{}: {e}", template.display()))?
        .replace("@prefix@", text(folder))
        .replace("@version@", VERSION)
        .replace("@private@", PRIVATE);
    let place = lib.join("pkgconfig/baro.pc");
    std::fs::write(&place, description).map_err(|e| format!("{}: {e}", place.display()))
}

/// The shared library, its name for the loader (which changes when programs must be compiled
/// anew), its name for the linker.
fn names() -> [String; 3] {
    let mut parts = VERSION.split('.');
    let (major, minor) = (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
    let interface = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    [format!("libbaro.so.{VERSION}"), format!("libbaro.so.{interface}"), "libbaro.so".to_owned()]
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::copy(from, to).map(|_| ()).map_err(|e| format!("{}: {e}", from.display()))
}

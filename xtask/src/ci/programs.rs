//! The test programs of the workspace: built by one `cargo test --no-run`, known by package and name.
//!
//! `cargo test` itself runs one program after another, and half of ours wait for devices and clocks
//! most of their time. So cargo only builds, and `lanes` runs them. Examples are not built: clippy
//! checks them.

use crate::shell::Cmd;
use serde_json::Value;
use std::path::PathBuf;

/// What builds them; documentation tests are a program of rustdoc's and run by themselves.
const BUILD: &str = "cargo test --locked --workspace --lib --bins --tests --no-run \
                     --message-format=json-render-diagnostics";

/// The interposer where programs find it: the line above leaves it among cargo's own files.
const PRELOAD: &str = "cargo build --locked --quiet -p baro-preload";

/// One program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// As `-p` takes it.
    pub(crate) package: String,
    /// `lib`, or the name of a binary or of an integration test.
    pub(crate) target: String,
    /// `lib`, `bin` or `test`.
    kind: String,
    executable: String,
    /// Where cargo would run it.
    folder: PathBuf,
}

impl Program {
    /// How lists name it.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.package, self.target)
    }

    /// The program, to be run as cargo would, stepping back by `nice`.
    pub(crate) fn cmd(&self, nice: u32) -> Cmd {
        Cmd::new(&format!("nice -n {nice}"))
            .arg(&self.executable)
            .within(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder.to_string_lossy())
            .env("CARGO_PKG_NAME", &self.package)
    }

    /// What a person types to run one of its tests, or all.
    pub(crate) fn repeat(&self, test: &str) -> String {
        let target = match self.kind.as_str() {
            "lib" => "--lib".to_owned(),
            kind => format!("--{kind} {}", self.target),
        };
        format!("cargo test -p {} {target} {test}", self.package).trim_end().to_owned()
    }
}

/// Builds all of them; the error is the command that repeats what failed.
pub(crate) fn build() -> Result<Vec<Program>, String> {
    let preload = Cmd::new(PRELOAD);
    if !preload.run().map_err(|error| format!("{preload}    (did not start: {error})"))? {
        return Err(preload.to_string());
    }
    let cmd = Cmd::new(BUILD);
    let mut programs = Vec::new();
    let ok = cmd
        .lines(|line| programs.extend(program(line)), |line| eprintln!("{line}"))
        .map_err(|error| format!("{cmd}    (did not start: {error})"))?;
    if !ok {
        return Err("cargo test --workspace --no-run".to_owned());
    }
    programs.sort_by_key(Program::name);
    Ok(programs)
}

/// The test program that a line of cargo's tells of.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let executable = text(&message["executable"])?;
    let manifest = PathBuf::from(text(&message["manifest_path"])?);
    let folder = manifest.parent()?.to_owned();
    // `path+file:///folder/crates/store#baro-store@0.1.0`; the name is left out where it is the folder's.
    let id = text(&message["package_id"])?;
    let name = id.rsplit('#').next()?.split('@').next()?.to_owned();
    let package = match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => folder.file_name()?.to_string_lossy().into_owned(),
        false => name,
    };
    let kind = match message["target"]["kind"][0].as_str()? {
        "bin" => "bin",
        "test" => "test",
        _ => "lib",
    };
    let target = match kind {
        "lib" => kind.to_owned(),
        _ => text(&message["target"]["name"])?,
    };
    Some(Program { package, target, kind: kind.to_owned(), executable, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_by_package_and_target() {
        let line = |id: &str, kind: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"{id}\",\"manifest_path\":\
                 \"/x/media/Cargo.toml\",\"target\":{{\"kind\":[\"{kind}\"],\"name\":\"run\"}},\
                 \"profile\":{{\"test\":{test}}},\"executable\":\"/t/run-1\"}}"
            )
        };
        let name = |line: &str| program(line).map(|program| program.name());
        let id = "path+file:///x/crates/store#baro-store@0.1.0";
        assert_eq!(name(&line(id, "test", true)).as_deref(), Some("baro-store:run"));
        assert_eq!(name(&line(id, "rlib", true)).as_deref(), Some("baro-store:lib"));
        assert_eq!(name(&line(id, "bin", false)), None, "a program that tests start");
        let short = "path+file:///x/media#0.1.0";
        let media = program(&line(short, "test", true)).unwrap();
        assert_eq!(media.repeat("a"), "cargo test -p media --test run a");
        assert_eq!(program("error: no JSON"), None);
    }
}

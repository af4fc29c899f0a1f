//! Compilers, the library just built, and a folder for what they make.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the static library needs of the system.
pub(crate) const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_eh"];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `None`, said as a skip, where there is no such compiler.
pub(crate) fn compiler(language: &str) -> Option<String> {
    let (variable, default) = if language == "c" { ("BARO_CC", "cc") } else { ("BARO_CXX", "c++") };
    let found = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    if Command::new(&found).arg("--version").output().is_ok_and(|out| out.status.success()) {
        return Some(found);
    }
    println!("skipped: no compiler {found} (apt-get install gcc g++)");
    None
}

/// A library that cargo built for this test, beside the test's own program.
pub(crate) fn library(name: &str) -> PathBuf {
    let folder = std::env::current_exe().unwrap();
    let folder = folder.parent().unwrap();
    let (stem, ending) = name.split_once('.').unwrap();
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap_or("");
            // With its dot: a check before the test leaves libbaro-*.rmeta, which ends with an a.
            name.ends_with(&format!(".{ending}"))
                && (name == format!("{stem}.{ending}") || name.starts_with(&format!("{stem}-")))
        })
        .collect();
    found.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    found.pop().unwrap_or_else(|| panic!("no {name} in {}", folder.display()))
}

/// A folder for one test, removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-c-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles with all warnings as errors and links libbaro.a; emulated machines get a static
/// program, since they have no dynamic linker here.
pub(crate) fn compile(compiler: &str, standard: &str, source: &Path, program: &Path) {
    let mut command = Command::new(compiler);
    command
        .args([standard, "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")))
        .arg(source)
        .arg(library("libbaro.a"))
        .args(SYSTEM)
        // What a program does not call is left out of it (docs/c.md).
        .arg("-Wl,--gc-sections")
        .args(std::env::var("BARO_RUN").is_ok().then_some("-static"))
        .arg("-o")
        .arg(program);
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&out.stderr));
}

/// A program that was compiled, to be started.
pub(crate) fn started(program: &Path, arguments: &[&str]) -> Command {
    let mut command = match std::env::var_os("BARO_RUN") {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(arguments);
    command
}

/// Runs it; a failure is shown with what it said.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> String {
    let mut command = started(program, arguments);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    stdout
}

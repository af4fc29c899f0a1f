//! The full step `python`: the wheel in virtual environments, each with one other package alone, and the
//! types of the package as mypy, pyright and stubtest see them.
//!
//! Environments stay in `python/` of the target folder, by what is installed in them. Where Python, its venv
//! or a package cannot be had, that is counted as a skip.

use crate::ci::{Outcome, Report};
use crate::shell::{Cmd, root, target_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the program in `crates/python/tests/packages`, and what it runs with.
const ALONE: &[(&str, &str)] = &[
    ("pandas_alone", "pandas==3.1.1 numpy==2.4.6"),
    ("polars_alone", "polars==2.1.0"),
    ("pyarrow_alone", "pyarrow==26.0.1"),
    ("duckdb_alone", "duckdb==2.0.0"),
    ("nanoarrow_alone", "nanoarrow==0.9.0"),
    ("arro3_alone", "arro3-core==0.9.1"),
    // The first example of docs/python.md, and all others on that page.
    ("page", "polars==2.1.0 numpy==2.4.6"),
];

const TYPES: &str =
    "mypy==2.4.1 pyright==1.1.414 numpy==2.4.6 pandas-stubs==3.1.0.261029 polars==2.1.0";

/// What is asked of the types.
const TYPED: &[(&str, &str)] = &[
    ("mypy --strict", "mypy --strict -p barograph"),
    ("pyright --verifytypes", "pyright --verifytypes barograph --ignoreexternal"),
    ("stubtest", "stubtest barograph._barograph"),
];

/// The full step.
pub(crate) fn step() -> Outcome {
    let wheel = super::build().map_err(|error| format!("cargo xtask wheel    ({error})"))?;
    let mut report = Report::default();
    for (name, packages) in ALONE {
        let program = root().join("crates/python/tests/packages").join(format!("{name}.py"));
        let place = std::env::temp_dir().join(format!("baro-{name}-{}", std::process::id()));
        match environment(name, packages, &wheel) {
            Err(why) => report.skip(&format!("Python: {name}"), &why),
            Ok(folder) => {
                let _ = fs::remove_dir_all(&place);
                fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
                let python = folder.join("bin/python");
                let run = Cmd::new(&python.to_string_lossy())
                    .arg(&program.to_string_lossy())
                    .arg(&place.to_string_lossy());
                let ran = run.run();
                let _ = fs::remove_dir_all(&place);
                passed(&mut report, &run, ran)?;
            }
        }
    }
    match environment("types", TYPES, &wheel) {
        Err(why) => {
            TYPED.iter().for_each(|(name, _)| report.skip(&format!("Python: {name}"), &why))
        }
        Ok(folder) => {
            for (_, line) in TYPED {
                let bin = folder.join("bin");
                // pyright asks the first Python of the path.
                let path = std::env::var("PATH").unwrap_or_default();
                let path = format!("{}:{path}", bin.display());
                let run = Cmd::new(&bin.join(line).to_string_lossy()).env("PATH", &path);
                let ran = run.run();
                passed(&mut report, &run, ran)?;
            }
        }
    }
    Ok(report)
}

fn passed(report: &mut Report, run: &Cmd, ran: std::io::Result<bool>) -> Result<(), String> {
    match ran {
        Ok(true) => {
            report.pass();
            Ok(())
        }
        Ok(false) => Err(run.to_string()),
        Err(error) => Err(format!("{run}    (did not start: {error})")),
    }
}

/// A virtual environment with these packages and the wheel; the error says why there is none.
fn environment(name: &str, packages: &str, wheel: &Path) -> Result<PathBuf, String> {
    let folder = target_dir().join("python").join(name);
    let list = folder.join("packages");
    if !fs::read_to_string(&list).is_ok_and(|found| found == packages) {
        let _ = fs::remove_dir_all(&folder);
        done(
            &Cmd::new("python3 -m venv").arg(&folder.to_string_lossy()),
            "apt-get install python3-venv",
        )?;
        let install = packages.split(' ').fold(pip(&folder), |pip, package| pip.arg(package));
        done(&install, "is there a network?")?;
        fs::write(&list, packages).map_err(|e| format!("{}: {e}", list.display()))?;
    }
    let install = pip(&folder).arg("--no-deps").arg("--force-reinstall");
    let install = install.arg(&wheel.to_string_lossy());
    match install.run() {
        Ok(true) => Ok(folder),
        _ => Err(format!("`{install}` failed")),
    }
}

fn pip(folder: &Path) -> Cmd {
    let python = folder.join("bin/python");
    Cmd::new(&python.to_string_lossy())
        .arg("-m")
        .arg("pip")
        .arg("install")
        .arg("--quiet")
        .arg("--disable-pip-version-check")
        .arg("--only-binary")
        .arg(":all:")
}

fn done(cmd: &Cmd, hint: &str) -> Result<(), String> {
    match cmd.run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("`{cmd}` failed ({hint})")),
        Err(error) => Err(format!("cannot start `{cmd}`: {error} ({hint})")),
    }
}

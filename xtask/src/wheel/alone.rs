//! The full step `python`: the wheel in virtual environments, each with one other package alone, and the
//! types of the package as mypy, pyright and stubtest see them.
//!
//! Environments stay in `python/` of the target folder, by what is installed in them. Where Python, its venv
//! or a package cannot be had, that is counted as a skip.

use crate::ci::{Outcome, Report};
use crate::python::{environment, passed};
use crate::shell::{Cmd, root};
use std::fs;

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
        match environment(name, packages, Some(&wheel)) {
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
    match environment("types", TYPES, Some(&wheel)) {
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

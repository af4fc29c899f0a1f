//! Python for full steps: virtual environments in `python/` of the target folder, by what is installed in them.

use crate::ci::Report;
use crate::shell::{Cmd, target_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// Counts a run that ended well; else its command is the error.
pub(crate) fn passed(
    report: &mut Report,
    run: &Cmd,
    ran: std::io::Result<bool>,
) -> Result<(), String> {
    match ran {
        Ok(true) => {
            report.pass();
            Ok(())
        }
        Ok(false) => Err(run.to_string()),
        Err(error) => Err(format!("{run}    (did not start: {error})")),
    }
}

/// A virtual environment with these packages, and the wheel if it is given; the error says why there is none.
pub(crate) fn environment(
    name: &str,
    packages: &str,
    wheel: Option<&Path>,
) -> Result<PathBuf, String> {
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
    let Some(wheel) = wheel else { return Ok(folder) };
    let install = pip(&folder).arg("--no-deps").arg("--force-reinstall");
    let install = install.arg(&wheel.to_string_lossy());
    match install.run() {
        Ok(true) => Ok(folder),
        _ => Err(format!("`{install}` failed")),
    }
}

/// pip of an environment, about to install.
pub(crate) fn pip(folder: &Path) -> Cmd {
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

/// Runs a command; the error says what may help.
pub(crate) fn done(cmd: &Cmd, hint: &str) -> Result<(), String> {
    match cmd.run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("`{cmd}` failed ({hint})")),
        Err(error) => Err(format!("cannot start `{cmd}`: {error} ({hint})")),
    }
}

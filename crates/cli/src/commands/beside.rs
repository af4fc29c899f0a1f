//! Programs that lie beside this one, and do what it links nothing for.

use crate::failure::{Outcome, Result};
use baro_sys::files;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where they are from this program: beside it, or where packages and `make install` put them.
const FOLDERS: [&str; 3] = [".", "../lib/barograph", "/usr/lib/barograph"];

/// The file of the program `name`.
pub(super) fn program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let beside = own.parent().unwrap_or(Path::new(".")).to_owned();
    let mut found = FOLDERS.iter().map(|folder| beside.join(folder).join(name));
    found.find(|file| files::exists(file)).ok_or_else(|| {
        let beside = beside.display();
        format!(
            "expected {name} in {beside} or /usr/lib/barograph, found none: make install, or the package, \
             puts it there"
        )
        .into()
    })
}

/// Becomes the program `name` with these words.
pub(super) fn become_with(name: &str, words: &[std::ffi::OsString]) -> Result<Outcome> {
    let error = Command::new(program(name)?).args(words).exec();
    Err(format!("{name} cannot be started: {error}").into())
}

/// Becomes the program `name`, with what was typed behind the verb.
pub(super) fn become_it(name: &str, verb: &str) -> Result<Outcome> {
    let typed = std::env::args_os().skip(2);
    become_with(name, &std::iter::once(verb.into()).chain(typed).collect::<Vec<_>>())
}

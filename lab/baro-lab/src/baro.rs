//! `baro`, which is measured and asked as a user would: it lies beside this program, or in PATH.

use baro_command::failure::Result;
use baro_sys::files;
use std::path::PathBuf;

/// Its path.
pub(crate) fn program() -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("baro");
    if files::exists(&beside) {
        return Ok(beside);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|dir| dir.join("baro")).find(|at| files::exists(at));
    found.ok_or_else(|| {
        let expected = beside.display();
        format!("no baro: expected {expected}, or one in PATH; cargo build -p baro-cli").into()
    })
}

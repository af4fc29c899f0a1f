//! Compilers and emulator for another machine, from Debian: installed where we are root.

use super::Board;
use crate::shell::Cmd;

/// True if a program of this name starts.
fn have(program: &str) -> bool {
    Cmd::new(program).arg("--version").output().is_ok()
}

/// Has compiler, C library and emulator of `board`; else why not.
pub(super) fn ready(board: &Board) -> Result<(), String> {
    if std::env::consts::ARCH != "x86_64" {
        return Err("boards are built on x86-64 only".to_owned());
    }
    let compiler = format!("{}gcc", board.prefix);
    let mut missing = Vec::new();
    if !have(&compiler) || !has_static_library(&compiler) {
        missing.extend(board.packages);
    }
    if !have(board.emulator) {
        missing.push(&"qemu-user-static");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|name| **name).collect();
    let install = format!("apt-get install -y --no-install-recommends {}", names.join(" "));
    if Cmd::new("id -u").output().is_ok_and(|id| id.trim() != "0") {
        return Err(format!("packages are missing: sudo {install}"));
    }
    update_lists();
    let cmd = Cmd::new(&install).arg("-qq").env("DEBIAN_FRONTEND", "noninteractive");
    cmd.output()
        .map(|_| ())
        .map_err(|error| format!("{} cannot be installed: {error}", names.join(" ")))
}

/// Asks for the lists of packages; old ones do too.
pub(super) fn update_lists() {
    let _ = Cmd::new("apt-get -qq update").output();
}

fn has_static_library(compiler: &str) -> bool {
    let found = Cmd::new(compiler).arg("-print-file-name=libc.a").output();
    found.is_ok_and(|path| path.trim().starts_with('/'))
}

//! Which programs the interposer reaches, and which do I/O that it cannot cut.
//!
//! Before a program starts, its ELF header tells: a static one, one of a libc that is neither glibc nor
//! musl, and one that takes on another user's rights never load it. While it runs, `/proc` tells whether it is mapped
//! together with its group's sizes and counters, and whether the program has rings of io_uring, whose requests pass by libc. What is out of reach is
//! named; the settings of the queue are for it.
//!
//! Invariant: any bytes are taken for a header, and what cannot be looked at is `Unknown`, never
//! reached. Held by the tests below.

use crate::pieces::PieceFiles;
use baro_sys::files;
use std::path::Path;

/// Of glibc and musl, as part of their paths.
const LINKERS: [&str; 3] = ["ld-linux", "ld64", "ld-musl"];
const HEADER_BYTES: usize = 4096;
const MAPS_BYTES_MAX: u64 = 16 << 20;
const FILES_MAX: usize = 65_536;

/// Whether the interposer can be in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Linked dynamically to glibc or musl.
    Yes,
    /// It has no dynamic linker.
    Static,
    /// Its dynamic linker is neither's (bionic).
    OtherLibc(String),
    /// It is setuid or setgid, so that its linker ignores LD_PRELOAD.
    OtherRights,
    /// A script, of which the program counts that interprets it; or not readable.
    Unknown,
}

impl Reach {
    /// Of the program file `path`. Reads one page of it.
    #[must_use]
    pub fn of_program(path: &Path) -> Self {
        let Ok(file) = files::open_regular(path) else { return Self::Unknown };
        if let Ok(about) = file.metadata() {
            use std::os::unix::fs::PermissionsExt;
            if about.permissions().mode() & 0o6000 != 0 {
                return Self::OtherRights;
            }
        }
        let bytes = files::size_bytes(path).unwrap_or(0).min(HEADER_BYTES as u64);
        let mut header = vec![0; usize::try_from(bytes).unwrap_or(0)];
        if files::read_at(&file, &mut header, 0).is_err() {
            return Self::Unknown;
        }
        match interpreter(&header) {
            Some(Some(name)) if LINKERS.iter().any(|known| name.contains(known)) => Self::Yes,
            Some(Some(name)) => Self::OtherLibc(name),
            Some(None) => Self::Static,
            None => Self::Unknown,
        }
    }

    /// Why not, in words; None where it can.
    #[must_use]
    pub fn why_not(&self) -> Option<String> {
        match self {
            Self::Yes | Self::Unknown => None,
            Self::Static => Some("it is linked statically".to_owned()),
            Self::OtherLibc(linker) => {
                Some(format!("its dynamic linker is {linker}, neither glibc's nor musl's"))
            }
            Self::OtherRights => Some("it is setuid or setgid".to_owned()),
        }
    }
}

/// The dynamic linker that an ELF file asks for, `Some(None)` if none; None if these bytes are no ELF
/// header of 32 or 64 bits in little-endian order.
fn interpreter(bytes: &[u8]) -> Option<Option<String>> {
    const PT_INTERP: u64 = 3;
    let wide = match bytes.get(..6)? {
        [0x7f, b'E', b'L', b'F', 2, 1] => true,
        [0x7f, b'E', b'L', b'F', 1, 1] => false,
        _ => return None,
    };
    let number = |at: usize, bytes_each: usize| -> Option<u64> {
        let field = bytes.get(at..at.checked_add(bytes_each)?)?;
        Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let word = if wide { 8 } else { 4 };
    let table = usize::try_from(number(if wide { 32 } else { 28 }, word)?).ok()?;
    let each = usize::try_from(number(if wide { 54 } else { 42 }, 2)?).ok()?;
    let count = usize::try_from(number(if wide { 56 } else { 44 }, 2)?).ok()?;
    for index in 0..count {
        let at = table.checked_add(index.checked_mul(each)?)?;
        if number(at, 4)? != PT_INTERP {
            continue;
        }
        let offset =
            usize::try_from(number(at.checked_add(if wide { 8 } else { 4 })?, word)?).ok()?;
        let length =
            usize::try_from(number(at.checked_add(if wide { 32 } else { 16 })?, word)?).ok()?;
        let name = bytes.get(offset..offset.checked_add(length)?)?;
        return Some(Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned()));
    }
    Some(None)
}

/// What a running process does beside the calls of libc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Its process id.
    pub pid: u32,
    /// Its name, as the kernel keeps it.
    pub name: String,
    /// The interposer is in it, with the sizes and counters of its group.
    pub reached: bool,
    /// It has rings of io_uring.
    pub io_uring: bool,
}

/// Looks at a process of a group with these sizes and counters; None where it has ended or may not be looked at.
#[must_use]
pub fn running(pid: u32, interposer: &str, files: Option<&PieceFiles>) -> Option<Running> {
    let dir = Path::new("/proc").join(pid.to_string());
    let name = files::read_text(&dir.join("comm"), 4096).ok()?.trim_end().to_owned();
    let maps = files::read_text(&dir.join("maps"), MAPS_BYTES_MAX).ok()?;
    // Loaded it may be and have found no sizes: those that it goes by, and where it counts, are mapped too.
    let reached = maps.contains(interposer) && files.is_some_and(|files| files.are_in(&maps));
    let io_uring = files::list(&dir.join("fd"))
        .unwrap_or_default()
        .iter()
        .take(FILES_MAX)
        .filter_map(|file| baro_sys::files::link_target(&dir.join("fd").join(file)))
        .any(|target| target.to_string_lossy() == "anon_inode:[io_uring]");
    Some(Running { pid, name, reached, io_uring })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_this_machine_are_told_apart() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(Reach::of_program(&own), Reach::Yes);
        assert_eq!(Reach::of_program(Path::new("/nowhere/at/all")), Reach::Unknown);
    }

    #[test]
    fn any_bytes_are_taken_for_a_header() {
        let mut header = vec![0_u8; 4096];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        header[32] = 64;
        header[54] = 56;
        assert_eq!(interpreter(&header), Some(None));
        header[56] = 1;
        header[64] = 3;
        header[64 + 8] = 200;
        header[64 + 32] = 9;
        header[200..209].copy_from_slice(b"/lib/musl");
        assert_eq!(interpreter(&header), Some(Some("/lib/musl".to_owned())));
        // Lengths and offsets that lie.
        for at in 0..256 {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut header = header.clone();
                header[at] = byte;
                let _ = interpreter(&header);
                let _ = interpreter(&header[..at]);
            }
        }
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
    }
}

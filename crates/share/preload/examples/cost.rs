//! What the interposer costs a call that it passes on: a 4 KiB `pread` of cached bytes, and one of a
//! descriptor that is none, the shortest call there is.
//!
//! `cargo run --release -p baro-preload --example cost [BATCHES]` starts itself under the library and calls
//! the interposed function and the C library's own in turns, in batches so short that whatever else the
//! machine does meets both. It prints medians in nanoseconds a call.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "measures beside all crates")]
#![allow(unsafe_code, reason = "calls the same C function by two ways")]

#[path = "../src/layout.rs"]
#[allow(dead_code, unreachable_pub, reason = "the whole of what is shared")]
mod layout;

use std::ffi::{c_int, c_void};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const CALLS: u32 = 200;
const DIRECTORY: &str = "BARO_COST_DIRECTORY";

type Pread = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;

/// Nanoseconds a call of one batch.
fn batch(function: Pread, fd: c_int, expected: isize) -> f64 {
    let mut block = [0u8; 4096];
    let begin = Instant::now();
    for _ in 0..CALLS {
        // SAFETY: room for as many bytes as said.
        let result = unsafe { function(fd, block.as_mut_ptr().cast(), block.len(), 0) };
        assert_eq!(result, expected);
    }
    begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs under the library.
fn measure(directory: &Path, batches: usize) {
    // SAFETY: looks up a function of the type that it has.
    let bare: Pread = unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY);
        let found = libc::dlsym(library, c"pread64".as_ptr());
        assert!(!found.is_null(), "this C library has no pread64");
        std::mem::transmute(found)
    };
    let interposed: Pread = libc::pread64;
    assert_ne!(bare as usize, interposed as usize, "not run under the library");
    let file = fs::File::open(directory.join("file")).unwrap();
    for (kind, fd, expected) in
        [("4 KiB pread, cached", file.as_raw_fd(), 4096), ("pread of no descriptor", 1_000_000, -1)]
    {
        let (mut without, mut with, mut more) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..batches {
            // Whoever comes second finds warmer caches, so they take turns in that too.
            let (a, b) = if index % 2 == 0 {
                let a = batch(bare, fd, expected);
                (a, batch(interposed, fd, expected))
            } else {
                let b = batch(interposed, fd, expected);
                (batch(bare, fd, expected), b)
            };
            without.push(a);
            with.push(b);
            more.push(b - a);
        }
        println!(
            "{kind}: {:.1} ns without, {:.1} ns with, {:+.1} ns more ({batches} batches of {CALLS})",
            median(&mut without),
            median(&mut with),
            median(&mut more)
        );
    }
}

fn main() {
    let batches = std::env::args().nth(1).map_or(5_000, |text| text.parse().unwrap());
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return measure(Path::new(&directory), batches);
    }
    let program = std::env::current_exe().unwrap();
    let library = program.parent().unwrap().parent().unwrap().join("libbaro_preload.so");
    assert!(library.exists(), "first: cargo build --release -p baro-preload");
    let directory = std::env::temp_dir().join(format!("baro-cost-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("file"), [7; 4096]).unwrap();
    let mut pieces = layout::fresh(layout::PIECES_MAGIC);
    for at in [layout::READ_PIECE_AT, layout::WRITE_PIECE_AT] {
        pieces[at..at + 8].copy_from_slice(&(1u64 << 20).to_ne_bytes());
    }
    fs::write(directory.join(layout::PIECES_FILE), pieces).unwrap();
    let mut child = Command::new(&program);
    child.arg(batches.to_string()).env(DIRECTORY, &directory).env("LD_PRELOAD", &library);
    let status = child.env(layout::DIRECTORY_VARIABLE, &directory).status().unwrap();
    fs::remove_dir_all(&directory).unwrap();
    assert!(status.success(), "{status}");
}

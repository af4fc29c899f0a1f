//! Programs of another C library: LD_PRELOAD reaches them too, and a library that they cannot load would
//! keep them from starting.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests use files and programs")]

mod place;

use place::{Place, library, succeed};
use std::fs;
use std::process::Command;

#[test]
fn a_dynamic_program_of_musl_starts_and_is_cut() {
    let Some(place) = Place::new("musl") else { return };
    let Some(plain) = place.compile("plain", &["musl"]) else { return };
    let file = place.files().join("file");
    fs::write(&file, vec![3; 100_000]).unwrap();
    assert_eq!(succeed(place.command(&plain).arg(&file)).stdout, b"300000\n");
    assert_eq!(place.counted().into_iter().collect::<Vec<_>>(), [("processes", 1)]);
    let Some(life) = place.compile("life", &["musl"]) else { return };
    for (case, bytes) in [("threads", 16 << 20), ("writers", 24 << 20), ("forks", 16 << 20)] {
        succeed(place.command(&life).arg(place.files()).arg(case));
        assert_eq!(place.counted()["bytes_cut"], bytes, "{case}");
    }
    for case in ["handlers", "cancelled", "executed", "stacks"] {
        succeed(place.command(&life).arg(place.files()).arg(case));
        let counted = place.counted();
        assert!(counted.get("calls_cut").is_some_and(|cut| *cut >= 1), "{case}: {counted:?}");
    }
}

#[test]
fn a_static_program_is_out_of_reach_and_unharmed() {
    let Some(place) = Place::new("static") else { return };
    let Some(plain) = place.compile("plain", &["-static"]) else { return };
    let file = place.files().join("file");
    fs::write(&file, vec![1; 5000]).unwrap();
    assert_eq!(succeed(place.command(&plain).arg(&file)).stdout, b"5000\n");
    assert!(place.counted().is_empty());
}

#[test]
fn the_library_needs_nothing_but_the_c_library() {
    if !place::has("readelf") {
        return;
    }
    let output = succeed(Command::new("readelf").arg("-dW").arg(library()));
    let said = String::from_utf8(output.stdout).unwrap();
    let needed: Vec<_> = said.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(matches!(needed[..], [one] if one.contains("[libc.so.6]")), "{needed:#?}");
    let output = succeed(Command::new("readelf").args(["--dyn-syms", "-W"]).arg(library()));
    let said = String::from_utf8(output.stdout).unwrap();
    let foreign: Vec<_> = said.lines().filter(|l| l.contains("_Unwind_")).collect();
    assert!(foreign.is_empty(), "the unwinder is neither needed nor replaced: {foreign:#?}");
}

#[test]
fn only_what_is_interposed_is_exported() {
    if !place::has("nm") {
        return;
    }
    let output = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let said = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<_> = said.lines().filter_map(|l| l.split_whitespace().last()).collect();
    names.sort_unstable();
    let expected = [
        "__pread64_chk",
        "__pread_chk",
        "__read_chk",
        "io_cancel",
        "io_destroy",
        "io_getevents",
        "io_pgetevents",
        "io_submit",
        "io_uring_queue_init",
        "io_uring_queue_init_mem",
        "io_uring_queue_init_params",
        "pread",
        "pread64",
        "preadv",
        "preadv2",
        "preadv64",
        "preadv64v2",
        "pwrite",
        "pwrite64",
        "pwritev",
        "pwritev2",
        "pwritev64",
        "pwritev64v2",
        "read",
        "readv",
        "syscall",
        "write",
        "writev",
    ];
    assert_eq!(names, expected);
}

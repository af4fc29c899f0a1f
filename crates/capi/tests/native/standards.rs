//! The header and programs that use it compile without a warning as every C and C++ that compilers
//! here know, under every compiler that is here.

use crate::toolchain::{Folder, compile, compiler};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// What a program does with macros, initialisers and pointers, in the C of 1989.
const PROGRAM: &str = "
#include <barograph.h>

static void told(void *user, const baro_event *event, const char *text) {
    *(uint64_t *)user += event->count + (uint64_t)text[0];
}

int main(int count, char **arguments) {
    baro_init_options making = BARO_INIT_OPTIONS_INIT;
    baro_open_options options = BARO_OPEN_OPTIONS_INIT;
    baro_status status = BARO_STATUS_INIT;
    baro_recorder *recorder = 0;
    uint64_t left = 0;
    int code = count > 1 ? baro_init(arguments[1], &making) : BARO_EINVAL;
    switch (code) {
    case 0:
    case BARO_EEXIST:
        break;
    default:
        return 1-BARO_EINVAL;
    }
    options.flags = BARO_OPEN_BUFFERED;
    if (baro_open(arguments[1], &options, &recorder) != 0)
        return 2;
    baro_on_event(recorder, told, &left);
    code = baro_flush(recorder, 1000, &left);
    return baro_close(recorder, &status) + code;
}
";

/// On every Linux.
const SIGABRT: i32 = 6;
const C: [&str; 6] = ["c89", "c99", "gnu99", "c11", "c17", "c2x"];
const CXX: [&str; 6] = ["c++98", "c++03", "c++11", "c++14", "c++17", "c++20"];

#[test]
fn the_header_is_clean_in_every_standard() {
    let folder = Folder::new("standards");
    let (c, cxx) = (folder.write("program.c", PROGRAM), folder.write("program.cpp", PROGRAM));
    let languages = [("c", "clang", &c, &C), ("c++", "clang++", &cxx, &CXX)];
    for (language, other, source, standards) in languages {
        let Some(first) = compiler(language) else { continue };
        let other = Some(other.to_owned()).filter(|name| {
            let asked = Command::new(name).arg("--version").output();
            asked.is_ok_and(|out| out.status.success())
        });
        for compiler in [Some(first), other].into_iter().flatten() {
            for standard in standards {
                let out = Command::new(&compiler)
                    .arg(format!("-std={standard}"))
                    .args(["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"])
                    .args(["-fsyntax-only", "-I", env!("CARGO_MANIFEST_DIR")])
                    .arg(source)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&out.stderr);
                assert!(out.status.success(), "{compiler} -std={standard}:\n{said}");
            }
        }
    }
}

/// A callback that throws, in C++.
const THROWS: &str = "
#include <barograph.h>
#include <cstdio>
#include <unistd.h>

static void throws(void *, const baro_event *, const char *) { throw 7; }

int main(int, char **arguments) {
    baro_init_options making = BARO_INIT_OPTIONS_INIT;
    baro_recorder *recorder;
    baro_producer *producer;
    static char frame[1 << 20];
    making.log_bytes = 4 << 20;
    baro_open_options options = BARO_OPEN_OPTIONS_INIT;
    options.flags = BARO_OPEN_RINGS_PRIVATE;
    if (baro_init(arguments[1], &making) || baro_open(arguments[1], &options, &recorder)
        || baro_producer_open(recorder, &producer))
        return puts(baro_last_error());
    baro_push_frame(producer, 1, 0, frame, sizeof frame, 0);
    baro_on_event(recorder, throws, 0);
    sleep(60);
    return 0;
}
";

#[test]
fn an_exception_that_leaves_a_callback_ends_the_process() {
    if std::env::var_os("BARO_RUN").is_some() {
        println!("skipped: how an emulated process ends is the emulator's");
        return;
    }
    let Some(cxx) = compiler("c++") else { return };
    let folder = Folder::new("throws");
    let (source, program) = (folder.write("throws.cpp", THROWS), folder.path("throws"));
    compile(&cxx, "-std=c++11", &source, &program);
    let out = Command::new(&program).arg(folder.path("store")).output().unwrap();
    assert_eq!(out.status.signal(), Some(SIGABRT), "{out:?}");
}

#[test]
fn no_line_of_the_header_is_longer_than_100_columns() {
    let header = include_str!("../../barograph.h");
    let long: Vec<&str> = header.lines().filter(|line| line.chars().count() > 100).collect();
    assert_eq!(long, Vec::<&str>::new());
    assert!(!header.contains("//") && header.is_ascii());
}

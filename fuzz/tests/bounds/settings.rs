//! What people write by hand: the settings file and profiles, both TOML of at most 64 KiB.

use crate::{Shape, check, numbered, repeated};
use std::hint::black_box;

#[allow(dead_code, reason = "the command line uses all of it")]
#[path = "../../../crates/cli/src/settings/file.rs"]
mod file;
#[allow(dead_code, reason = "the command line uses all of it")]
#[path = "../../../crates/cli/src/commands/share/profile/text.rs"]
mod profile;

/// A larger file is refused unread.
const FILE_BYTES_MAX: usize = 64 << 10;

#[test]
fn settings_of_any_shape_are_read_in_proportion() {
    let shapes: [Shape; 16] = [
        ("keys", |size| [b"[record]\n", &*numbered(size, |at| format!("k{at} = 1\n"))].concat()),
        ("the same key", |size| [b"[record]\n", &*repeated("k = 1\n", size)].concat()),
        ("tables", |size| numbered(size, |at| format!("[t{at}]\n"))),
        ("the same table", |size| repeated("[record]\n", size)),
        ("a list of tables", |size| {
            numbered(size, |at| format!("[[group]]\nname = \"g{at}\"\nweight = 1\n"))
        }),
        ("dotted keys", |size| [&*repeated("a.", size), b"a = 1\n"].concat()),
        ("dotted keys of one table", |size| numbered(size, |at| format!("a.b.c{at} = 1\n"))),
        ("dotted tables", |size| [b"[", &*repeated("a.", size), b"a]\n"].concat()),
        ("lists", |size| [b"a = ", &*repeated("[", size)].concat()),
        ("tables in line", |size| [b"a = ", &*repeated("{a=", size)].concat()),
        ("a long list", |size| [b"a = [", &*repeated("1,", size), b"]\n"].concat()),
        ("escapes", |size| [b"a = \"", &*repeated("\\u00e9", size), b"\"\n"].concat()),
        ("texts that do not end", |size| repeated("a = \"\n", size)),
        ("mistakes", |size| repeated("=\n", size)),
        ("a line of mistakes", |size| repeated("=", size)),
        ("long texts that do not end", |size| repeated("'''", size)),
    ];
    for (name, input) in shapes {
        let read = |bytes: &[u8]| {
            if bytes.len() <= FILE_BYTES_MAX {
                let text = std::str::from_utf8(bytes).unwrap();
                black_box(file::read("record", text));
                let _ = black_box(profile::parse(text));
            }
        };
        check(&format!("settings, {name}"), |size| input(size / 20), read);
    }
}

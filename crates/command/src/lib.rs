//! What the command lines of this project, `baro` and `baro-lab`, have in common: how a command
//! ends, sizes and times as people type them, and output as text or JSON.
//!
//! A crate of its own, so that a second program need not contain the first. Invariant: results go to
//! stdout, what people read by `lines`; exit codes are 0 ok, 1 failed, 2 usage, 3 finished but data was lost or a stated claim was
//! not met; where a verb runs a command its code, or 125 to 127 (`failure`). Held by the tests of both programs, `a_recording_is_listed_printed_and_verified` among
//! them.

pub mod failure;
mod format;
pub mod lake;
mod lines;
pub mod listen;
pub mod promql;
mod seen;
pub mod serve;
pub mod size;
mod status;

pub use format::Format;
pub use lines::{
    Lines, Stdout, exact, json_line, on_terminal, outcome, print_json, print_line, print_lines,
    reader_has_gone, say_line, say_lines, terminal_size, unprinted,
};
pub use seen::Seen;
pub use status::{end_status, fitted, show_status, status_on_terminal};

/// How the line begins that `baro trace` writes to stderr where no command is recorded, when recording
/// is under way: who waits for it misses nothing that begins afterwards.
pub const BEGUN: &str = "baro: recording to";

/// Prints a line of a result for people: one line, whatever is in it. Unlike `println!` it does not
/// panic when the reader has gone: a recording must not end because somebody closed a pipe.
#[macro_export]
macro_rules! out {
    () => { $crate::print_line(format_args!("")) };
    ($($text:tt)*) => { $crate::print_line(format_args!($($text)*)) };
}

/// Says a line on stderr, as [`out!`] prints one.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::say_line(format_args!($($text)*)) };
}

/// Writes a line to [`Lines`], as [`out!`] prints one.
#[macro_export]
macro_rules! row {
    ($lines:expr, $($text:tt)*) => { $lines.line(format_args!($($text)*)) };
}

/// Shows on a terminal's stderr what is under way: what matters most first, since it is cut to the
/// terminal's width.
#[macro_export]
macro_rules! status {
    ($($text:tt)*) => { $crate::show_status(format_args!($($text)*)) };
}

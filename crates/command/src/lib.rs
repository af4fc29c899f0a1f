//! What the command lines of this project, `baro` and `baro-lab`, have in common: how a command
//! ends, sizes and times as people type them, and output as text or JSON.
//!
//! A crate of its own, so that a second program need not contain the first. Invariant: results go to
//! stdout; exit codes are 0 ok, 1 failed, 2 usage, 3 finished but data was lost or a stated claim was
//! not met. Held by the tests of both programs, `a_recording_is_listed_printed_and_verified` among
//! them.

pub mod failure;
mod format;
pub mod size;

pub use format::{Format, print_json};

/// How the line begins that `baro trace` writes to stderr where no command is recorded, when recording
/// is under way: who waits for it misses nothing that begins afterwards.
pub const BEGUN: &str = "baro: recording to";

/// Prints a line of a result. Unlike `println!` it does not panic when the reader has gone: a
/// recording must not end because somebody closed a pipe.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

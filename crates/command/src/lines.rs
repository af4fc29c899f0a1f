//! The only way of a command to stdout and stderr.
//!
//! A line for people may hold the name of a series, a task, a device, a file: text that others wrote.
//! Which of its words are foreign is not left to whoever prints it: all that is printed for people goes
//! through here a line at a time, and what is not seen is replaced (`baro_show::push_line`). What
//! programs read goes out exactly, by [`exact`] and [`print_json`]; JSON escapes what is not seen,
//! which says the same.
//!
//! A line that cannot be printed does not end a command, which may be recording; it is remembered, and
//! [`outcome`] makes it the command's failure.
//!
//! Invariant: no control character but the ends of our lines, and no mark of direction, reaches stdout
//! or stderr in a text for people. Held by `foreign_names_move_no_cursor_in_any_verb`, and by tidy's
//! rule `printing`, which forbids the other ways.

use crate::failure::{Failure, Outcome, Result};
use crate::status;
use std::fmt::Arguments;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// The first line for stdout that could not be printed: why.
static UNPRINTED: OnceLock<(ErrorKind, String)> = OnceLock::new();

/// Rows that a command may print at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Lines for people, each as [`push_line`](baro_show::push_line) makes it: on stdout or in a file.
///
/// It is not [`Write`] itself, so that nothing goes past this.
#[derive(Debug)]
pub struct Lines<W: Write> {
    out: W,
    line: String,
}

/// Stdout, which remembers that its reader has gone, however the error of it is told on the way up.
#[derive(Debug)]
pub struct Stdout(io::Stdout);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(of_stdout)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(of_stdout)
    }
}

/// Notes the error, and says whose it is: on its way up nobody knows.
fn of_stdout(error: io::Error) -> io::Error {
    note(&error);
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::Interrupted | ErrorKind::WouldBlock => error,
        kind => io::Error::new(kind, unprinted(&error).to_string()),
    }
}

fn note(error: &io::Error) {
    if error.kind() == ErrorKind::BrokenPipe {
        let _ = UNPRINTED.set((error.kind(), error.to_string()));
    }
}

/// Whether whoever read stdout has gone, as head does when it has enough: no failure of ours.
#[must_use]
pub fn reader_has_gone() -> bool {
    UNPRINTED.get().is_some_and(|(kind, _)| *kind == ErrorKind::BrokenPipe)
}

impl Lines<BufWriter<Stdout>> {
    /// On stdout, buffered: flush at the end.
    #[must_use]
    pub fn printed() -> Self {
        Lines::new(BufWriter::with_capacity(BUFFER_BYTES, Stdout(io::stdout())))
    }
}

impl<W: Write> Lines<W> {
    /// Into `out`.
    pub fn new(out: W) -> Self {
        Lines { out, line: String::new() }
    }

    /// One line; see [`row!`](crate::row).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn line(&mut self, line: Arguments<'_>) -> io::Result<()> {
        self.line.clear();
        baro_show::push_line(&mut self.line, line);
        self.out.write_all(self.line.as_bytes())
    }

    /// The writer below, for what programs read.
    pub fn exact(&mut self) -> &mut W {
        &mut self.out
    }

    /// Hands on what is buffered.
    ///
    /// # Errors
    /// Those of the writer below.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Stdout, buffered, for what programs read: CSV, JSON, Arrow, frames. Bytes stay as they are.
#[must_use]
pub fn exact() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 20, Stdout(io::stdout()))
}

/// Whether stdout is a terminal.
#[must_use]
pub fn on_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns and lines of the terminal that stdout is.
#[must_use]
pub fn terminal_size() -> Option<(usize, usize)> {
    baro_sys::terminal::size(&io::stdout())
}

/// One line on stdout; see [`out!`](crate::out).
pub fn print_line(line: Arguments<'_>) {
    status::give_way(&mut io::stderr().lock());
    remember(Lines::new(io::stdout().lock()).line(line));
}

fn remember(printed: io::Result<()>) {
    if let Err(error) = printed {
        let _ = UNPRINTED.set((error.kind(), error.to_string()));
    }
}

/// What a command came to, once all that it printed has been taken: a result that nobody has is none.
/// That the reader has gone is no failure: it had enough.
///
/// # Errors
/// The command's own, or that stdout refuses.
pub fn outcome(ended: Result<Outcome>) -> Result<Outcome> {
    let outcome = ended?;
    remember(io::stdout().lock().flush());
    match UNPRINTED.get() {
        Some((kind, error)) if *kind != ErrorKind::BrokenPipe => Err(unprinted(error)),
        _ => Ok(outcome),
    }
}

/// What is said where stdout refuses.
pub fn unprinted(error: &impl std::fmt::Display) -> Failure {
    format!("stdout: write: {error}; what was printed is not whole").into()
}

/// One line on stderr; see [`say!`](crate::say).
pub fn say_line(line: Arguments<'_>) {
    let mut err = io::stderr().lock();
    status::give_way(&mut err);
    let _ = Lines::new(err).line(line);
}

/// A report of several lines on stdout, whose ends are ours.
///
/// # Errors
/// Stdout refuses.
pub fn print_lines(text: &str) -> Result<()> {
    status::give_way(&mut io::stderr().lock());
    let mut out = Stdout(io::stdout());
    enough(out.write_all(baro_show::lines(text).as_bytes()).and_then(|()| out.flush()))
}

/// Several lines on stderr, whose ends are ours.
pub fn say_lines(text: &str) {
    let mut err = io::stderr().lock();
    status::give_way(&mut err);
    let _ = err.write_all(baro_show::lines(text).as_bytes());
}

/// A value as JSON in one line: what is not seen is escaped.
#[must_use]
pub fn json_line(value: &serde_json::Value) -> String {
    baro_show::escaped_json(value.to_string())
}

/// Prints a JSON document.
///
/// # Errors
/// Stdout refuses.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    let text = baro_show::escaped_json(serde_json::to_string_pretty(value)?);
    enough(writeln!(Stdout(io::stdout()), "{text}"))
}

/// A reader that has gone had enough; the rest of the work, and how it ends, are not changed by that.
fn enough(printed: io::Result<()>) -> Result<()> {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn json_says_the_same_without_what_is_not_seen() {
        let value = json!({"a\u{202e}": ["x\u{1b}\n\u{9b}\u{7f}", "\u{e0041}é"], "b": 1});
        let text = json_line(&value);
        assert!(!text.contains(|one| one != '\n' && baro_show::is_unseen(one)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(json_line(&json!("é–温")), "\"é–温\"");
    }

    #[test]
    fn lines_are_ours_and_nothing_in_them() {
        let mut lines = Lines::new(Vec::new());
        lines.line(format_args!("{} {:>3}", "a\nb\u{1b}[2J", 7)).unwrap();
        lines.line(format_args!("")).unwrap();
        assert_eq!(lines.exact().as_slice(), b"a?b?[2J   7\n\n");
    }
}

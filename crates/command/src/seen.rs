//! CSV on a terminal. It is for programs, and its bytes stay as they are in a file and in a pipe; but who prints it
//! on his screen looks at it, and texts in it are others'.
//!
//! Invariant: as that of [`crate::lines`]. Held by the test below.

use std::io::{self, Write};

/// Hands on whole lines, with a question mark for each character that is not seen, if `seen`; else bytes as they
/// are.
#[derive(Debug)]
pub struct Seen<W: Write> {
    out: W,
    seen: bool,
    line: Vec<u8>,
}

impl<W: Write> Seen<W> {
    /// A writer in front of `out`, which is looked at if `seen`.
    pub fn new(out: W, seen: bool) -> Self {
        Seen { out, seen, line: Vec::new() }
    }

    fn hand_on(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.line);
        let mut shown = baro_show::lines(&text);
        if !text.ends_with('\n') {
            shown.pop();
        }
        self.out.write_all(shown.as_bytes())?;
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Seen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.seen {
            return self.out.write(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.hand_on()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.hand_on()?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_is_shown_where_somebody_looks_and_nowhere_else() {
        let text = "time,series,value\r\n1,\"c\u{9b}31md\",2\n3,a\u{202e}b,\u{1b}[2J\n\n4";
        for (seen, expected) in [
            (false, text.to_owned()),
            (true, "time,series,value\n1,\"c?31md\",2\n3,a?b,?[2J\n\n4".to_owned()),
        ] {
            for size in [1, 3, 1000] {
                let mut out = Vec::new();
                let mut writer = Seen::new(&mut out, seen);
                for piece in text.as_bytes().chunks(size) {
                    writer.write_all(piece).unwrap();
                }
                writer.flush().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{seen} {size}");
            }
        }
    }
}

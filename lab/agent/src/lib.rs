//! What host and guest of the lab say to each other over one serial port: frames of a kind, a
//! length and a body.
//!
//! Pure: any reader and writer will do. Invariant: a frame that is longer than [`FRAME_BYTES_MAX`]
//! or whose body does not fit its kind is an error, never an allocation of its size. Test:
//! `what_was_sent_arrives` and `a_frame_that_lies_is_refused`.

use std::io::{self, ErrorKind, Read, Write};

/// Longest body of a frame: the largest program, with room.
pub const FRAME_BYTES_MAX: u32 = 256 << 20;

/// Something said by one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Host: is anybody there? Guest: the same back.
    Hello,
    /// A file to be written (host) or one that was asked for (guest).
    File {
        /// Where, absolute.
        path: String,
        /// Permission bits.
        mode: u32,
        /// All of it.
        bytes: Vec<u8>,
    },
    /// Host: run a program; answered by `Out` and `Err` as they come and one `Exit`.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// Time after which it is killed, milliseconds.
        timeout_ms: u64,
    },
    /// Guest: a piece of the program's stdout.
    Out(Vec<u8>),
    /// Guest: a piece of its stderr.
    Err(Vec<u8>),
    /// Guest: it ended.
    Exit {
        /// Its exit code; 128 + the signal's number if a signal ended it.
        code: i32,
        /// Whether it was killed because its time was over.
        timed_out: bool,
    },
    /// Host: give me this file, or all files below this folder; answered by `File`s and `Done`.
    Get(String),
    /// Guest: all files asked for, or the file written, is done; with the number of files.
    Done(u32),
    /// Guest: what was asked for cannot be done, and why.
    Failed(String),
}

impl Frame {
    fn kind(&self) -> u8 {
        match self {
            Frame::Hello => b'H',
            Frame::File { .. } => b'F',
            Frame::Run { .. } => b'R',
            Frame::Out(_) => b'o',
            Frame::Err(_) => b'e',
            Frame::Exit { .. } => b'x',
            Frame::Get(_) => b'G',
            Frame::Done(_) => b'd',
            Frame::Failed(_) => b'f',
        }
    }

    /// Writes it, in one call of `write_all`.
    ///
    /// # Errors
    /// The writer's, and a body that is too long.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut body = Vec::new();
        match self {
            Frame::Hello => {}
            Frame::File { path, mode, bytes } => {
                text(&mut body, path);
                body.extend(mode.to_le_bytes());
                body.extend(bytes);
            }
            Frame::Run { argv, timeout_ms } => {
                body.extend(timeout_ms.to_le_bytes());
                argv.iter().for_each(|arg| text(&mut body, arg));
            }
            Frame::Out(bytes) | Frame::Err(bytes) => body.extend(bytes),
            Frame::Exit { code, timed_out } => {
                body.extend(code.to_le_bytes());
                body.push(u8::from(*timed_out));
            }
            Frame::Get(path) => text(&mut body, path),
            Frame::Done(count) => body.extend(count.to_le_bytes()),
            Frame::Failed(why) => text(&mut body, why),
        }
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        if bytes > FRAME_BYTES_MAX {
            return Err(lie(format!("a frame of {} bytes: at most {FRAME_BYTES_MAX}", body.len())));
        }
        let mut frame = Vec::with_capacity(body.len() + 5);
        frame.push(self.kind());
        frame.extend(bytes.to_le_bytes());
        frame.extend(body);
        to.write_all(&frame)?;
        to.flush()
    }

    /// Reads one; waits for it as the reader does.
    ///
    /// # Errors
    /// The reader's, the end of what it has (`UnexpectedEof`), and bytes that are no frame.
    pub fn read(from: &mut impl Read) -> io::Result<Frame> {
        let mut head = [0; 5];
        from.read_exact(&mut head)?;
        let bytes = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        if bytes > FRAME_BYTES_MAX {
            return Err(lie(format!("a frame of {bytes} bytes: at most {FRAME_BYTES_MAX}")));
        }
        // What is missing is never made room for: a lie about the length costs nothing.
        let mut body = Vec::new();
        from.take(u64::from(bytes)).read_to_end(&mut body)?;
        if body.len() != bytes as usize {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut body = Body(&body);
        let frame = match head[0] {
            b'H' => Frame::Hello,
            b'F' => Frame::File { path: body.text()?, mode: body.number()?, bytes: body.rest() },
            b'R' => {
                let timeout_ms = u64::from_le_bytes(body.array()?);
                let mut argv = Vec::new();
                while !body.0.is_empty() {
                    argv.push(body.text()?);
                }
                Frame::Run { argv, timeout_ms }
            }
            b'o' => Frame::Out(body.rest()),
            b'e' => Frame::Err(body.rest()),
            b'x' => Frame::Exit {
                code: i32::from_le_bytes(body.array()?),
                timed_out: body.array::<1>()? == [1],
            },
            b'G' => Frame::Get(body.text()?),
            b'd' => Frame::Done(body.number()?),
            b'f' => Frame::Failed(body.text()?),
            other => return Err(lie(format!("no frame begins with byte {other:#04x}"))),
        };
        if body.0.is_empty() {
            Ok(frame)
        } else {
            Err(lie(format!("{} bytes too many in a frame '{}'", body.0.len(), head[0] as char)))
        }
    }
}

fn lie(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn text(body: &mut Vec<u8>, text: &str) {
    body.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    body.extend(text.as_bytes());
}

/// What is left of a body.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn take(&mut self, bytes: usize) -> io::Result<&[u8]> {
        if bytes > self.0.len() {
            return Err(lie(format!("{bytes} bytes expected in a frame, {} found", self.0.len())));
        }
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| lie("a short number".to_owned()))
    }

    fn number(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> io::Result<String> {
        let bytes = self.number()? as usize;
        String::from_utf8(self.take(bytes)?.to_vec()).map_err(|e| lie(e.to_string()))
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Frame> {
        let argv = vec!["sh".to_owned(), "-c".to_owned(), "echo ä".to_owned(), String::new()];
        vec![
            Frame::Hello,
            Frame::File { path: "/out/x".to_owned(), mode: 0o755, bytes: vec![0, 1, 255] },
            Frame::File { path: "/e".to_owned(), mode: 0, bytes: Vec::new() },
            Frame::Run { argv, timeout_ms: 7_000_000_000 },
            Frame::Out(b"out".to_vec()),
            Frame::Err(Vec::new()),
            Frame::Exit { code: -3, timed_out: true },
            Frame::Exit { code: 137, timed_out: false },
            Frame::Get("/out".to_owned()),
            Frame::Done(5),
            Frame::Failed("no such file".to_owned()),
        ]
    }

    #[test]
    fn what_was_sent_arrives() {
        let mut wire = Vec::new();
        all().iter().for_each(|frame| frame.write(&mut wire).unwrap());
        let mut from = wire.as_slice();
        for frame in all() {
            assert_eq!(Frame::read(&mut from).unwrap(), frame);
        }
        assert_eq!(Frame::read(&mut from).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_frame_that_lies_is_refused() {
        let mut wire = Vec::new();
        all().iter().for_each(|frame| frame.write(&mut wire).unwrap());
        // Whatever a byte says, it is a frame, an error or an end, and no panic.
        for at in 0..wire.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut wire = wire.clone();
                wire[at] = value;
                let mut from = wire.as_slice();
                while Frame::read(&mut from).is_ok() {}
            }
        }
        let long = [b'o', 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Frame::read(&mut long.as_slice()).unwrap_err().kind(), ErrorKind::InvalidData);
        let path = [b'G', 5, 0, 0, 0, 200, 0, 0, 0, b'x'];
        assert_eq!(Frame::read(&mut path.as_slice()).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

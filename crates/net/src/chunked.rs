//! The pieces of a chunked body. Pure: bytes in, where the data lies out.
//!
//! Invariant: any cutting of the bytes gives the same body, and what is not exactly a chunk is refused: a
//! proxy that reads sizes or line ends in another way could see another body. Held by the tests below.

/// Bytes of a line with a size, or of one behind the last chunk.
const LINE_BYTES_MAX: usize = 1_024;
/// Lines behind the last chunk.
const TRAILERS_MAX: usize = 32;

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A line with a size.
    Size,
    /// So many bytes of data.
    Data(u64),
    /// The end of line behind data.
    Behind,
    /// Lines behind the last chunk.
    Trailer,
    End,
}

/// What was found next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// So many of the bytes at the front were read over.
    Skip(usize),
    /// So many bytes at the front are data.
    Data(usize),
    /// More bytes are needed.
    More,
    /// The body has ended.
    End,
}

/// Reads a chunked body.
#[derive(Debug)]
pub struct Chunks {
    place: Place,
    /// The line that is being read.
    line: Vec<u8>,
    trailers: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Chunks { place: Place::Size, line: Vec::new(), trailers: 0 }
    }
}

impl Chunks {
    /// What the first of `bytes` are. `Data` and `Skip` count as taken.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Next, &'static str> {
        match self.place {
            Place::End => Ok(Next::End),
            _ if bytes.is_empty() => Ok(Next::More),
            Place::Data(left) => {
                let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let left = left - count as u64;
                self.place = if left == 0 { Place::Behind } else { Place::Data(left) };
                Ok(Next::Data(count))
            }
            Place::Size | Place::Behind | Place::Trailer => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let taken = end.map_or(bytes.len(), |end| end + 1);
                if self.line.len() + taken > LINE_BYTES_MAX {
                    return Err("expected the size of a chunk, found a line that is too long");
                }
                self.line.extend_from_slice(&bytes[..taken]);
                if end.is_some() {
                    let line = std::mem::take(&mut self.line);
                    self.line(&line)?;
                    self.line = line;
                    self.line.clear();
                }
                Ok(Next::Skip(taken))
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return Err("expected lines of chunks that end with CR LF, found one with LF alone");
        };
        self.place = match self.place {
            Place::Behind if line.is_empty() => Place::Size,
            Place::Behind => {
                return Err("expected the end of a chunk, found more bytes than it has");
            }
            Place::Trailer if line.is_empty() => Place::End,
            Place::Trailer => {
                self.trailers += 1;
                if self.trailers > TRAILERS_MAX {
                    return Err("expected the end of the body, found too many lines behind it");
                }
                Place::Trailer
            }
            _ => match size(line)? {
                0 => Place::Trailer,
                bytes => Place::Data(bytes),
            },
        };
        Ok(())
    }
}

/// Hexadecimal digits, and what may be behind a semicolon.
fn size(line: &[u8]) -> Result<u64, &'static str> {
    let wrong = "expected the size of a chunk in hexadecimal digits, found another text";
    let (digits, extension) = match line.iter().position(|byte| *byte == b';') {
        Some(at) => line.split_at(at),
        None => (line, &[][..]),
    };
    // Some write spaces before the semicolon.
    let digits = if extension.is_empty() { digits } else { digits.trim_ascii_end() };
    let clean = extension.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 127));
    if digits.is_empty() || digits.len() > 16 || !digits.iter().all(u8::is_ascii_hexdigit) || !clean
    {
        return Err(wrong);
    }
    let text = str::from_utf8(digits).map_err(|_| wrong)?;
    u64::from_str_radix(text, 16).map_err(|_| wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), &'static str> {
        let (mut chunks, mut body) = (Chunks::default(), Vec::new());
        for piece in pieces {
            let mut bytes = *piece;
            loop {
                match chunks.next(bytes)? {
                    Next::Skip(count) => bytes = &bytes[count..],
                    Next::Data(count) => {
                        body.extend_from_slice(&bytes[..count]);
                        bytes = &bytes[count..];
                    }
                    Next::More => break,
                    Next::End => return Ok((body, true)),
                }
            }
        }
        Ok((body, false))
    }

    #[test]
    fn any_cutting_gives_the_same_body() {
        let text = b"5\r\nhello\r\n1;a=\"b\"\r\n \r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\n";
        let expected = b"hello 0123456789".to_vec();
        for cut in 0..=text.len() {
            let (first, second) = text.split_at(cut);
            assert_eq!(read(&[first, second]).unwrap(), (expected.clone(), true), "{cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(read(&bytes).unwrap(), (expected, true));
        assert_eq!(read(&[b"5\r\nhel"]).unwrap(), (b"hel".to_vec(), false));
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for text in [
            &b"5\nhello\n0\n\n"[..],
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"-5\r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n0\r\n\r\n",
            b"5 \r\nhello\r\n0\r\n\r\n",
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"\r\nhello",
            b"g\r\n",
            b"00000000000000005\r\nhello\r\n",
            b"5;a\rb\r\nhello\r\n",
            b"0\r\nX: y\n\r\n",
        ] {
            assert!(read(&[text]).is_err(), "{:?}", String::from_utf8_lossy(text));
        }
        assert!(read(&[&[b'1'; 2_000]]).is_err());
        assert!(read(&[b"0\r\n", &b"a: b\r\n".repeat(40)]).is_err());
    }
}

//! A file that is written by a thread of its own while what comes next is read and put into its form: an
//! export waits for the device to read or for the device to write, and not for one after the other.
//!
//! Invariant: the bytes come into the file as they were handed over, and what cannot be written ends the
//! export with its reason. Held by this module's tests.

use super::NewFile;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Handed over at once.
const PIECE_BYTES: usize = 1 << 20;
/// So many pieces are on their way at most.
const PIECES: usize = 4;

/// See the module. It can say where it is, and goes nowhere else.
#[derive(Debug)]
pub(crate) struct Behind<W = NewFile> {
    piece: Vec<u8>,
    at: u64,
    /// Gone once the thread is told that nothing more comes.
    pieces: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<W>>>,
}

impl<W: Write + Send + 'static> Behind<W> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The operating system starts none.
    pub(crate) fn start(mut out: W) -> io::Result<Self> {
        let (pieces, coming) = sync_channel::<Vec<u8>>(PIECES);
        let (used, empty) = sync_channel(PIECES + 1);
        let work = move || {
            for mut piece in coming {
                out.write_all(&piece)?;
                piece.clear();
                // Who hands over may be gone by then.
                let _ = used.try_send(piece);
            }
            Ok(out)
        };
        let thread = std::thread::Builder::new().name("baro-write".to_owned()).spawn(work)?;
        let piece = Vec::with_capacity(PIECE_BYTES);
        Ok(Behind { piece, at: 0, pieces: Some(pieces), empty, thread: Some(thread) })
    }

    /// All that was handed over is written; what it was written to.
    ///
    /// # Errors
    /// Why it could not be.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.piece.is_empty() {
            self.hand_over()?;
        }
        self.end()
    }

    fn end(&mut self) -> io::Result<W> {
        self.pieces = None;
        let over = || io::Error::new(ErrorKind::BrokenPipe, "the writing thread has ended");
        let thread = self.thread.take().ok_or_else(over)?;
        thread.join().unwrap_or_else(|_| Err(over()))
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let empty = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(PIECE_BYTES));
        let piece = std::mem::replace(&mut self.piece, empty);
        let sent = self.pieces.as_ref().map(|pieces| pieces.send(piece));
        if let Some(Ok(())) = sent {
            return Ok(());
        }
        // The thread has ended, and only an error ends it.
        match self.end() {
            Err(error) => Err(error),
            Ok(_) => Err(io::Error::new(ErrorKind::BrokenPipe, "the writing thread has ended")),
        }
    }
}

impl<W: Write + Send + 'static> Write for Behind<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        self.at += taken as u64;
        if self.piece.len() == PIECE_BYTES {
            self.hand_over()?;
        }
        Ok(taken)
    }

    /// Nothing has to be in the file before it is finished.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W> Seek for Behind<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) | SeekFrom::End(0) => Ok(self.at),
            SeekFrom::Start(at) if at == self.at => Ok(at),
            _ => Err(io::Error::new(ErrorKind::Unsupported, "this file is written in order")),
        }
    }
}

impl<W> Drop for Behind<W> {
    /// What was being made is taken away by the thread, before the process ends.
    fn drop(&mut self) {
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_in_order_whatever_their_sizes() {
        let mut expected = Vec::new();
        let mut behind = Behind::start(Vec::new()).unwrap();
        for (number, size) in [0, 1, 7, PIECE_BYTES - 8, 1, PIECE_BYTES, 3 * PIECE_BYTES + 5, 12]
            .into_iter()
            .enumerate()
        {
            let bytes: Vec<u8> = (0..size).map(|at| (at * 31 + number) as u8).collect();
            behind.write_all(&bytes).unwrap();
            expected.extend(bytes);
            assert_eq!(behind.stream_position().unwrap(), expected.len() as u64);
        }
        assert!(behind.seek(SeekFrom::Start(0)).is_err());
        assert!(behind.finish().unwrap() == expected);
    }

    /// Takes so many bytes.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_written_is_told_by_a_later_write_or_at_the_end() {
        let mut behind = Behind::start(Small(3 * PIECE_BYTES)).unwrap();
        let told = (0..1000).find_map(|_| behind.write_all(&[7; PIECE_BYTES]).err()).unwrap();
        assert_eq!(told.kind(), ErrorKind::StorageFull);
        assert!(behind.write_all(&[7; PIECE_BYTES]).is_err() && behind.finish().is_err());
        let mut behind = Behind::start(Small(5)).unwrap();
        behind.write_all(&[7; 6]).unwrap();
        assert_eq!(behind.finish().err().unwrap().kind(), ErrorKind::StorageFull);
    }
}

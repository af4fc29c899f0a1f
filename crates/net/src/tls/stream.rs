//! The bytes of a connection, in the clear or below TLS; every wait ends, however the bytes of a record come.

use super::Tls;
use baro_sys::clock;
use baro_sys::tcp::Tcp;
use rustls::ServerConnection;
use std::io::{self, ErrorKind, Read, Write};

/// The kind of record that begins a handshake, RFC 8446 section 5.1.
const HANDSHAKE: u8 = 22;
/// What is read of a connection before anything is known of it.
const FIRST_BYTES: usize = 512;

/// A connection as HTTP sees it.
#[derive(Debug)]
pub(crate) enum Stream<'a> {
    Clear(&'a Tcp),
    Secured(Box<Secured<'a>>),
}

#[derive(Debug)]
pub(crate) struct Secured<'a> {
    tcp: &'a Tcp,
    connection: ServerConnection,
}

/// Why a connection has no TLS.
#[derive(Debug)]
pub(crate) enum NoTls {
    /// The client speaks HTTP in the clear.
    Http,
    Failed,
}

/// A connection of which the kernel's calls wait until a time.
struct Until<'a>(&'a Tcp, u64);

impl Until<'_> {
    fn left_ns(&self) -> io::Result<u64> {
        let left_ns = self.1.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 { Err(ErrorKind::TimedOut.into()) } else { Ok(left_ns) }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into, self.left_ns()?)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes, self.left_ns()?).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Stream<'a> {
    /// Agrees on TLS if that is asked for, within `timeout_ns`. Blocks.
    pub(crate) fn open(tcp: &'a Tcp, tls: Option<&Tls>, timeout_ns: u64) -> Result<Self, NoTls> {
        let Some(tls) = tls else { return Ok(Stream::Clear(tcp)) };
        let end_ns = clock::monotonic_ns().saturating_add(timeout_ns);
        let mut until = Until(tcp, end_ns);
        let mut first = [0; FIRST_BYTES];
        let count = until.read(&mut first).map_err(|_| NoTls::Failed)?;
        let mut first = first.get(..count).unwrap_or_default();
        match first.first() {
            Some(&HANDSHAKE) => {}
            Some(byte) if byte.is_ascii_uppercase() => return Err(NoTls::Http),
            _ => return Err(NoTls::Failed),
        }
        let connection = ServerConnection::new(tls.config()).map_err(|_| NoTls::Failed)?;
        let mut secured = Box::new(Secured { tcp, connection });
        while !first.is_empty() {
            secured.take(&mut first, end_ns).map_err(|_| NoTls::Failed)?;
        }
        while secured.connection.is_handshaking() {
            match secured.take(&mut until, end_ns) {
                Ok(count) if count > 0 => {}
                _ => return Err(NoTls::Failed),
            }
        }
        Ok(Stream::Secured(secured))
    }

    /// Bytes that have come; waits for the first of them for at most `timeout_ns`. 0: none comes any more.
    pub(crate) fn read(&mut self, into: &mut [u8], timeout_ns: u64) -> io::Result<usize> {
        match self {
            Stream::Clear(tcp) => tcp.read(into, timeout_ns),
            Stream::Secured(secured) => secured.read(into, timeout_ns),
        }
    }

    /// Writes all of it, and waits for at most `timeout_ns` each time the peer has taken some.
    pub(crate) fn write_all(&mut self, bytes: &[u8], timeout_ns: u64) -> io::Result<()> {
        match self {
            Stream::Clear(tcp) => tcp.write_all(bytes, timeout_ns),
            Stream::Secured(secured) => secured.write_all(bytes, timeout_ns),
        }
    }

    /// Tells the peer that nothing more is written.
    pub(crate) fn end_output(&mut self, timeout_ns: u64) {
        if let Stream::Secured(secured) = self {
            secured.connection.send_close_notify();
            let _ = secured.flush(timeout_ns);
        }
    }
}

impl Secured<'_> {
    /// Takes bytes of records from `source`, and sends what the protocol answers, until `end_ns`.
    fn take(&mut self, source: &mut dyn Read, end_ns: u64) -> io::Result<usize> {
        let count = self.connection.read_tls(source)?;
        let processed = self.connection.process_new_packets();
        // A refusal is told the peer too.
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        let flushed = self.flush(left_ns);
        processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        flushed.map(|()| count)
    }

    fn read(&mut self, into: &mut [u8], timeout_ns: u64) -> io::Result<usize> {
        let end_ns = clock::monotonic_ns().saturating_add(timeout_ns);
        loop {
            match self.connection.reader().read(into) {
                Ok(count) => return Ok(count),
                // Closed without a word: where a body ends is told by HTTP, so that nothing is cut off unseen.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            self.take(&mut Until(self.tcp, end_ns), end_ns)?;
        }
    }

    fn write_all(&mut self, mut bytes: &[u8], timeout_ns: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.connection.writer().write(bytes)?;
            bytes = bytes.get(count..).unwrap_or_default();
            self.flush(timeout_ns)?;
        }
        Ok(())
    }

    fn flush(&mut self, timeout_ns: u64) -> io::Result<()> {
        while self.connection.wants_write() {
            let end_ns = clock::monotonic_ns().saturating_add(timeout_ns);
            self.connection.write_tls(&mut Until(self.tcp, end_ns))?;
        }
        Ok(())
    }
}

//! Connections: a listener whose waits end, and streams whose every wait has a bound.
//!
//! One thread waits for one connection, so each wait needs an end: a peer that sends nothing, takes nothing
//! or has gone without a word would else hold its thread for ever. A thread that waits is woken by another
//! one through [`Tcp::end_input`], so nobody has to look at a flag many times a second.
//!
//! Invariant: no call here waits longer than it was told. Held by the tests below.

use crate::{Error, Result};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The kernel counts in microseconds, and takes 0 for ever.
const TIMEOUT_NS_MIN: u64 = 1_000;

/// A socket that takes connections.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

fn place(address: SocketAddr) -> PathBuf {
    PathBuf::from(format!("tcp:{address}"))
}

impl Listener {
    /// Listens at `address` (port 0: any free one). Does not block.
    ///
    /// # Errors
    /// The operating system's reason, such as an address that is taken.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let fail = |e| Error::new("listen", place(address), e);
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Listener { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for a connection, at most for `timeout_ns`. One that has gone before it was taken is none.
    ///
    /// # Errors
    /// The operating system's reason, such as too many open files.
    pub fn accept(&self, timeout_ns: u64) -> Result<Option<Tcp>> {
        let fail = |e| Error::new("accept", place(self.address), e);
        let milliseconds = i32::try_from(timeout_ns / 1_000_000).unwrap_or(i32::MAX);
        let mut wanted =
            libc::pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which outlives the call.
        let ready = unsafe { libc::poll(&raw mut wanted, 1, milliseconds) };
        if ready <= 0 {
            return match io::Error::last_os_error() {
                error if ready < 0 && error.kind() != ErrorKind::Interrupted => Err(fail(error)),
                _ => Ok(None),
            };
        }
        let (stream, peer) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                let gone = [
                    ErrorKind::WouldBlock,
                    ErrorKind::Interrupted,
                    ErrorKind::ConnectionAborted,
                    ErrorKind::ConnectionReset,
                ];
                return if gone.contains(&error.kind()) { Ok(None) } else { Err(fail(error)) };
            }
        };
        Ok(Tcp::of(stream, peer).ok())
    }
}

/// A connection. Any thread may end it while another one waits for it.
#[derive(Debug)]
pub struct Tcp {
    stream: TcpStream,
    peer: SocketAddr,
    /// The timeouts that the socket has.
    read_ns: AtomicU64,
    write_ns: AtomicU64,
}

impl Tcp {
    fn of(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        // An answer is one write, and is waited for.
        stream.set_nodelay(true)?;
        Ok(Tcp { stream, peer, read_ns: AtomicU64::new(0), write_ns: AtomicU64::new(0) })
    }

    /// Connects, within `timeout_ns`.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn connect(address: SocketAddr, timeout_ns: u64) -> Result<Self> {
        let fail = |e| Error::new("connect", place(address), e);
        let timeout = Duration::from_nanos(timeout_ns.max(TIMEOUT_NS_MIN));
        let stream = TcpStream::connect_timeout(&address, timeout).map_err(fail)?;
        Self::of(stream, address).map_err(fail)
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Takes bytes that have come, and waits for the first of them for at most `timeout_ns`. 0: none comes
    /// any more.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] where nothing came, or the operating system's reason.
    pub fn read(&self, buffer: &mut [u8], timeout_ns: u64) -> io::Result<usize> {
        let timeout_ns = timeout_ns.max(TIMEOUT_NS_MIN);
        if self.read_ns.swap(timeout_ns, Relaxed) != timeout_ns {
            self.stream.set_read_timeout(Some(Duration::from_nanos(timeout_ns)))?;
        }
        loop {
            match (&self.stream).read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                result => return result,
            }
        }
    }

    /// Writes all of it, and waits for room for at most `timeout_ns` each time some was taken.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] where the peer takes nothing, or the operating system's reason.
    pub fn write_all(&self, mut bytes: &[u8], timeout_ns: u64) -> io::Result<()> {
        let timeout_ns = timeout_ns.max(TIMEOUT_NS_MIN);
        if self.write_ns.swap(timeout_ns, Relaxed) != timeout_ns {
            self.stream.set_write_timeout(Some(Duration::from_nanos(timeout_ns)))?;
        }
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Nothing more is read: whoever waits for input is told that it has ended. Does not block.
    pub fn end_input(&self) {
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// Nothing more is written; the peer learns that. Does not block.
    pub fn end_output(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Both. Does not block.
    pub fn end(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Whether only programs of this machine reach an address.
#[must_use]
pub fn is_loopback(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 10_000_000_000;

    fn pair() -> (Tcp, Tcp) {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        assert!(listener.accept(1_000_000).unwrap().is_none());
        let client = Tcp::connect(listener.address(), LONG_NS).unwrap();
        (client, listener.accept(LONG_NS).unwrap().unwrap())
    }

    #[test]
    fn what_is_written_is_read_and_every_wait_ends() {
        let (client, server) = pair();
        let mut buffer = [0; 16];
        assert_eq!(server.read(&mut buffer, 1_000_000).unwrap_err().kind(), ErrorKind::TimedOut);
        client.write_all(b"hello", LONG_NS).unwrap();
        assert_eq!(server.read(&mut buffer, LONG_NS).unwrap(), 5);
        // The peer takes nothing.
        let much = vec![7; 64 << 20];
        assert_eq!(server.write_all(&much, 20_000_000).unwrap_err().kind(), ErrorKind::TimedOut);
        client.end_output();
        assert_eq!(server.read(&mut buffer, LONG_NS).unwrap(), 0);
    }

    #[test]
    fn one_that_waits_is_woken() {
        let (_client, server) = pair();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| server.read(&mut [0; 16], 60_000_000_000));
            server.end_input();
            assert_eq!(waits.join().unwrap().unwrap(), 0);
        });
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        for (address, expected) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(is_loopback(&address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_taken_address_is_an_error_that_names_it() {
        let first = Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Listener::bind(first.address()).unwrap_err().to_string();
        assert!(error.contains(&format!("tcp:{}", first.address())), "{error}");
    }
}

//! Datagrams: a socket whose losses are known.
//!
//! The kernel drops what does not fit the socket's buffer and says so only to those who ask: with
//! each datagram (SO_RXQ_OVFL), and at any time (SO_MEMINFO, since 4.12). Both are asked, so that
//! the count is complete even if nothing comes after the last drop. Arrival times are the kernel's
//! (SO_TIMESTAMPNS), so that a reader that comes late does not make the data late.
//!
//! Invariant: received and dropped datagrams add up to those that reached the socket. Held by
//! `tests::what_the_buffer_does_not_hold_is_counted`.

use crate::{Error, Result};
use std::io::ErrorKind;
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

/// The largest datagram; a buffer of this size takes each whole.
pub const DATAGRAM_BYTES_MAX: usize = 65_535;

const CONTROL_BYTES: usize = 256;
/// Index of the drops in what SO_MEMINFO tells (SK_MEMINFO_DROPS).
const MEMINFO_DROPS: usize = 8;

/// A bound socket.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    address: SocketAddr,
    /// Drops told so far, whatever the kernel's 32-bit counter did.
    dropped: u64,
    /// The kernel's counter when it was last seen.
    counter: u32,
    /// The timeout that the socket has.
    timeout_ns: u64,
}

/// One datagram, in the buffer given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its bytes in the buffer.
    pub bytes: usize,
    /// It was longer than the buffer.
    pub truncated: bool,
    /// When it arrived, nanoseconds since the Unix epoch; `None` if the kernel does not tell.
    pub arrived_ns: Option<i64>,
}

fn place(address: SocketAddr) -> PathBuf {
    PathBuf::from(format!("udp:{address}"))
}

impl Udp {
    /// Binds to `address` (port 0: any free one) with about `buffer_bytes` of buffer, as far as
    /// the kernel grants it; see [`Udp::buffer_bytes`].
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn bind(address: SocketAddr, buffer_bytes: usize) -> Result<Self> {
        let fail = |operation: &str, e| Error::new(operation, place(address), e);
        let socket = UdpSocket::bind(address).map_err(|e| fail("bind", e))?;
        let address = socket.local_addr().map_err(|e| fail("bind", e))?;
        let udp = Udp { socket, address, dropped: 0, counter: 0, timeout_ns: 0 };
        // The kernel doubles what is asked for, for its own overhead.
        let half = i32::try_from(buffer_bytes / 2).unwrap_or(i32::MAX);
        if udp.set(libc::SO_RCVBUFFORCE, half).is_err() {
            udp.set(libc::SO_RCVBUF, half)?;
        }
        udp.set(libc::SO_RXQ_OVFL, 1)?;
        udp.set(libc::SO_TIMESTAMPNS, 1)?;
        Ok(udp)
    }

    /// Where it is bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes of the kernel's buffer, its overhead included.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        let mut value: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: open descriptor; `value` has `length` writable bytes.
        let rc = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw mut value).cast(),
                &raw mut length,
            )
        };
        if rc == 0 { usize::try_from(value).unwrap_or(0) } else { 0 }
    }

    fn set(&self, option: libc::c_int, value: libc::c_int) -> Result<()> {
        // SAFETY: open descriptor; `value` has the bytes that the length says.
        let rc = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if rc == 0 { Ok(()) } else { Err(Error::last("set socket option", place(self.address))) }
    }

    /// Waits for a datagram, at most for `timeout_ns`, and copies it to `buffer`.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn receive(&mut self, buffer: &mut [u8], timeout_ns: u64) -> Result<Option<Datagram>> {
        if self.timeout_ns != timeout_ns {
            // The kernel counts in microseconds, and takes 0 for ever.
            let timeout = Duration::from_nanos(timeout_ns.max(1000));
            let fail = |e| Error::new("receive", place(self.address), e);
            self.socket.set_read_timeout(Some(timeout)).map_err(fail)?;
            self.timeout_ns = timeout_ns;
        }
        self.receive_with(buffer, 0)
    }

    /// Copies a datagram that is there already to `buffer`; does not wait.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn receive_at_once(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>> {
        self.receive_with(buffer, libc::MSG_DONTWAIT)
    }

    fn receive_with(&mut self, buffer: &mut [u8], flags: libc::c_int) -> Result<Option<Datagram>> {
        let fail = |e| Error::new("receive", place(self.address), e);
        // u64: aligned for the kernel's headers.
        let mut control = [0_u64; CONTROL_BYTES / 8];
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all-zero bytes are a valid msghdr.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;
        // SAFETY: open descriptor; all pointers in `message` are to live, writable memory of the
        // lengths given.
        let received = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, flags) };
        if received < 0 {
            let error = std::io::Error::last_os_error();
            return match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut => Ok(None),
                // Someone's answer to a datagram of ours, which we never send.
                ErrorKind::ConnectionRefused => Ok(None),
                _ => Err(fail(error)),
            };
        }
        let mut arrived_ns = None;
        // SAFETY: the kernel has filled `message`; its macros stay inside the control buffer.
        let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        while !header.is_null() {
            // SAFETY: not null, so a whole header inside `control`.
            let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
            // SAFETY: as above; the data follows the header.
            let data = unsafe { libc::CMSG_DATA(header) };
            if level == libc::SOL_SOCKET && kind == libc::SO_RXQ_OVFL {
                // SAFETY: this kind carries a u32, maybe unaligned.
                let counter = unsafe { data.cast::<u32>().read_unaligned() };
                self.count(counter);
            } else if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
                let head = data as usize - header as usize;
                // SAFETY: a whole header. Its length counts itself, and the kernel has cut it to the
                // room there was.
                let bytes = unsafe { (*header).cmsg_len as usize }.saturating_sub(head);
                // SAFETY: the data has so many bytes.
                arrived_ns = time_ns(unsafe { std::slice::from_raw_parts(data, bytes) });
            }
            // SAFETY: `header` came from the same message.
            header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
        }
        let truncated = message.msg_flags & libc::MSG_TRUNC != 0;
        Ok(Some(Datagram { bytes: (received as usize).min(buffer.len()), truncated, arrived_ns }))
    }

    fn count(&mut self, counter: u32) {
        let more = counter.wrapping_sub(self.counter);
        // The two sources of the counter may be read in either order: backwards is old news.
        if more < u32::MAX / 2 {
            self.dropped += u64::from(more);
            self.counter = counter;
        }
    }

    /// Datagrams that the kernel has dropped at this socket since it was bound: its buffer was
    /// full, or their checksum wrong.
    pub fn dropped(&mut self) -> u64 {
        let mut info = [0_u32; 16];
        let mut length = size_of::<[u32; 16]>() as libc::socklen_t;
        // SAFETY: open descriptor; `info` has `length` writable bytes.
        let rc = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let told = length as usize / size_of::<u32>();
        if let Some(counter) = info.get(MEMINFO_DROPS).filter(|_| rc == 0 && told > MEMINFO_DROPS) {
            self.count(*counter);
        }
        self.dropped
    }
}

/// The time that the kernel tells: two numbers, seconds and nanoseconds. By the option that was set
/// they have 32 or 64 bits each on a machine of 32, whatever `timespec` is to the C library.
fn time_ns(data: &[u8]) -> Option<i64> {
    let (seconds, ns) = data.split_at_checked(data.len() / 2)?;
    let number = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => Some(i64::from(i32::from_ne_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(i64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    };
    number(seconds)?.checked_mul(1_000_000_000)?.checked_add(number(ns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_by_its_length_on_any_machine() {
        let (seconds, ns) = (1_700_000_000_i32, 123_456_789_i32);
        let short = [seconds.to_ne_bytes(), ns.to_ne_bytes()].concat();
        let long = [i64::from(seconds).to_ne_bytes(), i64::from(ns).to_ne_bytes()].concat();
        assert_eq!(time_ns(&short), Some(1_700_000_000_123_456_789));
        assert_eq!(time_ns(&long), time_ns(&short));
        for bytes in [0, 1, 4, 7, 12, 15] {
            assert_eq!(time_ns(&long[..bytes]), None, "{bytes} bytes");
        }
        let far = [i64::MAX.to_ne_bytes(), 0_i64.to_ne_bytes()].concat();
        assert_eq!(time_ns(&far), None);
    }

    const WAIT_NS: u64 = 2_000_000_000;

    fn pair(buffer_bytes: usize) -> (Udp, UdpSocket) {
        let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), buffer_bytes).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(udp.address()).unwrap();
        (udp, sender)
    }

    #[test]
    fn datagrams_come_whole_with_their_time() {
        let (mut udp, sender) = pair(1 << 20);
        let before_ns = crate::clock::realtime_ns();
        sender.send(b"hello").unwrap();
        sender.send(&[]).unwrap();
        sender.send(&[7; 3000]).unwrap();
        let mut buffer = [0; 1000];
        let first = udp.receive(&mut buffer, WAIT_NS).unwrap().unwrap();
        assert_eq!((&buffer[..first.bytes], first.truncated), (&b"hello"[..], false));
        assert!(first.arrived_ns.unwrap() >= before_ns - 1_000_000_000);
        assert_eq!(udp.receive(&mut buffer, WAIT_NS).unwrap().unwrap().bytes, 0);
        let long = udp.receive(&mut buffer, WAIT_NS).unwrap().unwrap();
        assert_eq!((long.bytes, long.truncated), (1000, true));
        assert_eq!(udp.receive(&mut buffer, 1000).unwrap(), None);
        assert_eq!(udp.dropped(), 0);
    }

    #[test]
    fn what_the_buffer_does_not_hold_is_counted() {
        let (mut udp, sender) = pair(8 << 10);
        let sent = 500_u64;
        (0..sent).for_each(|_| assert_eq!(sender.send(&[1; 500]).unwrap(), 500));
        let (mut buffer, mut received) = ([0; 1000], 0);
        // Loopback delivers before `send` returns.
        while udp.receive(&mut buffer, 1000).unwrap().is_some() {
            received += 1;
        }
        assert!(received > 0 && received < sent, "{received}");
        if udp.dropped() == 0 {
            // Before SO_MEMINFO only a later datagram tells.
            sender.send(b"x").unwrap();
            udp.receive(&mut buffer, WAIT_NS).unwrap().unwrap();
        }
        assert_eq!(udp.dropped() + received, sent);
    }

    #[test]
    fn a_taken_port_is_an_error_that_names_it() {
        let (udp, _) = pair(8 << 10);
        let error = Udp::bind(udp.address(), 8 << 10).unwrap_err().to_string();
        assert!(error.contains(&format!("udp:{}", udp.address())), "{error}");
    }
}

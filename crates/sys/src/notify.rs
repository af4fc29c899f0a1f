//! Telling a service manager how it goes: the datagrams of sd_notify(3), without its library.
//!
//! The manager names a socket in `NOTIFY_SOCKET` and a watchdog's time in `WATCHDOG_USEC`; each
//! datagram holds lines of `KEY=value`. Invariant: without a manager nothing is sent, and a
//! manager that does not read never blocks the sender. Held by the tests below.

use crate::{Error, Result};
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A service manager that listens.
#[derive(Debug)]
pub struct Notify {
    socket: UnixDatagram,
    /// How long it waits between two signs of life before it ends this process, nanoseconds.
    pub watchdog_ns: Option<u64>,
}

impl Notify {
    /// The manager that the environment names; `None` if there is none.
    ///
    /// # Errors
    /// There is one, and its socket cannot be used.
    pub fn from_environment() -> Result<Option<Self>> {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let watched =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let watchdog_us =
            std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse::<u64>().ok());
        let watchdog_us = watchdog_us.filter(|time| watched && *time > 0);
        let mut notify = Self::connect(&name)?;
        notify.watchdog_ns = watchdog_us.map(|time| time.saturating_mul(1000));
        Ok(Some(notify))
    }

    /// The socket `name`: a path, or `@` and an abstract name.
    fn connect(name: &OsStr) -> Result<Self> {
        let fail = |e| Error::new("notify the service manager at", name, e);
        let bytes = name.as_bytes();
        let address = match bytes.strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name),
            None => SocketAddr::from_pathname(name),
        };
        let socket = UnixDatagram::unbound().map_err(fail)?;
        socket.connect_addr(&address.map_err(fail)?).map_err(fail)?;
        socket.set_nonblocking(true).map_err(fail)?;
        Ok(Notify { socket, watchdog_ns: None })
    }

    /// Sends lines of `KEY=value`. Does not block: if the manager's queue is full, they are lost.
    ///
    /// # Errors
    /// The manager has gone, or its queue is full.
    pub fn send(&self, lines: &str) -> Result<()> {
        let sent = self.socket.send(lines.as_bytes());
        sent.map(drop).map_err(|e| Error::new("notify the service manager", "", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_names_are_reached_and_a_full_queue_does_not_block() {
        let path = std::env::temp_dir().join(format!("baro-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixDatagram::bind(&path).unwrap();
        let notify = Notify::connect(path.as_os_str()).unwrap();
        notify.send("READY=1\nSTATUS=a").unwrap();
        let mut bytes = [0; 100];
        let count = listener.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"READY=1\nSTATUS=a");
        assert!((0..100_000).any(|_| notify.send("WATCHDOG=1").is_err()));
        std::fs::remove_file(&path).unwrap();

        let name = format!("baro-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixDatagram::bind_addr(&address).unwrap();
        Notify::connect(OsStr::new(&format!("@{name}"))).unwrap().send("STOPPING=1").unwrap();
        let count = listener.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"STOPPING=1");
        let error = Notify::connect(OsStr::new("/no/such/socket")).unwrap_err();
        assert!(error.to_string().contains("/no/such/socket"), "{error}");
    }
}

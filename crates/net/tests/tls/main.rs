//! TLS from outside: a client of rustls, clients that speak something else, and a certificate that changes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod client;

use baro_net::{Body, Limits, Request, Response, Server, Service, Tls};
use client::{client, fixture, plain};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Answers with the length of the body.
#[derive(Default)]
struct Lengths(AtomicU64);

impl Service for Lengths {
    fn answer(&self, _: &Request, body: &mut Body<'_, '_>) -> Response {
        self.0.fetch_add(1, Ordering::Relaxed);
        let (mut bytes, mut length) = ([0; 4_096], 0);
        while let Ok(count @ 1..) = body.read(&mut bytes) {
            length += count;
        }
        Response::of(200, "text/plain", format!("{length} bytes\n"))
    }
}

/// A folder with a certificate and its key, gone when dropped.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("baro-tls-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = Files(folder);
        files.put("one");
        files
    }

    fn put(&self, name: &str) {
        fs::copy(fixture(&format!("{name}.crt")), self.certificate()).unwrap();
        fs::write(self.key(), fs::read(fixture(&format!("{name}.key"))).unwrap()).unwrap();
        fs::set_permissions(self.key(), Permissions::from_mode(0o600)).unwrap();
    }

    fn certificate(&self) -> PathBuf {
        self.0.join("server.crt")
    }

    fn key(&self) -> PathBuf {
        self.0.join("server.key")
    }

    fn open(&self) -> Result<Tls, String> {
        Tls::open(&self.certificate(), &self.key())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `with` beside a server; what the service has answered, and the server's counters.
fn beside(files: &Files, with: impl FnOnce(SocketAddr, &Server)) -> (u64, u64) {
    let limits = Limits { head_ns: 500_000_000, ..Limits::default() };
    let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], limits).unwrap();
    let server = server.with(Some(files.open().unwrap()));
    assert_eq!(server.scheme(), "https");
    let address = server.addresses().next().unwrap();
    let (service, stop) = (Lengths::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve(&service, &stop, || {}));
        with(address, &server);
        stop.store(true, Ordering::Relaxed);
    });
    (service.0.load(Ordering::Relaxed), server.counters().counted().without_tls)
}

/// All that comes until the other side closes.
fn rest(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn requests_come_and_go_below_tls() {
    let files = Files::new("requests");
    let counted = beside(&files, |address, _| {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let mut client = client(address, "one.crt", version);
            let body = vec![b'x'; 300_000];
            for closes in ["keep-alive", "close"] {
                let head = format!(
                    "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\nConnection: {closes}\r\n\r\n",
                    body.len()
                );
                client.write_all(head.as_bytes()).unwrap();
                client.write_all(&body).unwrap();
            }
            let answers = rest(&mut client);
            assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
            assert_eq!(answers.matches("300000 bytes").count(), 2, "{answers}");
        }
    });
    assert_eq!(counted, (4, 0));
}

#[test]
fn what_is_no_tls_is_never_served() {
    let files = Files::new("others");
    let counted = beside(&files, |address, _| {
        // HTTP in the clear is told what is expected.
        let mut http = plain(address);
        http.write_all(b"POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
        let said = rest(&mut http);
        assert!(said.starts_with("HTTP/1.1 400") && said.contains("https://"), "{said}");
        // A client of TLS 1.0, with one suite of that time, is told by an alert (21), and that is all.
        let mut old = plain(address);
        let mut hello = vec![1, 0, 0, 45, 3, 1];
        hello.extend([7; 32]);
        hello.extend([0, 0, 2, 0, 0x2f, 1, 0, 0, 0]);
        hello[3] = (hello.len() - 4) as u8;
        let mut record = vec![22, 3, 1, 0, hello.len() as u8];
        record.extend(hello);
        old.write_all(&record).unwrap();
        let mut answer = Vec::new();
        let _ = old.read_to_end(&mut answer);
        assert_eq!((answer.first(), answer.len()), (Some(&21), 7), "{answer:?}");
        // Other bytes, a handshake that stops, and one of which a byte comes now and then.
        let mut other = plain(address);
        other.write_all(&[0, 255, 22, 3]).unwrap();
        assert_eq!(rest(&mut other), "");
        let mut stops = plain(address);
        stops.write_all(&record[..9]).unwrap();
        assert_eq!(rest(&mut stops), "");
        let mut trickles = plain(address);
        for byte in &record {
            if trickles.write_all(&[*byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(rest(&mut trickles), "");
        // A certificate that the client does not trust.
        let mut wary = client(address, "two.crt", &rustls::version::TLS13);
        assert!(wary.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_err());
    });
    assert_eq!(counted, (0, 6));
}

#[test]
fn a_renewed_certificate_is_taken_and_a_broken_one_is_not() {
    let files = Files::new("renewed");
    let asks = |address, trusted| {
        let mut client = client(address, trusted, &rustls::version::TLS13);
        let asked = client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        asked.is_ok() && rest(&mut client).starts_with("HTTP/1.1 200")
    };
    let until = |what: &dyn Fn() -> bool| {
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            what()
        })
    };
    beside(&files, |address, server| {
        assert!(asks(address, "one.crt") && !asks(address, "two.crt"));
        files.put("two");
        assert!(until(&|| asks(address, "two.crt")));
        assert!(!asks(address, "one.crt"));
        fs::copy(fixture("one.crt"), files.certificate()).unwrap();
        let is_told = || server.take_fault().is_some_and(|fault| fault.contains("server.key"));
        assert!(until(&is_told));
        assert!(asks(address, "two.crt"));
        assert_eq!(server.take_fault(), None);
    });
}

#[test]
fn files_that_are_wrong_are_named() {
    let files = Files::new("wrong");
    let fault = || files.open().unwrap_err();
    // Of root's its group may read: so the service's user has it.
    let is_root = fs::metadata(files.key()).unwrap().uid() == 0;
    for (mode, refused) in
        [(0o644, true), (0o604, true), (0o660, true), (0o640, !is_root), (0o400, false)]
    {
        fs::set_permissions(files.key(), Permissions::from_mode(mode)).unwrap();
        let found = files.open().err();
        assert_eq!(found.is_some(), refused, "{mode:o}: {found:?}");
        if let Some(said) = found {
            assert!(said.contains(&format!("found mode {mode:04o}")), "{said}");
        }
    }
    if is_root {
        std::os::unix::fs::chown(files.key(), Some(65_534), None).unwrap();
        assert!(fault().contains("found one of user 65534"), "{}", fault());
        fs::remove_file(files.key()).unwrap();
    }
    files.put("one");
    // A pipe holds nobody up, nor does what is no file.
    for name in [files.key(), files.certificate()] {
        fs::remove_file(&name).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&name).status().unwrap();
        assert!(made.success());
        assert!(fault().contains("found a pipe"), "{}", fault());
        fs::remove_file(&name).unwrap();
        fs::create_dir(&name).unwrap();
        assert!(fault().contains("expected a file"), "{}", fault());
        fs::remove_dir(&name).unwrap();
        files.put("one");
    }
    fs::write(files.key(), "x").unwrap();
    assert!(fault().contains("server.key: expected a private key in PEM"), "{}", fault());
    files.put("one");
    fs::write(files.key(), fs::read(fixture("two.key")).unwrap()).unwrap();
    assert!(fault().contains("server.key: expected the key of"), "{}", fault());
    fs::write(files.certificate(), vec![b'x'; 300 << 10]).unwrap();
    assert!(fault().contains("server.crt: expected at most"), "{}", fault());
    fs::write(files.certificate(), "").unwrap();
    assert!(
        fault().contains("server.crt: expected certificates in PEM, found none"),
        "{}",
        fault()
    );
    fs::remove_file(files.certificate()).unwrap();
    assert!(fault().contains("server.crt"), "{}", fault());
}

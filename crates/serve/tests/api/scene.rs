//! A folder for a store, and a server that reads it; both gone at the end.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) struct Scene(PathBuf);

pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    said: Arc<Mutex<String>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Scene {
    pub(crate) fn new(name: &str) -> Self {
        let own = format!("baro-serve-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Scene(folder)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro-serve"));
        command.arg("serve").arg(self.store()).args(options);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn serve(&self, options: &[&str]) -> Server {
        let mut child =
            self.command(&[&["--http", "127.0.0.1:0"], options].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said = lines.find_map(|line| {
            let (_, rest) = line.split_once("answering on ")?.1.split_once("://")?;
            rest.split(' ').next().map(str::to_owned)
        });
        let address = said.expect("it answers").parse().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let later = Arc::clone(&said);
        std::thread::spawn(move || {
            lines.for_each(|line| *later.lock().unwrap() += &format!("{line}\n"));
        });
        Server { child, address, said }
    }

    /// What it says when it does not start.
    pub(crate) fn refused(&self, options: &[&str]) -> String {
        let output = self.command(options).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A body from this port of this machine; `None` if nobody answers.
pub(crate) fn get(port: u16, target: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

impl Server {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has said since it answers.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Peak resident memory.
    pub(crate) fn peak_kib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Asks it to end.
    pub(crate) fn stop(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    }

    pub(crate) fn with_token(&self, token: &str, target: &str) -> Told {
        let (status, body) =
            self.send("GET", target, &format!("Authorization: Bearer {token}\r\n"), "");
        Told { status, body: serde_json::from_str(&body).unwrap() }
    }

    fn raw(&self, method: &str, target: &str, body: &str) -> (u16, String) {
        self.send(method, target, "", body)
    }

    fn send(&self, method: &str, target: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let form = "Content-Type: application/x-www-form-urlencoded";
        let length = body.len();
        write!(
            stream,
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{form}\r\n{headers}Connection: close\r\nContent-Length: \
             {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, body.to_owned())
    }

    pub(crate) fn ask(&self, method: &str, target: &str, body: &str) -> Told {
        let (status, body) = self.raw(method, target, body);
        let body = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{target}: {body}"));
        Told { status, body }
    }

    pub(crate) fn get(&self, target: &str) -> Told {
        self.ask("GET", target, "")
    }

    pub(crate) fn post(&self, target: &str, form: &str) -> Told {
        self.ask("POST", target, form)
    }

    pub(crate) fn get_text(&self, target: &str) -> (u16, String) {
        self.raw("GET", target, "")
    }
}

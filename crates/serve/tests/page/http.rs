//! Requests as a browser sends them, and answers with their headers.

use crate::scene::Server;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Told {
    /// The value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The sentence of a refusal.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or("").to_owned()
    }
}

/// With these headers, each with its line end.
pub(crate) fn send(server: &Server, method: &str, target: &str, headers: &str, body: &str) -> Told {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = if headers.contains("Host:") { "" } else { "Host: 127.0.0.1:9090\r\n" };
    let form = "Content-Type: application/x-www-form-urlencoded";
    let length = body.len();
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\n{host}{form}\r\n{headers}Connection: close\r\nContent-Length: \
         {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Told { status, head: head.to_owned(), body: body.to_owned() }
}

pub(crate) fn get(server: &Server, target: &str) -> Told {
    send(server, "GET", target, "", "")
}

/// A form, as the page asks.
pub(crate) fn ask(server: &Server, what: &str, pairs: &[(&str, &str)]) -> Told {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    let body: Vec<String> = pairs.collect();
    send(server, "POST", &format!("/live/{what}"), "", &body.join("&"))
}

fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

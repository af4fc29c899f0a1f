//! A client of the socket: the handshake by hand, the frames by `tungstenite`.

use crate::scene::Server;
use rustls::{ClientConnection, StreamOwned};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use tungstenite::error::ProtocolError;
use tungstenite::protocol::Role;
use tungstenite::{Error, Message, WebSocket};

/// The newer name of the protocol.
pub(crate) const SDK: &str = "foxglove.sdk.v1";
/// A test that waits for longer has failed.
const WAIT: Duration = Duration::from_secs(60);

/// A topic as it was advertised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Channel {
    pub(crate) id: u32,
    pub(crate) encoding: String,
    pub(crate) schema: String,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Told {
    /// Subscription, time and payload.
    Message(u32, u64, Vec<u8>),
    Time(u64),
    /// Level, id and message.
    Status(u64, String, String),
    /// New topics.
    Topics,
}

/// A connection, in the clear or below TLS.
pub(crate) trait Link: Read + Write {
    fn tcp(&self) -> &TcpStream;
}

impl Link for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Link for StreamOwned<ClientConnection, TcpStream> {
    fn tcp(&self) -> &TcpStream {
        &self.sock
    }
}

#[derive(Debug)]
pub(crate) struct Client<L = TcpStream> {
    socket: WebSocket<L>,
    pub(crate) info: Value,
    /// By name; a channel's frames beside its fields have `#` behind it.
    pub(crate) topics: BTreeMap<String, Channel>,
}

/// An answer to a request for a socket: its status, its head, and the connection.
pub(crate) fn ask(server: &Server, target: &str, headers: &str) -> (u16, String, TcpStream) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let (status, head) = ask_on(&mut stream, target, headers);
    (status, head, stream)
}

/// The same on a connection that there is.
pub(crate) fn ask_on(stream: &mut impl Link, target: &str, headers: &str) -> (u16, String) {
    stream.tcp().set_read_timeout(Some(WAIT)).unwrap();
    let host = if headers.contains("Host:") { "" } else { "Host: 127.0.0.1:9090\r\n" };
    write!(stream, "GET {target} HTTP/1.1\r\n{host}{headers}\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&head));
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head)
}

/// The headers of a socket of these protocols.
pub(crate) fn headers(protocols: &str) -> String {
    format!(
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocols}\r\n"
    )
}

/// The body behind such a head.
pub(crate) fn body(head: &str, mut stream: impl Read) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.unwrap().1.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

impl Client {
    pub(crate) fn connect(server: &Server, target: &str) -> Self {
        Client::with(server, target, &headers(SDK))
    }

    pub(crate) fn with(server: &Server, target: &str, headers: &str) -> Self {
        Client::on(TcpStream::connect(server.address()).unwrap(), target, headers)
    }
}

impl<L: Link> Client<L> {
    /// Connected, and told what the server is and which topics there are.
    pub(crate) fn on(mut stream: L, target: &str, headers: &str) -> Self {
        let (status, head) = ask_on(&mut stream, target, headers);
        assert_eq!(status, 101, "{head}");
        assert!(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
        let socket = WebSocket::from_raw_socket(stream, Role::Client, None);
        let mut client = Client { socket, info: Value::Null, topics: BTreeMap::new() };
        let Message::Text(info) = client.read() else { panic!("no server info") };
        client.info = serde_json::from_str(&info).unwrap();
        assert_eq!(client.info["op"], "serverInfo");
        assert!(matches!(client.next(), Told::Topics));
        client
    }

    pub(crate) fn read(&mut self) -> Message {
        self.socket.read().unwrap()
    }

    /// How the server closes, once it does: the code and the reason.
    pub(crate) fn closed(mut self) -> (u16, String) {
        loop {
            match self.socket.read() {
                Ok(Message::Close(Some(frame))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Ok(_) => {}
                Err(error) => panic!("no close: {error}"),
            }
        }
    }

    /// Says nothing more. How many statuses come until the server ends it, and its code, if it closes with one.
    pub(crate) fn end(mut self) -> Result<(usize, Option<u16>), String> {
        self.socket.get_ref().tcp().shutdown(Shutdown::Write).unwrap();
        let mut statuses = 0;
        loop {
            match self.socket.read() {
                Ok(Message::Close(frame)) => {
                    return Ok((statuses, frame.map(|frame| frame.code.into())));
                }
                Ok(Message::Binary(bytes)) => drop(told(&bytes)),
                Ok(Message::Text(text)) => match self.text(&serde_json::from_str(&text).unwrap()) {
                    Told::Status(..) => statuses += 1,
                    other => return Err(format!("{other:?}")),
                },
                Ok(_) => {}
                Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => {
                    return Ok((statuses, None));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    pub(crate) fn next(&mut self) -> Told {
        loop {
            match self.read() {
                Message::Binary(bytes) => return told(&bytes),
                Message::Text(text) => return self.text(&serde_json::from_str(&text).unwrap()),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next thing that comes within a time.
    pub(crate) fn poll(&mut self, wait: Duration) -> Option<Told> {
        self.socket.get_ref().tcp().set_read_timeout(Some(wait)).unwrap();
        let read = self.socket.read();
        self.socket.get_ref().tcp().set_read_timeout(Some(WAIT)).unwrap();
        match read {
            Ok(Message::Binary(bytes)) => Some(told(&bytes)),
            Ok(Message::Text(text)) => Some(self.text(&serde_json::from_str(&text).unwrap())),
            Ok(_) => None,
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    fn text(&mut self, text: &Value) -> Told {
        match text["op"].as_str() {
            Some("advertise") => {
                for one in text["channels"].as_array().unwrap() {
                    let own = |name: &str| one[name].as_str().unwrap_or("").to_owned();
                    let (encoding, schema) = (own("encoding"), own("schema"));
                    let is_json = encoding == "json";
                    let expected = if is_json { "jsonschema" } else { "" };
                    assert_eq!(own("schemaEncoding"), expected, "{one}");
                    assert_eq!(
                        own("schemaName"),
                        if is_json { own("topic") } else { String::new() }
                    );
                    let mark = if is_json { "" } else { "#" };
                    let id = one["id"].as_u64().unwrap().try_into().unwrap();
                    let channel = Channel { id, encoding, schema };
                    let before = self.topics.insert(format!("{}{mark}", own("topic")), channel);
                    assert_eq!(before, None, "{one}");
                }
                Told::Topics
            }
            Some("status") => Told::Status(
                text["level"].as_u64().unwrap(),
                text["id"].as_str().unwrap().to_owned(),
                text["message"].as_str().unwrap().to_owned(),
            ),
            _ => panic!("{text}"),
        }
    }

    pub(crate) fn send(&mut self, message: Message) {
        self.socket.send(message).unwrap();
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.send(Message::Text(message.to_string().into()));
    }

    /// Subscribes to topics by their names; ids are their places.
    pub(crate) fn subscribe(&mut self, names: &[&str]) {
        let one =
            |(id, name): (usize, &&str)| json!({"id": id, "channelId": self.topics[*name].id});
        let all: Vec<Value> = names.iter().enumerate().map(one).collect();
        self.say(&json!({"op": "subscribe", "subscriptions": all}));
    }

    /// The next message, whatever else comes before; times do not go back.
    pub(crate) fn message(&mut self) -> (u32, u64, Vec<u8>) {
        loop {
            if let Told::Message(id, time_ns, payload) = self.next() {
                return (id, time_ns, payload);
            }
        }
    }

    /// The next status.
    pub(crate) fn status(&mut self) -> (u64, String, String) {
        loop {
            if let Told::Status(level, id, message) = self.next() {
                return (level, id, message);
            }
        }
    }

    /// Bytes as they stand, past the library.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).unwrap();
    }
}

fn told(bytes: &[u8]) -> Told {
    let number = |from: usize| u64::from_le_bytes(bytes[from..from + 8].try_into().unwrap());
    match bytes[0] {
        1 => {
            let id = u32::from_le_bytes(bytes[1..5].try_into().unwrap());
            Told::Message(id, number(5), bytes[13..].to_vec())
        }
        2 => Told::Time(number(1)),
        code => panic!("code {code}"),
    }
}

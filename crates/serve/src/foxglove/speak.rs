//! One client: what it is told, when it is heard ([`hear`]), and how it ends.
//!
//! One thread reads and writes by turns. It waits for what is recorded, not for the client, whose few messages
//! are looked for some times a second. A client that takes nothing, or does not answer pings, is closed.

mod hear;

use super::Foxglove;
use super::client::{Client, Entered};
use super::queue::Waiting;
use super::told::{Notice, server_info};
use super::topics::{Topics, Wanted};
use crate::live::Live;
use baro_net::{Request, Talk};
use baro_sys::clock;
use tungstenite::error::{CapacityError, ProtocolError};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Bytes, Error, Message, WebSocket};

/// The longest message of a client: it subscribes to all topics at once. Read as JSON it takes 32 times as much.
const ASKED_BYTES_MAX: usize = 512 << 10;
/// Buffers of a connection.
const READ_BYTES: usize = 8 << 10;
const WRITE_BYTES: usize = 64 << 10;
/// For what a client asks is looked for so long, while nothing is sent to it and while something may be.
const ASKED_NS: u64 = 100_000_000;
const ASKED_BETWEEN_NS: u64 = 1_000_000;
/// Between two such looks.
const TURN_NS: u64 = 20_000_000;
/// Messages that are sent before the client is heard again.
const TURN_MESSAGES: usize = 1_024;
/// Who has said nothing for so long is asked whether it is there, and is gone after so long.
const PING_NS: u64 = 10_000_000_000;
const GONE_NS: u64 = 30_000_000_000;
/// How long a client waits until names are looked through for it.
const TOPICS_NS: u64 = 10_000_000_000;
/// What was dropped is told so often, and sooner where all that waited is sent.
const DROPPED_NS: u64 = 5_000_000_000;
const DROPPED_SENT_NS: u64 = 1_000_000_000;
/// Where nothing was recorded for so long, time goes on by itself, so far behind the clock.
const QUIET_NS: u64 = 1_000_000_000;
/// What a frame that closes has room for, RFC 6455 section 5.5.
const REASON_BYTES_MAX: usize = 123;

/// Ids of notices.
const DROPPED: &str = "dropped";
const LEFT_OUT: &str = "left-out";

/// Why it ends.
enum End {
    /// The other side has gone, or has closed.
    Gone,
    /// We close, for a reason.
    Closed(CloseCode, String),
}

type Outcome<T> = Result<T, End>;

/// A client, on its own thread.
struct Speaker<'a, 't, 'w, 's> {
    entered: Entered<'a>,
    socket: WebSocket<&'t mut Talk<'w, 's>>,
    heard_ns: u64,
    pinged_ns: u64,
    /// Messages that it was told that it missed, and when.
    dropped: u64,
    dropped_ns: u64,
    /// The time that it was told last, and when.
    time_ns: u64,
    timed_ns: u64,
}

/// Speaks until either side ends it.
pub(super) fn speak(foxglove: &Foxglove, live: &Live, request: &Request, talk: &mut Talk<'_, '_>) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_message_size(Some(ASKED_BYTES_MAX))
        .max_frame_size(Some(ASKED_BYTES_MAX));
    let mut socket = WebSocket::from_raw_socket(talk, Role::Server, Some(config));
    let Some(entered) = foxglove.clients.enter() else {
        close(&mut socket, CloseCode::Again, &foxglove.clients.full());
        return;
    };
    let now_ns = clock::monotonic_ns();
    let mut speaker = Speaker {
        entered,
        socket,
        heard_ns: now_ns,
        pinged_ns: now_ns,
        dropped: 0,
        dropped_ns: 0,
        time_ns: 0,
        timed_ns: now_ns,
    };
    let mut done = speaker.greet(foxglove, live, request);
    while done.is_ok() {
        done = speaker.turn(foxglove);
    }
    if let Err(End::Closed(code, reason)) = done {
        close(&mut speaker.socket, code, &reason);
    }
}

/// Closes and says why; what the client sends meanwhile is read over by who called.
fn close(socket: &mut WebSocket<&mut Talk<'_, '_>>, code: CloseCode, reason: &str) {
    let end = reason.floor_char_boundary(REASON_BYTES_MAX);
    let reason = reason.get(..end).unwrap_or_default().to_owned().into();
    // Who is gone is not told.
    let _ = socket.close(Some(CloseFrame { code, reason }));
}

/// What an error of the library means.
fn end_of(error: Error) -> End {
    let said = error.to_string();
    match error {
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        Error::Protocol(_) => End::Closed(CloseCode::Protocol, said),
        Error::Utf8(_) => End::Closed(CloseCode::Invalid, said),
        Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => End::Closed(
            CloseCode::Size,
            format!("expected a message of at most {max_size} bytes, found a longer one"),
        ),
        _ => End::Gone,
    }
}

impl Speaker<'_, '_, '_, '_> {
    fn client(&self) -> &Client {
        &self.entered.client
    }

    fn write(&mut self, message: Message) -> Outcome<()> {
        self.socket.write(message).map_err(end_of)
    }

    fn text(&mut self, text: String) -> Outcome<()> {
        self.write(Message::Text(text.into()))
    }

    fn flush(&mut self) -> Outcome<()> {
        self.socket.flush().map_err(end_of)
    }

    /// Tells what the server is, and which topics there are.
    fn greet(&mut self, foxglove: &Foxglove, live: &Live, request: &Request) -> Outcome<()> {
        let wanted =
            Wanted::of(&request.query).map_err(|said| End::Closed(CloseCode::Policy, said))?;
        let until_ns = clock::monotonic_ns().saturating_add(TOPICS_NS);
        let failed = |said: String| End::Closed(CloseCode::Error, said);
        let looked = live.turn(until_ns).and_then(|turn| {
            let store = turn.store()?;
            let topics = Topics::look(store, wanted)
                .map_err(|error| crate::api::Refusal::internal(&error))?;
            Ok((store.identity().store.to_string(), topics))
        });
        let (store, (topics, texts)) = looked.map_err(|refusal| failed(refusal.to_string()))?;
        let left_out = topics.left_out_text();
        self.client().lock().topics = Some(topics);
        self.text(server_info(&foxglove.session, &store))?;
        for text in texts {
            self.text(text)?;
        }
        if let Some(message) = left_out {
            self.text(Notice::warning(LEFT_OUT, message).text())?;
        }
        self.flush()
    }

    /// Hears and tells once.
    fn turn(&mut self, foxglove: &Foxglove) -> Outcome<()> {
        if self.socket.get_ref().is_stopping() {
            return Err(End::Closed(CloseCode::Away, "the server stops".to_owned()));
        }
        let may_come = self.client().lock().queue.has_subscriptions();
        let wait_ns = if may_come { ASKED_BETWEEN_NS } else { ASKED_NS };
        self.socket.get_mut().wait(wait_ns);
        self.hear(foxglove)?;
        self.look_after()?;
        let has_more = self.tell()?;
        self.flush()?;
        if may_come && !has_more {
            self.client().wait(TURN_NS);
        }
        Ok(())
    }

    /// Pings who is silent, and ends who is gone.
    fn look_after(&mut self) -> Outcome<()> {
        let now_ns = clock::monotonic_ns();
        let silent_ns = now_ns.saturating_sub(self.heard_ns);
        if silent_ns > GONE_NS {
            return Err(End::Closed(CloseCode::Policy, "expected an answer to pings".to_owned()));
        }
        if silent_ns > PING_NS && now_ns.saturating_sub(self.pinged_ns) > PING_NS {
            self.pinged_ns = now_ns;
            self.write(Message::Ping(Bytes::new()))?;
        }
        Ok(())
    }

    /// Tells what waits; whether there is more.
    fn tell(&mut self) -> Outcome<bool> {
        let (texts, notices) = {
            let mut state = self.client().lock();
            (std::mem::take(&mut state.texts), std::mem::take(&mut state.notices))
        };
        for text in texts {
            self.text(text)?;
        }
        for notice in notices.into_values() {
            self.text(notice.text())?;
        }
        let mut has_more = false;
        for _ in 0..TURN_MESSAGES {
            let next = self.client().lock().queue.pop();
            has_more = next.is_some();
            let Some(next) = next else { break };
            self.message(&next)?;
        }
        if !has_more {
            self.go_on()?;
        }
        self.tell_dropped(has_more)?;
        Ok(has_more)
    }

    fn message(&mut self, next: &Waiting) -> Outcome<()> {
        let now_ns = clock::realtime_ns().max(0).cast_unsigned();
        // One sample of a wrong clock does not take the time with it.
        self.tell_time(next.time_ns.min(now_ns))?;
        let mut bytes = Vec::with_capacity(13 + next.payload.len());
        bytes.push(1);
        bytes.extend_from_slice(&next.subscription.to_le_bytes());
        bytes.extend_from_slice(&next.time_ns.to_le_bytes());
        bytes.extend_from_slice(&next.payload);
        self.write(Message::Binary(bytes.into()))
    }

    /// Tells the time, which never goes back: a picture is drawn by it.
    fn tell_time(&mut self, time_ns: u64) -> Outcome<()> {
        self.timed_ns = clock::monotonic_ns();
        if time_ns <= self.time_ns {
            return Ok(());
        }
        self.time_ns = time_ns;
        let mut bytes = vec![2];
        bytes.extend_from_slice(&time_ns.to_le_bytes());
        self.write(Message::Binary(bytes.into()))
    }

    /// Lets the time go on where nothing is recorded.
    fn go_on(&mut self) -> Outcome<()> {
        if clock::monotonic_ns().saturating_sub(self.timed_ns) < QUIET_NS {
            return Ok(());
        }
        let now_ns = clock::realtime_ns().max(0).cast_unsigned();
        self.tell_time(now_ns.saturating_sub(QUIET_NS))
    }

    fn tell_dropped(&mut self, has_more: bool) -> Outcome<()> {
        let dropped = self.client().lock().queue.dropped();
        let now_ns = clock::monotonic_ns();
        let wait_ns = if has_more { DROPPED_NS } else { DROPPED_SENT_NS };
        let is_first = self.dropped == 0;
        if dropped == self.dropped
            || (!is_first && now_ns.saturating_sub(self.dropped_ns) < wait_ns)
        {
            return Ok(());
        }
        (self.dropped, self.dropped_ns) = (dropped, now_ns);
        let message = format!(
            "expected a client that keeps up, found a slow one: {dropped} messages were dropped, the oldest \
             of each topic; subscribe to fewer topics"
        );
        self.text(Notice::warning(DROPPED, message).text())
    }
}

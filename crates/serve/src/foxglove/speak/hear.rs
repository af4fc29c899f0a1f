//! What a client says: what it asks for is done, and what of it cannot be is told by name.

use super::{End, Outcome, Speaker, end_of};
use crate::foxglove::Foxglove;
use crate::foxglove::client::State;
use crate::foxglove::ops::{self, Op};
use crate::foxglove::queue::Taken;
use crate::foxglove::told::Notice;
use baro_sys::clock;
use std::io::ErrorKind;
use tungstenite::{Error, Message};

/// Refusals of parts of one message that are told one by one.
const REFUSALS_MAX: usize = 8;

/// Ids of notices.
const REFUSED: &str = "refused";
const TOPICS: &str = "topics";

impl Speaker<'_, '_, '_, '_> {
    /// Hears what has come, until the wait is over.
    pub(super) fn hear(&mut self, foxglove: &Foxglove) -> Outcome<()> {
        loop {
            let message = match self.socket.read() {
                Ok(message) => message,
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(end_of(error)),
            };
            self.heard_ns = clock::monotonic_ns();
            match message {
                Message::Text(text) => self.hear_text(foxglove, text.as_str())?,
                Message::Binary(bytes) => self.refuse(REFUSED, ops::of_bytes(&bytes))?,
                Message::Close(_) => {
                    // The answer is on its way with this.
                    let _ = self.socket.flush();
                    return Err(End::Gone);
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    fn hear_text(&mut self, foxglove: &Foxglove, text: &str) -> Outcome<()> {
        let op = match ops::of_text(text) {
            Ok(op) => op,
            Err(said) => return self.refuse(REFUSED, said),
        };
        let refused = work(&mut self.client().lock(), op);
        foxglove.clients.have_changed();
        refused.into_texts().into_iter().try_for_each(|said| self.refuse(TOPICS, said))
    }

    fn refuse(&mut self, id: &'static str, said: String) -> Outcome<()> {
        self.text(Notice::error(id, said).text())
    }
}

/// What of one message cannot be.
#[derive(Debug, Default)]
struct Refused {
    /// The first ones in words.
    texts: Vec<String>,
    count: usize,
}

impl Refused {
    fn push(&mut self, said: String) {
        self.count += 1;
        if self.count <= REFUSALS_MAX {
            self.texts.push(said);
        }
    }

    /// The first ones, and how many more there are.
    fn into_texts(mut self) -> Vec<String> {
        if self.count > REFUSALS_MAX {
            self.texts.push(format!("and {} more of the same message", self.count - REFUSALS_MAX));
        }
        self.texts
    }
}

/// Does what is asked for.
fn work(state: &mut State, op: Op) -> Refused {
    let mut refused = Refused::default();
    match op {
        Op::Subscribe(all) => {
            for (id, channel) in all {
                if let Err(said) = subscribe(state, id, channel) {
                    refused.push(format!("subscription {id}: {said}"));
                }
            }
        }
        Op::Unsubscribe(ids) => {
            for id in ids {
                if !state.queue.unsubscribe(id) {
                    refused
                        .push(format!("expected a subscription to end, found the unknown id {id}"));
                }
            }
        }
    }
    refused
}

fn subscribe(state: &mut State, id: u32, channel: u32) -> Result<(), String> {
    if !state.topics.as_ref().is_some_and(|topics| topics.has(channel)) {
        return Err(format!("expected a channel that was advertised, found {channel}"));
    }
    state.queue.subscribe(channel, id).map_err(|taken| match taken {
        Taken::Id => "expected a new id, found one that is in use".to_owned(),
        Taken::Channel => {
            format!("expected one subscription of channel {channel}, found another one")
        }
    })
}

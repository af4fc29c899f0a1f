//! The socket of Foxglove: what is recorded now, as topics that Foxglove and Lichtblick draw.
//!
//! # Design
//!
//! **The protocol of Foxglove, to read alone.** The server says what topics there are ([`topics`]), a client
//! subscribes to some ([`ops`]), and messages of these come as they become durable ([`follower`]). Whatever else
//! a client may ask for is refused by name; nothing is offered that is not there.
//!
//! **The server's own port.** A socket begins as a request ([`handshake`]), so it has the addresses, TLS, tokens
//! and limits of all others.
//!
//! **A thread for each client, and one that reads the log for all.** The one that reads waits for nobody: it
//! puts messages into a queue of each client ([`queue`]), which keeps the newest where a client is slow. Each
//! client's own thread takes them out and speaks with it ([`speak`]).
//!
//! Invariant: no bytes of a client make the server panic, wait for ever or hold more than its limits, and what a
//! client missed is told. Held by `tests/foxglove`.

mod client;
mod follower;
mod handshake;
mod ops;
mod queue;
mod speak;
mod told;
mod topics;

pub(crate) use handshake::is_asked;

use crate::api::Refusal;
use crate::live::Live;
use baro_net::{Request, Response, Talk};
use baro_sys::clock;
use client::Clients;
use std::path::{Path, PathBuf};
use topics::Wanted;

/// What all sockets have in common.
#[derive(Debug)]
pub(crate) struct Foxglove {
    path: PathBuf,
    clients: Clients,
    /// Another one after each start: who comes again knows that the server is not the one before.
    session: String,
}

impl Foxglove {
    /// Of the store at `path`, for so many clients at once.
    pub(crate) fn new(path: &Path, clients: usize) -> Self {
        let session = clock::realtime_ns().to_string();
        Foxglove { path: path.to_owned(), clients: Clients::new(clients), session }
    }

    /// The answer to a request for a socket.
    ///
    /// # Errors
    /// It is none, or asks for something that there is not, or there is no room.
    pub(crate) fn answer(&self, request: &Request) -> Result<Response, Refusal> {
        Wanted::of(&request.query).map_err(|said| Refusal::bad(&said))?;
        let response = handshake::answer(request)?;
        match self.clients.are_full() {
            true => Err(Refusal::timeout(&self.clients.full())),
            false => Ok(response),
        }
    }

    /// Speaks with a client until either side ends it.
    pub(crate) fn talk(&self, live: &Live, request: &Request, talk: &mut Talk<'_, '_>) {
        speak::speak(self, live, request, talk);
    }
}

//! HTTP/1.1 on threads, with a bound on everything that a client can ask for; and tokens. It knows nothing
//! of stores: whoever serves something hands it a [`Service`].
//!
//! # Design
//!
//! **One thread for each connection, and no async runtime.** A request of a recorder's client is a body
//! that is parsed while it comes, and a wait for a disk. A thread does both in plain code, the number of
//! connections is bounded anyway, and nothing of a runtime is linked. An idle thread costs a few pages.
//!
//! **Bytes are judged by pure code.** [`head`] reads a request's head, [`chunked`] the pieces of a body: bytes
//! in, answers out. What comes from sockets is in `wire`, what turns them into a body in `body`.
//!
//! **Two programs must not read one request differently.** A proxy and a server that disagree where a body
//! ends let one client speak in another's name. So whatever can be read in two ways is refused, and the
//! connection closed: both `Content-Length` and `Transfer-Encoding`, one of them twice, a length that is no
//! plain number, a line that ends with a line feed alone, a folded header, two `Host`.
//!
//! **A body is never held.** [`Body::read`] hands on what has come, unpacked if it was gzip. Both the bytes
//! that come and the bytes that they unpack to are counted against a limit.
//!
//! **Every wait ends.** A head has a time in which it must be whole. A body must go on, and be faster than a
//! trickle. An answer must be taken. A client that waits between two requests gives its place to a new one
//! when all places are taken.
//!
//! Invariant: no bytes of a client make it panic, wait for ever, take more memory than [`Limits`] says, or
//! read one request as two. Held by the tests of this crate, and by `tests/http/attacks.rs` of `baro-listen`.

mod body;
pub mod chunked;
mod connection;
mod counters;
mod date;
mod error;
mod gate;
mod gzip;
pub mod head;
mod limits;
mod origin;
mod packed;
mod places;
mod query;
mod response;
mod room;
mod server;
mod talk;
mod tls;
pub mod tokens;
mod wire;

pub use body::Body;
pub use counters::{Counted, Counters};
pub use error::BodyError;
pub use gate::{Gate, Pass, challenged, is_open};
pub use head::{Encoding, Request};
pub use limits::Limits;
pub use query::Query;
pub use response::{Response, quoted};
pub use room::{Held, Room};
pub use server::{Server, Service};
pub use talk::Talk;
pub use tls::Tls;

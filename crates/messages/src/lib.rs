//! What a store has as topics and messages, as robotics tools such as Foxglove take them.
//!
//! A series is a topic of JSON messages `{"value":21.5}`; a channel with a field layout one of
//! `{"speed":1.5,"cell":[1,2]}`, a message for each time. Frames as they are have no schema. Gaps and steps of
//! the clock are messages of the topic `baro/notes`.
//!
//! A crate of its own, since a file of MCAP and a socket of Foxglove have the same topics, and what writes files
//! brings much along that a server does not need. Pure: points in, messages out.
//!
//! Invariant: a store is spelled the same in a file and on a socket. Held by
//! `messages_are_those_of_an_mcap_export` (`crates/serve/tests/foxglove`), and by `crates/export/tests`.

mod messages;
mod topic;

pub use messages::{Key, Message, Messages, Told};
pub use topic::{Topic, note};

//! Samples by name on their way into a store: names become ids, values the type of their series,
//! and records go into a ring.
//!
//! Every door that takes samples by name goes through here (lines on stdin, datagrams, files), so
//! that a value means the same whichever it came in by. The parsers are `baro_sources`; who opens
//! files and sockets, and prints, is the caller.
//!
//! ```no_run
//! use baro_ingest::{Intake, Manner, Room, Row, Target, Types, Value, Waiting};
//! let recorder = baro_recorder::Recorder::open("/data/store".as_ref(), Default::default())?;
//! let waiting = Waiting::default();
//! let target = Target::of(&recorder, Room::WhileItMoves(&waiting))?;
//! let mut intake = Intake::new("rig", target, Manner::together())?;
//! let row = Row {
//!     line: 1,
//!     series: "temp{room=\"lab\"}",
//!     time_ns: 1_700_000_000_000_000_000,
//!     value: Value::Float(21.5),
//!     types: Types::Exact,
//!     joint: None,
//!     written: None,
//! };
//! intake.take(&row, &mut |refusal| eprintln!("{refusal}"))?;
//! let fed = intake.finish(&mut |refusal| eprintln!("{refusal}"))?;
//! assert_eq!((fed.samples, fed.bad), (1, 0));
//! # Ok::<(), baro_ingest::Error>(())
//! ```
//!
//! Invariant: what comes in is understood or refused, never guessed, and what is refused is counted
//! with its line and reason. [`types`] is the only place that decides; held by its test
//! `each_value_and_each_type_have_one_answer`, and from outside by `tests/sources.rs` and
//! `tests/import.rs` of the command line.

mod batch;
mod error;
mod fed;
mod intake;
mod known;
mod lately;
mod ledger;
mod manner;
mod names;
mod recount;
mod refusal;
mod replaced;
mod seen;
mod target;
pub mod types;
mod value;
mod waiting;

pub use baro_sources::{Joint, Key, KeyMaker};
pub use batch::Batch;
pub use error::{Error, Result};
pub use fed::{Fed, Histogram};
pub use intake::{Ended, Intake};
pub use known::{Known, Met, SharedKnown};
pub use ledger::{Ledger, Place, Unkept};
pub use manner::{Gather, Manner, Row};
pub use recount::{Recount, Unseen};
pub use refusal::{Reason, Refusal, Tell};
pub use target::{Room, Target};
pub use types::{Misfit, Types};
pub use value::Value;
pub use waiting::Waiting;

//! Records sensor and control data without ever making the producer wait, and reads it back.
//!
//! A push copies a record into memory and returns: it never blocks, allocates or calls the kernel. A
//! thread behind it makes the record durable, in files that were written in full when the store was
//! made. What the disk is too slow for is refused, counted, and told.
//!
//! # Record and read back
//!
//! ```
//! use barograph::{Aggregate::Mean, Recorder, Store, Time};
//! use std::time::Duration;
//!
//! # let folder = std::env::temp_dir().join(format!("baro-front-{}", std::process::id()));
//! let recorder = Recorder::create_or_open(folder.join("store")).size(32 << 20).recycle().open()?;
//! let frames = recorder.channel("control", "speed:f32@0(m/s)")?;
//! let x = recorder.series::<f64>("position{axis=\"x\"}", "mm")?;
//! let mut push = recorder.producer()?;
//! for cycle in 0..1000 {
//!     let now = Time::now();
//!     push.frame(frames, now, &[0; 64])?;
//!     push.sample(x, now, f64::from(cycle))?;
//! }
//! push.wait_durable(Duration::from_secs(60))?;
//!
//! let store = Store::open(folder.join("store"))?;
//! for column in store.query("position").last(Duration::from_secs(3600)).columns()? {
//!     let column = column?;
//!     assert_eq!((column.name(), column.len()), ("position{axis=\"x\"}", 1000));
//! }
//! let hour = Duration::from_secs(3600);
//! let means = store.query("position").every(hour, Mean).columns()?;
//! # assert!(means.count() == 1);
//! # drop((push, recorder)); std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types are checked by the compiler
//!
//! A series is declared with the type of its values, so that none of another type can be pushed:
//!
//! ```compile_fail
//! # fn f(recorder: barograph::Recorder) -> Result<(), Box<dyn std::error::Error>> {
//! let x = recorder.series::<f64>("x", "mm")?;
//! recorder.producer()?.sample(x, barograph::Time::now(), 20_i64)?;
//! # Ok(()) }
//! ```
//!
//! # A loop that must not wait
//!
//! A refused push costs the record and not the deadline. A batch of series of one type is one record:
//!
//! ```
//! use barograph::{Recorder, Time};
//! # let folder = std::env::temp_dir().join(format!("baro-doc-loop-{}", std::process::id()));
//! # let store = folder.join("store");
//! # std::fs::create_dir_all(&folder)?;
//!
//! let recorder = Recorder::create_or_open(&store).size(32 << 20).priority(50).open()?;
//! let joints = recorder.group::<f64>(&["joint{n=\"1\"}", "joint{n=\"2\"}"], "rad")?;
//! let state = recorder.series::<String>("state", "")?;
//! let mut push = recorder.producer()?;
//! let mut refused = 0;
//! push.sample(state, Time::now(), "running")?;
//! loop {
//!     let angles = [0.1, 0.2];
//!     refused += u64::from(push.row(&joints, Time::now(), &angles).is_err());
//! #   break;
//! }
//! let closed = recorder.close();
//! println!("refused {refused}, lost {}, damage {:?}", closed.lost(), closed.damage());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In several processes
//!
//! One process records, others push through its rings: see [`Attached`].
//!
//! What is below this crate has more (pins, triggers, runs): see the crates
//! `baro-recorder` and `baro-store`.

mod attached;
mod error;
mod open;
mod producer;
mod query;
mod recorder;
mod series;
mod settling;
mod store;
mod time;

pub use attached::Attached;
pub use baro_plain as plain;
pub use baro_recorder::Refused;
pub use baro_store::{Aggregate, QueryNotes, Values};
pub use error::Error;
pub use open::Opening;
pub use producer::Producer;
pub use query::{Column, Columns, Query, Value};
pub use recorder::{Closed, Recorder};
pub use series::{Channel, Group, Kind, SAMPLES_MAX, Series};
pub use store::Store;
pub use time::Time;

/// What every fallible call here returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The README's program is built with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

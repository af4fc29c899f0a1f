//! The real-time write path: ring, writer, keeper.
//!
//! A producer copies records into a locked ring in shared memory and never waits; a writer makes
//! them durable in recycled, fully written segments; what is lost is counted, with its cause.
//!
//! ```no_run
//! use baro_recorder::{Options, Recorder};
//! let recorder = Recorder::open("/data/store".as_ref(), Options::default())?;
//! let control = recorder.declare(&[("control", baro_ondisk::Type::Channel, "")])?[0];
//! let mut producer = recorder.producer()?;
//! let sequence = producer.push_frame(control, 1_700_000_000_000_000_000, &[0; 16384]);
//! # Ok::<(), baro_recorder::Error>(())
//! ```

#![cfg_attr(
    not(feature = "simulate"),
    allow(unreachable_pub, dead_code, reason = "the features hand these parts out")
)]

mod asking;
mod attach;
mod declarations;
mod error;
#[cfg(feature = "inspect")]
pub mod inspect;
mod keeper;
mod opening;
mod options;
mod recorder;
mod ring;
#[cfg(feature = "simulate")]
pub mod simulate;
mod types;
mod writer;

pub use attach::attach;
pub use error::Error;
pub(crate) use error::Result;
pub use keeper::{Growth, PinRequest};
pub use opening::Opening;
pub use options::{Options, Rings};
pub use recorder::{Closed, Recorder};
pub use ring::{Number, Producer, Refused, RingReport, RingView, Waits};
pub use writer::{PinRefusal, Retention, Status, Trigger, Trouble};

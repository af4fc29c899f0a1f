//! The writer: takes records from rings and makes them durable, in blocks, in segments.
//!
//! `engine` decides, `device` does. The engine is a state machine without a clock and without
//! I/O: a thread drives it with real threads and files, the simulator's tests drive it with
//! simulated ones, in every order of completion that a device could choose.

mod choose;
pub(crate) mod device;
mod engine;
mod flight;
mod flush;
mod private;
mod retention;
mod status;
mod thread;
mod watch;

pub(crate) use device::{FileDevice, Own, WRITE_THREADS};
pub(crate) use engine::Stored;
pub use engine::{Engine, Event, Now, PinRefusal, PinStart, Start};
pub use retention::Retention;
pub use status::{Status, Trouble};
pub(crate) use thread::{BROKEN, Command, Published, Scheduling, WriterThread, now};
pub use watch::Trigger;

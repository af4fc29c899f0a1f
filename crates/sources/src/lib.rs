//! The inputs of `baro record`: this machine's kernel counters ([`proc`]), lines of CSV
//! and of JSON ([`csv`], [`json`]), of the Influx line protocol ([`influx`]) and of Prometheus and OpenMetrics
//! ([`prometheus`]), messages of remote write ([`remote_write`]) and of OpenTelemetry ([`otlp`]), frames of one size ([`raw`]) or with their length before them ([`frames`]), datagrams of lines ([`datagram`]), and generated data that proves itself
//! ([`generate`]).
//!
//! Every module but [`proc`] is pure: bytes go in, samples or frames come out, and the caller owns
//! files, clocks and threads. So each can be tested on any bytes cut anywhere, and none can make
//! the writer wait. No module panics on what it is fed; each says so in its own tests.

mod calendar;
pub mod csv;
pub mod datagram;
mod form;
pub mod frames;
pub mod generate;
pub mod influx;
pub mod json;
mod key;
mod labels;
mod lines;
mod milliseconds;
pub mod number;
pub mod otlp;
pub mod proc;
pub mod prometheus;
mod protobuf;
pub mod raw;
mod records;
pub mod remote_write;
mod sample;
mod time;
mod zone;

pub use calendar::{CalendarStep, CalendarUnit};
pub use form::{Kind, Role, TextForm};
pub use key::{Key, KeyMaker};
pub use records::Held;
pub use sample::{Joint, Mark, Refused, Sample, Scalar};
pub use time::{TimeFault, Times, zone_s};
pub use zone::{Rules, Zone};

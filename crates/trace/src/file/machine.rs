//! What must be known of a machine to understand its trace elsewhere.
//!
//! As text, one fact a line, so that facts can be added and old readers pass them over.
//!
//! Invariant: what is encoded is decoded; a line feed in a value cannot make another fact. Held by
//! `the_machine_round_trips_and_what_is_missing_is_named`.

use crate::error::{Error, Result};

/// The machine and the clock of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's release, as `uname -r` says it.
    pub kernel: String,
    /// The tracer's clock; `mono` is CLOCK_MONOTONIC.
    pub clock: String,
    /// Processors that have a buffer.
    pub cpus: u32,
    /// Time since the Unix epoch less the tracer's clock, in nanoseconds, when recording began.
    pub realtime_offset_ns: i64,
    /// Time since boot, sleep counted, less the tracer's clock, in nanoseconds.
    pub boottime_offset_ns: i64,
    /// Ticks of the kernel in a second: the unit of jbd2's own times. Not every machine tells it.
    pub hz: Option<u32>,
    /// The machine's kind, as `std::env::consts::ARCH` says it (`x86_64`): system calls are numbered
    /// by it. Traces of before it was recorded do not tell it.
    pub arch: Option<String>,
}

const WHAT: &str = "machine of a trace";

impl Machine {
    pub(super) fn encode(&self) -> Vec<u8> {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        let mut text = format!(
            "kernel {}\nclock {}\ncpus {}\nrealtime_offset_ns {}\nboottime_offset_ns {}\n",
            line(&self.kernel),
            line(&self.clock),
            self.cpus,
            self.realtime_offset_ns,
            self.boottime_offset_ns,
        );
        if let Some(hz) = self.hz {
            text.push_str(&format!("hz {hz}\n"));
        }
        if let Some(arch) = &self.arch {
            text.push_str(&format!("arch {}\n", line(arch)));
        }
        text.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        let fact = |key: &str| {
            let of_key = |line: &str| line.strip_prefix(key)?.strip_prefix(' ').map(str::to_owned);
            text.lines().enumerate().find_map(|(index, line)| Some((index + 1, of_key(line)?)))
        };
        let missing = |key| Error::text(WHAT, text.lines().count(), key, "the end");
        fn number<T: std::str::FromStr>((line, value): (usize, String)) -> Result<T> {
            value.parse().map_err(|_| Error::text(WHAT, line, "a number", &value))
        }
        Ok(Self {
            kernel: fact("kernel").ok_or_else(|| missing("kernel"))?.1,
            clock: fact("clock").ok_or_else(|| missing("clock"))?.1,
            cpus: number(fact("cpus").ok_or_else(|| missing("cpus"))?)?,
            realtime_offset_ns: number(
                fact("realtime_offset_ns").ok_or_else(|| missing("realtime_offset_ns"))?,
            )?,
            boottime_offset_ns: number(
                fact("boottime_offset_ns").ok_or_else(|| missing("boottime_offset_ns"))?,
            )?,
            hz: fact("hz").map(number).transpose()?,
            arch: fact("arch").map(|(_, arch)| arch),
        })
    }
}

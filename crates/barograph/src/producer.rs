//! The side that must not wait.

use crate::series::{Number, Pushed};
use crate::{Channel, Error, Group, Kind, Result, Series, Time};
use baro_recorder::Refused;
use baro_sys::clock;
use std::time::Duration;

/// Pushes records into a ring of its own. One for each thread that records.
///
/// No push blocks, allocates or enters the kernel. Each returns the record's sequence number, which
/// counts from 0; a refused one has used its number too, and shows in the log as a gap.
#[derive(Debug)]
pub struct Producer {
    pub(crate) inner: baro_recorder::Producer,
}

impl Producer {
    /// Pushes a sample.
    ///
    /// # Errors
    /// See [`Refused`]: the ring is full, or a text is longer than 64 KiB.
    #[inline]
    pub fn sample<T: Kind>(
        &mut self,
        series: Series<T>,
        time: impl Into<Time>,
        value: <T as Pushed>::Value<'_>,
    ) -> std::result::Result<u64, Refused> {
        T::push(&mut self.inner, series.id, time.into().ns(), value)
    }

    /// Pushes a value for each series of a group, as one record: far cheaper than one by one.
    ///
    /// # Errors
    /// See [`Refused`]: also if there are more or fewer values than series.
    #[inline]
    pub fn row<T: Kind + Number>(
        &mut self,
        group: &Group<T>,
        time: impl Into<Time>,
        values: &[T],
    ) -> std::result::Result<u64, Refused> {
        T::push_row(&mut self.inner, &group.ids, time.into().ns(), values)
    }

    /// Pushes a frame of bytes.
    ///
    /// # Errors
    /// See [`Refused`]: also if the frame is larger than the recorder was opened for.
    #[inline]
    pub fn frame(
        &mut self,
        channel: Channel,
        time: impl Into<Time>,
        bytes: &[u8],
    ) -> std::result::Result<u64, Refused> {
        self.inner.push_frame(channel.id, time.into().ns(), bytes)
    }

    /// Records that were pushed or refused so far: the sequence number of the next one.
    #[must_use]
    pub fn pushed(&self) -> u64 {
        self.inner.next_sequence()
    }

    /// Every record below this sequence number is durable, or was refused and is a gap in the log.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.inner.durable()
    }

    /// Waits until all that was pushed is durable. Not for a thread that must not wait.
    ///
    /// # Errors
    /// It is not within `timeout`; the error says how much is.
    pub fn wait_durable(&self, timeout: Duration) -> Result<()> {
        let deadline_ns = clock::monotonic_ns().saturating_add(timeout.as_nanos() as u64);
        let wanted = self.pushed();
        while self.durable() < wanted {
            if clock::monotonic_ns() >= deadline_ns {
                return Err(Error::NotDurable { pushed: wanted, durable: self.durable() });
            }
            clock::sleep_ns(1_000_000);
        }
        Ok(())
    }
}

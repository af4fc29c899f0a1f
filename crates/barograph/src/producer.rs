//! The side that must not wait.

use crate::series::{Number, Pushed, SAMPLES_MAX, Timed};
use crate::{Channel, Error, Group, Kind, Result, Series, Time};
use baro_recorder::{Refused, Waits};
use baro_sys::clock;
use std::time::Duration;

/// Pushes records into a ring of its own. One for each thread that records.
///
/// No push blocks, allocates or enters the kernel. Each returns the record's sequence number, which
/// counts from 0; a refused one has used its number too, and shows in the log as a gap.
///
/// ```no_run
/// use barograph::{Recorder, Time};
/// use std::time::Duration;
///
/// let recorder = Recorder::existing("/data/store").open()?;
/// let temp = recorder.series::<f64>("temp", "degC")?;
/// let mut push = recorder.producer()?;
/// if let Err(refused) = push.sample(temp, Time::now(), 21.5) {
///     println!("{refused}"); // counted as lost; the loop goes on
/// }
/// push.wait_durable(Duration::from_secs(5))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// Pushes up to [`SAMPLES_MAX`] samples of one series, each with its time in nanoseconds since the
    /// Unix epoch, in any order, as one record.
    ///
    /// # Errors
    /// See [`Refused`]: also if there are none, too many, or not as many times as values.
    pub fn samples<T: Kind + Timed>(
        &mut self,
        series: Series<T>,
        times_ns: &[i64],
        values: &[T],
    ) -> std::result::Result<u64, Refused> {
        let ids = [series.id; SAMPLES_MAX];
        let Some(ids) = ids.get(..values.len()) else { return Err(Refused::Uneven) };
        T::push_timed(&mut self.inner, ids, times_ns, values)
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

    /// Whether the ring has room for a record of so many bytes, or for so many
    /// bytes each. For who can wait, such as one that copies a table. Does not block.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.inner.free_bytes() >= baro_recorder::Producer::record_bytes(bytes.saturating_add(64))
    }

    /// Says that this producer waits for room from now on, or that it does not: what one who waits has
    /// pushed is not recycled before it is settled into runs. Does not block.
    pub fn waits_for_room(&self, waits: bool) {
        self.inner.wait_for_room(if waits { Waits::WhileSettled } else { Waits::Not });
    }

    /// Why the recorder writes nothing now, in a sentence; `None` if it does. Does not block.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let told = self.inner.report();
        let said = told.trouble.to_string();
        match (said.is_empty(), told.settling_stopped) {
            (true, _) => None,
            (false, true) => Some(format!("{said}; nobody settles any more")),
            (false, false) => Some(said),
        }
    }

    /// Records of this ring that were refused: because it was full, and because they were too large.
    #[must_use]
    pub fn refused(&self) -> (u64, u64) {
        let report = self.inner.report();
        (report.refused_full, report.refused_large)
    }

    /// Bytes of the largest record that the ring takes.
    #[must_use]
    pub fn frame_max(&self) -> usize {
        self.inner.report().record_bytes_max
    }

    /// Whether the recorder has ended.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.inner.closed()
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

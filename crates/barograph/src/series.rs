//! What is pushed to: handles with the type of their values.

use baro_ondisk::Type;
use baro_recorder::{Producer, Refused};
use std::fmt;
use std::marker::PhantomData;

mod sealed {
    use super::{Producer, Refused, Type};

    /// What the types of values have in common, for this crate only.
    pub trait Pushed {
        const TYPE: Type;
        type Value<'a>;
        fn push(
            producer: &mut Producer,
            series: u32,
            time_ns: i64,
            value: Self::Value<'_>,
        ) -> Result<u64, Refused>;
    }

    /// Those that a record holds many of.
    pub trait Number: Pushed + Copy {
        fn push_row(
            producer: &mut Producer,
            series: &[u32],
            time_ns: i64,
            values: &[Self],
        ) -> Result<u64, Refused>;
    }

    /// Those of which a record holds many, each with a time of its own.
    pub trait Timed: Pushed + Copy {
        fn push_timed(
            producer: &mut Producer,
            series: &[u32],
            times_ns: &[i64],
            values: &[Self],
        ) -> Result<u64, Refused>;
    }
}
pub(crate) use sealed::{Number, Pushed, Timed};

/// Samples of one series that go into one record at most: see
/// [`Producer::samples`](crate::Producer::samples).
pub const SAMPLES_MAX: usize = 1024;

/// A type of values: `f64`, `i64`, `bool`, and `String`, of which `&str` are pushed.
pub trait Kind: Pushed {}

macro_rules! number {
    ($kind:ty, $name:ident) => {
        impl Pushed for $kind {
            const TYPE: Type = Type::$name;
            type Value<'a> = $kind;
            #[inline]
            fn push(
                producer: &mut Producer,
                series: u32,
                time_ns: i64,
                value: $kind,
            ) -> Result<u64, Refused> {
                producer.push_sample(series, time_ns, value)
            }
        }
        impl Number for $kind {
            #[inline]
            fn push_row(
                producer: &mut Producer,
                series: &[u32],
                time_ns: i64,
                values: &[$kind],
            ) -> Result<u64, Refused> {
                producer.push_samples(time_ns, series, values)
            }
        }
        impl Timed for $kind {
            fn push_timed(
                producer: &mut Producer,
                series: &[u32],
                times_ns: &[i64],
                values: &[$kind],
            ) -> Result<u64, Refused> {
                producer.push_batch(times_ns, series, values)
            }
        }
        impl Kind for $kind {}
    };
}
number!(f64, F64);
number!(i64, I64);

impl Pushed for bool {
    const TYPE: Type = Type::Bool;
    type Value<'a> = bool;
    #[inline]
    fn push(
        producer: &mut Producer,
        series: u32,
        time_ns: i64,
        value: bool,
    ) -> Result<u64, Refused> {
        producer.push_sample(series, time_ns, i64::from(value))
    }
}
impl Timed for bool {
    fn push_timed(
        producer: &mut Producer,
        series: &[u32],
        times_ns: &[i64],
        values: &[bool],
    ) -> Result<u64, Refused> {
        let mut words = [0_i64; SAMPLES_MAX];
        let Some(words) = words.get_mut(..values.len()) else { return Err(Refused::Uneven) };
        words.iter_mut().zip(values).for_each(|(word, value)| *word = i64::from(*value));
        producer.push_batch(times_ns, series, words)
    }
}
impl Kind for bool {}

impl Pushed for String {
    const TYPE: Type = Type::Text;
    type Value<'a> = &'a str;
    #[inline]
    fn push(
        producer: &mut Producer,
        series: u32,
        time_ns: i64,
        value: &str,
    ) -> Result<u64, Refused> {
        producer.push_text(series, time_ns, value)
    }
}
impl Kind for String {}

/// A declared series whose values are of type `T`: what samples are pushed to. A number to copy.
///
/// ```no_run
/// use barograph::{Recorder, Series};
///
/// let recorder = Recorder::existing("/data/store").open()?;
/// let count: Series<i64> = recorder.series("parts{line=\"2\"}", "")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Series<T: Kind> {
    pub(crate) id: u32,
    kind: PhantomData<fn(T)>,
}

impl<T: Kind> Series<T> {
    pub(crate) fn new(id: u32) -> Self {
        Series { id, kind: PhantomData }
    }
}

impl<T: Kind> Clone for Series<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Kind> Copy for Series<T> {}

impl<T: Kind> fmt::Debug for Series<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Series<{:?}>({})", T::TYPE, self.id)
    }
}

/// Several series of one type that are pushed together, as one record.
#[derive(Clone, Debug)]
pub struct Group<T: Kind> {
    pub(crate) ids: Vec<u32>,
    kind: PhantomData<fn(T)>,
}

impl<T: Kind> Group<T> {
    pub(crate) fn new(ids: Vec<u32>) -> Self {
        Group { ids, kind: PhantomData }
    }

    /// Number of series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Each of them, in the order in which they were asked for.
    pub fn series(&self) -> impl Iterator<Item = Series<T>> {
        self.ids.iter().map(|id| Series::new(*id))
    }
}

/// A declared channel: what frames of bytes are pushed to.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    pub(crate) id: u32,
}

//! What a query hands out: columns of one series.

/// What a batch is of: a series, or a field of a channel's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Id of the series or channel.
    pub id: u32,
    /// Its place in the selection.
    pub place: usize,
}

/// Texts, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    /// Where each ends in `bytes`.
    pub ends: &'a [u32],
    /// All of them.
    pub bytes: &'a str,
}

impl<'a> Texts<'a> {
    /// Text number `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&'a str> {
        let end = *self.ends.get(at)? as usize;
        let start = match at {
            0 => 0,
            _ => *self.ends.get(at - 1)? as usize,
        };
        self.bytes.get(start..end)
    }
}

/// Values of a batch, by the type of the series; those of steps as
/// [`Aggregate::result`](crate::Aggregate::result) says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// Floating point.
    F64(&'a [f64]),
    /// Integers.
    I64(&'a [i64]),
    /// Integers of a field of type u64.
    U64(&'a [u64]),
    /// Truth values.
    Bool(&'a [bool]),
    /// Texts.
    Text(Texts<'a>),
}

impl Values<'_> {
    /// The 64 bits of a row's value; none of a text.
    #[must_use]
    pub fn bits(&self, at: usize) -> Option<u64> {
        match self {
            Values::F64(values) => values.get(at).map(|value| value.to_bits()),
            Values::I64(values) => values.get(at).map(|value| value.cast_unsigned()),
            Values::U64(values) => values.get(at).copied(),
            Values::Bool(values) => values.get(at).map(|value| u64::from(*value)),
            Values::Text(_) => None,
        }
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Values::F64(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::Bool(values) => values.len(),
            Values::Text(texts) => texts.ends.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Consecutive rows of one series, by rising time. A series may come in several batches, one
/// behind the other; one has at most 65,536 rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch<'a> {
    /// What it is of.
    pub target: Target,
    /// Time of each row, nanoseconds since the Unix epoch; of a step: its start.
    pub times_ns: &'a [i64],
    /// Value of each row.
    pub values: Values<'a>,
}

/// One aggregate of each of many series, columns of the same length, by rising id. A series without
/// samples has no row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals<'a> {
    /// Ids of the series.
    pub ids: &'a [u32],
    /// The aggregate of each; counts, and what is of integers, are floats here too. Texts have no row.
    pub values: &'a [f64],
}

//! Samples by column, the form in which they are sorted, merged and handed out.

/// Columns of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) series: Vec<u32>,
    pub(crate) times_ns: Vec<i64>,
    pub(crate) bits: Vec<u64>,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.series.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.series.clear();
        self.times_ns.clear();
        self.bits.clear();
    }

    #[cfg(test)]
    pub(crate) fn push(&mut self, series: u32, time_ns: i64, bits: u64) {
        self.series.push(series);
        self.times_ns.push(time_ns);
        self.bits.push(bits);
    }

    /// Appends a range of another.
    pub(crate) fn extend(&mut self, other: &Columns, range: std::ops::Range<usize>) {
        self.series.extend_from_slice(other.series.get(range.clone()).unwrap_or(&[]));
        self.times_ns.extend_from_slice(other.times_ns.get(range.clone()).unwrap_or(&[]));
        self.bits.extend_from_slice(other.bits.get(range).unwrap_or(&[]));
    }

    /// Appends samples of one series.
    pub(crate) fn append(&mut self, series: u32, times_ns: &[i64], bits: &[u64]) {
        self.series.resize(self.series.len() + times_ns.len(), series);
        self.times_ns.extend_from_slice(times_ns);
        self.bits.extend_from_slice(bits);
    }

    /// Forgets what is behind `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.series.truncate(length);
        self.times_ns.truncate(length);
        self.bits.truncate(length);
    }

    /// Makes the columns so long, with zeros where they were shorter.
    pub(crate) fn resize(&mut self, length: usize) {
        self.series.resize(length, 0);
        self.times_ns.resize(length, 0);
        self.bits.resize(length, 0);
    }
}

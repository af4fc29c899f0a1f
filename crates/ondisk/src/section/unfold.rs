//! A section as ordinary samples records, for readers that hand out records: one for each distinct
//! time, in the order of time; within one, by series and then arrival.
//!
//! Invariant: the records hold the samples of the section, each once (`tests/section.rs`).

use super::{SampleColumns, Section};
use crate::{Deletion, Error, Samples, is_deleted};
use alloc::vec::Vec;
use core::ops::Range;

/// Samples records made of a section. Memory: 20 B a sample and 24 B a record, and the columns
/// once while they are sorted; a section has at most 65,536 samples.
#[derive(Debug, Default)]
pub struct UnfoldedSamples {
    bytes: Vec<u8>,
    records: Vec<(i64, Range<u32>)>,
    strip: SampleColumns,
    all: Vec<(i64, u32, u64)>,
}

impl UnfoldedSamples {
    /// Replaces what is here by the samples of `section`.
    ///
    /// # Errors
    /// A strip is not what the format asks for; then nothing is here.
    pub fn unfold(&mut self, section: &Section<'_>) -> Result<(), Error> {
        self.unfold_kept(section, &[])
    }

    /// The same, without what is deleted.
    ///
    /// # Errors
    /// As [`UnfoldedSamples::unfold`].
    pub fn unfold_kept(&mut self, section: &Section<'_>, by: &[Deletion]) -> Result<(), Error> {
        self.clear();
        for at in 0..section.strips() {
            if let Err(error) = section.decode_strip(at, &mut self.strip) {
                self.all.clear();
                return Err(error);
            }
            let samples = self.strip.iter();
            self.all.extend(samples.map(|(series, time_ns, bits)| (time_ns, series, bits)));
        }
        if !by.is_empty() {
            self.all.retain(|(time_ns, series, _)| !is_deleted(by, *series, *time_ns));
        }
        // Stable: within a time they stay in the order of series and arrival.
        self.all.sort_by_key(|(time_ns, ..)| *time_ns);
        for record in self.all.chunk_by(|a, b| a.0 == b.0) {
            let Some((time_ns, ..)) = record.first() else { continue };
            let start = self.bytes.len() as u32;
            self.bytes.extend(Samples::head(record.len() as u32, false));
            self.bytes.extend(record.iter().flat_map(|(_, series, _)| series.to_le_bytes()));
            self.bytes.extend(record.iter().flat_map(|(.., bits)| bits.to_le_bytes()));
            self.records.push((*time_ns, start..self.bytes.len() as u32));
        }
        self.all.clear();
        Ok(())
    }

    /// Keeps the payload of another record beside those that are here; where in
    /// [`UnfoldedSamples::bytes`].
    pub fn keep(&mut self, payload: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        start..self.bytes.len()
    }

    /// Empties it; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.all.clear();
    }

    /// Samples in all records.
    #[must_use]
    pub fn samples(&self) -> u64 {
        (self.bytes.len() - self.records.len() * Samples::HEAD_BYTES) as u64 / 12
    }

    /// The payloads of all records, one after another.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Time of each record, and where its payload is in [`UnfoldedSamples::bytes`].
    pub fn records(&self) -> impl ExactSizeIterator<Item = (i64, Range<usize>)> + '_ {
        self.records.iter().map(|(time_ns, at)| (*time_ns, at.start as usize..at.end as usize))
    }
}

//! Checkpoints: what all versions up to one have come to, in a file of Parquet, so that nobody reads each version.
//!
//! A version that stands in a checkpoint may be removed, and other programs do so. So the newest checkpoint is read
//! where there is one, and the versions behind it.
//!
//! A checkpoint is made after a commit, behind as many versions as the table's property says. Nothing depends on
//! it: where it fails, the hand-over is done all the same, and a later one makes it. Memory does not grow with the
//! table but by the bytes of the checkpoint before: that one is copied row by row, without what has been replaced.
//!
//! Read and written are those that the lowest protocol has, of one file or of several parts. Those with names of
//! their own (`v2Checkpoint`) need a protocol that is refused here.
//!
//! Invariant: a table reads the same with a checkpoint and without it. Held by
//! `a_table_reads_the_same_by_its_checkpoint_and_by_its_versions`.

mod columns;
mod fresh;
mod read;
mod write;

pub(super) use read::state;
pub(crate) use write::make;

use crate::place::LOG;
use std::collections::BTreeMap;

/// Versions between two checkpoints, if the table does not say it.
pub(crate) const INTERVAL: u64 = 100;
/// Most bytes of a file of one. That is a table of about a million files.
const BYTES_MAX: u64 = 128 << 20;
/// Most parts of one.
const PARTS_MAX: u64 = 1_000;
/// Digits of a version, and of the number of a part.
const DIGITS: usize = 20;
const PART_DIGITS: usize = 10;

/// A checkpoint with all its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The version up to which it has all.
    pub(super) version: u64,
    /// Its files, by part.
    pub(super) files: Vec<String>,
}

/// File of a checkpoint that is made here.
fn name_of(version: u64) -> String {
    format!("{LOG}/{version:020}.checkpoint.parquet")
}

fn digits(text: &str, count: usize) -> Option<u64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok())?
}

/// Version, part and parts of a file; `None` if it is another file.
fn part_of(name: &str) -> Option<(u64, u64, u64)> {
    let (version, rest) = name.split_once(".checkpoint.")?;
    let version = digits(version, DIGITS)?;
    if rest == "parquet" {
        return Some((version, 1, 1));
    }
    let (part, parts) = rest.strip_suffix(".parquet")?.split_once('.')?;
    let (part, parts) = (digits(part, PART_DIGITS)?, digits(parts, PART_DIGITS)?);
    (1..=parts.min(PARTS_MAX)).contains(&part).then_some((version, part, parts))
}

/// Checkpoints that are whole, the newest first; of one that there is in two forms either.
pub(super) fn found(names: &[String]) -> Vec<Found> {
    let mut by_form: BTreeMap<(u64, u64), BTreeMap<u64, &str>> = BTreeMap::new();
    for name in names {
        if let Some((version, part, parts)) = part_of(name) {
            by_form.entry((version, parts)).or_default().insert(part, name);
        }
    }
    let whole =
        by_form.into_iter().rev().filter(|((_, parts), files)| files.len() as u64 == *parts);
    whole
        .map(|((version, _), files)| Found {
            version,
            files: files.into_values().map(|name| format!("{LOG}/{name}")).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests;

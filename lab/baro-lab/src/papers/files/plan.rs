//! The cells, and how long each may take.
//!
//! A cell's name has the paper's F, whatever the scale; B in KiB as the paper writes it. Two cells of
//! the matrix serve other figures too: figure 5's base is F = 100,000, B = 4 KiB.

use super::model::Scale;
use super::order::Kind;
use crate::files::SteadyRule;
use baro_bench::experiment::Cell;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// mkfs, directories, the sync at the end, taking all apart: measured on two processors.
const AROUND_NS: u64 = 2 * S;

/// How much is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// A corner of the matrix, in a minute and a half.
    Quick,
    /// All that the claims need, in a quarter of an hour.
    #[default]
    Default,
    /// The paper's cells, an hour each.
    Full,
}

impl Extent {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// The paper's F.
    pub(super) fn files(self) -> &'static [u64] {
        match self {
            Self::Quick => &[1, 10_000, 100_000],
            Self::Default => &[1, 10_000, 50_000, 100_000, 350_000, 1_000_000],
            Self::Full => &[1, 100, 1_000, 10_000, 50_000, 100_000, 350_000, 700_000, 1_000_000],
        }
    }

    /// B in KiB.
    pub(super) fn blocks_kib(self) -> &'static [u64] {
        match self {
            Self::Quick => &[4, 48],
            Self::Default => &[1, 4, 16, 32, 48],
            Self::Full => &[1, 2, 4, 8, 16, 32, 48, 64, 128],
        }
    }

    /// B of the full buffer layer, in KiB.
    fn layers_kib(self) -> &'static [u64] {
        match self {
            // Fewer would tell nothing of the best split.
            Self::Quick => &[],
            Self::Default | Self::Full => &[4, 16, 32, 48, 64, 128],
        }
    }

    /// How long cells are.
    #[must_use]
    pub fn times(self) -> Times {
        let of = |min_ns, max_ns, window_ns, trial_ns, steps| Times {
            min_ns,
            max_ns,
            points_every_ns: window_ns / 4,
            rule: SteadyRule { skip_ns: window_ns, window_ns, within: 0.1 },
            trial_ns,
            steps,
        };
        match self {
            Self::Quick => of(1_500 * MS, 1_800 * MS, 400 * MS, 1_500 * MS, 2),
            Self::Default => of(4 * S, 9 * S, S, 4 * S, 5),
            Self::Full => {
                Times { points_every_ns: 60 * S, ..of(3_600 * S, 3_600 * S, 300 * S, 120 * S, 8) }
            }
        }
    }
}

/// How long a cell is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Even if it is steady before.
    pub min_ns: u64,
    /// Even if it is not steady by then.
    pub max_ns: u64,
    /// From point to point.
    pub points_every_ns: u64,
    /// What is steady.
    pub rule: SteadyRule,
    /// One rate of a bisection.
    pub trial_ns: u64,
    /// Rates between the lowest and the highest.
    pub steps: usize,
}

/// How a greedy cell differs from the paper's usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// All files in one folder.
    pub flat: bool,
    /// Writing processes (M).
    pub writers: u64,
    /// Part of the usual cache, as its divisor.
    pub cache_divisor: u64,
    /// A buffer for each file, beside the cache in the paper's 8 GB.
    pub layer: bool,
    /// A sync after each append.
    pub sync: bool,
    /// On f2fs.
    pub f2fs: bool,
}

impl Variant {
    /// The paper's usual cell.
    pub const BASE: Variant = Variant {
        flat: false,
        writers: 1,
        cache_divisor: 1,
        layer: false,
        sync: false,
        f2fs: false,
    };
}

/// What is measured in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The files' writers, as fast as they go.
    Greedy(Variant),
    /// The same of the store.
    Store,
    /// The highest rate that is kept up with.
    Rate(Kind),
    /// One sensor over an interval: from a log, from its file, from the store.
    Read(&'static str),
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesCell {
    /// Its name.
    pub id: String,
    /// What is measured.
    pub what: What,
    /// F in the paper.
    pub paper_files: u64,
    /// B.
    pub block_bytes: u64,
    /// How long it may take, ns.
    pub expected_ns: u64,
}

impl FilesCell {
    fn new(group: &str, what: What, paper_files: u64, block_kib: u64, run_ns: u64) -> Self {
        Self {
            id: format!("{group}/F={paper_files}/B={block_kib}K"),
            what,
            paper_files,
            block_bytes: block_kib << 10,
            expected_ns: run_ns + AROUND_NS,
        }
    }

    /// As the framework has it.
    #[must_use]
    pub fn cell(&self) -> Cell {
        Cell { id: self.id.clone(), expected_ns: self.expected_ns }
    }
}

/// The paper's F and B of all that has one cell.
pub(super) const USUAL: (u64, u64) = (100_000, 4);

/// All cells, in their order: what the claims need most comes first.
#[must_use]
pub fn cells(extent: Extent) -> Vec<FilesCell> {
    let times = extent.times();
    let (files, kib) = USUAL;
    let greedy = |group: &str, variant: Variant, files: u64, kib: u64| {
        FilesCell::new(group, What::Greedy(variant), files, kib, times.max_ns)
    };
    let base = Variant::BASE;
    let mut cells = Vec::new();
    for block_kib in extent.blocks_kib() {
        for files in extent.files() {
            if !Scale::is_skipped(*files, block_kib << 10) {
                cells.push(greedy("matrix", base, *files, *block_kib));
            }
        }
    }
    cells.push(greedy("flat", Variant { flat: true, ..base }, files, kib));
    cells.push(greedy("writers-16", Variant { writers: 16, ..base }, files, kib));
    cells.push(greedy("half-cache", Variant { cache_divisor: 2, ..base }, files, kib));
    if extent != Extent::Quick {
        cells.push(greedy("quarter-cache", Variant { cache_divisor: 4, ..base }, files, kib));
    }
    for block_kib in extent.layers_kib() {
        cells.push(greedy("layer", Variant { layer: true, ..base }, files, *block_kib));
    }
    cells.push(greedy("fsync", Variant { sync: true, ..base }, files, kib));
    let middle = |files: &&u64| extent != Extent::Quick || **files != 10_000;
    for files in extent.files().iter().filter(middle) {
        cells.push(FilesCell::new("store", What::Store, *files, kib, times.max_ns));
    }
    let trials_ns = (times.trial_ns + S) * (times.steps as u64 + 2);
    for (group, kind) in [("rate-files", Kind::Files), ("rate-store", Kind::Store)] {
        cells.push(FilesCell::new(group, What::Rate(kind), files, kib, trials_ns));
    }
    for of in ["log", "files", "store"] {
        cells.push(FilesCell::new(&format!("read-{of}"), What::Read(of), files, kib, 4 * S));
    }
    let f2fs: &[(u64, u64)] = match extent {
        Extent::Quick => &[(100_000, 4)],
        Extent::Default => &[(1, 4), (10_000, 4), (100_000, 4), (1_000_000, 4)],
        Extent::Full => &[
            (1, 4),
            (10_000, 4),
            (100_000, 4),
            (350_000, 4),
            (700_000, 32),
            (700_000, 8),
            (1_000_000, 4),
            (700_000, 4),
        ],
    };
    for (files, kib) in f2fs {
        cells.push(greedy("f2fs", Variant { f2fs: true, ..base }, *files, *kib));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_the_default_has_enough_of_the_matrix() {
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let cells = cells(extent);
            let names: BTreeSet<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
            assert_eq!(names.len(), cells.len(), "{extent:?}");
            let matrix = cells.iter().filter(|cell| cell.id.starts_with("matrix/")).count();
            // 2BF >= 0.9 C leaves out one cell of the default, six of the paper's.
            let expected = match extent {
                Extent::Quick => 6,
                Extent::Default => 29,
                Extent::Full => 81 - 6,
            };
            assert_eq!(matrix, expected, "{extent:?}");
            assert!(cells.iter().any(|cell| cell.id == "matrix/F=100000/B=4K"));
        }
    }

    #[test]
    fn a_default_run_is_expected_within_a_quarter_of_an_hour() {
        // Those of f2fs need a kernel that has it.
        let sum = |extent| -> u64 {
            let cells = cells(extent);
            let measured = cells.iter().filter(|cell| !cell.id.starts_with("f2fs"));
            measured.map(|cell| cell.expected_ns).sum()
        };
        assert!(sum(Extent::Default) <= 900 * S, "{}", sum(Extent::Default) / S);
        assert!(sum(Extent::Quick) <= 100 * S, "{}", sum(Extent::Quick) / S);
    }
}

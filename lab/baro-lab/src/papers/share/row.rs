//! One cell's figures as they are stored, and the names of cells.
//!
//! Invariant: a name read back is the cell it was made of. Held by `names_of_cells_read_back`.

use super::setting::Setting;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

impl Direction {
    /// As in names of cells and in rows.
    #[must_use]
    pub(super) fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Direction::Read, Direction::Write].into_iter().find(|one| one.name() == name)
    }
}

/// What fio does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Load {
    /// Which way.
    pub(super) direction: Direction,
    /// Past the page cache.
    pub(super) direct: bool,
    /// Of one I/O, in MiB, which is what fio and the paper call MB.
    pub(super) block_mb: u64,
    /// `psync` instead of `libaio`.
    pub(super) psync: bool,
}

impl Load {
    /// As libaio, past the page cache.
    #[must_use]
    pub(super) fn direct(direction: Direction, block_mb: u64) -> Self {
        Self { direction, direct: true, block_mb, psync: false }
    }

    /// fio's name of the engine.
    #[must_use]
    pub(super) fn engine(self) -> &'static str {
        if self.psync { "psync" } else { "libaio" }
    }

    /// `direct-read`.
    fn kind(self) -> String {
        format!("{}-{}", if self.direct { "direct" } else { "buffered" }, self.direction.name())
    }

    /// Bytes of one I/O.
    #[must_use]
    pub(super) fn block_bytes(self) -> u64 {
        self.block_mb << 20
    }
}

/// What is done in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// All groups have the same load.
    Pair,
    /// The same, where the groups of [`NESTED`] are within one that has the sum of their weights.
    Nested,
    /// Only group `0` or `1` of two has a load.
    Alone(usize),
    /// One load without any sharing: the disk's own speed.
    Device,
    /// The second group begins when the first has run alone, and ends before it.
    Change,
    /// A player in the first group, a load in the second.
    Player,
    /// A reader with deadlines in the first group, a load in the second.
    Deadline,
}

/// Which of the groups of [`Task::Nested`] are within another.
pub(super) const NESTED: std::ops::Range<usize> = 1..3;

const TASKS: [(&str, Task); 8] = [
    ("pair", Task::Pair),
    ("nested", Task::Nested),
    ("alone-a", Task::Alone(0)),
    ("alone-b", Task::Alone(1)),
    ("device", Task::Device),
    ("change", Task::Change),
    ("player", Task::Player),
    ("deadline", Task::Deadline),
];

impl Task {
    /// As in names of cells.
    #[must_use]
    pub(super) fn name(self) -> &'static str {
        TASKS.iter().find(|(_, task)| *task == self).map_or("-", |(name, _)| *name)
    }
}

/// What tells a cell from others, but for its repeats.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// What is done.
    pub(super) task: Task,
    /// As small numbers, the heaviest first: 2, 1.
    pub(super) weights: Vec<u16>,
    /// How the disk is set.
    pub(super) setting: Setting,
    /// What fio does; None beside a player that is alone.
    pub(super) load: Option<Load>,
}

impl Case {
    /// `pair/2:1/auto/direct-read/100M/libaio`.
    #[must_use]
    pub(super) fn name(&self) -> String {
        let weights: Vec<String> = self.weights.iter().map(u16::to_string).collect();
        let (task, weights, setting) = (self.task.name(), weights.join(":"), self.setting.name());
        let load = self.load.map_or_else(
            || "none/0M/none".to_owned(),
            |load| format!("{}/{}M/{}", load.kind(), load.block_mb, load.engine()),
        );
        format!("{task}/{weights}/{setting}/{load}")
    }

    /// With the number of its repeat behind.
    #[must_use]
    pub(super) fn cell(&self, repeat: u32) -> String {
        format!("{}/{repeat}", self.name())
    }

    /// Of the name of a cell; None if it is none.
    #[must_use]
    pub(super) fn of_cell(cell: &str) -> Option<Self> {
        let parts: Vec<&str> = cell.split('/').collect();
        let [task, weights, setting, kind, block, engine, _] = parts[..] else { return None };
        let task = TASKS.iter().find(|(name, _)| *name == task)?.1;
        let weights = weights.split(':').map(|text| text.parse().ok()).collect::<Option<_>>()?;
        let setting = Setting::named(setting)?;
        let load = match kind {
            "none" => None,
            kind => {
                let (direct, direction) = kind.split_once('-')?;
                Some(Load {
                    direction: Direction::named(direction)?,
                    direct: match direct {
                        "direct" => true,
                        "buffered" => false,
                        _ => return None,
                    },
                    block_mb: block.strip_suffix('M')?.parse().ok()?,
                    psync: engine == "psync",
                })
            }
        };
        Some(Self { task, weights, setting, load })
    }
}

/// What a cell stores. Rates in MB/s of 10^6 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    /// What the kernel says that each group got.
    pub(super) mb_per_s: Vec<f64>,
    /// What fio says of itself over all of its time; None for a group without fio.
    pub(super) fio_mb_per_s: Vec<Option<f64>>,
    /// Weights that the kernel had while it was measured.
    pub(super) weights_read: Vec<u16>,
    /// Sizes of pieces at the end, 0 where nothing is cut; None where nothing can be.
    pub(super) piece_bytes: Option<Vec<u64>>,
    /// What the programs of each group did: calls cut, pieces, and what was left alone.
    pub(super) counters: Vec<BTreeMap<String, u64>>,
    /// How long was measured, s.
    pub(super) seconds: f64,
    /// Only of a player or a reader with deadlines.
    pub(super) late: Option<Late>,
    /// Only of a change of load.
    pub(super) settled: Option<Settled>,
    /// What a reader must know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// What was not there at its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Late {
    /// Frames shown, or reads made.
    pub(super) frames: u64,
    /// Of these, not there at their time.
    pub(super) late_frames: u64,
    /// Of the video those that were not in memory when it began; of a reader all that it read.
    pub(super) read_bytes: u64,
    /// Bytes of the video; 0 for a reader.
    pub(super) file_bytes: u64,
}

/// From when on the ratio is as asked within 5 %, s after the second group began; None: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Settled {
    /// Over each second.
    pub(super) one_s: Option<f64>,
    /// Over each two seconds.
    pub(super) two_s: Option<f64>,
    /// Over each four seconds.
    pub(super) four_s: Option<f64>,
    /// The ratio over what is left of the common time, from each later moment on that leaves 12 s.
    #[serde(default)]
    pub(super) rest_s: Option<f64>,
    /// The ratio over all time after the first five seconds.
    pub ratio_after_5_s: Option<f64>,
    /// What the first group got of its own rate of before, once the second had ended.
    pub(super) back: Option<f64>,
    /// Counted is what the disk has completed; else what it was given, where an I/O counts whole at once.
    #[serde(default)]
    pub(super) completed: bool,
}

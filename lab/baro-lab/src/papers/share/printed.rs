//! What paper B prints: eMMC of 64 GB, Linux 5.10.83, weights 2:1 where nothing else is said.

use super::row::Direction::{self, Read, Write};
use super::setting::Setting;

/// A row of tables 4 to 8: block MB, A MB/s, B MB/s, ratio, whether the video was late.
pub(super) type Row = (u64, f64, f64, f64, bool);

/// One of tables 4 to 8.
#[derive(Debug)]
pub(super) struct Printed {
    /// `Table 4`.
    pub(super) id: &'static str,
    /// How the disk was set.
    pub(super) setting: Setting,
    /// Which way.
    pub(super) direction: Direction,
    /// By size.
    pub(super) rows: &'static [Row],
}

/// Tables 4 to 8.
pub(super) const TABLES: [Printed; 5] = [
    Printed {
        id: "Table 4",
        setting: Setting::Default,
        direction: Read,
        rows: &[
            (1, 128.0, 65.3, 1.96, false),
            (30, 152.0, 79.0, 1.92, false),
            (35, 135.0, 77.0, 1.75, false),
            (40, 133.0, 80.9, 1.64, true),
            (45, 128.0, 83.5, 1.53, true),
            (50, 125.0, 91.2, 1.37, true),
            (100, 125.0, 99.2, 1.26, true),
        ],
    },
    Printed {
        id: "Table 5",
        setting: Setting::Default,
        direction: Write,
        rows: &[
            (8, 44.6, 22.8, 1.95, false),
            (10, 39.1, 20.3, 1.92, false),
            (15, 33.9, 18.9, 1.80, true),
            (20, 28.5, 17.6, 1.62, true),
            (100, 23.0, 19.9, 1.15, true),
        ],
    },
    Printed {
        id: "Table 6",
        setting: Setting::FifoExpire,
        direction: Read,
        rows: &[
            (1, 127.0, 63.4, 2.00, false),
            (30, 136.0, 68.0, 2.00, false),
            (35, 133.0, 79.5, 1.67, false),
            (40, 133.0, 79.6, 1.67, false),
            (45, 124.0, 83.8, 1.47, false),
            (50, 132.0, 95.9, 1.38, true),
            (100, 109.0, 85.7, 1.27, true),
        ],
    },
    Printed {
        id: "Table 7",
        setting: Setting::MaxBudget,
        direction: Read,
        rows: &[
            (1, 128.0, 64.4, 1.98, false),
            (30, 138.0, 69.9, 1.97, false),
            (35, 133.0, 67.2, 1.98, false),
            (40, 135.0, 68.4, 1.97, false),
            (45, 131.0, 67.9, 1.93, false),
            (50, 104.0, 99.6, 1.04, true),
            (100, 122.0, 89.4, 1.36, true),
        ],
    },
    Printed {
        id: "Table 8",
        setting: Setting::StrictGuarantees,
        direction: Read,
        rows: &[
            (1, 121.0, 66.3, 1.83, false),
            (30, 120.0, 63.3, 1.90, false),
            (35, 125.0, 62.9, 1.99, false),
            (40, 110.0, 57.9, 1.90, false),
            (45, 129.0, 68.0, 1.90, false),
            (50, 107.0, 56.5, 1.89, false),
            (100, 84.0, 64.0, 1.30, false),
        ],
    },
];

/// Table 3: whether a video is late beside fio, by block MB, direct or not, direction.
pub(super) const TABLE_3: [(u64, bool, Direction, bool); 8] = [
    (1, true, Read, false),
    (1, false, Read, false),
    (1, true, Write, false),
    (1, false, Write, true),
    (100, true, Read, true),
    (100, false, Read, false),
    (100, true, Write, true),
    (100, false, Write, true),
];

/// Figures 8 and 9 as its text has them (section 5.3): weights, setting, block MB, rates in parts of
/// the lightest group's weight.
pub(super) const WEIGHTS: [(&[u16], Setting, u64, &[f64]); 4] = [
    (&[3, 2], Setting::Default, 100, &[2.24, 2.0]),
    (&[3, 2], Setting::Fixed, 100, &[2.94, 2.0]),
    (&[3, 2, 2, 1], Setting::Default, 30, &[2.43, 1.84, 1.99, 1.0]),
    (&[3, 2, 2, 1], Setting::Fixed, 100, &[2.47, 1.85, 2.09, 1.0]),
];

/// The ratio with its method at 100 MB read.
pub(super) const FIXED_READ_100: f64 = 1.93;

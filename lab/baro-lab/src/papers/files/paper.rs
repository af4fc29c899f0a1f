//! What the paper printed: tables 3 to 5, and the figures of its charts that its text gives.
//!
//! The numbers are from "Experiments with the performance of
//! storing sensor data" (in Russian; ext4 and f2fs on Debian 8, kernel 3.16). Table 4's printed header
//! is R RM RSM W WS WSM; read as R RM W WM WS WSM its first 61 of 100 written give the printed Kwa.

/// A row of tables 3 to 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// F.
    pub files: u64,
    /// B, KiB.
    pub block_kib: u64,
    /// v, MB/s.
    pub mb_per_s: f64,
    /// Kwa.
    pub kwa: f64,
    /// Class, share of the volume in percent, mean request in KB.
    pub classes: &'static [(&'static str, f64, f64)],
}

const fn row(
    files: u64,
    block_kib: u64,
    mb_per_s: f64,
    kwa: f64,
    classes: &'static [(&'static str, f64, f64)],
) -> Printed {
    Printed { files, block_kib, mb_per_s, kwa, classes }
}

/// HDD, ext4.
pub const TABLE_3: [Printed; 12] = [
    row(
        1,
        4,
        124.0,
        1.001,
        &[
            ("R", 0.0, 4.0),
            ("RM", 0.0, 4.0),
            ("W", 100.0, 511.5),
            ("WM", 0.0, 13.0),
            ("WS", 0.0, 23.5),
        ],
    ),
    row(
        1,
        1,
        123.0,
        1.0,
        &[
            ("R", 0.0, 9.0),
            ("RM", 0.0, 4.0),
            ("W", 100.0, 512.0),
            ("WM", 0.0, 20.5),
            ("WS", 0.0, 28.0),
        ],
    ),
    row(
        10_000,
        4,
        96.0,
        1.04,
        &[
            ("R", 0.0, 34.0),
            ("RM", 0.0, 4.0),
            ("W", 97.0, 471.0),
            ("WM", 1.0, 69.0),
            ("WS", 2.0, 434.5),
            ("WSM", 0.0, 4.0),
        ],
    ),
    row(
        10_000,
        1,
        48.0,
        1.05,
        &[
            ("R", 0.26, 11.5),
            ("RM", 0.1, 4.0),
            ("W", 96.0, 209.0),
            ("WM", 1.0, 106.0),
            ("WS", 2.0, 396.5),
            ("WSM", 0.0, 29.0),
        ],
    ),
    row(
        350_000,
        48,
        40.0,
        1.1,
        &[
            ("R", 0.0, 6.0),
            ("RM", 0.0, 4.0),
            ("W", 90.0, 412.5),
            ("WM", 1.0, 143.0),
            ("WS", 5.0, 469.5),
            ("WSM", 4.0, 28.5),
        ],
    ),
    row(
        100_000,
        32,
        23.0,
        1.34,
        &[
            ("R", 0.0, 132.0),
            ("RM", 0.0, 4.0),
            ("W", 81.0, 394.0),
            ("WM", 1.0, 66.0),
            ("WS", 10.0, 452.0),
            ("WSM", 8.0, 22.0),
        ],
    ),
    row(
        50_000,
        48,
        21.0,
        1.08,
        &[
            ("R", 0.0, 4.0),
            ("RM", 0.0, 4.0),
            ("W", 87.0, 354.5),
            ("WM", 1.0, 20.5),
            ("WS", 7.0, 438.0),
            ("WSM", 5.0, 7.5),
        ],
    ),
    row(
        100_000,
        48,
        18.0,
        1.06,
        &[
            ("R", 0.0, 4.0),
            ("RM", 0.0, 4.0),
            ("W", 88.0, 204.5),
            ("WM", 1.0, 19.5),
            ("WS", 6.0, 415.5),
            ("WSM", 5.0, 6.0),
        ],
    ),
    row(
        700_000,
        48,
        10.0,
        1.26,
        &[
            ("R", 3.0, 36.0),
            ("RM", 4.0, 4.0),
            ("W", 76.0, 361.0),
            ("WM", 7.0, 77.0),
            ("WS", 9.0, 407.5),
            ("WSM", 1.0, 34.0),
        ],
    ),
    row(
        100_000,
        4,
        3.5,
        1.56,
        &[
            ("R", 0.0, 4.0),
            ("RM", 0.0, 4.0),
            ("W", 52.0, 207.5),
            ("WM", 1.0, 27.5),
            ("WS", 24.0, 473.5),
            ("WSM", 23.0, 5.0),
        ],
    ),
    row(
        100_000,
        1,
        2.0,
        2.27,
        &[
            ("R", 0.3, 4.0),
            ("RM", 0.4, 4.0),
            ("W", 58.0, 20.0),
            ("WM", 0.8, 9.0),
            ("WS", 24.0, 404.0),
            ("WSM", 17.0, 7.5),
        ],
    ),
    row(
        1_000_000,
        4,
        0.572,
        2.54,
        &[
            ("R", 6.0, 4.5),
            ("RM", 23.0, 4.0),
            ("W", 31.0, 19.0),
            ("WM", 9.0, 7.5),
            ("WS", 23.0, 353.0),
            ("WSM", 9.0, 6.0),
        ],
    ),
];

/// SSD, ext4.
pub const TABLE_4: [Printed; 3] = [
    row(
        1,
        4,
        197.0,
        1.0,
        &[("R", 0.0, 4.0), ("W", 100.0, 512.0), ("WM", 0.0, 28.5), ("WS", 0.0, 41.0)],
    ),
    row(
        100_000,
        4,
        47.0,
        1.6,
        &[
            ("R", 0.0, 4.0),
            ("RM", 0.0, 4.0),
            ("W", 61.0, 185.0),
            ("WM", 1.0, 8.5),
            ("WS", 20.0, 490.0),
            ("WSM", 18.0, 5.0),
        ],
    ),
    row(
        1_000_000,
        4,
        16.0,
        2.6,
        &[
            ("R", 17.0, 4.0),
            ("RM", 23.0, 4.0),
            ("W", 23.0, 18.0),
            ("WM", 7.0, 6.0),
            ("WS", 19.0, 489.0),
            ("WSM", 11.0, 4.5),
        ],
    ),
];

/// SSD, f2fs.
pub const TABLE_5: [Printed; 8] = [
    row(
        1,
        4,
        198.0,
        1.003,
        &[
            ("R", 0.0, 4.0),
            ("RS", 0.0, 16.0),
            ("W", 100.0, 511.5),
            ("WS", 0.0, 380.0),
            ("WSM", 0.0, 294.0),
        ],
    ),
    row(
        10_000,
        4,
        196.0,
        1.01,
        &[
            ("R", 0.0, 4.0),
            ("RS", 0.0, 4.0),
            ("W", 99.0, 387.0),
            ("WS", 1.0, 78.0),
            ("WSM", 0.0, 508.0),
        ],
    ),
    row(
        100_000,
        4,
        166.0,
        1.15,
        &[
            ("R", 0.0, 4.0),
            ("RS", 2.0, 4.0),
            ("RSM", 0.0, 4.0),
            ("W", 93.0, 484.5),
            ("WS", 5.0, 375.0),
            ("WSM", 0.0, 40.0),
        ],
    ),
    row(
        350_000,
        4,
        85.0,
        1.6,
        &[
            ("R", 0.0, 4.0),
            ("RS", 9.0, 4.0),
            ("RSM", 0.0, 4.0),
            ("W", 80.0, 158.5),
            ("WS", 11.0, 422.5),
            ("WSM", 0.0, 32.0),
        ],
    ),
    row(
        700_000,
        32,
        40.0,
        1.68,
        &[
            ("R", 0.0, 4.0),
            ("RS", 23.0, 4.0),
            ("RSM", 0.0, 4.0),
            ("W", 67.0, 74.5),
            ("WS", 10.0, 109.5),
            ("WSM", 0.0, 42.5),
        ],
    ),
    row(
        700_000,
        8,
        18.0,
        1.8,
        &[
            ("R", 0.0, 6.0),
            ("RS", 46.0, 4.0),
            ("RSM", 0.0, 4.0),
            ("W", 50.0, 62.0),
            ("WS", 3.0, 50.5),
            ("WSM", 0.0, 38.0),
        ],
    ),
    row(
        1_000_000,
        4,
        11.0,
        2.378,
        &[
            ("R", 0.0, 51.0),
            ("RS", 55.0, 4.0),
            ("RSM", 0.0, 4.0),
            ("W", 38.0, 78.0),
            ("WS", 7.0, 142.5),
            ("WSM", 0.0, 9.5),
        ],
    ),
    row(
        700_000,
        4,
        10.0,
        2.2,
        &[
            ("R", 0.0, 4.0),
            ("RS", 57.0, 4.0),
            ("RSM", 0.0, 4.0),
            ("W", 37.0, 4.0),
            ("WS", 6.0, 148.0),
            ("WSM", 0.0, 125.5),
        ],
    ),
];

/// Figure 5, F = 100,000, B = 4 KiB, by the text of section 4.2.1: of the base's 3.5 MB/s.
pub const FIGURE_5: [(&str, f64); 5] = [
    ("base", 1.0),
    ("flat", 1.75),
    ("writers-16", 0.5),
    ("half-cache", 0.5),
    ("quarter-cache", 0.5),
];
/// Kwa of appends with an fsync each, ext4: what the paper cites.
pub const FSYNC_KWA: f64 = 6.0;
/// Terabytes that its SSD may be given, and the days that these last at 100 MB/s.
pub const ENDURANCE_TB: f64 = 290.0;
/// The same.
pub const LIFETIME_DAYS: f64 = 34.0;

/// Of a table, the row of F and B.
#[must_use]
pub fn find(table: &'static [Printed], files: u64, block_kib: u64) -> Option<&'static Printed> {
    table.iter().find(|row| row.files == files && row.block_kib == block_kib)
}

impl Printed {
    /// Share and mean of a class; 0 requests are printed as nothing.
    #[must_use]
    pub fn class(&self, name: &str) -> (Option<f64>, Option<f64>) {
        let class = self.classes.iter().find(|class| class.0 == name);
        (class.map(|class| class.1), class.map(|class| class.2))
    }
}

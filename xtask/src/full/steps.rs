//! The full steps: what each runs, which paths it guards, and how long it takes on two processors.

use crate::ci::{Outcome, moved_tests};
use crate::{boards, deb, dist, lab, lake, peers, wheel};

/// One full step.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// Measured, for what CI's time allows.
    pub(super) seconds: u64,
    /// What it tries; also all that these packages depend on, for their tests too.
    pub(super) packages: &'static [&'static str],
    /// Further files and folders, relative to the root, whose change makes the step due.
    pub(super) paths: &'static [&'static str],
    pub(super) run: fn() -> Outcome,
}

/// What boards run.
const BOARDS: &[&str] =
    &["baro-ondisk", "baro-sys", "baro-log", "baro-promises", "baro-recorder", "baro-capi"];
const BOARDS_PATHS: &[&str] = &[
    "examples/c",
    "testdata/format",
    "xtask/src/boards",
    "xtask/src/boards.rs",
    "xtask/src/ci",
    "xtask/src/libbaro.rs",
];

/// What is built to be handed out.
const HANDED_OUT: &[&str] =
    &["baro-cli", "baro-lake", "baro-listen", "baro-serve", "baro-lab", "baro-preload"];

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "moved",
        what: "the tests that are not, or not with all their seeds, in each push",
        seconds: 1_200,
        packages: &[],
        paths: &[
            "crates",
            "fuzz",
            "lab",
            "testdata",
            "xtask/full-tests.txt",
            "xtask/src/ci",
            "xtask/src/tiers.rs",
        ],
        run: moved_tests,
    },
    Step {
        name: "peers",
        what: "lines and selectors as InfluxDB and Prometheus have them",
        // Of which nearly all starts promtool and baro for each selector.
        seconds: 500,
        packages: &["baro-sources", "baro-store"],
        paths: &["crates/cli/tests/peers", "scripts/peers.sh", "xtask/src/peers.rs"],
        run: peers::step,
    },
    Step {
        name: "python",
        what: "the wheel beside pandas, Polars, pyarrow, DuckDB, nanoarrow and arro3, and its types",
        // Of which 400 build the wheel.
        seconds: 600,
        packages: &["baro-python"],
        paths: &["docs/python.md", "xtask/src/python.rs", "xtask/src/wheel", "xtask/src/wheel.rs"],
        run: wheel::step,
    },
    Step {
        name: "lake",
        what: "hand-overs killed at random moments, into a folder and into S3",
        // Of which 90 are the rounds.
        seconds: 300,
        packages: &["baro-lake"],
        paths: &["scripts/lake-kills.py", "xtask/src/lake.rs", "xtask/src/python.rs"],
        run: lake::step,
    },
    Step {
        name: "lab",
        what: "power cuts on other kernels",
        seconds: 180,
        packages: &["lab", "lab-load", "lab-agent"],
        paths: &["xtask/src/lab.rs"],
        run: lab::step,
    },
    Step {
        name: "dist",
        what: "the build that is handed out, and the size of baro",
        seconds: 420,
        packages: HANDED_OUT,
        paths: &["xtask/src/dist.rs"],
        run: dist::step,
    },
    Step {
        name: "deb",
        what: "the package in a clean Debian",
        // Of which 90 are its own, where `dist` has built what is packed.
        seconds: 510,
        packages: HANDED_OUT,
        paths: &[
            "packaging",
            "LICENSE-MIT",
            "docs/durability.md",
            "docs/service.md",
            "docs/settings.md",
            "xtask/src/deb",
            "xtask/src/deb.rs",
            "xtask/src/dist.rs",
        ],
        run: deb::step,
    },
    Step {
        name: "armv7",
        what: "recorder and libbaro on armv7",
        seconds: 900,
        packages: BOARDS,
        paths: BOARDS_PATHS,
        run: || boards::step(&["armv7"]),
    },
    Step {
        name: "aarch64",
        what: "recorder and libbaro on aarch64",
        seconds: 900,
        packages: BOARDS,
        paths: BOARDS_PATHS,
        run: || boards::step(&["aarch64"]),
    },
];

//! The full steps: what each runs, which paths it guards, and how long it takes on two processors.

use crate::ci::{Outcome, moved_tests};
use crate::{boards, deb, dist, lab};

/// One full step.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// Measured, for what CI's time allows.
    pub(super) seconds: u64,
    /// Files and folders, relative to the root, whose change makes the step due.
    pub(super) guards: &'static [&'static str],
    pub(super) run: fn() -> Outcome,
}

/// What libbaro is made of.
const LIBBARO: &[&str] = &[
    "crates/ondisk",
    "crates/sys",
    "crates/log",
    "crates/recorder",
    "crates/sources",
    "crates/capi",
    "examples/c",
    "xtask/src/boards",
    "xtask/src/boards.rs",
    "xtask/src/libbaro.rs",
    "Cargo.toml",
    "Cargo.lock",
];

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "moved",
        what: "the tests that moved here from each push (xtask/full-tests.txt)",
        seconds: 600,
        guards: &["crates", "fuzz", "lab", "testdata", "xtask/full-tests.txt", "Cargo.lock"],
        run: moved_tests,
    },
    Step {
        name: "lab",
        what: "power cuts on other kernels",
        seconds: 180,
        guards: &[
            "crates/ondisk",
            "crates/sys",
            "crates/log",
            "crates/recorder",
            "crates/runs",
            "crates/store",
            "crates/sources",
            "lab",
            "xtask/src/lab.rs",
            "Cargo.lock",
        ],
        run: lab::step,
    },
    Step {
        name: "dist",
        what: "the build that is handed out, and the size of baro",
        seconds: 420,
        guards: &["crates", "lab/baro-lab", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml"],
        run: dist::step,
    },
    Step {
        name: "deb",
        what: "the package in a clean Debian",
        // Of which 90 are its own, where `dist` has built what is packed.
        seconds: 510,
        guards: &[
            "crates",
            "packaging",
            "xtask/src/deb",
            "xtask/src/deb.rs",
            "Cargo.toml",
            "Cargo.lock",
        ],
        run: deb::step,
    },
    Step {
        name: "armv7",
        what: "recorder and libbaro on armv7",
        seconds: 900,
        guards: LIBBARO,
        run: || boards::step(&["armv7"]),
    },
    Step {
        name: "aarch64",
        what: "recorder and libbaro on aarch64",
        seconds: 900,
        guards: LIBBARO,
        run: || boards::step(&["aarch64"]),
    },
];

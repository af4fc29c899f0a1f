//! The settings that are compared: the paper's, and ours.
//!
//! Each is a [`Policy`] of the library, so that the bench drives what `baro share` drives. Of the
//! paper's, only its own parameter differs from what the kernel does by itself.

use baro_share::pieces::Pieces;
use baro_share::{Cut, Policy};

/// The paper's sizes (its section 5.3.1), in the MB that fio means: MiB.
const FIXED: Pieces = Pieces { read_bytes: 30 << 20, write_bytes: 10 << 20 };

/// How a disk is set while groups share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Setting {
    /// BFQ and nothing else.
    Default,
    /// `fifo_expire_sync` and `fifo_expire_async` of 1 s.
    FifoExpire,
    /// `max_budget` of 1,024 sectors.
    MaxBudget,
    /// One request at a time.
    StrictGuarantees,
    /// What the library's plan sets, nothing cut.
    Remedies,
    /// The paper's method: pieces of 30 MB read, 10 MB written.
    Fixed,
    /// The library as it comes.
    Auto,
    /// Cut as with `Auto`, and one request at a time.
    StrictAuto,
}

impl Setting {
    /// In the order of reports.
    pub(super) const ALL: [Setting; 8] = [
        Setting::Default,
        Setting::FifoExpire,
        Setting::MaxBudget,
        Setting::StrictGuarantees,
        Setting::Remedies,
        Setting::Fixed,
        Setting::Auto,
        Setting::StrictAuto,
    ];

    /// As in names of cells and in rows.
    #[must_use]
    pub(super) fn name(self) -> &'static str {
        match self {
            Setting::Default => "default",
            Setting::FifoExpire => "fifo_expire",
            Setting::MaxBudget => "max_budget",
            Setting::StrictGuarantees => "strict_guarantees",
            Setting::Remedies => "remedies",
            Setting::Fixed => "fixed",
            Setting::Auto => "auto",
            Setting::StrictAuto => "strict_auto",
        }
    }

    /// The one of this name.
    #[must_use]
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.name() == name)
    }

    /// Whether programs are cut.
    #[must_use]
    pub(super) fn cuts(self) -> bool {
        self.policy().cut != Cut::Off
    }

    /// What the library is told.
    #[must_use]
    pub(super) fn policy(self) -> Policy {
        let bare = Policy { remedies: false, cut: Cut::Off, ..Policy::default() };
        let with = |settings: &[(&str, &str)]| Policy {
            set: settings.iter().map(|(file, value)| ((*file).into(), (*value).into())).collect(),
            ..bare.clone()
        };
        match self {
            Setting::Default => bare,
            Setting::FifoExpire => {
                with(&[("iosched/fifo_expire_sync", "1000"), ("iosched/fifo_expire_async", "1000")])
            }
            Setting::MaxBudget => with(&[("iosched/max_budget", "1024")]),
            Setting::StrictGuarantees => Policy { strict: true, ..bare },
            Setting::Remedies => Policy { cut: Cut::Off, ..Policy::default() },
            Setting::Fixed => Policy { cut: Cut::Fixed(FIXED), ..bare },
            Setting::Auto => Policy::default(),
            Setting::StrictAuto => Policy { strict: true, ..Policy::default() },
        }
    }
}

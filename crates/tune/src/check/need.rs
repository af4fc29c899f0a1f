//! A row of `check`, and what can be done about it.
//!
//! Built step by step, so that each rule reads as a sentence: found, wanted, why, price, remedy, and
//! last the judgement. Invariant: a row that is good has no command and no remedy, so nothing is
//! ever applied that is not asked for. Tests: `tests/check.rs`, `src/plan.rs`.

use crate::setting::Setting;

/// What is to be done about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Good,
    /// It should be changed.
    Change,
    /// Nothing by itself: worth knowing, or right in some cases.
    Note,
}

impl Verdict {
    /// `good`, `change` or `note`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Change => "change",
            Verdict::Note => "note",
        }
    }
}

/// What changes a row, beside the command for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Remedy {
    /// Only the command, or a decision.
    #[default]
    Hand,
    /// Files of the kernel: at run time, and by sysctl.d, udev or tmpfiles.d at each boot.
    Settings(Vec<Setting>),
    /// An option of the store's mount.
    MountOption(&'static str),
    /// A limit of the recorder's unit: `LimitRTPRIO=99`.
    ServiceLimit(&'static str),
    /// A mount of its own: a line of fstab.
    Mount(&'static str),
}

/// One need of the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// One word by which the row is asked for: `queue`.
    pub key: &'static str,
    /// The setting: a sysctl's name, a file, a limit.
    pub name: String,
    /// What to do.
    pub verdict: Verdict,
    /// Its value here.
    pub found: String,
    /// The value wanted.
    pub wanted: String,
    /// What it does to a recorder.
    pub why: &'static str,
    /// What the change costs.
    pub price: &'static str,
    /// What changes it; `None` where nothing is to be changed.
    pub command: Option<String>,
    /// The same as data.
    pub remedy: Remedy,
}

impl Need {
    pub(super) fn new(
        key: &'static str,
        name: impl Into<String>,
        found: impl Into<String>,
        wanted: impl Into<String>,
    ) -> Self {
        let (name, found, wanted) = (name.into(), found.into(), wanted.into());
        let (verdict, remedy) = (Verdict::Good, Remedy::Hand);
        Need { key, name, verdict, found, wanted, why: "", price: "", command: None, remedy }
    }

    pub(super) fn because(mut self, why: &'static str) -> Self {
        self.why = why;
        self
    }

    pub(super) fn costing(mut self, price: &'static str) -> Self {
        self.price = price;
        self
    }

    pub(super) fn by(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    /// Changed by writing `value` into the file `path`.
    pub(super) fn by_setting(self, path: impl Into<String>, value: impl Into<String>) -> Self {
        self.by(Remedy::Settings(vec![Setting::new(path, value)]))
    }

    /// Good if `good`; else to be changed by `command`.
    pub(super) fn good_if(self, good: bool, command: impl Into<String>) -> Self {
        self.or(good, Verdict::Change, command)
    }

    /// Good if `good`; else worth knowing, and changed by `command`.
    pub(super) fn noted_unless(self, good: bool, command: impl Into<String>) -> Self {
        self.or(good, Verdict::Note, command)
    }

    /// Good if `good`; else as bad as `verdict` says.
    pub(super) fn or(mut self, good: bool, verdict: Verdict, command: impl Into<String>) -> Self {
        if !good {
            self.verdict = verdict;
            self.command = Some(command.into());
        }
        self
    }

    pub(super) fn note(mut self) -> Self {
        self.verdict = Verdict::Note;
        self
    }

    pub(super) fn finished(mut self) -> Self {
        if self.verdict == Verdict::Good {
            self.remedy = Remedy::Hand;
        }
        self
    }

    /// Files of the kernel that change it at run time; none where there is no such way.
    #[must_use]
    pub fn settings(&self) -> &[Setting] {
        match &self.remedy {
            Remedy::Settings(settings) => settings,
            _ => &[],
        }
    }
}

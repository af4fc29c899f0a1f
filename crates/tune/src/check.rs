//! What the machine has to offer a recorder, and what should be changed: read-only.
//!
//! Each row says what was found, what is wanted, why, and the exact command. The rules are pure
//! over the texts of files below a root and the rights of the process, so that tests state whole
//! machines. Invariant: nothing is written; a file that is not there gives no row or one that says
//! so. Test: `tests/check.rs`.

mod device;
mod memory;
mod rights;

use crate::machine::{Host, Machine};
use std::path::PathBuf;

/// What is known from elsewhere: the process, the store, the rings.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Before every path: `/` on a real machine.
    pub root: PathBuf,
    /// Memory that a recorder locks: rings and buffers.
    pub locked_bytes: u64,
    /// RLIMIT_MEMLOCK in bytes, `None` for unlimited.
    pub memlock_bytes: Option<u64>,
    /// CAP_IPC_LOCK: the limit does not apply.
    pub may_lock: bool,
    /// RLIMIT_RTPRIO.
    pub realtime_priority_max: u64,
    /// CAP_SYS_NICE: that limit does not apply.
    pub may_realtime: bool,
    /// The tmpfs of the rings.
    pub rings: Option<MountFacts>,
    /// The file system of the store.
    pub store: Option<MountFacts>,
}

/// A mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountFacts {
    /// `ext4`.
    pub kind: String,
    /// Where it is.
    pub mount_point: PathBuf,
    /// Its options.
    pub options: Vec<String>,
    /// The disk below it, by its name in `/sys/block`.
    pub disk: Option<String>,
}

impl MountFacts {
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|found| found == option)
    }
}

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

/// One need of the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
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
    /// What changes it; `None` where nothing is to be changed.
    pub command: Option<String>,
}

impl Need {
    fn new(name: impl Into<String>, found: impl Into<String>, wanted: impl Into<String>) -> Self {
        let (name, found, wanted) = (name.into(), found.into(), wanted.into());
        Need { name, verdict: Verdict::Good, found, wanted, why: "", command: None }
    }

    fn because(mut self, why: &'static str) -> Self {
        self.why = why;
        self
    }

    /// Good if `good`; else to be changed by `command`.
    fn good_if(self, good: bool, command: impl Into<String>) -> Self {
        self.or(good, Verdict::Change, command)
    }

    /// Good if `good`; else worth knowing, and changed by `command`.
    fn noted_unless(self, good: bool, command: impl Into<String>) -> Self {
        self.or(good, Verdict::Note, command)
    }

    fn or(mut self, good: bool, verdict: Verdict, command: impl Into<String>) -> Self {
        if !good {
            self.verdict = verdict;
            self.command = Some(command.into());
        }
        self
    }

    fn note(mut self) -> Self {
        self.verdict = Verdict::Note;
        self
    }
}

/// The texts below the root.
struct Files(Host);

impl Files {
    fn text(&self, path: &str) -> Option<String> {
        self.0.read(path).ok().map(|text| text.trim().to_owned())
    }

    fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }
}

/// Looks at everything that a recorder needs of the machine. Changes nothing; waits for no device.
#[must_use]
pub fn check(here: &Circumstances) -> Vec<Need> {
    let files = Files(Host { root: here.root.clone() });
    let mut needs = rights::needs(here, &files);
    needs.extend(memory::needs(here, &files));
    needs.extend(device::needs(here, &files));
    needs
}

/// The choice in brackets: `none [bfq] kyber`.
fn chosen(text: &str) -> &str {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(chosen, _)| chosen)
}

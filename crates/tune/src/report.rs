//! What undoing came to, setting by setting, for people and for programs.
//!
//! A conflict is not an error: somebody's later decision is respected and named. Invariant: every
//! setting of the journal is in the report exactly once. Test: `tests/fake_root.rs`.

use std::fmt;

use crate::error::Error;
use crate::owner::Owner;

/// What undoing came to. Its text has one line a setting, without those that needed nothing.
#[derive(Debug, Default)]
pub struct Report {
    /// Every setting of the journal, in the order in which they were undone.
    pub settings: Vec<Undone>,
    /// The journal itself could not be replaced, or one of an earlier boot was damaged and dropped.
    pub journal: Option<Error>,
    /// A journal of an older version that was left where it is, and what to do about it. No failure:
    /// whoever can write there could else make every verb fail. Not in the text of the report.
    pub before: Option<String>,
}

impl Report {
    /// Adds what undoing another journal came to.
    pub fn add(&mut self, other: Report) {
        self.settings.extend(other.settings);
        self.journal = self.journal.take().or(other.journal);
        self.before = self.before.take().or(other.before);
    }

    /// True where nothing is left to do: no conflict, no failure.
    pub fn is_clean(&self) -> bool {
        let done = |undone: &Undone| {
            !matches!(
                undone.result,
                UndoneAs::Conflict { .. } | UndoneAs::Failed(_) | UndoneAs::Held(_)
            )
        };
        self.journal.is_none() && self.settings.iter().all(done)
    }
}

/// One setting of a [`Report`].
#[derive(Debug)]
pub struct Undone {
    /// The path, with the key where the setting is one line of a file.
    pub name: String,
    /// What became of it.
    pub result: UndoneAs,
}

/// What became of a setting that was to be undone.
#[derive(Debug)]
#[non_exhaustive]
pub enum UndoneAs {
    /// It holds again what was found.
    Restored {
        /// What was found, and is there now.
        was: String,
    },
    /// It held what was found already.
    Unchanged,
    /// Somebody else changed it after us; it was left so.
    Conflict {
        /// What we left.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// Another owner holds it now; it stays in the journal until he has ended.
    Held(Owner),
    /// The file is gone, and the setting with it: a device or a control group was taken away.
    Gone,
    /// The machine was booted since, which undid it.
    Stale {
        /// What was found before that boot.
        was: String,
    },
    /// It could not be restored and stays in the journal.
    Failed(Error),
}

impl fmt::Display for Undone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.result {
            UndoneAs::Restored { was } => write!(out, "{name}: restored to {was:?}"),
            UndoneAs::Unchanged => write!(out, "{name}: as found"),
            UndoneAs::Conflict { expected, found } => {
                write!(
                    out,
                    "{name}: changed by another: expected {expected:?}, found {found:?}; "
                )?;
                write!(out, "left so")
            }
            UndoneAs::Held(owner) => {
                write!(out, "{name}: held by {owner}; left so: end that one, and undo again")
            }
            UndoneAs::Gone => write!(out, "{name}: gone, nothing to restore"),
            UndoneAs::Stale { was } => {
                write!(out, "{name}: undone by a reboot, was {was:?} before")
            }
            UndoneAs::Failed(error) => write!(out, "{name}: not restored: {error}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |undone: &&Undone| !matches!(undone.result, UndoneAs::Unchanged);
        for undone in self.settings.iter().filter(told) {
            writeln!(out, "{undone}")?;
        }
        match &self.journal {
            Some(error) => writeln!(out, "{error}"),
            None => Ok(()),
        }
    }
}

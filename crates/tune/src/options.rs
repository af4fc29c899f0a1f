//! Where a journal is, which machine it is for, and what is done about others' changes.
//!
//! Invariant: root's journal is below what no service and no other user owns ([`ROOTS`]). Test:
//! `tests/forged.rs`.

use std::path::{Path, PathBuf};

use baro_sys::schedule;

/// Root's state: below what no service and no other user owns.
pub(crate) const ROOTS: &str = "/var/lib/barograph-root/tune";
/// Where it was until 0.1. The package gives the folder above it to the service's user.
pub(crate) const ROOTS_BEFORE: &str = "/var/lib/barograph/tune";
/// Below the state directory: the journal of what outlives its process.
pub(crate) const KEPT: &str = "kept";
/// The same: that of `share`, whose owners are others.
pub(crate) const SHARE: &str = "share";

/// Where the journal is, which machine it is for, and what to do about settings that somebody
/// else changed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of the journal and its lock; see [`Options::state_dir_default`].
    pub state_dir: PathBuf,
    /// What stands for `/` before every setting's path: a fake machine in tests.
    pub root: PathBuf,
    /// Applies to what a crashed owner left.
    pub on_conflict: OnConflict,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            state_dir: Options::state_dir_default(None, None),
            root: "/".into(),
            on_conflict: OnConflict::Leave,
        }
    }
}

impl Options {
    /// `/var/lib/barograph-root/tune`; for a user other than root `barograph/tune` below
    /// `xdg_state_home` or else below `.local/state` in `home`, which the caller takes from the
    /// environment. On a disk and not in /run, so that the next start can tell what a reboot has undone.
    pub fn state_dir_default(xdg_state_home: Option<&Path>, home: Option<&Path>) -> PathBuf {
        let user = || match (xdg_state_home, home) {
            // The XDG rules: a path that is not absolute is ignored.
            (Some(state), _) if state.is_absolute() => Some(state.to_path_buf()),
            (_, Some(home)) if home.is_absolute() => Some(home.join(".local/state")),
            _ => None,
        };
        let base = if schedule::is_root() { None } else { user() };
        base.map_or_else(|| ROOTS.into(), |base| base.join("barograph/tune"))
    }

    /// A folder of its own below root's, for the journal of something that may be in anybody's folder.
    #[must_use]
    pub fn state_dir_of(name: &str) -> PathBuf {
        Path::new(ROOTS).join(name)
    }
}

/// What undoing does to a setting that somebody else changed after us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave it and keep it in the journal, so that one of the others can be chosen later.
    Leave,
    /// Overwrite it with what was found before us.
    Overwrite,
    /// Leave it and forget it: their value is the right one.
    Accept,
}

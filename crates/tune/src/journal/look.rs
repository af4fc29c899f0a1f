//! Journals looked at from outside: who has one, what a killed owner left set, what 0.1 left behind.
//!
//! Nothing here changes a setting. Invariant: a journal is taken over from no folder but root's own.
//! Tests: `tests/forged.rs`, `tests/owners.rs`.

use std::path::{Path, PathBuf};

use baro_sys::files;
use baro_sys::lock::LockFile;
use baro_sys::state::StateFolder;

use super::{BOOT_ID, Journal};
use crate::claim::{Claims, object};
use crate::error::Error;
use crate::machine::{JOURNAL, LOCK, Root};
use crate::options::{KEPT, Options, ROOTS, ROOTS_BEFORE, SHARE};
use crate::owner::Owner;
use crate::text::{JOURNAL_BYTES_MAX, Reader};

/// A setting that is still in effect although its owner has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The path, with the key where the setting is one line of a file.
    pub name: String,
    /// What was found before, and will be put back.
    pub was: String,
    /// What it holds.
    pub found: String,
    /// Who set it, where that is known.
    pub owner: Option<Owner>,
}

impl std::fmt::Display for Left {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Left { name, was, found, owner } = self;
        write!(out, "{name}: still {found:?}, was {was:?}")?;
        owner.iter().try_for_each(|owner| write!(out, "; set by {owner}, which has ended"))
    }
}

/// Whether the journal in this folder is of what outlives its process.
pub(super) fn is_kept(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name == KEPT)
}

/// The folder that journals beside each other have in common.
pub(super) fn base(dir: &Path) -> &Path {
    let is_below = dir.file_name().is_some_and(|name| name == SHARE || name == KEPT);
    dir.parent().filter(|_| is_below).unwrap_or(dir)
}

fn has_journal(state_dir: &Path, name: &str) -> bool {
    let before = Path::new(ROOTS_BEFORE).join(name).join(JOURNAL);
    if state_dir == Path::new(ROOTS) && files::exists(&before) {
        return true;
    }
    match StateFolder::open(&state_dir.join(name)) {
        Ok(folder) => folder.list().is_ok_and(|names| names.iter().any(|name| name == JOURNAL)),
        // One that is refused is to be heard of.
        Err(error) => !error.is_missing(),
    }
}

impl Journal {
    /// Whether settings are kept, or a journal that cannot be read says that they may be.
    #[must_use]
    pub fn has_kept(options: &Options) -> bool {
        has_journal(&options.state_dir, KEPT)
    }

    /// The same of what `share` has set.
    #[must_use]
    pub fn has_shared(options: &Options) -> bool {
        has_journal(&options.state_dir, SHARE)
    }

    /// Where `share` has its journal, beside the ordinary one in `state_dir`.
    #[must_use]
    pub fn shared_dir(state_dir: &Path) -> PathBuf {
        state_dir.join(SHARE)
    }

    /// The process that holds the settings of this folder now.
    #[must_use]
    pub fn holder(state_dir: &Path) -> Option<u32> {
        StateFolder::open(state_dir).ok()?.lock_holder(LOCK).ok()??.pid
    }

    /// What owners who were killed have left set, in this folder's journals or in any that a note tells
    /// of. Takes nothing and puts nothing back; one that may not look sees nothing.
    #[must_use]
    pub fn left(options: &Options) -> Vec<Left> {
        let root = Root(options.root.clone());
        let boot = root.read(BOOT_ID).unwrap_or_default();
        let notes = Claims::look(&options.root);
        let own = [options.state_dir.clone(), options.state_dir.join(SHARE)];
        let mut folders: Vec<PathBuf> = notes.iter().map(|note| note.journal.clone()).collect();
        folders.extend(own.iter().map(|one| std::path::absolute(one).unwrap_or(one.clone())));
        folders.retain(|one| !is_kept(one));
        folders.sort();
        folders.dedup();
        let mut left = Vec::new();
        for dir in folders {
            let Ok(folder) = StateFolder::open(&dir) else { continue };
            if !matches!(folder.lock_holder(LOCK), Ok(None)) {
                continue;
            }
            let Ok(Some(text)) = folder.read_text(JOURNAL, JOURNAL_BYTES_MAX) else { continue };
            let file = dir.join(JOURNAL);
            let reader = Reader::new(&file, &text).ok().filter(|one| one.boot == boot.trim());
            for entry in reader.and_then(|one| one.entries().ok()).unwrap_or_default() {
                let texts = entry.target.files().into_iter().map(|file| root.read(file));
                let found = texts.collect::<Result<Vec<_>, _>>().ok();
                let found = found.and_then(|texts| entry.target.state(&texts));
                let Some(found) = found.filter(|found| *found != entry.was) else { continue };
                let of = object(&entry.target);
                let owner = notes.iter().find(|note| note.journal == dir && note.object == of);
                let owner = owner.map(|note| note.owner.clone());
                left.push(Left { name: entry.target.name(), was: entry.was, found, owner });
            }
        }
        left
    }

    /// Who holds settings now, each with what it holds: a disk or a file.
    #[must_use]
    pub fn owners(root: &Path) -> Vec<(String, Owner)> {
        let lives = |dir: &Path| {
            let folder = StateFolder::open(dir);
            folder.is_ok_and(|folder| matches!(folder.lock_holder(LOCK), Ok(Some(_))))
        };
        let notes = Claims::look(root).into_iter().filter(|note| lives(&note.journal));
        notes.map(|note| (note.object, note.owner)).collect()
    }

    /// Removes the folder of a journal in which nothing is left to undo, after its last owner. The lock is
    /// taken before its file is removed: one that is held stays.
    ///
    /// # Errors
    /// [`Error::Held`]; a journal or something that is not ours is in it. It stays.
    pub fn remove_folder(state_dir: &Path) -> Result<(), Error> {
        let (Some(above), Some(name)) = (state_dir.parent(), state_dir.file_name()) else {
            return Ok(());
        };
        let folder = match StateFolder::open(state_dir) {
            Err(error) if error.is_missing() => return Ok(()),
            folder => folder?,
        };
        let lock = lock(&folder)?;
        folder.clear_temporaries(JOURNAL)?;
        if folder.list()?.iter().all(|name| name == LOCK) {
            folder.remove(LOCK)?;
        }
        drop(lock);
        Ok(StateFolder::open(above)?.remove_folder(&name.to_string_lossy())?)
    }
}

/// Takes the lock of a journal's folder.
pub(crate) fn lock(folder: &StateFolder) -> Result<LockFile, Error> {
    folder.lock(LOCK)?.map_err(|holder| {
        let said = folder.lock_said(LOCK).ok().flatten();
        let owner = said.as_deref().and_then(Owner::parse);
        Error::Held { lock: folder.path().join(LOCK), pid: holder.pid, owner }
    })
}

/// Brings a journal that 0.1 left in the folder `before` into `folder`, where that folder is root's. From
/// one that a service owns nothing is taken, since its user may have written it: the text says what to do.
pub(super) fn bring_over(before: &Path, folder: &StateFolder) -> Result<Option<String>, Error> {
    let old = match StateFolder::open(before) {
        Ok(old) => old,
        // Whoever owns it can lay anything there: it is only told of, and never in the way.
        Err(error) if files::exists(&before.join(JOURNAL)) => {
            let file = before.join(JOURNAL);
            let file = file.display();
            return Ok(Some(format!(
                "{file}: a journal of an older version is not put back, because others than root may \
                 have written it ({error}); a reboot undoes its settings, or look at it, put back by \
                 hand what is yours, and `rm {file}`"
            )));
        }
        Err(_) => return Ok(None),
    };
    let Ok(Ok(_lock)) = old.lock(LOCK) else { return Ok(None) };
    if folder.read_text(JOURNAL, JOURNAL_BYTES_MAX)?.is_some() {
        return Ok(None);
    }
    if let Some(text) = old.read_text(JOURNAL, JOURNAL_BYTES_MAX)? {
        folder.replace_durable(JOURNAL, text.as_bytes(), 0o600)?;
        old.remove_durable(JOURNAL)?;
    }
    Ok(None)
}

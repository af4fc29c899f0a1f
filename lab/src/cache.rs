//! The cache folder: packages as they were fetched, kernels made ready from them, saved machines.
//! All of it can be deleted at any time; what is missing is made again.

use crate::tool::at;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct Cache(PathBuf);

/// A turn to run a machine; given back on drop.
#[derive(Debug)]
pub(crate) struct Turn {
    _file: File,
}

impl Cache {
    /// `BARO_LAB_CACHE`, or `barograph/lab` in the user's cache folder.
    pub(crate) fn open() -> Result<Cache, String> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let folder = set("BARO_LAB_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("barograph/lab")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/barograph/lab")))
            .ok_or("no cache folder: set BARO_LAB_CACHE or HOME")?;
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        Ok(Cache(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A folder in it, made if it is not there.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        Ok(folder)
    }

    /// Makes a folder whole or not at all: `fill` writes into a temporary one, which gets its name
    /// at the end. Somebody else may have made it meanwhile; then theirs is taken.
    pub(crate) fn once(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<PathBuf, String> {
        let done = self.0.join(name);
        if done.exists() {
            return Ok(done);
        }
        let parent = done.parent().unwrap_or(&self.0);
        fs::create_dir_all(parent).map_err(at(parent))?;
        let making = parent.join(format!(".making-{}", std::process::id()));
        let _ = fs::remove_dir_all(&making);
        fs::create_dir_all(&making).map_err(at(&making))?;
        let made = fill(&making).and_then(|()| match fs::rename(&making, &done) {
            Err(_) if done.exists() => Ok(()),
            other => other.map_err(at(&done)),
        });
        let _ = fs::remove_dir_all(&making);
        made.map(|()| done)
    }

    /// Removes what is in a folder but for `keep`: made from what has changed since. A machine that
    /// is being restored from it has its files open.
    pub(crate) fn remove_others(&self, name: &str, keep: &Path) -> Result<(), String> {
        let folder = self.0.join(name);
        let list = fs::read_dir(&folder).map_err(at(&folder))?;
        for old in list.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path != keep) {
            // Somebody else may be making theirs: what is hidden is not touched.
            if !old.file_name().unwrap_or_default().to_string_lossy().starts_with('.') {
                fs::remove_dir_all(&old).map_err(at(&old))?;
            }
        }
        Ok(())
    }

    /// Waits for a turn. There are as many as this host has processors: a machine has two, but most of
    /// what runs in one keeps one of them busy.
    pub(crate) fn turn(&self) -> Result<Turn, String> {
        let turns = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut waiting = false;
        loop {
            for number in 0..turns {
                let path = self.0.join(format!("turn-{number}.lock"));
                let file = File::create(&path).map_err(at(&path))?;
                match file.try_lock() {
                    Ok(()) => return Ok(Turn { _file: file }),
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
                }
            }
            if !waiting {
                eprintln!("lab: another machine is running here; waiting for a turn");
                waiting = true;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

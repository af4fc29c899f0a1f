//! The cache folder: packages as they were fetched, kernels made ready from them, saved machines.
//! All of it can be deleted at any time; what is missing is made again.

use crate::host;
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
    /// at the end. Whoever else wants it meanwhile, in this process or another, waits and finds it.
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
        let lock = parent.join(".making.lock");
        let lock =
            File::create(&lock).and_then(|file| file.lock().map(|()| file)).map_err(at(&lock));
        let _held = lock?;
        if done.exists() {
            return Ok(done);
        }
        let making = parent.join(".making");
        let _ = fs::remove_dir_all(&making);
        fs::create_dir_all(&making).map_err(at(&making))?;
        let made = fill(&making).and_then(|()| fs::rename(&making, &done).map_err(at(&done)));
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
        let turns = host::processors();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Remove, tempfolder};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn what_several_want_at_once_is_made_once() {
        let folder = tempfolder("cache-test").unwrap();
        let _remove = Remove(folder.clone());
        let cache = Cache(folder);
        let made = AtomicUsize::new(0);
        let fill = |making: &Path| {
            made.fetch_add(1, Relaxed);
            cache.remove_others("saved/kind", making)?;
            fs::write(making.join("memory"), b"whole").map_err(at(making))
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let found = cache.once("saved/kind/name", fill).unwrap();
                    assert_eq!(fs::read(found.join("memory")).unwrap(), b"whole");
                });
            }
        });
        assert_eq!(made.load(Relaxed), 1);
        // What failed is not there, and is tried again.
        assert!(cache.once("saved/other/name", |_| Err("no".to_owned())).is_err());
        assert!(cache.once("saved/other/name", |_| Ok(())).is_ok());
    }
}

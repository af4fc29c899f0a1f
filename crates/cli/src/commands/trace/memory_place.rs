//! Where a ring's trace is made when something hangs: in memory first, and from there copied to its
//! folder. The folder may be on the very file system that hangs.
//!
//! What could not be copied stays in memory, where it can be read; the next recorder takes it home.
//!
//! Invariant: a trace is removed from memory only when it is durable in its folder, and has its name
//! there only when it is whole. Held by `a_trace_in_memory_is_taken_home` and
//! `a_ring_writes_while_a_call_hangs_and_again_when_it_ends`.

use crate::failure::Result;
use baro_sys::identity::FileSystem;
use baro_sys::state::StateFolder;
use baro_sys::{files, schedule};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Root's, where no service manager gives a folder.
const OF_ROOT: [&str; 2] = ["/run/barograph-trace", "/dev/shm/barograph-trace"];
/// A folder that has not taken a trace in this time hangs, or is as good as that.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder in memory for traces on their way to `folder`.
#[derive(Debug)]
pub(super) struct MemoryPlace {
    path: PathBuf,
    folder: PathBuf,
}

impl MemoryPlace {
    /// The place for traces of `folder`; None if that is in memory itself, or there is no such place;
    /// both are said.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let is_memory =
            |path: &Path| FileSystem::of(path).is_ok_and(|found| found.name() == "tmpfs");
        if is_memory(folder) {
            say!(
                "baro: {} is in memory: a trace in it does not outlive a restart",
                folder.display()
            );
            return None;
        }
        // Below a folder that others may write nobody's names are safe; it is recorded to as before.
        StateFolder::open(folder).ok()?;
        let given = std::env::var_os("RUNTIME_DIRECTORY").map(PathBuf::from);
        let of_root = OF_ROOT.iter().filter(|_| schedule::is_root()).map(PathBuf::from);
        // /run is no memory everywhere.
        let found = given.into_iter().chain(of_root).find(|path| {
            let above = path.parent().filter(|_| !files::exists(path)).unwrap_or(path);
            is_memory(above) && StateFolder::make(path, 0o700).is_ok()
        });
        if found.is_none() {
            say!("baro: no folder in memory: traces go straight to {}", folder.display());
        }
        found.map(|path| Self { path, folder: folder.to_owned() })
    }

    /// Where to record.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies what an earlier recorder left; one that runs now keeps its own.
    pub(super) fn take_home_all(&self) {
        for name in files::list(&self.path).unwrap_or_default() {
            let path = self.path.join(&name);
            if name.starts_with("baro-") && name.ends_with(".trace") && !files::is_held(&path) {
                match take_home(&path, &self.folder) {
                    Ok(path) => say!("baro: {} was left in memory", path.display()),
                    Err(error) => say!("baro: {}: it stays in memory: {error}", path.display()),
                }
            }
        }
    }

    /// Copies a whole trace to its folder. Waits for it a while; then it goes on by itself, as long as
    /// this process lives. Gives the path at which the trace can be read now.
    pub(super) fn deliver(&self, path: &Path) -> PathBuf {
        let (send, receive) = channel();
        let (from, folder) = (path.to_owned(), self.folder.clone());
        let copies = move || {
            // Nobody may wait for it any more.
            let _ = send.send(take_home(&from, &folder).map_err(|error| error.to_string()));
        };
        let started = std::thread::Builder::new().name("baro-copy".to_owned()).spawn(copies);
        let done = match started {
            Ok(_) => receive.recv_timeout(PATIENCE),
            Err(error) => Ok(Err(error.to_string())),
        };
        match done {
            Ok(Ok(path)) => return path,
            Ok(Err(error)) => {
                say!("baro: {error}; the trace stays in memory, the next start tries again")
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => say!(
                "baro: {} has not taken the trace in {} s: its file system hangs; the trace is in memory \
                 until it goes on",
                self.folder.display(),
                PATIENCE.as_secs()
            ),
        }
        path.to_owned()
    }
}

/// Copies a trace into a folder, makes it durable there, and removes it where it was.
fn take_home(path: &Path, folder: &Path) -> Result<PathBuf> {
    let memory = StateFolder::open(path.parent().unwrap_or(Path::new(".")))?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let home = StateFolder::open(folder)?;
    let (whole, part) = (folder.join(name), format!("{name}.part"));
    if files::exists(&whole) {
        let whole = whole.display();
        return Err(format!("{whole} is there already: remove it, or name another folder").into());
    }
    let mut input = memory.open_file(name)?;
    let mut output = home.create_file(&part, 0o600)?;
    files::hold(&output);
    let copied = std::io::copy(&mut input, &mut output)
        .map_err(|error| format!("{}: write: {error}", whole.display()).into())
        .and_then(|_| Ok(files::sync(&output)?))
        .and_then(|()| Ok(home.rename(&part, name)?));
    if let Err(error) = copied {
        // It takes room that others need, and is in memory still.
        let _ = home.remove(&part);
        return Err(error);
    }
    home.sync()?;
    memory.remove(name)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_in_memory_is_taken_home() {
        let above = std::env::temp_dir().join(format!("baro-memory-place-{}", std::process::id()));
        let (memory, folder) = (above.join("memory"), above.join("folder"));
        for path in [&memory, &folder] {
            files::make_folders(path).unwrap();
        }
        let place = MemoryPlace { path: memory.clone(), folder: folder.clone() };
        let make = |name: &str| files::write(&memory.join(name), name.as_bytes()).unwrap();
        make("baro-1.trace");
        make("baro-2.trace.part");
        make("other");
        place.take_home_all();
        let names = |path: &Path| {
            let mut names = files::list(path).unwrap();
            names.sort();
            names
        };
        assert_eq!(names(&folder), ["baro-1.trace"]);
        assert_eq!(names(&memory), ["baro-2.trace.part", "other"]);
        assert_eq!(files::read_text(&folder.join("baro-1.trace"), 99).unwrap(), "baro-1.trace");
        // One of its name is there: both stay.
        make("baro-1.trace");
        assert_eq!(place.deliver(&memory.join("baro-1.trace")), memory.join("baro-1.trace"));
        assert_eq!(names(&memory), ["baro-1.trace", "baro-2.trace.part", "other"]);
        make("baro-3.trace");
        assert_eq!(place.deliver(&memory.join("baro-3.trace")), folder.join("baro-3.trace"));
        assert_eq!(names(&folder), ["baro-1.trace", "baro-3.trace"]);
        files::remove_tree(&above).unwrap();
    }
}

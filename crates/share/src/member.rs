//! A group that this process holds: made, given its weight, filled with processes, and given back.
//!
//! Invariant: a group holds its weight before a program is in it; when the member is dropped, the
//! group is gone and what still ran in it is where it would have been. Held by `tests/share.rs` of
//! the command line.

use crate::cgroup::{Group, Hierarchy};
use crate::error::ShareError;
use crate::observe;
use crate::origin::Origins;
use crate::reach::Reach;
use crate::registry::{Asked, Held, Registry};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// The interposer's file.
pub const INTERPOSER: &str = "libbaro_preload.so";
/// By which it finds the folder of the group's pieces.
const VARIABLE: &str = "BARO_SHARE";

/// What a member is made of.
#[derive(Clone, Debug)]
pub struct MemberSpec {
    /// The group.
    pub asked: Asked,
    /// The interposer; None: nothing is cut.
    pub interposer: Option<PathBuf>,
}

/// A group of ours or an adopted one, held.
#[derive(Debug)]
pub struct Member {
    asked: Asked,
    interposer: Option<PathBuf>,
    hierarchy: Hierarchy,
    group: Group,
    /// Where the processes of the group would be without it.
    origins: Origins,
    made: bool,
    held: Held,
}

impl Member {
    /// Enters the group into the registry. No control group is made yet: BFQ, which gives it a weight,
    /// may not be there before a [`Controller`](crate::Controller) has seen this entry.
    ///
    /// # Errors
    /// The name is taken; no rights; no hierarchy of groups.
    pub fn enter(registry: &Registry, spec: MemberSpec) -> Result<Self, ShareError> {
        let hierarchy = Hierarchy::find(Path::new("/"))?;
        let group = match &spec.asked.adopted {
            Some(path) => hierarchy.adopted(path)?,
            None => hierarchy.group(&spec.asked.name)?,
        };
        for disk in &spec.asked.disks {
            observe::queue(Path::new("/"), disk)?;
        }
        let held = registry.enter(&spec.asked)?;
        let (MemberSpec { asked, interposer }, origins) = (spec, held.origins());
        Ok(Self { asked, interposer, hierarchy, group, origins, made: false, held })
    }

    /// Whether a controller has done its part: BFQ schedules all its disks, and groups have weights.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.hierarchy.hands_on()
            && self.asked.disks.iter().all(|disk| {
                observe::queue(Path::new("/"), disk).is_ok_and(|queue| queue.scheduler == "bfq")
            })
    }

    /// Makes the control group with its weight. That of an adopted group is the controller's to set,
    /// since it must be put back.
    ///
    /// # Errors
    /// No rights, BFQ without groups, a parent that is not there, a weight that is not taken.
    pub fn make(&mut self) -> Result<(), ShareError> {
        if self.asked.adopted.is_some() {
            return Ok(());
        }
        if let Some((parent, _)) = self.asked.name.rsplit_once('/') {
            let parent = self.hierarchy.group(parent)?;
            if !parent.exists() {
                return Err(ShareError::Refused(format!(
                    "group {}: its parent is not there; hold that first: `baro share run --name \
                     PARENT ...`",
                    self.asked.name
                )));
            }
            parent.hand_on()?;
        }
        self.group.make()?;
        self.made = true;
        self.group.set_weight(self.asked.weight)
    }

    /// What was asked.
    #[must_use]
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Its control group.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Its folder in the registry.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.held.dir()
    }

    /// What its programs did.
    #[must_use]
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.held.files().counters()
    }

    /// Environment by which programs load the interposer; empty if nothing is cut.
    #[must_use]
    pub fn environment(&self, inherited: Option<OsString>) -> Vec<(&'static str, OsString)> {
        let Some(interposer) = &self.interposer else { return Vec::new() };
        let mut preload = interposer.clone().into_os_string();
        // What was to be loaded before stays so: a sanitizer must be first.
        if let Some(before) = inherited.filter(|before| !before.is_empty()) {
            let mut all = before;
            all.push(":");
            all.push(preload);
            preload = all;
        }
        vec![("LD_PRELOAD", preload), (VARIABLE, self.held.dir().as_os_str().to_owned())]
    }

    /// Starts a program in the group, and says why its I/O cannot be cut if that is so.
    ///
    /// This process is in the group for a moment, as that is how a child gets there before its
    /// first instruction. Not to be called by two threads at once.
    ///
    /// # Errors
    /// It cannot be started, or the group is gone.
    pub fn start(&mut self, command: &mut Command) -> Result<(Child, Option<String>), ShareError> {
        let reach = find_program(Path::new(command.get_program()));
        let why_not = reach.as_deref().map(Reach::of_program).and_then(|reach| reach.why_not());
        // Where it cannot be loaded, a loader would complain on every start.
        if why_not.is_none() {
            for (name, value) in self.environment(std::env::var_os("LD_PRELOAD")) {
                command.env(name, value);
            }
        }
        let own = std::process::id();
        let before = self.hierarchy.of_process(own)?;
        self.group.add(own)?;
        let started = command.spawn();
        before.add(own)?;
        let child = started.map_err(|why| ShareError::NotStarted {
            program: command.get_program().to_owned(),
            why,
        })?;
        // One that has ended already needs no place.
        if self.origins.add(&self.hierarchy, child.id(), &before).is_ok() {
            self.held.note(&self.origins)?;
        }
        Ok((child, why_not.filter(|_| self.interposer.is_some())))
    }

    /// Moves processes that run already into it until it is given back. Their I/O is not cut: nothing
    /// can be loaded into a program that has begun.
    ///
    /// # Errors
    /// One has ended, or no rights; those before it are moved.
    pub fn take(&mut self, pids: &[u32]) -> Result<(), ShareError> {
        for &pid in pids {
            let from = self.hierarchy.of_process(pid).map_err(|error| {
                ShareError::Refused(format!("process {pid}: expected one that runs, found {error}"))
            })?;
            self.origins.add(&self.hierarchy, pid, &from)?;
            // Before it is moved: this process may be killed at any moment.
            self.held.note(&self.origins)?;
            self.group.add(pid)?;
        }
        Ok(())
    }

    /// Gives the group back: what still runs in it goes to where it, or who made it, came from, else to
    /// where most came from, and the weight is gone with the group.
    ///
    /// # Errors
    /// What is left to do by hand.
    pub fn leave(mut self) -> Result<(), ShareError> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), ShareError> {
        // In a group of somebody else's is what he put there.
        let whole = self.asked.adopted.is_none();
        std::mem::take(&mut self.origins).put_back(&self.hierarchy, &self.group, whole);
        if !std::mem::take(&mut self.made) {
            return Ok(());
        }
        self.group.remove(&self.hierarchy.top())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.give_back();
    }
}

/// The file of a program, as execvp finds it.
fn find_program(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return Some(name.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| baro_sys::files::exists(file))
}

/// The interposer beside the running program, in `../lib/barograph` or where packages put it.
#[must_use]
pub fn find_interposer() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let dir = own.parent()?;
    [dir.to_owned(), dir.join("../lib/barograph"), PathBuf::from("/usr/lib/barograph")]
        .iter()
        .map(|dir| dir.join(INTERPOSER))
        .find(|file| baro_sys::files::exists(file))
}

//! Where guests are run: a cache, a kernel, and how this project's programs are built for them; and
//! what is brought into a guest.

use crate::cache::Cache;
use crate::guest::programs::{Brought, find, with_libraries};
use crate::kernels::Kernel;
use crate::machine::{Disks, Hardware, Machine};
use crate::project::{self, Profile};
use crate::scratch::{Remove, tempfile};
use std::path::{Path, PathBuf};
use std::process::Command;

/// All that a guest needs but its hardware.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) kernel: &'a Kernel,
    pub(crate) profile: Profile,
}

impl Site<'_> {
    /// A machine with the agent of this source.
    pub(crate) fn start(&self, hardware: Hardware, disks: &Disks) -> Result<Machine, String> {
        let agent = project::build("lab-agent", self.profile)?.ok_or("no agent in this project")?;
        Machine::start(self.cache, self.kernel, &agent, hardware, disks)
    }

    /// A program of this project, else one of this machine.
    pub(crate) fn program(&self, name: &str) -> Result<Option<PathBuf>, String> {
        Ok(project::build(name, self.profile)?.or_else(|| find(name)))
    }

    /// Brings `baro`.
    pub(crate) fn bring_baro(&self, machine: &mut Machine) -> Result<(), String> {
        let baro = self.program("baro")?.ok_or("no program baro in this project")?;
        bring(machine, &baro, "/usr/bin/baro")
    }

    /// A machine with the load and the judge of power cuts.
    pub(crate) fn start_with_load(&self, disks: &Disks) -> Result<Machine, String> {
        let mut machine = self.start(Hardware::default(), disks)?;
        let load =
            project::build("lab-load", self.profile)?.ok_or("no lab-load in this project")?;
        bring(&mut machine, &load, "/usr/bin/lab-load")?;
        Ok(machine)
    }
}

/// Brings a program with its libraries; what the guest has already is left out.
pub(crate) fn bring(machine: &mut Machine, host: &Path, guest: &str) -> Result<(), String> {
    for one in with_libraries(host, guest)? {
        bring_file(machine, &one)?;
    }
    Ok(())
}

/// Brings one file.
pub(crate) fn bring_file(machine: &mut Machine, one: &Brought) -> Result<(), String> {
    if !machine.files.insert(one.guest.clone()) {
        return Ok(());
    }
    let (mode, bytes) = one.read()?;
    machine.session.put(&one.guest, mode, bytes)
}

/// Brings a library that makes syncs do nothing.
pub(crate) fn bring_nosync(machine: &mut Machine) -> Result<(), String> {
    let (source, library) = (project::root().join("lab/load/nosync.c"), tempfile("nosync.so"));
    let _remove = Remove(library.clone());
    let mut cc = Command::new("cc");
    crate::tool::output(cc.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source))?;
    let one = Brought { host: library.clone(), guest: "/lib/nosync.so".to_owned() };
    bring_file(machine, &one)
}

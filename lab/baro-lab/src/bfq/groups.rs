//! The two control groups of `baro-lab bfq`: made, given weights, and gone on drop.
//!
//! Version 1 has the block controller in a tree of its own, version 2 hands it on in the one tree.
//! A weight is read back: what a kernel makes of it is what counts.
//!
//! Invariant: a group is gone after drop, and one that a killed run left is removed by the next.
//! Held by `bench_bfq_leaves_nothing` in `tests/bench_bfq.rs`.

use baro_bench::BenchError;
use baro_command::say;
use baro_sys::files;
use baro_tune::{Journal, Setting};
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "baro-bfq-";
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// Control groups with weights of BFQ.
#[derive(Debug)]
pub(super) struct Groups {
    dirs: Vec<PathBuf>,
}

impl Groups {
    /// Makes one group for each weight. Needs root.
    ///
    /// # Errors
    /// No block controller, or BFQ's weights are not in it.
    pub(super) fn make(weights: &[u64], journal: &mut Journal) -> Result<Self, BenchError> {
        let (parent, file) = place(journal)?;
        remove_leftovers(&parent);
        let mut groups = Self { dirs: Vec::new() };
        for (number, weight) in weights.iter().enumerate() {
            let dir = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            files::make_folder(&dir).map_err(BenchError::file("make the control group", &dir))?;
            groups.dirs.push(dir.clone());
            let path = dir.join(file);
            if !files::exists(&path) {
                return Err(BenchError::Refused(format!(
                    "{}: not there: this kernel's BFQ has no groups (CONFIG_BFQ_GROUP_IOSCHED), or \
                     the module bfq is not loaded: modprobe bfq",
                    path.display()
                )));
            }
            files::write_setting(&path, &weight.to_string())?;
            let found = files::read_text(&path, TEXT_BYTES_MAX)?;
            let first = found.lines().next().unwrap_or_default();
            if first.split_whitespace().next_back() != Some(weight.to_string().as_str()) {
                return Err(BenchError::Refused(format!(
                    "{}: expected the weight {weight}, found {first:?}; weights are 1 to 1000",
                    path.display()
                )));
            }
        }
        Ok(groups)
    }

    /// Puts a process into a group.
    ///
    /// # Errors
    /// The kernel's reason.
    pub(super) fn put(&self, group: usize, process: u32) -> Result<(), BenchError> {
        let Some(dir) = self.dirs.get(group) else { return Ok(()) };
        Ok(files::write_setting(&dir.join("cgroup.procs"), &process.to_string())?)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for dir in &self.dirs {
            if let Err(error) = files::remove_empty_folder(dir) {
                let reason = error.source;
                say!("bench: removing the control group {}: {reason}", dir.display());
            }
        }
    }
}

/// Where groups are made, and the file of their weight.
fn place(journal: &mut Journal) -> Result<(PathBuf, &'static str), BenchError> {
    let one = Path::new(ROOT).join("blkio");
    if files::exists(&one.join("cgroup.procs")) {
        return Ok((one, "blkio.bfq.weight"));
    }
    let controllers = Path::new(ROOT).join("cgroup.controllers");
    let controllers = files::read_text(&controllers, TEXT_BYTES_MAX).unwrap_or_default();
    if !controllers.split_whitespace().any(|name| name == "io") {
        return Err(BenchError::Refused(format!(
            "no block controller below {ROOT}, neither of version 1 (blkio) nor of version 2 (io)"
        )));
    }
    let setting = Setting::new(format!("{ROOT}/cgroup.subtree_control"), "+io");
    journal.apply(&setting).map_err(BenchError::Settings)?;
    Ok((PathBuf::from(ROOT), "io.bfq.weight"))
}

/// Groups whose process is gone; one that still has a process in it stays.
fn remove_leftovers(parent: &Path) {
    for name in files::list(parent).unwrap_or_default() {
        let Some(process) = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next())
        else {
            continue;
        };
        if !files::exists(&Path::new("/proc").join(process)) {
            let _ = files::remove_empty_folder(&parent.join(&name));
        }
    }
}

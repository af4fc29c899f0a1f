//! One recording of a scenario on a disk whose writes are logged, ended by killing the machine.
//!
//! The disk has two partitions: the file system, and a place for statements. A statement says what
//! the load had been promised when it was written; as the log has completed writes in their order,
//! one that is in the log before a cut must hold after the cut.

use super::log::Log;
use super::{Plan, Way, disk};
use crate::machine::{Backing, Disks};
use crate::scratch::{Remove, tempfile};
use crate::site::{Site, bring_nosync};
use crate::tool::at;
use lab_load::{STATEMENT_BYTES, Statement};
use std::fs;
use std::path::Path;

/// A log and what it proves.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) log: Log,
    /// The first entry after the file system was made.
    pub(crate) begin: usize,
    /// Statements by the entry that wrote them, rising.
    statements: Vec<(usize, [u8; STATEMENT_BYTES])>,
    _file: Remove,
}

impl Recording {
    /// What had been promised when the first `cut` entries were there.
    pub(crate) fn promised(&self, cut: usize) -> Option<&[u8; STATEMENT_BYTES]> {
        let before = self.statements.partition_point(|(at, _)| *at < cut);
        before.checked_sub(1).map(|last| &self.statements[last].1)
    }

    pub(crate) fn statements(&self) -> usize {
        self.statements.len()
    }

    pub(crate) fn flushes(&self) -> impl Iterator<Item = usize> + '_ {
        let entries = self.log.entries.iter().enumerate().skip(self.begin);
        entries.filter(|(_, entry)| entry.flush).map(|(index, _)| index)
    }
}

/// Records for a while and cuts the power.
pub(crate) fn record(site: Site<'_>, plan: &Plan, seed: u64) -> Result<Recording, String> {
    let (image, log) = (tempfile("recorded"), tempfile("log"));
    let (_image, log_file) = (Remove(image.clone()), Remove(log.clone()));
    fs::write(&image, disk::table()).map_err(at(&image))?;
    let disks = Disks { first: Backing::Logged { image, log: log.clone() }, ..Disks::blank() };
    let mut machine = site.start_with_load(&disks)?;
    if plan.way == Way::NoSync {
        bring_nosync(&mut machine)?;
    }
    machine.sh(&plan.make("/dev/vda"), 60)?;
    let begin = Log::read(&log)?.entries.len();
    let preload = match plan.way {
        // The store is made whole; then the recorder's syncs do nothing.
        Way::NoSync => "NOSYNC_WHEN=/mnt/store/lock LD_PRELOAD=/lib/nosync.so ",
        Way::Ordinary | Way::NoBarrier => "",
    };
    let line = format!(
        "{preload}exec lab-load write --store /mnt/store --acks /dev/vda2 --scenario {} --seed {seed} \
         --for-ms 600000",
        plan.scenario
    );
    machine.kill_while_running(&line, "READY", plan.record_for)?;
    read(&log, begin, log_file)
}

fn read(path: &Path, begin: usize, file: Remove) -> Result<Recording, String> {
    let log = Log::read(path)?;
    let mut statements: Vec<(usize, [u8; STATEMENT_BYTES])> = Vec::new();
    let mut data = Vec::new();
    let mut last = None;
    for (index, entry) in log.entries.iter().enumerate().skip(begin) {
        let inside = usize::try_from(entry.offset).is_ok_and(|at| disk::statements().contains(&at));
        if !inside || entry.discard || entry.bytes != STATEMENT_BYTES as u64 {
            continue;
        }
        log.data(entry, &mut data)?;
        let Some(statement) = Statement::decode(&data) else { continue };
        if last.is_some_and(|last| statement.number() <= last) {
            return Err(format!("statement {} after {last:?}", statement.number()));
        }
        last = Some(statement.number());
        let bytes = data.as_slice().try_into().map_err(|_| "a statement of odd size".to_owned())?;
        statements.push((index, bytes));
    }
    if statements.is_empty() {
        return Err(format!("no statement among {} entries of the log", log.entries.len()));
    }
    Ok(Recording { log, begin, statements, _file: file })
}

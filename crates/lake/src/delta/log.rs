//! Reading a table's log: which version is the newest, whether the table is one that can be written to,
//! and how far it has the runs of a store.
//!
//! Versions of others are passed over, whatever they have; a line that is no JSON is refused. Memory is
//! that of one version, or of the newest checkpoint, from which reading begins.
//!
//! What was read is believed as long as the newest version is as it was read. If it is not, somebody has
//! restored an older table, or another, and all is read from the begin.
//!
//! Invariant: of any log there is one reading or a refusal that names the file. Held by
//! `a_log_of_anything_is_read_or_refused_by_name`.

use super::line::{self, Line, Metadata, id_of};
use super::{READER_VERSION, WRITER_VERSION, checkpoint, schema};
use crate::error::{Error, Result};
use crate::place::{LOG, Place};
use baro_ondisk::crc32c;
use baro_sys::clock;
use serde_json::Value;
use std::collections::BTreeSet;

/// Most bytes of one version.
pub(crate) const COMMIT_BYTES_MAX: u64 = 64 << 20;
/// How often something is looked at again that another writer may be about to finish, and how long after.
const LOOKS: u32 = 3;
const LOOK_AGAIN_NS: u64 = 20_000_000;
/// Digits of a version in the name of its file.
const DIGITS: usize = 20;

/// File of a version.
pub(crate) fn commit_name(version: u64) -> String {
    format!("{LOG}/{version:020}.json")
}

/// What has been read of a table's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    /// The version that the next commit would be.
    pub(crate) next: u64,
    /// The table's own name, once there is a first version.
    pub(crate) table: Option<[u8; 16]>,
    /// The last run of the store that the table has.
    pub(crate) last_run: Option<u64>,
    /// Versions between two checkpoints, as the table says it.
    pub(crate) interval: Option<u64>,
    /// The newest checkpoint that was seen.
    pub(crate) checkpoint: Option<u64>,
    has_protocol: bool,
    /// Bytes and CRC of the newest version.
    newest: Option<(u64, u32)>,
}

/// The property of a table that says how many versions are between two checkpoints.
pub(super) const INTERVAL: &str = "delta.checkpointInterval";

fn wrong(file: &str, what: &'static str, expected: &str, found: impl Into<String>) -> Error {
    let (file, expected, found) = (file.to_owned(), expected.to_owned(), found.into());
    Error::Table { file, what, expected, found }
}

impl Log {
    /// Reads the log at the begin of a hand-over: what has come since, or all of it if it is not the same
    /// log any more. `app` is who commits the runs of the store.
    pub(crate) fn begin(&mut self, place: &dyn Place, app: &str) -> Result<()> {
        if !self.is_same(place)? {
            *self = Log::default();
        }
        let mut looks = 1;
        loop {
            let names = place.names(LOG)?;
            self.begin_with_checkpoint(place, &names, app)?;
            self.catch_up(place, app)?;
            match self.check_names(place, &names) {
                // A list that is made while another writes may have a version and not the one before.
                Err(Error::Table { .. }) if looks < LOOKS => clock::sleep_ns(LOOK_AGAIN_NS),
                done => return done,
            }
            looks += 1;
        }
    }

    /// Begins with the newest checkpoint that can be read, if nothing has been read yet.
    fn begin_with_checkpoint(
        &mut self,
        place: &dyn Place,
        names: &[String],
        app: &str,
    ) -> Result<()> {
        let found = checkpoint::found(names);
        self.checkpoint = found.first().map(|one| one.version);
        let mut failed = None;
        for one in &found {
            if self.next > 0 {
                break;
            }
            let mut seen = Log { checkpoint: self.checkpoint, ..Log::default() };
            let mut refused = None;
            let read = checkpoint::state(place, one, |file, row| {
                let line = serde_json::from_value(row)
                    .map_err(|error| wrong(file, "actions", "those of Delta", error.to_string()))?;
                refused = refused.take().or_else(|| seen.take(file, line, app).err());
                Ok(())
            });
            // A table that is not to be written to is not so by an older checkpoint either.
            if let Some(refused) = refused {
                return Err(refused);
            }
            match read.and_then(|()| seen.check_first(one.files.first())) {
                Ok(()) => {
                    let version = place.read(&commit_name(one.version), COMMIT_BYTES_MAX)?;
                    seen.newest = version.map(|bytes| mark(&bytes));
                    seen.next = one.version.saturating_add(1);
                    *self = seen;
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // One that cannot be read is no loss as long as all versions are there.
        let has_first = place.size(&commit_name(0))?.is_some();
        failed.filter(|_| self.next == 0 && !has_first).map_or(Ok(()), Err)
    }

    /// Fails if what was read so far is no table.
    fn check_first(&self, file: Option<&String>) -> Result<()> {
        if self.table.is_some() && self.has_protocol {
            return Ok(());
        }
        let first = commit_name(0);
        Err(wrong(file.unwrap_or(&first), "content", "protocol and metaData", "none"))
    }

    /// Whether the newest version is still the one that was read.
    pub(crate) fn is_same(&self, place: &dyn Place) -> Result<bool> {
        let (Some(version), Some(newest)) = (self.next.checked_sub(1), self.newest) else {
            return Ok(true);
        };
        let name = commit_name(version);
        if place.size(&name)? != Some(newest.0) {
            return Ok(false);
        }
        let bytes = place.read(&name, newest.0)?;
        Ok(bytes.is_some_and(|bytes| mark(&bytes) == newest))
    }

    /// Fails if versions are missing: before the newest one, or behind it.
    fn check_names(&self, place: &dyn Place, names: &[String]) -> Result<()> {
        let versions: BTreeSet<u64> = names.iter().filter_map(|name| version_of(name)).collect();
        // What a checkpoint has may be removed.
        let checkpoints = names.iter().filter(|name| name.contains(".checkpoint"));
        let checkpoint = checkpoints.filter_map(|name| digits(name.get(..DIGITS)?)).max();
        if self.next == 0 {
            return match versions.first() {
                Some(version) => Err(gap(names, &commit_name(*version), 0)),
                None if checkpoint.is_some() => Err(gap(names, &commit_name(0), 0)),
                None => Ok(()),
            };
        }
        if let Some(version) = versions.range(self.next..).next() {
            return Err(gap(names, &commit_name(*version), self.next));
        }
        let first = checkpoint.map_or(0, |version| version.saturating_add(1)).min(self.next);
        for version in (first..self.next).filter(|version| !versions.contains(version)) {
            let name = commit_name(version);
            if place.size(&name)?.is_none() {
                return Err(wrong(&name, "version", "it as before, or a checkpoint", "it gone"));
            }
        }
        Ok(())
    }

    /// Reads the versions that have come since.
    pub(crate) fn catch_up(&mut self, place: &dyn Place, app: &str) -> Result<()> {
        let mut seen = self.clone();
        let mut looks = 1;
        loop {
            let name = commit_name(seen.next);
            let Some(bytes) = place.read(&name, COMMIT_BYTES_MAX)? else { break };
            // Not every writer makes a file whole: its end may be about to come.
            if looks < LOOKS && bytes.trim_ascii_end().last() != Some(&b'}') {
                clock::sleep_ns(LOOK_AGAIN_NS);
                looks += 1;
                continue;
            }
            seen.read(&name, &bytes, app)?;
            seen.newest = Some(mark(&bytes));
            seen.next += 1;
        }
        if seen.next > 0 {
            seen.check_first(None)?;
        }
        *self = seen;
        Ok(())
    }

    /// Takes in one version.
    fn read(&mut self, name: &str, bytes: &[u8], app: &str) -> Result<()> {
        let failed = |line: usize, error: String| {
            let found = format!("line {line}: {error}");
            wrong(name, "actions", "an action of Delta in JSON on each line", found)
        };
        let mut actions = 0;
        for line in line::all(bytes) {
            let line = line.map_err(|(at, error)| failed(at, error))?;
            actions += 1;
            self.take(name, line, app)?;
        }
        if actions == 0 {
            let found = format!("{} bytes and no action, as a power cut leaves it", bytes.len());
            return Err(wrong(name, "actions", "at least one", found));
        }
        Ok(())
    }

    /// Takes in the actions of one line.
    fn take(&mut self, name: &str, line: Line, app: &str) -> Result<()> {
        if let Some(protocol) = line.protocol {
            self.has_protocol = true;
            let (reader, writer) = (protocol.min_reader_version, protocol.min_writer_version);
            if reader > READER_VERSION || writer > WRITER_VERSION {
                let expected = "at most reader 1 and writer 2";
                let found = format!("reader {reader} and writer {writer}");
                return Err(wrong(name, "protocol", expected, found));
            }
        }
        if let Some(metadata) = line.metadata {
            self.metadata(name, &metadata)?;
        }
        if let Some(txn) = line.txn.filter(|txn| txn.app_id == app) {
            let run = u64::try_from(txn.version).map_err(|_| {
                wrong(name, "txn of this store", "the number of a run", txn.version.to_string())
            })?;
            self.last_run = Some(run);
        }
        Ok(())
    }

    fn metadata(&mut self, name: &str, metadata: &Metadata) -> Result<()> {
        let provider = metadata.format.as_ref().map_or("parquet", |format| &format.provider);
        if provider != "parquet" {
            return Err(wrong(name, "format", "parquet", provider));
        }
        if let Some(column) = metadata.partition_columns.first() {
            return Err(wrong(name, "partitions", "none", format!("by {column}")));
        }
        schema::check(name, &metadata.schema_string)?;
        let id = id_of(&metadata.id).ok_or_else(|| {
            let expected = "a UUID of 32 hexadecimal digits";
            wrong(name, "id of the table", expected, metadata.id.as_str())
        })?;
        if self.table.is_some_and(|table| table != id) {
            return Err(wrong(name, "id of the table", "that of the versions before", "another"));
        }
        self.table = Some(id);
        let interval = metadata.configuration.get(INTERVAL);
        let number = |value: &Value| match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64(),
        };
        self.interval = interval.and_then(number).filter(|versions| *versions > 0);
        Ok(())
    }
}

/// By what a version is known again.
fn mark(bytes: &[u8]) -> (u64, u32) {
    (bytes.len() as u64, crc32c(0, bytes))
}

fn gap(names: &[String], name: &str, next: u64) -> Error {
    let checkpoint = names.iter().filter(|name| name.contains(".checkpoint")).max();
    match checkpoint {
        Some(checkpoint) if next == 0 => wrong(
            name,
            "first version",
            "version 0, or a checkpoint of one file or of parts",
            format!("it gone, and {checkpoint}"),
        ),
        _ => wrong(name, "version", &format!("version {next} before it"), "a gap"),
    }
}

/// The version of a file of the log; `None` if it is another file.
fn version_of(name: &str) -> Option<u64> {
    digits(name.strip_suffix(".json")?)
}

fn digits(text: &str) -> Option<u64> {
    let all = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;

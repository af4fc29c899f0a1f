//! Reading a table's log: which version is the newest, whether the table is one that can be written to,
//! and how far it has the runs of a store.
//!
//! Versions of others are passed over, whatever they have; a line that is no JSON is refused. Memory is
//! that of one version.
//!
//! Invariant: of any log there is one reading or a refusal that names the file. Held by
//! `a_log_of_anything_is_read_or_refused_by_name`.

use super::{READER_VERSION, WRITER_VERSION, schema};
use crate::error::{Error, Result};
use crate::place::{LOG, Place};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Most bytes of one version.
pub(crate) const COMMIT_BYTES_MAX: u64 = 64 << 20;
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
}

/// A line of a version, as far as it concerns us.
#[derive(Deserialize)]
struct Line {
    protocol: Option<Protocol>,
    #[serde(rename = "metaData")]
    metadata: Option<Metadata>,
    txn: Option<Txn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Protocol {
    min_reader_version: u32,
    min_writer_version: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    id: String,
    format: Option<Format>,
    schema_string: String,
    #[serde(default)]
    partition_columns: Vec<String>,
}

#[derive(Deserialize)]
struct Format {
    provider: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Txn {
    app_id: String,
    version: i64,
}

fn wrong(file: &str, what: &'static str, expected: &str, found: impl Into<String>) -> Error {
    let (file, expected, found) = (file.to_owned(), expected.to_owned(), found.into());
    Error::Table { file, what, expected, found }
}

impl Log {
    /// Reads the versions that have come since; `app` is who commits the runs of the store.
    pub(crate) fn catch_up(&mut self, place: &dyn Place, app: &str) -> Result<()> {
        let names = place.names(LOG)?;
        let versions: BTreeSet<u64> = names.iter().filter_map(|name| version_of(name)).collect();
        let mut seen = self.clone();
        for version in versions.range(self.next..) {
            let name = commit_name(*version);
            if *version != seen.next {
                return Err(gap(&names, &name, seen.next));
            }
            let bytes = place.read(&name, COMMIT_BYTES_MAX)?;
            seen.read(&name, &bytes, app)?;
            seen.next = version.checked_add(1).ok_or_else(|| {
                wrong(&name, "version", "one that others can follow", version.to_string())
            })?;
        }
        if seen.next == 0 && names.iter().any(|name| name.contains("checkpoint")) {
            return Err(gap(&names, &commit_name(0), 0));
        }
        if seen.next > 0 && seen.table.is_none() {
            let name = commit_name(0);
            return Err(wrong(&name, "first version", "protocol and metaData", "none"));
        }
        *self = seen;
        Ok(())
    }

    /// Takes in one version.
    fn read(&mut self, name: &str, bytes: &[u8], app: &str) -> Result<()> {
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_slice(line).map_err(|error| {
                let found = format!("line {}: {error}", at + 1);
                wrong(name, "actions", "an action of Delta in JSON on each line", found)
            })?;
            if let Some(protocol) = line.protocol {
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
            wrong(name, "id of the table", "32 hexadecimal digits", metadata.id.as_str())
        })?;
        if self.table.is_some_and(|table| table != id) {
            return Err(wrong(name, "id of the table", "that of the versions before", "another"));
        }
        self.table = Some(id);
        Ok(())
    }
}

fn gap(names: &[String], name: &str, next: u64) -> Error {
    let checkpoint = names.iter().filter(|name| name.contains(".checkpoint")).max();
    match checkpoint {
        Some(checkpoint) if next == 0 => wrong(
            name,
            "first version",
            "version 0, since checkpoints are not read yet",
            format!("it gone, and {checkpoint}"),
        ),
        _ => wrong(name, "version", &format!("version {next} before it"), "a gap"),
    }
}

/// The version of a file of the log; `None` if it is another file.
fn version_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let all = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok())?
}

/// The bytes of a UUID.
fn id_of(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let all = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes))?
}

#[cfg(test)]
mod tests;

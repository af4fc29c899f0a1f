//! The lines of a version of a table's log. Needs no table, so that it is fuzzed too.
//!
//! Invariant: any bytes are actions or a refusal with its line. Held by
//! `a_log_of_anything_is_read_or_refused_by_name` and the fuzz target `table_version`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A line of a version, as far as it concerns us.
#[derive(Deserialize)]
pub(super) struct Line {
    pub(super) protocol: Option<Protocol>,
    #[serde(rename = "metaData")]
    pub(super) metadata: Option<Metadata>,
    pub(super) txn: Option<Txn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Protocol {
    pub(super) min_reader_version: u32,
    pub(super) min_writer_version: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) id: String,
    pub(super) format: Option<Format>,
    pub(super) schema_string: String,
    #[serde(default)]
    pub(super) partition_columns: Vec<String>,
    #[serde(default)]
    pub(super) configuration: Map<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct Format {
    pub(super) provider: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Txn {
    pub(super) app_id: String,
    pub(super) version: i64,
}

/// The actions of a version, or what is wrong with a line and which it is, from 1. Empty lines are passed
/// over.
pub(super) fn all(bytes: &[u8]) -> impl Iterator<Item = Result<Line, (usize, String)>> {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    lines.filter(|(_, line)| !line.is_empty()).map(|(at, line)| {
        let failed = |error: String| (at + 1, error);
        if line.first() != Some(&b'{') {
            return Err(failed("it is no object".to_owned()));
        }
        serde_json::from_slice(line).map_err(|error| failed(error.to_string()))
    })
}

/// The bytes of a UUID.
pub(super) fn id_of(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let all = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes))?
}

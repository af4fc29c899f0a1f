//! What the versions behind a checkpoint have changed: of each thing the last action counts.

use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most bytes of versions that are held until a checkpoint is made of them.
const BYTES_MAX: usize = 64 << 20;
/// How long a removed file is told of, so that who reads an older version knows why it is there. It is Delta's
/// own default; a table that says otherwise keeps all.
const TOLD_MS: i64 = 7 * 24 * 3_600_000;
const TOLD: &str = "delta.deletedFileRetentionDuration";

/// Actions of several versions.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    protocol: Option<Value>,
    metadata: Option<Value>,
    /// By who commits.
    txns: BTreeMap<String, Value>,
    /// Added or removed, by path.
    files: BTreeMap<String, Value>,
    bytes: usize,
    /// Removed files stay, whenever that was.
    keeps_removed: bool,
    now_ms: i64,
}

/// The text that an action is known by.
fn key<'v>(action: &'v Value, name: &str) -> Option<&'v str> {
    action.get(name).and_then(Value::as_str)
}

impl Fresh {
    pub(super) fn at(now_ms: i64) -> Self {
        Fresh { now_ms, ..Fresh::default() }
    }

    /// Takes in a version.
    pub(super) fn version(&mut self, file: &str, bytes: &[u8]) -> Result<()> {
        let failed = |expected: &str, found: String| {
            let (file, expected) = (file.to_owned(), expected.to_owned());
            Error::Table { file, what: "actions", expected, found }
        };
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > BYTES_MAX {
            let expected = "at most 64 MiB of versions between two checkpoints";
            return Err(failed(expected, "more".to_owned()));
        }
        for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.is_empty() {
                continue;
            }
            let action: Value = serde_json::from_slice(line)
                .map_err(|error| failed("JSON on each line", error.to_string()))?;
            self.action(action);
        }
        Ok(())
    }

    fn action(&mut self, line: Value) {
        let Value::Object(line) = line else { return };
        for (name, mut action) in line {
            match name.as_str() {
                "protocol" => self.protocol = Some(action),
                "metaData" => {
                    self.keeps_removed = keeps_removed(&action);
                    self.metadata = Some(action);
                }
                "txn" => {
                    if let Some(app) = key(&action, "appId").map(str::to_owned) {
                        self.txns.insert(app, action);
                    }
                }
                "add" | "remove" => {
                    let Some(path) = key(&action, "path").map(str::to_owned) else { continue };
                    // That a file came is news only in its version.
                    if let Some(action) = action.as_object_mut() {
                        action.insert("dataChange".to_owned(), false.into());
                    }
                    self.files.insert(path, serde_json::json!({ name: action }));
                }
                // Who committed, and what later protocols have.
                _ => {}
            }
        }
    }

    /// Whether a row of the checkpoint before still holds.
    pub(super) fn keeps(&mut self, row: &Value) -> bool {
        let action = |name: &str| row.get(name).filter(|action| action.is_object());
        let is_new =
            |action: &Value| key(action, "path").is_none_or(|path| !self.files.contains_key(path));
        if action("protocol").is_some() {
            return self.protocol.is_none();
        }
        if let Some(metadata) = action("metaData") {
            if self.metadata.is_none() {
                self.keeps_removed = keeps_removed(metadata);
            }
            return self.metadata.is_none();
        }
        if let Some(txn) = action("txn") {
            return key(txn, "appId").is_none_or(|app| !self.txns.contains_key(app));
        }
        if let Some(removed) = action("remove") {
            return is_new(removed) && self.tells(removed);
        }
        action("add").is_some_and(is_new)
    }

    /// Whether a removed file is still told of.
    fn tells(&self, removed: &Value) -> bool {
        let at_ms = removed.get("deletionTimestamp").and_then(Value::as_i64).unwrap_or(0);
        self.keeps_removed || self.now_ms.saturating_sub(at_ms) < TOLD_MS
    }

    /// All that is new, a row for each action.
    pub(super) fn rows(self) -> Vec<Value> {
        let told = |file: &Value| file.get("remove").is_none_or(|removed| self.tells(removed));
        let files: Vec<Value> = self.files.values().filter(|file| told(file)).cloned().collect();
        let one = |name: &str, action: Value| serde_json::json!({ name: action });
        let protocol = self.protocol.map(|action| one("protocol", action));
        let metadata = self.metadata.map(|action| one("metaData", action));
        let txns = self.txns.into_values().map(|action| one("txn", action));
        protocol.into_iter().chain(metadata).chain(txns).chain(files).collect()
    }
}

fn keeps_removed(metadata: &Value) -> bool {
    metadata.get("configuration").is_some_and(|properties| properties.get(TOLD).is_some())
}

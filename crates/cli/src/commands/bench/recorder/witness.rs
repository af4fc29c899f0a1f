//! The tracer as a witness: `baro trace` beside a cell, `baro explain` of its longest waits.
//!
//! The trace lies in memory where there is room for it, so that writing it is no load on what is
//! measured. Invariant: no trace is left. Held by `tests/bench_recorder.rs`.

use crate::failure::Result;
use baro_bench::papers::recorder::{Calls, Outlier, Witness};
use baro_bench::verb::recording::Recording;
use baro_sys::disk::Disk;
use baro_sys::schedule;
use baro_sys::storage::Storage;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shorter waits are a scheduler's.
const OVER: &str = "300us";
/// As many as are stored of a cell.
const CALLS: usize = 3;
const MEMORY: &str = "/dev/shm";
/// A trace of a minute beside a load that allocates has tens of megabytes.
const ROOM_BYTES: u64 = 1 << 30;

/// Records beside a cell.
#[derive(Debug)]
pub(super) struct Tracer {
    dir: PathBuf,
    recording: Option<Recording>,
}

impl Tracer {
    /// With its traces in memory, or else in `dir`.
    pub(super) fn new(dir: &Path) -> Self {
        let memory = Path::new(MEMORY);
        let free_bytes = Disk::open(memory).and_then(|disk| disk.available_bytes());
        let fits = matches!(free_bytes, Ok(Some(bytes)) if bytes > ROOM_BYTES);
        let dir = if fits { memory.to_path_buf() } else { dir.to_path_buf() };
        Self { dir, recording: None }
    }

    fn explained(recording: &Recording, measured: &Calls) -> Result<Vec<Outlier>> {
        let output = Command::new(std::env::current_exe()?)
            .arg("explain")
            .arg(recording.file())
            .args([
                "--pid",
                &measured.tid.to_string(),
                "--top",
                "2000",
                "--over",
                OVER,
                "--format",
                "json",
            ])
            .output()?;
        if !output.status.success() && output.status.code() != Some(3) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("baro explain: {}", said.trim()).into());
        }
        let found: Value = serde_json::from_slice(&output.stdout)?;
        let text = |call: &Value, key: &str| {
            call.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let number = |call: &Value, key: &str| call.get(key).and_then(Value::as_u64).unwrap_or(0);
        let calls = found.get("calls").and_then(Value::as_array).into_iter().flatten();
        let writes = calls.filter(|call| {
            ["write", "pwrite64", "pwritev2"].contains(&text(call, "call").as_str())
                && measured.when_ns.contains(&number(call, "begin_ns"))
        });
        let outliers = writes.take(CALLS).map(|call| Outlier {
            call: text(call, "call"),
            wait_ns: number(call, "wait_ns"),
            cause: text(call, "cause"),
            root: text(call, "root"),
            unexplained_ns: number(call, "unexplained_ns"),
        });
        Ok(outliers.collect())
    }
}

impl Witness for Tracer {
    fn begin(&mut self) -> std::result::Result<(), String> {
        if !schedule::is_root() {
            return Err("the tracer needs root".to_owned());
        }
        let baro = std::env::current_exe().map_err(|error| error.to_string())?;
        let recording =
            Recording::start(&baro, "auto", &self.dir, None).map_err(|error| error.to_string())?;
        self.recording = Some(recording);
        Ok(())
    }

    fn end(&mut self, calls: &Calls) -> std::result::Result<Vec<Outlier>, String> {
        let mut recording = self.recording.take().ok_or("nothing is being recorded")?;
        let ended = recording.end().and_then(|()| Self::explained(&recording, calls));
        ended.map_err(|error| error.to_string())
    }
}

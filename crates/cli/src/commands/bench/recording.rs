//! `baro trace` as a child: what is measured and judged is what a user gets.
//!
//! Invariant: the recording has ended, and its file is gone unless it is to be kept, when this is
//! dropped. Held by `tests/bench_causes.rs`.

use crate::failure::Result;
use baro_sys::{clock, disk, host, task, termination};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// For the recorder to begin: it reads the formats of all events first.
const BEGIN_TRIES: u32 = 500;
/// For it to write what it has and to take its instance away.
const END_TRIES: u32 = 1_500;
const STEP_NS: u64 = 20_000_000;
const INTERRUPT: i32 = 2;
/// Beginning of the name of a trace that is not to be kept; the process id follows.
const PREFIX: &str = "baro-bench-";
/// A recording ends by itself if whoever asked for it is killed.
const LENGTH_MAX: &str = "15m";

/// A running `baro trace`.
#[derive(Debug)]
pub(crate) struct Recording {
    child: Child,
    file: PathBuf,
    keep: bool,
}

impl Recording {
    /// Records from now on into a file below `dir`, or into `keep`.
    pub(crate) fn start(collector: &str, dir: &Path, keep: Option<PathBuf>) -> Result<Self> {
        remove_leftovers(dir);
        let own = || dir.join(format!("{PREFIX}{}.trace", std::process::id()));
        let (file, keep) = keep.map_or_else(|| (own(), false), |file| (file, true));
        let child = Command::new(std::env::current_exe()?)
            .args(["trace", "--system", "--for", LENGTH_MAX, "--out"])
            .arg(&file)
            .args(["--collector", collector])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut recording = Self { child, file, keep };
        for _ in 0..BEGIN_TRIES {
            if recording.child.try_wait()?.is_some() {
                return Err(format!("baro trace: {}", recording.complaint()).into());
            }
            // The head of the file is written once all events are on. The file has its name only
            // when it is whole.
            if disk::file_bytes(&recording.part()).is_ok_and(|bytes| bytes > 0) {
                return Ok(recording);
            }
            clock::sleep_ns(STEP_NS);
        }
        Err("baro trace has not begun to record within ten seconds".into())
    }

    fn part(&self) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(".part");
        name.into()
    }

    fn complaint(&mut self) -> String {
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            let _ = stderr.read_to_string(&mut said);
        }
        said.trim().to_owned()
    }

    /// The trace, once it has ended.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Processor time of the recording program until now, ns.
    pub(crate) fn cpu_ns(&self) -> u64 {
        task::cpu_ns(self.child.id())
    }

    /// Ends it; the trace is whole then.
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            termination::send(self.child.id(), INTERRUPT)?;
        }
        for _ in 0..END_TRIES {
            if let Some(status) = self.child.try_wait()? {
                // 3: finished, but events were lost; what is there is explained all the same.
                let lost = status.code() == Some(3);
                if lost {
                    eprintln!("bench: baro trace lost events; what they said is not in its trace");
                }
                let done = status.success() || lost;
                let said = self.complaint();
                return if done { Ok(()) } else { Err(format!("baro trace: {said}").into()) };
            }
            clock::sleep_ns(STEP_NS);
        }
        Err("baro trace has not ended within half a minute".into())
    }
}

/// Removes traces whose bench was killed.
fn remove_leftovers(dir: &Path) {
    for name in host::list_dir(dir).unwrap_or_default() {
        let rest = name.strip_prefix(PREFIX).unwrap_or_default();
        let pid = rest.strip_suffix(".trace").or_else(|| rest.strip_suffix(".trace.part"));
        let pid = pid.filter(|pid| pid.parse::<u32>().is_ok());
        if pid.is_some_and(|pid| !disk::exists(&Path::new("/proc").join(pid))) {
            let _ = disk::remove(&dir.join(&name));
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) && self.end().is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if !self.keep {
            let _ = disk::remove(&self.file);
            let _ = disk::remove(&self.part());
        }
    }
}

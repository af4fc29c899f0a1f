//! `baro trace` as a child: what is measured and judged is what a user gets.
//!
//! That it records is what it says on stderr. Its file says less: the head is written before the
//! tracer is switched on, and that waits as long as anybody else makes or removes an instance. A
//! call that began in between would have an end in the trace and no beginning, so nobody could
//! explain it.
//!
//! Invariant: what begins after [`Recording::start`] is in the trace from its beginning on. Held by
//! `a_recording_has_begun_when_its_recorder_says_so`.
//!
//! Invariant: the recording has ended, and its file is gone unless it is to be kept, when this is
//! dropped. Held by `a_cause_is_recorded_and_explained`.

use crate::ground;
use baro_command::BEGUN;
use baro_command::failure::Result;
use baro_command::say;
use baro_sys::state::StateFolder;
use baro_sys::{clock, files, task, termination};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// For the recorder to begin: it reads the formats of all events first.
const BEGIN_MAX: Duration = Duration::from_secs(10);
/// For it to write what it has and to take its instance away.
const END_TRIES: u32 = 1_500;
const STEP_NS: u64 = 20_000_000;
const INTERRUPT: i32 = 2;
/// Beginning of the name of a trace that is not to be kept; the process id follows.
const PREFIX: &str = "baro-bench-";
/// A recording ends when whoever asked for it is killed, and by itself after this.
const LENGTH_MAX: &str = "15m";

/// A running `baro trace`.
#[derive(Debug)]
pub struct Recording {
    child: Child,
    /// Reads what it says; ends with it, and gives what was said besides [`BEGUN`].
    listener: Option<JoinHandle<String>>,
    file: PathBuf,
    keep: bool,
}

impl Recording {
    /// Records with the program `baro` into a file below `dir`, or into `keep`; blocks until that is
    /// under way.
    ///
    /// # Errors
    /// Somebody else could change what is in `dir`; it does not start, or ends instead; then what it said.
    pub fn start(baro: &Path, collector: &str, dir: &Path, keep: Option<PathBuf>) -> Result<Self> {
        let dir = ground::held(dir)?;
        remove_leftovers(&dir);
        let dir = dir.place()?;
        let own = || dir.join(format!("{PREFIX}{}.trace", std::process::id()));
        let (file, keep) = keep.map_or_else(|| (own(), false), |file| (file, true));
        let mut command = Command::new(baro);
        command
            .args(["trace", "--with-parent", "--system", "--for", LENGTH_MAX, "--out"])
            .arg(&file);
        command.args(["--collector", collector]);
        Self::begin(&mut command, file, keep)
    }

    /// Starts a recorder that records into `file`.
    fn begin(command: &mut Command, file: PathBuf, keep: bool) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (says_so, begun) = channel();
        let stderr = child.stderr.take();
        let listener = stderr.map(|said| std::thread::spawn(move || listen(said, &says_so)));
        let mut recording = Self { child, listener, file, keep };
        match begun.recv_timeout(BEGIN_MAX) {
            Ok(()) => Ok(recording),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("baro trace: {}", recording.complaint()).into())
            }
            Err(RecvTimeoutError::Timeout) => {
                let waited_s = BEGIN_MAX.as_secs();
                Err(format!("baro trace has not begun to record within {waited_s} seconds").into())
            }
        }
    }

    fn part(&self) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(".part");
        name.into()
    }

    /// What it said; blocks until it has ended.
    fn complaint(&mut self) -> String {
        let said = self.listener.take().and_then(|listener| listener.join().ok());
        said.unwrap_or_default().trim().to_owned()
    }

    /// The trace, once it has ended.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Processor time of the recording program until now, ns.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        task::cpu_ns(self.child.id())
    }

    /// Ends it; the trace is whole then.
    ///
    /// # Errors
    /// It failed, or does not end.
    pub fn end(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            termination::send(self.child.id(), INTERRUPT)?;
        }
        for _ in 0..END_TRIES {
            if let Some(status) = self.child.try_wait()? {
                // 3: finished, but events were lost; what is there is explained all the same.
                let lost = status.code() == Some(3);
                if lost {
                    say!("bench: baro trace lost events; what they said is not in its trace");
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

/// Reads what a recorder says until it ends; gives a sign when it says that it records.
fn listen(said: ChildStderr, says_so: &Sender<()>) -> String {
    let mut rest = String::new();
    for line in BufReader::new(said).lines().map_while(std::result::Result::ok) {
        if line.starts_with(BEGUN) {
            // Nobody may wait for it any longer.
            let _ = says_so.send(());
        } else {
            rest.push_str(&line);
            rest.push('\n');
        }
    }
    rest
}

/// Removes traces whose bench was killed; others may have laid some of such names there, which stay.
fn remove_leftovers(dir: &StateFolder) {
    for name in dir.list().unwrap_or_default() {
        let rest = name.strip_prefix(PREFIX).unwrap_or_default();
        let pid = rest.strip_suffix(".trace").or_else(|| rest.strip_suffix(".trace.part"));
        let pid = pid.filter(|pid| pid.parse::<u32>().is_ok());
        let is_over = pid.is_some_and(|pid| !files::exists(&Path::new("/proc").join(pid)));
        if is_over && dir.open_file(&name).is_ok() {
            let _ = dir.remove(&name);
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
            let _ = files::remove(&self.file);
            let _ = files::remove(&self.part());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorder that writes the head of its file, is held up, and only then switches the tracer
    /// on: as the real one while others make instances of the tracer.
    const SLOW: &str = "echo head > $0.part
        echo 'baro: the tracer records alone: a test' >&2
        sleep 1
        : > $0.on
        echo \"baro: recording to $0; Ctrl-C ends\" >&2
        while [ -e $0.on ]; do sleep 0.02; done";

    fn begin(script: &str, name: &str) -> (PathBuf, Result<Recording>) {
        let name = format!("baro-bench-recording-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let recording = Recording::begin(
            Command::new("sh").args(["-c", script]).arg(&file),
            file.clone(),
            false,
        );
        (file, recording)
    }

    #[test]
    fn a_recording_has_begun_when_its_recorder_says_so() {
        let (file, recording) = begin(SLOW, "slow");
        let mut recording = recording.unwrap();
        let on = file.with_extension("on");
        assert!(files::exists(&on), "it was not recording yet");
        let _ = files::remove(&on);
        let ended = recording.child.wait().unwrap();
        assert!(ended.success(), "{ended}");
        assert_eq!(recording.complaint(), "baro: the tracer records alone: a test");
        let part = recording.part();
        assert!(files::exists(&part));
        drop(recording);
        assert!(!files::exists(&part));
    }

    #[test]
    fn a_recorder_that_ends_instead_is_an_error_with_what_it_said() {
        let (_, recording) = begin("echo 'baro: no tracefs' >&2; exit 1", "none");
        assert_eq!(recording.unwrap_err().to_string(), "baro trace: baro: no tracefs");
    }
}

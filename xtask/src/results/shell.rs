//! The commands of a measurement, run from the very text that the results show: `baro`,
//! `baro-lab` and `media` are found by PATH, the file systems by $MEDIA_DIR and $LOAD_DIR.
//!
//! Invariant: no command outlives its measurement. A limit ends one that hangs, dropping ends one
//! that is running, and the kernel ends all of them if this process is killed (`setpriv
//! --pdeathsig`, which holds across exec). Held by the tests below.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// More than the longest measurement takes: an hour, with making and draining a store.
const LIMIT: Duration = Duration::from_secs(80 * 60);
const POLL: Duration = Duration::from_millis(20);

/// What `baro` exits with when it finished and data was lost: a result, no failure.
const LOST: i32 = 3;

/// Where commands find what they name.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    path: OsString,
    vars: Vec<(&'static str, PathBuf)>,
}

/// A command under way.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    text: String,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Shell {
    /// `programs`: the folder of the release binaries.
    pub(super) fn new(programs: &Path) -> Result<Shell, String> {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&old));
        let path = std::env::join_paths(folders).map_err(|e| format!("PATH: {e}"))?;
        Ok(Shell { path, vars: Vec::new() })
    }

    /// The same with a variable more.
    pub(super) fn with(&self, name: &'static str, value: &Path) -> Shell {
        let mut shell = self.clone();
        shell.vars.push((name, value.to_owned()));
        shell
    }

    /// Starts one command (no pipes: `exec` makes its process the one that we know).
    pub(super) fn start(&self, text: &str, stdin: Stdio) -> Result<Running, String> {
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "sh", "-c", &format!("exec {text}")])
            .env("PATH", &self.path)
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("setpriv (of util-linux): {e}"))?;
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Ok(Running { child, text: text.to_owned(), stdout, stderr })
    }

    /// Runs a command to its end and returns stdout. Blocks, at most for [`LIMIT`].
    pub(super) fn output(&self, text: &str) -> Result<String, String> {
        self.start(text, Stdio::null())?.finish()
    }

    /// The same with zeros on stdin: `head -c BYTES /dev/zero | TEXT`.
    pub(super) fn fed(&self, bytes: u64, text: &str) -> Result<String, String> {
        let mut running = self.start(text, Stdio::piped())?;
        let stdin = running.stdin();
        // It ends at the latest when the command does, by a broken pipe.
        let feeder = std::thread::spawn(move || {
            let Some(mut stdin) = stdin else { return };
            let _ = std::io::copy(&mut std::io::repeat(0).take(bytes), &mut stdin);
            let _ = stdin.flush();
        });
        let output = running.finish();
        let _ = feeder.join();
        output
    }
}

impl Running {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The pipe to its stdin, once.
    pub(super) fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Whether it has ended.
    pub(super) fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end and returns stdout.
    pub(super) fn finish(mut self) -> Result<String, String> {
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if begin.elapsed() > LIMIT => {
                    return Err(format!("`{}` did not end in {} s", self.text, LIMIT.as_secs()));
                }
                Ok(None) => std::thread::sleep(POLL),
                Err(error) => return Err(format!("`{}`: {error}", self.text)),
            }
        };
        let stdout = joined(self.stdout.take());
        let stderr = joined(self.stderr.take());
        if good(status) {
            return Ok(stdout);
        }
        let said: Vec<&str> = stderr.lines().rev().take(3).collect();
        let said = said.into_iter().rev().collect::<Vec<_>>().join("; ");
        Err(format!("`{}`: {status}: {said}", self.text))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of one that has ended nothing is left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn good(status: ExitStatus) -> bool {
    status.success() || status.code() == Some(LOST)
}

/// Reads in a thread of its own, so that no pipe can fill and block the program.
fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn joined(thread: Option<JoinHandle<String>>) -> String {
    thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Shell {
        Shell::new(Path::new("/nowhere")).unwrap().with("MEDIA_DIR", Path::new("/there"))
    }

    #[test]
    fn commands_find_their_folder_and_report_failure() {
        assert_eq!(shell().output("echo $MEDIA_DIR/x").unwrap(), "/there/x\n");
        assert_eq!(shell().fed(5000, "wc -c").unwrap().trim(), "5000");
        let failed = shell().output("sh -c 'echo why >&2; exit 1'").unwrap_err();
        assert!(failed.ends_with(": why"), "{failed}");
        assert!(shell().output("sh -c 'exit 3'").is_ok(), "lost data is a result");
    }

    #[test]
    fn a_dropped_command_is_gone() {
        let running = shell().start("sleep 1000", Stdio::null()).unwrap();
        let process = format!("/proc/{}", running.pid());
        assert!(Path::new(&process).exists());
        drop(running);
        assert!(!Path::new(&process).exists());
    }
}

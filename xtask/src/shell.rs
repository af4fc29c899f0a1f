//! Starting programs: a command that can be printed exactly as a person would type it, so that
//! every failure comes with the line that repeats it.

use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The root of the workspace, whatever the current directory is.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A program with its arguments and the environment variables that differ from ours.
#[derive(Debug, Clone)]
pub(crate) struct Cmd {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    folder: Option<PathBuf>,
    quiet: bool,
}

impl Cmd {
    /// Splits at spaces: our commands have no argument with a space in it.
    pub(crate) fn new(line: &str) -> Cmd {
        let mut words = line.split_whitespace().map(str::to_owned);
        Cmd {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env: Vec::new(),
            folder: None,
            quiet: false,
        }
    }

    /// A program whose path may have spaces.
    pub(crate) fn of(program: &str) -> Cmd {
        Cmd { program: program.to_owned(), ..Cmd::new("") }
    }

    pub(crate) fn arg(mut self, arg: &str) -> Cmd {
        self.args.push(arg.to_owned());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Cmd {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs in `folder` instead of the root of the workspace.
    pub(crate) fn within(mut self, folder: &Path) -> Cmd {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Runs in the folder we were called in, for arguments that are paths of the user's.
    pub(crate) fn here(mut self) -> Cmd {
        self.folder = std::env::current_dir().ok();
        self
    }

    /// Says nothing on stderr: a failure is expected, and something else is tried then.
    pub(crate) fn quiet(mut self) -> Cmd {
        self.quiet = true;
        self
    }

    /// Whether the environment is ours.
    pub(crate) fn is_plain(&self) -> bool {
        self.env.is_empty()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().map(|(n, v)| (n, v)));
        command.current_dir(self.folder.as_deref().unwrap_or(root())).stdin(Stdio::null());
        command
    }

    /// Runs with our stdout and stderr; true if it succeeded.
    pub(crate) fn run(&self) -> io::Result<bool> {
        Ok(self.command().status()?.success())
    }

    /// Goes on as this program, which so gets whatever signal was meant for us; returns only if it
    /// cannot be started.
    pub(crate) fn replace(&self) -> io::Error {
        self.command().exec()
    }

    /// Runs and returns stdout; fails if the program fails.
    pub(crate) fn output(&self) -> Result<String, String> {
        let out = self
            .command()
            .stderr(if self.quiet { Stdio::null() } else { Stdio::inherit() })
            .output()
            .map_err(|e| format!("cannot start `{self}`: {e}"))?;
        if !out.status.success() {
            return Err(format!("`{self}` failed: {}", out.status));
        }
        String::from_utf8(out.stdout).map_err(|e| format!("`{self}` printed no UTF-8: {e}"))
    }

    /// Runs and hands out the lines of stdout and stderr as they come; true if it succeeded.
    ///
    /// A process that the program has left behind may hold the pipes for long. Once the program has ended
    /// they are given up after a while without a line, and it is said.
    pub(crate) fn lines(
        &self,
        mut on_stdout: impl FnMut(&str),
        mut on_stderr: impl FnMut(&str),
    ) -> io::Result<bool> {
        let mut child = self.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            let sender = sender.clone();
            std::thread::spawn(move || each_line(stdout, |line| sender.send((true, line)).is_ok()));
        }
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || {
                each_line(stderr, |line| sender.send((false, line)).is_ok())
            });
        }
        loop {
            match lines.recv_timeout(LEFT_BEHIND) {
                Ok((true, line)) => on_stdout(&line),
                Ok((false, line)) => on_stderr(&line),
                Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?.success()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(status) = child.try_wait()? {
                        println!("note: `{self}` has left a process that holds its output");
                        return Ok(status.success());
                    }
                }
            }
        }
    }
}

/// How long the output of a program that has ended is waited for.
const LEFT_BEHIND: Duration = Duration::from_secs(2);

/// Test output may hold any bytes; what is no UTF-8 is shown by replacement characters.
fn each_line(pipe: impl io::Read, mut on_line: impl FnMut(String) -> bool) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(pipe.read_until(b'\n', &mut line), Ok(1..)) {
        if !on_line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()) {
            return;
        }
        line.clear();
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}='{value}' ")?;
        }
        write!(f, "{}", self.program)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_repeats_it() {
        let cmd = Cmd::new("cargo doc --no-deps").env("RUSTDOCFLAGS", "-D warnings").arg("-v");
        assert_eq!(cmd.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps -v");
    }

    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let mut out = Vec::new();
        let cmd = Cmd::new("sh -c").arg("sleep 60 & echo $!");
        assert!(cmd.lines(|l| out.push(l.to_owned()), |_| {}).unwrap());
        let left = out.concat();
        // It is still there, and so is its end of the pipe.
        assert!(Cmd::new("kill").arg(&left).run().unwrap(), "{left}");
    }

    #[test]
    fn both_streams_arrive_line_by_line() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let cmd = Cmd::new("sh -c").arg("printf 'a\\nb'; echo c >&2; exit 3");
        let ok = cmd.lines(|l| out.push(l.to_owned()), |l| err.push(l.to_owned())).unwrap();
        assert!(!ok);
        assert_eq!((out.join(","), err.join(",")), ("a,b".to_owned(), "c".to_owned()));
    }
}

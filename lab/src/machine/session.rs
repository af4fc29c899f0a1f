//! The host's side of a guest's agent: files in, commands, output as it comes, files out.

use lab_agent::Frame;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A guest ended in the middle of a command.
pub(crate) const GONE: &str = "the guest has gone";
/// It has said nothing for as long as it was given.
pub(crate) const SILENT: &str = "the guest does not answer";

/// What the agent may take longer than a command is allowed to.
const GRACE: Duration = Duration::from_secs(15);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) timed_out: bool,
}

/// A command's output as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Output {
    /// Its stdout if it succeeded.
    pub(crate) fn ok(self) -> Result<String, String> {
        match self.exit {
            Exit { code: 0, .. } => Ok(self.out),
            Exit { timed_out: true, .. } => Err(format!("took too long: {}{}", self.out, self.err)),
            Exit { code, .. } => Err(format!("exit {code}: {}{}", self.out, self.err)),
        }
    }
}

/// A file of a guest.
#[derive(Debug, Clone)]
pub(crate) struct GuestFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Which stream a piece of output came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// A connection to an agent.
#[derive(Debug)]
pub(crate) struct Session(UnixStream);

impl Session {
    /// Waits until the agent answers.
    pub(crate) fn greet(port: UnixStream, within: Duration) -> Result<Session, String> {
        let mut session = Session(port);
        session.send(&Frame::Hello)?;
        session.patience(within)?;
        match session.hear()? {
            Frame::Hello => Ok(session),
            other => Err(format!("a greeting was expected of the guest, found {other:?}")),
        }
    }

    fn patience(&self, within: Duration) -> Result<(), String> {
        self.0.set_read_timeout(Some(within)).map_err(|error| error.to_string())
    }

    fn send(&mut self, frame: &Frame) -> Result<(), String> {
        frame.write(&mut self.0).map_err(|error| format!("to the guest: {error}"))
    }

    fn hear(&mut self) -> Result<Frame, String> {
        Frame::read(&mut self.0).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => SILENT.to_owned(),
            ErrorKind::UnexpectedEof => GONE.to_owned(),
            _ => format!("from the guest: {error}"),
        })
    }

    /// Writes a file in the guest.
    pub(crate) fn put(&mut self, path: &str, mode: u32, bytes: Vec<u8>) -> Result<(), String> {
        self.send(&Frame::File { path: path.to_owned(), mode, bytes })?;
        self.patience(Duration::from_secs(60))?;
        match self.hear()? {
            Frame::Done(_) => Ok(()),
            Frame::Failed(why) => Err(why),
            other => Err(format!("{path}: unexpected answer {other:?}")),
        }
    }

    /// Runs a program; hands out its output as it comes.
    pub(crate) fn run(
        &mut self,
        argv: &[&str],
        within: Duration,
        mut heard: impl FnMut(Stream, &[u8]),
    ) -> Result<Exit, String> {
        let timeout_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let argv = argv.iter().map(|arg| (*arg).to_owned()).collect();
        self.send(&Frame::Run { argv, timeout_ms })?;
        self.patience(within + GRACE)?;
        loop {
            match self.hear()? {
                Frame::Out(bytes) => heard(Stream::Out, &bytes),
                Frame::Err(bytes) => heard(Stream::Err, &bytes),
                Frame::Exit { code, timed_out } => return Ok(Exit { code, timed_out }),
                Frame::Failed(why) => return Err(why),
                other => return Err(format!("unexpected answer {other:?}")),
            }
        }
    }

    /// Runs a line of shell and keeps its output.
    pub(crate) fn sh(&mut self, script: &str, within: Duration) -> Result<Output, String> {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = self.run(&["/bin/sh", "-c", script], within, |stream, bytes| match stream {
            Stream::Out => out.extend(bytes),
            Stream::Err => err.extend(bytes),
        })?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Output { exit, out: text(out), err: text(err) })
    }

    /// All files below a folder, or one file.
    pub(crate) fn get(&mut self, path: &str) -> Result<Vec<GuestFile>, String> {
        self.send(&Frame::Get(path.to_owned()))?;
        self.patience(Duration::from_secs(120))?;
        let mut files = Vec::new();
        loop {
            match self.hear()? {
                Frame::File { path, mode, bytes } => files.push(GuestFile { path, mode, bytes }),
                Frame::Done(_) => return Ok(files),
                Frame::Failed(why) => return Err(why),
                other => return Err(format!("{path}: unexpected answer {other:?}")),
            }
        }
    }
}

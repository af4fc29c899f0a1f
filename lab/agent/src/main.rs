//! The agent: runs in a guest as its first program after the file systems of the kernel are
//! mounted. It opens the port named `lab`, and does one thing after another for the host.
//!
//! One command at a time: what is to run beside something is started by a shell. Output goes out as
//! it comes, so that the host sees what was said before a power cut.
#![allow(clippy::disallowed_methods, reason = "runs in a guest of the lab, no product code")]

use lab_agent::Frame;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const PIECE_BYTES: usize = 64 << 10;

fn main() {
    let port = match port() {
        Ok(port) => port,
        Err(error) => {
            eprintln!("lab-agent: {error}");
            return;
        }
    };
    let Ok(mut to) = port.try_clone() else { return };
    let mut from = Patient(port);
    loop {
        let answered = match Frame::read(&mut from) {
            Ok(frame) => answer(frame, &mut to),
            Err(error) => Frame::Failed(error.to_string()).write(&mut to),
        };
        if let Err(error) = answered {
            eprintln!("lab-agent: {error}");
        }
    }
}

/// The port of that name; waits for the driver to find it.
fn port() -> io::Result<File> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        for entry in fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten() {
            let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            if name.trim() == "lab" {
                let device = Path::new("/dev").join(entry.file_name());
                return OpenOptions::new().read(true).write(true).open(device);
            }
        }
        if Instant::now() > end {
            return Err(io::Error::new(ErrorKind::NotFound, "no serial port named lab"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads on when the host has let go of the port: another one may take it, after the machine was
/// saved and restored.
struct Patient(File);

impl Read for Patient {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(bytes) {
                Ok(0) if !bytes.is_empty() => std::thread::sleep(Duration::from_millis(5)),
                other => return other,
            }
        }
    }
}

fn answer(frame: Frame, to: &mut File) -> io::Result<()> {
    let done = match frame {
        Frame::Hello => return Frame::Hello.write(to),
        Frame::File { path, mode, bytes } => put(Path::new(&path), mode, &bytes).map(|()| 1),
        Frame::Get(path) => {
            let mut files = Vec::new();
            let found = find(Path::new(&path), &mut files);
            found.and_then(|()| {
                for file in &files {
                    give(file, to)?;
                }
                Ok(u32::try_from(files.len()).unwrap_or(u32::MAX))
            })
        }
        Frame::Run { argv, timeout_ms } => match run(&argv, timeout_ms, to) {
            Ok(exit) => return exit.write(to),
            Err(error) => Err(io::Error::new(error.kind(), format!("{argv:?}: {error}"))),
        },
        other => Err(io::Error::new(ErrorKind::InvalidData, format!("not for a guest: {other:?}"))),
    };
    match done {
        Ok(count) => Frame::Done(count).write(to),
        Err(error) => Frame::Failed(error.to_string()).write(to),
    }
}

fn put(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let at =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at)?;
    }
    // A running program cannot be written to; a new file of its name is no problem.
    let _ = fs::remove_file(path);
    fs::write(path, bytes).map_err(at)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(at)
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let at =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let found = fs::symlink_metadata(path).map_err(at)?;
    if found.is_file() {
        files.push(path.to_owned());
    } else if found.is_dir() {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(at)? {
            names.push(entry?.path());
        }
        names.sort();
        for name in names {
            find(&name, files)?;
        }
    }
    Ok(())
}

fn give(path: &Path, to: &mut File) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
    let bytes = fs::read(path)?;
    Frame::File { path: path.to_string_lossy().into_owned(), mode, bytes }.write(to)
}

/// What the threads that watch a program have to say.
enum Heard {
    Out(Vec<u8>),
    Err(Vec<u8>),
    /// One of its pipes is closed.
    End,
}

fn run(argv: &[String], timeout_ms: u64, to: &mut File) -> io::Result<Frame> {
    let [program, args @ ..] = argv else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "no program named"));
    };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let end = Instant::now() + Duration::from_millis(timeout_ms);
    let (heard, hear) = channel();
    let mut pipes = 0;
    if let Some(pipe) = child.stdout.take() {
        pipes += 1;
        listen(pipe, heard.clone(), Heard::Out);
    }
    if let Some(pipe) = child.stderr.take() {
        pipes += 1;
        listen(pipe, heard, Heard::Err);
    }
    // What a program leaves running in the background may keep its pipes: they are given a moment
    // after its end, not more.
    let mut ended: Option<(i32, Instant)> = None;
    loop {
        if ended.is_none() {
            ended = status(&mut child)?.map(|code| (code, Instant::now()));
        }
        match ended {
            Some((code, _)) if pipes == 0 => return Ok(Frame::Exit { code, timed_out: false }),
            Some((code, at)) if at.elapsed() > Duration::from_millis(500) => {
                return Ok(Frame::Exit { code, timed_out: false });
            }
            None if Instant::now() > end => {
                child.kill()?;
                // Nobody waits for one that the kernel holds.
                let killed = Instant::now();
                let mut code = status(&mut child)?;
                while code.is_none() && killed.elapsed() < Duration::from_secs(1) {
                    std::thread::sleep(Duration::from_millis(5));
                    code = status(&mut child)?;
                }
                return Ok(Frame::Exit { code: code.unwrap_or(137), timed_out: true });
            }
            _ => {}
        }
        match hear.recv_timeout(Duration::from_millis(5)) {
            Ok(Heard::Out(bytes)) => Frame::Out(bytes).write(to)?,
            Ok(Heard::Err(bytes)) => Frame::Err(bytes).write(to)?,
            Ok(Heard::End) => pipes -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn status(child: &mut Child) -> io::Result<Option<i32>> {
    let status = child.try_wait()?;
    Ok(status.map(|status| status.code().unwrap_or(128 + status.signal().unwrap_or(0))))
}

fn listen(mut pipe: impl Read + Send + 'static, heard: Sender<Heard>, what: fn(Vec<u8>) -> Heard) {
    std::thread::spawn(move || {
        let mut bytes = vec![0; PIECE_BYTES];
        while let Ok(count @ 1..) = pipe.read(&mut bytes) {
            if heard.send(what(bytes[..count].to_vec())).is_err() {
                return;
            }
        }
        let _ = heard.send(Heard::End);
    });
}

//! What a process has read and written, as the kernel accounts for it, and whether it has ended.
//!
//! `/proc/PID/io` of a process has its threads, those that have ended too, and the children that it
//! has waited for. A process that has ended keeps it until somebody waits for it: so the sums of a
//! command and all it started are read between its end and the wait.
//!
//! Invariant: [`has_ended`] takes nothing away from who waits later. Held by
//! `the_writes_of_a_command_are_counted_with_those_of_its_children`.

use crate::files::read_text;
use crate::{Error, Result};
use std::io;
use std::path::PathBuf;

const IO_BYTES_MAX: u64 = 4_096;

/// Bytes of a process, its threads and the children it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskIo {
    /// Passed to write(2) and its like, whatever the file: pipes and terminals too. Not what is
    /// written through a mapping or by io_uring.
    pub write_call_bytes: u64,
    /// Made dirty in files on disks, by whole pages, less what was dropped before it was written.
    pub dirtied_bytes: u64,
}

impl TaskIo {
    /// That of the process `pid`. Needs root for processes of others.
    ///
    /// # Errors
    /// There is no such process, or the kernel does not account for it.
    pub fn of(pid: u32) -> Result<Self> {
        let path = PathBuf::from(format!("/proc/{pid}/io"));
        let text = read_text(&path, IO_BYTES_MAX)?;
        parse(&text).ok_or_else(|| {
            let source =
                io::Error::new(io::ErrorKind::InvalidData, "no wchar and write_bytes in it");
            Error::new("understand", &path, source)
        })
    }
}

fn parse(text: &str) -> Option<TaskIo> {
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
        line.trim().parse::<u64>().ok()
    };
    let dropped = of("cancelled_write_bytes").unwrap_or(0);
    Some(TaskIo {
        write_call_bytes: of("wchar")?,
        dirtied_bytes: of("write_bytes")?.saturating_sub(dropped),
    })
}

/// Whether the child `pid` of this process has ended; it stays to be waited for. Does not block.
///
/// # Errors
/// It is no child of this process.
pub fn has_ended(pid: u32) -> io::Result<bool> {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeroes is a valid siginfo_t, and the call writes nothing else.
    let (rc, found) = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let rc = libc::waitid(libc::P_PID, pid, &raw mut found, flags);
        (rc, found.si_signo)
    };
    if rc == 0 { Ok(found != 0) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_writes_of_a_command_are_counted_with_those_of_its_children() {
        let script = "head -c 100000 /dev/zero | cat | cat; head -c 5000 /dev/zero";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(Stdio::null()).spawn().unwrap();
        let mut turns = 0;
        while !has_ended(child.id()).unwrap() {
            crate::clock::sleep_ns(1_000_000);
            turns += 1;
            assert!(turns < 60_000, "the command does not end");
        }
        let io = match TaskIo::of(child.id()) {
            Ok(io) => io,
            Err(error) => {
                println!("skipped: no accounting of processes: {error}");
                child.wait().unwrap();
                return;
            }
        };
        // It can still be waited for, and afterwards no more.
        assert!(child.wait().unwrap().success());
        assert!(has_ended(child.id()).is_err() && TaskIo::of(child.id()).is_err());
        assert_eq!(io.write_call_bytes, 305_000);
        // None of it went to a disk. Two pages were seen dirty on a fresh machine, likely with inodes of
        // what was executed: the first to read a file in a day writes its time.
        assert!(io.dirtied_bytes < 100_000, "{io:?}");
    }

    #[test]
    fn accounts_are_read_by_name() {
        let text = "rchar: 9\nwchar: 70\nsyscr: 1\nread_bytes: 5\nwrite_bytes: 40\n\
                    cancelled_write_bytes: 10\n";
        let expected = TaskIo { write_call_bytes: 70, dirtied_bytes: 30 };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("wchar: 70\n"), None);
        assert_eq!(parse(""), None);
    }
}

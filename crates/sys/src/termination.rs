//! Being asked to end: SIGINT, SIGTERM and SIGHUP as a flag that a loop looks at.
//!
//! Programs that change the machine (mounts, loop devices, settings) must undo it when they are
//! interrupted, which a signal handler cannot do. So the handler only notes the signal.
//!
//! Invariant: the first of the signals is kept until somebody reads it. Held by
//! `a_signal_is_noted_and_sent`.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};

static REQUESTED: AtomicI32 = AtomicI32::new(0);
/// When, in milliseconds of some clock that goes on.
static REQUESTED_MS: AtomicU32 = AtomicU32::new(0);
/// A signal so soon after the first one is the same: timeout(1) sends one to its command and one to its group,
/// and a terminal and a service manager may send theirs together.
const SAME_MS: u32 = 300;

extern "C" fn note(signal: libc::c_int) {
    let now_ms = now_ms();
    if REQUESTED.load(Relaxed) == 0 {
        REQUESTED_MS.store(now_ms, Relaxed);
    }
    if REQUESTED.compare_exchange(0, signal, Relaxed, Relaxed).is_ok() {
        return;
    }
    if now_ms.wrapping_sub(REQUESTED_MS.load(Relaxed)) < SAME_MS {
        return;
    }
    // The second one means it: the default action ends the process, which tells no counts then.
    let said = b"ended at once by a second signal\n";
    // SAFETY: all three calls are async-signal-safe; the bytes are there.
    unsafe {
        libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len());
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

fn now_ms() -> u32 {
    // SAFETY: all zeroes is a valid timespec; the call is async-signal-safe.
    let now = unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        now
    };
    (now.tv_sec as u32).wrapping_mul(1000).wrapping_add((now.tv_nsec / 1_000_000) as u32)
}

/// From now on the first of the three signals sets the flag instead of ending the process; a
/// second one ends it, unless it comes within 0.3 s. Programs started
/// later get the default behaviour again. Does not block.
///
/// # Errors
/// Those of sigaction(2); none is known for these signals.
pub fn watch() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: all zeroes is a valid sigaction; the handler only touches an atomic.
        let rc = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            // No SA_RESTART would make waits end early, but std repeats them anyway.
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if rc != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn pass(_: libc::c_int) {}

/// From now on a write beyond the largest size that a file may have (`ulimit -f`) fails with EFBIG, as on a
/// full disk, instead of ending the process. Programs started later get the default behaviour again.
pub fn survive_file_limits() {
    // SAFETY: all zeroes is a valid sigaction; the handler does nothing. Known signal, valid pointers.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = pass as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut());
    }
}

/// From now on this process gets SIGINT when the thread that started it ends, by being killed too.
///
/// # Errors
/// Those of prctl(2); none is known.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: takes a number, touches no memory.
    let rc = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGINT as libc::c_ulong) };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before: then the first process is the parent, and no signal comes.
    // SAFETY: cannot fail.
    if unsafe { libc::getppid() } == 1 {
        note(libc::SIGINT);
    }
    Ok(())
}

/// The program that `command` starts is killed when the thread that starts it ends, by being killed too: from
/// its first instruction on, unlike with `setpriv --pdeathsig`, which has to run before it can ask for it.
pub fn kill_with_us(command: &mut std::process::Command) {
    let us = std::process::id();
    let ask = move || {
        // SAFETY: both calls are async-signal-safe and touch no memory.
        let (rc, parent) = unsafe {
            (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong), libc::getppid())
        };
        // Where it has ended already no signal comes. No allocation is made for either error.
        if rc == 0 && u32::try_from(parent) == Ok(us) {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: what runs between fork and exec is the above.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, ask) };
}

static USER: AtomicBool = AtomicBool::new(false);

extern "C" fn note_user(_: libc::c_int) {
    USER.store(true, Relaxed);
}

/// From now on SIGUSR1 sets a flag instead of ending the process. Does not block.
///
/// # Errors
/// Those of sigaction(2); none is known for this signal.
pub fn watch_user_signal() -> io::Result<()> {
    // SAFETY: all zeroes is a valid sigaction; the handler only touches an atomic.
    let rc = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note_user as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut())
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether SIGUSR1 has come since the last call.
#[must_use]
pub fn take_user_signal() -> bool {
    USER.swap(false, Relaxed)
}

/// The number of the first signal that came, if any.
#[must_use]
pub fn requested() -> Option<i32> {
    match REQUESTED.load(Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Sends `signal` to the process `pid`, to pass on what was requested.
///
/// # Errors
/// Those of kill(2): no such process, no permission.
pub fn send(pid: u32, signal: i32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid)
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a process id"))?;
    // SAFETY: kill has no memory preconditions; a positive pid names one process only.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_signal_is_noted_and_sent() {
        super::watch().expect("handlers can be set");
        assert_eq!(super::requested(), None);
        super::send(std::process::id(), libc::SIGHUP).expect("own process");
        // The kernel may give a process signal to another thread: wait for it, with a limit.
        for _ in 0..1_000 {
            if super::requested().is_some() {
                break;
            }
            crate::clock::sleep_ns(1_000_000);
        }
        assert_eq!(super::requested(), Some(libc::SIGHUP));
        assert!(super::send(0, libc::SIGHUP).is_err());
    }
}

//! A forked child, for tests and tools: to show what memory and locks do across a fork.
//!
//! Not a way to start programs (that is `std::process::Command`): a child of a process with threads
//! has only the calling one, and locks that others held stay locked for ever.

use std::io;

/// Runs `child` in a forked child process and returns the exit code that it gave; blocks until
/// then. `child` must not allocate, take locks or print if this process has other threads. It does
/// not return to the caller's stack, and nothing is dropped in it; a panic in it is exit code 101.
///
/// # Errors
/// No process could be made, or the child was ended by a signal.
pub fn exit_code_of(child: impl FnOnce() -> u8) -> io::Result<u8> {
    // SAFETY: fork has no memory preconditions. The child runs `child` and ends by _exit, so that
    // no destructor or exit handler of the parent runs twice; what `child` may do is said above.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            // SAFETY: ends this process; it has no preconditions.
            unsafe { libc::_exit(libc::c_int::from(caught.unwrap_or(101))) }
        }
        pid => wait(pid),
    }
}

fn wait(pid: libc::pid_t) -> io::Result<u8> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid and writable, and the child is ours.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    if libc::WIFEXITED(status) {
        return Ok(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX));
    }
    Err(io::Error::other(format!("the child was ended by signal {}", libc::WTERMSIG(status))))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_childs_code_comes_back_and_its_memory_does_not() {
        let mut here = 1;
        let code = super::exit_code_of(|| {
            here += 1;
            here + 40
        });
        assert_eq!((code.unwrap(), here), (42, 1));
    }
}

//! Which threads signals reach. A handler of the program's that ran in a thread of this library would hold
//! up what that thread does for everybody, on a stack that was not made for it.
//!
//! A thread starts with the mask of the one that starts it. So signals are blocked while threads are
//! started, and only there: there is no moment at which one of them could be interrupted.
//!
//! Invariant: what a thread brings upon itself (a fault, a bad call) still reaches it, and so does a
//! profiler; the mask of the thread that starts others is as it was afterwards. Held by the test below,
//! and by `threads_of_the_recorder_leave_signals_to_others` (`tests/record.rs` of the recorder).

/// What a thread brings upon itself, and what is sent to it to see where it is.
const OWN: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// Signals are blocked for this thread, and for those that it starts, until this is dropped.
#[must_use = "signals are unblocked when this is dropped"]
pub struct Blocked {
    before: Option<libc::sigset_t>,
    /// The mask is one thread's.
    _here: std::marker::PhantomData<*const ()>,
}

impl std::fmt::Debug for Blocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocked").finish_non_exhaustive()
    }
}

/// Blocks all signals but a thread's own.
pub fn blocked() -> Blocked {
    // SAFETY: the sets are initialised by the calls before they are used.
    let before = unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        for signal in OWN {
            libc::sigdelset(&raw mut all, signal);
        }
        let done = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        (done == 0).then_some(before)
    };
    Blocked { before, _here: std::marker::PhantomData }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the set is what the kernel had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether this thread blocks a signal.
    fn blocks(signal: libc::c_int) -> bool {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
    }

    #[test]
    fn threads_that_are_started_meanwhile_leave_signals_to_others() {
        let asked = || [libc::SIGTERM, libc::SIGUSR1, libc::SIGALRM, libc::SIGBUS].map(blocks);
        let before = asked();
        let held = blocked();
        assert_eq!(asked(), [true, true, true, false]);
        let thread = std::thread::spawn(asked);
        drop(held);
        assert_eq!(thread.join().unwrap(), [true, true, true, false]);
        assert_eq!(asked(), before);
    }
}

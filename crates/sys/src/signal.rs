//! SIGINT and SIGTERM as a flag that a loop looks at, so that a recording ends cleanly.

use std::sync::atomic::{AtomicU32, Ordering};

static RECEIVED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note(signal: libc::c_int) {
    // The second one means it: the default action ends the process.
    if RECEIVED.fetch_add(1, Ordering::Relaxed) > 0 {
        // SAFETY: both calls are async-signal-safe.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// From now on the first SIGINT or SIGTERM only sets the flag, the second ends the process.
pub fn catch_stop() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only touches an atomic and makes async-signal-safe calls. Without
        // SA_RESTART a blocking read returns, so that the loop sees the flag.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether a stop was asked for.
#[must_use]
pub fn stop_asked() -> bool {
    RECEIVED.load(Ordering::Relaxed) > 0
}

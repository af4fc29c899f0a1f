//! Panics of the `parquet` crate become errors here, and are no news for a terminal.
//!
//! Invariant: what the caller's own function panics with goes on to the caller. Held by
//! `a_panic_of_the_reader_is_an_error_and_one_of_the_caller_goes_on`.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would become an error of [`import`](super::import): a program's hook for
/// panics says nothing then.
#[must_use]
pub fn is_panic_caught() -> bool {
    CAUGHT.get()
}

/// Calls `read`; none if it panicked.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    CAUGHT.set(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    match (done, CAUGHT.replace(false)) {
        (Ok(done), _) => Some(done),
        (Err(_), true) => None,
        (Err(panic), false) => resume_unwind(panic),
    }
}

/// Calls what is the caller's within [`caught`].
pub(super) fn uncaught<T>(call: impl FnOnce() -> T) -> T {
    CAUGHT.set(false);
    let done = call();
    CAUGHT.set(true);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_reader_is_an_error_and_one_of_the_caller_goes_on() {
        assert_eq!(caught(|| uncaught(|| 7)), Some(7));
        assert_eq!(caught(|| assert!(!is_panic_caught())), None);
        let goes_on = catch_unwind(|| caught(|| uncaught(|| panic!("the caller's"))));
        assert!(goes_on.is_err() && !is_panic_caught());
    }
}

//! How large a terminal is: what is shown in a line of it, or on all of it, must fit.
//!
//! Asked anew each time, since a window may be resized. Invariant: what is no terminal, or does not
//! know its width, has none. Held by `what_is_no_terminal_has_no_width`, and with a terminal by
//! `a_status_stays_in_one_line_of_the_terminal` of the command line's tests.

use std::os::fd::{AsFd, AsRawFd};

/// Columns of a terminal; `None` if it is none or does not know. Does not block.
#[must_use]
pub fn columns(terminal: &impl AsFd) -> Option<usize> {
    size(terminal).map(|(columns, _)| columns)
}

/// Columns and lines of a terminal, as [`columns`]. Does not block.
#[must_use]
pub fn size(terminal: &impl AsFd) -> Option<(usize, usize)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    let descriptor = terminal.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes a winsize.
    let rc = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    (rc == 0 && size.ws_col > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_terminal_has_no_width() {
        let null = std::fs::File::open("/dev/null").expect("it is there");
        assert_eq!(super::columns(&null), None);
    }
}

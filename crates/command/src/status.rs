//! What is under way, in one line of the terminal that the next one replaces.
//!
//! A line that is wider than the terminal takes two, of which the next replaces only the second: all
//! that was printed before it scrolls away. So it is cut to the width that the terminal has at that
//! moment. Nobody reads faster than once a second. A line that is printed meanwhile takes its place.
//!
//! Invariant: a status never takes a second line and is never joined to what is printed. Held by the
//! tests below and by `a_status_stays_in_one_line_of_the_terminal`.

use baro_sys::{clock, terminal};
use std::fmt::Arguments;
use std::io::{self, IsTerminal, StderrLock, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Where a terminal does not say how wide it is.
const COLUMNS: usize = 80;
/// Between two that are shown.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Back to the beginning of the line, which is made empty.
const EMPTY: &[u8] = b"\r\x1b[K";

/// Whether there is one in the terminal's line; changed by whoever has stderr's lock.
static SHOWN: AtomicBool = AtomicBool::new(false);
/// Before this nothing new is shown.
static NEXT_NS: AtomicU64 = AtomicU64::new(0);

/// Whether stderr is a terminal, and so a place for [`status!`](crate::status!).
#[must_use]
pub fn status_on_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Shows the line, unless one was shown less than a second ago; see [`status!`](crate::status!).
pub fn show_status(line: Arguments<'_>) {
    let now_ns = clock::monotonic_ns();
    if now_ns < NEXT_NS.load(Relaxed) {
        return;
    }
    NEXT_NS.store(now_ns.saturating_add(INTERVAL_NS), Relaxed);
    let mut text = String::new();
    baro_show::push_line(&mut text, line);
    let mut err = io::stderr().lock();
    let columns = terminal::columns(&err).unwrap_or(COLUMNS);
    let shown = fitted(text.trim_end_matches('\n'), columns);
    let _ = err.write_all(&[EMPTY, shown.as_bytes()].concat());
    let _ = err.flush();
    SHOWN.store(true, Relaxed);
}

/// Removes the line of [`show_status`]; the next one is shown at once.
pub fn end_status() {
    give_way(&mut io::stderr().lock());
    NEXT_NS.store(0, Relaxed);
}

/// Makes the line free for one that is printed.
pub(crate) fn give_way(err: &mut StderrLock<'_>) {
    if SHOWN.swap(false, Relaxed) {
        let _ = err.write_all(EMPTY);
        let _ = err.flush();
    }
}

/// As much of a line as has room, and one column less: some terminals go on to the next line as soon
/// as one is full.
#[must_use]
pub fn fitted(line: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1);
    if line.chars().map(width).sum::<usize>() <= room {
        return line.to_owned();
    }
    let mut shown = String::new();
    let mut taken = 2;
    for one in line.chars() {
        taken += width(one);
        if taken > room {
            break;
        }
        shown.push(one);
    }
    shown.push_str(if room < 2 { "" } else { ".." });
    shown
}

/// Columns that a character takes at most: from here on some are twice as wide, but not lines and blocks.
fn width(one: char) -> usize {
    if one < '\u{1100}' || matches!(one, '\u{2500}'..='\u{25ff}') { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_what_fits() {
        assert_eq!(fitted("12345", 6), "12345");
        assert_eq!(fitted("123456", 6), "123..");
        assert_eq!(fitted("温度は高い", 8), "温度..");
        assert_eq!(fitted("温", 3), "温");
        assert_eq!(fitted("", 0), "");
        for columns in 0..40 {
            let shown = fitted("  1.5 s  lost 0  温度 12  ring 3 %  497 records", columns);
            let taken: usize = shown.chars().map(width).sum();
            assert!(taken < columns.max(1), "{columns}: {shown:?}");
        }
    }
}

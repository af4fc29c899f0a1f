//! Lines of stdin that wait, because a text in quotes was begun before them and no line has closed it.
//!
//! In a file the end comes, and decides. A pipe may have none for months, and a quote that somebody forgot
//! would keep all rows behind it out of the store. So they wait for [`WAIT_NS`] at most, then the parser
//! judges what is there, and that is told at once. What has no time of its own has the one at which its
//! line was read, however long it waited.
//!
//! Held by `a_forgotten_quote_on_a_pipe_holds_nothing_back_for_long` (`tests/text_forms.rs`).

use baro_show::plural;
use baro_sources::Held;
use baro_sys::{clock, files};
use std::collections::VecDeque;
use std::path::Path;

/// How long lines wait for one that closes a text: programs write a text of several lines at once.
const WAIT_NS: u64 = 1_000_000_000;
/// Sentences said: a source that forgets quotes all day fills no journal.
const TOLD_MAX: u32 = 20;

/// See the module.
#[derive(Debug)]
pub(super) struct HeldLines {
    /// Whether stdin is read while it is written, and no file.
    pub(super) live: bool,
    held: Held,
    /// The line whose text is open, and since when that is known, by the monotonic clock.
    since: Option<(u64, u64)>,
    /// While lines wait: the last line that had ended with a read, and when that was.
    reads: VecDeque<(u64, i64)>,
    /// The last read.
    came_ns: i64,
    /// What the intake knows as the time of its lines.
    applied_ns: i64,
    told: u32,
}

impl HeldLines {
    pub(super) fn of_stdin() -> Self {
        HeldLines {
            live: !files::is_regular(Path::new("/dev/stdin")),
            held: Held::default(),
            since: None,
            reads: VecDeque::new(),
            came_ns: 0,
            applied_ns: 0,
            told: 0,
        }
    }

    /// Something was read then.
    pub(super) fn came_at(&mut self, came_ns: i64) {
        self.came_ns = came_ns;
    }

    /// When this line was read, if that is another time than of the line asked for before. Lines come in
    /// their order.
    pub(super) fn came_ns(&mut self, line: u64) -> Option<i64> {
        while self.reads.front().is_some_and(|(last, _)| *last < line) {
            self.reads.pop_front();
        }
        let came_ns = self.reads.front().map_or(self.came_ns, |(_, came_ns)| *came_ns);
        let before_ns = std::mem::replace(&mut self.applied_ns, came_ns);
        (came_ns != before_ns).then_some(came_ns)
    }

    /// What is held after a read was parsed.
    pub(super) fn parsed(&mut self, held: Held) {
        let first = held.open.unwrap_or(u64::MAX);
        if held.ended > self.held.ended {
            self.reads.push_back((held.ended, self.came_ns));
        }
        while self.reads.front().is_some_and(|(last, _)| *last < first) {
            self.reads.pop_front();
        }
        self.become_held(held);
    }

    fn become_held(&mut self, held: Held) {
        self.since = held.open.map(|first| match self.since {
            Some(since) if since.0 == first => since,
            _ => (first, clock::monotonic_ns()),
        });
        match (self.held.unread, held.unread) {
            (None, Some(from)) => self.say(&format!(
                "the line before line {from} has a quote that no line has closed in time, and the lines from \
                 {from} on are no rows: none is read until one closes it, or nearly all that come are rows"
            )),
            (Some(from), None) => self.say(&format!(
                "the lines from {from} up to here were not read; reading goes on"
            )),
            _ => {}
        }
        self.held = held;
    }

    /// Whether they have waited long enough.
    pub(super) fn is_due(&self) -> bool {
        let waited = |(_, since_ns)| clock::monotonic_ns().saturating_sub(since_ns) >= WAIT_NS;
        self.live && self.held.waits() && self.since.is_some_and(waited)
    }

    /// What is held after the parser has judged them.
    pub(super) fn judged(&mut self, held: Held) {
        // Where only blank lines wait nothing was judged.
        if let (Some(first), None) = (self.held.open, held.unread)
            && held.open != Some(first)
        {
            let lines = plural(self.held.ended.saturating_sub(first), "line");
            self.say(&format!(
                "line {first} has a quote that no line has closed in time: it is refused, and what is behind \
                 it ({lines}) is read by itself"
            ));
        }
        self.become_held(held);
    }

    fn say(&mut self, what: &str) {
        if !self.live {
            return;
        }
        self.told = self.told.saturating_add(1);
        if self.told <= TOLD_MAX {
            say!("stdin: {what}");
        } else if self.told == TOLD_MAX + 1 {
            say!("stdin: more lines with quotes that none closes are counted and not told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_time_at_which_it_was_read() {
        let mut lines = HeldLines::of_stdin();
        let read = |lines: &mut HeldLines, came_ns, ended, open| {
            lines.came_at(came_ns);
            lines.parsed(Held { ended, open, unread: None });
        };
        lines.came_at(10);
        assert_eq!([1, 2].map(|line| lines.came_ns(line)), [Some(10), None]);
        read(&mut lines, 10, 3, Some(3));
        assert!(lines.reads.len() == 1 && !lines.held.waits());
        read(&mut lines, 20, 5, Some(3));
        read(&mut lines, 30, 5, Some(3));
        read(&mut lines, 40, 6, Some(3));
        assert!(lines.held.waits());
        lines.came_at(50);
        let times = [3, 4, 5, 6, 7].map(|line| lines.came_ns(line));
        assert_eq!(times, [None, Some(20), None, Some(40), Some(50)]);
        read(&mut lines, 50, 7, None);
        assert!(lines.reads.is_empty());
    }
}

//! Times of samples that came without one: that at which they came. Of a series and time one sample counts, so
//! each point has a time of its own, and all of a point share it. Held by `tests/names.rs`.

use super::Intake;
use baro_sys::clock;

/// Points that came together get ahead of their time by no more.
const AHEAD_NS: i64 = 1_000_000_000;

impl Intake<'_> {
    /// What comes from now on was read then, and not when its turn is: lines without a time have that, each
    /// one a nanosecond behind the one before, since of a series and time one sample counts.
    pub fn came_at(&mut self, time_ns: i64) {
        self.came_ns = Some(self.behind(time_ns));
    }

    /// This time, or the next one behind that of the line before.
    fn behind(&self, time_ns: i64) -> i64 {
        let behind_ns = self.line.1.saturating_add(1);
        // A clock that was set back is followed.
        let ahead_ns = behind_ns.saturating_sub(time_ns);
        if (0..AHEAD_NS).contains(&ahead_ns) { behind_ns } else { time_ns }
    }

    /// The time of a sample without one: all of a point, which is a line unless
    /// [`Intake::point`] says otherwise, have that of its first.
    pub fn line_time_ns(&mut self, line: u64) -> i64 {
        if self.line.0 != line {
            let time_ns = self.came_ns.unwrap_or_else(|| self.behind(clock::realtime_ns()));
            self.line = (line, time_ns);
            self.came_ns = self.came_ns.map(|next_ns| next_ns.saturating_add(1));
        }
        self.line.1
    }
}

//! An intake that many requests use, one after the other: each waits for so long at most, gives up what it could
//! not push, and asks later how far the ring is durable.

use super::{Intake, LineBegin};
use crate::error::Result;
use crate::known::SharedKnown;
use crate::target::Room;
use baro_recorder::RingView;
use baro_sources::KeyMaker;

impl Intake<'_> {
    /// Forgets all that is held, and the new series in it: nothing of that is pushed.
    pub fn give_up(&mut self) {
        self.held.clear();
        self.texts.clear();
        self.names.end_line(false);
        self.new_left = self.new_left.saturating_add(self.names.forget_new(0));
        self.begin = LineBegin { held: 0, texts: 0, new: 0, ..self.begin };
    }

    /// What has been met, for other threads; [`Intake::maker`] makes its keys.
    pub fn share(&mut self) -> SharedKnown {
        self.names.share()
    }

    /// Makes keys of names as they were written, for [`Row::written`](crate::Row::written).
    #[must_use]
    pub fn maker(&self) -> KeyMaker {
        self.names.maker()
    }

    /// Series and channels in the store of another process's recorder, as far as it is known here: its highest
    /// id.
    #[must_use]
    pub fn series_in_store(&self) -> u64 {
        self.target.series_in_store()
    }

    /// Learns of series that others have declared in the store of another process: they are not new then.
    ///
    /// # Errors
    /// The store's catalog cannot be read.
    pub fn learn(&mut self) -> Result<()> {
        Ok(self.target.learn()?)
    }

    /// How many of the series in the store of another process, as far as it is known here, have such a name
    /// and an id above `id`.
    pub fn count_series_above(&self, id: u32, is_one: impl Fn(&str) -> bool) -> u64 {
        self.target.count_series_above(id, is_one)
    }

    /// From now on it waits for room, and for the recorder that declares, for so many nanoseconds at most, in
    /// all.
    pub fn wait_at_most(&mut self, most_ns: u64) {
        self.target.wait_as(Room::AtMost(most_ns));
    }

    /// The ring as other threads see it; `None` where nothing is written.
    #[must_use]
    pub fn view(&self) -> Option<RingView> {
        self.target.view()
    }

    /// What was pushed so far has sequences below this one: it is durable when the ring is so far.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.target.next_sequence()
    }
}

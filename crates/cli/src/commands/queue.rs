//! `--short-queue`: the queue of the store's device is made short while a recording lasts.
//!
//! What goes wrong is said and is no failure: a recording is worth more than its settings. They are
//! put back when this is dropped, or after a crash by the next who opens the journal.

use super::tune::{options, tell_before};
use crate::failure::Result;
use crate::size;
use baro_sys::identity::FileSystem;
use baro_tune::{Journal, OnConflict, QueuePlan, QueueWatch};
use std::path::Path;

/// Holds the settings.
#[derive(Debug, Default)]
pub(crate) struct ShortQueue {
    watch: Option<QueueWatch>,
    journal: Option<Journal>,
}

impl ShortQueue {
    /// Finds the queues below `folder` if `wanted`; [`ShortQueue::look`] shortens them.
    pub(crate) fn below(folder: &Path, wanted: bool) -> Self {
        let find = || -> Result<QueueWatch> {
            Ok(QueueWatch::new(
                &options(None, OnConflict::Leave).root,
                FileSystem::of(folder)?.device,
            )?)
        };
        let watch = wanted.then(find).transpose().unwrap_or_else(|error| give_up(&error));
        ShortQueue { watch, journal: None }
    }

    /// Looks at what the devices do, and makes queues shorter (or less short, never deeper than
    /// they were found). To be called now and then; blocks for as long as a queue takes to drain
    /// when it changes one.
    pub(crate) fn look(&mut self) {
        let Some(watch) = &self.watch else { return };
        if let Err(error) = watch.plans().map_err(Into::into).and_then(|plans| self.apply(&plans)) {
            self.watch = give_up(&error);
        }
    }

    fn apply(&mut self, plans: &[QueuePlan]) -> Result<()> {
        for plan in plans {
            let settings = plan.settings();
            if settings.is_empty() {
                continue;
            }
            if self.journal.is_none() {
                let (journal, undone) = Journal::open(&options(None, OnConflict::Leave))?;
                tell_before(&undone);
                if !undone.settings.is_empty() {
                    say!("baro: settings that a crash had left were put back:");
                    baro_command::say_lines(&undone.to_string());
                }
                self.journal = Some(journal);
            }
            for setting in &settings {
                if let Some(journal) = &mut self.journal {
                    journal.apply(setting)?;
                }
            }
            say!("baro: {}", said(plan));
        }
        Ok(())
    }
}

impl Drop for ShortQueue {
    fn drop(&mut self) {
        let Some(mut journal) = self.journal.take() else { return };
        let report = journal.undo_all(OnConflict::Leave);
        if !report.is_clean() {
            say!("baro: --short-queue: not all is as it was:");
            baro_command::say_lines(report.to_string().trim_end());
        }
    }
}

fn give_up<T>(error: &crate::failure::Failure) -> Option<T> {
    let root = if baro_sys::schedule::is_root() { "" } else { "; it needs root" };
    say!("baro: --short-queue: {error}{root}; recording goes on without");
    None
}

fn said(plan: &QueuePlan) -> String {
    let speed = plan.bytes_per_s.unwrap_or(0);
    let show = |queue: baro_tune::Queue| {
        let each = size::show_bytes(queue.request_bytes);
        let drain = size::show_ns(queue.drain_ns(speed));
        format!("{} requests of {each}, {drain} of its work", queue.requests)
    };
    format!("{}: queue was {}; now {}", plan.device, show(plan.now), show(plan.wanted))
}

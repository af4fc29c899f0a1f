//! Recordings that are kept in memory until a call is slow: one after the other, with nothing between them.
//!
//! A trace is written, and taken to its folder, while the next recording is under way: that takes seconds, and
//! most when the disk that it goes to is what hangs. The next begins before the last one stops.
//!
//! Invariant: what happens while a trace is being written is in the next. Held by
//! `a_ring_that_keeps_some_traces_goes_on`.

use super::{Arguments, NOTHING, named, told};
use crate::commands::trace::memory_place::MemoryPlace;
use crate::commands::trace::recording::{End, Recording, RingOptions, begin, broken_off, watch};
use crate::failure::{Outcome, Result};
use baro_sys::{clock, termination};
use baro_trace::collect::Session;
use std::path::{Path, PathBuf};
use std::thread::{Scope, ScopedJoinHandle};

/// A recording, and the file that it becomes.
struct Running {
    session: Session,
    path: PathBuf,
}

/// Traces that are being written.
#[derive(Default)]
struct Writing<'scope>(Vec<ScopedJoinHandle<'scope, Result<bool>>>);

impl Writing<'_> {
    fn is_busy(&self) -> bool {
        self.0.iter().any(|one| !one.is_finished())
    }

    /// Whether events were lost in any.
    fn end(self) -> Result<bool> {
        let mut is_lost = false;
        for one in self.0 {
            is_lost |= one.join().map_err(|_| "a trace could not be written")??;
        }
        Ok(is_lost)
    }
}

/// Records until told to end, the time is over, or the only trace that was asked for is written.
pub(super) fn run(
    arguments: &Arguments,
    first: &Recording<'_>,
    memory: Option<&MemoryPlace>,
) -> Result<Outcome> {
    termination::watch()?;
    std::thread::scope(|scope| {
        let mut writing = Writing::default();
        let result = all(arguments, first, memory, scope, &mut writing);
        // Also after a failure: what was slow before it is to be had.
        let is_lost = writing.end();
        Ok(Outcome::lost_if(result? | is_lost?))
    })
}

fn all<'scope, 'env: 'scope>(
    arguments: &'env Arguments,
    first: &Recording<'_>,
    memory: Option<&'env MemoryPlace>,
    scope: &'scope Scope<'scope, 'env>,
    writing: &mut Writing<'scope>,
) -> Result<bool> {
    let is_named = arguments.out.as_ref().is_some_and(|out| !out.is_dir());
    // With a number of traces to keep there is always room for the next.
    let goes_on = arguments.keep.is_some();
    let begin_ns = clock::monotonic_ns();
    let mut now = Recording { ..*first };
    let mut running = begun(arguments, &now, memory)?;
    loop {
        let end = watch(&now, &mut running.session, None, &|| writing.is_busy());
        let waits = match end.map_err(|error| broken_off(&running.path, false, &error))? {
            End::Nothing => {
                running.session.discard()?;
                say!("{NOTHING}");
                return Ok(false);
            }
            End::Whole { waits, .. } => waits,
        };
        let age_ns = clock::monotonic_ns().saturating_sub(begin_ns);
        let is_over = arguments.for_ns.is_some_and(|for_ns| age_ns >= for_ns);
        let is_ended = is_named || is_over || termination::requested().is_some();
        if is_ended || waits.is_none() && !goes_on {
            return written(arguments, running, memory);
        }
        // Who ended the wait is seen only when it ends; till then nothing of the same hang is written again.
        now = Recording {
            until_ends: waits,
            for_ns: arguments.for_ns.map(|for_ns| for_ns - age_ns),
            ring: first.ring.map(RingOptions::later),
            ..*first
        };
        match begun_beside(&mut running.session, || begun(arguments, &now, memory)) {
            Ok(next) => {
                let last = std::mem::replace(&mut running, next);
                writing.0.push(scope.spawn(move || written(arguments, last, memory)));
            }
            Err(error) => {
                written(arguments, running, memory)?;
                return Err(error);
            }
        }
    }
}

/// Begins the next recording, which takes as long as the kernel's buffers of the last may hold: that one goes on.
fn begun_beside(
    last: &mut Session,
    begin: impl FnOnce() -> Result<Running> + Send,
) -> Result<Running> {
    std::thread::scope(|scope| {
        let next = scope.spawn(begin);
        while !next.is_finished() && last.turn().is_ok() {}
        next.join().map_err(|_| "the next recording could not begin")?
    })
}

fn begun(
    arguments: &Arguments,
    recording: &Recording<'_>,
    memory: Option<&MemoryPlace>,
) -> Result<Running> {
    let start = |path: &Path| begin(path, recording);
    let (path, session) = match (&arguments.out, memory) {
        (_, Some(memory)) => named(memory.path(), start)?,
        (Some(path), None) if !path.is_dir() => (path.clone(), start(path)?),
        (folder, None) => named(folder.as_deref().unwrap_or(Path::new("")), start)?,
    };
    Ok(Running { session, path })
}

/// Ends a recording, takes its trace to where it belongs, and tells of it.
fn written(arguments: &Arguments, of: Running, memory: Option<&MemoryPlace>) -> Result<bool> {
    let Running { session, path } = of;
    let summary = session.finish().map_err(|error| broken_off(&path, false, &error))?;
    let path = memory.map_or_else(|| path.clone(), |memory| memory.deliver(&path));
    told(arguments, &path, &summary)
}

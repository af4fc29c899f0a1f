//! Stalls made on purpose, each with one cause that is known because we made it.
//!
//! A tool that says why a call was late can only be trusted where somebody knows why it was late.
//! Here a *victim* (a thread of that name) makes ordinary calls on a [stand](baro_bench::stand) and notes
//! itself when each slow one began and ended, while another task (`antagonist`, `holder`,
//! `committer`) brings about the one thing it has to wait for. That the construction does what it
//! is meant to is shown by [evidence](Sampler) that comes from no tracer: where in the kernel the
//! victim was, seen every few milliseconds.
//!
//! Invariant: a cause ends by itself, leaves nothing of the machine changed, and touches nothing
//! that other programs share unless it says so ([`Cause::global`]). Held by `tests/causes.rs` and,
//! for a run that is told to end, by `tests/bench_causes.rs`.

mod account;
mod cast;
mod device;
mod evidence;
mod inodes;
mod journal;
mod limits;
mod list;
mod locks;
mod show;
mod stage;

pub use account::{Account, SLOW_NS, SlowCall};
pub use evidence::{Evidence, Sampler, Seen};
pub use list::CAUSES;
pub use stage::{Stage, VICTIM};

use baro_bench::error::BenchError;
use baro_bench::stand::{Stand, StandSpec};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A slow call of the victim must wait at least so long to be judged: long against a tick of the
/// kernel (4 ms) and against what two busy processors do to a thread by themselves.
pub const JUDGED_NS: u64 = 200_000_000;
/// Share of the samples of the judged call that must be in the expected place.
pub const PLACE_SHARE: f64 = 0.9;

/// Where a victim's samples must be.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In one of these functions of the kernel, or what they call.
    In(&'static [&'static str]),
    /// In one of these and not in what they call, as far as the kernel tells.
    At(&'static [&'static str]),
    /// Ready to run, without a processor.
    Ready,
}

/// A stall that can be made.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is made to happen, in a sentence.
    pub what: &'static str,
    /// Names of the cause, one of which an explanation must give.
    pub expect: &'static [&'static str],
    /// Where the victim must be seen while it waits.
    pub place: Place,
    /// Beginning of another task's name, and where at least half of its samples must be meanwhile.
    /// `jbd2` is the journal's thread.
    pub others: &'static [(&'static str, Place)],
    /// The task that has what the victim waits for, where one has: a good explanation names it.
    pub holder: Option<&'static str>,
    /// It changes settings that all programs of the machine share.
    pub global: bool,
    stand: StandSpec<'static>,
    act: fn(&mut Stage<'_>) -> Result<Account, BenchError>,
}

/// The cause of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|cause| cause.name == name)
}

impl Cause {
    /// Makes the stall in a folder below `parent`, in this process. `ready` is called when all is
    /// prepared and nothing slow yet; what it waits for is waited for. `done` gets the victim's own
    /// account while the file system is still there. Blocks for up to some ten seconds between the
    /// two, less if `stop` is set. Needs root.
    ///
    /// # Errors
    /// The stand could not be made, a call failed that must not, or `ready` or `done` refused.
    pub fn make(
        &self,
        parent: &Path,
        stop: &AtomicBool,
        ready: &mut dyn FnMut(&Stand) -> Result<(), BenchError>,
        done: &mut dyn FnMut(&Account) -> Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        let stand = Stand::build(parent, &self.stand)?;
        let mut stage = Stage::new(stand, stop, ready);
        let account = (self.act)(&mut stage)?;
        done(&account)
    }
}

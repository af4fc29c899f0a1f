//! What all causes share: a stand, the moment at which everything begins, and tasks with names.
//!
//! Invariant: all tasks end when the victim does, the stage is told to stop, or its time is over,
//! and the device is fast again before anybody is waited for. Held by `tests/causes.rs`.

use super::account::Account;
use super::cast::Cast;
use super::show::Show;
use baro_bench::error::BenchError;
use baro_bench::stand::Stand;
use baro_sys::clock;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The name of the task whose calls are slow.
pub const VICTIM: &str = "victim";

/// Where a cause is made.
pub struct Stage<'a> {
    /// The file system.
    pub stand: Stand,
    stop: &'a AtomicBool,
    ready: &'a mut dyn FnMut(&Stand) -> Result<(), BenchError>,
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("stand", &self.stand).finish_non_exhaustive()
    }
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        stand: Stand,
        stop: &'a AtomicBool,
        ready: &'a mut dyn FnMut(&Stand) -> Result<(), BenchError>,
    ) -> Self {
        Self { stand, stop, ready }
    }

    /// A file on the stand.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.stand.mount_dir().join(name)
    }

    /// Says that all is prepared, lets everybody act for `length_ns` at most, and makes the device
    /// fast again. The victim's end is everybody's.
    pub(super) fn perform(
        &mut self,
        length_ns: u64,
        cast: Cast<'_>,
        victim: impl FnOnce(&Show<'_>, &mut Account) -> io::Result<()> + Send,
    ) -> Result<Account, BenchError> {
        (self.ready)(&self.stand)?;
        let end_ns = clock::monotonic_ns().saturating_add(length_ns);
        let show = Show::until(end_ns, self.stop);
        let stand = &mut self.stand;
        std::thread::scope(|scope| {
            let show = &show;
            let spawn = |name: &'static str| std::thread::Builder::new().name(name.to_owned());
            let acting = spawn(VICTIM).spawn_scoped(scope, move || {
                let mut account = Account::default();
                let acted = victim(show, &mut account);
                show.end();
                acted.map(|()| account)
            });
            let mut others = Vec::new();
            for (name, act) in cast.parts {
                others.push((name, spawn(name).spawn_scoped(scope, move || act(show))));
            }
            // From here on everybody is told to end, whatever fails.
            let mut failed = None;
            let account = match acting {
                Ok(thread) => {
                    while !thread.is_finished() && show.goes_on() {
                        clock::sleep_ns(5_000_000);
                    }
                    // Who is in a slow call would be so for long.
                    show.end();
                    if !thread.is_finished() {
                        clock::sleep_ns(50_000_000);
                    }
                    stand.undo_settings();
                    joined(VICTIM, thread.join(), &mut failed)
                }
                Err(error) => {
                    show.end();
                    failed = Some(BenchError::Thread(error));
                    None
                }
            };
            stand.undo_settings();
            for (name, thread) in others {
                match thread {
                    Ok(thread) => drop(joined(name, thread.join(), &mut failed)),
                    Err(error) => failed = failed.take().or(Some(BenchError::Thread(error))),
                }
            }
            failed.map_or_else(|| Ok(account.unwrap_or_default()), Err)
        })
    }
}

/// What a thread gave; the first failure is kept.
fn joined<T>(
    name: &'static str,
    result: std::thread::Result<io::Result<T>>,
    failed: &mut Option<BenchError>,
) -> Option<T> {
    let error = match result {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => BenchError::Refused(format!("the {name}'s call failed: {error}")),
        Err(_) => BenchError::ThreadLost(name),
    };
    failed.get_or_insert(error);
    None
}

//! What goes on beside an import: a signal is noticed, and where the log recycles and half of it is not
//! settled, samples are settled, so that the import finds room and takes none from what is not settled.
//! With room enough nothing is settled, and the import is not held up by it.
//!
//! Invariant: an import lets no unsettled samples be recycled, neither its own nor those that were there.
//! Held by `an_import_larger_than_a_recycling_log_keeps_all_and_what_was_there`.

use crate::commands::record::keeping::Dropped;
use crate::commands::record::settle_options;
use crate::failure::Result;
use crate::size;
use baro_ingest::Waiting;
use baro_log::{Logged, open_folder, read_identity};
use baro_ondisk::WhenFull;
use baro_recorder::{Recorder, Trouble};
use baro_store::{RunRetention, Settling, SettlingOptions, SettlingState, Store};
use baro_sys::{clock, termination};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);

/// From when on samples stay that come beside another process's recorder: what it drops would be lost, however
/// durable. Says that it may drop others, which nobody knows before.
pub(super) fn kept_from_ns(store: &Path) -> i64 {
    let Dropped { keep_ns, keep_bytes, min_free } = Dropped::of(store);
    for (bytes, keeps, option) in
        [(keep_bytes, "of runs", "--runs-size"), (min_free, "free", "--min-free")]
    {
        if let Some(bytes) = bytes {
            say!(
                "note: the recorder of this store keeps {} {keeps} ({option}) and drops the oldest runs: what \
                 is imported may be among them",
                size::show_bytes(bytes)
            );
        }
    }
    let Some(keep_ns) = keep_ns else { return i64::MIN };
    // Nothing is dropped that a table has not got.
    match Store::open(store).and_then(|store| store.handover()) {
        Ok(Some(handover)) if handover.holds => i64::MIN,
        _ => clock::realtime_ns().saturating_sub_unsigned(keep_ns),
    }
}

/// Calls `work`, which waits for room as `waiting` says; `recorder` is this process's own.
pub(super) fn with_settling<T>(
    store: &Path,
    recorder: Option<&Recorder>,
    waiting: &Waiting,
    work: impl FnOnce() -> T,
) -> Result<T> {
    let recycles = match recorder {
        Some(_) => read_identity(&open_folder(store)?, store)?.when_full == WhenFull::Recycle,
        None => false,
    };
    let settled = recorder.filter(|_| recycles);
    Ok(std::thread::scope(|scope| {
        let (end, ended) = channel();
        scope.spawn(move || watch(store, settled, waiting, &ended));
        let result = work();
        drop(end);
        result
    }))
}

fn watch(store: &Path, recorder: Option<&Recorder>, waiting: &Waiting, ended: &Receiver<()>) {
    let (mut settling, mut told): (Option<Settling>, _) = (None, None);
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
        if termination::requested().is_some() {
            waiting.stop();
        }
        let Some(recorder) = recorder else { continue };
        let status = recorder.status();
        let logged = Logged::from(&status);
        let held = matches!(status.trouble, Trouble::Held { .. });
        if settling.is_none() && (logged.is_behind() || held) {
            let options = settle_options(RunRetention::default());
            let often =
                SettlingOptions { look_every_ns: 200_000_000, ..SettlingOptions::default() };
            match Settling::beside(store, options, often, recorder.taken()) {
                Ok(started) => settling = Some(started),
                Err(error) => waiting.settling_stopped(Some(error.to_string())),
            }
        }
        if let Some(settling) = &settling {
            settling.logged(logged);
            let state = settling.status().state;
            if let SettlingState::Waits { holding } = &state
                && told.as_ref() != Some(holding)
            {
                say!("settling waits for {holding}");
                told = Some(holding.clone());
            }
            waiting.settling_stopped(match state {
                SettlingState::Stopped { reason } => Some(reason),
                _ => None,
            });
        }
    }
    // What is not settled is settled by the next recorder, or by `baro settle`.
    let _ = settling.map(Settling::end);
}

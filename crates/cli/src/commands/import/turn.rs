//! Who writes: an import is the store's recorder, or goes through the rings of one that runs. Another import
//! ends by itself, and so it is waited for: whoever starts several means all of them.
//!
//! Held by `an_import_waits_for_another_one` (`tests/import.rs`).

use crate::failure::Result;
use baro_log::{Role, StoreLock};
use baro_recorder::{Error, Options, Recorder, Retention};
use baro_sys::{clock, termination};
use std::path::Path;

/// Of the writer's nine buffers each has one: half of what a recorder takes, which has more to write at once.
const BLOCK_BYTES: usize = 512 << 10;
/// Half of what a recorder takes: a file waits while the device does.
const RING_BYTES: usize = 8 << 20;

/// What an import lets others know.
const SAYS: &str = "import";
const LOOK_NS: u64 = 20_000_000;
/// A process that has just begun has said nothing yet.
const BEGIN_LOOKS: u32 = 3;

/// The store opened for recording; `None` where another process records into it. Nothing is recycled that
/// is not settled: who imports waits for that.
pub(super) fn take(store: &Path) -> Result<Option<Recorder>> {
    let retention = Retention { keep_unsettled: true, ..Retention::default() };
    let says = Some(SAYS.to_owned());
    let (block_bytes, ring_bytes) = (BLOCK_BYTES, RING_BYTES);
    let options = Options { retention, says, block_bytes, ring_bytes, ..Options::default() };
    let (mut told, mut unsaid) = (false, 0);
    loop {
        let Some(holder) = StoreLock::holder_at(store, Role::Recording)? else {
            match Recorder::open(store, options.clone()) {
                Ok(recorder) => return Ok(Some(recorder)),
                // Somebody was quicker.
                Err(Error::Busy { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        };
        match StoreLock::said_at(store, Role::Recording)?.as_deref() {
            Some(SAYS) => tell(store, holder.pid, &mut told),
            None if unsaid < BEGIN_LOOKS => unsaid += 1,
            _ => return Ok(None),
        }
        if termination::requested().is_some() {
            return Err(
                "stopped by a signal while another import had the store: nothing was read".into()
            );
        }
        clock::sleep_ns(LOOK_NS);
    }
}

/// Once.
fn tell(store: &Path, pid: Option<u32>, told: &mut bool) {
    if !std::mem::replace(told, true) {
        let who = pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
        say!("{}: {who} imports into it; this import begins when that one ends", store.display());
    }
}

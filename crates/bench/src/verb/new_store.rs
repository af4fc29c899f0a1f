//! A store that is made to be measured, and goes again, however the measurement ends.

use crate::ground;
use baro_command::failure::Result;
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, WhenFull};
use baro_sys::disk::Disk;
use baro_sys::{clock, files, identity, termination};
use std::path::Path;

/// Makes a whole store in a folder of its own below `dir` for `measure`, and removes it, however
/// that ends. SIGINT and SIGTERM do not end the program meanwhile: whoever measures asks for them.
///
/// # Errors
/// No such folder, or one in which root does not measure; no room for the log, or what `measure` returns.
pub fn in_new_store<T>(
    dir: &Path,
    log_bytes: u64,
    when_full: WhenFull,
    measure: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    termination::watch()?;
    Disk::open(dir)?;
    let folder = ground::make_own(dir, format!("baro-bench-{}", std::process::id()))?;
    let result = make(&folder, log_bytes, when_full).and_then(|()| measure(&folder));
    let removed = files::remove_tree(&folder);
    let value = result?;
    removed?;
    Ok(value)
}

fn make(folder: &Path, log_bytes: u64, when_full: WhenFull) -> Result<()> {
    let geometry = Geometry::for_log(log_bytes, when_full)?;
    let disk = Disk::open(folder)?;
    let geometry = geometry.fitted_to(&disk);
    let mut id = StoreId::default();
    identity::random(&mut id.0)?;
    init(&disk, folder, id, clock::realtime_ns(), &geometry, |_| {})?;
    Ok(())
}

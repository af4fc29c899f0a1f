//! Making a store.

use crate::arguments::{known_flags, path, structure_or_defaults};
use crate::error::{Result, guard};
use crate::structs::{BARO_INIT_GROW, BARO_INIT_RECYCLE, baro_init_options};
use baro_log::{Geometry, init_growing};
use baro_ondisk::{StoreId, WhenFull};
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use std::ffi::c_char;
use std::path::Path;

const LOG_BYTES: u64 = 1 << 30;

/// Makes a store in the folder `store`, which is made too. Every byte of the log is written once,
/// so that recording allocates nothing: blocks for as long as the device takes for that, or, with
/// BARO_INIT_GROW, for two segments; the recorder adds the others then.
/// `options` may be null.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EEXIST, BARO_EBUSY if another process makes one there,
/// BARO_ENOSPC, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_init(store: *const c_char, options: *const baro_init_options) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (store, options) = unsafe { (path(store, "store")?, structure_or_defaults(options)?) };
        make(store, &options).map(|()| 0)
    })
}

fn make(store: &Path, options: &baro_init_options) -> Result<()> {
    known_flags("baro_init_options", options.flags, BARO_INIT_RECYCLE | BARO_INIT_GROW)?;
    let recycle = options.flags & BARO_INIT_RECYCLE != 0;
    let when_full = if recycle { WhenFull::Recycle } else { WhenFull::Stop };
    let log_bytes = if options.log_bytes == 0 { LOG_BYTES } else { options.log_bytes };
    let geometry = Geometry::for_log(log_bytes, when_full)?;
    let disk = Disk::create(store)?;
    let geometry = geometry.fitted_to(&disk);
    let mut id = StoreId::default();
    identity::random(&mut id.0)?;
    let segments = if options.flags & BARO_INIT_GROW != 0 { 2 } else { 0 };
    init_growing(&disk, store, id, clock::realtime_ns(), &geometry, segments, |_| {})?;
    Ok(())
}

//! A store for one test, opened through the C interface with rings of private memory.

use baro::*;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

pub(crate) struct Place {
    path: PathBuf,
    flags: u32,
    log_bytes: u64,
}

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-capi-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Place { path, flags: 0, log_bytes: 4 << 20 }
    }

    /// One whose log is reused when it is full.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn recycling(name: &str) -> Self {
        let mut place = Place::new(name);
        place.flags = BARO_INIT_RECYCLE;
        place
    }

    /// With a log of this size.
    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn sized(mut self, log_bytes: u64, flags: u32) -> Self {
        (self.log_bytes, self.flags) = (log_bytes, self.flags | flags);
        self
    }

    #[allow(dead_code, reason = "not every test needs it")]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn c(&self) -> CString {
        CString::new(self.path.as_os_str().as_bytes()).unwrap()
    }

    pub(crate) fn init(&self) {
        let options = baro_init_options {
            type_size: size_of::<baro_init_options>() as u32,
            flags: self.flags,
            log_bytes: self.log_bytes,
        };
        // SAFETY: valid pointers.
        let code = unsafe { baro_init(self.c().as_ptr(), &options) };
        assert!(code == 0 || code == BARO_EEXIST, "{}", last_error());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub(crate) fn last_error() -> String {
    // SAFETY: the library's own text, of this thread.
    unsafe { CStr::from_ptr(baro_last_error()) }.to_str().unwrap().to_owned()
}

/// A recorder with one producer: a ring of 1 MiB, records of up to 64 KiB.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn opened(place: &Place) -> (*mut baro_recorder, *mut baro_producer) {
    place.init();
    // SAFETY: structures of the interface take any bits.
    let mut options: baro_open_options = unsafe { std::mem::zeroed() };
    options.type_size = size_of::<baro_open_options>() as u32;
    options.flags = BARO_OPEN_RINGS_PRIVATE;
    options.ring_bytes = 1 << 20;
    options.record_bytes_max = 64 << 10;
    options.block_bytes = 128 << 10;
    options.durable_within_ns = 4_000_000;
    let (mut recorder, mut producer) = (null_mut(), null_mut());
    // SAFETY: valid pointers.
    unsafe {
        let code = baro_open(place.c().as_ptr(), &options, &mut recorder);
        assert_eq!(code, 0, "{}", last_error());
        assert_eq!(baro_producer_open(recorder, &mut producer), 0, "{}", last_error());
    }
    (recorder, producer)
}

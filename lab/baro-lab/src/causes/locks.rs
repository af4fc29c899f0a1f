//! Causes that are locks of one file: that of a page while it is read, that of the file while
//! somebody writes.
//!
//! Invariant: the victim waits for the lock and nothing else. Held by
//! `baro-lab causes`.

use super::account::Account;
use super::cast::Cast;
use super::stage::Stage;
use baro_bench::error::BenchError;
use baro_bench::stand::Speed;
use baro_bench_sys::calls;
use baro_sys::memory::AlignedBuffer;
use baro_sys::{files, footprint};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// The holder reads pages that are not in memory from a device that does two reads a second; each
/// is locked while it is read. The victim writes a few bytes to the same page.
pub(super) fn folio_lock(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const PAGES: u64 = 64;
    const APART: u64 = 16;
    let path = stage.path("pages");
    let failed = |source| BenchError::file("prepare", &path)(source);
    let file = files::create(&path).map_err(failed)?;
    files::write_at(&file, &vec![1; (PAGES * APART * PAGE) as usize], 0).map_err(failed)?;
    drop(file);
    footprint::sync_file_system(&stage.stand.mount_dir())?;
    stage.stand.remount()?;
    let file = files::open_to_write(&path).map_err(failed)?;
    calls::expect_random(&file).map_err(failed)?;
    // The first page, and with it all that is to be known of the file.
    files::read_at(&file, &mut [0; 8], 0).map_err(failed)?;
    stage.stand.set_speed(Speed { reads: 2, ..Speed::default() })?;
    let reading = AtomicU64::new(0);
    let cast = Cast::default().with("holder", |show| {
        for page in 1..PAGES {
            if show.goes_on() {
                reading.store(page, Relaxed);
                files::read_at(&file, &mut [0; 8], page * APART * PAGE)?;
            }
        }
        Ok(())
    });
    stage.perform(5 * S, cast, |show, account| {
        let mut last = 0;
        while show.goes_on() {
            let page = reading.load(Relaxed);
            if page > last {
                last = page;
                // It says so a moment before it reads.
                show.pause_ns(20_000_000);
                let offset = page * APART * PAGE + 64;
                account.call("pwrite64", || files::write_at(&file, b"a few bytes", offset))?;
            }
            show.pause_ns(1_000_000);
        }
        Ok(())
    })
}

/// The antagonist makes a file longer past the page cache, 4 MiB a second and a call, and has the
/// file's lock for all of it; the victim writes a few bytes at its beginning.
pub(super) fn inode_lock(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const EACH_BYTES: u64 = 4 * MIB;
    let path = stage.path("shared");
    let failed = |source| BenchError::file("prepare", &path)(source);
    let direct = calls::open_direct(&path).map_err(failed)?;
    let (buffer, _) = AlignedBuffer::new(EACH_BYTES as usize)?;
    files::write_at(&direct, &buffer, 0).map_err(failed)?;
    let file = files::open_to_write(&path).map_err(failed)?;
    files::write_at(&file, b"begin", 0).map_err(failed)?;
    files::sync(&file).map_err(failed)?;
    stage.stand.set_speed(Speed { write_bytes: EACH_BYTES, ..Speed::default() })?;
    let cast = Cast::default().with("antagonist", |show| {
        for at in 1..64 {
            if show.goes_on() {
                files::write_at(&direct, &buffer, at * EACH_BYTES)?;
            }
        }
        Ok(())
    });
    stage.perform(5 * S, cast, |show, account| {
        while show.goes_on() {
            let round = account.calls.to_le_bytes();
            account.call("pwrite64", || files::write_at(&file, &round, 0))?;
            show.pause_ns(30_000_000);
        }
        Ok(())
    })
}

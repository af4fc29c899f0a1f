//! Causes inside the journal: no room, a transaction that ends, one that is full, data that a
//! commit must write first.
//!
//! What is slow is chosen so that only one of them can be long: writes counted one by one make the
//! scattered blocks of a checkpoint slow and the one stretch of a commit fast; slow reads hold up
//! whoever has a handle and reads, and nobody else.
//!
//! Invariant: each victim waits in the function that its cause names. Held by
//! `a_stall_is_where_it_was_made` in `tests/causes.rs` and by `baro-lab causes`.

use super::account::Account;
use super::cast::{Cast, stamp};
use super::inodes::Inodes;
use super::stage::Stage;
use baro_bench::error::BenchError;
use baro_bench::stand::Speed;
use baro_bench_sys::calls;
use baro_sys::{files, footprint};
use std::fs::File;
use std::path::Path;
use std::sync::mpsc;

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
/// Most of what is free on a stand of 512 MiB.
const ROOM_BYTES: u64 = 300 * MIB;

/// Opens a file that has one block, and its block in memory.
fn warm(path: &Path) -> Result<File, BenchError> {
    let failed = |source| BenchError::file("prepare", path)(source);
    let file = match files::open_to_write(path) {
        Ok(file) => file,
        Err(_) => files::create(path).map_err(failed)?,
    };
    files::write_at(&file, &[0; 4096], 0).map_err(failed)?;
    files::sync(&file).map_err(failed)?;
    Ok(file)
}

/// Nothing dirty, nothing in memory, an empty journal.
fn settled(stage: &Stage<'_>) -> Result<(), BenchError> {
    footprint::sync_file_system(&stage.stand.mount_dir())?;
    stage.stand.remount()
}

/// A journal of 1,024 blocks, a device that does 300 writes a second whatever their size.
pub(super) fn log_space(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    let inodes = Inodes::make(&stage.stand.mount_dir(), 1_500, 1)?;
    drop(warm(&stage.path("stamp"))?);
    settled(stage)?;
    let file = warm(&stage.path("stamp"))?;
    stage.stand.set_speed(Speed { writes: 300, ..Speed::default() })?;
    let cast = Cast::default().with("antagonist", |show| {
        for at in 0.. {
            if !show.goes_on() {
                break;
            }
            inodes.touch(at, at / inodes.blocks)?;
        }
        Ok(())
    });
    stage.perform(7 * S, cast, |show, account| stamp(show, account, &file))
}

/// A journal of 2,048 blocks, of which a transaction gets a third, and a device that takes more
/// than a second for a commit of 400: the next transaction is full before that has ended. The
/// victim's inode is in neither: one that is being written to the log is waited for by itself.
pub(super) fn transaction_full(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const FIRST: u64 = 400;
    let inodes = Inodes::make(&stage.stand.mount_dir(), 1_500, 0)?;
    let (own, own_block) = inodes.beside_last();
    drop((warm(&own)?, warm(&stage.path("commit"))?));
    settled(stage)?;
    // Read before, so that nobody waits for it later.
    for block in 0..own_block {
        inodes.touch(block, 0).map_err(BenchError::file("change", &stage.path("inodes")))?;
    }
    footprint::sync_file_system(&stage.stand.mount_dir())?;
    let (file, commit) = (warm(&own)?, warm(&stage.path("commit"))?);
    stage.stand.set_speed(Speed { write_bytes: MIB, ..Speed::default() })?;
    let (begun, begins) = mpsc::channel::<()>();
    let inodes = &inodes;
    let cast = Cast::default()
        .with("antagonist", move |show| {
            for block in 0..FIRST {
                inodes.touch(block, 1)?;
            }
            drop(begun);
            // The commit takes the first transaction; then the second is filled.
            show.pause_ns(S / 10);
            for block in FIRST..own_block {
                if show.goes_on() {
                    inodes.touch(block, 1)?;
                }
            }
            Ok(())
        })
        .with("committer", move |_| {
            // Given up, not sent: also where the antagonist fails.
            let _ = begins.recv();
            files::write_at(&commit, b"end", 0)?;
            Ok(files::sync(&commit)?)
        });
    // One such wait: what comes later waits for room in the log.
    stage.perform(4 * S, cast, |show, account| {
        show.pause_ns(S / 5);
        while show.goes_on() && account.slow.is_empty() {
            let before = account.calls;
            account.call("pwrite64", || files::write_at(&file, &before.to_le_bytes(), 0))?;
            show.pause_ns(5_000_000);
        }
        Ok(())
    })
}

/// The holder allocates in groups whose bitmaps it must read first, from a device that does three
/// reads a second, and has a handle meanwhile. A transaction that is to end waits for the handle,
/// and who needs a new one waits for the transaction.
pub(super) fn transaction_locked(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const EACH_BYTES: u64 = 24 * MIB;
    for name in ["stamp", "commit", "held"] {
        drop(warm(&stage.path(name))?);
    }
    settled(stage)?;
    let file = warm(&stage.path("stamp"))?;
    let commit = warm(&stage.path("commit"))?;
    let held = warm(&stage.path("held"))?;
    stage.stand.set_speed(Speed { reads: 3, ..Speed::default() })?;
    let cast = Cast::default().with_committer(&commit, S / 10).with("holder", |show| {
        for at in 0..30 {
            if show.goes_on() {
                calls::allocate(&held, at * EACH_BYTES, EACH_BYTES)?;
            }
        }
        Ok(())
    });
    stage.perform(6 * S, cast, |show, account| stamp(show, account, &file))
}

/// Without delayed allocation a commit must write the new data of its transaction: 32 MiB at
/// 20 MiB/s, for a victim that has written some bytes.
pub(super) fn ordered_data(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const DATA_BYTES: u64 = 32 * MIB;
    let file = warm(&stage.path("small"))?;
    let path = stage.path("large");
    stage.stand.set_speed(Speed { write_bytes: 20 * MIB, ..Speed::default() })?;
    let (ask, asked) = mpsc::channel::<()>();
    let (done, written) = mpsc::channel::<()>();
    let cast = Cast::default().with("antagonist", move |_| {
        let piece = vec![7; MIB as usize];
        while asked.recv().is_ok() {
            let large = files::create(&path)?;
            for at in 0..DATA_BYTES / MIB {
                files::write_at(&large, &piece, at * MIB)?;
            }
            let _ = done.send(());
        }
        Ok(())
    });
    stage.perform(6 * S, cast, move |show, account| {
        // Theirs: its end is the antagonist's.
        let ask = ask;
        while show.goes_on() && ask.send(()).is_ok() && written.recv().is_ok() {
            files::write_at(&file, &account.calls.to_le_bytes(), 0)?;
            account.call("fsync", || files::sync(&file))?;
        }
        Ok(())
    })
}

/// Paper A's load beside a recorder: a file of many extents is cut shorter and room is reserved,
/// with a handle in hand, while the blocks that list the extents come from a device that does three
/// reads a second. All else is in memory.
pub(super) fn truncate_fallocate(stage: &mut Stage<'_>) -> Result<Account, BenchError> {
    const EXTENTS: u64 = 16_000;
    /// What one block of the extent tree holds.
    const IN_LEAF: u64 = 340;
    const BLOCK: u64 = 4096;
    drop((warm(&stage.path("stamp"))?, warm(&stage.path("commit"))?, warm(&stage.path("room"))?));
    let cut = stage.path("cut");
    fragmented(&cut, EXTENTS).map_err(BenchError::file("fragment", &cut))?;
    settled(stage)?;
    let file = warm(&stage.path("stamp"))?;
    let commit = warm(&stage.path("commit"))?;
    let room = warm(&stage.path("room"))?;
    // Reads the bitmaps of all groups.
    let failed = |source| BenchError::file("reserve room on", &stage.path("room"))(source);
    calls::allocate(&room, 0, ROOM_BYTES).map_err(failed)?;
    files::set_length(&room, BLOCK).map_err(failed)?;
    footprint::sync_file_system(&stage.stand.mount_dir())?;
    let cut = files::open_to_write(&cut).map_err(BenchError::file("open", &cut))?;
    stage.stand.set_speed(Speed { reads: 3, ..Speed::default() })?;
    let cast = Cast::default().with_committer(&commit, S / 10).with("antagonist", |show| {
        let mut length = EXTENTS * 2 * BLOCK;
        let mut at = 0;
        while show.goes_on() && length > 0 {
            length = length.saturating_sub(IN_LEAF * 2 * BLOCK);
            files::set_length(&cut, length)?;
            calls::allocate(&room, at, MIB)?;
            at += MIB;
        }
        Ok(())
    });
    stage.perform(6 * S, cast, |show, account| stamp(show, account, &file))
}

/// A file with every other block a hole.
fn fragmented(path: &Path, extents: u64) -> baro_sys::Result<()> {
    let file = files::create(path)?;
    for at in 0..extents {
        files::write_at(&file, &[1; 4096], at * 2 * 4096)?;
    }
    files::sync(&file)
}

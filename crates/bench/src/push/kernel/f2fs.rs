//! What f2fs did for the recorder: checkpoints that its syncs forced, node blocks that it wrote.
//!
//! f2fs has no journal; what a commit is there is a checkpoint, and a sync says itself whether it
//! needed one, and why (`cp_reason` of `f2fs_sync_file_exit`). Without one it may still write node
//! blocks, an inode for its times say, from which the file is rolled forward after a power cut.
//! (fs/f2fs/file.c: f2fs_do_sync_file.) No event tells that a direct write went elsewhere, as it does
//! when mounted mode=lfs; its node blocks show it.
//!
//! Invariant: a checkpoint that a timer or another task asked for is not counted as forced. Held by
//! the tests below; on a real f2fs by `an_f2fs_is_counted_too` (`tests/watch.rs`).

use super::KernelCounts;
use baro_sys::tracefs::{TraceError, TraceEvent, TraceInstance};

/// A page of node blocks in `enum page_type` (fs/f2fs/f2fs.h), the same since there is f2fs.
const NODE_PAGES: &str = "type == 1";
/// Its name before and since folios.
const SUBMITS: [&str; 2] = ["f2fs/f2fs_submit_page_write", "f2fs/f2fs_submit_folio_write"];
const OWN_EVENTS: [&str; 5] = [
    "f2fs/f2fs_sync_file_enter",
    "f2fs/f2fs_sync_file_exit",
    "f2fs/f2fs_reserve_new_blocks",
    "f2fs/f2fs_do_write_data_page",
    "f2fs/f2fs_fallocate",
];

/// Enables the events: checkpoints of the file system (`device`), the rest of `own` threads.
pub(super) fn enable(trace: &mut TraceInstance, device: &str, own: &str) -> Result<(), TraceError> {
    trace.enable("f2fs/f2fs_write_checkpoint", Some(device))?;
    for event in OWN_EVENTS {
        trace.enable(event, Some(own))?;
    }
    let nodes = format!("{own} && {NODE_PAGES}");
    trace.enable(SUBMITS[0], Some(&nodes)).or_else(|_| trace.enable(SUBMITS[1], Some(&nodes)))
}

/// Counts an event.
pub(super) fn take(counts: &mut KernelCounts, event: &TraceEvent) {
    match event.event.as_str() {
        // It is told at three points of each.
        "f2fs_write_checkpoint" if event.text.ends_with("start block_ops") => counts.commits += 1,
        "f2fs_sync_file_enter" => counts.syncs += 1,
        "f2fs_sync_file_exit" if !event.text.contains("cp_reason: no needed,") => {
            counts.forced_commits += 1;
        }
        "f2fs_submit_page_write" | "f2fs_submit_folio_write" => {
            *counts.node_blocks.get_or_insert(0) += 1;
        }
        "f2fs_reserve_new_blocks" => counts.block_allocations += 1,
        "f2fs_do_write_data_page" if event.text.contains("OUT-OF-PLACE") => {
            counts.block_allocations += 1;
        }
        "f2fs_fallocate" => counts.size_changes += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_sys::tracefs::{TraceLine, parse_line};

    #[test]
    fn checkpoints_node_blocks_and_allocations_are_told_apart() {
        // Of Linux 6.1 and 6.12.
        let text = "\
baro-sync-143   [001] .....    38.274396: f2fs_sync_file_enter: dev = (254,0), ino = 19, pino = 5, i_mode = 0x81a4, i_size = 2097152, i_nlink = 1, i_blocks = 4096, i_advise = 0x0
baro-sync-143   [001] .....    38.305888: f2fs_submit_page_write: dev = (254,0), ino = 1, page_index = 0x14, oldaddr = 0x120e, newaddr = 0x1218, rw = WRITE(S), type = WARM_NODE
baro-sync-143   [001] .....    38.306679: f2fs_sync_file_exit: dev = (254,0), ino = 20, cp_reason: no needed, datasync = 1, ret = 0
baro-sync-143   [001] .....    39.274396: f2fs_sync_file_enter: dev = (254,0), ino = 19, pino = 5, i_mode = 0x81a4, i_size = 2097152, i_nlink = 1, i_blocks = 4096, i_advise = 0x0
f2fs_ckpt-254:0-94   [000] .....    39.274400: f2fs_write_checkpoint: dev = (254,0), checkpoint for Sync, state = start block_ops
f2fs_ckpt-254:0-94   [000] .....    39.274500: f2fs_write_checkpoint: dev = (254,0), checkpoint for Sync, state = finish block_ops
f2fs_ckpt-254:0-94   [000] .....    39.274600: f2fs_write_checkpoint: dev = (254,0), checkpoint for Sync, state = finish checkpoint
baro-sync-143   [001] .....    39.306679: f2fs_sync_file_exit: dev = (254,0), ino = 20, cp_reason: node needs cp, datasync = 1, ret = 0
baro-sync-143   [001] .....    40.000000: f2fs_do_write_data_page: dev = (254,0), ino = 12, IN-PLACE, FILE, index = 0, dirty = 0, uptodate = 1
baro-sync-143   [001] .....    40.000001: f2fs_do_write_data_page: dev = (254,0), ino = 12, OUT-OF-PLACE, FILE, index = 1, dirty = 0, uptodate = 1
";
        let mut counts = KernelCounts { node_blocks: Some(0), ..KernelCounts::default() };
        let mut events = 0;
        for line in text.lines() {
            let Some(TraceLine::Event(event)) = parse_line(line) else { panic!("{line}") };
            take(&mut counts, &event);
            events += 1;
        }
        assert_eq!(events, 10);
        assert_eq!((counts.syncs, counts.commits, counts.forced_commits), (2, 1, 1));
        assert_eq!((counts.node_blocks, counts.block_allocations), (Some(1), 1));
    }
}

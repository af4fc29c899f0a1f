//! What may be cut: direct I/O of regular files and block devices whose meaning does not depend on
//! being one call.
//!
//! Invariant: whatever the kernel would refuse as a whole is passed on whole, so that it answers itself;
//! so lengths that are not whole blocks are never cut, and pieces are whole blocks. Held by
//! `test alignment_is_that_of_whole_blocks` and `tests/families.rs`.

use crate::layout::{Counter, PIECE_BYTES_MIN};
use crate::share::Way;
use core::ffi::c_int;
use libc::iovec;

/// What the kernel moves in one call at most, before it is rounded down to pages.
const CALL_BYTES_MAX: usize = 0x7fff_ffff;
/// Every device takes multiples of it or more.
const SECTOR_BYTES: usize = 512;
const BLOCK_BYTES_MIN: usize = 4096;
/// The largest block of a device or file system in Linux.
const BLOCK_BYTES_MAX: usize = 65536;

/// Why a large call is left alone; nothing, if it is none or the kernel will refuse it.
pub(crate) type LeftAlone = Option<Counter>;

/// How a call is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) total_bytes: usize,
    pub(crate) piece_bytes: usize,
    pub(crate) is_block_device: bool,
}

/// The sum of the buffers; nothing if it does not fit what a call can return.
pub(crate) fn total_bytes(list: &[iovec]) -> Option<usize> {
    let sum = list.iter().try_fold(0usize, |sum, buffer| sum.checked_add(buffer.iov_len))?;
    (sum <= isize::MAX as usize).then_some(sum)
}

/// Judges a call by its descriptor, flags of the call and buffers. Makes two system calls, neither of
/// which blocks; leaves errno as it is if the descriptor is good.
pub(crate) fn plan(
    fd: c_int,
    way: Way,
    call_flags: c_int,
    list: &[iovec],
    piece_bytes: u64,
) -> Result<Plan, LeftAlone> {
    let piece_bytes = piece_bytes.max(PIECE_BYTES_MIN);
    let total = total_bytes(list).ok_or(None)?;
    if total as u64 <= piece_bytes {
        return Err(None);
    }
    // SAFETY: a structure of numbers, which the kernel fills.
    let mut state: libc::stat64 = unsafe { core::mem::zeroed() };
    // SAFETY: `state` is as large as the kernel fills it.
    if unsafe { libc::fstat64(fd, &raw mut state) } != 0 {
        return Err(None);
    }
    let is_block_device = match state.st_mode & libc::S_IFMT {
        libc::S_IFREG => false,
        libc::S_IFBLK => true,
        _ => return Err(Some(Counter::NotAFile)),
    };
    // SAFETY: asks for flags only.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 {
        return Err(None);
    }
    judge_flags(flags, call_flags, way)?;
    let block = block_bytes(state.st_blksize as usize);
    if !is_aligned(list, block) {
        return Err(Some(Counter::Unaligned));
    }
    let total_bytes = if total > CALL_BYTES_MAX { largest_call_bytes() } else { total };
    let piece_bytes = usize::try_from(piece_bytes).unwrap_or(usize::MAX) / block * block;
    if total_bytes <= piece_bytes {
        return Err(None);
    }
    Ok(Plan { total_bytes, piece_bytes, is_block_device })
}

fn judge_flags(flags: c_int, call_flags: c_int, way: Way) -> Result<(), LeftAlone> {
    let refused = match way {
        Way::Read => libc::O_WRONLY,
        Way::Write => libc::O_RDONLY,
    };
    if flags & libc::O_ACCMODE == refused {
        return Err(None);
    }
    if flags & libc::O_DIRECT == 0 {
        return Err(Some(Counter::Buffered));
    }
    if way == Way::Write && flags & libc::O_APPEND != 0 {
        return Err(Some(Counter::Append));
    }
    let syncs = call_flags & (libc::RWF_SYNC | libc::RWF_DSYNC) != 0;
    // O_DSYNC is a bit of O_SYNC. Neither means anything to a read.
    if syncs || way == Way::Write && flags & libc::O_DSYNC != 0 {
        return Err(Some(Counter::Sync));
    }
    if call_flags & !libc::RWF_HIPRI != 0 {
        return Err(Some(Counter::Flags));
    }
    Ok(())
}

/// The block that lengths and pieces are multiples of. What a file system prefers is never smaller
/// than what its device can address; a network's megabyte is more than any device needs.
fn block_bytes(preferred: usize) -> usize {
    if preferred.is_power_of_two() {
        preferred.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
    } else {
        BLOCK_BYTES_MAX
    }
}

/// True if the kernel judges every piece as it would judge the whole: buffers are whole blocks, and
/// all begin at the same place of a block in memory.
fn is_aligned(list: &[iovec], block: usize) -> bool {
    let mut used = list.iter().filter(|buffer| buffer.iov_len > 0);
    let Some(first) = used.clone().next() else { return false };
    let place = first.iov_base.addr() % BLOCK_BYTES_MIN;
    place.is_multiple_of(SECTOR_BYTES)
        && used.all(|buffer| {
            buffer.iov_len.is_multiple_of(block)
                && buffer.iov_base.addr() % BLOCK_BYTES_MIN == place
        })
}

/// Judges where a call begins: aligned, in range, and below the limit for files if it writes one.
pub(crate) fn judge_start(start: i64, way: Way, plan: &Plan) -> Result<(), LeftAlone> {
    if start < 0 {
        return Err(None);
    }
    if start % SECTOR_BYTES as i64 != 0 {
        return Err(Some(Counter::Unaligned));
    }
    let Some(end) = start.checked_add(plan.total_bytes as i64) else {
        return Err(Some(Counter::Other));
    };
    // A write that ends at the limit is a short one; a piece that begins there is a signal.
    if way == Way::Write && !plan.is_block_device && end as u64 > file_limit_bytes() {
        return Err(Some(Counter::Other));
    }
    Ok(())
}

fn file_limit_bytes() -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is as large as the kernel fills it.
    match unsafe { libc::getrlimit64(libc::RLIMIT_FSIZE, &raw mut limit) } {
        0 => limit.rlim_cur,
        _ => 0,
    }
}

fn largest_call_bytes() -> usize {
    // SAFETY: asks for a constant of the machine.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).unwrap_or(BLOCK_BYTES_MAX).max(BLOCK_BYTES_MIN);
    CALL_BYTES_MAX / page * page
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr::without_provenance_mut;

    fn list(buffers: &[(usize, usize)]) -> Vec<iovec> {
        let buffer = |&(at, len): &(usize, usize)| iovec {
            iov_base: without_provenance_mut(at),
            iov_len: len,
        };
        buffers.iter().map(buffer).collect()
    }

    #[test]
    fn alignment_is_that_of_whole_blocks() {
        let good: [&[(usize, usize)]; 4] = [
            &[(4096, 1 << 20)],
            &[(512, 1 << 20)],
            &[(4096, 8192), (1 << 20, 4096)],
            &[(1, 0), (512, 4096), (4096 + 512, 4096)],
        ];
        let bad: [&[(usize, usize)]; 6] = [
            &[(1, 1 << 20)],
            &[(4096, (1 << 20) + 512)],
            &[(4096, 4096), (512, 4096)],
            &[(4096, 4096), (8192, 100)],
            &[(8, 4096)],
            &[(4096, 0)],
        ];
        good.iter().for_each(|b| assert!(is_aligned(&list(b), 4096), "{b:?}"));
        bad.iter().for_each(|b| assert!(!is_aligned(&list(b), 4096), "{b:?}"));
        assert!(!is_aligned(&list(&[(4096, 20480)]), 16384));
    }

    #[test]
    fn blocks_are_those_that_devices_have() {
        let blocks = [512, 4096, 16384, 65536, 1 << 20, 3000].map(block_bytes);
        assert_eq!(blocks, [4096, 4096, 16384, 65536, 65536, 65536]);
    }

    #[test]
    fn flags_decide_with_their_reason() {
        use Way::{Read, Write};
        use libc::{O_APPEND, O_DIRECT, O_DSYNC, O_RDONLY, O_RDWR, O_SYNC, O_WRONLY};
        let direct = O_RDWR | O_DIRECT;
        let cases = [
            (direct, 0, Read, Ok(())),
            (direct, libc::RWF_HIPRI, Write, Ok(())),
            (direct | O_APPEND, 0, Read, Ok(())),
            (direct | O_SYNC, 0, Read, Ok(())),
            (O_WRONLY | O_DIRECT, 0, Read, Err(None)),
            (O_RDONLY | O_DIRECT, 0, Write, Err(None)),
            (O_RDWR, 0, Read, Err(Some(Counter::Buffered))),
            (direct | O_APPEND, 0, Write, Err(Some(Counter::Append))),
            (direct | O_SYNC, 0, Write, Err(Some(Counter::Sync))),
            (direct | O_DSYNC, 0, Write, Err(Some(Counter::Sync))),
            (direct, libc::RWF_DSYNC, Write, Err(Some(Counter::Sync))),
            (direct, libc::RWF_ATOMIC, Write, Err(Some(Counter::Flags))),
            (direct, libc::RWF_NOWAIT, Read, Err(Some(Counter::Flags))),
            (direct, 1 << 20, Read, Err(Some(Counter::Flags))),
        ];
        for (flags, call_flags, way, expected) in cases {
            assert_eq!(
                judge_flags(flags, call_flags, way),
                expected,
                "{flags:o} {call_flags} {way:?}"
            );
        }
    }

    #[test]
    fn sums_that_overflow_are_none() {
        assert_eq!(total_bytes(&list(&[(0, usize::MAX), (0, 1)])), None);
        assert_eq!(total_bytes(&list(&[(0, isize::MAX as usize), (0, 1)])), None);
        assert_eq!(total_bytes(&list(&[(0, 5), (0, 6)])), Some(11));
        let plan = Plan { total_bytes: 1 << 20, piece_bytes: 1 << 16, is_block_device: false };
        assert_eq!(judge_start(-4096, Way::Read, &plan), Err(None));
        assert_eq!(judge_start(100, Way::Read, &plan), Err(Some(Counter::Unaligned)));
        assert_eq!(judge_start(i64::MAX - 511, Way::Read, &plan), Err(Some(Counter::Other)));
    }
}

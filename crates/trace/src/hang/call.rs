//! Which system call a stack is in: by the function that the call begins with, by its registers, or as
//! a page fault or a worker that does another's call.
//!
//! Invariant: what is no call of a program has none. Held by `calls_are_told_from_stacks`.

use super::{Task, plain};
use crate::calls;

/// What a kernel's functions that begin a call have before its name.
const BEGINS: [&str; 13] = [
    "__x64_sys_",
    "__ia32_compat_sys_",
    "__ia32_sys_",
    "__arm64_sys_",
    "__arm64_compat_sys_",
    "__se_compat_sys_",
    "__se_sys_",
    "__do_compat_sys_",
    "__do_sys_",
    "SyS_",
    "SYSC_",
    "ksys_",
    "sys_",
];
/// Where a task enters that touched memory.
const FAULTS: &[&str] = &[
    "asm_exc_page_fault",
    "exc_page_fault",
    "do_user_addr_fault",
    "do_page_fault",
    "do_mem_abort",
    "page_fault",
    "__do_page_fault",
    "el0_da",
    "do_DataAbort",
    "async_page_fault",
];
const WORKERS_OF_IO_URING: &[&str] = &["io_wq_worker", "io_wqe_worker", "io_worker_handle_work"];
/// Functions that only one call has, where its own was made part of another.
const OF_ONE_CALL: &[(&str, &str)] = &[
    ("do_mkdirat", "mkdir"),
    ("do_unlinkat", "unlink"),
    ("do_rmdir", "rmdir"),
    ("do_renameat2", "rename"),
    ("do_sys_openat2", "open"),
    ("do_sys_open", "open"),
    ("do_fsync", "fsync"),
    ("vfs_statx", "stat"),
    ("do_faccessat", "access"),
    ("do_sys_ftruncate", "ftruncate"),
    ("vfs_write", "write"),
    ("vfs_read", "read"),
    ("do_writev", "writev"),
    ("do_readv", "readv"),
    ("do_linkat", "link"),
    ("do_symlinkat", "symlink"),
    ("vfs_fallocate", "fallocate"),
    ("iterate_supers", "sync"),
    ("do_execveat_common", "execve"),
    ("vfs_fsync_range", "fsync"),
];

/// The call; None: the stack has none, as that of a thread of the kernel.
pub(super) fn of(task: &Task) -> Option<String> {
    let names: Vec<&str> = task.functions().flatten().map(plain).collect();
    let outermost = names.iter().rev();
    for name in outermost.clone() {
        if let Some(call) = BEGINS.iter().find_map(|begin| name.strip_prefix(begin)) {
            // x86 has these two for calls of 32 and 64 bits under one name.
            let call =
                call.strip_prefix("new").filter(|call| call.starts_with("stat")).unwrap_or(call);
            return Some(call.to_owned());
        }
    }
    if let Some(call) = task.call_number.and_then(|number| calls::name(Some("x86_64"), number)) {
        return Some(call.to_owned());
    }
    let has = |list: &[&str]| names.iter().any(|name| list.contains(name));
    if has(WORKERS_OF_IO_URING) {
        return Some("io_uring".to_owned());
    }
    if has(FAULTS) {
        return Some("page fault".to_owned());
    }
    if has(&["kthread"]) {
        return None;
    }
    let only = |name: &&str| OF_ONE_CALL.iter().find(|(of, _)| of == name);
    outermost.clone().find_map(only).map(|(_, call)| (*call).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hang::Frame;

    #[test]
    fn calls_are_told_from_stacks() {
        let call = |stack: &str, call_number| {
            let frame = |name: &str| Frame { function: Some(name.to_owned()), is_sure: true };
            let frames = stack.split(" < ").map(frame).collect();
            of(&Task { frames, call_number, ..Task::default() })
        };
        let cases = [
            (
                "schedule < ext4_sync_file < do_fsync < __x64_sys_fsync < do_syscall_64",
                None,
                Some("fsync"),
            ),
            ("schedule < vfs_write < ksys_write < do_syscall_64", None, Some("write")),
            ("schedule < vfs_write < do_syscall_64", Some(18), Some("pwrite64")),
            ("schedule < do_mkdirat < __arm64_sys_mkdirat < el0_svc", None, Some("mkdirat")),
            ("__schedule < do_fsync < sys_fdatasync < ret_fast_syscall", None, Some("fdatasync")),
            (
                "schedule < filemap_fault < exc_page_fault < asm_exc_page_fault",
                None,
                Some("page fault"),
            ),
            ("schedule < io_write < io_wq_worker < ret_from_fork", None, Some("io_uring")),
            ("schedule < vfs_fsync_range < loop_process_work < kthread", None, None),
            ("schedule < kjournald2 < kthread", None, None),
        ];
        for (stack, number, expected) in cases {
            assert_eq!(call(stack, number).as_deref(), expected, "{stack}");
        }
    }
}

//! Names of system calls, and which of them concern storage.
//!
//! The tracer tells a call by its number, and numbers differ between machines: what a number means
//! follows from the `arch` that a trace says it was recorded on. Without it no name is given; nothing
//! is guessed. A 32-bit program on a 64-bit kernel counts by another table than its kernel, and
//! `raw_syscalls` does not tell it: its calls get names of the kernel's own table.
//!
//! Invariant: a name stands at the kernel's number for it. Held by
//! `calls_have_their_names_on_each_machine`.

mod aarch64;
mod arm;
mod x86_64;

/// Names of consecutive numbers, and the first of these; an empty name is a number without a call.
type Run = (u16, &'static [&'static str]);

/// From 424 on all machines have the same numbers (Linux 5.1, commit 39036cd27273 "arch: add
/// pidfd and io_uring syscalls everywhere"); up to Linux 6.17.
#[rustfmt::skip]
const COMMON: &[Run] = &[
    (424, &[
        "pidfd_send_signal", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_tree",
        "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pidfd_open", "clone3",
        "close_range", "openat2", "pidfd_getfd", "faccessat2", "process_madvise", "epoll_pwait2",
        "mount_setattr", "quotactl_fd", "landlock_create_ruleset", "landlock_add_rule",
        "landlock_restrict_self", "memfd_secret", "process_mrelease", "futex_waitv",
        "set_mempolicy_home_node", "cachestat", "fchmodat2", "map_shadow_stack", "futex_wake",
        "futex_wait", "futex_requeue", "statmount", "listmount", "lsm_get_self_attr",
        "lsm_set_self_attr", "lsm_list_modules", "mseal", "setxattrat", "getxattrat",
        "listxattrat", "removexattrat", "open_tree_attr", "file_getattr", "file_setattr",
    ]),
];

/// The name of a system call on a machine, as `std::env::consts::ARCH` calls it there: `x86_64`,
/// `aarch64`, `arm` (EABI). `None` for other machines, for numbers without a call, and if the
/// machine is not known.
#[must_use]
pub fn name(arch: Option<&str>, number: i64) -> Option<&'static str> {
    let own = match arch? {
        "x86_64" => x86_64::X86_64,
        "aarch64" => aarch64::AARCH64,
        "arm" => arm::ARM,
        _ => return None,
    };
    let number = u16::try_from(number).ok()?;
    own.iter().chain(COMMON).find_map(|(first, names)| {
        let name = names.get(usize::from(number.checked_sub(*first)?))?;
        (!name.is_empty()).then_some(*name)
    })
}

/// How a call moves bytes: then what it returns is how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// It reads.
    Reads,
    /// It writes.
    Writes,
}

/// Whether a call of this name returns a number of bytes that it read or wrote.
#[must_use]
pub fn moves(name: &str) -> Option<Moves> {
    match name {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "getdents" | "getdents64"
        | "recvfrom" | "recvmsg" | "recv" => Some(Moves::Reads),
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendfile" | "sendfile64"
        | "copy_file_range" | "splice" | "vmsplice" | "sendto" | "sendmsg" | "send" => {
            Some(Moves::Writes)
        }
        _ => None,
    }
}

/// Whether a call of this name can wait for storage by its nature: reads, writes, syncs, and what
/// changes files and folders. Of `read` and `write` only the file tells; they count.
#[must_use]
pub fn is_storage(name: &str) -> bool {
    STORAGE.contains(&name)
}

/// See [`is_storage`].
#[rustfmt::skip]
const STORAGE: &[&str] = &[
    "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "sendfile64", "splice",
    "copy_file_range",
    "read", "pread64", "readv", "preadv", "preadv2", "readahead", "getdents", "getdents64",
    "fsync", "fdatasync", "sync", "syncfs", "sync_file_range",
    "arm_sync_file_range", "msync", "fadvise64", "arm_fadvise64_64", "madvise",
    "open", "openat", "openat2", "creat", "open_by_handle_at", "close",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat", "symlink",
    "symlinkat", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat",
    "truncate", "truncate64", "ftruncate", "ftruncate64", "fallocate",
    "stat", "lstat", "fstat", "newfstatat", "statx", "stat64", "lstat64", "fstat64", "fstatat64",
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "chown32",
    "fchown32", "lchown32", "utime", "utimes", "futimesat", "utimensat", "utimensat_time64",
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "getxattr", "lgetxattr", "fgetxattr",
    "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat", "file_getattr", "file_setattr",
    "io_submit", "io_getevents", "io_pgetevents", "io_pgetevents_time64", "io_uring_enter",
    "access", "faccessat", "faccessat2", "execve", "execveat", "readlink", "readlinkat", "statfs",
    "fstatfs", "statfs64", "fstatfs64", "chdir", "fchdir", "ioctl", "flock", "fcntl", "fcntl64",
    "name_to_handle_at", "lseek", "_llseek", "mmap", "mmap2", "munmap", "mremap", "mlock", "mlock2",
    "inotify_add_watch", "open_tree", "move_mount", "fsconfig", "fsmount", "statmount",
    "mount", "umount2", "quotactl", "quotactl_fd", "swapon", "swapoff",
];

#[cfg(test)]
mod tests;

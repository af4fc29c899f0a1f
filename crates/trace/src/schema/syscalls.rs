//! Beginning and end of every system call.

use super::events;

events! {
    "raw_syscalls";
    /// A task enters the kernel.
    "sys_enter" => SysEnter, SysEnterSchema {
        /// The call's number on this architecture.
        number: i64 = "id",
        /// Its arguments, as the registers have them.
        args: [u64; 6] = "args",
    }
    /// A task leaves the kernel.
    "sys_exit" => SysExit, SysExitSchema {
        /// The call's number on this architecture.
        number: i64 = "id",
        /// What it returns; an error is its negative errno.
        ret: i64 = "ret",
    }
}

//! Waits until each processor has left what it was doing in the kernel.
//!
//! A program that is taken out of the kernel may still run on another processor, for as long as that
//! processor's hypervisor has stopped it. What it writes is not there before it is done.

use crate::clock;

/// `MEMBARRIER_CMD_GLOBAL` of include/uapi/linux/membarrier.h, since Linux 4.3: returns after what the
/// kernel calls a grace period (`synchronize_rcu`).
const GLOBAL: libc::c_int = 1;
/// Where the kernel refuses it (`nohz_full`): longer than processors are stopped as a rule.
const INSTEAD_NS: u64 = 50_000_000;

/// Waits some milliseconds: what any processor was doing within the kernel's tracepoints is done then.
pub fn wait() {
    // SAFETY: it has no pointers, and changes nothing of this process.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
    if answer != 0 {
        clock::sleep_ns(INSTEAD_NS);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_ends() {
        super::wait();
    }
}

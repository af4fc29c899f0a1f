//! A counter of the calling thread's system calls that needs no root, tracer or kernel option.
//!
//! Syscall user dispatch (Linux 5.11): the kernel looks at a byte in our memory before each call
//! of this thread; while it says BLOCK, the call is not made and the thread gets SIGSYS. The
//! handler sets the byte to ALLOW, counts, makes the call itself, puts the result where the
//! caller expects it and sets BLOCK again. The only call that must pass while the byte says
//! BLOCK is the handler's own return; its few instructions (`baro_sud_restorer`) are the range
//! that the kernel is told to let through. Arming is one store: no call, nothing to count.
//!
//! Calls that cannot be made inside a signal handler (a new stack, a changed signal mask) are
//! counted and then let pass with the counter off: the count is then a lower bound, and
//! [`SyscallCounter::is_exact`] says so.
//!
//! Invariant: a caught call has the same effect and result as one that was not caught. Held by
//! `calls_are_counted_and_return_what_they_should` and `calls_that_change_the_mask_still_work`.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed, compiler_fence};

// From linux/prctl.h; libc has no names for them on all targets.
const PR_SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
const PR_SYS_DISPATCH_OFF: libc::c_ulong = 0;
const PR_SYS_DISPATCH_ON: libc::c_ulong = 1;
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;
/// `si_code` of a SIGSYS sent by the dispatch; 1 would be seccomp's.
const SYS_USER_DISPATCH: libc::c_int = 2;
const SA_RESTORER: libc::c_ulong = 0x0400_0000;
/// Length of the `syscall` instruction, to make the caller repeat it.
const SYSCALL_BYTES: i64 = 2;

// The kernel compares the address after the `syscall` instruction with the range, so the range
// must reach past it: hence the ud2, which is never executed.
std::arch::global_asm!(
    ".pushsection .text.baro_sud_restorer,\"ax\",@progbits",
    ".globl baro_sud_restorer",
    ".hidden baro_sud_restorer",
    ".type baro_sud_restorer,@function",
    "baro_sud_restorer:",
    "mov eax, 15",
    "syscall",
    "ud2",
    ".globl baro_sud_restorer_end",
    ".hidden baro_sud_restorer_end",
    "baro_sud_restorer_end:",
    ".popsection",
);

unsafe extern "C" {
    fn baro_sud_restorer();
    fn baro_sud_restorer_end();
}

struct State {
    /// The byte that the kernel reads before each call.
    selector: AtomicU8,
    count: AtomicU64,
    exact: AtomicBool,
    in_use: Cell<bool>,
}

thread_local! {
    // Constant and without a destructor: reading it neither allocates nor registers anything,
    // so a signal handler may; its address is fixed for the thread's life.
    static STATE: State = const {
        State {
            selector: AtomicU8::new(ALLOW),
            count: AtomicU64::new(0),
            exact: AtomicBool::new(true),
            in_use: Cell::new(false),
        }
    };
}

/// Counts the system calls of the thread that made it, while armed.
///
/// It takes the process's SIGSYS handler at first use and keeps it (other uses of SIGSYS, such as
/// seccomp's trap, still end the process as they would without a handler).
#[derive(Debug)]
pub struct SyscallCounter {
    /// The kernel keeps the state per thread: the counter must not leave it.
    not_send: PhantomData<*const ()>,
}

impl SyscallCounter {
    /// Prepares the calling thread; counting begins with [`arm`](Self::arm). Unblocks SIGSYS in
    /// this thread, because a blocked one would end the process at the first caught call.
    ///
    /// # Errors
    /// `Unsupported` if the kernel has no syscall user dispatch (before 5.11);
    /// `AlreadyExists` if this thread has a counter or somebody else handles SIGSYS.
    pub fn new() -> io::Result<Self> {
        if STATE.with(|state| state.in_use.get()) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "this thread has a system call counter already: drop it first",
            ));
        }
        install_handler()?;
        unblock_sigsys()?;
        let start = baro_sud_restorer as *const () as usize;
        let end = baro_sud_restorer_end as *const () as usize;
        dispatch(PR_SYS_DISPATCH_ON, start, end - start)?;
        STATE.with(|state| state.in_use.set(true));
        Ok(Self { not_send: PhantomData })
    }

    /// Sets the count to zero and starts counting. Makes no system call.
    pub fn arm(&self) {
        STATE.with(|state| {
            state.count.store(0, Relaxed);
            state.exact.store(true, Relaxed);
            state.selector.store(BLOCK, Relaxed);
        });
        // The handler runs on this thread: keeping the compiler from moving work across the
        // store is enough.
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Stops counting and returns the number of calls since [`arm`](Self::arm); a lower bound if
    /// [`is_exact`](Self::is_exact) is false. Zero is always exact. Makes no system call.
    #[must_use]
    pub fn disarm(&self) -> u64 {
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        STATE.with(|state| {
            state.selector.store(ALLOW, Relaxed);
            state.count.load(Relaxed)
        })
    }

    /// Whether every call since [`arm`](Self::arm) was counted: false after a call that had to be
    /// let pass with the counter off (clone, fork, exec, exit, signal mask and signal stack).
    #[must_use]
    pub fn is_exact(&self) -> bool {
        STATE.with(|state| state.exact.load(Relaxed))
    }
}

impl Drop for SyscallCounter {
    fn drop(&mut self) {
        let _ = self.disarm();
        // Cannot fail once ON has succeeded; and with ALLOW in place nothing is caught anyway.
        let _ = dispatch(PR_SYS_DISPATCH_OFF, 0, 0);
        STATE.with(|state| state.in_use.set(false));
    }
}

fn dispatch(mode: libc::c_ulong, start: usize, length_bytes: usize) -> io::Result<()> {
    let selector: *const AtomicU8 = if mode == PR_SYS_DISPATCH_ON {
        STATE.with(|state| &raw const state.selector)
    } else {
        std::ptr::null()
    };
    // SAFETY: the kernel only reads the selector byte, which lives as long as this thread.
    let rc =
        unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, start, length_bytes, selector) };
    if rc == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EINVAL) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the kernel has no syscall user dispatch (Linux 5.11 or later has): use strace -c",
        ));
    }
    Err(error)
}

/// The kernel's own sigaction: libc's would put its restorer in place of ours.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelSigaction {
    handler: usize,
    flags: libc::c_ulong,
    restorer: usize,
    mask: u64,
}

fn kernel_sigaction(new: *const KernelSigaction, old: *mut KernelSigaction) -> io::Result<()> {
    // SAFETY: the callers pass valid or null pointers to structures in the kernel's layout; 8 is
    // the size of the kernel's signal set.
    let rc = unsafe {
        libc::syscall(libc::SYS_rt_sigaction, libc::c_long::from(libc::SIGSYS), new, old, 8_usize)
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn install_handler() -> io::Result<()> {
    let mut old = KernelSigaction { handler: 0, flags: 0, restorer: 0, mask: 0 };
    kernel_sigaction(std::ptr::null(), &raw mut old)?;
    let ours = on_sigsys as *const () as usize;
    if old.handler == ours {
        return Ok(());
    }
    if old.handler != libc::SIG_DFL {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "another handler of SIGSYS is installed: count in a process without it",
        ));
    }
    let new = KernelSigaction {
        handler: ours,
        flags: libc::c_ulong::from(libc::SA_SIGINFO.unsigned_abs()) | SA_RESTORER,
        restorer: baro_sud_restorer as *const () as usize,
        mask: 0,
    };
    kernel_sigaction(&raw const new, std::ptr::null_mut())
}

fn unblock_sigsys() -> io::Result<()> {
    // SAFETY: `set` is initialised by sigemptyset before it is used; the old mask is not asked for.
    let rc = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGSYS);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut())
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(rc)) }
}

/// Calls whose effect ends with, or depends on, the frame they are made in.
fn must_be_made_by_the_caller(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_rt_sigreturn
            | libc::SYS_rt_sigprocmask
            | libc::SYS_sigaltstack
            | libc::SYS_clone
            | libc::SYS_clone3
            | libc::SYS_fork
            | libc::SYS_vfork
            | libc::SYS_execve
            | libc::SYS_execveat
            | libc::SYS_exit
            | libc::SYS_exit_group
    )
}

extern "C" fn on_sigsys(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes valid pointers to a handler installed with SA_SIGINFO.
    let (code, registers) =
        unsafe { ((*info).si_code, &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs) };
    if code != SYS_USER_DISPATCH {
        die_as_without_a_handler();
        return;
    }
    STATE.with(|state| {
        state.selector.store(ALLOW, Relaxed);
        state.count.fetch_add(1, Relaxed);
        // The kernel rolled the registers back: RAX holds the number again, RIP is past the
        // instruction.
        let number = registers[libc::REG_RAX as usize];
        if must_be_made_by_the_caller(number) {
            state.exact.store(false, Relaxed);
            registers[libc::REG_RIP as usize] -= SYSCALL_BYTES;
            return;
        }
        let argument = |register: libc::c_int| registers[register as usize];
        let result: i64;
        // SAFETY: the very call that the interrupted code was making, with its own arguments;
        // its effects are those that the code asked for.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") number => result,
                in("rdi") argument(libc::REG_RDI),
                in("rsi") argument(libc::REG_RSI),
                in("rdx") argument(libc::REG_RDX),
                in("r10") argument(libc::REG_R10),
                in("r8") argument(libc::REG_R8),
                in("r9") argument(libc::REG_R9),
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        registers[libc::REG_RAX as usize] = result;
        state.selector.store(BLOCK, Relaxed);
    });
}

fn die_as_without_a_handler() {
    // SAFETY: signal() and raise() are async-signal-safe. SIGSYS is blocked while its handler
    // runs, so the default action follows the handler's return.
    unsafe {
        libc::signal(libc::SIGSYS, libc::SIG_DFL);
        libc::raise(libc::SIGSYS);
    }
}

//! Tests of the system call counter on the running kernel.

use super::SyscallCounter;
use crate::clock::monotonic_ns;
use std::io::ErrorKind;

/// A counter, or a line that says why there is none.
fn counter() -> Option<SyscallCounter> {
    match SyscallCounter::new() {
        Ok(counter) => Some(counter),
        Err(error) => {
            println!("skipped: no system call counter: {error}");
            None
        }
    }
}

#[test]
fn copying_and_reading_the_clock_makes_no_call() {
    let Some(counter) = counter() else { return };
    counter.arm();
    let _ = monotonic_ns();
    if counter.disarm() > 0 {
        println!("skipped: clock_gettime is a system call here (no vDSO clock)");
        return;
    }
    let source = vec![7_u8; 16 * 1024];
    let mut target = vec![0_u8; 16 * 1024];
    let mut last_ns = 0;
    counter.arm();
    for _ in 0..1_000 {
        target.copy_from_slice(&source);
        std::hint::black_box(&mut target);
        last_ns = monotonic_ns();
    }
    let calls = counter.disarm();
    assert_eq!(calls, 0);
    assert!(counter.is_exact());
    assert!(last_ns > 0);
    assert_eq!(target, source);
}

#[test]
fn calls_are_counted_and_return_what_they_should() {
    let Some(counter) = counter() else { return };
    // SAFETY: getppid has no preconditions.
    let expected = unsafe { libc::getppid() };
    let mut wrong = 0;
    counter.arm();
    for _ in 0..500 {
        // SAFETY: as above.
        if unsafe { libc::getppid() } != expected {
            wrong += 1;
        }
    }
    let calls = counter.disarm();
    assert_eq!(wrong, 0);
    assert_eq!(calls, 500);
    assert!(counter.is_exact());
    // Nothing is counted while disarmed, and arming starts from zero.
    // SAFETY: as above.
    assert_eq!(unsafe { libc::getppid() }, expected);
    counter.arm();
    assert_eq!(counter.disarm(), 0);
}

#[test]
fn errors_reach_the_caller() {
    let Some(counter) = counter() else { return };
    counter.arm();
    // SAFETY: closing a descriptor that cannot exist changes nothing.
    let rc = unsafe { libc::close(-1) };
    let error = std::io::Error::last_os_error();
    assert_eq!(counter.disarm(), 1);
    assert_eq!(rc, -1);
    assert_eq!(error.raw_os_error(), Some(libc::EBADF));
}

#[test]
fn calls_that_change_the_mask_still_work() {
    let Some(counter) = counter() else { return };
    // SAFETY: valid signal sets; SIGUSR1 is blocked in this thread only, and read back.
    let blocked = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        let mut now: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        counter.arm();
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        assert!(counter.disarm() >= 1);
        assert!(!counter.is_exact());
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now);
        libc::sigismember(&raw const now, libc::SIGUSR1)
    };
    assert_eq!(blocked, 1);
}

#[test]
fn threads_count_for_themselves() {
    let Some(counter) = counter() else { return };
    let again = SyscallCounter::new().map_err(|error| error.kind());
    assert_eq!(again.err(), Some(ErrorKind::AlreadyExists));
    let (to_other, from_main) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        let own = SyscallCounter::new().expect("a second thread can count too");
        let _ = from_main.recv();
        own.arm();
        for _ in 0..10 {
            // SAFETY: getppid has no preconditions.
            unsafe { libc::getppid() };
        }
        own.disarm()
    });
    counter.arm();
    std::hint::black_box(&counter);
    assert_eq!(counter.disarm(), 0);
    to_other.send(()).expect("the thread waits");
    assert_eq!(other.join().expect("the thread ends"), 10);
    drop(counter);
    assert!(SyscallCounter::new().is_ok());
}

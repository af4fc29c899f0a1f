//! A mapped file that somebody cuts off does not end the process.
//!
//! Pages behind the end of a file are taken out of every mapping of it; the next access to one is a
//! SIGBUS, whose default is death. Whoever may write a ring or a file of counters may also shorten it,
//! by `truncate` or a stray `>`, so whoever maps such a file has a handler: it lays private zeros over
//! the whole mapping, notes that the memory is lost, and the access goes on. Nothing is asked at an
//! access, so none costs more.
//!
//! The handler is put in place at the first such mapping of a process. It answers for its own mappings
//! only and hands every other SIGBUS on to the one that was there before. A program that installs its
//! own later, and does not hand on, is on its own again.
//! Invariant: a SIGBUS from a shortened file ends no process that maps it through here, and no other
//! SIGBUS is swallowed. Held by the tests below, with files that are really cut.

use super::map::page_bytes;
use crate::{Error, Result};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Mappings of one process: a recorder has at most 64 rings.
const PLACES: usize = 1024;

/// One mapping. All of it is atomics, because the handler may look at any moment.
#[derive(Debug)]
struct Place {
    /// Its address; 0 if the place is free.
    start: AtomicUsize,
    /// Behind its last byte; 0 until the rest is set.
    end: AtomicUsize,
    lost: AtomicBool,
    /// What to leave in the zeros: where, and which number. No number is none.
    mark_offset: AtomicUsize,
    mark: AtomicU64,
}

static TABLE: [Place; PLACES] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        lost: AtomicBool::new(false),
        mark_offset: AtomicUsize::new(0),
        mark: AtomicU64::new(0),
    }
}; PLACES];

/// What was to be done at a SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A mapping that is watched for as long as this lives. It must end before the mapping does.
#[derive(Debug)]
pub(crate) struct Guard {
    place: &'static Place,
}

impl Guard {
    /// Watches the mapping of `bytes` at `start`.
    ///
    /// # Errors
    /// No handler can be installed, or too many mappings are watched.
    pub(crate) fn new(start: *mut u8, bytes: usize) -> Result<Self> {
        install()?;
        let start = start as usize;
        let claim = |place: &&Place| {
            let (done, failed) = (Ordering::AcqRel, Ordering::Relaxed);
            place.start.compare_exchange(0, start, done, failed).is_ok()
        };
        let Some(place) = TABLE.iter().find(claim) else {
            let reason = std::io::Error::other(format!("expected at most {PLACES} of them"));
            return Err(Error::new("watch one more mapped file", "", reason));
        };
        place.lost.store(false, Ordering::Relaxed);
        place.mark.store(0, Ordering::Relaxed);
        place.end.store(start + bytes, Ordering::Release);
        Ok(Guard { place })
    }

    /// Leaves `mark` (not 0) at `offset` (a multiple of 8 inside the mapping) when the file is lost.
    pub(crate) fn mark(&self, offset: usize, mark: u64) {
        self.place.mark_offset.store(offset, Ordering::Relaxed);
        self.place.mark.store(mark, Ordering::Release);
    }

    /// Whether the file was cut off, and what is mapped are private zeros.
    pub(crate) fn lost(&self) -> bool {
        self.place.lost.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.place.end.store(0, Ordering::Release);
        self.place.start.store(0, Ordering::Release);
    }
}

impl Place {
    fn covers(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        (self.start.load(Ordering::Relaxed)..end).contains(&address)
    }

    /// Lays zeros over the mapping, or, where the kernel refuses so many, over the page.
    fn replace(&self, address: usize) -> bool {
        let (start, end) = (self.start.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        self.lost.store(true, Ordering::Release);
        let page = page_bytes();
        let mut laid = (start, end);
        if !zeros(start, end - start) {
            laid = (address / page * page, address / page * page + page);
            if !zeros(laid.0, page) {
                return false;
            }
        }
        let mark = self.mark.load(Ordering::Acquire);
        let there = start + self.mark_offset.load(Ordering::Relaxed);
        if mark != 0 && laid.0 <= there && there + 8 <= laid.1 {
            // SAFETY: aligned, as who set the mark has promised, and inside the zeros just laid.
            unsafe { AtomicU64::from_ptr(there as *mut u64) }.store(mark, Ordering::Release);
        }
        true
    }
}

/// Puts private zeros in place of what is mapped there.
fn zeros(start: usize, bytes: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let place = start as *mut libc::c_void;
    // SAFETY: the range is a mapping that its guard's owner keeps, or a page of it; nobody holds a
    // reference to its bytes, and what was there cannot be read any more.
    unsafe { libc::mmap(place, bytes, protection, flags, -1, 0) != libc::MAP_FAILED }
}

/// Puts the handler in place, once in each process.
fn install() -> Result<()> {
    static DONE: OnceLock<std::result::Result<(), i32>> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        let errno = || std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        // SAFETY: all-zero bytes are a valid sigaction.
        let (mut before, mut ours): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        // SAFETY: a writable sigaction.
        if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) } != 0 {
            return Err(errno());
        }
        // Before ours is there: it may be needed at once.
        let _ = BEFORE.set(before);
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        ours.sa_sigaction = handler as usize;
        // On the stack for signals, where a thread has one: some programs have little room else.
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: a valid sigaction, whose handler calls only what is allowed in one.
        match unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    });
    done.map_err(|errno| Error::new("handle SIGBUS", "", std::io::Error::from_raw_os_error(errno)))
}

/// Of these kinds is a fault at a page that cannot be had: no page, a failing object, broken memory.
const NO_PAGE: [libc::c_int; 3] = [libc::BUS_ADRERR, libc::BUS_OBJERR, libc::BUS_MCEERR_AR];

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: this thread's own place for the error number, kept as what was interrupted has it.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel hands over a valid structure; of a fault it has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let ours = || TABLE.iter().find(|place| place.covers(address));
    let mended = NO_PAGE.contains(&code) && ours().is_some_and(|place| place.replace(address));
    if !mended {
        hand_on(signal, code, info, context);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// What would have been done without this handler.
fn hand_on(
    signal: libc::c_int,
    code: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let before = BEFORE.get();
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    let sent = code <= 0;
    match handler {
        libc::SIG_IGN if sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: all-zero bytes are a valid sigaction: the default, which is the end. A fault
            // comes again when this returns; what was sent has to be sent again.
            unsafe {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
                if sent {
                    libc::raise(signal);
                }
            }
        }
        _ if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) => {
            // SAFETY: the program installed it as a handler of this kind.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        _ => {
            // SAFETY: as above.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fork::exit_code_of;
    use crate::memory::SharedMemory;
    use crate::state::StateFolder;
    use std::path::PathBuf;
    use std::sync::atomic::Ordering;

    const BYTES: usize = 64 << 10;

    /// A folder on a tmpfs, removed on drop.
    struct Here(PathBuf);

    impl Here {
        fn new(name: &str) -> Option<(Self, StateFolder)> {
            let path = PathBuf::from(format!("/dev/shm/baro-guard-{name}-{}", std::process::id()));
            if !std::path::Path::new("/dev/shm").is_dir() {
                println!("skipped: no /dev/shm");
                return None;
            }
            let folder = StateFolder::make(&path, 0o700).unwrap();
            Some((Here(path), folder))
        }

        fn cut(&self, name: &str, bytes: u64) {
            let file = std::fs::OpenOptions::new().write(true).open(self.0.join(name)).unwrap();
            file.set_len(bytes).unwrap();
        }
    }

    impl Drop for Here {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_zeros_with_a_mark_and_said_to_be_lost() {
        let Some((here, folder)) = Here::new("cut") else { return };
        for left in [0, 4096, 8192, BYTES as u64 - 4096] {
            let memory = SharedMemory::create_in(&folder, "one", BYTES, 0o600).unwrap();
            let other = SharedMemory::create_in(&folder, "other", BYTES, 0o600).unwrap();
            memory.mark_when_lost(64, 7);
            memory.write(100, b"here");
            other.write(100, b"there");
            assert!(!memory.lost());
            here.cut("one", left);
            // A copy that goes over the end, as a push does.
            memory.write(BYTES - 6000, &[5; 6000]);
            let mut read = [1; 4];
            memory.read(100, &mut read);
            assert!(memory.lost() && !other.lost());
            assert_eq!((read, memory.counter(64).load(Ordering::Acquire)), ([0; 4], 7));
            let mut read = [0; 5];
            other.read(100, &mut read);
            assert_eq!(&read, b"there");
            folder.remove("one").unwrap();
            folder.remove("other").unwrap();
        }
    }

    /// In a child, since what is tried ends a process.
    #[test]
    fn what_is_not_ours_is_handed_on() {
        let Some((here, folder)) = Here::new("on") else { return };
        let memory = SharedMemory::create_in(&folder, "one", BYTES, 0o600).unwrap();
        let sent = exit_code_of(|| {
            // Twice: the handler that a Rust program starts with takes the first for a fault, and
            // only makes the next one the end.
            // SAFETY: sends this process a signal.
            u8::from(unsafe { libc::raise(libc::SIGBUS) + libc::raise(libc::SIGBUS) } != 0)
        });
        assert!(sent.unwrap_err().to_string().contains("signal 7"));
        // A mapping of the program's own, of the same file.
        let file =
            std::fs::OpenOptions::new().read(true).write(true).open(here.0.join("one")).unwrap();
        let own = super::super::map::Map::new(BYTES, Some(std::os::fd::AsRawFd::as_raw_fd(&file)))
            .unwrap();
        here.cut("one", 0);
        let own = exit_code_of(|| {
            // SAFETY: inside the mapping; that it has no page is what is tried.
            unsafe { own.start().read_volatile() }
        });
        assert!(own.unwrap_err().to_string().contains("signal 7"));
        let ours = exit_code_of(|| u8::from(memory.counter(0).load(Ordering::Acquire) != 0));
        assert_eq!(ours.unwrap(), 0);
    }
}

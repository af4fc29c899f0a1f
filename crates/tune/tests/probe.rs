//! The probe on ext4 of a loop device: that it counts handles of writes and none of reads, how it
//! tells other file systems, and that it leaves nothing.

#![allow(clippy::disallowed_methods, reason = "tests make the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_sys::tracefs::TraceError;
use baro_tune::{HandleCount, ProbeError, probe};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A process has one trace instance for this at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Not the 2,000 of the command line: enough for a hundred ticks of a kernel with 250 a second.
const CALLS: u64 = 400;

/// An ext4 in a file, mounted; unmounted and removed when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(name: &str, options: &str) -> Option<Mounted> {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tune-probe-{name}"));
        if !baro_sys::schedule::is_root() {
            println!("skipped: mounts and tracing need root");
            return None;
        }
        let mounted = Mounted(dir);
        drop(Command::new("umount").arg(mounted.at()).output());
        let _ = fs::remove_dir_all(&mounted.0);
        fs::create_dir_all(mounted.at()).unwrap();
        let image = mounted.0.join("image");
        fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).unwrap();
        let mkfs = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
        let options = format!("loop,{options}");
        let mount =
            Command::new("mount").args(["-o", &options]).arg(&image).arg(mounted.at()).output();
        for result in [mkfs, mount] {
            match result {
                Ok(output) if output.status.success() => {}
                other => {
                    println!("skipped: no ext4 on a loop device: {other:?}");
                    return None;
                }
            }
        }
        Some(mounted)
    }

    fn at(&self) -> PathBuf {
        self.0.join("mnt")
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(self.at()).unwrap().all(|entry| entry.unwrap().file_name() == "lost+found")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // It detaches the loop device too, as mount made it.
        let _ = Command::new("umount").arg(self.at()).output();
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Counts; a line that says why not.
fn counted(dir: &Path) -> Option<HandleCount> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    match probe(dir, CALLS, &|| false) {
        Ok(count) => {
            assert_eq!((count.calls, count.lost_events), (CALLS, 0));
            Some(count)
        }
        Err(ProbeError::Trace(error @ TraceError::NotMounted)) => {
            println!("skipped: no trace instance: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn handles_of_writes_are_counted_and_reads_have_none() {
    let Some(lazy) = Mounted::new("lazy", "noatime,lazytime") else { return };
    let Some(count) = counted(&lazy.at()) else { return };
    // That depends on the kernel: where it keeps its word there are none, and then the control is
    // what shows below that the count would have seen them.
    println!("with lazytime {count:?}");
    assert_eq!(count.of_reads, 0);
    assert!(lazy.is_empty());
    drop(lazy);

    let Some(plain) = Mounted::new("plain", "noatime,nodelalloc") else { return };
    let Some(count) = counted(&plain.at()) else { return };
    // Without delayed allocation each write() has a handle of its own.
    assert!(count.of_writes >= CALLS && !count.stays_out(), "{count:?}");
    assert_eq!(count.of_reads, 0);
    assert!(plain.is_empty());
    drop(plain);

    // And the control can fail: with strictatime reads change the file's times.
    let Some(strict) = Mounted::new("strict", "strictatime") else { return };
    let Some(count) = counted(&strict.at()) else { return };
    assert!(count.of_reads > 0 && count.of_writes > 0, "{count:?}");
}

#[test]
fn on_current_kernels_lazytime_keeps_no_write_out_of_the_journal() {
    let release = baro_sys::identity::kernel_release();
    let mut numbers = release.split('.').map_while(|word| word.parse::<u32>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < (6, 6) {
        println!("skipped: on Linux {release} lazytime is said to keep it out");
        return;
    }
    let Some(lazy) = Mounted::new("finding", "noatime,lazytime") else { return };
    let Some(count) = counted(&lazy.at()) else { return };
    assert!(count.of_writes > 0 && !count.stays_out(), "{count:?}");
    assert_eq!(count.of_reads, 0);
}

#[test]
fn a_probe_that_is_told_to_stop_leaves_nothing() {
    let Some(place) = Mounted::new("stop", "noatime") else { return };
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for asked_max in [0, 1, 200, CALLS, CALLS + 1] {
        let asked = Cell::new(0_u64);
        let stop = || {
            asked.set(asked.get() + 1);
            assert!(place.is_empty(), "the file has a name");
            asked.get() > asked_max
        };
        match probe(&place.at(), CALLS, &stop) {
            Err(ProbeError::Stopped) => assert_eq!(asked.get(), asked_max + 1),
            Err(ProbeError::Trace(error @ TraceError::NotMounted)) => {
                println!("skipped: no trace instance: {error}");
                return;
            }
            other => panic!("{other:?}"),
        }
        assert!(place.is_empty());
    }
}

#[test]
fn only_ext4_is_counted_and_few_handles_are_none() {
    let error = probe(Path::new("/proc"), CALLS, &|| false).unwrap_err();
    assert!(matches!(error, ProbeError::FileSystem { .. }), "{error}");
    assert!(error.to_string().contains("/proc: expected ext4"), "{error}");
    let missing = probe(Path::new("/no such folder"), CALLS, &|| false).unwrap_err();
    assert!(missing.to_string().contains("/no such folder"), "{missing}");
    let of =
        |of_writes, lost_events| HandleCount { calls: 2000, of_writes, lost_events, of_reads: 0 };
    assert!(of(10, 0).stays_out() && !of(11, 0).stays_out() && !of(0, 1).stays_out());
}

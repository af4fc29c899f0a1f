//! The control of the count of forced commits, on a real ext4 with a journal and on a real f2fs:
//! were the recorder to append, the watch would see it; and of overwriting it says that it forces
//! none.
#![allow(clippy::disallowed_methods, reason = "this test makes a file system of its own")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_bench::push::{KernelCounts, KernelWatch};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

/// A small file system on a loop device, unmounted and removed on drop.
struct Mounted(PathBuf);

impl Mounted {
    fn new(kind: &str) -> Result<Self, String> {
        let dir = std::env::temp_dir().join(format!("baro-watch-{kind}-{}", std::process::id()));
        let (image, mount) = (dir.join("image"), dir.join("mount"));
        std::fs::create_dir_all(&mount).map_err(|e| e.to_string())?;
        let mounted = Mounted(dir);
        let file = File::create(&image).map_err(|e| e.to_string())?;
        file.set_len(64 << 20).map_err(|e| e.to_string())?;
        // No commit but those that somebody asks for.
        let (force, options) =
            if kind == "f2fs" { ("-f", "loop") } else { ("-F", "loop,commit=600") };
        run(&format!("mkfs.{kind}"), &["-q".as_ref(), force.as_ref(), &image])?;
        let to = ["-t", kind, "-o", options].map(Path::new);
        run("mount", &[&to[..], &[&image, &mount]].concat())?;
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run("umount", &[&self.0.join("mount")]);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(program: &str, arguments: &[&Path]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| format!("{program}: {}", said.trim()))
}

/// What the watch sees of a thread that writes at `offset(n)` and syncs, ten times.
fn watched(path: &Path, offset: impl Fn(u64) -> u64 + Send + 'static) -> Option<KernelCounts> {
    let file = File::create(path).unwrap();
    file.write_all_at(&[1; 4096], 0).unwrap();
    file.sync_all().unwrap();
    let (go, started) = channel();
    let (up, named) = channel();
    let body = move || {
        up.send(()).unwrap();
        let () = started.recv().unwrap();
        for n in 1..=10 {
            file.write_all_at(&[2; 4096], offset(n)).unwrap();
            file.sync_data().unwrap();
        }
    };
    let thread = std::thread::Builder::new().name("baro-control".to_owned()).spawn(body);
    // A thread takes its name itself, after it has started.
    named.recv().unwrap();
    let watch = KernelWatch::start(path);
    go.send(()).unwrap();
    thread.unwrap().join().unwrap();
    match watch {
        Ok(watch) => Some(watch.finish()),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

#[test]
fn appending_forces_commits_and_overwriting_does_not() {
    let mounted = match Mounted::new("ext4") {
        Ok(mounted) => mounted,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let path = mounted.0.join("mount/file");
    let Some(appended) = watched(&path, |n| n * 4096) else { return };
    assert_eq!((appended.syncs, appended.commits, appended.forced_commits), (10, 10, 10));
    assert!(appended.block_allocations > 0, "{appended:?}");
    let overwritten = watched(&path, |_| 0).unwrap();
    assert_eq!((overwritten.syncs, overwritten.forced_commits), (10, 0), "{overwritten:?}");
    assert_eq!(overwritten.block_allocations, 0);
}

#[test]
fn an_f2fs_is_counted_too() {
    let mounted = match Mounted::new("f2fs") {
        Ok(mounted) => mounted,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let path = mounted.0.join("mount/file");
    // A file of two names is not rolled forward: each sync that finds metadata is a checkpoint.
    File::create(&path).unwrap();
    std::fs::hard_link(&path, mounted.0.join("mount/second")).unwrap();
    let Some(appended) = watched(&path, |n| n * 4096) else { return };
    assert_eq!((appended.syncs, appended.forced_commits), (10, 10), "{appended:?}");
    assert!(appended.commits >= 10 && appended.block_allocations >= 10, "{appended:?}");
    let path = mounted.0.join("mount/one");
    let appended = watched(&path, |n| n * 4096).unwrap();
    assert_eq!((appended.syncs, appended.forced_commits), (10, 0), "{appended:?}");
    assert!(appended.node_blocks >= Some(10), "{appended:?}");
    let overwritten = watched(&path, |_| 0).unwrap();
    assert_eq!((overwritten.syncs, overwritten.forced_commits), (10, 0), "{overwritten:?}");
    assert_eq!(overwritten.block_allocations, 0, "{overwritten:?}");
    assert!(overwritten.node_blocks <= Some(2), "{overwritten:?}");
}

//! `baro explain --prove` from outside: what it measures, and that the machine is as before, also after a kill.
//!
//! The load writes past the page cache to a loop device of the test's own, which a limit of the root's control
//! group (version 1) holds back; the advice is to lift it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod loop_device;
mod place;

use loop_device::LoopDevice;
use place::Folder;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

const O_DIRECT: i32 = 0o40000;
const LIMITS: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";
const WRITE_BYTES: usize = 64 << 10;
/// Bytes a second: each write waits half a second.
const LIMIT: u64 = 128 << 10;

/// A limit of the root's group for a device, gone when dropped.
struct Limit(String);

impl Limit {
    fn new(device: &str, bytes_per_s: u64) -> Option<Self> {
        fs::write(LIMITS, format!("{device} {bytes_per_s}")).ok()?;
        Some(Self(device.to_owned()))
    }

    fn is_set(&self) -> bool {
        fs::read_to_string(LIMITS)
            .unwrap()
            .lines()
            .any(|line| line.starts_with(&format!("{} ", self.0)))
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let _ = fs::write(LIMITS, format!("{} 0", self.0));
    }
}

/// Writes again and again until it is dropped.
struct Load(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Load {
    fn start(path: &Path) -> Self {
        let file = fs::OpenOptions::new().write(true).custom_flags(O_DIRECT).open(path).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = ends.clone();
        let write = move || {
            let memory = vec![7_u8; WRITE_BYTES + 4_096];
            let from = memory.as_ptr().align_offset(4_096);
            while !is_over.load(Ordering::Relaxed) {
                file.write_all_at(&memory[from..from + WRITE_BYTES], 0).unwrap();
            }
        };
        let thread = std::thread::Builder::new().name("slow-load".to_owned()).spawn(write).unwrap();
        Self(ends, Some(thread))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.take().map(JoinHandle::join);
    }
}

/// One load at a time: what is compared are calls of one name in this process.
static ONE: Mutex<()> = Mutex::new(());

struct Stand {
    // In this order: the load ends while its disk is there, and the folder goes when nothing is mounted in it.
    load: Option<Load>,
    limit: Limit,
    _device: LoopDevice,
    folder: Folder,
    _one: MutexGuard<'static, ()>,
}

impl Stand {
    fn new(name: &str) -> Option<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        // What other tests do to a disk below the device must not be the longer wait.
        let folder = Folder::in_memory(name, 256 << 20);
        let device = match LoopDevice::mounted(&folder.0, "noatime") {
            Ok(device) => device,
            Err(reason) => {
                println!("skipped: {reason}");
                return None;
            }
        };
        let file = PathBuf::from(device.mount_dir()).join("file");
        fs::write(&file, vec![1; WRITE_BYTES]).unwrap();
        let number = fs::read_to_string(format!("{}/../dev", device.file(""))).unwrap();
        let Some(limit) = Limit::new(number.trim(), LIMIT) else {
            println!("skipped: no limits of I/O of version 1 here: {LIMITS}");
            return None;
        };
        let stand =
            Self { load: Some(Load::start(&file)), folder, limit, _device: device, _one: one };
        let trace = stand
            .baro(&["trace", "--system", "--for", "1s", "--out"])
            .arg(stand.trace())
            .output()
            .unwrap();
        if !trace.status.success() {
            println!("skipped: {}", String::from_utf8_lossy(&trace.stderr));
            return None;
        }
        Some(stand)
    }

    fn trace(&self) -> String {
        self.folder.path("slow.trace")
    }

    fn baro(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
        command.args(arguments);
        command
    }

    fn prove(&self, for_: &str) -> Command {
        let mut command = self.baro(&["explain", "--prove", "--format", "json", "--for", for_]);
        command.arg("--pid").arg(std::process::id().to_string());
        command.arg("--state-dir").arg(self.folder.path("state")).arg(self.trace());
        command
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        // Else it waits for its limit.
        let _ = fs::write(LIMITS, format!("{} 0", self.limit.0));
        self.load.take();
    }
}

#[test]
fn advice_is_measured_and_the_setting_put_back() {
    let Some(stand) = Stand::new("prove") else { return };
    // Who is not asked agrees to nothing.
    let done = stand.prove("1s").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(1) && said.contains("nothing was changed"), "{said}");
    assert!(stand.limit.is_set());
    let done = stand.prove("1s").arg("--yes").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    // Whether it helped is for the figures to say: other tests may have the disk meanwhile.
    assert!(matches!(done.status.code(), Some(0 | 3)), "{said}");
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["call"], &told["comm"]), (&"pwrite64".into(), &"slow-load".into()));
    assert_eq!(told["command"], format!("echo \"{} 0\" > {LIMITS}", stand.limit.0));
    assert!(told["before"]["calls"].as_u64().unwrap() > 0, "{told}");
    let longest = |of: &str| told[of]["longest_ns"].as_u64().unwrap();
    let whole = ["before", "with"].iter().all(|of| told[of]["whole"] == true);
    let halves = whole.then(|| longest("with") <= longest("before") / 2);
    assert_eq!((&told["halves_the_longest"], &told["clean"]), (&halves.into(), &true.into()));
    assert_eq!(done.status.code() == Some(0), halves == Some(true), "{told}");
    assert_eq!(told["undone"].as_array().unwrap().len(), 1);
    assert!(stand.limit.is_set());
}

#[test]
fn a_kill_in_the_midst_leaves_what_undo_puts_back() {
    let Some(stand) = Stand::new("prove-kill") else { return };
    let start = |for_: &str| {
        let mut command = stand.prove(for_);
        command.arg("--yes").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    };
    let until = |child: &mut Child, words: &str| {
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut lines = String::new();
        while !lines.contains(words) {
            assert!(said.read_line(&mut lines).unwrap() > 0, "{words}: {lines}");
        }
        // What it says at its end finds a reader.
        std::thread::spawn(move || said.lines().for_each(drop));
    };
    let mut child = start("30s");
    // SIGINT ends the first recording, and with it all: nothing was set.
    until(&mut child, "Ctrl-C ends");
    baro_sys::termination::send(child.id(), 2).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(stand.limit.is_set());
    // Killed while it is set.
    let mut child = start("1s");
    until(&mut child, "write_bps_device: ");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!stand.limit.is_set());
    let undone =
        stand.baro(&["tune", "undo", "--state-dir", &stand.folder.path("state")]).output().unwrap();
    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert!(stand.limit.is_set());
}

#[test]
fn what_is_no_setting_of_this_machine_is_not_tried() {
    let folder = Folder::new("prove-other");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trace/6.18.trace");
    let done = Command::new(env!("CARGO_BIN_EXE_baro"))
        .args([
            "explain",
            "--prove",
            "--yes",
            "--over",
            "50us",
            "--state-dir",
            &folder.path("state"),
        ])
        .arg(trace)
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("only a setting of the machine can be tried")
            || said.contains("of another machine"),
        "{said}"
    );
    assert!(!Path::new(&folder.path("state")).exists());
}

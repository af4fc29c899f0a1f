//! What the tests stand on: an ext4 of their own on a loop device, probes, and what these told.

use baro_probes::{PROBES_CPU, ProbeError, ProbeOptions, ProbeSummary, Probes};
use baro_sys::schedule;
use baro_trace::file::{Item, Preamble, TraceFile, TraceWriter};
use baro_trace::record::Device;
use baro_trace::schema::{KernelEvent, Schemas};
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// Probes see the whole machine, and a test must not take another's work for its own.
static ALONE: Mutex<()> = Mutex::new(());

/// A file system that is unmounted and removed with this.
pub(crate) struct Ext4 {
    folder: PathBuf,
    pub(crate) mount: PathBuf,
    pub(crate) image: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Ext4 {
    /// None, and a line that says why, where it is not to be had.
    pub(crate) fn new(name: &str) -> Option<Ext4> {
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !schedule::is_root() {
            println!("skipped: mounting needs root");
            return None;
        }
        let folder =
            std::env::temp_dir().join(format!("baro-probes-{name}-{}", std::process::id()));
        let (mount, image) = (folder.join("mount"), folder.join("image"));
        fs::create_dir_all(&mount).unwrap();
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let stand = Ext4 { folder, mount, image, _alone: alone };
        // Nothing is to be done to it in the background while handles are counted.
        let options = "lazy_itable_init=0,lazy_journal_init=0";
        let make = ["-q", "-F", "-b", "4096", "-J", "size=8", "-N", "40000", "-E", options];
        let made = run(Command::new("mkfs.ext4").args(make).arg(&stand.image)).and_then(|_| {
            run(Command::new("mount")
                .args(["-o", "loop,noatime"])
                .args([&stand.image, &stand.mount]))
        });
        match made {
            Ok(_) => Some(stand),
            Err(why) => {
                println!("skipped: no ext4 on a loop device: {why}");
                None
            }
        }
    }

    pub(crate) fn device(&self) -> Device {
        let number = fs::metadata(&self.mount).unwrap().dev();
        let major = (number >> 8 & 0xfff) as u32;
        let minor = (number & 0xff | number >> 12 & 0xf_ff00) as u32;
        Device::new(major, minor)
    }

    pub(crate) fn sync(&self) {
        fs::File::open(&self.mount).unwrap();
        run(Command::new("sync").arg("-f").arg(&self.mount)).unwrap();
    }

    /// A number that `dumpe2fs -h` says.
    pub(crate) fn told(&self, key: &str) -> u64 {
        let text = run(Command::new("dumpe2fs").arg("-h").arg(&self.image)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_start_matches(':').trim().parse().unwrap()
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg(&self.mount));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What it printed, or why it failed.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// None, and a line that says why, where the kernel has not what they need.
pub(crate) fn probes(options: &ProbeOptions) -> Option<Probes> {
    match Probes::start(options) {
        Ok(probes) => Some(probes),
        Err(
            error @ (ProbeError::Kernel { .. }
            | ProbeError::Types { .. }
            | ProbeError::Rights { .. }),
        ) => {
            println!("skipped: no probes: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What was told, by the way that every reader goes: through a file of a trace.
pub(crate) struct Told {
    pub(crate) events: Vec<(u64, i32, KernelEvent)>,
    pub(crate) lost: u64,
    pub(crate) summary: ProbeSummary,
}

pub(crate) fn finish(probes: Probes) -> Told {
    let preamble = Preamble {
        header_page: baro_probes::header_page().into(),
        header_event: baro_probes::header_event().into(),
        formats: baro_probes::formats(),
        ..Preamble::default()
    };
    let mut writer = TraceWriter::new(Vec::new(), &preamble).unwrap();
    let summary = probes.finish(&mut |page| writer.page(PROBES_CPU, page)).unwrap();
    let bytes = writer.finish(&[summary.losses]).unwrap();
    let (events, lost) = decode(bytes);
    Told { events, lost, summary }
}

/// Time, task and values of all events; and how many the pages say were lost.
pub(crate) fn decode(bytes: Vec<u8>) -> (Vec<(u64, i32, KernelEvent)>, u64) {
    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    let set = trace.events().clone();
    let schemas = Schemas::resolve(&set).unwrap();
    let (mut events, mut lost) = (Vec::new(), 0);
    let mut merged = trace.merge().unwrap();
    let mut last_ns = 0;
    while let Some(item) = merged.next().unwrap() {
        match item {
            Item::Event { time_ns, id, payload, .. } => {
                assert!(time_ns >= last_ns);
                last_ns = time_ns;
                let event = schemas.decode(id, payload).unwrap().expect("has a schema");
                events.push((time_ns, set.pid(payload).unwrap(), event));
            }
            Item::Lost { events, .. } => lost += events.unwrap_or(1),
            Item::Damaged { error, .. } => panic!("{error}"),
        }
    }
    (events, lost)
}

/// The kernel's number of this thread.
pub(crate) fn own_task() -> i32 {
    let link = fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// The function that an address of the kernel is in.
pub(crate) struct Symbols(Vec<(u64, String)>);

impl Symbols {
    pub(crate) fn read() -> Symbols {
        let text = fs::read_to_string(Path::new("/proc/kallsyms")).unwrap();
        let symbol = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.nth(1)?.to_owned()))
        };
        let mut symbols: Vec<_> = text.lines().filter_map(symbol).collect();
        symbols.sort();
        Symbols(symbols)
    }

    pub(crate) fn name(&self, address: u64) -> &str {
        let after = self.0.partition_point(|(begin, _)| *begin <= address);
        after.checked_sub(1).map_or("?", |index| &self.0[index].1)
    }
}

/// Far below what any write would need else.
const BYTES_PER_SECOND: u64 = 8 << 20;

/// A group of one thread whose writes to a device are slow; the thread goes back when this goes.
pub(crate) struct Throttle {
    folder: PathBuf,
    task: String,
}

impl Throttle {
    /// None, and a line that says why, where there is no such group.
    pub(crate) fn new(stand: &Ext4) -> Option<Throttle> {
        let root = PathBuf::from("/sys/fs/cgroup/blkio");
        let folder = root.join(format!("baro-probes-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&folder) {
            println!("skipped: no blkio group (cgroup v1): {error}");
            return None;
        }
        let throttle = Throttle { folder, task: own_task().to_string() };
        let device = stand.device();
        let limit = format!("{device} {BYTES_PER_SECOND}");
        let set = fs::write(throttle.folder.join("blkio.throttle.write_bps_device"), limit)
            .and_then(|()| fs::write(throttle.folder.join("tasks"), &throttle.task));
        if let Err(error) = set {
            println!("skipped: no throttling: {error}");
            return None;
        }
        Some(throttle)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::write("/sys/fs/cgroup/blkio/tasks", &self.task);
        let _ = fs::remove_dir(&self.folder);
    }
}

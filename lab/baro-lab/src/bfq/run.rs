//! One measurement: files, groups, workers, messages; then everything as it was.
//!
//! Settings of the queue and of the tracer go through a journal of `baro-tune`, so a killed run is
//! undone by the next one or by `baro tune undo`. The workers end with this process's end of their
//! pipes. Files that are there already are used and left, so those of a killed run stay until removed.
//!
//! Invariant: lines that were lost are in the report, since its figures are too low then. Held by
//! `lost_lines_are_told` in `bfq/tests.rs`.

use super::account::{Account, GroupAccount, Totals};
use super::groups::Groups;
use super::recording::Recording;
use baro_bench::BenchError;
use baro_command::say;
use baro_sys::block_device::BlockDevice;
use baro_sys::identity::FileSystem;
use baro_sys::{clock, files};
use baro_tune::{Journal, OnConflict, Options, Outcome, Setting};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const TEXT_BYTES_MAX: u64 = 64 << 10;
/// The beginning is no steady state.
const SKIPPED_NS: u64 = 1_000_000_000;
const LOOK_NS: u64 = 50_000_000;

/// What the workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Direct reads.
    Read,
    /// Direct writes.
    Write,
}

impl Direction {
    /// As reports call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct BfqSpec {
    /// Folder on the device, for two files.
    pub dir: PathBuf,
    /// Reads or writes.
    pub direction: Direction,
    /// Bytes of one call, for each group.
    pub block_bytes: Vec<u64>,
    /// Weights of the groups, 1 to 1000.
    pub weights: Vec<u64>,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// How long.
    pub length_ns: u64,
    /// Settings of the queue or of BFQ by their names in sysfs: `nr_requests`, `max_budget`.
    pub settings: Vec<(String, String)>,
    /// The program of a worker; `--file`, `--file-size`, `--block` and `--write` follow.
    pub worker: Vec<OsString>,
    /// Where the journal of settings is.
    pub journal: Options,
    /// Keep the recorded lines in this file.
    pub keep: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct BfqReport {
    /// The device: `loop0`.
    pub device: String,
    /// Settings as they were in effect.
    pub settings: Vec<(String, String)>,
    /// The figures of each group.
    pub groups: Vec<GroupAccount>,
    /// Tags that each group held on average.
    pub tags_mean: Vec<f64>,
    /// Longest call of each worker.
    pub longest_ns: Vec<u64>,
    /// Calls that each worker ended.
    pub calls: Vec<u64>,
    /// All together.
    pub totals: Totals,
    /// Lines that were overwritten before they were read: figures are too low then.
    pub lost_lines: u64,
}

impl BfqReport {
    /// Bytes done by the first group for each byte of the last.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio_of(|group| group.done_bytes)
    }

    /// The same of what was charged.
    #[must_use]
    pub fn charged_ratio(&self) -> f64 {
        self.ratio_of(|group| group.charged_bytes)
    }

    /// The same of what moved the groups' virtual time.
    #[must_use]
    pub fn virtual_ratio(&self) -> f64 {
        self.ratio_of(GroupAccount::virtual_bytes)
    }

    fn ratio_of(&self, figure: impl Fn(&GroupAccount) -> u64) -> f64 {
        let (first, last) = (self.groups.first(), self.groups.last());
        first.map_or(0, &figure) as f64 / last.map_or(0, &figure).max(1) as f64
    }
}

/// Measures. `stop` ends it early. Needs root.
///
/// # Errors
/// What cannot be prepared, set or recorded; everything is as it was then.
pub fn run(spec: &BfqSpec, stop: &dyn Fn() -> bool) -> Result<BfqReport, BenchError> {
    let (major, minor) = FileSystem::of(&spec.dir)?.device;
    let found = BlockDevice::find(Path::new(&format!("/sys/dev/block/{major}:{minor}")))?;
    let name = found.name;
    let queue = Path::new("/sys/block").join(&name).join("queue");
    if !files::exists(&queue) {
        return Err(BenchError::Refused(format!(
            "{}: its device {name} has no queue of its own; choose a folder on a disk",
            spec.dir.display()
        )));
    }
    let (mut journal, undone) = Journal::open(&spec.journal).map_err(BenchError::Settings)?;
    if !undone.is_clean() {
        say!("bench: {undone}");
    }
    let made: Vec<_> = files(spec).into_iter().filter(|file| !files::exists(file)).collect();
    let result = measure(spec, &name, &queue, &mut journal, stop);
    let report = journal.undo_all(OnConflict::Overwrite);
    if !report.is_clean() {
        say!("bench: {report}");
    }
    for file in made {
        let _ = files::remove(&file);
    }
    result
}

fn files(spec: &BfqSpec) -> Vec<PathBuf> {
    (0..spec.weights.len()).map(|number| spec.dir.join(format!("baro-bfq-{number}"))).collect()
}

fn measure(
    spec: &BfqSpec,
    name: &str,
    queue: &Path,
    journal: &mut Journal,
    stop: &dyn Fn() -> bool,
) -> Result<BfqReport, BenchError> {
    let groups = Groups::make(&spec.weights, journal)?;
    let mut workers = Vec::new();
    // At the speed of the device as it is, before its queue is changed.
    for (file, block_bytes) in files(spec).iter().zip(spec.block_bytes.iter().cycle()) {
        workers.push(Worker::start(spec, file, *block_bytes)?);
    }
    for worker in &mut workers {
        worker.process = worker.answer("ready")?.first().copied().unwrap_or(0);
    }
    let settings = apply(spec, queue, journal)?;
    for (number, worker) in workers.iter().enumerate() {
        groups.put(number, u32::try_from(worker.process).unwrap_or(0))?;
    }
    let device = files::read_text(&Path::new("/sys/block").join(name).join("dev"), TEXT_BYTES_MAX)?;
    let device = device.trim().replace(':', ",");
    let recording = Recording::begin(name, journal)?;
    let begin_ns = clock::monotonic_ns();
    for worker in &mut workers {
        worker.go()?;
    }
    let end_ns = begin_ns.saturating_add(spec.length_ns);
    while clock::monotonic_ns() < end_ns && !stop() {
        clock::sleep_ns(LOOK_NS.min(end_ns.saturating_sub(clock::monotonic_ns())));
    }
    let end_ns = clock::monotonic_ns();
    let (text, lost_lines) = recording.end()?;
    let mut answers = Vec::new();
    workers.iter_mut().for_each(Worker::let_go);
    for worker in &mut workers {
        answers.push(worker.answer("done")?);
    }
    drop(workers);
    if let Some(keep) = &spec.keep {
        files::write(keep, text.as_bytes())?;
    }
    let of: Vec<(u32, u64)> = answers
        .iter()
        .zip(&spec.weights)
        .map(|(answer, weight)| (answer.first().copied().unwrap_or(0), *weight))
        .map(|(process, weight)| (u32::try_from(process).unwrap_or(0), weight))
        .collect();
    let from_us = begin_ns.saturating_add(SKIPPED_NS) / 1000;
    let idle_ms = settings.iter().find(|(name, _)| name == "slice_idle");
    let idle_us =
        idle_ms.and_then(|(_, text)| text.parse::<u64>().ok()).unwrap_or(8).saturating_mul(1000);
    let mut account = Account::new(&device, &of, from_us, end_ns / 1000).with_slice_idle(idle_us);
    text.lines().for_each(|line| account.line(line));
    let figure = |at: usize| answers.iter().map(move |answer| answer.get(at).copied().unwrap_or(0));
    Ok(BfqReport {
        device: name.to_owned(),
        settings,
        tags_mean: (0..of.len()).map(|group| account.tags_mean(group)).collect(),
        groups: account.groups().to_vec(),
        longest_ns: figure(3).collect(),
        calls: figure(1).collect(),
        totals: account.totals(),
        lost_lines,
    })
}

/// Sets the scheduler and what was asked for; returns what is in effect.
fn apply(
    spec: &BfqSpec,
    queue: &Path,
    journal: &mut Journal,
) -> Result<Vec<(String, String)>, BenchError> {
    let mut in_effect = Vec::new();
    let scheduler = ("scheduler".to_owned(), "bfq".to_owned());
    for (name, value) in std::iter::once(&scheduler).chain(&spec.settings) {
        let places = [queue.join(name), queue.join("iosched").join(name)];
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let place = places.iter().find(|place| name.chars().all(allowed) && files::exists(place));
        let Some(place) = place else {
            return Err(BenchError::Refused(format!(
                "{}: neither it nor its iosched folder has a setting {name:?}",
                queue.display()
            )));
        };
        let setting = Setting::new(place.display().to_string(), value.as_str());
        let applied = journal.apply(&setting).map_err(BenchError::Settings)?;
        if applied.outcome == Outcome::Ignored {
            return Err(BenchError::Refused(format!(
                "{}: expected {value}, found {}: the kernel ignores it",
                place.display(),
                applied.now
            )));
        }
        in_effect.push((name.clone(), applied.now));
    }
    // What else decides, as it is.
    let others = ["nr_requests", "max_sectors_kb", "low_latency", "slice_idle", "timeout_sync"];
    for name in others.into_iter().chain(["strict_guarantees", "max_budget"]) {
        if in_effect.iter().any(|(known, _)| known == name) {
            continue;
        }
        let places = [queue.join(name), queue.join("iosched").join(name)];
        let text = places.iter().find_map(|place| files::read_text(place, TEXT_BYTES_MAX).ok());
        in_effect.extend(text.map(|text| (name.to_owned(), text.trim().to_owned())));
    }
    Ok(in_effect)
}

/// A worker process; its input ends with this.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    process: u64,
}

impl Worker {
    fn start(spec: &BfqSpec, file: &Path, block_bytes: u64) -> Result<Self, BenchError> {
        let program = PathBuf::from(spec.worker.first().cloned().unwrap_or_default());
        let mut command = Command::new(&program);
        command.args(spec.worker.iter().skip(1)).arg("--file").arg(file);
        command.arg(format!("--file-size={}", spec.file_bytes));
        command.arg(format!("--block={block_bytes}"));
        if spec.direction == Direction::Write {
            command.arg("--write");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(BenchError::file("start", &program))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let Some(output) = output else { return Err(BenchError::ThreadLost("worker")) };
        Ok(Self { child, input, output: BufReader::new(output).lines(), process: 0 })
    }

    fn go(&mut self) -> Result<(), BenchError> {
        let Some(input) = &mut self.input else { return Ok(()) };
        writeln!(input, "go").map_err(|_| BenchError::ThreadLost("worker"))
    }

    fn let_go(&mut self) {
        self.input = None;
    }

    /// The numbers behind `word` in its next line; its process id comes first, whatever the line.
    fn answer(&mut self, word: &str) -> Result<Vec<u64>, BenchError> {
        let Some(Ok(line)) = self.output.next() else {
            // It has said why on stderr.
            return Err(BenchError::ThreadLost("worker"));
        };
        let numbers = line.strip_prefix(word).map(|rest| {
            rest.split_whitespace().map_while(|number| number.parse().ok()).collect::<Vec<u64>>()
        });
        let numbers = numbers.ok_or(BenchError::ThreadLost("worker"))?;
        Ok(std::iter::once(u64::from(self.child.id())).chain(numbers).collect())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.let_go();
        let _ = self.child.wait();
    }
}

//! `baro demo`: the main job in half a minute. Records this machine's kernel counters and a control
//! frame each 5 ms while another process dirties the same file system, with the conventional ways
//! to record beside it, and shows what each of them would have made the producer wait.

mod place;

use super::bench::push::Beside;
use super::init;
use super::record::feeds::Feed;
use super::record::{Recording, record, report};
use crate::failure::{Outcome, Result};
use crate::size::{self, show_bytes, show_ns};
use baro_bench::methods::{Method, MethodReport, Spec};
use baro_bench::plot::{Plot, Series};
use baro_bench::verb::load::Kind;
use baro_recorder::{Options, Recorder};
use baro_show::plural;
use baro_store::Store;
use baro_sys::{files, identity, termination};
use clap::Args;
use place::{Device, Place};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro demo --for 10s")]
pub(crate) struct Arguments {
    /// Folder to work in, made and removed
    #[arg(long, default_value = "baro-demo", value_name = "FOLDER")]
    dir: PathBuf,
    /// How long
    #[arg(long = "for", default_value = "30s", value_parser = size::nanoseconds, value_name = "TIME")]
    duration: u64,
    /// Picture of the latencies
    #[arg(long, default_value = "baro-demo.svg", value_name = "FILE")]
    svg: PathBuf,
    /// The disk to record on; a slow one is modelled where that can be done
    #[arg(long, value_enum)]
    device: Option<Device>,
    /// Leave the store behind, to look into it; on the disk as it is
    #[arg(long)]
    keep: bool,
}

/// Period of the control frames and of the conventional methods' writes.
const PERIOD_NS: u64 = 5_000_000;
/// The conventional methods take turns this long, since each would disturb the other.
const SLICE_NS: u64 = 2_500_000_000;
/// The least log, and its room for each second that is recorded: twice what comes in.
const LOG_BYTES: u64 = 1 << 30;
const LOG_BYTES_PER_S: u64 = 16 << 20;
/// Rings that cover a stall of 15 s: a slow disk that others fill has some of seconds.
const RING_BYTES: usize = 64 << 20;
/// How many times longer a `write()` must take than a push for anybody to feel it.
const FELT_TIMES: u64 = 10;
/// What the neighbour writes: enough to keep a disk busy, bounded for the sake of a user's SSD.
const LOAD_BYTES_PER_S: u64 = 200_000_000;
/// Series whose last samples are shown.
const SHOWN: [&str; 4] = ["vm_pgfault", "vm_nr_dirty", "mem_dirty_bytes", "cpu_all_user_ticks"];

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let log_bytes = LOG_BYTES.max(arguments.duration / 1_000_000_000 * LOG_BYTES_PER_S);
    let mut place = Place::make(&arguments.dir, arguments.device, log_bytes, arguments.keep)?;
    let store = place.folder().join("store");
    out!("making a store of {} in {}", show_bytes(log_bytes), place.folder().display());
    init::make(&store, log_bytes, init::How { recycle: false, grow: false }, false)?;
    let (recording, methods) = measure(arguments, &mut place, &store)?;
    show(arguments, &place, &store, &recording, &methods)
}

type Methods = Option<(MethodReport, MethodReport)>;

fn measure(arguments: &Arguments, place: &mut Place, store: &Path) -> Result<(Recording, Methods)> {
    let folder = place.folder();
    place.slow_down()?;
    let options = Options { fifo: Some(50), ring_bytes: RING_BYTES, ..Options::default() };
    let recorder = Recorder::open(store, options)?;
    report::print_opening(recorder.opening(), true);
    out!(
        "recording /proc at 1 kHz and 16 KiB each 5 ms for {}, beside 4 buffered writers \
         (200 MB/s) and one that allocates",
        show_ns(arguments.duration)
    );
    let beside = Beside::start(&[Kind::Buffered, Kind::Allocate], &folder, Some(LOAD_BYTES_PER_S))?;
    let feeds = vec![
        Feed::Proc { interval_ns: 1_000_000 },
        Feed::Generate { interval_ns: PERIOD_NS, frame_bytes: 16 << 10 },
    ];
    let terminal = baro_command::status_on_terminal();
    let tick = |recorder: &Recorder, elapsed_ns| {
        if terminal {
            report::status_line(recorder, elapsed_ns);
        }
        false
    };
    let over = AtomicBool::new(false);
    let (recording, methods) = std::thread::scope(|scope| {
        let methods = scope.spawn(|| take_turns(&folder, &over));
        let recording = record(recorder, feeds, Some(arguments.duration), tick);
        over.store(true, Ordering::Relaxed);
        place.speed_up();
        if terminal {
            baro_command::end_status();
        }
        // The conventional methods' last sync may wait for the load's commits.
        drop(beside);
        (recording, methods.join())
    });
    let methods = match methods {
        Ok(Ok(methods)) => Some(methods),
        Ok(Err(error)) => {
            say!("note: the conventional methods could not be measured: {error}");
            None
        }
        Err(_) => None,
    };
    Ok((recording?, methods))
}

/// What was seen, in one sentence, and what to do next.
fn close(place: &Place, recording: &Recording, methods: &Methods) {
    let pushed = recording.fed.iter().find(|fed| fed.name == "generate");
    if let (Some((conventional, _)), Some(pushed)) = (methods, pushed) {
        let (write_ns, push_ns) = (conventional.latency_ns_max, pushed.push_max_ns);
        let (write, push) = (show_ns(write_ns), show_ns(push_ns));
        let lost = plural(recording.lost(), "record");
        out!("write() kept its producer for up to {write}, push for up to {push}; lost: {lost}.");
        if write_ns < FELT_TIMES.saturating_mul(push_ns) {
            place.tell_quick();
        }
    }
    out!("next: baro record STORE --init 1G --proc    (the first page: docs/tutorial.md)");
}

fn take_turns(dir: &Path, over: &AtomicBool) -> Result<(MethodReport, MethodReport)> {
    let mut conventional = Method::new(dir, "conventional", Spec::conventional())?;
    let mut paper = Method::new(dir, "paper", Spec::paper())?;
    while !over.load(Ordering::Relaxed) {
        conventional.run_slice(SLICE_NS, over)?;
        if !over.load(Ordering::Relaxed) {
            paper.run_slice(SLICE_NS, over)?;
        }
    }
    Ok((conventional.finish()?, paper.finish()?))
}

fn show(
    arguments: &Arguments,
    place: &Place,
    store: &Path,
    recording: &Recording,
    methods: &Methods,
) -> Result<Outcome> {
    let mut series = Vec::new();
    if let Some((conventional, paper)) = methods {
        for (name, report) in [
            ("write(), fdatasync in the background", conventional),
            ("write(), preallocated, sync_file_range", paper),
        ] {
            let (latency_ns, latency_ns_max) = (&report.latency_ns, report.latency_ns_max);
            series.push(Series { name, latency_ns, latency_ns_max });
        }
    }
    if let Some(frames) = recording.fed.iter().find(|fed| fed.name == "generate") {
        let (latency_ns, latency_ns_max) = (&frames.push_ns, frames.push_max_ns);
        series.push(Series { name: "Barograph push()", latency_ns, latency_ns_max });
    }
    let subtitle = format!(
        "16 KiB each 5 ms; {} processors, Linux {}, {}; 4 buffered writers and one that \
         allocates on {}",
        baro_sys::schedule::allowed_cpus().len(),
        identity::kernel_release(),
        identity::FileSystem::of(&place.folder()).map_or("unknown", |found| found.name()),
        place.disk(),
    );
    let title = "How long a producer waits for its recorder";
    let plot = Plot { title, subtitle: &subtitle, period_ns: Some(PERIOD_NS), series: &series };
    out!();
    baro_command::print_lines(&plot.text())?;
    out!();
    files::replace(&arguments.svg, plot.svg().as_bytes())?;
    out!("picture: {}", arguments.svg.display());
    out!();
    let none = report::Settled::default();
    report::print(
        super::Format::Text,
        &baro_recorder::Opening::default(),
        0,
        recording,
        &none,
        Path::new("STORE"),
    )?;
    out!();
    let store = Store::open(store)?;
    let verified = super::verify::verify_and_print(
        &store,
        baro_sys::storage::Access::Read,
        baro_store::ReadPace::new(None),
    )?;
    out!();
    for name in SHOWN {
        super::cat::print_last(&store, name, 3)?;
    }
    out!();
    close(place, recording, methods);
    Ok(Outcome::lost_if(recording.lost() > 0 || verified == Outcome::Lost))
}

//! `baro record`: records sources into a store until it is told to stop.

mod check;
mod declare;
mod ending;
pub(crate) mod feeds;
mod frame_bytes;
mod held;
pub(crate) mod keeping;
mod losing;
mod plain;
pub(crate) mod report;
mod service;
mod settling;
pub(crate) mod stdin;
mod udp;
mod unused;

use super::listen::Http;
use super::queue::ShortQueue;
use super::text_form::TextArguments;
use super::{Format, init};
use crate::failure::{Mistake, Outcome, Result};
use crate::size;
use baro_ingest::Fed;
use baro_log::Geometry;
use baro_ondisk::WhenFull;
use baro_ondisk::limits::RECORD_BYTES_MAX;
use baro_recorder::inspect::FoundRing;
use baro_recorder::{Closed, Options, Producer, Recorder, RingReport, Rings};
use baro_store::Damage;
use baro_sys::{clock, termination};
use clap::{ArgGroup, Args, ValueEnum};
use ending::{Ends, await_settling};
use feeds::Feed;
use keeping::Keeping;
use losing::Losing;
use settling::Settles;
pub(crate) use settling::{REST, SETTLING_BYTES, options as settle_options};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stdin::Lines;
use udp::UdpFeed;

/// Not a comment of its argument: brackets there are links.
const LAYOUT_HELP: &str = "Fields of a channel's frames, read back as series CHANNEL.FIELD: \
    [CHANNEL=]NAME:TYPE[be][[N]][@OFFSET][*SCALE][+BIAS][(UNIT)],...; without CHANNEL those of \
    --channel";

/// Of frames on stdin, if nothing else is said.
const CHANNEL: &str = "frames";
const FRAME_BYTES: &str = "16K";
/// Of a ring, if nothing else is said.
const RING_BYTES: usize = 16 << 20;
/// It is looked so often how it goes, and at once when a source ends.
const TICK: Duration = Duration::from_millis(100);
/// The same while the sources end.
const LAST_TICK: Duration = Duration::from_millis(10);

/// What stdin carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Input {
    /// Lines of time,series,value, or with a header that names the columns; an empty time means now
    Csv,
    /// Lines of {"time":..,"series":..,"value":..} or {"time":..,NAME:VALUE,..}
    Json,
    /// Lines of the Influx line protocol
    Influx,
    /// Lines of Prometheus and OpenMetrics, as exporters show them
    #[value(alias = "openmetrics")]
    Prometheus,
    /// Frames of --frame-bytes, one after another
    Raw,
    /// Frames with their length before them: u32, little-endian
    Frames,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: baro record /data/s --init 1G --recycle --proc --for 1m")]
#[command(override_usage = "baro record <STORE> <--proc|--stdin|--udp|--http|--attach> [OPTIONS]")]
#[command(group(ArgGroup::new("source").args(["proc", "stdin", "generate", "udp", "http", "attach"]).required(true).multiple(true)))]
pub(crate) struct Arguments {
    /// The store, made by `baro init` or by --init
    #[arg(hide_short_help = true)]
    store: PathBuf,
    /// Read further options from this file
    ///
    /// Its table [record] has the names of the flags; see docs/settings.md.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say what is wrong with the settings, and touch nothing
    ///
    /// Each mistake of the file is named by its line, and what cannot be recorded into with these
    /// settings. The exit code is 0 if nothing is wrong, else 2.
    #[arg(long, hide_short_help = true)]
    check: bool,
    /// Make the store first if there is none
    ///
    /// With a log of this size. Recording starts at once, while the log grows in the background.
    #[arg(long, value_parser = size::bytes, value_name = "SIZE")]
    init: Option<u64>,
    /// With --init: when full, reuse the oldest part
    ///
    /// Without it new records are refused then.
    #[arg(long)]
    recycle: bool,
    /// Record this machine's kernel counters
    ///
    /// stat, vmstat, meminfo, diskstats, net/dev, pressure, schedstat.
    #[arg(long)]
    proc: bool,
    /// Time between two readings of the kernel's counters
    #[arg(long, value_parser = size::nanoseconds_above_0, default_value = "10ms", value_name = "TIME",
          requires = "proc", hide_short_help = true)]
    proc_interval: u64,
    /// Record what comes on stdin
    ///
    /// It waits for room instead of losing any of it.
    #[arg(long, value_enum, value_name = "FORM")]
    stdin: Option<Input>,
    /// Write stdin into an ordinary file of this name, and no store
    ///
    /// With --stdin raw. Its room is reserved before, so that writing seldom waits; see docs/plain.md.
    #[arg(long, requires = "stdin", hide_short_help = true, conflicts_with_all = ["init", "proc", "generate", "udp", "http", "attach", "declare", "layout"])]
    plain: bool,
    /// With --plain: bytes of a file, after which the next follows
    #[arg(long, value_parser = size::bytes, default_value = "100MB", value_name = "SIZE", requires = "plain", hide_short_help = true)]
    plain_size: u64,
    #[command(flatten)]
    text: TextArguments,
    /// Record generated control frames that can be verified
    #[arg(long, hide_short_help = true)]
    generate: bool,
    /// Time between two generated frames
    #[arg(long, value_parser = size::nanoseconds_above_0, default_value = "5ms", value_name = "TIME",
          requires = "generate", hide_short_help = true)]
    interval: u64,
    /// Size of generated frames, and of raw frames on stdin
    #[arg(long, value_parser = size::bytes, default_value = FRAME_BYTES, value_name = "SIZE",
          hide_short_help = true)]
    frame_bytes: u64,
    /// Channel of frames on stdin
    #[arg(long, default_value = CHANNEL, hide_short_help = true)]
    channel: String,
    /// Record datagrams to this address and port: JSON or CSV
    ///
    /// Lines of either. May be repeated.
    #[arg(long, value_name = "ADDRESS", value_parser = udp::address)]
    udp: Vec<SocketAddr>,
    /// Each datagram is a frame of this channel instead
    #[arg(long, value_name = "CHANNEL", requires = "udp", hide_short_help = true)]
    udp_frames: Option<String>,
    /// Allow addresses that other machines reach
    #[arg(long, requires = "udp", hide_short_help = true)]
    udp_network: bool,
    /// Take a new series from a datagram only while the store has fewer than this in all
    #[arg(
        long,
        value_name = "SERIES",
        default_value_t = 4096,
        requires = "udp",
        hide_short_help = true
    )]
    udp_series: usize,
    /// Take no new series from datagrams, only those that are declared
    #[arg(long, requires = "udp", conflicts_with = "udp_series", hide_short_help = true)]
    udp_declared_only: bool,
    /// The kernel's buffer of each address
    #[arg(long, default_value = "4M", requires = "udp", value_parser = size::bytes, value_name = "SIZE", hide_short_help = true)]
    udp_buffer: u64,
    #[command(flatten)]
    http: Http,
    /// Make this many rings for other programs
    ///
    /// They find them by the store's path, and push into them.
    #[arg(long, value_name = "RINGS", value_parser = clap::value_parser!(u8).range(1..=63))]
    attach: Option<u8>,
    /// Declare a series or channel before anything comes; types: f64, i64, bool, channel
    #[arg(long, value_name = "NAME:TYPE[:UNIT]", value_parser = declare::series, hide_short_help = true)]
    declare: Vec<declare::Series>,
    #[arg(long, value_parser = declare::layout, help = LAYOUT_HELP, value_name = "LAYOUT", hide_short_help = true)]
    layout: Vec<declare::ChannelLayout>,
    /// Stop after this time
    ///
    /// Without it when all sources have ended (only stdin does), or at SIGINT or SIGTERM.
    #[arg(long = "for", value_parser = size::nanoseconds, value_name = "TIME")]
    duration: Option<u64>,
    #[command(flatten)]
    tuning: Tuning,
    #[command(flatten)]
    keeping: Keeping,
    /// Make the queue of the store's device short while recording
    ///
    /// Others' writes then delay the recorder's by a second at most. Needs root; put back at the end.
    #[arg(long, hide_short_help = true)]
    short_queue: bool,
    /// text or json
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true,
        hide_short_help = true
    )]
    format: Format,
}

/// Options of the recorder.
#[derive(Clone, Debug, Args)]
pub(crate) struct Tuning {
    /// Memory of each source's ring [default: 16M]
    ///
    /// What it holds is what a stall of the device may last. The default is 16M, or 4 frames if that is
    /// more.
    #[arg(long, value_parser = size::bytes)]
    ring: Option<u64>,
    /// Folder for the rings, on a tmpfs
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    rings: Option<PathBuf>,
    /// Bound on the time from push to surviving a power cut
    #[arg(long, default_value = "100ms", value_parser = size::nanoseconds, value_name = "TIME", hide_short_help = true)]
    durable_within: u64,
    /// Write through the page cache even where direct I/O is possible
    #[arg(long, hide_short_help = true)]
    buffered: bool,
    /// Processor of the writer's threads
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = size::count::<usize>)]
    cpu: Option<usize>,
    /// SCHED_FIFO priority of writer and sources
    ///
    /// 1 to 99, if the kernel grants it.
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u8).range(1..=99))]
    fifo: Option<u8>,
}

impl Tuning {
    pub(crate) fn options(&self, record_bytes: usize) -> Options {
        // A record takes a quarter of its ring at most.
        let wanted = Producer::record_bytes(record_bytes.min(RECORD_BYTES_MAX)) * 4;
        let ring_bytes = match self.ring {
            Some(ring) => usize::try_from(ring).unwrap_or(usize::MAX),
            None => wanted.max(RING_BYTES),
        };
        Options {
            durable_within_ns: self.durable_within,
            ring_bytes,
            record_bytes_max: record_bytes.max(256 << 10).min(ring_bytes / 4),
            buffered: self.buffered,
            cpu: self.cpu,
            fifo: self.fifo,
            rings: self.rings.clone().map_or(Rings::Find, Rings::In),
            ..Options::default()
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.check {
        return check::run(arguments);
    }
    if arguments.plain {
        return plain::run(arguments);
    }
    let feeds = chosen(arguments)?;
    if let Some(said) = arguments.http.fault() {
        return Err(Mistake::new(format!("--http {said}")).into());
    }
    refuse_mistakes(arguments)?;
    let frame_bytes = usize::try_from(arguments.frame_bytes).unwrap_or(usize::MAX);
    termination::watch()?;
    let folder = arguments.store.ancestors().find(|folder| baro_sys::files::exists(folder));
    let folder = folder.unwrap_or(std::path::Path::new("."));
    let mut queue = ShortQueue::below(folder, arguments.short_queue);
    let is_there = make_if_missing(arguments)?;
    // Frames on stdin come in any size; nobody says theirs before.
    let record_bytes = match arguments.stdin {
        Some(Input::Frames) => frame_bytes::largest_of(&arguments.store),
        _ => frame_bytes,
    };
    let mut options = arguments.tuning.options(record_bytes);
    let yields = arguments.attach.is_some()
        || arguments.http.rings() > 0
        || feeds.iter().any(|feed| !feed.can_wait());
    options.retention = arguments.keeping.retention(yields);
    options.says = arguments.keeping.says();
    let recorder = Recorder::open(&arguments.store, options)?;
    let mut settles =
        Settles::start(&arguments.store, arguments.keeping.run_retention(), &recorder)?;
    let taken = recorder.taken();
    let mut watching = arguments.keeping.watch()?;
    watching.look(&recorder);
    if arguments.format == Format::Text {
        report::print_opening(recorder.opening(), !is_there);
    }
    declare::all(arguments, &recorder)?;
    let mut attached = rings_to_attach(arguments.attach.unwrap_or(0), true, &recorder)?;
    attached.extend(rings_to_attach(arguments.http.rings(), false, &recorder)?);
    let Tuning { rings, durable_within, .. } = &arguments.tuning;
    let beside = arguments.http.start(&arguments.store, rings.as_deref(), *durable_within)?;
    let beside = std::cell::RefCell::new(beside);
    let service = service::Service::from_environment();
    service.ready();
    let terminal = arguments.format == Format::Text && baro_command::status_on_terminal();
    let opening = recorder.opening().clone();
    let memory_bytes = recorder.status().memory_bytes;
    let (mut complaints, mut losing) = (Vec::new(), Losing::default());
    let mut recording = record_with(
        recorder,
        feeds,
        attached,
        arguments.duration,
        |recorder, elapsed_ns| {
            watching.look(recorder);
            settles.look(recorder);
            losing.look(recorder, &arguments.store);
            let unsettled = settles.complaint();
            report::complain(recorder, unsettled.as_ref(), &mut complaints);
            queue.look();
            if let Some(beside) = &mut *beside.borrow_mut() {
                beside.look();
            }
            if terminal {
                report::status_line(recorder, elapsed_ns);
            }
            service.tick(recorder, unsettled.as_deref());
            settles.waits_for_another()
        },
        || {
            service.stopping();
            // Its requests are answered while the recorder still makes them durable.
            drop(beside.borrow_mut().take());
        },
    )?;
    if terminal {
        baro_command::end_status();
    }
    watching.end();
    let complaint = settles.complaint();
    let settled = settles.end();
    recording.closed.settling_ended(&taken);
    recording.durable_within_ns = *durable_within;
    let settled = report::Settled { status: settled, complaint };
    let settling_damaged = settled.damage().any(Damage::is_loss);
    report::print(
        arguments.format,
        &opening,
        memory_bytes,
        &recording,
        &settled,
        &arguments.store,
    )?;
    let bad = recording.fed.iter().any(|fed| fed.bad > 0 || fed.dropped > 0);
    let unsettled = recording.closed.status.segments_lost_unsettled > 0;
    let damaged = !recording.closed.damage.is_empty() || settling_damaged;
    // Of earlier recorders too, which were killed and could not say so.
    let before = opening.recycled_before.is_some() || recording.closed.refused_before > 0;
    // What a ring held that could not be taken over is known to nobody.
    let lost =
        before || opening.rings_damaged > 0 || recording.lost() > 0 || recording.closed.left > 0;
    Ok(Outcome::lost_if(lost || bad || unsettled || damaged))
}

/// What the parser takes and is outside of its limits, by the names of the settings.
pub(crate) fn limits(arguments: &Arguments) -> Vec<(&'static str, String)> {
    check::limits(arguments)
}

/// Makes the store with `--init`; whether there is one already.
fn make_if_missing(arguments: &Arguments) -> Result<bool> {
    let is_there = baro_sys::files::exists(&arguments.store.join(baro_log::IDENTITY));
    if let Some(log_bytes) = arguments.init.filter(|_| !is_there) {
        let quiet = arguments.format != Format::Text;
        let recycle = arguments.recycle;
        init::make_if_missing(
            &arguments.store,
            log_bytes,
            init::How { recycle, grow: true },
            quiet,
        )?;
    }
    if is_there && arguments.init.is_some() {
        tell_of_init(arguments);
    }
    Ok(is_there)
}

/// Says where --init asks for another store than the one that is there: that one stays as it is.
fn tell_of_init(arguments: &Arguments) {
    let path = &arguments.store;
    let Ok(disk) = baro_log::open_folder(path) else { return };
    let Ok(found) = baro_log::read_identity(&disk, path) else { return };
    let when_full = if arguments.recycle { WhenFull::Recycle } else { found.when_full };
    let wanted = arguments.init.map(|bytes| Geometry::for_log(bytes, when_full));
    let Some(Ok(wanted)) = wanted else { return };
    let wanted = wanted.fitted_to(&disk);
    let (path, bytes) = (path.display(), found.segment_bytes * u64::from(found.segments));
    if wanted.segment_bytes * u64::from(wanted.segments) != bytes {
        let bytes = size::show_bytes(bytes);
        say!("note: {path} is there and has {bytes}: --init is for one that is to be made");
    }
    if when_full != found.when_full {
        say!(
            "note: {path} is there and refuses new records when it is full; --recycle is for one that is \
             to be made; to change this one: baro init {path} --when-full recycle"
        );
    }
}

/// What is wrong with what was typed, before anything is made.
fn refuse_mistakes(arguments: &Arguments) -> Result<()> {
    let frame_bytes = usize::try_from(arguments.frame_bytes).unwrap_or(usize::MAX);
    if let Some((option, said)) = check::option_fault(&arguments.tuning.options(frame_bytes)) {
        return Err(Mistake::new(format!("--{option}: {said}")).into());
    }
    if let Some(said) = check::recycle_fault(arguments) {
        return Err(Mistake::new(format!("--recycle: {said}")).into());
    }
    if let Some(said) = frame_bytes::too_small(arguments) {
        return Err(Mistake::new(format!("--frame-bytes: {said}")).into());
    }
    if let Some((option, wanted)) = unused::fault(arguments) {
        return Err(Mistake::new(format!("--{option}: expected {wanted}, found none")).into());
    }
    if let Some((option, said)) = declare::fault(arguments) {
        return Err(Mistake::new(format!("--{option} {said}")).into());
    }
    Ok(())
}

/// Rings for other processes: their paths are told, if somebody else is to find them, and their producers'
/// ids kept.
fn rings_to_attach(count: u8, told: bool, recorder: &Recorder) -> Result<Vec<u64>> {
    let mut producers = Vec::new();
    for _ in 0..count {
        let path = recorder.ring_for_attach()?;
        if told {
            say!("ring to attach to: {}", path.display());
        }
        producers.push(FoundRing::at(&path)?.report.producer);
    }
    Ok(producers)
}

fn chosen(arguments: &Arguments) -> Result<Vec<Feed>> {
    let mut feeds = Vec::new();
    if arguments.proc {
        feeds.push(Feed::Proc { interval_ns: arguments.proc_interval });
    }
    let frame_bytes = usize::try_from(arguments.frame_bytes).unwrap_or(usize::MAX);
    if arguments.generate {
        feeds.push(Feed::Generate { interval_ns: arguments.interval, frame_bytes });
    }
    match arguments.stdin {
        Some(Input::Csv) => feeds.push(Feed::Lines(Lines::Csv, arguments.text.form()?)),
        Some(Input::Json) => feeds.push(Feed::Lines(Lines::Json, arguments.text.form()?)),
        Some(Input::Influx) => feeds.push(Feed::Lines(Lines::Influx, arguments.text.form()?)),
        Some(Input::Prometheus) => {
            feeds.push(Feed::Lines(Lines::Prometheus, arguments.text.form()?));
        }
        Some(Input::Frames) => feeds.push(Feed::Frames { channel: arguments.channel.clone() }),
        Some(Input::Raw) => {
            feeds.push(Feed::Raw { frame_bytes, channel: arguments.channel.clone() });
        }
        None => {}
    }
    for address in &arguments.udp {
        let buffer_bytes = usize::try_from(arguments.udp_buffer).unwrap_or(usize::MAX);
        let channel = arguments.udp_frames.clone();
        let series_max = if arguments.udp_declared_only { 0 } else { arguments.udp_series };
        let feed =
            UdpFeed::bind(*address, buffer_bytes, arguments.udp_network, channel, series_max)?
                .reading(arguments.text.form()?);
        feeds.push(Feed::Udp(feed));
    }
    Ok(feeds)
}

/// A recording that has ended.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) elapsed_ns: u64,
    pub(crate) closed: Closed,
    pub(crate) fed: Vec<Fed>,
    /// Producers of the rings for other processes.
    attached: Vec<u64>,
    /// Whether only this store lies on its file system.
    pub(crate) alone: Option<bool>,
    /// What was aimed at.
    durable_within_ns: u64,
}

impl Recording {
    /// Counters of the rings for other processes.
    pub(crate) fn attached(&self) -> impl Iterator<Item = &RingReport> {
        self.closed.status.rings.iter().filter(|ring| self.attached.contains(&ring.producer))
    }

    /// Records of this run that were refused, given up, or not made durable, and what it took from
    /// those that were.
    pub(crate) fn lost(&self) -> u64 {
        let Closed { refused, left, left_before, lost_durable, .. } = &self.closed;
        refused + left.saturating_sub(*left_before) + lost_durable
    }

    /// Samples in them, as far as that is known: not of records that rings of other processes refused.
    pub(crate) fn lost_samples(&self) -> u64 {
        let refused: u64 = self.fed.iter().map(|fed| fed.refused_samples).sum();
        let left: u64 = self.closed.status.rings.iter().map(|ring| ring.left_samples).sum();
        refused + left + self.closed.lost_durable_samples
    }

    /// Samples of a source that were pushed and made durable.
    pub(crate) fn kept(&self, fed: &Fed) -> u64 {
        let mut rings = self.closed.status.rings.iter();
        let own = rings.find(|ring| ring.producer == fed.producer);
        fed.samples.saturating_sub(own.map_or(0, |ring| ring.left_samples))
    }
}

/// Runs feeds until the time is over, all have ended, or a stop is asked for; `tick` is called a
/// few times a second, and says whether settling waits for another process.
pub(crate) fn record(
    recorder: Recorder,
    feeds: Vec<Feed>,
    duration_ns: Option<u64>,
    tick: impl FnMut(&Recorder, u64) -> bool,
) -> Result<Recording> {
    record_with(recorder, feeds, Vec::new(), duration_ns, tick, || {})
}

/// The same with rings that other processes push into, which do not end by themselves; `stopping`
/// is called once before the end.
fn record_with(
    recorder: Recorder,
    feeds: Vec<Feed>,
    attached: Vec<u64>,
    duration_ns: Option<u64>,
    mut tick: impl FnMut(&Recorder, u64) -> bool,
    stopping: impl Fn(),
) -> Result<Recording> {
    let stop = AtomicBool::new(false);
    let started_ns = clock::monotonic_ns();
    let end_ns = duration_ns.map_or(u64::MAX, |duration| started_ns.saturating_add(duration));
    let alone = recorder.opening().alone;
    let ends = Ends::here();
    // What fails alone is the end's result, and told once.
    let sole = feeds.len() == 1 && attached.is_empty();
    let fed = std::thread::scope(|scope| {
        let mut running: Vec<_> = Vec::new();
        for feed in feeds {
            let (recorder, stop, ends) = (&recorder, &stop, &ends);
            let thread = std::thread::Builder::new()
                .name(format!("baro-{}", feed.name()))
                .spawn_scoped(scope, move || {
                    let _told = ends.one();
                    let name = feed.name();
                    // The other sources go on; what failed is told now and is the end's result.
                    let fed = feed.run(recorder, stop);
                    match &fed {
                        _ if sole => {}
                        Err(error) => say!("{name} has ended: {error}"),
                        Ok(_) if stop.load(Ordering::Relaxed) => {}
                        Ok(_) => say!("{name} has ended; the others go on"),
                    }
                    fed
                })?;
            running.push(thread);
        }
        while clock::monotonic_ns() < end_ns
            && termination::requested().is_none()
            && !recorder.status().stopped
            && !(attached.is_empty() && ends.count() == running.len())
        {
            tick(&recorder, clock::monotonic_ns() - started_ns);
            std::thread::park_timeout(TICK);
        }
        stop.store(true, Ordering::Relaxed);
        stopping();
        // Beside it settling goes on, which a source that waits for room may need.
        while ends.count() < running.len() {
            tick(&recorder, clock::monotonic_ns() - started_ns);
            std::thread::park_timeout(LAST_TICK);
        }
        let ended: Vec<Result<Fed>> = running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a source's thread ended".into())))
            .collect();
        Ok::<_, crate::failure::Failure>(ended)
    })?;
    let (fed, failed): (Vec<_>, Vec<_>) = fed.into_iter().partition(Result::is_ok);
    let failed = failed.into_iter().find_map(Result::err);
    let fed: Vec<Fed> = fed.into_iter().flatten().collect();
    if failed.is_none() {
        await_settling(&recorder, &fed, || tick(&recorder, clock::monotonic_ns() - started_ns));
    }
    let elapsed_ns = clock::monotonic_ns() - started_ns;
    let closed = recorder.close();
    match failed {
        // Where the store was taken away, that is why: what is lost with it is told instead.
        Some(failed) if closed.damage.is_empty() => Err(failed),
        failed => {
            if let Some(failed) = failed.filter(|_| sole) {
                say!("the source has ended: {failed}");
            }
            Ok(Recording { elapsed_ns, closed, fed, attached, alone, durable_within_ns: u64::MAX })
        }
    }
}

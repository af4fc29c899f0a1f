//! The load: makes a store, records into it until its time is over or the power is cut, and says
//! beside it what is promised by now.
//!
//! Invariant: a statement says nothing that was not promised when its write began, and nothing that
//! may be taken back before a later statement has been written. Held by the order of things in
//! `told.rs` and `pinning.rs`, and by `tests/judge.rs`.

mod acks;
mod pinning;
mod producing;
mod settling;
mod told;

pub(crate) use pinning::name as pin_name;
pub use producing::Pushed;
pub(crate) use producing::{Buffers, declare, push};
pub use told::Told;

use crate::content::Load;
use crate::scenario::{BLOCK_BYTES, CATALOG_BYTES, RECORD_BYTES_MAX, Scenario};
use crate::statement::Statement;
use acks::Acks;
use baro_log::{Geometry, init_growing};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::{Closed, Options, Recorder, Retention, Rings};
use baro_store::{RunRetention, SettleOptions};
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Request {
    /// Folder of the store; it is made.
    pub store: PathBuf,
    /// File or device that takes the statements; none are written without.
    pub acks: Option<PathBuf>,
    /// How.
    pub scenario: &'static Scenario,
    /// What.
    pub seed: u64,
    /// How long, nanoseconds.
    pub for_ns: u64,
}

/// How a load ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The recorder's figures.
    pub closed: Closed,
    /// The last statement.
    pub statement: Statement,
    /// What did not go as it should, in sentences: finds, each of them.
    pub complaints: Vec<String>,
    /// What became of the pushes.
    pub pushed: Pushed,
}

/// A load that runs. Ended by [`Running::end`].
#[derive(Debug)]
pub struct Running {
    recorder: Arc<Recorder>,
    told: Arc<Told>,
    acks: Acks,
    stop: Arc<AtomicBool>,
    producers: Vec<JoinHandle<Pushed>>,
    others: Vec<JoinHandle<()>>,
}

/// Any error as a sentence.
pub(crate) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// How the scenario's store is opened for recording.
#[must_use]
pub fn options(scenario: &Scenario) -> Options {
    Options {
        durable_within_ns: scenario.durable_within_ns,
        ring_bytes: scenario.ring_bytes,
        record_bytes_max: RECORD_BYTES_MAX,
        block_bytes: BLOCK_BYTES,
        buffered: scenario.buffered,
        rings: if scenario.rings_found { Rings::Find } else { Rings::Private },
        retention: Retention { keep_unsettled: scenario.settle.is_some(), ..Retention::default() },
        ..Options::default()
    }
}

/// How the scenario's store is settled; small runs, so that they are merged too.
#[must_use]
pub fn settle_options(scenario: &Scenario) -> SettleOptions {
    let keep_ns = scenario.settle.and_then(|settle| settle.keep_ns);
    SettleOptions {
        memory_bytes: 512 << 10,
        least_bytes: 0,
        fan_in: 4,
        run_bytes_max: if keep_ns.is_some() { 256 << 10 } else { 8 << 20 },
        retention: RunRetention { keep_ns, ..RunRetention::default() },
        rest: 0,
    }
}

/// Makes the scenario's store in `path`.
///
/// # Errors
/// As [`init_growing`].
pub fn make(path: &Path, scenario: &Scenario) -> Result<(), String> {
    let geometry = Geometry {
        segment_bytes: scenario.segment_bytes,
        segments: scenario.segments,
        catalog_bytes: CATALOG_BYTES,
        when_full: if scenario.recycle { WhenFull::Recycle } else { WhenFull::Stop },
    };
    let mut id = StoreId::default();
    identity::random(&mut id.0).map_err(said)?;
    let disk = Disk::create(path).map_err(said)?;
    let made_ns = clock::realtime_ns();
    let segments = scenario.init_segments;
    init_growing(&disk, path, id, made_ns, &geometry, segments, |_| {}).map_err(said)?;
    Ok(())
}

/// Makes the store and starts to record. Returns when the first portions are declared.
///
/// # Errors
/// The store cannot be made or opened, or the statements have no place, in a sentence.
pub fn start(request: &Request) -> Result<Running, String> {
    let scenario = request.scenario;
    let told = Arc::new(Told::new(Statement::new(scenario.name, request.seed)));
    let mut file = acks::AckFile::open(request.acks.as_deref())?;
    make(&request.store, scenario)?;
    // It says that init returned: what init made is durable.
    file.write(&told.statement())?;
    let recorder = Recorder::open(&request.store, options(scenario)).map_err(said)?;
    let recorder = Arc::new(recorder);
    let stop = Arc::new(AtomicBool::new(false));
    let mut making = Vec::new();
    for slot in 0..2 {
        let load = Load::new(scenario, request.seed, slot);
        making.push(producing::Producing::new(load, scenario, &recorder, &told)?);
    }
    let acks = Acks::start(file, &told)?;
    let mut producers = Vec::new();
    for producing in making {
        let stop = Arc::clone(&stop);
        producers.push(thread("load-push", move || producing.run(&stop))?);
    }
    let mut others = Vec::new();
    if let Some(settle) = scenario.settle {
        let (path, told, stop) = (request.store.clone(), Arc::clone(&told), Arc::clone(&stop));
        let options = settle_options(scenario);
        let run = move || settling::run(&path, options, settle.every_ns, &told, &stop);
        others.push(thread("load-settle", run)?);
    }
    if scenario.pins {
        let pinning = pinning::Pinning::new(&recorder, &told, &stop);
        others.push(thread("load-pin", move || pinning.run())?);
    }
    Ok(Running { recorder, told, acks, stop, producers, others })
}

fn thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, String> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(said)
}

impl Running {
    /// The recorder.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What is promised by now, and what went wrong.
    #[must_use]
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// Ends the pushes, closes the recorder, and says what is durable then.
    ///
    /// # Errors
    /// A thread has panicked, or a statement could not be written.
    pub fn end(self) -> Result<Ended, String> {
        self.stop.store(true, Ordering::Release);
        for other in self.others {
            other.join().map_err(|_| "a thread of the load panicked".to_owned())?;
        }
        let mut pushed = Pushed::default();
        let mut producers = Vec::new();
        for thread in self.producers {
            let of_one = thread.join().map_err(|_| "a producer panicked".to_owned())?;
            pushed.add(&of_one);
            producers.extend(of_one.producer);
        }
        let growth = self.recorder.status().growth;
        for complaint in self.recorder.complaints() {
            // Growth that a full file system stopped is as it should be.
            if growth.stopped.is_none() {
                self.told.complain(complaint);
            }
        }
        let recorder = Arc::try_unwrap(self.recorder);
        let recorder = recorder.map_err(|_| "the recorder is still in use".to_owned())?;
        let closed = recorder.close();
        for (slot, producer) in producers.iter().enumerate() {
            self.told.change(|statement| {
                if let Some(slot) = statement.slots.get_mut(slot) {
                    slot.durable = producer.durable().max(slot.durable);
                }
            });
        }
        let statement = self.acks.end(&self.told)?;
        let complaints = self.told.complaints();
        Ok(Ended { closed, statement, complaints, pushed })
    }
}

/// Records for `request.for_ns`, or until `ended`; calls `ready` when pushing begins.
///
/// # Errors
/// As [`start`] and [`Running::end`].
pub fn run(
    request: &Request,
    ready: impl FnOnce(),
    mut each_ns: impl FnMut(&Running) -> bool,
) -> Result<Ended, String> {
    let until_ns = clock::monotonic_ns().saturating_add(request.for_ns);
    let running = start(request)?;
    ready();
    while clock::monotonic_ns() < until_ns && each_ns(&running) {
        clock::sleep_ns(10_000_000);
    }
    running.end()
}

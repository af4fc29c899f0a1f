//! One simulated machine: disk, clock, device, producers and the real engine, all from one seed.
//! At crash points it asks what a power cut right now would leave, and checks that.

use crate::device::{Event, SimDevice};
use crate::ledger::{Form, Ledger, Offer, payload, samples};
use crate::pinning::Kept;
use crate::reading::{Contents, check};
use baro_log::{Geometry, Recovery, init_growing, recover};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::simulate::{Engine, Keeper, Now, Start};
use baro_recorder::{Producer, Refused, Trouble};
use baro_sys::sim::{Rng, SimDisk, Survival};
use std::path::Path;

/// Of each segment.
pub const SEGMENT_BYTES: u64 = 1 << 20;

/// When power cuts are tried out.
#[derive(Clone, Copy, Debug)]
pub enum Cuts {
    /// After each thing that happens, in every mode.
    Everywhere,
    /// After one in so many, in one mode.
    OneIn(u64),
    Never,
}

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub producers: u64,
    pub segments: u32,
    pub when_full: WhenFull,
    pub ring_bytes: usize,
    pub record_bytes_max: usize,
    pub block_bytes: usize,
    pub buffers: usize,
    pub durable_within_ns: u64,
    pub slowest_ns: u64,
    /// Records that a producer pushes at once, at most.
    pub burst: u64,
    /// Records of any size up to the largest, so that segments fill soon; else mostly small ones.
    pub large: bool,
    pub cuts: Cuts,
    /// Segments written by init, 0 for all; the keeper adds the others.
    pub init_segments: u32,
    /// Pins are asked for and released, one in so many steps; 0 never.
    pub pins: u64,
    pub keep_ns: u64,
    pub keep_unsettled: bool,
    /// 0: all of the log.
    pub keep_bytes: u64,
    pub min_free_bytes: u64,
}

pub const SMALL: Plan = Plan {
    producers: 2,
    segments: 3,
    when_full: WhenFull::Stop,
    ring_bytes: 64 << 10,
    record_bytes_max: 4 << 10,
    block_bytes: 16 << 10,
    buffers: 3,
    durable_within_ns: 10_000_000,
    slowest_ns: 40_000_000,
    burst: 6,
    large: false,
    cuts: Cuts::Everywhere,
    init_segments: 0,
    pins: 0,
    keep_ns: 0,
    keep_unsettled: false,
    keep_bytes: 0,
    min_free_bytes: 0,
};

impl Plan {
    /// A plan that follows from a seed.
    pub fn random(rng: &mut Rng) -> Self {
        let block_bytes = rng.pick(&[16 << 10, 32 << 10, 128 << 10, 256 << 10]);
        Plan {
            producers: 1 + rng.below(4),
            segments: 2 + rng.below(4) as u32,
            when_full: rng.pick(&[WhenFull::Stop, WhenFull::Recycle, WhenFull::Recycle]),
            ring_bytes: rng.pick(&[64 << 10, 256 << 10]),
            record_bytes_max: rng.pick(&[300, 4 << 10, block_bytes / 2]),
            block_bytes,
            buffers: 2 + rng.below(3) as usize,
            durable_within_ns: rng.pick(&[1_000_000, 10_000_000, 100_000_000]),
            slowest_ns: rng.pick(&[100_000, 10_000_000, 400_000_000]),
            burst: rng.pick(&[2, 20, 100]),
            large: rng.chance(1, 5),
            cuts: Cuts::OneIn(rng.pick(&[40, 150])),
            ..SMALL
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct World {
    pub plan: Plan,
    pub rng: Rng,
    pub disk: SimDisk,
    pub ledger: Ledger,
    pub producers: Vec<Producer>,
    pub engine: Option<Engine>,
    pub keeper: Option<Keeper<SimDisk>>,
    /// Pins granted, released, refused, cut short; segments copied out and added.
    pub kept: Kept,
    /// The boot and when it was, and running time before it.
    pub boot: (u8, u64, i64),
    /// Choices of the keeper's, so that others stay what they are without one.
    pub keeper_rng: Rng,
    pub device: Option<SimDevice>,
    pub now_ns: u64,
    pub loud: bool,
    pub cuts: u64,
    wake_ns: u64,
    clock_offset_ns: i64,
    last_producer: u64,
    /// Last one before this session.
    epoch: u64,
    /// Epochs at which segments failed, and how many of this session.
    failures: Vec<u64>,
    /// The newest segment when a write or a sync failed last.
    failed: Option<u64>,
    suspect: u32,
    /// Steps since the clock's whole second in which nothing was pending.
    idle_steps: (u64, u64),
}

type Outcome = Result<(), String>;

pub fn recovered(disk: &SimDisk) -> Result<Recovery, String> {
    recover(disk, Path::new("sim")).map_err(|e| e.to_string())
}

impl World {
    pub fn new(seed: u64, plan: Plan) -> Self {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(rng.next());
        let geometry = Geometry {
            segment_bytes: SEGMENT_BYTES,
            segments: plan.segments,
            catalog_bytes: 1 << 20,
            when_full: plan.when_full,
        };
        let (path, store) = (Path::new("sim"), StoreId([7; 16]));
        init_growing(&disk, path, store, 1, &geometry, plan.init_segments, |_| {}).unwrap();
        World {
            plan,
            rng,
            disk,
            ledger: Ledger { keep_ns: plan.keep_ns, ..Ledger::default() },
            producers: Vec::new(),
            engine: None,
            keeper: None,
            kept: Kept::default(),
            boot: (1, 0, 0),
            keeper_rng: Rng::new(seed ^ 0x6b65_6570),
            device: None,
            now_ns: 1_000_000_000,
            loud: false,
            cuts: 0,
            wake_ns: 0,
            clock_offset_ns: 1_700_000_000_000_000_000,
            last_producer: 0,
            epoch: 0,
            failures: Vec::new(),
            failed: None,
            suspect: 0,
            idle_steps: (0, 0),
        }
    }

    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.loud {
            println!("{:>12.6} {}", self.now_ns as f64 / 1e9, what());
        }
    }

    pub fn now(&self) -> Now {
        let boottime_ns = (self.now_ns - self.boot.1) as i64;
        let realtime_ns = boottime_ns + self.clock_offset_ns;
        Now { monotonic_ns: self.now_ns, realtime_ns, boottime_ns }
    }

    /// A new engine on the disk as it is: takes over rings that are there, makes others.
    pub fn open(&mut self) -> Outcome {
        let recovery = recovered(&self.disk)?;
        let session = ((recovery.last_session >> 32) + 1) << 32 | self.rng.below(1 << 32);
        let start = Start {
            durable_within_ns: self.plan.durable_within_ns,
            block_bytes: self.plan.block_bytes,
            buffers: self.plan.buffers,
            session,
            boot_id: [self.boot.0; 16],
            boottime_ns: self.now().boottime_ns,
            retention: self.retention(),
        };
        self.say(|| {
            let Recovery { last_epoch, producers, .. } = &recovery;
            format!("open: session {session:x}, last epoch {last_epoch}, found {producers:?}")
        });
        self.epoch = recovery.last_epoch;
        self.suspect = 0;
        let mut engine = Engine::new(start, &recovery).map_err(|e| e.to_string())?;
        for producer in &self.producers {
            let id = producer.report().producer;
            let skip_below = recovery.producers.get(&id).copied().unwrap_or(0);
            engine.take_over(producer, skip_below).map_err(|e| e.to_string())?;
            // They are not logged again, so they have to stay.
            let book = self.ledger.books.entry(id).or_default();
            book.durable = book.durable.max(skip_below);
        }
        while (self.producers.len() as u64) < self.plan.producers {
            self.last_producer += 1;
            let Plan { ring_bytes, record_bytes_max, .. } = self.plan;
            let ring = engine.add_private_ring(self.last_producer, ring_bytes, record_bytes_max);
            self.producers.push(ring.map_err(|e| e.to_string())?);
            self.ledger.books.entry(self.last_producer).or_default();
        }
        self.open_keeper(&recovery, &mut engine)?;
        self.engine = Some(engine);
        let seed = self.rng.next();
        let slowest_ns = self.plan.slowest_ns;
        self.device = Some(SimDevice::new(self.disk.clone(), seed, self.now_ns, slowest_ns));
        self.wake_ns = self.now_ns;
        Ok(())
    }

    pub fn push_some(&mut self) {
        for at in 0..self.producers.len() {
            for _ in 0..self.rng.below(self.plan.burst + 1) {
                self.push(at);
            }
        }
    }

    /// One push; the record is noted, or the refusal.
    pub fn push(&mut self, at: usize) {
        let limit = self.producers[at].report().record_bytes_max as u64;
        let length = match self.rng.below(40) {
            5.. if self.plan.large => self.rng.below(limit + 1),
            0 => limit,
            1..4 => self.rng.below(limit + 1),
            4 if self.rng.chance(1, 4) => limit + 1,
            _ => self.rng.below(limit.min(200)),
        } as usize;
        let pushed_ns = self.running_ns();
        let producer = &mut self.producers[at];
        let (id, sequence) = (producer.report().producer, producer.next_sequence());
        let (channel, time_ns) = (self.rng.below(3) as u32, self.rng.below(1 << 40) as i64);
        let form = Form::of(id, sequence, length);
        let offer = Offer { pushed_ns, channel, time_ns, length, form };
        let samples = samples(id, sequence, &offer);
        let series: Vec<u32> = samples.iter().map(|sample| sample.0).collect();
        let values: Vec<i64> = samples.iter().map(|sample| sample.2.cast_signed()).collect();
        let pushed = match form {
            Form::Frame => producer.push_frame(channel, time_ns, &payload(id, sequence, length)),
            Form::Samples(_) => producer.push_samples(time_ns, &series, &values),
            Form::Timed(_) => {
                let times_ns: Vec<i64> = samples.iter().map(|sample| sample.1).collect();
                producer.push_batch(&times_ns, &series, &values)
            }
        };
        let offers = &mut self.ledger.books.entry(id).or_default().offers;
        assert_eq!(offers.len() as u64, sequence);
        match pushed {
            Ok(_) => offers.push(Some(offer)),
            Err(Refused::RingFull | Refused::TooLarge { .. }) => offers.push(None),
            Err(Refused::Closed) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn note(&mut self) {
        for producer in &self.producers {
            self.ledger.note_durable(producer);
        }
    }

    /// Lets `steps` steps of the engine and everything in between happen, with pushes or without.
    pub fn run(&mut self, steps: u64, pushes: bool) -> Outcome {
        for _ in 0..steps {
            self.tick(pushes)?;
        }
        Ok(())
    }

    fn tick(&mut self, pushes: bool) -> Outcome {
        let Some(mut engine) = self.engine.take() else { return Ok(()) };
        let Some(mut device) = self.device.take() else { return Ok(()) };
        let next_ns = device.next_ns().unwrap_or(u64::MAX).min(self.wake_ns);
        self.now_ns = self.now_ns.max(next_ns);
        device.now_ns = self.now_ns;
        let now = self.now();
        let mut failed = false;
        while let Some(event) = device.next_event() {
            match event {
                Event::Effect(what) => self.say(|| what),
                Event::Completion(completion) => {
                    failed |= completion.result.is_err();
                    self.say(|| format!("  done {} {:?}", completion.ticket, completion.result));
                    engine.complete(now, completion);
                }
            }
            self.note();
            self.cut_here()?;
            if self.rng.chance(1, 3) {
                break;
            }
        }
        if pushes && self.rng.chance(3, 4) {
            self.push_some();
        }
        if self.rng.chance(1, 300) {
            self.clock_offset_ns += self.rng.below(4_000_000_000) as i64 - 2_000_000_000;
        }
        let before = device.submitted;
        self.wake_ns = engine.step(self.now(), &mut device);
        if device.submitted > before {
            self.say(|| format!("  asked for {}", device.submitted - before));
        }
        if self.wake_ns <= self.now_ns {
            return Err(format!("asks to be called again {} after {}", self.wake_ns, self.now_ns));
        }
        self.keep(&mut engine)?;
        let started = self.epoch + u64::from(engine.status().segments_started);
        self.ledger.recycling |=
            self.plan.when_full == WhenFull::Recycle && started >= u64::from(self.first_segments());
        let suspect = engine.status().segments_suspect;
        self.failures.extend((self.suspect..suspect).map(|_| started));
        self.suspect = suspect;
        // Its turn comes again when all others have been started.
        let turn = u64::from(self.plan.segments) + 2;
        self.failures.retain(|epoch| epoch + turn > started);
        self.ledger.passed_over = self.failures.len();
        if failed {
            self.failed = Some(started);
        }
        self.ledger.failed = self.failed.is_some_and(|epoch| epoch + turn > started);
        let second = self.now_ns / 1_000_000_000;
        if second != self.idle_steps.0 || pushes || device.pending() > 0 {
            self.idle_steps = (second, 0);
        }
        self.idle_steps.1 += 1;
        if self.idle_steps.1 > 6000 {
            return Err("spins: more than 6000 steps in a second without work".to_owned());
        }
        self.note();
        (self.engine, self.device) = (Some(engine), Some(device));
        Ok(())
    }

    pub fn cut_here(&mut self) -> Outcome {
        use Survival::{All, None, Some, Torn};
        match self.plan.cuts {
            Cuts::Everywhere => {
                for mode in [None, All, Some, Some, Torn, Torn] {
                    self.cut(mode)?;
                }
            }
            Cuts::OneIn(many) if self.rng.chance(1, many) => {
                let mode = self.rng.pick(&[None, All, Some, Torn]);
                self.cut(mode)?;
            }
            Cuts::OneIn(_) | Cuts::Never => {}
        }
        Ok(())
    }

    /// What a power cut now would leave; the world itself goes on undisturbed.
    pub fn cut(&mut self, survival: Survival) -> Result<(SimDisk, Contents), String> {
        self.cuts += 1;
        self.ledger.running_ns = self.running_ns();
        let disk = self.disk.crash(&mut self.rng, survival);
        let place = |e: String| format!("power cut at {} ({survival:?}): {e}", self.now_ns);
        let recovery = recovered(&disk).map_err(place)?;
        let contents = check(&disk, &self.ledger).map_err(place)?;
        if !contents.damage.is_empty() {
            return Err(place(format!("taken for damage: {:?}", contents.damage)));
        }
        for (producer, next) in recovery.producers.iter().filter(|(producer, _)| **producer != 0) {
            if contents.next.get(producer) != Some(next) {
                let read = contents.next.get(producer);
                return Err(place(format!(
                    "producer {producer}: recovery says {next}, readers {read:?}"
                )));
            }
        }
        if self.rng.chance(1, 4) {
            let again = disk.crash(&mut self.rng, Survival::None);
            let second = check(&again, &self.ledger).map_err(place)?;
            if second != contents {
                return Err(place(format!("was read, then lost: {contents:?} {second:?}")));
            }
        }
        Ok((disk, contents))
    }

    /// The power fails: memory is gone, the disk keeps what it keeps.
    pub fn power_cut(&mut self, survival: Survival) -> Outcome {
        self.note();
        self.say(|| format!("power cut, {survival:?}"));
        let (disk, contents) = self.cut(survival)?;
        self.ledger.freeze(&contents.next);
        self.disk = disk;
        self.producers.clear();
        (self.engine, self.device, self.keeper) = (None, None, None);
        self.reboot();
        Ok(())
    }

    /// The process is killed: rings and what was written stay.
    pub fn kill(&mut self) {
        self.say(|| "kill".to_owned());
        (self.engine, self.keeper) = (None, None);
        if let Some(device) = self.device.take() {
            device.kill();
        }
        self.disk.heal();
        self.note();
    }

    /// Closes the store and waits; then everything must be there.
    pub fn close(&mut self) -> Outcome {
        self.say(|| "close".to_owned());
        self.engine.iter_mut().for_each(Engine::close);
        let mut full = false;
        for round in 0.. {
            self.tick(false)?;
            let Some(engine) = &self.engine else { break };
            let stops = self.plan.when_full == WhenFull::Stop;
            let trouble = &engine.status().trouble;
            let full_now = matches!(trouble, Trouble::LogFull | Trouble::Held { .. });
            // Suspect segments that hold data are not reused either; the thread waits 5 s.
            full = engine.stuck() && (full_now || (stops && round > 1000));
            if engine.idle() || full {
                break;
            }
            if round > 100_000 {
                return Err(format!("does not end: {:?}", engine.status()));
            }
        }
        let (_, contents) = self.cut(Survival::None)?;
        for producer in &self.producers {
            let report = producer.report();
            let refused = report.refused_full + report.refused_large;
            let lost = contents.lost.get(&report.producer).copied().unwrap_or(0);
            let next = contents.next.get(&report.producer).copied().unwrap_or(0);
            let whole = next == report.offered && report.durable == next;
            let recycles = self.plan.when_full == WhenFull::Recycle;
            if !full && (!whole || lost > refused || (lost < refused && !recycles)) {
                return Err(format!("closed with {report:?}, in the log {next}, lost {lost}"));
            }
        }
        (self.engine, self.device, self.keeper) = (None, None, None);
        self.producers.clear();
        // What could not be made durable may be found all the same.
        if !full {
            self.ledger.freeze(&contents.next);
        }
        // Their rings are gone; what they recorded grows old.
        self.ledger.books.values_mut().for_each(|book| book.alive = false);
        Ok(())
    }
}

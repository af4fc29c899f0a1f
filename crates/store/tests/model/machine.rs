//! One simulated machine: disk, clock, device, the real engine and keeper, and a settler.

use crate::device::{Event, SimDevice};
use crate::reference::{BASE_NS, MARKER, Push, Row, Truth, Val, check, check_reader, kind};
use baro_log::{Catalog, Geometry, Recovery, init, recover};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::simulate::{Engine, Keeper, Log, Now, PinStart, Start, Tell, View};
use baro_recorder::{Error as RecorderError, Producer, Refused, Retention};
use baro_store::{
    BackupOptions, Error, Extent, SettleOptions, Settled, Settler, Store, backup_in, verify,
    write_dictionary,
};
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::Access;
use std::path::Path;

const STORE: StoreId = StoreId([7; 16]);

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub settle: SettleOptions,
    pub segments: u32,
    pub slowest_ns: u64,
    /// Some samples have the first and last times that there are.
    pub extremes: bool,
    /// Frames of up to so many bytes lie between the samples, so that segments fill.
    pub frame_bytes: u64,
}

/// The engine, without a thread between.
struct Direct<'a>(&'a mut Engine);

impl Log for Direct<'_> {
    fn pin(
        &mut self,
        id: u64,
        at_ns: i64,
        before: u64,
        after: u64,
    ) -> Result<PinStart, RecorderError> {
        self.0.pin(id, at_ns, before, after).map_err(RecorderError::Pin)
    }

    fn tell(&mut self, what: Tell) {
        self.0.tell(what);
    }

    fn view(&self) -> View {
        View::of(self.0.status())
    }
}

/// What records, while it does.
#[derive(Debug)]
struct Open {
    engine: Engine,
    keeper: Keeper<SimDisk>,
    device: SimDevice,
    producer: Producer,
}

/// See the module.
#[derive(Debug)]
pub struct Machine {
    plan: Plan,
    rng: Rng,
    pub disk: SimDisk,
    pub truth: Truth,
    /// Where backups go.
    copy: SimDisk,
    open: Option<Open>,
    /// Of a killed recorder.
    orphan: Option<Producer>,
    settler: Option<Settler>,
    /// With what was durable and declared when it was opened.
    reader: Option<(Store, usize, u32)>,
    now_ns: u64,
    wake_ns: u64,
    producers: u64,
    /// When it was opened last.
    last_epoch: u64,
    boot: u8,
    loud: bool,
    pub checks: u64,
    pub recycled: u64,
    pub refused: u64,
}

type Outcome = Result<(), String>;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn reopened(disk: &SimDisk) -> Result<Store, String> {
    Store::open_in(disk.clone(), Path::new("sim"), Access::ReadDirect).map_err(said)
}

impl Machine {
    pub fn new(seed: u64, plan: Plan, loud: bool) -> Self {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(rng.next());
        let geometry = Geometry {
            segment_bytes: 1 << 20,
            segments: plan.segments,
            catalog_bytes: 1 << 20,
            when_full: WhenFull::Recycle,
        };
        init(&disk, Path::new("sim"), STORE, 1, &geometry, |_| {}).unwrap();
        Machine {
            plan,
            rng,
            disk,
            truth: Truth::default(),
            copy: SimDisk::new(seed),
            open: None,
            orphan: None,
            settler: None,
            reader: None,
            now_ns: 1_000_000_000,
            wake_ns: 0,
            producers: 0,
            last_epoch: 0,
            boot: 1,
            loud,
            checks: 0,
            recycled: 0,
            refused: 0,
        }
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.loud {
            println!("{:>12.6} {}", self.now_ns as f64 / 1e9, what());
        }
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub fn declare(&mut self, count: u32) {
        let mut catalog = Catalog::read(&self.disk).unwrap();
        let first = self.truth.declared + 1;
        let ids = first..first + count;
        let names: Vec<String> = ids.clone().map(|id| format!("s{{n=\"{id}\"}}")).collect();
        let wanted: Vec<_> = names
            .iter()
            .zip(ids.clone())
            .map(|(name, id)| (name.as_str(), kind(id), "K"))
            .collect();
        let declared = catalog.declare(&self.disk, 1 << 32 | 1, &wanted).unwrap();
        assert_eq!(declared, ids.collect::<Vec<_>>());
        self.truth.declared += count;
    }

    /// Writes a dictionary, or dies at it; whether it was written.
    pub fn dictionary(&mut self, rng: &mut Rng) -> Result<bool, String> {
        if rng.chance(1, 2) {
            let at = self.disk.operations() + rng.below(8);
            self.disk.inject(Fault::PowerOff(at));
        }
        let written = write_dictionary(&self.disk, STORE, &mut |_| {}).is_ok();
        self.disk.heal();
        self.check_all()?;
        Ok(written)
    }

    fn now(&self) -> Now {
        let boottime_ns = self.now_ns as i64;
        let realtime_ns = boottime_ns + 1_700_000_000_000_000_000;
        Now { monotonic_ns: self.now_ns, realtime_ns, boottime_ns }
    }

    pub fn open(&mut self) -> Outcome {
        let recovery: Recovery = recover(&self.disk, Path::new("sim")).map_err(said)?;
        let retention = Retention { keep_unsettled: true, ..Retention::default() };
        let session = ((recovery.last_session >> 32) + 1) << 32 | self.rng.below(1 << 32);
        let start = Start {
            durable_within_ns: 10_000_000,
            block_bytes: 256 << 10,
            buffers: 3,
            session,
            boot_id: [self.boot; 16],
            boottime_ns: self.now_ns as i64,
            retention,
        };
        let mut engine = Engine::new(start, &recovery).map_err(said)?;
        let producer = match self.orphan.take() {
            Some(producer) => {
                let id = producer.report().producer;
                let skip_below = recovery.producers.get(&id).copied().unwrap_or(0);
                engine.take_over(&producer, skip_below).map_err(said)?;
                producer
            }
            None => {
                self.producers += 1;
                let ring = engine.add_private_ring(self.producers, 512 << 10, 100 << 10);
                ring.map_err(said)?
            }
        };
        let boot_id = [self.boot; 16];
        let disk = self.disk.clone();
        let keeper = Keeper::open(disk, &recovery, retention, boot_id, &mut Direct(&mut engine));
        let seed = self.rng.next();
        let device = SimDevice::new(self.disk.clone(), seed, self.now_ns, self.plan.slowest_ns);
        self.say(|| format!("open: session {session:x}, last epoch {}", recovery.last_epoch));
        (self.wake_ns, self.last_epoch) = (self.now_ns, recovery.last_epoch);
        self.open = Some(Open { engine, keeper: keeper.map_err(said)?, device, producer });
        Ok(())
    }

    pub fn push_some(&mut self) {
        for _ in 0..self.rng.below(8) {
            self.push();
        }
        for _ in 0..3 {
            self.push_frame();
        }
    }

    fn push_frame(&mut self) {
        let length = self.rng.below(self.plan.frame_bytes + 1) as usize;
        let Some(Open { producer, .. }) = &mut self.open else { return };
        match producer.push_frame(1, 5, &vec![0xaa; length]) {
            Ok(_) => {}
            Err(Refused::RingFull) => self.refused += 1,
            Err(error) => panic!("{error}"),
        }
    }

    fn value(&mut self, id: u32) -> u64 {
        match kind(id) {
            Type::Bool => self.rng.below(2),
            Type::I64 => self.rng.below(1 << 20),
            _ => {
                let odd = [f64::NAN, f64::INFINITY, -0.0, 1e300];
                let plain = self.rng.below(100_000) as f64 / 1000.0;
                if self.rng.chance(1, 20) { self.rng.pick(&odd) } else { plain }.to_bits()
            }
        }
    }

    fn time_ns(&mut self, number: usize) -> i64 {
        let base_ns = number as i64 * BASE_NS;
        match self.rng.below(20) {
            0 if self.plan.extremes => {
                self.rng.pick(&[i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX])
            }
            0..4 => base_ns - self.rng.below(20_000) as i64,
            _ => base_ns + self.rng.below(1000) as i64,
        }
    }

    fn push(&mut self) {
        let number = self.truth.pushes.len();
        let text = (1..=self.truth.declared).filter(|id| kind(*id) == Type::Text);
        let text: Vec<u32> = text.collect();
        let mut rows: Vec<Row> = Vec::new();
        if self.rng.chance(1, 6) && !text.is_empty() {
            let (id, time_ns) = (self.rng.pick(&text), self.time_ns(number));
            let tail = "ä".repeat(self.rng.below(40) as usize);
            rows.push((id, time_ns, Val::Text(format!("{number} {tail}"))));
        } else {
            rows.push((MARKER, number as i64 * BASE_NS, Val::Bits(number as u64)));
            let most = self.rng.pick(&[3, 30, 300]);
            for _ in 0..self.rng.below(most) {
                let id = 1 + self.rng.below(u64::from(self.truth.declared)) as u32;
                if id == MARKER || kind(id) == Type::Text {
                    continue;
                }
                let row = (id, self.time_ns(number), Val::Bits(self.value(id)));
                rows.push(row);
            }
        }
        let Some(Open { producer, .. }) = &mut self.open else { return };
        let sequence = producer.next_sequence();
        let pushed = match rows.first() {
            Some((id, time_ns, Val::Text(text))) => producer.push_text(*id, *time_ns, text),
            _ => {
                let ids: Vec<u32> = rows.iter().map(|row| row.0).collect();
                let times_ns: Vec<i64> = rows.iter().map(|row| row.1).collect();
                let bits = rows.iter().map(|row| match row.2 {
                    Val::Bits(bits) => bits.cast_signed(),
                    Val::Text(_) => 0,
                });
                producer.push_words(&times_ns, &ids, &bits.collect::<Vec<_>>())
            }
        };
        match pushed {
            Ok(_) => self.truth.pushes.push(Push { sequence, rows }),
            Err(Refused::RingFull) => self.refused += 1,
            Err(error) => panic!("{error}"),
        }
    }

    /// A text that was recorded long ago is corrected, in a run of its own.
    pub fn correct(&mut self) -> Outcome {
        self.settle_alone()?;
        let pushes = self.truth.pushes.iter();
        let texts = pushes.filter_map(|push| match push.rows.first() {
            Some((id, time_ns, Val::Text(_))) => Some((*id, *time_ns)),
            _ => None,
        });
        let texts: Vec<_> = texts.collect();
        if texts.is_empty() {
            return Ok(());
        }
        self.open()?;
        let ((id, time_ns), number) = (self.rng.pick(&texts), self.truth.pushes.len());
        let text = format!("{number} corrected");
        let Some(Open { producer, .. }) = &mut self.open else { return Ok(()) };
        let sequence = producer.next_sequence();
        match producer.push_text(id, time_ns, &text) {
            Ok(_) => {
                let rows = vec![(id, time_ns, Val::Text(text))];
                self.truth.pushes.push(Push { sequence, rows });
            }
            Err(Refused::RingFull) => self.refused += 1,
            Err(error) => panic!("{error}"),
        }
        self.settle_alone()
    }

    /// All that was recorded is in runs.
    fn settle_alone(&mut self) -> Outcome {
        self.close()?;
        self.settle_until_idle()
    }

    pub fn run(&mut self, ticks: u64) -> Outcome {
        for _ in 0..ticks {
            let now = self.now();
            let Some(Open { engine, keeper, device, producer }) = &mut self.open else { break };
            let next_ns = device.next_ns().unwrap_or(u64::MAX).min(self.wake_ns);
            // The keeper looks at the manifest a few times a second.
            self.now_ns = self.now_ns.max(next_ns.min(self.now_ns + 100_000_000));
            let now = Now { monotonic_ns: self.now_ns, ..now };
            device.now_ns = self.now_ns;
            while let Some(event) = device.next_event() {
                if let Event::Completion(completion) = event {
                    engine.complete(now, completion);
                }
                if self.rng.chance(1, 3) {
                    break;
                }
            }
            self.wake_ns = engine.step(now, device);
            for event in engine.take_events() {
                keeper.event(event, &mut Direct(engine));
            }
            keeper.work(now, &mut Direct(engine));
            self.truth.note(producer.durable());
            let started = self.last_epoch + u64::from(engine.status().segments_started);
            self.recycled = self.recycled.max(started.saturating_sub(self.plan.segments.into()));
        }
        Ok(())
    }

    fn check(&mut self, disk: &SimDisk) -> Result<usize, String> {
        self.checks += 1;
        check(&reopened(disk)?, &self.truth, &mut self.rng)
    }

    pub fn check_all(&mut self) -> Outcome {
        let disk = self.disk.clone();
        self.check(&disk).map(|_| ())
    }

    /// What retention may take from now on.
    fn note_retention(&mut self) {
        let retention = self.plan.settle.retention;
        self.truth.any_gone |= retention.keep_bytes.is_some() || retention.min_free_bytes > 0;
        let times = self.truth.pushes.iter().flat_map(|push| &push.rows).map(|row| row.1);
        if let (Some(keep_ns), Some(newest_ns)) = (retention.keep_ns, times.max()) {
            let before_ns = newest_ns.saturating_sub_unsigned(keep_ns);
            self.truth.gone_before_ns = self.truth.gone_before_ns.max(Some(before_ns));
        }
    }

    pub fn settler(&self, disk: &SimDisk) -> Result<Settler, Error> {
        let store = Store::open_in(disk.clone(), Path::new("sim"), Access::ReadDirect)?;
        Settler::over(store, self.plan.settle)
    }

    pub fn settle(&mut self, extent: Extent) -> Result<Settled, String> {
        self.note_retention();
        let mut settler = match self.settler.take().filter(|_| self.rng.chance(3, 4)) {
            Some(settler) => settler,
            None => self.settler(&self.disk).map_err(said)?,
        };
        let done = settler.step_with(extent, self.is_open()).map_err(said)?;
        self.say(|| format!("settle {extent:?}: {done:?}"));
        if !done.damage.is_empty() {
            return Err(format!("settling met damage: {:?}", done.damage));
        }
        self.settler = Some(settler);
        self.check_all()?;
        Ok(done)
    }

    /// Settles as long as there is more.
    pub fn settle_until_idle(&mut self) -> Outcome {
        for _ in 0..1000 {
            if !self.settle(Extent::All)?.more {
                return Ok(());
            }
        }
        Err("settling never ends".to_owned())
    }

    /// A backup that the power ends at its operation number `at`, and then one that is made whole; false
    /// if it was done before.
    pub fn back_up(&mut self, at: u64, mode: Survival) -> Result<bool, String> {
        let (path, options) = (Path::new("copy"), BackupOptions::default());
        let fork = self.copy.fork();
        fork.inject(Fault::PowerOff(fork.operations() + at));
        let done = backup_in(&mut reopened(&self.disk)?, &fork, path, &options, &mut |_| {});
        self.say(|| format!("backup, cut at {at} ({mode:?}): {done:?}"));
        let left = fork.crash(&mut self.rng, mode);
        // Before the first one is whole there is no store.
        if let Ok(store) = reopened(&left) {
            let report = verify(&store, Access::Read, |_, _| {}).map_err(said)?;
            if !report.is_whole() {
                return Err(format!("backup cut at {at} ({mode:?}): {:?}", report.damage));
            }
        }
        let whole = backup_in(&mut reopened(&self.disk)?, &left, path, &options, &mut |_| {});
        let whole = whole.map_err(said)?;
        self.say(|| format!("backup: {whole:?}"));
        if !whole.damage.is_empty() {
            return Err(format!("a backup met damage: {:?}", whole.damage));
        }
        self.copy = left;
        self.check(&self.copy.clone()).map_err(|e| format!("backup: {e}"))?;
        let report = verify(&reopened(&self.copy)?, Access::Read, |_, _| {}).map_err(said)?;
        if !report.is_whole() {
            return Err(format!("backup: {:?}", report.damage));
        }
        Ok(done.is_err())
    }

    /// Whether settling dies at its operation number `at`, and what a power cut then leaves is right.
    pub fn cut_at(&mut self, extent: Extent, at: u64, mode: Survival) -> Result<bool, String> {
        self.note_retention();
        let fork = self.disk.fork();
        fork.inject(Fault::PowerOff(fork.operations() + at));
        let done = self.settler(&fork).and_then(|mut s| s.step_with(extent, self.is_open()));
        let cut = done.is_err();
        let left = fork.crash(&mut self.rng, mode);
        self.check(&left).map_err(|e| format!("cut at {at} ({mode:?}): {e}"))?;
        // What a killed settling leaves is in nobody's way.
        let next = self.settler(&left).and_then(|mut s| s.step_with(Extent::All, false));
        let next = next.map_err(|e| format!("after a cut at {at} ({mode:?}): {e}"))?;
        if !next.damage.is_empty() {
            return Err(format!("after a cut at {at} ({mode:?}): {:?}", next.damage));
        }
        self.check(&left).map_err(|e| format!("settled after a cut at {at} ({mode:?}): {e}"))?;
        Ok(cut)
    }

    pub fn cut_while_settling(
        &mut self,
        extent: Extent,
        rng: &mut Rng,
        mode: Survival,
    ) -> Result<bool, String> {
        self.cut_at(extent, rng.below(16), mode)
    }

    /// A power cut now, in every mode; the machine itself goes on.
    pub fn cut_here(&mut self, rng: &mut Rng, modes: &[Survival]) -> Outcome {
        for mode in modes {
            let left = self.disk.crash(rng, *mode);
            self.check(&left).map_err(|e| format!("cut ({mode:?}): {e}"))?;
        }
        Ok(())
    }

    /// Whoever settles is killed; the recorder and the machine go on.
    pub fn kill_settling(&mut self, rng: &mut Rng) -> Outcome {
        let extent = if rng.chance(1, 2) { Extent::All } else { Extent::Enough };
        self.kill_settling_at(rng.below(16), extent)
    }

    /// The same at its operation number `at`.
    pub fn kill_settling_at(&mut self, at: u64, extent: Extent) -> Outcome {
        self.note_retention();
        self.settler = None;
        self.disk.inject(Fault::PowerOff(self.disk.operations() + at));
        let recording = self.is_open();
        let done = self.settler(&self.disk).and_then(|mut s| s.step_with(extent, recording));
        self.say(|| format!("kill settling: {done:?}"));
        self.disk.heal();
        self.check_all()
    }

    /// The recorder ends as it should.
    pub fn close(&mut self) -> Outcome {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.engine.close();
        for _ in 0..20_000 {
            self.run(1)?;
            let Some(open) = &self.open else { break };
            if open.engine.idle() || open.engine.stuck() {
                break;
            }
        }
        self.say(|| "close".to_owned());
        let count = self.check(&self.disk.clone())?;
        self.truth.pushes.truncate(count.max(self.truth.durable));
        self.open = None;
        self.freeze(count);
        Ok(())
    }

    /// What is there now stays, and nothing comes of producers that are gone.
    fn freeze(&mut self, count: usize) {
        self.truth.pushes.truncate(count);
        (self.truth.durable, self.truth.frozen) = (count, count);
    }

    /// The recorder is killed; its ring and what was written stay.
    pub fn kill_recorder(&mut self) -> Outcome {
        let Some(open) = self.open.take() else { return Ok(()) };
        self.say(|| "kill the recorder".to_owned());
        open.device.kill();
        self.orphan = Some(open.producer);
        self.check_all()
    }

    /// The power fails: memory is gone, the disk keeps what it keeps.
    pub fn power_cut(&mut self, survival: Survival) -> Outcome {
        self.say(|| format!("power cut, {survival:?}"));
        self.disk = self.disk.crash(&mut self.rng, survival);
        (self.open, self.orphan, self.settler, self.reader) = (None, None, None, None);
        self.boot = self.boot % 250 + 1;
        self.now_ns += 2_000_000_000;
        let count = self.check(&self.disk.clone())?;
        self.freeze(count);
        Ok(())
    }

    /// A reader that has been open for a while sees what was durable when it looked, or is told that
    /// it was recycled; whether it was.
    pub fn reader(&mut self) -> Result<bool, String> {
        let mut recycled = false;
        if let Some((store, durable, declared)) = self.reader.take() {
            let truth = Truth { durable, declared, ..self.truth.clone() };
            match check_reader(&store, &truth) {
                Ok(()) => {}
                Err(Error::Recycled { .. }) => recycled = true,
                Err(error) => return Err(said(error)),
            }
        }
        let Truth { durable, declared, .. } = self.truth;
        self.reader = Some((reopened(&self.disk)?, durable, declared));
        Ok(recycled)
    }
}

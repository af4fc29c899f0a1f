//! Pins, growth and retention in the simulated machine: the keeper works between the steps of the
//! engine, in an order that the seed chooses, with faults and crashes anywhere.
//!
//! The oracle: a pin that was granted is there after every crash, and every durable record that
//! was pushed in its window; nothing younger than what is to be kept is recycled; pins and growth
//! never stop the recording.

use crate::ledger::Promise;
use crate::reading::{Contents, check};
use crate::world::{Cuts, Plan, SEGMENT_BYTES, SMALL, World};
use crate::{of_all, seeds};
use baro_log::{Held, MANIFEST, Pins, RUNS, Recovery, recover, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BlockHeader, Manifest, Pin, PinState, SegmentHeader, Settled, StoreId, WhenFull,
};
use baro_recorder::simulate::{Engine, Event, Keeper, Log, Moment, PinStart, Tell, View};
use baro_recorder::{Error, PinRequest, Retention, Status, Trouble, Waits};
use baro_sys::sim::{Fault, Rng, SimDisk, Survival};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeMap;
use std::path::Path;

const STORE: StoreId = StoreId([7; 16]);

/// What has happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    pub granted: u64,
    pub short: u64,
    pub refused: u64,
    pub released: u64,
    pub cut: u64,
    pub ended: u64,
    pub copied: usize,
    pub grown: u32,
}

/// The engine, without a thread between.
pub struct Direct<'a>(pub &'a mut Engine);

impl Log for Direct<'_> {
    fn pin(
        &mut self,
        id: u64,
        moment_ns: i64,
        before_ns: u64,
        after_ns: u64,
    ) -> Result<PinStart, Error> {
        self.0.pin(id, moment_ns, before_ns, after_ns).map_err(Error::Pin)
    }

    fn tell(&mut self, what: Tell) {
        self.0.tell(what);
    }

    fn view(&self) -> View {
        View::of(self.0.status())
    }
}

impl World {
    pub fn retention(&self) -> Retention {
        let keep_ns = (self.plan.keep_ns > 0).then_some(self.plan.keep_ns);
        let Plan { keep_unsettled, keep_bytes, min_free_bytes, .. } = self.plan;
        let keep_bytes = (keep_bytes > 0).then_some(keep_bytes);
        Retention { keep_ns, keep_unsettled, keep_bytes, min_free_bytes, ..Retention::default() }
    }

    /// Segments that are there from the start.
    pub fn first_segments(&self) -> u32 {
        if self.plan.init_segments == 0 { self.plan.segments } else { self.plan.init_segments }
    }

    /// Boottime, strung together: what the recorder takes for time at most.
    pub fn running_ns(&self) -> i64 {
        self.boot.2 + self.now().boottime_ns
    }

    /// The machine starts anew; the time between does not count.
    pub fn reboot(&mut self) {
        let running_ns = self.running_ns();
        // A restart ends what a pin was still waiting for.
        self.ledger.pins.values_mut().for_each(|pin| pin.to_ns = pin.to_ns.min(running_ns));
        self.now_ns += 1_000_000_000;
        self.boot = (self.boot.0 % 250 + 1, self.now_ns, running_ns);
        self.now_ns += 1_000_000;
    }

    pub fn open_keeper(&mut self, recovery: &Recovery, engine: &mut Engine) -> Result<(), String> {
        if self.plan.pins == 0 && self.plan.init_segments == 0 {
            return Ok(());
        }
        let (disk, boot) = (self.disk.clone(), [self.boot.0; 16]);
        let keeper = Keeper::open(disk, recovery, self.retention(), boot, &mut Direct(engine));
        let keeper = keeper.map_err(|e| e.to_string())?;
        for id in self.ledger.pins.keys() {
            if !keeper.pins().any(|pin| pin.id == *id) {
                return Err(format!("pin {id:x} was granted and is not found"));
            }
        }
        // Half released, or granted and never told: held, but nothing is promised.
        self.keeper = Some(keeper);
        Ok(())
    }

    /// Lets the keeper do something, or nothing.
    pub fn keep(&mut self, engine: &mut Engine) -> Result<(), String> {
        let Some(mut keeper) = self.keeper.take() else { return Ok(()) };
        for event in engine.take_events() {
            self.say(|| format!("  keeper: {event:?}"));
            keeper.event(event, &mut Direct(engine));
        }
        self.note_cut(&keeper);
        for _ in 0..self.keeper_rng.below(4) {
            keeper.work(self.now(), &mut Direct(engine));
            self.keeper = Some(keeper);
            self.cut_here()?;
            keeper = self.keeper.take().unwrap();
        }
        let often = self.plan.pins;
        if often > 0 && self.keeper_rng.chance(1, often) {
            self.pin(&mut keeper, engine)?;
        }
        if often > 0 && self.keeper_rng.chance(1, 3 * often) {
            let ids: Vec<u64> = self.ledger.pins.keys().copied().collect();
            if !ids.is_empty() {
                let id = self.keeper_rng.pick(&ids);
                // From now on nothing is promised, whether it is gone or not.
                self.ledger.pins.remove(&id);
                let released = keeper.release(id, &mut Direct(engine));
                self.kept.released += u64::from(released.is_ok());
            }
        }
        let kept = Pins::read(&self.disk, STORE).map_or(0, |pins| pins.kept.len());
        self.kept.copied = self.kept.copied.max(kept);
        self.kept.grown = keeper.growth().grown;
        self.keeper = Some(keeper);
        Ok(())
    }

    fn pin(&mut self, keeper: &mut Keeper<SimDisk>, engine: &mut Engine) -> Result<(), String> {
        let spans = [0, 5_000_000, 50_000_000, 400_000_000];
        let (before_ns, after_ns) = (self.keeper_rng.pick(&spans), self.keeper_rng.pick(&spans));
        let id = self.keeper_rng.next().max(1);
        let now = self.now();
        let moment = Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns };
        let request = PinRequest { name: format!("{id:x}"), before_ns, after_ns };
        let running_ns = self.running_ns();
        let mut promise = Promise {
            from_ns: running_ns - before_ns as i64,
            to_ns: running_ns + after_ns as i64,
            ..Promise::default()
        };
        let (gone, contents) = self.gone(&promise)?;
        match keeper.pin(id, &request, moment, &mut Direct(engine)) {
            Ok(pin) => {
                self.kept.granted += 1;
                self.kept.short += u64::from(!pin.reason.is_empty());
                if pin.reason.is_empty() && !gone.is_empty() {
                    return Err(format!("pin {pin:?} says that it is whole, but lacks {gone:?}"));
                }
                promise.gone_below = gone;
                // Of a short one: what lies before the last hole, and the segment behind it, which
                // may be on its way to be written over.
                let mut run: Vec<u64> = contents.starts.iter().map(|start| start.0).collect();
                run.dedup();
                let hole = run.windows(2).rposition(|pair| pair[0] + 1 != pair[1]);
                let from = run.get(hole.map_or(0, |at| at + 1)).map_or(0, |epoch| epoch + 1);
                for (producer, book) in self.ledger.books.iter().filter(|_| !pin.reason.is_empty())
                {
                    let of = contents.starts.iter().filter(|s| s.1 == *producer);
                    let held = of.filter(|s| s.0 >= from).map(|s| s.2).min();
                    let below = promise.gone_below.entry(*producer).or_default();
                    *below = held.unwrap_or(book.durable).max(*below);
                }
                promise.gone_below.retain(|_, below| *below > 0);
                self.ledger.pinning = true;
                self.ledger.pins.insert(id, promise);
            }
            Err(_) => self.kept.refused += 1,
        }
        Ok(())
    }

    /// Up to which sequence of each producer records of the window, once durable, are not in the
    /// log any more.
    fn gone(&mut self, promise: &Promise) -> Result<(BTreeMap<u64, u64>, Contents), String> {
        let mut without = self.ledger.clone();
        without.running_ns = self.running_ns();
        let contents = check(&self.disk, &without)?;
        let mut gone = BTreeMap::new();
        for (producer, book) in &self.ledger.books {
            for (sequence, offer) in (0..book.durable).zip(&book.offers) {
                let Some(offer) = offer else { continue };
                let ranges = contents.ranges.get(producer);
                let found = ranges.is_some_and(|all| {
                    all.iter().any(|(from, to)| (*from..*to).contains(&sequence))
                });
                if (promise.from_ns..promise.to_ns).contains(&offer.pushed_ns) && !found {
                    gone.insert(*producer, sequence + 1);
                }
            }
        }
        Ok((gone, contents))
    }

    /// Notes which pins have ended, and which before their time.
    fn note_cut(&mut self, keeper: &Keeper<SimDisk>) {
        let durable = self.ledger.durable();
        for pin in keeper.pins().filter(|pin| pin.state == PinState::Short) {
            if let Some(promise) = self.ledger.pins.get_mut(&pin.id)
                && promise.cut_at.is_none()
                && pin.reason.contains("half the log")
            {
                self.kept.cut += 1;
                promise.cut_at = Some(durable.clone());
            }
        }
        self.kept.ended = keeper.pins().filter(|pin| pin.last_epoch != u64::MAX).count() as u64;
    }
}

/// A log that recycles fast, with pins.
pub fn pinned(seed: u64) -> Plan {
    let mut rng = Rng::new(seed ^ 0x70_69_6e);
    let init_segments = rng.pick(&[0, 0, 2]);
    Plan {
        when_full: WhenFull::Recycle,
        segments: 6 + rng.below(6) as u32,
        ring_bytes: 512 << 10,
        record_bytes_max: 100 << 10,
        block_bytes: 256 << 10,
        large: true,
        burst: rng.pick(&[2, 6, 20]),
        slowest_ns: rng.pick(&[1_000_000, 20_000_000]),
        cuts: Cuts::OneIn(60),
        init_segments,
        pins: rng.pick(&[20, 60]),
        keep_ns: rng.pick(&[0, 0, 100_000_000]),
        ..SMALL
    }
}

/// Several opens of one store, each ending in its own way, with faults or without.
fn lives(seed: u64, loud: bool, total: &mut Kept) -> Result<u64, String> {
    let mut rng = Rng::new(seed);
    let plan = pinned(seed);
    let mut world = World::new(rng.next(), plan);
    world.loud = loud;
    if loud {
        println!("seed {seed}: {plan:?}");
    }
    for _ in 0..2 + rng.below(3) {
        world.open()?;
        if rng.chance(1, 3) {
            let (writes, syncs) = (world.disk.writes(), world.disk.syncs());
            let fault = match rng.below(3) {
                0 => Fault::Write(writes + rng.below(60)),
                1 => Fault::Sync { number: syncs + rng.below(30), loses: rng.chance(1, 2) },
                _ => Fault::Full(world.disk.used_bytes() + rng.below(3 << 20)),
            };
            if loud {
                println!("fault: {fault:?}");
            }
            world.disk.inject(fault);
        }
        world.run(rng.below(500), true)?;
        match rng.below(6) {
            0 => {
                world.disk.heal();
                world.close()?;
            }
            1 | 2 => world.kill(),
            _ => {
                let modes = [Survival::None, Survival::All, Survival::Some, Survival::Torn];
                world.power_cut(rng.pick(&modes))?;
            }
        }
        total.add(&world.kept);
        world.kept = Kept::default();
    }
    Ok(world.cuts)
}

impl Kept {
    fn add(&mut self, other: &Kept) {
        self.granted += other.granted;
        self.short += other.short;
        self.refused += other.refused;
        self.released += other.released;
        self.cut += other.cut;
        self.ended += other.ended;
        self.copied += other.copied;
        self.grown = self.grown.max(other.grown);
    }
}

/// Without pushes.
pub fn run_for(world: &mut World, ns: u64) {
    let until_ns = world.now_ns + ns;
    while world.now_ns < until_ns {
        world.run(1, false).unwrap();
    }
}

#[test]
fn many_lives_with_pins() {
    let mut total = Kept::default();
    let mut count = 0;
    seeds(of_all(4, 60), |seed, loud| {
        count += 1;
        lives(seed, loud, &mut total)
    });
    println!("{total:?}");
    if count >= 60 {
        let Kept { granted, short, refused, released, cut, ended, copied, grown } = total;
        let rare = [granted, short, refused, released, cut, ended, copied as u64, u64::from(grown)];
        assert!(rare.iter().all(|n| *n > 3), "something never happens: {total:?}");
    }
}

#[test]
fn every_crash_point_while_the_log_grows_and_is_pinned() {
    let mut total = Kept::default();
    for seed in 0..of_all(1, 4) {
        let plan = Plan { cuts: Cuts::Everywhere, init_segments: 2, segments: 5, ..pinned(seed) };
        let plan = Plan { pins: 15, ..plan };
        let mut world = World::new(seed, plan);
        for _ in 0..2 {
            world.open().unwrap();
            world.run(50, true).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            world.power_cut(Survival::Torn).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            total.add(&world.kept);
        }
        assert!(world.cuts > 100, "only {} power cuts", world.cuts);
    }
    let grown = of_all(1, 5)..=5;
    assert!(grown.contains(&total.grown.into()) && total.granted > 0, "{total:?}");
}

/// Runs a log that has room for three of its five segments, which says why; then there is more.
fn stops_at_three_and_grows_when_it_can(world: &mut World, said: &str) {
    world.run(300, true).unwrap();
    let growth = world.keeper.as_ref().unwrap().growth().clone();
    assert_eq!((growth.grown, growth.target), (3, 5));
    let why = growth.stopped.unwrap();
    assert!(why.contains(said), "{why}");
    assert!(world.engine.as_ref().unwrap().status().segments_started > 6, "recycles meanwhile");
    world.disk.heal();
    run_for(world, 11_000_000_000);
    assert_eq!(world.keeper.as_ref().unwrap().growth().grown, 5);
    world.close().unwrap();
}

#[test]
fn a_log_that_cannot_grow_goes_on_with_what_there_is_and_grows_when_it_can() {
    let plan = Plan { init_segments: 2, segments: 5, pins: 0, keep_ns: 0, ..pinned(1) };
    let mut world = World::new(1, plan);
    world.disk.inject(Fault::Full(world.disk.used_bytes() + (1 << 20) + 5000));
    world.open().unwrap();
    stops_at_three_and_grows_when_it_can(&mut world, "No space");
}

#[test]
fn growth_leaves_free_what_is_to_stay_free_and_goes_on_when_there_is_more() {
    let min_free_bytes = 3 << 20;
    let plan = Plan { init_segments: 2, segments: 5, pins: 0, keep_ns: 0, ..pinned(6) };
    let mut world = World::new(6, Plan { cuts: Cuts::Never, min_free_bytes, ..plan });
    world.open().unwrap();
    // Room for one segment beside what is to stay free, and not quite for two.
    let room = min_free_bytes + 2 * SEGMENT_BYTES - 1;
    world.disk.inject(Fault::Full(world.disk.used_bytes() + room));
    let said = format!("{min_free_bytes} are to stay free");
    stops_at_three_and_grows_when_it_can(&mut world, &said);
}

#[test]
fn a_log_whose_old_segments_are_all_pinned_grows() {
    // Growth rests while there is something old enough to be reused; then a pin takes all of that.
    let plan = Plan { init_segments: 2, segments: 60, pins: 0, keep_ns: 1_000_000, ..pinned(5) };
    let mut world = World::new(5, Plan { cuts: Cuts::Never, ..plan });
    world.open().unwrap();
    world.run(300, true).unwrap();
    let grown = world.keeper.as_ref().unwrap().growth().grown;
    let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
    let before_ns = 3_600_000_000_000;
    let request = PinRequest { before_ns, ..PinRequest::default() };
    let now = world.now();
    let moment = Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns };
    keeper.pin(9, &request, moment, &mut Direct(&mut engine)).unwrap();
    let started = engine.status().segments_started;
    (world.keeper, world.engine) = (Some(keeper), Some(engine));
    world.ledger.pinning = true;
    world.run(300, true).unwrap();
    let after = world.keeper.as_ref().unwrap().growth().grown;
    assert!(after > grown && after < 60, "{grown}, then {after}");
    let status = world.engine.as_ref().unwrap().status();
    assert!(status.segments_started > started + 6, "{started}, then {status:?}");
    world.close().unwrap();
}

#[test]
fn what_is_younger_than_is_to_be_kept_is_refused_room_and_counted() {
    let plan = Plan { segments: 4, init_segments: 0, pins: 1_000_000, ..pinned(2) };
    let mut world = World::new(2, Plan { keep_ns: 3_600_000_000_000, ..plan });
    world.open().unwrap();
    world.run(400, true).unwrap();
    let status = world.engine.as_ref().unwrap().status();
    assert!(
        matches!(status.trouble, Trouble::Held { pinned: 0, young: 4, unsettled: 0 }),
        "{status:?}"
    );
    let refused: u64 = world.producers.iter().map(|p| p.report().refused_full).sum();
    assert!(refused > 0);
    world.close().unwrap();
}

/// Writes a manifest that says what is settled: all below an epoch, and at most a part of it.
fn settle_through(world: &mut World, epoch: u64) {
    settle_to(world, Settled { epoch, end: 1 });
}

fn settle_to(world: &mut World, settled: Settled) {
    let manifest = Manifest { store: STORE, settled, ..Manifest::default() };
    world.disk.create_folder(RUNS).unwrap();
    let new = format!("{MANIFEST}.new");
    world.disk.create(&new).unwrap().write_at(0, &manifest.encode()).unwrap();
    world.disk.rename(&new, MANIFEST).unwrap();
}

#[test]
fn what_is_not_settled_is_not_recycled() {
    let plan = Plan { segments: 4, init_segments: 0, pins: 1_000_000, keep_ns: 0, ..pinned(3) };
    let mut world = World::new(3, Plan { keep_unsettled: true, ..plan });
    world.open().unwrap();
    world.run(400, true).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    let held = Trouble::Held { pinned: 0, young: 0, unsettled: 4 };
    assert_eq!((status.trouble, status.segments_started), (held, 4));
    // Whoever settles says so in the manifest: the first two epochs, and a part of the third.
    settle_through(&mut world, 3);
    run_for(&mut world, 2_000_000_000);
    world.run(400, true).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    let held = Trouble::Held { pinned: 0, young: 0, unsettled: 4 };
    assert_eq!((status.trouble, status.segments_started), (held.clone(), 6));
    // And the third to its end, though nothing behind it.
    settle_to(&mut world, Settled { epoch: 3, end: 1 << 62 });
    run_for(&mut world, 2_000_000_000);
    world.run(400, true).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    assert_eq!((status.trouble, status.segments_started), (held, 7));
    world.close().unwrap();
}

/// Settling takes only what a later block proves durable, and a third segment waits for it: in a log of two,
/// and in a larger one of which two are used.
#[test]
fn of_two_segments_the_second_proves_the_first() {
    for (seed, segments) in (0..10).flat_map(|seed| [(seed, 2), (seed, 8)]) {
        let plan = Plan { segments, init_segments: 0, pins: 1_000_000, keep_ns: 0, ..pinned(seed) };
        let plan = Plan { buffers: 9, slowest_ns: 50_000_000, burst: 20, ..plan };
        let plan = Plan { keep_unsettled: true, keep_bytes: 2 * SEGMENT_BYTES, ..plan };
        let mut world = World::new(seed, Plan { cuts: Cuts::Never, ..plan });
        world.open().unwrap();
        world.run(600, true).unwrap();
        let held = Trouble::Held { pinned: 0, young: 0, unsettled: 2 };
        let place = format!("{seed}, {segments}");
        assert_eq!(world.engine.as_ref().unwrap().status().trouble, held, "{place}");
        let file = world.disk.open(&segment_name(1), Access::Read).unwrap();
        let mut bytes = vec![0; UNIT_BYTES];
        file.read_at(0, &mut bytes).unwrap();
        let (segment, _) = SegmentHeader::decode(&bytes).unwrap();
        file.read_at(UNIT_BYTES as u64, &mut bytes).unwrap();
        let block = BlockHeader::decode(&bytes).unwrap();
        assert_eq!((segment.epoch, block.sequence), (2, segment.first_block), "{place}");
        assert!(block.durable >= segment.first_block, "{place}: {block:?}");
        world.close().unwrap();
    }
}

/// A log of four segments that are all full of what is in no run.
fn unsettled(seed: u64) -> World {
    unsettled_by(seed, Waits::Not)
}

/// The same by producers that wait so.
fn unsettled_by(seed: u64, waits: Waits) -> World {
    let plan = Plan { segments: 4, init_segments: 0, pins: 1_000_000, keep_ns: 0, ..pinned(seed) };
    let mut world = World::new(seed, Plan { keep_unsettled: true, cuts: Cuts::Never, ..plan });
    world.open().unwrap();
    world.producers.iter().for_each(|producer| producer.wait_for_room(waits));
    world.run(600, true).unwrap();
    let held = Trouble::Held { pinned: 0, young: 0, unsettled: 4 };
    assert_eq!(world.engine.as_ref().unwrap().status().trouble, held);
    world
}

#[test]
fn what_a_killed_recorder_left_waits_for_settling() {
    let mut world = unsettled(3);
    let waiting: u64 = world.producers.iter().map(|p| p.report().used_bytes).sum();
    assert!(waiting > 0);
    world.kill();
    world.open().unwrap();
    // Other sources cannot wait; what is in the rings can.
    world.engine.as_mut().unwrap().tell(Tell::UnsettledYield(true));
    world.run(400, false).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    let held = Trouble::Held { pinned: 0, young: 0, unsettled: 4 };
    assert_eq!((status.trouble, status.segments_started), (held, 0));
    assert_eq!((status.segments_lost_unsettled, status.records_lost_unsettled), (0, 0));
    assert_eq!(world.producers.iter().map(|p| p.report().used_bytes).sum::<u64>(), waiting);
    // Once it is settled they are drained.
    settle_to(&mut world, Settled { epoch: 5, end: 0 });
    run_for(&mut world, 2_000_000_000);
    world.run(400, false).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    assert_eq!((status.trouble, status.segments_lost_unsettled), (Trouble::None, 0));
    assert_eq!(world.producers.iter().map(|p| p.report().used_bytes).sum::<u64>(), 0);
    world.close().unwrap();
}

#[test]
fn who_waits_has_nothing_recycled_that_is_not_settled() {
    let mut world = unsettled_by(3, Waits::Always);
    let held = Trouble::Held { pinned: 0, young: 0, unsettled: 4 };
    let wait = |world: &World, waits| {
        world.producers.iter().for_each(|producer| producer.wait_for_room(waits));
    };
    // Nobody settles any more: to what cannot wait, or need not then, it would yield.
    world.engine.as_mut().unwrap().tell(Tell::UnsettledYield(true));
    world.run(400, true).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    assert_eq!((status.trouble.clone(), status.segments_lost_unsettled), (held.clone(), 0));
    for producer in &world.producers {
        let told = producer.report();
        assert_eq!((told.trouble, told.settling_stopped), (held.clone(), true));
    }
    // As long as somebody settles.
    wait(&world, Waits::WhileSettled);
    world.engine.as_mut().unwrap().tell(Tell::UnsettledYield(false));
    world.run(400, true).unwrap();
    let status = world.engine.as_ref().unwrap().status().clone();
    assert_eq!((status.trouble, status.segments_lost_unsettled), (held, 0));
    settle_through(&mut world, 3);
    run_for(&mut world, 2_000_000_000);
    assert_eq!(world.engine.as_ref().unwrap().status().segments_lost_unsettled, 0);
    // And now nobody does, and the next one cannot wait.
    wait(&world, Waits::Not);
    world.engine.as_mut().unwrap().tell(Tell::UnsettledYield(true));
    world.run(1000, true).unwrap();
    assert!(world.engine.as_ref().unwrap().status().segments_lost_unsettled > 0);
}

#[test]
fn what_is_recycled_unsettled_is_counted() {
    let mut world = unsettled(3);
    let before = world.engine.as_ref().unwrap().status().records;
    // One recorder that knows what it wrote, and the next, whose keeper counts it.
    for again in [false, true] {
        if again {
            world.kill();
            world.open().unwrap();
            run_for(&mut world, 2_000_000_000);
        }
        world.engine.as_mut().unwrap().tell(Tell::UnsettledYield(true));
        let started = |world: &World| world.engine.as_ref().unwrap().status().clone();
        for _ in 0..400 {
            if started(&world).segments_lost_unsettled > 0 {
                break;
            }
            world.run(1, true).unwrap();
        }
        let status = started(&world);
        assert_eq!(status.segments_lost_unsettled, 1, "{status:?}");
        assert!((1..before).contains(&status.records_lost_unsettled), "{status:?} of {before}");
        assert!(status.samples_lost_unsettled > 0, "{status:?}");
    }
}

#[test]
fn what_a_killed_recorder_has_recycled_is_counted() {
    for (seed, in_order) in [(3, false), (4, false), (5, true)] {
        let mut world = unsettled(seed);
        let (mut lost, mut told) = (Held::default(), Held::default());
        for session in 0..3 {
            world.engine.as_mut().unwrap().tell(Tell::UnsettledYield(true));
            world.run(400, true).unwrap();
            // The newest header becomes durable.
            world.run(200, false).unwrap();
            let status = world.engine.as_ref().unwrap().status().clone();
            assert!(status.segments_lost_unsettled > 0, "{status:?}");
            let (records, samples) = (status.records_lost_unsettled, status.samples_lost_unsettled);
            lost = lost.plus(Held { records, samples });
            let ends = in_order && session == 1;
            if ends {
                world.close().unwrap();
            } else {
                world.kill();
            }
            let found = recover(&world.disk, Path::new("store")).unwrap().recycled;
            assert_eq!(found.held, lost, "seed {seed}, session {session}");
            told = if ends { lost } else { told };
            assert_eq!(found.told, told);
            world.open().unwrap();
            run_for(&mut world, 2_000_000_000);
        }
        assert_eq!(told == Held::default(), !in_order);
    }
}

/// Epochs of copies outside the log.
fn copies(world: &World) -> Vec<u64> {
    Pins::read(&world.disk, STORE).unwrap().kept.into_iter().collect()
}

#[test]
fn what_only_a_copy_holds_waits_for_settling() {
    let plan = Plan { segments: 8, init_segments: 0, pins: 1_000_000, keep_ns: 0, ..pinned(3) };
    let mut world = World::new(3, Plan { keep_unsettled: true, cuts: Cuts::Never, ..plan });
    world.open().unwrap();
    world.run(60, true).unwrap();
    let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
    let (before_ns, after_ns) = (3_600_000_000_000, 3_600_000_000_000);
    let request = PinRequest { before_ns, after_ns, ..PinRequest::default() };
    let now = world.now();
    let moment = Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns };
    keeper.pin(9, &request, moment, &mut Direct(&mut engine)).unwrap();
    (world.keeper, world.engine) = (Some(keeper), Some(engine));
    world.ledger.pinning = true;
    world.run(2000, true).unwrap();
    let status = |world: &World| world.engine.as_ref().unwrap().status().clone();
    let first = copies(&world).first().copied().unwrap();
    let Status { segments_started, segments_lost_unsettled, .. } = status(&world);
    assert!(segments_started > 10, "what was copied is reused: {segments_started}");
    assert_eq!(segments_lost_unsettled, 0, "and nothing of it is lost");
    assert_eq!(status(&world).unsettled_from_epoch, first, "nor passed over");
    // Neither the end of the pin nor that of the recorder takes away what is in no run.
    let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
    keeper.release(9, &mut Direct(&mut engine)).unwrap();
    (world.keeper, world.engine) = (Some(keeper), Some(engine));
    let left = copies(&world);
    assert_eq!(left.first(), Some(&first));
    world.kill();
    world.open().unwrap();
    assert_eq!((copies(&world), status(&world).unsettled_from_epoch), (left.clone(), first));
    settle_through(&mut world, first + 1);
    run_for(&mut world, 2_000_000_000);
    assert_eq!(copies(&world), left.get(1..).unwrap(), "one is settled");
    settle_through(&mut world, left.last().unwrap() + 1);
    run_for(&mut world, 2_000_000_000);
    assert!(copies(&world).is_empty(), "all are");
    world.close().unwrap();
}

#[test]
fn a_crash_at_any_operation_on_pins_leaves_them_old_or_new() {
    // A pin is granted, ends and is released, on a disk whose power goes at each operation of that.
    let mut seen = [0; 3];
    for at in 0..60 {
        let mut world = World::new(3, Plan { cuts: Cuts::Never, pins: 1_000_000, ..pinned(3) });
        world.open().unwrap();
        world.run(60, true).unwrap();
        let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
        let mut log = Direct(&mut engine);
        let now = world.now();
        let moment = Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns };
        let request = PinRequest { name: "x".to_owned(), ..PinRequest::default() };
        world.disk.inject(Fault::PowerOff(world.disk.operations() + at));
        let granted = keeper.pin(9, &request, moment, &mut log).is_ok();
        let (last_epoch, until_ns) = (u64::from(log.0.status().segments_started), now.boottime_ns);
        keeper.event(Event::PinEnded { id: 9, last_epoch, until_ns, cut: false }, &mut log);
        let asked = world.disk.operations();
        let released = granted && keeper.release(9, &mut log).is_ok();
        for mode in [Survival::None, Survival::All, Survival::Some, Survival::Torn] {
            let disk = world.disk.crash(&mut world.rng, mode);
            let found = Pins::read(&disk, STORE).unwrap();
            assert!(found.damaged.is_empty(), "{:?}", found.damaged);
            let pin = found.pins.get(&9);
            // Once the release is asked for, it may be gone already.
            assert!(pin.is_some() || !granted || asked < world.disk.operations(), "{at} {mode:?}");
            assert!(pin.is_none() || !released, "released, and there again");
            let state = pin.map_or(0, |pin| 1 + usize::from(pin.state != PinState::Open));
            seen[state] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 3), "gone, open, ended: {seen:?}");
}

#[test]
fn requests_of_other_processes_are_granted_refused_and_survive_garbage() {
    let mut world = World::new(4, Plan { cuts: Cuts::Never, pins: 1_000_000, ..pinned(4) });
    world.open().unwrap();
    world.run(400, true).unwrap();
    let put = |disk: &SimDisk, name: &str, bytes: &[u8]| {
        let _ = disk.create_folder("pins");
        disk.create(&format!("pins/{name}")).unwrap().write_at(0, bytes).unwrap();
    };
    let ask = |id| Pin { store: STORE, id, after_ns: 1000, ..Pin::default() };
    put(&world.disk, "0000000000000007.ask", &ask(7).encode());
    put(&world.disk, "0000000000000008.ask", &ask(9).encode());
    put(&world.disk, "0000000000000009.ask", b"garbage");
    let ages = Pin { before_ns: 86_400_000_000_000, ..ask(10) };
    put(&world.disk, "000000000000000a.ask", &ages.encode());
    put(&world.disk, "xyz.ask", b"");
    put(&world.disk, "0000000000000099.release", b"");
    run_for(&mut world, 300_000_000);
    let found = Pins::read(&world.disk, STORE).unwrap();
    assert_eq!(
        found.pins.keys().copied().collect::<Vec<_>>(),
        [7],
        "{:?}",
        world.disk.list("pins")
    );
    let files: Vec<String> = world.disk.list("pins").unwrap();
    let left = [
        "0000000000000007.pin",
        "0000000000000008.no",
        "0000000000000009.no",
        "000000000000000a.no",
        "xyz.ask",
    ];
    assert_eq!(files, left);
    put(&world.disk, "0000000000000007.release", b"");
    run_for(&mut world, 300_000_000);
    assert!(Pins::read(&world.disk, STORE).unwrap().pins.is_empty());
    world.close().unwrap();
}

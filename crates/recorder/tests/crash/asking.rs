//! A window that is asked for is held from then on, however long the device takes to make that durable.

use crate::ledger::Promise;
use crate::pinning::{Direct, pinned, run_for};
use crate::world::{Cuts, Plan, World};
use baro_log::{Pins, kept_name, segment_name};
use baro_ondisk::{Pin, PinState, SegmentHeader, StoreId};
use baro_recorder::simulate::{Engine, Log, Moment, PinStart, Tell, View};
use baro_recorder::{Error, PinRequest};
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};

const STORE: StoreId = StoreId([7; 16]);

fn filled(seed: u64) -> World {
    let plan = Plan { segments: 12, init_segments: 0, pins: 1 << 60, keep_ns: 0, ..pinned(seed) };
    let mut world = World::new(seed, Plan { cuts: Cuts::Never, ..plan });
    world.open().unwrap();
    while started(&world) < 4 {
        world.run(1, true).unwrap();
    }
    world
}

fn started(world: &World) -> u32 {
    world.engine.as_ref().unwrap().status().segments_started
}

/// Whether the log or a copy has this epoch.
fn is_there(world: &World, epoch: u64) -> bool {
    let log = (0..world.plan.segments).map(segment_name);
    log.chain([kept_name(epoch)]).any(|name| {
        let mut unit = [0; 4096];
        let Ok(file) = world.disk.open(&name, Access::Read) else { return false };
        file.read_at(0, &mut unit).unwrap();
        SegmentHeader::decode(&unit).is_ok_and(|(header, _)| header.epoch == epoch)
    })
}

#[test]
fn a_window_is_held_from_the_moment_its_request_is_seen() {
    // The window is over, or goes on until pins hold half the log.
    for (after_ns, state) in [(0, PinState::Whole), (3_600_000_000_000, PinState::Short)] {
        let mut world = filled(3);
        world.ledger.pinning = true;
        let (now, running_ns) = (world.now(), world.running_ns());
        let before_ns = 3_600_000_000_000;
        let engine = world.engine.as_mut().unwrap();
        let start = engine.hold(9, now.boottime_ns, before_ns, after_ns).unwrap();
        // The device is busy with making it durable for as long as the log goes round twice.
        while started(&world) < 30 {
            world.run(10, true).unwrap();
        }
        assert!(Pins::read(&world.disk, STORE).unwrap().pins.is_empty());
        let moment = Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns };
        let request = PinRequest { before_ns, after_ns, ..PinRequest::default() };
        let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
        let pin = keeper.pin(9, &request, moment, &mut Direct(&mut engine)).unwrap();
        (world.keeper, world.engine) = (Some(keeper), Some(engine));
        assert_eq!((pin.first_epoch, pin.reason.as_str()), (start.first_epoch, ""));
        run_for(&mut world, 1_000_000_000);
        let pin = Pins::read(&world.disk, STORE).unwrap().pins.remove(&9).unwrap();
        assert_eq!(pin.state, state, "{pin:?}");
        assert!(pin.last_epoch >= 4 && pin.last_epoch < 20, "{pin:?}");
        for epoch in pin.epochs() {
            assert!(is_there(&world, epoch), "{epoch} of {pin:?}");
        }
        if after_ns == 0 {
            let from_ns = running_ns - before_ns as i64;
            let promise = Promise { from_ns, to_ns: running_ns, ..Promise::default() };
            world.ledger.pins.insert(9, promise);
        }
        world.run(1000, true).unwrap();
        world.close().unwrap();
    }
}

/// The engine, and how many syncs of the disk there had been at each pin.
struct Noting<'a>(&'a mut Engine, SimDisk, Vec<u64>);

impl Log for Noting<'_> {
    fn pin(
        &mut self,
        id: u64,
        at_ns: i64,
        before_ns: u64,
        after_ns: u64,
    ) -> Result<PinStart, Error> {
        self.2.push(self.1.syncs());
        self.0.pin(id, at_ns, before_ns, after_ns).map_err(Error::Pin)
    }

    fn tell(&mut self, what: Tell) {
        self.0.tell(what);
    }

    fn view(&self) -> View {
        View::of(self.0.status())
    }
}

#[test]
fn all_requests_are_held_before_the_first_is_durable() {
    let mut world = filled(4);
    let now = world.now();
    let boottime_ns = now.boottime_ns;
    for id in [7, 8] {
        let pin = Pin { store: STORE, id, boottime_ns, boot_id: [1; 16], ..Pin::default() };
        baro_log::write_request(&world.disk, &pin).unwrap();
    }
    run_for(&mut world, 0);
    let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
    let mut log = Noting(&mut engine, world.disk.clone(), Vec::new());
    let before = world.disk.syncs();
    let later =
        baro_recorder::simulate::Now { monotonic_ns: now.monotonic_ns + 200_000_000, ..now };
    keeper.work(later, &mut log);
    assert_eq!(log.2, [before, before], "nothing was waited for");
    assert!(world.disk.syncs() > before, "and then they were made durable");
    let pins = Pins::read(&world.disk, STORE).unwrap().pins;
    assert_eq!(pins.keys().copied().collect::<Vec<_>>(), [7, 8]);
}

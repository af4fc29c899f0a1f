//! Copies of pinned segments that rot, or are cut or removed, in the simulated machine: while the log
//! has the segment they are made again and told; when it has not, nothing is done to what is left.

use crate::pinning::{Direct, pinned, run_for};
use crate::world::{Cuts, Plan, World};
use baro_log::{Pins, kept_name};
use baro_ondisk::StoreId;
use baro_recorder::PinRequest;
use baro_recorder::simulate::Moment;
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};

const STORE: StoreId = StoreId([7; 16]);
/// Each of the copies here is looked at within so long.
const LOOKS_NS: u64 = 200_000_000_000;

fn copies(world: &World) -> Vec<u64> {
    Pins::read(&world.disk, STORE).unwrap().kept.into_iter().collect()
}

fn bytes(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.size_bytes().unwrap() as usize];
    let read = file.read_at(0, &mut bytes).unwrap();
    assert_eq!(read, bytes.len());
    bytes
}

fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    let _ = disk.remove(name);
    let file = disk.create(name).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync_data().unwrap();
}

/// A log of twelve segments, half full and pinned, of which some have been copied out.
fn copied() -> World {
    let plan = Plan { segments: 12, init_segments: 0, pins: 1 << 60, keep_ns: 0, ..pinned(3) };
    let mut world = World::new(3, Plan { cuts: Cuts::Never, ..plan });
    world.open().unwrap();
    while world.engine.as_ref().unwrap().status().segments_started < 6 {
        world.run(1, true).unwrap();
    }
    let (mut keeper, mut engine) = (world.keeper.take().unwrap(), world.engine.take().unwrap());
    let request = PinRequest { before_ns: 3_600_000_000_000, ..PinRequest::default() };
    let now = world.now();
    let moment = Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns };
    keeper.pin(9, &request, moment, &mut Direct(&mut engine)).unwrap();
    (world.keeper, world.engine) = (Some(keeper), Some(engine));
    world.ledger.pinning = true;
    run_for(&mut world, 2_000_000_000);
    assert!((2..=3).contains(&copies(&world).len()), "{:?}", copies(&world));
    world
}

fn said(world: &mut World) -> Vec<String> {
    world.keeper.as_mut().unwrap().take_said()
}

#[test]
fn a_copy_that_rots_is_made_again_while_the_log_has_its_segment() {
    let mut world = copied();
    let (first, second) = (copies(&world)[0], copies(&world)[1]);
    let name = kept_name(first);
    let whole = bytes(&world.disk, &name);
    run_for(&mut world, LOOKS_NS);
    assert_eq!(said(&mut world), [""; 0], "nothing has rotted yet");

    // In its header and in the middle; cut; removed; another's.
    let disk = world.disk.clone();
    let end = whole.len();
    let other = bytes(&disk, &kept_name(second));
    let flips = [20, end / 2].map(|at| {
        let mut rotten = whole.clone();
        rotten[at] ^= 8;
        Some(rotten)
    });
    let cuts = [Some(whole[..end - 4096].to_vec()), None, Some(other)];
    for (number, deed) in flips.into_iter().chain(cuts).enumerate() {
        match &deed {
            Some(left) => put(&world.disk, &name, left),
            None => world.disk.remove(&name).unwrap(),
        }
        run_for(&mut world, LOOKS_NS);
        assert_eq!(bytes(&world.disk, &name), whole, "{number}");
        let told = said(&mut world);
        let [told] = &told[..] else { panic!("{number}: {told:?}") };
        assert!(told.starts_with(&name) && told.contains("made again"), "{number}: {told}");
    }

    // The next recorder does not know how long it was, and finds it cut between two blocks all the same.
    world.kill();
    put(&world.disk, &name, &whole[..end / 2 / 4096 * 4096]);
    world.open().unwrap();
    run_for(&mut world, LOOKS_NS);
    assert_eq!(bytes(&world.disk, &name), whole);
    assert_eq!(said(&mut world).len(), 1);
    world.run(2000, true).unwrap();
    assert!(world.engine.as_ref().unwrap().status().segments_started > 20, "the log goes round");
    world.close().unwrap();
}

#[test]
fn a_copy_is_left_alone_where_the_log_has_nothing_better() {
    // Both have rotted.
    let mut world = copied();
    let (first, last) = (copies(&world)[0], *copies(&world).last().unwrap());
    let name = kept_name(first);
    let index = (first - 1) as u32;
    assert!(
        world.disk.flip(&name, 9000, 1) && world.disk.flip(&format!("log/{index:08}.seg"), 9000, 1)
    );
    let rotten = bytes(&world.disk, &name);
    run_for(&mut world, LOOKS_NS);
    let told = said(&mut world);
    assert!(told.len() == 1 && told[0].contains("is not whole either"), "{told:?}");
    assert_eq!(bytes(&world.disk, &name), rotten);

    // The log has come round since.
    let name = kept_name(last);
    world.run(4000, true).unwrap();
    assert!(world.engine.as_ref().unwrap().status().segments_started > 24);
    assert!(world.disk.flip(&name, 9000, 1));
    let rotten = bytes(&world.disk, &name);
    run_for(&mut world, LOOKS_NS);
    assert_eq!(bytes(&world.disk, &name), rotten);
    assert_eq!(said(&mut world), [""; 0]);
}

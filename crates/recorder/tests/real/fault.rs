//! Real file systems that fail under a recorder: no room, I/O errors, read-only, gone. The recorder
//! says so, counts what it must refuse, never holds up the producer, and closes; what a ring holds
//! is recorded when the disk is well again, by this recorder or the next.

use super::machine::{Mount, Pool, alone, folder};
use super::process::{sleep_ms, wait_for};
use super::reading::read;
use super::scene::{Owned, Scene};
use super::truth::{CHANNEL, Told, Truth, frame};
use baro_ondisk::WhenFull;
use baro_recorder::{Closed, Error, Producer, Recorder, Refused, Trouble};
use std::sync::mpsc::channel;

/// A producer in this process that keeps the truth.
struct Feed {
    producer: Producer,
    truth: Truth,
    payload: Vec<u8>,
}

impl Feed {
    fn new(recorder: &Recorder, scene: &Scene) -> Self {
        let producer = recorder.producer().unwrap();
        Feed { producer, truth: Truth::open(scene.shared()), payload: Vec::new() }
    }

    /// Pushes until `count` records were taken, waiting while the ring is full; then waits until
    /// they are durable.
    fn push_durably(&mut self, recorder: &Recorder, count: u64) {
        for _ in 0..count {
            wait_for("room", || self.producer.free_bytes() > 20_000);
            assert!(self.push());
        }
        let end = self.producer.next_sequence();
        assert!(recorder.wait_durable(&self.producer, end, 60_000_000_000));
        self.truth.note_head(self.producer.report().producer, self.producer.durable(), 0);
    }

    /// Pushes until `count` were refused.
    fn push_until_refused(&mut self, count: u64) {
        let mut refused = 0;
        while refused < count {
            if !self.push() {
                refused += 1;
            }
        }
    }

    fn push(&mut self) -> bool {
        let sequence = self.producer.next_sequence();
        let id = self.producer.report().producer;
        frame(id, sequence, &mut self.payload);
        let taken = match self.producer.push_frame(CHANNEL, sequence as i64, &self.payload) {
            Ok(given) => given == sequence,
            Err(Refused::RingFull) => false,
            Err(other) => panic!("{other}"),
        };
        self.truth.note(sequence, taken);
        self.truth.note_head(id, self.producer.durable(), 0);
        taken
    }

    fn told(&self) -> Told {
        self.truth.read()
    }
}

/// Closes on another thread; fails the test if that hangs.
fn close(recorder: Recorder) -> Closed {
    let (done, closed) = channel();
    std::thread::spawn(move || {
        let _ = done.send(recorder.close());
    });
    closed.recv_timeout(std::time::Duration::from_mins(1)).expect("close hangs")
}

/// Pushes until the recorder says that its device fails; returns what it says.
fn trouble(recorder: &Recorder, feed: &mut Feed) -> String {
    let mut found = String::new();
    wait_for("a failure to be reported", || match recorder.status().trouble {
        Trouble::Device { error } => {
            found = error;
            true
        }
        // A device may take some more before it fails.
        _ => {
            feed.push();
            false
        }
    });
    found
}

#[test]
fn init_on_a_full_disk_says_so_and_leaves_room_for_a_smaller_one() {
    let _alone = alone();
    let Some(mount) = folder("small").and_then(|at| Mount::new(at, 48, "noatime")) else { return };
    let Some(scene) = Scene::without_store("small", &mount.path()).map(Owned) else { return };
    let error = scene.try_init(200, WhenFull::Stop).unwrap_err().to_string();
    assert!(error.contains(".seg") && error.contains("No space left"), "{error}");
    assert!(error.contains("needs 2") && error.contains("MiB free on its disk"), "{error}");
    let error = Recorder::open(scene.store(), scene.options()).unwrap_err();
    assert!(matches!(error, Error::Log(baro_log::Error::NotAStore { .. })), "{error}");
    scene.init(16, WhenFull::Stop);
    let recorder = scene.open();
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 500);
    let producer = feed.told();
    drop(feed);
    assert_eq!(close(recorder).left, 0);
    producer.check_all(&read(scene.store()), 0);
}

#[test]
fn a_disk_that_fails_and_recovers_loses_only_what_was_refused() {
    let _alone = alone();
    let Some(pool) = folder("thin").and_then(|at| Pool::new(at, 96)) else { return };
    let Some(mount) = Mount::new(pool.path().join("disk"), 64, "noatime,commit=900") else {
        return;
    };
    let Some(scene) = Scene::without_store("thin", &mount.path()).map(Owned) else { return };
    scene.init(24, WhenFull::Stop);
    let recorder = scene.open();
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 300);
    let _single = pool.run_out(&mount);
    let said = trouble(&recorder, &mut feed);
    assert!(said.contains(".seg") && said.contains("write"), "{said}");
    assert!(recorder.status().failures > 0);
    feed.push_until_refused(50);
    let held = feed.producer.durable();
    feed.push_until_refused(50);
    assert_eq!(feed.producer.durable(), held, "durable on a disk that takes nothing");
    pool.refill();
    let end = feed.producer.next_sequence();
    assert!(recorder.wait_durable(&feed.producer, end, 60_000_000_000));
    wait_for("no more trouble", || recorder.status().trouble == Trouble::None);
    feed.push_durably(&recorder, 300);
    let told = feed.told();
    drop(feed);
    let closed = close(recorder);
    assert_eq!((closed.left, closed.status.lost), (0, told.refused()));
    assert_eq!(closed.status.rings[0].refused_full, told.refused());
    told.check_all(&read(scene.store()), 0);
}

#[test]
fn a_disk_that_is_gone_is_reported_and_holds_up_nobody() {
    let _alone = alone();
    let Some(mount) = folder("gone").and_then(|at| Mount::new(at, 64, "noatime")) else { return };
    let Some(scene) = Scene::without_store("gone", &mount.path()).map(Owned) else { return };
    scene.init(24, WhenFull::Stop);
    let recorder = scene.open();
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 300);
    mount.shrink(4096);
    feed.push_until_refused(100);
    let said = trouble(&recorder, &mut feed);
    assert!(said.contains(".seg"), "{said}");
    let told = feed.told();
    let closed = close(recorder);
    assert!(matches!(closed.status.trouble, Trouble::Device { .. }), "{:?}", closed.status);
    assert_eq!(closed.left + closed.refused, told.known() - feed.producer.durable());
    assert!(closed.left >= 100);
    assert_eq!(feed.producer.push_frame(CHANNEL, 0, &[0; 100]), Err(Refused::Closed));
}

#[test]
fn what_a_read_only_file_system_did_not_take_is_recorded_after_its_repair() {
    let _alone = alone();
    let at = folder("ro");
    let Some(mut mount) = at.and_then(|at| Mount::new(at, 64, "noatime,errors=remount-ro")) else {
        return;
    };
    let error = format!("/sys/fs/ext4/{}/trigger_fs_error", mount.device_name());
    if !std::path::Path::new(&error).exists() {
        println!("skipped: no {error}");
        return;
    }
    let Some(scene) = Scene::without_store("ro", &mount.path()).map(Owned) else { return };
    scene.init(24, WhenFull::Stop);
    let recorder = scene.open();
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 300);
    std::fs::write(error, "a test of baro-recorder").unwrap();
    feed.push_until_refused(100);
    let said = trouble(&recorder, &mut feed);
    assert!(said.contains(".seg"), "{said}");
    let told = feed.told();
    drop(feed);
    let closed = close(recorder);
    assert!(closed.left >= 100, "{closed:?}");
    assert_eq!(scene.ring_files().len(), 1);
    mount.unmount().unwrap();
    mount.repair();
    mount.mount().unwrap();
    let recorder = scene.open();
    assert_eq!(recorder.opening().rings_taken_over, 1);
    let closed = close(recorder);
    assert_eq!((closed.left, closed.status.lost), (0, told.refused()));
    told.check_all(&read(scene.store()), 0);
    assert!(scene.ring_files().is_empty());
}

#[test]
fn a_store_that_is_deleted_while_recording_ends_in_a_report() {
    let Some(scene) = Scene::new("deleted", 16).map(Owned) else { return };
    let recorder = scene.open();
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 300);
    std::fs::remove_dir_all(scene.store()).unwrap();
    // Writes to the open segment succeed still: nothing that they say counts.
    for _ in 0..200 {
        for _ in 0..20 {
            feed.push();
        }
        sleep_ms(1);
    }
    feed.push_until_refused(100);
    // That a segment is not there any more may be seen first.
    let mut said = String::new();
    wait_for("the removal to be told", || {
        said = trouble(&recorder, &mut feed);
        said.contains("the store's folder was removed while recording")
    });
    let durable = recorder.status().records;
    let closed = close(recorder);
    assert!(closed.left >= 100 && closed.status.stopped, "{closed:?}");
    assert!((300..=durable).contains(&closed.lost_durable), "{closed:?}");
    assert_eq!(closed.damage, [said]);
    let error = Recorder::open(scene.store(), scene.options()).unwrap_err();
    assert!(matches!(error, Error::Log(baro_log::Error::NotAStore { .. })), "{error}");
}

/// Nothing is left to write when the removal is seen: the close does not wait for a mark of the end that
/// nobody writes any more.
#[test]
fn a_store_that_is_deleted_when_all_is_durable_is_closed_at_once() {
    let Some(scene) = Scene::new("deleted-idle", 16).map(Owned) else { return };
    let recorder = scene.open();
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 300);
    std::fs::remove_dir_all(scene.store()).unwrap();
    wait_for("the removal to be told", || recorder.status().stopped);
    drop(feed);
    let closed = close(recorder);
    assert_eq!((closed.left, closed.lost_durable), (0, 300), "{closed:?}");
}

#[test]
fn a_store_on_a_tmpfs_says_that_nothing_is_durable() {
    let Some(scene) = Scene::without_store("tmpfs", "/dev/shm".as_ref()).map(Owned) else { return };
    scene.init(4, WhenFull::Stop);
    let recorder = scene.open();
    let said = recorder.opening().reservations().join("\n");
    assert!(said.contains("nothing survives a power cut"), "{said}");
    let mut feed = Feed::new(&recorder, &scene);
    feed.push_durably(&recorder, 100);
    let told = feed.told();
    drop(feed);
    assert_eq!(close(recorder).left, 0);
    told.check_all(&read(scene.store()), 0);
}

//! Plans for queues, on a fake root.
#![allow(clippy::disallowed_methods, reason = "tests make the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_tune::{Journal, Options, Queue, QueuePlan, QueueWatch};
use std::fs;
use std::path::{Path, PathBuf};

/// A fake root, removed when dropped.
struct Root(PathBuf);

impl Root {
    fn new(name: &str) -> Root {
        let root = Root(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tune-queue-{name}")));
        let _ = fs::remove_dir_all(&root.0);
        root.put("proc/sys/kernel/random/boot_id", "2be83dfc-444c-4bf6-9e21-3609b81e4818");
        root
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn disk(&self, name: &str, requests: u64, kib: u64, mib_written: u64, busy_ms: u64) {
        self.put(&format!("sys/block/{name}/queue/nr_requests"), &requests.to_string());
        self.put(&format!("sys/block/{name}/queue/max_sectors_kb"), &kib.to_string());
        let stat = format!("10 0 0 7 500 0 {} 90 0 {busy_ms} 97 0 0 0 0", mib_written * 2048);
        self.put(&format!("sys/block/{name}/stat"), &stat);
    }

    fn device(&self, numbers: &str, name: &str) {
        self.put(&format!("sys/dev/block/{numbers}/uevent"), &format!("MAJOR=8\nDEVNAME={name}"));
    }

    fn plans(&self, device: (u32, u32)) -> Vec<QueuePlan> {
        QueueWatch::new(&self.0, device).unwrap().plans().unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap().trim().to_owned()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn queue(requests: u64, kib: u64) -> Queue {
    Queue { requests, request_bytes: kib << 10 }
}

#[test]
fn a_deep_queue_before_a_slow_device_is_shortened_and_put_back() {
    let root = Root::new("slow");
    root.device("8:1", "sda1");
    root.disk("sda", 128, 1280, 12, 1000);
    root.put("sys/block/sda/sda1/partition", "1");
    let plans = root.plans((8, 1));
    let [plan] = plans.as_slice() else { panic!("{plans:?}") };
    assert_eq!((plan.device.as_str(), plan.bytes_per_s), ("sda", Some(12 << 20)));
    assert_eq!((plan.now, plan.wanted), (queue(128, 1280), queue(4, 1280)));
    assert!(plan.wanted.drain_ns(12 << 20) <= 500_000_000);
    let options =
        Options { state_dir: root.0.join("state"), root: root.0.clone(), ..Options::default() };
    let (mut journal, _) = Journal::open(&options).unwrap();
    for setting in plan.settings() {
        journal.apply(&setting).unwrap();
    }
    assert_eq!(root.text("sys/block/sda/queue/nr_requests"), "4");
    assert!(root.plans((8, 1))[0].settings().is_empty(), "once is enough");
    drop(journal);
    assert_eq!(root.text("sys/block/sda/queue/nr_requests"), "128");
}

#[test]
fn what_it_does_now_counts_more_than_its_past_and_no_queue_gets_deeper_than_found() {
    let root = Root::new("past");
    root.device("7:0", "loop0");
    root.disk("loop0", 128, 1280, 10_000, 10_000);
    let watch = QueueWatch::new(&root.0, (7, 0)).unwrap();
    assert!(watch.plans().unwrap()[0].settings().is_empty(), "fast so far");
    root.disk("loop0", 128, 1280, 10_012, 11_000);
    assert_eq!(watch.plans().unwrap()[0].wanted, queue(4, 1280));
    // A speed that wavers changes nothing; one that has changed does.
    for (requests, mib, settings) in [(4, 10_013, 0), (4, 10_040, 1), (128, 11_000, 0)] {
        root.disk("loop0", requests, 1280, mib, 11_000);
        let plan = &watch.plans().unwrap()[0];
        assert_eq!(plan.settings().len(), settings, "{plan:?}");
        assert!(plan.wanted.requests <= 128);
    }
}

#[test]
fn where_four_requests_are_too_much_they_become_smaller() {
    let root = Root::new("tiny");
    root.device("179:0", "mmcblk0");
    root.disk("mmcblk0", 64, 1280, 2, 1000);
    let plan = &root.plans((179, 0))[0];
    assert_eq!((plan.wanted, plan.settings().len()), (queue(4, 256), 2));
    // As slow as a floppy: not below what small flash writes well.
    root.disk("mmcblk0", 64, 1280, 1, 100_000);
    assert_eq!(root.plans((179, 0))[0].wanted, queue(4, 128));
}

#[test]
fn fast_devices_short_queues_and_unknown_speeds_are_left_alone() {
    let root = Root::new("fast");
    root.device("259:0", "nvme0n1");
    for (requests, kib, mib, busy_ms) in
        [(1023, 128, 1000, 1000), (2, 512, 12, 1000), (128, 1280, 12, 500), (128, 1280, 0, 0)]
    {
        root.disk("nvme0n1", requests, kib, mib, busy_ms);
        let plan = &root.plans((259, 0))[0];
        assert!(plan.settings().is_empty(), "{plan:?}");
    }
    root.put("sys/block/nvme0n1/stat", "no numbers");
    assert_eq!(root.plans((259, 0))[0].bytes_per_s, None);
    assert!(root.plans((0, 30)).is_empty(), "no block device");
}

#[test]
fn a_mapped_device_has_the_queues_of_its_disks() {
    let root = Root::new("mapped");
    root.device("253:0", "dm-0");
    root.put("sys/block/dm-0/slaves/sda1/x", "");
    root.put("sys/block/dm-0/slaves/cciss!c0d0/x", "");
    root.put("sys/block/sda/sda1/partition", "1");
    root.disk("sda", 64, 1280, 12, 1000);
    root.disk("cciss!c0d0", 64, 1280, 12, 1000);
    let names: Vec<_> = root.plans((253, 0)).into_iter().map(|plan| plan.device).collect();
    assert_eq!(names, ["cciss!c0d0", "sda"]);
    // A loop of devices ends.
    root.put("sys/block/md0/slaves/md0/x", "");
    root.device("9:0", "md0");
    assert!(root.plans((9, 0)).is_empty());
}

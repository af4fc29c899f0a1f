//! Which disk was waited for, and whether any was: disks that others keep busy, disks below others, programs that
//! are file systems.

use super::*;
use crate::timeline::Call;

const OTHER: Device = Device(8 << 20 | 16);
const THIRD: Device = Device(8 << 20 | 32);
const DM: Device = Device(253 << 20);
const READ: &str = "io_schedule < folio_wait_bit_common < filemap_get_pages < filemap_read";
const WRITTEN: &str = "io_schedule < folio_wait_writeback < sync_inodes_sb";
const DIRECT: &str = "io_schedule < __iomap_dio_rw < vfs_write";

/// A disk that a task keeps busy: of a request each 3 ms one ends with the victim's wait, at 600 ms.
fn busy(scene: &mut Scene, device: Device, pid: i32, is_read: bool) {
    scene.task(pid, if pid < 50 { "other" } else { "kworker/u8:1" });
    for at_ms in (99..700).step_by(3) {
        scene.request_of(device, pid, (at_ms, at_ms + 3), 1 << 20);
    }
    let class = if is_read { &b"R"[..] } else { b"WS" };
    for request in &mut scene.line.disks.get_mut(&device).unwrap().requests {
        if request.pid == pid {
            request.class = Name::new(class);
        }
    }
}

fn of_end(call: &SlowCall) -> (Vec<&'static str>, Evidence, u64) {
    (causes(call), call.known_by, call.unexplained_ns / MS)
}

/// Makes calls, as a program does and no task of the kernel.
fn program(scene: &mut Scene, pid: i32) {
    scene.task(pid, "sshfs");
    let call = Call { number: 20, args: [5; 6], begin_ns: 0, end_ns: Some(MS), ret: 16 };
    scene.line.tasks.get_mut(&pid).unwrap().calls.push(call);
}

/// A read of a file system that is a program or is on a server, beside a disk that another keeps busy. The kernel
/// may leave the caller of `filemap_read` out of the stack.
#[test]
fn io_that_a_program_ended_is_told_with_it() {
    let told = |stack: &str, by: i32, fact: &str| {
        let mut scene = Scene::of_victim(stack, by);
        program(&mut scene, 45);
        scene.sleeps(45, 105, 595, "schedule < do_nanosleep", 0);
        scene.task(51, "kworker/u8:2");
        busy(&mut scene, DEVICE, 40, true);
        scene.fact("file systems", fact);
        let call = scene.told();
        assert_eq!(call.advice, []);
        (causes(&call), call.cause_detail, call.unexplained_ns / MS)
    };
    let fuse = Some("fuse");
    for stack in [format!("{READ} < fuse_file_read_iter"), format!("{WRITTEN} < fuse_fsync")] {
        let first = if stack.contains("fsync") { "writeback" } else { "data_read" };
        assert_eq!(told(&stack, 45, ""), (vec![first, "daemon", "timer"], fuse, 0));
    }
    assert_eq!(told(READ, 45, "45"), (vec!["data_read", "daemon", "timer"], fuse, 0));
    // Whoever it was, he had it.
    assert_eq!(told(READ, 45, ""), (vec!["data_read", "timer"], None, 0));
    // A server's answer comes in a worker of the kernel.
    let (chain, detail, unexplained_ms) = told(&format!("{READ} < nfs_file_read"), 51, "");
    assert_eq!((chain, detail), (vec!["data_read", "daemon"], Some("nfs_server")));
    assert_eq!(unexplained_ms, 0);
}

/// A signal ends a wait, and what has passed a read on to a file system of this machine waits for its disk.
#[test]
fn io_that_a_disk_ended_is_not_a_programs() {
    let told = |stack: &str, by: i32, make: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::of_victim(stack, by);
        program(&mut scene, 45);
        make(&mut scene);
        causes(&scene.told())
    };
    let own = |scene: &mut Scene| scene.request(10, 101, 599, 4096);
    assert_eq!(told(DIRECT, 45, &own), ["direct_io", "device"]);
    let passed =
        format!("{READ} < ext4_file_read_iter < backing_file_read_iter < fuse_file_read_iter");
    let reads = |scene: &mut Scene| {
        own(scene);
        scene.line.disks.get_mut(&DEVICE).unwrap().requests[0].class = Name::new(b"R");
    };
    assert_eq!(told(&passed, 0, &reads), ["data_read", "device"]);
    let killed = |scene: &mut Scene| {
        const KILL: i64 = 62;
        let call = &mut scene.line.tasks.get_mut(&45).unwrap().calls[0];
        (call.number, call.begin_ns, call.end_ns) = (KILL, 599 * MS, Some(600 * MS));
        scene.request(40, 101, 599, 4096);
        scene.line.disks.get_mut(&DEVICE).unwrap().requests[0].class = Name::new(b"R");
    };
    assert_eq!(told(READ, 45, &killed), ["data_read", "device"]);
    // A place in the queue is given back by whoever has not used it.
    let full = |scene: &mut Scene| scene.request(45, 101, 599, 4096);
    assert_eq!(told("io_schedule < blk_mq_get_tag < vfs_write", 45, &full), ["tags", "device"]);
}

/// A disk in use by others ends requests at any time.
#[test]
fn a_disk_that_others_keep_busy_is_shown_only_where_no_other_may_be_it() {
    let told = |disks: &[(Device, i32, bool)]| {
        let mut scene = Scene::of_victim(READ, 0);
        for (device, pid, is_read) in disks {
            busy(&mut scene, *device, *pid, *is_read);
        }
        of_end(&scene.told())
    };
    let unknown = (vec!["data_read", "unknown"], Evidence::Absence, 500);
    let queue = (vec!["data_read", "device_queue"], Evidence::Event, 0);
    // Neither is a read of this one: what it ended was no read.
    assert_eq!(told(&[(DEVICE, 40, false)]), unknown);
    assert_eq!(told(&[(DEVICE, 40, true), (OTHER, 41, true)]), unknown);
    let (chain, ..) = told(&[(DEVICE, 40, true)]);
    assert_eq!(chain, queue.0);
    let (chain, ..) = told(&[(DEVICE, 40, true), (OTHER, 41, false)]);
    assert_eq!(chain, queue.0);
}

/// Where the place of a sleep says nothing of I/O, that a disk ended a request then is no more than a coincidence.
#[test]
fn a_sleep_of_no_known_kind_is_a_disks_only_by_a_request_of_its_own() {
    let told = |by: i32, make: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::of_victim("schedule < wait_for_completion < nothing_known", by);
        scene.task(51, "kworker/u8:2");
        make(&mut scene);
        of_end(&scene.told())
    };
    let others = |scene: &mut Scene| busy(scene, DEVICE, 40, true);
    for by in [0, 51] {
        let (_, known_by, unexplained_ms) = told(by, &others);
        assert_eq!((known_by, unexplained_ms), (Evidence::Absence, 500), "{by}");
        let own = |scene: &mut Scene| scene.request(10, 101, 599, 4096);
        assert_eq!(told(by, &own), (vec!["other", "device"], Evidence::Stack, 0), "{by}");
    }
}

/// What the kernel writes of a task's data is no request of others.
#[test]
fn what_the_kernel_writes_is_not_before_ones_own() {
    let told = |stack: &str, pid: i32| {
        let mut scene = Scene::of_victim(stack, 0);
        scene.task(30, "kworker/u8:0");
        scene.task(40, "other");
        for at in 0..8 {
            scene.request(pid, 101 + at, 592 + at, 1 << 20);
        }
        causes(&scene.told()).pop()
    };
    assert_eq!(told(WRITTEN, 30), Some("device"));
    assert_eq!(told(WRITTEN, 40), Some("device_queue"));
    assert_eq!(told(DIRECT, 30), Some("device_queue"));
    let log = "io_schedule < __wait_on_buffer < jbd2_log_do_checkpoint < __jbd2_log_wait_for_space";
    assert_eq!(told(log, 30), Some("device"));
    assert_eq!(told("io_schedule < bit_wait_io < do_get_write_access", 30), Some("device"));
    // Who gives some of it himself waits behind what is written for others.
    let mut scene = Scene::of_victim(WRITTEN, 0);
    scene.task(30, "kworker/u8:0");
    for at in 0..8 {
        scene.request(30, 101 + at, 592 + at, 1 << 20);
    }
    scene.request(10, 110, 598, 4096);
    assert_eq!(causes(&scene.told()).pop(), Some("device_queue"));
}

/// LVM, dm-crypt and md have no requests of their own: what is about them is about the disks below.
#[test]
fn a_disk_without_requests_is_followed_to_those_below() {
    let told = |below: &[(&str, &str)]| {
        let mut scene = Scene::of_victim("io_schedule < folio_wait_writeback < ext4_sync_file", 0);
        scene.syncs(10, 100, 600);
        scene.line.tasks.get_mut(&10).unwrap().syncs[0].device = DM;
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        scene.line.journals.entry(DM).or_default().thread = Some(21);
        for (path, text) in below {
            scene.fact(path, text);
        }
        // The other disk's end is nearer.
        busy(&mut scene, DEVICE, 52, false);
        scene.task(30, "kworker/u8:0");
        scene.request_of(OTHER, 30, (110, 599), 4096);
        scene.told().chain.last().unwrap().place.clone()
    };
    assert_eq!(told(&[]), "sda");
    assert_eq!(told(&[("/sys/block/dm-0/slaves", "sdb")]), "sdb");
    // By way of a partition of it and another that has none.
    let ways = [("/sys/block/dm-0/slaves", "dm-1"), ("/sys/block/dm-1/slaves", "sdb1")];
    assert_eq!(told(&ways), "sdb");
}

/// Of a disk that does not answer any more, since before the recording until after it.
#[test]
fn what_was_with_a_disk_all_the_time_is_told() {
    let told = |begin: &str, end: &str, make: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::of_victim(DIRECT, 0);
        let task = scene.line.tasks.get_mut(&10).unwrap();
        (task.waits[0].woken_ns, task.waits[0].end_ns, task.calls[0].end_ns) = (None, None, None);
        (scene.line.begin_ns, scene.line.end_ns) = (100 * MS, 600 * MS);
        scene.fact("hangs", &format!("at {}\n", 80 * MS));
        scene.fact("in flight", begin);
        scene.fact("in flight at the end", end);
        scene.syncs(10, 100, 600);
        make(&mut scene);
        let call = scene.told();
        let evidence = call.tree[0].children.first().map(|one| one.evidence.clone());
        (of_end(&call), evidence.unwrap_or_default())
    };
    let held = (vec!["direct_io", "device"], Evidence::Stack, 0);
    let (found, evidence) = told("sda 1 0\n", "sda 1 0\nsdb 0 4\n", &|_| {});
    assert_eq!(found, held, "{evidence}");
    assert_eq!(evidence, "1 request was with sda before the trace and at its end");
    // It began to wait later; another disk has such requests too.
    let later = |scene: &mut Scene| scene.line.begin_ns = 95 * MS;
    assert_ne!(told("sda 1 0\n", "sda 1 0\n", &later).0, held);
    assert_ne!(told("sda 1 0\nsdb 1 0\n", "sda 1 0\nsdb 1 0\n", &|_| {}).0, held);
    // What was issued meanwhile accounts for it; nothing was there before; events were lost; it is out of a ring.
    let issued = |scene: &mut Scene| {
        scene.request(11, 590, 900, 4096);
        scene.line.disks.get_mut(&DEVICE).unwrap().requests[0].done_ns = None;
    };
    let lost = |scene: &mut Scene| scene.line.lost_events = 1;
    let ring = |scene: &mut Scene| scene.fact("hangs", "at 7\n");
    let late = |scene: &mut Scene| {
        ring(scene);
        scene.line.begin_ns += 3_000 * MS;
        scene.line.end_ns += 3_000 * MS;
    };
    assert_ne!(told("sda 1 0\n", "sda 1 0\n", &issued).0, held);
    assert_ne!(told("sdb 1 0\n", "sda 1 0\n", &|_| {}).0, held);
    assert_ne!(told("sda 1 0\n", "sda 1 0\n", &lost).0, held);
    assert_ne!(told("sda 1 0\n", "sda 1 0\n", &late).0, held);
}

/// Of a mapping that is suspended meanwhile, with a disk below that has nothing to do until its end.
#[test]
fn a_suspended_mapping_holds_what_stands_on_it() {
    let told = |of: &str, from_ms: u64, to_ms: u64| {
        let stack = "io_schedule < folio_wait_writeback < ext4_sync_file";
        let mut scene = Scene::of_victim(stack, 0);
        scene.syncs(10, 100, 600);
        scene.line.tasks.get_mut(&10).unwrap().syncs[0].device = DM;
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        scene.line.journals.entry(DM).or_default().thread = Some(21);
        scene.fact("/sys/block/dm-0/slaves", "sdb");
        scene.fact("/sys/block/dm-1/slaves", "sdb");
        let file = format!("/sys/block/{of}/dm/suspended");
        scene.fact(&file, "0");
        for (number, ms, text) in [(1, from_ms, "1"), (2, to_ms, "0")] {
            let fact = format!("{} {} {file}\n{text}", ms * MS, (ms + 5) * MS);
            scene.fact(&format!("limit change {number}"), &fact);
        }
        scene.task(30, "kworker/u8:0");
        scene.request_of(OTHER, 30, (590, 599), 4096);
        let call = scene.told();
        let is_suspended = call.chain.last().unwrap().detail == Some("suspended");
        assert_eq!(is_suspended, call.chain.last().unwrap().place == "dm-0");
        of_end(&call)
    };
    let held = (vec!["writeback", "queue_frozen"], Evidence::AbsenceAndSetting, 0);
    assert_eq!(told("dm-0", 90, 590), held);
    let unknown = (vec!["writeback", "unknown"], Evidence::Absence, 500);
    // Another mapping of the same disk; a moment of it; another time.
    assert_eq!(told("dm-1", 90, 590), unknown);
    assert_eq!(told("dm-0", 90, 200), unknown);
    assert_eq!(told("dm-0", 700, 900), unknown);
}

/// So is one in the middle, below a disk that has requests.
#[test]
fn a_disk_without_requests_hides_none_below_it() {
    let mut scene = Scene::of_victim(DIRECT, 0);
    scene.fact("/sys/block/sda/slaves", "dm-0");
    scene.fact("/sys/block/dm-0/slaves", "sdb1 sdc");
    scene.request(10, 101, 599, 4096);
    scene.request_of(OTHER, 10, (102, 598), 4096);
    scene.request_of(THIRD, 10, (102, 400), 4096);
    let call = scene.told();
    assert_eq!(call.chain.last().unwrap().place, "sdb");
}

/// Of a wait that lasts, beside which two members of a disk that has no requests are in use.
#[test]
fn of_members_of_one_disk_the_one_with_the_oldest_request_is_told() {
    let told = |fact: Option<&str>| {
        let mut scene = Scene::of_victim(WRITTEN, 0);
        let task = scene.line.tasks.get_mut(&10).unwrap();
        (task.waits[0].woken_ns, task.waits[0].end_ns, task.calls[0].end_ns) = (None, None, None);
        scene.task(30, "kworker/u8:0");
        scene.request(30, 120, 900, 1 << 20);
        scene.request_of(OTHER, 30, (110, 900), 4096);
        if let Some(slaves) = fact {
            scene.fact("/sys/block/dm-0/slaves", slaves);
        }
        let call = scene.told();
        (causes(&call).pop().unwrap(), call.chain.last().unwrap().place.clone())
    };
    assert_eq!(told(Some("sda sdb")), ("device", "sdb".to_owned()));
    for fact in [None, Some("sda sdc")] {
        assert_eq!(told(fact).0, "unknown");
    }
}

/// A limit for a disk without requests holds back what has not come to the one below.
#[test]
fn a_limit_of_a_disk_holds_back_what_comes_to_those_below() {
    let told = |mounts: &[&str]| {
        let mut scene = Scene::of_victim(DIRECT, 0);
        scene.fact("/sys/block/dm-0/slaves", "sdb");
        scene.request_of(OTHER, 10, (590, 599), 4096);
        scene.fact("/sys/fs/cgroup/a/io.max", "253:0 wbps=4096");
        scene.fact("limited groups", "group /sys/fs/cgroup/a\nof 10\nothers 9");
        let mounts = mounts
            .iter()
            .zip(30..)
            .map(|(device, id)| format!("{id} 1 {device} / /data rw - ext4 /dev/x rw\n"));
        scene.fact("/proc/self/mountinfo", &mounts.collect::<String>());
        let call = scene.told();
        let lifts = call.advice.first().map(|one| one.writes[0].text.clone());
        (of_end(&call), lifts)
    };
    let chain = || vec!["direct_io", "throttle"];
    let lifts = "253:0 rbps=max wbps=max riops=max wiops=max".to_owned();
    let sure = ((chain(), Evidence::AbsenceAndSetting, 0), Some(lifts));
    let may = ((chain(), Evidence::Absence, 500), None);
    assert_eq!(told(&["253:0"]), sure);
    assert_eq!(told(&["253:0", "8:0"]), sure);
    // It may have come to the disk by another way.
    assert_eq!(told(&["253:0", "8:17"]), may);
    assert_eq!(told(&[]), may);
}

/// A disk that was idle and has a limit, which nothing shows to be the one that was waited for: another was in use.
#[test]
fn a_limit_of_a_disk_that_is_not_shown_is_no_fact() {
    let told = |others: &[Device]| {
        let mut scene = Scene::of_victim(DIRECT, 0);
        let task = scene.line.tasks.get_mut(&10).unwrap();
        (task.waits[0].woken_ns, task.waits[0].end_ns, task.calls[0].end_ns) = (None, None, None);
        scene.task(40, "other");
        scene.request(40, 110, 120, 1 << 20);
        for other in others {
            scene.request_of(*other, 40, (110, 115), 4096);
        }
        scene.fact("/sys/fs/cgroup/a/io.max", "8:0 wbps=4096");
        scene.fact("limited groups", "group /sys/fs/cgroup/a\nof 10\nothers 9");
        let call = scene.told();
        let evidence = &call.chain.last().unwrap().evidence;
        let is_doubted = evidence.ends_with("nothing shows that this disk was waited for");
        (of_end(&call), call.advice.len(), is_doubted)
    };
    let throttle = || vec!["direct_io", "throttle"];
    assert_eq!(told(&[OTHER]), ((throttle(), Evidence::Absence, 500), 0, true));
    assert_eq!(told(&[]), ((throttle(), Evidence::AbsenceAndSetting, 0), 1, false));
}

/// A wait that nothing shows leaves the others of its call what they are.
#[test]
fn what_is_doubted_makes_nothing_else_doubtful() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.task(50, "hog");
    scene.writes(10, 100, 900);
    for (from_ms, to_ms, taker) in [(100, 600, 0), (600, 900, 50)] {
        scene.sleeps(10, from_ms, to_ms, "schedule", 0);
        let wait = scene.line.tasks.get_mut(&10).unwrap().waits.last_mut().unwrap();
        (wait.kind, wait.stack, wait.woken_ns) = (WaitKind::Runnable, None, None);
        wait.next_pid = Some(taker);
    }
    scene.fact("quotas at the end", "20000000 100000000 880000000 /sys/fs/cgroup/a\nof 10");
    let call = scene.told();
    assert_eq!(of_end(&call), (vec!["cpu"], Evidence::AbsenceAndSetting, 300));
}

/// For each limit all are asked for whose sake a thread of the kernel works: that counts.
#[test]
fn who_is_asked_for_each_limit_is_counted() {
    let steps = |owners: i32| {
        let mut scene = Scene::of_victim("schedule < jbd2_log_wait_commit < ext4_sync_file", 20);
        scene.task(20, "jbd2/sda-8");
        scene.sleeps(20, 100, 590, DATA, 0);
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        scene.request(20, 580, 589, 4096);
        for group in 0..50 {
            scene.fact(&format!("/sys/fs/cgroup/{group}/io.max"), "8:0 wbps=4096");
        }
        for pid in 1_000..1_000 + owners {
            let handle = Handle {
                device: DEVICE,
                tid: 6,
                kind: 5,
                asked_ns: Some(MS),
                begin_ns: MS,
                end_ns: Some(2 * MS),
                requested_blocks: 8,
                dirtied_blocks: 3,
                sync: false,
            };
            scene.task(pid, "owner").handles.push(handle);
        }
        scene.known().explain(&Question::default()).steps
    };
    let more = steps(1_000) - steps(0);
    assert!(more >= 50 * 1_000, "{more}");
}

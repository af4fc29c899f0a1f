//! Kinds of waits that were told wrongly once, each in a small timeline.

use super::known::throttle;
use super::*;
use crate::record::Frames;
use crate::timeline::{Quota, Request};

/// The only journal of a trace is another file system's.
#[test]
fn a_commit_of_another_kind_of_journal_is_not_that_of_ext4() {
    let told = |stack: &str| {
        let mut scene = Scene::of_victim(stack, 40);
        scene.task(20, "jbd2/sda-8");
        scene.task(40, "kworker/u8:1");
        scene.sleeps(20, 100, 590, DATA, 0);
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        scene.request(10, 110, 599, 4096);
        causes(&scene.told())
    };
    let of_ext4 = told("schedule < jbd2_log_wait_commit < ext4_sync_file");
    assert_eq!(of_ext4, ["commit", "ordered_data", "writeback", "device"]);
    assert_eq!(
        told("schedule < btrfs_sync_log < btrfs_sync_file < do_fsync"),
        ["commit", "device"]
    );
    assert_eq!(told("schedule < xlog_wait_on_iclog < xfs_log_force_seq"), ["commit", "device"]);
}

/// Others' requests are before a task's own only if they are there for as long as it waits.
#[test]
fn what_others_had_for_a_moment_is_no_queue() {
    let told = |others_ms: u64| {
        let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
        scene.task(30, "other");
        scene.request(10, 101, 599, 4096);
        for at in 0..8 {
            scene.request(30, 110 + at, 110 + at + others_ms, 1 << 20);
        }
        causes(&scene.told())
    };
    assert_eq!(told(20), ["direct_io", "device"]);
    assert_eq!(told(400), ["direct_io", "device_queue"]);
}

/// A fast disk does more within a wait than is looked at before one.
#[test]
fn a_wait_with_many_requests_is_judged_by_all_of_it() {
    let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
    scene.request(10, 100, 600, 4096);
    let requests = &mut scene.line.disks.get_mut(&DEVICE).unwrap().requests;
    let one = requests.remove(0);
    for at in 0..60_000 {
        let issued_ns = 100 * MS + at * 8_300;
        requests.push(Request { issued_ns, done_ns: Some(issued_ns + 8_000), ..one });
    }
    let call = scene.told();
    assert_eq!(causes(&call), ["direct_io", "device"]);
    let said = &call.chain[1].evidence;
    assert!(said.contains("96 % of the time") && said.contains("60000 requests"), "{said}");
}

/// Writers are held to a rate; that the disk was idle meanwhile is not a wait of its own.
#[test]
fn a_limit_of_dirty_data_needs_no_busy_disk() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.writes(10, 100, 300);
    scene.sleeps(10, 100, 300, "io_schedule_timeout < balance_dirty_pages < ext4_write_end", 0);
    scene.line.tasks.get_mut(&10).unwrap().throttles.push(throttle(100_000, 100_000, 90_000));
    scene.request(30, 290, 299, 4096);
    let known = scene.known();
    let call = &known.explain(&Question::default()).calls[0];
    assert_eq!((causes(call), call.unexplained_ns), (vec!["dirty_limit_global"], 0));
}

/// Where the limit does not say whose it is, a disk that others use is not taken for the one that is written to.
#[test]
fn a_limit_of_dirty_data_names_no_disk_that_was_merely_in_use() {
    let told = |bdi: &[u8]| {
        let mut scene = Scene::default();
        scene.task(10, "victim");
        scene.task(30, "other");
        scene.writes(10, 100, 600);
        scene.sleeps(10, 100, 600, "io_schedule_timeout < balance_dirty_pages < ext4_write_end", 0);
        let held = Throttle { bdi: Name::new(bdi), ..throttle(100_000, 100_000, 90_000) };
        scene.line.tasks.get_mut(&10).unwrap().throttles.push(held);
        scene.request(30, 110, 480, 1 << 20);
        let known = scene.known();
        let explanation = known.explain(&Question::default());
        let call = explanation.calls.iter().find(|call| call.pid == 10).unwrap();
        causes(call).len()
    };
    assert_eq!((told(b"8:0"), told(b"btrfs-1")), (2, 1));
}

/// Who waits for a lease to be given up is told so where no stack tells it; who opens a pipe is not late.
#[test]
fn a_lease_is_told_by_the_call_that_gave_it_up() {
    let told = |call: i64| {
        let mut scene = Scene::of_victim("x", 30);
        scene.task(30, "holder");
        let victim = scene.line.tasks.get_mut(&10).unwrap();
        victim.calls[0].number = 257;
        let wait = &mut victim.waits[0];
        (wait.kind, wait.stack) = (WaitKind::Interruptible, None);
        wait.waker.as_mut().unwrap().call = Some(call);
        scene.known().explain(&Question::default())
    };
    let explanation = told(72);
    let call = &explanation.calls[0];
    assert_eq!((call.cause, call.cause_detail), (Cause::Lock, Some("lease")));
    assert!(call.chain[0].evidence.contains("held by holder (pid 30) in fcntl()"));
    assert_eq!(told(257).slow_calls, 0);
}

/// Requests are let in again by whoever changed a setting of the disk.
#[test]
fn a_queue_that_is_emptied_is_followed_to_who_changes_it() {
    let mut scene = Scene::of_victim("__bio_queue_enter < submit_bio_noacct < __iomap_dio_rw", 30);
    scene.task(30, "changer");
    scene.task(40, "writer");
    scene.sleeps(30, 90, 598, "blk_mq_freeze_queue_wait < elevator_change < vfs_write", 0);
    scene.request(40, 50, 597, 1 << 20);
    let known = scene.known();
    let explanation = known.explain(&Question::default());
    let call = explanation.calls.iter().find(|call| call.pid == 10).unwrap();
    let expected = ["direct_io", "queue_frozen", "queue_frozen", "device"];
    assert_eq!((causes(call), call.cause), (expected.to_vec(), Cause::QueueFrozen));
}

/// Commits are made more often only where they are rare, and where it is not a processor that they wait for.
#[test]
fn more_commits_are_advised_only_where_they_are_rare() {
    let told_beside = |others: u64, began_ms: u64, stack: &str| {
        let mut scene = Scene::default();
        let mounts = "30 1 8:0 / /data rw - ext4 /dev/sda rw";
        scene.fact("/proc/self/mountinfo", mounts);
        scene.task(10, "victim");
        scene.task(20, "jbd2/sda-8");
        scene.writes(10, 5_100, 5_600);
        scene.sleeps(10, 5_100, 5_600, "schedule < jbd2_log_wait_commit < ext4_sync_file", 20);
        scene.sleeps(20, 5_100, 5_590, stack, 0);
        scene.transaction(6, [began_ms, 5_095, 5_096, 5_097, 5_098, 5_595], 20);
        scene.request(20, 5_101, 5_589, 4096);
        for at in 0..others {
            scene.request(30, 5_102 + at, 5_580 + at, 1 << 20);
        }
        if stack.is_empty() {
            let thread = scene.line.tasks.get_mut(&20).unwrap();
            (thread.waits[0].kind, thread.waits[0].stack) = (WaitKind::Runnable, None);
        }
        let explanation = scene.known().explain(&Question::default());
        explanation.calls[0].advice.iter().any(|one| one.command.contains("commit=1"))
    };
    let told = |began_ms, stack: &str| told_beside(0, began_ms, stack);
    let writes = "io_schedule < __wait_on_buffer < jbd2_journal_commit_transaction < kjournald2";
    // The commit is behind others' requests, however small it is.
    assert!(!told_beside(6, 100, writes));
    assert!(told(100, writes));
    assert!(!told(5_000, writes));
    assert!(!told(100, ""));
}

/// A setting that was changed within the trace is advised as it was at its end.
#[test]
fn advice_looks_at_what_was_set_last() {
    let told = |last: &[(&str, &str)]| {
        let mut scene = Scene::default();
        let scheduler = "/sys/block/sda/queue/scheduler";
        scene.facts.insert(scheduler.to_owned(), "[none] bfq".to_owned());
        let last = last.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        scene.facts.extend(last);
        scene.task(10, "victim");
        scene.writes(10, 100, 600);
        scene.sleeps(10, 100, 600, "io_schedule < __iomap_dio_rw < vfs_write", 0);
        for at in 0..8 {
            scene.request(30, 100 + at, 590 + at, 1 << 20);
        }
        scene.request(10, 598, 600, 4096);
        let call = scene.told();
        (call.advice.iter().any(|one| one.command.starts_with("echo bfq")), call.mount.clone())
    };
    assert!(told(&[]).0);
    assert!(!told(&[("/sys/block/sda/queue/scheduler at the end", "none [bfq]")]).0);
    assert!(told(&[("/sys/block/sda/queue/scheduler at the end", "[mq-deadline] none bfq")]).0);
}

/// A call that also ran is as long as both.
#[test]
fn a_call_that_ran_beside_its_waits_is_told_with_its_length() {
    let told = |end_ms: u64| {
        let mut scene = Scene::default();
        scene.task(10, "victim");
        scene.writes(10, 100, end_ms);
        scene.sleeps(10, 100, 600, "io_schedule < __iomap_dio_rw < vfs_write", 0);
        scene.request(10, 101, 599, 4096);
        let explanation = scene.known().explain(&Question::default());
        text::sentence(&explanation.calls[0])
    };
    assert!(told(700).contains("waited 500 ms of 600 ms: 500 ms for"), "{}", told(700));
    assert!(told(605).contains("waited 500 ms: 500 ms for"), "{}", told(605));
}

/// A task that could have run: its group had used up its share, or another had the processor, which is named
/// also where the task was woken and not preempted.
#[test]
fn who_had_the_processor_is_named_and_so_is_a_share_that_is_used_up() {
    let told = |processor: Processor, kind: WaitKind| {
        let mut scene = Scene::of_victim("schedule", 0);
        scene.task(50, "hog");
        let wait = &mut scene.line.tasks.get_mut(&10).unwrap().waits[0];
        (wait.kind, wait.stack, wait.woken_ns) = (kind, None, Some(110 * MS));
        (wait.processor, wait.next_pid) = (processor, None);
        let explanation = scene.known().explain(&Question::default());
        let link = &explanation.calls[0].chain[0];
        (link.cause, link.detail, link.evidence.clone())
    };
    let behind = Processor { before_pid: Some(50), ..Processor::default() };
    for kind in [WaitKind::Sleep, WaitKind::Runnable] {
        let (cause, detail, evidence) = told(behind, kind);
        assert_eq!((cause, detail), (Cause::Cpu, None));
        assert!(evidence.contains("hog (pid 50) had the processor"), "{evidence}");
    }
    let quota = Quota { quota_ns: 20 * MS, period_ns: 500 * MS, throttled_ns: 480 * MS };
    let (cause, detail, evidence) =
        told(Processor { quota: Some(quota), ..behind }, WaitKind::Runnable);
    assert_eq!((cause, detail), (Cause::Cpu, Some("cpu_quota")));
    assert!(evidence.contains("may have 20.0 ms of each 500 ms"), "{evidence}");
}

/// The kernel's own tasks make no calls, whatever they are called: what they wait for delays nobody by itself.
#[test]
fn a_task_of_the_kernels_own_is_told_as_no_call() {
    let stack = "bit_wait_io < __wait_on_bit < ext4_mb_init_cache < ext4_mb_prefetch_fini";
    let told = |fact: &str| {
        let mut scene = Scene::default();
        scene.task(10, "prefetcher");
        scene.writes(10, 100, 600);
        scene.sleeps(10, 100, 600, stack, 0);
        scene.sleeps(10, 700, 1_200, stack, 0);
        scene.fact("kernel tasks at the end", fact);
        let explanation = scene.known().explain(&Question::default());
        explanation.calls.iter().map(|call| call.call.clone()).collect::<Vec<_>>()
    };
    assert_eq!(told("2\n11\n"), ["write", "page fault"]);
    assert!(told("2\n10\n").is_empty());
}

/// One is no plural, and a page fault is no function.
#[test]
fn sentences_are_sentences() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.sleeps(10, 100, 600, "io_schedule < folio_wait_bit_common < filemap_fault", 0);
    scene.request(10, 101, 599, 4096);
    let known = scene.known();
    let told = describe(&known, &known.explain(&Question::default()));
    assert!(told.contains("a page fault of victim (pid 10) waited 500 ms"), "{told}");
    assert!(told.contains(": 1 request (mostly writes)"), "{told}");
}

/// A limit of dirty data helps only where it is less than what was written during the wait.
#[test]
fn a_limit_is_advised_only_where_it_halves_the_wait() {
    let told = |each_bytes: u32| {
        let mut scene = Scene::of_victim("io_schedule < folio_wait_writeback < vfs_fsync_range", 0);
        scene.fact("/sys/class/bdi/8:0/strict_limit", "0");
        scene.fact("/proc/self/mountinfo", "30 1 8:0 / /data rw - ext4 /dev/sda rw");
        scene.syncs(10, 100, 600);
        for at in 0..10 {
            scene.request(30, 100 + at * 50, 149 + at * 50, each_bytes);
        }
        scene.told().advice.into_iter().map(|one| one.command).collect::<Vec<_>>()
    };
    // Of 20 MiB in the wait a third; of 2 MiB none would be enough.
    let limit =
        "echo 1 > /sys/class/bdi/8:0/strict_limit; echo 6291456 > /sys/class/bdi/8:0/max_bytes";
    assert!(told(2 << 20).iter().any(|command| command == limit), "{:?}", told(2 << 20));
    assert!(!told(200 << 10).iter().any(|command| command.contains("max_bytes")));
}

/// No scheduler lets a transaction through for the sake of one who waits for it, nor one of many alike.
#[test]
fn a_scheduler_is_advised_only_for_requests_of_ones_own() {
    let told = |stack: &str, by: i32, others: i32| {
        let mut scene = Scene::of_victim(stack, by);
        scene.fact("/sys/block/sda/queue/scheduler", "[none] bfq");
        scene.task(20, "jbd2/sda-8");
        scene.sleeps(20, 100, 590, DATA, 0);
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        for at in 0..8 {
            scene.request(30 + at % others, 100 + at as u64, 590 + at as u64, 1 << 20);
        }
        scene.request(10, 598, 600, 4096);
        let call = scene.told();
        (call.cause, call.advice.iter().any(|one| one.command.starts_with("echo bfq")))
    };
    let own = |others| told("io_schedule < __iomap_dio_rw < vfs_write", 0, others);
    assert_eq!(own(1), (Cause::DeviceQueue, true));
    assert_eq!(own(4), (Cause::DeviceQueue, false));
    assert!(!told("schedule < jbd2_log_wait_commit < ext4_sync_file", 20, 1).1);
}

/// Who is frozen between two calls is in no page fault.
#[test]
fn a_task_that_is_frozen_outside_of_calls_was_in_its_own_code() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.sleeps(10, 100, 600, "schedule < __refrigerator < get_signal", 30);
    let call = scene.told();
    assert_eq!((call.call.as_str(), causes(&call)), ("its own code", vec!["stopped"]));
    let told = text::sentence(&call);
    assert!(
        told.starts_with("victim (pid 10) waited 500 ms: 500 ms for its control group"),
        "{told}"
    );
}

/// A disk that others keep busy ends requests at any time: it is not the one that was waited for.
#[test]
fn the_disk_of_a_wait_is_the_one_that_ended_a_request_last() {
    const OTHER: Device = Device(9 << 20);
    const STACK: &str = "io_schedule < __iomap_dio_rw < vfs_write";
    let places = |lasts: bool, is_first: bool| {
        let mut scene = Scene::of_victim(STACK, 0);
        scene.task(30, "kworker/0:1");
        scene.task(40, "other");
        // What a limit holds back is given to the disk by a worker, at the end.
        scene.request(30, 599, 600, 65_536);
        for at_ms in (100..2_000).step_by(3) {
            scene.request_of(OTHER, 40, (at_ms, at_ms + 3), 1 << 20);
        }
        scene.fact("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "8:0 524288");
        if lasts {
            scene.writes(10, 700, 2_000);
            scene.sleeps(10, 700, 2_000, STACK, 0);
            // The stack of what lasts is read in another way, with other places in the same functions.
            let stack: Vec<u64> = STACK.split(" < ").map(|name| scene.address(name) + 8).collect();
            let stack = scene.line.stacks.add(Frames::new(stack));
            let task = scene.line.tasks.get_mut(&10).unwrap();
            let wait = &mut task.waits[1];
            (wait.woken_ns, wait.end_ns, wait.stack) = (None, None, Some(stack));
            task.calls[1].end_ns = None;
            if is_first {
                task.waits.remove(0);
                task.calls.remove(0);
            }
        }
        let call = scene.told();
        (causes(&call), call.chain.last().unwrap().place.clone(), call.is_open)
    };
    let throttled = vec!["direct_io", "throttle"];
    // Also where one of the others ended nearer to the end of the wait, or read.
    let near = |class: &[u8]| {
        let mut scene = Scene::of_victim(STACK, 0);
        scene.task(30, "kworker/0:1");
        scene.task(40, "other");
        scene.request(30, 598, 599, 65_536);
        for at_ms in (99..600).step_by(3) {
            scene.request_of(OTHER, 40, (at_ms, at_ms + 3), 1 << 20);
        }
        for request in &mut scene.line.disks.get_mut(&OTHER).unwrap().requests {
            request.class = Name::new(class);
        }
        scene.fact("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "8:0 524288");
        let call = scene.told();
        (causes(&call), call.chain.last().unwrap().place.clone())
    };
    for class in [&b"WS"[..], b"R"] {
        assert_eq!(near(class), (throttled.clone(), "sda".to_owned()));
    }
    assert_eq!(places(false, false), (throttled.clone(), "sda".to_owned(), false));
    // One that lasts: as the wait before it, though nothing of it has come to that disk.
    assert_eq!(places(true, false), (throttled, "sda".to_owned(), true));
    // Where none was before, nothing shows that a busy disk is the one.
    let unknown = vec!["direct_io", "unknown"];
    assert_eq!(places(true, true), (unknown, "9:0".to_owned(), true));
}

/// What the kernel writes is no request of who waits for it: the only disk that has such is shown by that.
#[test]
fn a_wait_that_lasts_for_what_is_written_is_about_the_only_disk_that_is_written() {
    const OTHER: Device = Device(9 << 20);
    let told = |other: &str| {
        let mut scene = Scene::of_victim("io_schedule < folio_wait_writeback < sync_inodes_sb", 0);
        let task = scene.line.tasks.get_mut(&10).unwrap();
        (task.waits[0].woken_ns, task.waits[0].end_ns) = (None, None);
        task.calls[0].end_ns = None;
        scene.task(30, "kworker/u8:0");
        scene.task(40, other);
        scene.request(30, 110, 900, 65_536);
        for at_ms in (99..700).step_by(3) {
            scene.request_of(OTHER, 40, (at_ms, at_ms + 5), 1 << 20);
        }
        let call = scene.told();
        (causes(&call), call.chain.last().unwrap().place.clone())
    };
    assert_eq!(told("other"), (vec!["writeback", "device"], "sda".to_owned()));
    // The kernel writes to both: nothing shows which.
    assert_eq!(told("kworker/u8:1").0, ["writeback", "unknown"]);
}

/// Of a call that lasts, what shows the disk: its file system, requests that it had, or that there is no other.
#[test]
fn a_wait_that_lasts_is_about_what_is_known_of_it() {
    const OTHER: Device = Device(9 << 20);
    let told = |stack: &str, make: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::of_victim(stack, 0);
        let task = scene.line.tasks.get_mut(&10).unwrap();
        (task.waits[0].woken_ns, task.waits[0].end_ns) = (None, None);
        task.calls[0].end_ns = None;
        for (pid, name) in [(30, "kworker/0:1H"), (40, "other"), (50, "kworker/u8:1")] {
            scene.task(pid, name);
        }
        make(&mut scene);
        let call = scene.told();
        (causes(&call), call.chain.last().unwrap().place.clone())
    };
    let busy = |scene: &mut Scene, pid: i32| {
        for at_ms in (99..700).step_by(3) {
            scene.request_of(OTHER, pid, (at_ms, at_ms + 5), 1 << 20);
        }
    };
    let sda = "sda".to_owned();
    // Held back on its own disk after the first of its requests, beside one that is busy.
    let direct = "io_schedule < __iomap_dio_rw < vfs_write";
    let limited = |scene: &mut Scene| {
        scene.request(10, 101, 102, 65_536);
        busy(scene, 40);
        scene.fact("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "8:0 524288");
    };
    assert_eq!(told(direct, &limited), (vec!["direct_io", "throttle"], sda.clone()));
    // Its file system is known, and nothing of it has come to the disk; the other one is written by the kernel.
    let synced = |scene: &mut Scene| {
        scene.syncs(10, 100, 600);
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        scene.line.journals.entry(OTHER).or_default();
        scene.request(30, 10, 20, 4_096);
        busy(scene, 50);
    };
    let written = "io_schedule < folio_wait_writeback < ext4_sync_file";
    assert_eq!(told(written, &synced), (vec!["writeback", "unknown"], sda.clone()));
    // A flush is no request of who waits for it, nor is what takes all places of a disk.
    let flushed = |scene: &mut Scene| {
        scene.request(30, 110, 900, 0);
        scene.line.disks.get_mut(&DEVICE).unwrap().requests[0].class = Name::new(b"FF");
    };
    let flush = "io_schedule < submit_bio_wait < blkdev_issue_flush < ext4_sync_file";
    let of_flush = told(flush, &flushed);
    assert_eq!((of_flush.0.last(), &of_flush.1), (Some(&"device"), &sda));
    let full = |scene: &mut Scene| scene.request(40, 110, 900, 4_096);
    let of_tags = told("io_schedule < blk_mq_get_tag < submit_bio < vfs_write", &full);
    assert_eq!((of_tags.0.last(), &of_tags.1), (Some(&"device"), &sda));
    let beside = |scene: &mut Scene| (full(scene), busy(scene, 40)).1;
    let of_two = told("io_schedule < blk_mq_get_tag < submit_bio < vfs_write", &beside);
    assert_eq!(of_two.0.last(), Some(&"unknown"));
}

/// A stop that came right behind a call, by an interrupt, is of the program's own code.
#[test]
fn a_stop_behind_a_call_is_of_no_call() {
    let told = |way: &str| {
        let stack =
            format!("schedule < do_signal_stop < get_signal < exit_to_user_mode_loop < {way}");
        let mut scene = Scene::of_victim(&stack, 30);
        scene.task(30, "shell");
        scene.line.begin_ns = 50 * MS;
        let victim = scene.line.tasks.get_mut(&10).unwrap();
        (victim.calls[0].begin_ns, victim.returns) = (90 * MS, vec![(90 * MS, 100 * MS - 9)]);
        victim.waits[0].kind = WaitKind::Stopped;
        // It waited for a processor before.
        let mut ready = Wait { kind: WaitKind::Runnable, stack: None, ..victim.waits[0] };
        (ready.begin_ns, ready.end_ns, ready.woken_ns) = (100 * MS - 8, Some(100 * MS - 1), None);
        victim.waits.insert(0, ready);
        let call = scene.told();
        (call.call.clone(), call.cause, call.wait_ns / MS)
    };
    let (code, write) = ("its own code".to_owned(), "write".to_owned());
    let interrupt = "irqentry_exit_to_user_mode < asm_sysvec_reschedule_ipi";
    assert_eq!(told(interrupt), (code, Cause::Stopped, 500));
    assert_eq!(told("do_syscall_64 < entry_SYSCALL_64"), (write, Cause::Stopped, 500));
}

/// The kernel may have inlined the freezer of version 2 in what takes signals, and the sleep is one that signals end.
#[test]
fn who_is_frozen_between_calls_is_told_as_stopped() {
    let told = |stack: &str| {
        let mut scene = Scene::of_victim(stack, 30);
        scene.task(30, "systemd");
        scene.line.begin_ns = 50 * MS;
        let victim = scene.line.tasks.get_mut(&10).unwrap();
        (victim.calls[0].begin_ns, victim.calls[0].end_ns) = (60 * MS, Some(90 * MS));
        victim.waits[0].kind = WaitKind::Interruptible;
        let explanation = scene.known().explain(&Question::default());
        explanation
            .calls
            .first()
            .map(|call| (call.call.clone(), causes(call), call.cause_detail, call.unexplained_ns))
    };
    let frozen = Some(("its own code".to_owned(), vec!["stopped"], Some("freezer"), 0));
    let way = "arch_do_signal_or_restart < exit_to_user_mode_prepare < do_syscall_64";
    assert_eq!(told(&format!("schedule < get_signal < {way}")), frozen);
    assert_eq!(told(&format!("schedule < do_freezer_trap < get_signal < {way}")), frozen);
    // What is written meanwhile is no stop.
    assert_eq!(told(&format!("pipe_write < do_coredump < get_signal < {way}")), None);
}

/// A store into a mapping comes a moment after a call: who called waited for no call.
#[test]
fn a_page_fault_behind_a_call_is_of_no_call() {
    let told = |way: &str| {
        let stack = format!("schedule < percpu_rwsem_wait < ext4_page_mkwrite < do_fault < {way}");
        let mut scene = Scene::of_victim(&stack, 30);
        scene.task(30, "thaws");
        scene.line.begin_ns = 50 * MS;
        let victim = scene.line.tasks.get_mut(&10).unwrap();
        (victim.calls[0].begin_ns, victim.returns) = (90 * MS, vec![(90 * MS, 100 * MS - 9)]);
        let call = scene.told();
        (call.call.clone(), call.cause, call.wait_ns / MS)
    };
    let fault = "handle_mm_fault < do_user_addr_fault < exc_page_fault < asm_exc_page_fault";
    assert_eq!(told(fault), ("page fault".to_owned(), Cause::Freeze, 500));
    let work = "fput < task_work_run < do_syscall_64 < entry_SYSCALL_64";
    assert_eq!(told(work), ("write".to_owned(), Cause::Freeze, 500));
}

/// What a call leaves for the way back is done behind the event of its return, in several sleeps.
#[test]
fn work_on_the_way_back_is_of_its_call() {
    let work = "io_schedule < folio_wait_writeback < sync_filesystem < cleanup_mnt < task_work_run";
    let told = |stack: &str, from_ms: u64, again_ms: u64| {
        let mut scene = Scene::default();
        scene.task(10, "victim");
        scene.writes(10, 99, 100);
        for (from_ms, to_ms) in [(from_ms, 300), (again_ms, 600)] {
            scene.sleeps(10, from_ms, to_ms, stack, 0);
        }
        let explanation = scene.known().explain(&Question::default());
        let calls = explanation.calls.iter();
        calls.map(|one| (one.call.clone(), one.wait_ns / MS)).collect::<Vec<_>>()
    };
    assert_eq!(told(work, 101, 301), [("write".to_owned(), 498)]);
    // It computes between two sleeps of the same work.
    assert_eq!(told(work, 101, 350), [("write".to_owned(), 449)]);
    // Of the program's own code, or of another call that is not told.
    let fault = work.replace("task_work_run", "handle_mm_fault");
    assert_eq!(told(&fault, 101, 301).len(), 2);
    assert_eq!(told(work, 150, 301).len(), 2);
    assert_eq!(told(work, 101, 550).len(), 2);
}

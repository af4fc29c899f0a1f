//! Chains of timelines made by hand, and of any timeline.

mod advised;
mod disks;
mod kinds;
mod known;
mod scene;

use super::*;
use crate::record::Name;
use crate::timeline::{Handle, Processor, Throttle, Wait, WaitKind};
use proptest::prelude::*;
use scene::{DEVICE, MS, Scene};

const LOCKED: &str = "schedule < wait_transaction_locked < add_transaction_credits < \
                      start_this_handle < ext4_dirty_inode";
const DATA: &str = "io_schedule < folio_wait_bit < folio_wait_writeback < \
                    jbd2_journal_finish_inode_data_buffers < jbd2_journal_commit_transaction";

fn causes(call: &SlowCall) -> Vec<&'static str> {
    call.chain.iter().map(|link| link.cause.name()).collect()
}

/// A write waits for a full transaction whose predecessor waits for ordered data.
#[test]
fn a_full_transaction_is_followed_to_the_data_of_the_commit_before() {
    let mut scene = Scene::default();
    scene.fact("/sys/class/bdi/8:0/strict_limit", "0");
    scene.task(10, "stamper");
    scene.task(20, "jbd2/sda-8");
    scene.task(30, "load");
    scene.writes(10, 100, 1_100);
    scene.sleeps(10, 100, 1_100, LOCKED, 20);
    scene.sleeps(20, 50, 1_090, DATA, 0);
    scene.transaction(6, [0, 40, 41, 42, 45, 1_095], 20);
    scene.transaction(7, [41, 1_096, 1_097, 1_099, 1_150, 1_200], 20);
    for at in 0..11 {
        scene.request(30, at * 100, at * 100 + 99, 500_000);
    }
    let known = scene.known();
    let explanation = known.explain(&Question::default());
    assert_eq!(explanation.slow_calls, 1);
    let call = &explanation.calls[0];
    assert_eq!((call.call.as_str(), call.comm.as_str()), ("write", "stamper"));
    assert_eq!(
        causes(call),
        ["handle", "transaction_full", "ordered_data", "writeback", "device_queue"]
    );
    assert_eq!((call.cause, call.root), (Cause::TransactionFull, Cause::OrderedData));
    assert_eq!((call.wait_ns, call.unexplained_ns), (1_000 * MS, 0));
    let disk = call.chain.last().unwrap();
    assert!(disk.evidence.contains("100 % of the bytes by load (pid 30)"), "{}", disk.evidence);
    let text = describe(&known, &explanation);
    assert!(text.contains("write() of stamper (pid 10) waited 1.00 s"), "{text}");
    assert!(text.contains("max_bytes"), "{text}");
}

/// A write waits for a locked transaction, which waits for a handle whose owner reads slowly.
#[test]
fn a_locked_transaction_is_followed_to_the_holder_of_a_handle() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.task(20, "jbd2/sda-8");
    scene.task(30, "holder");
    scene.writes(10, 200, 900);
    scene.sleeps(10, 200, 900, LOCKED, 20);
    scene.sleeps(20, 110, 880, "schedule < jbd2_journal_wait_updates < kjournald2", 30);
    scene.writes(30, 90, 880);
    scene.sleeps(30, 100, 870, "io_schedule < __wait_on_buffer < ext4_read_bh < ext4_truncate", 0);
    let handle = Handle {
        device: DEVICE,
        tid: 7,
        kind: 5,
        asked_ns: Some(95 * MS),
        begin_ns: 95 * MS,
        end_ns: Some(879 * MS),
        requested_blocks: 8,
        dirtied_blocks: 3,
        sync: false,
    };
    scene.line.tasks.get_mut(&30).unwrap().handles.push(handle);
    scene.transaction(7, [90, 105, 106, 890, 891, 899], 20);
    scene.request(30, 100, 869, 4096);
    let known = scene.known();
    let question = Question { top: 9, ..Question::default() };
    let explanation = known.explain(&question);
    let call = explanation.calls.iter().find(|call| call.pid == 10).unwrap();
    let expected = ["handle", "transaction_locked", "open_handles", "metadata_read", "device"];
    assert_eq!(causes(call), expected);
    assert_eq!(call.root, Cause::TransactionLocked);
    let holder = &call.chain[2].evidence;
    assert!(holder.contains("holder (pid 30) in write() for 784 ms, 3 blocks"), "{holder}");
    assert_eq!(call.unexplained_ns, 0);
}

/// Two writers of one file, the holder of its lock sleeps for a limit of the device.
fn a_lock_whose_holder_is_at_his_limit() -> Scene {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.task(30, "antagonist");
    scene.writes(10, 100, 600);
    let lock = "schedule < rwsem_down_write_slowpath < down_write < ext4_buffered_write_iter";
    scene.sleeps(10, 100, 600, lock, 30);
    let limit = "schedule < io_schedule_timeout < balance_dirty_pages < vfs_write";
    scene.sleeps(30, 90, 590, limit, 0);
    let throttle = Throttle {
        begin_ns: 90 * MS,
        pause_ms: 500,
        bdi: Name::new(b"8:0"),
        dirty: 100,
        limit: 100_000,
        setpoint: 90_000,
        device_dirty: 90,
        device_setpoint: 80,
        task_rate_kbs: 10,
        device_rate_kbs: 20,
    };
    scene.line.tasks.get_mut(&30).unwrap().throttles.push(throttle);
    scene.fact("/sys/class/bdi/8:0/strict_limit", "1");
    scene.request(30, 80, 595, 4096);
    scene
}

#[test]
fn a_lock_is_followed_to_its_holder_and_his_limit() {
    let explanation = a_lock_whose_holder_is_at_his_limit().known().explain(&Question::default());
    let call = explanation.calls.iter().find(|call| call.pid == 10).unwrap();
    assert_eq!(causes(call), ["inode_lock", "dirty_limit_device", "device"]);
    assert_eq!((call.cause, call.root), (Cause::InodeLock, Cause::DirtyLimitDevice));
    assert!(call.chain[0].evidence.contains("held by antagonist (pid 30)"));
}

/// On f2fs nobody is told to allow less than it keeps from write-back.
#[test]
fn a_limit_for_f2fs_is_no_less_than_what_it_holds_back() {
    let mount = |kind| format!("36 30 8:0 / /data rw,noatime - {kind} /dev/sda rw\n");
    let max = "/sys/class/bdi/8:0/max_bytes".to_owned();
    for (kind, is_f2fs, mib) in [("f2fs", true, 12), ("f2fs", true, 64), ("ext4", false, 12)] {
        let mut scene = a_lock_whose_holder_is_at_his_limit();
        scene.facts.insert("/proc/self/mountinfo".to_owned(), mount(kind));
        scene.facts.insert(max.clone(), format!("{}\n", mib << 20));
        scene.writes(30, 85, 595);
        scene.request(30, 100, 595, 4 << 20);
        let known = scene.known();
        let explanation = known.explain(&Question::default());
        let call = explanation.calls.iter().find(|call| call.pid == 30).unwrap();
        let larger = "echo 33554432 > /sys/class/bdi/8:0/max_bytes";
        assert_eq!(
            call.advice.iter().any(|one| one.command == larger),
            is_f2fs && mib == 12,
            "{call:#?}"
        );
        // None is advised that is larger than the one of now.
        let limit = advice::limit_of_device(&known, Some(DEVICE)).map(|one| one.command);
        let bytes =
            |text: &String| text.split(' ').filter_map(|word| word.parse::<u64>().ok()).max();
        let expected = (mib == 64).then_some(32 << 20);
        assert_eq!(limit.as_ref().and_then(bytes), expected, "{limit:?}");
    }
}

/// A wait with neither stack nor waker is unexplained, not guessed.
#[test]
fn what_nothing_tells_is_unexplained() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.writes(10, 100, 600);
    scene.line.end_ns = 600 * MS;
    let wait = Wait {
        kind: WaitKind::Sleep,
        begin_ns: 100 * MS,
        woken_ns: None,
        end_ns: Some(600 * MS),
        stack: None,
        waker: None,
        next_pid: None,
        processor: Processor::default(),
    };
    scene.line.tasks.get_mut(&10).unwrap().waits.push(wait);
    let explanation = scene.known().explain(&Question::default());
    let call = &explanation.calls[0];
    assert_eq!((call.unexplained_ns, call.root), (500 * MS, Cause::Unknown));
    assert!(explanation.notes.is_empty(), "{:?}", explanation.notes);
}

/// A sleep that signals end, in a call of this number; without a stack, as the tracer tells it.
fn soft(scene: &mut Scene, pid: i32, number: i64, by: i32) {
    scene.writes(pid, 100, 600);
    scene.sleeps(pid, 100, 600, "schedule", by);
    let task = scene.line.tasks.get_mut(&pid).unwrap();
    task.calls.last_mut().unwrap().number = number;
    let wait = task.waits.last_mut().unwrap();
    (wait.kind, wait.stack) = (WaitKind::Interruptible, None);
}

#[test]
fn sleeps_that_signals_end_are_told_by_call_and_waker() {
    const FLOCK: i64 = 73;
    const URING: i64 = 426;
    const NANOSLEEP: i64 = 35;
    const EPOLL: i64 = 232;
    let scene = |number| {
        let mut scene = Scene::default();
        scene.task(10, "victim");
        scene.task(30, "holder");
        soft(&mut scene, 30, NANOSLEEP, 0);
        soft(&mut scene, 10, number, if number == FLOCK { 30 } else { 0 });
        scene
    };
    let told = |scene: Scene| scene.known().explain(&Question::default());
    // A lock of a file, whose holder did nothing but wait for a time.
    let explanation = told(scene(FLOCK));
    assert_eq!(explanation.slow_calls, 1);
    let call = &explanation.calls[0];
    assert_eq!((causes(call), call.cause_detail), (vec!["lock", "timer"], Some("file_lock")));
    assert!(call.chain[0].evidence.contains("held by holder (pid 30)"));
    assert_eq!((call.known_by, call.unexplained_ns), (Evidence::Event, 0));
    // What was given to io_uring: late only if a disk ended something just then.
    assert_eq!(told(scene(URING)).slow_calls, 0);
    let mut with_disk = scene(URING);
    with_disk.request(10, 100, 599, 4096);
    let explanation = told(with_disk);
    assert_eq!(causes(&explanation.calls[0]), ["direct_io", "device"]);
    // A program that waits for its next order is not late.
    assert_eq!(told(scene(EPOLL)).slow_calls, 0);
}

/// A wait for a disk that had nothing to do is a limit only where a group has one for that disk.
#[test]
fn an_idle_disk_is_a_limit_only_where_a_group_has_one() {
    let told = |limit: Option<&str>| {
        let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
        scene.request(10, 590, 599, 4096);
        let path = "/sys/fs/cgroup/blkio/a/blkio.throttle.write_bps_device".to_owned();
        scene.facts.extend(limit.map(|limit| (path, limit.to_owned())));
        scene.fact("limited groups", "group /sys/fs/cgroup/blkio/a\nof 10\n");
        let call = scene.told();
        (causes(&call), call.known_by, call.unexplained_ns / MS, call.advice.clone())
    };
    let (causes, known_by, unexplained_ms, _) = told(None);
    assert_eq!((causes, known_by), (vec!["direct_io", "unknown"], Evidence::Absence));
    assert_eq!(unexplained_ms, 500);
    assert_eq!(told(Some("8:16 1048576")).0, ["direct_io", "unknown"]);
    let (causes, known_by, unexplained_ms, advice) = told(Some("8:0 1048576"));
    assert_eq!((causes, known_by), (vec!["direct_io", "throttle"], Evidence::AbsenceAndSetting));
    assert_eq!(unexplained_ms, 0);
    let lifts = "echo \"8:0 0\" > /sys/fs/cgroup/blkio/a/blkio.throttle.write_bps_device";
    assert_eq!(advice[0].command, lifts);
}

/// Who held a lock ran as long as it was counted, and no longer.
#[test]
fn time_that_was_not_counted_is_not_told_as_run() {
    let told = |run_ns: [u64; 2]| {
        let mut scene = Scene::of_victim("down_write < ext4_file_write_iter", 30);
        scene.task(30, "holder");
        for (at_ms, run_ns) in [(50, run_ns[0]), (700, run_ns[1])] {
            scene.sleeps(30, at_ms, at_ms + 10, "io_schedule < __iomap_dio_rw", 0);
            let wait = scene.line.tasks.get_mut(&30).unwrap().waits.last_mut().unwrap();
            wait.processor.run_ns = Some(run_ns);
        }
        let call = scene.told();
        (causes(&call), call.unexplained_ns / MS)
    };
    assert_eq!(told([7 * MS, 647 * MS]), (vec!["inode_lock", "running"], 0));
    assert_eq!(told([7 * MS, 7 * MS]), (vec!["inode_lock", "unknown"], 500));
}

/// A file system that is frozen: who thawed it explains nothing by what he did.
#[test]
fn a_frozen_file_system_has_no_holder() {
    let mut scene =
        Scene::of_victim("schedule < percpu_rwsem_wait < __percpu_down_read < vfs_write", 30);
    scene.task(30, "fsfreeze");
    scene.writes(30, 50, 60);
    let freezes = scene.line.tasks.get_mut(&30).unwrap().calls.last_mut().unwrap();
    (freezes.number, freezes.args[1]) = (16, soft::FREEZES);
    let call = scene.told();
    assert_eq!((causes(&call), call.known_by), (vec!["freeze"], Evidence::Stack));
    let evidence = &call.chain[0].evidence;
    assert!(evidence.contains("frozen by fsfreeze (pid 30) 50.0 ms before"), "{evidence}");
    assert!(evidence.contains("thawed by fsfreeze (pid 30)"), "{evidence}");
}

#[test]
fn a_stopped_task_says_who_let_it_go_on() {
    let mut scene = Scene::of_victim("schedule < do_signal_stop < get_signal", 30);
    scene.task(30, "shell");
    scene.line.tasks.get_mut(&10).unwrap().waits[0].kind = WaitKind::Stopped;
    scene.line.begin_ns = 50 * MS;
    let call = scene.told();
    assert_eq!((causes(&call), call.cause_detail), (vec!["stopped"], Some("signal")));
    assert!(call.chain[0].evidence.contains("shell (pid 30) let it go on"));
}

/// A worker of a loop device waits for the file system below to be thawed.
#[test]
fn a_loop_device_is_followed_to_its_worker() {
    let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
    scene.fact("/sys/block/sda/loop/backing_file", "/below/image");
    scene.task(30, "kworker/u8:1");
    let stack = "schedule < percpu_rwsem_wait < __percpu_down_read < lo_rw_aio < loop_process_work";
    scene.sleeps(30, 105, 595, stack, 40);
    scene.request(10, 101, 599, 4096);
    let explanation = scene.known().explain(&Question::default());
    assert_eq!(causes(&explanation.calls[0]), ["direct_io", "device", "freeze"]);
    assert_eq!(explanation.calls[0].cause, Cause::Freeze);
}

#[test]
fn threads_that_were_there_before_are_of_their_process() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.task(11, "victim");
    scene.task(12, "iou-wrk-10");
    scene.fact("threads", "11 10\nx\n");
    let mut known = scene.known();
    known.focus.insert(10);
    assert_eq!(known.all_in_focus().into_iter().collect::<Vec<_>>(), [10, 11, 12]);
}

/// Whatever the machine has, commands name files that are there, and values that are not so already.
#[test]
fn advice_names_files_that_are_there_and_values_that_are_new() {
    let told = |facts: &[(&str, &str)]| {
        let mut scene = a_lock_whose_holder_is_at_his_limit();
        scene.facts.clear();
        scene
            .facts
            .extend(facts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
        for at in 0..9 {
            scene.request(31, 100 + at * 40, 139 + at * 40, 1 << 20);
        }
        let explanation = scene.known().explain(&Question::default());
        let all = explanation.calls.iter().flat_map(|call| &call.advice);
        all.map(|one| one.command.clone()).collect::<Vec<_>>()
    };
    for command in told(&[]) {
        assert!(!command.contains("/sys/") && !command.contains("mount"), "{command}");
    }
    let strict = ("/sys/class/bdi/8:0/strict_limit", "1");
    let lifts = "echo 100 > /sys/class/bdi/8:0/max_ratio; echo 0 > /sys/class/bdi/8:0/strict_limit";
    assert!(told(&[strict]).iter().any(|command| command == lifts));
    assert!(
        !told(&[("/sys/class/bdi/8:0/strict_limit", "0"), ("/sys/class/bdi/8:0/max_ratio", "100")])
            .iter()
            .any(|command| command == lifts)
    );
    for command in told(&[strict, ("/sys/block/sda/queue/scheduler", "mq-deadline [bfq]")]) {
        assert!(!command.contains("bfq"), "{command}");
        assert!(!command.contains("MAJOR") && !command.contains("DEVICE"), "{command}");
    }
}

const STACKS: [&str; 6] = [
    LOCKED,
    DATA,
    "schedule < balance_dirty_pages",
    "rwsem_down_write_slowpath < ext4_buffered_write_iter",
    "io_schedule < __filemap_get_folio < ext4_write_begin",
    "schedule < nothing_known",
];

fn sum_fits(node: &Node) -> bool {
    // Children of one task follow one another; those of several flushers may overlap.
    let one_task = node.children.windows(2).all(|pair| pair[0].pid == pair[1].pid);
    let sum: u64 = node.children.iter().map(|child| child.ns).sum();
    (!one_task || sum <= node.ns) && node.children.iter().all(sum_fits)
}

proptest! {
    /// Any waits of any tasks that wake one another.
    #[test]
    fn parts_of_a_wait_do_not_exceed_it(
        waits in prop::collection::vec((1..6_i32, 0..50_u64, 1..50_u64, 0..6_usize, 0..6_i32), 0..40),
        calls in prop::collection::vec((1..6_i32, 0..50_u64, 1..90_u64), 0..10),
        tids in prop::collection::vec(prop::array::uniform6(0..100_u64), 0..4),
    ) {
        let mut scene = Scene::default();
        for pid in 1..6 {
            scene.task(pid, "task");
        }
        let mut free_ms = [0; 6];
        for (pid, after, length, stack, by) in waits {
            let from = free_ms[pid as usize] + after;
            free_ms[pid as usize] = from + length;
            scene.sleeps(pid, from, from + length, STACKS[stack], by);
        }
        let mut free_ms = [0; 6];
        for (pid, after, length) in calls {
            let from = free_ms[pid as usize] + after;
            free_ms[pid as usize] = from + length;
            scene.writes(pid, from, from + length);
        }
        for (index, stages) in tids.into_iter().enumerate() {
            scene.transaction(index as u32, stages, 5);
        }
        let known = scene.known();
        let question = Question { over_ns: 0, top: 100 };
        let explanation = known.explain(&question);
        for call in &explanation.calls {
            let told: u64 = call.tree.iter().map(|node| node.ns).sum();
            prop_assert!(told <= call.wait_ns && call.unexplained_ns <= call.wait_ns);
            prop_assert!(call.wait_ns <= call.end_ns - call.begin_ns);
            prop_assert!(call.tree.iter().all(sum_fits), "{:#?}", call.tree);
        }
        let text = describe(&known, &explanation);
        prop_assert!(text.lines().count() >= explanation.calls.len());
        let json = to_json(&known, &explanation);
        prop_assert_eq!(json["calls"].as_array().unwrap().len(), explanation.calls.len());
    }
}

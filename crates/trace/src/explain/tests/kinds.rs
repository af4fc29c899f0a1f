//! Kinds of waits that were told wrongly once, each in a small timeline.

use super::*;
use crate::timeline::Quota;

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
    let places = |lasts: bool| {
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
            let task = scene.line.tasks.get_mut(&10).unwrap();
            (task.waits[1].woken_ns, task.waits[1].end_ns) = (None, None);
            task.calls[1].end_ns = None;
        }
        let call = scene.told();
        (causes(&call), call.chain.last().unwrap().place.clone(), call.is_open)
    };
    let throttled = vec!["direct_io", "throttle"];
    assert_eq!(places(false), (throttled.clone(), "sda".to_owned(), false));
    // One that lasts: as the wait before it, though nothing of it has come to that disk.
    assert_eq!(places(true), (throttled, "sda".to_owned(), true));
}

/// A limit explains a wait only of a task in its group, or of one that works for such a task, and only of the
/// direction that it limits; of several the tightest does.
#[test]
fn a_limit_explains_only_waits_of_its_group_and_direction() {
    const V1: &str = "/sys/fs/cgroup/blkio";
    let told = |limits: &[(&str, &str)], groups: &str, stack: &str| {
        let mut scene = Scene::of_victim(stack, 0);
        scene.task(9, "shell");
        scene.line.tasks.get_mut(&10).unwrap().parent = Some(9);
        scene.request(10, 590, 599, 4096);
        for (path, text) in limits {
            scene.fact(&format!("{V1}/{path}_device"), text);
        }
        scene.fact("limited groups", groups);
        let call = scene.told();
        let link = call.chain.last().unwrap();
        let lifted = call.advice.first().map(|one| one.writes[0].path.clone());
        (link.cause, link.known_by, call.unexplained_ns / MS, lifted.unwrap_or_default())
    };
    let direct = "io_schedule < __iomap_dio_rw < vfs_write";
    let file = |path: &str| format!("{V1}/{path}_device");
    let (reads, writes) = ("backup/blkio.throttle.read_bps", "db/blkio.throttle.write_bps");
    let sure = |path: &str| (Cause::Throttle, Evidence::AbsenceAndSetting, 0, file(path));
    let may = (Cause::Throttle, Evidence::Absence, 500, String::new());
    let unknown = (Cause::Unknown, Evidence::Absence, 500, String::new());
    let members = |of: &str| format!("group {V1}/db\nof {of}\nothers 7 8\n");
    // A limit of another group, and one of the other direction.
    let backup = format!("group {V1}/backup\nof 77\nothers 9 10\n");
    assert_eq!(told(&[(reads, "8:0 9")], &backup, direct), unknown);
    let write = "backup/blkio.throttle.write_bps";
    assert_eq!(told(&[(write, "8:0 9")], &backup, direct), unknown);
    let mine = backup.replace("77", "10");
    assert_eq!(told(&[(reads, "8:0 9")], &mine, direct), unknown);
    assert_eq!(told(&[(write, "8:0 9")], &mine, direct), sure(write));
    // Of several the tightest that is its own: requests count as bytes.
    let many =
        [(writes, "8:0 9000000"), ("db/blkio.throttle.write_iops", "8:0 7"), (write, "8:0 1")];
    let both = format!("{}group {V1}/backup\nof 77\n", members("10"));
    assert_eq!(told(&many, &both, direct), sure("db/blkio.throttle.write_iops"));
    // A task that nobody saw is where the one is that made it, or may have been moved.
    assert_eq!(told(&[(writes, "8:0 9")], &members("9"), direct), sure(writes));
    assert_eq!(told(&[(writes, "8:0 9")], &members("7").replace("7 8", "9"), direct), may);
    // A trace that does not say which tasks are in a group.
    assert_eq!(told(&[(writes, "8:0 9")], "", direct), may);
    // Who waits for data of all may wait for any group's.
    let read = "io_schedule < folio_wait_bit_common < filemap_get_pages < filemap_read";
    assert_eq!(told(&[(writes, "8:0 9")], &members("10"), read), unknown);
}

/// The journal's thread waits for data of others: of a group with a handle of its transaction, or of any.
#[test]
fn a_limit_holds_who_works_for_its_group() {
    let told = |groups: &str| {
        let mut scene = Scene::of_victim("schedule < jbd2_log_wait_commit < ext4_sync_file", 20);
        scene.task(20, "jbd2/sda-8");
        scene.sleeps(20, 100, 590, DATA, 0);
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        scene.request(20, 580, 589, 4096);
        scene.fact("/sys/fs/cgroup/a/io.max", "8:0 wbps=4096");
        scene.fact("limited groups", &format!("group /sys/fs/cgroup/a\n{groups}"));
        let call = scene.told();
        (causes(&call), call.known_by)
    };
    let chain = vec!["commit", "ordered_data", "writeback", "throttle"];
    assert_eq!(told("of 10\nothers 20"), (chain.clone(), Evidence::AbsenceAndSetting));
    assert_eq!(told("of 11\nothers 10 20"), (chain, Evidence::Absence));
}

/// Of a disk that is made of several the one that had most to do is told.
#[test]
fn the_busy_one_of_several_lower_disks_is_told() {
    const LOWER: Device = Device(8 << 20 | 16);
    let told = |lower_ms: u64| {
        let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
        scene.fact("/sys/block/sda/slaves", "sdb sdc");
        scene.request(10, 101, 599, 4096);
        scene.request_of(LOWER, 10, (101, 101 + lower_ms), 4096);
        scene.request_of(Device(8 << 20 | 32), 10, (101, 450), 4096);
        let call = scene.told();
        call.chain.last().unwrap().place.clone()
    };
    assert_eq!((told(300), told(480)), ("sdc".to_owned(), "sdb".to_owned()));
}

/// A task that could have run is late in its own code too.
#[test]
fn a_share_that_is_used_up_is_told_outside_of_calls() {
    let told = |processor: Processor| {
        let mut scene = Scene::default();
        scene.task(10, "victim");
        scene.task(50, "hog");
        scene.sleeps(10, 100, 600, "schedule", 0);
        let wait = &mut scene.line.tasks.get_mut(&10).unwrap().waits[0];
        (wait.kind, wait.stack, wait.woken_ns) = (WaitKind::Runnable, None, None);
        (wait.processor, wait.next_pid, wait.waker) = (processor, None, None);
        let explanation = scene.known().explain(&Question::default());
        let call = explanation.calls.first().cloned();
        call.map(|one| (one.call.clone(), one.cause, one.cause_detail, one.unexplained_ns / MS))
    };
    let quota = Quota { quota_ns: 20 * MS, period_ns: 500 * MS, throttled_ns: 480 * MS };
    let code = "its own code".to_owned();
    let held = Processor { quota: Some(quota), ..Processor::default() };
    assert_eq!(told(held), Some((code.clone(), Cause::Cpu, Some("cpu_quota"), 0)));
    let starved = Processor { before_pid: Some(50), ..Processor::default() };
    assert_eq!(told(starved), Some((code.clone(), Cause::Cpu, None, 0)));
    // That no other task had the processor does not tell why it did not run.
    let alone = Processor { before_pid: Some(0), ..Processor::default() };
    assert_eq!(told(alone), Some((code, Cause::Cpu, None, 500)));
    // Its end was not told: it may have run since.
    assert_eq!(told(Processor::default()), None);
}

/// What ended a sleep is told, and what it was for only if that is known.
#[test]
fn what_has_no_name_is_unexplained() {
    // In a call of FUSE's or of a file's lock it is known what is waited for; here it is not.
    let mut scene = Scene::of_victim("schedule < nothing_known", 0);
    let wait = &mut scene.line.tasks.get_mut(&10).unwrap().waits[0];
    wait.kind = WaitKind::Interruptible;
    let task = scene.line.tasks.get_mut(&10).unwrap();
    let mut hard = task.waits[0];
    (hard.kind, hard.begin_ns) = (WaitKind::Stopped, 600 * MS);
    (hard.woken_ns, hard.end_ns) = (Some(1_200 * MS), Some(1_200 * MS));
    task.waits.push(hard);
    task.calls[0].end_ns = Some(1_200 * MS);
    scene.line.end_ns = 1_200 * MS;
    assert_eq!(scene.told().unexplained_ns / MS, 500);
}

/// Limits of dirty data that a machine has already are never made larger.
#[test]
fn advice_raises_no_limit_of_dirty_data() {
    let told = |limit_mib: u64, background_mib: u64, facts: &[(&str, &str)]| {
        let mut scene = Scene::of_victim("io_schedule_timeout < balance_dirty_pages", 0);
        for (path, text) in facts {
            scene.fact(path, text);
        }
        let pages = |mib: u64| mib << 8;
        let setpoint = (pages(background_mib) + 3 * pages(limit_mib)) / 4;
        scene.line.tasks.get_mut(&10).unwrap().throttles.push(throttle(
            pages(limit_mib),
            pages(limit_mib),
            setpoint,
        ));
        for at in 0..9 {
            scene.request(31, 100 + at * 40, 139 + at * 40, 16 << 20);
        }
        let call = scene.told();
        assert_eq!(call.cause, Cause::DirtyLimitGlobal);
        let writes = call.advice.into_iter().flat_map(|one| one.writes);
        let is_limit = |path: &str| path.contains("dirty") || path.ends_with("max_bytes");
        writes
            .filter(|one| is_limit(&one.path))
            .map(|one| (one.path.rsplit('/').next().unwrap().to_owned(), one.text))
            .collect::<Vec<_>>()
    };
    let machine = |background: bool| {
        let mut all = vec![("dirty_bytes".to_owned(), (256 << 20).to_string())];
        if background {
            all.insert(0, ("dirty_background_bytes".to_owned(), (64 << 20).to_string()));
        }
        all
    };
    assert_eq!(told(2_000, 1_000, &[]), machine(true));
    // A fifth of 1 GiB is less than what would be set.
    assert_eq!(told(200, 100, &[]), []);
    assert_eq!(told(300, 40, &[]), machine(false));
    let bdi = "/sys/class/bdi/8:0";
    let limited = |max_bytes: &str, strict: &str| {
        let (max, is_strict) = (format!("{bdi}/max_bytes"), format!("{bdi}/strict_limit"));
        let mounts = ("/proc/self/mountinfo", "30 1 8:0 / /data rw - ext4 /dev/sda rw");
        let facts = [(max.as_str(), max_bytes), (is_strict.as_str(), strict), mounts];
        told(200, 100, &facts).into_iter().any(|(file, _)| file == "max_bytes")
    };
    assert!(limited("1073741824", "0"));
    assert!(!limited("4194304", "1"));
    assert!(!limited("4194304", "0"));
}

fn throttle(dirty: u64, limit: u64, setpoint: u64) -> Throttle {
    Throttle {
        begin_ns: 100 * MS,
        pause_ms: 500,
        bdi: Name::new(b"8:0"),
        dirty,
        limit,
        setpoint,
        device_dirty: 90,
        device_setpoint: 80,
        task_rate_kbs: 10,
        device_rate_kbs: 20,
    }
}

/// Whose limit of dirty data it is needs an event, and that it is a group's a limit that its group has.
#[test]
fn a_limit_of_dirty_data_that_is_concluded_is_no_fact() {
    let told = |limits: Option<&[(&str, &str)]>| {
        let mut scene = Scene::of_victim("io_schedule_timeout < balance_dirty_pages", 0);
        scene.fact("/sys/class/bdi/8:0/strict_limit", "0");
        if let Some(facts) = limits {
            facts.iter().for_each(|(path, text)| scene.fact(path, text));
            let throttles = &mut scene.line.tasks.get_mut(&10).unwrap().throttles;
            throttles.push(throttle(100, 100_000, 90_000));
        }
        let call = scene.told();
        (call.cause, call.known_by, call.unexplained_ns / MS)
    };
    assert_eq!(told(None), (Cause::DirtyLimitGlobal, Evidence::Absence, 500));
    assert_eq!(told(Some(&[])), (Cause::DirtyLimitGroup, Evidence::Absence, 500));
    let memory = ("/sys/fs/cgroup/a/memory.max", "104857600");
    let of = |tasks| ("limited groups", tasks);
    let mine = of("group /sys/fs/cgroup/a\nof 10\nothers 9");
    let expected = (Cause::DirtyLimitGroup, Evidence::AbsenceAndSetting, 0);
    assert_eq!(told(Some(&[memory, mine])), expected);
    let others = of("group /sys/fs/cgroup/a\nof 9\nothers 10");
    assert_eq!(told(Some(&[memory, others])).1, Evidence::Absence);
}

/// A freeze names only its file: who it was is told where one alone may have been it.
#[test]
fn who_froze_a_file_system_is_told_only_if_it_can_be_no_other() {
    const THAWS: u64 = 0xc004_5878;
    let told = |calls: &[(i32, u64, i64, u64, i64)]| {
        let mut scene =
            Scene::of_victim("schedule < percpu_rwsem_wait < __percpu_down_read < vfs_write", 0);
        for (pid, at_ms, number, request, ret) in calls {
            scene.task(*pid, "freezer");
            scene.writes(*pid, *at_ms, at_ms + 1);
            let call = scene.line.tasks.get_mut(pid).unwrap().calls.last_mut().unwrap();
            (call.number, call.args[1], call.ret) = (*number, *request, *ret);
        }
        scene.told().chain[0].evidence.contains("frozen by freezer (pid 30)")
    };
    let freezes = (30, 50, 16, soft::FREEZES, 0);
    assert!(told(&[freezes]));
    // Thawed since; two that froze; one that failed; another call with that number.
    assert!(!told(&[freezes, (31, 60, 16, THAWS, 0)]));
    assert!(!told(&[freezes, (31, 60, 16, soft::FREEZES, 0)]));
    assert!(!told(&[(30, 50, 16, soft::FREEZES, -16)]));
    assert!(!told(&[(30, 50, 1, soft::FREEZES, 0)]));
    assert!(told(&[freezes, (31, 60, 1, soft::FREEZES, 0)]));
}

/// A share of the processors of the second version is lifted with its period: the file has two words.
#[test]
fn a_share_is_lifted_as_the_kernel_shows_it() {
    let told = |group: &str| {
        let mut scene = Scene::of_victim("schedule", 0);
        scene.fact("quotas at the end", &format!("20000000 100000000 480000000 {group}\nof 10"));
        let wait = &mut scene.line.tasks.get_mut(&10).unwrap().waits[0];
        (wait.kind, wait.stack, wait.woken_ns) = (WaitKind::Runnable, None, None);
        scene.told().advice[0].command.clone()
    };
    let (v2, v1) = ("/sys/fs/cgroup/a", "/sys/fs/cgroup/cpu/a");
    assert_eq!(told(v2), format!("echo \"max 100000\" > {v2}/cpu.max"));
    assert_eq!(told(v1), format!("echo -1 > {v1}/cpu.cfs_quota_us"));
}

/// A journal may be on a device of its own, which its thread is called after: the log is written there.
#[test]
fn a_journal_of_its_own_device_is_written_there() {
    const LOG: Device = Device(8 << 20 | 16);
    let told = |thread: &str| {
        let mut scene = Scene::of_victim("schedule < jbd2_log_wait_commit < ext4_sync_file", 20);
        scene.task(20, thread);
        let writes =
            "io_schedule < __wait_on_buffer < jbd2_journal_commit_transaction < kjournald2";
        scene.sleeps(20, 100, 590, writes, 0);
        scene.transaction(6, [0, 40, 41, 42, 45, 595], 20);
        for device in [DEVICE, LOG] {
            scene.request_of(device, 30, (101, 589), 4096);
        }
        scene.told().chain.last().unwrap().place.clone()
    };
    assert_eq!((told("jbd2/sdb"), told("jbd2/sda-8")), ("sdb".to_owned(), "sda".to_owned()));
}

//! What is told must be known: limits of whom, and in which direction; who froze; what has no name.

use super::*;
use crate::timeline::{Move, Quota};

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

/// A task that comes to a group while it is recorded, and ends before that does: no list has it.
#[test]
fn a_task_is_in_the_group_that_it_was_moved_to() {
    const V1: &str = "/sys/fs/cgroup/blkio";
    type Moves<'a> = &'a [(i32, u64, i32, Option<&'a str>)];
    let told_of = |limit: (&str, &str), lists: [&str; 2], moves: Moves| {
        let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
        scene.request(10, 590, 599, 4096);
        scene.task(9, "shell");
        let victim = scene.line.tasks.get_mut(&10).unwrap();
        (victim.parent, victim.born_ns) = (Some(9), Some(50 * MS));
        scene.fact("group hierarchies", "7 /sys/fs/cgroup/blkio\n0 /sys/fs/cgroup/unified\n");
        scene.fact(limit.0, limit.1);
        for (name, text) in [("limited groups", lists[0]), ("limited groups at the end", lists[1])]
        {
            scene.fact(name, text);
        }
        for (pid, at_ms, hierarchy, group) in moves {
            let group = group.map(str::to_owned);
            let one = Move { at_ns: at_ms * MS, hierarchy: *hierarchy, group };
            scene.line.tasks.get_mut(pid).unwrap().moves.push(one);
        }
        let call = scene.told();
        let cause = call.chain.last().unwrap().cause;
        (cause == Cause::Throttle).then_some(call.unexplained_ns / MS)
    };
    let file = format!("{V1}/db/blkio.throttle.write_bps_device");
    let told = |lists, moves: Moves| told_of((&file, "8:0 9"), lists, moves);
    let nowhere = [""; 2];
    let (sure, may, other) = (Some(0), Some(500), None);
    assert_eq!(told(nowhere, &[]), may);
    assert_eq!(told(nowhere, &[(10, 60, 7, Some("/db"))]), sure);
    // Of another hierarchy, of a group below, which the first version does not hold, and elsewhere since.
    assert_eq!(told(nowhere, &[(10, 60, 4, Some("/db"))]), may);
    assert_eq!(told(nowhere, &[(10, 60, 7, Some("/db/below"))]), other);
    assert_eq!(told(nowhere, &[(10, 60, 7, Some("/db")), (10, 70, 7, Some("/"))]), other);
    // After the wait, by another task of this number, or to a group whose path was too long.
    assert_eq!(told(nowhere, &[(10, 700, 7, Some("/db"))]), may);
    assert_eq!(told(nowhere, &[(10, 40, 7, Some("/db"))]), may);
    assert_eq!(told(nowhere, &[(10, 60, 7, None)]), may);
    // Its parent was there when it was born, or came there later: whether with it is not told.
    assert_eq!(told(nowhere, &[(9, 40, 7, Some("/db"))]), sure);
    assert_eq!(told(nowhere, &[(9, 60, 7, Some("/db"))]), may);
    // A list that was made before the move says where it was until then, one that was made later where it is.
    let members = format!("group {V1}/db\nof 10\nothers 9");
    assert_eq!(told([&members, ""], &[(10, 60, 7, Some("/"))]), other);
    assert_eq!(told([&members, ""], &[(10, 110, 7, Some("/"))]), sure);
    assert_eq!(told(["", &members], &[(10, 110, 7, Some("/db"))]), may);
    assert_eq!(told(["", &members], &[(9, 60, 7, Some("/db"))]), sure);
    // The second version holds groups below as well.
    let v2 = ("/sys/fs/cgroup/unified/a/io.max", "8:0 wbps=4096");
    assert_eq!(told_of(v2, nowhere, &[(10, 60, 0, Some("/a/b"))]), sure);
    assert_eq!(told_of(v2, nowhere, &[(10, 60, 0, Some("/ab"))]), other);
}

/// A limit that was set and lifted while it was recorded, so that neither its beginning nor its end has it.
#[test]
fn a_limit_explains_only_waits_of_its_time() {
    const FILE: &str = "/sys/fs/cgroup/blkio/db/blkio.throttle.write_bps_device";
    let told = |changes: &[(u64, u64, &str)], facts: &[(&str, &str)]| {
        let mut scene = Scene::of_victim("io_schedule < __iomap_dio_rw < vfs_write", 0);
        scene.request(10, 590, 599, 4096);
        scene.fact("hangs at the end", "at 9");
        for (index, (from_ms, at_ms, text)) in changes.iter().enumerate() {
            let (from_ns, at_ns) = (from_ms * MS, at_ms * MS);
            let text = format!("{from_ns} {at_ns} {FILE}\n{text}");
            scene.fact(&format!("limit change {}", index + 1), &text);
        }
        let members = "group /sys/fs/cgroup/blkio/db\nof 10\nothers 9";
        scene.fact("limited groups at change 1", members);
        for (name, text) in facts {
            scene.fact(name, text);
        }
        let call = scene.told();
        let link = call.chain.last().unwrap();
        let is_told = link.evidence.contains(&format!("{FILE} had \"8:0 9\""));
        assert_eq!(is_told, link.cause == Cause::Throttle);
        // What was lifted is not to be lifted.
        assert_eq!(call.advice, []);
        (link.cause == Cause::Throttle).then_some(call.unexplained_ns / MS)
    };
    let (sure, none) = (Some(0), None);
    assert_eq!(told(&[], &[]), none);
    assert_eq!(told(&[(50, 60, "8:0 9"), (650, 660, "")], &[]), sure);
    // Before the wait and behind it; the moments between two looks may be of either.
    assert_eq!(told(&[(50, 60, "8:0 9"), (70, 90, "")], &[]), none);
    assert_eq!(told(&[(650, 660, "8:0 9"), (700, 710, "")], &[]), none);
    assert_eq!(told(&[(50, 60, "8:0 9"), (70, 110, "")], &[]), sure);
    assert_eq!(told(&[(590, 660, "8:0 9"), (700, 710, "")], &[]), sure);
    // It was there when the recording began.
    let at_begin = (FILE, "8:0 9");
    assert_eq!(told(&[(70, 90, "")], &[at_begin]), none);
    assert_eq!(told(&[(170, 190, "")], &[at_begin]), sure);
    // That some changes are missing takes the times from all.
    let left_out = ("limit changes left out", "1");
    assert_eq!(told(&[(50, 60, "8:0 9"), (70, 90, "")], &[left_out]), sure);
    // A limit for another disk, and lists that do not speak of the group.
    assert_eq!(told(&[(50, 60, "8:16 9")], &[]), none);
    let no_list = ("limited groups at change 1", "group /sys/fs/cgroup/blkio/a\nof 9\nothers 10");
    assert_eq!(told(&[(50, 60, "8:0 9"), (650, 660, "")], &[no_list]), Some(500));
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

pub(super) fn throttle(dirty: u64, limit: u64, setpoint: u64) -> Throttle {
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
    let v1 = "/sys/fs/cgroup/cpu/a";
    // A group of the second version may be called as a folder of the first begins.
    for v2 in ["/sys/fs/cgroup/a", "/sys/fs/cgroup/cpu-a.slice"] {
        assert_eq!(told(v2), format!("echo \"max 100000\" > {v2}/cpu.max"));
    }
    assert_eq!(told(v1), format!("echo -1 > {v1}/cpu.cfs_quota_us"));
}

/// That some group was held is no reason of a task that was not seen in it, nor of one whose processor another
/// took; and then no limit is to be lifted.
#[test]
fn a_share_that_was_used_up_elsewhere_explains_nothing() {
    let told_after = |before: i32, member: i32, taker: Option<i32>| {
        let mut scene = Scene::of_victim("schedule", 0);
        for (pid, name) in [(50, "hog"), (51, "sibling"), (52, "kworker/0:1")] {
            scene.task(pid, name);
        }
        let members = format!("of {member}\nof 51");
        scene.fact("quotas at the end", &format!("20000000 100000000 480000000 /a\n{members}"));
        let wait = &mut scene.line.tasks.get_mut(&10).unwrap().waits[0];
        (wait.kind, wait.stack, wait.woken_ns) = (WaitKind::Runnable, None, None);
        (wait.processor.before_pid, wait.next_pid) = (Some(before), taker);
        let call = scene.told();
        (call.cause_detail, call.known_by, call.unexplained_ns / MS, call.advice.len())
    };
    let told = |member: i32, taker: Option<i32>| told_after(0, member, taker);
    let quota = Some("cpu_quota");
    assert_eq!(told(10, None), (quota, Evidence::AbsenceAndSetting, 0, 1));
    assert_eq!(told(77, None), (quota, Evidence::Absence, 500, 0));
    assert_eq!(told_after(50, 10, Some(50)), (quota, Evidence::Absence, 500, 0));
    // Who is in the group as well, or has the processor for a moment.
    for taker in [51, 52] {
        let found = told_after(taker, 10, Some(taker));
        assert_eq!(found, (quota, Evidence::AbsenceAndSetting, 0, 1));
    }
    // Nobody was on the processor any more when the task came back.
    assert_eq!(told(10, Some(50)), (quota, Evidence::AbsenceAndSetting, 0, 1));
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

/// Of a stack that is cut nobody knows what the call was in: a buffer that is waited for may be of data.
#[test]
fn a_stack_that_is_cut_is_told_as_that() {
    let told = |functions: usize| {
        let inner = ["io_schedule", "__wait_on_buffer"].map(str::to_owned);
        let outer = (inner.len()..functions).map(|number| format!("f{number}"));
        let stack: Vec<String> = inner.into_iter().chain(outer).collect();
        let mut scene = Scene::of_victim(&stack.join(" < "), 0);
        scene.request(10, 100, 600, 4096);
        let link = scene.told().chain[0].clone();
        (link.cause, link.evidence.contains("its stack is cut"))
    };
    assert_eq!(told(crate::record::FRAMES_MAX), (Cause::MetadataRead, false));
    assert_eq!(told(crate::record::FRAMES_MAX + 1), (Cause::Device, true));
}

//! Advice: whom and what it names, and when none is given.

use super::known::throttle;
use super::*;

const GROUP: &str = "/sys/fs/cgroup/shop/db";

/// Commands that are advised.
fn commands(call: &SlowCall) -> Vec<&str> {
    call.advice.iter().map(|one| one.command.as_str()).collect()
}

/// A limit of memory is named with its group and its file, where the task was seen in it.
#[test]
fn advice_about_memory_names_the_group_that_was_seen() {
    let dirty = "io_schedule_timeout < balance_dirty_pages";
    let of_group = "shrink_node < try_to_free_mem_cgroup_pages < charge_memcg < do_anonymous_page";
    let told = |stack: &str, members: &str, limits: &[(&str, &str)]| {
        let mut scene = Scene::of_victim(stack, 0);
        scene.fact("/sys/class/bdi/8:0/strict_limit", "0");
        limits.iter().for_each(|(path, text)| scene.fact(path, text));
        scene.fact("limited groups", members);
        if stack == dirty {
            let throttles = &mut scene.line.tasks.get_mut(&10).unwrap().throttles;
            throttles.push(throttle(100, 100_000, 90_000));
        }
        let call = scene.told();
        commands(&call).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (max, high) = (format!("{GROUP}/memory.max"), format!("{GROUP}/memory.high"));
    let above = "/sys/fs/cgroup/shop/memory.max";
    let mine = format!("group {GROUP}\nof 10\ngroup /sys/fs/cgroup/shop\nof 10\nothers 9");
    let others = mine.replace("10", "77").replace("others 9", "others 9 10");
    for stack in [dirty, of_group] {
        let one = [(max.as_str(), "104857600")];
        assert_eq!(told(stack, &mine, &one), [format!("echo 209715200 > {max}")]);
        // All that would hold it next, from the top on; what is larger is left as it is.
        let more =
            [(max.as_str(), "400000000"), (high.as_str(), "104857600"), (above, "200000000")];
        let expected = format!("echo 209715200 > {above}; echo 209715200 > {high}");
        assert_eq!(told(stack, &mine, &more), [expected]);
        // Of another group, or of one that nobody saw it in.
        for members in [others.as_str(), ""] {
            assert!(told(stack, members, &one).is_empty(), "{members}");
        }
        assert!(told(stack, &mine, &[]).is_empty());
    }
    // It was the machine that had too little.
    let of_machine = "shrink_node < try_to_free_pages < __alloc_pages_slowpath";
    assert!(told(of_machine, &mine, &[(&max, "104857600")]).is_empty());
}

/// A cause that is concluded from absence alone is no reason to change anything.
#[test]
fn nothing_is_advised_against_what_nobody_saw() {
    let told = |throttled: bool| {
        let mut scene = Scene::of_victim("io_schedule_timeout < balance_dirty_pages", 0);
        for (file, text) in [("strict_limit", "0"), ("max_bytes", "1073741824")] {
            scene.fact(&format!("/sys/class/bdi/8:0/{file}"), text);
        }
        scene.syncs(10, 100, 600);
        scene.request(31, 100, 590, 64 << 20);
        if throttled {
            let throttles = &mut scene.line.tasks.get_mut(&10).unwrap().throttles;
            throttles.push(throttle(100_000, 100_000, 90_000));
        }
        let call = scene.told();
        assert_eq!(call.cause, Cause::DirtyLimitGlobal);
        let concluded = call.chain[0].known_by == Evidence::Absence;
        (concluded, call.advice.is_empty())
    };
    assert_eq!((told(true), told(false)), ((false, false), (true, true)));
    // A group's share of the processors that was used up is lifted of the group that it was seen in.
    let quota = |of: &str| {
        let mut scene = Scene::of_victim("schedule", 0);
        scene.fact("quotas at the end", &format!("20000000 100000000 480000000 {GROUP}\nof {of}"));
        let wait = &mut scene.line.tasks.get_mut(&10).unwrap().waits[0];
        (wait.kind, wait.stack, wait.woken_ns) = (WaitKind::Runnable, None, None);
        wait.processor.before_pid = Some(0);
        scene.told().advice.len()
    };
    assert_eq!((quota("10"), quota("77")), (1, 0));
}

/// The limit on write-back is of the disk that the task gives its requests to.
#[test]
fn the_limit_on_write_back_is_lifted_on_its_disk() {
    let told = |given: &[(Device, i32)], syncs: bool| {
        let mut scene =
            Scene::of_victim("io_schedule < rq_qos_wait < wbt_wait < blk_mq_submit_bio", 0);
        for name in ["sda", "sdb"] {
            scene.fact(&format!("/sys/block/{name}/queue/wbt_lat_usec"), "75000\n");
        }
        if syncs {
            scene.syncs(10, 100, 600);
        }
        for (device, pid) in given {
            scene.request_of(*device, *pid, (599, 610), 4096);
        }
        let call = scene.told();
        assert_eq!(call.root, Cause::WritebackThrottle, "{call:#?}");
        commands(&call).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    const OTHER: Device = Device(8 << 20 | 16);
    let of = |name: &str| [format!("echo 0 > /sys/block/{name}/queue/wbt_lat_usec")];
    assert_eq!(told(&[(OTHER, 10), (DEVICE, 30)], false), of("sdb"));
    assert_eq!(told(&[], true), of("sda"));
    assert_eq!(told(&[(OTHER, 10), (DEVICE, 10)], true), of("sda"));
    assert!(told(&[(OTHER, 10), (DEVICE, 10)], false).is_empty());
    assert!(told(&[], false).is_empty());
}

/// A composed disk has no requests of its own: what its disks wrote says how fast it is.
#[test]
fn a_composed_disk_is_as_fast_as_what_it_is_made_of() {
    const COMPOSED: Device = Device(253 << 20);
    let told = |written: bool, slaves: &str| {
        let mut scene = Scene::of_victim("io_schedule_timeout < balance_dirty_pages", 0);
        scene.fact("/sys/class/bdi/253:0/strict_limit", "0");
        scene.fact("/sys/block/sdb/slaves", slaves);
        let throttle = throttle(100_000, 100_000, 90_000);
        scene.line.tasks.get_mut(&10).unwrap().throttles.push(throttle);
        if written {
            scene.request(31, 100, 590, 512 << 20);
            scene.request_of(Device(8 << 20 | 32), 31, (100, 590), 512 << 20);
        }
        let mut known = scene.known();
        known.devices.insert(COMPOSED, "dm-0".to_owned());
        let facts = BTreeMap::from([("/sys/block/dm-0/slaves".to_owned(), slaves.to_owned())]);
        known.stands = stands::Stands::of(&facts, &known.devices, &known.mounts);
        let limit = advice::limit_of_device(&known, Some(COMPOSED));
        limit.map(|one| one.writes[1].text.clone())
    };
    // What it wrote in all of the trace is what it writes in two seconds, or more.
    assert_eq!(told(true, "sda sdc dm-0").as_deref(), Some("1073741824"));
    assert_eq!(told(true, "sdb"), None);
    assert_eq!(told(false, "sda"), None);
}

/// Paths come into commands as they are, and as a shell takes them; what the machine runs from is not unmounted.
#[test]
fn a_path_with_blanks_is_one_word() {
    let told = |path: &str| {
        let mut scene =
            Scene::of_victim("io_schedule < jbd2_log_do_checkpoint < __jbd2_log_wait_for_space", 0);
        scene.fact("/proc/self/mountinfo", &format!("30 1 8:0 / {path} rw - ext4 /dev/sda rw"));
        scene.syncs(10, 100, 600);
        let call = scene.told();
        assert_eq!(call.root, Cause::LogSpace);
        commands(&call).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let begins = |path: &str, command: &str| {
        let all = told(path);
        assert!(all.iter().any(|one| one.starts_with(command)), "{all:?}");
    };
    begins("/data", "umount /data && ");
    begins("/media/u/My\\040Disk", "umount '/media/u/My Disk' && ");
    begins("/it's", "umount '/it'\\''s' && ");
    assert!(told("/").is_empty());
}

//! `check` over fake roots: whole machines stated as files, and the rows that follow.

#![allow(clippy::disallowed_methods, reason = "tests make the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_tune::{Circumstances, JournalFacts, MountFacts, Need, Remedy, Setting, Verdict, check};
use std::fs;
use std::path::{Path, PathBuf};

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";
const HUGE: &str = "/sys/kernel/mm/transparent_hugepage";

const UNLIMITED: &str =
    "100.0 % of the machine's limit, 3200 MiB at the moment, only near the machine's limit";
const LIMITED: &str = "10.0 % of the machine's limit, 32 MiB at the moment, at all times";

/// A root, removed when dropped.
struct Root(PathBuf);

impl Root {
    fn new(name: &str, files: &[(&str, &str)]) -> Root {
        let root = Root(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{name}")));
        let _ = fs::remove_dir_all(&root.0);
        fs::create_dir_all(&root.0).unwrap();
        for (path, text) in files {
            let path = root.0.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    fn here(&self) -> Circumstances {
        let mount = |kind: &str, at: &str, options: &[&str]| MountFacts {
            kind: kind.to_owned(),
            mount_point: at.into(),
            elsewhere: Vec::new(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            disk: (kind == "ext4").then(|| "sda".to_owned()),
            source: if kind == "ext4" { "/dev/sda1" } else { kind }.to_owned(),
            journal: (kind == "ext4").then_some(JournalFacts::Inside(128 << 20)),
        };
        Circumstances {
            root: self.0.clone(),
            locked_bytes: 32 << 20,
            memlock_bytes: None,
            may_lock: false,
            realtime_priority_max: 99,
            may_realtime: false,
            rings: Some(mount("tmpfs", "/run", &["rw"])),
            rings_free_bytes: Some(16 << 20),
            ring_bytes: 16 << 20,
            store: Some(mount("ext4", "/data", &["rw", "relatime", "delalloc", "data=ordered"])),
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn with(needs: &[Need], verdict: Verdict) -> Vec<&str> {
    needs.iter().filter(|need| need.verdict == verdict).map(|need| need.name.as_str()).collect()
}

fn one<'a>(needs: &'a [Need], name: &str) -> &'a Need {
    let found: Vec<_> = needs.iter().filter(|need| need.name.contains(name)).collect();
    assert_eq!(found.len(), 1, "{name} in {needs:#?}");
    found[0]
}

fn good_machine() -> Vec<(&'static str, &'static str)> {
    vec![
        ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
        ("/proc/swaps", "Filename Type Size Used Priority"),
        ("/proc/sys/vm/swappiness", "60"),
        ("/sys/module/zswap/parameters/enabled", "N"),
        ("/proc/sys/vm/compact_unevictable_allowed", "0"),
        ("/proc/sys/kernel/numa_balancing", "0"),
        ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] deny force"),
        ("/proc/sys/vm/dirty_bytes", "0"),
        ("/proc/sys/vm/dirty_ratio", "20"),
        ("/proc/sys/vm/dirty_expire_centisecs", "3000"),
        ("/proc/sys/vm/dirty_writeback_centisecs", "500"),
        ("/proc/sys/vm/min_free_kbytes", "20971"),
        ("/proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 1 kB\nMemAvailable: 65536 kB"),
        ("/proc/vmstat", "nr_free_pages 7\nnr_dirty_threshold 81920"),
        ("/sys/class/bdi/8:0/max_ratio_fine", "100000"),
        ("/sys/class/bdi/8:0/strict_limit", "1"),
        ("/sys/block/sda/dev", "8:0"),
        ("/sys/block/sda/queue/scheduler", "none [mq-deadline] bfq"),
        ("/sys/block/sda/queue/nr_requests", "32"),
        ("/sys/block/sda/queue/max_sectors_kb", "128"),
        ("/sys/block/sda/queue/rotational", "1"),
        ("/sys/block/sda/queue/write_cache", "write back"),
        ("/sys/block/sda/queue/wbt_lat_usec", "75000"),
    ]
}

#[test]
fn nothing_is_to_be_changed_on_a_good_machine() {
    let root = Root::new("good", &good_machine());
    let needs = check(&root.here());
    assert_eq!(with(&needs, Verdict::Change), Vec::<&str>::new());
    assert!(needs.iter().all(|need| need.command.is_none()), "{needs:#?}");
    let notes = [
        "vm.swappiness",
        "vm.dirty_bytes, _ratio",
        "vm.dirty_expire_centisecs, dirty_writeback_centisecs",
        "file times of /data",
    ];
    assert_eq!(with(&needs, Verdict::Note), notes);
    assert_eq!(one(&needs, "vm.dirty_bytes").found, "20 %");
    assert_eq!(one(&needs, "nr_requests").found, "32 x 128 KiB = 4 MiB");
    assert_eq!(one(&needs, "dirty data of sda").found, LIMITED);
    assert_eq!(one(&needs, "dirty_expire").found, "30 s, looked for every 5 s");
    assert_eq!(one(&needs, "min_free_kbytes").wanted, "at least 20971");
    assert_eq!(one(&needs, "memory available").found, "64 MiB");
    for need in &needs {
        assert!(!need.why.is_empty() && !need.wanted.is_empty() && !need.price.is_empty());
        assert!(need.verdict != Verdict::Good || need.remedy == Remedy::Hand, "{need:?}");
        assert_eq!(needs.iter().filter(|other| other.key == need.key).count(), 1, "{}", need.key);
    }
}

#[test]
fn each_fault_of_a_bad_machine_comes_with_its_command() {
    let root = Root::new(
        "bad",
        &[
            ("/proc/sys/kernel/sched_rt_runtime_us", "0"),
            (&format!("{CLOCK}/current_clocksource"), "hpet"),
            (&format!("{CLOCK}/available_clocksource"), "hpet tsc acpi_pm"),
            ("/proc/swaps", "Filename Type\n/dev/sda2 partition 1 0 -2"),
            ("/sys/module/zswap/parameters/enabled", "Y"),
            ("/proc/sys/vm/compact_unevictable_allowed", "1"),
            ("/proc/sys/kernel/numa_balancing", "1"),
            ("/sys/devices/system/node/online", "0-1"),
            (&format!("{HUGE}/shmem_enabled"), "always never [deny]"),
            ("/proc/sys/vm/dirty_bytes", "1048576"),
            ("/proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 65535 kB"),
            ("/proc/sys/vm/min_free_kbytes", "4096"),
            ("/proc/vmstat", "nr_dirty_threshold 819200"),
            ("/sys/class/bdi/8:0/max_ratio_fine", "1000000"),
            ("/sys/class/bdi/8:0/strict_limit", "0"),
            ("/sys/block/sda/dev", "8:0"),
            ("/sys/block/sda/queue/scheduler", "none [bfq]"),
            ("/sys/block/sda/queue/nr_requests", "256"),
            ("/sys/block/sda/queue/max_sectors_kb", "1280"),
            ("/sys/block/sda/queue/rotational", "1"),
            ("/sys/block/sda/queue/write_cache", "write through"),
            ("/sys/block/sda/queue/wbt_lat_usec", "0"),
        ],
    );
    let mut here = root.here();
    (here.memlock_bytes, here.realtime_priority_max) = (Some(8 << 20), 0);
    here.rings_free_bytes = Some(15 << 20);
    if let Some(store) = &mut here.store {
        let options = ["rw", "nobarrier", "nodelalloc", "data=journal", "discard"];
        store.options = options.map(str::to_owned).to_vec();
        store.journal = Some(JournalFacts::Inside(8 << 20));
    }
    let needs = check(&here);
    for (name, found, command) in [
        ("RLIMIT_MEMLOCK", "8388608 bytes", "LimitMEMLOCK=infinity"),
        ("RLIMIT_RTPRIO", "0", "LimitRTPRIO=99"),
        ("sched_rt_runtime_us", "0", "sysctl -w kernel.sched_rt_runtime_us=950000"),
        ("clocksource", "hpet", "echo tsc > /sys/devices/system/clocksource/clocksource0/"),
        ("swap of the rings", "1 swap areas; /run is not mounted noswap", "noswap,mode=0755"),
        ("compact_unevictable", "1", "sysctl -w vm.compact_unevictable_allowed=0"),
        ("numa_balancing", "1", "sysctl -w kernel.numa_balancing=0"),
        ("shmem_enabled", "deny", "echo advise > "),
        ("atime of /data", "strictatime", "mount -o remount,noatime /data"),
        ("barriers of /data", "nobarrier", "mount -o remount,barrier /data"),
        ("nr_requests", "256 x 1280 KiB = 320 MiB", "/sys/block/sda/queue/nr_requests"),
        ("memory available", "63 MiB", "a smaller --ring"),
        ("room for rings in /run", "15 MiB", "mount -o remount,size=50% /run"),
        ("data mode of /data", "data=journal", "tune2fs -o ^journal_data"),
        ("allocation of /data", "nodelalloc", "mount -o remount,delalloc /data"),
        ("journal of /data", "8 MiB", "tune2fs -J size=128 /dev/sda1"),
        ("dirty data of sda", UNLIMITED, "echo 1 > /sys/class/bdi/8:0/strict_limit"),
    ] {
        let need = one(&needs, name);
        assert_eq!((need.verdict, need.found.as_str()), (Verdict::Change, found), "{name}");
        let said = need.command.as_deref().unwrap();
        assert!(said.contains(command), "{name}: {said}");
    }
    for name in ["zswap", "scheduler", "write_cache", "wbt_lat_usec", "min_free", "discard of"] {
        let need = one(&needs, name);
        assert!(need.verdict == Verdict::Note && need.command.is_some(), "{need:?}");
    }
    // What a row would write is what its command says.
    for (name, settings) in [
        ("numa_balancing", vec![("/proc/sys/kernel/numa_balancing", "0")]),
        (
            "nr_requests",
            vec![
                ("/sys/block/sda/queue/max_sectors_kb", "128"),
                ("/sys/block/sda/queue/nr_requests", "32"),
            ],
        ),
        (
            "dirty data of sda",
            vec![
                ("/sys/class/bdi/8:0/max_ratio_fine", "10000"),
                ("/sys/class/bdi/8:0/strict_limit", "1"),
            ],
        ),
        ("write_cache", vec![]),
    ] {
        let found: Vec<_> = one(&needs, name).settings().iter().map(of).collect();
        assert_eq!(found, settings, "{name}");
    }
    assert_eq!(one(&needs, "allocation of").remedy, Remedy::MountOption("delalloc"));
}

fn of(setting: &Setting) -> (&str, &str) {
    (setting.path(), setting.value())
}

#[test]
fn journals_are_judged_by_their_size() {
    let root = Root::new("journals", &[]);
    let mut here = root.here();
    for (journal, verdict) in [
        (JournalFacts::Inside((32 << 20) - 1), Verdict::Change),
        (JournalFacts::Inside(32 << 20), Verdict::Note),
        (JournalFacts::Inside(128 << 20), Verdict::Good),
        (JournalFacts::Outside, Verdict::Note),
        (JournalFacts::Unknown, Verdict::Note),
        (JournalFacts::None, Verdict::Note),
    ] {
        here.store.as_mut().unwrap().journal = Some(journal);
        assert_eq!(one(&check(&here), "journal of").verdict, verdict, "{journal:?}");
    }
}

#[test]
fn rights_and_circumstances_excuse() {
    let swap = ("/proc/swaps", "Filename\n/dev/sda2");
    let balance = ("/proc/sys/kernel/numa_balancing", "1");
    let node = ("/sys/devices/system/node/online", "0");
    let fast = [
        ("/sys/block/sda/queue/nr_requests", "1023"),
        ("/sys/block/sda/queue/max_sectors_kb", "1280"),
        ("/sys/block/sda/queue/rotational", "0"),
    ];
    let root = Root::new("excused", &[&[swap, balance, node], &fast[..]].concat());
    let mut here = root.here();
    (here.memlock_bytes, here.may_lock) = (Some(0), true);
    (here.realtime_priority_max, here.may_realtime) = (0, true);
    let needs = check(&here);
    assert_eq!(with(&needs, Verdict::Change), Vec::<&str>::new());
    assert_eq!(one(&needs, "nr_requests").verdict, Verdict::Note);
    here.may_lock = false;
    assert_eq!(with(&check(&here), Verdict::Change), ["RLIMIT_MEMLOCK", "swap of the rings"]);
    here.rings.as_mut().unwrap().options.push("noswap".to_owned());
    assert_eq!(with(&check(&here), Verdict::Change), ["RLIMIT_MEMLOCK"]);
}

#[test]
fn what_a_kernel_does_not_have_gives_no_row_and_garbage_no_panic() {
    let empty = Root::new("empty", &[]);
    let here = Circumstances { store: None, rings: None, ..empty.here() };
    let names: Vec<_> = check(&here).into_iter().map(|need| need.name).collect();
    assert_eq!(names, ["RLIMIT_MEMLOCK", "RLIMIT_RTPRIO", "swap of the rings"]);
    let garbage = Root::new(
        "garbage",
        &[
            ("/proc/sys/vm/swappiness", "many"),
            ("/proc/swaps", ""),
            ("/sys/block/sda/queue/scheduler", "]["),
            ("/sys/block/sda/dev", "../../x"),
            ("/proc/meminfo", "MemTotal: -1 kB\nMemAvailable: 99999999999999999999 kB"),
            ("/proc/sys/vm/min_free_kbytes", "-1"),
            ("/proc/sys/vm/dirty_expire_centisecs", "-9223372036854775808"),
            ("/proc/sys/vm/dirty_writeback_centisecs", "0"),
            ("/sys/block/sda/queue/nr_requests", "9223372036854775807"),
            ("/sys/block/sda/queue/max_sectors_kb", "9223372036854775807"),
        ],
    );
    assert!(check(&garbage.here()).iter().all(|need| need.verdict != Verdict::Change));
}

#[test]
fn what_is_mounted_elsewhere_too_is_not_to_be_repaired() {
    let root = Root::new("elsewhere", &[]);
    let mut here = root.here();
    let store = here.store.as_mut().unwrap();
    store.journal = Some(JournalFacts::Inside(8 << 20));
    store.elsewhere = vec!["/srv/data".into(), "/var/lib/overlay/merged".into()];
    let needs = check(&here);
    let command = one(&needs, "journal of").command.clone().unwrap();
    assert!(!command.contains("e2fsck") && !command.contains("tune2fs"), "{command}");
    assert!(command.contains("/data, /srv/data, /var/lib/overlay/merged"), "{command}");
    here.store.as_mut().unwrap().elsewhere.clear();
    assert!(one(&check(&here), "journal of").command.as_ref().unwrap().contains("e2fsck -f"));
}

#[test]
fn the_kernels_own_file_systems_have_no_rows_of_a_disk() {
    let root = Root::new("kernels", &[]);
    for kind in ["proc", "sysfs", "tmpfs", "cgroup2"] {
        let mut here = root.here();
        let store = here.store.as_mut().unwrap();
        (store.kind, store.disk, store.journal) = (kind.to_owned(), None, None);
        assert!(check(&here).iter().all(|need| need.key != "atime"), "{kind}");
    }
}

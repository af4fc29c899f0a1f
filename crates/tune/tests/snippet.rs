//! Rows of a check as texts for sysctl.d, udev, fstab and systemd, on a fake root.

#![allow(clippy::disallowed_methods, reason = "tests make the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_tune::{Circumstances, Form, JournalFacts, MountFacts, Snippet, check, snippets};
use std::fs;
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 13] = [
    ("/proc/swaps", "Filename Type\n/dev/sda2 partition 1 0 -2"),
    ("/proc/sys/kernel/numa_balancing", "1"),
    ("/proc/sys/vm/min_free_kbytes", "4096"),
    ("/proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 1048576 kB"),
    ("/proc/vmstat", "nr_dirty_threshold 819200"),
    ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always never [deny]"),
    ("/sys/class/bdi/8:0/max_ratio_fine", "1000000"),
    ("/sys/class/bdi/8:0/strict_limit", "0"),
    ("/sys/block/cciss!c0d0/dev", "8:0"),
    ("/sys/block/cciss!c0d0/queue/rotational", "1"),
    ("/sys/block/cciss!c0d0/queue/scheduler", "none [bfq]"),
    ("/sys/block/cciss!c0d0/queue/nr_requests", "256"),
    ("/sys/block/cciss!c0d0/queue/max_sectors_kb", "1280"),
];

/// A root, removed when dropped.
struct Root(PathBuf);

impl Root {
    fn new(name: &str, more: &[(&str, &str)]) -> Root {
        let root = Root(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("snippet-{name}")));
        let _ = fs::remove_dir_all(&root.0);
        for (path, text) in FILES.iter().chain(more) {
            let path = root.0.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    fn here(&self, options: &[&str]) -> Circumstances {
        Circumstances {
            root: self.0.clone(),
            locked_bytes: 32 << 20,
            memlock_bytes: Some(8 << 20),
            realtime_priority_max: 99,
            store: Some(MountFacts {
                kind: "ext4".to_owned(),
                mount_point: "/my data".into(),
                elsewhere: Vec::new(),
                options: options.iter().map(|option| (*option).to_owned()).collect(),
                disk: Some("cciss!c0d0".to_owned()),
                source: "/dev/c0d0p1".to_owned(),
                journal: Some(JournalFacts::Inside(128 << 20)),
            }),
            ..Circumstances::default()
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn made(here: &Circumstances, form: Form) -> Vec<Snippet> {
    let all = snippets(&check(here), here, form);
    for snippet in &all {
        let statements = statements(snippet);
        assert_eq!(
            statements.len() - usize::from(snippet.text.starts_with("[Service]")),
            snippet.statements
        );
        assert!(snippet.text.lines().all(|line| line.len() <= 100 || !line.starts_with("# ")));
        assert!(snippet.text.contains("# Why: ") && snippet.text.contains("# Price: "));
    }
    all
}

fn statements(snippet: &Snippet) -> Vec<&str> {
    let lines = snippet.text.lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn what_should_change_takes_effect_and_what_is_noted_is_a_comment() {
    let root = Root::new("plain", &[]);
    let here = root.here(&["rw", "relatime"]);
    let sysctl = made(&here, Form::Sysctl);
    assert_eq!(sysctl[0].file, "/etc/sysctl.d/60-barograph.conf");
    assert_eq!(statements(&sysctl[0]), ["kernel.numa_balancing = 0"]);
    assert!(sysctl[0].text.contains("\n#vm.min_free_kbytes = 20971\n"), "{}", sysctl[0].text);
    assert!(sysctl[0].text.contains("Right in some cases only."));

    let udev = made(&here, Form::Udev);
    assert_eq!(
        statements(&udev[0]),
        [
            "ACTION==\"add|change\", SUBSYSTEM==\"bdi\", KERNEL==\"8:0\", \
             ATTR{max_ratio_fine}=\"10000\", ATTR{strict_limit}=\"1\"",
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"cciss/c0d0\", \
             ATTR{queue/max_sectors_kb}=\"128\", ATTR{queue/nr_requests}=\"32\"",
        ]
    );
    assert!(udev[0].text.contains("\n#ACTION") && udev[0].text.contains("{queue/scheduler}"));

    let systemd = made(&here, Form::Systemd);
    let files: Vec<_> = systemd.iter().map(|snippet| snippet.file).collect();
    let unit = "/etc/systemd/system/barograph.service.d/60-limits.conf";
    assert_eq!(files, [unit, "/etc/tmpfiles.d/barograph.conf"]);
    assert_eq!(statements(&systemd[0]), ["[Service]", "LimitMEMLOCK=infinity"]);
    assert_eq!(
        statements(&systemd[1]),
        ["w /sys/kernel/mm/transparent_hugepage/shmem_enabled - - - - advise"]
    );
}

#[test]
fn the_line_of_the_mount_keeps_what_is_mounted_and_replaces_what_excludes_it() {
    let mounts = "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n\
                  31 22 8:2 / /my\\040data rw,nodev - ext4 /dev/mapper/a rw,nobarrier,nodelalloc,commit=60\n\
                  32 22 0:9 / /my\\040data/x rw - tmpfs tmpfs rw";
    let root = Root::new("fstab", &[("/proc/self/mountinfo", mounts)]);
    let options = ["rw", "nodev", "nobarrier", "nodelalloc", "commit=60", "data=ordered"];
    let fstab = made(&root.here(&options), Form::Fstab);
    assert_eq!(
        statements(&fstab[0]),
        [
            "/dev/mapper/a /my\\040data ext4 \
             defaults,nodev,commit=60,noatime,delalloc,barrier=1 0 2",
            "tmpfs /run/barograph tmpfs noswap,mode=0755 0 0",
        ]
    );
    assert!(fstab[0].text.contains("noatime,delalloc,barrier=1,lazytime 0 2"), "{}", fstab[0].text);
}

#[test]
fn without_mounts_to_look_at_the_line_says_what_is_known_and_good_rows_say_nothing() {
    let root = Root::new("bare", &[]);
    let mut here = root.here(&["rw", "noatime", "data=journal"]);
    let fstab = made(&here, Form::Fstab);
    let line = "/dev/c0d0p1 /my\\040data ext4 defaults,data=ordered 0 2";
    assert_eq!(statements(&fstab[0])[0], line);
    (here.may_lock, here.store) = (true, None);
    assert_eq!(made(&here, Form::Fstab), []);
    assert_eq!(made(&here, Form::Udev), []);
    assert_eq!(made(&here, Form::Systemd).len(), 1);
}

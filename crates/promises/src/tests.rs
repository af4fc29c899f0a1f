//! The judgement over facts made up, file system by file system. Real ones: the recorder's `tests/real/places.rs`.

use crate::facts::FixedSegments;
use crate::{Facts, Holds, Judged, Look, Promise, RingFacts, judge};
use baro_sys::place::{DirectIo, Extents, Place, PlaceFile, Queue, QueueCache};
use std::path::PathBuf;

fn place(kind: &str, options: &[&str]) -> Place {
    Place {
        kind: kind.to_owned(),
        mount_point: PathBuf::from("/data"),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        source: "/dev/sda1".to_owned(),
        queue: Some(Queue {
            name: "sda1".to_owned(),
            disk: "sda".to_owned(),
            cache: Some(QueueCache::WriteBack),
            requests: Some(2),
            request_bytes: Some(512 << 10),
        }),
        upper: None,
        swap: false,
        elsewhere: Vec::new(),
    }
}

fn facts(place: Place) -> Facts {
    Facts {
        place: Some(place),
        alone: Some(true),
        direct: DirectIo::Yes,
        look: Look::Write,
        buffered: false,
        flags: Some(PlaceFile::default()),
        extents: Some(Extents { seen: 3, ..Extents::default() }),
        fixed: None,
        rings: Some(RingFacts { folder: Some(PathBuf::from("/run/barograph")), bytes: 1 << 20 }),
        lockable: true,
        fifo: Some(Ok(50)),
    }
}

fn of(facts: &Facts, promise: Promise) -> Judged {
    let judged = judge(facts);
    let found: Vec<_> = judged.iter().filter(|judged| judged.promise == promise).collect();
    assert_eq!(found.len(), 1, "{promise} in {judged:#?}");
    found[0].clone()
}

fn open(facts: &Facts) -> Vec<String> {
    let judged = judge(facts);
    assert!(judged.windows(2).all(|two| two[0].promise < two[1].promise), "{judged:#?}");
    let open = judged.iter().filter(|judged| judged.holds != Holds::Yes);
    open.map(|judged| judged.promise.to_string()).collect()
}

#[test]
fn everything_holds_on_an_ext4_of_its_own() {
    assert_eq!(open(&facts(place("ext4", &["rw", "noatime"]))), Vec::<&str>::new());
}

#[test]
fn options_and_flags_of_ext4_deny_what_they_break() {
    let journal = facts(place("ext4", &["rw", "data=journal"]));
    let judged = of(&journal, Promise::NoForcedCommits);
    assert_eq!(judged.holds, Holds::No);
    assert_eq!(
        judged.remedy.as_deref(),
        Some(
            "umount /data; tune2fs -o ^journal_data /dev/sda1; mount -o data=ordered /dev/sda1 \
             /data"
        )
    );
    let barrier = of(&facts(place("ext4", &["nobarrier"])), Promise::Durable);
    assert_eq!(barrier.remedy.as_deref(), Some("mount -o remount,barrier /data"));
    let mut journalled = facts(place("ext4", &[]));
    journalled.flags = Some(PlaceFile { journalled: true, ..PlaceFile::default() });
    journalled.direct = DirectIo::PageCache;
    assert_eq!(open(&journalled), ["no-forced-commits", "past-page-cache"]);
    assert!(of(&journalled, Promise::PastPageCache).why.contains("(data=journal)"));
    let mut fresh = facts(place("ext4", &[]));
    fresh.extents = Some(Extents { seen: 3, unwritten: 2, ..Extents::default() });
    assert_eq!(open(&fresh), ["no-forced-commits", "in-place"]);
    assert!(of(&fresh, Promise::InPlace).why.starts_with("2 of 3 extents"));
}

#[test]
fn copies_on_write_are_denied_and_overwriting_is_believed() {
    assert_eq!(open(&facts(place("xfs", &[]))), ["no-forced-commits"]);
    let mut shared = facts(place("xfs", &[]));
    shared.extents = Some(Extents { seen: 1, shared: 1, ..Extents::default() });
    assert_eq!(of(&shared, Promise::InPlace).holds, Holds::No);
    let mut btrfs = facts(place("btrfs", &[]));
    btrfs.direct = DirectIo::PageCache;
    assert_eq!(open(&btrfs), ["no-forced-commits", "in-place", "past-page-cache"]);
    assert!(of(&btrfs, Promise::PastPageCache).why.contains("(checksums)"));
    assert!(of(&btrfs, Promise::InPlace).remedy.unwrap().contains("chattr +C"));
    btrfs.flags = Some(PlaceFile { no_cow: true, ..PlaceFile::default() });
    btrfs.direct = DirectIo::Yes;
    assert_eq!(open(&btrfs), ["no-forced-commits"]);
    btrfs.look = Look::Read;
    assert_eq!(of(&btrfs, Promise::PastPageCache).holds, Holds::Unknown);
    for kind in ["zfs", "bcachefs"] {
        let cow = facts(place(kind, &[]));
        assert_eq!(of(&cow, Promise::InPlace).holds, Holds::No, "{kind}");
        assert_eq!(of(&cow, Promise::NoForcedCommits).holds, Holds::No, "{kind}");
    }
}

#[test]
fn f2fs_is_believed_only_if_every_segment_is_fixed() {
    let mut found = facts(place("f2fs", &["rw", "lazytime"]));
    assert_eq!(of(&found, Promise::InPlace).holds, Holds::Unknown);
    assert_eq!(of(&found, Promise::NoForcedCommits).holds, Holds::Unknown);
    let segments = FixedSegments {
        segments: 16,
        fixed: 16,
        size_bytes: 2 << 20,
        allocated_bytes: 2 << 20,
        ..FixedSegments::default()
    };
    found.fixed = Some(segments.clone());
    assert_eq!(open(&found), Vec::<&str>::new());
    let wanted =
        FixedSegments { met_by_cleaner_max: 7, allocated_bytes: 8 << 20, ..segments.clone() };
    found.fixed = Some(wanted);
    let judged = of(&found, Promise::InPlace);
    assert!(judged.holds == Holds::Yes && judged.why.contains("one of them 7 times"), "{judged}");
    assert!(judged.why.ends_with("8192 KiB of the device for 2048 KiB"), "{judged}");
    let refused = Some("Invalid argument (os error 22)".to_owned());
    found.fixed = Some(FixedSegments { fixed: 15, refused, ..segments.clone() });
    let judged = of(&found, Promise::InPlace);
    assert!(judged.holds == Holds::No && judged.remedy.is_some(), "{judged}");
    assert!(judged.why.starts_with("f2fs: 1 of 16 segments are not fixed"), "{judged}");
    assert!(judged.why.ends_with("refused here: Invalid argument (os error 22)"), "{judged}");
    assert_eq!(of(&found, Promise::NoForcedCommits).holds, Holds::Unknown);
    found.fixed = Some(FixedSegments::default());
    assert_eq!(of(&found, Promise::InPlace).holds, Holds::No);
}

#[test]
fn options_of_f2fs_deny_what_they_break() {
    let all = FixedSegments { segments: 2, fixed: 2, ..FixedSegments::default() };
    let with = |options: &[&str]| {
        let mut found = facts(place("f2fs", options));
        found.fixed = Some(all.clone());
        found
    };
    assert_eq!(open(&with(&["rw"])), Vec::<&str>::new());
    for option in ["fsync_mode=nobarrier", "checkpoint=disable"] {
        let judged = of(&with(&["lazytime", option]), Promise::Durable);
        assert!(judged.holds == Holds::No && judged.why.contains(option), "{judged}");
        assert_eq!(of(&facts(place("ext4", &[option])), Promise::Durable).holds, Holds::Yes);
    }
}

#[test]
fn memory_is_never_durable_and_servers_cannot_be_known() {
    assert_eq!(of(&facts(place("tmpfs", &[])), Promise::Durable).holds, Holds::No);
    for kind in ["nfs4", "fuse.sshfs", "virtiofs", "zfs"] {
        let judged = of(&facts(place(kind, &[])), Promise::Durable);
        assert_eq!(judged.holds, Holds::Unknown, "{judged}");
        assert!(judged.why.starts_with(kind), "{judged}");
    }
    let mut nobody = facts(place("ext4", &[]));
    nobody.place = None;
    assert_eq!(open(&nobody), ["durable", "no-forced-commits", "in-place"]);
}

#[test]
fn an_overlay_is_judged_by_its_upper_layer() {
    let mut overlay = place("overlay", &["upperdir=/u"]);
    assert_eq!(of(&facts(overlay.clone()), Promise::Durable).holds, Holds::Unknown);
    overlay.upper = Some(Box::new(place("ext4", &["data=journal"])));
    assert_eq!(open(&facts(overlay.clone())), ["no-forced-commits"]);
    overlay.options.push("volatile".to_owned());
    let judged = of(&facts(overlay), Promise::Durable);
    assert!(judged.why.contains("volatile") && judged.holds == Holds::No, "{judged}");
}

#[test]
fn rights_that_are_missing_come_with_the_command() {
    let mut poor = facts(place("ext4", &[]));
    poor.lockable = false;
    poor.fifo = Some(Err("SCHED_FIFO priority 50: EPERM".to_owned()));
    poor.rings = Some(RingFacts { folder: None, bytes: 1 << 20 });
    poor.alone = Some(false);
    assert_eq!(open(&poor), ["never-waits", "survives-processes", "own-file-system", "real-time"]);
    assert!(of(&poor, Promise::NeverWaits).to_string().contains("LimitMEMLOCK=infinity"));
    assert!(of(&poor, Promise::RealTime).to_string().contains("LimitRTPRIO=99"));
    poor.rings = None;
    assert!(judge(&poor).iter().all(|judged| judged.promise != Promise::SurvivesProcesses));
}

#[test]
fn a_deep_queue_is_told_with_the_rate_at_which_it_hurts() {
    let mut deep = place("ext4", &[]);
    if let Some(queue) = &mut deep.queue {
        (queue.requests, queue.request_bytes) = (Some(256), Some(512 << 10));
    }
    let judged = of(&facts(deep.clone()), Promise::ShortQueue);
    assert_eq!(judged.holds, Holds::Unknown);
    assert!(
        judged.why.contains("128 MiB of others', more than a second on a device below 135 MB/s")
    );
    assert!(judged.remedy.unwrap().contains("echo 32 > /sys/block/sda/queue/nr_requests"));
    deep.queue = None;
    assert!(judge(&facts(deep)).iter().all(|judged| judged.promise != Promise::ShortQueue));
}

#[test]
fn direct_io_that_is_refused_or_unknown_is_said() {
    let mut found = facts(place("ext4", &[]));
    for (direct, holds, part) in [
        (DirectIo::Refused("O_DIRECT is not supported".to_owned()), Holds::No, "ext4: O_DIRECT"),
        (DirectIo::Coarse(65536), Holds::No, "65536 bytes"),
        (DirectIo::Unknown("no memory".to_owned()), Holds::Unknown, "no memory"),
    ] {
        found.direct = direct;
        let judged = of(&found, Promise::PastPageCache);
        assert!(judged.holds == holds && judged.why.contains(part), "{judged}");
    }
    found.buffered = true;
    assert!(of(&found, Promise::PastPageCache).why.contains("asked for"));
}

//! Names against what is known of each machine.

use super::{Moves, STORAGE, is_storage, moves, name};

#[test]
fn calls_have_their_names_on_each_machine() {
    // x86_64, aarch64, arm; from the manual page syscalls(2) and the headers of each.
    let known = [
        ("read", 0, 63, 3),
        ("write", 1, 64, 4),
        ("pwrite64", 18, 68, 181),
        ("fsync", 74, 82, 118),
        ("fdatasync", 75, 83, 148),
        ("ftruncate", 77, 46, 93),
        ("openat", 257, 56, 322),
        ("sync_file_range", 277, 84, -1),
        ("arm_sync_file_range", -1, -1, 341),
        ("fallocate", 285, 47, 352),
        ("syncfs", 306, 267, 373),
        ("io_submit", 209, 2, 246),
        ("copy_file_range", 326, 285, 391),
        ("statx", 332, 291, 397),
        ("io_uring_enter", 426, 426, 426),
        ("openat2", 437, 437, 437),
        ("cachestat", 451, 451, 451),
        ("fchmodat2", 452, 452, 452),
        ("mseal", 462, 462, 462),
        ("file_setattr", 469, 469, 469),
    ];
    for (call, x86_64, aarch64, arm) in known {
        for (arch, number) in [("x86_64", x86_64), ("aarch64", aarch64), ("arm", arm)] {
            if number >= 0 {
                assert_eq!(name(Some(arch), number), Some(call), "{arch} {number}");
            }
        }
    }
    for number in [i64::MIN, -1, 335, 423, 470, 65_536, i64::MAX] {
        assert_eq!(name(Some("x86_64"), number), None, "{number}");
    }
    assert_eq!(name(Some("aarch64"), 244), None, "a hole");
    assert_eq!(name(None, 1), None);
    assert_eq!(name(Some("s390x"), 1), None);
}

#[test]
fn every_name_stands_once() {
    for arch in ["x86_64", "aarch64", "arm"] {
        let names: Vec<&str> = (0..1_000).filter_map(|number| name(Some(arch), number)).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{arch}");
        assert!(names.len() > 300, "{arch}: {}", names.len());
    }
}

#[test]
fn what_concerns_storage_is_a_call_somewhere() {
    let is_somewhere = |call: &str| {
        let of = |arch| (0..1_000).any(move |number| name(Some(arch), number) == Some(call));
        of("x86_64") || of("aarch64") || of("arm")
    };
    STORAGE.iter().for_each(|call| assert!(is_somewhere(call), "{call}"));
    // These were missing once.
    for call in ["access", "execve", "execveat", "statfs", "fstatfs", "ioctl", "readlink", "flock"]
    {
        assert!(is_storage(call), "{call}");
    }
    assert!(is_storage("fdatasync") && is_storage("write") && !is_storage("futex"));
    assert_eq!(moves("pwritev2"), Some(Moves::Writes));
    assert_eq!(moves("pread64"), Some(Moves::Reads));
    assert_eq!(moves("lseek"), None);
}

//! Every member of the families under the library, by programs in C: their data, results, positions and
//! errno must be those of a kernel that does not cut, and the counters must tell what was cut.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests use files and programs")]

mod place;

use place::{Place, has, is_root, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

type Counted = BTreeMap<&'static str, u64>;

/// Runs one case of a program in C, first without the library, then under it.
fn run(place: &Place, program: &Path, case: &str) -> Counted {
    succeed(Command::new(program).arg(place.files()).arg(case));
    assert_eq!(place.counted(), Counted::new(), "{case} without the library");
    succeed(place.command(program).arg(place.files()).arg(case));
    place.counted()
}

fn of(place: &Place, name: &str, case: &str) -> Option<Counted> {
    let options: &[&str] = match name {
        "life" => &["-D_FORTIFY_SOURCE=2"],
        "libaio" => &["-l:libaio.so.1"],
        _ => &[],
    };
    Some(run(place, &place.compile(name, options)?, case))
}

fn assert_counted(counted: &Counted, expected: &[(&str, u64)]) {
    for (name, value) in expected {
        assert_eq!(counted.get(name), Some(value), "{name} of {counted:?}");
    }
}

#[test]
fn every_member_moves_the_same_bytes() {
    let Some(place) = Place::new("members") else { return };
    let Some(counted) = of(&place, "families", "members") else { return };
    let total = 20 * ((3 << 20) + 5 * 4096);
    assert_eq!(
        counted.into_iter().collect::<Vec<_>>(),
        [("bytes_cut", total), ("calls_cut", 20), ("pieces", 20 * 49), ("processes", 1)]
    );
}

#[test]
fn a_file_ends_where_it_ends() {
    let Some(place) = Place::new("end") else { return };
    let Some(counted) = of(&place, "families", "end_of_file") else { return };
    assert_counted(&counted, &[("calls_cut", 140)]);
}

#[test]
fn what_the_kernel_refuses_is_refused_by_it() {
    let Some(place) = Place::new("refused") else { return };
    let Some(counted) = of(&place, "families", "refused") else { return };
    assert_counted(&counted, &[("calls_cut", 3), ("bytes_cut", 512 << 10)]);
}

#[test]
fn what_must_stay_one_call_is_left_alone_and_counted() {
    let Some(place) = Place::new("alone") else { return };
    let Some(counted) = of(&place, "families", "left_alone") else { return };
    let expected = [("append", 1), ("buffered", 1), ("flags", 1), ("sync", 2), ("unaligned", 4)];
    assert_counted(&counted, &expected);
    assert!(counted["not_a_file"] >= 4, "a pipe and a socket: {counted:?}");
    assert_eq!(counted.get("calls_cut"), None);
}

#[test]
fn a_limit_for_files_makes_writes_short_and_no_signal() {
    let Some(place) = Place::new("limit") else { return };
    let Some(counted) = of(&place, "families", "file_limit") else { return };
    assert_counted(&counted, &[("other", 2)]);
}

#[test]
fn system_calls_are_passed_on_with_all_arguments() {
    let Some(place) = Place::new("raw") else { return };
    let Some(counted) = of(&place, "families", "raw") else { return };
    assert_counted(&counted, &[("raw", 1)]);
}

#[test]
fn threads_share_a_descriptor() {
    let Some(place) = Place::new("threads") else { return };
    let Some(counted) = of(&place, "life", "threads") else { return };
    assert_counted(&counted, &[("bytes_cut", 16 << 20)]);
    let Some(counted) = of(&place, "life", "writers") else { return };
    assert_counted(&counted, &[("bytes_cut", 12 << 20 << 1), ("calls_cut", 96)]);
}

#[test]
fn forked_and_executed_programs_are_cut_as_well() {
    let Some(place) = Place::new("forks") else { return };
    let Some(counted) = of(&place, "life", "forks") else { return };
    assert_counted(&counted, &[("bytes_cut", 16 << 20), ("processes", 1)]);
    let Some(counted) = of(&place, "life", "executed") else { return };
    assert_counted(&counted, &[("bytes_cut", 16 << 20), ("processes", 2)]);
}

#[test]
fn handlers_and_cancelled_threads_find_all_in_order() {
    let Some(place) = Place::new("signals") else { return };
    let Some(counted) = of(&place, "life", "handlers") else { return };
    assert!(counted["calls_cut"] >= 20, "{counted:?}");
    assert!(of(&place, "life", "cancelled").is_some());
    let Some(counted) = of(&place, "life", "stacks") else { return };
    assert_counted(&counted, &[("calls_cut", 1)]);
}

#[test]
fn checked_buffers_stay_checked() {
    let Some(place) = Place::new("checked") else { return };
    let Some(counted) = of(&place, "life", "checked") else { return };
    assert_counted(&counted, &[("calls_cut", 3), ("bytes_cut", 5 << 19)]);
}

/// Runs `work` with a loop device of so many bytes, and detaches it.
fn with_loop(place: &Place, bytes: u64, work: impl FnOnce(&str)) {
    let image = place.root.join("image");
    fs::File::create(&image).unwrap().set_len(bytes).unwrap();
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().unwrap();
    if !made.status.success() {
        println!("skipped: losetup: {}", String::from_utf8_lossy(&made.stderr).trim());
        return;
    }
    let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    struct Detach<'a>(&'a str);
    impl Drop for Detach<'_> {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["--detach", self.0]).status();
        }
    }
    let _detach = Detach(&device);
    work(&device);
}

#[test]
fn a_full_file_system_ends_a_write_with_what_was_done() {
    let Some(place) = Place::new("full") else { return };
    if !is_root() || !has("losetup") || !has("mkfs.ext4") {
        return;
    }
    let Some(program) = place.compile("families", &[]) else { return };
    with_loop(&place, 24 << 20, |device| {
        succeed(Command::new("mkfs.ext4").args(["-q", device]));
        let mount = place.root.join("mount");
        fs::create_dir_all(&mount).unwrap();
        succeed(Command::new("mount").arg(device).arg(&mount));
        struct Unmount<'a>(&'a Path);
        impl Drop for Unmount<'_> {
            fn drop(&mut self) {
                let _ = Command::new("umount").arg(self.0).status();
            }
        }
        let _unmount = Unmount(&mount);
        succeed(place.command(&program).arg(&mount).arg("no_space"));
        assert!(place.counted()["calls_cut"] >= 1);
    });
}

#[test]
fn a_device_ends_where_it_ends() {
    let Some(place) = Place::new("device") else { return };
    if !is_root() || !has("losetup") {
        return;
    }
    let Some(program) = place.compile("families", &[]) else { return };
    with_loop(&place, 16 << 20, |device| {
        succeed(Command::new(&program).args([device, "device"]));
        succeed(place.command(&program).args([device, "device"]));
        let counted = place.counted();
        // A write, a read by position and one by offset; what is at the end is not large any more.
        assert_eq!(counted["bytes_cut"], (16 << 20) + ((1 << 20) - 512) + (16 << 20));
    });
}

#[test]
fn without_the_files_nothing_is_cut() {
    let Some(place) = Place::new("nothing") else { return };
    let Some(program) = place.compile("families", &[]) else { return };
    let run = |place: &Place| {
        succeed(place.command(&program).env_remove("BARO_SHARE").arg(place.files()).arg("raw"));
        succeed(place.command(&program).arg(place.files()).arg("members"));
    };
    let pieces = place.share().join("pieces");
    let good = fs::read(&pieces).unwrap();
    for bad in [
        None,
        Some(good[..100].to_vec()),
        Some([b"x", &good[1..]].concat()),
        Some([&good[..8], &[2], &good[9..]].concat()),
    ] {
        match &bad {
            Some(bytes) => fs::write(&pieces, bytes).unwrap(),
            None => fs::remove_file(&pieces).unwrap(),
        }
        run(&place);
        assert_eq!(place.counted().get("calls_cut"), None, "{:?}", bad.map(|b| b.len()));
    }
    // Whoever may write the file may shorten it, and would end the program.
    fs::write(&pieces, &good).unwrap();
    for mode in [0o664, 0o646] {
        fs::set_permissions(&pieces, fs::Permissions::from_mode(mode)).unwrap();
        run(&place);
        assert!(place.counted().is_empty(), "mode {mode:o}");
    }
    fs::set_permissions(&pieces, fs::Permissions::from_mode(0o644)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&pieces, Some(65_534), None).unwrap();
        run(&place);
        assert!(place.counted().is_empty(), "another user's");
        std::os::unix::fs::chown(&pieces, Some(0), None).unwrap();
    }
    // No counters, a segment that is gone, and one that is another's.
    for (at, number) in [
        (place::layout::SEGMENT_AT, 0),
        (place::layout::SEGMENT_AT, 1 << 30),
        (place::layout::SEGMENT_AT, u64::MAX),
        (place::layout::TOKEN_AT, place.counters.token ^ 1),
    ] {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&u64::to_ne_bytes(number));
        fs::write(&pieces, bytes).unwrap();
        run(&place);
        assert!(place.counted().is_empty(), "{at}: {number}");
    }
    succeed(
        place.command(&program).env("BARO_SHARE", "x".repeat(5000)).arg(place.files()).arg("raw"),
    );
    place.set_pieces(0, 0);
    run(&place);
    assert_eq!(place.counted().into_iter().collect::<Vec<_>>(), [("processes", 1)]);
}

#[test]
fn counters_that_others_empty_end_no_program() {
    let Some(place) = Place::new("emptied") else { return };
    let Some(program) = place.compile("families", &[]) else { return };
    let mut child = place.command(&program).arg(place.files()).arg("members").spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        place.counters.punch();
    };
    assert!(status.success(), "{status}");
}

#[test]
fn each_direction_has_its_own_size_and_follows_it_at_once() {
    let Some(place) = Place::new("live") else { return };
    let Some(program) = place.compile("families", &[]) else { return };
    place.set_pieces(0, 1 << 20);
    succeed(place.command(&program).arg(place.files()).arg("members"));
    let counted = place.counted();
    assert_eq!((counted["calls_cut"], counted["pieces"]), (10, 10 * 4), "writes only");
    place.set_pieces(1 << 20, 1 << 40);
    succeed(place.command(&program).arg(place.files()).arg("members"));
    let counted = place.counted();
    assert_eq!((counted["calls_cut"], counted["pieces"]), (10, 10 * 4), "reads only");
    place.set_pieces(1, (100 << 10) + 17);
    succeed(place.command(&program).arg(place.files()).arg("members"));
    // Reads in the smallest pieces there are, writes in 100 KiB.
    assert_eq!(place.counted()["pieces"], 10 * 49 + 10 * 31);
}

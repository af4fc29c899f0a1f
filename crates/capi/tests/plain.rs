//! Plain files through C: what was written is in them and nothing else, each refusal has its code, and
//! nothing is left.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use checked::*;
use place::{Place, last_error};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn options(file_bytes: u64) -> baro_plain_options {
    let type_size = size_of::<baro_plain_options>() as u32;
    baro_plain_options { type_size, ready: 1, file_bytes, unit_bytes: 4_096 }
}

fn folder(name: &str) -> Place {
    let place = Place::new(name);
    fs::create_dir_all(place.path()).unwrap();
    place
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_written_is_in_the_files_and_nothing_else() {
    let place = folder("plain");
    let (mut pool, mut room) = (null_mut(), 0);
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_plain_open(c(place.path()).as_ptr(), &options(100_000), &mut pool), 0);
        for number in 0..3_u8 {
            let (mut file, mut bytes) = (null_mut(), 99);
            let name = CString::new(format!("run-{number}")).unwrap();
            assert_eq!(baro_plain_take(pool, name.as_ptr(), &mut file), 0, "{}", last_error());
            let frame = vec![number; 30_000];
            for left in [70_000, 40_000, 10_000] {
                assert_eq!(baro_plain_write(file, frame.as_ptr().cast(), frame.len()), 0);
                assert_eq!((baro_plain_room(file, &mut room), room), (0, left));
            }
            // What has no room is refused whole, and the file goes on.
            let code = baro_plain_write(file, frame.as_ptr().cast(), frame.len());
            assert_eq!(code, BARO_ENOSPC);
            assert!(last_error().contains("at most 10000 more bytes"), "{}", last_error());
            assert_eq!(baro_plain_write(file, frame.as_ptr().cast(), 7), 0);
            assert_eq!(baro_plain_write(file, null(), 0), 0);
            let waited = if number == 0 { null_mut() } else { &raw mut bytes };
            assert_eq!(baro_plain_finish(file, waited), 0);
            assert_eq!(bytes, if number == 0 { 99 } else { 90_007 });
        }
        let (mut file, mut waits) = (null_mut(), u64::MAX);
        assert_eq!(baro_plain_take(pool, c"run-1".as_ptr(), &mut file), BARO_EEXIST);
        assert!(file.is_null());
        assert_eq!(baro_plain_take(pool, c"a/b".as_ptr(), &mut file), BARO_EINVAL);
        assert_eq!(baro_plain_waits(pool, &mut waits), 0);
        assert!(waits <= 3);
        assert_eq!(baro_plain_close(pool), 0);
    }
    assert_eq!(names(place.path()), ["run-0", "run-1", "run-2"]);
    for number in 0..3_u8 {
        let found = fs::read(place.path().join(format!("run-{number}"))).unwrap();
        assert_eq!(found, vec![number; 90_007]);
    }
}

#[test]
fn what_cannot_be_made_is_refused_with_its_code() {
    let place = folder("plain-refused");
    let (mut pool, mut file) = (null_mut(), null_mut());
    // SAFETY: valid pointers.
    unsafe {
        let here = c(place.path());
        let mut few = options(1);
        few.unit_bytes = 1;
        assert_eq!(baro_plain_open(here.as_ptr(), &few, &mut pool), BARO_EINVAL);
        assert_eq!(last_error(), "unit_bytes: expected 4 KiB to 1 GiB, found 1");
        few.type_size = 8;
        assert_eq!(baro_plain_open(here.as_ptr(), &few, &mut pool), BARO_EINVAL);
        let none = c(&place.path().join("none"));
        assert_eq!(baro_plain_open(none.as_ptr(), null(), &mut pool), BARO_ENOENT);
        fs::write(place.path().join("file"), "x").unwrap();
        let not_a_folder = c(&place.path().join("file"));
        assert_eq!(baro_plain_open(not_a_folder.as_ptr(), null(), &mut pool), BARO_ENOTDIR);
        assert!(pool.is_null() && last_error().contains("file"));
        // A pool that is closed takes its files with it.
        assert_eq!(baro_plain_open(here.as_ptr(), &options(9), &mut pool), 0);
        assert_eq!(baro_plain_take(pool, c"late".as_ptr(), &mut file), 0);
        assert_eq!(baro_plain_write(file, c"late".as_ptr().cast(), 4), 0);
        assert_eq!(baro_plain_close(pool), 0);
        let (mut bytes, mut room) = (0, 77);
        assert_eq!(baro_plain_write(file, c"r".as_ptr().cast(), 1), BARO_ESHUTDOWN);
        assert_eq!((baro_plain_room(file, &mut room), room), (BARO_ESHUTDOWN, 77));
        assert_eq!(baro_plain_finish(file, &mut bytes), BARO_ESHUTDOWN);
        // And who does not wait is told, too.
        assert_eq!(baro_plain_open(here.as_ptr(), &options(9), &mut pool), 0);
        assert_eq!(baro_plain_take(pool, c"later".as_ptr(), &mut file), 0);
        assert_eq!(baro_plain_close(pool), 0);
        assert_eq!(baro_plain_finish(file, null_mut()), BARO_ESHUTDOWN);
        assert!(last_error().contains("has been closed"), "{}", last_error());
    }
    assert_eq!(names(place.path()), ["file", "late", "later"]);
    assert_eq!(&fs::read(place.path().join("late")).unwrap()[..5], b"late\0");
}

#[test]
fn a_name_that_was_handed_out_is_refused_and_nothing_replaced() {
    let place = folder("plain-handed-out");
    let (mut pool, mut file, mut other) = (null_mut(), null_mut(), null_mut());
    // SAFETY: valid pointers.
    unsafe {
        let mut two = options(4_096);
        two.ready = 2;
        assert_eq!(baro_plain_open(c(place.path()).as_ptr(), &two, &mut pool), 0);
        for number in 0..20 {
            let name = CString::new(format!("run-{number}")).unwrap();
            assert_eq!(baro_plain_take(pool, name.as_ptr(), &mut file), 0);
            assert_eq!(baro_plain_write(file, c"first".as_ptr().cast(), 5), 0);
            assert_eq!(baro_plain_take(pool, name.as_ptr(), &mut other), BARO_EEXIST);
            let said = last_error();
            assert!(other.is_null() && said.contains("name another file"), "{said}");
            assert_eq!(baro_plain_finish(file, null_mut()), 0);
        }
        assert_eq!(baro_plain_close(pool), 0);
    }
    assert_eq!(names(place.path()).len(), 20);
    for name in names(place.path()) {
        assert_eq!(fs::read(place.path().join(name)).unwrap(), b"first");
    }
}

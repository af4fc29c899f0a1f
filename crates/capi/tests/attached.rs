//! A producer that is attached declares through C what it pushes to.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod place;

use baro::*;
use place::{Place, last_error, opened};
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

const MINUTE_NS: u64 = 60_000_000_000;

#[test]
fn what_is_pushed_to_is_declared_through_the_ring() {
    let place = Place::new("attached");
    place.init();
    // SAFETY: structures of the interface take any bits.
    let mut options: baro_open_options = unsafe { std::mem::zeroed() };
    options.type_size = size_of::<baro_open_options>() as u32;
    options.ring_bytes = 1 << 20;
    let (mut recorder, mut producer) = (null_mut(), null_mut());
    let mut ring: [c_char; 4096] = [0; 4096];
    // SAFETY: valid pointers.
    unsafe {
        let code = baro_open(place.c().as_ptr(), &options, &mut recorder);
        assert_eq!(code, 0, "{}", last_error());
        if baro_ring_for_attach(recorder, ring.as_mut_ptr(), ring.len()) != 0 {
            println!("skipped: {}", last_error());
            assert_eq!(baro_close(recorder, null_mut()), 0);
            return;
        }
        assert_eq!(baro_attach(ring.as_ptr(), &mut producer), 0, "{}", last_error());
        let mut id = 0;
        let mut declare = |name: &CStr, layout: Option<&CStr>, value_type| {
            let type_size = size_of::<baro_declare_options>() as u32;
            let options = baro_declare_options { type_size, value_type };
            let layout = layout.map_or(null(), CStr::as_ptr);
            let (name, unit) = (name.as_ptr(), null());
            let code =
                baro_producer_declare(producer, name, unit, layout, &options, MINUTE_NS, &mut id);
            (code, id)
        };
        assert_eq!(declare(c"x", None, BARO_F64), (0, 1), "{}", last_error());
        assert_eq!(declare(c"c", Some(c"n:u8@0"), BARO_CHANNEL), (0, 2), "{}", last_error());
        assert_eq!(declare(c"x", None, BARO_I64).0, BARO_EINVAL);
        assert_eq!(last_error(), "type of a series: expected f64 as declared for x, found i64");
        assert_eq!(declare(c"c", Some(c"n:u8@1"), BARO_CHANNEL).0, BARO_EACCES);
        assert!(last_error().contains("another layout: another channel"), "{}", last_error());
        assert_eq!(declare(c"c.n", None, BARO_F64).0, BARO_EACCES);
        let names = [c"a".as_ptr(), c"x".as_ptr(), c"b".as_ptr()];
        let types = [BARO_TEXT, BARO_F64, BARO_BOOL];
        let mut ids = [0; 3];
        let many = |types: &[u32; 3], ids: &mut [u32; 3]| {
            let (names, types) = (names.as_ptr(), types.as_ptr());
            let ids = ids.as_mut_ptr();
            baro_producer_declare_many(producer, names, null(), types, 3, MINUTE_NS, ids)
        };
        assert_eq!((many(&types, &mut ids), ids), (0, [3, 1, 4]), "{}", last_error());
        let mut none = [0; 3];
        assert_eq!((many(&[0; 3], &mut none), none), (BARO_EINVAL, [0; 3]));
        assert_eq!(baro_push_sample(producer, 1, 5, 0.5, null_mut()), 0);
        assert_eq!(baro_push_integer(producer, 4, 5, 1, null_mut()), 0);
        assert_eq!(baro_producer_wait_durable(producer, 1, MINUTE_NS), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
        // Nobody records any more.
        let code = baro_producer_declare(
            producer,
            c"late".as_ptr(),
            null(),
            null(),
            null(),
            MINUTE_NS,
            &mut none[0],
        );
        assert_eq!((code, none[0]), (BARO_ESHUTDOWN, 0), "{}", last_error());
        assert_eq!(baro_producer_close(producer), 0);
    }
}

#[test]
fn a_producer_of_the_recorders_own_process_is_told_to_use_it() {
    let place = Place::new("own");
    let (recorder, producer) = opened(&place);
    let (mut id, x) = (0, c"x".as_ptr());
    // SAFETY: valid pointers, and null where that is what is tested.
    unsafe {
        let code = baro_producer_declare(producer, x, null(), null(), null(), 1, &mut id);
        assert_eq!((code, id), (BARO_EINVAL, 0));
        assert!(last_error().contains("declare through its recorder"), "{}", last_error());
        for code in [
            baro_producer_declare(null_mut(), x, null(), null(), null(), 1, &mut id),
            baro_producer_declare(producer, null(), null(), null(), null(), 1, &mut id),
            baro_producer_declare(producer, x, null(), null(), null(), 1, null_mut()),
            baro_producer_declare_many(producer, null(), null(), null(), 1, 1, &mut id),
            baro_producer_declare_many(producer, &x, null(), null(), 1, 1, null_mut()),
        ] {
            assert_eq!(code, BARO_EINVAL);
        }
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

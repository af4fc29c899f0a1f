//! Field layouts through C: declared as text, read back as text and as values; what cannot be is
//! refused by its field's name, and recording goes on.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use checked::*;
use place::{Place, last_error, opened};
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

fn channel() -> baro_declare_options {
    let type_size = size_of::<baro_declare_options>() as u32;
    baro_declare_options { type_size, value_type: BARO_CHANNEL }
}

fn declare(recorder: *mut baro_recorder, name: &CStr, layout: &CStr) -> Result<u32, String> {
    let mut id = 0;
    // SAFETY: valid pointers.
    match unsafe {
        baro_declare(recorder, name.as_ptr(), null(), layout.as_ptr(), &channel(), &mut id)
    } {
        0 => Ok(id),
        code => {
            assert_eq!((code, id), (BARO_EINVAL, 0), "{}", last_error());
            Err(last_error())
        }
    }
}

const LAYOUT: &CStr = c"n:u64@0,temp:i16be@8*0.1-40(degC),cell:u8[3]@10,on:bool@13";

#[test]
fn fields_are_read_back_as_they_were_laid_out() {
    let place = Place::new("fields");
    let (recorder, producer) = opened(&place);
    let id = declare(recorder, c"control.a", LAYOUT).unwrap();
    let plain = {
        let mut id = 0;
        // SAFETY: valid pointers.
        let code = unsafe {
            baro_declare(recorder, c"plain".as_ptr(), null(), null(), &channel(), &mut id)
        };
        assert_eq!(code, 0);
        id
    };
    // The same again is no news.
    assert_eq!(declare(recorder, c"control.a", LAYOUT), Ok(id));
    let mut frame = 7_u64.to_le_bytes().to_vec();
    frame.extend(650_i16.to_be_bytes());
    frame.extend([1, 2, 3, 9]);
    // SAFETY: valid pointers.
    unsafe {
        let push = |channel, bytes: &[u8]| {
            let code = baro_push_frame(
                producer,
                channel,
                5,
                bytes.as_ptr().cast(),
                bytes.len(),
                null_mut(),
            );
            assert_eq!(code, 0);
        };
        push(id, &frame);
        push(id, &frame[..9]);
        push(plain, &frame);
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
    let mut reader = null_mut();
    let mut text: [c_char; 256] = [0; 256];
    // SAFETY: structures of the interface take any bits; valid pointers.
    unsafe {
        assert_eq!(baro_reader_open(place.c().as_ptr(), &mut reader), 0);
        let mut layout = |name: &CStr, room| {
            let code = baro_reader_layout(reader, name.as_ptr(), text.as_mut_ptr(), room);
            (code, CStr::from_ptr(text.as_ptr()).to_owned())
        };
        assert_eq!(layout(c"control.a", 256), (1, LAYOUT.to_owned()));
        assert_eq!(layout(c"plain", 256), (0, CString::default()));
        assert_eq!(layout(c"control.a", 20).0, BARO_ERANGE);
        assert_eq!(layout(c"other", 256).0, BARO_ENOENT);
        let code = baro_reader_layout(null(), c"plain".as_ptr(), text.as_mut_ptr(), 256);
        assert_eq!((code, last_error().as_str()), (BARO_EINVAL, "reader is null"));
        let field = |name: &CStr| {
            let mut value = f64::NAN;
            let code = baro_field_get(reader, name.as_ptr(), &mut value);
            assert_eq!(code == 1, !value.is_nan());
            (code == 1).then_some(value).ok_or(code)
        };
        // Nothing has been handed out.
        assert_eq!(field(c"control.a.n"), Err(0));
        let (mut record, mut payload): (baro_record, _) = (std::mem::zeroed(), null());
        record.type_size = size_of::<baro_record>() as u32;
        assert_eq!(baro_reader_next(reader, &mut record, &mut payload), 1);
        assert_eq!(field(c"control.a.n"), Ok(7.0));
        assert_eq!(field(c"control.a.temp"), Ok(25.0));
        assert_eq!(field(c"control.a.cell[2]"), Ok(3.0));
        assert_eq!(field(c"control.a.on"), Ok(1.0));
        for none in [c"control.a.cell", c"control.a.cell[3]", c"control.a.x", c"plain.n", c"n", c""]
        {
            assert_eq!(field(none), Err(BARO_ENOENT));
        }
        assert!(last_error().contains("expected CHANNEL.FIELD"), "{}", last_error());
        let code = baro_field_get(reader, c"control.a.n".as_ptr(), null_mut());
        assert_eq!((code, last_error().as_str()), (BARO_EINVAL, "value is null"));
        // A frame that is too short has what it has.
        assert_eq!(baro_reader_next(reader, &mut record, &mut payload), 1);
        assert_eq!((field(c"control.a.n"), field(c"control.a.temp")), (Ok(7.0), Err(0)));
        // Another channel's frame has none of these fields; nor has the end.
        assert_eq!(baro_reader_next(reader, &mut record, &mut payload), 1);
        assert_eq!((record.channel, field(c"control.a.n")), (plain, Err(0)));
        assert_eq!(baro_reader_next(reader, &mut record, &mut payload), 0);
        assert_eq!(field(c"control.a.n"), Err(0));
        assert_eq!(baro_reader_close(reader), 0);
    }
}

#[test]
fn layouts_that_cannot_be_are_refused_by_the_field() {
    let place = Place::new("layouts");
    let (recorder, producer) = opened(&place);
    let many = vec!["a:u8"; 5000].join(",");
    let many = CString::new(many).unwrap();
    let cases: [(&CStr, &str); 9] = [
        (c"a:u32@0,b:u16@2", "field \"b\" at offset 2: expected an offset of 4 or more"),
        (c"a:u64[2]@8,b:u8@23", "found an overlap"),
        (c"a:u8@0,a:u8@1", "a name of its own"),
        (c"", "expected name:type@offset"),
        (c"a", "expected name:type@offset"),
        (c"a:u128@0", "expected a type"),
        (c"a:u8@99999999999", "expected an offset in bytes"),
        (c"a:f64@65535", "layout: field \"a\" at offset 65535"),
        (&many, "1 to 1024 fields, found 5000"),
    ];
    for (layout, why) in cases {
        let said = declare(recorder, c"control", layout).unwrap_err();
        assert!(said.contains(why), "{layout:?}: {said}");
    }
    assert!(declare(recorder, c"control", c"\xff").unwrap_err().starts_with("layout: not UTF-8"));
    let id = declare(recorder, c"control", c"a:u8").unwrap();
    let said = declare(recorder, c"control", c"a:u16").unwrap_err();
    assert!(said.contains("as declared for control"), "{said}");
    // SAFETY: valid pointers.
    unsafe {
        let mut other = 0;
        let (name, unit) = (c"other".as_ptr(), c"mm".as_ptr());
        let code = baro_declare(recorder, name, unit, c"a:u8".as_ptr(), &channel(), &mut other);
        assert_eq!((code, other), (BARO_EINVAL, 0));
        assert!(last_error().starts_with("unit: expected null"), "{}", last_error());
        let mut last = 0;
        let bytes = [1_u8];
        let code = baro_push_frame(producer, id, 5, bytes.as_ptr().cast(), 1, &mut last);
        assert_eq!(code, 0);
        assert_eq!(baro_producer_wait_durable(producer, last, 60_000_000_000), 0);
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

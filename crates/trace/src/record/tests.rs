//! Tests of fields: widths and signs of several kernels, places inside events, hostile events.

use super::{Device, FRAMES_MAX, Field, Frames, GroupPath, Name, Value};
use crate::error::Result;
use crate::format::EventFormat;
use proptest::prelude::*;

fn format(fields: &[&str]) -> EventFormat {
    let mut text = "name: e\nID: 1\n".to_owned();
    fields.iter().for_each(|field| text.push_str(&format!("\tfield:{field};\n")));
    EventFormat::parse(text.as_bytes()).unwrap()
}

fn get<T: Value>(declaration: &str, payload: &[u8]) -> Result<T> {
    Field::resolve(&format(&[declaration]), &["x"])?.get(payload)
}

#[test]
fn numbers_of_any_width_and_sign_are_read() {
    let bytes = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let signed = |size| format!("long x;\toffset:0;\tsize:{size};\tsigned:1");
    let unsigned = |size| format!("long x;\toffset:0;\tsize:{size};\tsigned:0");
    for size in [1, 2, 4, 8] {
        assert_eq!(get::<i64>(&signed(size), &bytes).unwrap(), -2, "{size}");
        assert_eq!(get::<i32>(&signed(size), &bytes).unwrap(), -2, "{size}");
    }
    assert_eq!(get::<u64>(&unsigned(2), &bytes).unwrap(), 0xfffe);
    assert_eq!(get::<u32>(&unsigned(4), &bytes).unwrap(), 0xffff_fffe);
    // The same bits where the kernel gives a pid no sign.
    assert_eq!(get::<i32>(&unsigned(4), &bytes).unwrap(), -2);
    assert!(get::<u32>(&unsigned(8), &bytes).is_err());
    assert_eq!(get::<u32>(&unsigned(8), &[7, 0, 0, 1, 0, 0, 0, 0]).unwrap(), 0x0100_0007);
    assert!(get::<bool>(&unsigned(1), &[4]).unwrap());
    assert!(get::<u32>("int x[3];\toffset:0;\tsize:12;\tsigned:0", &bytes).is_err());
    assert!(get::<u32>("int x;\toffset:0;\tsize:3;\tsigned:0", &bytes).is_err());
}

#[test]
fn devices_arrays_and_names_are_read() {
    let device =
        get::<Device>("dev_t x;\toffset:1;\tsize:4;\tsigned:0", &[0, 3, 0, 0x80, 0]).unwrap();
    assert_eq!((device, device.to_string()), (Device::new(8, 3), "8:3".to_owned()));
    let longs: Vec<u8> = (1..=6_u64).flat_map(u64::to_le_bytes).collect();
    let args = "unsigned long x[6];\toffset:0;\tsize:48;\tsigned:0";
    assert_eq!(get::<[u64; 6]>(args, &longs).unwrap(), [1, 2, 3, 4, 5, 6]);
    assert!(get::<[u64; 6]>(args, &longs[..47]).is_err());
    let comm = "char x[4];\toffset:2;\tsize:4;\tsigned:0";
    assert_eq!(get::<Name>(comm, b"..ab\0c").unwrap(), Name::new(b"ab"));
    assert_eq!(get::<Name>(comm, b"..abcdef").unwrap().as_bytes(), b"abcd");
    assert!(get::<Name>(comm, b"..abc").is_err());
    assert_eq!(get::<GroupPath>(comm, b"..ab\0c").unwrap().whole(), Some("ab"));
    let whole = |bytes: usize| GroupPath::new(&vec![b'/'; bytes]).whole().map(str::len);
    assert_eq!((whole(254), whole(255)), (Some(254), None));
    assert_eq!(format!("{:?}", Name::new(b"a\"\xff")), "\"a\\\"\\xff\"");
    let rest = "char x[];\toffset:2;\tsize:0;\tsigned:0";
    assert_eq!(get::<Name>(rest, b"..abcdef\0").unwrap().as_bytes(), b"abcdef");
}

#[test]
fn stacks_know_whether_they_are_cut() {
    let of = |count: usize| Frames::new((1..).take(count));
    let told = |frames: Frames| (frames.addresses().len(), frames.is_cut());
    assert_eq!(told(of(FRAMES_MAX)), (FRAMES_MAX, false));
    assert_eq!(told(of(FRAMES_MAX + 1)), (FRAMES_MAX, true));
    // Behind the end of the list there is nothing, whatever stands there.
    assert_eq!(told(Frames::new([7, 0, 8])), (1, false));
    assert_eq!(told(of(9).first(3, false)), (3, false));
    assert_eq!(told(of(9).first(9, true)), (9, true));
    assert_eq!(told(of(FRAMES_MAX + 1).first(usize::MAX, false)), (FRAMES_MAX, true));
}

#[test]
fn data_elsewhere_in_the_event_is_found() {
    let absolute = "__data_loc char[] x;\toffset:0;\tsize:4;\tsigned:0";
    let relative = "__rel_loc char[] x;\toffset:0;\tsize:4;\tsigned:0";
    let payload = |offset: u16, length: u16, text: &[u8]| {
        [&offset.to_le_bytes()[..], &length.to_le_bytes(), text].concat()
    };
    assert_eq!(get::<Name>(absolute, &payload(6, 3, b"..sda")).unwrap().as_bytes(), b"sda");
    assert_eq!(get::<Name>(relative, &payload(2, 3, b"..sda")).unwrap().as_bytes(), b"sda");
    assert!(get::<Name>(absolute, &payload(6, 4, b"..sda")).is_err());
    assert!(get::<Name>(relative, &payload(u16::MAX, u16::MAX, b"..sda")).is_err());
    let long = [b'a'; 100];
    let payload = payload(4, 100, &long);
    let format = format(&[absolute]);
    let field = Field::<Name>::resolve(&format, &["x"]).unwrap();
    assert_eq!(field.get(&payload).unwrap().as_bytes(), [b'a'; 32]);
    assert_eq!(field.text(&payload).unwrap(), long);
}

#[test]
fn a_field_has_had_several_names_or_is_not_there() {
    let format = format(&["int b;\toffset:0;\tsize:4;\tsigned:1"]);
    let field = Field::<u32>::resolve(&format, &["a", "b"]).unwrap();
    assert_eq!(field.get(&[5, 0, 0, 0]).unwrap(), 5);
    let error = Field::<u32>::resolve(&format, &["a", "c"]).unwrap_err().to_string();
    assert!(error.contains("event e, field a or c") && error.contains("found b"), "{error}");
    let field = Field::<Option<u32>>::resolve(&format, &["a"]).unwrap();
    assert_eq!((field.is_there(), field.get(&[]).unwrap()), (false, None));
    let field = Field::<Option<u32>>::resolve(&format, &["b"]).unwrap();
    assert_eq!((field.is_there(), field.get(&[5, 0, 0, 0]).unwrap()), (true, Some(5)));
    // It is there in another form: not the same as not being there.
    assert!(Field::<Option<Name>>::resolve(&format, &["b"]).is_err());
}

proptest! {
    #[test]
    fn any_event_is_read_or_refused(
        payload in proptest::collection::vec(any::<u8>(), 0..80),
        offset in 0_u32..65_000, near in 0_u32..60, size in 0_u32..9,
    ) {
        for offset in [offset, near] {
            let numbers = format(&[&format!("long x;\toffset:{offset};\tsize:{size};\tsigned:1")]);
            if let Ok(field) = Field::<i64>::resolve(&numbers, &["x"]) {
                let there = (offset + size) as usize <= payload.len();
                prop_assert_eq!(field.get(&payload).is_ok(), there);
            }
            for place in ["__data_loc char[] x", "__rel_loc char[] x", "char x[]"] {
                let size = if place == "char x[]" { 0 } else { 4 };
                let format = format(&[&format!("{place};\toffset:{offset};\tsize:{size};\tsigned:0")]);
                let field = Field::<Name>::resolve(&format, &["x"]).unwrap();
                if let Ok(text) = field.text(&payload) {
                    prop_assert!(text.len() <= payload.len());
                }
            }
        }
    }
}

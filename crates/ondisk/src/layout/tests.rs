//! Layouts as text, as bytes, and over frames.

use super::*;
use crate::{Error, What};
use std::string::ToString;

const FULL: &str = "speed:f32@0,temp:i16be@4*0.1-40(°C),cell:u16[3]@6*0.001(V),on:bool@12,\
                    big:u64@16,small:i8@13,x:f64be@24*-2e-3+1.5";

fn text(error: Result<Layout, LayoutError>) -> String {
    error.unwrap_err().to_string()
}

#[test]
fn text_round_trips() {
    let layout: Layout = FULL.parse().unwrap();
    assert_eq!(layout.to_string().parse(), Ok(layout.clone()));
    assert_eq!(layout.frame_bytes(), 32);
    // Without offsets fields lie one behind the other; blanks do not count.
    let packed: Layout = "a:u8, b:u32 ,c:f32[2](m, s),d:u8".parse().unwrap();
    let offsets: Vec<u32> = packed.fields().iter().map(|field| field.offset_bytes).collect();
    assert_eq!(offsets, [0, 1, 5, 13]);
    assert_eq!(packed.to_string(), "a:u8@0,b:u32@1,c:f32[2]@5(m, s),d:u8@13");
}

#[test]
fn bytes_round_trip_and_any_change_is_an_error_or_another_layout() {
    let layout: Layout = FULL.parse().unwrap();
    let bytes = layout.encode();
    assert_eq!(Layout::decode(&bytes), Ok(layout));
    for at in 0..bytes.len() {
        assert!(Layout::decode(&bytes[..at]).is_err());
        for byte in 0..=255 {
            let mut other = bytes.clone();
            other[at] = byte;
            if let Ok(found) = Layout::decode(&other) {
                assert_eq!(found.encode(), other);
            }
        }
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(Layout::decode(&longer), Err(Error::Mismatch { what: What::Layout, .. })));
}

#[test]
fn values_are_read_where_they_lie() {
    let layout: Layout = FULL.parse().unwrap();
    let mut frame = std::vec![0; 32];
    frame[..4].copy_from_slice(&1.5_f32.to_le_bytes());
    frame[4..6].copy_from_slice(&605_i16.to_be_bytes());
    for (element, raw) in [3300_u16, 3301, 3302].iter().enumerate() {
        frame[6 + element * 2..8 + element * 2].copy_from_slice(&raw.to_le_bytes());
    }
    frame[12] = 7;
    frame[13] = 0x80;
    frame[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    frame[24..].copy_from_slice(&250.0_f64.to_be_bytes());
    let read = |name: &str, element| layout.field(name).unwrap().read(&frame, element);
    assert_eq!(read("speed", 0), Some(FieldValue::Float(1.5)));
    assert_eq!(read("temp", 0), Some(FieldValue::Float(605.0 * 0.1 - 40.0)));
    assert_eq!(read("cell", 2), Some(FieldValue::Float(3302.0 * 0.001)));
    assert_eq!((read("cell", 3), read("speed", 1)), (None, None));
    assert_eq!(read("on", 0), Some(FieldValue::Boolean(true)));
    assert_eq!(read("small", 0), Some(FieldValue::Integer(-128)));
    assert_eq!(read("big", 0), Some(FieldValue::Unsigned(u64::MAX)));
    assert_eq!(read("x", 0), Some(FieldValue::Float(250.0 * -2e-3 + 1.5)));
    // A frame that is too short has the fields that lie in it.
    let short = |name: &str, bytes: usize| layout.field(name).unwrap().read(&frame[..bytes], 0);
    assert_eq!(short("temp", 6), read("temp", 0));
    assert_eq!((short("temp", 5), short("speed", 0)), (None, None));
}

#[test]
fn a_series_has_one_name() {
    let layout: Layout = "speed:f32,cell:u16[12]".parse().unwrap();
    assert_eq!(layout.find("speed"), Some((0, 0)));
    assert_eq!((layout.find("cell[0]"), layout.find("cell[11]")), (Some((1, 0)), Some((1, 11))));
    for none in
        ["", "cell", "cell[12]", "cell[01]", "cell[+1]", "cell[]", "speed[0]", "cell[1", "x"]
    {
        assert_eq!(layout.find(none), None, "{none}");
    }
}

#[test]
fn every_mistake_names_its_field() {
    for (wrong, said) in [
        ("", "expected name:type@offset"),
        ("a", "field \"a\", character 1"),
        ("a:u8@0,b:i12@1", "field \"b\", character 10 of the text: expected a type"),
        ("a:u8@x", "expected an offset in bytes, found \"x\""),
        ("a:u8@99999999999", "expected an offset in bytes"),
        ("a:u8@0*", "expected a scale"),
        ("a:u8@0*0", "expected a scale that is a number other than 0"),
        ("a:u8@0*1e999", "expected a scale"),
        ("a:u8@0+", "expected a bias"),
        ("a:bool@0*2", "expected a bool without scale"),
        ("a:u8[0]@0", "expected 1 to 65535 elements"),
        ("a:u8[4@0", "expected 1 to 65535 elements"),
        ("a:u8@0(m", "expected a unit and )"),
        ("a:u8@0 b:u8@1", "expected the end of the field"),
        ("a.b:u8@0", "field \"a.b\" at offset 0: expected a name of 1 to 64 bytes"),
        (":u8@0", "expected a name"),
        ("a:u32@0,b:u8@3", "field \"b\" at offset 3: expected an offset of 4 or more behind \"a\""),
        ("b:u8@3,a:u32@0", "field \"b\" at offset 3"),
        ("a:u8@0,a:u8@1", "field \"a\" at offset 1: expected a name of its own"),
        ("a:u8@7340032", "expected to end within 7340032 bytes of frame, found its end at 7340033"),
        ("a:u8[65535],b:u8[2]", "at most 65536 values, found 65537"),
    ] {
        let found = text(wrong.parse());
        assert!(found.contains(said), "{wrong}: {found}");
    }
    let many: Vec<String> = (0..1025).map(|n| std::format!("f{n}:u8")).collect();
    assert!(text(many.join(",").parse()).contains("1 to 1024 fields, found 1025"));
    let layout: Layout = "a:u8@0,b:u32@2".parse().unwrap();
    assert_eq!(layout.check_frame(6), Ok(()));
    let found = layout.check_frame(5).unwrap_err().to_string();
    assert!(found.contains("\"b\" at offset 2: expected to end within 5 bytes"), "{found}");
}

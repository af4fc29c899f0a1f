//! The layout of every structure, as numbers: what a program was compiled with must stay true for
//! every later library. C's view of the same table is checked in `tests/native/abi.rs`.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(unsafe_code)]

mod layout;

#[test]
fn structures_have_their_sizes_and_no_gaps() {
    for structure in layout::structures() {
        let mut end = 0;
        for field in &structure.fields {
            let (name, at) = (structure.name, field.name);
            assert_eq!(field.offset, end, "{name}.{at}: a gap before it, or it has moved");
            end += field.bytes;
        }
        assert_eq!(structure.bytes, end, "{}: padding at its end", structure.name);
        assert_eq!(structure.fields[0].name, "type_size");
    }
}

#[test]
fn sizes_are_those_of_version_0_1() {
    let found: Vec<_> = layout::structures().iter().map(|s| (s.name, s.bytes)).collect();
    let expected = [
        ("baro_init_options", 16),
        ("baro_open_options", 328),
        ("baro_declare_options", 8),
        ("baro_status", 152),
        ("baro_pin_options", 288),
        ("baro_pin_info", 1336),
        ("baro_ring_report", 80),
        ("baro_record", 56),
        ("baro_sample", 32),
        ("baro_gap", 40),
        ("baro_event", 32),
        ("baro_series", 16),
        ("baro_read_report", 40),
        ("baro_plain_options", 24),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_value_is_64_bits_whatever_it_is() {
    assert_eq!(
        (size_of::<baro::baro_value>(), std::mem::offset_of!(baro::baro_value, integer)),
        (8, 0)
    );
}

#[test]
fn the_version_is_the_packages() {
    // SAFETY: the library's own text.
    let text = unsafe { std::ffi::CStr::from_ptr(baro::baro_version_text()) };
    assert_eq!(text.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    let parts: Vec<u32> =
        env!("CARGO_PKG_VERSION").split('.').map(|p| p.parse().unwrap()).collect();
    let [major, minor, patch] = parts[..] else { panic!("{parts:?}") };
    assert_eq!(baro::baro_version(), major * 65536 + minor * 256 + patch);
}

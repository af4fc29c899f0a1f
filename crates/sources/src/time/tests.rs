//! Times in every form, and what is refused as none.

use super::*;

const SECOND: i64 = SECOND_NS;

#[test]
fn what_a_spreadsheet_or_digits_alone_say_is_no_time_of_1970() {
    let checked = Times::checked();
    for text in ["20260102", "19800101", "20991231", "20260102030405", "20240229235959"] {
        assert_eq!(checked.read(text), Err(TimeFault::Digits), "{text}");
        assert_eq!(checked.of_unit(1).read(text).map(|ns| ns.to_string()), Ok(text.to_owned()));
    }
    for text in ["202601020304", "20260102.5", "202601020304.0"] {
        assert_eq!(checked.read(text), Err(TimeFault::Digits), "{text}");
    }
    for text in ["20261302", "20260230", "20260102246000", "202601022400", "1026"] {
        assert_eq!(checked.read(text).map(|ns| ns.to_string()), Ok(text.to_owned()));
    }
    assert_eq!(checked.read("46023.5"), Err(TimeFault::SheetDay));
    assert_eq!(checked.of_unit(SECOND_NS).read("46023.5"), Ok(46_023_500_000_000));
    assert_eq!(checked.read("29220.9"), Ok(29_220_900_000_000));
    assert_eq!(checked.read("1700000000.5"), Ok(1_700_000_000_500_000_000));
    assert_eq!(parse("46023.5"), Ok(46_023_500_000_000));
}

#[test]
fn integers_are_nanoseconds_and_fractions_seconds() {
    assert_eq!(parse("1700000000123456789"), Ok(1_700_000_000_123_456_789));
    assert_eq!(parse("0"), Ok(0));
    assert_eq!(parse("-5"), Ok(-5));
    assert_eq!(parse("1700000000.123456789"), Ok(1_700_000_000_123_456_789));
    assert_eq!(parse("1.5"), Ok(1_500_000_000));
    assert_eq!(parse("-0.000000001"), Ok(-1));
    // Zeros say nothing; another digit would be lost.
    assert_eq!(parse("0.99999999900"), Ok(999_999_999));
    for text in ["0.9999999999", "1700000000.1234567891", "-0.0000000001", "1.00000000000000001"] {
        assert_eq!(parse(text), Err(TimeFault::Finer), "{text}");
    }
    assert_eq!(parse("9223372036.854775807"), Ok(i64::MAX));
    assert_eq!(parse("-9223372036.854775808"), Ok(i64::MIN));
    assert_eq!(parse("9223372036.854775808"), Err(TimeFault::Range));
    assert_eq!(parse("9223372036854775808"), Err(TimeFault::Range));
    assert_eq!(parse(&format!("{}.0", "9".repeat(500))), Err(TimeFault::Range));
    for text in [
        "", "-", "+1", "1.", ".5", "-.5", "1e", "e9", "1e99", "1e+-9", "1.e9", "1.2.3", "0x10",
        " 1", "١",
    ] {
        assert_eq!(parse(text), Err(TimeFault::Form), "{text:?}");
    }
}

/// A column of milliseconds has them with and without a point.
#[test]
fn a_point_has_the_unit_that_is_said() {
    let times = Times::checked();
    for (unit_ns, text, ns) in [
        (SECOND, "1500.25", 1_500_250_000_000),
        (1_000_000, "1500.25", 1_500_250_000),
        (1_000_000, "-0.000001", -1),
        (1_000, "1500.125", 1_500_125),
        (1_000, "1500.1250", 1_500_125),
        (1, "1500.0", 1_500),
    ] {
        assert_eq!(times.of_unit(unit_ns).read(text), Ok(ns), "{text} of {unit_ns}");
    }
    for (unit_ns, text) in [(1_000_000, "1.0000001"), (1_000, "1.0001"), (1, "1.5")] {
        assert_eq!(times.of_unit(unit_ns).read(text), Err(TimeFault::Finer), "{text} of {unit_ns}");
    }
    // Go prints times so, and R.
    for (text, ns) in [
        ("1.700000000123e+09", 1_700_000_000_123_000_000),
        ("1.7e9", 1_700_000_000 * SECOND),
        ("17E8", 1_700_000_000 * SECOND),
        ("-25e-2", -SECOND / 4),
    ] {
        assert_eq!(times.read(text), Ok(ns), "{text}");
    }
    assert_eq!(times.of_unit(1_000_000).read("1.7e12"), Ok(1_700_000_000 * SECOND));
    // The last digits of a number of 64 bits mean nothing.
    assert_eq!(times.read("0.30000000000000004"), Ok(300_000_000));
    assert_eq!(times.of_unit(1_000_000).read("1234.1000000014901"), Ok(1_234_100_000));
    assert_eq!(times.of_unit(1_000_000).read("0.7999999999999999"), Ok(800_000));
    let prometheus = times.of_unit(1_000_000).of_milliseconds();
    assert_eq!(prometheus.read("1500.25"), Ok(1_500_250_000_000));
}

#[test]
fn a_unit_is_told_by_the_size_where_that_is_asked_for() {
    let times = Times::by_size();
    let now_ns = 1_700_000_000_123_456_789_i64;
    for unit_ns in [1_000_000_000, 1_000_000, 1_000, 1] {
        let count = now_ns / unit_ns;
        assert_eq!(times.count(count), Ok(count * unit_ns));
        assert_eq!(times.count(-count), Ok(-count * unit_ns));
    }
    assert_eq!(times.count(4_999_999_999), Ok(4_999_999_999 * SECOND));
    assert_eq!(times.count(5_000_000_000), Ok(5_000_000_000 * 1_000_000));
    assert_eq!(times.count(i64::MIN), Ok(i64::MIN));
    assert_eq!(times.of_unit(1).count(5), Ok(5));
}

#[test]
fn dates_are_read_with_and_without_offset() {
    assert_eq!(parse("1970-01-01T00:00:00Z"), Ok(0));
    assert_eq!(parse("2000-02-29T12:34:56Z"), Ok(951_827_696 * SECOND));
    assert_eq!(parse("2026-11-21t21:13:24.5z"), Ok(1_795_295_604 * SECOND + SECOND / 2));
    assert_eq!(parse("2026-11-21 23:13:24+02:00"), Ok(1_795_295_604 * SECOND));
    assert_eq!(parse("2026-11-21T15:43:24-05:30"), Ok(1_795_295_604 * SECOND));
    assert_eq!(parse("1969-12-31T23:59:59.999999999Z"), Ok(-1));
    assert_eq!(parse("1970-01-01T00:00:00.1234567890Z"), Ok(123_456_789));
    assert_eq!(parse("1970-01-01T00:00:00.1234567891Z"), Err(TimeFault::Finer));
    assert_eq!(parse("2262-04-11T23:47:16.854775807Z"), Ok(i64::MAX));
    assert_eq!(parse("1677-09-21T00:12:43.145224192Z"), Ok(i64::MIN));
    assert_eq!(parse("2262-04-11T23:47:16.854775808Z"), Err(TimeFault::Range));
    assert_eq!(parse("0000-01-01T00:00:00Z"), Err(TimeFault::Range));
    assert_eq!(parse("9999-12-31T23:59:59Z"), Err(TimeFault::Range));
}

/// As spreadsheets, loggers and ISO 8601 have it, and of which there is one reading.
#[test]
fn dates_are_read_as_people_write_them() {
    let time_ns = Ok(1_795_295_604 * SECOND);
    for text in [
        "2026-11-21T21:13:24Z",
        "2026/11/21 21:13:24Z",
        "21.11.2026 21:13:24Z",
        "21.11.2026T22:13:24+01",
    ] {
        assert_eq!(parse(text), time_ns, "{text}");
    }
    let times = Times::default().in_zone(Zone::Ahead(0));
    assert_eq!(times.read("21.11.2026 21:13:24,500"), Ok(1_795_295_604 * SECOND + SECOND / 2));
    for text in
        ["2026-11-21T21:13Z", "21.11.2026 21:13", "2026/11/21 21:13", "2026-11-21 22:13+01:00"]
    {
        assert_eq!(times.read(text), Ok(1_795_295_580 * SECOND), "{text}");
    }
    assert_eq!(times.read("21.11.2026"), times.read("2026-11-21"));
    let early = times.read("2026-01-02 03:04");
    assert_eq!(early, Ok(1_767_323_040 * SECOND));
    for text in [
        "2026-1-2 3:04",
        "2026-01-02 3:04:00",
        "2026/1/02T3:04:00.0",
        "2.1.2026 03:04",
        "02.01.2026 3:04:00,0",
        "2026-1-2T4:04+01:00",
        "2-Jan-2026 3:04",
    ] {
        assert_eq!(times.read(text), early, "{text}");
    }
    assert_eq!(parse("2026-1-2 3:04"), Err(TimeFault::Zone));
    assert_eq!(times.read("2026-13-2"), Err(TimeFault::Calendar));
    for text in [
        "26-1-2",
        "2026-1",
        "2026-1-2-3",
        "2026-1-2 3:4",
        "2026-1-2 3",
        "1.2.26",
        "2026--2",
        "2026-1-",
    ] {
        assert_eq!(times.read(text), Err(TimeFault::Form), "{text}");
    }
    assert_eq!(times.read("1/2/2026 3:04"), Err(TimeFault::DayOrMonth));
    for text in ["21-Nov-2026 21:13:24Z", "21 NOV 2026T21:13:24 UTC", "21-nov-2026 22:13:24+01:00"]
    {
        assert_eq!(parse(text), time_ns, "{text}");
    }
    assert_eq!(times.read("1-Feb-2026"), times.read("2026-02-01"));
    for text in ["21-Nov-2026", "2-Jan-2026 03:04"] {
        assert_eq!(parse(text), Err(TimeFault::Zone), "{text}");
    }
    assert_eq!(parse("31-Feb-2026Z"), Err(TimeFault::Form));
    assert_eq!(parse("31-Feb-2026 00:00Z"), Err(TimeFault::Calendar));
    for text in [
        "21-Noe-2026Z",
        "21-ovd-2026Z",
        "21-Nov-26",
        "021-Nov-2026",
        "21-Nov2026",
        "-Nov-2026",
        "1-\u{e9}\u{e9}-2026",
    ] {
        assert_eq!(parse(text), Err(TimeFault::Form), "{text}");
    }
    assert_eq!(parse("21.11.2026"), Err(TimeFault::Zone));
    assert_eq!(parse("11.21.2026 21:13Z"), Err(TimeFault::Calendar));
    for text in [
        "2026-11-21 21:13:24 UTC",
        "2026-11-21 22:13:24 +01:00",
        "2026-11-21 22:13:24.0 +0100",
        "2026-11-21 21:13:24 gmt",
        "2026-11-21 21:13:24 +0000 UTC",
    ] {
        assert_eq!(parse(text), time_ns, "{text}");
    }
    for text in
        ["2026-11-21  21:13:24Z", "2026-11-21 21:13:24 ", "2026-11-21 21:13:24  UTC", "21/x/2026"]
    {
        assert_eq!(parse(text), Err(TimeFault::Form), "{text}");
    }
    for text in ["21/11/2026", "11/21/2026 21:13:24Z", "1/2/26", "1/12/2026 10:00"] {
        assert_eq!(parse(text), Err(TimeFault::DayOrMonth), "{text}");
    }
}

#[test]
fn dates_that_do_not_exist_are_refused() {
    for text in [
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:59:61Z",
        "2026-01-01T24:00:60Z",
        "2026-01-01T00:00:00+24:00",
    ] {
        assert_eq!(parse(text), Err(TimeFault::Calendar), "{text}");
    }
    for text in [
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00+1",
        "2026-01-01T00:00:00+010",
        "2026-01-01T00:00:00Zx",
        "2026-01-01_00:00:00Z",
        "2026-0a-01T00:00:00Z",
        "2026-01-01T-1:00:00Z",
        "2026-01-01T00:00.5Z",
        "2026-01-01T00:0Z",
        "2026-01-01T00:00:",
        "2026-01/01T00:00:00Z",
        "01.01.26",
        "01.01-2026",
    ] {
        assert_eq!(parse(text), Err(TimeFault::Form), "{text}");
    }
}

#[test]
fn offsets_are_read_in_each_form_and_a_zone_is_never_guessed() {
    for text in ["00:00:00+01", "00:00:00+0100", "00:00:00+01:00", "00:00:00.0+01"] {
        assert_eq!(parse(&format!("1970-01-01T{text}")), Ok(-3600 * SECOND), "{text}");
    }
    assert_eq!(parse("1970-01-01 00:00:00+00"), Ok(0));
    for text in ["2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00.5"] {
        assert_eq!(parse(text), Err(TimeFault::Zone), "{text}");
    }
    let times = Times::default().in_zone(Zone::Ahead(zone_s("-0530").unwrap()));
    assert_eq!(times.read("1970-01-01"), Ok(19_800 * SECOND));
    assert_eq!(times.read("1970-01-01 00:00:00.5"), Ok(19_800 * SECOND + SECOND / 2));
    assert_eq!(times.read("1970-01-01T00:00:00Z"), Ok(0));
    assert_eq!(zone_s("UTC"), Some(0));
    for text in ["", "Europe/Berlin", "+24:00", "+1", "01:00"] {
        assert_eq!(zone_s(text), None, "{text}");
    }
}

#[test]
fn an_integer_that_can_only_be_meant_in_another_unit_is_refused_with_that() {
    let times = Times::checked();
    let now = 1_700_000_000_i64;
    for (unit, unit_ns, count) in [
        ("s", SECOND, now),
        ("ms", 1_000_000, now * 1_000 + 1),
        ("us", 1_000, now * 1_000_000 + 1),
        ("s", SECOND, PLAUSIBLE_S.start),
        ("us", 1_000, PLAUSIBLE_S.end * 1_000_000 - 1),
    ] {
        let text = count.to_string();
        assert_eq!(times.read(&text), Err(TimeFault::Unit { unit }));
        assert_eq!(times.of_unit(unit_ns).read(&text), Ok(count * unit_ns));
        assert_eq!(times.of_unit(1).read(&text), Ok(count));
        assert_eq!(parse(&text), Ok(count));
    }
    for count in [0, 1, -5, 1_000_000, PLAUSIBLE_S.start * SECOND, now * SECOND] {
        assert_eq!(times.read(&count.to_string()), Ok(count));
    }
    assert_eq!(times.read(&i64::MAX.to_string()), Err(TimeFault::Far));
    assert_eq!(times.of_unit(1).read(&i64::MAX.to_string()), Ok(i64::MAX));
    assert_eq!(times.of_unit(SECOND).read(&(now * 1_000).to_string()), Err(TimeFault::Range));
    // Who writes a point or a date has said what is meant.
    assert_eq!(times.read("1.5"), Ok(SECOND + SECOND / 2));
    assert_eq!(times.read("1970-01-01T00:00:00Z"), Ok(0));
}

#[test]
fn every_day_follows_the_day_before() {
    let mut expected = days_since_epoch(1600, 1, 1);
    assert_eq!(expected, -135_140);
    for year in 1600..2401 {
        for month in 1..=12 {
            for day in 1..=month_days(year, month) {
                assert_eq!(days_since_epoch(year, month, day), expected);
                expected += 1;
            }
        }
    }
}

/// Unix time counts no leap second, so it would become the next second and take the place of that one's
/// sample. That holds of those that were, too.
#[test]
fn a_leap_second_is_refused_with_the_reason() {
    for text in [
        "2016-12-31T23:59:60Z",
        "2017-01-01T05:29:60+05:30",
        "2016-12-31 23:59:60.5Z",
        "2026-01-01T00:59:60Z",
        "2026-01-01T00:00:60Z",
    ] {
        assert_eq!(parse(text), Err(TimeFault::LeapSecond), "{text}");
    }
    let said = TimeFault::LeapSecond.to_string();
    assert!(said.contains("has no number of its own in Unix time"), "{said}");
}

#[test]
fn digits_together_are_what_they_are_one_by_one() {
    let mut random = 88_172_645_463_325_252_u64;
    for _ in 0..20_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let text = &format!("{random:020}")[1..];
        let text = &text[..=(random % 19) as usize];
        assert_eq!(super::plain_count(text.as_bytes()), text.parse().ok(), "{text}");
    }
    // Any other byte anywhere.
    for at in 0..19 {
        for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
            let mut text = *b"9090909090909090909";
            text[at] = byte;
            assert_eq!(super::plain_count(&text), None, "{text:?}");
        }
    }
    assert_eq!(super::plain_count(b"9223372036854775807"), Some(i64::MAX));
    assert_eq!(super::plain_count(b"9223372036854775808"), None);
}

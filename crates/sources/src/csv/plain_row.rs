//! What nearly all rows are, taken without the steps that the others need: they are half of an import.
//!
//! Invariant: a row that is taken here is taken by [`super::parse_row`] just so, and means as much for the
//! lines behind it. Held by `tests::a_plain_row_is_what_any_row_is` and
//! `tests::a_plain_row_leaves_the_lines_behind_it_what_they_are`.

use super::fields::position;
use super::is_hardly_a_name;
use crate::number;
use crate::sample::{Mark, Sample};
use crate::time::Times;

/// A row of a time in digits, a name without quotes and a number. `None`: it may be one nevertheless.
#[inline]
pub(super) fn plain_row<'a>(
    line: u64,
    content: &'a [u8],
    has_header: bool,
    times: &Times,
) -> Option<Sample<'a>> {
    let text = str::from_utf8(content).ok()?;
    let (time, rest) = cut(text)?;
    let (series, value) = cut(rest)?;
    let time_ns = times.late_count(time.as_bytes())?;
    let (b'a'..=b'z' | b'A'..=b'Z' | b'_') = series.as_bytes().first()? else { return None };
    if let Some(b' ' | b'\t') = series.as_bytes().last() {
        return None;
    }
    let (b'0'..=b'9' | b'-') = value.as_bytes().first()? else { return None };
    let value = number::scalar(value).ok()?;
    if !has_header && is_hardly_a_name(series) {
        return None;
    }
    let (time_ns, series) = (Some(time_ns), series.into());
    Some(Sample { line, time_ns, series, joint: None, value, mark: Mark::None })
}

fn cut(text: &str) -> Option<(&str, &str)> {
    let end = position(text, ',')?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::super::{Guards, parse_row};
    use super::*;
    use crate::form::TextForm;
    use crate::zone::Zone;

    const TIMES: [&str; 22] = [
        "",
        "0",
        "1",
        "20260102",
        "1700000000",
        "1700000000000",
        "1700000000000000000",
        "1700000000000000000 ",
        " 1700000000000000000",
        "01700000000000000000",
        "\"1700000000000000000\"",
        "'1700000000000000000",
        "-1700000000000000000",
        "+1700000000000000000",
        "1700000000.5",
        "1,5",
        "9223372036854775807",
        "9223372036854775808",
        "time",
        "2026-01-02T03:04:05Z",
        "17000000000000000é0",
        "\u{feff}1700000000000000000",
    ];
    const NAMES: [&str; 24] = [
        "",
        "a",
        "A_1",
        "_",
        "series",
        "a b",
        "a ",
        "\ta",
        " a",
        "a\"b",
        "\"a\"",
        "\"a,b\"",
        "'=a",
        "=a",
        "a{b=\"c\"}",
        "é",
        "aé",
        "nan",
        "true",
        "null",
        "NA",
        "Mon",
        "5",
        "jan",
    ];
    const VALUES: [&str; 26] = [
        "",
        "1",
        "-1",
        "+1",
        "-0",
        "1.5",
        "-1.5e3",
        "1e400",
        "1e-400",
        "18446744073709551616",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "true",
        "1 ",
        " 1",
        "\"1\"",
        "1,f64",
        "1,",
        "1,2",
        "5 mg/l",
        "1_000",
        "value",
        "-",
        "1\r",
    ];

    #[test]
    fn a_plain_row_is_what_any_row_is() {
        let zoned = Times::default().in_zone(Zone::Ahead(0));
        let checked = Times::checked();
        let times = [
            Times::default(),
            zoned,
            checked,
            checked.of_unit(1_000_000_000),
            checked.of_unit(1),
            Times::by_size(),
            checked.of_milliseconds(),
        ];
        let (mut plain, mut all) = (0, 0);
        for times in times {
            let form = TextForm { times, ..TextForm::default() };
            for (time, name, value) in rows() {
                let text = format!("{time},{name},{value}");
                for has_header in [false, true] {
                    all += 1;
                    let Some(found) = plain_row(7, text.as_bytes(), has_header, &times) else {
                        continue;
                    };
                    plain += 1;
                    // Whatever stood before: it makes a difference to neither.
                    for before in [None, Some(true), Some(false)] {
                        let (mut guards, mut early) = (Guards::default(), before);
                        let place = (&mut guards, &mut early);
                        let row = parse_row(7, &text, has_header, &form, place);
                        let row = row.ok().flatten();
                        assert_eq!(format!("{row:?}"), format!("{:?}", Some(&found)), "{text:?}");
                        assert_eq!(early, before, "{text:?}");
                    }
                }
            }
        }
        assert!(plain * 100 > all, "{plain} of {all}");
    }

    /// A blank behind the comma makes no difference, but that it is no plain row any more.
    #[test]
    fn a_plain_row_leaves_the_lines_behind_it_what_they_are() {
        let others = [
            "",
            "# a",
            "time,series,value",
            "time,series,value,value_type",
            "time,temp",
            "x",
            "0.5,a,1",
            "1,a,1",
            "1700000000000000000,'=a,1",
            "1700000000000000000,=a,1",
            "1700000000000000000,\"q\",\"open",
            "#datatype,string",
        ];
        let items = |text: &str| {
            let mut items = Vec::new();
            let mut parser = super::super::CsvParser::new();
            parser.feed(text.as_bytes(), |item| items.push(told(item)));
            parser.finish(|item| items.push(told(item)));
            items
        };
        let mut samples = 0;
        for first in others {
            for second in others {
                for third in others {
                    let of = |comma: &str| {
                        let row = format!("1700000000000000000{comma}a,5");
                        items(&[first, &row, &row, second, &row, third, &row].join("\n"))
                    };
                    let plain = of(",");
                    assert_eq!(plain, of(", "), "{first:?} {second:?} {third:?}");
                    samples += plain.iter().filter(|item| item.starts_with("Sample")).count();
                }
            }
        }
        assert!(samples > others.len().pow(3), "{samples}");
    }

    fn told(item: Result<Sample<'_>, super::super::CsvError>) -> String {
        match item {
            Ok(sample) => format!("{sample:?}"),
            Err(error) => format!("line {} refused", error.line),
        }
    }

    fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let named = |time| NAMES.into_iter().map(move |name| (time, name));
        let of = |(time, name)| VALUES.into_iter().map(move |value| (time, name, value));
        TIMES.into_iter().flat_map(named).flat_map(of)
    }
}

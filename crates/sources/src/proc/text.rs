//! Lines, keys and numbers of the texts in /proc, cut by hand.
//!
//! A reading is some 8 KB of text a thousand times a second; what makes that cheap is touching
//! each byte about once and never making a `str`. Nothing here knows which counter is which: see
//! `names` for that.
//!
//! Invariant: any bytes are accepted; a number that does not fit 64 bits is no number. Held by
//! `tests::any_text_is_read_without_panic` and the tests below.

use super::source::ProcSource;

/// What one line of a text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A heading, an empty line, or one that the sampler does not want.
    Other,
    /// A line that starts like a wanted one and cannot be cut.
    Malformed,
    /// A key and what follows it.
    Row { key: &'a [u8], rest: &'a [u8] },
}

/// Cuts the first line off `text`, without its newline.
pub(super) fn next_line<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    if text.is_empty() {
        return None;
    }
    let end = find_newline(text);
    let (line, tail) = text.split_at(end);
    *text = tail.get(1..).unwrap_or_default();
    Some(line)
}

/// The position of the first newline, or the length. Eight bytes at a time, for the `intr` line
/// of /proc/stat has thousands.
fn find_newline(text: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, tail) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // A byte becomes 0 where there is a newline; the classic test finds the lowest 0 byte.
        let word = u64::from_le_bytes(*word) ^ (LOW * u64::from(b'\n'));
        let found = word.wrapping_sub(LOW) & !word & HIGH;
        if found != 0 {
            return index * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let start = text.len() - tail.len();
    start + tail.iter().position(|byte| *byte == b'\n').unwrap_or(tail.len())
}

/// Finds the key of `line`.
pub(super) fn cut(source: ProcSource, line: &[u8]) -> Line<'_> {
    match source {
        ProcSource::Stat => {
            let (key, rest) = token(line);
            let wanted = key.starts_with(b"cpu")
                || matches!(
                    key,
                    b"ctxt"
                        | b"intr"
                        | b"softirq"
                        | b"processes"
                        | b"procs_running"
                        | b"procs_blocked"
                );
            if wanted { Line::Row { key, rest } } else { Line::Other }
        }
        ProcSource::Schedstat => {
            let (key, rest) = token(line);
            if key.starts_with(b"cpu") { Line::Row { key, rest } } else { Line::Other }
        }
        ProcSource::Vmstat => match token(line) {
            ([], _) => Line::Other,
            (key, rest) => Line::Row { key, rest },
        },
        ProcSource::Meminfo => match line.iter().position(|byte| *byte == b':') {
            Some(colon) => Line::Row { key: trim(&line[..colon]), rest: &line[colon + 1..] },
            None if trim(line).is_empty() => Line::Other,
            None => Line::Malformed,
        },
        ProcSource::Diskstats => {
            let (_major, rest) = token(line);
            let (_minor, rest) = token(rest);
            match token(rest) {
                ([], _) if trim(line).is_empty() => Line::Other,
                ([], _) => Line::Malformed,
                (key, rest) => Line::Row { key, rest },
            }
        }
        // The last colon: old kernels glue the first number to it (`eth0:123`), and an alias
        // has one of its own (`eth0:1: 123`). The two heading lines have none.
        ProcSource::NetDev => match line.iter().rposition(|byte| *byte == b':') {
            Some(colon) => Line::Row { key: trim(&line[..colon]), rest: &line[colon + 1..] },
            None => Line::Other,
        },
        ProcSource::PressureCpu | ProcSource::PressureIo | ProcSource::PressureMemory => {
            const TOTAL: &[u8] = b"total=";
            let (key, mut rest) = token(line);
            if !matches!(key, b"some" | b"full") {
                return Line::Other;
            }
            loop {
                let (word, tail) = token(rest);
                if word.is_empty() {
                    return Line::Malformed;
                }
                if let Some(total) = word.strip_prefix(TOTAL) {
                    return Line::Row { key, rest: total };
                }
                rest = tail;
            }
        }
    }
}

/// The first word of `text` and what follows it.
fn token(text: &[u8]) -> (&[u8], &[u8]) {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    let text = &text[start..];
    let end = text.iter().position(|byte| is_space(*byte)).unwrap_or(text.len());
    text.split_at(end)
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Takes the next number off `rest`; `None` if there is none or it does not fit 64 bits.
///
/// Kernel counters are unsigned; those above `i64::MAX` keep their 64 bits, so that differences
/// stay right and a counter that went below zero reads as the negative number it is.
#[inline]
pub(super) fn next_number(rest: &mut &[u8]) -> Option<i64> {
    let mut text = *rest;
    while let [b' ' | b'\t', tail @ ..] = text {
        text = tail;
    }
    let negative = if let [b'-', tail @ ..] = text {
        text = tail;
        true
    } else {
        false
    };
    let mut value: u64 = 0;
    let mut digits = 0_usize;
    while let [byte @ b'0'..=b'9', tail @ ..] = text {
        let digit = u64::from(byte - b'0');
        // 18 digits always fit, so only longer numbers pay for the check.
        value = if digits < 18 {
            value * 10 + digit
        } else {
            value.checked_mul(10)?.checked_add(digit)?
        };
        digits += 1;
        text = tail;
    }
    let ends_well = matches!(text, [] | [b' ' | b'\t' | b'\r', ..]);
    if digits == 0 || !ends_well {
        return None;
    }
    *rest = text;
    if negative { 0_i64.checked_sub_unsigned(value) } else { Some(value.cast_signed()) }
}

/// Whether a line of meminfo counts in kB (the number is already taken off).
pub(super) fn is_kilobytes(rest: &[u8]) -> bool {
    trim(rest) == b"kB"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(mut text: &[u8]) -> Vec<i64> {
        std::iter::from_fn(|| next_number(&mut text)).collect()
    }

    #[test]
    fn numbers_are_read_up_to_the_first_bad_one() {
        assert_eq!(numbers(b" 1  22\t333\r"), [1, 22, 333]);
        assert_eq!(numbers(b"-7 x 3"), [-7]);
        assert!(numbers(b"12kB").is_empty());
        assert_eq!(numbers(b"1 18446744073709551616 3"), [1]);
        assert_eq!(numbers(b"9223372036854775807 18446744073709551615"), [i64::MAX, -1]);
        assert_eq!(numbers(b"-9223372036854775808 -9223372036854775809"), [i64::MIN]);
        assert_eq!(numbers(b"000000000000000000000000000000000000000000012"), [12]);
        assert!(numbers(b"- 1").is_empty());
    }

    #[test]
    fn newlines_are_found_at_every_distance() {
        for length in 0..40 {
            for tail in 0..20 {
                let mut text = vec![0x8a_u8; length];
                text.push(b'\n');
                text.extend(vec![b'\n'; tail]);
                let mut rest = text.as_slice();
                assert_eq!(next_line(&mut rest).map(<[u8]>::len), Some(length));
                assert_eq!(rest.len(), tail);
            }
        }
    }

    #[test]
    fn interface_names_end_at_the_last_colon() {
        let row = |key, rest| Line::Row { key, rest };
        assert_eq!(cut(ProcSource::NetDev, b"  eth0:123 4"), row(b"eth0", b"123 4"));
        assert_eq!(cut(ProcSource::NetDev, b"eth0:1: 123 4"), row(b"eth0:1", b" 123 4"));
        assert_eq!(cut(ProcSource::NetDev, b" face |bytes    packets"), Line::Other);
    }
}

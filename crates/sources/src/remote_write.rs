//! Messages of Prometheus remote write, 1.0 and 2.0: series with their labels and samples.
//!
//! A message is protobuf, of which the bytes are read in place (`protobuf`). Unpacked from snappy it is one
//! piece, so that nothing is fed here.
//!
//! Invariant: any bytes give series or an error, a series is refused by itself, and nothing is sized by a
//! number that the bytes claim. Held by the tests below and the fuzz target `remote_write`.

pub use crate::protobuf::Malformed;
use crate::protobuf::{Fields, Value};
use crate::time::{TimeFault, Times};
use baro_ondisk::limits::NAME_BYTES_MAX;
use baro_ondisk::write_name;
use std::cell::Cell;
use std::fmt;

/// Strings of a message of version 2: more than a million series need.
const SYMBOLS_MAX: usize = 1 << 20;
/// Labels of a series.
const LABELS_MAX: usize = 256;
/// Bytes of a series' labels: four times what the longest name has. In version 2 many series may refer to
/// one long text, so that their names together would be longer than any message.
const LABEL_BYTES_MAX: usize = 4 * NAME_BYTES_MAX;
const TOO_LONG: &str = "expected a name of at most 1024 bytes, found a longer one";
/// The field of samples, in both versions.
const SAMPLES: u64 = 2;

/// The version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `prometheus.WriteRequest`.
    One,
    /// `io.prometheus.write.v2.Request`.
    Two,
}

/// What a series of a message has beside samples, which nobody takes here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Native histograms.
    pub histograms: u64,
    /// Exemplars.
    pub exemplars: u64,
}

/// A series of a message.
#[derive(Clone, Debug, Default)]
pub struct Series<'m> {
    /// Its canonical name.
    pub name: String,
    /// What it has beside samples.
    pub beside: Beside,
    message: &'m [u8],
}

impl Series<'_> {
    /// Times in milliseconds, and values: read where they are, so that many of them take no memory.
    pub fn samples(&self) -> impl Iterator<Item = (i64, f64)> {
        // All of it was read once.
        Fields::of(self.message).filter_map(|field| match field.ok()? {
            (SAMPLES, Value::Bytes(message)) => sample(message).ok(),
            _ => None,
        })
    }
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// It is none.
    Message,
    /// With a series: the others are good.
    Series(&'static str),
}

impl From<Malformed> for Wrong {
    fn from(_: Malformed) -> Self {
        Wrong::Message
    }
}

fn bytes<'a>(value: Value<'a>) -> Result<&'a [u8], Malformed> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(Malformed),
    }
}

/// Reads a message; `each` is told each series with its number, from 1, or what is wrong with it, and may end
/// it all. Whether the fields of the message can be read is checked before anything is told.
///
/// # Errors
/// It is no message; within it what `each` said.
pub fn read<E>(
    message: &[u8],
    version: Version,
    mut each: impl FnMut(u64, Result<&Series<'_>, &'static str>) -> Result<(), E>,
) -> Result<Result<(), E>, Malformed> {
    let mut symbols: Vec<Option<&str>> = Vec::new();
    let symbols_field = symbols_field(version);
    // The other version's is none of this one: version 2 has reserved the numbers of version 1.
    let (series_field, other) = match version {
        Version::One => (1, 5),
        Version::Two => (5, 1),
    };
    for field in Fields::of(message) {
        let (number, value) = field?;
        if number == symbols_field {
            if symbols.len() >= SYMBOLS_MAX {
                return Err(Malformed);
            }
            symbols.push(text(bytes(value)?));
        } else if number == series_field {
            check(bytes(value)?)?;
        } else if number == other {
            return Err(Malformed);
        }
    }
    let mut series = Series::default();
    let mut count = 0;
    for field in Fields::of(message) {
        let (number, value) = field?;
        if number != series_field {
            continue;
        }
        count += 1;
        let told = match fill(&mut series, bytes(value)?, version, &symbols) {
            Ok(()) => each(count, Ok(&series)),
            Err(Wrong::Series(said)) => each(count, Err(said)),
            Err(Wrong::Message) => return Err(Malformed),
        };
        if told.is_err() {
            return Ok(told);
        }
    }
    Ok(Ok(()))
}

/// The field of the strings that labels refer to; 0: there is none.
fn symbols_field(version: Version) -> u64 {
    match version {
        Version::One => 0,
        Version::Two => 4,
    }
}

/// A symbol, if it is a text: looked through once, however many labels refer to it.
fn text(symbol: &[u8]) -> Option<&str> {
    #[cfg(test)]
    tests::LOOKED_THROUGH.with(|bytes| bytes.set(bytes.get() + symbol.len()));
    str::from_utf8(symbol).ok()
}

/// What [`read`] takes for the strings of a message, beside the message.
#[must_use]
pub fn symbols_bytes(message: &[u8], version: Version) -> usize {
    let field = symbols_field(version);
    let found = Fields::of(message).map_while(Result::ok).filter(|(number, _)| *number == field);
    // Twice: the list doubles.
    found.take(SYMBOLS_MAX).count() * size_of::<Option<&str>>() * 2
}

/// A time that is none of these messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTime {
    time_ms: i64,
    fault: TimeFault,
}

impl fmt::Display for NoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            TimeFault::Unit { unit } => write!(
                f,
                "expected a time in milliseconds, found {}, which would be before 1980 or after 2100: it is \
                 one in {unit}, and the sender has to send milliseconds",
                self.time_ms
            ),
            _ => {
                write!(f, "expected a time from 1677 to 2262, found {} milliseconds", self.time_ms)
            }
        }
    }
}

/// Nanoseconds of a time, which is in milliseconds here.
///
/// # Errors
/// There is no such time, or it can only be meant in another unit.
pub fn time_ns(time_ms: i64) -> Result<i64, NoTime> {
    match Times::default().of_milliseconds().count(time_ms) {
        Ok(time_ns) => Ok(time_ns),
        Err(fault @ TimeFault::Unit { .. }) => Err(NoTime { time_ms, fault }),
        // The protocol says the unit.
        Err(fault) => time_ms.checked_mul(1_000_000).ok_or(NoTime { time_ms, fault }),
    }
}

/// Whether all fields of a series, and of those that hold fields, can be read.
fn check(series: &[u8]) -> Result<(), Malformed> {
    for field in Fields::of(series) {
        if let (1..=2, Value::Bytes(inner)) = field? {
            // Labels of version 2 are a list of numbers instead.
            let whole = Fields::of(inner).all(|field| field.is_ok());
            let mut list = Fields::of(inner);
            let packed = std::iter::from_fn(|| list.packed()).all(|number| number.is_ok());
            if !whole && !packed {
                return Err(Malformed);
            }
        }
    }
    Ok(())
}

fn fill<'m>(
    series: &mut Series<'m>,
    message: &'m [u8],
    version: Version,
    symbols: &[Option<&str>],
) -> Result<(), Wrong> {
    series.name.clear();
    series.message = message;
    series.beside = Beside::default();
    let mut labels: Vec<(&str, &str)> = Vec::new();
    let mut wrong = None;
    for field in Fields::of(message) {
        match (version, field?) {
            (Version::One, (1, value)) => match label(bytes(value)?)? {
                Some(label) => labels.push(label),
                None => wrong = Some("expected labels in UTF-8, found other bytes"),
            },
            (Version::Two, (1, value)) => {
                if let Err(said) = referred(value, symbols, &mut labels)? {
                    wrong = Some(said);
                }
            }
            (_, (SAMPLES, value)) => {
                sample(bytes(value)?)?;
            }
            (Version::One, (3, _)) | (Version::Two, (4, _)) => series.beside.exemplars += 1,
            (Version::One, (4, _)) | (Version::Two, (3, _)) => series.beside.histograms += 1,
            _ => {}
        }
        if labels.len() > LABELS_MAX {
            wrong = Some("expected at most 256 labels, found more");
            labels.truncate(LABELS_MAX);
        }
    }
    if let Some(said) = wrong {
        return Err(Wrong::Series(said));
    }
    name(&mut labels, &mut series.name).map_err(Wrong::Series)
}

/// The canonical name of labels, one of which is the metric.
fn name(labels: &mut [(&str, &str)], out: &mut String) -> Result<(), &'static str> {
    if labels.iter().map(|(label, value)| label.len() + value.len()).sum::<usize>()
        > LABEL_BYTES_MAX
    {
        return Err(TOO_LONG);
    }
    labels.sort_unstable();
    if labels.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        return Err("expected each label once, found one of them twice");
    }
    let metric =
        labels.iter().find(|(label, _)| *label == "__name__").map_or("", |(_, value)| *value);
    if metric.is_empty() {
        return Err("expected a label __name__, found none");
    }
    if labels.iter().any(|(label, value)| label.is_empty() && !value.is_empty()) {
        return Err("expected labels with names, found one without");
    }
    let others = labels.iter().filter(|(label, value)| *label != "__name__" && !value.is_empty());
    write_name(out, metric, others.copied());
    Ok(())
}

/// Name and value; `None`: they are no text.
fn label(message: &[u8]) -> Result<Option<(&str, &str)>, Malformed> {
    let (mut name, mut value) = (&[][..], &[][..]);
    for field in Fields::of(message) {
        match field? {
            (1, found) => name = bytes(found)?,
            (2, found) => value = bytes(found)?,
            _ => {}
        }
    }
    Ok(str::from_utf8(name).ok().zip(str::from_utf8(value).ok()))
}

/// Pairs of places among the symbols.
fn referred<'a>(
    value: Value<'_>,
    symbols: &[Option<&'a str>],
    labels: &mut Vec<(&'a str, &'a str)>,
) -> Result<Result<(), &'static str>, Malformed> {
    let Value::Bytes(list) = value else {
        // One number by itself is half a pair.
        return Ok(Err("expected labels as a packed list, found single numbers"));
    };
    let mut list = Fields::of(list);
    let is_long = Cell::new(false);
    let symbol = |place: u64| {
        let found = usize::try_from(place).ok().and_then(|place| symbols.get(place).copied())?;
        is_long.set(is_long.get() || found.is_some_and(|found| found.len() > LABEL_BYTES_MAX));
        found
    };
    while let Some(first) = list.packed() {
        let second = list.packed();
        let Some(second) = second else {
            return Ok(Err("expected pairs of labels, found half of one"));
        };
        let (first, second) = (symbol(first?), symbol(second?));
        match first.zip(second) {
            None if is_long.get() => return Ok(Err(TOO_LONG)),
            Some(_) if labels.len() > LABELS_MAX => return Ok(Ok(())),
            Some(label) => labels.push(label),
            None => return Ok(Err("expected labels among the symbols, found a place without one")),
        }
    }
    Ok(Ok(()))
}

fn sample(message: &[u8]) -> Result<(i64, f64), Malformed> {
    let (mut time_ms, mut number) = (0, 0.0);
    for field in Fields::of(message) {
        match field? {
            (1, Value::Fixed64(bits)) => number = f64::from_bits(bits),
            (2, Value::Varint(time)) => time_ms = time.cast_signed(),
            (1 | 2, _) => return Err(Malformed),
            _ => {}
        }
    }
    Ok((time_ms, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        /// Bytes that were looked through to know whether they are text.
        pub(super) static LOOKED_THROUGH: Cell<usize> = const { Cell::new(0) };
    }

    fn bytes_field(number: u8, inner: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        let mut length = inner.len();
        while length >= 0x80 {
            out.push(length as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(inner);
        out
    }

    fn sample_field(time_ms: u8, value: f64) -> Vec<u8> {
        let mut inner = vec![1 << 3 | 1];
        inner.extend(value.to_bits().to_le_bytes());
        inner.extend([2 << 3, time_ms]);
        bytes_field(2, &inner)
    }

    fn label_field(name: &str, value: &str) -> Vec<u8> {
        let inner = [bytes_field(1, name.as_bytes()), bytes_field(2, value.as_bytes())].concat();
        bytes_field(1, &inner)
    }

    fn one() -> Vec<u8> {
        let first = [
            label_field("__name__", "up"),
            label_field("job", "a \"b\""),
            label_field("empty", ""),
            sample_field(5, 1.5),
            sample_field(6, f64::from_bits(0x7ff0_0000_0000_0002)),
        ];
        let second = [label_field("job", "x"), sample_field(7, 2.0)];
        let third = [label_field("__name__", "h"), bytes_field(4, b""), bytes_field(3, b"")];
        [
            bytes_field(1, &first.concat()),
            bytes_field(3, b"\x08\x01"),
            bytes_field(1, &second.concat()),
            bytes_field(1, &third.concat()),
        ]
        .concat()
    }

    fn two() -> Vec<u8> {
        let symbols =
            ["", "__name__", "up", "job", "a"].map(|text| bytes_field(4, text.as_bytes()));
        let series = [bytes_field(1, &[3, 4, 1, 2]), sample_field(5, 1.5), bytes_field(3, b"")];
        let bad = [bytes_field(1, &[1, 9]), sample_field(5, 1.5)];
        let half = [bytes_field(1, &[1])];
        let parts = [
            symbols.concat(),
            bytes_field(5, &series.concat()),
            bytes_field(5, &bad.concat()),
            bytes_field(5, &half.concat()),
        ];
        parts.concat()
    }

    fn all(message: &[u8], version: Version) -> Result<Vec<String>, Malformed> {
        let mut found = Vec::new();
        read::<()>(message, version, |number, series| {
            found.push(match series {
                Ok(series) => {
                    let samples = series.samples().map(|(time, value)| (time, value.to_bits()));
                    let samples: Vec<_> = samples.collect();
                    let Series { name, beside, .. } = series;
                    let Beside { histograms, exemplars } = beside;
                    format!("{number} {name} {samples:x?} {histograms} {exemplars}")
                }
                Err(said) => format!("{number} {said}"),
            });
            Ok(())
        })
        .map(|_| found)
    }

    #[test]
    fn both_versions_are_read_and_a_bad_series_costs_itself() {
        let bits = 1.5_f64.to_bits();
        assert_eq!(
            all(&one(), Version::One).unwrap(),
            [
                format!("1 up{{job=\"a \\\"b\\\"\"}} [(5, {bits:x}), (6, 7ff0000000000002)] 0 0"),
                "2 expected a label __name__, found none".to_owned(),
                "3 h [] 1 1".to_owned(),
            ]
        );
        assert_eq!(
            all(&two(), Version::Two).unwrap(),
            [
                format!("1 up{{job=\"a\"}} [(5, {bits:x})] 1 0"),
                "2 expected labels among the symbols, found a place without one".to_owned(),
                "3 expected pairs of labels, found half of one".to_owned(),
            ]
        );
    }

    #[test]
    fn a_message_of_the_other_version_and_a_label_without_a_name_are_refused() {
        assert_eq!(all(&one(), Version::Two), Err(Malformed));
        assert_eq!(all(&two(), Version::One), Err(Malformed));
        let nameless = [label_field("__name__", "up"), label_field("", "x"), sample_field(5, 1.0)];
        let empty = [label_field("__name__", "up"), label_field("", ""), sample_field(5, 1.0)];
        let message = [bytes_field(1, &nameless.concat()), bytes_field(1, &empty.concat())];
        let found = all(&message.concat(), Version::One).unwrap();
        assert_eq!(found[0], "1 expected labels with names, found one without");
        assert!(found[1].starts_with("2 up [(5,"), "{found:?}");
    }

    #[test]
    fn a_symbol_is_looked_through_once_however_many_refer_to_it() {
        let long = "x".repeat(3_000);
        let symbols = ["", "__name__", "up", &long].map(|text| bytes_field(4, text.as_bytes()));
        let series = bytes_field(5, &bytes_field(1, &[1, 2, 3, 2]));
        let message = [symbols.concat(), series.repeat(1_000)].concat();
        LOOKED_THROUGH.set(0);
        assert_eq!(all(&message, Version::Two).unwrap().len(), 1_000);
        assert_eq!(LOOKED_THROUGH.get(), "__name__".len() + "up".len() + long.len());
        assert!(symbols_bytes(&message, Version::Two) >= 4 * size_of::<&str>());
        assert_eq!(symbols_bytes(&message, Version::One), 0);
    }

    #[test]
    fn any_bytes_give_series_or_an_error() {
        for (message, version) in [(one(), Version::One), (two(), Version::Two)] {
            for cut in 0..message.len() {
                let _ = all(&message[..cut], version);
            }
            for place in 0..message.len() {
                for bit in 0..8 {
                    let mut changed = message.clone();
                    changed[place] ^= 1 << bit;
                    let _ = all(&changed, version);
                }
            }
        }
        assert_eq!(all(&[0x0a, 0xff], Version::One), Err(Malformed));
        assert_eq!(all(&[0xff; 40], Version::Two), Err(Malformed));
        assert_eq!(all(&[], Version::One).unwrap(), Vec::<String>::new());
    }
}

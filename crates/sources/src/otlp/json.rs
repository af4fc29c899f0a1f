//! OTLP in JSON, made protobuf while it is read: what a message means is then said in one place.
//!
//! Keys are in lowerCamelCase; others are passed over, as the protocol wants it, but for a known one in
//! snake_case, of which all would be lost without a word. Integers may be texts, an enum its number or its
//! name. What nobody reads is not looked at, so that ids of exemplars may be anything.
//!
//! Invariant: what is made has at most four times the bytes of the text, and one block of memory that never
//! grows. Held by `tests::json_takes_four_times_its_bytes_at_most`.

use super::attributes::{base64, from_base64};
use super::check::DEPTH_MAX;
use super::schema::{self, Field, Kind, Message};
use crate::protobuf::Writer;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Bytes of a message for each of its text: `0,` becomes a number of eight.
pub const JSON_FACTOR: usize = 4;

/// Letters of an error, without its place.
const SAID_CHARS_MAX: usize = 200;

/// The request that a text says, as protobuf.
///
/// # Errors
/// It says none: where, what was expected and what is there.
pub fn from_json(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Writer::with_capacity(text.len() * JSON_FACTOR);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = Contents { message: &schema::REQUEST, depth: 0, out: &mut out }
        .deserialize(&mut reader)
        .and_then(|()| reader.end());
    match read {
        Ok(()) => Ok(out.bytes),
        Err(error) => {
            let (said, line, column) = (error.to_string(), error.line(), error.column());
            // The place is behind what was found, which may be long.
            let place = format!(" at line {line} column {column}");
            let said: String =
                said.strip_suffix(&place).unwrap_or(&said).chars().take(SAID_CHARS_MAX).collect();
            Err(format!("expected an ExportMetricsServiceRequest in JSON: {said}{place}"))
        }
    }
}

/// How much of what is there an error shows.
fn short(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

/// The fields of a message.
struct Contents<'o> {
    message: &'static Message,
    depth: u32,
    out: &'o mut Writer,
}

impl<'de> DeserializeSeed<'de> for Contents<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if self.depth > DEPTH_MAX {
            return Err(D::Error::custom(format_args!("expected at most {DEPTH_MAX} levels")));
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Contents<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object, {}", self.message.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Contents { message, depth, out } = self;
        while let Some(field) = map.next_key_seed(KeyOf(message))? {
            match field {
                Some(field) => {
                    map.next_value_seed(ValueOf { field, depth, within: false, out: &mut *out })?;
                }
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }
}

/// The field that a key stands for.
struct KeyOf(&'static Message);

impl<'de> DeserializeSeed<'de> for KeyOf {
    type Value = Option<&'static Field>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyOf {
    type Value = Option<&'static Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let KeyOf(message) = self;
        let found = message.fields.iter().find(|field| field.key == key);
        let letters = || key.chars().filter(|letter| *letter != '_');
        let same = |field: &&Field| letters().eq(field.key.chars().map(|c| c.to_ascii_lowercase()));
        if found.is_none()
            && key.contains('_')
            && let Some(meant) = message.fields.iter().find(same)
        {
            return Err(E::custom(format_args!("expected the key {}, found {key}", meant.key)));
        }
        Ok(found)
    }
}

/// All integers up to here are numbers with a point too.
const EXACT_MAX: f64 = (1_u64 << 53) as f64;

/// The value of a field, or one of a list of numbers.
struct ValueOf<'o> {
    field: &'static Field,
    depth: u32,
    /// One of a list.
    within: bool,
    out: &'o mut Writer,
}

impl<'de> DeserializeSeed<'de> for ValueOf<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl ValueOf<'_> {
    /// A number that is an integer in JSON.
    fn integer<E: Error>(self, value: i128) -> Result<(), E> {
        let number = self.field.number;
        let unsigned = u64::try_from(value);
        let signed = i64::try_from(value).map(i64::cast_unsigned);
        match (&self.field.kind, unsigned, signed) {
            (Kind::Uint32, Ok(value), _) if u32::try_from(value).is_ok() => {
                self.out.varint(number, value);
            }
            // One that is not known is none that is taken, as in protobuf.
            (Kind::Enum(_), _, Ok(value)) if i32::try_from(value.cast_signed()).is_ok() => {
                self.out.varint(number, value);
            }
            (Kind::Int64, _, Ok(value)) => self.out.varint(number, value),
            (Kind::Fixed64, Ok(value), _) | (Kind::Sfixed64, _, Ok(value)) => {
                self.out.fixed64(number, value);
            }
            (Kind::Fixed64s, Ok(value), _) if self.within => self.out.word(value),
            (Kind::Double, ..) => self.out.fixed64(number, (value as f64).to_bits()),
            (Kind::Doubles, ..) if self.within => self.out.word((value as f64).to_bits()),
            _ => return Err(self.other(value)),
        }
        Ok(())
    }

    fn other<E: Error>(&self, found: impl fmt::Display) -> E {
        E::custom(format_args!("expected {self}, found {found}"))
    }
}

impl fmt::Display for ValueOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.field.kind {
            Kind::Text => "a text",
            Kind::Bytes => "bytes in base64",
            Kind::Bool => "true or false",
            Kind::Uint32 => "an integer of 32 bits",
            Kind::Int64 | Kind::Sfixed64 => "an integer of 64 bits",
            Kind::Fixed64 => "an integer of 64 bits without a sign",
            Kind::Double => "a number",
            Kind::Enum(_) => "a number or a name of the protocol",
            Kind::One(_) => "an object",
            Kind::Many(_) => "an array of objects",
            Kind::Fixed64s => "an array of integers of 64 bits without a sign",
            Kind::Doubles => "an array of numbers",
        };
        write!(f, "{kind} in {}", self.field.key)
    }
}

impl<'de> Visitor<'de> for ValueOf<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }

    /// As if the key were not there.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.within { Err(self.other("null")) } else { Ok(()) }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        match self.field.kind {
            Kind::Bool => self.out.varint(self.field.number, u64::from(value)),
            _ => return Err(self.other(value)),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.integer(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.integer(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        match self.field.kind {
            Kind::Double => self.out.fixed64(self.field.number, value.to_bits()),
            Kind::Doubles if self.within => self.out.word(value.to_bits()),
            // 1e3 is an integer too. From 2^53 on nobody knows whether that was written, or one next to it.
            Kind::Uint32 | Kind::Int64 | Kind::Fixed64 | Kind::Sfixed64 | Kind::Fixed64s
                if value.fract() == 0.0 && value.abs() <= EXACT_MAX =>
            {
                return self.integer(value as i128);
            }
            _ => return Err(self.other(value)),
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let number = self.field.number;
        match self.field.kind {
            Kind::Text => self.out.text(number, text),
            // They are shown in base64, which has one form there.
            Kind::Bytes => match from_base64(text) {
                Some(bytes) => self.out.text(STRING_VALUE, &base64(&bytes)),
                None => return Err(self.other(short(text))),
            },
            Kind::Enum(names) => match names.iter().position(|name| *name == text) {
                Some(place) => self.out.varint(number, place as u64),
                None => return Err(self.other(short(text))),
            },
            Kind::Double | Kind::Doubles => {
                let value = match text {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    text => match text.parse::<f64>() {
                        Ok(value) if value.is_finite() => value,
                        _ => return Err(self.other(short(text))),
                    },
                };
                return self.visit_f64(value);
            }
            Kind::Uint32 | Kind::Int64 | Kind::Fixed64 | Kind::Sfixed64 | Kind::Fixed64s => {
                return match text.parse::<i128>() {
                    Ok(value) => self.integer(value),
                    Err(_) => Err(self.other(short(text))),
                };
            }
            Kind::Bool | Kind::One(_) | Kind::Many(_) => {
                return Err(self.other(short(text)));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let Kind::One(message) = self.field.kind else { return Err(self.other("an object")) };
        let begun = self.out.begin(self.field.number);
        Contents { message, depth: self.depth + 1, out: &mut *self.out }.visit_map(map)?;
        self.out.end(begun);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if self.within {
            return Err(self.other("an array"));
        }
        let ValueOf { field, depth, out, .. } = self;
        match field.kind {
            Kind::Many(message) => loop {
                let begun = out.begin(field.number);
                let one = Contents { message, depth: depth + 1, out: &mut *out };
                if list.next_element_seed(one)?.is_none() {
                    out.undo(begun);
                    return Ok(());
                }
                out.end(begun);
            },
            Kind::Fixed64s | Kind::Doubles => {
                let begun = out.begin(field.number);
                loop {
                    let one = ValueOf { field, depth, within: true, out: &mut *out };
                    if list.next_element_seed(one)?.is_none() {
                        out.end(begun);
                        return Ok(());
                    }
                }
            }
            _ => Err(A::Error::custom(format_args!("expected no array in {}", field.key))),
        }
    }
}

/// The field of `AnyValue` that holds a text.
const STRING_VALUE: u8 = 1;

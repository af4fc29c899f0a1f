//! The texts in which tracefs describes its binary events: `format`, `header_page`, `header_event`.
//!
//! Offsets and sizes of fields differ between kernels, word sizes and configurations: the texts say
//! what they are, so nothing else does. What a text says is checked against limits here, so that
//! whoever uses it need not.
//!
//! Invariant: any text gives a value within the limits or an error that names the line; no offset
//! plus size overflows. Held by `any_text_is_an_error_or_within_limits` and, on texts of a running
//! kernel, `reads_what_a_kernel_says`.

mod header;
#[cfg(test)]
pub(crate) mod tests;

pub use header::{EventHeader, PAGE_BYTES_MAX, PageHeader};

use crate::error::{Error, Result, quoted};

/// The longest text: the longest `print fmt` of a kernel has some 20 KiB.
pub const TEXT_BYTES_MAX: usize = 256 << 10;
/// The most fields of an event; a kernel's events have at most some 40.
pub const FIELDS_MAX: usize = 256;
/// Where a field may end: no event is larger than a page of the ring, and these have at most 64 KiB
/// (`buffer_subbuf_size_kb` allows more, which no recorder of ours sets).
pub const EVENT_BYTES_MAX: u32 = 64 << 10;

/// How a field's value lies in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A value of `size` bytes.
    Plain,
    /// Values one after the other; how many, unless the kernel names the length by a constant.
    /// An array of size 0 goes on to the end of the event.
    Array(Option<u32>),
    /// A word: offset from the start of the event (low half) and length in bytes (high half).
    DataLoc,
    /// As [`DataLoc`](Self::DataLoc), but the offset counts from the end of this word (5.17 on:
    /// commit 55de2c0b5610 "tracing: Add '__rel_loc' using trace event macros").
    RelLoc,
}

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFormat {
    /// Its name.
    pub name: String,
    /// Its type as in C, without array bounds.
    pub type_name: String,
    /// Where it is, in bytes from the start of the event.
    pub offset_bytes: u32,
    /// Its size in bytes; of a whole array.
    pub size_bytes: u32,
    /// True if its type is signed.
    pub signed: bool,
    /// How its value lies there.
    pub shape: Shape,
}

impl FieldFormat {
    /// Where it ends, in bytes from the start of the event.
    #[must_use]
    pub fn end_bytes(&self) -> usize {
        self.offset_bytes as usize + self.size_bytes as usize
    }
}

/// The format of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// The event's name, without its system.
    pub name: String,
    /// The number that events of this kind carry; another on every kernel.
    pub id: u16,
    /// The fields that all events have (`common_type`, `common_pid`), then its own.
    pub fields: Vec<FieldFormat>,
}

const FORMAT: &str = "format of an event";

impl EventFormat {
    /// Reads `events/SYSTEM/EVENT/format`.
    ///
    /// # Errors
    /// [`Error::Text`]: the text is too long or in another form, a number is out of range, or there
    /// are two fields of one name.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let text = as_text(FORMAT, text)?;
        let (mut name, mut id, mut fields) = (None, None, Vec::<FieldFormat>::new());
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let wrong = |expected| Error::text(FORMAT, line_number, expected, line);
            if let Some(value) = line.strip_prefix("name:") {
                name = Some(value.trim().to_owned()).filter(|name| is_name(name));
                if name.is_none() {
                    return Err(wrong("the name of an event"));
                }
            } else if let Some(value) = line.strip_prefix("ID:") {
                let value = value.trim().parse().ok();
                id = Some(value.ok_or_else(|| wrong("a number below 65,536"))?);
            } else if line.starts_with("print fmt:") {
                // The text for people: its rest may have any number of lines.
                break;
            } else if line.trim_start().starts_with("field:") {
                if fields.len() == FIELDS_MAX {
                    return Err(wrong("at most 256 fields"));
                }
                let field = parse_field(FORMAT, line_number, line)?;
                if fields.iter().any(|other| other.name == field.name) {
                    return Err(wrong("a field of another name than those before"));
                }
                fields.push(field);
            } else if !line.trim().is_empty() && line.trim() != "format:" {
                return Err(wrong("name, ID, format, field or print fmt"));
            }
        }
        let end = text.lines().count();
        let missing = |expected| Error::text(FORMAT, end, expected, "the end");
        let name = name.ok_or_else(|| missing("a line with the name"))?;
        let id = id.ok_or_else(|| missing("a line with the ID"))?;
        Ok(Self { name, id, fields })
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldFormat> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The names of all fields, for messages.
    pub(crate) fn field_names(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        quoted(&names.join(" "))
    }
}

fn as_text<'a>(what: &'static str, bytes: &'a [u8]) -> Result<&'a str> {
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(Error::text(what, 1, "at most 256 KiB", &format!("{} bytes", bytes.len())));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let whole = &bytes[..error.valid_up_to()];
        let line = whole.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::text(what, line, "UTF-8", &String::from_utf8_lossy(&bytes[whole.len()..][..1]))
    })
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// `field:__data_loc char[] cmd; offset:60; size:4; signed:0;`, in any order after the first part.
fn parse_field(what: &'static str, line_number: usize, line: &str) -> Result<FieldFormat> {
    let wrong = |expected| Error::text(what, line_number, expected, line);
    let (mut declaration, mut offset, mut size, mut signed) = (None, None, None, None);
    for part in line.split(';') {
        let Some((key, value)) = part.trim().split_once(':') else {
            if part.trim().is_empty() {
                continue;
            }
            return Err(wrong("key:value;"));
        };
        let number = || value.trim().parse::<u32>().ok();
        match key {
            "field" => declaration = Some(value.trim()),
            "offset" => offset = number(),
            "size" => size = number(),
            "signed" => signed = number(),
            // Newer kernels may say more.
            _ => {}
        }
    }
    let declaration = declaration.ok_or_else(|| wrong("field:"))?;
    let offset_bytes = offset.ok_or_else(|| wrong("offset: and a number"))?;
    let size_bytes = size.ok_or_else(|| wrong("size: and a number"))?;
    if offset_bytes.checked_add(size_bytes).is_none_or(|end| end > EVENT_BYTES_MAX) {
        return Err(wrong("a field that ends below 64 KiB"));
    }
    // Before 2.6.33 there was no such key; nobody records these.
    let signed = signed.ok_or_else(|| wrong("signed: and a number"))? != 0;
    let (type_name, name, shape) =
        parse_declaration(declaration).ok_or_else(|| wrong("a type and a name"))?;
    let word = matches!(shape, Shape::DataLoc | Shape::RelLoc);
    if word && size_bytes != 4 {
        return Err(wrong("size:4 for a place of data"));
    }
    Ok(FieldFormat { name, type_name, offset_bytes, size_bytes, signed, shape })
}

/// Type, name and shape of `char comm[16]`, `__data_loc char[] cmd`, `const char * reason`.
fn parse_declaration(text: &str) -> Option<(String, String, Shape)> {
    let (text, place) = if let Some(rest) = text.strip_prefix("__data_loc ") {
        (rest, Some(Shape::DataLoc))
    } else if let Some(rest) = text.strip_prefix("__rel_loc ") {
        (rest, Some(Shape::RelLoc))
    } else {
        (text, None)
    };
    let (text, array) = match text.strip_suffix(']') {
        Some(rest) => {
            let (before, length) = rest.rsplit_once('[')?;
            (before, Some(Shape::Array(length.trim().parse().ok())))
        }
        None => (text, None),
    };
    let name_begin = text.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))? + 1;
    let (type_name, name) = (text.get(..name_begin)?.trim(), text.get(name_begin..)?);
    let type_name = if place.is_some() {
        type_name.strip_suffix("[]").unwrap_or(type_name).trim_end()
    } else {
        type_name
    };
    if !is_name(name) || type_name.is_empty() {
        return None;
    }
    let shape = place.or(array).unwrap_or(Shape::Plain);
    Some((type_name.to_owned(), name.to_owned(), shape))
}

//! Pages of a dictionary as they are read.

use super::{ID_PAGE_HEAD_BYTES, NAME_PAGE_HEAD_BYTES, WITH_LAYOUT, kind_of};
use crate::bytes::{u16_at, u32_at};
use crate::difference::NameList;
use crate::identity::expect;
use crate::limits::{LAYOUT_BYTES_MAX, UNIT_BYTES, UNIT_NAME_BYTES_MAX};
use crate::varint::{unzigzag, varint_at};
use crate::{Error, Layout, Type, What, crc32c};
use core::ops::ControlFlow;

/// A series or channel in a page of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictionaryEntry<'a> {
    /// Id inside the store.
    pub id: u32,
    /// Type of the values.
    pub kind: Type,
    /// Name with labels.
    pub name: &'a str,
    /// Unit of the values, may be empty.
    pub unit: &'a str,
    /// Of a channel with a layout: where it is among the layouts, and its bytes there.
    pub layout: Option<(u32, u32)>,
}

/// A series or channel in a page of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdEntry {
    /// Id inside the store.
    pub id: u32,
    /// Type of the values.
    pub kind: Type,
    /// The page of names that it is in.
    pub page: u32,
}

/// Checks CRC and head of a page: count and used bytes.
fn head(page: &[u8], what: What, head_bytes: usize) -> Result<(usize, &[u8]), Error> {
    let found = page.len() as u64;
    let (offset, expected) = (found, UNIT_BYTES as u64);
    let page = page.get(..UNIT_BYTES).ok_or(Error::Truncated { what, offset, expected, found })?;
    let crc = crc32c(0, page.get(4..).unwrap_or(&[]));
    expect(what, "CRC", 0, u64::from(crc), u64::from(u32_at(page, 0)))?;
    let (count, used) = (usize::from(u16_at(page, 4)), usize::from(u16_at(page, 6)));
    let limit = UNIT_BYTES as u64;
    if !(head_bytes..=UNIT_BYTES).contains(&used) {
        let (field, offset, found) = ("used bytes", 6, used as u64);
        return Err(Error::OutOfRange { what, field, offset, limit, found });
    }
    Ok((count, page.get(..used).unwrap_or(page)))
}

fn number(bytes: &[u8], at: usize, what: What) -> Result<(u64, usize), Error> {
    let (offset, expected) = (at as u64, 1);
    varint_at(bytes, at).ok_or(Error::Truncated { what, offset, expected, found: 0 })
}

fn wrong(what: What, field: &'static str, at: usize, limit: u64, found: u64) -> Error {
    Error::OutOfRange { what, field, offset: at as u64, limit, found }
}

/// Calls `each` with the entries of a page of names, by rising name, until it breaks.
///
/// # Errors
/// Truncated, damaged, or not what a page holds; entries before the error have been handed out.
pub fn name_page(
    page: &[u8],
    mut each: impl FnMut(DictionaryEntry<'_>) -> ControlFlow<()>,
) -> Result<(), Error> {
    let what = What::NamePage;
    let (count, bytes) = head(page, what, NAME_PAGE_HEAD_BYTES)?;
    let mut names = NameList::default();
    let mut at = NAME_PAGE_HEAD_BYTES;
    let (mut id, mut head, mut unit) = (0_u32, 0_u8, "");
    for _ in 0..count {
        let start = at;
        let (name, next) = names.next(bytes, at, what)?;
        let (change, next) = number(bytes, next, what)?;
        id = i64::from(id)
            .checked_add(unzigzag(change >> 1))
            .and_then(|id| u32::try_from(id).ok())
            .filter(|id| *id > 0)
            .ok_or_else(|| wrong(what, "id", start, u64::from(u32::MAX), change))?;
        at = next;
        if change & 1 == 1 {
            head = bytes.get(at).copied().unwrap_or_default();
            let unit_bytes = usize::from(bytes.get(at + 1).copied().unwrap_or_default());
            let text = bytes.get(at + 2..at + 2 + unit_bytes);
            let text = text.filter(|text| text.len() <= UNIT_NAME_BYTES_MAX);
            let limit = UNIT_NAME_BYTES_MAX as u64;
            let text = text.ok_or_else(|| wrong(what, "unit", at + 1, limit, unit_bytes as u64))?;
            let offset = at as u64 + 2;
            unit = core::str::from_utf8(text).map_err(|_| Error::NotUtf8 { what, offset })?;
            at += 2 + unit_bytes;
        }
        let kind = kind_of(head & !WITH_LAYOUT);
        let kind = kind.ok_or_else(|| wrong(what, "type", start, 5, u64::from(head)))?;
        let mut layout = None;
        if head & WITH_LAYOUT != 0 {
            let (place, next) = number(bytes, at, what)?;
            let (length, next) = number(bytes, next, what)?;
            at = next;
            let fits = length <= LAYOUT_BYTES_MAX as u64 && kind == Type::Channel;
            let place = u32::try_from(place).ok().filter(|_| fits);
            let limit = LAYOUT_BYTES_MAX as u64;
            let place = place.ok_or_else(|| wrong(what, "layout bytes", at, limit, length))?;
            layout = Some((place, length as u32));
        }
        if each(DictionaryEntry { id, kind, name, unit, layout }).is_break() {
            return Ok(());
        }
    }
    expect(what, "used bytes", 6, at as u64, bytes.len() as u64)
}

/// Calls `each` with the entries of a page of ids, by rising id, until it breaks.
///
/// # Errors
/// As [`name_page`].
pub fn id_page(page: &[u8], mut each: impl FnMut(IdEntry) -> ControlFlow<()>) -> Result<(), Error> {
    let what = What::IdPage;
    let (count, bytes) = head(page, what, ID_PAGE_HEAD_BYTES)?;
    let mut at = ID_PAGE_HEAD_BYTES;
    let (mut id, mut name_page) = (u32_at(bytes, 8), 0_u32);
    for number_of in 0..count {
        let start = at;
        let (step, next) = number(bytes, at, what)?;
        let (change, next) = number(bytes, next, what)?;
        at = next;
        let bad = |field, found| wrong(what, field, start, u64::from(u32::MAX), found);
        let rises = number_of == 0 || step >> 3 > 0;
        id = u64::from(id)
            .checked_add(step >> 3)
            .and_then(|id| u32::try_from(id).ok())
            .filter(|id| *id > 0 && rises)
            .ok_or_else(|| bad("id", step))?;
        name_page = i64::from(name_page)
            .checked_add(unzigzag(change))
            .and_then(|page| u32::try_from(page).ok())
            .ok_or_else(|| bad("page", change))?;
        let kind = kind_of((step & 7) as u8).ok_or_else(|| bad("type", step & 7))?;
        if each(IdEntry { id, kind, page: name_page }).is_break() {
            return Ok(());
        }
    }
    expect(what, "used bytes", 6, at as u64, bytes.len() as u64)
}

/// A layout from its bytes among the layouts: a CRC, then as in a declaration.
///
/// # Errors
/// Truncated, damaged, or no layout.
pub fn layout_at(bytes: &[u8]) -> Result<Layout, Error> {
    let payload = bytes.get(4..).unwrap_or(&[]);
    let crc = crc32c(0, payload);
    expect(What::Layout, "CRC", 0, u64::from(crc), u64::from(u32_at(bytes, 0)))?;
    Layout::decode(payload).map_err(|error| error.at(4))
}

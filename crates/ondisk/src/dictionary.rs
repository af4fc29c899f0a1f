//! The dictionary: all names of a catalog sorted, so that one is found, by name or by id, without
//! reading the others. Derived from the catalog and never changed; made anew now and then.
//! `docs/format.md`, "Dictionary".
//!
//! A header, pages of names, pages of ids, an index of both, and the layouts of channels. Every
//! part has its own CRC and is read by itself.
//!
//! Invariant: a decoder takes any bytes; what it hands out has the order that the search relies on.
//! Held by `dictionary/tests.rs` and the fuzz target `dictionary`.

mod build;
mod header;
mod index;
mod page;

pub use build::{DictionaryBuilder, NewEntry};
pub use header::{DictionaryHeader, Watermark};
pub use index::DictionaryIndex;
pub use page::{DictionaryEntry, IdEntry, id_page, layout_at, name_page};

use crate::Type;

/// Bytes of the head of a page of names.
const NAME_PAGE_HEAD_BYTES: usize = 8;
/// Bytes of the head of a page of ids.
const ID_PAGE_HEAD_BYTES: usize = 12;
/// Flag beside an entry's type: it has a layout.
const WITH_LAYOUT: u8 = 0x80;

/// Three bits for a type.
fn code_of(kind: Type) -> u8 {
    match kind {
        Type::Channel => 5,
        other => other as u8,
    }
}

fn kind_of(code: u8) -> Option<Type> {
    Some(match code {
        1 => Type::F64,
        2 => Type::I64,
        3 => Type::Bool,
        4 => Type::Text,
        5 => Type::Channel,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

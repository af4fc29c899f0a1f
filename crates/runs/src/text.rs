//! The dictionary of a page of texts: each text once, in the order in which they first appear.
//! A sample's integer is the number of its text.

use crate::cursor::{Cursor, Plane, put_plane, put_varint};
use crate::limits::{PAGE_BYTES_MAX, PAGE_SAMPLES_MAX, TEXT_BYTES_MAX};
use crate::{Error, What};
use std::collections::HashMap;

/// Texts of the page that is being made.
#[derive(Default, Debug)]
pub(crate) struct Dictionary {
    numbers: HashMap<String, u64>,
    lengths: Vec<u64>,
    texts: String,
}

impl Dictionary {
    /// The number of a text.
    pub(crate) fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.lengths.len() as u64;
        self.numbers.insert(text.to_owned(), number);
        self.lengths.push(text.len() as u64);
        self.texts.push_str(text);
        number
    }

    pub(crate) fn bytes(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Dictionary::default();
    }

    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, self.lengths.len() as u64);
        put_plane(to, &self.lengths);
        to.extend_from_slice(self.texts.as_bytes());
    }
}

/// The dictionary of a page.
#[derive(Debug)]
pub(crate) struct Texts<'a> {
    bytes: &'a [u8],
    at: u64,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl<'a> Texts<'a> {
    pub(crate) fn open(cursor: &mut Cursor<'a>) -> Result<Self, Error> {
        let count = cursor.count("texts", PAGE_SAMPLES_MAX)?;
        let lengths: Plane<'a> = cursor.plane("lengths of texts", count)?;
        let mut ends = Vec::with_capacity(count);
        let mut end = 0_usize;
        for index in 0..count {
            let length = lengths.get(index);
            if length > TEXT_BYTES_MAX as u64 || end > PAGE_BYTES_MAX {
                return Err(cursor.out_of_range("length of a text", TEXT_BYTES_MAX as u64, length));
            }
            end += length as usize;
            ends.push(end);
        }
        let at = cursor.offset();
        let bytes = cursor.take("texts", end)?;
        Ok(Texts { bytes, at, ends })
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: u64) -> Result<&'a str, Error> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(end) = self.ends.get(index) else {
            let (limit, offset) = (self.ends.len() as u64, self.at);
            let field = "number of a text";
            return Err(Error::OutOfRange {
                what: What::Page,
                field,
                offset,
                limit,
                found: number,
            });
        };
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let start = start.unwrap_or(0);
        let bytes = self.bytes.get(start..*end).unwrap_or(&[]);
        std::str::from_utf8(bytes)
            .map_err(|_| Error::NotUtf8 { what: What::Page, offset: self.at + start as u64 })
    }
}

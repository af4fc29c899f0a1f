//! What is asked of a recorder by another process, and its answer: series and channels that are to be
//! declared, many in one. `docs/format.md`, "Asking a recorder to declare".
//!
//! Both are files on a tmpfs that are there whole or not at all; a checksum over all of it tells what
//! somebody else has put there.
//!
//! Invariant: any bytes are a request, or an answer, or a named error, and sizes nothing beyond what they
//! are. Held by the tests below and the fuzz targets `request` and `answer`.

use crate::bytes::{array_at, put, u16_at, u32_at, u64_at};
use crate::catalog::{Declaration, Type};
use crate::identity::expect;
use crate::limits::{REQUEST_BYTES_MAX, REQUEST_NAMES_MAX, REQUEST_REASON_BYTES_MAX};
use crate::{Error, StoreId, What, crc32c};
use alloc::string::String;
use alloc::vec::Vec;

const REQUEST_MAGIC: &[u8; 8] = b"BAROASK1";
const ANSWER_MAGIC: &[u8; 8] = b"BAROANS1";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 48;
/// A declaration's length stands before it.
const LENGTH_BYTES: usize = 4;
/// The shortest declaration, and the answer to one.
const DECLARATION_BYTES_MIN: usize = LENGTH_BYTES + 11;
const ANSWERED_BYTES: usize = 8;
/// Texts of reasons in one answer; behind them reasons are empty.
const REASONS_BYTES_MAX: usize = 1 << 20;

/// Series and channels that another process asks a recorder to declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclareRequest<'a> {
    /// The store it is of.
    pub store: StoreId,
    /// Random, the same as in the file's name.
    pub id: u64,
    /// What is asked for; their ids are their places in the request, from 1.
    pub wanted: Vec<Declaration<'a>>,
}

/// What becomes of one declaration of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It is declared with this id and type; the type may be another one than was asked for, which then
    /// refuses it.
    Declared(u32, Type),
    /// It is refused, and why.
    Refused(String),
}

/// The answer to a [`DeclareRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclareAnswer {
    /// Of each declaration, in their order.
    Each(Vec<Answered>),
    /// All of it is refused, and why.
    Refused(String),
}

/// Puts declarations together into a request, up to what one takes.
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    bytes: Vec<u8>,
    count: u32,
}

impl RequestBuilder {
    /// An empty request to the recorder of this store.
    #[must_use]
    pub fn new(store: StoreId, id: u64) -> Self {
        RequestBuilder { bytes: head(REQUEST_MAGIC, 0, store, id), count: 0 }
    }

    /// Adds a declaration, whose id does not matter; false if the request has no room for it.
    ///
    /// # Errors
    /// As [`Declaration::encode`].
    pub fn push(&mut self, wanted: &Declaration<'_>) -> Result<bool, Error> {
        let payload = Declaration { id: self.count + 1, ..wanted.clone() }.encode()?;
        let bytes = self.bytes.len() + LENGTH_BYTES + payload.len();
        if self.count as usize >= REQUEST_NAMES_MAX || bytes > REQUEST_BYTES_MAX {
            return Ok(false);
        }
        self.bytes.extend((payload.len() as u32).to_le_bytes());
        self.bytes.extend(payload);
        self.count += 1;
        Ok(true)
    }

    /// How many declarations are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The file's bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        sealed(self.bytes, self.count)
    }
}

impl<'a> DeclareRequest<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// Truncated, foreign, of another version, damaged, or outside the limits.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        let what = What::Request;
        let head = Head::of(what, REQUEST_MAGIC, bytes, 0)?;
        head.check_count(what, DECLARATION_BYTES_MIN)?;
        let mut wanted = Vec::with_capacity(head.count);
        let mut at = HEAD_BYTES;
        for number in 1..=head.count as u32 {
            let start = at + LENGTH_BYTES;
            let length = u32_at(bytes, at) as usize;
            let payload = bytes.get(start..start.saturating_add(length)).ok_or({
                let (expected, found) = (length as u64, bytes.len().saturating_sub(start) as u64);
                Error::Truncated { what, offset: start as u64, expected, found }
            })?;
            let found = Declaration::decode(payload).map_err(|error| error.at(start as u64))?;
            expect(what, "number", start as u64, u64::from(number), u64::from(found.id))?;
            wanted.push(found);
            at = start + length;
        }
        expect(what, "bytes", 44, at as u64, bytes.len() as u64)?;
        Ok(DeclareRequest { store: head.store, id: head.id, wanted })
    }
}

impl DeclareAnswer {
    /// The file's bytes, in answer to the request `id` to the recorder of this store. Reasons that are
    /// too long are cut at a character.
    #[must_use]
    pub fn encode(&self, store: StoreId, id: u64) -> Vec<u8> {
        let each = match self {
            DeclareAnswer::Each(each) => each,
            DeclareAnswer::Refused(why) => {
                let mut bytes = head(ANSWER_MAGIC, 1, store, id);
                bytes.extend(cut(why, REQUEST_REASON_BYTES_MAX).as_bytes());
                return sealed(bytes, 0);
            }
        };
        let mut bytes = head(ANSWER_MAGIC, 0, store, id);
        let mut reasons = 0;
        for one in each.iter().take(REQUEST_NAMES_MAX) {
            let (number, kind, why) = match one {
                Answered::Declared(number, kind) => (*number, *kind as u8, ""),
                Answered::Refused(_) if reasons > REASONS_BYTES_MAX => (0, 0, ""),
                Answered::Refused(why) => (0, 0, cut(why, REQUEST_REASON_BYTES_MAX)),
            };
            bytes.extend(number.to_le_bytes());
            bytes.extend([kind, 0]);
            bytes.extend((why.len() as u16).to_le_bytes());
            bytes.extend(why.as_bytes());
            reasons += why.len();
        }
        sealed(bytes, each.len().min(REQUEST_NAMES_MAX) as u32)
    }

    /// Reads an answer to the request `id` to the recorder of this store.
    ///
    /// # Errors
    /// Truncated, foreign, of another version, damaged, outside the limits, or to another request.
    pub fn decode(bytes: &[u8], store: StoreId, id: u64) -> Result<Self, Error> {
        let what = What::Answer;
        let head = Head::of(what, ANSWER_MAGIC, bytes, 1)?;
        if head.store != store {
            let (field, offset, expected) = ("store", 16, u64_at(&store.0, 0));
            return Err(Error::Mismatch {
                what,
                field,
                offset,
                expected,
                found: u64_at(bytes, 16),
            });
        }
        expect(what, "id", 32, id, head.id)?;
        let text = |from: usize, length: usize| {
            let end = from.saturating_add(length);
            let Some(bytes) = bytes.get(from..end).filter(|_| length <= REQUEST_REASON_BYTES_MAX)
            else {
                let (expected, found) = (length as u64, bytes.len().saturating_sub(from) as u64);
                return Err(Error::Truncated { what, offset: from as u64, expected, found });
            };
            let text = core::str::from_utf8(bytes);
            text.map(String::from).map_err(|_| Error::NotUtf8 { what, offset: from as u64 })
        };
        if head.state == 1 {
            return Ok(DeclareAnswer::Refused(text(HEAD_BYTES, bytes.len() - HEAD_BYTES)?));
        }
        head.check_count(what, ANSWERED_BYTES)?;
        let mut each = Vec::with_capacity(head.count);
        let mut at = HEAD_BYTES;
        for _ in 0..head.count {
            let Some([kind, _]) = array_at::<2>(bytes, at + 4) else {
                return Err(short(what, at, bytes));
            };
            let why = text(at + ANSWERED_BYTES, usize::from(u16_at(bytes, at + 6)))?;
            let length = why.len();
            each.push(match u32_at(bytes, at) {
                0 => Answered::Refused(why),
                number => {
                    let kind = Type::decode(kind).map_err(|error| error.at(at as u64))?;
                    Answered::Declared(number, kind)
                }
            });
            at += ANSWERED_BYTES + length;
        }
        expect(what, "bytes", 44, at as u64, bytes.len() as u64)?;
        Ok(DeclareAnswer::Each(each))
    }
}

struct Head {
    state: u16,
    store: StoreId,
    id: u64,
    count: usize,
    body: usize,
}

impl Head {
    fn of(what: What, magic: &[u8; 8], bytes: &[u8], state_max: u16) -> Result<Self, Error> {
        if bytes.len() < HEAD_BYTES {
            return Err(short(what, 0, bytes));
        }
        expect(what, "magic", 0, u64::from_le_bytes(*magic), u64_at(bytes, 0))?;
        expect(what, "version", 8, u64::from(VERSION), u64::from(u16_at(bytes, 8)))?;
        let (limit, found) = (REQUEST_BYTES_MAX as u64, bytes.len() as u64);
        if found > limit {
            return Err(Error::OutOfRange { what, field: "bytes", offset: 44, limit, found });
        }
        let found = u32_at(bytes, 12);
        expect(what, "CRC", 12, u64::from(crc_of(bytes)), u64::from(found))?;
        let body = bytes.len() - HEAD_BYTES;
        expect(what, "body bytes", 44, body as u64, u64::from(u32_at(bytes, 44)))?;
        let (state, limit) = (u16_at(bytes, 10), u64::from(state_max));
        if state > state_max {
            let found = u64::from(state);
            return Err(Error::OutOfRange { what, field: "state", offset: 10, limit, found });
        }
        Ok(Head {
            state,
            store: StoreId(array_at(bytes, 16).unwrap_or_default()),
            id: u64_at(bytes, 32),
            count: u32_at(bytes, 40) as usize,
            body,
        })
    }

    /// Before anything is sized by it.
    fn check_count(&self, what: What, bytes_each: usize) -> Result<(), Error> {
        let limit = REQUEST_NAMES_MAX.min(self.body / bytes_each);
        if self.count <= limit {
            return Ok(());
        }
        let (limit, found) = (limit as u64, self.count as u64);
        Err(Error::OutOfRange { what, field: "count", offset: 40, limit, found })
    }
}

fn short(what: What, at: usize, bytes: &[u8]) -> Error {
    let (offset, found) = (at as u64, bytes.len().saturating_sub(at) as u64);
    Error::Truncated { what, offset, expected: HEAD_BYTES as u64, found }
}

fn head(magic: &[u8; 8], state: u16, store: StoreId, id: u64) -> Vec<u8> {
    let mut bytes = alloc::vec![0; HEAD_BYTES];
    put(&mut bytes, 0, magic);
    put(&mut bytes, 8, &VERSION.to_le_bytes());
    put(&mut bytes, 10, &state.to_le_bytes());
    put(&mut bytes, 16, &store.0);
    put(&mut bytes, 32, &id.to_le_bytes());
    bytes
}

fn sealed(mut bytes: Vec<u8>, count: u32) -> Vec<u8> {
    put(&mut bytes, 40, &count.to_le_bytes());
    let body = bytes.len() - HEAD_BYTES;
    put(&mut bytes, 44, &(body as u32).to_le_bytes());
    let crc = crc_of(&bytes);
    put(&mut bytes, 12, &crc.to_le_bytes());
    bytes
}

/// Of all bytes, those of the CRC taken as 0.
fn crc_of(bytes: &[u8]) -> u32 {
    let before = crc32c(0, bytes.get(..12).unwrap_or(&[]));
    let with_zeros = crc32c(before, &[0; 4]);
    crc32c(with_zeros, bytes.get(16..).unwrap_or(&[]))
}

/// The beginning of `text` that fits.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::Cow;
    use alloc::vec;

    const STORE: StoreId = StoreId([7; 16]);

    fn declaration(kind: Type, name: &str) -> Declaration<'_> {
        Declaration { id: 1, kind, name, unit: "", joint: None, layout: None }
    }

    fn request() -> (Vec<u8>, Vec<Declaration<'static>>) {
        let layout = Some(Cow::Owned("speed:f32@0,n:u8@4".parse().unwrap()));
        let wanted = vec![
            Declaration { unit: "°C", ..declaration(Type::F64, "temp{site=\"ä\"}") },
            Declaration { id: 2, layout, ..declaration(Type::Channel, "control") },
            Declaration { id: 3, ..declaration(Type::Text, "state") },
        ];
        let mut builder = RequestBuilder::new(STORE, 9);
        assert!(wanted.iter().all(|one| builder.push(one) == Ok(true)));
        (builder.finish(), wanted)
    }

    fn answer() -> DeclareAnswer {
        DeclareAnswer::Each(vec![
            Answered::Declared(17, Type::F64),
            Answered::Refused("expected f64 as declared for é".into()),
            Answered::Declared(u32::MAX, Type::Channel),
        ])
    }

    #[test]
    fn both_come_back_and_every_bit_flip_and_cut_is_seen() {
        let (bytes, wanted) = request();
        let found = DeclareRequest::decode(&bytes).unwrap();
        assert_eq!((found.store, found.id, found.wanted), (STORE, 9, wanted));
        let refused = DeclareAnswer::Refused("of another store".into());
        for told in [answer(), refused] {
            let bytes = told.encode(STORE, 9);
            assert_eq!(DeclareAnswer::decode(&bytes, STORE, 9), Ok(told));
            assert!(DeclareAnswer::decode(&bytes, STORE, 8).is_err());
            assert!(DeclareAnswer::decode(&bytes, StoreId([8; 16]), 9).is_err());
        }
        for bytes in [bytes, answer().encode(STORE, 9)] {
            let refused = |bytes: &[u8]| {
                let answer = DeclareAnswer::decode(bytes, STORE, 9);
                DeclareRequest::decode(bytes).is_err() && answer.is_err()
            };
            assert!((0..bytes.len()).all(|end| refused(&bytes[..end])));
            for bit in 0..bytes.len() * 8 {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(refused(&bad), "flip of bit {bit} not seen");
            }
        }
    }

    #[test]
    fn counts_lengths_and_numbers_that_lie_are_refused_by_name() {
        let lie = |at: usize, bytes: &[u8]| {
            let mut bad = request().0;
            put(&mut bad, at, bytes);
            let count = u32_at(&bad, 40);
            DeclareRequest::decode(&sealed(bad, count)).unwrap_err().to_string()
        };
        use alloc::string::ToString;
        for (at, bytes, expected) in [
            (40, &[0xff; 4][..], "count at offset 40: at most"),
            (40, &[2, 0, 0, 0], "bytes at offset 44"),
            (48, &[0xff; 4], "expected 4294967295 bytes"),
            (52, &[9], "number at offset 52: expected 0x1, found 0x9"),
            (8, &[2], "version"),
            (10, &[1], "state at offset 10"),
        ] {
            let told = lie(at, bytes);
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn a_full_request_says_so_and_an_answer_of_reasons_is_bounded() {
        let mut builder = RequestBuilder::new(STORE, 1);
        let one = declaration(Type::I64, "x");
        for _ in 0..REQUEST_NAMES_MAX {
            assert_eq!(builder.push(&one), Ok(true));
        }
        assert_eq!(builder.push(&one), Ok(false));
        assert_eq!(DeclareRequest::decode(&builder.finish()).unwrap().wanted.len(), 65_536);
        let why = Answered::Refused("x".repeat(5_000));
        let each = vec![why; REQUEST_NAMES_MAX];
        let bytes = DeclareAnswer::Each(each).encode(STORE, 1);
        assert!(bytes.len() < 2 << 20, "{}", bytes.len());
        let Ok(DeclareAnswer::Each(found)) = DeclareAnswer::decode(&bytes, STORE, 1) else {
            panic!("not an answer");
        };
        assert_eq!(found.len(), REQUEST_NAMES_MAX);
    }
}

//! What a field can be read as: numbers, arrays of them, names, devices.
//!
//! Invariant: all values are of fixed size and hold no memory, so that millions of them can pass.

use super::Place;
use crate::error::{Error, Result};
use crate::format::Shape;
use std::fmt;

/// What an inline name holds; the longest fixed text of our events is a bdi's, 32 bytes.
const NAME_BYTES: usize = 32;

/// A type that a field can be read as.
pub trait Value: Sized {
    /// What is expected of the field, for messages.
    const EXPECTED: &'static str;
    /// True if a kernel may lack the field.
    const OPTIONAL: bool = false;

    /// True if a field of this place and C type can be read so.
    fn fits(place: &Place, type_name: &str) -> bool;

    /// Reads it; `place` is None only if [`OPTIONAL`](Self::OPTIONAL).
    ///
    /// # Errors
    /// [`Error::Record`]: the event is too short or the value out of range.
    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self>;
}

fn there<'a>(place: Option<&'a Place>, expected: &'static str) -> Result<&'a Place> {
    place.ok_or(Error::Record { offset_bytes: 0, expected, found: 0 })
}

fn is_number(place: &Place) -> bool {
    place.shape == Shape::Plain && matches!(place.size_bytes, 1 | 2 | 4 | 8)
}

macro_rules! numbers {
    ($($type:ident as $same:ident, $wide:ident;)*) => { $(
        impl Value for $type {
            const EXPECTED: &'static str = "a number";

            fn fits(place: &Place, _: &str) -> bool {
                is_number(place)
            }

            fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
                let place = there(place, Self::EXPECTED)?;
                let value = place.number(payload)?;
                // As wide or less: the same bits, whatever sign the kernel gives them.
                if place.size_bytes <= size_of::<$type>() {
                    return Ok(value as $same as $type);
                }
                $type::try_from(value as $wide).map_err(|_| Error::Record {
                    offset_bytes: place.offset_bytes,
                    expected: concat!("a value that fits ", stringify!($type)),
                    found: value,
                })
            }
        }
    )* };
}

numbers! {
    u8 as u8, u64;
    u16 as u16, u64;
    u32 as u32, u64;
    u64 as u64, u64;
    i32 as i32, i64;
    i64 as i64, i64;
}

impl Value for bool {
    const EXPECTED: &'static str = "a number";

    fn fits(place: &Place, _: &str) -> bool {
        is_number(place)
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        Ok(there(place, Self::EXPECTED)?.number(payload)? != 0)
    }
}

impl<T: Value> Value for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const OPTIONAL: bool = true;

    fn fits(place: &Place, type_name: &str) -> bool {
        T::fits(place, type_name)
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        place.map(|place| T::read(Some(place), payload)).transpose()
    }
}

/// Arguments of a system call, addresses of a stack: longs of 4 or 8 bytes.
impl<const N: usize> Value for [u64; N] {
    const EXPECTED: &'static str = "an array of that many longs";

    fn fits(place: &Place, _: &str) -> bool {
        u32::try_from(N).is_ok_and(|count| place.shape == Shape::Array(Some(count)))
            && (place.size_bytes == 4 * N || place.size_bytes == 8 * N)
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        let place = *there(place, Self::EXPECTED)?;
        let size_bytes = place.size_bytes / N.max(1);
        let mut values = [0; N];
        for (index, value) in values.iter_mut().enumerate() {
            let offset_bytes = place.offset_bytes + index * size_bytes;
            let one = Place { offset_bytes, size_bytes, signed: false, shape: Shape::Plain };
            *value = one.number(payload)?;
        }
        Ok(values)
    }
}

/// The most frames of a stack that are read. The deepest common ones, of a write through an overlay or a loop
/// device whose journal is full, have some 40.
pub const FRAMES_MAX: usize = 64;

/// A kernel stack: addresses, the innermost function first. Deeper stacks are cut.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frames {
    addresses: [u64; FRAMES_MAX],
    count: u8,
    is_cut: bool,
}

impl Frames {
    /// The first [`FRAMES_MAX`] addresses, up to one that ends the list: 0, or all ones.
    #[must_use]
    pub fn new(addresses: impl IntoIterator<Item = u64>) -> Self {
        let mut frames = Self { addresses: [0; FRAMES_MAX], count: 0, is_cut: false };
        let ends = |address: &u64| *address == 0 || *address == u64::MAX;
        let mut addresses = addresses.into_iter().take_while(|one| !ends(one));
        for (place, address) in frames.addresses.iter_mut().zip(addresses.by_ref()) {
            *place = address;
            frames.count += 1;
        }
        frames.is_cut = addresses.next().is_some();
        frames
    }

    /// The first so many of them; cut if there are more, or if nobody knows.
    #[must_use]
    pub fn first(&self, frames: usize, is_cut: bool) -> Self {
        let mut first = Self::new(self.addresses().iter().copied().take(frames));
        first.is_cut = is_cut || self.is_cut && frames >= usize::from(self.count);
        first
    }

    /// Whether the outermost functions are missing.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The addresses.
    #[must_use]
    pub fn addresses(&self) -> &[u64] {
        self.addresses.get(..usize::from(self.count)).unwrap_or(&self.addresses)
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.addresses().iter().map(|one| format!("{one:x}"))).finish()
    }
}

/// A stack is written longer or shorter than its field is declared: up to the event's end.
impl Value for Frames {
    const EXPECTED: &'static str = "an array of longs";

    fn fits(place: &Place, type_name: &str) -> bool {
        matches!(place.shape, Shape::Array(_) | Shape::DataLoc)
            && type_name.split_whitespace().any(|word| matches!(word, "long" | "u64"))
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        let place = there(place, Self::EXPECTED)?;
        let long_bytes = match place.shape {
            Shape::Array(Some(longs)) if longs > 0 => place.size_bytes / longs as usize,
            _ => 8,
        };
        let bytes = match place.shape {
            Shape::DataLoc => place.bytes(payload)?,
            _ => payload.get(place.offset_bytes..).unwrap_or(&[]),
        };
        let long = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, one| all << 8 | u64::from(*one));
        Ok(Self::new(bytes.chunks_exact(long_bytes.clamp(4, 8)).map(long)))
    }
}

/// A device number as the kernel packs it: 12 bits of major above 20 of minor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(pub u32);

impl Device {
    /// The number of `major:minor`, as in `/proc/partitions`.
    #[must_use]
    pub fn new(major: u32, minor: u32) -> Self {
        Self((major & 0xfff) << 20 | minor & 0xf_ffff)
    }

    /// The driver's number.
    #[must_use]
    pub fn major(self) -> u32 {
        self.0 >> 20
    }

    /// Which of the driver's devices.
    #[must_use]
    pub fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

impl Value for Device {
    const EXPECTED: &'static str = "a device number of 4 bytes";

    fn fits(place: &Place, _: &str) -> bool {
        place.shape == Shape::Plain && place.size_bytes == 4
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        u32::read(place, payload).map(Self)
    }
}

/// A short text of the kernel: the name of a task (16 bytes), a device (32), the class of a
/// request. What is longer is cut to 32 bytes; [`Field::text`](super::Field::text) has it whole.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    bytes: [u8; NAME_BYTES],
    length_bytes: u8,
}

impl Name {
    /// The name in `bytes`, up to the first zero.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let bytes = until_zero(bytes);
        let length = bytes.len().min(NAME_BYTES);
        let mut name = Self { length_bytes: length as u8, ..Self::default() };
        name.bytes[..length].copy_from_slice(&bytes[..length]);
        name
    }

    /// Its bytes: any but zero.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length_bytes)).unwrap_or(&self.bytes)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl Value for Name {
    const EXPECTED: &'static str = "a text of chars";

    fn fits(place: &Place, type_name: &str) -> bool {
        place.shape != Shape::Plain && type_name.split_whitespace().any(|word| word == "char")
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        Ok(Self::new(there(place, Self::EXPECTED)?.bytes(payload)?))
    }
}

/// The path of a control group. The kernel writes up to 1,024 bytes; one with more than there is room for here is
/// told as cut, since its beginning may be another group's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GroupPath {
    bytes: [u8; GROUP_PATH_BYTES],
    length_bytes: u8,
    is_cut: bool,
}

/// With it an event is as large as one with a stack. Paths of containers have some 200 bytes.
const GROUP_PATH_BYTES: usize = 254;

impl GroupPath {
    /// The path in `bytes`, up to the first zero.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let bytes = until_zero(bytes);
        let length = bytes.len().min(GROUP_PATH_BYTES);
        let mut path = Self {
            bytes: [0; GROUP_PATH_BYTES],
            length_bytes: length as u8,
            is_cut: bytes.len() > GROUP_PATH_BYTES,
        };
        path.bytes[..length].copy_from_slice(&bytes[..length]);
        path
    }

    /// All of it; None if it was cut, or is no text.
    #[must_use]
    pub fn whole(&self) -> Option<&str> {
        let bytes = self.bytes.get(..usize::from(self.length_bytes)).filter(|_| !self.is_cut)?;
        std::str::from_utf8(bytes).ok()
    }
}

impl fmt::Debug for GroupPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.whole())
    }
}

impl Value for GroupPath {
    const EXPECTED: &'static str = "a text of chars";

    fn fits(place: &Place, type_name: &str) -> bool {
        Name::fits(place, type_name)
    }

    fn read(place: Option<&Place>, payload: &[u8]) -> Result<Self> {
        Ok(Self::new(there(place, Self::EXPECTED)?.bytes(payload)?))
    }
}

pub(super) fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}

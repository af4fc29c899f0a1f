//! The class of a request: its operation and flags, as the letters of the field RWBS.
//!
//! `blk_fill_rwbs` of the kernel writes `F` (flush first), the operation, and then `F` (force unit
//! access), `A` (ahead), `S` (sync), `M` (metadata), `U` (atomic); blktrace's files have the same as
//! bits, and blkparse writes them in the same order. Which class the journal has differs between
//! kernels, so a class says what was asked of the device and never who asked.
//!
//! Invariant: any text is a class, there are at most 9 x 128 of them, and what the kernel can write
//! comes out as it was. Held by `what_kernels_write_comes_out_as_it_was`, `any_text_is_a_class`.

use std::fmt;

/// What a request does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Writes where the zone's end is; the device says where that was.
    Append,
    /// Tells the device that it may forget.
    Discard,
    /// Has the device forget for good.
    Erase,
    /// Has the device write zeroes: no data goes there.
    Zeroes,
    /// Flushes the device's cache.
    Flush,
    /// Manages zones.
    Zone,
    /// A command of the driver's own, or nothing (`N`).
    #[default]
    Other,
}

/// A request's class. The default is that of a command of the driver's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// What it does.
    pub operation: Operation,
    flags: u8,
}

/// The flags, with their letters in the order in which they are written behind the operation.
const FLAGS: [(u8, u8); 5] = [
    (Class::FUA, b'F'),
    (Class::AHEAD, b'A'),
    (Class::SYNC, b'S'),
    (Class::META, b'M'),
    (Class::ATOMIC, b'U'),
];

impl Class {
    /// Flushes the device's cache first.
    pub const PREFLUSH: u8 = 1;
    /// Is done only when it is on the medium.
    pub const FUA: u8 = 2;
    /// Reads what nobody has asked for yet.
    pub const AHEAD: u8 = 4;
    /// Somebody waits for it.
    pub const SYNC: u8 = 8;
    /// Metadata of a file system.
    pub const META: u8 = 16;
    /// Is written whole or not at all.
    pub const ATOMIC: u8 = 32;
    /// Has letters that nobody here knows.
    pub const UNKNOWN: u8 = 64;

    /// A class of an operation and a sum of flags.
    #[must_use]
    pub fn new(operation: Operation, flags: u8) -> Self {
        Self { operation, flags: flags & 127 }
    }

    /// True if it has this flag.
    #[must_use]
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Reads the letters of RWBS. Any text is a class.
    #[must_use]
    pub fn parse(letters: &[u8]) -> Self {
        use Operation::{Append, Discard, Erase, Flush, Other, Read, Write, Zeroes, Zone};
        let (mut flags, mut rest) = (0, letters);
        if let [b'F', next @ (b'R' | b'W' | b'D' | b'N' | b'Z' | b'F'), ..] = rest {
            (flags, rest) = (Self::PREFLUSH, &rest[1..]);
            // Kernels before 4.10 had no operation of its own for a flush.
            if *next == b'N' {
                return Self::with_flags(Flush, flags, &rest[1..]);
            }
        }
        let (operation, length) = match rest {
            [b'R', ..] => (Read, 1),
            [b'W', b'Z', ..] => (Zeroes, 2),
            [b'W', ..] => (Write, 1),
            [b'Z', b'A', ..] => (Append, 2),
            [b'Z', b'R', b'A', ..] => (Zone, 3),
            [b'Z', b'R' | b'F' | b'O' | b'C', ..] => (Zone, 2),
            [b'Z', ..] => (Zone, 1),
            [b'D', b'E', ..] => (Erase, 2),
            [b'D', ..] => (Discard, 1),
            [b'F', ..] => (Flush, 1),
            [b'N', ..] => (Other, 1),
            _ => (Other, 0),
        };
        if length == 0 {
            flags |= Self::UNKNOWN;
        }
        Self::with_flags(operation, flags, &rest[length..])
    }

    fn with_flags(operation: Operation, flags: u8, letters: &[u8]) -> Self {
        let flag = |letter: &u8| {
            let known = FLAGS.iter().find(|(_, known)| known == letter);
            known.map_or(Self::UNKNOWN, |(flag, _)| *flag)
        };
        let flags = letters.iter().map(flag).fold(flags, |all, flag| all | flag);
        // No operation on a zone reads ahead; written as "ZA" it would be an append.
        let none = if operation == Operation::Zone { Self::AHEAD } else { 0 };
        Self { operation, flags: flags & !none }
    }

    /// The column of paper C that it belongs to; `empty`: it has no bytes.
    #[must_use]
    pub fn column(self, empty: bool) -> Column {
        match (self.operation, self.has(Self::SYNC), self.has(Self::META)) {
            (Operation::Flush, ..) => Column::Flush,
            // A flush that a file system asks for is a write of nothing.
            (Operation::Write, ..) if empty && self.has(Self::PREFLUSH) => Column::Flush,
            (Operation::Read, false, false) => Column::R,
            (Operation::Read, false, true) => Column::Rm,
            (Operation::Read, true, false) => Column::Rs,
            (Operation::Read, true, true) => Column::Rsm,
            (Operation::Write | Operation::Append, false, false) => Column::W,
            (Operation::Write | Operation::Append, false, true) => Column::Wm,
            (Operation::Write | Operation::Append, true, false) => Column::Ws,
            (Operation::Write | Operation::Append, true, true) => Column::Wsm,
            (Operation::Discard | Operation::Erase, ..) => Column::Discard,
            (Operation::Zeroes, ..) => Column::Zeroes,
            (Operation::Zone | Operation::Other, ..) => Column::Other,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = if self.has(Self::PREFLUSH) { "F" } else { "" };
        let operation = match self.operation {
            Operation::Read => "R",
            Operation::Write => "W",
            Operation::Append => "ZA",
            Operation::Discard => "D",
            Operation::Erase => "DE",
            Operation::Zeroes => "WZ",
            Operation::Flush => "F",
            Operation::Zone => "Z",
            Operation::Other => "N",
        };
        write!(f, "{first}{operation}")?;
        for (flag, letter) in FLAGS {
            if self.has(flag) {
                write!(f, "{}", char::from(letter))?;
            }
        }
        f.write_str(if self.has(Self::UNKNOWN) { "?" } else { "" })
    }
}

/// What requests are summed by: paper C's eight classes, and what has none there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Read.
    R,
    /// Read of metadata.
    Rm,
    /// Read that somebody waits for.
    Rs,
    /// Read of metadata that somebody waits for.
    Rsm,
    /// Write.
    W,
    /// Write of metadata.
    Wm,
    /// Write that somebody waits for.
    Ws,
    /// Write of metadata that somebody waits for.
    Wsm,
    /// Discards and secure erases: bytes that are forgotten, not moved.
    Discard,
    /// Zeroes that the device writes by itself.
    Zeroes,
    /// Flushes of the device's cache, which have no bytes.
    Flush,
    /// Commands of the driver's own, management of zones.
    Other,
}

impl Column {
    /// All, in the order of the table.
    pub const ALL: [Self; 12] = [
        Self::R,
        Self::Rm,
        Self::Rs,
        Self::Rsm,
        Self::W,
        Self::Wm,
        Self::Ws,
        Self::Wsm,
        Self::Discard,
        Self::Zeroes,
        Self::Flush,
        Self::Other,
    ];
    /// Those of paper C, which move data.
    pub const OF_DATA: [Self; 8] =
        [Self::R, Self::Rm, Self::Rs, Self::Rsm, Self::W, Self::Wm, Self::Ws, Self::Wsm];
    /// Those that write data.
    pub const WRITES: [Self; 4] = [Self::W, Self::Wm, Self::Ws, Self::Wsm];
    /// Those that read data.
    pub const READS: [Self; 4] = [Self::R, Self::Rm, Self::Rs, Self::Rsm];

    /// Its name: the letters of paper C, or a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::R => "R",
            Self::Rm => "RM",
            Self::Rs => "RS",
            Self::Rsm => "RSM",
            Self::W => "W",
            Self::Wm => "WM",
            Self::Ws => "WS",
            Self::Wsm => "WSM",
            Self::Discard => "discard",
            Self::Zeroes => "zeroes",
            Self::Flush => "flush",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_kernels_write_comes_out_as_it_was() {
        use Column::{Discard, Flush, Other, R, Rm, Rs, Rsm, W, Wm, Ws, Wsm, Zeroes};
        let cases = [
            ("R", R),
            ("RA", R),
            ("RM", Rm),
            ("RAM", Rm),
            ("RS", Rs),
            ("RSM", Rsm),
            ("W", W),
            ("WM", Wm),
            ("WS", Ws),
            ("WSM", Wsm),
            ("WFS", Ws),
            ("FWFS", Ws),
            ("FWFSM", Wsm),
            ("FWS", Ws),
            ("WSMU", Wsm),
            ("ZA", W),
            ("D", Discard),
            ("DS", Discard),
            ("DE", Discard),
            ("WZ", Zeroes),
            ("WZS", Zeroes),
            ("FF", Flush),
            ("F", Flush),
            ("N", Other),
            ("Z", Other),
        ];
        for (letters, column) in cases {
            let class = Class::parse(letters.as_bytes());
            assert_eq!((class.to_string().as_str(), class.column(false)), (letters, column));
        }
        assert_eq!(Class::parse(b"FWS").column(true), Flush);
        assert_eq!(Class::parse(b"WS").column(true), Ws);
        // A flush of older kernels, and the operations on zones, are written as one kind each.
        assert_eq!(Class::parse(b"FN"), Class::parse(b"FF"));
        for letters in ["ZR", "ZRA", "ZF", "ZO", "ZC"] {
            assert_eq!(Class::parse(letters.as_bytes()).to_string(), "Z", "{letters}");
        }
        for letters in ["", "X", "WB", "R?", "S", "Z?"] {
            let class = Class::parse(letters.as_bytes());
            assert!(class.has(Class::UNKNOWN), "{letters} {class}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_class(letters in proptest::collection::vec(any::<u8>(), 0..12)) {
            let class = Class::parse(&letters);
            let again = Class::parse(class.to_string().as_bytes());
            prop_assert_eq!(class.column(true), again.column(true));
            prop_assert_eq!(class.column(false), again.column(false));
        }
    }
}

//! A pin: a window of time that is kept from recycling, as one unit in a file of its own.
//! `docs/format.md`, "Pins".
//!
//! Invariant: what decodes encodes to a pin that decodes to the same. Held by the test below and by
//! the fuzz target `pin`.

use crate::bytes::{array_at, i64_at, put, u16_at, u64_at};
use crate::identity::{VERSION, check_count, check_unit, seal_unit};
use crate::limits::{PIN_NAME_BYTES_MAX, PIN_REASON_BYTES_MAX, PIN_SPAN_NS_MAX, UNIT_BYTES};
use crate::{Error, StoreId, What};
use alloc::string::String;
use core::ops::RangeInclusive;

/// Where a pin stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinState {
    /// Another process asks the recorder for it.
    #[default]
    Asked,
    /// Its end is still to come.
    Open,
    /// Everything of its window that was recorded is held.
    Whole,
    /// Less than the window is held; the reason says what is missing.
    Short,
    /// It was not granted; the reason says why.
    Refused,
}

/// A pin. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// The store it belongs to.
    pub store: StoreId,
    /// Random, not 0.
    pub id: u64,
    /// Where it stands.
    pub state: PinState,
    /// Realtime clock at its moment.
    pub realtime_ns: i64,
    /// Boottime clock at its moment.
    pub boottime_ns: i64,
    /// Boot id of the kernel that was running.
    pub boot_id: [u8; 16],
    /// How far it reaches back from the moment.
    pub before_ns: u64,
    /// How far it goes on after it.
    pub after_ns: u64,
    /// Epoch of the first segment that it holds.
    pub first_epoch: u64,
    /// Epoch of the last one; `u64::MAX` while the pin is open.
    pub last_epoch: u64,
    /// What people call it; may be empty.
    pub name: String,
    /// Why it is short or refused; else empty.
    pub reason: String,
    /// What has been copied out of the log of the segments that it holds.
    pub copies: Copies,
}

/// Copies that are there as long as the pin is, so that one that somebody has removed is missed. All 0
/// in a pin that older versions wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Epoch of the newest.
    pub last_epoch: u64,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Copies {
    /// One more.
    #[must_use]
    pub fn with(self, epoch: u64, bytes: u64) -> Self {
        Copies {
            last_epoch: self.last_epoch.max(epoch),
            count: self.count.saturating_add(1),
            bytes: self.bytes.saturating_add(bytes),
        }
    }
}

const MAGIC: &[u8; 8] = b"BAROPIN1";
const TEXT_AT: usize = 112;

impl Pin {
    /// Where a pin's file counts its copies.
    pub const COPIES_AT: usize = TEXT_AT + PIN_NAME_BYTES_MAX + PIN_REASON_BYTES_MAX;

    /// The window in record times: earliest time, and the first one behind it.
    #[must_use]
    pub fn window_ns(&self) -> (i64, i64) {
        let from_ns = self.realtime_ns.saturating_sub_unsigned(self.before_ns);
        (from_ns, self.realtime_ns.saturating_add_unsigned(self.after_ns))
    }

    /// Epochs of the segments that it holds.
    #[must_use]
    pub fn epochs(&self) -> RangeInclusive<u64> {
        self.first_epoch..=self.last_epoch
    }

    /// The file's bytes: one unit. Texts that are too long are cut at a character.
    #[must_use]
    pub fn encode(&self) -> [u8; UNIT_BYTES] {
        let mut unit = [0; UNIT_BYTES];
        let state: u16 = match self.state {
            PinState::Asked => 0,
            PinState::Open => 1,
            PinState::Whole => 2,
            PinState::Short => 3,
            PinState::Refused => 4,
        };
        put(&mut unit, 0, MAGIC);
        put(&mut unit, 8, &VERSION.to_le_bytes());
        put(&mut unit, 10, &state.to_le_bytes());
        put(&mut unit, 16, &self.store.0);
        put(&mut unit, 32, &self.id.to_le_bytes());
        put(&mut unit, 40, &self.realtime_ns.to_le_bytes());
        put(&mut unit, 48, &self.boottime_ns.to_le_bytes());
        put(&mut unit, 56, &self.boot_id);
        put(&mut unit, 72, &self.before_ns.min(PIN_SPAN_NS_MAX).to_le_bytes());
        put(&mut unit, 80, &self.after_ns.min(PIN_SPAN_NS_MAX).to_le_bytes());
        put(&mut unit, 88, &self.first_epoch.to_le_bytes());
        put(&mut unit, 96, &self.last_epoch.to_le_bytes());
        let name = cut(&self.name, PIN_NAME_BYTES_MAX);
        let reason = cut(&self.reason, PIN_REASON_BYTES_MAX);
        put(&mut unit, 104, &(name.len() as u16).to_le_bytes());
        put(&mut unit, 106, &(reason.len() as u16).to_le_bytes());
        put(&mut unit, TEXT_AT, name.as_bytes());
        put(&mut unit, TEXT_AT + name.len(), reason.as_bytes());
        let Copies { last_epoch, count, bytes } = self.copies;
        for (number, value) in [last_epoch, count, bytes].into_iter().enumerate() {
            put(&mut unit, Self::COPIES_AT + 8 * number, &value.to_le_bytes());
        }
        seal_unit(&mut unit);
        unit
    }

    /// Reads a pin.
    ///
    /// # Errors
    /// Truncated, foreign, of another version, damaged, or outside the limits.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let what = What::Pin;
        check_unit(what, bytes, MAGIC)?;
        let out_of_range = |field, offset, limit, found| {
            Err(Error::OutOfRange { what, field, offset, limit, found })
        };
        let state = match u16_at(bytes, 10) {
            0 => PinState::Asked,
            1 => PinState::Open,
            2 => PinState::Whole,
            3 => PinState::Short,
            4 => PinState::Refused,
            other => return out_of_range("state", 10, 4, u64::from(other)),
        };
        let (before_ns, after_ns) = (u64_at(bytes, 72), u64_at(bytes, 80));
        for (field, offset, found) in [("before", 72, before_ns), ("after", 80, after_ns)] {
            if found > PIN_SPAN_NS_MAX {
                return out_of_range(field, offset, PIN_SPAN_NS_MAX, found);
            }
        }
        let (name, reason) = (usize::from(u16_at(bytes, 104)), usize::from(u16_at(bytes, 106)));
        if name > PIN_NAME_BYTES_MAX {
            return out_of_range("name bytes", 104, PIN_NAME_BYTES_MAX as u64, name as u64);
        }
        if reason > PIN_REASON_BYTES_MAX {
            return out_of_range("reason bytes", 106, PIN_REASON_BYTES_MAX as u64, reason as u64);
        }
        check_count(what, "first epoch", 88, u64_at(bytes, 88))?;
        // All ones: it is open.
        if u64_at(bytes, 96) != u64::MAX {
            check_count(what, "last epoch", 96, u64_at(bytes, 96))?;
        }
        let text = |at: usize, length: usize| {
            let bytes = bytes.get(at..at + length).unwrap_or(&[]);
            let text = core::str::from_utf8(bytes);
            text.map(String::from).map_err(|_| Error::NotUtf8 { what, offset: at as u64 })
        };
        let id = u64_at(bytes, 32);
        if id == 0 {
            return out_of_range("id", 32, u64::MAX, 0);
        }
        Ok(Pin {
            store: StoreId(array_at(bytes, 16).unwrap_or_default()),
            id,
            state,
            realtime_ns: i64_at(bytes, 40),
            boottime_ns: i64_at(bytes, 48),
            boot_id: array_at(bytes, 56).unwrap_or_default(),
            before_ns,
            after_ns,
            first_epoch: u64_at(bytes, 88),
            last_epoch: u64_at(bytes, 96),
            name: text(TEXT_AT, name)?,
            reason: text(TEXT_AT + name, reason)?,
            copies: Copies {
                last_epoch: u64_at(bytes, Self::COPIES_AT),
                count: u64_at(bytes, Self::COPIES_AT + 8),
                bytes: u64_at(bytes, Self::COPIES_AT + 16),
            },
        })
    }
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

    fn pin() -> Pin {
        Pin {
            store: StoreId([7; 16]),
            id: 9,
            state: PinState::Short,
            realtime_ns: 1_000,
            boottime_ns: 77,
            boot_id: [3; 16],
            before_ns: 60,
            after_ns: 10,
            first_epoch: 4,
            last_epoch: u64::MAX,
            name: "fault 7".into(),
            reason: "the log goes back 5 s only".into(),
            copies: Copies { last_epoch: 6, count: 3, bytes: 12_288 },
        }
    }

    #[test]
    fn round_trips_and_sees_every_bit_flip() {
        let bytes = pin().encode();
        assert_eq!(Pin::decode(&bytes), Ok(pin()));
        assert_eq!(pin().window_ns(), (940, 1010));
        for bit in 0..UNIT_BYTES * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Pin::decode(&bad).is_err(), "flip of bit {bit} not seen");
        }
    }

    #[test]
    fn what_is_outside_the_limits_is_refused_and_long_texts_are_cut() {
        for (at, value) in [(10, 9), (72 + 7, 0xff), (80 + 7, 0xff), (105, 0xff), (107, 0xff)] {
            let mut bad = pin().encode();
            bad[at] = value;
            seal_unit(&mut bad);
            assert!(matches!(Pin::decode(&bad), Err(Error::OutOfRange { .. })), "{at}");
        }
        let mut bad = pin().encode();
        bad[TEXT_AT] = 0xff;
        seal_unit(&mut bad);
        assert!(matches!(Pin::decode(&bad), Err(Error::NotUtf8 { offset: 112, .. })));
        let long = Pin { reason: "\u{e9}".repeat(2000), ..pin() };
        let found = Pin::decode(&long.encode()).unwrap();
        assert_eq!(found.reason.len(), PIN_REASON_BYTES_MAX);
        assert_eq!(found.copies, long.copies);
    }
}

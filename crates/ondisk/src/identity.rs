//! The `store` file: who a store is and how its log is laid out. One unit, written last by init.

use crate::bytes::{array_at, i64_at, put, u16_at, u32_at, u64_at};
use crate::limits::{COUNT_MAX, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENTS_MAX, UNIT_BYTES};
use crate::{Error, What, crc32c};
use core::fmt;

/// Random id of a store, in every block, so that a file copied from another store is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoreId(pub [u8; 16]);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What happens when every segment holds data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// New records are refused and counted; nothing recorded is given up.
    Stop,
    /// The oldest segment is reused: a recorder that always keeps the latest window.
    Recycle,
}

/// Contents of the `store` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Random id.
    pub store: StoreId,
    /// When init made the store, nanoseconds since the epoch.
    pub created_ns: i64,
    /// Size of each segment file.
    pub segment_bytes: u64,
    /// Number of segment files.
    pub segments: u32,
    /// What happens when every segment holds data.
    pub when_full: WhenFull,
    /// Segment files that init wrote, the others being added while recording; 0 = all.
    pub init_segments: u32,
}

const MAGIC: &[u8; 8] = b"BAROSTO1";
pub(crate) const VERSION: u16 = 1;
/// Of a store of which something has been deleted: who does not know deletions must not show it.
pub(crate) const VERSION_DELETIONS: u16 = 2;

impl Identity {
    /// Where version and checksum lie: 8 bytes of one sector, which are replaced as one.
    pub const SEAL_AT: u64 = 8;

    /// Whether a valid `store` file says that something has been deleted.
    #[must_use]
    pub fn tells_deletions(unit: &[u8]) -> bool {
        u16_at(unit, 8) == VERSION_DELETIONS
    }

    /// The bytes at [`Identity::SEAL_AT`] with which this `store` file says so, or that nothing has.
    ///
    /// # Errors
    /// As [`Identity::decode`].
    pub fn seal(bytes: &[u8], deletions: bool) -> Result<[u8; 8], Error> {
        Identity::decode(bytes)?;
        let mut unit = array_at::<UNIT_BYTES>(bytes, 0).unwrap_or([0; UNIT_BYTES]);
        let version = if deletions { VERSION_DELETIONS } else { VERSION };
        put(&mut unit, 8, &version.to_le_bytes());
        seal_unit(&mut unit);
        Ok(array_at(&unit, 8).unwrap_or_default())
    }

    /// The file's bytes: one unit.
    #[must_use]
    pub fn encode(&self) -> [u8; UNIT_BYTES] {
        self.encode_with(false)
    }

    /// The same, which says whether something has been deleted.
    #[must_use]
    pub fn encode_with(&self, deletions: bool) -> [u8; UNIT_BYTES] {
        let version = if deletions { VERSION_DELETIONS } else { VERSION };
        let mut unit = [0; UNIT_BYTES];
        put(&mut unit, 0, MAGIC);
        put(&mut unit, 8, &version.to_le_bytes());
        put(&mut unit, 16, &self.store.0);
        put(&mut unit, 32, &self.created_ns.to_le_bytes());
        put(&mut unit, 40, &self.segment_bytes.to_le_bytes());
        put(&mut unit, 48, &self.segments.to_le_bytes());
        put(&mut unit, 52, &[u8::from(self.when_full == WhenFull::Recycle)]);
        put(&mut unit, 56, &self.init_segments.to_le_bytes());
        seal_unit(&mut unit);
        unit
    }

    /// Whether the file of segment `index` may be missing because it has not been added yet.
    #[must_use]
    pub fn may_be_to_come(&self, index: u32) -> bool {
        self.init_segments > 0 && index >= self.init_segments
    }

    /// Reads a `store` file.
    ///
    /// # Errors
    /// Truncated, foreign, of another version, damaged, or with a geometry outside the limits.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let what = What::Identity;
        check_unit_up_to(what, bytes, MAGIC, VERSION_DELETIONS)?;
        let segment_bytes = u64_at(bytes, 40);
        check_segment_bytes(what, 40, segment_bytes)?;
        let segments = u32_at(bytes, 48);
        if segments == 0 || segments > SEGMENTS_MAX {
            return Err(Error::OutOfRange {
                what,
                field: "segments",
                offset: 48,
                limit: u64::from(SEGMENTS_MAX),
                found: u64::from(segments),
            });
        }
        let when_full = match bytes.get(52).copied().unwrap_or(0) {
            0 => WhenFull::Stop,
            1 => WhenFull::Recycle,
            other => {
                return Err(Error::OutOfRange {
                    what,
                    field: "when full",
                    offset: 52,
                    limit: 1,
                    found: u64::from(other),
                });
            }
        };
        let init_segments = u32_at(bytes, 56);
        if init_segments > segments {
            return Err(Error::OutOfRange {
                what,
                field: "segments of init",
                offset: 56,
                limit: u64::from(segments),
                found: u64::from(init_segments),
            });
        }
        Ok(Identity {
            store: StoreId(array_at(bytes, 16).unwrap_or_default()),
            created_ns: i64_at(bytes, 32),
            segment_bytes,
            segments,
            when_full,
            init_segments,
        })
    }
}

/// Puts the CRC of a header unit into its place at offset 12.
pub(crate) fn seal_unit(unit: &mut [u8; UNIT_BYTES]) {
    put(unit, 12, &[0; 4]);
    let crc = crc32c(0, unit);
    put(unit, 12, &crc.to_le_bytes());
}

/// Checks length, magic, version and CRC of a header unit, in the order that gives the clearest
/// error: a foreign file is called foreign before it is called damaged.
/// A count that nobody can have reached is refused.
pub(crate) fn check_count(
    what: What,
    field: &'static str,
    offset: u64,
    found: u64,
) -> Result<(), Error> {
    if found <= COUNT_MAX {
        return Ok(());
    }
    Err(Error::OutOfRange { what, field, offset, limit: COUNT_MAX, found })
}

pub(crate) fn check_unit(what: What, bytes: &[u8], magic: &[u8; 8]) -> Result<(), Error> {
    check_unit_up_to(what, bytes, magic, VERSION)
}

/// The same of a unit that has several versions.
fn check_unit_up_to(what: What, bytes: &[u8], magic: &[u8; 8], newest: u16) -> Result<(), Error> {
    let Some(unit) = array_at::<UNIT_BYTES>(bytes, 0) else {
        return Err(Error::Truncated {
            what,
            offset: bytes.len() as u64,
            expected: UNIT_BYTES as u64,
            found: bytes.len() as u64,
        });
    };
    expect(what, "magic", 0, u64::from_le_bytes(*magic), u64_at(&unit, 0))?;
    let version = u16_at(&unit, 8);
    if !(VERSION..=newest).contains(&version) {
        expect(what, "version", 8, u64::from(newest), u64::from(version))?;
    }
    let found = u32_at(&unit, 12);
    let mut copy = unit;
    seal_unit(&mut copy);
    expect(what, "CRC", 12, u64::from(u32_at(&copy, 12)), u64::from(found))
}

pub(crate) fn check_segment_bytes(what: What, offset: u64, found: u64) -> Result<(), Error> {
    let whole = found.is_multiple_of(UNIT_BYTES as u64);
    if whole && (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&found) {
        return Ok(());
    }
    Err(Error::OutOfRange { what, field: "segment bytes", offset, limit: SEGMENT_BYTES_MAX, found })
}

pub(crate) fn expect(
    what: What,
    field: &'static str,
    offset: u64,
    expected: u64,
    found: u64,
) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::Mismatch { what, field, offset, expected, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_names_what_is_wrong() {
        let identity = Identity {
            store: StoreId([7; 16]),
            created_ns: -5,
            segment_bytes: 1 << 20,
            segments: 3,
            when_full: WhenFull::Recycle,
            init_segments: 2,
        };
        assert!(identity.may_be_to_come(2) && !identity.may_be_to_come(1));
        let bytes = identity.encode();
        assert_eq!(Identity::decode(&bytes), Ok(identity));
        assert!(matches!(
            Identity::decode(&bytes[..100]),
            Err(Error::Truncated { found: 100, .. })
        ));
        for offset in 0..UNIT_BYTES {
            let mut bad = bytes;
            bad[offset] ^= 0x10;
            assert!(Identity::decode(&bad).is_err(), "flip at {offset} not seen");
        }
        let mut newer = bytes;
        newer[8] = 3;
        let error = Identity::decode(&newer).unwrap_err();
        assert!(matches!(error, Error::Mismatch { field: "version", expected: 2, found: 3, .. }));
    }

    /// Who knows version 1 alone refuses a store of which something has been deleted.
    #[test]
    fn deletions_are_told_by_the_version() {
        let identity = Identity {
            store: StoreId([7; 16]),
            created_ns: -5,
            segment_bytes: 1 << 20,
            segments: 3,
            when_full: WhenFull::Recycle,
            init_segments: 2,
        };
        let plain = identity.encode();
        let mut telling = plain;
        telling[8..16].copy_from_slice(&Identity::seal(&plain, true).unwrap());
        assert!(Identity::tells_deletions(&telling) && !Identity::tells_deletions(&plain));
        assert_eq!(Identity::decode(&telling), Ok(identity));
        let refused = check_unit(What::Identity, &telling, MAGIC).unwrap_err();
        assert!(matches!(refused, Error::Mismatch { field: "version", expected: 1, found: 2, .. }));
        let mut again = telling;
        again[8..16].copy_from_slice(&Identity::seal(&telling, false).unwrap());
        assert_eq!(again, plain);
        for offset in 0..UNIT_BYTES {
            let mut bad = telling;
            bad[offset] ^= 0x10;
            assert!(Identity::decode(&bad).is_err(), "flip at {offset} not seen");
            assert!(Identity::seal(&bad, true).is_err());
        }
    }
}

//! A ring's header: what it is, which producer pushes into it, and which store it belongs to.
//!
//! A store is known by its id, and by which file its identity is: device and inode. A copy of a store
//! has the id of the one it was made from, and would otherwise take that one's rings, and with them
//! records that are then missing where they belong. A store that is moved keeps both. In rings of
//! earlier versions device and inode are 0, for unknown: they are taken by their store's id, as ever.
//! The store's path stands there to be told, and to look whether the store is still there; nothing is
//! decided by it.
//!
//! Invariant: any bytes are a header or a named error. Held by `a_damaged_header_is_refused_by_name`,
//! `a_copy_does_not_take_the_rings_of_its_original` and the fuzz target `ring`.

use super::layout::{CAPACITY_MIN, largest_record};
use crate::{Error, Result};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{StoreId, crc32c};
use baro_sys::identity::FileId;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"BARORNG1";
const VERSION: u32 = 1;
/// What the CRC covers.
pub(super) const CHECKED_BYTES: usize = 64;
/// Where the store's path stands: its length, the CRC of its bytes, these.
pub(super) const HOME_PATH: usize = 512;
const PATH_BYTES_MAX: usize = 3 << 10;
/// All of it.
pub(super) const HEADER_BYTES: usize = HOME_PATH + 8 + PATH_BYTES_MAX;
const _: () = assert!(HEADER_BYTES <= UNIT_BYTES);

/// The store that a ring belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Home {
    /// Its id, which a copy has too.
    pub(crate) store: StoreId,
    /// Its identity file, which no copy has.
    pub(crate) file: FileId,
    /// Where it was; empty if that is not known.
    pub(crate) path: PathBuf,
}

impl Home {
    /// The store in the folder `path`.
    pub(crate) fn of(path: &Path, store: StoreId) -> Result<Self> {
        let file = FileId::of(&path.join(baro_log::IDENTITY))?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Home { store, file, path })
    }

    /// Whether nothing says that they are two.
    pub(crate) fn may_be(&self, other: &Home) -> bool {
        let known = self.file.is_known() && other.file.is_known();
        self.store == other.store && (!known || self.file == other.file)
    }
}

/// Of which only the id is known.
impl From<StoreId> for Home {
    fn from(store: StoreId) -> Self {
        Home { store, ..Home::default() }
    }
}

impl From<&Home> for Home {
    fn from(home: &Home) -> Self {
        home.clone()
    }
}

/// For messages: the path, and which file it is.
impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, since whoever made the ring chose the path.
        write!(f, "{:?} ({})", self.path, self.file)
    }
}

/// What the maker of a ring writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) home: Home,
    pub(crate) producer: u64,
    pub(crate) capacity: u64,
    pub(crate) record_bytes_max: u32,
}

impl Header {
    /// The checked part, and what stands at [`HOME_PATH`].
    pub(super) fn encode(&self) -> ([u8; CHECKED_BYTES], Vec<u8>) {
        let Home { store, file, path } = &self.home;
        let mut head = [0; CHECKED_BYTES];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[16..32].copy_from_slice(&store.0);
        head[32..40].copy_from_slice(&self.producer.to_le_bytes());
        head[40..48].copy_from_slice(&self.capacity.to_le_bytes());
        head[48..52].copy_from_slice(&self.record_bytes_max.to_le_bytes());
        head[52..56].copy_from_slice(&file.device.to_le_bytes());
        head[56..64].copy_from_slice(&file.inode.to_le_bytes());
        let crc = crc32c(0, &head);
        head[12..16].copy_from_slice(&crc.to_le_bytes());
        let bytes = path.as_os_str().as_bytes();
        let bytes = if bytes.len() > PATH_BYTES_MAX { &[] } else { bytes };
        let length = (bytes.len() as u32).to_le_bytes();
        (head, [&length, &crc32c(0, bytes).to_le_bytes(), bytes].concat())
    }

    /// Checks the header at the beginning of `head` of a ring file of `file_bytes`; reads the store's
    /// path if it reaches that far.
    pub(super) fn decode(head: &[u8], file_bytes: usize, path: &Path) -> Result<Self> {
        let number = |at: usize| {
            let bytes = head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        let low = |at: usize| number(at) & 0xffff_ffff;
        let check = |field, offset, expected, found| check(path, field, offset, expected, found);
        check("magic", 0, u64::from_le_bytes(MAGIC), number(0))?;
        check("version", 8, u64::from(VERSION), low(8))?;
        let mut sealed = [0; CHECKED_BYTES];
        sealed.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
        sealed[12..16].fill(0);
        check("CRC", 12, u64::from(crc32c(0, &sealed)), low(12))?;
        let capacity = file_bytes.saturating_sub(UNIT_BYTES);
        check("capacity", 40, capacity as u64, number(40))?;
        check("capacity in whole units", 40, 0, (capacity % UNIT_BYTES) as u64)?;
        check("capacity of at least 64 KiB", 40, 1, u64::from(capacity >= CAPACITY_MIN))?;
        let record_bytes_max = low(48) as u32;
        let fits = record_bytes_max as usize <= largest_record(capacity);
        check("largest record", 48, 1, u64::from(fits))?;
        let mut store = StoreId::default();
        store.0.copy_from_slice(&sealed[16..32]);
        let file = FileId { device: (number(48) >> 32) as u32, inode: number(56) };
        let home = Home { store, file, path: home_path(head).unwrap_or_default() };
        let (producer, capacity) = (number(32), capacity as u64);
        Ok(Header { home, producer, capacity, record_bytes_max })
    }

    /// That it is a ring of this store, or a copy's.
    pub(super) fn check_store(&self, store: StoreId, path: &Path) -> Result<()> {
        let halves = |id: StoreId| {
            let id = u128::from_le_bytes(id.0);
            (id as u64, (id >> 64) as u64)
        };
        let (expected, found) = (halves(store), halves(self.home.store));
        check(path, "store id", 16, expected.0, found.0)?;
        check(path, "store id", 24, expected.1, found.1)
    }
}

fn check(path: &Path, field: &'static str, offset: u64, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::ForeignRing { path: path.to_owned(), field, offset, expected, found })
}

fn home_path(head: &[u8]) -> Option<PathBuf> {
    let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let length = word(HOME_PATH)? as usize;
    let bytes = head.get(HOME_PATH + 8..)?.get(..length)?;
    let whole = crc32c(0, bytes) == word(HOME_PATH + 4)? && !bytes.contains(&0);
    whole.then(|| PathBuf::from(OsStr::from_bytes(bytes)))
}

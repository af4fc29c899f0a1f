//! A hand-over to a table: what the store says of it (`runs/lake`), and the versions of the table, which
//! any program may have written. The latter is read in a program, which is no library, so its files are
//! taken in here.

use crate::Target;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{StoreId, crc32c};
use baro_store::Handover;

mod delta;
mod error {
    pub(crate) type Result<T> = std::result::Result<T, Error>;

    /// As the program has it, as far as the schema needs it.
    #[derive(Debug)]
    pub(crate) enum Error {
        Table { file: String, what: &'static str, expected: String, found: String },
    }

    impl std::fmt::Display for Error {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let Error::Table { file, what, expected, found } = self;
            write!(f, "{file}: {what}: expected {expected}, found {found}")
        }
    }
}

const STORE: StoreId = StoreId([7; 16]);

pub(crate) const HANDOVER: Target = Target {
    name: "handover",
    fuzz_one: |bytes| {
        let Ok(handover) = Handover::decode(bytes, STORE) else { return };
        let again = Handover::decode(&handover.encode(STORE), STORE);
        assert_eq!(again, Ok(handover), "it reads back");
    },
    seeds: || {
        let handover = Handover { table: [9; 16], below: 4, offered: 6, holds: true };
        vec![handover.encode(STORE), Handover { holds: false, ..handover }.encode(STORE)]
    },
    fix_up: |bytes| {
        let Some(unit) = bytes.get_mut(..UNIT_BYTES) else { return };
        unit[12..16].fill(0);
        let crc = crc32c(0, unit);
        unit[12..16].copy_from_slice(&crc.to_le_bytes());
    },
};

pub(crate) const VERSION: Target = Target {
    name: "table_version",
    fuzz_one: delta::version,
    seeds: || vec![delta::seed()],
    fix_up: |_| {},
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_read() {
        assert!((HANDOVER.seeds)().iter().all(|seed| Handover::decode(seed, STORE).is_ok()));
    }
}

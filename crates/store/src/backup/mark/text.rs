//! The text of the file `backup`. Needs no store, so that it is fuzzed too.
//!
//! Invariant: any bytes are a mark or none, and a mark reads back. Held by
//! `what_a_mark_says_is_read_again_and_nothing_else_is` and the fuzz target `backup_mark`.

use baro_ondisk::StoreId;

pub(super) const BYTES: usize = 160;

/// How far a backup has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The copy has all of the segments of lower epochs that it has.
    pub(crate) complete_below: u64,
    /// No backup has brought a segment of a higher epoch.
    pub(crate) reaches: u64,
}

impl Mark {
    pub(super) fn encode(self, store: StoreId) -> [u8; BYTES] {
        let Mark { complete_below, reaches } = self;
        let text = format!(
            "barograph backup 1\nstore {store}\ncomplete-below {complete_below}\nreaches {reaches}\n"
        );
        let mut bytes = [b' '; BYTES];
        let (at, end) = (text.len().min(BYTES - 1), BYTES - 1);
        bytes[..at].copy_from_slice(&text.as_bytes()[..at]);
        bytes[end] = b'\n';
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<(&str, Self)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        lines.next().filter(|line| *line == "barograph backup 1")?;
        let store = lines.next()?.strip_prefix("store ")?;
        let mut number = |name: &str| lines.next()?.strip_prefix(name)?.parse().ok();
        let (complete_below, reaches) = (number("complete-below ")?, number("reaches ")?);
        Some((store, Mark { complete_below, reaches }))
    }
}

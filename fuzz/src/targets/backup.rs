//! The mark of a backup, which lies in a folder of any disk. Its text is a part of the store's code that is
//! not handed out, so its file is taken in here.

use crate::Target;
use baro_ondisk::StoreId;

#[allow(dead_code, reason = "the store uses all of it")]
#[path = "../../../crates/store/src/backup/mark/text.rs"]
mod text;

pub(crate) const MARK: Target =
    Target { name: "backup_mark", fuzz_one: mark, seeds, fix_up: |_| {} };

const STORE: StoreId = StoreId([0xab; 16]);

fn mark(bytes: &[u8]) {
    let Some((store, mark)) = text::Mark::decode(bytes) else { return };
    assert!(store.len() <= bytes.len());
    let again = mark.encode(STORE);
    assert_eq!(text::Mark::decode(&again), Some((STORE.to_string().as_str(), mark)));
}

fn seeds() -> Vec<Vec<u8>> {
    let ends = [(0, 0), (7, 9), (u64::MAX, u64::MAX)];
    let mark = |(complete_below, reaches)| text::Mark { complete_below, reaches };
    ends.into_iter().map(|end| mark(end).encode(STORE).to_vec()).collect()
}

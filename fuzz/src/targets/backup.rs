//! The mark of a backup, which lies in a folder of any disk.

use crate::Target;
use baro_log::BackupMark;
use baro_ondisk::StoreId;

pub(crate) const MARK: Target =
    Target { name: "backup_mark", fuzz_one: mark, seeds, fix_up: |_| {} };

const STORE: StoreId = StoreId([0xab; 16]);

fn mark(bytes: &[u8]) {
    let Some((store, mark)) = BackupMark::decode(bytes) else { return };
    assert!(store.len() <= bytes.len());
    let again = mark.encode(STORE);
    assert_eq!(BackupMark::decode(&again), Some((STORE.to_string().as_str(), mark)));
}

fn seeds() -> Vec<Vec<u8>> {
    let ends = [(0, 0), (7, 9), (u64::MAX, u64::MAX)];
    let mark = |(complete_below, reaches)| BackupMark { complete_below, reaches };
    ends.into_iter().map(|end| mark(end).encode(STORE).to_vec()).collect()
}

//! Events of memory reclaim: a task that needs memory looks for some itself.

use super::events;

events! {
    "vmscan";
    /// A task begins to reclaim, for the machine's sake.
    "mm_vmscan_direct_reclaim_begin" => ReclaimBegin, ReclaimBeginSchema {
        /// The size that was asked for, as a power of two pages.
        order: i32 = "order",
    }
    /// It ends.
    "mm_vmscan_direct_reclaim_end" => ReclaimEnd, ReclaimEndSchema {
        /// Pages that became free.
        reclaimed: u64 = "nr_reclaimed",
    }
    /// A task begins to reclaim, as its control group has reached its limit.
    "mm_vmscan_memcg_reclaim_begin" => GroupReclaimBegin, GroupReclaimBeginSchema {
        /// The size that was asked for, as a power of two pages.
        order: i32 = "order",
    }
    /// It ends.
    "mm_vmscan_memcg_reclaim_end" => GroupReclaimEnd, GroupReclaimEndSchema {
        /// Pages that became free.
        reclaimed: u64 = "nr_reclaimed",
    }
}

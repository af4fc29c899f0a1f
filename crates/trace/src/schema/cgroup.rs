//! Events of control groups: which task came to which group.
//!
//! A process that is moved as a whole has one event, for its first thread. A child is in its parent's group from
//! its birth on, and no event tells it.

use super::events;
use crate::record::GroupPath;

events! {
    "cgroup";
    /// A task is in another group from now on.
    "cgroup_attach_task" => GroupAttach, GroupAttachSchema {
        /// The hierarchy: 0 is that of the second version; others are numbered as in `/proc/cgroups`.
        hierarchy: i32 = "dst_root",
        /// The group, from the hierarchy's root on.
        path: GroupPath = "dst_path",
        /// The task.
        pid: i32 = "pid",
    }
    /// The same of a task whose group lost the last processor or memory that it may use.
    "cgroup_transfer_tasks" => GroupTransfer, GroupTransferSchema {
        /// The hierarchy.
        hierarchy: i32 = "dst_root",
        /// The group.
        path: GroupPath = "dst_path",
        /// The task.
        pid: i32 = "pid",
    }
}

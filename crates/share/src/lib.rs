//! Bandwidth of a disk by weight, whatever size of I/O its users choose, without touching them.
//!
//! BFQ holds weights between groups as long as one I/O is served in well under its time slice; one
//! that takes longer lets the ratio collapse (docs/share-cause.md). So: *observe* the disk and its
//! groups, *plan* settings of its queue and the largest safe *piece*, *apply* them through the
//! journal of `baro-tune`, and *control* the sizes by the ratio that is observed. Large direct I/O
//! is cut in the program itself by an interposer (`preload/`), which reads the sizes from a mapped
//! file. No group is ever capped: one that is alone has the whole disk.
//!
//! Invariant: [`plan()`](plan::plan), [`control`] and [`judge()`](judge::judge) are pure. The rest
//! leaves the machine as it was found, however it ends: settings by their journal, groups by the
//! next [`Controller`].

pub mod cgroup;
pub mod control;
mod controller;
mod error;
mod journals;
pub mod judge;
pub mod member;
pub mod observe;
mod origin;
pub mod pieces;
pub mod plan;
pub mod reach;
pub mod registry;
pub mod sampler;
mod trim;
mod weight;

pub use cgroup::{Hierarchy, Version};
pub use controller::{Controller, Done, Policy};
pub use error::ShareError;
pub use member::{Member, MemberSpec};
pub use pieces::{Cut, Pieces};
pub use registry::{Asked, Registry};
pub use weight::Weight;

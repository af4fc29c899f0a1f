//! Many sorted parts (strips of log blocks, pages of runs) become one sequence sorted by series
//! and time, in portions of bounded memory. Settling, merging of runs and scans all go through
//! this.
//!
//! A [`Gather`] looks only at where pieces of parts begin, chooses how far the next portion
//! reaches, has the pieces up to there decoded, and sorts them into a [`Portion`]. Parts are given
//! in the order in which their samples were recorded, the oldest first: of several samples of one
//! series and time the last one stays.
//!
//! Invariant: what comes out is what a stable sort of all samples with the last of equals kept
//! gives, whatever the sizes. Held by the property test of this module.

mod gather;
mod part;
mod portion;

pub(crate) use gather::{Gather, Wanted};
pub(crate) use part::{Key, Part, Piece};
pub(crate) use portion::Portion;

//! What a recording will need, computed before there is one: log or files, memory, bytes to the device,
//! days of disk, years of flash, and how many machines.
//!
//! A plan is a function of its [`Inputs`] and of nothing else, so that each figure can be asked which
//! inputs move it most: the plan is made again with each of them halved and doubled. The store's side
//! follows the format and the writer's rhythm (`log.rs`) and how runs are merged (`rest.rs`); the side of
//! one file for each sensor follows the paper "sensor-files" (`files.rs`). What was measured and not
//! derived is a constant with its source.
//!
//! Invariant: pure, and any inputs within their limits give finite figures. Held by
//! `any_inputs_give_finite_figures`; against what was measured by `tests/measured.rs`.

mod choice;
mod figures;
mod files;
mod inputs;
mod log;
mod machines;
mod needs;
mod numbers;
mod picture;
mod rest;

pub use choice::{Reason, reasons};
pub use figures::{FIGURES, Figure, Moved, Source, Unit, moved_most};
pub use files::{Files, Kind};
pub use inputs::{Inputs, Invalid, Knob, Limits};
pub use log::Logged;
pub use machines::{Bound, Machines};
pub use needs::{Need, needs};
pub use numbers::{Numbers, numbers};
pub use picture::picture;
pub use rest::Rested;

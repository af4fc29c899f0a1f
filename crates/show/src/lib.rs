//! How figures, times and foreign text look: one of each, for texts, pages and pictures.
//!
//! Each of these was written several times in the workspace, and the copies differed by accident.
//! `xtask` keeps its own, since it depends on no product code. Nothing is read here, neither files
//! nor a clock, and nothing beyond the standard library is needed.
//!
//! Invariant: pure, and no text from outside becomes markup or moves a cursor. Held by
//! `foreign_text_is_neither_markup_nor_control` and `a_line_is_one_line_whatever_is_in_it`.

mod axis;
mod figure;
mod foreign;
mod time;

pub use axis::Axis;
pub use figure::{bytes, count, duration, hex, number, plural};
pub use foreign::{Shown, Unseen, escaped_json, is_unseen, lines, markup, push_line, terminal};
pub use time::{date, rfc3339};

//! stub
use crate::experiment::{Measurement, Study};
/// .
#[must_use]
pub fn study(m: &Measurement) -> Study {
    Study { title: String::new(), paper: String::new(), machine: m.head.machine.clone(), tables: Vec::new(), figures: Vec::new(), claims: Vec::new(), notes: Vec::new() }
}

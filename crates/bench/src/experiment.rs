//! A paper's experiment as staged data: what is to be measured, what was measured, what follows.
//!
//! A [`Plan`] names cells, each measured for itself; a [`measurement`] is the file they are stored
//! in, one line each as soon as it is there, so a run that was killed goes on where it was; a
//! [`Study`] is made from measurements alone, on any machine: the paper's tables with the figures
//! from here beside them, its figures drawn, each of its claims judged. [`run`] joins the first two,
//! the papers' modules give the third.
//!
//! Invariant: a cell is stored whole or not at all, and a measurement of one machine is never
//! continued on another or with other settings. Held by `tests.rs`.

pub mod chart;
mod html;
pub mod judge;
pub mod machine;
pub mod measurement;
mod study;
#[cfg(test)]
mod tests;
mod text;

pub use machine::Machine;
pub use measurement::{Head, Measured, Measurement};
pub use study::{Claim, Column, Figure, Pair, Row, Study, Table, Verdict};

use crate::error::BenchError;
use baro_sys::clock;
use measurement::Store;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is measured for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Unique in its plan, of words with `/` between them: `case/NONE/1`.
    pub id: String,
    /// How long it is expected to take, for the time that is left.
    pub expected_ns: u64,
}

/// All cells of an experiment, in the order in which they are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// `recorder` or `files`.
    pub experiment: &'static str,
    /// What was asked for; a measurement is continued only with the same.
    pub settings: Value,
    /// In their order.
    pub cells: Vec<Cell>,
}

/// An experiment of a paper on this machine.
pub trait Experiment {
    /// What is to be measured. Constant.
    fn plan(&self) -> Plan;

    /// Measures one cell. Blocks for about its expected time; ends early with
    /// [`BenchError::Stopped`] soon after `stop` is set.
    ///
    /// A cell that cannot be measured here is [`unavailable`], which is a result; an error ends
    /// the run.
    ///
    /// # Errors
    /// Those of the measurement. Nothing of the cell is left on the machine then.
    fn measure(&mut self, cell: &Cell, stop: &AtomicBool) -> Result<Value, BenchError>;
}

/// What a cell is that cannot be measured here.
#[must_use]
pub fn unavailable(reason: impl Into<String>) -> Value {
    json!({ "unavailable": reason.into() })
}

/// What is taken for measured before there is anything to tell the time that is left by.
const PRIOR_NS: u64 = 20_000_000_000;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Cells that are stored.
    pub done: usize,
    /// All cells.
    pub total: usize,
    /// The one that begins now; None at the end.
    pub cell: Option<&'a str>,
    /// What the others are expected to take, by how the measured ones turned out, ns.
    pub left_ns: u64,
}

/// Measures what `out` does not hold yet of the plan, and returns all of it.
///
/// # Errors
/// `out` is of another experiment, machine, setting or version; [`BenchError::Stopped`] after
/// `stop` was set; those of a cell. What was measured until then is in `out`.
pub fn run(
    experiment: &mut dyn Experiment,
    machine: Machine,
    out: &Path,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Measurement, BenchError> {
    let plan = experiment.plan();
    let head = Head::new(plan.experiment, plan.settings.clone(), machine);
    let mut store = Store::open(out, head)?;
    // How much longer cells take than expected: preparation, a slow device. One cell is no measure.
    let (mut expected_ns, mut took_ns) = (PRIOR_NS, PRIOR_NS);
    for (index, cell) in plan.cells.iter().enumerate() {
        if store.has(&cell.id) {
            continue;
        }
        if stop.load(Relaxed) {
            return Err(BenchError::Stopped);
        }
        let missing = plan.cells.iter().skip(index).filter(|cell| !store.has(&cell.id));
        let left_ns: u64 = missing.map(|cell| cell.expected_ns).sum();
        let left_ns = u128::from(left_ns) * u128::from(took_ns) / u128::from(expected_ns);
        tell(Progress {
            done: store.len(),
            total: plan.cells.len(),
            cell: Some(&cell.id),
            left_ns: u64::try_from(left_ns).unwrap_or(u64::MAX),
        });
        let began_ns = clock::monotonic_ns();
        let data = experiment.measure(cell, stop)?;
        let cell_ns = clock::monotonic_ns().saturating_sub(began_ns);
        expected_ns += cell.expected_ns;
        took_ns += cell_ns;
        store.add(&cell.id, cell_ns, data)?;
    }
    tell(Progress { done: store.len(), total: plan.cells.len(), cell: None, left_ns: 0 });
    Ok(store.into_measurement())
}

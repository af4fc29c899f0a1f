//! `baro cat --follow`: what is recorded from now on, in the order of recording.
//!
//! Ends at SIGINT or SIGTERM, or when nobody reads any more. Held by `rows_are_followed_as_they_are_recorded`.

use super::{Arguments, Printer, RowFormat, selected, told};
use crate::failure::{Outcome, Result};
use baro_export::csv;
use baro_ondisk::{Gap, Kind};
use baro_store::{Moment, RecordRef, Selection, Store};
use baro_sys::{clock, termination};
use std::io::Write;
use std::ops::ControlFlow;

/// Between two looks at the store: shorter than anybody notices.
const LOOK_NS: u64 = 200_000_000;
/// How soon a signal is seen.
const SIGNAL_NS: u64 = 20_000_000;

pub(super) fn run<W: Write>(
    arguments: &Arguments,
    mut store: Store,
    mut printer: Printer<W>,
) -> Result<Outcome> {
    termination::watch()?;
    // Both of the same view of the store: no row twice, and none is missing between them.
    let (mut place, mut damage) = match arguments.last {
        Some(rows) => (store.end_of_reads()?, printer.last(&store, rows)?),
        None => (store.end()?, Vec::new()),
    };
    printer.out.flush()?;
    let mut recycled = 0;
    while waited() {
        store.refresh()?;
        printer.selection = match selected(&store, arguments) {
            Ok(selection) => selection,
            // A series may be hidden meanwhile; what is recorded later shows it again.
            Err(_) => continue,
        };
        // A series that is new may be of a type that a row has to say.
        printer.typed |= printer.format == RowFormat::Csv && csv::needs_types(&printer.selection);
        let mut failed = None;
        let selection = printer.selection.clone();
        let notes = store.follow(&mut place, |record| {
            match print(&mut printer, &selection, record, arguments.data_only) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        printer.out.flush()?;
        recycled += notes.blocks_recycled;
        damage.extend(notes.damage);
    }
    printer.tell();
    let outcome = told(&store, &damage, recycled);
    Ok(if printer.lost > 0 { Outcome::lost_if(true) } else { outcome })
}

/// False once a signal has come.
fn waited() -> bool {
    let mut left_ns = LOOK_NS;
    while termination::requested().is_none() && left_ns > 0 {
        clock::sleep_ns(SIGNAL_NS);
        left_ns = left_ns.saturating_sub(SIGNAL_NS);
    }
    termination::requested().is_none()
}

fn print<W: Write>(
    printer: &mut Printer<W>,
    selection: &Selection,
    record: &RecordRef<'_>,
    data_only: bool,
) -> Result<()> {
    let mut result = Ok(());
    let time_ns = record.time_ns;
    match record.kind {
        Kind::Gap if !data_only => {
            if let Ok(gap) = Gap::decode(record.payload) {
                result = printer.moment(&Moment::Lost { time_ns, gap });
            }
        }
        Kind::Clock if !data_only => result = printer.moment(&Moment::Stepped { time_ns }),
        _ => {
            printer.short += selection.unfold(record, |point| {
                if result.is_ok() {
                    result = printer.moment(&Moment::Point(*point));
                }
            });
        }
    }
    result
}

//! Reads files once more, where values may have replaced others further apart than they are held, so that the
//! report counts all of them and names the first. Held by `what_is_replaced_far_apart_is_counted_too`
//! (`tests/import_kept.rs`).

use super::reading::{Read, Reading};
use super::{Arguments, Given, Input, one};
use crate::failure::Result;
use baro_ingest::{Intake, Manner, Recount, Target, Unseen};
use baro_sys::{files, termination};
use std::path::{Path, PathBuf};

/// What the read has told of replaced samples becomes what another read finds, if it can: not of what comes out
/// of a pipe, nor where the reading was ended before.
pub(super) fn count(arguments: &Arguments, manner: Manner, read: &mut Read) {
    let unseen = &read.ended.fed.unseen;
    let mut begun = arguments.files.iter().take(read.files.len());
    let may_read = |file: &PathBuf| file != Path::new("-") && files::is_regular(file);
    if unseen.samples == 0 || read.ended.result.is_err() || !begun.all(may_read) {
        return;
    }
    let mut recount = Recount::new(unseen);
    while recount.begin() {
        // What is there by now is no more, or not the same: then it stays unknown.
        match reading(arguments, manner, recount, read.files.len()) {
            Ok((Some(found), lines)) if lines == read.lines => recount = found,
            _ => return,
        }
        if termination::requested().is_some() {
            return;
        }
    }
    if let Some((count, first)) = recount.result() {
        let fed = &mut read.ended.fed;
        (fed.replaced, fed.replaced_first) = (count, first);
        fed.unseen = Unseen::default();
    }
}

/// What was counted by another reading, and the lines of that.
fn reading(
    arguments: &Arguments,
    manner: Manner,
    recount: Recount,
    begun: usize,
) -> Result<(Option<Recount>, u64)> {
    let files = arguments.files.iter().take(begun);
    let given = files.map(|file| arguments.given(file)).collect::<Result<Vec<Given<'_>>>>()?;
    let target = Target::nowhere(&arguments.store)?;
    let mut intake = Intake::new("import", target, manner)?;
    intake.recount(recount);
    let mut reading = Reading::again(intake);
    let mut csv = arguments.csv_parser(given.iter().any(|file| file.input == Input::Csv))?;
    for file in given {
        reading.begin(file.path, file.input == Input::Parquet);
        if one(arguments, &mut reading, &mut csv, file).is_err() || reading.stopped() {
            break;
        }
    }
    let read = reading.end();
    Ok((read.ended.recount, read.lines))
}

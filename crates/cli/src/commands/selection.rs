//! What selectors on the command line select: one place for all verbs that take them.

use crate::failure::Result;
use baro_store::{Selection, Store};

/// What `selectors` select; without any everything, fields instead of the frames they are in.
pub(crate) fn of(store: &Store, selectors: &[String]) -> Result<Selection> {
    if selectors.is_empty() {
        return Ok(Selection::all(store.catalog(), true)?);
    }
    Ok(Selection::named(store.catalog(), selectors)?)
}

/// The same for verbs that hand out values, which frames without a layout are not.
pub(crate) fn of_values(store: &Store, selectors: &[String]) -> Result<Selection> {
    let selection = of(store, selectors)?;
    let frames = selection.columns().iter().filter(|column| column.kind == "frame");
    let mut named = frames.filter(|_| !selectors.is_empty());
    if let Some(channel) = named.next() {
        let name = &channel.name;
        return Err(format!(
            "{name}: expected a series, or a field as {name}.FIELD or {name}.*, found a channel of \
             frames; baro cat and export hand out frames as they are"
        )
        .into());
    }
    Ok(selection)
}

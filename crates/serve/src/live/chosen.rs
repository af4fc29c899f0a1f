//! Which series are shown, by their exact names.
//!
//! No selectors here: a picture has few series, and one that means a million would be made first and refused
//! then. The search has them.

use crate::api::{Parameters, Refusal};
use baro_ondisk::Type;
use baro_store::{Selection, Store, ValueType};

/// Series of a picture at most.
pub(super) const SERIES_MAX: usize = 64;

/// The names of a request: `least` at least, and each once.
pub(super) fn names(parameters: &Parameters, least: usize) -> Result<Vec<String>, Refusal> {
    let names: Vec<String> =
        parameters.all("series").take(SERIES_MAX + 1).map(str::to_owned).collect();
    if names.len() > SERIES_MAX || names.len() < least {
        let found = if names.len() > SERIES_MAX { "more" } else { "none" };
        return Err(bad(&format!("expected {least} to {SERIES_MAX} names, found {found}")));
    }
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, name)) => Err(bad(&format!("expected each name once, found {name:?} twice"))),
        None => Ok(names),
    }
}

fn bad(said: &str) -> Refusal {
    Refusal::bad(&format!("invalid parameter \"series\": {said}"))
}

/// Series that are there: those with samples, and fields of frames, which have to be read whole.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) series: Selection,
    pub(super) fields: Selection,
    /// For each column of both, its place among the names.
    pub(super) places: [Vec<usize>; 2],
    /// Of each name.
    pub(super) units: Vec<String>,
}

/// Which column a name means: its id, and of a field which one.
type Key = (u32, Option<(usize, usize)>);

impl Chosen {
    pub(super) fn of(store: &Store, names: &[String]) -> Result<Self, Refusal> {
        let mut keys: Vec<Key> = Vec::with_capacity(names.len());
        let (mut series, mut fields): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for name in names {
            let key = key(store, name)?;
            if keys.contains(&key) {
                return Err(bad(&format!("expected each series once, found {name:?} again")));
            }
            keys.push(key);
            if key.1.is_none() { series.push(name) } else { fields.push(name) }
        }
        let select = |names: &[&str]| {
            Selection::named(store.catalog(), names).map_err(|error| Refusal::internal(&error))
        };
        let (series, fields) = (select(&series)?, select(&fields)?);
        let mut units = vec![String::new(); names.len()];
        let mut places = |selection: &Selection| {
            let columns = selection.columns().iter();
            let places = columns.map(|column| {
                let place = keys.iter().position(|key| *key == (column.id, column.field()));
                if let Some(unit) = place.and_then(|place| units.get_mut(place)) {
                    unit.clone_from(&column.unit);
                }
                place.unwrap_or(usize::MAX)
            });
            places.collect::<Vec<_>>()
        };
        let places = [places(&series), places(&fields)];
        Ok(Chosen { series, fields, places, units })
    }
}

fn key(store: &Store, name: &str) -> Result<Key, Refusal> {
    let lookup =
        |name: &str| store.catalog().lookup(name).map_err(|error| Refusal::internal(&error));
    if let Some(declared) = lookup(name)? {
        return match ValueType::of(declared.kind) {
            Some(ValueType::Text) | None => {
                let kind = if declared.kind == Type::Text { "texts" } else { "frames" };
                Err(bad(&format!("expected a series of numbers, found {name:?}, which has {kind}")))
            }
            Some(_) => Ok((declared.id, None)),
        };
    }
    let unknown = || bad(&format!("expected a series of this store, found {name:?}"));
    let (channel, field) = name.rsplit_once('.').ok_or_else(unknown)?;
    let channel = lookup(channel)?.ok_or_else(unknown)?;
    let place = channel.layout.as_ref().and_then(|layout| layout.find(field));
    Ok((channel.id, Some(place.ok_or_else(unknown)?)))
}

//! Steps of time as they are asked for: of one length, or days and longer as the calendar of a zone has them;
//! the same as those of `baro query`.

use crate::errors;
use baro_sources::{CalendarStep, CalendarUnit, Rules, Zone, zone_s};
use baro_sys::files;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * SECOND_NS;
/// Where the system has the rules of places (package tzdata).
const PLACES: &str = "/usr/share/zoneinfo";
/// More than any of its files has.
const PLACE_BYTES_MAX: u64 = 1 << 20;

/// Begin of the step that a time is in, and of the next one.
type Around = dyn Fn(i64) -> (i64, i64) + Send + Sync;

/// Steps of time.
#[derive(Clone)]
pub(crate) struct Grid {
    /// About how long they are.
    pub(crate) length_ns: i64,
    /// Whether they begin at multiples of that.
    pub(crate) plain: bool,
    around: Arc<Around>,
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grid").field("length_ns", &self.length_ns).finish_non_exhaustive()
    }
}

impl Grid {
    /// Begin of the step that a time is in, and of the next one.
    pub(crate) fn around(&self, time_ns: i64) -> (i64, i64) {
        (self.around)(time_ns)
    }

    /// The same as the store takes them; `None` where they are multiples of their length.
    pub(crate) fn steps(&self) -> Option<baro_store::Steps> {
        let around = Arc::clone(&self.around);
        (!self.plain).then(|| baro_store::Steps::new(move |time_ns| around(time_ns)))
    }

    /// Steps of one length, which begin `offset_ns` after its multiples.
    pub(crate) fn fixed(length_ns: i64, offset_ns: i64) -> PyResult<Self> {
        below("offset", offset_ns, length_ns)?;
        let (step, offset) = (i128::from(length_ns), i128::from(offset_ns));
        let clamped =
            |ns: i128| i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX });
        let around = move |time_ns: i64| {
            let time = i128::from(time_ns);
            let begin = time - (time - offset).rem_euclid(step);
            (clamped(begin), clamped(begin + step))
        };
        Ok(Grid { length_ns, plain: offset_ns == 0, around: Arc::new(around) })
    }

    /// Steps of the calendar, such as `1mo`; `None` if the text says none.
    pub(crate) fn of_calendar(
        text: &str,
        zone: Option<&str>,
        offset_ns: i64,
    ) -> PyResult<Option<Self>> {
        let Some(step) = CalendarStep::parse(text.trim()) else { return Ok(None) };
        below("offset", offset_ns, DAY_NS)?;
        if offset_ns % SECOND_NS != 0 {
            let found = format!("{offset_ns} ns");
            return Err(errors::value("offset", "whole seconds for steps of the calendar", found));
        }
        let later_s = offset_ns / SECOND_NS;
        let plain = zone.is_none() && step.unit() == CalendarUnit::Day && later_s == 0;
        let zone = zone.map_or(Ok(Zone::Ahead(0)), named)?;
        let length_ns = i64::try_from(step.usual_ns()).unwrap_or(i64::MAX);
        let around = move |time_ns| step.around(time_ns, zone, later_s);
        Ok(Some(Grid { length_ns, plain, around: Arc::new(around) }))
    }
}

fn below(argument: &str, found_ns: i64, limit_ns: i64) -> PyResult<()> {
    if (0..limit_ns).contains(&found_ns) {
        return Ok(());
    }
    let found = format!("{found_ns} ns");
    Err(errors::value(argument, &format!("from 0 to less than {limit_ns} ns"), found))
}

/// A zone by its name or offset. The rules of a place are read once in a program's life, and kept.
fn named(text: &str) -> PyResult<Zone> {
    static KNOWN: Mutex<Option<HashMap<String, &'static Rules>>> = Mutex::new(None);
    if let Some(zone_s) = zone_s(text) {
        return Ok(Zone::Ahead(zone_s));
    }
    // A name, and no way out of the folder.
    let part = |part: &str| {
        let plain =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+');
        part.starts_with(|first: char| first.is_ascii_uppercase()) && part.chars().all(plain)
    };
    let expected = "UTC, an offset such as +01:00, or a place such as Europe/Berlin";
    let wrong = |found: String| errors::value("zone", expected, found);
    if !text.split('/').all(part) {
        return Err(wrong(format!("{text:?}")));
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(rules) = known.get(text) {
        return Ok(Zone::Of(rules));
    }
    let unreadable = |error: &dyn fmt::Display| {
        wrong(format!("{text:?}: {error} (places are in the package tzdata)"))
    };
    let file = files::open(&Path::new(PLACES).join(text)).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(PLACE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let rules = Rules::parse(&bytes).ok_or_else(|| unreadable(&"no rules of a zone"))?;
    let rules: &'static Rules = Box::leak(Box::new(rules));
    known.insert(text.to_owned(), rules);
    Ok(Zone::Of(rules))
}

//! Rows of a batch as samples.

use super::cells::{Cells, float_time_ns, label_of};
use super::choice::{Choice, Clock, Texts};
use super::compose::Composer;
use super::int96;
use super::layout::{Layout, SHOWN_CHARS_MAX};
use super::{Imported, Joint, Refusal, Value};
use crate::long::REST;
use crate::{Error, Result};
use arrow_array::{Array, ArrayRef, Int16Array, RecordBatch, StringViewArray, cast::AsArray};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Nanoseconds of 1980 and 2100: what integers without a unit may mean.
const PLAUSIBLE_NS: std::ops::Range<i64> = 315_532_800_000_000_000..4_102_444_800_000_000_000;

/// What is kept from row to row.
#[derive(Debug, Default)]
pub(super) struct State {
    composer: Composer,
    /// Wide, without labels: time and bits of the last number of each column.
    last: Vec<Option<(i64, Option<u64>)>>,
}

/// Columns of a batch by what they are for.
pub(super) struct Columns<'a> {
    time: Cells<'a>,
    /// What is left of times in microseconds.
    rest: Option<&'a Int16Array>,
    layout: &'a Layout,
    /// Of times of INT96.
    seconds: Option<ArrayRef>,
    /// Of which the times are.
    clock: Option<&'a Clock>,
    /// Which read them, if they are texts.
    texts: Option<(&'a StringViewArray, &'a Texts)>,
    /// Long: the names of the rows.
    series: Option<&'a StringViewArray>,
    labels: Vec<(&'a str, &'a ArrayRef)>,
    values: Vec<(&'a str, Cells<'a>)>,
    own_series: Vec<(&'a str, Cells<'a>)>,
}

type Each<'e> = dyn FnMut(Imported<'_>) -> ControlFlow<()> + 'e;

impl<'a> Columns<'a> {
    pub(super) fn of(
        batch: &'a RecordBatch,
        layout: &'a Layout,
        seconds: Option<ArrayRef>,
        choice: &'a Choice,
    ) -> Result<Self> {
        let other = || Error::Layout {
            found: "a batch of other columns".to_owned(),
            expected: "the columns that were asked for",
        };
        let places: HashMap<usize, usize> =
            layout.fields.iter().enumerate().map(|(place, field)| (*field, place)).collect();
        let at = |field: usize| {
            let place = *places.get(&field).ok_or_else(other)?;
            let name = batch.schema_ref().fields().get(place).ok_or_else(other)?.name().as_str();
            Ok((name, batch.columns().get(place).ok_or_else(other)?))
        };
        let labels = layout.labels.iter().map(|field| at(*field));
        let cells = |field: usize| at(field).map(|(name, array)| (name, Cells::of(array)));
        let series = match layout.series {
            Some(field) => Some(at(field)?.1.as_string_view_opt().ok_or_else(other)?),
            None => None,
        };
        let own = layout.own_series.iter();
        let own_series = own.map(|(field, suffix)| Ok((suffix.as_str(), cells(*field)?.1)));
        let time = at(layout.time)?.1;
        let rest = match layout.rest {
            Some(field) => Some(at(field)?.1.as_primitive_opt().ok_or_else(other)?),
            None => None,
        };
        Ok(Columns {
            time: Cells::of(time),
            rest,
            layout,
            seconds,
            clock: choice.clock.as_ref().filter(|_| layout.is_of_clock),
            texts: time.as_string_view_opt().zip(choice.texts.as_ref()),
            series,
            labels: labels.collect::<Result<_>>()?,
            values: layout.values.iter().map(|field| cells(*field)).collect::<Result<_>>()?,
            own_series: own_series.collect::<Result<_>>()?,
        })
    }

    pub(super) fn row(
        &self,
        at: usize,
        row: u64,
        state: &mut State,
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        let time_ns = match self.time_ns(at) {
            Ok(time_ns) => time_ns,
            Err(reason) => return each(Imported::Refused(Refusal { row, reason })),
        };
        if let Some((series, value)) = self.plain(at) {
            let joint = Joint::None;
            return each(Imported::Sample { row, series, joint, time_ns, value });
        }
        let label = |(name, array): &(&'a str, &'a ArrayRef)| (*name, label_of(array, at));
        let labels: Vec<(&str, Cow<'_, str>)> = self.labels.iter().map(label).collect();
        let State { composer, last } = state;
        let mut hand = |base: &str, suffix: &str, value: std::result::Result<Value<'_>, String>| {
            let named = value.and_then(|value| Ok((composer.name(base, suffix, &labels)?, value)));
            match named {
                Ok(((series, base_bytes), value)) => {
                    let joint = match (self.own_series.is_empty(), suffix) {
                        (true, _) => Joint::None,
                        (false, "") => Joint::Whole,
                        (false, _) => Joint::Behind(base_bytes),
                    };
                    each(Imported::Sample { row, series, joint, time_ns, value })
                }
                Err(reason) => each(Imported::Refused(Refusal { row, reason })),
            }
        };
        let refused = |reason: &str| Err(reason.to_owned());
        let Some(names) = self.series else {
            last.resize(self.values.len(), None);
            for ((series, cells), last) in self.values.iter().zip(last) {
                let Some(value) = cells.value(at).transpose() else { continue };
                let value = value.and_then(|value| match is_said(last, time_ns, value) {
                    true if labels.is_empty() => refused(
                        "expected rows of different times, or a column that tells them apart \
                         (--columns NAME=label), found the time of the row before with another value",
                    ),
                    _ => Ok(value),
                });
                hand(series, "", value.map_err(|reason| format!("column {series}: {reason}")))?;
            }
            return ControlFlow::Continue(());
        };
        let name = (!names.is_null(at)).then(|| names.value(at));
        let Some(base) = name.filter(|name| !name.is_empty()) else {
            return hand("", "", refused("expected the name of a series, found nothing"));
        };
        let values = self.values.iter().filter_map(|(_, cells)| cells.value(at).transpose());
        let value = values.reduce(|_, _| refused("expected one value, found several"));
        hand(base, "", value.unwrap_or_else(|| refused("expected a value, found null")))?;
        for (suffix, cells) in &self.own_series {
            if let Some(value) = cells.value(at).transpose() {
                hand(base, suffix, value)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// What nearly all rows are: a name to which nothing is put, and a value.
    #[inline]
    fn plain(&self, at: usize) -> Option<(&'a str, Value<'a>)> {
        let names = self.series.filter(|names| names.is_valid(at))?;
        let ([(_, cells)], []) = (&*self.values, &*self.labels) else { return None };
        let (name, value) = (names.value(at), cells.value(at).ok()??);
        (self.own_series.is_empty() && !name.is_empty()).then_some((name, value))
    }

    fn time_ns(&self, at: usize) -> std::result::Result<i64, String> {
        if let Some((texts, Texts(reading))) = self.texts.filter(|(texts, _)| !texts.is_null(at)) {
            let text = texts.value(at);
            let shown = || text.chars().take(SHOWN_CHARS_MAX).collect::<String>();
            return reading(text)
                .map_err(|reason| format!("expected {reason}, found {:?}", shown()));
        }
        let unit_ns = self.layout.time_unit_ns;
        if let Some(time) = self.time.float_time(at) {
            return self.float_ns(time);
        }
        let time = self.time.time(at).ok_or("expected a time, found null")?;
        let is_whole = |time_ns: &i64| {
            self.seconds.as_ref().is_none_or(|seconds| int96::is_whole(seconds, at, *time_ns))
        };
        let rest_ns = self.rest.map_or(Ok(0), |rest| rest_ns(rest, at))?;
        // The first microsecond that has times is not all there.
        let time_ns = i128::from(time) * i128::from(unit_ns) + i128::from(rest_ns);
        let time_ns = i64::try_from(time_ns).ok().filter(is_whole);
        let time_ns = time_ns.ok_or("expected a time from 1677 to 2262, found one outside")?;
        if self.layout.unit_is_taken && !PLAUSIBLE_NS.contains(&time_ns) {
            let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
            let fits = |(_, ns): &(&str, i64)| {
                time.checked_mul(*ns).is_some_and(|time_ns| PLAUSIBLE_NS.contains(&time_ns))
            };
            let unit = units.iter().find(|unit| fits(unit)).map_or("ns", |(unit, _)| unit);
            return Err(format!(
                "expected an integer time that is nanoseconds of a year from 1980 to 2100, or its \
                 unit, found {time} (--precision {unit})"
            ));
        }
        match self.clock {
            Some(Clock(moment)) => moment(time_ns).map_err(|reason| {
                let shown = baro_show::rfc3339(time_ns);
                format!("expected {reason}, found {}", shown.trim_end_matches('Z'))
            }),
            None => Ok(time_ns),
        }
    }
}

impl Columns<'_> {
    fn float_ns(&self, time: Option<f64>) -> std::result::Result<i64, String> {
        let time = time.ok_or("expected a time, found null")?;
        if !time.is_finite() {
            return Err(format!("expected a time, found {time}"));
        }
        let time_ns = float_time_ns(time, self.layout.time_unit_ns);
        let is_plausible = time_ns.is_ok_and(|time_ns| PLAUSIBLE_NS.contains(&time_ns));
        if self.layout.unit_is_taken && !is_plausible {
            return Err(format!(
                "expected seconds of a year from 1980 to 2100, or their unit, found {time:?} \
                 (--precision s if it is right, else ms, us or ns)"
            ));
        }
        time_ns.map_err(|expected| format!("expected {expected}, found {time:?}"))
    }
}

/// Nanoseconds beside a time in microseconds.
fn rest_ns(rest: &Int16Array, at: usize) -> std::result::Result<i64, String> {
    let found = rest.is_valid(at).then(|| rest.value(at));
    found.filter(|ns| (0..1_000).contains(ns)).map(i64::from).ok_or_else(|| {
        let found = found.map_or_else(|| "null".to_owned(), |ns| ns.to_string());
        format!("expected 0 to 999 in column {REST}, nanoseconds beside a time in microseconds, found {found}")
    })
}

/// Whether a column has had another value of this time just before; takes this one.
fn is_said(last: &mut Option<(i64, Option<u64>)>, time_ns: i64, value: Value<'_>) -> bool {
    let found = (time_ns, bits(value));
    let before = last.replace(found);
    before.is_some_and(|(last_ns, bits)| last_ns == time_ns && (bits.is_none() || bits != found.1))
}

/// What is compared of a value; of texts nothing, they differ.
fn bits(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Float(value) => Some(value.to_bits()),
        Value::Integer(value) => Some(value.cast_unsigned()),
        Value::Unsigned(value) => Some(value),
        Value::Boolean(value) => Some(value.into()),
        Value::Text(_) => None,
    }
}

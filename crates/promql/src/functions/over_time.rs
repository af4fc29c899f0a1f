//! Functions of the samples of a range.

use super::rates;
use crate::sum::{Sum, mean, variance};

/// Samples of a series in a range, at least one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) times_ns: &'a [i64],
    pub(super) values: &'a [f64],
    /// The range begins behind this time.
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
}

/// Such a function.
#[derive(Clone, Copy)]
pub(super) struct OverTime {
    pub(super) of: fn(&Window<'_>) -> Option<f64>,
    /// What it gives is the value of the series itself, so its name stays.
    pub(super) keeps_name: bool,
}

pub(super) fn function(name: &str) -> Option<OverTime> {
    let of: fn(&Window<'_>) -> Option<f64> = match name {
        "avg_over_time" => |window| Some(mean(window.values)),
        "sum_over_time" => |window| Some(Sum::of(window.values.iter().copied())),
        "min_over_time" => |window| extreme(window, |value, least| value < least),
        "max_over_time" => |window| extreme(window, |value, most| value > most),
        "count_over_time" => |window| Some(window.values.len() as f64),
        "present_over_time" => |_| Some(1.0),
        "last_over_time" => |window| window.values.last().copied(),
        "first_over_time" => |window| window.values.first().copied(),
        "stdvar_over_time" => |window| Some(variance(window.values)),
        "stddev_over_time" => |window| Some(variance(window.values).sqrt()),
        "changes" => |window| {
            let changed = |pair: &&[f64]| match pair {
                [a, b] => a != b && !(a.is_nan() && b.is_nan()),
                _ => false,
            };
            Some(window.values.windows(2).filter(changed).count() as f64)
        },
        "resets" => |window| {
            let falls = |pair: &&[f64]| matches!(pair, [a, b] if b < a);
            Some(window.values.windows(2).filter(falls).count() as f64)
        },
        "rate" => |window| rates::extrapolated(window, true, true),
        "increase" => |window| rates::extrapolated(window, true, false),
        "delta" => |window| rates::extrapolated(window, false, false),
        "irate" => |window| rates::instant(window, true),
        "idelta" => |window| rates::instant(window, false),
        "deriv" => rates::slope,
        _ => return None,
    };
    let keeps_name = matches!(name, "first_over_time" | "last_over_time");
    Some(OverTime { of, keeps_name })
}

/// The value that goes before all others; NaN only where there is nothing else.
fn extreme(window: &Window<'_>, before: fn(f64, f64) -> bool) -> Option<f64> {
    let mut values = window.values.iter().copied();
    let first = values.next()?;
    Some(values.fold(
        first,
        |best, value| {
            if before(value, best) || best.is_nan() { value } else { best }
        },
    ))
}

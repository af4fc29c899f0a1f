//! Steps of time as they are asked for: of one length, or days and longer as the calendar of a zone has them.
//! Held by `steps_of_a_zone_are_those_of_its_calendar` (`tests/query.rs`).

use crate::size;
use baro_sources::{CalendarStep, CalendarUnit, Zone};
use baro_store::Steps;

const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 86_400 * SECOND_NS;

/// How long a step is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// Always so many nanoseconds.
    Fixed(u64),
    /// As the calendar says.
    Calendar(CalendarStep),
}

/// A step of time; 0 would mean the whole interval, which is asked for by leaving it out.
pub(super) fn length(text: &str) -> Result<Length, String> {
    if let Some(step) = CalendarStep::parse(text.trim()) {
        return Ok(Length::Calendar(step));
    }
    let expected = |found: String| {
        format!("{found} (of the calendar: such as 1d, 1w, 3mo or 1y, in whole numbers)")
    };
    match size::nanoseconds(text).map_err(expected)? {
        0 => Err(format!("expected a time above 0 such as 1s, found {text:?}")),
        step_ns => Ok(Length::Fixed(step_ns)),
    }
}

impl Length {
    /// About how long it is, and where its steps begin if that is not at multiples.
    pub(super) fn steps(
        self,
        zone: Option<Zone>,
        offset_ns: u64,
    ) -> Result<(u64, Option<Steps>), String> {
        let (length_ns, shortest) = match self {
            Length::Fixed(step_ns) => (step_ns, step_ns),
            Length::Calendar(step) => (step.usual_ns(), DAY_NS),
        };
        if offset_ns >= shortest {
            let (most, found) = (size::show_ns(shortest), size::show_ns(offset_ns));
            return Err(format!("--offset: expected less than {most}, found {found}"));
        }
        let steps = match (self, zone) {
            (Length::Fixed(_), Some(_)) => {
                return Err(
                    "--zone: expected a step of days, weeks, months or years (--every 1d), since \
                            shorter ones are the same in every zone (--offset moves them)"
                        .to_owned(),
                );
            }
            (Length::Fixed(_), None) if offset_ns == 0 => None,
            (Length::Fixed(step_ns), None) => {
                let (step, offset) = (i128::from(step_ns), i128::from(offset_ns));
                let clamped = |ns: i128| {
                    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
                };
                Some(Steps::new(move |time_ns| {
                    let time = i128::from(time_ns);
                    let begin = time - (time - offset).rem_euclid(step);
                    (clamped(begin), clamped(begin + step))
                }))
            }
            // The same as multiples.
            (Length::Calendar(step), None)
                if step.unit() == CalendarUnit::Day && offset_ns == 0 =>
            {
                None
            }
            (Length::Calendar(step), zone) => {
                let later_s = offset_ns / SECOND_NS;
                if later_s * SECOND_NS != offset_ns {
                    let found = size::show_ns(offset_ns);
                    return Err(format!(
                        "--offset: expected whole seconds for steps of the calendar, found {found}"
                    ));
                }
                let (zone, later_s) =
                    (zone.unwrap_or(Zone::Ahead(0)), i64::try_from(later_s).unwrap_or(0));
                Some(Steps::new(move |time_ns| step.around(time_ns, zone, later_s)))
            }
        };
        Ok((length_ns, steps))
    }
}

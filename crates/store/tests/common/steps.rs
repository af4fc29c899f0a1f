//! What steps of a series come to, by what the aggregates are said to be: from all samples, in the
//! plainest way, with integers of 128 bits where they are integers.

use baro_store::{Aggregate, Fill, Interval};

/// A sample: its time, as a float and, of an integer series, exactly.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub time_ns: i64,
    pub float: f64,
    pub integer: Option<i128>,
}

/// What is asked of a series.
pub struct Asked<'a> {
    pub interval: Interval,
    pub aggregate: Aggregate,
    pub fill: Option<Fill>,
    /// Begin and end of the step of a time.
    pub step_of: &'a dyn Fn(i64) -> (i64, i64),
}

/// A row: begin of its step, value, and how far off another way of computing it may be.
pub type Row = (i64, f64, f64);

/// Begin of a step, its row, and what empty steps behind it have.
type Step = (i64, Option<Row>, Option<(f64, f64)>);

/// Rows of a series whose samples, sorted, are these; also those before the interval.
pub fn rows(all: &[Sample], asked: &Asked<'_>) -> Vec<Row> {
    let Interval { from_ns, to_ns } = asked.interval;
    let inside: Vec<Sample> =
        all.iter().copied().filter(|one| asked.interval.holds(one.time_ns)).collect();
    let follows = |one: &Sample| !asked.looks_back() || !one.float.is_nan();
    let earlier = all.iter().copied().rfind(|one| one.time_ns < from_ns && follows(one));
    let mut before = earlier;
    let mut found: Vec<Step> = Vec::new();
    for step in inside.chunk_by(|a, b| (asked.step_of)(a.time_ns).0 == (asked.step_of)(b.time_ns).0)
    {
        let (start_ns, end_ns) = (asked.step_of)(step[0].time_ns);
        let step: Vec<Sample> = step.iter().copied().filter(follows).collect();
        let times = (start_ns.max(from_ns), end_ns.min(to_ns));
        let value = asked.value(before, &step, times);
        before = step.last().copied().or(before);
        let row = value.map(|(value, off)| (start_ns, value, off));
        let held = match asked.aggregate {
            Aggregate::TimeMean => before.map(|one| (one.float, 0.0)),
            _ => value,
        };
        found.push((start_ns, row, held));
    }
    let Some(fill) = asked.fill else {
        return found.into_iter().filter_map(|(_, row, _)| row).collect();
    };
    // What empty steps have, from which step on.
    let mut filled = match fill {
        Fill::Zero => (from_ns > i64::MIN).then(|| ((asked.step_of)(from_ns).0, Some((0.0, 0.0)))),
        Fill::Previous => earlier
            .filter(|_| asked.is_value())
            .map(|one| ((asked.step_of)(from_ns).0, Some((one.float, 0.0)))),
    };
    let mut rows = Vec::new();
    let fill_until =
        |filled: &mut Option<(i64, Option<(f64, f64)>)>, until_ns: i64, rows: &mut Vec<Row>| {
            let Some((next_ns, Some(value))) = filled else { return };
            while *next_ns < until_ns {
                rows.push((*next_ns, value.0, value.1));
                *next_ns = (asked.step_of)(*next_ns).1;
            }
        };
    for (start_ns, row, held) in found {
        // What has nothing to say is filled like an empty one.
        if row.is_none() {
            continue;
        }
        fill_until(&mut filled, start_ns, &mut rows);
        rows.extend(row);
        let held = if fill == Fill::Zero { Some((0.0, 0.0)) } else { held };
        filled = Some(((asked.step_of)(start_ns).1, held));
    }
    if to_ns < i64::MAX {
        fill_until(&mut filled, to_ns, &mut rows);
    }
    rows
}

impl Asked<'_> {
    fn is_value(&self) -> bool {
        use Aggregate::{Count, Delta, Increase, Rate, Stddev, Sum};
        !matches!(self.aggregate, Count | Sum | Stddev | Increase | Rate | Delta)
    }

    fn looks_back(&self) -> bool {
        use Aggregate::{Delta, Increase, Rate, TimeMean};
        matches!(self.aggregate, Increase | Rate | Delta | TimeMean)
    }

    /// Value of a step, and how far off it may be.
    fn value(
        &self,
        before: Option<Sample>,
        step: &[Sample],
        (start_ns, end_ns): (i64, i64),
    ) -> Option<(f64, f64)> {
        let (first, last) = (step.first()?, step.last()?);
        let count = step.len() as f64;
        let mut floats: Vec<f64> = step.iter().map(|one| one.float).collect();
        let size = |of: &[Sample]| of.iter().map(|one| one.float.abs()).fold(0.0, f64::max);
        let largest = size(step).max(before.map_or(0.0, |one| one.float.abs()));
        let off = largest * 1e-9;
        let exactly = |value: f64| Some((value, value.abs() * 1e-9));
        let integers: Option<Vec<i128>> = step.iter().map(|one| one.integer).collect();
        match self.aggregate {
            Aggregate::Mean => Some((floats.iter().sum::<f64>() / count, off)),
            Aggregate::Sum => Some((
                match &integers {
                    Some(integers) => integers.iter().sum::<i128>() as f64,
                    None => floats.iter().sum(),
                },
                off * count,
            )),
            Aggregate::Min => exactly(floats.into_iter().fold(f64::NAN, f64::min)),
            Aggregate::Max => exactly(floats.into_iter().fold(f64::NAN, f64::max)),
            Aggregate::Count => exactly(count),
            Aggregate::First => exactly(first.float),
            Aggregate::Last => exactly(last.float),
            Aggregate::Percentile(millionths) => {
                floats.sort_by(by_size);
                // The smallest that so many do not exceed.
                let needed = count * f64::from(millionths) / 1e6;
                let at = (0..floats.len()).find(|at| (at + 1) as f64 >= needed - 1e-9).unwrap();
                exactly(floats[at])
            }
            Aggregate::Median => {
                floats.sort_by(by_size);
                let half = floats.len() / 2;
                let other =
                    if floats.len().is_multiple_of(2) { floats[half - 1] } else { floats[half] };
                Some((other / 2.0 + floats[half] / 2.0, off))
            }
            Aggregate::Stddev => {
                let mean = floats.iter().sum::<f64>() / count;
                let squares: f64 = floats.iter().map(|value| (value - mean).powi(2)).sum();
                Some(((squares / count).sqrt(), largest * 1e-6))
            }
            Aggregate::Increase | Aggregate::Delta | Aggregate::Rate => {
                let all: Vec<Sample> = before.into_iter().chain(step.iter().copied()).collect();
                let falls = self.aggregate != Aggregate::Delta;
                let (mut rise, mut exact) = (0.0, 0_i128);
                for pair in all.windows(2) {
                    let (was, is) = (pair[0], pair[1]);
                    let reset = falls && is.float < was.float;
                    rise += if reset { is.float.max(0.0) } else { is.float - was.float };
                    if let (Some(was), Some(is)) = (was.integer, is.integer) {
                        exact += if falls && is < was { is.max(0) } else { is - was };
                    }
                }
                let rise = if first.integer.is_some() { exact as f64 } else { rise };
                let off = off * (1.0 + all.len() as f64);
                if self.aggregate != Aggregate::Rate {
                    return Some((rise, off));
                }
                let seconds = (last.time_ns - all[0].time_ns) as f64 / 1e9;
                (seconds > 0.0).then(|| (rise / seconds, off / seconds))
            }
            Aggregate::TimeMean => {
                let mut held: Vec<(i64, f64)> =
                    before.into_iter().map(|one| (start_ns, one.float)).collect();
                held.extend(step.iter().map(|one| (one.time_ns, one.float)));
                held.push((if end_ns == i64::MAX { last.time_ns } else { end_ns }, 0.0));
                let lengths = held.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64);
                let total: f64 = lengths.clone().sum();
                let area: f64 = held.iter().zip(lengths).map(|(one, ns)| one.1 * ns).sum();
                Some((if total > 0.0 { area / total } else { last.float }, off))
            }
        }
    }
}

/// NaN is the largest, whatever its sign.
fn by_size(a: &f64, b: &f64) -> std::cmp::Ordering {
    a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b))
}

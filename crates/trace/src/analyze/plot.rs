//! Plots of characters: bars, and a value over time.
//!
//! Small ones for a terminal; the bench has its own for results, which this crate cannot know.
//!
//! Invariant: any values give at most the lines and columns asked for. Held by
//! `curves_keep_minimum_and_maximum_of_each_column`.

use super::show;

/// Columns of a time line.
pub(super) const WIDTH: usize = 72;
/// Lines of a curve.
const HEIGHT: u64 = 8;
/// Characters of the longest bar.
const BAR: u64 = 40;

/// A bar of `value`, the longest of which is for `max`; a value that is not 0 has at least a dot.
pub(super) fn bar(value: u64, max: u64) -> String {
    let length = (u128::from(value) * u128::from(BAR) / u128::from(max.max(1))) as usize;
    match length {
        0 if value > 0 => ".".to_owned(),
        _ => "#".repeat(length.min(BAR as usize)),
    }
}

/// The column of a time.
pub(super) fn column(time_ns: u64, (begin_ns, end_ns): (u64, u64)) -> usize {
    let span_ns = u128::from(end_ns.saturating_sub(begin_ns)) + 1;
    let since_ns = u128::from(time_ns.saturating_sub(begin_ns));
    ((since_ns * WIDTH as u128 / span_ns) as usize).min(WIDTH - 1)
}

/// The times at which a column begins and ends.
pub(super) fn bounds(column: usize, (begin_ns, end_ns): (u64, u64)) -> (u64, u64) {
    let span_ns = u128::from(end_ns.saturating_sub(begin_ns)) + 1;
    let at_ns = |column: usize| {
        begin_ns.saturating_add((span_ns * column as u128).div_ceil(WIDTH as u128) as u64)
    };
    (at_ns(column), at_ns(column + 1))
}

/// Tells each column that an interval reaches into, and how much of it lies there.
pub(super) fn spread(from_ns: u64, to_ns: u64, span: (u64, u64), mut each: impl FnMut(usize, u64)) {
    let (from_ns, to_ns) = (from_ns.max(span.0), to_ns.min(span.1));
    if from_ns > to_ns {
        return;
    }
    for one in column(from_ns, span)..=column(to_ns, span) {
        let (begin_ns, end_ns) = bounds(one, span);
        each(one, to_ns.min(end_ns).saturating_sub(from_ns.max(begin_ns)));
    }
}

/// A value that holds from its time on, as a curve from the first to the last time: `#` up to the
/// least value of a column, `:` up to the greatest. Points are in the order of time; columns before
/// the first are empty.
pub(super) fn curve(points: &[(u64, u64)], span: (u64, u64), max: u64) -> String {
    let mut columns: Vec<Option<(u64, u64)>> = vec![None; WIDTH];
    let mut last = None;
    let mut filled = 0;
    for (time_ns, value) in points {
        let here = column(*time_ns, span);
        // What was before holds up to here, and at the beginning of this column.
        if let Some(value) = last {
            let until = columns.iter_mut().take(here + 1).skip(filled);
            until.for_each(|one| *one = Some(one.map_or((value, value), |has| widen(has, value))));
        }
        if let Some(one) = columns.get_mut(here) {
            *one = Some(one.map_or((*value, *value), |has| widen(has, *value)));
        }
        (last, filled) = (Some(*value), here + 1);
    }
    if let Some(value) = last {
        columns.iter_mut().skip(filled).for_each(|one| *one = Some((value, value)));
    }
    let max = max.max(1);
    let label = show::count(max);
    let mut text = String::new();
    for line in (0..HEIGHT).rev() {
        // A line has what reaches above its lower edge.
        let reaches = |value: u64| {
            u128::from(value) * u128::from(HEIGHT) > u128::from(line) * u128::from(max)
        };
        let mark = |one: &Option<(u64, u64)>| match one {
            Some((low, _)) if reaches(*low) => '#',
            Some((_, high)) if reaches(*high) => ':',
            _ => ' ',
        };
        let left = match line {
            0 => "0",
            _ if line + 1 == HEIGHT => &label,
            _ => "",
        };
        let row: String = columns.iter().map(mark).collect();
        text.push_str(format!("{left:>12} |{}", row).trim_end());
        text.push('\n');
    }
    text.push_str(&axis(span));
    text
}

fn widen((low, high): (u64, u64), value: u64) -> (u64, u64) {
    (low.min(value), high.max(value))
}

/// The line of times below a plot of [`WIDTH`] columns.
pub(super) fn axis((begin_ns, end_ns): (u64, u64)) -> String {
    let right = show::at(end_ns.saturating_sub(begin_ns));
    format!("{:>12} +{}\n{:>14}0 s{right:>69}\n", "", "-".repeat(WIDTH), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_keep_minimum_and_maximum_of_each_column() {
        let points: Vec<(u64, u64)> = vec![(0, 100), (36, 100), (36, 0), (36, 50)];
        let text = curve(&points, (0, 71), 100);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 10, "{text}");
        assert_eq!(lines[0], format!("{:>12} |{}:", "100", "#".repeat(36)));
        assert_eq!(lines[7], format!("{:>12} |{}:{}", "0", "#".repeat(36), "#".repeat(35)));
        assert!(lines.iter().all(|line| line.len() <= 14 + WIDTH), "{text}");
        assert_eq!(curve(&[], (0, 0), 0).lines().count(), 10);
        assert_eq!(curve(&[(5, u64::MAX)], (9, 3), u64::MAX).lines().count(), 10);
    }

    #[test]
    fn bars_show_what_is_little() {
        assert_eq!(bar(0, 10), "");
        assert_eq!(bar(1, 1_000_000), ".");
        assert_eq!(bar(u64::MAX, u64::MAX).len(), 40);
        assert_eq!(bar(5, 0).len(), 40);
    }
}

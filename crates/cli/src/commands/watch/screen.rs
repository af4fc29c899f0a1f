//! The page of a watch: pure text of so many lines and columns.

use super::seen::{STEPS, Seen, Value};
use baro_command::fitted;
use baro_ondisk::written_name;
use baro_show::{bytes, duration, number, terminal};
use baro_store::Selection;
use serde_json::json;

/// Lines above the series.
const HEAD: usize = 4;
/// Columns of a line that neither name nor value nor unit takes, nor how the values went; and the last one.
const BESIDE: usize = 17;

/// What is told of the recorder, beside the series.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub(super) store: String,
    /// Who records; 0 where that is not told.
    pub(super) recorder: Option<u32>,
    /// Bytes in the rings that are not durable yet, of so many.
    pub(super) waiting_bytes: u64,
    pub(super) ring_bytes: u64,
    /// Percent of the last ten seconds in which some task waited for a disk.
    pub(super) disk_pressure: Option<f64>,
    /// How old the newest sample is.
    pub(super) age_ns: Option<i64>,
}

/// All that a step shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub(super) head: &'a Head,
    pub(super) seen: &'a Seen,
    pub(super) selection: &'a Selection,
    pub(super) shown: &'a [usize],
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) value: String,
    pub(super) json: serde_json::Value,
    pub(super) time_ns: Option<i64>,
    pub(super) rate: f64,
    spark: String,
}

/// Series that a page of so many lines has.
pub(super) fn rows(lines: usize) -> usize {
    lines.saturating_sub(HEAD + 1)
}

impl Page<'_> {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.shown.iter().filter_map(|place| {
            let column = self.selection.columns().get(*place)?;
            let row = self.seen.row(*place);
            let last = row.and_then(|row| row.last.as_ref());
            Some(Line {
                name: written_name(&column.name).into_owned(),
                unit: column.unit.clone(),
                value: last.map_or("-".to_owned(), |(_, value)| shown(value)),
                json: last.map_or(serde_json::Value::Null, |(_, value)| as_json(value)),
                time_ns: last.map(|(time_ns, _)| *time_ns),
                rate: row.map_or(0.0, |row| row.rate),
                spark: spark(self.seen.history(*place)),
            })
        })
    }

    /// The page for a terminal, with what puts it in its place. The last line stays empty: one that is full
    /// would scroll.
    pub(super) fn drawn(&self, columns: usize, lines: usize) -> Vec<u8> {
        let mut page = String::from("\x1b[H");
        for line in self.text(columns).into_iter().take(lines.saturating_sub(1)) {
            page.push_str(&fitted(&terminal(&line, '?'), columns));
            page.push_str("\x1b[K\r\n");
        }
        page.push_str("\x1b[J");
        page.into_bytes()
    }

    fn text(&self, columns: usize) -> Vec<String> {
        let Head { store, recorder, waiting_bytes, ring_bytes, disk_pressure, age_ns } = self.head;
        let recorder = recorder
            .map_or("nobody records".to_owned(), |pid| format!("recorded by process {pid}"));
        let mut facts = vec![format!("{} samples/s", number(self.seen.rate, 1))];
        facts.push(format!("lost {}", self.seen.lost));
        if let Some(age_ns) = age_ns {
            let age = duration(u64::try_from(*age_ns).unwrap_or(0));
            facts.push(format!("newest {age} ago"));
        }
        if *ring_bytes > 0 {
            facts.push(format!("ring {} of {}", bytes(*waiting_bytes), bytes(*ring_bytes)));
        }
        facts.extend(disk_pressure.map(|percent| format!("disk pressure {percent:.0} %")));
        let rows: Vec<Line> = self.lines().collect();
        let widest = |of: fn(&Line) -> &str, least: usize, most: usize| {
            let widest = rows.iter().map(|line| of(line).chars().count()).max().unwrap_or(0);
            widest.clamp(least, most.max(least))
        };
        let name = widest(|line| &line.name, 6, columns / 3);
        let value = widest(|line| &line.value, 5, 20);
        let unit = widest(|line| &line.unit, 0, 10);
        let mut text = vec![format!("{store}  {recorder}"), facts.join("   "), String::new()];
        text.push(format!(
            "{:<name$}  {:>value$} {:<unit$} {:>10}  values",
            "series", "value", "", "samples/s"
        ));
        // Of values those that came last have room.
        let room = columns.saturating_sub(name + value + unit + BESIDE);
        text.extend(rows.iter().map(|line| {
            let before = line.spark.chars().count().saturating_sub(room);
            let spark: String = line.spark.chars().skip(before).collect();
            format!(
                "{:<name$}  {:>value$} {:<unit$} {:>10}  {}",
                fitted(&line.name, name + 1),
                fitted(&line.value, value + 1),
                fitted(&line.unit, unit + 1),
                number(line.rate, 1),
                spark
            )
        }));
        text
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(value) => format!("{value}"),
        Value::Integer(value) => value.to_string(),
        Value::Unsigned(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Frame(length) => format!("{length} B"),
    }
}

fn as_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Number(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Unsigned(value) => json!(value),
        Value::Boolean(value) => json!(value),
        Value::Text(text) => json!(text),
        Value::Frame(length) => json!({ "bytes": length }),
    }
}

/// Values as bars, from the least to the greatest; a blank where none came.
fn spark(values: impl Iterator<Item = Option<f64>>) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let values: Vec<Option<f64>> = values.take(STEPS).collect();
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.iter().flatten() {
        (least, greatest) = (least.min(*value), greatest.max(*value));
    }
    let span = greatest - least;
    let bar = |value: f64| {
        let share = if span > 0.0 { (value - least) / span } else { 0.0 };
        BARS.get((share * 7.0).round() as usize).copied().unwrap_or('█')
    };
    values.into_iter().map(|value| value.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_bars() {
        assert_eq!(spark([Some(1.0), None, Some(2.0), Some(1.5)].into_iter()), "▁ █▅");
        assert_eq!(spark([Some(3.0), Some(3.0)].into_iter()), "▁▁");
        assert_eq!(spark([Some(f64::MIN), Some(f64::MAX)].into_iter()).chars().count(), 2);
        assert_eq!(spark(std::iter::empty()), "");
    }
}

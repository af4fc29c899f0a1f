//! What a picture has to show: a fold over all samples, written as plainly as can be.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Samples of one series: time and value.
pub(crate) type Samples = Vec<(i64, f64)>;

/// A column as the server tells it.
fn told(values: &[f64]) -> Value {
    let numbers = values.iter().copied().filter(|value| !value.is_nan());
    let min = numbers.clone().fold(f64::INFINITY, f64::min);
    let max = numbers.fold(f64::NEG_INFINITY, f64::max);
    let or_null = |value: f64| if value.is_nan() { Value::Null } else { json!(value) };
    match min <= max {
        true => json!([min, max, or_null(values[0]), or_null(values[values.len() - 1])]),
        false => Value::Null,
    }
}

/// Columns with samples, by number, of `step_ns` each.
pub(crate) fn columns(samples: &[(i64, f64)], step_ns: i64) -> BTreeMap<i64, Value> {
    let mut found: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    let mut samples = samples.to_vec();
    samples.sort_by_key(|(time_ns, _)| *time_ns);
    for (time_ns, value) in samples {
        found.entry(time_ns.div_euclid(step_ns)).or_default().push(value);
    }
    let found = found.into_iter().map(|(number, values)| (number, told(&values)));
    found.filter(|(_, column)| !column.is_null()).collect()
}

/// A column of an answer, all four of its values written out; integers as floats.
pub(crate) fn four(column: &Value) -> Value {
    let float =
        |value: &Value| if value.is_null() { Value::Null } else { json!(value.as_f64().unwrap()) };
    match column {
        Value::Null => Value::Null,
        Value::Array(values) => Value::Array(values.iter().map(float).collect()),
        one => Value::Array(vec![float(one); 4]),
    }
}

/// The columns of a window's answer with samples, by number.
pub(crate) fn of_window(told: &Value, series: usize) -> BTreeMap<i64, Value> {
    let first = told["first"].as_i64().unwrap();
    let values = told["series"][series]["values"].as_array().unwrap();
    assert_eq!(values.len() as i64, told["columns"].as_i64().unwrap());
    let numbered = values.iter().enumerate().map(|(at, column)| (first + at as i64, four(column)));
    numbered.filter(|(_, column)| !column.is_null()).collect()
}

/// Puts what a viewer is told to what he has, as the page does.
pub(crate) fn join(to: &mut BTreeMap<i64, Value>, told: &Value) {
    for entry in told.as_array().unwrap() {
        let (number, new) = (entry[0].as_i64().unwrap(), four(&entry[1]));
        let Some(old) = to.get_mut(&number) else {
            to.insert(number, new);
            continue;
        };
        let number = |of: &Value, at: usize| of[at].as_f64().unwrap();
        let min = number(old, 0).min(number(&new, 0));
        let max = number(old, 1).max(number(&new, 1));
        *old = json!([min, max, old[2], new[3]]);
    }
}

/// Numbers that look random and are the same each time (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

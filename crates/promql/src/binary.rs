//! Operators of two sides.

use crate::column::{ABSENT, Series, Value, is_absent, merged, nameless};
use crate::error::{Result, execution, unsupported};
use crate::evaluate::Evaluation;
use crate::labels::Labels;
use crate::matching::Matching;
use crate::query::Times;
use crate::source::SERIES_VALUES;
use promql_parser::parser::{BinaryExpr, VectorMatchFillValues};
use std::collections::HashMap;

/// What an operator does with two numbers.
#[derive(Clone, Copy)]
enum Operator {
    /// Makes another.
    Makes(fn(f64, f64) -> f64),
    /// Holds of them or not.
    Compares(fn(f64, f64) -> bool),
}

fn operator(name: &str) -> Option<Operator> {
    use Operator::{Compares, Makes};
    Some(match name {
        "+" => Makes(|a, b| a + b),
        "-" => Makes(|a, b| a - b),
        "*" => Makes(|a, b| a * b),
        "/" => Makes(|a, b| a / b),
        "%" => Makes(|a, b| a % b),
        "^" => Makes(f64::powf),
        "atan2" => Makes(f64::atan2),
        "==" => Compares(|a, b| a == b),
        "!=" => Compares(|a, b| a != b),
        ">" => Compares(|a, b| a > b),
        "<" => Compares(|a, b| a < b),
        ">=" => Compares(|a, b| a >= b),
        "<=" => Compares(|a, b| a <= b),
        _ => return None,
    })
}

impl Operator {
    /// The result of two numbers; absent where a comparison does not hold. `kept` is what stays
    /// where it holds.
    fn of(self, a: f64, b: f64, kept: f64, is_bool: bool) -> f64 {
        match self {
            Operator::Makes(of) => of(a, b),
            Operator::Compares(of) if is_bool => f64::from(u8::from(of(a, b))),
            Operator::Compares(of) if of(a, b) => kept,
            Operator::Compares(_) => ABSENT,
        }
    }

    /// Whether what stays is the value of a series as it is.
    fn keeps_name(self, is_bool: bool) -> bool {
        matches!(self, Operator::Compares(_)) && !is_bool
    }
}

impl Evaluation<'_> {
    pub(crate) fn binary(&mut self, binary: &BinaryExpr, times: &Times) -> Result<Value> {
        let name = binary.op.to_string();
        let modifier = binary.modifier.as_ref();
        if modifier.is_some_and(|found| found.fill_values != VectorMatchFillValues::default()) {
            return unsupported("the experimental modifier fill");
        }
        let left = self.value(&binary.lhs, times)?;
        let right = self.value(&binary.rhs, times)?;
        let is_bool = binary.return_bool();
        let Some(operator) = operator(&name) else {
            let (Value::Vector(left), Value::Vector(right)) = (left, right) else {
                return execution(format!("{name} is of instant vectors"));
            };
            let matching = Matching::of(modifier);
            return match name.as_str() {
                "and" => Ok(Value::Vector(filtered(left, &right, &matching, true))),
                "unless" => Ok(Value::Vector(filtered(left, &right, &matching, false))),
                "or" => Ok(Value::Vector(either(left, right, &matching))),
                _ => unsupported(format!("the operator {name}")),
            };
        };
        match (left, right) {
            (Value::Scalar(mut left), Value::Scalar(right)) => {
                for (a, b) in left.iter_mut().zip(right) {
                    // Between numbers a comparison is `bool`: the parser sees to it.
                    *a = operator.of(*a, b, *a, true);
                }
                Ok(Value::Scalar(left))
            }
            (Value::Vector(series), Value::Scalar(numbers)) => {
                by_scalar(series, &numbers, operator, is_bool, |value, number| {
                    operator.of(value, number, value, is_bool)
                })
            }
            (Value::Scalar(numbers), Value::Vector(series)) => {
                by_scalar(series, &numbers, operator, is_bool, |value, number| {
                    operator.of(number, value, value, is_bool)
                })
            }
            (Value::Vector(left), Value::Vector(right)) => {
                let matching = Matching::of(modifier);
                let mut charge = || self.charge(SERIES_VALUES + times.count());
                matched(left, right, &matching, operator, is_bool, &mut charge).map(Value::Vector)
            }
            _ => execution(format!("{name} is not of texts")),
        }
    }
}

/// Each value with the number of its step.
fn by_scalar(
    mut series: Vec<Series>,
    numbers: &[f64],
    operator: Operator,
    is_bool: bool,
    of: impl Fn(f64, f64) -> f64,
) -> Result<Value> {
    for one in &mut series {
        for (value, number) in one.values.iter_mut().zip(numbers) {
            if !is_absent(*value) {
                *value = of(*value, *number);
            }
        }
    }
    let series = if operator.keeps_name(is_bool) { series } else { nameless(series)? };
    Ok(Value::Vector(series))
}

/// Series by what they have in common with those of the other side.
fn groups<'a>(series: &'a [Series], matching: &Matching) -> HashMap<Labels, Vec<&'a Series>> {
    let mut groups: HashMap<Labels, Vec<&Series>> = HashMap::new();
    for one in series {
        groups.entry(matching.signature(&one.labels)).or_default().push(one);
    }
    groups
}

/// Steps at which any series of a group has a value, so that no series need be looked at twice.
fn presence(series: &[Series], matching: &Matching) -> HashMap<Labels, Vec<bool>> {
    let mut groups: HashMap<Labels, Vec<bool>> = HashMap::new();
    for one in series {
        let there = groups.entry(matching.signature(&one.labels)).or_default();
        there.resize(there.len().max(one.values.len()), false);
        for (there, value) in there.iter_mut().zip(&one.values) {
            *there |= !is_absent(*value);
        }
    }
    groups
}

fn is_there(group: Option<&Vec<bool>>, step: usize) -> bool {
    group.and_then(|there| there.get(step)).is_some_and(|there| *there)
}

/// `and`, `unless`: values of the left side where the other side has one, or has none.
fn filtered(
    mut left: Vec<Series>,
    right: &[Series],
    matching: &Matching,
    there: bool,
) -> Vec<Series> {
    let right = presence(right, matching);
    for one in &mut left {
        let others = right.get(&matching.signature(&one.labels));
        for (step, value) in one.values.iter_mut().enumerate() {
            if is_there(others, step) != there {
                *value = ABSENT;
            }
        }
    }
    left
}

/// `or`: the left side, and values of the other where that has none.
fn either(left: Vec<Series>, mut right: Vec<Series>, matching: &Matching) -> Vec<Series> {
    {
        let left = presence(&left, matching);
        for one in &mut right {
            let others = left.get(&matching.signature(&one.labels));
            for (step, value) in one.values.iter_mut().enumerate() {
                if is_there(others, step) {
                    *value = ABSENT;
                }
            }
        }
    }
    // One series may be on either side, at other steps.
    let mut all = left;
    let mut places: HashMap<Labels, usize> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        places.entry(one.labels.clone()).or_insert(at);
    }
    for one in right {
        match places.get(&one.labels).and_then(|at| all.get_mut(*at)) {
            Some(first) => {
                for (to, from) in first.values.iter_mut().zip(one.values) {
                    if is_absent(*to) {
                        *to = from;
                    }
                }
            }
            None => all.push(one),
        }
    }
    all
}

/// Each series of the many with that of the other side which goes with it; `charge` before each result.
fn matched(
    left: Vec<Series>,
    right: Vec<Series>,
    matching: &Matching,
    operator: Operator,
    is_bool: bool,
    charge: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<Series>> {
    let swapped = matching.many.as_ref().is_some_and(|many| many.right);
    let (many, one) = if swapped { (right, left) } else { (left, right) };
    let ones = groups(&one, matching);
    let mut found: Vec<Series> = Vec::new();
    // Steps at which there is a result: of one to one by what both have in common, else by its labels.
    let mut taken: HashMap<Labels, Vec<bool>> = HashMap::new();
    let is_one_to_one = matching.many.is_none();
    // Twice on the side of the one: an error as soon as the other side has anything there.
    let anything: Vec<bool> = match many.first() {
        None => Vec::new(),
        Some(first) => {
            let there = |step: usize| {
                many.iter().any(|one| one.values.get(step).is_some_and(|value| !is_absent(*value)))
            };
            (0..first.values.len()).map(there).collect()
        }
    };
    for others in ones.values().filter(|others| others.len() > 1) {
        for step in anything.iter().enumerate().filter(|(_, any)| **any).map(|(step, _)| step) {
            let there = |one: &&&Series| one.values.get(step).is_some_and(|v| !is_absent(*v));
            if others.iter().filter(there).count() > 1 {
                let side = if swapped { "left" } else { "right" };
                return execution(format!(
                    "found duplicate series for the match group on the {side} hand-side of the \
                     operation: many-to-many matching not allowed: matching labels must be unique on \
                     one side"
                ));
            }
        }
    }
    for of_many in &many {
        let signature = matching.signature(&of_many.labels);
        let Some(others) = ones.get(&signature) else { continue };
        let keeps_name = operator.keeps_name(is_bool);
        for other in others {
            charge()?;
            let mut values = Vec::with_capacity(of_many.values.len());
            let labels = matching.result(&of_many.labels, &other.labels, keeps_name);
            let key = if is_one_to_one { signature.clone() } else { labels.clone() };
            let taken = taken.entry(key).or_insert_with(|| vec![false; of_many.values.len()]);
            for (step, (many, one)) in of_many.values.iter().zip(&other.values).enumerate() {
                if is_absent(*many) || is_absent(*one) {
                    values.push(ABSENT);
                    continue;
                }
                let (a, b) = if swapped { (*one, *many) } else { (*many, *one) };
                // Also where the comparison does not hold: Prometheus looks at the labels first.
                let before = taken.get_mut(step).map(|taken| std::mem::replace(taken, true));
                if before == Some(true) {
                    return execution(match is_one_to_one {
                        true => {
                            "multiple matches for labels: many-to-one matching must be explicit \
                             (group_left/group_right)"
                        }
                        false => {
                            "multiple matches for labels: grouping labels must ensure unique matches"
                        }
                    });
                }
                let value = operator.of(a, b, a, is_bool);
                values.push(value);
            }
            if values.iter().any(|value| !is_absent(*value)) {
                found.push(Series { labels, values });
            }
        }
    }
    merged(found)
}

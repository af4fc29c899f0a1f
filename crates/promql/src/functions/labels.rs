//! Functions that make labels.

use crate::column::{Series, Value, merged};
use crate::error::{Error, Result, execution};
use crate::re2::from_re2;
use regex::Regex;

/// Bytes of a pattern's program.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Sets a label from the parts of another that a pattern finds.
pub(super) fn replace(mut series: Vec<Series>, texts: [Result<String>; 4]) -> Result<Value> {
    let [to, replacement, from, pattern] = texts;
    let (to, replacement, from, pattern) = (to?, replacement?, from?, pattern?);
    let whole = format!("^(?s:{})$", from_re2(&pattern));
    let built = regex::RegexBuilder::new(&whole).size_limit(PATTERN_BYTES_MAX).build();
    let pattern: Regex = built.map_err(|error| {
        Error::Execution(format!(
            "invalid regular expression in label_replace(): {pattern}: {error}"
        ))
    })?;
    is_name(&to, "label_replace")?;
    for one in &mut series {
        let found = one.labels.get(&from).to_owned();
        let Some(parts) = pattern.captures(&found) else { continue };
        let mut value = String::new();
        parts.expand(&replacement, &mut value);
        one.labels.set(&to, value);
    }
    merged(series).map(Value::Vector)
}

/// Sets a label to the values of others, with a text between them.
pub(super) fn join(
    mut series: Vec<Series>,
    to: &str,
    between: &str,
    from: &[String],
) -> Result<Value> {
    is_name(to, "label_join")?;
    for name in from {
        is_name(name, "label_join")?;
    }
    for one in &mut series {
        let values: Vec<&str> = from.iter().map(|name| one.labels.get(name)).collect();
        let value = values.join(between);
        one.labels.set(to, value);
    }
    merged(series).map(Value::Vector)
}

/// Any text is a label's name now, but the empty one.
fn is_name(name: &str, of: &str) -> Result<()> {
    match name.is_empty() {
        true => execution(format!("invalid label name in {of}(): {name:?}")),
        false => Ok(()),
    }
}

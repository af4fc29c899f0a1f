//! Labels of a name: `temp{site="a",line="3"}` is `temp` with two of them.
//!
//! Only for what is told about a series in a file's metadata: a name that is written another way is
//! a name without labels, never an error.

/// The labels of a name, in the order in which they stand; empty if it has none, or if what is
/// between the braces is not of this form.
pub(crate) fn of(name: &str) -> Vec<(&str, String)> {
    let inner = name.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}'));
    inner.and_then(all).unwrap_or_default()
}

fn all(mut rest: &str) -> Option<Vec<(&str, String)>> {
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        labels.push((key.trim(), value));
        rest = after.strip_prefix(',').unwrap_or(after);
        if after.len() == rest.len() && !rest.is_empty() {
            return None;
        }
    }
    Some(labels)
}

/// The text up to a quote that no backslash stands before, and what follows the quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn labels_are_taken_apart_and_other_names_have_none() {
        let two = [("site", "a,b".to_owned()), ("line", "3\"".to_owned())];
        assert_eq!(of(r#"temp{site="a,b",line="3\""}"#), two);
        for none in
            ["temp", "temp{}", "temp{a}", "temp{a=\"b}", "temp{a=\"b\"c=\"d\"}", "a{b=\"c\"}d"]
        {
            assert!(of(none).is_empty(), "{none}");
        }
    }
}

//! Labels of a name: `temp{site="a",line="3"}` is `temp` with two of them.
//!
//! Only for what is told about a series in a file's metadata: a name that is written another way is
//! a name without labels, never an error.

use baro_ondisk::NameParser;

/// The labels of a name, by rising name; empty if it has none, or is no name with labels.
pub(crate) fn of(name: &str) -> Vec<(String, String)> {
    let mut parser = NameParser::new();
    parser.parse(name);
    let labels = (0..parser.len()).filter_map(|at| parser.label_at(name, at));
    labels.map(|(label, value)| (label.into_owned(), value.into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn labels_are_taken_apart_and_other_names_have_none() {
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let two = [label("line", "3\""), label("site", "a,b")];
        assert_eq!(of(r#"temp{site="a,b",line="3\""}"#), two);
        assert_eq!(of(r#"{"living room","a b"="c"}"#), [label("a b", "c")]);
        for none in
            ["temp", "temp{}", "temp{a}", "temp{a=\"b}", "temp{a=\"b\"c=\"d\"}", "a{b=\"c\"}d"]
        {
            assert!(of(none).is_empty(), "{none}");
        }
    }
}

//! Names and labels of a store, as Prometheus has them.

use baro_ondisk::{NameParser, write_quoted};
use baro_promql::{Error, Labels, MatchOp, Matcher, from_re2};
use baro_store::Selector;
use std::borrow::Cow;

/// Labels of a declared name, the metric among them as `__name__`.
pub(crate) fn labels_of(name: &str) -> Labels {
    let mut parser = NameParser::new();
    parser.parse(name);
    let metric = ("__name__".to_owned(), parser.metric(name).into_owned());
    let labels = (0..parser.len()).filter_map(|at| parser.label_at(name, at));
    let labels = labels.map(|(label, value)| (label.into_owned(), value.into_owned()));
    Labels::new(std::iter::once(metric).chain(labels))
}

/// The selector of the store that means the same.
pub(crate) fn selector(matchers: &[Matcher]) -> Result<Selector, Error> {
    let mut text = String::from("{");
    for (at, matcher) in matchers.iter().enumerate() {
        let (operator, value) = match &matcher.op {
            MatchOp::Equal => ("=", Cow::from(&matcher.value)),
            MatchOp::NotEqual => ("!=", Cow::from(&matcher.value)),
            MatchOp::Re(_) => ("=~", from_re2(&matcher.value).into()),
            MatchOp::NotRe(_) => ("!~", from_re2(&matcher.value).into()),
        };
        if at > 0 {
            text.push(',');
        }
        write_quoted(&mut text, &matcher.name);
        text.push_str(operator);
        write_quoted(&mut text, &value);
    }
    text.push('}');
    Selector::parse(&text).map_err(|error| Error::Source(error.to_string()))
}

/// A label's name in an address: `U__living_20_room` is `living room`, where `__` is `_` and the code of a
/// letter stands between two of them.
pub(crate) fn unescaped(name: &str) -> String {
    let Some(mut rest) = name.strip_prefix("U__") else { return name.to_owned() };
    let mut found = String::new();
    while let Some(letter) = rest.chars().next() {
        rest = rest.get(letter.len_utf8()..).unwrap_or("");
        if letter != '_' {
            found.push(letter);
            continue;
        }
        if let Some(after) = rest.strip_prefix('_') {
            found.push('_');
            rest = after;
            continue;
        }
        let code = rest.split_once('_').and_then(|(code, after)| {
            Some((u32::from_str_radix(code, 16).ok().and_then(char::from_u32)?, after))
        });
        // What is no such code is no such name either.
        let Some((letter, after)) = code else { return name.to_owned() };
        found.push(letter);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_promql::matchers_of;

    #[test]
    fn selectors_mean_the_same_to_both() {
        let names = [
            "temp",
            "temp{site=\"a\"}",
            "temp{site=\"a\",line=\"3\"}",
            "other{site=\"b\\\"\"}",
            "{\"living room\",\"data centre\"=\"x\"}",
            "\u{e9}{\u{fc}=\"\u{df}\"}",
        ];
        let selectors = [
            "temp",
            "{site=~\".+\"}",
            "{__name__=~\".+\",}",
            "temp{site!=\"a\"}",
            "temp{site!~\"a|b\"}",
            "{site=\"b\\\"\"}",
            "{\"living room\"}",
            "{\"data centre\"=\"x\"}",
            "{__name__=\"temp\",line=\"\"}",
            "{\"\u{fc}\"=\"\u{df}\"}",
        ];
        for text in selectors {
            let matchers = matchers_of(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let own = selector(&matchers).unwrap();
            for name in names {
                let labels = labels_of(name);
                let expected = matchers.iter().all(|one| one.is_match(labels.get(&one.name)));
                assert_eq!(own.matches(name), expected, "{text} of {name}");
            }
        }
    }

    #[test]
    fn escaped_names_are_read() {
        let all = [("a_b", "a_b"), ("U__a__b", "a_b"), ("U__living_20_room", "living room")];
        for (name, expected) in all {
            assert_eq!(unescaped(name), expected);
        }
        assert_eq!(unescaped("U__a_zz_b"), "U__a_zz_b");
    }
}

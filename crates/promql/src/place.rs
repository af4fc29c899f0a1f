//! Where a query stops being PromQL. The parser says only that it does.
//!
//! A query is right up to a word if anything that may follow makes it one. So the first words are tried with what
//! may follow: the first word behind which nothing helps is the one that cannot stand there. Texts are left out of
//! that, so that no regular expression is made, and the number of tries is bounded.
//!
//! Invariant: no query takes more than some hundred tries. Held by `the_place_of_a_mistake_is_told`.

use std::ops::Range;

/// Longer ones are not looked at.
const BYTES_MAX: usize = 4 << 10;
const WORDS_MAX: usize = 400;
/// What may follow within the brackets that are open, and what behind them.
const WITHIN: [&str; 11] =
    ["", " x", " 1", " 5m", " (x) x", " by (x) (x)", " =\"\"", " x=\"\"", " \"\"", ":5m", " 5m:5m"];
const BEHIND: [&str; 4] = ["", " x", " (x)", " (x) x"];
/// Words that are looked for by halves, each with all that may follow.
#[cfg(test)]
const TRIES_MAX: usize = 10 * WITHIN.len() * BEHIND.len();

/// Words of a query: names, numbers, texts, operators and brackets.
fn words(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut words, mut at) = (Vec::new(), 0);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte) || byte >= 0x80;
    while let Some(first) = bytes.get(at).copied() {
        let start = at;
        at += 1;
        match first {
            byte if byte.is_ascii_whitespace() => continue,
            b'#' => {
                at += bytes[at..].iter().take_while(|byte| **byte != b'\n').count();
                continue;
            }
            b'"' | b'\'' | b'`' => {
                while let Some(byte) = bytes.get(at) {
                    at += if *byte == b'\\' && first != b'`' { 2 } else { 1 };
                    if *byte == first {
                        break;
                    }
                }
                at = at.min(bytes.len());
            }
            byte if is_word(byte) => {
                while let Some(byte) = bytes.get(at).copied() {
                    // The sign of an exponent.
                    let is_exponent = first.is_ascii_digit()
                        && b"+-".contains(&byte)
                        && bytes[at - 1].eq_ignore_ascii_case(&b'e');
                    if !is_word(byte) && !is_exponent {
                        break;
                    }
                    at += 1;
                }
            }
            byte => {
                let two = [byte, bytes.get(at).copied().unwrap_or(0)];
                at += usize::from([*b"==", *b"!=", *b"<=", *b">=", *b"=~", *b"!~"].contains(&two));
            }
        }
        words.push(start..at);
    }
    words
}

/// Brackets that close what these words have opened.
fn closing(words: &[&str]) -> String {
    let mut open = Vec::new();
    for word in words {
        match *word {
            "(" => open.push(')'),
            "[" => open.push(']'),
            "{" => open.push('}'),
            ")" | "]" | "}" => drop(open.pop()),
            _ => {}
        }
    }
    open.into_iter().rev().collect()
}

/// Whether anything that may follow makes these words a query; `is_query` tells of a text.
fn goes_on(words: &[&str], is_query: &mut impl FnMut(&str) -> bool) -> bool {
    let (begin, closing) = (words.join(" "), closing(words));
    // Within the last bracket, and behind it the others.
    WITHIN.iter().any(|within| {
        BEHIND.iter().any(|behind| {
            let (first, rest) = closing.split_at(closing.len().min(1));
            is_query(&format!("{begin}{within}{first}{behind}{rest}"))
                || !rest.is_empty() && is_query(&format!("{begin}{within}{closing}{behind}"))
        })
    })
}

/// What is wrong with a text that is no query, and where; none if it cannot be told.
pub(crate) fn told(text: &str, mut is_query: impl FnMut(&str) -> bool) -> Option<String> {
    if text.len() > BYTES_MAX {
        return None;
    }
    let places = words(text);
    let words: Vec<&str> = places
        .iter()
        .map(|place| match text.get(place.clone()).unwrap_or_default() {
            word if word.starts_with(['"', '\'', '`']) => "\"\"",
            word => word,
        })
        .collect();
    if words.is_empty() || words.len() > WORDS_MAX {
        return None;
    }
    // So many words go on, and so many do not.
    let (mut good, mut bad) = (0, words.len() + 1);
    while bad - good > 1 {
        let middle = (good + bad) / 2;
        match words.get(..middle).is_some_and(|words| goes_on(words, &mut is_query)) {
            true => good = middle,
            false => bad = middle,
        }
    }
    let Some(place) = places.get(good) else {
        return Some("expected more, found its end".to_owned());
    };
    let before = text.get(..place.start)?;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let word: String = text.get(place.clone())?.chars().take(40).collect();
    Some(format!("line {line}, column {column}: expected something else, found {word:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;

    #[test]
    fn the_place_of_a_mistake_is_told() {
        for (text, said) in [
            ("foo + ", "expected more, found its end"),
            ("sum by (x)", "expected more"),
            ("foo == bool", "expected more"),
            ("rate(foo[5m]", "unclosed left parenthesis"),
            ("foo bar", "line 1, column 5: expected something else, found \"bar\""),
            ("foo by (x)", "column 5: expected something else, found \"by\""),
            (
                "sum(foo) +\n  sum(bar) 7 * 2",
                "line 2, column 12: expected something else, found \"7\"",
            ),
            ("rate(foo[5m]) / / 2", "column 17: expected something else, found \"/\""),
            ("foo{a=\"b\" c=\"d\"}", "column 11: expected something else, found \"c\""),
            ("sum(rate(foo{a=~\"x|y\",b!=\"é\"}[5m])) by by (le)", "found \"by\""),
            ("group_left(p)", "found"),
        ] {
            let error = Query::parse(text).map(|_| ()).expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        for right in ["1e-5 + foo", "a{b=\"#)\"} # ) \n + 'x' == bool 7"] {
            assert_eq!(words(right).len(), if right.starts_with('1') { 3 } else { 11 }, "{right}");
        }
        let mut tries = 0;
        let long = "(".repeat(200) + &"a+".repeat(90);
        told(&long, |_| {
            tries += 1;
            false
        });
        assert!((1..=2 * TRIES_MAX).contains(&tries), "{tries}");
        assert_eq!(told(&"a ".repeat(4096), |_| true), None);
    }
}

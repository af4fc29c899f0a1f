//! Texts that a regular expression matches: a few of each, so that series can be made for it.

use std::iter::Peekable;
use std::str::Chars;

/// At most so many of one expression.
const SAMPLES_MAX: usize = 6;

/// Texts that match the whole expression; those that it allows first come first. Where it allows anything, as
/// `.*` does, there is `any`: so `label_replace` makes of it what others have already.
pub(crate) fn samples(pattern: &str, any: &str) -> Vec<String> {
    let mut found = alternatives(&mut pattern.chars().peekable(), any);
    found.retain(|text| matches(pattern, text));
    found
}

/// Whether all of a text matches, as PromQL has it.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    regex::Regex::new(&format!("^(?s:{pattern})$")).is_ok_and(|regex| regex.is_match(text))
}

/// What stands between here and a closing bracket.
fn alternatives(of: &mut Peekable<Chars<'_>>, any: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut row = vec![String::new()];
    while let Some(letter) = of.next_if(|letter| *letter != ')') {
        if letter == '|' {
            all.append(&mut row);
            row = vec![String::new()];
            continue;
        }
        let part = repeated(atom(letter, of, any), of);
        let joined = row.iter().flat_map(|left| {
            part.iter().map(move |right| {
                let mut text = left.clone();
                text.push_str(right);
                text
            })
        });
        row = joined.take(SAMPLES_MAX).collect();
    }
    all.append(&mut row);
    all.truncate(SAMPLES_MAX);
    all
}

fn atom(letter: char, of: &mut Peekable<Chars<'_>>, any: &str) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    match letter {
        '.' if matches!(of.peek(), Some('*' | '+')) => one(any),
        '.' => one("x"),
        '^' | '$' => one(""),
        '\\' => match of.next() {
            Some('d') => one("1"),
            Some('w') => one("a"),
            Some('s') => one(" "),
            Some('S' | 'D' | 'W') => one("-"),
            Some('b') | None => one(""),
            Some(other) => one(&other.to_string()),
        },
        '(' => {
            if of.next_if_eq(&'?').is_some() {
                // Flags and names; what they change, `matches` finds out.
                while of.next_if(|letter| !matches!(letter, ':' | '>' | ')')).is_some() {}
                of.next_if(|letter| matches!(letter, ':' | '>'));
            }
            let found = alternatives(of, any);
            of.next();
            found
        }
        '[' => class(of),
        _ => one(&letter.to_string()),
    }
}

/// The first two letters of a class, or one that it does not forbid.
fn class(of: &mut Peekable<Chars<'_>>) -> Vec<String> {
    let negated = of.next_if_eq(&'^').is_some();
    let mut letters = Vec::new();
    while let Some(letter) = of.next_if(|letter| *letter != ']' || letters.is_empty()) {
        let letter = match letter {
            '\\' => match of.next() {
                Some('d') => '1',
                Some('w') => 'a',
                Some('s') => ' ',
                other => other.unwrap_or('\\'),
            },
            _ => letter,
        };
        letters.push(letter);
    }
    of.next();
    match negated {
        true => ["x", "1", "/", "-"].iter().map(|text| (*text).to_owned()).collect(),
        false => {
            letters.iter().filter(|letter| **letter != '-').take(2).map(char::to_string).collect()
        }
    }
}

fn repeated(mut part: Vec<String>, of: &mut Peekable<Chars<'_>>) -> Vec<String> {
    match of.peek() {
        Some('*' | '?') => part.push(String::new()),
        Some('+') => {}
        Some('{') => {
            of.next();
            let mut count = String::new();
            while let Some(letter) = of.next_if(|letter| *letter != '}') {
                count.push(letter);
            }
            let least = count.split(',').next().and_then(|text| text.parse().ok()).unwrap_or(1);
            part.iter_mut().for_each(|text| *text = text.repeat(usize::max(least, 1)));
        }
        _ => return part,
    }
    of.next();
    // The lazy ones match the same.
    of.next_if_eq(&'?');
    part
}

#[test]
fn samples_match_their_expressions() {
    let all = [
        ("a|b.*", vec!["a", "bany", "b"]),
        ("^2..$", vec!["2xx"]),
        ("[4-5].*", vec!["4any", "4", "5any", "5"]),
        ("(x)([\\\\.:].*)?", vec!["x\\any", "x\\", "x.any", "x.", "x"]),
        ("(?i:node)\\d{3}", vec!["node111"]),
        (".*", vec!["any", ""]),
        (".*(/write|/metrics)", vec!["any/write", "any/metrics", "/write", "/metrics"]),
    ];
    for (pattern, expected) in all {
        assert_eq!(samples(pattern, "any"), expected, "{pattern}");
    }
}

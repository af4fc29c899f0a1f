//! Regular expressions as Prometheus reads them (RE2), written for the ones that are used here.
//!
//! There `\d`, `\s`, `\w`, `\b` and `\B` are of ASCII, and a class has no operators: `[a&&b]` is three letters.

use std::iter::Peekable;
use std::str::Chars;

const SPACES: &str = "\\t\\n\\f\\r ";

/// The same pattern for the crate `regex`.
#[must_use]
pub fn from_re2(pattern: &str) -> String {
    let mut found = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('b') => found.push_str("(?-u:\\b)"),
                Some('B') => found.push_str("(?-u:\\B)"),
                Some(letter) => match class(letter) {
                    Some((not, of)) => found.extend(["[", not, of, "]"]),
                    None => found.extend(['\\', letter]),
                },
                None => found.push('\\'),
            },
            '[' => {
                found.push('[');
                in_class(&mut letters, &mut found);
            }
            _ => found.push(letter),
        }
    }
    found
}

/// What a class without brackets has, and whether that is what it has not.
fn class(letter: char) -> Option<(&'static str, &'static str)> {
    let of = match letter.to_ascii_lowercase() {
        'd' => "0-9",
        's' => SPACES,
        'w' => "0-9A-Za-z_",
        _ => return None,
    };
    Some((if letter.is_ascii_uppercase() { "^" } else { "" }, of))
}

/// Behind the bracket of a class, up to the one that closes it.
fn in_class(letters: &mut Peekable<Chars<'_>>, found: &mut String) {
    found.extend(letters.next_if_eq(&'^'));
    // The first is a letter, whatever it is.
    if letters.next_if_eq(&']').is_some() {
        found.push_str("\\]");
    }
    while let Some(letter) = letters.next() {
        match letter {
            ']' => {
                found.push(']');
                return;
            }
            '\\' => match letters.next() {
                Some(letter) => match class(letter) {
                    Some(("", of)) => found.push_str(of),
                    Some((not, of)) => found.extend(["[", not, of, "]"]),
                    None => found.extend(['\\', letter]),
                },
                None => found.push('\\'),
            },
            // A class of a name, as in `[[:alpha:]]`.
            '[' if letters.peek() == Some(&':') => {
                found.push('[');
                let mut last = '[';
                for letter in letters.by_ref() {
                    found.push(letter);
                    if (last, letter) == (':', ']') {
                        break;
                    }
                    last = letter;
                }
            }
            '[' => found.push_str("\\["),
            '&' | '~' | '-' if letters.peek() == Some(&letter) => {
                found.push(letter);
                while letters.next_if_eq(&letter).is_some() {
                    found.extend(['\\', letter]);
                }
            }
            _ => found.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn a_pattern_finds_what_it_finds_in_prometheus() {
        for (pattern, text, is_found) in [
            ("\\w+", "Koln_1", true),
            ("\\w+", "K\u{f6}ln", false),
            ("\\W+", "\u{f6}", true),
            ("\\d+", "12", true),
            ("\\d+", "\u{661}", false),
            ("a\\sb", "a b", true),
            ("a\\sb", "a\u{a0}b", false),
            ("[\\w.]+", "a.b", true),
            ("[^\\W]+", "a_b", true),
            ("[^\\W]+", "a.b", false),
            ("[a&&b]+", "a&b", true),
            ("[a~~b]+", "a~b", true),
            ("[a[b]+", "a[b", true),
            ("[]a]+", "]a", true),
            ("[^]a]+", "b", true),
            ("[[:alpha:]-]+", "a-b", true),
            ("[[:alpha:]-]+", "1", false),
            ("[+--]+", "+,-", true),
            ("\\[a\\]", "[a]", true),
            ("\\bk\\b.*", "k\u{f6}", true),
            ("k\\B.*", "k\u{f6}", false),
            ("k\\B.*", "kl", true),
            ("(?i)\\w\\p{Lu}", "a\u{d6}", true),
        ] {
            let built = Regex::new(&format!("^(?s:{})$", from_re2(pattern))).unwrap();
            assert_eq!(built.is_match(text), is_found, "{pattern} {text}: {built}");
        }
        // What is open stays so, and is refused.
        for pattern in ["[a", "\\", "[[:alpha:", "[\\"] {
            assert!(Regex::new(&from_re2(pattern)).is_err(), "{pattern}");
        }
    }
}

//! Words of the command line before the parser has them.
//!
//! Invariant: what stands behind `--` is a command's and stays as it is. Held by the test below.

use std::ffi::OsString;

/// Joins an option with a negative number behind it (`--every -1s`), which would be taken for an option of
/// its own: so the option's own parser says what it expects.
pub(crate) fn with_negative_values(typed: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(typed.len());
    let mut words = typed.into_iter();
    for word in words.by_ref() {
        if word == "--" {
            joined.push(word);
            break;
        }
        match joined.last_mut() {
            Some(option) if is_negative(&word) && is_bare_option(option) => {
                option.push("=");
                option.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined.extend(words);
    joined
}

fn is_negative(word: &OsString) -> bool {
    let number = word.to_str().and_then(|word| word.strip_prefix('-'));
    number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}

fn is_bare_option(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word.starts_with("--") && !word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_belongs_to_the_option_before_it() {
        let joined = |words: &[&str]| -> Vec<String> {
            let words = with_negative_values(words.iter().map(OsString::from).collect());
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(joined(&["query", "s", "--every", "-1s"]), ["query", "s", "--every=-1s"]);
        assert_eq!(joined(&["--last=3", "-1", "--x", "-y"]), ["--last=3", "-1", "--x", "-y"]);
        assert_eq!(
            joined(&["blk", "--", "nice", "--by", "-1"]),
            ["blk", "--", "nice", "--by", "-1"]
        );
    }
}

//! Words that a verb has no place for: what stands in the wrong order, or lacks its option.
//!
//! Invariant: a word is called a store only where it is one. Held by
//! `a_mistake_says_what_is_wrong_and_what_to_do`.

use super::is_store;
use crate::size;
use clap::CommandFactory;
use std::ffi::OsString;
use std::path::Path;

/// That a word behind the one that was taken for the store is one.
pub(super) fn swapped(taken: &Path, typed: &[OsString]) -> String {
    let behind = typed.iter().map(Path::new).skip_while(|word| *word != taken).skip(1);
    let store = behind.take_while(|word| *word != Path::new("--")).find(|word| is_store(word));
    store.map_or(String::new(), |store| {
        format!("; {} is a store: STORE comes first", store.display())
    })
}

/// What to do about the word `found`, which the verb has no place for; a line, or nothing.
pub(super) fn of_word(found: &str, typed: &[OsString]) -> String {
    let verb = typed.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    let (word, words) = (Path::new(found), typed.get(2..).unwrap_or_default());
    let last = before_word(found, words);
    if last.is_some_and(is_number) && UNITS.contains(&found) {
        return format!(
            "A number and its unit are one word: {}{found}\n",
            last.unwrap_or_default()
        );
    }
    let mut before = words.iter().map(Path::new).take_while(|typed| *typed != word);
    let has_store = before.any(is_store);
    if takes_store(verb) && is_store(word) && !has_store {
        return format!("{found} is a store: STORE comes first\n");
    }
    let is_day = found.starts_with(|first: char| first.is_ascii_digit());
    match verb {
        "export" if is_day && words.iter().any(|word| word == "--from") => {
            format!("The end is an option: --to {found}\n")
        }
        "pin" if !has_name(words) => format!("The name of a pin is an option: --name {found}\n"),
        "blk" if !found.contains('.') => format!("The disk is an option: --device {found}\n"),
        "export" if word.extension().is_some() => {
            format!("An export makes one file: one more for {found}\n")
        }
        "serve" | "listen" if found.parse::<u16>().is_ok() => {
            format!("The address is an option: --http 127.0.0.1:{found}\n")
        }
        "export" => "Some series only: --series NAME, once for each\n".to_owned(),
        "init" if size::bytes(found).is_ok() => {
            format!("The size of the log is an option: --size {found}\n")
        }
        "record" => "Values come from a source, such as --stdin csv, or from files: baro import \
                     STORE FILE\n"
            .to_owned(),
        _ => String::new(),
    }
}

/// Units as people write them, behind a blank.
const UNITS: [&str; 24] = [
    "ns", "us", "ms", "s", "sec", "seconds", "m", "min", "minutes", "h", "hours", "d", "days", "w",
    "K", "M", "G", "T", "KB", "MB", "GB", "KiB", "MiB", "GiB",
];

/// The word that stands before the last `found`.
fn before_word<'a>(found: &str, words: &'a [OsString]) -> Option<&'a str> {
    let at = words.iter().rposition(|word| word == found)?;
    words.get(at.checked_sub(1)?)?.to_str()
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok_and(f64::is_finite)
}

fn has_name(words: &[OsString]) -> bool {
    words.iter().filter_map(|word| word.to_str()).any(|word| word.starts_with("--name"))
}

/// The store that a word and those behind it are together: its name has blanks and stood in no quotes.
pub(super) fn with_blanks(taken: &Path, typed: &[OsString]) -> Option<String> {
    let mut words = typed.iter().skip_while(|word| Path::new(word) != taken);
    let mut name = words.next()?.to_str()?.to_owned();
    for word in words.take(4) {
        name = format!("{name} {}", word.to_str()?);
        if is_store(Path::new(&name)) {
            return Some(name);
        }
    }
    None
}

/// Whether the first word behind a verb is a store.
fn takes_store(verb: &str) -> bool {
    let program = crate::Arguments::command();
    let first = program.find_subcommand(verb).and_then(|verb| verb.get_positionals().next());
    // That of init is made.
    verb != "init" && first.is_some_and(|argument| argument.get_id().as_str() == "store")
}

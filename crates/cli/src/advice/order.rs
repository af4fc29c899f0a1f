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
    let mut before = words.iter().map(Path::new).take_while(|typed| *typed != word);
    let has_store = before.any(is_store);
    if takes_store(verb) && is_store(word) && !has_store {
        return format!("{found} is a store: STORE comes first\n");
    }
    match verb {
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

/// Whether the first word behind a verb is a store.
fn takes_store(verb: &str) -> bool {
    let program = crate::Arguments::command();
    let first = program.find_subcommand(verb).and_then(|verb| verb.get_positionals().next());
    // That of init is made.
    verb != "init" && first.is_some_and(|argument| argument.get_id().as_str() == "store")
}

//! Verbs that other programs have, and which of ours do that: their letters tell nothing of it.
//!
//! Invariant: none of these words is a verb of ours, and each that is proposed is one. Held by the test
//! below.

/// Words of others, and what to type instead.
const OTHERS: [(&[&str], &str); 14] = [
    (
        &["write", "push", "put", "insert", "append", "add", "load"],
        "to write, use baro record (what comes in) or baro import (files)",
    ),
    (
        &["read", "get", "select", "dump", "print", "tail"],
        "to read, use baro cat (all, by time; --follow goes on) or baro query (some series)",
    ),
    (&["remove", "rm", "drop", "erase"], "to take samples out, use baro delete"),
    (&["version"], "the version is told by baro --version"),
    (
        &["show", "view", "describe"],
        "to see samples, use baro cat or baro query; what a store holds is told by baro info",
    ),
    (&["create", "new", "make"], "to make a store, use baro init"),
    (&["ls", "series"], "to see names, use baro list"),
    (&["stats", "status"], "what a store holds is told by baro info, what comes in by baro watch"),
    (&["start", "run"], "to record, use baro record; to answer over HTTP, baro serve"),
    (&["convert"], "to write files of another form, use baro export"),
    (&["copy", "cp", "clone"], "to copy a store, use baro backup"),
    (&["monitor"], "to see what comes in, use baro watch; which programs write, baro blk"),
    (&["compact", "vacuum"], "to move samples out of the log into runs, use baro settle"),
    (&["check", "fsck", "repair"], "to look for damage, use baro verify; to rescue, baro recover"),
];

/// What does what `typed` does elsewhere.
pub(super) fn instead_of(typed: &str) -> Option<&'static str> {
    OTHERS.iter().find(|(words, _)| words.contains(&typed)).map(|(_, said)| *said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn words_of_others_are_no_verbs_and_what_is_proposed_is_one() {
        let program = crate::Arguments::command();
        for (words, said) in OTHERS {
            for word in words {
                assert!(program.find_subcommand(word).is_none(), "{word}");
                assert_eq!(instead_of(word), Some(said));
            }
            for proposed in said.split("baro ").skip(1) {
                let ends = |letter: char| !letter.is_ascii_lowercase() && letter != '-';
                let verb = proposed.split(ends).next().unwrap_or_default();
                let is_known = program.find_subcommand(verb).is_some() || verb == "--version";
                assert!(is_known, "{verb}");
            }
        }
        assert_eq!(instead_of("nonsense"), None);
    }
}

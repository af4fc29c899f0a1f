//! Options that a verb does not have, and what does there what they do elsewhere: their letters tell nothing of it.
//!
//! Invariant: none of these is an option of a verb for which it stands. Held by the test below.

/// An option, the verbs that lack it (none: all do), and what to type instead.
const OTHERS: [(&str, &[&str], &str); 15] = [
    (
        "--every",
        &["export"],
        "steps come from query: baro query STORE SERIES --every 1m -o FILE.csv",
    ),
    (
        "--series",
        &["query", "cat"],
        "names stand behind STORE, without an option: baro query STORE NAME",
    ),
    ("--json", &["record"], "what comes on standard input is told by --stdin json"),
    ("--csv", &["record"], "what comes on standard input is told by --stdin csv"),
    ("--json", &[], "the form is told by --format json"),
    ("--csv", &[], "the form is told by --format csv"),
    ("--step", &["query"], "the length of steps is told by --every"),
    ("--interval", &["query", "watch"], "how often is told by --every"),
    ("--head", &["query"], "the first rows are told by --limit N"),
    ("--duration", &["record", "trace"], "how long is told by --for"),
    ("--from", &["pin"], "the window of a pin is told by --before and --after"),
    ("--to", &["pin"], "the window of a pin is told by --before and --after"),
    (
        "--size",
        &["record"],
        "--init SIZE makes a store of that size; one that is there keeps its own",
    ),
    ("--port", &["serve", "listen"], "the address is told whole: --http 127.0.0.1:PORT"),
    ("--store", &[], "the store needs no option: it stands right behind the verb"),
];

/// What does what `option` does elsewhere.
pub(super) fn instead_of(verb: &str, option: &str) -> Option<&'static str> {
    let option = option.split('=').next().unwrap_or(option);
    let is_it = |(other, verbs, _): &&(&str, &[&str], &str)| {
        *other == option && (verbs.is_empty() || verbs.contains(&verb))
    };
    OTHERS.iter().find(is_it).map(|(_, _, said)| *said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn what_is_told_of_is_no_option_of_that_verb() {
        let program = crate::Arguments::command();
        for (option, verbs, said) in OTHERS {
            for verb in verbs {
                let of = program.find_subcommand(verb).expect("it is a verb");
                let mut options = of.get_arguments().filter_map(|argument| argument.get_long());
                assert!(
                    !options.any(|long| option.strip_prefix("--") == Some(long)),
                    "{verb} {option}"
                );
                assert_eq!(instead_of(verb, option), Some(said));
            }
        }
        assert_eq!(instead_of("query", "--json=1"), Some("the form is told by --format json"));
        assert_eq!((instead_of("init", "--size"), instead_of("query", "--last")), (None, None));
    }
}

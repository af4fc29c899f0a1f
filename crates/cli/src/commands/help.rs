//! How help looks: the verbs by what they are for, each verb on one screen, an example with each.
//!
//! All of it is taken from the parser's own definition: its texts, its options, its examples. `-h` shows
//! what most calls need, `--help` all; what is only in the second is marked where it is defined.
//!
//! Invariant: `-h` of the program and of each verb fits a terminal of 24 lines and 80 columns, has one
//! example that the parser takes, and no verb is missing in it. Held by the tests below.

use clap::Command;
use std::ffi::OsString;
use std::fmt::Write;

/// What verbs are for.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Write",
        &[
            "init", "record", "import", "listen", "token", "pin", "settle", "lake", "delete",
            "backup",
        ],
    ),
    ("Read", &["query", "serve", "cat", "list", "info", "export", "du", "top"]),
    ("Repair", &["verify", "recover"]),
    ("Observe", &["trace", "explain", "blk", "watch"]),
    ("Machine", &["tune", "share", "rings", "plan"]),
    ("Try", &["demo", "bench"]),
];
/// For a verb that nobody has put into a group.
const NO_GROUP: &str = "More";
/// Of two verbs in one line.
const GROUP_WIDTH: usize = 9;
const VERB_WIDTH: usize = 9;
const ABOUT_WIDTH: usize = 28;

const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}{after-help}\n";
const EXAMPLE: &str = "Example: baro record /data/s --init 1G --recycle --proc --for 10s";
const MORE: &str =
    "baro VERB -h: a verb on one screen    baro VERB --help: all of it, with details";
pub(crate) const CODES: &str = "Exit codes:
  0    done
  1    failed
  2    the command line or a settings file is wrong
  3    done, but data was lost or a stated claim was not met
  Where a command is run (trace, blk, share run, tune apply -- COMMAND) its own code, and
  125  failed itself
  126  the command cannot be run
  127  the command is not there";

/// The parser as it was defined, with its help arranged for what was typed.
pub(crate) fn arranged(program: Command, typed: &[OsString]) -> Command {
    // Headings tell one option of many from another, and take the room of options where there are few.
    let long = typed.iter().any(|word| word == "--help" || word == "help");
    let program = if long { program } else { without_headings(program) };
    let (short, all) = (verbs_short(&program), verbs_long(&program));
    program
        .help_template(TEMPLATE)
        .after_help(format!("{short}\n{EXAMPLE}\n\n{MORE}"))
        .after_long_help(format!("{all}\n{EXAMPLE}\n\n{MORE}\n\n{CODES}"))
}

fn without_headings(command: Command) -> Command {
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = command.mut_args(|argument| argument.help_heading(None::<&str>));
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, without_headings))
}

/// Groups with the names of their verbs and what these are about.
fn groups(program: &Command) -> Vec<(&'static str, Vec<(String, String)>)> {
    let told = |verb: &Command| {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        (verb.get_name().to_owned(), about)
    };
    let is_known = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut groups: Vec<(&'static str, Vec<_>)> = GROUPS
        .iter()
        .map(|(group, names)| {
            let verbs = names.iter().filter_map(|name| program.find_subcommand(name));
            (*group, verbs.map(told).collect())
        })
        .collect();
    let others = program.get_subcommands().filter(|verb| !is_known(verb.get_name()));
    groups.push((NO_GROUP, others.map(told).collect()));
    groups.retain(|(_, verbs)| !verbs.is_empty());
    groups
}

fn verbs_short(program: &Command) -> String {
    let mut text = String::new();
    for (group, verbs) in groups(program) {
        for (at, two) in verbs.chunks(2).enumerate() {
            let mut line = format!("{:<GROUP_WIDTH$}", if at == 0 { group } else { "" });
            for (name, about) in two {
                let _ = write!(line, "{name:<VERB_WIDTH$}{about:<ABOUT_WIDTH$}");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn verbs_long(program: &Command) -> String {
    let mut text = String::new();
    for (group, verbs) in groups(program) {
        let _ = writeln!(text, "{group}:");
        for (name, about) in verbs {
            let _ = writeln!(text, "  {name:<VERB_WIDTH$}{about}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Lines of a terminal but that of the next prompt, and its columns.
    const SCREEN: (usize, usize) = (23, 80);

    fn program() -> Command {
        arranged(crate::Arguments::command().term_width(SCREEN.1), &[])
    }

    /// The program and all its verbs, also those of verbs, with what is typed for them.
    fn all(command: &Command, typed: &str, into: &mut Vec<(String, Command)>) {
        into.push((typed.to_owned(), command.clone()));
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            all(verb, &format!("{typed} {}", verb.get_name()), into);
        }
    }

    fn commands() -> Vec<(String, Command)> {
        let mut program = program();
        program.build();
        let mut found = Vec::new();
        all(&program, "baro", &mut found);
        assert!(found.len() > 30, "{}", found.len());
        found
    }

    /// Words as a shell would part them.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        parts
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect()
    }

    #[test]
    fn help_of_each_verb_fits_a_screen() {
        let mut wrong = Vec::new();
        for (typed, mut command) in commands() {
            let help = command.render_help().to_string();
            let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            if help.lines().count() > SCREEN.0 || widest > SCREEN.1 {
                wrong.push(format!("{typed}: {} x {widest}\n{help}", help.lines().count()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn each_verb_has_one_example_that_is_understood() {
        for (typed, mut command) in commands() {
            let help = command.render_help().to_string();
            let examples: Vec<_> =
                help.lines().filter_map(|line| line.strip_prefix("Example: ")).collect();
            let [example] = examples.as_slice() else { panic!("{typed}: {help}") };
            assert!(example.starts_with(&typed), "{typed}: {example}");
            if let Err(error) = program().try_get_matches_from(words(example)) {
                panic!("{example}: {error}");
            }
        }
    }

    #[test]
    fn no_verb_is_hidden_and_each_is_in_one_group() {
        let program = program();
        assert!(groups(&program).iter().all(|(group, _)| *group != NO_GROUP));
        let named: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter()).collect();
        let verbs: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
        assert_eq!(named.len(), verbs.len());
        assert!(verbs.iter().all(|verb| named.contains(&verb)), "{verbs:?}");
        for (typed, command) in commands() {
            assert!(!command.is_hide_set(), "{typed}");
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty(), "{typed}");
        }
    }
}

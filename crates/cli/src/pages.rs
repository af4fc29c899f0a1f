//! Man pages and completions, made from the parser's own definition and kept in `packaging/`, so that
//! neither the program nor its installation needs what makes them.
//!
//! Invariant: they are those of the definition. Held by `pages_are_those_of_the_definition`, which
//! writes them anew where `BLESS` is set.

use crate::Arguments;
use crate::commands::help::CODES;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use std::collections::BTreeMap;
use std::path::Path;

/// The page of a command and those of its verbs, by their files.
fn pages(command: &Command, name: &str, into: &mut BTreeMap<String, String>) {
    let mut text = Vec::new();
    // Without a date: a page changes when what it says does.
    let page = Man::new(command.clone().name(&*name.to_owned().leak())).date("").source("baro");
    page.render(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    // A default that is the version would change all pages at each release.
    let version = format!(" {}", env!("CARGO_PKG_VERSION"));
    into.insert(format!("man/{name}.1"), text.replace(&version, ""));
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        pages(verb, &format!("{name}-{}", verb.get_name()), into);
    }
}

fn made() -> BTreeMap<String, String> {
    let mut program = Arguments::command().after_help(CODES);
    program.build();
    let mut made = BTreeMap::new();
    pages(&program, "baro", &mut made);
    let completions = [
        ("bash", "baro", Shell::Bash),
        ("zsh", "_baro", Shell::Zsh),
        ("fish", "baro.fish", Shell::Fish),
    ];
    for (folder, file, shell) in completions {
        let mut text = Vec::new();
        generate(shell, &mut Arguments::command(), "baro", &mut text);
        made.insert(format!("completions/{folder}/{file}"), String::from_utf8(text).unwrap());
    }
    made
}

#[test]
fn pages_are_those_of_the_definition() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let made = made();
    assert!(made.len() > 40, "{}", made.len());
    let bless = std::env::var_os("BLESS").is_some();
    for (file, text) in &made {
        let path = folder.join(file);
        if bless {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let next = "BLESS=1 cargo test -p baro-cli --bin baro pages writes it";
        assert!(found == *text, "{file} is not what the parser says: {next}");
    }
    // No page of a verb that is gone.
    for entry in std::fs::read_dir(folder.join("man")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(made.contains_key(&format!("man/{name}")), "{name}: no such verb");
    }
}

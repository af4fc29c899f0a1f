//! Options of `baro record` from three places: flags over the environment over a file.
//!
//! The keys of the file and the names in the environment are those of the flags, taken from the
//! parser's own definition, so that every option is reachable and none is named twice: `--ring` is
//! `ring` in the table `[record]` and `BARO_RING`. What flags leave open is put in front of them as
//! further flags, and the result parsed as if it had been typed. Invariant: a value in the file
//! that would not do as a flag is an error that names its line. Tests: below, `settings/file.rs`,
//! and `tests/service.rs` with the shipped file.

mod file;

use crate::nearest::distance;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgAction, Command, FromArgMatches};
use file::{Entry, Value};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Mistakes of a file that are told one by one.
const TOLD_MAX: usize = 10;

/// The verb that has settings, and its table in the file.
const VERB: &str = "record";
/// Not settings themselves.
const NO_SETTINGS: [&str; 5] = ["help", "version", "config", "format", "check"];
/// Far more than anybody writes by hand. A file of mistakes alone takes four hundred times its bytes while it is
/// read, which is to be less than what any input may take (docs/limits.md).
const FILE_BYTES_MAX: u64 = 64 << 10;

/// An option as a setting.
#[derive(Debug)]
struct Setting {
    /// What clap calls it.
    id: String,
    /// The flag without its dashes; `None` for the store, which has no flag.
    long: Option<String>,
    /// It takes no value.
    is_switch: bool,
    /// It may be given more than once.
    is_list: bool,
}

impl Setting {
    fn key(&self) -> &str {
        self.long.as_deref().unwrap_or(&self.id)
    }

    fn variable(&self) -> String {
        format!("BARO_{}", self.key().replace('-', "_").to_uppercase())
    }

    /// As it would be typed.
    fn typed(&self, value: &OsStr) -> OsString {
        let Some(long) = &self.long else { return value.to_owned() };
        let mut typed = OsString::from(format!("--{long}"));
        if !self.is_switch {
            typed.push("=");
            typed.push(value);
        }
        typed
    }
}

fn settings(verb: &Command) -> Vec<Setting> {
    verb.get_arguments()
        .filter(|argument| !NO_SETTINGS.contains(&argument.get_id().as_str()))
        .map(|argument| Setting {
            id: argument.get_id().to_string(),
            long: argument.get_long().map(str::to_owned),
            is_switch: matches!(argument.get_action(), ArgAction::SetTrue),
            is_list: matches!(argument.get_action(), ArgAction::Append),
        })
        .collect()
}

/// Names of all settings, for the test that they are documented.
#[cfg(test)]
fn keys(program: &Command) -> Vec<String> {
    let verb = program.find_subcommand(VERB).unwrap();
    settings(verb).iter().map(|setting| setting.key().to_owned()).collect()
}

/// The arguments of the program with what the environment and the file add to them.
///
/// # Errors
/// Text for the user, a line for each mistake: which file and line, what was expected and found.
pub(crate) fn merge(program: &Command, typed: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let read = |path: &Path| {
        baro_sys::files::read_text(path, FILE_BYTES_MAX)
            .map_err(|error| format!("{error}; --config or BARO_CONFIG names a file of settings"))
    };
    merge_with(program, typed, |name| std::env::var_os(name), read)
}

/// Whether a switch in the environment is on; an empty value is as none.
fn is_on(value: &OsStr) -> Result<bool, String> {
    match value.to_string_lossy().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" | "" => Ok(false),
        _ => Err(format!("expected true or false, found {:?}", value.to_string_lossy())),
    }
}

fn merge_with(
    program: &Command,
    typed: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
    read: impl Fn(&Path) -> Result<String, String>,
) -> Result<Vec<OsString>, String> {
    let verb = program.find_subcommand(VERB).filter(|_| typed.get(1).is_some_and(|v| v == VERB));
    let Some(verb) = verb else { return Ok(typed) };
    let rest = typed.get(1..).unwrap_or_default();
    // What was typed, whatever is missing or wrong: the real parser says that afterwards.
    let relaxed = relaxed(verb.clone());
    let Ok(given) = relaxed.clone().ignore_errors(true).try_get_matches_from(rest) else {
        return Ok(typed);
    };
    let is_given = |id: &str| {
        given.try_contains_id(id).is_ok()
            && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    let config = given.get_one::<PathBuf>("config").cloned();
    let config = config
        .or_else(|| variable("BARO_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from));
    let (entries, mut faults) = match &config {
        Some(path) => file::read(VERB, &read(path)?),
        None => Default::default(),
    };
    let settings = settings(verb);
    let path = config.unwrap_or_default();
    for entry in &entries {
        let beside = |setting: &Setting| {
            is_given(&setting.id)
                || variable(&setting.variable()).is_some()
                || entries.iter().any(|entry| entry.key == setting.key())
        };
        let fault = check(&relaxed, &settings, entry, beside).err();
        faults.extend(fault.map(|said| (entry.line, format!("{}: {said}", entry.key))));
    }
    let mut merged: Vec<OsString> = typed.iter().take(2).cloned().collect();
    for setting in settings.iter().filter(|setting| !is_given(&setting.id)) {
        if let Some(value) = variable(&setting.variable()) {
            if !setting.is_switch
                || is_on(&value).map_err(|said| format!("{}: {said}", setting.variable()))?
            {
                let typed = setting.typed(&value);
                if let Some(said) = misfit(&relaxed, &typed) {
                    return Err(format!("{}: {said}", setting.variable()));
                }
                merged.push(typed);
            }
            continue;
        }
        let fine = |entry: &&Entry| !faults.iter().any(|(line, _)| *line == entry.line);
        let entry = entries.iter().filter(fine).find(|entry| entry.key == setting.key());
        merged.extend(entry.map(|entry| entry.value.typed(setting)).unwrap_or_default());
    }
    merged.extend(typed.into_iter().skip(2));
    if !faults.is_empty() {
        faults.extend(further(program.clone(), relaxed, &merged, &entries));
        faults.sort_by_key(|(line, _)| *line);
        // A line for each, whatever is in a key or a value.
        let said = |(line, said): &file::Fault| {
            baro_show::terminal(&format!("{}:{line}: {said}", path.display()), '?')
        };
        let mut lines: Vec<_> = faults.iter().take(TOLD_MAX).map(said).collect();
        if let Some(more) = faults.len().checked_sub(TOLD_MAX).filter(|more| *more > 0) {
            lines.push(format!(
                "{}: and {}",
                path.display(),
                baro_show::plural(more as u64, "more mistake")
            ));
        }
        return Err(lines.join("\n"));
    }
    Ok(merged)
}

/// What else is wrong with those entries that the parser takes, which `baro record --check` would name.
fn further(
    program: Command,
    relaxed: Command,
    merged: &[OsString],
    entries: &[Entry],
) -> Vec<file::Fault> {
    let program = program.mut_subcommand(VERB, |_| relaxed);
    let parsed = program.try_get_matches_from(merged);
    let said = match parsed.and_then(|found| crate::Arguments::from_arg_matches(&found)) {
        Ok(arguments) => crate::commands::limits(&arguments.command),
        // Without what was wrong it is no whole any more.
        Err(_) => Vec::new(),
    };
    let line = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| entry.line);
    said.into_iter()
        .filter_map(|(key, said)| Some((line(key)?, format!("{key}: {said}"))))
        .collect()
}

/// The verb's parser without what it requires.
fn relaxed(verb: Command) -> Command {
    let groups: Vec<_> = verb.get_groups().map(|group| group.get_id().to_string()).collect();
    let verb = verb.mut_args(|argument| argument.required(false));
    groups.into_iter().fold(verb, |verb, id| verb.mut_group(id, |group| group.required(false)))
}

/// The line of a setting in the file, if it is there.
pub(crate) fn line_of(path: &Path, key: &str) -> Option<usize> {
    let text = baro_sys::files::read_text(path, FILE_BYTES_MAX).ok()?;
    let (entries, _) = file::read(VERB, &text);
    entries.into_iter().find(|entry| entry.key == key).map(|entry| entry.line)
}

/// Whether an entry of the file is a setting, its value would do as a flag, and what it needs is `beside` it.
fn check(
    relaxed: &Command,
    settings: &[Setting],
    entry: &Entry,
    beside: impl Fn(&Setting) -> bool,
) -> Result<(), String> {
    let Some(setting) = settings.iter().find(|setting| setting.key() == entry.key) else {
        let nearest = settings.iter().min_by_key(|setting| distance(&entry.key, setting.key()));
        let nearest = nearest.map_or("", |setting| setting.key());
        return Err(format!("no such setting; the nearest is {nearest}"));
    };
    let fits = match entry.value {
        Value::Switch(_) => setting.is_switch,
        Value::Text(_) => !setting.is_switch,
        Value::List(_) => setting.is_list,
    };
    if !fits {
        let expected = match (setting.is_switch, setting.is_list) {
            (true, _) => "true or false",
            (_, true) => "a text, a number, or a list of them",
            _ => "a text or a number",
        };
        return Err(format!("expected {expected}, found {}", entry.value));
    }
    for typed in entry.value.typed(setting) {
        let arguments = [OsString::from(VERB), typed];
        if let Err(error) = relaxed.clone().try_get_matches_from(arguments) {
            if error.kind() == ErrorKind::MissingRequiredArgument {
                let missing = missing(&error, settings).filter(|setting| !beside(setting));
                match missing {
                    Some(missing) => return Err(format!("expected {} beside it", missing.key())),
                    None => continue,
                }
            }
            let said = error.to_string();
            let line = said.lines().next().unwrap_or_default();
            return Err(line.trim_start_matches("error: ").to_owned());
        }
    }
    Ok(())
}

/// Why a setting would not do as a flag, whatever is beside it.
fn misfit(relaxed: &Command, typed: &OsString) -> Option<String> {
    let parsed = relaxed.clone().try_get_matches_from([OsString::from(VERB), typed.clone()]);
    let error = parsed.err().filter(|error| error.kind() != ErrorKind::MissingRequiredArgument)?;
    let said = error.to_string();
    let line = said.lines().next().unwrap_or_default();
    Some(line.trim_start_matches("error: ").to_owned())
}

/// The setting that another one needs.
fn missing<'a>(error: &clap::Error, settings: &'a [Setting]) -> Option<&'a Setting> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let keys = missing.iter().filter_map(|missing| missing.strip_prefix("--"));
    let mut keys = keys.filter_map(|key| key.split([' ', '=']).next());
    keys.find_map(|key| settings.iter().find(|setting| setting.key() == key))
}

impl Value {
    fn typed(&self, setting: &Setting) -> Vec<OsString> {
        match self {
            Value::Switch(false) => Vec::new(),
            Value::Switch(true) => vec![setting.typed(OsStr::new(""))],
            Value::Text(text) => vec![setting.typed(OsStr::new(text))],
            Value::List(texts) => {
                texts.iter().map(|text| setting.typed(OsStr::new(text))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    const FILE: &str = "# a comment\n[record]\nstore = \"/s\"\nring = \"4M\"\nproc = true\n\
                        generate = false\nfifo = 50\n";

    fn merged(typed: &[&str], variables: &[(&str, &str)], text: &str) -> Result<String, String> {
        let program = crate::Arguments::command();
        let typed = ["baro"].iter().chain(typed).map(OsString::from).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let merged = merge_with(&program, typed, variable, |_| Ok(text.to_owned()))?;
        let words: Vec<_> = merged.iter().map(|word| word.to_string_lossy()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn flags_go_over_the_environment_over_the_file() {
        let config = ["record", "--config", "f"];
        let all = merged(&config, &[], FILE).unwrap();
        assert_eq!(all, "baro record /s --proc --ring=4M --fifo=50 --config f");
        let typed = ["record", "/other", "--ring", "1M", "--config", "f"];
        let some = merged(&typed, &[("BARO_RING", "2M"), ("BARO_FIFO", "9")], FILE).unwrap();
        assert_eq!(some, "baro record --proc --fifo=9 /other --ring 1M --config f");
        let variables = [("BARO_RING", "2M"), ("BARO_PROC", "0"), ("BARO_CONFIG", "f")];
        let bare = merged(&["record"], &variables, FILE).unwrap();
        assert_eq!(bare, "baro record /s --ring=2M --fifo=50");
        for (value, is_on) in
            [("Yes", true), ("on", true), ("1", true), ("OFF", false), ("no", false)]
        {
            let found = merged(&["record", "/s"], &[("BARO_PROC", value)], "").unwrap();
            assert_eq!(found.contains("--proc"), is_on, "{value}: {found}");
        }
        let wrong = merged(&["record", "/s"], &[("BARO_PROC", "maybe")], "").unwrap_err();
        assert_eq!(wrong, "BARO_PROC: expected true or false, found \"maybe\"");
        assert_eq!(merged(&["info", "x"], &[("BARO_RING", "2M")], FILE).unwrap(), "baro info x");
        // Whoever reads of a wrong value looks for it where it was said.
        let wrong = merged(&["record", "/s"], &[("BARO_RING", "foo")], "").unwrap_err();
        assert!(wrong.starts_with("BARO_RING: ") && wrong.contains("found \"foo\""), "{wrong}");
    }

    #[test]
    fn a_mistake_names_its_line_and_the_nearest_key() {
        let config = ["record", "--config", "f.toml"];
        for (text, said) in [
            (
                "[record]\nproc-intervall = \"1s\"",
                "f.toml:2: proc-intervall: no such setting; the nearest is proc-interval",
            ),
            ("[record]\nrnig = \"4M\"", "f.toml:2: rnig: no such setting; the nearest is ring"),
            (
                "[record]\n\nring = \"4X\"",
                "f.toml:3: ring: invalid value '4X' for '--ring <RING>': expected a size such as 64M or 500MB, found \"4X\"",
            ),
            ("[record]\nproc = \"yes\"", "f.toml:2: proc: expected true or false, found \"yes\""),
            ("[record]\nring = true", "f.toml:2: ring: expected a text or a number, found true"),
            ("[record]\nfifo = 300", "f.toml:2: fifo: invalid value '300'"),
            ("[record]\nfifo = [1]", "f.toml:2: fifo: expected a text or a number, found a list"),
        ] {
            let error = merged(&config, &[], text).unwrap_err();
            assert!(error.starts_with(said), "{error}\n{said}");
        }
    }

    #[test]
    fn every_mistake_is_named_by_its_line() {
        let text = "[record]\nrnig = \"4M\"\nproc = \"yes\"\nstore = \"/s\"\nfifo = {}\n[other]\n";
        let error = merged(&["record", "--config", "f", "--check"], &[], text).unwrap_err();
        let said: Vec<_> = error.lines().collect();
        assert_eq!(said.len(), 4, "{error}");
        for (line, said) in [2, 3, 5, 6].into_iter().zip(said) {
            assert!(said.starts_with(&format!("f:{line}: ")), "{said}");
        }
    }

    #[test]
    fn every_setting_is_documented() {
        let text = include_str!("../../../docs/settings.md");
        for key in keys(&crate::Arguments::command()) {
            assert!(text.contains(&format!("| `{key}` |")), "docs/settings.md has no row `{key}`");
        }
    }
}

//! What to do about a failure, where the failing call cannot know it: whose a file is, what folder is
//! missing, where settings come from.
//!
//! Invariant: nothing is guessed: what is said was looked at when the failure was met. Held by
//! `a_mistake_says_what_is_wrong_and_what_to_do`.

mod options;
mod order;
mod place;
mod verbs;

use crate::failure::{self, Failure};
use crate::nearest::Nearest;
use baro_sys::{files, identity, schedule};
use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind as Mistake};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

/// A verb that looks at what is there, and for which a new store would be none.
const LOOKING: [&str; 2] = ["verify", "recover"];
/// What the store says of a damaged file without knowing where it lies.
const RECOVER: &str = "; copy what is readable with: baro recover STORE NEW";

/// A failure with what can be done about it.
pub(crate) fn told(failure: &Failure, typed: &[OsString]) -> String {
    let said = failure.to_string();
    if let Some(error) = failure.causes().find_map(|cause| cause.downcast_ref::<baro_log::Error>())
    {
        match error {
            baro_log::Error::NotAStore { path } => return no_store(&said, path, typed),
            baro_log::Error::NotAFolder { path } => {
                return said + &beheaded(path).unwrap_or_else(|| order::swapped(path, typed));
            }
            baro_log::Error::Format { file, .. } => return damaged(&said, file, typed),
            _ => {}
        }
    }
    let Some(error) = failure.causes().find_map(|cause| cause.downcast_ref::<baro_sys::Error>())
    else {
        return said;
    };
    let next = match error.kind() {
        _ if ["bind", "listen"].contains(&error.operation.as_str()) => {
            failure::of_address(error).to_owned()
        }
        ErrorKind::PermissionDenied
            if error.operation == "make folder" && schedule::user_id() == 0 =>
        {
            place::unmakable(&error.path)
        }
        // Some have said it.
        ErrorKind::PermissionDenied if !said.contains("root") => whose(&error.path),
        ErrorKind::NotFound if error.operation == "make folder" => place::unmakable(&error.path),
        ErrorKind::NotFound => missing(&error.path, typed),
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => place::in_the_way(&error.path),
        ErrorKind::ReadOnlyFilesystem => place::READ_ONLY.to_owned(),
        ErrorKind::StorageFull if error.operation.ends_with("of shared memory") => {
            place::NO_MEMORY.to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            if !said.replace(&*error.path.to_string_lossy(), "").contains("room") =>
        {
            place::FULL.to_owned()
        }
        _ => String::new(),
    };
    said + &next
}

/// Whether a store is there. A folder that is called as its first file is none: many call their store so.
pub(crate) fn is_store(path: &Path) -> bool {
    files::is_regular(&path.join(baro_log::IDENTITY))
}

/// That a store is there, but for the file that makes it one.
fn beheaded(path: &Path) -> Option<String> {
    // What an init that was stopped has left holds nothing, and a new one takes its place.
    let records = files::exists(&path.join(baro_log::segment_name(0)))
        && baro_sys::disk::Disk::open(path)
            .is_ok_and(|disk| baro_log::holds_records(&disk).unwrap_or(true));
    records.then(|| {
        format!(
            "; but a log is there, and a new store does not take its place: baro recover {} NEW copies what is \
             readable",
            path.display()
        )
    })
}

/// What to do where no store is: there may be one beside it, or to make one would not help.
fn no_store(said: &str, path: &Path, typed: &[OsString]) -> String {
    if let Some(next) = beheaded(path) {
        return format!("{said}{next}");
    }
    if path.starts_with("~") {
        let name = path.display();
        return format!(
            "{name}: no store here; no shell has put your home in place of ~: write the whole path"
        );
    }
    if let Some(name) = order::with_blanks(path, typed) {
        return format!(
            "{}: no store here; its name has blanks and needs quotes: \"{name}\"",
            path.display()
        );
    }
    if let (Some("help"), Some(verb)) = (path.to_str(), typed.get(1)) {
        return format!("help: no store here; more with: baro help {}", verb.to_string_lossy());
    }
    let swapped = order::swapped(path, typed);
    let bare = said.split("; make one with: ").next().unwrap_or(said);
    let mut above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    if let Some(store) = above.find(|above| is_store(above)) {
        let store = store.display();
        return format!("{bare}; it lies in the store {store}: name that folder");
    }
    let looks = typed.get(1).is_some_and(|verb| LOOKING.iter().any(|looking| verb == looking));
    if looks && swapped.is_empty() && said.contains("; make one with: ") {
        let next = if files::exists(path) {
            "; name the folder of one".to_owned()
        } else {
            missing(path, typed)
        };
        return format!("{bare}{next}");
    }
    format!("{said}{swapped}")
}

/// Of which store a damaged file is, and what can be done about it.
fn damaged(said: &str, file: &str, typed: &[OsString]) -> String {
    let stores = typed.iter().skip(2).map(Path::new);
    let mut stores = stores.filter(|word| files::exists(&word.join(file)));
    let Some(store) = stores.next() else { return said.to_owned() };
    let (path, store) = (store.join(file), store.display());
    // Without the file that makes it a store nothing but recover opens it.
    let verify =
        match file == baro_log::IDENTITY || typed.get(1).is_some_and(|verb| verb == "verify") {
            true => String::new(),
            false => format!("baro verify {store} tells what is damaged, "),
        };
    let said = said.strip_suffix(RECOVER).unwrap_or(said);
    format!(
        "{said}; the file is {}: {verify}baro recover {store} NEW copies what is readable",
        path.display()
    )
}

/// Whose a file is that this user may not open, or the folder on the way to it.
fn whose(path: &Path) -> String {
    let own = schedule::user_id();
    let owned = path.ancestors().find_map(|path| Some((path, identity::owner(path).ok()?)));
    match owned {
        Some((path, owner)) if owner != own => {
            let path = path.display();
            format!(
                "; {path} belongs to user {owner}, this is user {own}: run it as that user or root"
            )
        }
        _ => String::new(),
    }
}

/// The first folder on the way that is not there; or that the file itself is not, if somebody typed it,
/// and what he may have meant.
fn missing(path: &Path, typed: &[OsString]) -> String {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folders.take_while(|folder| !files::exists(folder)).last() {
        return format!("; there is no folder {}", folder.display());
    }
    let is_typed = typed.iter().any(|word| Path::new(word) == path);
    let parent = path.parent().filter(|store| !is_typed && !store.as_os_str().is_empty());
    if let Some(store) = parent.filter(|store| is_store(store)) {
        let store = store.display();
        return format!(
            "; a file of the store {store} is gone: put it back from a copy, or baro recover {store} NEW copies what is \
             readable"
        );
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|_| is_typed) else {
        return String::new();
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut nearest = Nearest::to(name);
    let there = files::list(parent.unwrap_or(Path::new("."))).unwrap_or_default();
    there.iter().for_each(|there| nearest.look(there));
    let place = parent.map_or("this folder".to_owned(), |parent| parent.display().to_string());
    let question = nearest.question().map_or(String::new(), |question| format!("; {question}"));
    format!("; there is no {name} in {place}: name one that is there{question}")
}

/// What somebody may have meant by an option or a verb that there is not, where its letters tell less.
pub(crate) fn suggest(mistake: &mut clap::Error, typed: &[OsString]) {
    let is_form =
        mistake.get(ContextKind::InvalidArg).is_some_and(|one| one.to_string() == "--form");
    if mistake.kind() == Mistake::UnknownArgument && is_form {
        let meant = ContextValue::String("--format".to_owned());
        mistake.insert(ContextKind::SuggestedArg, meant);
    }
    // That it would be a value behind `--`: nobody who mistypes an option means that.
    if let Some(ContextValue::StyledStrs(tips)) = mistake.remove(ContextKind::Suggested) {
        let is_meant = |tip: &StyledStr| !tip.to_string().starts_with("to pass ");
        let tips: Vec<_> = tips.into_iter().filter(is_meant).collect();
        if !tips.is_empty() {
            mistake.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    let asked = typed.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    let found = mistake.get(ContextKind::InvalidArg).map(ToString::to_string);
    if mistake.kind() == Mistake::UnknownArgument
        && let Some(instead) = found.and_then(|found| options::instead_of(asked, &found))
    {
        mistake.remove(ContextKind::SuggestedArg);
        mistake.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![instead.into()]));
    }
    let verb = mistake.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
    let verb =
        verb.filter(|verb| typed.get(1).is_some_and(|typed| typed.as_os_str() == verb.as_str()));
    if mistake.kind() == Mistake::InvalidSubcommand
        && let Some(instead) = verb.as_deref().and_then(verbs::instead_of)
    {
        mistake.remove(ContextKind::SuggestedSubcommand);
        mistake.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![instead.into()]));
    }
}

/// What the parser says of a number that it cannot read, and what we say.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "expected a whole number from 0 on"),
    ("cannot parse integer from empty string", "expected a whole number from 0 on"),
    ("number too large to fit in target type", "expected a smaller number"),
    ("invalid float literal", "expected a number"),
    ("cannot parse float from empty string", "expected a number"),
];

/// A mistake as the parser renders it, in our words: without blank lines, and without the usage where it tells
/// which option was meant.
pub(crate) fn plainly(rendered: &str, program: &Command, typed: &[OsString]) -> String {
    let verb = typed.get(1).and_then(|verb| verb.to_str());
    let verb = verb.filter(|verb| program.find_subcommand(verb).is_some());
    let verb = verb.map_or(String::new(), |verb| format!(" {verb}"));
    let rendered = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let is_told = rendered.contains("  tip: ");
    let number = NUMBERS.iter().find(|(theirs, _)| rendered.contains(theirs));
    let rendered = number.map_or_else(
        || Cow::from(rendered),
        |(theirs, ours)| Cow::from(rendered.replacen(theirs, ours, 1)),
    );
    let mut text = String::new();
    for paragraph in rendered.split("\n\n") {
        match paragraph.trim_end() {
            "For more information, try '--help'." => {
                text.push_str(&format!("More with: baro{verb} --help\n"));
            }
            usage if usage.starts_with("Usage: ") && is_told => {}
            other => text.extend([other, "\n"]),
        }
    }
    text
}

/// What follows a mistake on the command line.
pub(crate) fn of_mistake(mistake: &clap::Error, typed: &[OsString]) -> String {
    let has = |option: &str| {
        let is_it = |word: &str| {
            word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        // What stands behind -- is a command's.
        let ours = typed.iter().take_while(|word| *word != "--");
        ours.filter_map(|word| word.to_str()).any(is_it)
    };
    let has_file = has("--config");
    let variable = std::env::var_os("BARO_CONFIG").filter(|file| !file.is_empty());
    let of_file = has_file || variable.is_some();
    let found = mistake.get(ContextKind::InvalidArg).map(ToString::to_string);
    match mistake.kind() {
        Mistake::MissingRequiredArgument if of_file => {
            "A settings file has them below [record]: store = \"/data/s\", and a source: proc = true, \
             stdin = \"csv\", udp = [\"127.0.0.1:9000\"] or attach = 1\n"
                .to_owned()
        }
        Mistake::MissingRequiredArgument if typed.get(1).is_some_and(|verb| verb == "import") => {
            "What comes through a pipe: baro import STORE - --input csv\n".to_owned()
        }
        Mistake::ValueValidation if found.as_deref().is_some_and(|found| found.starts_with("--last")) => {
            "It counts samples; those of the last hour: --from 1h\n".to_owned()
        }
        // It needs --generate: of the kernel's counters another option has it.
        Mistake::MissingRequiredArgument
            if found.as_deref() == Some("--generate") && has("--interval") && has("--proc") =>
        {
            "--interval is that of generated frames; between two readings of the kernel's counters: \
             --proc-interval TIME\n"
                .to_owned()
        }
        Mistake::TooManyValues => {
            let option = found.map_or("It".to_owned(), |found| found);
            format!("{option} takes no value: write it alone, or leave it out\n")
        }
        Mistake::InvalidSubcommand if typed.get(1).is_some_and(|word| is_store(Path::new(word))) => {
            let store = typed.get(1).map(|word| word.to_string_lossy()).unwrap_or_default();
            let verb = typed.get(2).map_or("info".into(), |verb| verb.to_string_lossy());
            format!("{store} is a store: the verb comes first: baro {verb} {store}\n")
        }
        Mistake::UnknownArgument => {
            let word = found.filter(|found| !found.starts_with('-'));
            word.map_or(String::new(), |word| order::of_word(&word, typed))
        }
        _ => String::new(),
    }
}

//! What to do about a failure, where the failing call cannot know it: whose a file is, what folder is
//! missing, where settings come from.
//!
//! Invariant: nothing is guessed: what is said was looked at when the failure was met. Held by
//! `a_mistake_says_what_is_wrong_and_what_to_do`.

use crate::failure::Failure;
use crate::nearest::Nearest;
use baro_sys::{files, identity, schedule};
use clap::error::{ContextKind, ContextValue, ErrorKind as Mistake};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

/// What follows a failure's own sentence, with its mark before it; often nothing.
pub(crate) fn of(failure: &Failure, typed: &[OsString]) -> String {
    if let Some(error) = failure.causes().find_map(|cause| cause.downcast_ref::<baro_log::Error>())
    {
        match error {
            baro_log::Error::NotAStore { path } | baro_log::Error::NotAFolder { path } => {
                return beheaded(path).unwrap_or_else(|| swapped(path, typed));
            }
            baro_log::Error::Format { file, .. } => return damaged(file, typed),
            _ => {}
        }
    }
    let Some(error) = failure.causes().find_map(|cause| cause.downcast_ref::<baro_sys::Error>())
    else {
        return String::new();
    };
    let said = failure.to_string();
    match error.kind() {
        // Some have said it.
        ErrorKind::PermissionDenied if !said.contains("root") => whose(&error.path),
        ErrorKind::NotFound => missing(&error.path, typed),
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => in_the_way(&error.path),
        _ => String::new(),
    }
}

fn is_store(path: &Path) -> bool {
    files::exists(&path.join(baro_log::IDENTITY))
}

/// That a store is there, but for the file that makes it one.
fn beheaded(path: &Path) -> Option<String> {
    files::exists(&path.join(baro_log::segment_name(0))).then(|| {
        format!(
            "; but a log is there, and a new store does not take its place: baro recover {} NEW copies what is \
             readable",
            path.display()
        )
    })
}

/// That a word behind the one that was taken for the store is one.
fn swapped(taken: &Path, typed: &[OsString]) -> String {
    let behind = typed.iter().map(Path::new).skip_while(|word| *word != taken).skip(1);
    let store = behind.take_while(|word| *word != Path::new("--")).find(|word| is_store(word));
    store.map_or(String::new(), |store| {
        format!("; {} is a store: STORE comes first", store.display())
    })
}

/// Of which store a damaged file is, and what can be done about it.
fn damaged(file: &str, typed: &[OsString]) -> String {
    let stores = typed.iter().skip(2).map(Path::new);
    let mut stores = stores.filter(|word| files::exists(&word.join(file)));
    stores.next().map_or(String::new(), |store| {
        let (path, store) = (store.join(file), store.display());
        format!(
            "; the file is {}: baro verify {store} tells what is damaged, baro recover {store} NEW copies \
             what is readable",
            path.display()
        )
    })
}

/// A file where a folder is needed.
fn in_the_way(path: &Path) -> String {
    let file = path.ancestors().find(|path| files::is_regular(path));
    file.map_or(String::new(), |file| format!("; {} is a file: name a folder", file.display()))
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
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|_| typed.iter().any(|word| Path::new(word) == path)) else {
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

/// What somebody may have meant by an option that there is not, where its letters tell less.
pub(crate) fn suggest(mistake: &mut clap::Error) {
    let is_form =
        mistake.get(ContextKind::InvalidArg).is_some_and(|one| one.to_string() == "--form");
    if mistake.kind() == Mistake::UnknownArgument && is_form {
        let meant = ContextValue::String("--format".to_owned());
        mistake.insert(ContextKind::SuggestedArg, meant);
    }
}

/// What follows a mistake on the command line.
pub(crate) fn of_mistake(mistake: &clap::Error, typed: &[OsString]) -> &'static str {
    let has_file = typed.iter().any(|word| {
        word.to_str().is_some_and(|word| word == "--config" || word.starts_with("--config="))
    });
    let variable = std::env::var_os("BARO_CONFIG").filter(|file| !file.is_empty());
    let of_file = has_file || variable.is_some();
    let is_export = typed.get(1).is_some_and(|verb| verb == "export");
    let is_word =
        mistake.get(ContextKind::InvalidArg).is_some_and(|one| !one.to_string().starts_with('-'));
    match mistake.kind() {
        Mistake::MissingRequiredArgument if of_file => {
            "A settings file has them below [record]: store = \"/data/s\", and a source: proc = true, \
             stdin = \"csv\", udp = [\"127.0.0.1:9000\"] or attach = 1\n"
        }
        Mistake::UnknownArgument if is_export && is_word => {
            "Some series only: --series NAME, once for each\n"
        }
        _ => "",
    }
}

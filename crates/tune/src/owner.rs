//! Who changes settings: the program, its process, and since when; told to whoever comes second.
//!
//! Pure but for [`Owner::own`], which looks at this process. Invariant: what is written is read back,
//! and no field of it can hold a tab or end a line. Test: below.

use std::fmt;
use std::path::Path;

use baro_sys::clock;

/// Verb and what follows it: `baro tune apply`.
const WORDS_MAX: usize = 3;
/// Longer ones are cut.
const PROGRAM_BYTES_MAX: usize = 60;
const NS_PER_S: i128 = 1_000_000_000;

/// Who has settings, or had them and was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The program as it was called, with its verbs: `baro share run`.
    pub program: String,
    /// Its process.
    pub pid: u32,
    /// When it took them, in seconds since the Unix epoch.
    pub since_s: i64,
}

impl Owner {
    /// This process, as of now.
    pub(crate) fn own() -> Owner {
        let words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let since_s = clock::realtime_ns() / 1_000_000_000;
        Owner { program: program(&words), pid: std::process::id(), since_s }
    }

    /// Fields of a note, separated by tabs.
    pub(crate) fn render(&self) -> String {
        format!("{}\t{}\t{}", self.pid, self.since_s, self.program)
    }

    pub(crate) fn parse(text: &str) -> Option<Owner> {
        let mut fields = text.splitn(3, '\t');
        let pid = fields.next()?.parse().ok()?;
        let since_s = fields.next()?.parse().ok()?;
        let program = fields.next()?.chars().filter(|c| !c.is_control()).collect();
        Some(Owner { program, pid, since_s })
    }
}

/// The name of the program's file and the verbs behind it, up to the first option or path.
fn program(words: &[String]) -> String {
    let verb = |word: &&String| {
        let fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !word.is_empty() && !word.starts_with('-') && word.chars().all(fit)
    };
    let mut words = words.iter();
    let first = words.next().and_then(|word| Path::new(word).file_name());
    let first = first.map_or_else(|| "a program".into(), |name| name.to_string_lossy());
    let first: String = first.chars().filter(|c| !c.is_control()).collect();
    let all: Vec<&str> = std::iter::once(first.as_str())
        .chain(words.take_while(verb).map(String::as_str))
        .take(WORDS_MAX)
        .collect();
    all.join(" ").chars().take(PROGRAM_BYTES_MAX).collect()
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            // Between its claim and its note.
            return out.write_str(&self.program);
        }
        let since = baro_show::date(i128::from(self.since_s) * NS_PER_S);
        write!(out, "{} (process {}, since {since})", self.program, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_its_verbs() {
        for (words, expected) in [
            (&["/usr/bin/baro", "tune", "apply", "store"][..], "baro tune apply"),
            (&["baro", "record", "mnt/store", "--short-queue"], "baro record"),
            (&["baro", "share", "run", "--", "sh"], "baro share run"),
            (&["baro", "x\u{1b}[31m"], "baro"),
            (&["b\taro\n"], "baro"),
            (&[""], "a program"),
            (&[], "a program"),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(program(&words), expected);
        }
    }

    #[test]
    fn an_owner_is_read_as_it_was_written() {
        let owner = Owner { program: "baro share run".into(), pid: 7, since_s: 1_795_665_611 };
        assert_eq!(Owner::parse(&owner.render()), Some(owner.clone()));
        assert_eq!(owner.to_string(), "baro share run (process 7, since 2026-11-26 04:00:11 UTC)");
        for text in ["", "7", "7\t8", "x\t8\tbaro", "7\tx\tbaro"] {
            assert_eq!(Owner::parse(text), None, "{text:?}");
        }
        assert_eq!(Owner::own().pid, std::process::id());
    }
}

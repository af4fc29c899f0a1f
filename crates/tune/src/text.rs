//! The journal's text: what each setting held before, one line a setting.
//!
//! Fields are separated by tabs; the last one is the CRC32C, in 8 hex digits, of the line before
//! it. The last line's covers the whole file, so that a line that is missing is noticed too.
//! ```text
//! barograph-tune  1  <boot id>  <crc>
//! <set|moving>  <path>  <form>  <state found>  <state set>  <crc>
//! end  <number of settings>  <crc>
//! ```
//! `moving` is a setting that is about to be written, or was being undone. A form is `whole`,
//! `line <key> <unset>`, `member <name>` or `pair`, see `src/form.rs`. Oldest first; undone from
//! the last to the first. The file is only ever replaced whole, so no line can be half written.
//! Invariant: any damage is an error which names the line, never a panic and never a setting
//! that Barograph does not set. Tests: below.

use std::path::Path;

use crate::allowed::is_allowed;
use crate::error::Error;
use crate::form::{Form, Target};

const MAGIC: &str = "barograph-tune";
const VERSION: &str = "1";

/// The most settings in a journal: a tuned machine has some ten.
pub(crate) const SETTINGS_MAX: usize = 256;
/// The longest state in bytes; a page is the most that sysfs shows.
pub(crate) const STATE_BYTES_MAX: usize = 4096;
/// The longest journal: every line of the longest path, key, unset text and two states.
pub(crate) const JOURNAL_BYTES_MAX: u64 = 4 << 20;
const _: () = assert!(SETTINGS_MAX * (4 * 1024 + 2 * STATE_BYTES_MAX) < JOURNAL_BYTES_MAX as usize);

/// What is to be undone of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) target: Target,
    /// The state found, which undoing restores.
    pub(crate) was: String,
    /// The state left; what differs from both is somebody else's.
    pub(crate) now: String,
    /// A write may be under way: any state may be found and is ours.
    pub(crate) moving: bool,
}

pub(crate) fn render(boot: &str, entries: &[Entry]) -> String {
    let mut text = sealed(format!("{MAGIC}\t{VERSION}\t{boot}"));
    for Entry { target, was, now, moving } in entries {
        let form = match &target.form {
            Form::Whole => "whole".to_owned(),
            Form::Line { key, unset } => format!("line {key} {unset}"),
            Form::Member { name } => format!("member {name}"),
            Form::Pair => "pair".to_owned(),
        };
        let tag = if *moving { "moving" } else { "set" };
        text += &sealed(format!("{tag}\t{}\t{form}\t{was}\t{now}", target.path));
    }
    let end = format!("end\t{}", entries.len());
    let crc = crc32c::crc32c(format!("{text}{end}").as_bytes());
    text + &format!("{end}\t{crc:08x}\n")
}

fn sealed(body: String) -> String {
    let crc = crc32c::crc32c(body.as_bytes());
    body + &format!("\t{crc:08x}\n")
}

/// A journal whose first line is whole.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    /// The boot in which it was written.
    pub(crate) boot: &'a str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a Path, text: &'a str) -> Result<Reader<'a>, Error> {
        let mut reader = Reader { file, text, boot: "" };
        let first = text.lines().next().unwrap_or_default();
        let fields = reader.open(1, first, first)?;
        let expected = format!("{MAGIC}, version {VERSION} and a boot id");
        match fields.as_slice() {
            [MAGIC, VERSION, boot] if !boot.is_empty() => reader.boot = boot,
            _ => return Err(reader.damaged(1, expected, first)),
        }
        Ok(reader)
    }

    /// All entries, or the first damage.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let mut start = self.text.find('\n').map_or(self.text.len(), |end| end + 1);
        let mut number = 2;
        // Split by hand, since `lines` hides whether the last line is whole.
        while let Some(length) = self.text.get(start..).and_then(|rest| rest.find('\n')) {
            let line = self.text.get(start..start + length).unwrap_or_default();
            let next = start + length + 1;
            if line.starts_with("end\t") {
                let sealed = self.text.get(..start + length).unwrap_or_default();
                let count = entries.len().to_string();
                if self.open(number, line, sealed)? != ["end", &count] {
                    return Err(self.damaged(number, format!("end of {count} settings"), line));
                }
                let rest = self.text.get(next..).unwrap_or_default();
                if rest.is_empty() {
                    return Ok(entries);
                }
                return Err(self.damaged(number + 1, "nothing after the end".into(), rest));
            }
            if entries.len() == SETTINGS_MAX {
                let expected = format!("at most {SETTINGS_MAX} settings");
                return Err(self.damaged(number, expected, line));
            }
            entries.push(self.entry(number, line)?);
            (start, number) = (next, number + 1);
        }
        let rest = self.text.get(start..).unwrap_or_default();
        Err(self.damaged(number, "a setting or the end, and a newline".into(), rest))
    }

    fn entry(&self, number: usize, line: &str) -> Result<Entry, Error> {
        let fields = self.open(number, line, line)?;
        let expected = || "set or moving, path, form, value found, value set".to_owned();
        let damaged = || self.damaged(number, expected(), line);
        let [tag, path, form, was, now] = fields.as_slice() else { return Err(damaged()) };
        let moving = match *tag {
            "set" => false,
            "moving" => true,
            _ => return Err(damaged()),
        };
        let form = match form.split_once(' ') {
            None if *form == "whole" => Form::Whole,
            None if *form == "pair" => Form::Pair,
            Some(("member", name)) => Form::Member { name: name.to_owned() },
            Some(("line", rest)) => {
                let (key, unset) = rest.split_once(' ').ok_or_else(damaged)?;
                Form::Line { key: key.to_owned(), unset: unset.to_owned() }
            }
            _ => return Err(damaged()),
        };
        let target = Target { path: (*path).to_owned(), form };
        // Well sealed, and not of our making: what it would have us write is none of our settings.
        if !is_allowed(&target, was) {
            return Err(Error::Foreign {
                file: self.file.to_path_buf(),
                line: number,
                name: target.name(),
            });
        }
        Ok(Entry { target, was: (*was).to_owned(), now: (*now).to_owned(), moving })
    }

    /// The fields of a line but for its checksum, which is that of `sealed` without its last field.
    fn open<'t>(&self, number: usize, line: &'t str, sealed: &str) -> Result<Vec<&'t str>, Error> {
        let body = sealed.rsplit_once('\t').map_or("", |(body, _)| body);
        let crc = format!("{:08x}", crc32c::crc32c(body.as_bytes()));
        let mut fields: Vec<&str> = line.split('\t').collect();
        if fields.len() > 1 && fields.pop() == Some(&crc) {
            return Ok(fields);
        }
        Err(self.damaged(number, format!("a line with the checksum {crc}"), line))
    }

    fn damaged(&self, line: usize, expected: String, found: &str) -> Error {
        let found = found.lines().next().unwrap_or_default().chars().take(200).collect();
        Error::Damaged { file: self.file.to_path_buf(), line, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let target = |path: &str, form| Target { path: path.into(), form };
        let line = Form::Line { key: "8:0".into(), unset: "rbps=max wbps=max".into() };
        let entry = |target, was: &str, now: &str, moving| Entry {
            target,
            was: was.into(),
            now: now.into(),
            moving,
        };
        vec![
            entry(target("/proc/sys/vm/dirty_bytes", Form::Pair), "ratio 20", "bytes 9", false),
            entry(target("/sys/fs/cgroup/a/io.max", line), "", "wbps=5", true),
            entry(
                target("/sys/fs/cgroup/cgroup.subtree_control", Form::Member { name: "io".into() }),
                "-io",
                "+io",
                false,
            ),
            entry(target("/sys/block/a/queue/nr_requests", Form::Whole), "128", "512", false),
        ]
    }

    fn parse(text: &str) -> Result<(String, Vec<Entry>), Error> {
        let reader = Reader::new(Path::new("/j"), text)?;
        Ok((reader.boot.to_owned(), reader.entries()?))
    }

    #[test]
    fn reads_what_it_writes() {
        let text = render("boot", &entries());
        assert_eq!(parse(&text).unwrap(), ("boot".to_owned(), entries()));
        assert_eq!(parse(&render("b", &[])).unwrap(), ("b".to_owned(), vec![]));
    }

    #[test]
    fn every_changed_byte_is_damage_that_names_its_line() {
        let text = render("boot", &entries());
        for at in 0..text.len() {
            for byte in [b'\n', b'\t', b'0', b'z'] {
                let mut bytes = text.clone().into_bytes();
                if bytes[at] == byte {
                    continue;
                }
                bytes[at] = byte;
                let error = parse(&String::from_utf8(bytes).unwrap()).unwrap_err();
                let Error::Damaged { line, .. } = error else { panic!("{at}: {error}") };
                let own = text[..at].lines().count().max(1);
                assert!(line == own || line == own + 1, "byte {at}, line {own}: {error}");
            }
        }
    }

    #[test]
    fn a_shortened_or_lengthened_journal_is_damaged() {
        let text = render("boot", &entries());
        for end in 0..text.len() {
            assert!(matches!(parse(&text[..end]), Err(Error::Damaged { .. })), "{end}");
        }
        let without: Vec<&str> = text.split_inclusive('\n').collect();
        for gone in 0..without.len() {
            let mut lines = without.clone();
            lines.remove(gone);
            assert!(matches!(parse(&lines.concat()), Err(Error::Damaged { .. })), "{gone}");
        }
        let longer = parse(&format!("{text}x")).unwrap_err().to_string();
        assert!(longer.contains("/j, line 7: expected nothing after the end, found \"x\""));
    }

    #[test]
    fn a_well_sealed_line_that_makes_no_sense_is_damaged() {
        let journal = |body: &str| {
            let text = sealed(format!("{MAGIC}\t{VERSION}\tboot")) + &sealed(body.to_owned());
            let crc = crc32c::crc32c(format!("{text}end\t1").as_bytes());
            text + &format!("end\t1\t{crc:08x}\n")
        };
        for body in [
            "put\t/proc/sys/vm/swappiness\twhole\t1\t2",
            "set\t/sys/fs/cgroup/a/io.max\tline 8:0\t1\t2",
            "set\t/proc/sys/vm/swappiness\tround\t1\t2",
            "set\t/proc/sys/vm/swappiness\twhole\t1",
        ] {
            let error = parse(&journal(body)).unwrap_err();
            assert!(matches!(error, Error::Damaged { line: 2, .. }), "{body}: {error}");
        }
        for body in [
            "set\t/etc/passwd\twhole\t1\t2",
            "set\t/sys/../etc/passwd\twhole\t1\t2",
            "moving\t/proc/sys/kernel/core_pattern\twhole\t|/tmp/x\ty",
            "set\t/proc/sys/vm/swappiness\twhole\ta lot\t2",
        ] {
            let error = parse(&journal(body)).unwrap_err();
            assert!(matches!(error, Error::Foreign { line: 2, .. }), "{body}: {error}");
        }
        let newer = sealed(format!("{MAGIC}\t2\tboot"));
        let error = parse(&newer).unwrap_err().to_string();
        assert!(error.contains("line 1: expected barograph-tune, version 1 and a boot id"));
    }
}

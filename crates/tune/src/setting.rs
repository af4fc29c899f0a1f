//! One setting as the caller states it, checked and resolved to a target and the state wanted.
//!
//! Only what `src/allowed.rs` names is taken, here and when a journal is read, so that a journal that
//! somebody else wrote cannot make root write elsewhere. Invariant: no text that passes here holds a
//! control character, which is what the journal's lines rest on. Tests: below, and the damaged
//! journals in `src/text.rs`.

use crate::allowed::{self, EXPECTED};
use crate::error::Error;
use crate::form::{Form, PAIRS, Target, canonical};

/// The longest path, value, key or `unset` text in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;

/// A value for a file of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    path: String,
    value: String,
    line: Option<(String, String)>,
}

impl Setting {
    /// A file that holds one value: a sysctl, a queue file (also one of the form
    /// `none [bfq] kyber`), `memory.max`. In `cgroup.subtree_control` the value is one
    /// controller with its sign, `+io` or `-io`. Name a file by one path throughout: two paths to
    /// one file are two settings here.
    pub fn new(path: impl Into<String>, value: impl Into<String>) -> Setting {
        Setting { path: path.into(), value: value.into(), line: None }
    }

    /// One line of a file that holds many, each with its own key: `io.max`, `io.bfq.weight`.
    /// `unset` is what must follow the key to take a line away that was not there before:
    /// `default` for a weight, `0` for `blkio.throttle.*`, all four limits `=max` for `io.max`.
    pub fn line(
        path: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<String>,
        unset: impl Into<String>,
    ) -> Setting {
        let line = Some((key.into(), unset.into()));
        Setting { path: path.into(), value: value.into(), line }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it is to hold.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether it is about one device or control group; all else concerns the whole machine.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        let of = ["/sys/block/", "/sys/class/bdi/", "/sys/class/block/", "/sys/fs/cgroup/"];
        of.iter().any(|folder| self.path.starts_with(folder))
    }

    /// What is to be read and written, and the state that is wanted of it.
    pub(crate) fn resolve(&self) -> Result<(Target, String), Error> {
        let (target, wanted) = self.target()?;
        check(&self.path, EXPECTED, &self.value, allowed::is_allowed(&target, &wanted))?;
        Ok((target, wanted))
    }

    fn target(&self) -> Result<(Target, String), Error> {
        check_path(&self.path)?;
        check_text(&self.path, &self.value)?;
        let value = canonical(&self.value);
        let path = self.path.clone();
        if let Some((key, unset)) = &self.line {
            check_text(&path, key)?;
            check_text(&path, unset)?;
            check(&path, "a key of one word", key, key.split_whitespace().eq([key.as_str()]))?;
            check(&path, "a text that takes the line away", unset, !unset.trim().is_empty())?;
            let unset = canonical(unset);
            let wanted = if value == unset { String::new() } else { value };
            return Ok((Target { path, form: Form::Line { key: key.clone(), unset } }, wanted));
        }
        if path.ends_with("/cgroup.subtree_control") {
            let name = value.strip_prefix(['+', '-']).unwrap_or_default().to_owned();
            let one = !name.is_empty() && !name.contains(' ');
            check(&path, "one controller with its sign, as +io", &value, one)?;
            return Ok((Target { path, form: Form::Member { name } }, value));
        }
        for (bytes, ratio) in PAIRS {
            if path == bytes || path == ratio {
                let wanted = format!("{} {value}", if path == bytes { "bytes" } else { "ratio" });
                return Ok((Target { path: bytes.to_owned(), form: Form::Pair }, wanted));
            }
        }
        Ok((Target { path, form: Form::Whole }, value))
    }
}

/// Refuses a path outside the settings of the machine.
fn check_path(path: &str) -> Result<(), Error> {
    check_text(path, path)?;
    let below = path.strip_prefix("/proc/sys/").or(path.strip_prefix("/sys/"));
    let plain = |name: &str| !name.is_empty() && name != "." && name != "..";
    let fit = below.is_some_and(|below| below.split('/').all(plain));
    check(path, "a file below /proc/sys or /sys, without `..`", path, fit)
}

fn check_text(path: &str, text: &str) -> Result<(), Error> {
    let fit = text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control);
    check(path, "at most 1,024 bytes on one line, no control characters", text, fit)
}

fn check(path: &str, expected: &'static str, found: &str, fit: bool) -> Result<(), Error> {
    if fit {
        return Ok(());
    }
    Err(Error::Unfit { path: path.to_owned(), expected, found: found.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_setting() {
        let subtree = "/sys/fs/cgroup/a/cgroup.subtree_control";
        for setting in [
            Setting::new("/proc/sys/kernel/core_pattern", "core"),
            Setting::new("/sys/kernel/uevent_helper", "/bin/true"),
            Setting::new("/proc/sys/vm/swappiness", "a lot"),
            Setting::new("/etc/passwd", "x"),
            Setting::new("/sys/../etc/passwd", "x"),
            Setting::new("/proc/sys//vm", "x"),
            Setting::new("proc/sys/vm/swappiness", "x"),
            Setting::new("/proc/sys/vm/swappiness", "1\n2"),
            Setting::new("/proc/sys/vm/swappiness", "1".repeat(1025)),
            Setting::new(subtree, "io"),
            Setting::new(subtree, "+io +memory"),
            Setting::line("/sys/fs/cgroup/a/io.max", "8:0 x", "wbps=1", "wbps=max"),
            Setting::line("/sys/fs/cgroup/a/io.max", "8:0", "wbps=1", " "),
        ] {
            let refused = setting.resolve();
            assert!(matches!(refused, Err(Error::Unfit { .. })), "{setting:?}: {refused:?}");
        }
    }

    #[test]
    fn both_files_of_a_pair_are_one_target() {
        let (bytes, wanted) = Setting::new("/proc/sys/vm/dirty_bytes", "8192").resolve().unwrap();
        assert_eq!(wanted, "bytes 8192");
        let (ratio, wanted) = Setting::new("/proc/sys/vm/dirty_ratio", "5").resolve().unwrap();
        assert_eq!(wanted, "ratio 5");
        assert_eq!(bytes, ratio);
    }
}

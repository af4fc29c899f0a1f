//! The rows of a check as texts that make them last: sysctl.d, udev rules, fstab, systemd.
//!
//! What should be changed stands there ready to take effect; what is right in some cases is there
//! as a comment. Each carries its reason and its price, since such a file is read years later by
//! somebody else. Pure but for one file below the root of the check (the mounts). Invariant: every
//! line is a comment, blank, or one statement of its form. Tests: `tests/snippet.rs`.

mod fstab;

use crate::check::{Circumstances, Need, Remedy, Verdict};
use crate::setting::Setting;
use std::fmt::Write;

/// Comments are wrapped here.
const COLUMNS: usize = 96;

/// What reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `systemd-sysctl`, or `sysctl --system`.
    Sysctl,
    /// `mount`: lines of /etc/fstab.
    Fstab,
    /// `udev` rules.
    Udev,
    /// A drop-in for the recorder's unit, and `systemd-tmpfiles` for files below /sys.
    Systemd,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 4] = [Form::Sysctl, Form::Fstab, Form::Udev, Form::Systemd];

    /// `sysctl`, `fstab`, `udev` or `systemd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Sysctl => "sysctl",
            Form::Fstab => "fstab",
            Form::Udev => "udev",
            Form::Systemd => "systemd",
        }
    }
}

/// A text for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// What reads it.
    pub form: Form,
    /// Where it goes, or in which file its lines go.
    pub file: &'static str,
    /// Its lines.
    pub text: String,
    /// How many of these take effect.
    pub statements: usize,
}

/// The texts of one form that have anything to say about these rows; none that are empty.
#[must_use]
pub fn snippets(needs: &[Need], here: &Circumstances, form: Form) -> Vec<Snippet> {
    let mut all = match form {
        Form::Fstab => vec![fstab::snippet(needs, here)],
        Form::Sysctl => vec![gather(form, "/etc/sysctl.d/60-barograph.conf", &[], needs, sysctl)],
        Form::Udev => {
            let head = [
                "Names of devices may change from boot to boot: ENV{ID_SERIAL}==\"...\" in place of",
                "KERNEL==... binds a rule to one disk (udevadm info --query=property /dev/sda).",
            ];
            vec![gather(form, "/etc/udev/rules.d/60-barograph.rules", &head, needs, udev)]
        }
        Form::Systemd => {
            let unit = "/etc/systemd/system/barograph.service.d/60-limits.conf";
            let mut limits = gather(form, unit, &[], needs, limit);
            if !limits.text.is_empty() {
                limits.text.insert_str(0, "[Service]\n");
            }
            vec![limits, gather(form, "/etc/tmpfiles.d/barograph.conf", &[], needs, tmpfiles)]
        }
    };
    all.retain(|snippet| !snippet.text.is_empty());
    all
}

/// Rows for which `lines` has statements, each with its comment.
fn gather(
    form: Form,
    file: &'static str,
    head: &[&str],
    needs: &[Need],
    lines: impl Fn(&Need) -> Vec<String>,
) -> Snippet {
    let (mut text, mut statements) = (String::new(), 0);
    for need in needs {
        let lines = lines(need);
        if lines.is_empty() {
            continue;
        }
        if text.is_empty() {
            head.iter().for_each(|line| comment(&mut text, line));
        }
        explain(&mut text, need);
        let counts = need.verdict == Verdict::Change;
        statements += if counts { lines.len() } else { 0 };
        for line in lines {
            let _ = writeln!(text, "{}{line}", if counts { "" } else { "#" });
        }
    }
    Snippet { form, file, text, statements }
}

/// What was found, why it should be otherwise, and what that costs.
fn explain(text: &mut String, need: &Need) {
    if !text.is_empty() {
        text.push('\n');
    }
    let when = if need.verdict == Verdict::Note { " Right in some cases only." } else { "" };
    comment(text, &format!("{}: found {}; wanted: {}.{when}", need.name, need.found, need.wanted));
    comment(text, &format!("Why: {}.", need.why));
    comment(text, &format!("Price: {}.", need.price));
}

fn comment(text: &mut String, words: &str) {
    let mut line = "#".to_owned();
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS && line.len() > 1 {
            let _ = writeln!(text, "{line}");
            "#".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

fn sysctl(need: &Need) -> Vec<String> {
    let line = |setting: &Setting| {
        let name = setting.path().strip_prefix("/proc/sys/")?.replace('/', ".");
        Some(format!("{name} = {}", setting.value()))
    };
    need.settings().iter().filter_map(line).collect()
}

/// One rule for all settings of a row: they are of one device.
fn udev(need: &Need) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    for (folder, subsystem) in [("/sys/block/", "block"), ("/sys/class/bdi/", "bdi")] {
        let mut rule = String::new();
        for setting in need.settings() {
            let below = setting.path().strip_prefix(folder);
            let Some((device, file)) = below.and_then(|path| path.split_once('/')) else {
                continue;
            };
            if rule.is_empty() {
                // In sysfs `!` stands for the `/` that udev shows.
                let kernel = device.replace('!', "/");
                rule = format!(
                    "ACTION==\"add|change\", SUBSYSTEM==\"{subsystem}\", KERNEL==\"{kernel}\""
                );
            }
            let _ = write!(rule, ", ATTR{{{file}}}=\"{}\"", setting.value());
        }
        rules.extend((!rule.is_empty()).then_some(rule));
    }
    rules
}

fn limit(need: &Need) -> Vec<String> {
    match need.remedy {
        Remedy::ServiceLimit(line) => vec![line.to_owned()],
        _ => Vec::new(),
    }
}

/// Files below /sys that belong to no device.
fn tmpfiles(need: &Need) -> Vec<String> {
    let of = |setting: &&Setting| setting.path().starts_with("/sys/") && !setting.is_of_device();
    let line = |setting: &Setting| format!("w {} - - - - {}", setting.path(), setting.value());
    need.settings().iter().filter(of).map(line).collect()
}

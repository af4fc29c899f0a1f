//! Lines of /etc/fstab: the store's mount with its options, and the tmpfs of the rings.
//!
//! The line is made from what is mounted now, so that no option that somebody chose is lost by
//! pasting it. Invariant: of options that exclude each other one is left. Test: `tests/snippet.rs`.

use super::{Form, Snippet, comment, explain};
use crate::check::{Circumstances, MountFacts, Need, Remedy, Verdict};
use crate::machine::Root;
use std::fmt::Write;

/// Options of which one is in force.
const CHOICES: [&[&str]; 5] = [
    &["noatime", "relatime", "strictatime"],
    &["lazytime", "nolazytime"],
    &["discard", "nodiscard"],
    &["delalloc", "nodelalloc"],
    &["barrier", "nobarrier", "barrier=0", "barrier=1"],
];

pub(super) fn snippet(needs: &[Need], here: &Circumstances) -> Snippet {
    let (mut text, mut statements) = (String::new(), 0);
    let (mut wanted, mut noted) = (Vec::new(), Vec::new());
    for need in needs {
        if let Remedy::MountOption(option) = need.remedy {
            explain(&mut text, need);
            let options = if need.verdict == Verdict::Change { &mut wanted } else { &mut noted };
            options.push(option);
        }
    }
    if let (Some(store), false) = (&here.store, text.is_empty()) {
        comment(
            &mut text,
            "UUID=... in place of the device's name stays right when names change (blkid).",
        );
        let host = Root(here.root.clone());
        let mounts = host.read("/proc/self/mountinfo").unwrap_or_default();
        let found = Line::of(&mounts, store);
        if !noted.is_empty() {
            let all: Vec<&str> = wanted.iter().chain(&noted).copied().collect();
            let _ = writeln!(text, "#{}", found.with(&all));
        }
        if !wanted.is_empty() {
            let _ = writeln!(text, "{}", found.with(&wanted));
            statements += 1;
        }
    }
    for need in needs {
        if let Remedy::Mount(line) = need.remedy {
            explain(&mut text, need);
            let _ = writeln!(text, "{line}");
            statements += 1;
        }
    }
    Snippet { form: Form::Fstab, file: "/etc/fstab", text, statements }
}

/// What is mounted, as fstab writes it.
struct Line {
    source: String,
    at: String,
    kind: String,
    options: Vec<String>,
}

impl Line {
    /// By the last mount at that place; its texts are escaped as fstab wants them.
    fn of(mounts: &str, store: &MountFacts) -> Line {
        let escape =
            |text: &str| text.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
        let at = escape(&store.mount_point.to_string_lossy());
        let parsed = mounts.lines().rev().find_map(|line| {
            let (mount, system) = line.split_once(" - ")?;
            let mount: Vec<&str> = mount.split(' ').collect();
            let system: Vec<&str> = system.split(' ').collect();
            let (point, own) = (mount.get(4)?, mount.get(5)?);
            let (source, of_system) = (system.get(1)?, system.get(2)?);
            let options = own.split(',').chain(of_system.split(','));
            (**point == *at).then(|| ((*source).to_owned(), options.map(str::to_owned).collect()))
        });
        let (source, mut options): (String, Vec<String>) =
            parsed.unwrap_or_else(|| (escape(&store.source), Vec::new()));
        options.retain(|option| option != "rw");
        Line { source, at, kind: store.kind.clone(), options }
    }

    fn with(&self, wanted: &[&str]) -> String {
        let mut options: Vec<&str> = vec!["defaults"];
        let excludes = |found: &str, wanted: &str| {
            let data = found.starts_with("data=") && wanted.starts_with("data=");
            data || CHOICES.iter().any(|all| all.contains(&found) && all.contains(&wanted))
        };
        for option in &self.options {
            let replaced = wanted.iter().any(|wanted| excludes(option, wanted));
            if !replaced && !options.contains(&option.as_str()) {
                options.push(option);
            }
        }
        options.extend(wanted);
        // Checked at boot after the root; other file systems check themselves.
        let pass = match (self.kind.starts_with("ext"), self.at == "/") {
            (true, true) => 1,
            (true, false) => 2,
            _ => 0,
        };
        let Line { source, at, kind, .. } = self;
        format!("{source} {at} {kind} {} 0 {pass}", options.join(","))
    }
}

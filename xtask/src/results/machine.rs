//! What a number depends on: the machine, its kernel, the disk below, the versions.
//!
//! Invariant: no path and no name of one machine or person is among the facts. Held by the check
//! `paths` of tidy over the committed results.

use crate::shell::Cmd;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The facts, as a line of `runs.jsonl`.
pub(super) fn facts(batch: u64, work: &Path) -> Value {
    let (file_system, options, device) = mount_of(work);
    json!({
        "row": super::runs::MACHINE,
        "batch": batch,
        "cpu": cpu(),
        "cpus": cpus(),
        "memory_bytes": memory_bytes(),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "vendor": first_line("/sys/class/dmi/id/sys_vendor"),
        "file_system": file_system,
        "mount_options": options,
        "device": device,
        "commit": commit(),
        "fio": said("fio --version"),
        "mkfs": said("mke2fs -V"),
    })
}

/// `amd-epyc-2cpu`
pub(super) fn name() -> String {
    let mut name = String::new();
    for c in cpu().to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    format!("{}-{}cpu", name.trim_end_matches('-'), cpus())
}

/// Processor, how many, and kernel.
pub(crate) fn sentence() -> String {
    format!("{}, {} processors, Linux {}", cpu(), cpus(), first_line("/proc/sys/kernel/osrelease"))
}

/// The commit measured, with a `+` if the tree differs from it.
pub(super) fn commit() -> String {
    let Ok(hash) = Cmd::new("git rev-parse --short=12 HEAD").output() else {
        return "unknown".to_owned();
    };
    let changed = Cmd::new("git status --porcelain --untracked-files=no -- crates Cargo.lock");
    let plus = if changed.output().is_ok_and(|text| text.is_empty()) { "" } else { "+" };
    format!("{}{plus}", hash.trim())
}

fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // Boards name themselves under `Hardware` or in the device tree, not under `model name`.
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let tree = || fs::read_to_string("/proc/device-tree/model").ok();
    let name = field("model name").or_else(|| field("Hardware")).or_else(tree);
    name.map_or("unknown".to_owned(), |name| name.trim_end_matches('\0').to_owned())
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

fn memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = kib.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_owned()
}

fn said(line: &str) -> String {
    // mke2fs tells its version on stderr.
    let out = std::process::Command::new("sh").args(["-c", &format!("{line} 2>&1")]).output();
    let text = out.ok().filter(|out| out.status.success()).map(|out| out.stdout);
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("not installed").trim().to_owned()
}

/// Type, options and device of the file system that a folder lies on.
fn mount_of(folder: &Path) -> (String, String, String) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut best = (0, Default::default());
    for line in mounts.lines() {
        let mut fields = line.split(' ').map(str::to_owned);
        let (Some(device), Some(at), Some(kind), Some(options)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        // The last of equally deep ones covers the others.
        if folder.starts_with(&at) && at.len() >= best.0 {
            best = (at.len(), (kind, options, device));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_a_name_fit_for_a_folder() {
        let name = name();
        assert!(name.ends_with("cpu") && !name.starts_with('-'), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
    }
}

//! `media board`: runs a command with the memory and the processor time of a small board.
//!
//! One processor, of it a share of the time, and a limit of memory that includes the page cache.
//! The kernel stops the group when its share of a period is used up, so the period is short: 5 ms
//! is long for a push and short for a writer. Only cycles are modelled: one of a large processor
//! does more than one of a small board's, and the kernel's own threads (write-back, the journal's,
//! the loop device's) are not in the group.
//!
//! Both versions of cgroups; where neither can be written, it says so and runs nothing.
//!
//! Invariant: the groups are removed however the command or this program ends; what a killed run
//! leaves is removed by the next one. Held by `tests/board.rs`.
#![allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]

use crate::options;
use baro_sys::clock::sleep_ns;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const USAGE: &str = "\
usage: media board [options] -- COMMAND [ARGUMENT...]
  --memory 1G          memory, with the page cache of the command and with its shared memory
  --cpu-percent 33     of one processor: 1 GHz of one of 3 GHz
  --period-us 5000     in which that share is given out
  --processor 0        the only one that the command gets
  --report FILE        what was used, as JSON";

/// Beginning of the name of each group; the process id follows.
const PREFIX: &str = "baro-board-";
/// The kernel's least quota.
const QUOTA_MIN_US: u64 = 1_000;
/// Processes that are ending keep a group busy for a moment.
const REMOVE_TRIES: u32 = 100;
const REMOVE_PAUSE_NS: u64 = 20_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    memory_bytes: u64,
    quota_us: u64,
    period_us: u64,
    processor: u32,
    report: Option<PathBuf>,
    command: Vec<String>,
}

/// Reads the arguments after `board`. `Ok(None)`: help was asked for.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = String>,
) -> Result<Option<Options>, String> {
    let (mut memory_bytes, mut percent, mut period_us, mut processor) = (1 << 30, 33, 5_000, 0);
    let mut report = None;
    let command = options::split(arguments, |name, value| {
        match name {
            "--memory" => memory_bytes = options::bytes(name, &value)?,
            "--cpu-percent" => percent = options::count(name, &value)?,
            "--period-us" => period_us = options::count(name, &value)?,
            "--processor" => processor = options::count(name, &value)?,
            "--report" => report = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option {name}")),
        }
        Ok(())
    })?;
    let Some(command) = command else { return Ok(None) };
    let period_us = u64::from(period_us);
    let quota_us = period_us * u64::from(percent) / 100;
    if !(1..=100).contains(&percent) || period_us > 1_000_000 || quota_us < QUOTA_MIN_US {
        return Err(format!(
            "{percent} % of {period_us} us: at least {QUOTA_MIN_US} us, of at most a second"
        ));
    }
    Ok(Some(Options { memory_bytes, quota_us, period_us, processor, report, command }))
}

/// The groups of a board; removed on drop.
#[derive(Debug)]
pub(crate) struct Board {
    /// That of the processor, that of the memory; one and the same in version 2.
    groups: Vec<PathBuf>,
    unified: bool,
}

impl Board {
    pub(crate) fn build(options: &Options) -> Result<Board, String> {
        let name = format!("{PREFIX}{}", std::process::id());
        let memory = options.memory_bytes.to_string();
        let (period, quota) = (options.period_us.to_string(), options.quota_us.to_string());
        let (first, settings): (_, Vec<(&str, &str, String)>) = match roots()? {
            Roots::Separate { cpu, memory: root } => (
                vec![cpu.join(&name), root.join(&name)],
                vec![
                    ("0", "cpu.cfs_period_us", period),
                    ("0", "cpu.cfs_quota_us", quota),
                    ("1", "memory.limit_in_bytes", memory),
                ],
            ),
            Roots::Unified(root) => (
                vec![root.join(&name)],
                vec![("0", "cpu.max", format!("{quota} {period}")), ("0", "memory.max", memory)],
            ),
        };
        for parent in first.iter().filter_map(|group| group.parent()) {
            remove_leftovers(parent);
        }
        let mut board = Board { unified: first.len() == 1, groups: Vec::new() };
        for group in first {
            fs::create_dir(&group).map_err(|e| format!("{}: {e}", group.display()))?;
            board.groups.push(group);
        }
        for (which, file, value) in settings {
            let group = board.groups.get(usize::from(which == "1")).cloned().unwrap_or_default();
            let path = group.join(file);
            fs::write(&path, &value).map_err(|e| format!("{} <- {value}: {e}", path.display()))?;
        }
        Ok(board)
    }

    /// The command in the groups and on its processor; it ends when this program does.
    pub(crate) fn command(&self, options: &Options) -> Command {
        // The shell joins the groups and becomes the command: no process of ours is ever in them.
        const JOIN: &str = "\
n=$1; shift; while [ \"$n\" -gt 0 ]; do echo $$ > \"$1/cgroup.procs\" || exit 125; shift; \
n=$((n - 1)); done; exec \"$@\"";
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "taskset", "-c", &options.processor.to_string()]);
        command.args(["sh", "-c", JOIN, "sh", &self.groups.len().to_string()]);
        command.args(&self.groups).args(&options.command);
        command
    }

    /// What was used and how often the command was stopped, as JSON.
    pub(crate) fn report(&self, options: &Options) -> String {
        let text =
            |file: &str| self.groups.iter().find_map(|g| fs::read_to_string(g.join(file)).ok());
        let number = |file: &str| -> Option<u64> { text(file)?.trim().parse().ok() };
        let stat = |file: &str, name: &str| -> Option<u64> {
            let text = text(file)?;
            text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
        };
        let throttled_ns = if self.unified {
            stat("cpu.stat", "throttled_usec ").map(|us| us * 1000)
        } else {
            stat("cpu.stat", "throttled_time ")
        };
        let peak = number("memory.max_usage_in_bytes").or_else(|| number("memory.peak"));
        let fields = [
            ("board_memory_limit_bytes", Some(options.memory_bytes)),
            ("board_memory_peak_bytes", peak),
            (
                "board_memory_limit_hits",
                number("memory.failcnt").or_else(|| stat("memory.events", "max ")),
            ),
            ("board_quota_us", Some(options.quota_us)),
            ("board_period_us", Some(options.period_us)),
            ("board_periods", stat("cpu.stat", "nr_periods ")),
            ("board_periods_stopped", stat("cpu.stat", "nr_throttled ")),
            ("board_stopped_ns", throttled_ns),
        ];
        let fields = fields.map(|(name, value)| {
            format!("\"{name}\": {}", value.map_or("null".to_owned(), |value| value.to_string()))
        });
        format!("{{{}}}\n", fields.join(", "))
    }

    pub(crate) fn write_report(&self, options: &Options) -> Result<(), String> {
        let Some(path) = &options.report else { return Ok(()) };
        fs::write(path, self.report(options)).map_err(|e| format!("{}: {e}", path.display()))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        for group in &self.groups {
            remove(group);
        }
    }
}

enum Roots {
    Separate { cpu: PathBuf, memory: PathBuf },
    Unified(PathBuf),
}

fn roots() -> Result<Roots, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|e| format!("mounts: {e}"))?;
    let mounted = |kind: &str, controller: Option<&str>| -> Option<PathBuf> {
        mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, dir, found, options, ..] = fields.as_slice() else { return None };
            let has = controller.is_none_or(|name| options.split(',').any(|option| option == name));
            (*found == kind && has).then(|| PathBuf::from(dir))
        })
    };
    let cpu = mounted("cgroup", Some("cpu"));
    if let (Some(cpu), Some(memory)) = (cpu, mounted("cgroup", Some("memory"))) {
        return Ok(Roots::Separate { cpu, memory });
    }
    let unified = mounted("cgroup2", None).ok_or("no cgroups are mounted: no board")?;
    // Refused where processes lie in the root of a container; then the settings below fail.
    let _ = fs::write(unified.join("cgroup.subtree_control"), "+cpu +memory");
    Ok(Roots::Unified(unified))
}

fn remove_leftovers(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some(pid) = pid
            && !Path::new("/proc").join(pid).exists()
        {
            remove(&entry.path());
        }
    }
}

/// Ends what is still in the group, then removes it.
fn remove(group: &Path) {
    const KILL: i32 = 9;
    for attempt in 0..REMOVE_TRIES {
        match fs::remove_dir(group) {
            Ok(()) => return,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(_) => {}
        }
        // A load ends by itself when its measurement does; it gets half the time for it.
        if attempt >= REMOVE_TRIES / 2 {
            let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            for pid in text.lines().filter_map(|line| line.parse().ok()) {
                let _ = baro_sys::termination::send(pid, KILL);
            }
        }
        sleep_ns(REMOVE_PAUSE_NS);
    }
    eprintln!("media: {} is still there", group.display());
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn line(text: &str) -> Result<Option<super::Options>, String> {
        parse(text.split(' ').map(str::to_owned))
    }

    #[test]
    fn reads_its_options_and_the_command() {
        let options = line("--memory 512M --cpu-percent 40 -- ls -l").unwrap().unwrap();
        assert_eq!((options.memory_bytes, options.quota_us), (512 << 20, 2_000));
        assert_eq!(options.command, ["ls", "-l"]);
        assert_eq!(line("--help"), Ok(None));
        for wrong in
            ["ls", "--memory x -- ls", "--cpu-percent 0 -- ls", "--period-us 2000 -- ls", "--"]
        {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}

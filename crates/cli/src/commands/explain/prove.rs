//! `baro explain --prove`: whether what is advised helps on this machine, measured.
//!
//! The machine is recorded as it is, then for as long with the setting that the longest call's advice names,
//! and the waits of calls of the same kind are compared. What is no setting of this machine (a mount option,
//! another program) is not tried: it could not be put back as it was.
//!
//! Invariant: the setting is back when this ends; killed, the next owner of the journal or `baro tune undo`
//! sees to it. Held by `tests/prove.rs`.

use super::super::trace::recorded;
use super::super::tune::{options, put_back_shares, tell_before};
use super::Arguments;
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_show::duration;
use baro_sys::{identity, schedule, termination};
use baro_trace::explain::{Advice, Explanation, Knowledge, Question, SlowCall, Write};
use baro_tune::{DirtyLimit, Journal, OnConflict, Options, Outcome as Set, Report, Setting};
use serde_json::{Value, json};
use std::path::Path;

/// Calls that are compared at most: more are not explained either.
const CALLS_MAX: usize = 2_000;
/// Two clocks that were set together differ by less within a start of the machine, but for leaps of the time.
const SAME_START_NS: i64 = 3_600_000_000_000;

/// What is tried, and for whose sake.
struct Trial<'a> {
    /// The call that waited longest.
    call: &'a SlowCall,
    advice: &'a Advice,
    settings: Vec<Setting>,
}

/// The waits of one kind in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waits {
    recorded_ns: u64,
    calls: u64,
    longest_ns: u64,
    sum_ns: u64,
    /// Nothing is missing from the recording.
    whole: bool,
}

pub(super) fn run(
    arguments: &Arguments,
    known: &Knowledge,
    explanation: &Explanation,
) -> Result<Outcome> {
    let trial = Trial::of(known, explanation)?;
    if !schedule::is_root() {
        return Err("--prove changes a setting of the machine and records: it needs root".into());
    }
    trial.tell(arguments.for_ns);
    if !arguments.yes && !agreed()? {
        return Err("nothing was changed".into());
    }
    termination::watch()?;
    let options = options(arguments.state_dir.clone(), OnConflict::Leave);
    let mut journal = opened(arguments, &options)?;
    let before = trial.measured(arguments)?;
    if before.calls == 0 {
        return Err(format!(
            "in {} no {} waited {}: there is nothing to compare, and nothing was changed; try it while \
             the load is there, or with a longer --for",
            duration(before.recorded_ns),
            trial.kind(),
            duration(arguments.over)
        )
        .into());
    }
    let with = trial.apply(&mut journal).and_then(|()| trial.measured(arguments));
    let report = journal.undo_all(OnConflict::Leave);
    let with = match with {
        Ok(with) => with,
        Err(error) => {
            baro_command::say_lines(report.to_string().trim_end());
            return Err(error);
        }
    };
    trial.report(arguments, before, with, &report)
}

/// Takes the settings, and puts back what killed owners have left of them: it is not what was found.
fn opened(arguments: &Arguments, options: &Options) -> Result<Journal> {
    let left = Journal::left(options);
    let mut shares = None;
    if arguments.state_dir.is_none() && !left.is_empty() {
        shares = put_back_shares(options)?;
    }
    let (journal, mut undone) = Journal::open(options)?;
    shares.into_iter().for_each(|shares| undone.add(shares));
    tell_before(&undone);
    let text = undone.to_string();
    if !text.is_empty() {
        say!("baro: settings that a crash had left were put back:");
        baro_command::say_lines(text.trim_end());
    }
    Ok(journal)
}

/// Whether who is asked wants it.
fn agreed() -> Result<bool> {
    say!("baro: go on? y for yes (--yes does not ask)");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

impl<'a> Trial<'a> {
    fn of(known: &Knowledge, explanation: &'a Explanation) -> Result<Self> {
        let Some(call) = explanation.calls.first() else {
            return Err("the trace has no slow call: there is nothing to prove".into());
        };
        let is_setting = |advice: &&Advice| !advice.writes.is_empty();
        let Some(advice) = call.advice.iter().find(is_setting) else {
            let advised: Vec<&str> = call.advice.iter().map(|one| one.command.as_str()).collect();
            let advised = match advised.as_slice() {
                [] => "nothing is advised".to_owned(),
                all => format!("what is advised is none: {}", all.join(" | ")),
            };
            return Err(format!(
                "only a setting of the machine can be tried and put back, and for the longest call, \
                 {}() of {} ({}), {advised}",
                call.call,
                call.comm,
                call.cause.name()
            )
            .into());
        };
        is_of_this_machine(known)?;
        let settings = advice.writes.iter().map(setting).collect::<Result<_>>()?;
        Ok(Self { call, advice, settings })
    }

    /// Calls that are compared.
    fn kind(&self) -> String {
        match self.call.call.as_str() {
            "page fault" => format!("page fault of {}", self.call.comm),
            name => format!("{name}() of {}", self.call.comm),
        }
    }

    fn tell(&self, for_ns: u64) {
        say!("baro: the longest wait is {} for {}", self.kind(), self.call.cause.phrase());
        say!("baro: to be tried: {}", self.advice.command);
        say!("baro:   {}; price: {}", self.advice.effect, self.advice.price);
        say!(
            "baro: {} are recorded as it is, {} with it; then it is put back, after a kill by `baro tune undo`",
            duration(for_ns),
            duration(for_ns)
        );
    }

    fn apply(&self, journal: &mut Journal) -> Result<()> {
        let mut changed = false;
        for setting in &self.settings {
            let applied = journal.apply(setting)?;
            changed |= matches!(applied.outcome, Set::Exact | Set::Adjusted);
            say!("baro: {}: {} -> {}", setting.path(), applied.before, applied.now);
        }
        if changed {
            return Ok(());
        }
        Err("the machine has this already, or the kernel ignores it: nothing to compare".into())
    }

    /// Records for the time, and counts.
    fn measured(&self, arguments: &Arguments) -> Result<Waits> {
        let mut known = recorded(arguments.for_ns)?;
        if termination::requested().is_some() {
            return Err("told to end before both were recorded".into());
        }
        // Longer calls of other programs must not crowd out those that are compared.
        let is_alike = |pid: &i32| {
            known.line.task_name(*pid).is_some_and(|name| name.to_string() == self.call.comm)
        };
        known.focus = known.line.tasks.keys().copied().filter(is_alike).collect();
        let (recorded_ns, whole) = (known.line.duration_ns(), known.line.is_whole());
        let mut waits = Waits { recorded_ns, calls: 0, longest_ns: 0, sum_ns: 0, whole };
        // No focus would be all tasks.
        if known.focus.is_empty() {
            return Ok(waits);
        }
        let question = Question { over_ns: arguments.over, top: CALLS_MAX };
        let is_alike = |one: &&SlowCall| one.call == self.call.call && one.comm == self.call.comm;
        for one in known.explain(&question).calls.iter().filter(is_alike) {
            waits.calls += 1;
            waits.longest_ns = waits.longest_ns.max(one.wait_ns);
            waits.sum_ns += one.wait_ns;
        }
        Ok(waits)
    }

    fn report(
        &self,
        arguments: &Arguments,
        before: Waits,
        with: Waits,
        undone: &Report,
    ) -> Result<Outcome> {
        // What is missing may be the longest wait of all.
        let helps =
            (before.whole && with.whole).then_some(with.longest_ns <= before.longest_ns / 2);
        match arguments.format {
            Format::Json => print_json(&json!({
                "call": self.call.call,
                "comm": self.call.comm,
                "cause": self.call.cause.name(),
                "command": self.advice.command,
                "before": before.json(),
                "with": with.json(),
                "halves_the_longest": helps,
                "undone": undone.settings.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "clean": undone.is_clean(),
            }))?,
            Format::Text => {
                out!("{} that waited {} or longer:", self.kind(), duration(arguments.over));
                out!("             recorded    calls    longest      in all");
                before.print("as it was");
                with.print("with it");
                out!("{}", verdict(helps));
                undone.to_string().lines().for_each(|line| out!("{line}"));
            }
        }
        Ok(Outcome::lost_if(helps != Some(true) || !undone.is_clean()))
    }
}

fn verdict(helps: Option<bool>) -> &'static str {
    match helps {
        Some(true) => "it helps: the longest wait is at most half of what it was",
        Some(false) => "it does not help: the longest wait is more than half of what it was",
        None => {
            "not judged: events were lost while it was recorded, and the longest wait may be among \
             them; try again with a shorter --for, or with less load"
        }
    }
}

impl Waits {
    fn json(self) -> Value {
        json!({
            "recorded_ns": self.recorded_ns,
            "calls": self.calls,
            "longest_ns": self.longest_ns,
            "sum_ns": self.sum_ns,
            "whole": self.whole,
        })
    }

    fn print(self, name: &str) {
        let Waits { recorded_ns, calls, longest_ns, sum_ns, .. } = self;
        let [recorded, longest, sum] = [recorded_ns, longest_ns, sum_ns].map(duration);
        out!("  {name:<9} {recorded:>10} {calls:>8} {longest:>10} {sum:>11}");
    }
}

/// Devices and groups have their names on one machine, since one start of it.
fn is_of_this_machine(known: &Knowledge) -> Result<()> {
    let (here, there) = (baro_trace::collect::this_machine(1), &known.machine);
    let apart_ns = |machine: &baro_trace::file::Machine| {
        machine.realtime_offset_ns.saturating_sub(machine.boottime_offset_ns)
    };
    let is_same = there.kernel == identity::kernel_release()
        && apart_ns(&here).abs_diff(apart_ns(there)) < SAME_START_NS.unsigned_abs();
    if is_same {
        return Ok(());
    }
    Err(format!(
        "the trace is of another machine, or of an earlier start of this one (Linux {}): what it advises \
         may be another disk here; record anew",
        there.kernel
    )
    .into())
}

/// `BDI_RATIO_SCALE` of include/linux/backing-dev.h, since 6.2.
const FINE_PER_PERCENT: u64 = 10_000;

/// How a file is set so that it can be put back.
fn setting(write: &Write) -> Result<Setting> {
    let Write { path, text } = write;
    let name = path.rsplit('/').next().unwrap_or_default();
    if let Some(device) =
        path.strip_prefix("/sys/class/bdi/").and_then(|rest| rest.strip_suffix("/max_bytes"))
    {
        // It reads back another number each time; the share behind it does not.
        let bytes = text.parse()?;
        let share = DirtyLimit::read(Path::new("/"), device)?.settings(bytes);
        return share.into_iter().next().ok_or_else(|| "no share of a limit".into());
    }
    let fine = format!("{path}_fine");
    if name == "max_ratio" && baro_sys::files::exists(Path::new(&fine)) {
        // It reads back whole percents: a share below 1 would be put back as none at all, and every writer
        // would stand still.
        let percent: u64 = text.parse()?;
        return Ok(Setting::new(fine, (percent * FINE_PER_PERCENT).to_string()));
    }
    let none = match name {
        "io.max" => Some("rbps=max wbps=max riops=max wiops=max"),
        name if name.starts_with("blkio.throttle.") => Some("0"),
        _ => None,
    };
    Ok(match (none, text.split_once(' ')) {
        (Some(none), Some((device, value))) => Setting::line(path, device, value, none),
        _ => Setting::new(path, text),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
mod tests {
    use super::*;

    /// Read back in whole percents, a share below one would be put back as none.
    #[test]
    fn a_share_of_dirty_data_is_put_back_to_the_millionth() {
        let all = std::fs::read_dir("/sys/class/bdi").into_iter().flatten().flatten();
        let Some(device) =
            all.map(|one| one.path()).find(|path| path.join("max_ratio_fine").exists())
        else {
            println!("skipped: no device here whose share is told to the millionth");
            return;
        };
        let path = device.join("max_ratio").to_str().unwrap().to_owned();
        let set = setting(&Write { path: path.clone(), text: "100".to_owned() }).unwrap();
        assert_eq!((set.path(), set.value()), (&*format!("{path}_fine"), "1000000"));
        let none = setting(&Write { path: "/none/max_ratio".to_owned(), text: "7".to_owned() });
        let none = none.unwrap();
        assert_eq!((none.path(), none.value()), ("/none/max_ratio", "7"));
    }
}

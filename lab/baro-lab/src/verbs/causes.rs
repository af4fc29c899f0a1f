//! `baro-lab causes`: see `baro_lab::causes`. Stalls made on purpose; does `baro explain` name
//! their causes?
//!
//! Each cause is made by this program once more (`baro-lab cause`), so that its process can be put into
//! a control group while this one records and looks on. The two speak by lines: the other says when
//! all is prepared, gets a line when it is to begin, and prints its account; when our end of the pipe
//! closes, however that comes, it tears everything down.
//!
//! Invariant: what is judged against is the victim's own account and what was seen of it in /proc,
//! never anything of the tracer. Held by `tests/bench_causes.rs`.

mod explained;
mod one;
mod shown;

pub(crate) use one::{One, run_one};

use crate::baro;
use baro_bench::stand::remove_leftovers;
use baro_bench::verb::recording::Recording;
use baro_command::failure::{Outcome, Result};
use baro_command::{Format, print_json};
use baro_lab::causes::{CAUSES, Cause, JUDGED_NS, Sampler, Seen, SlowCall, find};
use baro_sys::termination;
use clap::Args;
use explained::{Explained, explain};
use one::Other;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Causes to make; all that change nothing which other programs share, if none is named
    names: Vec<String>,
    /// Print the causes and end
    #[arg(long)]
    list: bool,
    /// Folder for images of up to 1 GiB, sparse; best in memory
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Also print where the victim and the others were seen in the kernel
    #[arg(long)]
    evidence: bool,
    /// Make the stalls and look at the victim, but record and explain nothing
    #[arg(long)]
    no_trace: bool,
    /// How `baro trace` collects
    #[arg(long, default_value = "tracefs")]
    collector: String,
    /// Also causes that change limits of the whole machine, such as vm.dirty_bytes
    #[arg(long)]
    global: bool,
    /// Keep the recorded traces in this folder, one file for each cause
    #[arg(long)]
    keep: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What came of one cause.
pub(crate) struct Row {
    pub(crate) cause: &'static Cause,
    /// The call that is judged.
    pub(crate) longest: Option<SlowCall>,
    pub(crate) slow: Vec<SlowCall>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) explained: Option<Explained>,
    /// Why there is none, or why the cause could not be made.
    pub(crate) failed: Option<String>,
}

impl Row {
    /// The stall was made, and the victim was where it was to be.
    pub(crate) fn made(&self) -> bool {
        self.longest.is_some_and(|call| call.wait_ns() >= JUDGED_NS)
            && self.seen.iter().all(Seen::holds)
    }

    /// It was, and was explained by its cause if it was to be explained.
    pub(crate) fn met(&self) -> bool {
        let right = |explained: &Explained| self.cause.expect.contains(&explained.cause.as_str());
        self.failed.is_none() && self.made() && self.explained.as_ref().is_none_or(right)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.list {
        shown::list(arguments.format)?;
        return Ok(Outcome::Done);
    }
    let causes = chosen(arguments)?;
    termination::watch()?;
    let mut rows = Vec::new();
    for cause in causes {
        if termination::requested().is_some() {
            return Err("ended before all causes were made".into());
        }
        let row = match make(arguments, cause) {
            Ok(row) => row,
            Err(error) => Row {
                cause,
                longest: None,
                slow: Vec::new(),
                seen: Vec::new(),
                explained: None,
                failed: Some(error.to_string()),
            },
        };
        if arguments.format == Format::Text {
            shown::row(&row, arguments.evidence, rows.is_empty());
        }
        rows.push(row);
    }
    let met = rows.iter().all(Row::met);
    if arguments.format == Format::Json {
        print_json(&shown::as_json(&rows, (!arguments.no_trace).then_some(&arguments.collector)))?;
    }
    Ok(Outcome::lost_if(!met))
}

fn chosen(arguments: &Arguments) -> Result<Vec<&'static Cause>> {
    if arguments.names.is_empty() {
        return Ok(CAUSES.iter().filter(|cause| arguments.global || !cause.global).collect());
    }
    let one = |name: &String| -> Result<&'static Cause> {
        let names: Vec<&str> = CAUSES.iter().map(|cause| cause.name).collect();
        let cause = find(name)
            .ok_or_else(|| format!("no cause {name}: expected one of {}", names.join(", ")))?;
        if cause.global && !arguments.global {
            return Err(format!("{name} changes limits of the whole machine: add --global").into());
        }
        Ok(cause)
    };
    arguments.names.iter().map(one).collect()
}

fn make(arguments: &Arguments, cause: &'static Cause) -> Result<Row> {
    let mut other = Other::start(cause.name, &arguments.dir)?;
    // Before, it says itself what went wrong.
    let mut other_was_ready = false;
    let made = (|| {
        let journal_task = other.ready()?;
        other_was_ready = true;
        let recording = if arguments.no_trace {
            None
        } else {
            let keep =
                arguments.keep.as_deref().map(|dir| dir.join(format!("{}.trace", cause.name)));
            Some(Recording::start(&baro::program()?, &arguments.collector, &arguments.dir, keep)?)
        };
        let sampler = Sampler::start(other.pid(), &journal_task)?;
        let account = other.perform()?;
        let evidence = sampler.finish()?;
        let explained =
            recording.map(|recording| explain(recording, account.longest())).transpose();
        let (explained, failed) = match explained {
            Ok(explained) => (explained, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Row {
            cause,
            longest: account.longest().copied(),
            seen: evidence.judge(cause, &account),
            slow: account.slow,
            explained,
            failed,
        })
    })();
    let ended = other.end();
    // It removes what it made; had it been killed, this does.
    remove_leftovers(&arguments.dir);
    match (made, ended) {
        (Ok(row), Ok(())) => Ok(row),
        // Told to end by us, since this failed.
        (Err(error), _) if other_was_ready => Err(error),
        (Err(error), Ok(())) | (_, Err(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn only_a_stall_that_was_made_and_rightly_explained_is_met() {
        let cause = find("log_space").unwrap();
        let call = |wait_ns| SlowCall {
            tid: 1,
            call: "pwrite64",
            begin_ns: 0,
            end_ns: wait_ns,
            run_delay_ns: 0,
        };
        let seen = |in_place| Seen {
            task: "victim".to_owned(),
            in_place,
            samples: 100,
            stacks: Vec::new(),
            share_wanted: 0.9,
        };
        let explained = |cause: &str| Explained {
            cause: cause.to_owned(),
            root: "device".to_owned(),
            wait_ns: JUDGED_NS,
            unexplained_ns: 0,
            chain: Value::Null,
        };
        let row = |wait_ns, in_place, name: Option<&str>| Row {
            cause,
            longest: Some(call(wait_ns)),
            slow: Vec::new(),
            seen: vec![seen(in_place)],
            explained: name.map(explained),
            failed: None,
        };
        assert!(row(JUDGED_NS, 90, Some("log_space")).met());
        assert!(row(JUDGED_NS, 90, None).met());
        assert!(!row(JUDGED_NS - 1, 90, None).made());
        assert!(!row(JUDGED_NS, 89, Some("log_space")).met());
        // What is behind the cause is not the cause.
        let wrong = row(JUDGED_NS, 100, Some("device"));
        assert!(wrong.made() && !wrong.met());
        let failed = Row { failed: Some("no trace".to_owned()), ..row(JUDGED_NS, 100, None) };
        assert!(failed.made() && !failed.met());
        assert!(!Row { longest: None, ..row(JUDGED_NS, 100, None) }.met());
    }
}

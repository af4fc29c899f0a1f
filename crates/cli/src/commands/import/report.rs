//! What an import tells at its end: what is kept, what is not, why, and where to go on.
//! Held by `tests/import_kept.rs`.

use super::Arguments;
use super::reading::Read;
use crate::commands::print_json;
use crate::commands::record::report::why_lost;
use crate::failure::{Failure, Outcome, Result};
use baro_ingest::{Fed, Place, Unkept};
use baro_recorder::{Closed, Trouble};
use baro_show::{plural, rfc3339};
use baro_sys::termination;
use serde_json::{Value, json};

/// Times before are hardly meant.
const YEAR_1980_NS: i64 = 315_532_800_000_000_000;

/// Samples that came without a time, and were given that at which they were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Untimed {
    samples: u64,
    /// The first and the last of these times.
    from_ns: i64,
    to_ns: i64,
}

impl Untimed {
    pub(super) fn add(&mut self, time_ns: i64) {
        let first = self.samples == 0;
        self.from_ns = if first { time_ns } else { self.from_ns.min(time_ns) };
        self.to_ns = if first { time_ns } else { self.to_ns.max(time_ns) };
        self.samples += 1;
    }

    fn as_json(&self) -> Value {
        match self.samples {
            0 => Value::Null,
            samples => {
                json!({ "samples": samples, "from_ns": self.from_ns, "to_ns": self.to_ns })
            }
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Report {
    lines: u64,
    untimed: Untimed,
    fed: Fed,
    /// Read, and not in the store.
    unkept: Unkept,
    /// Records lost beside those.
    lost_records: u64,
    /// Why this process's own recorder could not keep them, where nothing was stopped by that.
    why_unkept: Option<String>,
    /// Why it ended before the end of the files.
    stopped: Option<Failure>,
    /// Where the reading ended, if that is not the end and no line was told before.
    next: Option<Place>,
    /// Something was read.
    begun: bool,
    /// All files, those that were not begun too.
    files: Vec<String>,
    /// How many were not begun.
    unread: usize,
    dry: bool,
    /// Samples that were durable and are not there any more.
    gone: u64,
    /// What was found wrong with the store meanwhile.
    damage: Vec<String>,
}

impl Report {
    /// `failed` is why a file could not be read; `closed` how this process's own recorder ended.
    pub(super) fn new(
        read: Read,
        failed: Result<()>,
        closed: Option<&Closed>,
        arguments: &Arguments,
    ) -> Self {
        let Read { lines, next, files, untimed, mut ended, skipped, .. } = read;
        let mut lost_records = 0;
        if let Some(closed) = closed {
            let own = closed.status.rings.iter().find(|ring| ring.producer == ended.fed.producer);
            own.iter().for_each(|ring| ended.ledger.durable_below(ring.durable));
            lost_records = closed.lost_durable;
        }
        let mut unkept = ended.ledger.unkept();
        ended.fed.samples =
            ended.fed.samples.saturating_sub(unkept.samples - ended.ledger.unpushed());
        let gone = ended.gone;
        ended.fed.samples = ended.fed.samples.saturating_sub(gone.samples);
        unkept.samples += gone.samples;
        unkept.records += gone.records;
        unkept.first = unkept.first.into_iter().chain(gone.first).min();
        if skipped.0 > 0 {
            unkept.samples += skipped.0;
            unkept.first = Some(unkept.first.map_or(skipped.1, |first| first.min(skipped.1)));
        }
        let refused = arguments.strict && ended.fed.bad_lines > 0;
        let stopped = match (failed, ended.result) {
            (_, Err(error)) if termination::requested().is_none() => Some(error.into()),
            (Err(failure), _) => Some(failure),
            _ if refused => Some("stopped at the first line that was refused (--strict)".into()),
            _ => termination::requested()
                .map(|signal| format!("stopped by {}", named(signal)).into()),
        };
        let any = unkept.samples > 0 && stopped.is_none();
        let why_unkept = closed.filter(|_| any).and_then(|closed| {
            let why = why_lost(&closed.status, any, &arguments.store);
            why.or_else(|| {
                let trouble = &closed.status.trouble;
                (*trouble != Trouble::None).then(|| trouble.to_string())
            })
        });
        // Where nothing was read nobody needs to be told with what to go on.
        let begun = lines > 0 || next.input > 0;
        // Where all was read there is nothing to go on with either.
        let left = (next.input as usize) < arguments.files.len();
        let next = (stopped.is_some() && !refused && left).then_some(next);
        let unread = arguments.files.len().saturating_sub(files.len());
        let more = arguments.files.iter().skip(files.len()).map(|file| file.display().to_string());
        let files: Vec<String> = files.into_iter().chain(more).collect();
        let (fed, dry, gone) = (ended.fed, arguments.dry_run, gone.samples);
        let damage = closed.map(|closed| closed.damage.clone()).unwrap_or_default();
        Report {
            lines,
            untimed,
            fed,
            unkept,
            lost_records,
            why_unkept,
            stopped,
            next,
            begun,
            files,
            unread,
            dry,
            gone,
            damage,
        }
    }

    fn file(&self, place: Place) -> &str {
        self.files.get(place.input as usize).map_or("", String::as_str)
    }

    /// The first line that is not in the store though it is understood, or was not read.
    fn resume(&self) -> Option<Place> {
        self.unkept.first.or(self.next)
    }

    pub(super) fn print(&self, as_json: bool) -> Result<()> {
        if as_json {
            return print_json(&self.as_json());
        }
        let fed = &self.fed;
        let (dry, declared) =
            if self.dry { ("dry run: ", "would be declared") } else { ("", "declared") };
        out!(
            "{dry}{}, {} of {} series ({} {declared}); refused: {}",
            plural(self.lines, "line"),
            plural(fed.samples, "sample"),
            fed.series,
            fed.declared,
            plural(fed.bad_lines, "line")
        );
        let is_taken = fed.samples > 0 || self.unkept.samples > 0;
        if !is_taken && fed.bad_lines == 0 {
            say!("note: no sample was found in what was imported");
        }
        if let Some((from_ns, to_ns)) = fed.span_ns.filter(|_| fed.samples > 0) {
            let unit = match from_ns < YEAR_1980_NS {
                true => " (if that is not meant: --precision says the unit of numbers)",
                false => "",
            };
            out!("times: {} to {}{unit}", rfc3339(from_ns), rfc3339(to_ns));
        }
        if let Some(first) = &fed.texts_first {
            out!(
                "of texts: {} of these series, the first: {first} (if it tells others apart: --columns \
                 NAME=label; numbers in quotes are texts)",
                fed.texts
            );
        }
        if fed.no_values > 0 {
            out!("no value: {} say NA, N/A, NULL, None or \\N", plural(fed.no_values, "cell"));
        }
        if fed.exemplars > 0 {
            out!("passed over: {} exemplars beside samples", fed.exemplars);
        }
        if let Some(at) = fed.replaced_first {
            out!(
                "replaced: {} by another of the same series and time with another value; the last of \
                 each counts; the first that does not: line {} of {}",
                plural(fed.replaced, "sample"),
                at.line,
                self.file(at)
            );
        }
        if let Some(at) = fed.unseen.first {
            out!(
                "not known: {} may have replaced others of the same series and time, since times go back \
                 further than is held, and the input was read once; the first: line {} of {}",
                plural(fed.unseen.samples, "sample"),
                at.line,
                self.file(at)
            );
        }
        let Untimed { samples, from_ns, to_ns } = self.untimed;
        if samples > 0 {
            out!(
                "without a time: {}, given the time at which they were read, {} to {} (if a key or column \
                 has their time, --columns NAME=time says so)",
                plural(samples, "sample"),
                rfc3339(from_ns),
                rfc3339(to_ns)
            );
        }
        if self.unkept.samples > 0 || self.lost_records > 0 {
            out!(
                "lost: {} of what was read ({})",
                plural(self.unkept.samples, "sample"),
                plural(self.unkept.records + self.lost_records, "record")
            );
        }
        self.why_unkept.iter().for_each(|why| out!("{why}"));
        if self.gone > 0 {
            out!(
                "{} of them had been durable: the recorder reused their part of the log before they \
                 were settled",
                self.gone
            );
        }
        self.damage.iter().for_each(|damage| out!("DAMAGE {damage}"));
        if let (Some(at), true) = (self.resume(), self.begun && !self.dry) {
            let line = at.line;
            out!("the first line that is not in the store: {line} of {}", self.file(at));
            if self.unread > 0 {
                out!("not begun: {}", plural(self.unread as u64, "file"));
            }
            // Of what is refused whole, nothing is gained by that.
            if is_taken {
                say!(
                    "to go on, import again from that line; or all of it, if each row has its time: \
                     then none counts twice"
                );
            }
        }
        if self.dry {
            out!("nothing was written");
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        let place = |at: Place| json!({ "file": self.file(at), "line": at.line });
        json!({
            "lines": self.lines,
            "samples": self.fed.samples,
            "from_ns": self.fed.span_ns.map(|(from_ns, _)| from_ns),
            "to_ns": self.fed.span_ns.map(|(_, to_ns)| to_ns),
            "series": self.fed.series,
            "series_declared": self.fed.declared,
            "series_declared_of_texts": self.fed.texts,
            "first_series_of_texts": self.fed.texts_first,
            "lines_refused": self.fed.bad_lines,
            "cells_without_value": self.fed.no_values,
            "exemplars_passed_over": self.fed.exemplars,
            "samples_replaced": self.fed.replaced,
            "first_line_replaced": self.fed.replaced_first.map(place),
            "samples_maybe_replaced": self.fed.unseen.samples,
            "first_line_maybe_replaced": self.fed.unseen.first.map(place),
            "untimed": self.untimed.as_json(),
            "records_lost": self.unkept.records + self.lost_records,
            "samples_lost": self.unkept.samples,
            "why_lost": self.why_unkept,
            "first_line_not_kept": self.resume().map(place),
            "stopped": self.stopped.as_ref().map(Failure::to_string),
            "damage": self.damage,
            "dry_run": self.dry,
        })
    }

    pub(super) fn outcome(self) -> Result<Outcome> {
        if let Some(why) = self.stopped {
            return Err(why);
        }
        let replaced = self.fed.replaced > 0 || self.fed.unseen.samples > 0;
        let lost = self.unkept.samples > 0 || self.lost_records > 0 || replaced;
        Ok(Outcome::lost_if(self.fed.bad_lines > 0 || lost || !self.damage.is_empty()))
    }
}

fn named(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

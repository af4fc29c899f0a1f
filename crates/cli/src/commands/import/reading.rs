//! Files on their way into the intake: which one is read and how far, and what is told of it on
//! stderr, each refusal with its file and line. Held by `tests/import.rs`.

use super::deleted::Deleted;
use super::progress::Progress;
use super::report::Untimed;
use baro_ingest::{Ended, Intake, Misfit, Place, Reason, Refusal, Row, Types, Value};
use baro_ondisk::Type;
use baro_sys::termination;
use std::fmt::Display;
use std::path::Path;

/// See the module.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    intake: Intake<'a>,
    /// Lines of text, or rows of Parquet.
    lines: u64,
    /// Those of the files before this one.
    lines_before: u64,
    told: Told,
    files: Vec<String>,
    /// Samples that came when no more could be taken, and the first one's line.
    skipped: (u64, u64),
    progress: Progress,
    /// All was told already.
    silent: bool,
    /// Samples without a time.
    untimed: Untimed,
    /// Series of this file that have another unit in the store.
    other_units: u64,
    /// The line with which a file begins that is refused whole.
    refused: Option<u64>,
    /// The line of this file from which on its parser holds back what it has read.
    held: Option<u64>,
    /// All of this file was read, and handed on by its parser.
    whole: bool,
    /// Why no more can be taken.
    failed: baro_ingest::Result<()>,
}

/// Refusals told; all are counted. A file of the wrong form has as many as lines.
const TOLD_MAX: u64 = 10;

/// What is told of a file.
#[derive(Debug, Default)]
struct Told {
    file: String,
    /// It has rows, and no lines.
    is_table: bool,
    /// Refusals so far.
    count: u64,
    /// Of all files.
    deleted: Deleted,
}

impl Told {
    /// Of a sample; `advice` stands behind it.
    fn sample(&mut self, refusal: &Refusal<'_>, advice: Option<&str>) {
        if matches!(refusal.reason, Reason::Misfit(_)) {
            self.deleted.refused(refusal.series);
        }
        match advice {
            Some(advice) => self.refusal(&format_args!("{refusal} ({advice})")),
            None => self.refusal(refusal),
        }
    }

    fn refusal(&mut self, refusal: &dyn Display) {
        let Told { file, is_table, count, .. } = self;
        *count += 1;
        if *count > TOLD_MAX {
            if *count == TOLD_MAX + 1 {
                say!("{file}: more is refused; it is counted and not told");
            }
            return;
        }
        let said = refusal.to_string();
        match said.strip_prefix("line ").filter(|_| *is_table) {
            Some(said) => say!("{file}: row {said}"),
            None => say!("{file}: {said}"),
        }
    }
}

/// What helps where a series that is new has a type that nobody meant.
fn advice(refusal: &Refusal<'_>, types: Types) -> Option<&'static str> {
    match (&refusal.reason, types) {
        (Reason::Misfit(Misfit { kind: Type::F64, value: Value::Boolean(_) }), Types::Numbers) => {
            Some(
                "a series has the type of its first value, and NaN is one of f64; a new one has the type that \
             its column says: --columns NAME=bool, or value_type in each row",
            )
        }
        (
            Reason::Misfit(Misfit {
                kind: Type::F64,
                value: Value::Quoted(_) | Value::QuotedComma(_),
            }),
            Types::NumbersInQuotes,
        ) => Some(
            "all of the line is in quotes: a new series is one of texts where its column says so, with \
             --columns NAME=text, or value_type in each row",
        ),
        _ => None,
    }
}

impl<'a> Reading<'a> {
    pub(super) fn new(intake: Intake<'a>, deleted: Deleted) -> Self {
        Reading {
            intake,
            lines: 0,
            lines_before: 0,
            told: Told { deleted, ..Told::default() },
            files: Vec::new(),
            skipped: (0, 0),
            progress: Progress::new(),
            silent: false,
            untimed: Untimed::default(),
            other_units: 0,
            refused: None,
            held: None,
            whole: false,
            failed: Ok(()),
        }
    }

    /// Of what was read before: nothing is told.
    pub(super) fn again(intake: Intake<'a>) -> Self {
        let reading = Reading::new(intake, Deleted::default());
        Reading { silent: true, other_units: TOLD_MAX, progress: Progress::silent(), ..reading }
    }

    /// Whether all of it was read before.
    pub(super) fn is_again(&self) -> bool {
        self.silent
    }

    /// Lines are those of this file from now on; `in_parts`: values of one need not be taken together.
    pub(super) fn begin(&mut self, file: &Path, in_parts: bool) {
        self.flush();
        self.progress.begin(file, !in_parts && !super::is_packed(file));
        self.lines_before = self.lines;
        let name = if file == Path::new("-") { "stdin".into() } else { file.display().to_string() };
        self.files.push(name.clone());
        let count = if self.silent { TOLD_MAX + 1 } else { 0 };
        let deleted = std::mem::take(&mut self.told.deleted);
        self.told = Told { file: name, is_table: in_parts, count, deleted };
        (self.held, self.whole) = (None, false);
        if in_parts {
            self.intake.begin_in_parts();
        } else {
            self.intake.begin();
        }
    }

    /// What comes now belongs to this point of the file, where a line may have several.
    pub(super) fn point(&mut self, number: u64) {
        self.intake.point(number);
    }

    /// The time of a sample without one: all of a point have that of its first.
    pub(super) fn line_time_ns(&mut self, line: u64) -> i64 {
        let time_ns = self.intake.line_time_ns(line);
        self.untimed.add(time_ns);
        time_ns
    }

    /// The name of the file, as it is told.
    pub(super) fn file(&self) -> &str {
        &self.told.file
    }

    /// Whether nothing more is read: a strict import has met its first fault, no more can be taken, or a
    /// signal has come.
    pub(super) fn stopped(&self) -> bool {
        !self.takes() || termination::requested().is_some()
    }

    /// Whether what was read already is taken.
    pub(super) fn takes(&self) -> bool {
        !self.intake.stopped() && self.failed.is_ok()
    }

    /// From this line on the parser holds back what it has read of the file.
    pub(super) fn holds_back(&mut self, line: Option<u64>) {
        self.held = line;
    }

    /// All of the file was read and handed on.
    pub(super) fn whole(&mut self) {
        (self.held, self.whole) = (None, true);
    }

    /// Counts lines that were read, in so many bytes.
    pub(super) fn lines(&mut self, count: u64, bytes: usize) {
        self.lines += count;
        self.progress.read(bytes);
    }

    /// So many lines that are not understood; `error` names them.
    pub(super) fn not_understood(&mut self, lines: u64, error: &impl Display) {
        if !self.intake.stopped() && self.failed.is_ok() {
            self.intake.fed.complain_of(lines, || error.to_string());
            self.told.refusal(error);
        }
    }

    /// Nothing of this file is taken, which begins with that line: whoever goes on begins there too.
    pub(super) fn refused_whole(&mut self, line: u64) {
        self.refused = Some(line);
    }

    /// Counts what stood beside samples and is none.
    pub(super) fn exemplars(&mut self, count: u64) {
        self.intake.fed.exemplars += count;
    }

    /// What comes from now on was read then.
    pub(super) fn came_at(&mut self, time_ns: i64) {
        self.intake.came_at(time_ns);
    }

    /// The file says that a series has this unit. A new one gets it; of others their own stays.
    pub(super) fn unit(&mut self, series: &str, unit: &str) {
        let Some(known) = self.intake.set_unit(series, unit) else { return };
        self.other_units += 1;
        if self.other_units <= TOLD_MAX {
            let known = if known.is_empty() { "no unit".to_owned() } else { format!("{known:?}") };
            say!(
                "{}: note: {series} has {known} in the store and {unit:?} in the file; its values \
                 are taken as they are",
                self.told.file
            );
        }
    }

    /// Takes a sample.
    pub(super) fn take(&mut self, row: &Row<'_>) {
        if self.failed.is_err() {
            self.skipped.1 = if self.skipped.0 == 0 { row.line } else { self.skipped.1 };
            self.skipped.0 += 1;
            return;
        }
        let Reading { intake, told, .. } = self;
        let tell = &mut |refusal: &Refusal<'_>| told.sample(refusal, advice(refusal, row.types));
        self.failed = intake.take(row, tell);
    }

    /// Pushes what was taken if that is much.
    pub(super) fn push_if_much(&mut self) {
        if self.failed.is_ok() {
            let Reading { intake, told, .. } = self;
            match intake.push_if_much(&mut |refusal| told.sample(refusal, None)) {
                Ok(pushed) if pushed => self.show(),
                Ok(_) => {}
                Err(error) => self.failed = Err(error),
            }
        }
    }

    fn flush(&mut self) {
        if self.failed.is_ok() {
            let Reading { intake, told, .. } = self;
            self.failed = intake.flush(&mut |refusal| told.sample(refusal, None));
        }
    }

    fn show(&mut self) {
        self.progress.show(&self.told.file, self.intake.fed.samples);
    }

    /// Pushes the rest, and waits until it is durable as long as that makes sense.
    pub(super) fn end(mut self) -> Read {
        self.flush();
        self.show();
        let mut told = self.told;
        told.deleted.look(|id| self.intake.has_taken(id));
        let input = self.files.len().saturating_sub(1) as u32;
        let (skipped, line) = self.skipped;
        let unread = self.lines - self.lines_before + 1;
        let next = self.refused.unwrap_or(self.held.map_or(unread, |held| held.min(unread)));
        let next = match self.whole && self.refused.is_none() {
            true => Place { input: input + 1, line: 1 },
            false => Place { input, line: next },
        };
        let ended = self.intake.end(self.failed, &mut |refusal| told.sample(refusal, None));
        Read {
            lines: self.lines,
            next,
            files: self.files,
            untimed: self.untimed,
            ended,
            skipped: (skipped, Place { input, line }),
            deleted: told.deleted,
        }
    }
}

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    /// Lines, or rows, of all files.
    pub(super) lines: u64,
    /// The one that would be read next: the first of a file that was not begun, if those that were are whole.
    pub(super) next: Place,
    /// The files that were begun.
    pub(super) files: Vec<String>,
    /// Samples without a time.
    pub(super) untimed: Untimed,
    /// What became of the samples in them.
    pub(super) ended: Ended,
    /// Samples beside these, which came when no more could be taken, and where the first came from.
    pub(super) skipped: (u64, Place),
    /// Series that had been deleted.
    pub(super) deleted: Deleted,
}

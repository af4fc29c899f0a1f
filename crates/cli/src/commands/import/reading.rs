//! Files on their way into the intake: which one is read and how far, and what is told of it on
//! stderr, each refusal with its file and line. Held by `tests/import.rs`.

use crate::failure::Result;
use baro_ingest::{Fed, Intake, Row};
use baro_sys::clock;
use std::fmt::Display;
use std::path::Path;

const PROGRESS_NS: u64 = 500_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    intake: Intake<'a>,
    /// Lines of text, or rows of Parquet.
    lines: u64,
    file: String,
    /// When the progress was shown last; `None` if nobody looks.
    shown_ns: Option<u64>,
    /// Refusals so far.
    told: u64,
    /// Why no more can be taken.
    failed: baro_ingest::Result<()>,
}

/// Refusals told; all are counted. A file of the wrong form has as many as lines.
const TOLD_MAX: u64 = 10;

/// Tells one of `told` refusals.
fn tell(file: &str, told: &mut u64, refusal: &dyn Display) {
    *told += 1;
    if *told <= TOLD_MAX {
        say!("{file}: {refusal}");
    } else if *told == TOLD_MAX + 1 {
        say!("{file}: more is refused; it is counted and not told");
    }
}

impl<'a> Reading<'a> {
    pub(super) fn new(intake: Intake<'a>) -> Self {
        Reading {
            intake,
            lines: 0,
            file: String::new(),
            shown_ns: baro_command::status_on_terminal().then(clock::monotonic_ns),
            told: 0,
            failed: Ok(()),
        }
    }

    /// Lines are those of this file from now on; `in_parts`: values of one need not be taken together.
    pub(super) fn begin(&mut self, file: &Path, in_parts: bool) {
        self.file =
            if file == Path::new("-") { "stdin".into() } else { file.display().to_string() };
        if in_parts {
            self.intake.begin_in_parts();
        } else {
            self.intake.begin();
        }
    }

    /// The time of a sample without one: all of a line have that of its first.
    pub(super) fn line_time_ns(&mut self, line: u64) -> i64 {
        self.intake.line_time_ns(line)
    }

    /// The name of the file, as it is told.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Whether a strict import has met its first fault.
    pub(super) fn stopped(&self) -> bool {
        self.intake.stopped()
    }

    /// Counts lines that were read.
    pub(super) fn lines(&mut self, count: u64) {
        self.lines += count;
    }

    /// A line that is not understood; `error` names it.
    pub(super) fn not_understood(&mut self, error: &impl Display) {
        if !self.stopped() {
            self.intake.fed.complain(|| error.to_string());
            tell(&self.file, &mut self.told, error);
        }
    }

    /// Takes a sample.
    pub(super) fn take(&mut self, row: &Row<'_>) {
        if self.failed.is_ok() {
            let Reading { intake, file, told, .. } = self;
            self.failed = intake.take(row, &mut |refusal| tell(file, told, refusal));
        }
    }

    /// Pushes what was taken if that is much.
    pub(super) fn push_if_much(&mut self) -> Result<()> {
        std::mem::replace(&mut self.failed, Ok(()))?;
        let Reading { intake, file, told, .. } = self;
        if intake.push_if_much(&mut |refusal| tell(file, told, refusal))? {
            self.show();
        }
        Ok(())
    }

    fn show(&mut self) {
        let now_ns = clock::monotonic_ns();
        if let Some(shown_ns) = &mut self.shown_ns
            && now_ns.saturating_sub(*shown_ns) >= PROGRESS_NS
        {
            *shown_ns = now_ns;
            status!("{}: {} samples", self.file, self.intake.fed.samples);
        }
    }

    /// Pushes the rest. Returns the lines read, and what became of them.
    pub(super) fn finish(mut self) -> Result<(u64, Fed)> {
        let (file, mut told) = (self.file.clone(), self.told);
        self.intake.flush(&mut |refusal| tell(&file, &mut told, refusal))?;
        self.show();
        let fed = self.intake.finish(&mut |refusal| tell(&file, &mut told, refusal))?;
        Ok((self.lines, fed))
    }
}

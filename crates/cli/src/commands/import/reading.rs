//! Files on their way into the intake: which one is read and how far, and what is told of it on
//! stderr, each refusal with its file and line. Held by `tests/import.rs`.

use crate::failure::Result;
use baro_ingest::{Fed, Intake, Refusal, Row};
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
    /// Why no more can be taken.
    failed: baro_ingest::Result<()>,
}

fn tell(file: &str, refusal: &Refusal<'_>) {
    say!("{file}: {refusal}");
}

impl<'a> Reading<'a> {
    pub(super) fn new(intake: Intake<'a>) -> Self {
        Reading {
            intake,
            lines: 0,
            file: String::new(),
            shown_ns: baro_command::status_on_terminal().then(clock::monotonic_ns),
            failed: Ok(()),
        }
    }

    /// Lines are those of this file from now on.
    pub(super) fn begin(&mut self, file: &Path) {
        self.file =
            if file == Path::new("-") { "stdin".into() } else { file.display().to_string() };
        self.intake.begin();
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
            say!("{}: {error}", self.file);
        }
    }

    /// Takes a sample.
    pub(super) fn take(&mut self, row: &Row<'_>) {
        if self.failed.is_ok() {
            let file = &self.file;
            self.failed = self.intake.take(row, &mut |refusal| tell(file, refusal));
        }
    }

    /// Pushes what was taken if that is much.
    pub(super) fn push_if_much(&mut self) -> Result<()> {
        std::mem::replace(&mut self.failed, Ok(()))?;
        let file = &self.file;
        if self.intake.push_if_much(&mut |refusal| tell(file, refusal))? {
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
        let file = self.file.clone();
        self.intake.flush(&mut |refusal| tell(&file, refusal))?;
        self.show();
        let fed = self.intake.finish(&mut |refusal| tell(&file, refusal))?;
        Ok((self.lines, fed))
    }
}

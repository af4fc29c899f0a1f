//! Who acts beside the victim, and the two parts that most causes have.
//!
//! Invariant: a part looks at its show between any two calls. Held by `tests/causes.rs`.

use super::account::Account;
use super::show::Show;
use baro_sys::files;
use std::fs::File;
use std::io;

type Part<'a> = Box<dyn FnOnce(&Show<'_>) -> io::Result<()> + Send + 'a>;

/// The tasks beside the victim, by name.
#[derive(Default)]
pub(super) struct Cast<'a> {
    pub(super) parts: Vec<(&'static str, Part<'a>)>,
}

impl<'a> Cast<'a> {
    pub(super) fn with(
        mut self,
        name: &'static str,
        act: impl FnOnce(&Show<'_>) -> io::Result<()> + Send + 'a,
    ) -> Self {
        self.parts.push((name, Box::new(act)));
        self
    }

    /// Somebody who makes one small change durable each `period_ns`, so that transactions end.
    pub(super) fn with_committer(self, file: &'a File, period_ns: u64) -> Self {
        self.with("committer", move |show| {
            let mut round = 0_u64;
            while show.goes_on() {
                files::write_at(file, &round.to_le_bytes(), 0)?;
                files::sync(file)?;
                round += 1;
                show.pause_ns(period_ns);
            }
            Ok(())
        })
    }
}

/// Between two stamps: each of them changes the file's time, as the clock of files ticks by 4 ms.
const STAMP_PERIOD_NS: u64 = 5_000_000;

/// A victim that overwrites a few bytes of a file which has its blocks: nothing but the file's time
/// changes, for which it needs the journal.
pub(super) fn stamp(show: &Show<'_>, account: &mut Account, file: &File) -> io::Result<()> {
    let mut round = 0_u64;
    while show.goes_on() {
        account.call("pwrite64", || files::write_at(file, &round.to_le_bytes(), 0))?;
        round += 1;
        show.pause_ns(STAMP_PERIOD_NS);
    }
    Ok(())
}

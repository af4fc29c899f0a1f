//! The one step that counts: a version of the table's log that names the files and the last run.
//!
//! Whether a name was free is not believed by the answer alone. A server may have made the file and lost its
//! answer, and then says that the name is taken. So what has the name is read: no other writer has the same
//! bytes, since the names of files are random. Nothing is given up as long as the commit may be there.
//!
//! Invariant: files are removed only if no version can name them. Held by
//! `a_commit_whose_answer_is_lost_is_known_again` and `a_kill_at_every_step_loses_and_doubles_nothing`.

use crate::delta::{Added, COMMIT_BYTES_MAX, Log, commit_name};
use crate::error::{Error, Result};
use crate::place::{LOG, Place};
use baro_sys::{clock, identity};

/// Versions of others that are given way to in one hand-over.
pub(super) const TRIES: u32 = 64;
/// A busy writer gets some time in between: at least this, at most ten times of it.
const PAUSE_NS: u64 = 10_000_000;

/// A commit in the making.
#[derive(Debug)]
pub(super) struct Commit<'a> {
    pub(super) place: &'a dyn Place,
    /// Who commits.
    pub(super) app: &'a str,
    /// The files that it names.
    pub(super) added: &'a [Added],
    pub(super) bytes: &'a [u8],
    /// Whether it may be there although it failed.
    pub(super) may_be: bool,
}

impl Commit<'_> {
    /// Commits at the first version that is free, and reads the commit back.
    pub(super) fn put(&mut self, log: &mut Log) -> Result<u64> {
        let bytes = self.bytes.len() as u64;
        if bytes > COMMIT_BYTES_MAX {
            // Nobody could read it again, and that would be the end of the table.
            return Err(Error::TooLarge { bytes, limit: COMMIT_BYTES_MAX });
        }
        let before = log.last_run;
        for number in 0..TRIES {
            if number > 0 {
                let random = identity::random_u64().unwrap_or(0);
                clock::sleep_ns(PAUSE_NS + random % (9 * PAUSE_NS));
            }
            self.place.check()?;
            if !log.is_same(self.place)? {
                let file = commit_name(log.next.saturating_sub(1));
                *log = Log::default();
                return Err(Error::Rewritten { file });
            }
            log.catch_up(self.place, self.app)?;
            if log.last_run != before {
                return Err(Error::Overtaken { last_run: log.last_run.unwrap_or(0) });
            }
            self.check_files()?;
            if self.try_at(&commit_name(log.next))? {
                return Ok(log.next);
            }
        }
        Err(Error::Contended { tries: TRIES })
    }

    /// Whether it is there now under this name.
    fn try_at(&mut self, file: &str) -> Result<bool> {
        let may_be_elsewhere = std::mem::replace(&mut self.may_be, true);
        let is_new = self.place.put_new(file, self.bytes)?;
        match self.place.read(file, COMMIT_BYTES_MAX)? {
            Some(found) if found == self.bytes => {
                if !is_new {
                    self.place.sync_names(LOG)?;
                }
                Ok(true)
            }
            _ if is_new => Err(Error::ReadBackDiffers { file: file.to_owned() }),
            Some(_) => {
                // It is another's, so ours is not there.
                self.may_be = may_be_elsewhere;
                Ok(false)
            }
            None => Ok(false),
        }
    }

    /// Fails if a file that it names is gone: whoever cleans up a table removes files that no commit names.
    fn check_files(&self) -> Result<()> {
        for Added { name, bytes, .. } in self.added {
            let found = self.place.size(name)?;
            if found != Some(*bytes) {
                return Err(Error::Gone { file: name.clone(), bytes: *bytes, found });
            }
        }
        Ok(())
    }
}

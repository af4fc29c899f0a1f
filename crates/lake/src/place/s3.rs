//! A table below a prefix of a bucket: S3, or what speaks it.
//!
//! A name that is taken is told by the server: a file is put with `If-None-Match: *`. A server that does not
//! know this header would let two writers replace each other's versions. So it is tried, once for each start,
//! before anything is read: a name is put twice, and the second time must be refused.
//!
//! **An answer may be lost.** What is asked for twice does no harm is asked for again. A version of the log is
//! not: the caller reads what has its name (`handover/commit.rs`).
//!
//! Files come in parts, which nobody sees before the last step. Parts of a process that was killed stay and
//! cost; a rule of the bucket removes them (docs/lake.md).
//!
//! Invariant: a name that is taken is never replaced. Held by the tests of `tests.rs` over a server that loses
//! answers, and by a server that people have in the full tier.

mod client;
mod keys;
mod settings;
#[cfg(test)]
mod tests;
mod upload;

use super::{LOG, Output, Place};
use crate::error::{Error, Result};
use baro_sys::identity;
use client::{Answer, Client};
use settings::Settings;
use std::path::Path;
use std::sync::Arc;
use upload::Upload;

/// Names of one answer of a list.
const LISTED_MAX: usize = 1_000;
/// Bytes of such an answer, and more than a server has reason to send.
const LIST_BYTES_MAX: u64 = 16 << 20;
/// Tries where a server says that somebody else is just putting the same name.
const CONFLICTS_MAX: u32 = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct S3 {
    client: Arc<Client>,
    /// Empty, or with a slash at its end.
    prefix: String,
}

impl S3 {
    /// `rest` is what comes behind `s3://`. Asks the server once whether it keeps names that are taken.
    pub(crate) fn open(table: &Path, rest: &str) -> Result<Self> {
        Self::with(&Settings::read(table, rest)?)
    }

    fn with(settings: &Settings) -> Result<Self> {
        let client = Arc::new(Client::new(settings)?);
        let place = S3 { client, prefix: settings.prefix.clone() };
        place.check_names_are_kept()?;
        Ok(place)
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn check_names_are_kept(&self) -> Result<()> {
        let random = identity::random_u64()
            .map_err(|error| baro_sys::Error::new("random", "", error.into()))?;
        // Readers of Delta pass over names that are no version.
        let name = format!("{LOG}/.baro-{random:016x}.probe");
        let first = self.put_new(&name, b"baro lake tries whether names are kept\n")?;
        let second = self.put_new(&name, b"");
        let removed = self.remove(&name);
        if !first || second? {
            return Err(Error::Server {
                expected: "a server that refuses to put a name that is there (If-None-Match: *)"
                    .into(),
                found: "one that replaces it: two writers would lose each other's versions".into(),
                next: "use S3 itself, or a newer version of this server",
                may_pass: false,
            });
        }
        removed
    }
}

impl Place for S3 {
    /// A bucket has no folder that could be moved away. Keys that were renewed are read again.
    fn check(&self) -> Result<()> {
        self.client.renew()
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        let prefix = match folder {
            "" => self.prefix.clone(),
            folder => self.key(&format!("{folder}/")),
        };
        let mut names = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let found = self.client.list(&prefix, next.as_deref(), LISTED_MAX, LIST_BYTES_MAX)?;
            let below = |key: &String| key.strip_prefix(&prefix).map(str::to_owned);
            names.extend(found.keys.iter().filter_map(below).filter(|name| !name.is_empty()));
            match found.next {
                // A list that goes on where it was would have no end.
                Some(token) if next.as_ref() != Some(&token) => next = Some(token),
                _ => break,
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        match self.client.get(&self.key(name), bytes_max)? {
            Answer::Is(bytes) => Ok(Some(bytes)),
            Answer::IsMissing => Ok(None),
        }
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        match self.client.head(&self.key(name))? {
            Answer::Is(bytes) => Ok(Some(bytes)),
            Answer::IsMissing => Ok(None),
        }
    }

    /// There are no folders.
    fn make_log(&self) -> Result<()> {
        Ok(())
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.client.put_new(&self.key(name), bytes, CONFLICTS_MAX)
    }

    fn begin(&self, name: &str) -> Result<Box<dyn Output>> {
        Ok(Box::new(Upload::new(Arc::clone(&self.client), self.key(name))))
    }

    /// What is answered is durable.
    fn sync_names(&self, _folder: &str) -> Result<()> {
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.client.remove(&self.key(name))
    }

    /// Parts have no names: a rule of the bucket removes them.
    fn tidy(&self) {}
}

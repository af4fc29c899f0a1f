//! What other processes ask a running recorder to declare: small files beside the rings that they push
//! through. `docs/format.md`, "Asking a recorder to declare". The other side is `asking.rs`.
//!
//! They go through the door for state files: what is no regular file, has a second name, or was made or
//! can be written by another user is removed unread, and told. A request is declared, and then answered,
//! and then removed, so that whoever is killed in between finds the same ids when it is taken again.
//!
//! Invariant: what is answered is durable; no file of a request ends or holds up the recorder. Held by
//! `tests/declaring.rs` and the fuzz target `request`.

use crate::declarations::Declarations;
use baro_ondisk::limits::REQUEST_BYTES_MAX;
use baro_ondisk::{DeclareAnswer, DeclareRequest, StoreId};
use baro_sys::state::StateFolder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// How a request's name ends, and that of its answer; before it stands its id.
pub(crate) const REQUEST: &str = ".declare";
pub(crate) const ANSWER: &str = ".declared";
/// Both lie in a folder that only its owner enters; root asks a recorder of another user.
pub(crate) const MODE: u32 = 0o644;

/// Between two looks, and for how long after a request it is looked more often, and how often.
const LOOK_NS: u64 = 100_000_000;
const BUSY_NS: u64 = 1_000_000_000;
const LOOK_BUSY_NS: u64 = 5_000_000;
/// Answers that nobody has taken for so long are nobody's, and so are requests still half written.
const ANSWER_NS: u64 = 120_000_000_000;
/// Names remembered that cannot be removed.
const STUCK_MAX: usize = 1024;
/// Requests taken in one look: pins and growth want their turn.
const AT_ONCE: usize = 16;

/// Name of the file of a request or an answer.
pub(crate) fn request_name(id: u64, ending: &str) -> String {
    format!("{id:016x}{ending}")
}

/// Whether it is one that somebody was killed in writing: `.ID.declare.new-RANDOM`, or of an answer.
fn is_half(name: &str) -> bool {
    is_half_of(name, REQUEST) || is_half_of(name, ANSWER)
}

fn is_half_of(name: &str, ending: &str) -> bool {
    let whole = name.strip_prefix('.').and_then(|name| name.split_once(".new-"));
    whole.is_some_and(|(whole, _)| id_of(whole, ending).is_some())
}

fn id_of(name: &str, ending: &str) -> Option<u64> {
    let id = name.strip_suffix(ending).filter(|id| id.len() == 16)?;
    let hex = id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    u64::from_str_radix(id, 16).ok().filter(|_| hex)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Requests {
    declarations: Arc<Declarations>,
    store: StoreId,
    /// Where rings lie that others push through.
    folders: Vec<StateFolder>,
    due_ns: u64,
    busy_until_ns: u64,
    /// When answers, and requests half written, were first seen.
    answers: BTreeMap<PathBuf, u64>,
    /// What has the name of a request and cannot be removed.
    stuck: BTreeSet<PathBuf>,
    /// The last request that could not be taken, and why.
    refused: Option<String>,
}

impl Requests {
    /// Nothing more is declared, whoever asks.
    pub(crate) fn stop_declaring(&self) {
        self.declarations.stop();
    }

    pub(crate) fn new(declarations: Arc<Declarations>, store: StoreId) -> Self {
        Requests {
            declarations,
            store,
            folders: Vec::new(),
            due_ns: u64::MAX,
            busy_until_ns: 0,
            answers: BTreeMap::new(),
            stuck: BTreeSet::new(),
            refused: None,
        }
    }

    /// From now on requests are looked for in this folder too.
    pub(crate) fn look_in(&mut self, folder: StateFolder) {
        self.folders.retain(|known| known.path() != folder.path());
        self.folders.push(folder);
        self.due_ns = 0;
    }

    /// When it is to look again.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The last request that could not be taken, and why.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Takes what is asked for, if it is time to look, and says whether there was anything. Blocks for the
    /// device where anything is new.
    pub(crate) fn look(&mut self, now_ns: u64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        let mut left = AT_ONCE;
        for at in 0..self.folders.len() {
            // Anew each time: it may have been removed, and made again with the next ring.
            let Some(folder) = self.folders.get(at).and_then(|folder| folder.reopen().ok()) else {
                continue;
            };
            left = self.look_into(&folder, left, now_ns);
        }
        if left < AT_ONCE {
            self.busy_until_ns = now_ns.saturating_add(BUSY_NS);
        }
        let busy = now_ns < self.busy_until_ns;
        self.due_ns = now_ns.saturating_add(if busy { LOOK_BUSY_NS } else { LOOK_NS });
        left < AT_ONCE
    }

    fn look_into(&mut self, folder: &StateFolder, mut left: usize, now_ns: u64) -> usize {
        for name in folder.list().unwrap_or_default() {
            if let Some(id) = id_of(&name, REQUEST).filter(|_| left > 0) {
                let path = folder.path().join(&name);
                if self.stuck.contains(&path) {
                    continue;
                }
                left -= 1;
                if let Err(error) = self.take(folder, id, &name) {
                    self.refused = Some(error.to_string());
                }
            } else if is_half_of(&name, ANSWER) {
                // Of a recorder that was killed: only a store's recorder answers, and this one, whose
                // thread this is, is writing none.
                let _ = folder.remove(&name);
            } else if id_of(&name, ANSWER).is_some() || is_half_of(&name, REQUEST) {
                let seen_ns = *self.answers.entry(folder.path().join(&name)).or_insert(now_ns);
                if now_ns.saturating_sub(seen_ns) >= ANSWER_NS {
                    let _ = folder.remove(&name);
                }
            }
        }
        // Those that were taken by whoever asked are forgotten.
        self.answers.retain(|path, seen_ns| {
            path.parent() != Some(folder.path()) || now_ns.saturating_sub(*seen_ns) < ANSWER_NS
        });
        left
    }

    /// Answers a request. One that cannot be read is refused, and goes.
    fn take(&mut self, folder: &StateFolder, id: u64, name: &str) -> baro_sys::Result<()> {
        let bytes = match folder.read_bytes(name, REQUEST_BYTES_MAX as u64) {
            // Taken back.
            Ok(None) => return Ok(()),
            Ok(Some(bytes)) => Ok(bytes),
            Err(error) => Err(error),
        };
        let answer = match &bytes {
            Err(error) => DeclareAnswer::Refused(error.to_string()),
            Ok(bytes) => match DeclareRequest::decode(bytes) {
                Ok(asked) if asked.store != self.store || asked.id != id => {
                    DeclareAnswer::Refused("of another store, or under another name".to_owned())
                }
                Ok(asked) => self.declarations.answer(&asked.wanted),
                Err(error) => DeclareAnswer::Refused(format!("{name}: {error}")),
            },
        };
        if let DeclareAnswer::Refused(why) = &answer {
            self.refused = Some(why.clone());
        }
        // Without room for the answer the request stays, and is taken again.
        folder.replace(&request_name(id, ANSWER), &answer.encode(self.store, id), MODE)?;
        // A folder of that name is nobody's request, and goes only if it is empty.
        let removed = folder.remove(name).or_else(|_| folder.remove_folder(name));
        if removed.is_err() && self.stuck.len() < STUCK_MAX {
            self.stuck.insert(folder.path().join(name));
        }
        removed
    }

    /// Removes answers that nobody has taken, and what was left of requests and answers half written, by
    /// whoever was killed then: nobody answers any more.
    pub(crate) fn end(&mut self) {
        for folder in self.folders.drain(..).filter_map(|folder| folder.reopen().ok()) {
            for name in folder.list().unwrap_or_default() {
                if is_half(&name)
                    || id_of(&name, ANSWER).is_some()
                    || id_of(&name, REQUEST).is_some()
                {
                    let _ = folder.remove(&name);
                }
            }
        }
        self.due_ns = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_requests_and_answers_are_known() {
        for ending in [REQUEST, ANSWER] {
            let name = request_name(7, ending);
            assert!(is_half(&format!(".{name}.new-0123456789abcdef")) && !is_half(&name));
        }
        assert!(!is_half(".ring.new-0123") && !is_half(".0007.declare.new-1"));
    }
}

//! Asking the recorder in another process to declare: only it writes the catalog. The request lies beside
//! the ring, where only the store's owner and root can put anything; the other side is
//! `keeper/requests.rs`.
//!
//! Nothing of this is in a push: whoever must not wait declares before.
//!
//! Invariant: whatever becomes of either process, what was answered is durable, and who asks is told what
//! is not. Held by `tests/declaring.rs`.

use crate::keeper::{ANSWER, REQUEST, REQUEST_MODE, request_name};
use crate::ring::Producer;
use crate::{Error, Result};
use baro_log::Catalog;
use baro_ondisk::limits::REQUEST_BYTES_MAX;
use baro_ondisk::{Answered, Declaration, DeclareAnswer, Layout, RequestBuilder};
use baro_sys::state::StateFolder;
use baro_sys::{clock, identity};

/// Between two looks for the answer.
const NAP_NS: u64 = 2_000_000;
/// How often it is looked whether anybody records still.
const ALIVE_NS: u64 = 100_000_000;

impl Producer {
    /// Asks the recorder that made this ring, in another process, for the ids of these series and channels,
    /// those in `wanted` do not matter: declared durably where they are new, with one wait for the device
    /// for tens of thousands of them. What `catalog` knows, and has with that layout if there is one, is
    /// not asked for, and what is learned goes into it; without one all are asked for. Blocks for the
    /// recorder, which looks ten times a second, and for the device; not for a thread that must not
    /// wait. While it waits it asks `go_on`, with how long it has waited in nanoseconds, whether it is to.
    ///
    /// # Errors
    /// Nobody records any more, or `go_on` said no: then some may be declared. What the recorder refuses,
    /// such as a name that is in use with another type, is an error of that name alone.
    pub fn declare_each(
        &self,
        catalog: Option<&mut Catalog>,
        wanted: &[Declaration<'_>],
        go_on: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Result<u32>>> {
        let Some(catalog) = catalog else { return self.ask(wanted, go_on) };
        let frame_bytes_max = self.report().record_bytes_max;
        let known: Vec<Option<u32>> =
            wanted.iter().map(|one| known(catalog, one, frame_bytes_max)).collect();
        let unknown = wanted.iter().zip(&known).filter(|(_, id)| id.is_none());
        let asked: Vec<Declaration<'_>> = unknown.map(|(one, _)| one.clone()).collect();
        let answers = self.ask(&asked, go_on)?;
        for (one, answer) in asked.into_iter().zip(&answers) {
            match answer {
                Ok(id) => catalog.learn(&Declaration { id: *id, ..one }),
                Err(Error::DeclaredOtherwise { id, kind, .. }) => {
                    catalog.learn(&Declaration { id: *id, kind: *kind, layout: None, ..one });
                }
                Err(_) => {}
            }
        }
        let mut answers = answers.into_iter();
        let of = |id: Option<u32>| id.map_or_else(|| answers.next(), |id| Some(Ok(id)));
        Ok(known.into_iter().map_while(of).collect())
    }

    /// The same without a catalog.
    fn ask(
        &self,
        wanted: &[Declaration<'_>],
        mut go_on: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Result<u32>>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let asking = Asking::new(self)?;
        let mut found = Vec::with_capacity(wanted.len());
        let begun_ns = clock::monotonic_ns();
        while let Some(rest) = wanted.get(found.len()..).filter(|rest| !rest.is_empty()) {
            let before = found.len();
            asking
                .ask(rest, &mut found, || go_on(clock::monotonic_ns().saturating_sub(begun_ns)))?;
            if found.len() == before {
                break;
            }
        }
        Ok(found)
    }
}

/// The id under which a catalog has what is wanted, in frames of at most so many bytes. Who wants no
/// layout takes any. What is put together of two other names is asked for: the recorder refuses it.
fn known(catalog: &Catalog, wanted: &Declaration<'_>, frame_bytes_max: usize) -> Option<u32> {
    let (id, kind) = catalog.id(wanted.name)?;
    let joint = wanted.joint.and_then(|_| catalog.of_id(id)?.joint);
    if joint.is_some() && joint != wanted.joint {
        return None;
    }
    let has = |layout: &Layout| {
        let known = catalog.layout(wanted.name).and_then(|(_, known)| known);
        known.is_some_and(|known| **known == *layout)
            && layout.check_frame(frame_bytes_max as u64).is_ok()
    };
    (kind == wanted.kind && wanted.layout.as_deref().is_none_or(has)).then_some(id)
}

struct Asking<'a> {
    producer: &'a Producer,
    folder: StateFolder,
}

impl<'a> Asking<'a> {
    fn new(producer: &'a Producer) -> Result<Self> {
        if !producer.is_attached() {
            return Err(Error::Setting {
                name: "producer that asks to declare",
                expected: "one that is attached to a ring of another process's recorder".to_owned(),
                found: "one of this process's own: declare through its recorder".to_owned(),
            });
        }
        Ok(Asking { producer, folder: producer.folder()? })
    }

    /// Asks for as many as one request takes, in their order.
    fn ask(
        &self,
        wanted: &[Declaration<'_>],
        found: &mut Vec<Result<u32>>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        let (store, id) = (self.producer.store(), identity::random_u64()?.max(1));
        let mut request = RequestBuilder::new(store, id);
        let mut asked: Vec<Option<Error>> = Vec::new();
        for one in wanted {
            match request.push(one) {
                Ok(true) => asked.push(None),
                Ok(false) => break,
                // What nobody can declare is not asked for.
                Err(error) => asked.push(Some(Error::Undeclared { why: error.to_string() })),
            }
        }
        let answer = match request.is_empty() {
            true => DeclareAnswer::Each(Vec::new()),
            false => self.wait(id, &request.finish(), go_on)?,
        };
        let mut answered = match answer {
            DeclareAnswer::Each(each) => each.into_iter(),
            DeclareAnswer::Refused(why) => return Err(Error::Undeclared { why }),
        };
        for (one, wanted) in asked.into_iter().zip(wanted) {
            found.push(match one {
                Some(error) => Err(error),
                None => told(wanted, answered.next()),
            });
        }
        Ok(())
    }

    /// Puts the request there and waits for the answer; whatever comes, nothing of it stays.
    fn wait(
        &self,
        id: u64,
        request: &[u8],
        mut go_on: impl FnMut() -> bool,
    ) -> Result<DeclareAnswer> {
        let (name, answer) = (request_name(id, REQUEST), request_name(id, ANSWER));
        let result = self.wait_for(id, request, &name, &answer, &mut go_on);
        if result.is_err() {
            let _ = self.folder.remove(&name);
        }
        let _ = self.folder.remove(&answer);
        if result.is_err() && !self.producer.has_writer() {
            self.folder.remove_if_empty();
        }
        result
    }

    fn wait_for(
        &self,
        id: u64,
        request: &[u8],
        name: &str,
        answer: &str,
        go_on: &mut impl FnMut() -> bool,
    ) -> Result<DeclareAnswer> {
        let begun_ns = clock::monotonic_ns();
        self.folder.replace(name, request, REQUEST_MODE)?;
        let mut look_ns = begun_ns;
        loop {
            if let Some(bytes) = self.folder.read_bytes(answer, REQUEST_BYTES_MAX as u64)? {
                let found = DeclareAnswer::decode(&bytes, self.producer.store(), id);
                let bad = |error| Error::Undeclared { why: format!("{answer}: {error}") };
                return found.map_err(bad);
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= look_ns {
                look_ns = now_ns.saturating_add(ALIVE_NS);
                if self.producer.closed() || !self.producer.has_writer() {
                    return Err(Error::NobodyRecords { ring: self.producer.path().to_owned() });
                }
            }
            if !go_on() {
                let waited_ns = now_ns.saturating_sub(begun_ns);
                return Err(Error::Unanswered { ring: self.producer.path().to_owned(), waited_ns });
            }
            clock::sleep_ns(NAP_NS);
        }
    }
}

/// What an answer means for who has asked for this.
fn told(wanted: &Declaration<'_>, answered: Option<Answered>) -> Result<u32> {
    match answered {
        Some(Answered::Declared(id, kind)) if kind == wanted.kind => Ok(id),
        Some(Answered::Declared(id, kind)) => Err(Error::DeclaredOtherwise {
            name: wanted.name.to_owned(),
            id,
            kind,
            wanted: wanted.kind,
        }),
        Some(Answered::Refused(why)) if !why.is_empty() => Err(Error::Undeclared { why }),
        _ => {
            let why =
                format!("the recorder refuses to declare {:?} and does not say why", wanted.name);
            Err(Error::Undeclared { why })
        }
    }
}

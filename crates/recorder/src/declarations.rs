//! The series and channels of a store that is recorded into: its catalog behind one lock, for whoever
//! declares in this process and for what others ask.
//!
//! Only a recorder writes the catalog. What is declared is durable, and the writer's table of types knows
//! it, before its id is handed out.
//!
//! Invariant: declarations that are made together wait for the device once. Held by
//! `ten_thousand_names_of_another_process_wait_for_the_device_once` (`tests/declaring.rs`).

use crate::types::DeclaredTypes;
use crate::{Error, Result};
use baro_log::{Catalog, Declared};
use baro_ondisk::{Answered, Declaration, DeclareAnswer, Layout, Type};
use baro_sys::disk::Disk;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug)]
pub(crate) struct Declarations {
    disk: Disk,
    session: u64,
    /// The largest frame that a ring takes.
    frame_bytes_max: usize,
    catalog: Mutex<Catalog>,
    types: Arc<DeclaredTypes>,
    /// How often something new was made durable.
    syncs: AtomicU64,
    /// Nothing more is declared: another recorder may write the catalog.
    stopped: AtomicBool,
}

impl Declarations {
    pub(crate) fn new(disk: Disk, session: u64, frame_bytes_max: usize, catalog: Catalog) -> Self {
        let types = Arc::new(DeclaredTypes::default());
        types.add(catalog.iter().map(|found| (found.id, found.kind)), catalog.end());
        let (catalog, syncs) = (Mutex::new(catalog), AtomicU64::new(0));
        let stopped = AtomicBool::new(false);
        Declarations { disk, session, frame_bytes_max, catalog, types, syncs, stopped }
    }

    /// Nothing more is written to the catalog.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// The catalog, to write to.
    fn to_write(&self) -> Result<MutexGuard<'_, Catalog>> {
        let catalog = self.catalog();
        if self.stopped.load(Ordering::Acquire) { Err(Error::WriterGone) } else { Ok(catalog) }
    }

    pub(crate) fn types(&self) -> Arc<DeclaredTypes> {
        Arc::clone(&self.types)
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(crate) fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_channels(&self) -> bool {
        self.catalog().iter().any(|found| found.kind == Type::Channel)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Declared> {
        self.catalog().get(name)
    }

    /// All of these or none.
    pub(crate) fn declare(&self, wanted: &[(&str, Type, &str)]) -> Result<Vec<u32>> {
        let mut catalog = self.to_write()?;
        let before = catalog.len();
        let ids = catalog.declare(&self.disk, self.session, wanted)?;
        self.count(&catalog, before);
        let declared = ids.iter().copied().zip(wanted.iter().map(|(_, kind, _)| *kind));
        self.types.add(declared, catalog.end());
        Ok(ids)
    }

    /// Each by itself, with one sync.
    pub(crate) fn declare_each(&self, wanted: &[Declaration<'_>]) -> Result<Vec<Result<u32>>> {
        let mut catalog = self.to_write()?;
        self.each(&mut catalog, wanted)
    }

    /// A layout for larger frames than a ring takes refuses only itself.
    fn each(&self, catalog: &mut Catalog, wanted: &[Declaration<'_>]) -> Result<Vec<Result<u32>>> {
        let mut refused: Vec<Option<Error>> = wanted.iter().map(|one| self.beyond(one)).collect();
        let fits = wanted.iter().zip(&refused).filter(|(_, why)| why.is_none());
        let fits: Vec<&Declaration<'_>> = fits.map(|(one, _)| one).collect();
        let before = catalog.len();
        let each = catalog.declare_each(&self.disk, self.session, fits.iter().copied())?;
        self.count(catalog, before);
        let found = each.iter().zip(fits);
        let declared = found.filter_map(|(one, wanted)| Some((*one.as_ref().ok()?, wanted.kind)));
        self.types.add(declared, catalog.end());
        let mut each = each.into_iter().map(|one| one.map_err(Error::from));
        let next = |why: &mut Option<Error>| why.take().map(Err).or_else(|| each.next());
        Ok(refused.iter_mut().map_while(next).collect())
    }

    /// Why a channel with this layout cannot be declared.
    fn beyond(&self, one: &Declaration<'_>) -> Option<Error> {
        let layout = one.layout.as_ref()?;
        layout.check_frame(self.frame_bytes_max as u64).err().map(Error::from)
    }

    pub(crate) fn declare_channel(&self, name: &str, layout: &Layout) -> Result<u32> {
        layout.check_frame(self.frame_bytes_max as u64)?;
        let mut catalog = self.to_write()?;
        let before = catalog.len();
        let id = catalog.declare_channel(&self.disk, self.session, name, layout)?;
        self.count(&catalog, before);
        self.types.add([(id, Type::Channel)].into_iter(), catalog.end());
        Ok(id)
    }

    /// What another process asks for. One name more than fits refuses only itself.
    pub(crate) fn answer(&self, wanted: &[Declaration<'_>]) -> DeclareAnswer {
        let mut catalog = match self.to_write() {
            Ok(catalog) => catalog,
            Err(error) => return DeclareAnswer::Refused(error.to_string()),
        };
        let found = match self.each(&mut catalog, wanted) {
            Ok(each) => each,
            // The device: nothing more can be declared.
            Err(error @ Error::System(_)) => return DeclareAnswer::Refused(error.to_string()),
            Err(error) => {
                let why = error.to_string();
                let each =
                    wanted.iter().map(|one| match (self.beyond(one), catalog.id(one.name)) {
                        (Some(error), _) => Err(error),
                        (None, Some((id, kind))) if kind == one.kind => Ok(id),
                        _ => Err(Error::Undeclared { why: why.clone() }),
                    });
                each.collect()
            }
        };
        let each = wanted.iter().zip(found).map(|(one, found)| {
            let why = match found {
                Ok(id) => return Answered::Declared(id, one.kind),
                Err(error) => error.to_string(),
            };
            // Whoever asks learns what it is, and says himself what he wanted.
            match catalog.id(one.name) {
                Some((id, kind)) if kind != one.kind => Answered::Declared(id, kind),
                _ => Answered::Refused(why),
            }
        });
        DeclareAnswer::Each(each.collect())
    }

    /// A mark only: without it nothing is lost but the proof that all is there.
    pub(crate) fn mark_end(&self) {
        if let Ok(mut catalog) = self.to_write() {
            let _ = catalog.mark_end(&self.disk, self.session);
        }
    }

    fn count(&self, catalog: &Catalog, before: usize) {
        self.syncs.fetch_add(u64::from(catalog.len() > before), Ordering::Relaxed);
    }
}

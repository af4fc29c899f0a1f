//! The catalog as it is asked for: one name, one id, all that a selector means. What the dictionary
//! covers stays on disk; in memory are an index of its pages and the declarations behind it.
//!
//! Without a dictionary, or with one that is damaged or of another catalog, the catalog's file is
//! read whole, when it is first needed; and where that is damaged, what the dictionary knows beyond
//! it counts. Either is said in [`Catalog::damage`].
//!
//! Invariant: what is found is what was declared, whichever of the two files is damaged; opening
//! reads neither of them whole. Held by `tests/catalog.rs`.

mod blocks;
mod check;
mod dictionary;
mod rebuild;
mod scan;
#[cfg(test)]
mod tests;
mod write;

pub use rebuild::Rebuilt;
pub(crate) use write::write_dictionary_in_portions;
pub use write::{DictionaryWritten, write_dictionary};

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::segments::Declarations;
use baro_log::{CATALOG, DICTIONARY, Declared, SeriesTable};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Declaration, Error as Format, NameParser, SegmentHeader, StoreId, Type, Watermark, What,
};
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use blocks::{Extent, NEAR_BYTES, Read};
use dictionary::{Broken, Dictionary, Fault};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bytes of declarations that an open reads; more are left to the first who asks.
const OPEN_BYTES: u64 = 256 << 10;

/// Series and channels of a store. See the module.
#[derive(Debug)]
pub struct Catalog {
    file: Option<AnyFile>,
    header: Option<SegmentHeader>,
    dictionary: Option<Dictionary>,
    /// The dictionary does not fit the catalog, or is damaged.
    distrusted: AtomicBool,
    /// The dictionary was made of another catalog: either may know names that the other does not.
    strange: bool,
    /// What the log tells.
    declared: Declarations,
    /// It is not the one that the log was recorded with.
    is_other: bool,
    /// Where the declarations begin that the dictionary does not cover.
    start: Watermark,
    tail: OnceLock<Read>,
    /// All declarations, if the dictionary is not to be trusted.
    whole: OnceLock<Read>,
    pub(crate) bytes: u64,
    /// What the open has found.
    pub(crate) opening: Vec<Damage>,
    /// What was found since.
    late: Mutex<Vec<Damage>>,
}

impl Default for Catalog {
    fn default() -> Self {
        Catalog {
            file: None,
            header: None,
            dictionary: None,
            distrusted: AtomicBool::new(false),
            strange: false,
            declared: Declarations::default(),
            is_other: false,
            start: Watermark::default(),
            tail: OnceLock::new(),
            whole: OnceLock::new(),
            bytes: 0,
            opening: Vec::new(),
            late: Mutex::new(Vec::new()),
        }
    }
}

fn fault(fault: Fault) -> Damage {
    match fault {
        Fault::Damaged(error) => dictionary::damaged(error),
        Fault::System(error) => blocks::unreadable(DICTIONARY, &error, Loss::Nothing),
    }
}

impl Catalog {
    /// Reads header and last covered block, and what is behind it unless that is much. Where `declared`, which
    /// the log tells, is not what there is, that is damage.
    pub(crate) fn open(
        storage: &AnyStorage,
        store: StoreId,
        access: Access,
        declared: Declarations,
    ) -> Result<Self> {
        let mut catalog = Catalog { declared, ..Catalog::default() };
        match storage.open(CATALOG, access) {
            Ok(file) => {
                catalog.bytes = file.size_bytes()?;
                let (header, damage) = blocks::header(&file, store)?;
                catalog.opening.extend(damage);
                if let Some((header, crc)) = header {
                    catalog.header = Some(header);
                    catalog.start = blocks::beginning(&header, crc);
                }
                catalog.file = Some(file);
            }
            Err(error) if error.is_missing() => {
                catalog.opening.push(blocks::unreadable(CATALOG, &error, Loss::Declarations));
            }
            Err(error) => return Err(error.into()),
        }
        match Dictionary::open(storage, store) {
            Ok(found) => catalog.dictionary = found,
            Err(found) => catalog.opening.push(fault(found)),
        }
        catalog.fit()?;
        if let Some(end) = declared.end.filter(|_| catalog.header.is_some()) {
            catalog.is_other = !baro_log::has_catalog_end(storage, end, declared.epoch)?;
            let (file, offset) = (CATALOG.to_owned(), u64::from(end.unit) * UNIT_BYTES as u64);
            let (source, loss) = (Source::OtherCatalog, Loss::Declarations);
            let damage = Damage { file, offset, source, loss };
            catalog.opening.extend(catalog.is_other.then_some(damage));
        }
        catalog.read_ahead();
        Ok(catalog)
    }

    /// Whether catalog and dictionary belong together.
    fn fit(&mut self) -> Result<()> {
        let Some(dictionary) = &self.dictionary else { return Ok(()) };
        let mark = dictionary.header.watermark;
        let (Some(file), Some(header)) = (&self.file, &self.header) else {
            *self.distrusted.get_mut() = true;
            return Ok(());
        };
        if mark.segment_crc != self.start.segment_crc {
            self.opening.push(dictionary::damaged(Format::Mismatch {
                what: What::Dictionary,
                field: "CRC of the catalog's header",
                offset: 116,
                expected: u64::from(self.start.segment_crc),
                found: u64::from(mark.segment_crc),
            }));
            self.dictionary = None;
            return Ok(());
        }
        match blocks::check(file, header, &mark)? {
            Ok(()) => self.start = mark,
            // It was durable when the dictionary was made.
            Err(error) => {
                self.opening.push(blocks::damaged(error));
                *self.distrusted.get_mut() = true;
                self.strange = true;
            }
        }
        Ok(())
    }

    fn read_ahead(&mut self) {
        if *self.distrusted.get_mut() {
            return;
        }
        let extent =
            Extent { bytes_max: OPEN_BYTES, names_max: usize::MAX, proof_bytes: NEAR_BYTES };
        let mut read = Read::new(self.start);
        if self.read(self.start, extent, &mut read) {
            self.opening.append(&mut read.damage);
            self.opening.extend(self.short(&read));
            self.tail = OnceLock::from(read);
        }
    }

    /// Reads blocks from `start` on; false if there are more than `extent` wants.
    fn read(&self, start: Watermark, extent: Extent, to: &mut Read) -> bool {
        let (Some(file), Some(header)) = (&self.file, &self.header) else { return true };
        match blocks::read(file, header, &start, extent, to) {
            Ok(all) => all,
            Err(error) => {
                to.damage.push(blocks::unreadable(CATALOG, &error, Loss::Declarations));
                true
            }
        }
    }

    /// Whether it is not the one that the log was recorded with.
    pub(crate) fn is_other(&self) -> bool {
        self.is_other
    }

    /// What the dictionary does not cover.
    fn tail(&self) -> &Read {
        self.tail.get_or_init(|| {
            let mut read = Read::new(self.start);
            self.read(self.start, Extent { proof_bytes: NEAR_BYTES, ..Extent::WHOLE }, &mut read);
            let short = self.short(&read);
            read.damage.extend(short);
            read
        })
    }

    /// Ids that were given and are not declared, where no damage tells it yet.
    fn short(&self, read: &Read) -> Option<Damage> {
        let dictionary = self.dictionary.as_ref().map_or(0, |found| found.header.highest_id);
        let found = read.table.highest_id().max(dictionary);
        let told = self.opening.iter().chain(&read.damage).any(Damage::is_loss);
        let expected = self.declared.highest_id;
        (found < expected && !told).then(|| Damage {
            file: CATALOG.to_owned(),
            offset: read.end.offset,
            source: Source::Short { expected, found },
            loss: Loss::Declarations,
        })
    }

    /// Everything, from the catalog's file and, where that is damaged, from the dictionary.
    fn whole(&self) -> &Read {
        if self.dictionary.is_none() {
            return self.tail();
        }
        self.whole.get_or_init(|| {
            let mut read = self.read_whole();
            let short = self
                .dictionary
                .as_ref()
                .is_some_and(|dictionary| read.end.offset < dictionary.header.watermark.offset);
            if self.header.is_none() || !read.damage.is_empty() || short || self.strange {
                self.supplement(&mut read);
            }
            read
        })
    }

    /// The catalog's file, all of it.
    fn read_whole(&self) -> Read {
        let start = self.header.map(|header| blocks::beginning(&header, self.start.segment_crc));
        let start = start.unwrap_or_default();
        let mut read = Read::new(start);
        self.read(start, Extent::WHOLE, &mut read);
        read
    }

    /// Adds what the dictionary has and the catalog's file has not.
    fn supplement(&self, read: &mut Read) {
        let Some(dictionary) = &self.dictionary else { return };
        let pages = dictionary.header.name_pages;
        let mut page = 0;
        while page < pages {
            let scanned = dictionary.scan(page..pages, true, |found| {
                blocks::put(&mut read.table, found);
                ControlFlow::Continue(())
            });
            match scanned {
                Ok(_) => break,
                Err(Broken { page: broken, fault: found, .. }) => {
                    read.damage.push(Damage { loss: Loss::Declarations, ..fault(found) });
                    page = broken + 1;
                }
            }
        }
    }

    /// The dictionary, if it serves, and what is in memory beside it.
    fn parts(&self) -> (Option<&Dictionary>, &SeriesTable) {
        if self.distrusted.load(Ordering::Acquire) {
            return (None, &self.whole().table);
        }
        (self.dictionary.as_ref(), &self.tail().table)
    }

    /// The dictionary serves no longer: from now on the catalog's file does.
    fn distrust(&self, found: Fault) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.distrusted.swap(true, Ordering::AcqRel) {
            late.push(fault(found));
        }
    }

    fn ask<T>(
        &self,
        from_dictionary: impl Fn(&Dictionary) -> std::result::Result<Option<T>, Fault>,
        from_table: impl Fn(&SeriesTable) -> Option<T>,
    ) -> Option<T> {
        let (dictionary, table) = self.parts();
        if let Some(found) = from_table(table) {
            return Some(found);
        }
        match from_dictionary(dictionary?) {
            Ok(found) => found,
            Err(fault) => {
                self.distrust(fault);
                from_table(self.parts().1)
            }
        }
    }

    /// Series and channels declared. May read what the open has left.
    #[must_use]
    pub fn len(&self) -> usize {
        let (dictionary, table) = self.parts();
        dictionary.map_or(0, |found| found.header.names as usize) + table.len()
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Channels among them.
    #[must_use]
    pub fn channels(&self) -> usize {
        let (dictionary, table) = self.parts();
        (dictionary.map_or(0, |found| found.header.channels) + table.channels()) as usize
    }

    /// Declarations that no dictionary covers: many make it worth while to write one.
    #[must_use]
    pub fn uncovered(&self) -> usize {
        self.parts().1.len()
    }

    /// Whether [`Catalog::uncovered`] is `count` at least, without reading more than that takes, and
    /// without keeping it.
    pub(crate) fn lacks(&self, count: usize) -> bool {
        if self.distrusted.load(Ordering::Acquire) || self.tail.get().is_some() {
            return self.uncovered() >= count;
        }
        let mut read = Read::only_counting(self.start);
        let extent = Extent { names_max: count, proof_bytes: NEAR_BYTES, ..Extent::WHOLE };
        self.read(self.start, extent, &mut read);
        read.met >= count
    }

    /// Series and channels that the dictionary covers.
    pub(crate) fn covered(&self) -> usize {
        let trusted = !self.distrusted.load(Ordering::Acquire);
        let dictionary = self.dictionary.as_ref().filter(|_| trusted);
        dictionary.map_or(0, |found| found.header.names as usize)
    }

    /// Highest id declared; 0 without any.
    #[must_use]
    pub fn highest_id(&self) -> u32 {
        let (dictionary, table) = self.parts();
        dictionary.map_or(0, |found| found.header.highest_id).max(table.highest_id())
    }

    /// Bytes of its file, all of which are written when it is made or grows; where it has holes, as
    /// somebody made it longer, twice what is used.
    pub(crate) fn held_bytes(&self) -> u64 {
        let whole = |file: &AnyFile| file.is_written(0, self.bytes).unwrap_or(true);
        match self.file.as_ref().is_none_or(whole) {
            true => self.bytes,
            false => self.used_bytes().saturating_mul(2).min(self.bytes),
        }
    }

    /// Bytes used in the catalog's file.
    pub(crate) fn used_bytes(&self) -> u64 {
        let read = self.whole.get().unwrap_or_else(|| self.tail());
        read.end.offset
    }

    /// Bytes of memory that it takes now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let tables = [&self.tail, &self.whole].into_iter().filter_map(OnceLock::get);
        let tables: usize = tables.map(|read| read.table.memory_bytes()).sum();
        tables + self.dictionary.as_ref().map_or(0, Dictionary::memory_bytes)
    }

    /// What is damaged in catalog and dictionary as far as it has been read; [`crate::verify()`]
    /// reads all.
    #[must_use]
    pub fn damage(&self) -> Vec<Damage> {
        let mut damage = self.opening.clone();
        let tables = [&self.tail, &self.whole].into_iter().filter_map(OnceLock::get);
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        for found in tables.flat_map(|read| &read.damage).chain(late.iter()) {
            if !damage.contains(found) {
                damage.push(found.clone());
            }
        }
        damage
    }

    /// The series or channel of this name, whichever order its labels are in. A label that is empty says that
    /// there is none, as a selector: nothing has such a name. Reads one page.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn lookup(&self, name: &str) -> Result<Option<Declared>> {
        // As it stands first: names were declared before there was a canonical form.
        let find = |name: &str| {
            let table = |table: &SeriesTable| declared(table, table.find(name)?);
            self.ask(|dictionary| dictionary.name(name), table)
        };
        let found = find(name);
        let mut parser = NameParser::new();
        let canonical = parser.canonical(name);
        let is_name = || !name.split('=').any(|part| part.trim_start().starts_with("\"\""));
        let other = found.is_none() && canonical != name && is_name();
        Ok(if other { find(canonical) } else { found })
    }

    /// The series or channel of this id. Reads two pages.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn get(&self, id: u32) -> Result<Option<Declared>> {
        let table = |table: &SeriesTable| declared(table, table.find_id(id)?);
        Ok(self.ask(|dictionary| dictionary.id(id), table))
    }

    /// The type of this id. Reads the types of all when it is first asked, and nothing then: for
    /// those who ask for many.
    #[must_use]
    pub fn kind(&self, id: u32) -> Option<Type> {
        let table = |table: &SeriesTable| Some(table.id_and_kind(table.find_id(id)?)?.1);
        self.ask(|dictionary| dictionary.kind(id), table)
    }

    /// Session of the last declaration, as far as is known.
    fn last_session(&self) -> u64 {
        let dictionary = self.dictionary.as_ref();
        let covered = dictionary.map_or(0, |found| found.header.watermark.session);
        let reads = [&self.tail, &self.whole].into_iter().filter_map(OnceLock::get);
        reads.map(|read| read.end.session).max().unwrap_or(0).max(covered)
    }

    /// Calls `each` with every declaration by rising id: all of them are in memory then.
    pub(crate) fn scan_by_id(&self, mut each: impl FnMut(&Declaration<'_>) -> ControlFlow<()>) {
        let table = &self.whole().table;
        let mut numbers: Vec<u32> = (0..table.len() as u32).collect();
        let id = |number: &u32| table.id_and_kind(*number as usize).map(|(id, _)| id);
        numbers.sort_by_key(id);
        for found in numbers.iter().filter_map(|number| table.get(*number as usize)) {
            if each(&found).is_break() {
                break;
            }
        }
    }
}

fn declared(table: &SeriesTable, number: usize) -> Option<Declared> {
    let layout = table.layout(number).cloned();
    let found = table.get(number)?;
    let found = Declaration { layout: None, ..found };
    Some(Declared { layout, ..found.into() })
}

//! Catalog and dictionary read whole and compared: what verification says of them.

use super::dictionary::{self, Broken};
use super::{Catalog, fault};
use crate::damage::{Damage, Source};
use baro_ondisk::{Declaration, Error as Format, What, crc32c};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Damages of the dictionary that are told: each of its pages may be one.
const DAMAGE_MAX: usize = 100;

impl Catalog {
    /// Reads both files whole and calls `each` with every id; returns what is wrong with them, and
    /// where they differ.
    pub(crate) fn check(&self, mut each: impl FnMut(u32)) -> Vec<Damage> {
        let mut read = self.read_whole();
        let mut damage = self.damage();
        let Some(dictionary) = &self.dictionary else {
            read.table.iter().for_each(|found| each(found.id));
            damage.append(&mut read.damage);
            return deduplicated(damage);
        };
        let whole_catalog = read.damage.is_empty() && self.header.is_some();
        let mut names = 0;
        let mut broken = Vec::new();
        let scanned = dictionary.index().map(|_| ());
        broken.extend(scanned.err().map(fault));
        let mut page = 0;
        while page < dictionary.header.name_pages {
            let scanned = dictionary.scan(page..dictionary.header.name_pages, true, |found| {
                names += 1;
                let known = read.table.find(found.name).and_then(|number| read.table.get(number));
                broken.extend(difference(known, &found).filter(|_| whole_catalog));
                if broken.len() > DAMAGE_MAX {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            match scanned {
                Ok(_) => break,
                Err(Broken { page: at, fault: found, .. }) => {
                    broken.push(fault(found));
                    page = at + 1;
                    if broken.len() > DAMAGE_MAX {
                        break;
                    }
                }
            }
        }
        let mut ids = 0;
        let counted = dictionary.ids(|_| ids += 1);
        broken.extend(counted.err().map(fault));
        if broken.is_empty() && (ids != names || names != dictionary.header.names) {
            let names = (u64::from(dictionary.header.names), u64::from(names.min(ids)));
            broken.push(differs(0, "number of names, compared with its header", names));
        }
        damage.append(&mut broken);
        if !whole_catalog {
            self.supplement(&mut read);
        }
        read.table.iter().for_each(|found| each(found.id));
        damage.append(&mut read.damage);
        deduplicated(damage)
    }
}

fn differs(id: u32, field: &'static str, (expected, found): (u64, u64)) -> Damage {
    let what = What::Dictionary;
    let error = Format::Mismatch { what, field, offset: u64::from(id), expected, found };
    Damage { source: Source::Format(error), ..dictionary::damaged(error) }
}

/// Where an entry of the dictionary is another than that of the catalog.
fn difference(known: Option<Declaration<'_>>, found: &Declaration<'_>) -> Option<Damage> {
    let Some(known) = known else {
        let ids = (0, u64::from(found.id));
        return Some(differs(found.id, "entry of an id that the catalog has not", ids));
    };
    let told = |field, values| Some(differs(found.id, field, values));
    if known.id != found.id {
        let ids = (u64::from(known.id), u64::from(found.id));
        return told("id of a name, compared with the catalog", ids);
    }
    if known.kind != found.kind {
        let kinds = (known.kind as u64, found.kind as u64);
        return told("type of an id, compared with the catalog", kinds);
    }
    let sum = |text: &str| u64::from(crc32c(0, text.as_bytes()));
    if known.unit != found.unit {
        let sums = (sum(known.unit), sum(found.unit));
        return told("checksum of the unit of an id, compared with the catalog", sums);
    }
    // Of which two names a name was put together the dictionary does not say.
    if known.layout != found.layout {
        let sums = [&known.layout, &found.layout].map(|layout| sum(&format!("{layout:?}")));
        return told("checksum of the layout of an id, compared with the catalog", sums.into());
    }
    None
}

fn deduplicated(damage: Vec<Damage>) -> Vec<Damage> {
    let mut known = HashSet::new();
    let is_new = |found: &Damage| known.insert(format!("{} {:?}", found.file, found.source));
    damage.into_iter().filter(is_new).collect()
}

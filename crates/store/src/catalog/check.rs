//! Catalog and dictionary read whole and compared: what verification says of them.

use super::dictionary::{self, Broken};
use super::{Catalog, fault};
use crate::damage::{Damage, Source};
use baro_ondisk::{Error as Format, What};
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
        let differs = |id: u32, expected: u64, found: u64| {
            let (what, field) = (What::Dictionary, "entry of an id, compared with the catalog");
            let error = Format::Mismatch { what, field, offset: u64::from(id), expected, found };
            Damage { source: Source::Format(error), ..dictionary::damaged(error) }
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
                if whole_catalog && known.as_ref() != Some(&found) {
                    let known = known.map_or(0, |known| u64::from(known.id));
                    broken.push(differs(found.id, known, u64::from(found.id)));
                }
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
            broken.push(differs(0, u64::from(dictionary.header.names), u64::from(names.min(ids))));
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

fn deduplicated(damage: Vec<Damage>) -> Vec<Damage> {
    let mut known = HashSet::new();
    let is_new = |found: &Damage| known.insert(format!("{} {:?}", found.file, found.source));
    damage.into_iter().filter(is_new).collect()
}

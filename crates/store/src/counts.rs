//! Rows of each series and channel, by reading all.
//!
//! What indexes of runs know is added up. Only where the places of a series overlap in time, so that there
//! may be several samples of one time, it is read as a query reads it, which merges them.
//!
//! Invariant: the counts are those of every other way out. Held by
//! `every_way_out_shows_the_same_at_every_moment` of the command line.

use crate::info::join;
use crate::interval::Interval;
use crate::read::Notes;
use crate::{Query, Result, Store, Values};
use baro_log::Declared;
use baro_ondisk::Type;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A series or channel with what a full read says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The declaration; `None` if it is lost.
    pub declared: Option<Declared>,
    /// Id in this store.
    pub id: u32,
    /// Samples or frames.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Earliest and latest; `None` without rows.
    pub times_ns: Option<(i64, i64)>,
}

/// Where in time a series lies in each of its places.
#[derive(Debug, Default)]
struct Spans {
    /// Place, earliest and latest time.
    all: Vec<(usize, i64, i64)>,
    /// Within one place times did not rise.
    repeats: bool,
}

impl Spans {
    fn add(&mut self, source: usize, (min_ns, max_ns): (i64, i64)) {
        match self.all.last_mut().filter(|last| last.0 == source) {
            Some(last) => {
                self.repeats |= min_ns <= last.2;
                (last.1, last.2) = (last.1.min(min_ns), last.2.max(max_ns));
            }
            None => self.all.push((source, min_ns, max_ns)),
        }
    }

    fn overlap(&self) -> bool {
        let mut sorted: Vec<(i64, i64)> = self.all.iter().map(|span| (span.1, span.2)).collect();
        sorted.sort_unstable();
        self.repeats || !sorted.is_sorted_by(|a, b| a.1 < b.0)
    }
}

impl Store {
    /// Every declared series and channel, and every id that is recorded without a declaration,
    /// with counts; by id. Reads the whole log and all runs; what is in both is counted once, and of
    /// several samples of one series and time one. Frames are all counted.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn counts(&self) -> Result<(Vec<Listed>, Notes)> {
        let empty = |id| Listed { declared: None, id, rows: 0, bytes: 0, times_ns: None };
        let mut found: HashMap<u32, Listed> = HashMap::new();
        self.catalog.scan(|one| {
            let declared = Some(Declared::from(one.clone()));
            found.insert(one.id, Listed { declared, ..empty(one.id) });
            ControlFlow::Continue(())
        })?;
        let mut spans: HashMap<u32, Spans> = HashMap::new();
        let mut notes = self.each_part(None, |part| {
            spans.entry(part.id).or_default().add(part.source, part.times_ns);
            let listed = found.entry(part.id).or_insert_with(|| empty(part.id));
            listed.rows += part.rows;
            listed.bytes += part.bytes;
            listed.times_ns = join(listed.times_ns, part.times_ns);
        })?;
        let channel = |id: &u32| self.catalog.kind(*id) == Some(Type::Channel);
        let doubted = spans.into_iter().filter(|(id, spans)| !channel(id) && spans.overlap());
        let mut doubted: Vec<u32> = doubted.map(|(id, _)| id).collect();
        doubted.sort_unstable();
        for id in &doubted {
            found.entry(*id).and_modify(|listed| (listed.rows, listed.bytes) = (0, 0));
        }
        let again = self.query_ids(&doubted, &Query::raw(Interval::ALL), |batch| {
            let bytes = match batch.values {
                Values::Text(texts) => {
                    (0..batch.times_ns.len()).map(|at| texts.get(at).map_or(0, str::len)).sum()
                }
                _ => batch.times_ns.len() * 8,
            };
            found.entry(batch.target.id).and_modify(|listed| {
                listed.rows += batch.times_ns.len() as u64;
                listed.bytes += bytes as u64;
            });
            ControlFlow::Continue(())
        })?;
        let new = again.read.damage.into_iter().filter(|found| !notes.damage.contains(found));
        let new: Vec<_> = new.collect();
        notes.damage.extend(new);
        let hidden = self.hidden()?;
        found.retain(|id, _| !hidden.has(*id));
        let mut listed: Vec<Listed> = found.into_values().collect();
        listed.sort_by_key(|one| one.id);
        Ok((listed, notes))
    }
}

//! Samples, asked for as a user does: settled and unsettled together, each once, with its time and
//! the bits of its value.

use super::declared::Declared;
use super::log::Log;
use super::{Look, Verdict, bad, no_loss};
use crate::content::{self, Load, What};
use crate::statement::SLOTS_MAX;
use crate::write::said;
use baro_store::{Batch, Interval, Query, Store, Values};
use std::collections::HashMap;
use std::ops::ControlFlow;

struct Counting<'a> {
    look: &'a Look<'a>,
    declared: &'a Declared,
    /// Of each producer, by sequence: samples found.
    counts: [Vec<u16>; SLOTS_MAX],
    last: Option<(u32, i64)>,
    newest_ns: i64,
    found: u64,
    /// Of each series.
    series: HashMap<u32, u64>,
}

/// Ids that are asked for beside those there are.
const MANY: u32 = 20_000;

/// Returns how many samples there are.
pub(super) fn check(
    look: &Look<'_>,
    store: &Store,
    declared: &Declared,
    log: &Log,
) -> Verdict<u64> {
    let mut counting = Counting {
        look,
        declared,
        counts: <_>::default(),
        last: None,
        newest_ns: i64::MIN,
        found: 0,
        series: HashMap::new(),
    };
    let mut ids = declared.sampled();
    // A store that is asked for many series merges all it has once, and reads a few one by one,
    // which takes a hundred times as long for all; that there are none of these ids it must find.
    let highest = ids.last().copied().unwrap_or(0);
    ids.extend((1..=MANY).map(|at| highest + at));
    counting.query(store, &ids)?;
    counting.compare(log)?;
    let found = counting.found;
    // One of them the other way: the same must come.
    let one = ids.get(declared.count() / 3).copied().unwrap_or(1);
    let expected = counting.series.get(&one).copied().unwrap_or(0);
    counting.last = None;
    counting.series.clear();
    counting.query(store, &[one])?;
    let alone = counting.series.get(&one).copied().unwrap_or(0);
    if alone != expected {
        return bad(format!("samples of series {one}, asked for alone"), expected, alone);
    }
    Ok(found)
}

impl Counting<'_> {
    fn query(&mut self, store: &Store, ids: &[u32]) -> Verdict {
        let mut verdict = Ok(());
        let notes = store.query_ids(ids, &Query::raw(Interval::ALL), |batch| {
            verdict = self.batch(batch);
            if verdict.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let notes = notes.map_err(said)?;
        verdict?;
        no_loss("query", &notes.read.damage)?;
        no_loss("query", &store.damage_so_far())
    }

    fn batch(&mut self, batch: &Batch<'_>) -> Verdict {
        let id = batch.target.id;
        let Some((slot, member)) = self.declared.member(id) else {
            return bad("query", "what was asked for", format!("series {id}"));
        };
        let Some(load) = self.look.loads.get(slot) else { return Ok(()) };
        if batch.times_ns.len() != batch.values.len() {
            let found = (batch.times_ns.len(), batch.values.len());
            return bad("query", "as many times as values", format!("{found:?}"));
        }
        *self.series.entry(id).or_default() += batch.times_ns.len() as u64;
        for (row, time_ns) in batch.times_ns.iter().enumerate() {
            let what = || format!("{} at {time_ns}", content::name(slot, member));
            if self.last.is_some_and(|last| last.0 == id && last.1 >= *time_ns) {
                return bad(what(), "once, by rising time", format!("{:?} before", self.last));
            }
            self.last = Some((id, *time_ns));
            let Some((sequence, at)) = load.place(member, *time_ns) else {
                return bad(what(), "no sample", "one");
            };
            let element = load.element(sequence, load.what(sequence), at);
            let right = match batch.values {
                Values::F64(values) => values.get(row).map(|v| v.to_bits()) == Some(element.bits),
                Values::I64(values) => values.get(row) == Some(&element.bits.cast_signed()),
                Values::U64(values) => values.get(row) == Some(&element.bits),
                Values::Bool(values) => values.get(row) == Some(&(element.bits != 0)),
                Values::Text(texts) => texts.get(row) == Some(&Load::text(element.bits)),
            };
            if !right {
                let found = format!("row {row} of {:?}", batch.values);
                return bad(what(), format!("{element:?}"), found.get(..400).unwrap_or(&found));
            }
            self.count(slot, sequence);
            self.newest_ns = self.newest_ns.max(*time_ns);
            self.found += 1;
        }
        Ok(())
    }

    fn count(&mut self, slot: usize, sequence: u64) {
        let at = usize::try_from(sequence).unwrap_or(usize::MAX).min(1 << 26);
        if let Some(counts) = self.counts.get_mut(slot) {
            if counts.len() <= at {
                counts.resize((at + 1).next_multiple_of(4096), 0);
            }
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
    }

    fn compare(&self, log: &Log) -> Verdict {
        let settle = self.look.scenario.settle;
        let keep_ns = settle.and_then(|settle| settle.keep_ns);
        for (slot, (counts, load)) in self.counts.iter().zip(&self.look.loads).enumerate() {
            let durable = self.look.slot(slot).map_or(0, |told| told.durable);
            let end = durable.max(log.end(slot)).max(counts.len() as u64);
            for sequence in 0..end {
                let found = counts.get(sequence as usize).copied().map_or(0, usize::from);
                let what = load.what(sequence);
                let expected = what.samples();
                if found == expected {
                    continue;
                }
                let told = || format!("samples of record {slot}/{sequence} ({durable} durable)");
                let held = log.holds(slot, sequence);
                let taken = self.look.taken(slot, sequence, what == What::TooLarge);
                let late_ns = content::STEP_NS * 4;
                let dropped = keep_ns.is_some_and(|keep_ns| {
                    let kept_ns = self.newest_ns.saturating_sub_unsigned(keep_ns);
                    content::time_ns(sequence) < kept_ns.saturating_add(late_ns)
                });
                // Of what is dropped with its run, a part may have come in another one.
                let promised = taken == Some(true) && sequence < durable && settle.is_some();
                if (promised || held) && !dropped {
                    return bad(told(), expected, format!("{found} (in the log: {held})"));
                }
                if found > 0 && (found > expected || !dropped) {
                    return bad(told(), format!("{expected} or none"), found);
                }
            }
        }
        Ok(())
    }
}

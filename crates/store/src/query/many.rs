//! Many series at once: all that has them is merged in portions of bounded memory.

use super::Query;
use super::Target;
use super::before::Before;
use super::emit::Emitter;
use super::fold::Fold;
use super::one::One;
use super::sources::{AnyPart, Sources};
use crate::damage::Damage;
use crate::merge::{Gather, Portion, Wanted};
use crate::{Result, ValueType};
use baro_ondisk::Type;
use std::ops::{ControlFlow, Range};

/// Samples merged at once.
const PORTION_SAMPLES: usize = 128 << 10;

/// Hands out the series `ids` (sorted), one behind the other; those of texts, which are not merged,
/// one by one where they stand.
pub(super) fn series(
    sources: &Sources,
    ids: &[u32],
    kind: &dyn Fn(u32) -> Type,
    query: &Query,
    before: &Before,
    out: &mut Emitter<'_>,
) -> Result<Vec<Damage>> {
    let wanted = Wanted { series: Some(ids), interval: query.interval };
    let mut gather = Gather::new(sources.share_parts(), wanted, PORTION_SAMPLES);
    let mut texts = Texts::new(sources, ids, kind, query);
    let mut fold = Fold::of(query, before.clone());
    let mut portion = Portion::default();
    let (mut open, mut next): (Option<u32>, usize) = (None, 0);
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() && gather.next(&mut portion)? {
        let samples = portion.samples();
        for (series, range) in portion.groups() {
            if open != Some(series) {
                flow = end(open, &mut fold, out)?;
                let place = ids.partition_point(|id| *id < series);
                if flow.is_continue() {
                    flow = without(next..place, (ids, kind), &mut fold, &mut texts, out)?;
                }
                if flow.is_continue() {
                    flow = texts.hand_out(Some(series), out)?;
                }
                if flow.is_break() {
                    break;
                }
                next = place + 1;
                begin(Target { id: series, place }, kind, &mut fold, out);
                open = Some(series);
            }
            let times_ns = samples.times_ns.get(range.clone()).unwrap_or(&[]);
            let bits = samples.bits.get(range).unwrap_or(&[]);
            flow = match &mut fold {
                None => out.rows(times_ns, bits),
                Some(fold) => {
                    let form = kind(series).into();
                    let mut flow = ControlFlow::Continue(());
                    for (time_ns, bits) in times_ns.iter().zip(bits) {
                        flow = fold.add(*time_ns, (form, *bits), out)?;
                        if flow.is_break() {
                            break;
                        }
                    }
                    flow
                }
            };
            if flow.is_break() {
                break;
            }
        }
    }
    if flow.is_continue()
        && end(open, &mut fold, out)?.is_continue()
        && without(next..ids.len(), (ids, kind), &mut fold, &mut texts, out)?.is_continue()
    {
        let _ = texts.hand_out(None, out)?;
    }
    let damage = gather.into_parts().flat_map(AnyPart::into_damage);
    Ok(damage.chain(texts.into_damage()).collect())
}

/// Series of texts that are still to come, beside those of numbers.
pub(super) struct Texts<'a> {
    of: One<'a>,
    ids: &'a [u32],
    left: std::iter::Peekable<std::vec::IntoIter<u32>>,
    query: &'a Query,
}

impl<'a> Texts<'a> {
    /// Of `ids` (sorted), as far as the query has something to say of texts.
    pub(super) fn new(
        sources: &'a Sources,
        ids: &'a [u32],
        kind: &dyn Fn(u32) -> Type,
        query: &'a Query,
    ) -> Self {
        let takes =
            query.every.is_none_or(|every| every.aggregate.result(ValueType::Text).is_some());
        let mut left = if takes { sources.text_series(ids) } else { Vec::new() };
        left.retain(|id| kind(*id) == Type::Text);
        let of = One::new(sources, Default::default());
        Texts { of, ids, left: left.into_iter().peekable(), query }
    }

    pub(super) fn into_damage(self) -> Vec<Damage> {
        self.of.damage
    }

    /// Hands out those before a series; `None`: all that are left.
    pub(super) fn hand_out(
        &mut self,
        before: Option<u32>,
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        while let Some(id) = self.left.next_if(|id| before.is_none_or(|before| *id < before)) {
            let place = self.ids.partition_point(|other| *other < id);
            out.series(Target { id, place }, Type::Text.into());
            if self.of.series(id, Type::Text, self.query, None, out)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn begin(
    target: Target,
    kind: &dyn Fn(u32) -> Type,
    fold: &mut Option<Fold>,
    out: &mut Emitter<'_>,
) {
    let form = kind(target.id).into();
    out.series(target, form);
    if let Some(fold) = fold {
        fold.begin(target, form, out);
    }
}

/// Series in between that have no sample in the interval: they have rows where empty steps are filled.
fn without(
    places: Range<usize>,
    (ids, kind): (&[u32], &dyn Fn(u32) -> Type),
    fold: &mut Option<Fold>,
    texts: &mut Texts<'_>,
    out: &mut Emitter<'_>,
) -> Result<ControlFlow<()>> {
    if !fold.as_ref().is_some_and(Fold::fills) {
        return Ok(ControlFlow::Continue(()));
    }
    for place in places {
        let Some(id) = ids.get(place).copied() else { break };
        if matches!(kind(id), Type::Text | Type::Channel) {
            continue;
        }
        if texts.hand_out(Some(id), out)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        begin(Target { id, place }, kind, fold, out);
        if end(Some(id), fold, out)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn end(
    open: Option<u32>,
    fold: &mut Option<Fold>,
    out: &mut Emitter<'_>,
) -> Result<ControlFlow<()>> {
    if open.is_none() {
        return Ok(ControlFlow::Continue(()));
    }
    if let Some(fold) = fold
        && fold.end(out)?.is_break()
    {
        return Ok(ControlFlow::Break(()));
    }
    Ok(out.end())
}

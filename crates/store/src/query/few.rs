//! Some series among many, samples as they are: read one by one, on the processors there are.
//!
//! Series of many samples are left to the caller's thread, as are texts: what is read ahead is
//! bounded, at about 10 MB for each processor.

use super::emit::Emitter;
use super::one::{Memory, One};
use super::parallel::{in_order, workers};
use super::sources::Sources;
use super::{Query, Target};
use crate::damage::Damage;
use crate::{Error, Result};
use baro_ondisk::Type;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// From so many series on a second thread gains more than it costs to start.
pub(super) const MIN: usize = 24;
/// Series of a piece of work.
const PIECE: usize = 5;
/// Most samples of a series that is read ahead.
const SAMPLES_MAX: u64 = 32 << 10;
/// Buffers kept for further queries: as many as ask at once.
const SPARE_MAX: usize = 16;

/// Most samples of a piece that is kept for further queries.
const KEPT_SAMPLES: usize = 32 << 10;

/// Buffers that queries use again: memory that is new each time costs more than what a small query
/// does with it.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    memory: Mutex<Vec<Memory>>,
    pieces: Mutex<Vec<Result<Piece>>>,
}

impl Spare {
    pub(super) fn take(&self) -> Memory {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, memory: Memory) {
        let mut spare = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_small() && spare.len() < SPARE_MAX {
            spare.push(memory);
        }
    }

    fn take_pieces(&self) -> Vec<Result<Piece>> {
        std::mem::take(&mut *self.pieces.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn give_back_pieces(&self, mut pieces: Vec<Result<Piece>>) {
        pieces.retain(|piece| piece.as_ref().is_ok_and(Piece::is_small));
        pieces.truncate(SPARE_MAX);
        *self.pieces.lock().unwrap_or_else(PoisonError::into_inner) = pieces;
    }
}

/// A worker, whose memory goes back when it ends.
struct Worker<'a> {
    one: One<'a>,
    spare: &'a Spare,
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.spare.give_back(self.one.take_memory());
    }
}

/// Times and bits of one series.
type Samples = (Vec<i64>, Vec<u64>);

/// Some series, each with whether it was read (else the caller does), and what was damaged.
#[derive(Debug, Default)]
struct Piece {
    series: Vec<(bool, Samples)>,
    damage: Vec<Damage>,
}

impl Piece {
    fn is_small(&self) -> bool {
        self.series.iter().map(|(_, samples)| samples.0.capacity()).sum::<usize>() <= KEPT_SAMPLES
    }
}

/// Hands out the series `ids`, one behind the other, in this order.
pub(super) fn series(
    sources: &Sources,
    ids: &[u32],
    kind: &(dyn Fn(u32) -> Type + Sync),
    query: &Query,
    spare: &Spare,
    out: &mut Emitter<'_>,
) -> Result<Vec<Damage>> {
    let memory = || Worker { one: One::new(sources, spare.take()), spare };
    let work = |worker: &mut Worker<'_>, at: usize, piece: Option<Result<Piece>>| {
        let mut piece = piece.and_then(Result::ok).unwrap_or_default();
        let ids = ids.chunks(PIECE).nth(at).unwrap_or(&[]);
        piece.series.resize_with(ids.len(), Default::default);
        for (id, (read, (times_ns, bits))) in ids.iter().zip(&mut piece.series) {
            let to = (times_ns, bits);
            *read = kind(*id) != Type::Text
                && worker.one.whole(*id, query.interval, SAMPLES_MAX, to)?;
        }
        piece.damage.append(&mut worker.one.damage);
        Ok(piece)
    };
    let mut own = Worker { one: One::new(sources, spare.take()), spare };
    let (mut place, mut damage, mut failed) = (0, Vec::new(), None);
    let mut hand_out = |piece: &mut Piece| -> Result<ControlFlow<()>> {
        damage.append(&mut piece.damage);
        for (read, (times_ns, bits)) in &piece.series {
            let Some(id) = ids.get(place).copied() else { break };
            out.series(Target { id, place }, kind(id).into());
            place += 1;
            let flow = match read {
                true => out.rows(times_ns, bits),
                false => own.one.series(id, kind(id), query, None, out)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    let take = |found: &mut Result<Piece>| {
        let done = match found {
            Ok(piece) => hand_out(piece),
            Err(_) => {
                std::mem::replace(found, Ok(Piece::default())).map(|_| ControlFlow::Continue(()))
            }
        };
        done.unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    };
    let workers = workers().min(ids.len() / (MIN / 2));
    let mut pieces = spare.take_pieces();
    let all = in_order(ids.len().div_ceil(PIECE), workers, memory, work, &mut pieces, take);
    spare.give_back_pieces(pieces);
    if let Some(error) = failed {
        return Err(error);
    }
    if !all {
        return Err(Error::Thread { name: "reading" });
    }
    damage.append(&mut own.one.damage);
    Ok(damage)
}

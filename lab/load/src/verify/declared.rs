//! Series and pins: what was declared and granted is there, and what is there was.

use super::{Look, Verdict, bad};
use crate::content::{self, PORTION};
use crate::write::{pin_name, said};
use baro_store::Store;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Series by id and by what they are.
#[derive(Debug, Default)]
pub(super) struct Declared {
    members: HashMap<u32, (usize, usize)>,
    ids: HashMap<(usize, usize), u32>,
}

impl Declared {
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    /// Producer and number of a series.
    pub(super) fn member(&self, id: u32) -> Option<(usize, usize)> {
        self.members.get(&id).copied()
    }

    /// Id of a series of a producer.
    pub(super) fn id(&self, slot: usize, member: usize) -> Option<u32> {
        self.ids.get(&(slot, member)).copied()
    }

    /// Ids of all series that have samples, rising.
    pub(super) fn sampled(&self) -> Vec<u32> {
        let channel = |member: usize| content::kind(member) == baro_ondisk::Type::Channel;
        let sampled = self.members.iter().filter(|(_, (_, member))| !channel(*member));
        let mut ids: Vec<u32> = sampled.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }
}

pub(super) fn check(look: &Look<'_>, store: &Store) -> Verdict<Declared> {
    let declared = series(store)?;
    for (slot, told) in look.statement.slots.iter().enumerate() {
        for (portion, first) in told.portions.iter().enumerate() {
            for at in 0..PORTION {
                let (id, member) = (first + at as u32, portion * PORTION + at);
                if declared.member(id) != Some((slot, member)) {
                    let found = match (declared.member(id), declared.id(slot, member)) {
                        (None, None) => "neither the id nor the name".to_owned(),
                        other => format!("(series of that id, id of that name) {other:?}"),
                    };
                    let name = content::name(slot, member);
                    return bad("declared", format!("{name} with id {id}"), found);
                }
            }
            // By its name too, which the dictionary answers where there is one.
            let member = portion * PORTION + portion % PORTION;
            let name = content::name(slot, member);
            let found = store.catalog().lookup(&name).map_err(said)?;
            let expected = first + (portion % PORTION) as u32;
            if found.as_ref().map(|found| found.id) != Some(expected) {
                return bad(format!("looking up {name}"), expected, format!("{found:?}"));
            }
        }
    }
    pins(look, store)?;
    Ok(declared)
}

fn series(store: &Store) -> Verdict<Declared> {
    let mut declared = Declared::default();
    let mut verdict = Ok(());
    let scanned = store.catalog().scan(|found| {
        let Some((slot, member)) = content::member(found.name) else {
            verdict = bad("catalog", "what the load declares", found.name);
            return ControlFlow::Break(());
        };
        let expected = (content::kind(member), content::unit(member));
        if (found.kind, found.unit) != expected {
            let found = format!("{:?} of {}", (found.kind, found.unit), found.name);
            verdict = bad("catalog", format!("{expected:?}"), found);
            return ControlFlow::Break(());
        }
        let twice = declared.ids.insert((slot, member), found.id);
        if declared.members.insert(found.id, (slot, member)).is_some() || twice.is_some() {
            verdict = bad("catalog", "each name and id once", format!("{} again", found.name));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    scanned.map_err(said)?;
    verdict?;
    Ok(declared)
}

fn pins(look: &Look<'_>, store: &Store) -> Verdict {
    for told in &look.statement.pins {
        let Some(pin) = store.pins().find(|pin| pin.id == told.id) else {
            let found: Vec<u64> = store.pins().map(|pin| pin.id).collect();
            return bad(format!("pin {:x}", told.id), "granted", format!("only {found:x?}"));
        };
        if pin.name != pin_name(told.number) {
            return bad("name of a pin", pin_name(told.number), &pin.name);
        }
    }
    for id in &look.statement.released {
        if let Some(pin) = store.pins().find(|pin| pin.id == *id) {
            return bad(format!("pin {id:x}"), "released", format!("{pin:?}"));
        }
    }
    Ok(())
}

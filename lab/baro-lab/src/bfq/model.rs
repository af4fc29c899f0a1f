//! B-WF2Q+ as BFQ has it, for what competes directly below the root: groups, and queues in none.
//!
//! Messages tell the virtual times of a queue inside its group, not those of the group. But what
//! moves a group's times is told: what was charged, when its queue became busy or idle, and why its
//! turn ended. So the same rules are followed here (block/bfq-wf2q.c: activation, requeueing,
//! deactivation, the idle tree, the jump of the virtual time). At each choice the model has an
//! expectation of its own, and [`Model::choose`] says whether BFQ did the same.
//!
//! A group is taken for one queue, which holds for groups with one process.
//!
//! Invariant: entities are few and made once; no arithmetic overflows, whatever was charged. Held by
//! `any_text_is_taken` in `bfq/tests.rs`.

use super::message::Reason;

/// One sector of service at weight 1, in virtual time.
const SERVICE_SHIFT: u32 = 22;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Virtual time has passed its finish: forgotten.
    Nowhere,
    /// It has requests, and may be the one in service.
    Active,
    /// It has none, but virtual time has not passed its finish.
    Idle,
}

/// What competes below the root.
#[derive(Debug)]
struct Entity {
    weight: u64,
    start: u64,
    finish: u64,
    /// Charged in this turn.
    service: u64,
    place: Place,
    /// It is in service.
    in_turn: bool,
    /// Its last turn ended because it had nothing to do: an activation may go back to its finish.
    waited: bool,
    ended: Option<Reason>,
    activation: Option<Activation>,
}

/// An activation whose budget is not known yet.
#[derive(Clone, Copy, Debug)]
struct Activation {
    finish_before: u64,
    back: bool,
    first: bool,
}

/// How far an activation moved an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its start lies so much service, in sectors, behind the finish it had: a lag that is
    /// forgotten. 0 where it goes on where it was.
    pub forgotten_sectors: u64,
    /// It was allowed to start before the present virtual time.
    pub back: bool,
}

/// Virtual times below the root.
#[derive(Debug, Default)]
pub struct Model {
    entities: Vec<Entity>,
    now: u64,
}

impl Model {
    /// Adds an entity and returns its number.
    pub fn add(&mut self, weight: u64) -> usize {
        self.entities.push(Entity {
            weight: weight.max(1),
            start: 0,
            finish: 0,
            service: 0,
            place: Place::Nowhere,
            in_turn: false,
            waited: false,
            ended: None,
            activation: None,
        });
        self.entities.len() - 1
    }

    /// A queue in no group has the weight that its messages tell.
    pub fn set_weight(&mut self, entity: usize, weight: u64) {
        self.entities[entity].weight = weight.max(1);
    }

    /// It has requests again; `in_time` if soon after its last one was done, as BFQ asks of who is to
    /// go on where it ended.
    pub fn activate(&mut self, entity: usize, in_time: bool) {
        self.forget();
        let now = self.now;
        let entity = &mut self.entities[entity];
        if entity.place == Place::Active {
            return;
        }
        let back = entity.waited && in_time && now > entity.finish;
        let start = if back { entity.finish } else { now };
        entity.activation =
            Some(Activation { finish_before: entity.finish, back, first: entity.ended.is_none() });
        entity.start = if entity.place == Place::Idle { start.max(entity.finish) } else { start };
        entity.place = Place::Active;
        entity.waited = false;
    }

    /// Its budget, in sectors, is known: the finish follows. Says how far the activation before it
    /// moved the entity, if there was one and it was not the first.
    pub fn set_budget(&mut self, entity: usize, sectors: u64) -> Option<Moved> {
        let now = self.now;
        let entity = &mut self.entities[entity];
        if entity.place != Place::Active {
            return None;
        }
        entity.finish = entity.start.saturating_add(virtual_time(sectors, entity.weight));
        let activation = entity.activation.take()?;
        if activation.back && now > entity.finish {
            // BFQ pushes up what lies too far back, so that its finish is the present.
            entity.start = entity.start.saturating_add(now - entity.finish);
            entity.finish = now;
        }
        let forgotten = entity.start.saturating_sub(activation.finish_before);
        let moved =
            Moved { forgotten_sectors: service(forgotten, entity.weight), back: activation.back };
        (!activation.first).then_some(moved)
    }

    /// It was charged: virtual time goes on. True if in its turn: what BFQ takes from a queue in
    /// another's turn moves the time of all, but not its own.
    pub fn charge(&mut self, entity: usize, sectors: u64) -> bool {
        let weights: u64 = self
            .entities
            .iter()
            .filter(|entity| entity.place != Place::Nowhere)
            .map(|entity| entity.weight)
            .fold(0, u64::saturating_add);
        let charged = &mut self.entities[entity];
        charged.service = charged.service.saturating_add(sectors);
        // Who is served counts, also where the model has it out of the tree.
        let weights = weights.max(charged.weight);
        let in_turn = charged.in_turn;
        self.now = self.now.saturating_add(virtual_time(sectors, weights));
        self.forget();
        in_turn
    }

    /// BFQ chose it. True if the model had; None if the model knows of nobody to choose.
    pub fn choose(&mut self, chosen: usize) -> Option<bool> {
        let active = || self.entities.iter().enumerate().filter(|(_, e)| e.place == Place::Active);
        let earliest = active().map(|(_, entity)| entity.start).min();
        let now = self.now.max(earliest.unwrap_or(0));
        let expected = active()
            .filter(|(_, entity)| entity.start <= now)
            .min_by_key(|(_, entity)| entity.finish)
            .map(|(number, _)| number);
        self.now = now;
        self.forget();
        let entity = &mut self.entities[chosen];
        entity.place = Place::Active;
        entity.service = 0;
        entity.in_turn = true;
        expected.map(|expected| expected == chosen)
    }

    /// Its turn ended.
    pub fn expire(&mut self, entity: usize, reason: Reason) {
        let entity = &mut self.entities[entity];
        entity.finish = entity.start.saturating_add(virtual_time(entity.service, entity.weight));
        entity.start = entity.finish;
        entity.ended = Some(reason);
        entity.in_turn = false;
    }

    /// It has no requests left. Returns the service, in sectors, that it is made to pay without: who
    /// is emptied in another's turn keeps the finish of the whole budget that it never got.
    pub fn deactivate(&mut self, entity: usize) -> u64 {
        let now = self.now;
        let entity = &mut self.entities[entity];
        let unpaid = entity.finish.saturating_sub(entity.start);
        entity.in_turn = false;
        entity.waited =
            matches!(entity.ended, Some(Reason::Idle | Reason::NoMore | Reason::Preempted));
        entity.place = if entity.finish > now { Place::Idle } else { Place::Nowhere };
        service(unpaid, entity.weight)
    }

    /// Idle ones whose finish is past leave the tree, and with it the sum of weights.
    fn forget(&mut self) {
        for entity in &mut self.entities {
            if entity.place == Place::Idle && entity.finish <= self.now {
                entity.place = Place::Nowhere;
            }
        }
    }
}

fn virtual_time(sectors: u64, weight: u64) -> u64 {
    sectors.min(u64::MAX >> SERVICE_SHIFT).wrapping_shl(SERVICE_SHIFT) / weight
}

fn service(virtual_time: u64, weight: u64) -> u64 {
    let sectors = (u128::from(virtual_time) * u128::from(weight)) >> SERVICE_SHIFT;
    u64::try_from(sectors).unwrap_or(u64::MAX)
}

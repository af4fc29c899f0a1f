//! Each claim about shares, made to come out otherwise and made impossible to judge.

use super::super::row::{Direction, Figures, Load, Settled, Task};
use super::super::setting::Setting;
use super::{case, of_the_paper, played, rates, study};
use Direction::{Read, Write};
use baro_bench::experiment::{Measured, Measurement, Verdict};

/// Two groups of these weights under a setting, with direct I/O of so many MB.
type Pair = (&'static [u16], Setting, Direction, u64);

/// These figures in three repeats.
fn put_each(all: &mut Measurement, task: Task, pair: Pair, figures: [Figures; 3]) {
    let (weights, setting, direction, mb) = pair;
    let case = case(task, weights, setting, Load::direct(direction, mb));
    for (repeat, figures) in (1..).zip(figures) {
        let (cell, data) = (case.cell(repeat), serde_json::to_value(figures).unwrap());
        all.cells.insert(cell.clone(), Measured { cell, took_ns: 1, data });
    }
}

/// The same rates three times.
fn put(all: &mut Measurement, task: Task, pair: Pair, mb_per_s: &[f64]) {
    put_each(all, task, pair, [0, 1, 2].map(|_| rates(mb_per_s)));
}

/// One repeat that keeps 2:1, one that does not.
fn put_uneven(all: &mut Measurement, pair: Pair) {
    let rates = [[80.0, 40.0], [60.0, 50.0], [80.0, 40.0]].map(|pair| rates(&pair));
    put_each(all, Task::Pair, pair, rates);
}

fn kept(all: &mut Measurement, setting: Setting, direction: Direction, mb: u64) {
    put(all, Task::Pair, (TWO, setting, direction, mb), &[80.0, 40.0]);
}

fn lost(all: &mut Measurement, setting: Setting, direction: Direction, mb: u64) {
    put(all, Task::Pair, (TWO, setting, direction, mb), &[60.0, 50.0]);
}

fn uneven(all: &mut Measurement, setting: Setting, direction: Direction, mb: u64) {
    put_uneven(all, (TWO, setting, direction, mb));
}

/// Nothing of a task is there.
fn without(all: &mut Measurement, task: &str) {
    all.cells.retain(|cell, _| !cell.starts_with(task));
}

fn players(all: &mut Measurement, setting: Setting, late: u64) {
    put_each(all, Task::Player, (TWO, setting, Read, 100), [0, 1, 2].map(|_| played(late)));
}

fn settled_after(all: &mut Measurement, seconds: [f64; 3]) {
    let figures = seconds.map(|rest_s| {
        let settled = Some(Settled { rest_s: Some(rest_s), ..Settled::default() });
        Figures { settled, ..rates(&[80.0, 40.0]) }
    });
    put_each(all, Task::Change, (TWO, Setting::Auto, Read, 100), figures);
}

const TWO: &[u16] = &[2, 1];
const THREE: &[u16] = &[3, 2];
const FOUR: &[u16] = &[3, 2, 2, 1];
const NESTED: &[u16] = &[4, 3, 2, 1];
use Setting::{Auto, Default, FifoExpire, Fixed, MaxBudget, StrictGuarantees};

/// A claim, what refutes it, what leaves it open.
type Mutation = (&'static str, fn(&mut Measurement), fn(&mut Measurement));

#[rustfmt::skip]
const MUTATIONS: [Mutation; 20] = [
    ("small-reads", |m| lost(m, Default, Read, 1), |m| uneven(m, Default, Read, 1)),
    ("large-reads", |m| kept(m, Default, Read, 100), |m| uneven(m, Default, Read, 100)),
    ("large-writes", |m| kept(m, Default, Write, 100), |m| uneven(m, Default, Write, 100)),
    ("fifo-expire", |m| kept(m, FifoExpire, Read, 100), |m| uneven(m, FifoExpire, Read, 100)),
    ("max-budget", |m| kept(m, MaxBudget, Read, 100), |m| uneven(m, MaxBudget, Read, 100)),
    ("strict", |m| kept(m, StrictGuarantees, Read, 100), |m| uneven(m, StrictGuarantees, Read, 100)),
    ("strict-costs", |m| put(m, Task::Pair, (TWO, StrictGuarantees, Read, 100), &[900.0, 400.0]),
                     |m| put_each(m, Task::Pair, (TWO, StrictGuarantees, Read, 100),
                                  [10.0, 100.0, 900.0].map(|mb| rates(&[mb, mb])))),
    ("fixed", |m| lost(m, Fixed, Read, 100), |m| uneven(m, Fixed, Read, 100)),
    ("fixed-writes", |m| lost(m, Fixed, Write, 100), |m| uneven(m, Fixed, Write, 100)),
    ("fixed-3-2", |m| put(m, Task::Pair, (THREE, Fixed, Read, 100), &[80.0, 40.0]),
                  |m| put_each(m, Task::Pair, (THREE, Fixed, Read, 100), [40.0, 50.0, 60.0].map(|mb| rates(&[60.0, mb])))),
    ("player-late", |m| players(m, Default, 0), |m| without(m, "player/")),
    ("player-fixed", |m| players(m, Fixed, 3), |m| without(m, "player/")),
    ("auto", |m| lost(m, Auto, Read, 100), |m| uneven(m, Auto, Read, 100)),
    ("auto-3-2", |m| put(m, Task::Pair, (THREE, Auto, Read, 100), &[80.0, 40.0]),
                 |m| put_each(m, Task::Pair, (THREE, Auto, Read, 100), [40.0, 50.0, 60.0].map(|mb| rates(&[60.0, mb])))),
    ("auto-four", |m| put(m, Task::Pair, (FOUR, Auto, Read, 100), &[1.0; 4]),
                  |m| put_each(m, Task::Pair, (FOUR, Auto, Read, 100),
                               [10.0, 11.0, 20.0].map(|mb| rates(&[30.0, 20.0, 20.0, mb])))),
    ("auto-nested", |m| put(m, Task::Nested, (NESTED, Auto, Read, 100), &[1.0; 4]),
                    |m| put_each(m, Task::Nested, (NESTED, Auto, Read, 100),
                                 [10.0, 11.0, 20.0].map(|mb| rates(&[40.0, 30.0, 20.0, mb])))),
    ("auto-total", |m| put(m, Task::Pair, (TWO, Auto, Read, 100), &[8.0, 4.0]),
                   |m| put_each(m, Task::Pair, (TWO, Auto, Read, 100),
                                [[8.0, 4.0], [80.0, 40.0], [800.0, 400.0]].map(|pair| rates(&pair)))),
    ("auto-alone", |m| put(m, Task::Alone(1), (TWO, Auto, Read, 100), &[0.0, 50.0]),
                   |m| put_each(m, Task::Alone(1), (TWO, Auto, Read, 100),
                                [50.0, 119.0, 120.0].map(|mb| rates(&[0.0, mb])))),
    ("auto-player", |m| players(m, Auto, 1), |m| without(m, "player/")),
    ("auto-change", |m| settled_after(m, [6.0, 7.0, 8.0]), |m| settled_after(m, [3.0, 7.0, 4.0])),
];

#[test]
fn each_claim_is_refuted_by_what_refutes_it_and_open_where_nothing_follows() {
    let claims = study(&of_the_paper(), &[]).claims;
    assert_eq!(claims.len(), MUTATIONS.len());
    for claim in claims {
        let mutation = MUTATIONS.iter().find(|mutation| mutation.0 == claim.id);
        let (id, refuting, opening) = mutation.unwrap_or_else(|| panic!("{} has none", claim.id));
        let of = |mutate: &fn(&mut Measurement)| {
            let mut other = of_the_paper();
            mutate(&mut other);
            study(&other, &[]).claims.into_iter().find(|claim| claim.id == *id).unwrap()
        };
        let refuted = of(refuting);
        assert_eq!(refuted.verdict, Verdict::DoesNotHold, "{refuted:#?}");
        let open = of(opening);
        assert_eq!(open.verdict, Verdict::CannotBeJudged, "{open:#?}");
        assert!(!open.why.is_empty(), "{open:#?}");
    }
}

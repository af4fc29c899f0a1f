//! What was pushed, and what may be read of it.

use baro_ondisk::Type;
use baro_store::{
    Aggregate, Batch, Damage, Datum, Error, Every, Interval, Moment, Point, Query, Reading,
    Selection, Steps, Store, ValueType, Values,
};
use baro_sys::sim::Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

#[derive(Clone, Debug, PartialEq)]
pub enum Val {
    Bits(u64),
    Text(String),
}

pub type Row = (u32, i64, Val);
type Rows = BTreeMap<(u32, i64), Val>;

/// What one record carries.
#[derive(Clone, Debug)]
pub struct Push {
    /// Number among those of its producer.
    pub sequence: u64,
    pub rows: Vec<Row>,
}

/// All that was pushed, in order.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    pub pushes: Vec<Push>,
    /// So many of them are durable.
    pub durable: usize,
    /// So many are of producers that are gone.
    pub frozen: usize,
    /// What is older than this retention may have taken.
    pub gone_before_ns: Option<i64>,
    /// Samples are counted rather than named, as retention by size takes any of them.
    pub any_gone: bool,
    pub declared: u32,
}

/// Carries the number of each push: its time is the number times this.
pub const MARKER: u32 = 1;
pub const BASE_NS: i64 = 1000;

pub fn kind(id: u32) -> Type {
    match id {
        MARKER => Type::I64,
        _ => [Type::F64, Type::I64, Type::Text, Type::F64, Type::Bool][id as usize % 5],
    }
}

impl Truth {
    /// Notes which pushes of the living producer are durable: those below this sequence.
    pub fn note(&mut self, below: u64) {
        let mine = self.pushes.get(self.frozen..).unwrap_or(&[]);
        let count = mine.partition_point(|push| push.sequence < below);
        self.durable = self.durable.max(self.frozen + count);
    }

    /// What the first `count` pushes come to.
    pub fn rows(&self, count: usize) -> Rows {
        let rows = self.pushes[..count].iter().flat_map(|push| &push.rows);
        rows.map(|(id, time_ns, value)| ((*id, *time_ns), value.clone())).collect()
    }
}

/// What a query hands out.
pub fn asked(store: &Store, ids: &[u32], query: &Query) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let notes = store.query_ids(ids, query, |batch| {
        take(batch, &mut rows);
        ControlFlow::Continue(())
    })?;
    assert_eq!(notes.read.damage, []);
    assert_eq!(notes.rows, rows.len() as u64);
    Ok(rows)
}

fn take(batch: &Batch<'_>, rows: &mut Vec<Row>) {
    let bits = |at: usize| match batch.values {
        Values::F64(values) => Val::Bits(values[at].to_bits()),
        Values::I64(values) => Val::Bits(values[at].cast_unsigned()),
        Values::U64(values) => Val::Bits(values[at]),
        Values::Bool(values) => Val::Bits(u64::from(values[at])),
        Values::Text(texts) => Val::Text(texts.get(at).unwrap().to_owned()),
    };
    assert_eq!(batch.times_ns.len(), batch.values.len());
    rows.extend(batch.times_ns.iter().zip(0..).map(|(ns, at)| (batch.target.id, *ns, bits(at))));
}

/// So many pushes the rows are of: one more than the last that is there.
fn count(rows: &[Row], truth: &Truth) -> usize {
    let last = rows.iter().filter_map(|(id, _, value)| match value {
        Val::Bits(bits) if *id == MARKER => usize::try_from(*bits).ok(),
        Val::Text(text) => text.split(' ').next()?.parse().ok(),
        Val::Bits(_) => None,
    });
    let least = if truth.gone_before_ns.is_some() || truth.any_gone { truth.durable } else { 0 };
    last.max().map_or(least, |last| (last + 1).max(least))
}

/// Everything that is read is what was pushed up to some push, all durable ones among them; returns
/// up to which.
pub fn check(store: &Store, truth: &Truth, rng: &mut Rng) -> Result<usize, String> {
    let ids: Vec<u32> = (1..=truth.declared).collect();
    let loss = store.damage().into_iter().find(Damage::is_loss);
    if let Some(damage) = loss {
        return Err(format!("taken for damage: {damage}"));
    }
    let found = asked(store, &ids, &Query::raw(Interval::ALL)).map_err(|e| e.to_string())?;
    in_time_order(store, &found, rng)?;
    let count = count(&found, truth);
    if count < truth.durable || count > truth.pushes.len() {
        let (durable, pushed) = (truth.durable, truth.pushes.len());
        return Err(format!("{count} pushes are there of {durable} durable, {pushed} pushed"));
    }
    let model = truth.rows(count);
    compare(&found, &model, truth)?;
    if !truth.any_gone {
        questions(store, &ids, &model, truth, rng)?;
    }
    Ok(count)
}

/// In time order, within memory that may hold a part only, comes what a query has.
fn in_time_order(store: &Store, found: &[Row], rng: &mut Rng) -> Result<(), String> {
    let memory_bytes = rng.pick(&[64 << 20, 1 << 20]);
    let reading = Reading { memory_bytes, ..Reading::default() };
    let selection = Selection::all(store.catalog(), true).map_err(|e| e.to_string())?;
    let mut rows: Vec<Row> = Vec::new();
    let mut take = |point: &Point<'_>| {
        let value = match point.value {
            Datum::Float(value) => Val::Bits(value.to_bits()),
            Datum::Integer(value) => Val::Bits(value.cast_unsigned()),
            Datum::Boolean(value) => Val::Bits(u64::from(value)),
            Datum::Text(text) => Val::Text(text.to_owned()),
            Datum::Unsigned(_) | Datum::Frame(_) => return ControlFlow::Continue(()),
        };
        rows.push((point.id, point.time_ns, value));
        ControlFlow::Continue(())
    };
    let read = match rng.chance(1, 2) {
        true => store.points(Interval::ALL, &selection, &reading, take),
        false => store.timeline(Interval::ALL, &selection, &reading, |moment| match moment {
            Moment::Point(point) => take(point),
            _ => ControlFlow::Continue(()),
        }),
    };
    let (notes, _) = read.map_err(|e| e.to_string())?;
    if !notes.damage.is_empty() {
        return Err(format!("damage in time order: {:?}", notes.damage));
    }
    if !rows.is_sorted_by_key(|row| (row.1, row.0)) {
        return Err("in time order it is not in time order".to_owned());
    }
    rows.sort_by_key(|row| (row.0, row.1));
    if rows != found {
        let at = (0..).find(|at| rows.get(*at) != found.get(*at)).unwrap_or(0);
        let (row, asked) = (rows.get(at), found.get(at));
        return Err(format!("in time order {row:?}, in a query {asked:?}"));
    }
    Ok(())
}

/// The same for a store that was opened when `truth` was as it is given, of what was pushed since:
/// all that was durable then, and nothing that was never pushed.
pub fn check_reader(store: &Store, truth: &Truth) -> Result<(), Error> {
    let ids: Vec<u32> = (1..=truth.declared).collect();
    let found = asked(store, &ids, &Query::raw(Interval::ALL))?;
    let count = count(&found, truth);
    assert!((truth.durable..=truth.pushes.len()).contains(&count), "{count} pushes are there");
    let mut model = truth.rows(count);
    model.retain(|key, _| key.0 <= truth.declared);
    compare(&found, &model, truth).unwrap();
    Ok(())
}

fn compare(found: &[Row], model: &Rows, truth: &Truth) -> Result<(), String> {
    let limit_ns = truth.gone_before_ns.unwrap_or(i64::MIN);
    let must = |time_ns: i64| time_ns >= limit_ns && !truth.any_gone;
    let mut expected = model.iter().filter(|(key, _)| must(key.1));
    for row in found.iter().filter(|row| must(row.1)) {
        match expected.next() {
            Some((key, value)) if (key.0, key.1) == (row.0, row.1) && *value == row.2 => {}
            other => return Err(format!("found {row:?}, expected {other:?}")),
        }
    }
    if let Some(missing) = expected.next() {
        return Err(format!("{missing:?} is not there"));
    }
    // What may be gone is gone, or as it was recorded last: never as it was before.
    let mut before = None;
    for row in found {
        if before >= Some((row.0, row.1)) {
            return Err(format!("{row:?} comes twice or out of order"));
        }
        before = Some((row.0, row.1));
        let last = model.get(&(row.0, row.1));
        if last != Some(&row.2) {
            return Err(format!("found {row:?}, recorded last {last:?}"));
        }
    }
    Ok(())
}

fn questions(
    store: &Store,
    all: &[u32],
    model: &Rows,
    truth: &Truth,
    rng: &mut Rng,
) -> Result<(), String> {
    let end_ns = truth.pushes.len() as i64 * BASE_NS;
    let least_ns = truth.gone_before_ns.unwrap_or(i64::MIN);
    for _ in 0..3 {
        let ids: Vec<u32> = match rng.below(4) {
            0 => all.to_vec(),
            1 => all.iter().copied().filter(|_| rng.chance(1, 2)).collect(),
            _ => vec![rng.pick(all)],
        };
        let from_ns = rng.below(end_ns as u64 + 30_000) as i64 - 25_000;
        let near_ns = from_ns + rng.below(50_000) as i64;
        let to_ns = rng.pick(&[near_ns, near_ns, i64::MAX, i64::MAX - 1, from_ns]);
        let from_ns = rng.pick(&[from_ns, from_ns, i64::MIN]).max(least_ns);
        let interval = Interval { from_ns, to_ns };
        let within = |id: u32| {
            let range = model.range((id, i64::MIN)..=(id, i64::MAX));
            range.filter(|(key, _)| interval.holds(key.1)).map(|(key, v)| (key.0, key.1, v.clone()))
        };
        let expected: Vec<Row> = ids.iter().flat_map(|id| within(*id)).collect();
        let (last, limit) = (rng.below(8) as usize, rng.below(100));
        let mut newest = Vec::new();
        for group in expected.chunk_by(|a, b| a.0 == b.0) {
            newest.extend_from_slice(&group[group.len().saturating_sub(last)..]);
        }
        let first = expected[..expected.len().min(limit as usize)].to_vec();
        let raw = Query::raw(interval);
        let asks = [
            (raw.clone(), expected.clone()),
            (Query { last: Some(last), ..raw.clone() }, newest),
            (Query { limit: Some(limit), ..raw }, first),
        ];
        for (query, expected) in asks {
            let found = asked(store, &ids, &query).map_err(|e| e.to_string())?;
            if found != expected {
                let at = (0..).find(|at| found.get(*at) != expected.get(*at)).unwrap();
                let (found, expected) = (found.get(at), expected.get(at));
                return Err(format!("{query:?} of {ids:?}: {found:?}, expected {expected:?}"));
            }
        }
        let step_ns = rng.pick(&[0, 700, 10_000, 1 << 40, u64::MAX]);
        // What looks at samples before the interval is held by `tests/settle.rs`.
        let every = Every { step_ns, aggregate: rng.pick(&Aggregate::ALL[..9]) };
        let steps = i64::try_from(step_ns).ok().filter(|step_ns| *step_ns > 0 && rng.chance(1, 2));
        let query = Query { steps: steps.map(steps_of), ..Query::every(interval, every) };
        let found = asked(store, &ids, &query).map_err(|e| e.to_string())?;
        let expected = folded(&expected, &query, every);
        let same = |(row, (id, time_ns, value)): (&Row, &(u32, i64, f64))| {
            let bits = match &row.2 {
                Val::Text(text) => of_text(text).to_bits(),
                Val::Bits(bits) => *bits,
            };
            let integer = ValueType::of(kind(*id)).and_then(|of| every.aggregate.result(of))
                == Some(ValueType::I64);
            let found = if integer { bits as i64 as f64 } else { f64::from_bits(bits) };
            (row.0, row.1) == (*id, *time_ns) && close(found, *value)
        };
        if found.len() != expected.len() || !found.iter().zip(&expected).all(same) {
            return Err(format!("{query:?} of {ids:?}: {found:?}, expected {expected:?}"));
        }
    }
    Ok(())
}

/// Steps of all lengths up to twice this: each begins at a multiple or a while later.
fn around(time_ns: i64, length_ns: i64) -> (i64, i64) {
    let (time, length) = (i128::from(time_ns), i128::from(length_ns));
    let begin = |step: i128| step * length + (step * 2_654_435_761).rem_euclid(length);
    let step = time.div_euclid(length);
    let step = if begin(step) > time { step - 1 } else { step };
    let ns = |ns: i128| ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    (ns(begin(step)), ns(begin(step + 1)))
}

/// The same for a query whose steps have about this length.
fn steps_of(length_ns: i64) -> Steps {
    Steps::new(move |time_ns| around(time_ns, length_ns))
}

fn folded(rows: &[Row], query: &Query, every: Every) -> Vec<(u32, i64, f64)> {
    let mut steps: BTreeMap<(u32, i64), Vec<f64>> = BTreeMap::new();
    for (id, time_ns, value) in rows {
        let start_ns = match i64::try_from(every.step_ns) {
            Ok(step_ns @ 1..) if query.steps.is_some() => around(*time_ns, step_ns).0,
            Ok(step_ns @ 1..) => time_ns.saturating_sub(time_ns.rem_euclid(step_ns)),
            _ => query.interval.from_ns,
        };
        // A text by its place: of it there are a count, a first and a last.
        let value = match (value, kind(*id)) {
            (Val::Text(_), _) if every.aggregate.result(ValueType::Text).is_none() => continue,
            (Val::Text(text), _) => of_text(text),
            (Val::Bits(bits), Type::F64) => f64::from_bits(*bits),
            (Val::Bits(bits), Type::Bool) => *bits as f64,
            (Val::Bits(bits), _) => bits.cast_signed() as f64,
        };
        steps.entry((*id, start_ns)).or_default().push(value);
    }
    let sum = |id: u32| every.aggregate == Aggregate::Sum && kind(id) == Type::I64;
    let one = |values: &mut Vec<f64>| match every.aggregate {
        Aggregate::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Aggregate::Sum => values.iter().sum(),
        Aggregate::Min => values.iter().copied().fold(f64::NAN, f64::min),
        Aggregate::Max => values.iter().copied().fold(f64::NAN, f64::max),
        Aggregate::Count => values.len() as f64,
        Aggregate::First => values[0],
        Aggregate::Last => values[values.len() - 1],
        Aggregate::P99 => {
            values.sort_by(f64::total_cmp);
            values[(values.len() * 99).div_ceil(100) - 1]
        }
        Aggregate::Median => {
            values.sort_by(f64::total_cmp);
            let half = values.len() / 2;
            let other = if values.len().is_multiple_of(2) { half - 1 } else { half };
            values[other] / 2.0 + values[half] / 2.0
        }
        other => panic!("{other:?} is not asked here"),
    };
    let rows = steps.into_iter().map(|(key, mut values)| (key.0, key.1, one(&mut values)));
    // A sum that its type does not hold has no row.
    rows.filter(|row| !sum(row.0) || row.2.abs() < 2f64.powi(63)).collect()
}

/// A number that stands for a text.
fn of_text(text: &str) -> f64 {
    text.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())).into()
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

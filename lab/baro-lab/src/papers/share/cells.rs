//! The measuring of each kind of cell but those with a player or a reader.

use super::moment::Moment;
use super::row::{Case, Figures, Settled, Task};
use super::session::{Ended, Session, WARM_UP_NS};
use super::{ShareExperiment, deadline, fio, player, refused, session};
use baro_bench::error::BenchError;
use baro_bench::experiment::unavailable;
use baro_share::observe;
use baro_sys::clock;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const S_NS: u64 = 1_000_000_000;
/// A group alone has the whole disk after so long.
const ALONE_NS: u64 = 5 * S_NS;
/// The first group's time alone before the load changes.
const BEFORE_NS: u64 = 10 * S_NS;
/// The second group's time. Long against what is judged.
const BESIDE_NS: u64 = 20 * S_NS;
/// A rest of the common time that holds enough pieces for a ratio.
const REST_NS: u64 = 12 * S_NS;
/// The first group's time alone afterwards.
const AFTER_NS: u64 = 3 * S_NS;
/// A ratio is as asked within this.
const NEAR: f64 = 0.05;

/// What a cell takes, with what is around it.
pub(super) fn expected_ns(task: Task, measured_ns: u64) -> u64 {
    const AROUND_NS: u64 = 1_500_000_000;
    AROUND_NS
        + match task {
            Task::Pair | Task::Nested | Task::Deadline => WARM_UP_NS + measured_ns,
            Task::Alone(_) => ALONE_NS + measured_ns,
            Task::Device => S_NS + measured_ns,
            Task::Change => BEFORE_NS + BESIDE_NS + AFTER_NS,
            Task::Player => WARM_UP_NS + player::LENGTH_NS,
        }
}

pub(super) fn measure(
    this: &ShareExperiment,
    case: &Case,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    if session::lacks_interposer(case.setting) {
        return Ok(unavailable(
            "libbaro_preload.so is not beside baro: nothing can be cut; cargo build -p baro-preload",
        ));
    }
    if case.task == Task::Player
        && let Some(missing) = fio::missing_program("ffmpeg")
    {
        return Ok(unavailable(missing));
    }
    this.site.lay_out(case.weights.len(), stop)?;
    let measured_ns = this.spec.seconds * S_NS;
    let figures = match case.task {
        Task::Pair | Task::Nested => pair(this, case, measured_ns, stop),
        Task::Alone(group) => alone(this, case, group, measured_ns, stop),
        Task::Device => device(this, case, measured_ns, stop),
        Task::Change => change(this, case, stop),
        Task::Player => player::measure(&this.site, case, stop),
        Task::Deadline => deadline::measure(this, case, measured_ns, stop),
    };
    let figures = match figures {
        Err(BenchError::Refused(reason)) if reason.starts_with(player::CANNOT) => {
            return Ok(unavailable(reason));
        }
        other => other?,
    };
    // What was written through memory would be written beside the next cell.
    if case.load.is_some_and(|load| !load.direct) {
        for group in 0..case.weights.len() {
            this.site.drop_cached(&this.site.file(group))?;
        }
    }
    serde_json::to_value(figures)
        .map_err(|error| BenchError::Refused(format!("figures cannot be stored: {error}")))
}

fn pair(
    this: &ShareExperiment,
    case: &Case,
    measured_ns: u64,
    stop: &AtomicBool,
) -> Result<Figures, BenchError> {
    let mut session = Session::begin(&this.site, case, stop)?;
    for (group, load) in (0..case.weights.len()).zip(std::iter::repeat(case.load)) {
        load.map_or(Ok(()), |load| session.load(group, load))?;
    }
    let before = session.warm_up()?;
    session.run_whole(measured_ns)?;
    let mut figures = session.figures(case, &before)?;
    session.end(None, &mut figures)?;
    Ok(figures)
}

fn alone(
    this: &ShareExperiment,
    case: &Case,
    group: usize,
    measured_ns: u64,
    stop: &AtomicBool,
) -> Result<Figures, BenchError> {
    let mut session = Session::begin(&this.site, case, stop)?;
    case.load.map_or(Ok(()), |load| session.load(group, load))?;
    let before = session.run_for(ALONE_NS)?;
    session.run_whole(measured_ns)?;
    let mut figures = session.figures(case, &before)?;
    session.end(None, &mut figures)?;
    Ok(figures)
}

/// The disk's own rate: fio as anybody starts it, the disk as it was found.
fn device(
    this: &ShareExperiment,
    case: &Case,
    measured_ns: u64,
    stop: &AtomicBool,
) -> Result<Figures, BenchError> {
    let Some(load) = case.load else { return Ok(Figures::default()) };
    let mut command = fio::command(load, &this.site.file(0), this.site.file_bytes);
    let mut ended = Ended(Some(command.spawn().map_err(BenchError::Thread)?));
    let root = Path::new("/");
    let wait = |duration_ns: u64| {
        let end_ns = clock::monotonic_ns() + duration_ns;
        while clock::monotonic_ns() < end_ns {
            if stop.load(Relaxed) {
                return Err(BenchError::Stopped);
            }
            clock::sleep_ns(20_000_000);
        }
        Ok((clock::monotonic_ns(), observe::work(root, &this.site.disk).map_err(refused)?))
    };
    let (from_ns, before) = wait(S_NS)?;
    let (to_ns, after) = wait(measured_ns)?;
    let work = after.since(before);
    let bytes = (work.read_bytes + work.written_bytes) as f64;
    let took_ns = (to_ns - from_ns).max(1) as f64;
    let fio = match ended.0.take() {
        None => None,
        Some(child) => {
            let _ = baro_sys::termination::send(child.id(), 2);
            let said = child.wait_with_output().map_err(BenchError::Thread)?;
            Some(fio::rate(&String::from_utf8_lossy(&said.stdout), load.direction)?)
        }
    };
    Ok(Figures {
        mb_per_s: vec![bytes * 1e3 / took_ns],
        fio_mb_per_s: vec![fio],
        seconds: took_ns / 1e9,
        ..Figures::default()
    })
}

/// The second group begins when the first has run alone, and ends before it.
fn change(this: &ShareExperiment, case: &Case, stop: &AtomicBool) -> Result<Figures, BenchError> {
    let mut session = Session::begin(&this.site, case, stop)?;
    let Some(load) = case.load else { return Ok(Figures::default()) };
    session.count_completed();
    session.load(0, load)?;
    let warm = session.run_for(BEFORE_NS / 2)?;
    let alone = session.run_for(BEFORE_NS / 2)?;
    session.load(1, load)?;
    let begun = session.moment();
    let mut seen = vec![begun.clone()];
    session.run_until(begun.at_ns + BESIDE_NS, &mut |moment| {
        seen.push(moment.clone());
        false
    })?;
    let mut figures = session.figures(case, &begun)?;
    session.end(Some(1), &mut figures)?;
    // The last I/O of the second group ends in its own time.
    let gone = session.run_for(S_NS)?;
    let after = session.run_for(AFTER_NS)?;
    session.end(None, &mut figures)?;
    let first = |rates: Vec<f64>| rates.first().copied().unwrap_or(0.0);
    let before_rate = first(alone.rates(&warm));
    let mut settled = settled(&seen, &case.weights);
    settled.back = (before_rate > 0.0).then(|| first(after.rates(&gone)) / before_rate);
    settled.completed = session.end_completed(&mut figures)?;
    figures.settled = Some(settled);
    Ok(figures)
}

/// From when on the ratio of two groups is as asked.
pub(super) fn settled(seen: &[Moment], weights: &[u16]) -> Settled {
    let asked = match weights {
        [a, b, ..] => f64::from(*a) / f64::from(*b),
        _ => 1.0,
    };
    let ratio = |from: &Moment, to: &Moment| match to.rates(from)[..] {
        [a, b, ..] if b > 0.0 => Some(a / b),
        _ => None,
    };
    let begun_ns = seen.first().map_or(0, |moment| moment.at_ns);
    let since = |window_ns: u64| {
        // The end of the first of all windows from which on each is near.
        let mut from_s = None;
        for (index, to) in seen.iter().enumerate() {
            let start_ns = to.at_ns.saturating_sub(window_ns);
            if start_ns < begun_ns {
                continue;
            }
            let earlier = seen.iter().take(index + 1).rev();
            let Some(from) = earlier.into_iter().find(|moment| moment.at_ns <= start_ns) else {
                continue;
            };
            let near = ratio(from, to).is_some_and(|ratio| (ratio / asked - 1.0).abs() <= NEAR);
            from_s = match (near, from_s) {
                (false, _) => None,
                (true, None) => Some((to.at_ns - begun_ns) as f64 / 1e9),
                (true, known) => known,
            };
        }
        from_s
    };
    // From the end backwards, as long as each rest is near.
    let rest_s = seen.last().and_then(|to| {
        let long = seen.iter().filter(|from| from.at_ns + REST_NS <= to.at_ns).rev();
        let is_near = |from: &&Moment| {
            ratio(from, to).is_some_and(|ratio| (ratio / asked - 1.0).abs() <= NEAR)
        };
        let first = long.take_while(is_near).last()?;
        Some((first.at_ns - begun_ns) as f64 / 1e9)
    });
    let five = seen.iter().find(|moment| moment.at_ns >= begun_ns + 5 * S_NS);
    Settled {
        one_s: since(S_NS),
        two_s: since(2 * S_NS),
        four_s: since(4 * S_NS),
        rest_s,
        ratio_after_5_s: five.zip(seen.last()).and_then(|(from, to)| ratio(from, to)),
        back: None,
        completed: false,
    }
}

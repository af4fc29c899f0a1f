//! Where the victim was while it waited, seen from outside: state and stack of each task every few
//! milliseconds, from /proc.
//!
//! Invariant: what is reported of a call was seen between its begin and its end. Held by the tests
//! below.

use super::{Account, Cause, PLACE_SHARE, Place, SlowCall};
use baro_bench::error::BenchError;
use baro_sys::{clock, task};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// Between two looks: some fifty in the shortest call that is judged.
const PERIOD_NS: u64 = 4_000_000;
/// Between two looks for new threads.
const RENEW_NS: u64 = 40_000_000;
/// Ten seconds of eight tasks take a sixth of it.
const SAMPLES_MAX: usize = 120_000;
/// Others may come and go during one call of the victim.
const OTHERS_SHARE: f64 = 0.5;
/// Innermost functions that are shown.
const SHOWN: usize = 12;

/// A task at a moment.
#[derive(Clone, Debug)]
struct Sample {
    at_ns: u64,
    tid: u32,
    /// Into [`Evidence::tasks`] and [`Evidence::stacks`].
    task: usize,
    stack: usize,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    tasks: Vec<String>,
    /// State, then functions from the innermost on.
    stacks: Vec<Vec<String>>,
    samples: Vec<Sample>,
}

/// What was seen of one task during one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Beginning of the task's name.
    pub task: String,
    /// Samples in the expected place.
    pub in_place: u64,
    /// All samples.
    pub samples: u64,
    /// Stacks, the most frequent first: how often, state, functions from the innermost on.
    pub stacks: Vec<(u64, String)>,
    /// Share of the samples that is asked for.
    pub share_wanted: f64,
}

impl Seen {
    /// Whether enough samples are in the expected place.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.samples > 0 && self.in_place as f64 >= self.share_wanted * self.samples as f64
    }
}

/// A thread that looks; see [`Sampler::finish`].
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Evidence>>,
}

impl Sampler {
    /// Looks at all threads of process `pid` whose names a cause uses, and at the kernel thread of
    /// that name, from now on.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(pid: u32, journal_task: &str) -> Result<Self, BenchError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, journal_task) = (Arc::clone(&stop), journal_task.to_owned());
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || look(pid, &journal_task, &stopped))
            .map_err(BenchError::Thread)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends it and returns what it saw.
    ///
    /// # Errors
    /// Its thread is lost.
    pub fn finish(mut self) -> Result<Evidence, BenchError> {
        self.stop.store(true, Relaxed);
        let thread = self.thread.take().and_then(|thread| thread.join().ok());
        thread.ok_or(BenchError::ThreadLost("sampler"))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const NAMES: [&str; 4] = [super::VICTIM, "antagonist", "holder", "committer"];

fn look(pid: u32, journal_task: &str, stop: &AtomicBool) -> Evidence {
    let mut evidence = Evidence::default();
    let mut known: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let (mut tids, mut renewed_ns) = (Vec::new(), 0);
    let journal = task::processes(journal_task);
    while !stop.load(Relaxed) && evidence.samples.len() < SAMPLES_MAX {
        let now_ns = clock::monotonic_ns();
        if now_ns >= renewed_ns + RENEW_NS {
            renewed_ns = now_ns;
            tids = journal.iter().map(|tid| (*tid, journal_task.to_owned())).collect();
            let named = |(_, name): &(u32, String)| NAMES.contains(&name.as_str());
            tids.extend(task::threads(pid).into_iter().filter(named));
        }
        for (tid, name) in &tids {
            // Before the look, which takes a while itself.
            let at_ns = clock::monotonic_ns();
            let Some(seen) = task::sample(*tid) else { continue };
            let mut stack = vec![seen.state.to_string()];
            stack.extend(seen.stack);
            let next = known.len();
            let stack_at = *known.entry(stack).or_insert(next);
            let task = evidence.tasks.iter().position(|known| known == name).unwrap_or_else(|| {
                evidence.tasks.push(name.clone());
                evidence.tasks.len() - 1
            });
            evidence.samples.push(Sample { at_ns, tid: *tid, task, stack: stack_at });
        }
        clock::sleep_until_ns(now_ns + PERIOD_NS);
    }
    let mut stacks: Vec<(usize, Vec<String>)> = known.into_iter().map(|(s, at)| (at, s)).collect();
    stacks.sort();
    evidence.stacks = stacks.into_iter().map(|(_, stack)| stack).collect();
    evidence
}

impl Evidence {
    /// What was seen of the tasks that a cause names, during the call that is judged.
    #[must_use]
    pub fn judge(&self, cause: &Cause, account: &Account) -> Vec<Seen> {
        let Some(call) = account.longest() else { return Vec::new() };
        let mut all =
            vec![self.seen(super::VICTIM, Some(call.tid), call, PLACE_SHARE, cause.place)];
        for (task, place) in cause.others {
            all.push(self.seen(task, None, call, OTHERS_SHARE, *place));
        }
        all
    }

    fn seen(
        &self,
        task: &str,
        tid: Option<u32>,
        call: &SlowCall,
        share_wanted: f64,
        place: Place,
    ) -> Seen {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for sample in &self.samples {
            let during = (call.begin_ns..call.end_ns).contains(&sample.at_ns);
            let name = self.tasks.get(sample.task).is_some_and(|name| name.starts_with(task));
            if during && name && tid.is_none_or(|tid| tid == sample.tid) {
                *counts.entry(sample.stack).or_default() += 1;
            }
        }
        let mut seen = Seen {
            task: task.to_owned(),
            in_place: 0,
            samples: counts.values().sum(),
            stacks: Vec::new(),
            share_wanted,
        };
        for (at, count) in counts {
            let Some(stack) = self.stacks.get(at) else { continue };
            let there = match place {
                Place::In(functions) => {
                    stack.iter().skip(1).any(|name| functions.contains(&plain(name)))
                }
                Place::At(functions) => {
                    stack.get(1).is_some_and(|name| functions.contains(&plain(name)))
                }
                Place::Ready => stack.first().is_some_and(|state| state == "R"),
            };
            seen.in_place += if there { count } else { 0 };
            let names: Vec<&str> = stack.iter().skip(1).take(SHOWN).map(String::as_str).collect();
            let state = stack.first().map_or("?", String::as_str);
            seen.stacks.push((count, format!("{state}: {}", names.join(" < "))));
        }
        seen.stacks.sort_by(|one, other| other.cmp(one));
        seen
    }
}

/// Compilers split functions: `balance_dirty_pages.constprop.0`, `wait_updates.isra.0`.
fn plain(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_during_the_call_counts() {
        let stack = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let stacks = vec![stack("D io_schedule down_write.part.0 ksys_write"), stack("R")];
        let sample = |at_ns, tid, task, stack| Sample { at_ns, tid, task, stack };
        let samples = vec![
            sample(9, 1, 0, 1),
            sample(10, 1, 0, 0),
            sample(15, 1, 0, 0),
            sample(16, 2, 0, 1),
            sample(17, 1, 0, 1),
            sample(18, 3, 1, 1),
            sample(20, 1, 0, 1),
        ];
        let tasks = vec!["victim".to_owned(), "holder".to_owned()];
        let evidence = Evidence { tasks, stacks, samples };
        let call = SlowCall { tid: 1, call: "pwrite64", begin_ns: 10, end_ns: 20, run_delay_ns: 0 };
        let seen = evidence.seen("victim", Some(1), &call, 0.6, Place::In(&["down_write"]));
        assert_eq!((seen.in_place, seen.samples), (2, 3));
        assert_eq!(
            seen.stacks[0],
            (2, "D: io_schedule < down_write.part.0 < ksys_write".to_owned())
        );
        assert!(seen.holds() && !Seen { share_wanted: 0.9, ..seen }.holds());
        let at = |place| evidence.seen("victim", Some(1), &call, 0.6, place).in_place;
        assert_eq!(at(Place::At(&["down_write"])), 0);
        assert_eq!(at(Place::At(&["io_schedule"])), 2);
        let ready = evidence.seen("holder", None, &call, 0.5, Place::Ready);
        assert_eq!((ready.in_place, ready.samples), (1, 1));
        assert!(!evidence.seen("jbd2", None, &call, 0.5, Place::Ready).holds());
    }
}

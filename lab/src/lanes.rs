//! Jobs beside each other, each with a guest of its own.
//!
//! Invariant: a job that failed keeps no other from being run (`test a_job_that_failed_stops_no_other`);
//! one for which something is missing here ends its lane, as it is missing for all.

use crate::tool::{Result, Trouble};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs all jobs, so many at once, begun in their order. Gives why those failed that did.
pub(crate) fn run<T: Sync>(
    lanes: usize,
    jobs: &[T],
    one: impl Fn(&T) -> Result<()> + Sync,
) -> Result<Vec<String>> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut wrong = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match one(job) {
                Ok(()) => {}
                Err(Trouble::Missing(why)) => return Err(Trouble::Missing(why)),
                Err(Trouble::Failed(why) | Trouble::Usage(why)) => wrong.push(why),
            }
        }
        Ok(wrong)
    };
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let mut wrong = Vec::new();
        for lane in working {
            let done = lane.join().map_err(|_| Trouble::Failed("a lane panicked".to_owned()))?;
            wrong.extend(done?);
        }
        Ok(wrong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_failed_stops_no_other() {
        let done = AtomicUsize::new(0);
        let one = |job: &usize| {
            done.fetch_add(1, Ordering::Relaxed);
            if job % 2 == 1 { Err(Trouble::Failed(format!("odd {job}"))) } else { Ok(()) }
        };
        for lanes in [1, 3, 20] {
            done.store(0, Ordering::Relaxed);
            let mut wrong = run(lanes, &[1, 2, 3, 4, 5], one).unwrap();
            wrong.sort();
            assert_eq!(wrong, ["odd 1", "odd 3", "odd 5"]);
            assert_eq!(done.load(Ordering::Relaxed), 5);
        }
        let missing = |_: &usize| Err(Trouble::Missing("no qemu".to_owned()));
        assert!(matches!(run(2, &[1, 2, 3], missing), Err(Trouble::Missing(_))));
    }
}

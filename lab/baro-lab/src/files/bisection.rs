//! The highest rate that is kept up with, by bisection.
//!
//! The paper wanted it and found it too expensive: each cell becomes several. Rates differ by
//! decades, so the middle is the geometric one. Held by the tests below.

use serde::{Deserialize, Serialize};

/// One rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Bytes a second.
    pub bytes_per_s: u64,
    /// Whether it was kept up with.
    pub kept_up: bool,
}

/// What the trials say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bisection {
    /// In their order.
    pub trials: Vec<Trial>,
    /// The highest rate that was kept up with; None: not even the lowest.
    pub kept_bytes_per_s: Option<u64>,
    /// The lowest that was not; None: the highest was.
    pub failed_bytes_per_s: Option<u64>,
}

/// Tries `low`, `high`, and so many rates between them.
///
/// # Errors
/// Those of a trial.
pub fn bisect<E>(
    low: u64,
    high: u64,
    steps: usize,
    mut keeps_up: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Bisection, E> {
    let mut found = Bisection::default();
    let mut tried = |rate: u64, found: &mut Bisection| {
        let kept_up = keeps_up(rate)?;
        found.trials.push(Trial { bytes_per_s: rate, kept_up });
        let side =
            if kept_up { &mut found.kept_bytes_per_s } else { &mut found.failed_bytes_per_s };
        *side = Some(rate);
        Ok(kept_up)
    };
    if !tried(low.max(1), &mut found)? || tried(high.max(1), &mut found)? {
        return Ok(found);
    }
    for _ in 0..steps {
        let (Some(kept), Some(failed)) = (found.kept_bytes_per_s, found.failed_bytes_per_s) else {
            break;
        };
        let middle = (kept as f64 * failed as f64).sqrt() as u64;
        if middle <= kept || middle >= failed {
            break;
        }
        tried(middle, &mut found)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn of(limit: u64, steps: usize) -> Bisection {
        bisect(1_000, 1_000_000, steps, |rate| Ok::<_, Infallible>(rate <= limit)).unwrap()
    }

    #[test]
    fn it_closes_in_on_the_limit() {
        let found = of(50_000, 20);
        assert_eq!(found.kept_bytes_per_s, Some(50_000));
        assert_eq!(found.failed_bytes_per_s, Some(50_001));
        let coarse = of(50_000, 2);
        let rates: Vec<u64> = coarse.trials.iter().map(|trial| trial.bytes_per_s).collect();
        assert_eq!(rates, [1_000, 1_000_000, 31_622, 177_825]);
        assert_eq!(coarse.kept_bytes_per_s, Some(31_622));
    }

    #[test]
    fn a_limit_outside_is_told_and_not_searched() {
        assert_eq!(of(10, 5).kept_bytes_per_s, None);
        assert_eq!(of(10, 5).trials.len(), 1);
        assert_eq!(of(u64::MAX, 5).failed_bytes_per_s, None);
        assert_eq!(of(u64::MAX, 5).trials.len(), 2);
    }

    #[test]
    fn a_failed_trial_ends_it() {
        assert_eq!(bisect(1, 2, 1, |_| Err::<bool, _>("no")), Err("no"));
    }
}

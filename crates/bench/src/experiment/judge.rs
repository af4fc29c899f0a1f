//! One rule for what a figure can show, for what the papers say and for what we promise.
//!
//! A difference counts if it exceeds what equal runs differ by; a maximum counts if it stands out of
//! what a thread that only sleeps is late by, in the same cells. What does not count is not judged, and
//! the reason says which of both it was. What a model of a device decides by itself is a third answer:
//! a claim that could not have come out otherwise there was not tested.
//!
//! Invariant: noise never judges, in either direction. Held by `noise_judges_nothing`.

/// A maximum stands out if it is so many times the longest delay of a thread that only slept.
const STANDS_OUT: f64 = 2.0;
/// Fewer equal runs have no spread to speak of.
pub const REPEATS_MIN: usize = 3;

/// Why figures are shown and not judged.
pub const WITHIN_NOISE: &str = "all are within twice the delay of a thread that only slept";
/// The same, of a spread.
pub const WITHIN_SPREAD: &str = "equal runs differ by more than what is judged";
/// There is no spread.
pub const TOO_FEW: &str = "measured fewer than three times: shown, not judged";

/// Whether the largest of these maxima says anything: it is beyond the noise of all cells compared.
#[must_use]
pub fn stands_out(maxima: &[f64], noise: &[f64]) -> bool {
    let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    most(maxima) > 0.0 && most(maxima) >= most(noise) * STANDS_OUT
}

/// Whether it is so of all equal runs; None and the reason if they disagree, or are too few.
///
/// # Errors
/// Why nothing follows from them.
pub fn all_agree(runs: &[f64], is: impl Fn(f64) -> bool) -> Result<bool, &'static str> {
    let count = runs.iter().filter(|run| is(**run)).count();
    match () {
        () if runs.len() < REPEATS_MIN => Err(TOO_FEW),
        () if count == 0 || count == runs.len() => Ok(count > 0),
        () => Err(WITHIN_SPREAD),
    }
}

/// Whether each of `lower` is below each of `higher`, or each above; equal runs that overlap say
/// nothing.
///
/// # Errors
/// Why nothing follows from them.
pub fn is_below(lower: &[f64], higher: &[f64]) -> Result<bool, &'static str> {
    if lower.len() < 2 || higher.len() < 2 {
        return Err("measured once: what equal runs differ by is not known");
    }
    let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match () {
        () if most(lower) < least(higher) => Ok(true),
        () if least(lower) > most(higher) => Ok(false),
        () => Err(WITHIN_SPREAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_judges_nothing() {
        assert!(stands_out(&[100.0, 3.0], &[50.0, 1.0]) && !stands_out(&[99.0], &[10.0, 50.0]));
        assert!(!stands_out(&[], &[]) && !stands_out(&[0.0], &[0.0]));
        let below_two = |run: f64| run < 2.0;
        assert_eq!(all_agree(&[1.0, 1.9, 1.5], below_two), Ok(true));
        assert_eq!(all_agree(&[2.0, 2.1, 9.0], below_two), Ok(false));
        assert_eq!(all_agree(&[1.9, 2.0, 1.0], below_two), Err(WITHIN_SPREAD));
        assert_eq!(all_agree(&[1.0, 1.0], below_two), Err(TOO_FEW));
        assert_eq!(is_below(&[1.0, 2.0], &[3.0, 4.0]), Ok(true));
        assert_eq!(is_below(&[5.0, 6.0], &[3.0, 4.0]), Ok(false));
        assert_eq!(is_below(&[1.0, 3.5], &[3.0, 4.0]), Err(WITHIN_SPREAD));
        assert!(is_below(&[1.0], &[3.0, 4.0]).is_err());
    }
}

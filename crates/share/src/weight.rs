//! The weight of a group.
//!
//! Invariant: 1 to 1000, what BFQ takes. systemd's `IOWeight` is another scale: it is compressed
//! before BFQ sees it (200 becomes 109), so weights are written to BFQ's own file and read back.

use std::fmt;
use std::str::FromStr;

/// What BFQ gives a group that has none.
pub(crate) const WEIGHT_DEFAULT: u16 = 100;
/// The largest (`BFQ_MAX_WEIGHT`).
pub(crate) const WEIGHT_MAX: u16 = 1000;

/// A weight that BFQ takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u16);

impl Weight {
    /// None outside 1 to 1000.
    #[must_use]
    pub fn new(weight: u16) -> Option<Self> {
        (1..=WEIGHT_MAX).contains(&weight).then_some(Self(weight))
    }

    /// As a number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(WEIGHT_DEFAULT)
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let weight = text.parse().ok().and_then(Self::new);
        weight.ok_or_else(|| {
            format!("expected a weight from 1 to {WEIGHT_MAX}, found {text:?}; BFQ takes no others")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_that_bfq_takes() {
        for text in ["0", "1001", "-1", "2.5", "", "65537", "100 "] {
            assert!(text.parse::<Weight>().is_err(), "{text}");
        }
        assert_eq!("1".parse::<Weight>().unwrap().get(), 1);
        assert_eq!("1000".parse::<Weight>().unwrap().get(), WEIGHT_MAX);
    }
}

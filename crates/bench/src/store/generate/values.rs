//! What series have for values: the steps of a walk, made into the kinds that machines deliver.
//!
//! A value is a function of series, tick and the walk's thousandths, so that it can be made again when
//! an answer is checked.
//!
//! Invariant: what is pushed and what is expected are the same to the bit. Held by `tests.rs`.

use super::walk::{mix, value};
use baro_ondisk::Type;

/// What series have for values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// A random walk with three decimals.
    #[default]
    Walk,
    /// Floats whose every bit counts: no decimals.
    Float,
    /// Integers that rise, by a rate of the series' own.
    Counter,
    /// One of five states, each kept for a while.
    State,
}

/// Thousandths after which another state follows: steps are five at most, so it lasts.
const OF_A_STATE: i32 = 64;

impl Values {
    /// All of them.
    pub const ALL: [Values; 4] = [Values::Walk, Values::Float, Values::Counter, Values::State];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Values::Walk => "walk",
            Values::Float => "float",
            Values::Counter => "counter",
            Values::State => "state",
        }
    }

    /// Of what type they are.
    #[must_use]
    pub fn kind(self) -> Type {
        match self {
            Values::Walk | Values::Float => Type::F64,
            Values::Counter | Values::State => Type::I64,
        }
    }

    /// The 64 bits of a value.
    pub(super) fn bits(self, series: u32, tick: u32, thousandths: i32) -> u64 {
        match self {
            Values::Walk => value(thousandths).to_bits(),
            Values::Float => (value(thousandths) * 0.7).sin().to_bits(),
            Values::Counter => {
                // The steps of the walk are -5 to 5: together it never falls.
                let rate = 5 + (mix(u64::from(series)) % 1000) as i64;
                (i64::from(thousandths) + i64::from(tick) * rate) as u64
            }
            Values::State => thousandths.div_euclid(OF_A_STATE).rem_euclid(5) as u64,
        }
    }
}

/// The thousandths of a walk's value.
pub(super) fn thousandths(value: f64) -> i32 {
    (value * 1000.0).round() as i32
}

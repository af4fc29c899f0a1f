//! Series that are watched for a value: what asks for a pin by itself. Looked at by the writer
//! while it copies a record out of the ring, never in a push.
//!
//! Invariant: one crossing of the limit fires once, however many samples stay beyond it. Held by
//! the test below.

use baro_ondisk::{Samples, Type};
use std::ops::{Bound, RangeBounds};

/// A value of a series that asks for a pin.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// The series' id.
    pub series: u32,
    /// Type of its values, as declared.
    pub kind: Type,
    /// The values that ask for it: those above 90 are `(Bound::Excluded(90.0), Bound::Unbounded)`.
    pub values: (Bound<f64>, Bound<f64>),
    /// Name of the pins.
    pub name: String,
    /// How far they reach back, nanoseconds.
    pub before_ns: u64,
    /// How far they go on.
    pub after_ns: u64,
}

/// A trigger that the writer looks at.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) number: usize,
    trigger: Trigger,
    beyond: bool,
}

impl Watch {
    pub(crate) fn new(number: usize, trigger: Trigger) -> Self {
        Watch { number, trigger, beyond: false }
    }

    /// Looks at a samples record, which may be anything; the time of the sample with which the
    /// value went beyond the limit.
    pub(crate) fn look(&mut self, payload: &[u8], time_ns: i64) -> Option<i64> {
        self.look_at(Samples::decode(payload, time_ns).ok()?.iter())
    }

    /// The same of samples in order of arrival.
    pub(crate) fn look_at(
        &mut self,
        samples: impl Iterator<Item = (u32, i64, u64)>,
    ) -> Option<i64> {
        let mut fired = None;
        for (series, time_ns, bits) in samples {
            if series != self.trigger.series {
                continue;
            }
            let beyond = self.trigger.holds(bits);
            if beyond && !self.beyond && fired.is_none() {
                fired = Some(time_ns);
            }
            self.beyond = beyond;
        }
        fired
    }
}

impl Trigger {
    fn holds(&self, bits: u64) -> bool {
        let value = match self.kind {
            Type::F64 => f64::from_bits(bits),
            // Beyond 2^53 the limit is not exact either.
            Type::I64 => bits.cast_signed() as f64,
            Type::Bool => f64::from(u8::from(bits != 0)),
            _ => return false,
        };
        self.values.contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(samples: &[(u32, u64)]) -> Vec<u8> {
        let mut payload = Samples::head(samples.len() as u32, false).to_vec();
        payload.extend(samples.iter().flat_map(|(series, _)| series.to_le_bytes()));
        payload.extend(samples.iter().flat_map(|(_, bits)| bits.to_le_bytes()));
        payload
    }

    #[test]
    fn a_crossing_fires_once() {
        let trigger = Trigger {
            series: 3,
            kind: Type::F64,
            values: (Bound::Excluded(90.0), Bound::Unbounded),
            name: String::new(),
            before_ns: 1,
            after_ns: 1,
        };
        let mut watch = Watch::new(0, trigger.clone());
        let mut look = |values: &[(u32, f64)]| {
            let samples: Vec<_> = values.iter().map(|(s, v)| (*s, v.to_bits())).collect();
            watch.look(&record(&samples), 7)
        };
        assert_eq!(look(&[(3, 90.0), (4, 95.0), (3, f64::NAN)]), None);
        assert_eq!(look(&[(3, 90.5)]), Some(7));
        assert_eq!(look(&[(3, 91.0), (3, 92.0)]), None);
        assert_eq!(look(&[(3, 1.0), (3, 92.0), (3, 1.0)]), Some(7));
        assert_eq!(watch.look(&[1, 2, 3], 7), None);
        let holds = |kind, values, bits| Trigger { kind, values, ..trigger.clone() }.holds(bits);
        let below_one = (Bound::Unbounded, Bound::Excluded(1.0));
        let at_most = (Bound::Unbounded, Bound::Included(-5.0));
        assert!(holds(Type::I64, at_most, (-5_i64).cast_unsigned()));
        assert!(holds(Type::Bool, (Bound::Included(1.0), Bound::Unbounded), 1));
        assert!(!holds(Type::Bool, below_one, 1));
        assert!(!holds(Type::F64, below_one, f64::NAN.to_bits()));
        assert!(!holds(Type::Text, below_one, 0));
    }
}

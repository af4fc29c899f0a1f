//! What producer and writer tell each other about waiting, each in a number of its own in the ring's
//! header: that the producer would rather wait than have somebody's samples recycled before they are
//! settled; and why the writer has no room now. Zero, as in rings of earlier versions, says nothing.
//!
//! Invariant: any number means something. Held by `what_is_told_comes_back`.

use crate::writer::Trouble;

/// How a producer waits for room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// It cannot wait.
    #[default]
    Not,
    /// As long as somebody settles.
    WhileSettled,
    /// Whatever happens.
    Always,
}

impl Waits {
    pub(super) fn encode(self) -> u64 {
        match self {
            Waits::Not => 0,
            Waits::WhileSettled => 1,
            Waits::Always => 2,
        }
    }

    pub(super) fn decode(number: u64) -> Self {
        match number {
            1 => Waits::WhileSettled,
            2 => Waits::Always,
            _ => Waits::Not,
        }
    }
}

/// What a writer tells the producers of its rings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Why nothing is written; of a device not what it said.
    pub(crate) trouble: Trouble,
    /// Nobody settles any more.
    pub(crate) settling_stopped: bool,
}

const COUNT_BITS: u32 = 18;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
const STOPPED: u64 = 1 << 63;

impl Told {
    pub(crate) fn encode(trouble: &Trouble, settling_stopped: bool) -> u64 {
        let number = match trouble {
            Trouble::None => 0,
            Trouble::LogFull => 1,
            Trouble::Growing => 2,
            Trouble::Held { pinned, young, unsettled } => {
                let counts =
                    [*pinned, *young, *unsettled].map(|count| u64::from(count).min(COUNT_MAX));
                let [pinned, young, unsettled] = counts;
                3 | pinned << 8 | young << (8 + COUNT_BITS) | unsettled << (8 + 2 * COUNT_BITS)
            }
            Trouble::Device { .. } => 4,
        };
        number | if settling_stopped { STOPPED } else { 0 }
    }

    pub(super) fn decode(number: u64) -> Self {
        let count = |at: u32| (number >> (8 + at * COUNT_BITS) & COUNT_MAX) as u32;
        let trouble = match number & 0xff {
            1 => Trouble::LogFull,
            2 => Trouble::Growing,
            3 => Trouble::Held { pinned: count(0), young: count(1), unsettled: count(2) },
            4 => Trouble::Device { error: "the device fails: baro info says how".to_owned() },
            _ => Trouble::None,
        };
        Told { trouble, settling_stopped: number & STOPPED != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_comes_back() {
        let held = |pinned, young, unsettled| Trouble::Held { pinned, young, unsettled };
        let all =
            [Trouble::None, Trouble::LogFull, Trouble::Growing, held(1, 2, 3), held(0, 0, 1 << 17)];
        for trouble in all {
            for settling_stopped in [false, true] {
                let told = Told::decode(Told::encode(&trouble, settling_stopped));
                assert_eq!(told, Told { trouble: trouble.clone(), settling_stopped });
            }
        }
        assert_eq!(Told::decode(u64::MAX >> 1).trouble, Trouble::None);
        for waits in [Waits::Not, Waits::WhileSettled, Waits::Always] {
            assert_eq!(Waits::decode(waits.encode()), waits);
        }
        assert_eq!(Waits::decode(77), Waits::Not);
    }
}

//! The types that a pushed sample's value may have. A value of either type goes into the ring as its
//! 64 bits, so one push serves both, and the compiled code is that of a push for one type. The parts of
//! a push that are not inlined take bytes and are not generic: the rehearsal runs the very functions
//! that a producer runs. Held by `every_way_through_a_push_is_rehearsed`, and by `tests/real/push.rs`.

use baro_sys::memory::Plain;

/// What the head of a record in a ring says of its samples: nothing.
pub(super) const UNTOLD: u32 = 0;
/// Floats.
pub(crate) const FLOATS: u32 = 1;
/// Or integers, or truth values.
pub(crate) const INTEGERS: u32 = 2;

mod sealed {
    /// The 64 bits of a value, and its type's number in a ring.
    pub trait Word: Copy {
        #[doc(hidden)]
        const NUMBER: u32;
        fn bits(self) -> u64;
    }
}
pub(super) use sealed::Word;

/// A value of a sample: an `f64`, or an `i64`, which is also 0 or 1 of a bool series. It must be
/// the type that its series was declared with. No other type is a number.
pub trait Number: Plain + Word {}

impl Word for f64 {
    const NUMBER: u32 = FLOATS;
    #[inline]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}
impl Number for f64 {}

impl Word for i64 {
    const NUMBER: u32 = INTEGERS;
    #[inline]
    fn bits(self) -> u64 {
        self.cast_unsigned()
    }
}
impl Number for i64 {}

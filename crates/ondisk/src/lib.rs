//! The bytes of a Barograph store: records, blocks, segments. Pure, no I/O.

//! PromQL over columns.
//!
//! ```
//! use baro_promql::{Query, Times, testing::Memory};
//! let mut source = Memory::default();
//! source.push(&[("__name__", "up"), ("job", "a")], 1_000_000_000, 1.0);
//! let query = Query::parse("sum(up) + 1")?;
//! let answer = query.evaluate(&source, &Times::at(1_000_000_000))?;
//! assert_eq!(answer.to_string(), "{} 2");
//! # Ok::<(), baro_promql::Error>(())
//! ```
//!
//! A query is evaluated for all its steps at once: each part of it gives a column of values for each
//! series, one value a step, and an absent one where there is none. Samples come from a [`Source`],
//! which hands out those of a selector once.
//!
//! What Prometheus answers is the measure: each expression is answered as there, or refused by name
//! ([`Error::Unsupported`]). Times are nanoseconds, as in a store; Prometheus has milliseconds.
//!
//! Invariant: an answer is that of Prometheus within 1e-9 of itself. Held by `tests/promqltest.rs` on
//! the test data of Prometheus.

mod aggregate;
mod binary;
mod column;
mod error;
mod evaluate;
mod functions;
mod labels;
mod matching;
mod place;
mod query;
mod re2;
mod select;
mod source;
mod sum;
pub mod testing;
mod text;

pub use column::{ABSENT, is_absent};
pub use error::{Error, Result};
pub use labels::Labels;
pub use promql_parser::label::{MatchOp, Matcher};
pub use query::{Answer, Points, Query, Times, matchers_of};
pub use re2::from_re2;
pub use source::{SERIES_VALUES, Samples, Source};

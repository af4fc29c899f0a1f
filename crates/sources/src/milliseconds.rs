//! What is wrong with times that are milliseconds where nobody says another unit, in the words of these:
//! those of Prometheus and of VictoriaMetrics.

use crate::time::TimeFault;
use std::fmt;

/// Shown as what was expected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InMilliseconds(pub(crate) TimeFault);

impl fmt::Display for InMilliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TimeFault::Form => f.write_str(
                "a time (seconds with a point, or an integer of milliseconds unless --precision says \
                 otherwise)",
            ),
            TimeFault::Unit { unit } => write!(
                f,
                "a time in milliseconds from 1980 on (--precision {unit} if it is in {unit}, \
                 --precision ms if it is right)"
            ),
            TimeFault::Far => {
                f.write_str("a time in milliseconds before 2100 (--precision ms if it is right)")
            }
            fault => fault.fmt(f),
        }
    }
}

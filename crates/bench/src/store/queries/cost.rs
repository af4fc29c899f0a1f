//! What a question reads, in counts: they are the same however busy the machine is.

use baro_store::{PagesRead, Store};

/// What a question read, in the mean of those that were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Pages of runs that were read and decoded, in whole or in part.
    pub pages: f64,
    /// Their bytes.
    pub page_bytes: f64,
    /// Runs that had such pages.
    pub runs: f64,
}

/// Counts question after question.
#[derive(Debug)]
pub(super) struct Meter {
    seen: Vec<(u64, PagesRead)>,
    questions: u64,
    sum: Cost,
}

impl Meter {
    pub(super) fn new(store: &Store) -> Self {
        Meter { seen: store.pages_read().collect(), questions: 0, sum: Cost::default() }
    }

    /// A question has been asked.
    pub(super) fn question(&mut self, store: &Store) {
        let now: Vec<_> = store.pages_read().collect();
        for ((_, before), (_, after)) in self.seen.iter().zip(&now) {
            self.sum.pages += (after.pages - before.pages) as f64;
            self.sum.page_bytes += (after.bytes - before.bytes) as f64;
            self.sum.runs += f64::from(u8::from(after.pages > before.pages));
        }
        self.questions += 1;
        self.seen = now;
    }

    pub(super) fn mean(&self) -> Cost {
        let questions = self.questions.max(1) as f64;
        let Cost { pages, page_bytes, runs } = self.sum;
        Cost {
            pages: pages / questions,
            page_bytes: page_bytes / questions,
            runs: runs / questions,
        }
    }
}

//! What a source did: what was taken, what was refused and why.

use crate::error::Result;
use crate::ledger::Place;
use crate::recount::Unseen;
use crate::refusal::{Reason, Refusal};
use baro_recorder::Refused;
use baro_sys::clock;

/// Times in nanoseconds, exact to three digits.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// Complaints kept; all are counted.
const COMPLAINTS_MAX: usize = 10;
/// Times in push above this count as this.
const PUSH_NS_MAX: u64 = 60_000_000_000;

/// What a source did.
#[derive(Clone, Debug)]
pub struct Fed {
    /// Its name.
    pub name: String,
    /// Random id of its ring.
    pub producer: u64,
    /// Records pushed.
    pub records: u64,
    /// Samples in them, whether they are durable yet or not: see [`Ledger`](crate::Ledger).
    pub samples: u64,
    /// The earliest and the latest of their times, nanoseconds since 1970.
    pub span_ns: Option<(i64, i64)>,
    /// Payload bytes pushed.
    pub bytes: u64,
    /// Series and channels.
    pub series: usize,
    /// New ones among these, declared by their first sample.
    pub declared: u64,
    /// Those of texts among the declared.
    pub texts: u64,
    /// The name of the first of them.
    pub texts_first: Option<String>,
    /// How often it waited for the device to declare them.
    pub declarations: u64,
    /// Records refused by the ring.
    pub refused: u64,
    /// Samples in them.
    pub refused_samples: u64,
    /// Periods in which the source itself came too late.
    pub missed: u64,
    /// Input that was not understood.
    pub bad: u64,
    /// Lines that were not, whole or in part: several values of one line count once.
    pub bad_lines: u64,
    /// Samples that another of their series and time replaced, which has another value.
    pub replaced: u64,
    /// Where the first of them was.
    pub replaced_first: Option<Place>,
    /// Samples that may have replaced others beside those.
    pub unseen: Unseen,
    /// Cells that say that they have no value, in a word such as `NA`.
    pub no_values: u64,
    /// Exemplars beside samples, which are none of their series: passed over.
    pub exemplars: u64,
    /// The first complaints.
    pub complaints: Vec<String>,
    /// Datagrams received.
    pub datagrams: u64,
    /// Datagrams that the kernel dropped before.
    pub dropped: u64,
    /// Time inside push.
    pub push_ns: Histogram,
    /// The longest of these.
    pub push_max_ns: u64,
    /// Line refused last.
    bad_line: u64,
}

impl Fed {
    /// A report of nothing yet, of the source `name` that pushes into the ring of `producer`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(name: &str, producer: u64) -> Result<Self> {
        Ok(Fed {
            name: name.to_owned(),
            producer,
            records: 0,
            samples: 0,
            span_ns: None,
            bytes: 0,
            series: 0,
            declared: 0,
            texts: 0,
            texts_first: None,
            declarations: 0,
            refused: 0,
            refused_samples: 0,
            missed: 0,
            bad: 0,
            bad_lines: 0,
            replaced: 0,
            replaced_first: None,
            unseen: Unseen::default(),
            no_values: 0,
            exemplars: 0,
            complaints: Vec::new(),
            datagrams: 0,
            dropped: 0,
            push_ns: Histogram::new_with_bounds(1, PUSH_NS_MAX, 3)?,
            push_max_ns: 0,
            bad_line: 0,
        })
    }

    /// Counts an input that was not understood, and keeps the first reasons.
    pub fn complain(&mut self, text: impl FnOnce() -> String) {
        self.complain_of(1, text);
    }

    /// The same of so many lines, for one reason.
    pub fn complain_of(&mut self, lines: u64, text: impl FnOnce() -> String) {
        self.bad_lines += lines;
        self.bad += lines.saturating_sub(1);
        self.count_bad(text);
    }

    /// Counts a sample that was refused.
    pub(crate) fn refuse(&mut self, refusal: &Refusal<'_>) {
        if self.bad_line != refusal.line {
            self.bad_lines += 1;
            self.bad_line = refusal.line;
        }
        // What is refused by the recorder only when it declares came in an earlier one.
        let here = self.datagrams > 0 && !matches!(refusal.reason, Reason::Undeclarable(_));
        let datagram = self.datagrams;
        self.count_bad(|| match here {
            true => format!("datagram {datagram}, {}", refusal.complaint()),
            false => refusal.complaint(),
        });
    }

    fn count_bad(&mut self, text: impl FnOnce() -> String) {
        self.bad += 1;
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(text());
        }
    }

    /// Samples of these times were pushed.
    pub(crate) fn spans(&mut self, times_ns: &[i64]) {
        let before = self.span_ns.unwrap_or((i64::MAX, i64::MIN));
        let wider = |(from, to): (i64, i64), time: &i64| (from.min(*time), to.max(*time));
        if !times_ns.is_empty() {
            self.span_ns = Some(times_ns.iter().fold(before, wider));
        }
    }

    /// Lines are counted from 1 again.
    pub(crate) fn begin(&mut self) {
        self.bad_line = 0;
    }

    /// Times a push and counts its result. Returns the record's sequence.
    ///
    /// # Errors
    /// The ring has refused the record; that is counted.
    pub fn push(
        &mut self,
        samples: usize,
        bytes: usize,
        push: impl FnOnce() -> std::result::Result<u64, Refused>,
    ) -> std::result::Result<u64, Refused> {
        let before_ns = clock::monotonic_ns();
        let result = push();
        let took_ns = clock::monotonic_ns() - before_ns;
        self.push_ns.saturating_record(took_ns);
        self.push_max_ns = self.push_max_ns.max(took_ns);
        match result {
            Ok(sequence) => {
                self.records += 1;
                self.samples += samples as u64;
                self.bytes += bytes as u64;
                Ok(sequence)
            }
            Err(refused) => {
                self.refused += 1;
                self.refused_samples += samples as u64;
                Err(refused)
            }
        }
    }
}

//! A request's samples on their way into a lane: what was refused, what was pushed, and when that is durable.

use crate::acks::{Acks, Unsure};
use crate::flight::NoMemory;
use crate::lane::{Lanes, Names, NoLane};
use crate::quota::Bound;
use baro_ingest::{Intake, Reason, Refusal};
use baro_recorder::{RingView, Trouble};
use baro_sys::clock;
use std::fmt;

/// Faults that are told one by one; all are counted.
const FAULTS_MAX: usize = 100;
/// How much of a line is shown: what InfluxDB shows.
const SHOWN_BYTES: usize = 20;

/// A line that was refused, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// From 1; of remote write the series of the request.
    pub(crate) line: u64,
    pub(crate) said: String,
    /// How the line begins.
    pub(crate) begins: String,
}

/// What was refused.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The first ones.
    pub(crate) first: Vec<Fault>,
    /// Lines.
    pub(crate) lines: u64,
    /// Samples of series that may not be declared.
    pub(crate) no_more: u64,
    /// What bounds new series.
    bound: Bound,
    /// Lines of this piece.
    piece: Vec<u64>,
    /// How many of the first have their text.
    resolved: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, line: u64, said: impl FnOnce() -> String) {
        if self.piece.last() == Some(&line) {
            return;
        }
        self.piece.push(line);
        if self.first.len() < FAULTS_MAX && self.first.last().is_none_or(|last| last.line != line) {
            self.first.push(Fault { line, said: said(), begins: String::new() });
        }
    }

    pub(crate) fn refuse(&mut self, refusal: &Refusal<'_>) {
        if matches!(refusal.reason, Reason::NoMore) {
            self.no_more += 1;
            let bound = self.bound;
            self.add(refusal.line, || {
                let found: String = refusal.series.chars().take(200).collect();
                format!(
                    "expected one of the series that are declared, found a new one, {found}: {}",
                    bound.said()
                )
            });
            return;
        }
        self.add(refusal.line, || {
            let text = refusal.to_string();
            // The line is told beside it.
            text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.to_owned())
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines == 0 && self.piece.is_empty()
    }

    /// A piece of the input has ended: its first line is `line`, which begins with `carried`.
    fn end_piece(&mut self, line: u64, carried: &[u8], bytes: &[u8]) {
        self.piece.sort_unstable();
        self.piece.dedup();
        self.lines += self.piece.len() as u64;
        self.piece.clear();
        // What the lane has refused comes behind what was refused before.
        if let Some(found) = self.first.get_mut(self.resolved..) {
            found.sort_by_key(|fault| fault.line);
        }
        self.first.dedup_by_key(|fault| fault.line);
        let mut at = (
            line,
            [carried, bytes.get(..bytes.len().min(SHOWN_BYTES)).unwrap_or_default()].concat(),
        );
        let mut rest = bytes;
        for fault in self.first.iter_mut().skip(self.resolved) {
            while at.0 < fault.line {
                let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
                rest = rest.get(end + 1..).unwrap_or_default();
                at = (
                    at.0 + 1,
                    rest.get(..rest.len().min(SHOWN_BYTES)).unwrap_or_default().to_vec(),
                );
            }
            if at.0 == fault.line {
                fault.begins = shown(&at.1);
            }
        }
        self.resolved = self.first.len();
    }
}

/// Ends of lines, many bytes at once.
fn lines_in(bytes: &[u8]) -> u64 {
    let some = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|bytes| u64::from(some(bytes))).sum()
}

/// The first bytes of a line, whole letters of it.
fn shown(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.get(..line.len().min(SHOWN_BYTES)).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match str::from_utf8(line) {
        Ok(text) => text.to_owned(),
        Err(error) => String::from_utf8_lossy(line.get(..error.valid_up_to()).unwrap_or_default())
            .into_owned(),
    }
}

/// Why a request is to come again, or in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Overload {
    Memory,
    /// No memory will ever do: what the request needs, and what there is.
    TooLarge {
        needed_bytes: u64,
        max_bytes: u64,
    },
    Lane(NoLane),
    /// The ring is full: why.
    Ring(String),
    /// The recorder does not declare new series: why.
    Silent(String),
    /// The recorder writes nothing, and says why.
    Stuck(Trouble),
    /// The recorder was started anew within the request.
    Changed,
    Unsure(Unsure),
}

impl Overload {
    /// The status that says so: what can never be taken is not to come again.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Overload::TooLarge { .. } => 413,
            _ => 503,
        }
    }

    /// What is the same of all of its kind, for counters and for the log.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Overload::Memory => "no_memory",
            Overload::TooLarge { .. } => "too_large",
            Overload::Lane(NoLane::NoRing(_)) => "no_recorder",
            Overload::Lane(NoLane::Busy) => "busy",
            Overload::Ring(_) => "ring_full",
            Overload::Silent(_) => "recorder_silent",
            Overload::Stuck(Trouble::Device { .. }) => "device_fails",
            Overload::Stuck(_) => "log_full",
            Overload::Changed | Overload::Unsure(Unsure::Gone) => "recorder_ended",
            Overload::Unsure(Unsure::Late) => "not_durable",
        }
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overload::Memory => f.write_str(
                "requests that are under way take all memory that they may (--in-flight): send this one \
                 again",
            ),
            Overload::TooLarge { needed_bytes, max_bytes } => write!(
                f,
                "expected a request that takes at most {max_bytes} bytes of memory with what is made of it \
                 (--in-flight), found one that takes {needed_bytes}: send it in parts, or give the \
                 listener a larger --in-flight"
            ),
            Overload::Lane(NoLane::NoRing(why)) => write!(f, "nobody records now: {why}"),
            Overload::Lane(NoLane::Busy) => {
                f.write_str("other requests wait for room in the ring: send this one again")
            }
            Overload::Ring(why) => write!(f, "the ring has no room: {why}; send this request again"),
            Overload::Silent(why) => write!(f, "new series cannot be had now: {why}; send this request again"),
            Overload::Stuck(trouble) => f.write_str(&stuck(trouble)),
            Overload::Changed | Overload::Unsure(Unsure::Gone) => f.write_str(
                "the recorder has ended before this was durable: send it again, what is there already is \
                 not doubled if it has times",
            ),
            Overload::Unsure(Unsure::Late) => {
                f.write_str("this is not durable yet, the disk takes long: send it again")
            }
        }
    }
}

/// Why nothing is recorded now, and what helps.
pub(crate) fn stuck(trouble: &Trouble) -> String {
    match trouble {
        Trouble::LogFull => {
            "the log is full, and nothing more is recorded; to reuse its oldest part from now on, end the \
             recorder, run baro init STORE --when-full recycle, and start it again; or make a larger store"
                .to_owned()
        }
        other => other.to_string(),
    }
}

impl From<baro_ingest::Error> for Overload {
    fn from(error: baro_ingest::Error) -> Self {
        use baro_ingest::Error as Ingest;
        match error {
            Ingest::Recorder(error @ baro_recorder::Error::Unanswered { .. }) => {
                Overload::Silent(error.to_string())
            }
            Ingest::Still { trouble, .. } if trouble != Trouble::None => Overload::Stuck(trouble),
            error => Overload::Ring(error.to_string()),
        }
    }
}

impl From<NoMemory> for Overload {
    fn from(none: NoMemory) -> Self {
        match none {
            NoMemory::Now => Overload::Memory,
            NoMemory::Ever { needed_bytes, max_bytes } => {
                Overload::TooLarge { needed_bytes, max_bytes }
            }
        }
    }
}

/// A request's samples on their way into a lane.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    lanes: &'a Lanes,
    lane: usize,
    /// What names begin with that the token allows.
    prefix: &'a str,
    wait_ns: u64,
    /// The ring that was pushed into, which one it was, and behind which sequence all is.
    pushed: Option<(RingView, u64, u64)>,
    /// Samples that are pushed.
    pub(crate) samples: u64,
    pub(crate) faults: Faults,
    /// The last piece had new series.
    pub(crate) declares: bool,
    /// Number of the line that the next piece begins in, and how that begins.
    line: u64,
    carried: Vec<u8>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(lanes: &'a Lanes, wanted: usize, prefix: &'a str, wait_ns: u64) -> Self {
        Sink {
            lanes,
            lane: lanes.choose(wanted),
            prefix,
            wait_ns,
            pushed: None,
            samples: 0,
            faults: Faults::default(),
            declares: false,
            line: 1,
            carried: Vec::new(),
        }
    }

    /// The names of the lane, to make samples of the next piece.
    pub(crate) fn names(&self) -> Result<Names, Overload> {
        let names = self.lanes.names(self.lane).map_err(Overload::Lane)?;
        match &self.pushed {
            Some((_, before, _)) if *before != names.generation => Err(Overload::Changed),
            _ => Ok(names),
        }
    }

    /// Takes what `work` takes of these bytes, which follow those before, and pushes it. `of`: the ring whose
    /// names were used; `new_max`: how many new series it can have.
    pub(crate) fn piece(
        &mut self,
        bytes: &[u8],
        (of, new_max): (u64, u64),
        work: impl FnOnce(&mut Intake<'static>, &mut Faults) -> baro_ingest::Result<()>,
    ) -> Result<(), Overload> {
        let result = self.push((of, new_max), work);
        self.pass_over(bytes);
        result
    }

    /// These bytes, which follow those before, are done with.
    pub(crate) fn pass_over(&mut self, bytes: &[u8]) {
        self.faults.end_piece(self.line, &self.carried, bytes);
        self.line += lines_in(bytes);
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.carried.clear();
                self.carried.extend(bytes.iter().skip(end + 1).take(SHOWN_BYTES));
            }
            None => {
                let room = SHOWN_BYTES.saturating_sub(self.carried.len());
                self.carried.extend(bytes.iter().take(room));
            }
        }
    }

    fn push(
        &mut self,
        (of, new_max): (u64, u64),
        work: impl FnOnce(&mut Intake<'static>, &mut Faults) -> baro_ingest::Result<()>,
    ) -> Result<(), Overload> {
        // Clients wait for some seconds: the lane, the ring and the recorder have them together.
        let end_ns = clock::monotonic_ns().saturating_add(self.wait_ns);
        let mut held = self.lanes.hold(self.lane, self.wait_ns).map_err(Overload::Lane)?;
        let (view, generation) = (held.view.clone(), held.generation);
        if generation != of
            || self.pushed.as_ref().is_some_and(|(_, before, _)| *before != generation)
        {
            return Err(Overload::Changed);
        }
        // Nothing comes of it in this run, whoever waits.
        if let full @ Trouble::LogFull = view.report().trouble {
            return Err(Overload::Stuck(full));
        }
        let none = || Overload::Lane(NoLane::NoRing(String::new()));
        let intake = held.intake().ok_or_else(none)?;
        intake.begin();
        intake.came_at(clock::realtime_ns());
        let (before, declarations) = (intake.fed.samples, intake.fed.declarations);
        let (quota, no_more) = (&self.lanes.quota, self.faults.no_more);
        let turn = quota.turn(intake, self.prefix, new_max, end_ns).map_err(Overload::Lane)?;
        intake.wait_at_most(end_ns.saturating_sub(clock::monotonic_ns()));
        let faults = &mut self.faults;
        intake.limit_new(turn.left);
        faults.bound = turn.bound;
        let result =
            work(intake, faults).and_then(|()| intake.flush(&mut |refusal| faults.refuse(refusal)));
        self.samples += intake.fed.samples.saturating_sub(before);
        turn.end(intake);
        quota.refused(self.faults.no_more.saturating_sub(no_more));
        self.declares = intake.fed.declarations != declarations;
        self.pushed = Some((view, generation, intake.next_sequence()));
        result.map_err(Overload::from)
    }

    /// Waits until all that was pushed is durable.
    pub(crate) fn durable(&self, acks: &Acks) -> Result<(), Overload> {
        match &self.pushed {
            Some((view, _, sequence)) if self.samples > 0 => {
                let waited = acks.wait(view, *sequence, self.wait_ns);
                waited.map_err(|unsure| match (unsure, view.report().trouble) {
                    (Unsure::Gone, _) | (Unsure::Late, Trouble::None | Trouble::Growing) => {
                        Overload::Unsure(unsure)
                    }
                    (Unsure::Late, trouble) => Overload::Stuck(trouble),
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::Quota;

    #[test]
    fn a_fault_has_the_begin_of_its_line_wherever_that_was_cut() {
        let text = b"one 1\ntwo two two two two two\nthree\n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\nfive";
        let lanes = Lanes::new("/".as_ref(), None, 1, Quota::new(1, 1));
        for cut in 0..=text.len() {
            let mut sink = Sink::new(&lanes, 0, "", 0);
            let (first, second) = text.split_at(cut);
            // Each line is a fault where it ends, and the last one at the end.
            let ends = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            let all = [(first, 1..1 + ends(first)), (second, 1 + ends(first)..6)];
            for (bytes, lines) in all {
                lines.for_each(|line| sink.faults.add(line, || "x".to_owned()));
                assert!(sink.piece(bytes, (0, 0), |_, _| Ok(())).is_err(), "there is no ring");
            }
            let begins: Vec<&str> =
                sink.faults.first.iter().map(|fault| fault.begins.as_str()).collect();
            let expected = ["one 1", "two two two two two ", "three", "éééééééééé", "five"];
            assert_eq!(begins, expected, "cut at {cut}");
            assert_eq!(sink.faults.lines, 5);
        }
    }
}

//! Many producers at once into one log: each in a process of its own, attached to a ring, at a
//! steady rate; afterwards the log is read as it was written, and every frame must be there, in
//! its producer's order, bit by bit.
//!
//! A producer pushes what is due each millisecond, so that sixteen of them do not spin on two
//! processors; a tick that comes late catches up, so the rate holds on average.
//!
//! Invariant: a frame's own number is its sequence in the ring, so a frame that is missing, twice,
//! elsewhere or another producer's is found. Held by `tests::what_is_missing_or_moved_is_counted`.

use baro_bench::BenchError;
use baro_ondisk::Kind;
use baro_recorder::{Producer, Refused};
use baro_sources::generate::{FRAME_BYTES_MIN, check_frame, fill_frame};
use baro_store::{RecordRef, Store};
use baro_sys::clock;
use std::collections::HashMap;
use std::ops::ControlFlow;

const TICK_NS: u64 = 1_000_000;

/// What one producer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerSpec {
    /// Channel of its frames.
    pub channel: u32,
    /// Makes its frames differ from those of others.
    pub seed: u64,
    /// Bytes of a frame, at least 24.
    pub frame_bytes: usize,
    /// Records in all.
    pub records: u64,
    /// Records a second.
    pub rate: u64,
    /// When the first is due, by the monotonic clock.
    pub start_ns: u64,
}

/// What one producer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProducerReport {
    /// Records taken by the ring.
    pub pushed: u64,
    /// Records refused.
    pub refused: u64,
    /// Time from the start to the last push.
    pub paced_ns: u64,
    /// The longest that a record was late, because the processor was not to be had.
    pub late_ns_max: u64,
}

/// Pushes the frames of `spec`; blocks until all are pushed or the recorder closes the ring.
///
/// # Errors
/// The frames are too small or the rate is 0.
pub fn produce(producer: &mut Producer, spec: &ProducerSpec) -> Result<ProducerReport, BenchError> {
    let wrong = |field, found, expected| BenchError::Specification { field, found, expected };
    if spec.frame_bytes < FRAME_BYTES_MIN {
        return Err(wrong("frame bytes", spec.frame_bytes as u64, "at least 24"));
    }
    if spec.rate == 0 {
        return Err(wrong("rate", spec.rate, "at least 1"));
    }
    let mut report = ProducerReport::default();
    let mut frame = vec![0; spec.frame_bytes];
    let due_ns = |number: u64| {
        let after_ns = u128::from(number) * 1_000_000_000 / u128::from(spec.rate);
        spec.start_ns + u64::try_from(after_ns).unwrap_or(u64::MAX / 2)
    };
    let mut tick_ns = spec.start_ns;
    let mut number = 0;
    while number < spec.records {
        clock::sleep_until_ns(tick_ns);
        let now_ns = clock::monotonic_ns();
        while number < spec.records && due_ns(number) <= now_ns {
            report.late_ns_max = report.late_ns_max.max(now_ns - due_ns(number));
            // The length was checked above.
            let _ = fill_frame(spec.seed, number, &mut frame);
            match producer.push_frame(spec.channel, clock::realtime_ns(), &frame) {
                Ok(_) => report.pushed += 1,
                Err(Refused::Closed | Refused::Forked) => return Ok(report),
                Err(_) => report.refused += 1,
            }
            number += 1;
        }
        tick_ns = (tick_ns + TICK_NS).max(now_ns);
    }
    report.paced_ns = clock::monotonic_ns().saturating_sub(spec.start_ns);
    Ok(report)
}

/// What a log holds of frames made by [`produce`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Producers seen.
    pub producers: u64,
    /// Frames that are as they were made.
    pub frames: u64,
    /// Frames whose bytes or number are not their own.
    pub wrong: u64,
    /// Frames that stand before one of the same producer that was pushed earlier, or twice.
    pub out_of_order: u64,
    /// Numbers that were passed over.
    pub missing: u64,
}

/// What has been seen of a producer: its seed, and the number that must come next.
#[derive(Default)]
struct Checker {
    next: HashMap<u64, (u64, u64)>,
    checked: Checked,
}

impl Checker {
    fn take(&mut self, record: &RecordRef<'_>) {
        let Ok((seed, number)) = check_frame(record.payload) else {
            self.checked.wrong += 1;
            return;
        };
        let next = self.next.entry(record.producer).or_insert((seed, 0));
        if number != record.sequence || seed != next.0 {
            self.checked.wrong += 1;
            return;
        }
        if number < next.1 {
            self.checked.out_of_order += 1;
            return;
        }
        self.checked.missing += number - next.1;
        self.checked.frames += 1;
        next.1 = number + 1;
    }
}

/// Reads the log in the order in which it was written and checks each frame of `channel`.
///
/// # Errors
/// The store cannot be read.
pub fn check(store: &Store, channel: u32) -> Result<Checked, baro_store::Error> {
    let mut checker = Checker::default();
    store.records_as_written(|record| {
        if record.kind == Kind::Frame && record.stream == channel {
            checker.take(record);
        }
        ControlFlow::Continue(())
    })?;
    checker.checked.producers = checker.next.len() as u64;
    Ok(checker.checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_moved_is_counted() {
        let mut checker = Checker::default();
        let mut take = |producer, sequence, seed, number, flip: bool| {
            let mut payload = [0; 40];
            fill_frame(seed, number, &mut payload).unwrap();
            payload[30] ^= u8::from(flip);
            checker.take(&RecordRef {
                session: 1,
                producer,
                sequence,
                time_ns: 0,
                kind: Kind::Frame,
                stream: 1,
                payload: &payload,
            });
        };
        take(7, 0, 1, 0, false);
        take(8, 0, 2, 0, false);
        take(7, 1, 1, 1, false);
        // Two are missing, one comes again, one is another's, one is damaged, one has moved.
        take(7, 4, 1, 4, false);
        take(7, 4, 1, 4, false);
        take(8, 1, 1, 1, false);
        take(8, 1, 2, 1, true);
        take(8, 2, 2, 1, false);
        let expected = Checked { producers: 0, frames: 4, wrong: 3, out_of_order: 1, missing: 2 };
        assert_eq!(checker.checked, expected);
    }
}

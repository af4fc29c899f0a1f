//! The greedy part: as many records as the ring takes, without a clock read for each. The producer
//! waits for room instead of losing records, as one that reads a file could.

use super::{PushReport, PushSpec};
use baro_recorder::{Producer, Recorder, Trouble};
use baro_sys::clock;

/// Records between two looks at the clock.
const LOOK_EACH: u64 = 256;
/// Pause when there is no room: a small part of what a full ring lasts.
const WAIT_NS: u64 = 100_000;
const DURABLE_TIMEOUT_NS: u64 = 60_000_000_000;

pub(super) fn run(
    recorder: &Recorder,
    producer: &mut Producer,
    channel: u32,
    spec: &PushSpec,
    report: &mut PushReport,
) {
    let record: Vec<u8> = (0..spec.record_bytes).map(|at| (at % 251) as u8).collect();
    let needed = Producer::record_bytes(spec.record_bytes);
    let first = producer.next_sequence();
    let offset_ns = clock::realtime_ns() - clock::monotonic_ns() as i64;
    let started_ns = clock::monotonic_ns();
    let mut now_ns = started_ns;
    let mut room = 0;
    while now_ns < started_ns + spec.greedy_ns {
        let time_ns = now_ns as i64 + offset_ns;
        for _ in 0..LOOK_EACH {
            // Asked only when what was last known is used up: the counter is the writer's.
            if room < needed {
                room = producer.free_bytes();
                if room < needed {
                    // Spinning would take a processor from the writer.
                    clock::sleep_ns(WAIT_NS);
                    break;
                }
            }
            if producer.push_frame(channel, time_ns, &record).is_err() {
                break;
            }
            room -= needed;
        }
        now_ns = clock::monotonic_ns();
    }
    let records = producer.next_sequence() - first;
    let pushed_ns = now_ns - started_ns;
    let durable = recorder.wait_durable(producer, first + records, DURABLE_TIMEOUT_NS)
        && recorder.status().trouble == Trouble::None;
    let durable_ns = clock::monotonic_ns() - started_ns;
    let per_s = |ns: u64| records as f64 / (ns.max(1) as f64 / 1e9);
    report.records_per_s = Some(per_s(pushed_ns));
    report.durable_records_per_s = durable.then(|| per_s(durable_ns));
}

//! All figures of a plan, from its inputs.

use crate::files::Files;
use crate::inputs::{DAY_S, Inputs, YEAR_S};
use crate::log::Logged;
use crate::machines::{Demand, FILL, Machines, NAME_BYTES, RECORDER_BYTES};
use crate::rest::Rested;

const MIB: f64 = 1_048_576.0;
/// A log of samples holds an hour, so that settling may rest or fail for that long; at least this,
/// at most a tenth of the disk.
const LOG_S: f64 = 3_600.0;
const LOG_BYTES_MIN: f64 = 64.0 * MIB;
const LOG_PART: f64 = 0.1;
/// How a log is divided (`baro init`).
const SEGMENTS: f64 = 16.0;
const SEGMENT_MIB_MAX: f64 = 256.0;
/// A ring takes what comes while the disk stands, and a quarter more.
const RING_SPARE: f64 = 1.25;
const RING_BYTES_MIN: f64 = 65_536.0;
/// Head of a record in a ring, and what its size is a multiple of.
const RING_HEAD_BYTES: f64 = 24.0;
const RING_ALIGN: f64 = 8.0;
/// Head of a record of samples; id and value of one; its time where it has one of its own.
const SAMPLES_HEAD_BYTES: f64 = 8.0;
const SAMPLE_PUSHED_BYTES: f64 = 12.0;
const TIME_PUSHED_BYTES: f64 = 8.0;

/// What follows from [`Inputs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Samples or frames a second.
    pub arrivals_per_s: f64,
    /// Their bytes a second.
    pub raw_bytes_per_s: f64,
    /// The log.
    pub logged: Logged,
    /// The runs.
    pub rested: Rested,
    /// How large the log should be.
    pub log_bytes: f64,
    /// How large all rings together should be.
    pub ring_bytes: f64,
    /// What recorder, rings and names need of memory.
    pub memory_bytes: f64,
    /// Bytes to the device a second, all counted.
    pub device_bytes_per_s: f64,
    /// The same for each byte that arrives: the paper's Kwa.
    pub wear: f64,
    /// Bytes of a day that stay.
    pub kept_bytes_per_day: f64,
    /// Bytes on disk once all is there that is to be kept, the log included.
    pub kept_bytes: f64,
    /// Days until the disk is as full as it may be; of frames the days that its log can hold.
    pub days_of_disk: f64,
    /// Years until the flash is worn; infinite where that is not known.
    pub life_years: f64,
    /// One file for each sensor.
    pub files: Files,
    /// Years with these.
    pub files_life_years: f64,
    /// How many machines.
    pub machines: Machines,
}

/// What follows from these inputs.
#[must_use]
pub fn numbers(inputs: &Inputs) -> Numbers {
    let (arrivals_per_s, raw_bytes_per_s) = (inputs.arrivals_per_s(), inputs.raw_bytes_per_s());
    let logged = Logged::of(inputs);
    let rested = Rested::of(inputs, &logged);
    let device_bytes_per_s = logged.bytes_per_s + arrivals_per_s * rested.written_per_sample;
    let fill_bytes = FILL * inputs.disk_bytes;
    let (log_bytes, kept_bytes_per_day) = if inputs.has_frames() {
        let wanted = logged.bytes_per_s * inputs.keep_s;
        (wanted.min(fill_bytes).max(LOG_BYTES_MIN), logged.bytes_per_s * DAY_S)
    } else {
        let most = (inputs.disk_bytes * LOG_PART).max(LOG_BYTES_MIN);
        let log = (logged.bytes_per_s * LOG_S).clamp(LOG_BYTES_MIN, most);
        (log, arrivals_per_s * rested.bytes_per_sample * DAY_S)
    };
    // Whole segments: a log has sixteen, or more of 256 MiB.
    let segment_bytes = (log_bytes / SEGMENTS / MIB).ceil().clamp(1.0, SEGMENT_MIB_MAX) * MIB;
    let log_bytes = (log_bytes / segment_bytes).ceil().max(SEGMENTS) * segment_bytes;
    let days = inputs.keep_s / DAY_S;
    let (kept_bytes, days_of_disk) = if inputs.has_frames() {
        ((kept_bytes_per_day * days).max(LOG_BYTES_MIN), fill_bytes / kept_bytes_per_day)
    } else {
        let free = (fill_bytes - log_bytes).max(0.0);
        (log_bytes + kept_bytes_per_day * days, free / kept_bytes_per_day)
    };
    let ring_bytes = ring_bytes(inputs);
    let files = Files::of(inputs, inputs.sensors);
    let years = |bytes_per_s: f64| inputs.endurance_bytes / (bytes_per_s * YEAR_S);
    let memory_bytes = RECORDER_BYTES + ring_bytes + NAME_BYTES * inputs.sensors;
    let demand = Demand { device_bytes_per_s, kept_bytes, memory_bytes };
    Numbers {
        arrivals_per_s,
        raw_bytes_per_s,
        logged,
        rested,
        log_bytes,
        ring_bytes,
        memory_bytes,
        device_bytes_per_s,
        wear: device_bytes_per_s / raw_bytes_per_s,
        kept_bytes_per_day,
        kept_bytes,
        days_of_disk,
        life_years: years(device_bytes_per_s),
        files,
        files_life_years: years(files.wear * raw_bytes_per_s),
        machines: Machines::of(inputs, &demand),
    }
}

/// What comes while the disk stands, as records in a ring.
fn ring_bytes(inputs: &Inputs) -> f64 {
    let per_s = inputs.arrivals_per_s();
    let (pushes_per_s, payload) = if inputs.has_frames() {
        (per_s, inputs.frame_bytes)
    } else {
        let time = if inputs.time_bits > 0.0 { TIME_PUSHED_BYTES } else { 0.0 };
        let payload = SAMPLES_HEAD_BYTES + inputs.per_push * (SAMPLE_PUSHED_BYTES + time);
        (per_s / inputs.per_push, payload)
    };
    let record = ((RING_HEAD_BYTES + payload) / RING_ALIGN).ceil() * RING_ALIGN;
    let held_s = inputs.stall_s + inputs.durable_within_s;
    let wanted = (pushes_per_s * record * held_s * RING_SPARE).max(RING_BYTES_MIN);
    if wanted > MIB { (wanted / MIB).ceil() * MIB } else { (wanted / 65_536.0).ceil() * 65_536.0 }
}

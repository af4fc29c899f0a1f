//! Plans against what was measured: bytes to the device, bytes at rest, and Kwa, within 20 %.
//!
//! The measurements are older than the model, and their rows are in the repository; the last ones were
//! made to be of another shape than those from which the model's constants are.

use baro_plan::{Files, Inputs, Kind, numbers};

const TOLERANCE: f64 = 0.2;

#[track_caller]
fn near(what: &str, planned: f64, measured: f64) {
    let off = planned / measured - 1.0;
    println!("{what}: planned {planned:.3}, measured {measured:.3}, {:+.1} %", off * 100.0);
    assert!(off.abs() <= TOLERANCE, "{what}: planned {planned}, measured {measured}");
}

/// One control loop; `results/2026-11-22-amd-epyc-2cpu/runs.jsonl`, rows `wear-*`: bytes to the device
/// for each byte pushed.
#[test]
fn frames_of_a_control_loop() {
    let rows = [
        ("16 KiB each 5 ms", 16_384.0, 200.0, 0.1, 1.027),
        ("100 B each 10 ms within 10 ms", 100.0, 100.0, 0.01, 40.84),
        ("the same within 100 ms", 100.0, 100.0, 0.1, 8.83),
        ("the same within 1 s", 100.0, 100.0, 1.0, 1.51),
        ("the same within 10 s", 100.0, 100.0, 10.0, 1.14),
    ];
    for (what, frame_bytes, rate_hz, durable_within_s, kwa) in rows {
        let inputs =
            Inputs { sensors: 1.0, frame_bytes, rate_hz, durable_within_s, ..Inputs::default() };
        near(what, numbers(&inputs).wear, kwa);
    }
}

/// 20 million samples of walks as fast as they come, in one run; `store.jsonl` of the same folder.
#[test]
fn walks_on_a_common_clock() {
    let rows = [
        ("1,000 sensors", 1e3, 0.652, 0.4545, 1.124),
        ("100,000 sensors", 1e5, 1.909, 0.468, 2.430),
        ("1,000,000 sensors", 1e6, 1.899, 0.503, 2.972),
    ];
    for (what, sensors, log, rest, device) in rows {
        // 40 million samples a second, of which a run has 20.
        let inputs = Inputs {
            sensors,
            rate_hz: 40e6 / sensors,
            value_bits: 3.46,
            spread_bits: 14.0,
            per_push: 1_024.0,
            ..Inputs::default()
        };
        let all = numbers(&inputs);
        near(&format!("{what}, log"), all.logged.bytes_per_s / all.arrivals_per_s, log);
        near(&format!("{what}, at rest"), all.rested.bytes_per_sample, rest);
        // Once into the log and once into a run: nothing is merged there.
        let once = all.logged.bytes_per_s / all.arrivals_per_s + rest;
        near(&format!("{what}, log and one run"), once, device);
    }
}

/// An hour, a million samples a second of 100,000 sensors in pushes of 4,096, durable within a second,
/// settled and merged meanwhile; `store.md` of the same folder: 0.213 of 16 bytes.
#[test]
fn an_hour_of_a_hundred_thousand() {
    let inputs = Inputs {
        sensors: 1e5,
        rate_hz: 10.0,
        value_bits: 3.46,
        per_push: 4_096.0,
        durable_within_s: 1.0,
        keep_s: 3_600.0,
        ..Inputs::default()
    };
    near("an hour, Kwa", numbers(&inputs).wear, 0.213);
}

/// Sensors with clocks of their own through `baro record --stdin csv`, each sample a push; measured after
/// the model was made. `results/2026-11-26-amd-epyc-2cpu/plan.jsonl`: bytes of a sample in the log and at
/// rest, 90 s each.
#[test]
fn sensors_with_clocks_of_their_own() {
    let rows = [
        ("5,000 sensors at 2 Hz within 1 s", 5_000.0, 2.0, 1.0, 10.63, 3.735),
        ("40 sensors at 50 Hz within 100 ms", 40.0, 50.0, 0.1, 41.96, 3.792),
    ];
    for (what, sensors, rate_hz, durable_within_s, log, rest) in rows {
        let inputs = Inputs {
            sensors,
            rate_hz,
            durable_within_s,
            value_bits: 8.0,
            spread_bits: 14.0,
            time_bits: 2e6_f64.log2(),
            per_push: 1.0,
            // One run, as it was settled at the end.
            keep_s: 90.0,
            ..Inputs::default()
        };
        let all = numbers(&inputs);
        near(&format!("{what}, log"), all.logged.bytes_per_s / all.arrivals_per_s, log);
        near(&format!("{what}, at rest"), all.rested.bytes_per_sample, rest);
    }
}

/// Cells of `bench-files.jsonl` and `bench-files-ssd.jsonl`, a fiftieth of the paper's size: how large a
/// file may grow is its formula; Kwa are the cells' own. Of all 58 cells 35 are met; these are two of
/// them.
#[test]
fn cells_of_many_files() {
    let rows = [
        ("disk, F = 50,000, B = 48 KiB", Kind::Hdd, 5e4, 49_152.0, 899_835.0, 1.023),
        ("SSD, F = 1,000,000, B = 4 KiB", Kind::Ssd, 1e6, 4_096.0, 44_991.0, 2.32),
    ];
    for (what, kind, paper_files, buffer_bytes, file_bytes, kwa) in rows {
        let count = paper_files / 50.0;
        let scaled = Inputs { disk_bytes: 2e9, kind, sensors: count, ..Inputs::default() };
        near(&format!("{what}, L"), Files::of(&scaled, count).file_bytes, file_bytes);
        let memory_bytes = 2.0 * buffer_bytes * paper_files;
        let inputs = Inputs { kind, sensors: paper_files, memory_bytes, ..Inputs::default() };
        near(&format!("{what}, Kwa"), Files::of(&inputs, paper_files).wear, kwa);
    }
}

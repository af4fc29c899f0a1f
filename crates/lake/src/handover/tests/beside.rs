//! A recorder goes on, and settles and merges by itself, while hand-over follows hand-over.

use super::*;
use baro_ondisk::Type;
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{SettleOptions, Settling, SettlingOptions};

const PORTIONS: i64 = 30;
const PORTION: i64 = 200;

#[test]
fn beside_a_recorder_that_settles_and_merges_each_sample_goes_once() {
    let scene = Scene::new("recorded");
    let options =
        Options { rings: Rings::Private, durable_within_ns: 4_000_000, ..Options::default() };
    let recorder = Recorder::open(&scene.store(), options).expect("opened");
    recorder.declare(&[("t", Type::F64, "")]).expect("declared");
    let settle = SettleOptions { least_bytes: 0, fan_in: 2, ..SettleOptions::default() };
    let often = SettlingOptions { look_every_ns: 2_000_000, wait_ns: 0, ..<_>::default() };
    let settling = Settling::start(&scene.store(), settle, often).expect("started");
    let mut producer = recorder.producer().expect("a ring");
    let (mut lake, mut handed) = (scene.lake(), 0);
    for portion in 0..PORTIONS {
        let times: Vec<i64> = (0..PORTION).map(|at| (portion * PORTION + at) * 1_000_003).collect();
        let values: Vec<f64> = times.iter().map(|time_ns| *time_ns as f64).collect();
        producer.push_batch(&times, &[1; PORTION as usize], &values).expect("room");
        let sequence = producer.next_sequence();
        assert!(recorder.wait_durable(&producer, sequence, 60_000_000_000));
        handed += lake.round().expect("beside it").samples;
    }
    // Until it has settled all but the last block, which nothing proves durable yet.
    let has_settled = || settling.status().samples >= ((PORTIONS - 1) * PORTION) as u64;
    for _ in 0..60_000 {
        if has_settled() {
            break;
        }
        clock::sleep_ns(1_000_000);
    }
    assert!(has_settled(), "{:?}", settling.status());
    handed += lake.round().expect("beside it").samples;
    assert_eq!(recorder.close().left, 0);
    assert!(settling.end().damage.is_empty());
    scene.settle(2, RunRetention::default());
    handed += lake.round().expect("after it").samples;
    assert_eq!(handed, (PORTIONS * PORTION) as u64);
    scene.settle(2, RunRetention::default());
    assert_eq!(lake.round().expect("nothing").samples, 0);
    let rows = scene.rows();
    let mut times: Vec<i64> = rows.iter().map(|row| row.time_ns).collect();
    times.sort_unstable();
    let expected: Vec<i64> = (0..PORTIONS * PORTION).map(|at| at * 1_000_003).collect();
    assert_eq!(times, expected);
}

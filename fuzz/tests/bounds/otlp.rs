//! Requests of OTLP, in protobuf and in JSON.

use crate::network::{field, series};
use crate::{Shape, TIMES, check, check_within, repeated_text};
use baro_sources::otlp;
use std::hint::black_box;

/// A request of one metric, of which this is the data.
fn of_metric(number: u8, data: &[u8]) -> Vec<u8> {
    let metric = [field(1, b"a"), field(number, data)].concat();
    field(1, &field(2, &field(2, &metric)))
}

/// A point of a gauge with these attributes.
fn gauge_point(attributes: &[u8]) -> Vec<u8> {
    let time = [&b"\x19"[..], &1_700_000_000_000_000_000_u64.to_le_bytes()].concat();
    field(1, &[&time, &b"\x21\0\0\0\0\0\0\xf8\x3f"[..], attributes].concat())
}

fn attribute(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
    field(number, &[field(1, key.as_bytes()), field(2, value)].concat())
}

fn read_otlp(bytes: &[u8]) {
    let read = otlp::read::<()>(bytes, |_, point| {
        if let Ok(point) = point {
            for sample in point.samples() {
                assert!(sample.name.len() < 20_000);
            }
        }
        Ok(())
    });
    let _ = black_box(read);
}

fn messages() -> [Shape; 15] {
    [
        ("many metrics", |size| {
            let one = field(2, &[field(1, b"a.b"), field(5, &gauge_point(b""))].concat());
            field(1, &field(2, &one.repeat(size / one.len())))
        }),
        ("many points", |size| {
            let one = gauge_point(&attribute(7, "a", &field(1, b"b")));
            of_metric(5, &one.repeat(size / one.len()))
        }),
        ("points of 256 attributes", |size| {
            let all: Vec<u8> =
                (0..256).flat_map(|at| attribute(7, &format!("a.{at}"), &field(1, b"b"))).collect();
            let one = gauge_point(&all);
            of_metric(5, &one.repeat(size / one.len()))
        }),
        ("many attributes", |size| {
            let all = series(size, |at| attribute(7, &format!("a{at}"), &field(1, b"b")));
            of_metric(5, &gauge_point(&all))
        }),
        ("a long attribute", |size| {
            of_metric(5, &gauge_point(&attribute(7, "a", &field(1, &vec![b'"'; size]))))
        }),
        ("a long list", |size| {
            let list = field(5, &b"\x0a\0".repeat(size / 2));
            of_metric(5, &gauge_point(&attribute(7, "a", &list)))
        }),
        ("points with lists as long as may be", |size| {
            let list = field(5, &b"\x0a\0".repeat(500));
            let one = gauge_point(&attribute(7, "a", &list));
            of_metric(5, &one.repeat(size / one.len()))
        }),
        ("a long resource", |size| {
            let all = series(size / 2, |at| attribute(1, &format!("a{at}"), &field(1, b"b")));
            let name = attribute(1, "service.name", &field(1, &vec![b'a'; size / 2]));
            let metrics =
                field(2, &field(2, &[field(1, b"a"), field(5, &gauge_point(b""))].concat()));
            field(1, &[field(1, &[name, all].concat()), metrics].concat())
        }),
        ("many points of a long resource", |size| {
            let name = attribute(1, "service.name", &field(1, &vec![b'a'; size / 2]));
            let points = gauge_point(b"").repeat(size / 40);
            let metrics = field(2, &field(2, &[field(1, b"a"), field(5, &points)].concat()));
            field(1, &[field(1, &name), metrics].concat())
        }),
        ("many resources", |size| {
            let one = field(1, &field(1, &attribute(1, "service.name", &field(1, b"a"))));
            one.repeat(size / one.len())
        }),
        ("one histogram", |size| {
            let list = vec![0; size / 16 * 8];
            of_metric(
                9,
                &[field(1, &[field(6, &list), field(7, &list)].concat()), vec![16, 2]].concat(),
            )
        }),
        ("histograms of as many buckets as may be", |size| {
            let bounds: Vec<u8> =
                (0..1024).flat_map(|at| f64::from(at).to_bits().to_le_bytes()).collect();
            let time = [&b"\x19"[..], &1_700_000_000_000_000_000_u64.to_le_bytes()].concat();
            let one = field(1, &[time, field(6, &vec![0; 1025 * 8]), field(7, &bounds)].concat());
            of_metric(9, &[one.repeat(size.div_ceil(one.len())), vec![16, 2]].concat())
        }),
        ("exponential histograms", |size| of_metric(10, &b"\x0a\0".repeat(size / 2))),
        ("messages within messages", |size| {
            let mut inner = Vec::new();
            while inner.len() < size.min(20_000) {
                inner = field(5, &field(1, &inner));
            }
            of_metric(5, &gauge_point(&attribute(7, "a", &inner)).repeat(size / inner.len()))
        }),
        ("a long name", |size| {
            field(
                1,
                &field(
                    2,
                    &field(2, &[field(1, &vec![b'.'; size]), field(5, &gauge_point(b""))].concat()),
                ),
            )
        }),
    ]
}

fn texts() -> [Shape; 9] {
    [
        ("numbers", |size| {
            let list = repeated_text("0,", size);
            in_json(&format!(r#"{{"bucketCounts":[{list}0]}}"#))
        }),
        ("points", |size| in_json(&format!("{}{{}}", repeated_text("{},", size)))),
        ("keys of nobody", |size| {
            in_json(&format!(r#"{{{}"a":0}}"#, repeated_text("\"a\":0,", size)))
        }),
        ("keys that are long", |size| {
            in_json(&format!(r#"{{"{}":0}}"#, repeated_text("a_", size)))
        }),
        ("escapes", |size| {
            let long = repeated_text("\\u0061", size);
            in_json(&format!(r#"{{"attributes":[{{"key":"{long}"}}]}}"#))
        }),
        ("a number that is none", |size| {
            in_json(&format!(r#"{{"count":"{}"}}"#, repeated_text("x", size)))
        }),
        ("levels", |size| in_json(&repeated_text("{\"exemplars\":[", size))),
        ("levels of nobody", |size| in_json(&format!(r#"{{"a":{}"#, repeated_text("[", size)))),
        ("resources", |size| {
            format!(r#"{{"resourceMetrics":[{}{{}}]}}"#, repeated_text("{},", size)).into_bytes()
        }),
    ]
}

#[test]
fn requests_of_opentelemetry_are_read_in_proportion() {
    for (name, input) in messages() {
        check(&format!("OTLP, {name}"), input, read_otlp);
    }
    for (name, input) in texts() {
        // Beside what it reads it makes a message of four times its bytes.
        check_within(
            TIMES + otlp::JSON_FACTOR as i64,
            &format!("OTLP in JSON, {name}"),
            input,
            |bytes| {
                if let Ok(message) = otlp::from_json(bytes) {
                    read_otlp(&message);
                }
            },
        );
    }
}

/// A request in JSON with these points of a histogram.
fn in_json(points: &str) -> Vec<u8> {
    format!(
        r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"histogram":{{"dataPoints":[{points}]}}}}]}}]}}]}}"#
    )
    .into_bytes()
}

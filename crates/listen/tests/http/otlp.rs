//! Metrics of OpenTelemetry, in protobuf and JSON, byte by byte.

use crate::client::{Answer, Client};
use crate::scene::Scene;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

const TIME: i64 = 1_700_000_000_000_000_000;
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// A field of bytes.
fn field(number: u8, parts: &[&[u8]]) -> Vec<u8> {
    let inner = parts.concat();
    let mut out = vec![number << 3 | 2];
    let mut length = inner.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    [out, inner].concat()
}

fn fixed(number: u8, bits: u64) -> Vec<u8> {
    [&[number << 3 | 1][..], &bits.to_le_bytes()].concat()
}

fn attribute(number: u8, key: &str, value: &str) -> Vec<u8> {
    field(number, &[&field(1, &[key.as_bytes()]), &field(2, &[&field(1, &[value.as_bytes()])])])
}

fn gauge(name: &str, unit: &str, points: &[Vec<u8>]) -> Vec<u8> {
    let points: Vec<u8> = points.iter().flat_map(|point| field(1, &[point])).collect();
    field(2, &[&field(1, &[name.as_bytes()]), &field(3, &[unit.as_bytes()]), &field(5, &[&points])])
}

fn point(time: i64, value: f64) -> Vec<u8> {
    [fixed(3, time.cast_unsigned()), fixed(4, value.to_bits()), attribute(7, "room", "lab")]
        .concat()
}

/// A request of these metrics.
fn request(metrics: &[Vec<u8>]) -> Vec<u8> {
    let resource = field(1, &[&attribute(1, "service.name", "rig"), &attribute(1, "os", "linux")]);
    field(1, &[&resource, &field(2, &[&metrics.concat()])])
}

fn send(client: &mut Client, kind: &str, body: impl AsRef<[u8]>) -> Answer {
    client.ask("POST /v1/metrics", &format!("Content-Type: {kind}\r\n"), body)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn in_json(metrics: Value) -> String {
    json!({"resourceMetrics": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "rig"}}]},
        "scopeMetrics": [{"metrics": metrics}]
    }]})
    .to_string()
}

fn histogram(time: i64, counts: [u64; 3]) -> Value {
    json!([{"name": "wait", "unit": "s", "histogram": {"aggregationTemporality": 2, "dataPoints": [{
        "timeUnixNano": time.to_string(), "count": counts.iter().sum::<u64>().to_string(),
        "sum": 4.5, "bucketCounts": counts.map(|count| count.to_string()), "explicitBounds": [0.5, 1]
    }]}}])
}

#[test]
fn points_are_read_back_equal_and_what_has_no_place_is_said() {
    let Some(mut scene) = Scene::new("otlp", &[]) else { return };
    let mut client = scene.client();
    let temp = gauge("room.temp", "Cel", &[point(TIME, 21.5), point(TIME + 1, 22.0)]);
    let first = send(&mut client, PROTOBUF, request(std::slice::from_ref(&temp)));
    assert_eq!(
        (first.status, first.body.as_str(), first.header("content-type")),
        (200, "", Some(PROTOBUF))
    );
    // The same again, packed: nothing changes.
    let headers = format!("Content-Type: {PROTOBUF}\r\nContent-Encoding: gzip\r\n");
    let again =
        client.ask("POST /v1/metrics", &headers, gzip(&request(std::slice::from_ref(&temp))));
    assert_eq!((again.status, again.body.as_str()), (200, ""));

    for time in [TIME, TIME + 10] {
        let kind = "application/json; charset=utf-8";
        let answer = send(&mut client, kind, in_json(histogram(time, [1, 2, 3])));
        assert_eq!(
            (answer.status, answer.body.as_str(), answer.header("content-type")),
            (200, "{}\n", Some(JSON))
        );
    }

    // One without a time, differences, and an exponential histogram, beside a good one.
    let delta = json!({"name": "d", "sum": {"aggregationTemporality": 1, "dataPoints": [
        {"timeUnixNano": TIME, "asInt": 1}, {"timeUnixNano": TIME + 1, "asInt": 1}]}});
    let exponential = json!({"name": "e", "exponentialHistogram": {"dataPoints": [{"count": 1}]}});
    let count = json!({"name": "n", "sum": {"aggregationTemporality": 2, "isMonotonic": true,
        "dataPoints": [{"asInt": 1}, {"timeUnixNano": TIME, "asInt": "7"}]}});
    let partly = send(&mut client, JSON, in_json(json!([delta, exponential, count])));
    assert_eq!(partly.status, 200, "{partly:?}");
    let told: Value = serde_json::from_str(&partly.body).unwrap();
    let success = &told["partialSuccess"];
    assert_eq!(success["rejectedDataPoints"], "4");
    let said = success["errorMessage"].as_str().unwrap();
    for expected in [
        "data point 1: metric \"d\": expected cumulative values, found delta ones",
        "data point 3: metric \"e\": expected a histogram with bounds, found an exponential one",
        "data point 4: metric \"n\": expected a time in timeUnixNano, found none",
        "4 of 5 data points were refused, the others are kept",
    ] {
        assert!(said.contains(expected), "{said}: {expected}");
    }
    assert!(!said.contains("data point 2"), "the reason is told once: {said}");
    // A value that its series does not take, in protobuf; the point costs itself.
    let large = field(
        2,
        &[
            &field(1, &[b"room.temp"]),
            &field(3, &[b"Cel"]),
            &field(
                5,
                &[&field(
                    1,
                    &[
                        &fixed(3, TIME.cast_unsigned() + 2),
                        &fixed(6, (1 << 53) + 1),
                        &attribute(7, "room", "lab"),
                    ],
                )],
            ),
        ],
    );
    let misfit =
        send(&mut client, PROTOBUF, request(&[large, gauge("p", "", &[point(TIME, 1.0)])]));
    assert_eq!(misfit.status, 200);
    assert!(misfit.body.contains("expected f64, found 9007199254740993"), "{misfit:?}");
    assert!(misfit.body.contains("1 of 2 data points were refused"), "{misfit:?}");

    scene.end_recorder();
    let found = scene.samples();
    let one = |time: i64, value: &str| vec![(time, value.to_owned())];
    let temps = [one(TIME, "21.5"), one(TIME + 1, "22.0")].concat();
    let twice =
        |at: i64, behind: i64, value: &str| [one(at, value), one(at + behind, value)].concat();
    let waits = |value: &str| twice(TIME, 10, value);
    let expected: BTreeMap<String, Vec<(i64, String)>> = [
        ("room_temp_celsius{job=\"rig\",room=\"lab\"}", temps),
        // The point of the second one is refused.
        ("target_info{job=\"rig\",os=\"linux\"}", twice(TIME, 2, "1.0")),
        ("wait_seconds_bucket{job=\"rig\",le=\"0.5\"}", waits("1.0")),
        ("wait_seconds_bucket{job=\"rig\",le=\"1\"}", waits("3.0")),
        ("wait_seconds_bucket{job=\"rig\",le=\"+Inf\"}", waits("6.0")),
        ("wait_seconds_count{job=\"rig\"}", waits("6.0")),
        ("wait_seconds_sum{job=\"rig\"}", waits("4.5")),
        ("n_total{job=\"rig\"}", one(TIME, "7.0")),
        ("p{job=\"rig\",room=\"lab\"}", one(TIME, "1.0")),
    ]
    .map(|(name, samples)| (name.to_owned(), samples))
    .into();
    assert_eq!(found, expected);
    let store = barograph::Store::open(scene.store()).unwrap();
    let columns = store.query("{__name__=~\".+\"}").columns().unwrap();
    let mut units: Vec<(String, String)> = columns
        .map(|column| column.unwrap())
        .map(|column| (column.name().to_owned(), column.unit().to_owned()))
        .filter(|(_, unit)| !unit.is_empty())
        .collect();
    units.sort();
    let unit = |name: &str, unit: &str| (name.to_owned(), unit.to_owned());
    assert_eq!(
        units,
        [
            unit("room_temp_celsius{job=\"rig\",room=\"lab\"}", "Cel"),
            unit("wait_seconds_sum{job=\"rig\"}", "s"),
        ]
    );
}

#[test]
fn what_is_no_request_is_refused_in_its_own_form() {
    let Some(mut scene) = Scene::new("otlp-refused", &["--in-flight", "3M"]) else { return };
    let mut client = scene.client();
    let bad = send(&mut client, PROTOBUF, b"\x0a\xff");
    assert_eq!((bad.status, bad.header("content-type")), (400, Some(PROTOBUF)));
    assert!(bad.body.starts_with("\u{8}\u{3}\u{12}"), "a Status: {bad:?}");
    assert!(bad.body.contains("bytes that are no ExportMetricsServiceRequest"), "{bad:?}");
    let bad = send(&mut client, JSON, "{\"resource_metrics\":[]}");
    assert_eq!((bad.status, bad.header("content-type")), (400, Some(JSON)));
    let status: Value = serde_json::from_str(&bad.body).unwrap();
    assert_eq!(status["code"], 3);
    assert!(status["message"].as_str().unwrap().contains("found resource_metrics at line 1"));
    // A good point before what cannot be read is not taken either.
    let cut = request(&[gauge("g", "", &[point(TIME, 1.0)]), vec![0x12, 0x7f]]);
    assert_eq!(send(&mut client, PROTOBUF, cut).status, 400);

    assert_eq!(send(&mut client, "text/plain", "").status, 415);
    // Where Prometheus has it.
    let headers = format!("Content-Type: {PROTOBUF}\r\n");
    let nothing = request(&[]);
    assert_eq!(client.ask("POST /api/v1/otlp/v1/metrics", &headers, nothing).status, 200);
    assert_eq!(client.get("/api/v1/otlp/v1/metrics").status, 405);
    assert_eq!(client.post("/v1/metrics", "").status, 415);
    let zstd = format!("Content-Type: {PROTOBUF}\r\nContent-Encoding: zstd\r\n");
    assert_eq!(client.ask("POST /v1/metrics", &zstd, "x").status, 415);
    assert_eq!(client.get("/v1/metrics").status, 405);
    for (path, said) in [("/v1/traces", "found traces"), ("/v1/logs", "found logs")] {
        let answer =
            client.ask(&format!("POST {path}"), &format!("Content-Type: {JSON}\r\n"), "{}");
        assert_eq!(answer.status, 404);
        assert!(answer.body.contains(said), "{answer:?}");
    }
    // Larger than there is memory for, however little it has packed.
    let large = gzip(&vec![0; 4 << 20]);
    let headers = format!("Content-Type: {PROTOBUF}\r\nContent-Encoding: gzip\r\n");
    let answer = client.ask("POST /v1/metrics", &headers, large);
    assert_eq!(answer.status, 413, "{answer:?}");
    assert!(answer.body.contains("expected a body of at most 1048576 bytes"), "{answer:?}");

    // Nobody records: it is to come again.
    scene.end_recorder();
    scene.await_ready(503);
    let mut client = scene.client();
    let overload = send(&mut client, JSON, in_json(histogram(TIME, [1, 2, 3])));
    assert_eq!((overload.status, overload.header("retry-after")), (503, Some("1")));
    let status: Value = serde_json::from_str(&overload.body).unwrap();
    assert_eq!(status["code"], 14);
    assert!(scene.samples().is_empty());
}

/// Read as one series, all but one value of each time would be gone.
#[test]
fn what_two_resources_say_of_one_series_and_time_is_refused_but_for_the_first() {
    let Some(mut scene) = Scene::new("otlp-one", &[]) else { return };
    let mut client = scene.client();
    let of = |host: &str, value: i64| {
        json!({
            "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": host}}]},
            "scopeMetrics": [{"metrics": [{"name": "x", "gauge": {"dataPoints": [
                {"timeUnixNano": TIME.to_string(), "asInt": value.to_string()}]}}]}]
        })
    };
    let two = |value: i64| json!({"resourceMetrics": [of("a", 1), of("b", value)]}).to_string();
    let same = send(&mut client, JSON, two(1));
    assert_eq!((same.status, same.body.as_str()), (200, "{}\n"));
    let other = send(&mut client, JSON, two(2));
    let told: Value = serde_json::from_str(&other.body).unwrap();
    assert_eq!(told["partialSuccess"]["rejectedDataPoints"], "1", "{other:?}");
    let said = told["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(
        said.contains("expected one value of each series and time, found another of x"),
        "{said}"
    );
    // Buckets that are none of the count.
    let wrong = json!([{"name": "h", "histogram": {"aggregationTemporality": 2, "dataPoints": [{
        "timeUnixNano": TIME.to_string(), "count": "2", "bucketCounts": ["1", "2"], "explicitBounds": [1]}]}}]);
    let answer = send(&mut client, JSON, in_json(wrong));
    assert!(
        answer.body.contains("expected buckets that add up to the count 2, found 3"),
        "{answer:?}"
    );
    scene.end_recorder();
    let found = scene.samples();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found["x"][0].1, "1.0");
}

#[test]
fn what_tells_of_a_resource_stays_if_its_first_point_is_refused() {
    let Some(mut scene) = Scene::new("otlp-info", &[]) else { return };
    let mut client = scene.client();
    // Nobody has written this integer as a decimal: it is no f64.
    let values = ["-189711445343616540", "7"];
    let points: Vec<Value> = (0..)
        .zip(values)
        .map(|(at, value)| json!({"timeUnixNano": (TIME + at).to_string(), "asInt": value}))
        .collect();
    let resource = json!({"attributes": [
        {"key": "service.name", "value": {"stringValue": "rig"}},
        {"key": "host.name", "value": {"stringValue": "a"}}]});
    let message = json!({"resourceMetrics": [{"resource": resource,
        "scopeMetrics": [{"metrics": [{"name": "x", "gauge": {"dataPoints": points}}]}]}]});
    for _ in 0..2 {
        let answer = send(&mut client, JSON, message.to_string());
        let told: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(told["partialSuccess"]["rejectedDataPoints"], "1", "{answer:?}");
        let said = told["partialSuccess"]["errorMessage"].as_str().unwrap();
        assert!(
            said.contains("data point 1: ") && said.contains("expected f64, found -1897"),
            "{said}"
        );
    }
    scene.end_recorder();
    let found = scene.samples();
    assert_eq!(found["x{job=\"rig\"}"], [(TIME + 1, "7.0".to_owned())]);
    assert_eq!(found["target_info{host_name=\"a\",job=\"rig\"}"], [(TIME, "1.0".to_owned())]);
}

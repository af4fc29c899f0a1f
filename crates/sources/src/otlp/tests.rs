//! Requests written by hand, and what becomes of their points.

use super::*;
use crate::protobuf::Writer;
use serde_json::json;

const TIME: u64 = 1_700_000_000_000_000_000;

/// A message whose parts are within it.
fn within(number: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Writer::default();
    let begun = out.begin(number);
    parts.iter().for_each(|part| out.bytes.extend_from_slice(part));
    out.end(begun);
    out.bytes
}

fn made(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut out = Writer::default();
    write(&mut out);
    out.bytes
}

fn string(number: u8, text: &str) -> Vec<u8> {
    made(|out| out.text(number, text))
}

fn fixed(number: u8, value: u64) -> Vec<u8> {
    made(|out| out.fixed64(number, value))
}

fn double(number: u8, value: f64) -> Vec<u8> {
    fixed(number, value.to_bits())
}

fn varint(number: u8, value: u64) -> Vec<u8> {
    made(|out| out.varint(number, value))
}

fn attribute(number: u8, key: &str, value: Vec<u8>) -> Vec<u8> {
    within(number, &[string(1, key), within(2, &[value])])
}

fn packed(number: u8, words: &[u64]) -> Vec<u8> {
    made(|out| {
        let begun = out.begin(number);
        words.iter().for_each(|word| out.word(*word));
        out.end(begun);
    })
}

fn metric(name: &str, unit: &str, data: Vec<u8>) -> Vec<u8> {
    within(2, &[string(1, name), string(3, unit), data])
}

fn resource() -> Vec<u8> {
    let attributes = [
        attribute(1, "service.name", string(1, "press")),
        attribute(1, "service.namespace", string(1, "plant")),
        attribute(1, "service.instance.id", string(1, "3")),
        attribute(1, "host.name", string(1, "rig")),
    ];
    within(1, &attributes)
}

fn request(metrics: &[Vec<u8>]) -> Vec<u8> {
    within(1, &[resource(), within(2, metrics)])
}

/// Points of a request, one line each.
fn all(request: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let read = read::<()>(request, |number, point| {
        found.push(match point {
            Ok(point) => {
                let samples: Vec<String> = point
                    .samples()
                    .map(|Sample { name, unit, value, is_info }| {
                        assert!(!is_info || name.starts_with("target_info"));
                        match value {
                            Number::Float(value) if value.is_nan() => {
                                format!("{name} {:x}{unit}", value.to_bits())
                            }
                            Number::Float(value) => format!("{name} {value:?}{unit}"),
                            Number::Integer(value) => format!("{name} {value}{unit}"),
                            Number::Unsigned(value) => format!("{name} {value}u{unit}"),
                        }
                    })
                    .collect();
                format!("{number} {} {}", point.time_ns, samples.join(" "))
            }
            Err(fault) => format!("{number} {fault}"),
        });
        Ok(())
    });
    match read {
        Ok(Ok(_)) => found,
        Ok(Err(())) => unreachable!("nothing ends it"),
        Err(unreadable) => vec![unreadable.to_string()],
    }
}

const INFO: &str = "target_info{host_name=\"rig\",instance=\"3\",job=\"plant/press\"} 1.0";
const OF: &str = "instance=\"3\",job=\"plant/press\"";

#[test]
fn numbers_become_samples_of_their_series() {
    let one = within(
        1,
        &[
            attribute(7, "room", string(1, "a \"b\"")),
            attribute(7, "job", string(1, "x")),
            attribute(7, "n.o", varint(3, 5)),
            attribute(7, "none", Vec::new()),
            fixed(3, TIME),
            double(4, 21.5),
            within(5, &[]),
        ],
    );
    let two = within(1, &[fixed(3, TIME + 1), fixed(6, 3_u64.wrapping_neg())]);
    let stale = within(1, &[fixed(3, TIME + 2), varint(8, 1)]);
    let gauge = metric("room.temp", "Cel", within(5, &[one, two, stale]));
    let count = within(1, &[fixed(3, TIME), fixed(6, 7)]);
    let sum = within(7, &[count, varint(2, 2), varint(3, 1)]);
    let requests = metric("requests", "1", sum);
    assert_eq!(
        all(&request(&[gauge, requests])),
        [
            format!(
                "1 {TIME} room_temp_celsius{{exported_job=\"x\",{OF},n_o=\"5\",room=\"a \\\"b\\\"\"}} \
                 21.5Cel {INFO}"
            ),
            format!("2 {} room_temp_celsius{{{OF}}} -3Cel", TIME + 1),
            format!("3 {} room_temp_celsius{{{OF}}} 7ff0000000000002Cel", TIME + 2),
            format!("4 {TIME} requests_total{{{OF}}} 7"),
        ]
    );
}

#[test]
fn histograms_and_summaries_become_several_series() {
    let bounds: Vec<u64> = [0.5, 1.0].map(f64::to_bits).to_vec();
    let point = within(
        1,
        &[
            fixed(3, TIME),
            fixed(4, 6),
            double(5, 4.5),
            packed(6, &[1, 2, 3]),
            packed(7, &bounds),
            attribute(9, "le", string(1, "x")),
        ],
    );
    // The same, one number at a time; and one of which only the count is known.
    let single = [fixed(3, TIME), fixed(4, 1), fixed(6, 0), fixed(6, 1), double(7, 2.0)];
    let bare = within(1, &[fixed(3, TIME), fixed(4, 9)]);
    let data = within(9, &[point, within(1, &single), bare, varint(2, 2)]);
    let quantile = within(6, &[double(1, 0.99), double(2, 3.5)]);
    let of_summary = within(1, &[fixed(3, TIME), fixed(4, 2), double(5, 5.0), quantile]);
    let summary = within(11, &[of_summary]);
    let l = format!("exported_le=\"x\",{OF}");
    assert_eq!(
        all(&request(&[metric("wait", "s", data), metric("age", "", summary)])),
        [
            format!(
                "1 {TIME} wait_seconds_count{{{l}}} 6u wait_seconds_sum{{{l}}} 4.5s \
                 wait_seconds_bucket{{{l},le=\"0.5\"}} 1u wait_seconds_bucket{{{l},le=\"1\"}} 3u \
                 wait_seconds_bucket{{{l},le=\"+Inf\"}} 6u {INFO}"
            ),
            format!(
                "2 {TIME} wait_seconds_count{{{OF}}} 1u wait_seconds_bucket{{{OF},le=\"2\"}} 0u \
                 wait_seconds_bucket{{{OF},le=\"+Inf\"}} 1u"
            ),
            format!(
                "3 {TIME} wait_seconds_count{{{OF}}} 9u wait_seconds_bucket{{{OF},le=\"+Inf\"}} 9u"
            ),
            format!(
                "4 {TIME} age_count{{{OF}}} 2u age_sum{{{OF}}} 5.0 age{{{OF},quantile=\"0.99\"}} 3.5"
            ),
        ]
    );
}

#[test]
fn a_point_is_refused_by_itself_and_says_why() {
    let point =
        |parts: &[Vec<u8>]| within(1, &[[fixed(3, TIME), double(4, 1.0)].concat(), parts.concat()]);
    let gauge = |points: &[Vec<u8>]| within(5, points);
    let many: Vec<Vec<u8>> =
        (0..300).map(|at| attribute(7, &format!("a{at}"), string(1, "x"))).collect();
    let bad = [
        within(1, &[double(4, 1.0)]),
        within(1, &[fixed(3, TIME / 1_000_000), double(4, 1.0)]),
        within(1, &[fixed(3, u64::MAX), double(4, 1.0)]),
        within(1, &[fixed(3, TIME)]),
        within(1, &[fixed(3, TIME), fixed(4, 1.5_f64.to_bits()), fixed(6, 2)]),
        point(&[attribute(7, "a", string(1, "x")), attribute(7, "a", string(1, "y"))]),
        point(&[attribute(7, "\u{65e5}", string(1, "x"))]),
        point(&[attribute(7, "a", string(1, &"x".repeat(5_000)))]),
        point(&many),
        point(&[]),
    ];
    let said = all(&request(&[metric("g", "", gauge(&bad))]));
    let expected = [
        "1 metric \"g\": expected a time in timeUnixNano, found none",
        "it is one in ms, and the sender has to send nanoseconds",
        "expected a time until 2262, found 18446744073709551615 nanoseconds",
        "expected a value in asDouble or asInt, found none",
        "expected a value in asDouble or asInt, found both",
        "expected each attribute once",
        "expected attributes whose names have ASCII letters",
        "expected attributes of at most 4096 bytes",
        "expected at most 256 attributes",
        "10 1700000000000000000 g{",
    ];
    assert_eq!(said.len(), expected.len());
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said}: {expected}");
    }
    let one = || vec![point(&[])];
    let histogram = |parts: &[Vec<u8>]| {
        within(9, &[within(1, &[vec![fixed(3, TIME)], parts.to_vec()].concat()), varint(2, 2)])
    };
    let bits =
        |bounds: &[f64]| packed(7, &bounds.iter().map(|one| one.to_bits()).collect::<Vec<_>>());
    for (metric, expected) in [
        (metric("e", "", within(10, &one())), "found an exponential one"),
        (metric("d", "", within(7, &[point(&[]), varint(2, 1)])), "PREFERENCE=cumulative"),
        (metric("d", "", within(7, &one())), "found delta ones or none of both"),
        (metric("d", "", within(9, &[within(1, &[fixed(3, TIME)])])), "found delta ones"),
        (metric("\u{65e5}", "", gauge(&one())), "expected a name with ASCII letters"),
        (metric(&"x".repeat(2_000), "", gauge(&one())), "expected a name of at most 1024 bytes"),
        (metric("u", &"x".repeat(65), gauge(&one())), "expected a unit of at most 64 bytes"),
        (metric("h", "", histogram(&[fixed(4, 1), packed(6, &[1])])), "_bucket{"),
        (metric("h", "", histogram(&[packed(6, &[1])])), "add up to the count 0, found 1 in them"),
        (
            metric("h", "", histogram(&[packed(6, &[1, 2]), bits(&[])])),
            "found 2 counts and 0 bounds",
        ),
        (
            metric("h", "", histogram(&[packed(6, &[1, 2, 3]), bits(&[2.0, 2.0])])),
            "bounds that rise",
        ),
        (metric("h", "", histogram(&[packed(6, &[1, 2]), bits(&[f64::NAN])])), "bounds that rise"),
        (
            metric("h", "", histogram(&[packed(6, &[u64::MAX, 2, 1]), bits(&[1.0, 2.0])])),
            "at most 64 bits together",
        ),
        (metric("h", "", histogram(&[packed(6, &[0; 2_000])])), "at most 1024 buckets"),
    ] {
        let said = all(&request(&[metric]));
        assert!(said.len() == 1 && said[0].contains(expected), "{said:?}: {expected}");
    }
}

#[test]
fn what_a_resource_is_may_be_too_long() {
    let gauge = || {
        let point = within(1, &[fixed(3, TIME), double(4, 1.0)]);
        within(2, &[metric("g", "", within(5, &[point])), metric("x", "", Vec::new())])
    };
    let with = |others: &[Vec<u8>]| {
        let of = attribute(1, "service.name", string(1, "a"));
        within(1, &[gauge(), within(1, &[vec![of], others.to_vec()].concat())])
    };
    // Each bucket would have it in its name.
    let said = all(&with(&[attribute(1, "service.instance.id", string(1, &"x".repeat(1_024)))]));
    assert!(said[0].contains("1024 bytes with all attributes"), "{said:?}");
    let long = string(1, &"x".repeat(5_000));
    let message = with(&[attribute(1, "process.command_line", long.clone())]);
    assert_eq!(all(&message), [format!("1 {TIME} g{{job=\"a\"}} 1.0")]);
    let counts = read::<()>(&message, |_, _| Ok(())).unwrap().unwrap();
    let expected = Counts { points: 1, long_resources: 1, empty_metrics: 1, exemplars: 0 };
    assert_eq!(counts, expected);
    let said = all(&with(&[attribute(1, "service.instance.id", long)]));
    assert!(said[0].contains("expected service.name, service.namespace"), "{said:?}");
}

#[test]
fn attributes_of_any_kind_are_texts() {
    let infinite = within(1, &[double(4, f64::NEG_INFINITY)]);
    let list =
        within(5, &[within(1, &[string(1, "a\"")]), within(1, &[varint(3, u64::MAX)]), infinite]);
    let map = within(6, &[attribute(1, "k", varint(2, 1)), attribute(1, "b", double(4, 0.5))]);
    let point = within(
        1,
        &[
            attribute(7, "yes", varint(2, 1)),
            attribute(7, "half", double(4, 0.5)),
            attribute(7, "list", list),
            attribute(7, "map", map),
            attribute(7, "bytes", string(7, "ab")),
            attribute(7, "a.b", string(1, "1")),
            attribute(7, "a_b", string(1, "2")),
            fixed(3, TIME),
            double(4, 1.0),
        ],
    );
    let message = within(1, &[within(2, &[metric("g", "", within(5, &[point]))])]);
    assert_eq!(
        all(&message),
        [format!(
            "1 {TIME} g{{a_b=\"1;2\",bytes=\"YWI=\",half=\"0.5\",list=\"[\\\"a\\\\\\\"\\\",-1,\\\"-inf\\\"]\",\
             map=\"{{\\\"b\\\":0.5,\\\"k\\\":true}}\",yes=\"true\"}} 1.0"
        )]
    );
    assert_eq!(
        [&b""[..], b"a", b"abc", b"\xff\xff\xff\xfe"].map(attributes::base64),
        ["", "YQ==", "YWJj", "/////g=="]
    );
}

fn example() -> serde_json::Value {
    let attribute = json!({"key": "service.name", "value": {"stringValue": "press"}});
    let point = json!({
        "attributes": [{"key": "n", "value": {"intValue": "5"}}], "startTimeUnixNano": "1",
        "timeUnixNano": TIME.to_string(), "asInt": "-3", "flags": 0,
        "exemplars": [{"traceId": "0af7651916cd43dd8448eb211c80319c", "asInt": 1}]
    });
    let bucket = json!({
        "timeUnixNano": TIME, "count": "3", "sum": 1, "bucketCounts": ["1", 2], "explicitBounds": [0.5]
    });
    let metrics = json!([
        {"name": "temp", "unit": "Cel", "gauge": {"dataPoints": [point]}},
        {"name": "n", "sum": {"dataPoints": [{"timeUnixNano": TIME, "asDouble": "NaN"}],
         "aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", "isMonotonic": true}},
        {"name": "wait", "histogram": {"dataPoints": [bucket], "aggregationTemporality": 2}},
    ]);
    json!({"resourceMetrics": [{
        "schemaUrl": "x", "resource": {"attributes": [attribute]},
        "scopeMetrics": [{"scope": null, "metrics": metrics}]
    }]})
}

#[test]
fn json_is_read_as_protobuf_is() {
    let message = from_json(example().to_string().as_bytes()).unwrap();
    assert_eq!(
        all(&message),
        [
            format!("1 {TIME} temp_celsius{{job=\"press\",n=\"5\"}} -3Cel"),
            format!("2 {TIME} n_total{{job=\"press\"}} 7ff8000000000000"),
            format!(
                "3 {TIME} wait_count{{job=\"press\"}} 3u wait_sum{{job=\"press\"}} 1.0 \
                 wait_bucket{{job=\"press\",le=\"0.5\"}} 1u wait_bucket{{job=\"press\",le=\"+Inf\"}} 3u"
            ),
        ]
    );
    // Of all digits, not of the first fifteen; and an integer is exact.
    let of = |value: &str| {
        let point = format!("{{\"timeUnixNano\":\"{TIME}\",{value}}}");
        let metric = format!("{{\"name\":\"g\",\"gauge\":{{\"dataPoints\":[{point}]}}}}");
        let scope = format!("{{\"scopeMetrics\":[{{\"metrics\":[{metric}]}}]}}");
        from_json(format!("{{\"resourceMetrics\":[{scope}]}}").as_bytes())
            .map(|message| all(&message))
    };
    for (value, expected) in [
        ("\"asDouble\":0.9999999999999999", "0.9999999999999999"),
        ("\"asDouble\":1.7976931348623157e308", "1.7976931348623157e308"),
        ("\"asInt\":9007199254740992.0", "9007199254740992"),
        ("\"asInt\":9007199254740993", "9007199254740993"),
    ] {
        assert_eq!(of(value), Ok(vec![format!("1 {TIME} g {expected}")]));
    }
    for value in ["\"asInt\":9007199254740993.5", "\"asInt\":9007199254740994.0"] {
        assert!(of(value).is_err(), "{value}");
    }
    let counts = read::<()>(&message, |_, _| Ok(())).unwrap().unwrap();
    assert_eq!(counts, Counts { points: 3, exemplars: 1, ..Counts::default() });
    assert_eq!(from_json(b"{}"), Ok(Vec::new()));
    assert_eq!(from_json(br#"{"resourceMetrics":null,"other":[{}]}"#), Ok(Vec::new()));
}

#[test]
fn json_that_says_no_request_is_refused_with_its_place() {
    let point = |point: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"gauge":{{"dataPoints":[{point}]}}}}]}}]}}]}}"#
        )
    };
    let deep = point(&format!(
        r#"{{"attributes":[{{"value":{}"#,
        r#"{"arrayValue":{"values":["#.repeat(40)
    ));
    for (text, expected) in [
        ("".to_owned(), "EOF while parsing a value"),
        ("[]".to_owned(), "expected an object, ExportMetricsServiceRequest"),
        ("{} x".to_owned(), "trailing characters"),
        (
            r#"{"resource_metrics":[]}"#.to_owned(),
            "expected the key resourceMetrics, found resource_metrics",
        ),
        (r#"{"resourceMetrics":[null]}"#.to_owned(), "expected an object, ResourceMetrics"),
        (r#"{"resourceMetrics":{}}"#.to_owned(), "expected an array of objects in resourceMetrics"),
        (
            point(r#"{"timeUnixNano":"soon"}"#),
            "expected an integer of 64 bits without a sign in timeUnixNano, found \"soon\"",
        ),
        (point(r#"{"timeUnixNano":-1}"#), "found -1"),
        (point(r#"{"timeUnixNano":1.5}"#), "found 1.5"),
        (point(r#"{"asInt":9223372036854775808}"#), "found 9223372036854775808"),
        (point(r#"{"asDouble":"1e999"}"#), "found \"1e999\""),
        (point(r#"{"flags":4294967296}"#), "expected an integer of 32 bits in flags"),
        (point(r#"{"attributes":[{"key":true}]}"#), "expected a text in key, found true"),
        (deep, "expected at most 48 levels"),
    ] {
        let said = from_json(text.as_bytes()).unwrap_err();
        assert!(said.contains(expected), "{said}: {expected}");
    }
    let list = |list: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"histogram":{{"dataPoints":[{{"bucketCounts":{list}}}]}}}}]}}]}}]}}"#
        )
    };
    for bad in ["5", "[null]", "[[1]]", "[true]", "\"1\"", "{}"] {
        assert!(from_json(list(bad).as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn json_takes_four_times_its_bytes_at_most() {
    let point = |inner: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"histogram":{{"dataPoints":[{inner}]}}}}]}}]}}]}}"#
        )
    };
    let zeros = vec!["0"; 10_000].join(",");
    for text in [
        point(&format!(r#"{{"bucketCounts":[{zeros}],"explicitBounds":[{zeros}]}}"#)),
        point(&vec!["{}"; 10_000].join(",")),
        point(&vec![r#"{"sum":0}"#; 10_000].join(",")),
        format!(r#"{{"resourceMetrics":[{}]}}"#, vec!["{}"; 10_000].join(",")),
        example().to_string(),
        "{}".to_owned(),
    ] {
        let made = from_json(text.as_bytes()).unwrap();
        assert!(made.capacity() <= text.len() * JSON_FACTOR, "{} {}", made.capacity(), text.len());
    }
}

#[test]
fn any_bytes_give_points_or_an_error() {
    let message = from_json(example().to_string().as_bytes()).unwrap();
    for cut in 0..message.len() {
        let _ = all(&message[..cut]);
    }
    for place in 0..message.len() {
        for bit in 0..8 {
            let mut changed = message.clone();
            changed[place] ^= 1 << bit;
            let _ = all(&changed);
        }
    }
    assert_eq!(
        all(b"\x0a\xff"),
        ["expected an ExportMetricsServiceRequest in protobuf, found bytes that are no \
          ExportMetricsServiceRequest"]
    );
    let not_utf8 = within(1, &[within(2, &[within(2, &[vec![0x0a, 1, 0xff]])])]);
    assert!(all(&not_utf8)[0].ends_with("no Metric"), "{:?}", all(&not_utf8));
    let mut deep = string(1, "x");
    for _ in 0..60 {
        deep = within(5, &[within(1, &[deep])]);
    }
    let point = within(1, &[attribute(7, "a", deep)]);
    let message = request(&[metric("g", "", within(5, &[point]))]);
    assert!(
        all(&message)[0].starts_with("expected messages at most 48 deep"),
        "{:?}",
        all(&message)
    );
    assert!(all(b"").is_empty());
}

/// Of one attribute in a gauge's point, in JSON.
fn with_attribute(value: serde_json::Value) -> serde_json::Value {
    let point = json!({"timeUnixNano": TIME.to_string(), "asDouble": 1.0,
        "attributes": [{"key": "a", "value": value}]});
    json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [
        {"name": "g", "gauge": {"dataPoints": [point]}}]}]}]})
}

#[test]
fn bytes_in_json_are_those_of_protobuf_in_whatever_form() {
    for text in ["+/8=", "+/8", "-_8=", "-_8", "+/9"] {
        let message = from_json(with_attribute(json!({"bytesValue": text})).to_string().as_bytes());
        assert_eq!(all(&message.unwrap()), [format!("1 {TIME} g{{a=\"+/8=\"}} 1.0")], "{text}");
    }
    for text in ["+", "+/8=a", "+/8===", "\u{e4}\u{e4}"] {
        let said = from_json(with_attribute(json!({"bytesValue": text})).to_string().as_bytes());
        assert!(said.unwrap_err().contains("expected bytes in base64 in bytesValue"), "{text}");
    }
}

#[test]
fn an_unknown_temporality_costs_its_points_in_both_forms() {
    let point = json!({"timeUnixNano": TIME.to_string(), "asDouble": 1.0});
    let in_json = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [
        {"name": "s", "sum": {"aggregationTemporality": 7, "dataPoints": [point]}},
        {"name": "g", "gauge": {"dataPoints": [point]}}]}]}]});
    let of_json = all(&from_json(in_json.to_string().as_bytes()).unwrap());
    let point = || within(1, &[fixed(3, TIME), double(4, 1.0)]);
    let metrics = [
        metric("s", "", within(7, &[point(), varint(2, 7)])),
        metric("g", "", within(5, &[point()])),
    ];
    let of_protobuf = all(&within(1, &[within(2, &metrics)]));
    assert_eq!(of_json, of_protobuf);
    assert!(of_json[0].contains("expected cumulative values"), "{of_json:?}");
    assert_eq!(of_json[1], format!("2 {TIME} g 1.0"));
}

#[test]
fn a_resource_is_named_once_and_an_empty_name_leaves_the_namespace() {
    let of = |attributes: &[(&str, &str)]| {
        let attributes: Vec<Vec<u8>> =
            attributes.iter().map(|(key, value)| attribute(1, key, string(1, value))).collect();
        let point = within(1, &[fixed(3, TIME), double(4, 1.0)]);
        let metrics = within(2, &[metric("g", "", within(5, &[point]))]);
        all(&within(1, &[within(1, &attributes), metrics])).remove(0)
    };
    let (name, namespace) = ("service.name", "service.namespace");
    assert_eq!(
        of(&[(name, ""), (namespace, "plant")]),
        format!("1 {TIME} g{{job=\"plant/\"}} 1.0")
    );
    assert_eq!(of(&[(name, "a"), (namespace, "")]), format!("1 {TIME} g{{job=\"a\"}} 1.0"));
    assert_eq!(of(&[(name, "")]), format!("1 {TIME} g 1.0"));
    let twice = of(&[(name, "a"), (name, "b")]);
    assert!(twice.contains("of a resource once each, found one of them twice"), "{twice}");
}

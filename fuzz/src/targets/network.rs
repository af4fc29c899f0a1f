//! What comes over the network: requests of HTTP with chunked bodies, messages of remote write and the
//! blocks in which they are packed, requests of OTLP; and the file that says who may send them.

use crate::Target;
use baro_net::chunked::{Chunks, Next};
use baro_net::head;
use baro_net::tokens::{Access, Tokens};
use baro_sources::otlp;
use baro_sources::remote_write::{Series, Version, read};

#[allow(dead_code, reason = "the listener uses all of it")]
#[path = "../../../crates/listen/src/prometheus/unpack.rs"]
mod unpack;

pub(crate) const HTTP: Target = Target {
    name: "http",
    fuzz_one: http,
    seeds: || {
        let begin = "POST /write?db=a%20b&u=x HTTP/1.1\r\nHost: a\r\n";
        let ends = [
            "Authorization: Basic dXNlcjpiYXJvXzE=\r\nContent-Length: 5\r\n\r\nm v=1",
            "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5;a=b\r\nm v=1\r\n0\r\nX: y\r\n\r\n",
        ];
        ends.map(|end| format!("{begin}{end}").into_bytes()).to_vec()
    },
    fix_up: |_| {},
};

pub(crate) const REMOTE_WRITE: Target = Target {
    name: "remote_write",
    fuzz_one: remote_write,
    seeds: || vec![ONE_SEED.to_vec(), TWO_SEED.to_vec()],
    fix_up: |_| {},
};

pub(crate) const OTLP: Target = Target {
    name: "otlp",
    fuzz_one: one_otlp,
    seeds: || {
        let made = OTLP_SEEDS.map(|text| otlp::from_json(text.as_bytes()).unwrap_or_default());
        made.into_iter().chain(OTLP_SEEDS.map(|text| text.as_bytes().to_vec())).collect()
    },
    fix_up: |_| {},
};

pub(crate) const SNAPPY: Target = Target {
    name: "snappy",
    fuzz_one: snappy,
    seeds: || {
        let long = b"abcd".repeat(500);
        [ONE_SEED, &long]
            .map(|bytes| snap::raw::Encoder::new().compress_vec(bytes).unwrap_or_default())
            .to_vec()
    },
    fix_up: |_| {},
};

pub(crate) const TOKENS: Target = Target {
    name: "tokens",
    fuzz_one: tokens,
    seeds: || {
        let mut tokens = Tokens::default();
        for (number, access) in Access::ALL.into_iter().enumerate() {
            tokens.add([number as u8; 32], access, ("site_", "a name"), 1_700_000_000);
        }
        vec![tokens.text().into_bytes(), b"# none\n\n".to_vec()]
    },
    fix_up: |_| {},
};

/// Bytes that a block may have unpacked.
const UNPACKED_BYTES_MAX: usize = 4 << 20;

/// `up{job="a"}` with one sample.
const ONE_SEED: &[u8] = b"\x0a\x2b\x0a\x0e\x0a\x08__name__\x12\x02up\x0a\x08\x0a\x03job\x12\x01a\
                          \x12\x0f\x09\0\0\0\0\0\0\xf8\x3f\x10\x80\x80\x80\x80\x01";
/// The same with its strings before it.
const TWO_SEED: &[u8] =
    b"\x22\0\x22\x08__name__\x22\x02up\x22\x03job\x22\x01a\x2a\x13\x0a\x04\x01\x02\x03\x04\
                          \x12\x0b\x09\0\0\0\0\0\0\xf8\x3f\x10\x05";

/// A point of each form, with a resource; attributes of each kind.
const OTLP_SEEDS: [&str; 3] = [
    r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}},
    {"key":"os","value":{"stringValue":"b"}}]},"scopeMetrics":[{"metrics":[{"name":"a.b","unit":"By/s","gauge":
    {"dataPoints":[{"timeUnixNano":"1700000000000000000","asInt":"-3","flags":1,"exemplars":[{}]}]}}]}]}]}"#,
    r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"h","histogram":{"aggregationTemporality":2,
    "dataPoints":[{"timeUnixNano":1700000000000000000,"count":3,"sum":1.5,"bucketCounts":[1,"2"],
    "explicitBounds":[0.5],"attributes":[{"key":"le","value":{"intValue":1}}]}]}},{"name":"s","summary":
    {"dataPoints":[{"timeUnixNano":1,"count":1,"quantileValues":[{"quantile":0.5,"value":"NaN"}]}]}}]}]}]}"#,
    r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"n","sum":{"isMonotonic":true,
    "aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE","dataPoints":[{"asDouble":1,
    "timeUnixNano":1.7e18,"attributes":[{"key":"_a","value":{"arrayValue":{"values":[{"boolValue":true},
    {"doubleValue":1}]}}},{"key":"1","value":{"kvlistValue":{"values":[{"key":"a","value":{"bytesValue":"YQ=="}}]}}}
    ]}]}},{"name":"e","exponentialHistogram":{"dataPoints":[{}]}}]}]}]}"#,
];

/// A head ends in the same place wherever it is cut, and a chunked body is the same.
fn http(bytes: &[u8]) {
    let whole = head::end(bytes, 0);
    let half = bytes.len() / 2;
    if let Ok(None) = head::end(&bytes[..half], 0) {
        assert_eq!(head::end(bytes, half), whole, "a head ends where it was cut");
    }
    let Ok(Some(length)) = whole else { return };
    if let Ok(request) = head::parse(&bytes[..length], 64) {
        let _ = baro_net::tokens::presented(&request);
    }
    let rest = &bytes[length..];
    let once = chunked(&[rest]);
    let (first, second) = rest.split_at(rest.len() / 2);
    assert_eq!(chunked(&[first, second]), once, "a body depends on how it is cut");
}

fn chunked(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), &'static str> {
    let (mut chunks, mut body) = (Chunks::default(), Vec::new());
    for piece in pieces {
        let mut left = *piece;
        loop {
            match chunks.next(left)? {
                Next::Skip(count) => left = &left[count..],
                Next::Data(count) => {
                    body.extend_from_slice(&left[..count]);
                    left = &left[count..];
                }
                Next::More => break,
                Next::End => return Ok((body, true)),
            }
        }
    }
    Ok((body, false))
}

/// What is unpacked is as long as was said.
fn snappy(bytes: &[u8]) {
    let Ok(said) = unpack::unpacked_bytes(bytes, UNPACKED_BYTES_MAX) else { return };
    assert!(said <= UNPACKED_BYTES_MAX && said <= bytes.len() * 32);
    assert!(
        unpack::unpack(bytes).is_ok_and(|found| found.len() == said)
            || unpack::unpack(bytes).is_err()
    );
}

/// A file that is taken reads back as it was.
fn tokens(bytes: &[u8]) {
    match Tokens::parse(&String::from_utf8_lossy(bytes)) {
        Ok(tokens) => {
            let again = Tokens::parse(&tokens.text());
            assert!(again.is_ok_and(|again| again == tokens), "it reads back");
            assert!(tokens.find("baro_0").is_none(), "nobody has this secret");
        }
        Err(fault) => assert!(fault.line > 0 && !fault.to_string().is_empty()),
    }
}

/// Both versions; names are as a declaration of them is written.
fn remote_write(bytes: &[u8]) {
    for version in [Version::One, Version::Two] {
        let mut names = baro_ondisk::NameParser::new();
        let _ = read::<()>(bytes, version, |_, series| {
            if let Ok(series) = series {
                let _ = series.samples().count();
                let Series { name, .. } = series;
                let stored = names.canonical(name);
                assert_eq!(
                    baro_ondisk::written_name(stored),
                    **name,
                    "a name is written otherwise"
                );
            }
            Ok(())
        });
    }
}

/// Names are canonical, and JSON becomes a request that is read.
fn one_otlp(bytes: &[u8]) {
    read_otlp(bytes).ok();
    if let Ok(message) = otlp::from_json(bytes) {
        assert!(message.len() <= bytes.len() * otlp::JSON_FACTOR);
        assert_eq!(read_otlp(&message), Ok(()), "what was made of JSON is no request");
    }
}

fn read_otlp(bytes: &[u8]) -> Result<(), otlp::Unreadable> {
    let mut names = baro_ondisk::NameParser::new();
    let mut last = 0;
    let read = otlp::read::<()>(bytes, |number, point| {
        assert_eq!(number, last + 1);
        last = number;
        match point {
            Ok(point) => {
                assert!(point.samples().count() > 0);
                for sample in point.samples() {
                    assert_eq!(names.canonical(sample.name), sample.name, "another canonical form");
                }
            }
            Err(fault) => assert!(!fault.to_string().is_empty()),
        }
        Ok(())
    });
    let counts = read?.unwrap_or_default();
    assert_eq!(counts.points, last);
    Ok(())
}

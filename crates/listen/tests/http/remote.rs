//! Remote write of Prometheus, both versions, byte by byte.

use crate::client::{Answer, Client};
use crate::scene::Scene;

fn field(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    varint(&mut out, inner.len() as u64);
    out.extend_from_slice(inner);
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn sample(time_ms: i64, value: f64) -> Vec<u8> {
    let mut inner = vec![1 << 3 | 1];
    inner.extend(value.to_bits().to_le_bytes());
    inner.push(2 << 3);
    varint(&mut inner, time_ms.cast_unsigned());
    field(2, &inner)
}

fn label(name: &str, value: &str) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(2, value.as_bytes())].concat())
}

fn send(client: &mut Client, kind: &str, message: &[u8]) -> Answer {
    let packed = snap::raw::Encoder::new().compress_vec(message).unwrap();
    let headers = format!("Content-Type: {kind}\r\nContent-Encoding: snappy\r\n");
    client.ask("POST /api/v1/write", &headers, packed)
}

const ONE: &str = "application/x-protobuf";
const TWO: &str = "application/x-protobuf;proto=io.prometheus.write.v2.Request";
const TIME_MS: i64 = 1_700_000_000_123;

#[test]
fn both_versions_are_written_and_what_has_no_place_is_counted() {
    let Some(mut scene) = Scene::new("remote", &[]) else { return };
    let mut client = scene.client();
    let stale = f64::from_bits(0x7ff0_0000_0000_0002);
    let series = [
        label("__name__", "up"),
        label("job", "x"),
        sample(TIME_MS, 1.0),
        sample(TIME_MS + 1, stale),
    ];
    let first = send(&mut client, ONE, &field(1, &series.concat()));
    assert_eq!(
        (first.status, first.header("x-prometheus-remote-write-samples-written")),
        (204, Some("2"))
    );
    let symbols = ["", "__name__", "up", "job", "y"].map(|text| field(4, text.as_bytes()));
    let series = [field(1, &[1, 2, 3, 4]), sample(TIME_MS, 2.0)];
    let message = [symbols.concat(), field(5, &series.concat())].concat();
    let second = send(&mut client, TWO, &message);
    assert_eq!(
        (second.status, second.header("x-prometheus-remote-write-samples-written")),
        (204, Some("1"))
    );
    // A histogram and a series without a name beside a good one.
    let histogram = field(5, &[field(1, &[1, 2, 3, 4]), field(3, b"")].concat());
    let nameless = field(5, &[field(1, &[3, 4]), sample(TIME_MS, 9.0)].concat());
    let good = field(5, &[field(1, &[1, 2, 3, 4]), sample(TIME_MS + 5, 3.0)].concat());
    let message = [symbols.concat(), histogram, nameless, good].concat();
    let part = send(&mut client, TWO, &message);
    assert_eq!(
        (part.status, part.header("x-prometheus-remote-write-samples-written")),
        (400, Some("1"))
    );
    assert!(
        part.body.contains("series 2: expected a label __name__")
            && part.body.contains("1 native histograms"),
        "{part:?}"
    );

    // Seconds would be in 1970.
    let seconds = [label("__name__", "up"), label("job", "x"), sample(TIME_MS / 1000, 9.0)];
    let early = send(&mut client, ONE, &field(1, &seconds.concat()));
    assert_eq!(early.status, 400);
    assert!(early.body.contains("it is one in s, and the sender has to send milli"), "{early:?}");

    assert_eq!(
        client
            .ask(
                "POST /api/v1/write",
                &format!("Content-Type: {ONE}\r\nContent-Encoding: zstd\r\n"),
                "x"
            )
            .status,
        415
    );
    assert_eq!(send(&mut client, "application/json", b"{}").status, 415);
    assert_eq!(send(&mut client, ONE, b"\xff\xff").status, 400);
    // A block that says it is 4 GiB, in a few bytes.
    let headers = format!("Content-Type: {ONE}\r\nContent-Encoding: snappy\r\n");
    assert_eq!(client.ask("POST /api/v1/write", &headers, b"\xf0\xff\xff\xff\x0f\0\0").status, 413);
    assert_eq!(client.ask("POST /api/v1/write", &headers, b"\x80\x80\x80\x10\0\0").status, 400);
    scene.end_recorder();
    let found = scene.samples();
    assert_eq!(found.len(), 2);
    let ns = |ms: i64| ms * 1_000_000;
    let of_x = [(ns(TIME_MS), "1.0".to_owned()), (ns(TIME_MS + 1), "NaN".to_owned())];
    assert_eq!(found["up{job=\"x\"}"], of_x);
    let of_y = [(ns(TIME_MS), "2.0".to_owned()), (ns(TIME_MS + 5), "3.0".to_owned())];
    assert_eq!(found["up{job=\"y\"}"], of_y);
}

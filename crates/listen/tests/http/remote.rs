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

fn series(name: &str, samples: &[(i64, f64)]) -> Vec<u8> {
    let samples: Vec<u8> =
        samples.iter().flat_map(|(time_ms, value)| sample(*time_ms, *value)).collect();
    field(1, &[label("__name__", name), samples].concat())
}

#[test]
fn a_client_that_promises_much_and_sends_little_takes_little() {
    let Some(mut scene) = Scene::new("remote-slow", &["--stall", "60s"]) else { return };
    let head = format!(
        "POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: {ONE}\r\n\
         Content-Encoding: snappy\r\nContent-Length: 16777216\r\n\r\n"
    );
    let slow: Vec<Client> = (0..8)
        .map(|_| {
            let mut client = scene.client();
            client.send(format!("{head}begin"));
            client
        })
        .collect();
    // All of them have the room for the begin of a body.
    let taken = "\nbaro_listen_in_flight_bytes 131072\n";
    for _ in 0..400 {
        if scene.client().get("/metrics").body.contains(taken) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let told = send(&mut scene.client(), ONE, &series("up", &[(TIME_MS, 1.0)]));
    assert_eq!(told.status, 204, "{told:?}");
    assert!(scene.client().get("/metrics").body.contains(taken));
    drop(slow);
    scene.end_recorder();
    assert_eq!(scene.of("up").len(), 1);
}

#[test]
fn what_never_fits_is_told_so_and_what_fits_is_taken() {
    let options = ["--in-flight", "1M"];
    let Some(mut scene) = Scene::new("remote-large", &options) else { return };
    // A field that nobody knows, of so many bytes.
    let beside = |bytes: usize| field(9, &vec![0; bytes]);
    let up = |at: i64| series("up", &[(TIME_MS + at, 1.0)]);
    let told = send(&mut scene.client(), ONE, &up(0));
    assert_eq!(told.status, 204, "{told:?}");
    let many: Vec<(i64, f64)> = (1..5_000).map(|at| (TIME_MS + at, 1.0)).collect();
    let told = send(&mut scene.client(), ONE, &series("up", &many));
    assert_eq!(told.status, 204, "{told:?}");
    let told = send(&mut scene.client(), ONE, &[up(5_000), beside(2 << 20)].concat());
    assert_eq!((told.status, told.header("retry-after")), (413, None));
    assert!(told.body.contains("1048576 bytes") && told.body.contains("--in-flight"), "{told:?}");
    // Another interface has the same memory.
    let otlp = |body: String| {
        scene.client().ask("POST /v1/metrics", "Content-Type: application/json\r\n", body)
    };
    let told = otlp("{\"resourceMetrics\":[]}".to_owned());
    assert_eq!(told.status, 200, "{told:?}");
    let told = otlp(" ".repeat(200_000));
    assert_eq!((told.status, told.header("retry-after")), (413, None));
    assert!(told.body.contains("(an eighth of --in-flight)"), "{told:?}");

    // With what there is by default.
    scene.kill_listener();
    scene.listen(&[]);
    let told = send(&mut scene.client(), ONE, &[up(6_000), beside(40 << 20)].concat());
    assert_eq!(told.status, 204, "{told:?}");
    assert!(scene.client().get("/metrics").body.contains("\nbaro_listen_in_flight_bytes 0\n"));
    scene.end_recorder();
    assert_eq!(scene.of("up").len(), 5_001);
}

#[test]
fn refused_series_take_no_memory() {
    let Some(mut scene) = Scene::new("remote-refused", &[]) else { return };
    let mut client = scene.client();
    assert_eq!(send(&mut client, ONE, &series("up", &[(TIME_MS, 1.0)])).status, 204);
    let before_kib = scene.listener_peak_kib();
    let count = 4 << 20;
    let message = [field(1, b"").repeat(count), series("up", &[(TIME_MS + 1, 1.0)])].concat();
    let told = send(&mut client, ONE, &message);
    assert_eq!(told.status, 400);
    assert!(told.body.contains(&format!("{} series more were refused", count - 10)), "{told:?}");
    // The message has 8 MiB, its samples as good as none.
    let more_kib = scene.listener_peak_kib().saturating_sub(before_kib);
    assert!(more_kib < 20 << 10, "{more_kib} KiB more");
    scene.end_recorder();
    assert_eq!(scene.of("up").len(), 2);
}

//! What hostile and broken clients meet: nobody gets in, nobody stops others, and memory has bounds.

use crate::client::Client;
use crate::scene::Scene;
use flate2::write::GzEncoder;
use std::io::Write;

const TIME: i64 = 1_700_000_000_000_000_000;

/// What a request that was sent as it stands is answered, and that nothing follows.
fn refused(scene: &Scene, bytes: &str) -> u16 {
    let mut client = scene.client();
    client.send(bytes);
    let status = client.answer().map_or(0, |answer| answer.status);
    assert_eq!(client.answer(), None, "the connection goes on behind {bytes:?}");
    status
}

#[test]
fn a_request_that_can_be_read_in_two_ways_ends_its_connection() {
    let Some(mut scene) = Scene::new("smuggling", &[]) else { return };
    let inner = "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nsmuggled v=1";
    let (head, chunked) =
        ("POST /write HTTP/1.1\r\nHost: localhost\r\n", "Transfer-Encoding: chunked\r\n");
    for request in [
        format!("{head}Content-Length: 5\r\n{chunked}\r\n0\r\n\r\n{inner}"),
        format!("{head}{chunked}Content-Length: 5\r\n\r\n0\r\n\r\n{inner}"),
        format!("{head}Content-Length: 0\r\nContent-Length: 70\r\n\r\n{inner}"),
        format!("{head}Content-Length: 0, 70\r\n\r\n{inner}"),
        format!("{head}Content-Length: +0\r\n\r\n{inner}"),
        format!("{head}{chunked}{chunked}\r\n0\r\n\r\n{inner}"),
        format!("{head}X: y\nContent-Length: 0\r\n\r\n{inner}"),
        format!("{head}X: y\r\n Content-Length: 0\r\n\r\n{inner}"),
        format!("{head}Content-Length : 0\r\n\r\n{inner}"),
        format!("{head}Host: b\r\n\r\n{inner}"),
        // The size of a chunk that others read otherwise, and bytes behind a chunk.
        format!("{head}{chunked}\r\n0x0\r\n\r\n{inner}"),
        format!("{head}{chunked}\r\n1\r\nab\r\n0\r\n\r\n{inner}"),
        format!("{head}{chunked}\r\n1\nab\r\n0\r\n\r\n{inner}"),
    ] {
        assert_eq!(refused(&scene, &request), 400, "{request:?}");
    }
    assert_eq!(refused(&scene, &format!("{head}Transfer-Encoding: gzip\r\n\r\n{inner}")), 501);
    assert_eq!(
        refused(
            &scene,
            &format!("GET /ping HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000))
        ),
        431
    );
    assert_eq!(
        refused(
            &scene,
            &format!("GET /ping HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(80))
        ),
        431
    );
    assert_eq!(refused(&scene, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    assert_eq!(refused(&scene, &format!("{head}Content-Length: 99999999999\r\n\r\n")), 413);
    // Two requests one behind the other are two requests.
    let mut client = scene.client();
    client.send(format!(
        "{head}Content-Length: 24\r\n\r\ngood v=1 {}{inner}",
        &TIME.to_string()[..15]
    ));
    assert_eq!(client.answer().unwrap().status, 204);
    assert_eq!(client.answer().unwrap().status, 204);
    scene.end_recorder();
    let names: Vec<String> = scene.samples().into_keys().collect();
    assert_eq!(names, ["good_v", "smuggled_v"]);
}

#[test]
fn a_gzip_bomb_and_long_lines_take_no_memory() {
    let Some(scene) = Scene::new("bomb", &["--body", "64M"]) else { return };
    let mut client = scene.client();
    assert_eq!(client.post("/write", format!("m v=1 {TIME}")).status, 204);
    let before_kib = scene.listener_peak_kib();
    // 80 MiB of one line, and of comments, in a few hundred KiB.
    for unit in [&b"x"[..], b"#\n"] {
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::best());
        let piece = unit.repeat((1 << 20) / unit.len());
        (0..80).for_each(|_| packed.write_all(&piece).unwrap());
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 1 << 20);
        let answer = client.ask("POST /write", "Content-Encoding: gzip\r\n", &packed);
        assert_eq!(answer.status, 413, "{answer:?}");
        client = scene.client();
    }
    // What is cut off, and what is no gzip.
    assert_eq!(
        client
            .ask(
                "POST /write",
                "Content-Encoding: gzip\r\n",
                &b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc"[..]
            )
            .status,
        400
    );
    assert_eq!(
        scene.client().ask("POST /write", "Content-Encoding: gzip\r\n", "m v=1").status,
        400
    );
    let more_kib = scene.listener_peak_kib().saturating_sub(before_kib);
    assert!(more_kib < 16 << 10, "{more_kib} KiB more");
    assert!(scene.client().get("/metrics").body.contains("\nbaro_listen_in_flight_bytes 0\n"));
}

#[test]
fn slow_clients_do_not_stop_others_and_too_many_are_told() {
    let Some(mut scene) =
        Scene::new("slow", &["--connections", "40", "--connections-per-address", "40"])
    else {
        return;
    };
    // Half a head, half a body, a chunk without an end: all of them wait.
    let begin = "POST /write HTTP/1.1\r\nHost: localhost\r\n";
    let mut slow: Vec<Client> = (0..36).map(|_| scene.client()).collect();
    for (index, client) in slow.iter_mut().enumerate() {
        match index % 3 {
            0 => client.send(begin),
            1 => client.send(format!("{begin}Content-Length: 100\r\n\r\nslow v=1")),
            _ => client.send(format!("{begin}Transfer-Encoding: chunked\r\n\r\nff\r\nslow v=1")),
        }
    }
    let mut quick = scene.client();
    for at in 0..20 {
        assert_eq!(quick.post("/write", format!("quick v={at} {}", TIME + at)).status, 204);
    }
    // Idle ones give their places to new ones, and then there are none.
    let idle: Vec<Client> = (0..3)
        .map(|_| {
            let mut client = scene.client();
            assert_eq!(client.get("/ping").status, 204);
            client
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut instead = scene.client();
    assert_eq!(instead.get("/ping").status, 204);
    let mut busy: Vec<Client> = (0..3)
        .map(|_| {
            let mut client = scene.client();
            client.send(begin);
            client
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    instead.send(begin);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let told = scene.client().answer().expect("an answer");
    assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
    // One of the slow ones goes on, and is served.
    let last = &mut slow[1];
    last.send(format!(" {TIME}\n{}", "#".repeat(100 - 8 - 20 - 1)));
    assert_eq!(last.answer().unwrap().status, 204);
    busy.clear();
    drop((idle, instead));
    scene.end_recorder();
    let found = scene.samples();
    assert_eq!((found["quick_v"].len(), found["slow_v"].len(), found.len()), (20, 1, 2));
}

#[test]
fn one_address_takes_half_of_the_places_and_slow_clients_give_them_back() {
    let Ok(other) = std::net::TcpListener::bind("[::1]:0") else {
        println!("skipped: no IPv6");
        return;
    };
    let free = other.local_addr().unwrap();
    drop(other);
    let (other, http) = (free, free.to_string());
    let options = ["--connections", "8", "--stall", "2s", "--http", &http];
    let Some(mut scene) = Scene::new("one-address", &options) else { return };
    let line = |value: u8| format!("m v={value} {TIME}");
    // What the scene has asked is over.
    let mut by_other = Client::to(other);
    let open = |client: &mut Client, count: usize| {
        let expected = format!("\nbaro_listen_connections {count}\n");
        for _ in 0..1_000 {
            if client.get("/metrics").body.contains(&expected) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("expected {count} connections: {}", client.get("/metrics").body);
    };
    open(&mut by_other, 1);
    let begin = "POST /write HTTP/1.1\r\nHost: localhost\r\n";
    let mut slow: Vec<Client> = (0..4).map(|_| scene.client()).collect();
    slow[0].send(begin);
    slow[1..].iter_mut().for_each(|client| {
        client.send(format!("{begin}Content-Length: 100\r\n\r\nslow v=1"));
    });
    open(&mut by_other, 5);
    let told = scene.client().answer().expect("an answer");
    assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
    assert!(told.body.contains("for one address"), "{told:?}");
    // Another address has its own.
    assert_eq!(by_other.post("/write", line(1)).status, 204);
    let metrics = by_other.get("/metrics").body;
    for line in [
        "baro_listen_connections_of_one_address_refused_total 1",
        "baro_listen_connections_of_one_address_max 4",
        "baro_listen_stall_milliseconds_max 2000",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in:\n{metrics}");
    }
    for client in &mut slow {
        // Not 408: Telegraf and Prometheus would drop the samples.
        let told = client.answer().expect("an answer");
        assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
    }
    drop(slow);
    open(&mut by_other, 1);
    assert_eq!(scene.client().post("/write", line(2)).status, 204);
    scene.end_recorder();
    assert_eq!(scene.of("m_v"), [(TIME, "2.0".to_owned())]);
}

/// What came fast at first buys no time.
#[test]
fn who_sends_slowly_gives_the_memory_back_to_others() {
    let options = ["--in-flight", "16K", "--stall", "1s"];
    let Some(mut scene) = Scene::new("dribble", &options) else { return };
    let begin = "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    let mut slow: Vec<Client> = (0..4).map(|_| scene.client()).collect();
    for client in &mut slow {
        client.send(format!("{begin}slow v=1 {}", "1".repeat(3_900)));
    }
    let mut other = scene.client();
    let mut last = 0;
    for _ in 0..20 {
        last = other.post("/write", format!("m v=1 {TIME}")).status;
        if last == 204 {
            break;
        }
        slow.iter_mut().for_each(|client| client.send_if_taken("1"));
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    assert_eq!(last, 204);
    for client in &mut slow {
        // What was still sent to a closed connection may take the answer away.
        assert!(client.answer().is_none_or(|told| told.status == 503));
    }
    scene.end_recorder();
}

/// A page may send this from its visitor's browser without asking anybody, though it reads no answer.
#[test]
fn a_foreign_web_page_writes_nothing() {
    let Some(mut scene) = Scene::new("page", &[]) else { return };
    let line = |value: u8| format!("m v={value} {TIME}");
    let post = |headers: &str, target: &str, body: &str| {
        let mut client = scene.client();
        let length = body.len();
        client.send(format!("POST {target} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n"));
        client.send(body);
        client.answer().expect("an answer")
    };
    for headers in [
        "Host: 127.0.0.1:8086\r\nOrigin: https://evil.example\r\n",
        "Host: 127.0.0.1:8086\r\nOrigin: null\r\n",
        "Host: 127.0.0.1:8086\r\nOrigin: http://evil.example:8086\r\n",
        "Host: evil.example:8086\r\nOrigin: http://evil.example:8086\r\n",
        "Host: evil.example\r\n",
    ] {
        for target in [
            "/write",
            "/api/v2/write",
            "/api/v3/write_lp",
            "/api/v1/write",
            "/v1/metrics",
            "/query",
        ] {
            let told = post(headers, target, &line(1));
            assert_eq!(told.status, 403, "{headers} {target} {told:?}");
        }
        let told = post(headers, "/write", &line(1));
        assert!(told.body.contains("--require-token"), "{told:?}");
    }
    for (value, headers) in [
        (2, "Host: 127.0.0.1:8086\r\n"),
        (3, "Host: [::1]:8086\r\n"),
        (4, "Host: localhost\r\nOrigin: http://localhost:3000\r\n"),
    ] {
        assert_eq!(post(headers, "/write", &line(value)).status, 204, "{headers}");
    }
    scene.end_recorder();
    assert_eq!(scene.of("m_v"), [(TIME, "4.0".to_owned())]);
}

#[test]
fn more_parameters_than_there_may_be_are_refused_by_the_listener() {
    let Some(mut scene) = Scene::new("parameters", &[]) else { return };
    let many = "a&".repeat(2_000);
    let mut client = scene.client();
    client.send(format!("GET /ping?{many} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_eq!(client.answer().expect("an answer").status, 400);
    let told = scene.client().post("/query", &many);
    assert!(told.status == 400 && told.body.contains("at most 256 parameters"), "{told:?}");
    scene.end_recorder();
}

#[test]
fn requests_beyond_the_memory_are_told_to_come_again() {
    let Some(mut scene) = Scene::new("memory", &["--in-flight", "16K"]) else { return };
    let begin = "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n";
    let mut holding: Vec<Client> = (0..3)
        .map(|_| {
            let mut client = scene.client();
            client.send(format!("{begin}held v=1"));
            client
        })
        .collect();
    // Each has the room for the begin of a body.
    let taken =
        || scene.client().get("/metrics").body.contains("\nbaro_listen_in_flight_bytes 12288\n");
    for _ in 0..1_000 {
        if taken() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let told = scene.client().post("/write", format!("other v=1 {TIME}"));
    assert_eq!(told.status, 503);
    assert_eq!(told.header("retry-after"), Some("1"));
    assert!(told.body.contains("--in-flight"), "{told:?}");
    // A line without an end takes more than there ever is.
    let long = "x".repeat(400_000);
    holding.clear();
    let mut answer = scene.client().post("/write", &long);
    for _ in 0..200 {
        if answer.status == 413 {
            break;
        }
        answer = scene.client().post("/write", &long);
    }
    assert_eq!(answer.status, 413);
    assert!(answer.body.contains("--in-flight"), "{answer:?}");
    let metrics = scene.client().get("/metrics").body;
    assert!(metrics.contains("baro_listen_overload_total{reason=\"no_memory\"}"), "{metrics}");
    scene.end_recorder();
}

//! A success means durable: whatever is killed after it, the samples are there, and a request that is sent
//! again changes nothing.

use crate::scene::Scene;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const TIME: i64 = 1_700_000_000_000_000_000;
const STOP: i32 = 19;
const TERMINATE: i32 = 15;
const GO_ON: i32 = 18;

#[test]
fn what_was_acknowledged_is_there_after_recorder_and_listener_were_killed() {
    let Some(mut scene) = Scene::new("killed", &[]) else { return };
    let acknowledged = Mutex::new(BTreeSet::new());
    let stop = AtomicBool::new(false);
    let address = scene.address;
    std::thread::scope(|scope| {
        for client in 0..4_u64 {
            let (acknowledged, stop) = (&acknowledged, &stop);
            scope.spawn(move || {
                let mut connection = crate::client::Client::to(address);
                for at in 0.. {
                    let lines: Vec<String> = (0..20)
                        .map(|n| format!("m,c={client} v={at}.5 {}", TIME + at * 20 + n))
                        .collect();
                    let text = lines.join("\n");
                    connection.send(format!(
                        "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{text}",
                        text.len()
                    ));
                    // Another answer, or none, promises nothing.
                    match connection.answer() {
                        Some(answer) if answer.status == 204 => {
                            acknowledged
                                .lock()
                                .unwrap()
                                .extend((0..20).map(|n| (client, TIME + at * 20 + n)));
                        }
                        _ => break,
                    }
                    if stop.load(Relaxed) {
                        break;
                    }
                }
            });
        }
        while acknowledged.lock().unwrap().len() < 1_000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        scene.kill_recorder();
        // Nothing is acknowledged any more.
        scene.await_ready(503);
        let mut client = scene.client();
        let told = client.post("/write", format!("m,c=9 v=1 {TIME}"));
        assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
        scene.kill_listener();
        stop.store(true, Relaxed);
    });
    // As after a power cut: what was in memory is gone.
    std::fs::remove_dir_all(&scene.rings).unwrap();
    let acknowledged = acknowledged.into_inner().unwrap();
    scene.record();
    scene.end_recorder();
    let found = scene.samples();
    let there: BTreeSet<(u64, i64)> = (0..4)
        .flat_map(|client| {
            let rows = found.get(&format!("m_v{{c=\"{client}\"}}")).cloned().unwrap_or_default();
            rows.into_iter().map(move |(time_ns, _)| (client, time_ns))
        })
        .collect();
    let missing = acknowledged.difference(&there).count();
    assert_eq!(missing, 0, "of {} acknowledged", acknowledged.len());
    assert!(!found.contains_key("m_v{c=\"9\"}"));
}

#[test]
fn a_listener_finds_the_next_recorder_and_a_repeated_request_changes_nothing() {
    let Some(mut scene) = Scene::new("again", &[]) else { return };
    let text = format!("m v=1 {TIME}\nm v=2 {}\nn v=3 {TIME}", TIME + 1);
    let mut client = scene.client();
    assert_eq!(client.post("/write", &text).status, 204);
    scene.kill_recorder();
    scene.await_ready(503);
    scene.record();
    scene.await_ready(200);
    // Two more times, over both lanes.
    for _ in 0..4 {
        assert_eq!(client.post("/write", &text).status, 204);
    }
    scene.end_recorder();
    let sample = |time_ns: i64, value: &str| (time_ns, value.to_owned());
    assert_eq!(scene.of("m_v"), [sample(TIME, "1.0"), sample(TIME + 1, "2.0")]);
    assert_eq!(scene.of("n_v"), [sample(TIME, "3.0")]);
}

#[test]
fn a_full_ring_is_said_and_loses_nothing() {
    let Some(mut scene) = Scene::new("full", &["--wait", "100ms", "--lanes", "1"]) else { return };
    let mut client = scene.client();
    // A machine that does much beside takes longer for the first declaration than this listener waits.
    while client.post("/write", format!("m v=0 {TIME}")).status != 204 {}
    scene.signal_recorder(STOP);
    // Pushed, and nobody can say that it is durable.
    let unsure = client.post("/write", format!("m v=0 {TIME}"));
    assert_eq!((unsure.status, unsure.header("retry-after")), (503, Some("1")));
    assert!(unsure.body.contains("not durable"), "{unsure:?}");
    // The ring has 1 MiB; what is pushed and not waited for fills it.
    let request = |first: i64| {
        let lines: Vec<String> =
            (first..first + 5_000).map(|at| format!("m v={at} {}", TIME + at)).collect();
        lines.join("\n")
    };
    let (mut pushed, mut first) = (0, 1);
    let told = loop {
        let answer = client.post("/api/v3/write_lp?precision=ns&no_sync=true", request(first));
        if answer.status != 204 {
            break answer;
        }
        pushed += 1;
        first += 5_000;
        assert!(pushed < 100, "the ring is never full");
    };
    assert_eq!((told.status, told.header("retry-after")), (503, Some("1")), "{told:?}");
    assert!(told.body.contains("ring"), "{told:?}");
    scene.signal_recorder(GO_ON);
    // Sent again until it is taken.
    while client.post("/api/v3/write_lp?precision=ns", request(first)).status != 204 {}
    scene.end_recorder();
    assert_eq!(scene.refused(), 0, "what found no room was waited for, and is no gap of the log");
    let found = scene.of("m_v");
    assert_eq!(found.len() as i64, first + 5_000);
    assert!(
        found
            .iter()
            .zip(0..)
            .all(|((time_ns, value), at)| *time_ns == TIME + at && *value == format!("{at}.0"))
    );
}

/// The log has 16 MiB and keeps its oldest: nothing more comes of it in this run.
#[test]
fn a_full_log_is_told_as_such_at_once() {
    let Some(scene) = Scene::new("log-full", &["--lanes", "1"]) else { return };
    let mut client = scene.client();
    let note = "x".repeat(30_000);
    let request = |first: i64| {
        let line = |at| format!("m note=\"{at} {note}\" {}", TIME + at);
        (first..first + 20).map(line).collect::<Vec<_>>().join("\n")
    };
    let mut first = 0;
    let told = loop {
        let answer = client.post("/write?precision=ns", request(first));
        if answer.status != 204 {
            break answer;
        }
        first += 20;
        assert!(first < 1_000, "the log is never full");
    };
    assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
    assert!(told.body.contains("the log is full") && told.body.contains("recycle"), "{told:?}");
    // Nobody waits for a disk any more, also who does not wait for it at all.
    let told = client.post("/api/v3/write_lp?precision=ns&no_sync=true", request(0));
    assert!(told.status == 503 && told.body.contains("the log is full"), "{told:?}");
    scene.await_ready(503);
    assert!(scene.client().get("/ready").body.contains("the log is full"));
    let health = scene.client().get("/health");
    assert!(health.status == 200 && health.body.contains("takes no samples now"), "{health:?}");
    let metrics = scene.client().get("/metrics").body;
    assert!(metrics.contains("\nbaro_listen_stuck 1\n"), "{metrics}");
    assert!(metrics.contains("overload_total{reason=\"log_full\"}"), "{metrics}");
}

#[test]
fn a_request_under_way_is_answered_before_the_listener_ends() {
    let Some(mut scene) = Scene::new("ending", &[]) else { return };
    let (mut client, mut idle) = (scene.client(), scene.client());
    assert_eq!(idle.get("/ping").status, 204);
    let body = format!("m v=1 {TIME}");
    let length = body.len();
    let (first, second) = body.split_at(5);
    client.send(format!(
        "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{first}"
    ));
    // It has begun once its memory is taken.
    while scene.client().get("/metrics").body.contains("\nbaro_listen_in_flight_bytes 0\n") {}
    scene.signal_listener(TERMINATE);
    assert_eq!(idle.answer(), None, "an idle connection is closed");
    client.send(second);
    let answer = client.answer().unwrap();
    assert_eq!((answer.status, answer.header("connection")), (204, Some("close")));
    assert!(scene.await_listener().success());
    scene.end_recorder();
    assert_eq!(scene.of("m_v"), [(TIME, "1.0".to_owned())]);
}

/// What an answer says is durable is there after a kill, also where the body broke off.
#[test]
fn what_came_before_a_body_broke_off_is_durable_when_it_is_told() {
    let Some(mut scene) = Scene::new("broken-off", &[]) else { return };
    let mut counts = Vec::new();
    for (target, told) in [
        ("/api/v3/write_lp?no_sync=true", " samples before that are in the recorder's memory"),
        ("/write?precision=ns", " samples before that are durable"),
    ] {
        let mut client = scene.client();
        let lines: String = (0..500).map(|at| format!("m v=1 {}\n", TIME + at)).collect();
        let head = "HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked";
        client.send(format!("POST {target} {head}\r\n\r\n"));
        client.send(format!("{:x}\r\n{lines}\r\nno chunk\r\n", lines.len()));
        let answer = client.answer().unwrap();
        assert!(answer.status == 400 && answer.body.contains(told), "{answer:?}");
        let before = answer.body.split(told).next().unwrap();
        counts.push(before.rsplit(' ').next().unwrap().parse::<usize>().unwrap());
    }
    scene.kill_recorder();
    assert!(counts[1] > 50 && scene.of("m_v").len() >= counts[1], "{counts:?}");
}

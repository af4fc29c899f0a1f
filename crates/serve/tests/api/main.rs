//! The server from outside, on a store that is recorded meanwhile: what Grafana and others ask, and what
//! they are told.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[allow(dead_code, reason = "tests of clients use more of it")]
mod scene;

use baro_net::tokens::{Access, Tokens};
use baro_store::{Interval, Store};
use barograph::Recorder;
use scene::{Scene, Server, Told};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const S: i64 = 1_000_000_000;
const START: i64 = 1_700_000_000 * S;
const MINUTE: Duration = Duration::from_secs(60);

/// Two counters and a level of a minute, a sample each second; and a text and frames, which are no series
/// of numbers.
fn record(scene: &Scene) -> Recorder {
    let recorder = Recorder::create_or_open(scene.store()).size(16 << 20).recycle().open().unwrap();
    let wheel = |site: &str| format!("wheel{{site=\"{site}\"}}");
    let wheels = ["a", "b"].map(|site| recorder.series::<i64>(&wheel(site), "turns").unwrap());
    let level = recorder.series::<f64>("{\"tank level\",site=\"a\"}", "m").unwrap();
    let on = recorder.series::<bool>("power", "").unwrap();
    let text = recorder.series::<String>("state", "").unwrap();
    let frames = recorder.channel("camera", "n:u16@0").unwrap();
    let mut push = recorder.producer().unwrap();
    for n in 0..60_i64 {
        let time_ns = START + n * S;
        push.sample(wheels[0], time_ns, n).unwrap();
        push.sample(wheels[1], time_ns, 2 * n).unwrap();
        push.sample(level, time_ns, n as f64 / 2.0).unwrap();
        push.sample(on, time_ns, n % 2 == 0).unwrap();
        push.sample(text, time_ns, "runs").unwrap();
        push.frame(frames, time_ns, &[n as u8, 0]).unwrap();
    }
    push.wait_durable(MINUTE).unwrap();
    recorder
}

fn data(told: &Told) -> &Value {
    assert_eq!((told.status, &told.body["status"]), (200, &json!("success")), "{told:?}");
    &told.body["data"]
}

#[test]
fn what_grafana_asks_is_answered() {
    let scene = Scene::new("asked");
    let recorder = record(&scene);
    let server = scene.serve(&[]);
    // Save and test.
    let told = server.post("/api/v1/query", "query=1%2B1&time=4");
    assert_eq!(*data(&told), json!({"resultType": "scalar", "result": [4, "2"]}));
    let about = server.get("/api/v1/status/buildinfo");
    // With features it would be another product's.
    assert!(data(&about)["version"].is_string() && data(&about).get("features").is_none());
    // A panel, by form and by address.
    let asked = "query=sum(rate(wheel[30s]))&start=1700000030&end=1700000050&step=10";
    let expected = json!({"resultType": "matrix", "result": [{"metric": {},
        "values": [[1_700_000_030, "3"], [1_700_000_040, "3"], [1_700_000_050, "3"]]}]});
    assert_eq!(*data(&server.post("/api/v1/query_range", asked)), expected);
    assert_eq!(*data(&server.get(&format!("/api/v1/query_range?{asked}"))), expected);
    // Labels, with and without a selector of everything.
    let labels = json!(["__name__", "site"]);
    assert_eq!(*data(&server.get("/api/v1/labels?limit=40000")), labels);
    let all = "match[]=%7B__name__%3D~%22.%2B%22%2C%7D";
    assert_eq!(
        *data(&server.get(&format!("/api/v1/labels?limit=40000&start=1&end=2&{all}"))),
        labels
    );
    let names = json!(["power", "tank level", "wheel"]);
    assert_eq!(*data(&server.get("/api/v1/label/__name__/values")), names);
    let sites = server.get("/api/v1/label/site/values?match[]=wheel&limit=1");
    assert_eq!(*data(&sites), json!(["a"]));
    assert_eq!(sites.body["warnings"], json!(["results truncated due to limit"]));
    let series = server.get("/api/v1/series?match[]=wheel%7Bsite%3D%22b%22%7D&match[]=power");
    assert_eq!(*data(&series), json!([{"__name__": "power"}, {"__name__": "wheel", "site": "b"}]));
    let metadata = server.get("/api/v1/metadata?limit=40000");
    assert_eq!(
        data(&metadata)["tank level"],
        json!([{"type": "unknown", "help": "", "unit": "m"}])
    );
    for (path, empty) in [
        ("query_exemplars?query=wheel", json!([])),
        ("rules", json!({"groups": []})),
        ("alerts", json!({"alerts": []})),
    ] {
        assert_eq!(*data(&server.get(&format!("/api/v1/{path}"))), empty);
    }
    assert_eq!(server.get_text("/-/ready").0, 200);
    assert_eq!(server.get_text("/-/healthy").0, 200);
    // Names with blanks, truth as numbers; texts and frames are no series.
    let at = "time=1700000059.5";
    let told = server.get(&format!("/api/v1/query?query=%7B%22tank+level%22%7D&{at}"));
    let expected = json!({"resultType": "vector", "result": [{
        "metric": {"__name__": "tank level", "site": "a"}, "value": [1_700_000_059.5, "29.5"]}]});
    assert_eq!(*data(&told), expected);
    let told = server.get(&format!("/api/v1/query?query=power&{at}"));
    assert_eq!(data(&told)["result"][0]["value"][1], "0");
    for none in ["state", "camera", "%7B__name__%3D%22camera.n%22%7D"] {
        let told = server.get(&format!("/api/v1/query?query={none}&{at}"));
        assert_eq!(data(&told)["result"], json!([]), "{none}");
    }
    // What is recorded from now on is there when it is durable.
    let wheel = recorder.series::<i64>("wheel{site=\"c\"}", "turns").unwrap();
    let mut push = recorder.producer().unwrap();
    push.sample(wheel, START + 60 * S, 7_i64).unwrap();
    push.wait_durable(MINUTE).unwrap();
    let told = server.get("/api/v1/query?query=wheel%7Bsite%3D%22c%22%7D&time=1700000061");
    assert_eq!(data(&told)["result"][0]["value"][1], "7");
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

/// `baro query --promql` starts it so: the answers are those over HTTP.
#[test]
fn a_query_of_the_command_line_has_the_answer_of_the_server() {
    let scene = Scene::new("command-line");
    let recorder = record(&scene);
    let server = scene.serve(&[]);
    let ask = |query: &str, options: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baro-serve"));
        command.arg("promql").args(options).arg("--").arg(scene.store()).arg(query);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (start, end) = (format!("--from-ns={START}"), format!("--to-ns={}", START + 59 * S));
    let json = |query: &str, step: &str| {
        let (code, told, said) = ask(query, &[&start, &end, step, "--form=json"]);
        assert_eq!(code, Some(0), "{said}");
        serde_json::from_str::<Value>(&told).unwrap()
    };
    let over_http = server.get("/api/v1/query?query=rate(wheel[30s])&time=1700000059");
    assert_eq!(json("rate(wheel[30s])", "--step-ns=0"), over_http.body);
    let range = "/api/v1/query_range?query=sum(wheel)&start=1700000000&end=1700000059&step=10";
    assert_eq!(json("sum(wheel)", "--step-ns=10000000000"), server.get(range).body);
    let (code, told, _) = ask("-wheel{site=\"b\"}", &[&start, &end, "--form=csv"]);
    let last = format!("time,series,value\n{},\"{{site=\"\"b\"\"}}\",-118\n", START + 59 * S);
    assert_eq!((code, told), (Some(0), last));
    let (code, told, _) = ask("{\"tank level\"}", &[&start, &end]);
    let line = "2023-11-14T22:14:19.000000000Z  {\"tank level\",site=\"a\"}  29.5\n";
    assert_eq!((code, told.as_str()), (Some(0), line));
    let (code, told, said) = ask("nothing", &[&start, &end]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert!(said.contains("nothing has a value then"), "{said}");
    for (query, options, expected) in [
        ("sum(", &[][..], "no PromQL"),
        ("wheel[1m]", &["--step-ns=1000"], "leave --every out"),
        ("mad_over_time(wheel[5m])", &[], "mad_over_time"),
        ("wheel", &["--memory=8"], "more than 1 values"),
    ] {
        let (code, told, said) = ask(query, &[&[start.as_str(), &end], options].concat());
        assert_eq!((code, told.as_str()), (Some(1), ""), "{query}: {said}");
        assert!(said.contains(expected), "{query}: {said}");
    }
    drop(server);
    assert_eq!(recorder.close().lost(), 0);
}

/// What many names take is bounded, and so is what answers take that nobody fetches.
#[test]
fn many_names_and_answers_that_nobody_fetches_are_bounded() {
    let scene = Scene::new("bounded");
    let recorder = Recorder::create_or_open(scene.store()).size(16 << 20).recycle().open().unwrap();
    let name = |number: u32| format!("x{{host=\"{number:0100}\"}}");
    let series: Vec<_> =
        (0..400).map(|number| recorder.series::<f64>(&name(number), "m").unwrap()).collect();
    let mut push = recorder.producer().unwrap();
    for one in series.iter().take(60) {
        push.sample(*one, START, 0.125).unwrap();
    }
    push.wait_durable(MINUTE).unwrap();
    let server = scene.serve(&["--memory", "64K"]);
    let values = server.get("/api/v1/label/host/values");
    assert_eq!(
        (values.status, &values.body["errorType"]),
        (422, &json!("execution")),
        "{values:?}"
    );
    let first = server.get("/api/v1/label/host/values?limit=3");
    let hosts: Vec<String> = (0..3).map(|number| format!("{number:0100}")).collect();
    assert_eq!(
        (data(&first), &first.body["warnings"][0]),
        (&json!(hosts), &json!("results truncated due to limit"))
    );
    assert_eq!(data(&server.get("/api/v1/labels")), &json!(["__name__", "host"]));
    let about = json!({ "x": [{ "type": "unknown", "help": "", "unit": "m" }] });
    assert_eq!(data(&server.get("/api/v1/metadata")), &about);
    drop(server);
    // 17 MB, where two of them have no room.
    let server = scene.serve(&["--memory", "50M"]);
    let target = "/api/v1/query_range?query=x&start=1700000000&end=1700010999&step=1&lookback_delta=99999999";
    let ask = || {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(MINUTE)).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        (String::from_utf8(begin.to_vec()).unwrap(), stream)
    };
    let (said, slow) = ask();
    assert_eq!(said, "HTTP/1.1 200");
    let (said, mut refused) = ask();
    let mut text = String::new();
    refused.read_to_string(&mut text).unwrap();
    assert!(said == "HTTP/1.1 503" && text.contains("not fetched yet"), "{said}{text}");
    // What is small needs no room.
    assert_eq!(
        data(&server.get("/api/v1/query?query=count(x)&time=1700000000"))["result"][0]["value"][1],
        "60"
    );
    drop(slow);
    let mut tries = 0;
    while ask().0 != "HTTP/1.1 200" {
        tries += 1;
        assert!(tries < 100);
    }
    drop(server);
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn mistakes_are_told_as_prometheus_tells_them() {
    let scene = Scene::new("mistakes");
    let recorder = record(&scene);
    let server = scene.serve(&["--memory", "64K"]);
    let wrong = |target: &str, status: u16, kind: &str, said: &str| {
        let told = server.get(&format!("/api/v1/{target}"));
        let error = told.body["error"].as_str().unwrap_or("");
        assert_eq!(
            (told.status, told.body["errorType"].as_str()),
            (status, Some(kind)),
            "{told:?}"
        );
        assert!(error.contains(said) && told.body["status"] == "error", "{told:?}");
    };
    wrong("query", 400, "bad_data", "\"query\"");
    wrong("query?query=sum(", 400, "bad_data", "no PromQL");
    wrong("query?query=wheel&query=sum(wheel)", 400, "bad_data", "\"query\": expected it once");
    wrong("labels?limit=1&limit=2", 400, "bad_data", "\"limit\": expected it once");
    assert_eq!(server.post("/api/v1/query?query=wheel", "query=wheel").status, 400);
    wrong("query?query=wheel&time=yesterday", 400, "bad_data", "yesterday");
    wrong("query?query=wheel&lookback_delta=long", 400, "bad_data", "long");
    wrong("query?query=mad_over_time(wheel[5m])", 422, "execution", "mad_over_time()");
    wrong(
        "query?query=sum(wheel)%2Bon()wheel&time=1700000050",
        422,
        "execution",
        "duplicate series",
    );
    let range = "query_range?query=wheel&start=1700000000&end=1700000059";
    wrong(range, 400, "bad_data", "\"step\"");
    wrong(&format!("{range}&step=0"), 400, "bad_data", "step");
    wrong(&format!("{range}&step=0.001"), 400, "bad_data", "11,000 points");
    wrong("query_range?query=wheel&start=2&end=1&step=1", 400, "bad_data", "before start");
    wrong("query_range?query=wheel[1m]&start=1&end=2&step=1", 400, "bad_data", "expression type");
    // 3 series at 3,000 steps are more than 8,192 values.
    let steps =
        "query_range?query=%7Bsite%3D~%22.%2B%22%7D&start=1700000000&end=1700000059&step=0.02";
    wrong(steps, 422, "execution", "more than 8192 values");
    wrong("query?query=wheel[1h:1ms]&time=1700000059", 422, "execution", "more than 8192 values");
    // As many labels as values, each with a value for each step.
    let labels =
        "query_range?query=count_values(%22v%22,wheel)&start=1700000000&end=1700000059&step=0.1";
    wrong(labels, 422, "execution", "more than 8192 values");
    wrong("labels?match[]=%7B", 400, "bad_data", "match[]");
    wrong("series", 400, "bad_data", "match[]");
    wrong("labels?limit=some", 400, "bad_data", "limit");
    wrong("nothing", 404, "not_found", "query_range");
    let nested = format!("query?query={}1{}", "(".repeat(4000), ")".repeat(4000));
    wrong(&nested, 422, "execution", "parts within each other");
    // A quote in a comment is none, also where a thread of a connection reads it: its stack is small.
    let hidden = format!("%23%22%0A{}up{}", "sum(".repeat(800), ")".repeat(800));
    wrong(&format!("query?query={hidden}"), 422, "execution", "parts within each other");
    wrong(&format!("series?match[]={hidden}"), 400, "bad_data", "parts within each other");
    let many = vec!["match[]=wheel"; 33].join("&");
    wrong(&format!("series?{many}"), 400, "bad_data", "at most 32 of them");
    wrong("query?query=%7Ba%3D~%22%5C%5Cw%7B150%7D%22%7D", 422, "execution", "regular expressions");
    wrong("query?query=wheel[1e30]", 400, "bad_data", "duration");
    let range = "query_range?query=1&start=0&step=1&end";
    assert_eq!(server.get(&format!("/api/v1/{range}=7000")).status, 422, "64K hold no such answer");
    wrong(&format!("{range}=11001"), 400, "bad_data", "11,000 points");
    let told =
        server.get("/api/v1/query?query=%7Bsite%3D~%22%5C%5Cw%22%7D&time=1700000059&limit=1");
    assert_eq!(data(&told)["result"].as_array().map(Vec::len), Some(1), "{told:?}");
    assert_eq!(told.body["warnings"], json!(["results truncated due to limit"]));
    let raw = server
        .get("/api/v1/query?query=wheel%7Bsite%3D~%60%5Cw%60%7D&time=1700000059&lookback_delta=0");
    assert!(data(&raw)["result"].as_array().is_some_and(|all| !all.is_empty()), "{raw:?}");
    let told = server.ask("DELETE", "/api/v1/series", "");
    assert_eq!(told.status, 405);
    let told = server.get("/api/v1/query?query=wheel&time=1700000059&timeout=0");
    assert_eq!((told.status, &told.body["errorType"]), (503, &json!("timeout")));
    assert_eq!(data(&server.get("/api/v1/query?query=1"))["result"][1], "1");
    drop(server);
    // 10,000 steps look at 60,000 samples each: memory has room for it, and time has an end.
    let server = scene.serve(&["--timeout", "300ms", "--memory", "1G"]);
    let long = "max_over_time(wheel%7Bsite%3D%22a%22%7D[1m:1ms])";
    let long = format!("/api/v1/query_range?query={long}&start=1700000000&end=1700001000&step=0.1");
    let told = server.get(&long);
    assert_eq!((told.status, &told.body["errorType"]), (503, &json!("timeout")), "{told:?}");
    drop((server, recorder));
    let refused = scene.refused(&["--http", "0.0.0.0:0"]);
    assert!(refused.contains("--tls-cert FILE"), "{refused}");
}

#[test]
fn only_a_token_that_reads_all_names_is_let_in_where_tokens_are_asked_for() {
    let scene = Scene::new("tokens");
    drop(record(&scene).close());
    let file = scene.file("tokens");
    let file = file.to_str().unwrap();
    let mut tokens = Tokens::default();
    let mut token = |random: u8, access, prefix: &str| {
        tokens.add([random; 32], access, (prefix, ""), 0).unwrap().0
    };
    let [reads, writes, some] =
        [token(1, Access::Read, ""), token(2, Access::Write, ""), token(3, Access::Read, "wheel")];
    std::fs::write(file, tokens.text()).unwrap();
    let options = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(file, options).unwrap();
    let server = scene.serve(&["--require-token", "--tokens", file]);
    let status = |token: &str| server.with_token(token, "/api/v1/query?query=1").status;
    assert_eq!((status(&reads), status(&writes), status(&some), status("x")), (200, 403, 403, 401));
    assert_eq!(server.get("/api/v1/query?query=1").status, 401);
    assert_eq!(server.get_text("/-/healthy").0, 200);
}

#[test]
fn damage_is_a_warning_beside_what_is_left() {
    let scene = Scene::new("damage");
    let recorder = Recorder::create_or_open(scene.store()).size(8 << 20).recycle().open().unwrap();
    let level = recorder.series::<f64>("level", "").unwrap();
    let mut push = recorder.producer().unwrap();
    for n in 0..6_i64 {
        push.sample(level, START + n * S, n as f64).unwrap();
        push.wait_durable(MINUTE).unwrap();
    }
    drop(push);
    assert_eq!(recorder.close().lost(), 0);
    let segment = scene.store().join("log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let is_block = |at: &usize| bytes[*at..].starts_with(b"BBLK");
    let third = (0..bytes.len()).step_by(4096).filter(is_block).nth(2).unwrap();
    bytes[third] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let server = scene.serve(&[]);
    let told = server.get("/api/v1/query?query=level[1m]&time=1700000010");
    let points = data(&told)["result"][0]["values"].as_array().unwrap().len();
    assert!(points < 6, "{told:?}");
    assert!(told.body["warnings"][0].as_str().unwrap().contains("00000000.seg"), "{told:?}");
}

#[test]
fn what_was_deleted_is_no_name_until_it_is_recorded_again() {
    let scene = Scene::new("deleted");
    let recorder = record(&scene);
    let servers = [scene.serve(&[]), scene.serve(&[])];
    let names = |server: &Server| {
        let told = server.get("/api/v1/label/__name__/values");
        let found = server.get_text("/live/search?q=power").1.contains("\"power\"");
        (data(&told).clone(), found)
    };
    assert_eq!(names(&servers[0]), (json!(["power", "tank level", "wheel"]), true));
    let mut store = Store::open(&scene.store()).unwrap();
    let id = store.catalog().lookup("power").unwrap().unwrap().id;
    store.delete(&[id], Interval::ALL).unwrap();
    // One that had answered before, one that is asked for the first time.
    for server in &servers {
        assert_eq!(names(server), (json!(["tank level", "wheel"]), false));
        let series = server.get("/api/v1/series?match[]=power");
        assert_eq!(*data(&series), json!([]));
    }
    let on = recorder.series::<bool>("power", "").unwrap();
    let mut push = recorder.producer().unwrap();
    push.sample(on, START + 90 * S, true).unwrap();
    push.wait_durable(MINUTE).unwrap();
    for server in &servers {
        assert_eq!(names(server), (json!(["power", "tank level", "wheel"]), true));
    }
}

#[test]
fn one_address_takes_half_of_the_places() {
    let Ok(other) = std::net::TcpListener::bind("[::1]:0") else {
        println!("skipped: no IPv6");
        return;
    };
    let free = other.local_addr().unwrap();
    drop(other);
    let scene = Scene::new("one-address");
    assert_eq!(record(&scene).close().lost(), 0);
    let server = scene.serve(&["--connections", "8", "--http", &free.to_string()]);
    let ask = |address: SocketAddr, rest: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n{rest}").unwrap();
        stream
    };
    let answer = |address: SocketAddr| {
        let (mut stream, mut told) = (ask(address, "Connection: close\r\n\r\n"), String::new());
        // One that was closed for another has no answer.
        let _ = stream.read_to_string(&mut told);
        told
    };
    let mut held = Vec::new();
    // One whose first byte was not read yet is closed for the next.
    let told = loop {
        let told = answer(server.address());
        if told.starts_with("HTTP/1.1 503 ") {
            break told;
        }
        held.push(ask(server.address(), ""));
        assert!(held.len() < 100, "one address takes all places");
    };
    assert!(told.contains("for one address"), "{told}");
    assert!(answer(free).starts_with("HTTP/1.1 200 "));
}

#[test]
fn more_parameters_than_there_may_be_are_refused_by_the_server() {
    let scene = Scene::new("many-parameters");
    assert_eq!(record(&scene).close().lost(), 0);
    let server = scene.serve(&[]);
    let many = "a&".repeat(2_000);
    assert_eq!(server.get_text(&format!("/api/v1/query?query=1&{many}")).0, 400);
    let told = server.post("/api/v1/query", &format!("query=1&{many}"));
    assert_eq!(told.status, 400);
    assert!(told.body["error"].as_str().unwrap().contains("at most 256 parameters"), "{told:?}");
    assert_eq!(server.post("/api/v1/query", &format!("query=1&{}", "a&".repeat(200))).status, 200);
}

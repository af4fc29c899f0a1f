//! What each address answers, and what is in the store afterwards.

use crate::scene::Scene;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;

const TIME: i64 = 1_700_000_000_000_000_000;

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn body(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn parameters_have_one_reading_and_times_without_a_unit_are_plausible() {
    let Some(scene) = Scene::new("one-reading", &[]) else { return };
    let mut client = scene.client();
    for (target, once) in [
        ("/write?precision=s&precision=ms", "precision"),
        ("/write?db=a&db=a", "db"),
        ("/api/v2/write?bucket=a&bucket=b", "bucket"),
        ("/api/v3/write_lp?db=a&no_sync=true&no_sync=false", "no_sync"),
        ("/query?q=CREATE+DATABASE+a&q=b", "q"),
    ] {
        let answer = client.post(target, "a v=1");
        assert_eq!(answer.status, 400, "{target}");
        assert!(answer.body.contains(&format!("the parameter {once} once")), "{}", answer.body);
    }
    // Nobody has said the unit: nanoseconds, unless that is hardly meant.
    let seconds = client.post("/write", "a v=1 1700000000");
    assert!(
        seconds.status == 400 && seconds.body.contains("precision=s if it is in s"),
        "{}",
        seconds.body
    );
}

#[test]
fn each_interface_takes_lines_and_answers_in_its_own_form() {
    let Some(mut scene) = Scene::new("endpoints", &[]) else { return };
    let mut client = scene.client();
    // All over one connection.
    assert_eq!(client.get("/ping").status, 204);
    assert_eq!(body(&client.get("/health").body)["status"], "pass");
    let created = client.post("/query?q=CREATE%20DATABASE%20%22x%22", "");
    assert_eq!(
        (created.status, body(&created.body)),
        (200, json!({"results": [{"statement_id": 0}]}))
    );
    let form = client.ask(
        "POST /query",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "q=create+database+x",
    );
    assert_eq!(form.status, 200);
    assert_eq!(client.get("/query?q=SELECT+*+FROM+m").status, 400);

    let first =
        client.post("/write?db=x&precision=s", "one,a=b v=1.5,n=3i,t=true,s=\"x y\" 1700000000\n");
    assert_eq!((first.status, first.body.as_str()), (204, ""));
    assert!(first.header("x-influxdb-version").is_some_and(|said| said.starts_with("barograph-")));
    assert_eq!(
        client.post("/api/v2/write?org=o&bucket=b&precision=ms", "two v=2 1700000000001").status,
        204
    );
    assert_eq!(
        client
            .post("/api/v3/write_lp?db=x", "three v=3 1700000000\nthree v=4 1700000001000000")
            .status,
        204
    );
    assert_eq!(
        client
            .post(
                "/api/v3/write_lp?db=x&precision=nanosecond&no_sync=true",
                format!("four v=5 {TIME}")
            )
            .status,
        204
    );
    let packed = gzip(&format!("five v=6 {TIME}\nfive v=7 {}", TIME + 1));
    assert_eq!(client.ask("POST /write", "Content-Encoding: gzip\r\n", packed).status, 204);
    client.send("POST /write HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 100);
    client.send(format!("5\r\nsix v\r\n16\r\n=8 {TIME}\r\n6;x=y\r\n\n#end\n\r\n0\r\n\r\n"));
    assert_eq!(client.answer().unwrap().status, 204);
    // Without a time: that at which it came.
    assert_eq!(client.post("/write", "now v=1").status, 204);
    assert_eq!(client.post("/write", "").status, 204);

    assert_eq!(client.post("/write?precision=fortnight", "a v=1").status, 400);
    assert_eq!(client.ask("POST /write", "Content-Encoding: br\r\n", "a v=1").status, 415);
    let other = client.get("/write");
    assert_eq!((other.status, other.header("allow")), (405, Some("POST")));
    assert!(other.body.contains("expected POST here, found GET"), "{other:?}");
    assert_eq!(client.get("/../../etc/passwd").status, 404);
    assert_eq!(client.get("/%2e%2e/etc/passwd").status, 404);
    let metrics = client.get("/metrics").body;
    for line in [
        "baro_listen_requests_total{endpoint=\"/write\",status=\"204\"} 5",
        "baro_listen_samples_total 12",
        "baro_listen_in_flight_bytes 0",
        "baro_listen_rings 2",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in:\n{metrics}");
    }
    scene.end_recorder();
    let found = scene.samples();
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        "five_v",
        "four_v",
        "now_v",
        "one_n{a=\"b\"}",
        "one_s{a=\"b\"}",
        "one_t{a=\"b\"}",
        "one_v{a=\"b\"}",
        "six_v",
        "three_v",
        "two_v",
    ];
    assert_eq!(names, expected);
    let one = |name: &str| found[name].clone();
    let sample = |time_ns: i64, value: &str| (time_ns, value.to_owned());
    assert_eq!(one("one_v{a=\"b\"}"), [sample(TIME, "1.5")]);
    assert_eq!(one("one_n{a=\"b\"}"), [sample(TIME, "3")]);
    assert_eq!(one("one_t{a=\"b\"}"), [sample(TIME, "true")]);
    assert_eq!(one("one_s{a=\"b\"}"), [sample(TIME, "\"x y\"")]);
    assert_eq!(one("two_v"), [sample(TIME + 1_000_000, "2.0")]);
    assert_eq!(one("three_v"), [sample(TIME, "3.0"), sample(TIME + 1_000_000_000, "4.0")]);
    assert_eq!(one("five_v"), [sample(TIME, "6.0"), sample(TIME + 1, "7.0")]);
    assert_eq!(one("six_v"), [sample(TIME, "8.0")]);
    assert!(one("now_v")[0].0 > TIME);
}

#[test]
fn lines_of_series_that_were_met_before_are_taken_in_their_order() {
    let Some(mut scene) = Scene::new("met", &["--lanes", "1"]) else { return };
    let mut client = scene.client();
    let line = |tags: &str, fields: &str, second: i64| {
        format!("m,{tags} {fields} {}\n", TIME + second * 1_000_000_000)
    };
    assert_eq!(client.post("/write", line("a=1,b=2", "v=0,s=\"x\"", 0)).status, 204);
    // One series by two ways to write it, of which the second has not been met; the last sample counts.
    let body = [
        line("a=1,b=2", "v=1", 1),
        line("b=2,a=1", "v=2", 1),
        line("a=1,b=2", "v=3", 1),
        line("a=1,b=2", "v=1", 2),
        line("b=2,a=1", "v=2", 2),
        line("a=1,b=2", "s=\"y\\\"\nz\",v=7", 3),
    ];
    assert_eq!(client.post("/write", body.concat()).status, 204);
    // By now both have been met. What is refused costs its line alone, known or new.
    let body = [
        line("b=2,a=1", "v=1", 4),
        line("a=1,b=2", "v=8,w=1", 5),
        line("a=1,b=2", "s=\"no\",v=t", 6),
        line("a=1,b=2", "v=1,v=2", 6),
        line("a=1,b=2", "v=9", 4),
        line("b=2,a=1", "s=\"no\",u=t,v=\"x\"", 6),
        line("a=1,b=2", "v=nan", 6),
        "m,a=1,b=2 v=10,s=\"now\"\n".to_owned(),
    ];
    let answer = client.post("/write", body.concat());
    assert_eq!(answer.status, 400, "{answer:?}");
    let places: Vec<&str> =
        answer.body.split("line ").skip(1).filter_map(|part| part.split(':').next()).collect();
    assert_eq!(places, ["3", "4", "6", "7"], "{}", answer.body);
    assert!(answer.body.contains("6 samples of 4 lines are kept"), "{}", answer.body);
    scene.end_recorder();
    let found = scene.samples();
    let of = |field: &str| -> Vec<(i64, String)> {
        found.get(&format!("m_{field}{{a=\"1\",b=\"2\"}}")).cloned().unwrap_or_default()
    };
    let at = |second: i64, value: &str| (TIME + second * 1_000_000_000, value.to_owned());
    let mut v = of("v");
    let mut s = of("s");
    // What came without a time has one.
    let (last_v, last_s) = (v.pop().unwrap(), s.pop().unwrap());
    assert_eq!((last_v.0, &*last_v.1, &*last_s.1), (last_s.0, "10.0", "\"now\""));
    let expected =
        [at(0, "0.0"), at(1, "3.0"), at(2, "2.0"), at(3, "7.0"), at(4, "9.0"), at(5, "8.0")];
    assert_eq!(v, expected);
    assert_eq!(s, [at(0, "\"x\""), at(3, "\"y\\\"\\nz\"")]);
    assert_eq!((of("w"), of("u")), (vec![at(5, "1.0")], vec![]));
}

#[test]
fn a_bad_line_is_named_and_costs_no_good_one() {
    let Some(mut scene) = Scene::new("bad-lines", &["--db", "x"]) else { return };
    let mut client = scene.client();
    // More than a piece of the body, so that lines are counted across pieces.
    let mut lines: Vec<String> =
        (0..5_000).map(|at| format!("m,n={} v={at}.5 {}", at % 10, TIME + at)).collect();
    lines[3_000] = "m,n=0 v=".to_owned();
    let text = lines.join("\n");
    let bad = client.post("/api/v3/write_lp?db=x&precision=ns", &text);
    assert_eq!(bad.status, 400);
    let said = body(&bad.body);
    assert_eq!(said["error"], "partial write of line protocol occurred");
    assert_eq!(said["data"].as_array().unwrap().len(), 1, "{said:#}");
    assert_eq!(
        (&said["data"][0]["line_number"], &said["data"][0]["original_line"]),
        (&json!(3001), &json!("m,n=0 v="))
    );
    assert_eq!(said["message"], "4999 samples of 4999 lines are kept");
    let one = client.post("/write?db=x", &text);
    let said = body(&one.body)["error"].as_str().unwrap().to_owned();
    assert_eq!(one.status, 400);
    assert!(
        said.starts_with("partial write: line 3001: column ") && said.ends_with("; dropped=1"),
        "{said}"
    );
    let two = client.post("/api/v2/write?bucket=x", &text);
    let said = body(&two.body);
    assert_eq!((two.status, &said["code"]), (400, &json!("invalid")));
    assert!(said["message"].as_str().unwrap().contains("line 3001"), "{said}");
    // All or nothing, where that is asked for.
    let none = client
        .post("/api/v3/write_lp?db=x&accept_partial=false", format!("other v=1 {TIME}\nother v="));
    assert_eq!(
        (none.status, &body(&none.body)["error"]),
        (400, &json!("parsing failed for write_lp endpoint"))
    );
    assert_eq!(
        client
            .post("/api/v3/write_lp?db=x&accept_partial=false", format!("whole v=1 {TIME}"))
            .status,
        204
    );
    // An integer that f64 has is one of a series of f64, one that it does not have is none.
    let types = client.post(
        "/write?db=x",
        format!("m,n=0 v=7i {}\nm,n=0 v=9007199254740993i {}", TIME + 6_000, TIME + 6_001),
    );
    let said = body(&types.body)["error"].as_str().unwrap().to_owned();
    assert!(
        said.contains("line 2: series m_v{n=\"0\"}: expected f64, found 9007199254740993"),
        "{said}"
    );
    assert_eq!(client.post("/write?db=y", "a v=1").status, 404);
    scene.end_recorder();
    let found = scene.samples();
    let count = |name: &str| found.get(name).map_or(0, Vec::len);
    assert_eq!((0..10).map(|n| count(&format!("m_v{{n=\"{n}\"}}"))).sum::<usize>(), 4_999 + 1);
    assert_eq!((count("other_v"), count("whole_v"), found.len()), (0, 1, 11));
    assert_eq!(found["m_v{n=\"0\"}"].last().unwrap(), &(TIME + 6_000, "7.0".to_owned()));
}

#[test]
fn new_series_have_a_limit_that_is_said() {
    let options = ["--series", "2", "--lanes", "1"];
    let Some(mut scene) = Scene::new("new-series", &options) else { return };
    let mut client = scene.client();
    let said = client.post(
        "/api/v3/write_lp",
        format!("a v=1 {TIME}\nb v=1 {TIME}\nc v=1 {TIME}\na v=2 {}", TIME + 1),
    );
    assert_eq!((said.status, &body(&said.body)["data"][0]["line_number"]), (422, &json!(3)));
    assert!(said.body.contains("(--series)"), "{said:?}");
    assert_eq!(client.post("/write", format!("b v=3 {TIME}")).status, 204);
    // It is the store that has so many: another listener takes no more than this one.
    scene.kill_listener();
    scene.listen(&options);
    let mut client = scene.client();
    let said = client.post("/write", format!("a v=4 {}\nd v=1 {TIME}", TIME + 2));
    assert_eq!(said.status, 400);
    assert!(said.body.contains("line 2: expected one of the series that are declared"), "{said:?}");
    let metrics = client.get("/metrics").body;
    for line in [
        "baro_listen_series 2",
        "baro_listen_series_max 2",
        "baro_listen_new_series_refused_total 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in:\n{metrics}");
    }
    scene.end_recorder();
    assert_eq!(scene.samples().into_keys().collect::<Vec<_>>(), ["a_v", "b_v"]);
}

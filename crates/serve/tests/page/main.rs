//! The page from outside: its files and what the browser is told to refuse, the search, windows against a
//! model, the live picture, and who asks for what there is not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod http;
mod live;
mod model;
#[path = "../api/scene.rs"]
#[allow(dead_code, reason = "the others use more of it")]
mod scene;
mod windows;

use baro_net::tokens::{Access, Tokens};
use barograph::Recorder;
use http::{ask, get, send};
use scene::Scene;
use serde_json::json;
use std::time::Duration;

pub(crate) const S: i64 = 1_000_000_000;
pub(crate) const START: i64 = 1_700_000_000 * S;
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_page_is_whole_and_its_browser_is_told_what_to_refuse() {
    let scene = Scene::new("files");
    let opening = Recorder::create_or_open(scene.store()).size(8 << 20).recycle();
    assert_eq!(opening.open().unwrap().close().lost(), 0);
    let server = scene.serve(&[]);
    let page = get(&server, "/");
    assert_eq!((page.status, page.header("Content-Type")), (200, "text/html; charset=utf-8"));
    let mut files = vec!["/".to_owned()];
    for part in page.body.split(['"', '\'']).filter(|part| part.starts_with('/')) {
        files.push(part.to_owned());
    }
    assert_eq!(files, ["/", "/page/icon.svg", "/page/page.css", "/page/page.js"]);
    let mut bytes = 0;
    for file in &files {
        let told = get(&server, file);
        assert_eq!(told.status, 200, "{file}");
        bytes += told.head.len() + told.body.len();
        let rules = told.header("Content-Security-Policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(rules.contains(rule), "{file}: {rules}");
        }
        assert!(!rules.contains("unsafe"), "{rules}");
        for (name, value) in [
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] {
            assert_eq!(told.header(name), value, "{file}");
        }
        // Nothing of another server, nothing that the rules would refuse, no text that becomes markup.
        let own = told.body.replace("http://www.w3.org/2000/svg", "");
        for foreign in
            ["http:", "https:", "<style", "style=\"", " onclick", "innerHTML", "eval(", "@import"]
        {
            assert!(!own.contains(foreign), "{file} has {foreign}");
        }
        // What a browser has it keeps.
        let tag = format!("If-None-Match: {}\r\n", told.header("ETag"));
        let again = send(&server, "GET", file, &tag, "");
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{file}");
        assert_eq!(send(&server, "GET", file, "If-None-Match: \"0\"\r\n", "").status, 200);
    }
    assert!(bytes < 150_000, "{bytes} bytes");
    // What is asked for beside the files is guarded in the same way.
    let told = ask(&server, "search", &[]);
    assert!(told.header("Content-Security-Policy").contains("'none'"), "{told:?}");
    assert_eq!(told.json(), json!({"found": [], "more": false}));
}

#[test]
fn series_are_found_by_parts_of_their_names() {
    let scene = Scene::new("search");
    let recorder = Recorder::create_or_open(scene.store()).size(8 << 20).recycle().open().unwrap();
    let pumps = (0..300).map(|n| format!("Pump{{line=\"{n}\",site=\"north\"}}"));
    let pumps: Vec<String> = pumps.collect();
    let pumps: Vec<&str> = pumps.iter().map(String::as_str).collect();
    recorder.group::<f64>(&pumps, "bar").unwrap();
    recorder.series::<i64>("counter<script>alert(1)</script>", "").unwrap();
    recorder.series::<String>("pump state", "").unwrap();
    recorder.channel("camera", "n:u16@0, v:f32[2]@4(V)").unwrap();
    let server = scene.serve(&[]);
    let names = |pairs: &[(&str, &str)]| {
        let told = ask(&server, "search", pairs).json();
        let entries = told["found"].as_array().unwrap();
        let names = entries.iter().map(|one| one["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), told["more"].as_bool().unwrap())
    };
    // Words in any letters and order; texts have no picture.
    assert_eq!(names(&[("q", "NORTH pump \"17\"")]).0, ["Pump{line=\"17\",site=\"north\"}"]);
    let (some, more) = names(&[("q", "pump")]);
    assert_eq!((some.len(), more), (100, true));
    let (all, more) = names(&[("q", "pump"), ("limit", "1000")]);
    assert_eq!((all.len(), more), (300, false));
    // A selector, as everywhere.
    assert_eq!(names(&[("q", "Pump{line=~\"1.\"}")]).0.len(), 10);
    // Fields of frames.
    let told = ask(&server, "search", &[("q", "camera")]).json();
    let fields = json!([
        {"name": "camera.n", "unit": "", "kind": "u16"},
        {"name": "camera.v[0]", "unit": "V", "kind": "f32"},
        {"name": "camera.v[1]", "unit": "V", "kind": "f32"},
    ]);
    assert_eq!(told["found"], fields);
    // Whatever a name says is text in JSON.
    let told = ask(&server, "search", &[("q", "script")]);
    assert!(told.header("Content-Type").starts_with("application/json"));
    assert_eq!(told.json()["found"][0]["name"], "counter<script>alert(1)</script>");
    assert_eq!(names(&[("q", "nothing")]), (Vec::new(), false));
    drop(server);
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn what_there_is_not_is_refused_by_a_sentence() {
    let scene = Scene::new("hostile");
    let recorder = Recorder::create_or_open(scene.store()).size(8 << 20).recycle().open().unwrap();
    recorder.series::<f64>("a", "").unwrap();
    recorder.series::<String>("state", "").unwrap();
    recorder.channel("camera", "n:u16@0").unwrap();
    let server = scene.serve(&["--viewers", "2"]);
    let wrong = |what: &str, pairs: &[(&str, &str)], status: u16, said: &str| {
        let told = ask(&server, what, pairs);
        assert_eq!(told.status, status, "{pairs:?}: {told:?}");
        assert!(told.error().contains(said), "{pairs:?}: {told:?}");
    };
    let window = |from, to, columns, series| {
        [("from", from), ("to", to), ("columns", columns), ("series", series)]
    };
    wrong("window", &window("1", "1", "10", "a"), 400, "expected a time after");
    wrong("window", &window("x", "1", "10", "a"), 400, "\"from\"");
    wrong("window", &window("1", "nan", "10", "a"), 400, "\"to\"");
    wrong("window", &window("-9e9", "9.2e9", "10", "a"), 400, "\"to\"");
    wrong("window", &window("0", "1", "0", "a"), 400, "\"columns\"");
    wrong("window", &window("0", "1", "4097", "a"), 400, "1 to 4096");
    wrong("window", &window("0", "1", "1e3", "a"), 400, "\"columns\"");
    wrong("window", &window("0", "1", "10", "b"), 400, "a series of this store");
    wrong("window", &window("0", "1", "10", "{__name__=~\".+\"}"), 400, "a series of this store");
    wrong("window", &window("0", "1", "10", "state"), 400, "which has texts");
    wrong("window", &window("0", "1", "10", "camera"), 400, "which has frames");
    wrong("window", &window("0", "1", "10", "camera.x"), 400, "a series of this store");
    wrong("window", &window("0", "1", "10", "camera.*"), 400, "a series of this store");
    wrong("window", &[("series", "a"), ("to", "1"), ("columns", "1")], 400, "\"from\"");
    wrong("window", &[("from", "0"), ("from", "0"), ("to", "1")], 400, "once");
    wrong("window", &window("0", "1", "10", "a")[..3], 400, "\"series\"");
    let twice = [&window("0", "1", "10", "a")[..], &[("series", "a")]].concat();
    wrong("window", &twice, 400, "found \"a\" twice");
    let names: Vec<String> = (0..65).map(|n| n.to_string()).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| ("series", name.as_str())).collect();
    wrong("follow", &many, 400, "0 to 64");
    wrong("follow", &[("step", "1e-9")], 400, "whole microseconds");
    wrong("follow", &[("step", "-1")], 400, "whole microseconds");
    wrong("follow", &[("series", "b")], 400, "a series of this store");
    wrong("next", &[], 400, "\"viewer\"");
    wrong("next", &[("viewer", "1")], 404, "\"viewer\"");
    wrong("next", &[("viewer", "x")], 404, "\"viewer\"");
    wrong("search", &[("q", "{")], 400, "selector");
    wrong("search", &[("q", &"a".repeat(5_000))], 400, "4096 bytes");
    wrong("search", &[("q", &"a ".repeat(17))], 400, "16 words");
    wrong("search", &[("limit", "-1")], 400, "\"limit\"");
    wrong("nothing", &[], 404, "/live/search");
    assert_eq!(send(&server, "DELETE", "/live/search", "", "").status, 405);
    assert_eq!(get(&server, "/page/../page.rs").status, 404);
    // As many viewers as were said; one that is shown something else stays one.
    let viewer = |pairs: &[(&str, &str)]| ask(&server, "follow", pairs);
    let first = viewer(&[("series", "a")]).json()["viewer"].as_str().unwrap().to_owned();
    assert_eq!(viewer(&[("series", "a")]).status, 200);
    let third = viewer(&[("series", "a")]);
    assert_eq!(third.status, 503);
    assert!(third.error().contains("at most 2 viewers"), "{third:?}");
    assert_eq!(viewer(&[("viewer", &first)]).status, 200);
    assert_eq!(ask(&server, "next", &[("viewer", &first)]).status, 404);
    drop(server);
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn another_name_of_this_machine_and_a_missing_token_are_refused() {
    let scene = Scene::new("hosts");
    let opening = Recorder::create_or_open(scene.store()).size(8 << 20).recycle();
    assert_eq!(opening.open().unwrap().close().lost(), 0);
    let server = scene.serve(&[]);
    let of = |headers: &str| send(&server, "GET", "/live/search", headers, "");
    assert_eq!(of("Host: localhost:9090\r\n").status, 200);
    let told = of("Host: evil.example:9090\r\n");
    assert_eq!(told.status, 403);
    assert!(told.error().contains("evil.example"), "{told:?}");
    // Nor is anything of Prometheus' API told then.
    let labels =
        |host: &str| send(&server, "GET", "/api/v1/labels", &format!("Host: {host}\r\n"), "");
    assert_eq!((labels("127.0.0.1").status, labels("evil.example").status), (200, 403));
    // A page of somebody else, by this machine's own address.
    let page = |origin: &str| {
        let headers = format!("Host: 127.0.0.1:9090\r\nOrigin: {origin}\r\n");
        send(&server, "POST", "/live/search", &headers, "")
    };
    assert_eq!((page("http://127.0.0.1:9090").status, page("null").status), (200, 403));
    assert!(page("https://evil.example").error().contains("--origin https://evil.example"));
    // Whoever may send any header has no token all the same.
    assert_eq!(of("Host: evil.example\r\nAuthorization: Bearer x\r\n").status, 403);
    drop(server);
    let file = scene.file("tokens");
    let mut tokens = Tokens::default();
    let secret = tokens.add([7; 32], Access::Read, ("", ""), 0).unwrap().0;
    std::fs::write(&file, tokens.text()).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = scene.serve(&["--require-token", "--tokens", file.to_str().unwrap()]);
    // The page asks for the token, so it is there without one; what is in the store is not.
    assert_eq!(get(&server, "/").status, 200);
    for what in ["search", "window", "follow", "next"] {
        assert_eq!(ask(&server, what, &[]).status, 401, "{what}");
    }
    let token = format!("Host: plant.example\r\nAuthorization: Bearer {secret}\r\n");
    assert_eq!(send(&server, "GET", "/live/search", &token, "").status, 200);
}

//! Tokens: made, listed, revoked, and what each lets through.

use crate::scene::Scene;
use std::process::{Command, Output};

const TIME: i64 = 1_700_000_000_000_000_000;

fn listen(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baro-listen")).args(arguments).output().unwrap()
}

pub(crate) fn token(file: &str, arguments: &[&str]) -> String {
    let output = listen(&[&["token"], arguments, &["--tokens", file]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_token_lets_through_what_it_says_and_is_revoked_without_a_restart() {
    let folder = std::env::temp_dir().join(format!("baro-tokens-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tokens").to_str().unwrap().to_owned();
    let Some(mut scene) = Scene::new("tokens", &["--tokens", &file, "--require-token"]) else {
        return;
    };
    let mut client = scene.client();
    let line = format!("rig_m v=1 {TIME}");
    let write = |client: &mut crate::client::Client, header: &str, text: &str| {
        client.ask("POST /write", header, text).status
    };
    assert_eq!(write(&mut client, "", &line), 401);
    // Rotation without a restart: the file is read again within a second.
    let writer = token(&file, &["new", "press 3", "--prefix", "rig_"]);
    let reader = token(&file, &["new", "--access", "read", "dashboards"]);
    let as_token = |secret: &str| format!("Authorization: Token {secret}\r\n");
    let mut tries = 0;
    while write(&mut client, &as_token(&writer), &line) == 401 {
        tries += 1;
        assert!(tries < 100, "the token is not known");
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(!kept.contains(&writer) && !kept.contains(&writer["baro_".len()..]), "{kept}");
    assert_eq!(write(&mut client, &format!("Authorization: Bearer {writer}\r\n"), &line), 204);
    assert_eq!(client.ask(&format!("POST /write?u=x&p={writer}"), "", &line).status, 204);
    // Another name costs its line; another right is none.
    let both = client.ask("POST /write", &as_token(&writer), format!("{line}\nother v=1 {TIME}"));
    assert_eq!(both.status, 400);
    assert!(both.body.contains("line 2: expected a series that begins with"), "{both:?}");
    // A series that others have written is as foreign as one that nobody has.
    let other = token(&file, &["new", "press 4", "--prefix", "plant_"]);
    let mut tries = 0;
    while write(&mut client, &as_token(&other), &line) == 401 {
        tries += 1;
        assert!(tries < 100, "the token is not known");
    }
    for _ in 0..3 {
        assert_eq!(write(&mut client, &as_token(&other), &line), 400);
    }
    let quoted = format!("rig_\\ x,a=b v=1 {TIME}");
    assert_eq!(write(&mut client, &as_token(&writer), &quoted), 204);
    assert_eq!(write(&mut client, &as_token(&reader), &line), 403);
    assert_eq!(client.ask("POST /api/v1/write", &as_token(&reader), "").status, 403);
    assert_eq!(client.ask("GET /metrics", &as_token(&writer), "").status, 403);
    assert_eq!(client.ask("GET /metrics", &as_token(&reader), "").status, 200);
    for wrong in [&writer[..writer.len() - 1], "x", &writer.to_uppercase()] {
        let answer = client.ask("POST /write", &as_token(wrong), &line);
        assert_eq!(answer.status, 401);
        assert!(answer.header("www-authenticate").is_some());
    }
    assert_eq!(client.get("/ping").status, 204);
    let listed = token(&file, &["list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let id = listed["tokens"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["tokens"][0]["prefix"], "rig_");
    token(&file, &["revoke", &id]);
    let mut tries = 0;
    while write(&mut client, &as_token(&writer), &line) != 401 {
        tries += 1;
        assert!(tries < 100, "the token is still known");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(!listen(&["token", "revoke", "nothing", "--tokens", &file]).status.success());
    scene.end_recorder();
    assert_eq!(
        scene.samples().into_keys().collect::<Vec<_>>(),
        ["rig_m_v", "{\"rig_ x_v\",a=\"b\"}"]
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_token_brings_the_store_no_more_series_than_it_may() {
    let folder = std::env::temp_dir().join(format!("baro-token-series-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tokens").to_str().unwrap().to_owned();
    let tokens = ["a_", "b_", ""].map(|prefix| token(&file, &["new", "x", "--prefix", prefix]));
    let options = ["--tokens", &file, "--require-token", "--series-per-token", "2", "--lanes", "1"];
    let Some(mut scene) = Scene::new("token-series", &options) else { return };
    let write = |scene: &Scene, secret: &str, names: &[&str]| {
        let lines: Vec<String> = names.iter().map(|name| format!("{name} v=1 {TIME}")).collect();
        let header = format!("Authorization: Token {secret}\r\n");
        scene.client().ask("POST /write", &header, lines.join("\n"))
    };
    let [a, b, all] = &tokens;
    assert_eq!(write(&scene, a, &["a_1"]).status, 204);
    let told = write(&scene, a, &["a_1", "a_2", "a_3"]);
    assert_eq!(told.status, 400);
    assert!(told.body.contains("line 3") && told.body.contains("(--series-per-token)"), "{told:?}");
    // Others have their own, and another listener counts the same.
    assert_eq!(write(&scene, b, &["b_1"]).status, 204);
    scene.kill_listener();
    scene.listen(&options);
    assert_eq!(write(&scene, a, &["a_4"]).status, 400);
    assert_eq!(write(&scene, b, &["b_2", "b_1"]).status, 204);
    assert_eq!(write(&scene, b, &["b_3", "b_1"]).status, 400);
    assert_eq!(write(&scene, all, &["c_1", "c_2", "c_3"]).status, 204);
    scene.end_recorder();
    let names: Vec<String> = scene.samples().into_keys().collect();
    assert_eq!(names, ["a_1_v", "a_2_v", "b_1_v", "b_2_v", "c_1_v", "c_2_v", "c_3_v"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_address_that_others_reach_is_refused_without_token_or_tls() {
    let file = std::env::temp_dir().join(format!("baro-no-tokens-{}", std::process::id()));
    let file = file.to_str().unwrap();
    let open = |options: &[&str]| {
        let output =
            listen(&[&["listen", "/", "--http", "0.0.0.0:0", "--tokens", file], options].concat());
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = open(&[]);
    assert!(said.contains("--insecure-without-tls") && said.contains("--tls-cert"), "{said}");
    let said = open(&["--insecure-without-tls"]);
    assert!(said.contains("expected a token in") && said.contains("baro token new"), "{said}");
}

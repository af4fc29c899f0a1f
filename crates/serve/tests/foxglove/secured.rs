//! The socket below TLS, with a token in the address as browsers send it: opened by the right one, and by no
//! other.

use crate::client::{Client, SDK, Told, ask_on, body, headers};
use crate::scene::{Scene, Server};
use crate::{START, recorder, tls, warm_up};
use baro_net::tokens::{Access, Tokens};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A file with these bytes that nobody else may read.
fn private(scene: &Scene, name: &str, bytes: &[u8]) -> PathBuf {
    let file = scene.file(name);
    fs::write(&file, bytes).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file
}

/// A server with a certificate that asks for a token of these.
fn secured(scene: &Scene, tokens: &Tokens, options: &[&str]) -> Server {
    let of = |name: &str| fs::read(tls::fixture(name)).unwrap();
    let certificate = private(scene, "server.crt", &of("one.crt"));
    let key = private(scene, "server.key", &of("one.key"));
    let tokens = private(scene, "tokens", tokens.text().as_bytes());
    let files = [certificate, key, tokens].map(|file| file.to_str().unwrap().to_owned());
    let [certificate, key, tokens] = files.each_ref().map(String::as_str);
    let own = ["--tls-cert", certificate, "--tls-key", key, "--require-token", "--tokens", tokens];
    scene.serve(&[&own[..], options].concat())
}

/// What a page of another server sends.
fn browser() -> String {
    format!("{}Origin: https://app.example\r\n", headers(SDK))
}

#[test]
fn a_token_in_the_address_opens_a_socket_below_tls() {
    let scene = Scene::new("foxglove-tls");
    let recorder = recorder(&scene);
    let level = recorder.series::<i64>("level", "").unwrap();
    let camera = recorder.channel("camera", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let mut tokens = Tokens::default();
    let secret = tokens.add([7; 32], Access::Read, ("", ""), 0).unwrap().0;
    let server = secured(&scene, &tokens, &[]);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let stream = tls::client(server.address(), "one.crt", version);
        let mut client = Client::on(stream, &format!("/?series=level&p={secret}"), &browser());
        assert_eq!(client.topics.keys().collect::<Vec<_>>(), ["baro/notes", "level"]);
        client.subscribe(&["level"]);
        warm_up(&mut client, 0, &mut push, level);
    }
    // Frames that are longer than a record of TLS, and requests between them.
    let stream = tls::client(server.address(), "one.crt", &rustls::version::TLS13);
    let mut client = Client::on(stream, &format!("/?p={secret}"), &browser());
    client.subscribe(&["level", "camera#"]);
    warm_up(&mut client, 0, &mut push, level);
    for n in 0..20_u8 {
        push.frame(camera, START + i64::from(n), &vec![n; 40_000]).unwrap();
        client.say(
            &serde_json::json!({"op": "unsubscribe", "subscriptionIds": [1_000 + u32::from(n)]}),
        );
    }
    let (mut frames, mut refused) = (Vec::new(), 0);
    while frames.len() < 20 || refused < 20 {
        match client.next() {
            Told::Message(1, time_ns, payload) => frames.push((time_ns, payload)),
            Told::Status(2, _, said) => {
                assert!(said.contains(&format!("unknown id {}", 1_000 + refused)), "{said}");
                refused += 1;
            }
            Told::Message(0, ..) | Told::Time(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let expected = (0..20_u8).map(|n| (START as u64 + u64::from(n), vec![n; 40_000]));
    assert!(frames == expected.collect::<Vec<_>>());
    server.stop();
    assert_eq!(client.closed(), (1001, "the server stops".to_owned()));
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn a_wrong_token_is_refused_before_there_is_a_socket() {
    let scene = Scene::new("foxglove-tls-wrong");
    let recorder = recorder(&scene);
    recorder.series::<i64>("level", "").unwrap();
    let mut tokens = Tokens::default();
    let token = |tokens: &mut Tokens, random: u8, access| {
        tokens.add([random; 32], access, ("", ""), 0).unwrap().0
    };
    let right = token(&mut tokens, 7, Access::Read);
    let writes = token(&mut tokens, 8, Access::Write);
    let foreign = token(&mut Tokens::default(), 9, Access::Admin);
    let server = secured(&scene, &tokens, &["--viewers", "2"]);
    let mut stream = tls::client(server.address(), "one.crt", &rustls::version::TLS13);
    for (target, status) in [
        ("/".to_owned(), 401),
        (format!("/?p={foreign}"), 401),
        (format!("/?p={right}x"), 401),
        (format!("/?p={writes}"), 403),
        (format!("/?p={right}&p={right}"), 400),
    ] {
        // Each on the connection of the one before: it still speaks HTTP, and nothing of a socket.
        let (found, head) = ask_on(&mut stream, &target, &browser());
        assert_eq!(found, status, "{target}: {head}");
        let head_and_body = format!("{head}{}", body(&head, &mut stream));
        for never in ["Sec-WebSocket-Accept", "serverInfo", "level", right.as_str()] {
            assert!(!head_and_body.contains(never), "{target}: {head_and_body}");
        }
    }
    // None of them has taken a place: there are two, and the right token has both.
    let target = format!("/?p={right}");
    let first = Client::on(stream, &target, &browser());
    let other = tls::client(server.address(), "one.crt", &rustls::version::TLS13);
    let second = Client::on(other, &target, &browser());
    assert!(first.topics.contains_key("level") && first.topics == second.topics);
    drop((first, second, server));
    assert_eq!(recorder.close().lost(), 0);
}

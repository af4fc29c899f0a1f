//! Clients that send what is none of the protocol: each is refused by name or closed with its code, and another
//! one never notices.

use crate::client::{Client, SDK, ask, body, headers};
use crate::scene::Scene;
use crate::{recorder, warm_up};
use serde_json::{Value, json};
use std::time::Duration;
use tungstenite::Message;

/// A frame from a client: its first byte, its payload, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 126);
    let mut bytes = vec![first, 0x80 | payload.len() as u8, 0, 0, 0, 0];
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn requests_that_are_none_for_a_socket_are_refused() {
    let scene = Scene::new("foxglove-requests");
    assert_eq!(recorder(&scene).close().lost(), 0);
    let server = scene.serve(&[]);
    let good = headers(SDK);
    let other = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    for (target, headers, status, said) in [
        ("/other", good.clone(), 404, "at the address /"),
        ("/api/v1/query", good.clone(), 404, "at the address /"),
        ("/?series=a{b", good.clone(), 400, "series"),
        ("/?frames=1", good.clone(), 400, "frames"),
        ("/", other("keep-alive, Upgrade", "close"), 400, "Connection: Upgrade"),
        ("/", other("Version: 13", "Version: 8"), 426, "Version: 13"),
        ("/", other("dGhlIHNhbXBsZSBub25jZQ==", "short"), 400, "Key"),
        ("/", other(SDK, "mqtt"), 400, "foxglove.sdk.v1"),
        ("/", other("Sec-WebSocket-Protocol", "X"), 400, "foxglove.websocket.v1"),
        ("/", format!("{good}Content-Length: 3\r\n"), 400, "no body"),
        ("/", format!("{good}Transfer-Encoding: chunked\r\n"), 400, "no body"),
    ] {
        let (found, head, stream) = ask(&server, target, &headers);
        assert_eq!(found, status, "{target} {headers}: {head}");
        let body = body(&head, stream);
        assert!(body.contains(said), "{target} {headers}: {body}");
    }
    // Of several protocols the client's first that is known.
    let (_, head, _) = ask(&server, "/", &headers(&format!("x, foxglove.websocket.v1, {SDK}")));
    assert!(head.contains("Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n"), "{head}");
}

#[test]
fn frames_that_are_none_close_the_socket_with_their_code_and_others_go_on() {
    let scene = Scene::new("foxglove-frames");
    let recorder = recorder(&scene);
    let level = recorder.series::<i64>("level", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let server = scene.serve(&[]);
    let mut other = Client::connect(&server, "/");
    other.subscribe(&["level"]);
    let huge = [&[0x81, 0xFF][..], &(1_u64 << 62).to_be_bytes(), &[0; 4]].concat();
    let pieces =
        [frame(0x01, b"{"), [&[0x00, 0xFF][..], &(1_u64 << 19).to_be_bytes(), &[0; 4]].concat()];
    for (what, bytes, code) in [
        ("not masked", vec![0x81, 0x02, b'{', b'}'], 1002),
        ("reserved bits", frame(0xF1, b"{}"), 1002),
        ("an unknown kind of data", frame(0x83, b"{}"), 1002),
        ("an unknown kind of control", frame(0x8B, b""), 1002),
        ("a ping in pieces", frame(0x09, b"a"), 1002),
        ("a rest of nothing", frame(0x80, b"a"), 1002),
        ("a text within another", [frame(0x01, b"{"), frame(0x81, b"}")].concat(), 1002),
        ("a long ping", [&[0x89, 0xFE, 0, 200, 0, 0, 0, 0][..], &[0; 200]].concat(), 1002),
        ("no UTF-8", frame(0x81, b"\xFF\xFE"), 1007),
        ("no UTF-8 in pieces", [frame(0x01, b"\xC3"), frame(0x80, b"(")].concat(), 1007),
        ("a huge frame", huge, 1009),
        (
            "a huge message in pieces",
            [&pieces[0][..], &pieces[1], &vec![b' '; 1 << 19]].concat(),
            1009,
        ),
    ] {
        let mut client = Client::connect(&server, "/");
        client.raw(&bytes);
        let (found, reason) = client.closed();
        assert_eq!(found, code, "{what}: {reason}");
        // It answers pings meanwhile, also on a machine that is busy.
        other.poll(Duration::from_millis(1));
        assert!(!reason.is_empty() && reason.len() <= 123, "{what}: {reason}");
    }
    // Half a frame, and gone.
    Client::connect(&server, "/").raw(&[0x81, 0xFE, 0]);
    // Who closes is answered.
    let mut client = Client::connect(&server, "/");
    client.send(Message::Close(None));
    assert!(matches!(client.read(), Message::Close(_)));
    warm_up(&mut other, 0, &mut push, level);
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn what_there_is_not_is_refused_by_name_and_the_socket_stays() {
    let scene = Scene::new("foxglove-ops");
    let recorder = recorder(&scene);
    let level = recorder.series::<i64>("level", "").unwrap();
    let mut push = recorder.producer().unwrap();
    let server = scene.serve(&[]);
    let mut client = Client::connect(&server, "/");
    let channel = client.topics["level"].id;
    let subscribe = |id: u32, channel: u32| json!({"op": "subscribe", "subscriptions": [{"id": id, "channelId": channel}]});
    client.say(&subscribe(5, channel));
    let texts: [(Value, &str); 12] = [
        (json!({"op": "advertise", "channels": []}), "publishing by clients"),
        (json!({"op": "unadvertise", "channelIds": [1]}), "publishing by clients"),
        (json!({"op": "getParameters", "parameterNames": []}), "parameters"),
        (json!({"op": "setParameters", "parameters": []}), "parameters"),
        (json!({"op": "subscribeConnectionGraph"}), "connection graph"),
        (json!({"op": "fetchAsset", "uri": "a", "requestId": 1}), "assets"),
        (json!({"op": "fly"}), "found fly"),
        (json!([1]), "op subscribe or unsubscribe"),
        (subscribe(6, 4_000_000), "advertised, found 4000000"),
        (subscribe(5, client.topics["baro/notes"].id), "in use"),
        (subscribe(7, channel), "one subscription of channel"),
        (json!({"op": "unsubscribe", "subscriptionIds": [9]}), "unknown id 9"),
    ];
    for (text, said) in texts {
        client.say(&text);
        let (level, _, message) = client.status();
        assert!(level == 2 && message.contains(said), "{text}: {message}");
    }
    for (bytes, said) in
        [(vec![1, 0, 0, 0, 0], "publishing"), (vec![2, 0], "services"), (vec![200], "code 200")]
    {
        client.send(Message::Binary(bytes.into()));
        let (_, _, message) = client.status();
        assert!(message.contains(said), "{message}");
    }
    // Many mistakes of one message are some statuses and their number.
    let all: Vec<Value> =
        (0..1_000).map(|n| json!({"id": n + 10, "channelId": n + 100_000})).collect();
    client.say(&json!({"op": "subscribe", "subscriptions": all}));
    let said: Vec<String> = (0..9).map(|_| client.status().2).collect();
    assert!(said[8].contains("992 more"), "{said:?}");
    // What was subscribed to goes on.
    client.send(Message::Ping(b"are you there".to_vec().into()));
    warm_up(&mut client, 5, &mut push, level);
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn a_server_that_stops_says_so() {
    let scene = Scene::new("foxglove-stop");
    assert_eq!(recorder(&scene).close().lost(), 0);
    let server = scene.serve(&[]);
    let client = Client::connect(&server, "/");
    server.stop();
    assert_eq!(client.closed(), (1001, "the server stops".to_owned()));
}

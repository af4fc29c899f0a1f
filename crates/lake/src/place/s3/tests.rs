//! A table in a bucket, over a server that loses answers, is busy, refuses, or dies at each step.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests")]

mod server;

use super::*;
use crate::handover::Lake;
use crate::scene::{Samples, Scene, lake_over, newest};
use rusty_s3::Credentials;
use server::{Fate, Judge, Server};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Samples of each time that a scene records.
const SERIES: u64 = 5;

fn serve(scene: &Scene, judge: impl FnMut(&str, &str) -> Fate + Send + 'static) -> Server {
    let judge: Box<Judge> = Box::new(judge);
    Server::over(&scene.folder, judge)
}

fn settings(server: &Server) -> Settings {
    let address = format!("http://{}", server.address);
    let variable = |name: &str| (name == "AWS_ENDPOINT_URL").then(|| address.clone());
    let read = Settings::of(Path::new("s3://b/table"), "b/table", &variable).unwrap();
    Settings { keys: || Ok(Credentials::new("key", "secret")), ..read }
}

fn place(server: &Server) -> Result<S3> {
    S3::with(&settings(server))
}

fn lake(scene: &Scene, server: &Server) -> Lake<S3> {
    lake_over(scene.open(), place(server).unwrap())
}

#[test]
fn a_table_in_a_bucket_has_each_sample_once() {
    let (scene, mut samples) = (Scene::new("bucket"), Samples::new());
    let server = serve(&scene, |_, _| Fate::Fine);
    for from in [0, 25, 50, 60, 70] {
        scene.record("store", from, 50, &mut samples);
        assert!(lake(&scene, &server).round().unwrap().samples > 0);
    }
    assert_eq!(lake(&scene, &server).round().unwrap().samples, 0);
    assert_eq!(newest(&scene.rows()), samples);
    let names = place(&server).unwrap().names(LOG).unwrap();
    assert_eq!(names.len(), 6, "{names:?}");
}

#[test]
fn a_file_comes_in_parts_and_is_seen_when_it_is_whole() {
    let scene = Scene::new("parts");
    let server = serve(&scene, |_, _| Fate::Fine);
    let place = place(&server).unwrap();
    let bytes: Vec<u8> = (0..20_000_003_u32).map(|at| (at % 251) as u8).collect();
    let mut output = place.begin("a.parquet").unwrap();
    std::io::Write::write_all(&mut output, &bytes).unwrap();
    assert_eq!(place.size("a.parquet").unwrap(), None);
    assert_eq!(output.finish().unwrap(), bytes.len() as u64);
    assert_eq!(place.size("a.parquet").unwrap(), Some(bytes.len() as u64));
    assert_eq!(place.read("a.parquet", 1 << 30).unwrap(), Some(bytes.clone()));
    let error = place.read("a.parquet", 1_000_000).unwrap_err().to_string();
    assert!(error.contains("at most 1000000 bytes"), "{error}");
    // One that is given up leaves nothing, and an empty one is there.
    let mut output = place.begin("b.parquet").unwrap();
    std::io::Write::write_all(&mut output, &bytes).unwrap();
    drop(output);
    assert_eq!((place.size("b.parquet").unwrap(), server.parts_left()), (None, 0));
    assert_eq!(place.begin("c").unwrap().finish().unwrap(), 0);
    assert_eq!(place.size("c").unwrap(), Some(0));
    assert!(!place.put_new("c", b"other").unwrap());
    assert_eq!(place.read("c", 10).unwrap(), Some(Vec::new()));
}

/// The server dies at each of its requests, before or after it has done what was asked.
#[test]
fn a_server_that_dies_at_any_request_loses_and_doubles_nothing() {
    let (model, mut samples) = (Scene::new("dying"), Samples::new());
    model.record("store", 0, 10, &mut samples);
    model.record("store", 10, 10, &mut samples);
    let mut deaths = 0;
    for last in [Fate::Lost, Fate::AnswerLost] {
        for requests in 1.. {
            let scene = model.copy("dying-life");
            let asked = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&asked);
            let server = serve(&scene, move |_, _| {
                match (count.fetch_add(1, Ordering::Relaxed) + 1).cmp(&requests) {
                    std::cmp::Ordering::Less => Fate::Fine,
                    std::cmp::Ordering::Equal => last,
                    std::cmp::Ordering::Greater => Fate::Lost,
                }
            });
            let first = place(&server).and_then(|place| lake_over(scene.open(), place).round());
            drop(server);
            let is_over = asked.load(Ordering::Relaxed) < requests;
            deaths += u64::from(!is_over);
            let server = serve(&scene, |_, _| Fate::Fine);
            lake(&scene, &server).round().unwrap();
            assert_eq!(scene.told().rows, 20 * SERIES, "{last:?} {requests}: {first:?}");
            assert_eq!(newest(&scene.rows()), samples, "{last:?} {requests}");
            if is_over {
                break;
            }
        }
    }
    assert!(deaths > 30, "{deaths}");
}

/// Each third request or so is lost, or its answer, or the server is busy.
#[test]
fn lost_answers_and_a_busy_server_double_nothing() {
    for seed in 0..8_u64 {
        let (scene, mut samples) = (Scene::new("lossy"), Samples::new());
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let server = serve(&scene, move |_, _| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state >> 33 & 15 {
                0 | 1 => Fate::Lost,
                2 | 3 => Fate::AnswerLost,
                4 => Fate::Refused(503, "SlowDown"),
                5 => Fate::Refused(409, "ConditionalRequestConflict"),
                _ => Fate::Fine,
            }
        });
        for from in [0, 10, 20] {
            scene.record("store", from, 10, &mut samples);
            for _ in 0..50 {
                let done = place(&server).and_then(|place| lake_over(scene.open(), place).round());
                if done.is_ok_and(|done| done.then.is_none()) {
                    break;
                }
            }
        }
        assert_eq!(scene.told().rows, 30 * SERIES, "{seed}");
        assert_eq!(newest(&scene.rows()), samples, "{seed}");
    }
}

#[test]
fn two_who_write_at_once_each_have_their_version() {
    let scene = Scene::new("two");
    let server = serve(&scene, |_, _| Fate::Fine);
    let all: BTreeMap<u64, usize> = std::thread::scope(|scope| {
        let handles = (0..8).map(|_| {
            scope.spawn(|| {
                let place = place(&server).unwrap();
                let mine = (0..10).filter(|at| place.put_new(&format!("{at}"), b"mine").unwrap());
                mine.collect::<Vec<u64>>()
            })
        });
        let handles: Vec<_> = handles.collect();
        let mut all = BTreeMap::new();
        for at in handles.into_iter().flat_map(|handle| handle.join().unwrap()) {
            *all.entry(at).or_default() += 1;
        }
        all
    });
    assert_eq!(all, (0..10).map(|at| (at, 1)).collect());
}

#[test]
fn what_is_wrong_with_a_server_is_said_with_what_to_do() {
    let scene = Scene::new("wrong");
    for (fate, expected, may_pass) in [
        (Fate::Replaces, "two writers would lose each other's versions", false),
        (Fate::Refused(403, "ExpiredToken"), "they are read at each try", true),
        (Fate::Refused(403, "RequestTimeTooSkewed"), "the clock", true),
        (Fate::Refused(403, "AccessDenied"), "let these keys list, read, put and delete", true),
        (Fate::Refused(404, "NoSuchBucket"), "make the bucket", true),
        (Fate::Refused(301, "PermanentRedirect"), "set AWS_REGION", false),
        (Fate::Refused(501, "NotImplemented"), "does not know what is asked for", false),
        (Fate::Lost, "look at the network", true),
    ] {
        let server = serve(&scene, move |_, _| fate);
        let error = place(&server).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(expected) && !said.contains("X-Amz"), "{fate:?}: {said}");
        assert_eq!(error.may_pass(), may_pass, "{said}");
    }
    // A bucket that goes away while it is handed over.
    let mut samples = Samples::new();
    scene.record("store", 0, 10, &mut samples);
    let mut left = 8;
    let server = serve(&scene, move |_, _| {
        left -= 1;
        if left > 0 { Fate::Fine } else { Fate::Refused(404, "NoSuchBucket") }
    });
    let error = lake(&scene, &server).round().unwrap_err().to_string();
    assert!(error.contains("make the bucket"), "{error}");
    let server = serve(&scene, |_, _| Fate::Fine);
    assert_eq!(lake(&scene, &server).round().unwrap().samples, 10 * SERIES);
    assert_eq!(newest(&scene.rows()), samples);
}

#[test]
fn where_a_bucket_is_follows_from_what_others_read_too() {
    let of = |rest: &str, pairs: &'static [(&str, &str)]| {
        let found =
            |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        Settings::of(Path::new("s3://x"), rest, &found)
    };
    let base = |rest, pairs| of(rest, pairs).unwrap().bucket.base_url().to_string();
    let roots = &[("SSL_CERT_FILE", "/x"), ("AWS_REGION", "eu-west-1")];
    assert_eq!(base("b/t", roots), "https://b.s3.eu-west-1.amazonaws.com/");
    assert_eq!(base("b.c/t", roots), "https://s3.eu-west-1.amazonaws.com/b.c/");
    let own = &[("AWS_ENDPOINT_URL", "http://[::1]:9000")];
    assert_eq!(base("b/t/u//", own), "http://[::1]:9000/b/");
    assert_eq!(of("b/t/u//", own).unwrap().prefix, "t/u/");
    for (rest, pairs) in [
        ("b", &[][..]),
        ("/t", &[]),
        ("b/../c", &[]),
        ("b//t", &[]),
        ("b/t", &[("AWS_ENDPOINT_URL", "http://192.0.2.1:9000")]),
        ("b/t", &[("AWS_ENDPOINT_URL", "ftp://127.0.0.1")]),
        ("b/t", &[("AWS_ENDPOINT_URL", "nothing")]),
    ] {
        assert!(matches!(of(rest, pairs), Err(Error::Server { .. })), "{rest} {pairs:?}");
    }
}

//! A load that is killed: what its last statement says is there, as the kernel has all writes.

use crate::place::Place;
use crate::{SEED, faster, judged};
use lab_load::scenario::scenario;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Kills the load when its statements have come to a number.
fn kill_at(place: &Place, name: &str, number: u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lab-load"))
        .args(["write", "--scenario", name, "--seed", &SEED.to_string()])
        .args(["--store".as_ref(), place.store().as_os_str()])
        .args(["--acks".as_ref(), place.acks().as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "READY\n");
    while place.last_statement().is_none_or(|last| last.number() < number) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_load_has_said_is_there() {
    for (name, number) in [("direct", 3), ("catalog", 150), ("pins", 250), ("settle", 90)] {
        let place = Place::new(name);
        kill_at(&place, name, number);
        let statement = place.last_statement().unwrap();
        assert!(statement.number() >= number);
        let found = judged(&place.store(), scenario(name).unwrap(), Some(statement.clone()));
        assert_eq!(found.unwrap().durable, crate::durable(&statement), "{name}");
        // Without the statement nothing is promised, and all is right all the same.
        judged(&place.store(), faster(name), None).unwrap();
    }
}

#[test]
fn the_command_line_says_bad_with_1_and_names_what_it_does_not_know_with_2() {
    let place = Place::new("usage");
    kill_at(&place, "direct", 20);
    let bytes = std::fs::read(place.acks()).unwrap();
    let mut promised = place.last_statement().unwrap();
    promised.slots[0].durable += 1_000_000;
    promised.slots[0].known += 1_000_000;
    std::fs::write(place.acks(), promised.encode()).unwrap();
    let run = |store: &std::ffi::OsStr, acks: &std::ffi::OsStr| {
        let done = Command::new(env!("CARGO_BIN_EXE_lab-load"))
            .args(["verify", "--scenario", "direct", "--seed", &SEED.to_string()])
            .args(["--store".as_ref(), store, "--ack".as_ref(), acks])
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let (store, acks) = (place.store(), place.acks());
    let (code, said) = run(store.as_os_str(), acks.as_os_str());
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.starts_with("BAD durable records of producer 0: expected ") && said.ends_with('\n')
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    std::fs::write(place.acks(), bytes).unwrap();
    assert_eq!(run(store.as_os_str(), "none".as_ref()).0, Some(0));
    assert_eq!(run(store.as_os_str(), store.as_os_str()).0, Some(2));
}

//! libaio under the library: one event for each request, with the result of the whole, and the request as
//! the program left it; by a program in C.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests use files and programs")]

mod place;

use place::{Place, succeed};
use std::process::Command;

fn run(name: &str, case: &str) -> Option<std::collections::BTreeMap<&'static str, u64>> {
    let place = Place::new(name)?;
    let program = place.compile("libaio", &["-l:libaio.so.1"])?;
    succeed(Command::new(&program).arg(place.files()).arg(case));
    succeed(place.command(&program).arg(place.files()).arg(case));
    Some(place.counted())
}

#[test]
fn many_in_flight_have_one_event_each() {
    let Some(counted) = run("flight", "in_flight") else { return };
    // Eleven of sixteen requests are large, in twelve rounds.
    assert_eq!((counted["calls_cut"], counted["pieces"]), (132, 132 * 17), "{counted:?}");
}

#[test]
fn threads_submit_and_reap_on_one_context() {
    let Some(counted) = run("together", "threads") else { return };
    assert_eq!((counted["calls_cut"], counted["pieces"]), (64, 64 * 17), "{counted:?}");
}

#[test]
fn a_destroyed_context_has_done_what_was_submitted() {
    let Some(counted) = run("destroyed", "destroyed") else { return };
    assert_eq!((counted["calls_cut"], counted["bytes_cut"]), (4, 8 << 20), "{counted:?}");
}

#[test]
fn ends_errors_and_readers_of_the_ring_are_as_in_the_kernel() {
    let Some(counted) = run("edges", "edges") else { return };
    assert_eq!(counted["calls_cut"], 4, "the end, two bad buffers, and one good: {counted:?}");
    assert_eq!(counted["aio_not_reaped"], 2, "what reaps for itself: {counted:?}");
}

#[test]
fn what_was_not_reaped_or_has_an_eventfd_is_left_alone() {
    let Some(counted) = run("not-reaped", "left_alone") else { return };
    assert_eq!((counted["aio_not_reaped"], counted["aio_eventfd"]), (2, 1), "{counted:?}");
    assert_eq!((counted.get("calls_cut"), counted.get("raw")), (None, None), "{counted:?}");
}

#[test]
fn a_child_makes_its_own_context() {
    let Some(counted) = run("forked", "forked") else { return };
    assert_eq!((counted["calls_cut"], counted["pieces"]), (2, 2 * 32), "{counted:?}");
}

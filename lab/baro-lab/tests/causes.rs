//! Causes on this machine's kernel, with root's rights: a stall is where it was made, and nothing of its
//! stand is left.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../crates/bench/tests/bed/mod.rs"]
mod bed;

use baro_lab::causes::{Account, JUDGED_NS, Sampler, Seen, find};
use bed::{known, names, place};
use std::sync::atomic::AtomicBool;

#[test]
fn a_stall_is_where_it_was_made() {
    let Some(place) = place("stall") else { return };
    for name in ["folio_lock", "transaction_full"] {
        let cause = find(name).unwrap();
        let mut sampler = None;
        let mut account = Account::default();
        let stop = AtomicBool::new(false);
        let made = cause.make(
            &place,
            &stop,
            &mut |stand| {
                sampler = Some(Sampler::start(std::process::id(), &stand.journal_task())?);
                Ok(())
            },
            &mut |done| {
                account = done.clone();
                Ok(())
            },
        );
        made.unwrap();
        let evidence = sampler.unwrap().finish().unwrap();
        let longest = *account.longest().unwrap();
        assert!(longest.wait_ns() >= JUDGED_NS && longest.call == "pwrite64", "{longest:?}");
        let seen = evidence.judge(cause, &account);
        assert_eq!(seen.len(), 1 + cause.others.len());
        assert!(seen.iter().all(Seen::holds), "{name}: {seen:#?}");
        assert_eq!((known(&place), names(&place)), (Vec::new(), Vec::new()));
    }
}

//! How the promises that hold at a place are shown: by init, record and info alike.

use baro_promises::{Holds, Judged, Look, Promise};
use serde_json::{Value, json};
use std::path::Path;

/// Which promises hold for the store at `path`, as far as it is known without recording.
pub(crate) fn at(path: &Path, look: Look) -> Vec<Judged> {
    let ring_bytes = baro_recorder::Options::default().ring_bytes;
    baro_promises::at(path, look, ring_bytes)
}

pub(crate) fn as_json(judged: &[Judged]) -> Vec<Value> {
    judged
        .iter()
        .map(|judged| {
            json!({
                "promise": judged.promise.to_string(),
                "holds": judged.holds.to_string(),
                "why": judged.why,
                "remedy": judged.remedy,
            })
        })
        .collect()
}

/// Names of those that hold, in one line; `None` if there are none.
pub(crate) fn kept(judged: &[Judged]) -> Option<String> {
    let kept = judged.iter().filter(|judged| judged.holds == Holds::Yes);
    let names: Vec<_> = kept.map(|judged| judged.promise.to_string()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Of what does not hold of `judged`, what is `known` as well to those who look without recording: they
/// ask for no priority.
pub(crate) fn known_to_others<'a>(judged: &'a [Judged], known: &[Judged]) -> Vec<&'a Judged> {
    let is_known = |judged: &&Judged| {
        let same = |known: &Judged| known.promise == judged.promise && known.holds == judged.holds;
        let asked_for = judged.promise == Promise::RealTime;
        judged.holds != Holds::Yes && !asked_for && known.iter().any(same)
    };
    judged.iter().filter(is_known).collect()
}

/// A line for each promise: those that hold by name, the others with reason and remedy.
pub(crate) fn lines(judged: &[Judged]) -> Vec<String> {
    let mut lines: Vec<_> =
        kept(judged).into_iter().map(|kept| format!("holds here: {kept}")).collect();
    let open = judged.iter().filter(|judged| judged.holds != Holds::Yes);
    lines.extend(open.map(|judged| format!("note: {judged}")));
    lines
}

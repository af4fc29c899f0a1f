//! An explanation as JSON. Keys carry units; names of causes are those of
//! [`Cause::name`](super::Cause::name).

use super::{Explanation, Knowledge, Link, Node, SlowCall, text};
use serde_json::{Value, json};

/// The whole explanation.
#[must_use]
pub fn to_json(known: &Knowledge, explanation: &Explanation) -> Value {
    let causes: Vec<Value> = explanation
        .causes
        .iter()
        .map(|(cause, ns, calls)| json!({"cause": cause.name(), "wait_ns": ns, "calls": calls}))
        .collect();
    json!({
        "duration_ns": known.line.duration_ns(),
        "slow_calls": explanation.slow_calls,
        "calls": explanation.calls.iter().map(|one| call(known, one)).collect::<Vec<_>>(),
        "causes": causes,
        "lost_events": known.line.lost_events,
        "lost_places": known.line.lost_places,
        "notes": explanation.notes,
    })
}

fn call(known: &Knowledge, one: &SlowCall) -> Value {
    let advice: Vec<Value> = one
        .advice
        .iter()
        .map(|one| json!({"command": one.command, "effect": one.effect, "price": one.price}))
        .collect();
    json!({
        "pid": one.pid,
        "comm": one.comm,
        "call": one.call,
        "device": one.device.map(|device| known.device_name(device)),
        "mount": one.mount,
        "begin_ns": one.begin_ns,
        "end_ns": one.end_ns,
        "wait_ns": one.wait_ns,
        "unexplained_ns": one.unexplained_ns,
        "cause": one.cause.name(),
        "root": one.root.name(),
        "cause_detail": one.cause_detail,
        "root_detail": one.root_detail,
        "known_by": one.known_by.name(),
        "ended": !one.is_open,
        "began_before": one.began_before,
        "sentence": text::sentence(one),
        "chain": one.chain.iter().map(link).collect::<Vec<_>>(),
        "waits": one.tree.iter().map(|node| tree(known, node)).collect::<Vec<_>>(),
        "advice": advice,
    })
}

fn link(one: &Link) -> Value {
    json!({
        "who": one.who,
        "pid": one.pid,
        "waits_for": one.cause.phrase(),
        "cause": one.cause.name(),
        "where": one.place,
        "begin_ns": one.begin_ns,
        "ns": one.ns,
        "evidence": one.evidence,
        "known_by": one.known_by.name(),
        "cause_detail": one.detail,
    })
}

fn tree(known: &Knowledge, one: &Node) -> Value {
    json!({
        "who": known.who(one.pid),
        "cause": one.cause.name(),
        "where": one.place,
        "ns": one.ns,
        "count": one.count,
        "evidence": one.evidence,
        "known_by": one.known_by.name(),
        "cause_detail": one.detail,
        "stack": one.stack.map(|id| known.functions(id)),
        "waits": one.children.iter().map(|child| tree(known, child)).collect::<Vec<_>>(),
    })
}

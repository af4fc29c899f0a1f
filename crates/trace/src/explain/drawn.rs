//! An explanation for the pictures of [`render`].

use super::{Explanation, Knowledge, Node, SlowCall, text};
use crate::calls;
use crate::record::Device;
use crate::render::{self, Names, SlowLink};
use crate::timeline::StackId;

impl Names for Knowledge {
    fn call(&self, number: i64) -> Option<String> {
        calls::name(self.arch.as_deref(), number).map(str::to_owned)
    }

    fn place(&self, stack: StackId) -> Option<String> {
        let place = Knowledge::place(self, Some(stack))?;
        let layer = place.layers.last().map(|layer| layer.function.clone());
        layer.or_else(|| place.innermost.clone())
    }

    fn device(&self, device: Device) -> Option<String> {
        self.devices.get(&device).cloned()
    }
}

/// The calls of an explanation, as they are drawn.
#[must_use]
pub fn drawn(known: &Knowledge, explanation: &Explanation) -> Vec<render::SlowCall> {
    explanation.calls.iter().map(|call| one(known, call)).collect()
}

fn one(known: &Knowledge, call: &SlowCall) -> render::SlowCall {
    let mut links = Vec::new();
    call.tree.iter().for_each(|node| add(known, node, 0, &mut links));
    let advice = call.advice.iter();
    render::SlowCall {
        pid: call.pid,
        task: call.comm.clone(),
        call: call.call.clone(),
        begin_ns: call.begin_ns,
        end_ns: call.end_ns,
        wait_ns: call.wait_ns,
        unexplained_ns: call.unexplained_ns,
        sentence: text::sentence(call),
        links,
        advice: advice
            .map(|one| (one.command.clone(), one.effect.clone(), one.price.clone()))
            .collect(),
    }
}

fn add(known: &Knowledge, node: &Node, depth: usize, links: &mut Vec<SlowLink>) {
    links.push(SlowLink {
        depth,
        who: known.who(node.pid),
        pid: (node.pid != 0).then_some(node.pid),
        waits_for: node.cause.phrase().to_owned(),
        place: node.place.clone(),
        begin_ns: node.begin_ns,
        end_ns: node.end_ns,
        ns: node.ns,
        count: node.count,
        cause: match node.evidence.as_str() {
            "" => node.cause.name().to_owned(),
            evidence => format!("{}: {evidence}", node.cause.name()),
        },
    });
    node.children.iter().for_each(|child| add(known, child, depth + 1, links));
}

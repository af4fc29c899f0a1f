//! The tracks of slow calls: the call, below it a row for each reason, with arrows from each reason to
//! what it is a reason for.

use super::packet::{Arg, Event, Kind, Packets, Track};
use crate::render::{SlowCall, SlowLink, View};
use baro_show::duration;
use std::io;

pub(super) fn write(view: &View<'_>, packets: &mut Packets<'_>) -> io::Result<()> {
    if view.slow.is_empty() {
        return Ok(());
    }
    let top = Track { kind: Kind::SlowCalls, id: 0, row: 0 };
    packets.track(top, None, "slow calls and why")?;
    for (index, call) in view.slow.iter().enumerate() {
        write_call(top, index as u32, call, packets)?;
    }
    Ok(())
}

fn write_call(
    top: Track,
    index: u32,
    call: &SlowCall,
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    let on = Track { kind: Kind::SlowCall, id: index, row: 0 };
    let name = format!("{}: {} of {}", u64::from(index) + 1, call.call, call.task);
    packets.track(on, Some(top), &name)?;
    // An arrow from each link; the call's and the links' events come with those that end there.
    let parents = parents(&call.links);
    let own: Vec<u64> = call.links.iter().map(|_| packets.flow()).collect();
    let mut flows: Vec<Vec<u64>> = own.iter().map(|flow| vec![*flow]).collect();
    let mut of_call: Vec<u64> = Vec::new();
    for (parent, flow) in parents.iter().zip(&own) {
        match parent.and_then(|parent| flows.get_mut(parent)) {
            Some(flows) => flows.push(*flow),
            None => of_call.push(*flow),
        }
    }
    let mut args = vec![
        ("task", Arg::Text(format!("{} {}", call.task, call.pid))),
        ("why", Arg::from(call.sentence.as_str())),
        ("wait_ns", Arg::Uint(call.wait_ns)),
        ("unexplained_ns", Arg::Uint(call.unexplained_ns)),
    ];
    if !call.advice.is_empty() {
        let advice = call.advice.iter();
        let lines =
            advice.map(|(command, effect, price)| format!("{command}: {effect} Price: {price}"));
        args.push(("advice", Arg::Text(lines.collect::<Vec<_>>().join("\n"))));
    }
    let length_ns = call.end_ns.saturating_sub(call.begin_ns);
    let name = format!("{} {}", call.call, duration(length_ns));
    let event =
        Event { name: &name, category: "slow", args: &args, flows: &of_call, ..Event::default() };
    packets.begin(on, call.begin_ns, &event)?;
    packets.end(on, call.end_ns.max(call.begin_ns))?;
    for (number, (link, flows)) in call.links.iter().zip(&flows).enumerate() {
        write_link(on, number as u32, link, flows, packets)?;
    }
    Ok(())
}

fn write_link(
    above: Track,
    number: u32,
    link: &SlowLink,
    flows: &[u64],
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    let on = Track { kind: Kind::SlowLink, id: above.id, row: number };
    let who = match link.pid {
        Some(pid) => format!("{} {pid}", link.who),
        None => link.who.clone(),
    };
    packets.track(on, Some(above), &format!("{}. {who}", link.depth))?;
    let args = [
        ("who", Arg::Text(who)),
        ("place", Arg::from(link.place.as_str())),
        ("cause", Arg::from(link.cause.as_str())),
        ("depth", Arg::Uint(link.depth as u64)),
        // The event lasts from the first to the last of several.
        ("waits", Arg::Uint(link.count)),
        ("wait_ns", Arg::Uint(link.ns)),
    ];
    let event =
        Event { name: &link.waits_for, category: "reason", args: &args, flows, ..Event::default() };
    packets.begin(on, link.begin_ns, &event)?;
    packets.end(on, link.end_ns.max(link.begin_ns))
}

/// Of each link, the one that it is a reason for: the last before it that is less deep; None: the call.
fn parents(links: &[SlowLink]) -> Vec<Option<usize>> {
    let mut above: Vec<(usize, usize)> = Vec::new();
    let mut parents = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate() {
        while above.pop_if(|(depth, _)| *depth >= link.depth).is_some() {}
        parents.push(above.last().map(|(_, index)| *index));
        above.push((link.depth, index));
    }
    parents
}

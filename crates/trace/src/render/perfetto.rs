//! A trace that <https://ui.perfetto.dev> and `trace_processor` read: tracks with slices, counters and
//! arrows.
//!
//! Each task has a track with its calls, syncs, handles and waits, one in the other. What cuts another
//! span of its task stands on a track below. Journals have their transactions stage by stage, and
//! counters of their space; disks their requests and how many are in flight; each slow call a track
//! with one row for each reason. Arrows go from who wakes to who is woken, and along the reasons of a
//! slow call. A span that had not ended when the trace did has no end here either.
//!
//! Times are those of the tracer's clock. CLOCK_MONOTONIC (tracer clock `mono`), CLOCK_MONOTONIC_RAW
//! and CLOCK_BOOTTIME are written as they are, under the number Perfetto has for each; times of other
//! clocks are moved to CLOCK_BOOTTIME. One clock snapshot, at the first event, ties them to boot time
//! and to the date.
//!
//! Invariant: each span of the timeline is one slice or, if no track has room for it, one instant that
//! tells how long it was. Held by `every_span_of_every_fixture_is_in_the_perfetto_trace`.

mod disks;
mod journals;
mod packet;
mod slow;
mod tasks;

use super::View;
use packet::{Arg, Event, Kind, Packets, Track};
use std::io::{self, BufWriter, Write};

/// Writes a Perfetto trace; blocks as `out` does.
///
/// # Errors
/// Those of `out`.
pub fn perfetto(view: &View<'_>, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut packets = Packets::new(&mut out, view.machine);
    packets.snapshot(view.machine, view.line.begin_ns)?;
    about(view, &mut packets)?;
    slow::write(view, &mut packets)?;
    for (pid, task) in &view.line.tasks {
        tasks::describe(view, *pid, task, &mut packets)?;
    }
    for (pid, task) in &view.line.tasks {
        tasks::write(view, *pid, task, &mut packets)?;
    }
    for (device, journal) in &view.line.journals {
        journals::write(view, *device, journal, &mut packets)?;
    }
    for (device, disk) in &view.line.disks {
        disks::write(view, *device, disk, &mut packets)?;
    }
    dirty_pages(view, &mut packets)?;
    out.flush()
}

/// What a reader must know of the trace as a whole.
fn about(view: &View<'_>, packets: &mut Packets<'_>) -> io::Result<()> {
    let track = Track { kind: Kind::About, id: 0, row: 0 };
    packets.track(track, None, "about this trace")?;
    let line = view.line;
    let mut args = vec![
        ("kernel", Arg::from(view.machine.kernel.as_str())),
        ("clock", Arg::from(view.machine.clock.as_str())),
        ("processors", Arg::Uint(view.machine.cpus.into())),
        ("events", Arg::Uint(line.events)),
        ("lost_events", Arg::Uint(line.lost_events)),
        ("lost_places", Arg::Uint(line.lost_places)),
        ("damaged_pages", Arg::Uint(line.damaged_pages)),
        ("dropped_spans", Arg::Uint(line.dropped_spans)),
        ("calls_are_exact", Arg::from(if line.calls_are_exact { "yes" } else { "no" })),
    ];
    if !view.remarks.is_empty() {
        args.push(("remarks", Arg::Text(view.remarks.join("\n"))));
    }
    let event = Event { name: view.title, category: "about", args: &args, ..Event::default() };
    packets.instant(track, line.begin_ns, &event)
}

fn dirty_pages(view: &View<'_>, packets: &mut Packets<'_>) -> io::Result<()> {
    if view.line.dirty_pages.is_empty() {
        return Ok(());
    }
    let of = |row| Track { kind: Kind::Dirty, id: 0, row };
    packets.track(of(0), None, "dirty pages")?;
    packets.counter_track(of(1), of(0), "dirty", "pages")?;
    packets.counter_track(of(2), of(0), "limit", "pages")?;
    for (time_ns, dirty, limit) in &view.line.dirty_pages {
        packets.counter(of(1), *time_ns, *dirty)?;
        packets.counter(of(2), *time_ns, *limit)?;
    }
    Ok(())
}

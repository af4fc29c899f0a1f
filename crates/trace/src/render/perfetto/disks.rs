//! The tracks of one disk: its requests, and how many are in flight.

use super::packet::{Arg, Event, Kind, Packets, Track};
use crate::record::Device;
use crate::render::View;
use crate::render::lanes::Rows;
use crate::render::series::in_flight;
use crate::timeline::Disk;
use baro_show::bytes;
use std::io;

/// Rows of requests: more than most drivers take at once.
const ROWS_MAX: usize = 4_096;

pub(super) fn write(
    view: &View<'_>,
    device: Device,
    disk: &Disk,
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    let top = Track { kind: Kind::Disk, id: device.0, row: 0 };
    packets.track(top, None, &format!("disk {}", view.device_name(device)))?;
    let count = Track { kind: Kind::DiskCounter, ..top };
    packets.counter_track(count, top, "in flight", "requests")?;
    for (time_ns, requests) in in_flight(disk) {
        packets.counter(count, time_ns, requests)?;
    }
    let mut order: Vec<usize> = (0..disk.requests.len()).collect();
    order.sort_by_key(|index| disk.requests.get(*index).map(crate::timeline::Request::begin_ns));
    let mut rows = Rows::new(ROWS_MAX);
    for request in order.into_iter().filter_map(|index| disk.requests.get(index)) {
        let begin_ns = request.begin_ns();
        let end_ns = request.done_ns.map(|done_ns| done_ns.max(begin_ns));
        let name = format!("{} {}", request.class, bytes(request.bytes.into()));
        let mut args = vec![
            ("sector", Arg::Uint(request.sector)),
            ("bytes", Arg::Uint(request.bytes.into())),
            ("task", Arg::Text(format!("{} {}", view.task_name(request.pid), request.pid))),
        ];
        if let Some(queued_ns) = request.queued_ns {
            let queue_ns = request.issued_ns.saturating_sub(queued_ns);
            args.push(("in_queue_ns", Arg::Uint(queue_ns)));
        }
        let known = rows.rows();
        let row = rows.place((begin_ns, end_ns.unwrap_or(u64::MAX)));
        let Some(row) = row else {
            args.extend(end_ns.map(|end_ns| ("duration_ns", Arg::Uint(end_ns - begin_ns))));
            let event = Event { name: &name, category: "disk", args: &args, ..Event::default() };
            packets.instant(top, begin_ns, &event)?;
            continue;
        };
        // Rows with the same name below one track are drawn as one track of many rows.
        let on = Track { kind: Kind::Requests, row: row as u32, ..top };
        if row >= known {
            packets.track(on, Some(top), "requests")?;
        }
        let event = Event { name: &name, category: "disk", args: &args, ..Event::default() };
        packets.begin(on, begin_ns, &event)?;
        if let Some(end_ns) = end_ns {
            packets.end(on, end_ns)?;
        }
    }
    Ok(())
}

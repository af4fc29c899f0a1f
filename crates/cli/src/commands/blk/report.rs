//! What `baro blk` has found, and its JSON. Keys carry units.

use super::{Arguments, By};
use baro_sys::block_device::DiskStatistics;
use baro_trace::blk::{Accounting, Column, Totals, Traffic, figures};
use baro_trace::record::Device;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitStatus;

/// What the application has written.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) bytes: u64,
    /// Made dirty in files on disks, by whole pages.
    pub(super) dirtied_bytes: Option<u64>,
    /// Who says so.
    pub(super) source: String,
}

impl Application {
    pub(super) fn given(bytes: u64) -> Self {
        Self { bytes, dirtied_bytes: None, source: "--application-bytes".to_owned() }
    }
}

/// What was found.
#[derive(Debug)]
pub(super) struct Report {
    /// `live`, `trace`, `blktrace`, `blkparse` or `events`.
    pub(super) source: &'static str,
    pub(super) interval_ns: u64,
    pub(super) accounting: Accounting,
    pub(super) names: BTreeMap<Device, String>,
    pub(super) application: Option<Application>,
    /// What the kernel itself counted of each disk over the interval.
    pub(super) statistics: BTreeMap<Device, DiskStatistics>,
    pub(super) lost_events: u64,
    /// Something of the source is missing: lost, damaged, not understood.
    pub(super) incomplete: bool,
    pub(super) notes: Vec<String>,
    pub(super) command: Option<ExitStatus>,
}

impl Report {
    pub(super) fn new(source: &'static str, accounting: Accounting, interval_ns: u64) -> Self {
        let (counts, odd_times) = (accounting.counts(), accounting.odd_times());
        let mut report = Self {
            source,
            interval_ns,
            accounting,
            names: BTreeMap::new(),
            application: None,
            statistics: BTreeMap::new(),
            lost_events: 0,
            incomplete: false,
            notes: Vec::new(),
            command: None,
        };
        if counts.left_out_events > 0 {
            let message = format!("{} events of further devices left out", counts.left_out_events);
            report.miss(message);
        }
        if odd_times > 0 && source != "live" {
            let which = match odd_times {
                1 => "1 event has a time".to_owned(),
                _ => format!("{odd_times} events have times"),
            };
            report.notes.push(format!(
                "{which} more than a day from all others: counted, and left out of the interval"
            ));
        }
        report
    }

    /// Says what is missing.
    pub(super) fn miss(&mut self, message: String) {
        self.incomplete = true;
        self.notes.push(message);
    }

    pub(super) fn lose(&mut self, events: u64, advice: &str) {
        self.lost_events = events;
        if events > 0 {
            self.miss(format!("{events} events were lost: all sums are too small; {advice}"));
        }
    }

    /// `sda`, or the number if nobody has told the name.
    pub(super) fn name(&self, device: Device) -> String {
        self.names.get(&device).cloned().unwrap_or_else(|| device.to_string())
    }

    /// Kwa of a disk.
    pub(super) fn amplification(&self, traffic: &Traffic) -> Option<f64> {
        let application = self.application.as_ref()?;
        figures::write_amplification(traffic.written_bytes(), application.bytes)
    }

    pub(super) fn json(&self, arguments: &Arguments) -> Value {
        let by_device = self.accounting.by_device();
        let device = |(device, traffic): (&Device, &Traffic)| {
            let mut value = self.traffic(traffic, arguments);
            value["device"] = json!(self.name(*device));
            value["number"] = json!(device.to_string());
            value["kwa"] = json!(self.amplification(traffic));
            let written_bytes = traffic.written_bytes();
            value["written_tb_per_day"] =
                json!(figures::tb_per_day(written_bytes, self.interval_ns));
            value["lifetime_days"] =
                json!(arguments.tbw.and_then(|tb| {
                    figures::lifetime_days(written_bytes, self.interval_ns, tb)
                }));
            value["diskstats"] = json!(self.statistics.get(device).map(statistics));
            if arguments.by == By::Process {
                let processes = self.accounting.by_process(*device);
                let process = |(who, traffic): (&baro_trace::blk::Process, &Traffic)| {
                    let mut value = self.traffic(traffic, arguments);
                    value["pid"] = json!(who.pid);
                    value["comm"] = json!(who.comm.to_string());
                    value
                };
                value["processes"] = processes.iter().map(process).collect();
            }
            value
        };
        let counts = self.accounting.counts();
        json!({
            "source": self.source,
            "interval_ns": self.interval_ns,
            "devices": by_device.iter().map(device).collect::<Vec<_>>(),
            "application_bytes": self.application.as_ref().map(|of| of.bytes),
            "application_source": self.application.as_ref().map(|of| of.source.as_str()),
            "application_dirtied_bytes": self.application.as_ref().and_then(|of| of.dirtied_bytes),
            "application_bytes_per_s": self.application.as_ref()
                .and_then(|of| figures::bytes_per_s(of.bytes, self.interval_ns)),
            "tbw_tb": arguments.tbw,
            "command_exit_code": self.command.and_then(|status| status.code()),
            "events": counts.events,
            "lost_events": self.lost_events,
            "reissued_requests": counts.reissued_requests,
            "unmatched_requests": counts.unmatched_requests,
            "pending_requests": counts.pending_requests,
            "forgotten_requests": counts.forgotten_requests,
            "complete": !self.incomplete,
            "notes": self.notes,
        })
    }

    fn traffic(&self, traffic: &Traffic, arguments: &Arguments) -> Value {
        let rate = |bytes| figures::bytes_per_s(bytes, self.interval_ns);
        let class = |name: String, totals: &Totals, share: Option<f64>| {
            json!({
                "class": name,
                "requests": totals.requests,
                "requested_bytes": totals.requested_bytes,
                "mean_bytes": totals.mean_bytes(),
                "done_requests": totals.done_requests,
                "done_bytes": totals.done_bytes,
                "failed_requests": totals.failed_requests,
                "failed_bytes": totals.failed_bytes,
                "share": share,
            })
        };
        let column = |column: &Column| {
            let share = Column::OF_DATA.contains(column).then(|| traffic.share(*column));
            class(column.name().to_owned(), &traffic.column(*column), share)
        };
        let mut value = json!({
            "read_bytes": traffic.read_bytes(),
            "written_bytes": traffic.written_bytes(),
            "read_bytes_per_s": rate(traffic.read_bytes()),
            "written_bytes_per_s": rate(traffic.written_bytes()),
            "classes": Column::ALL.iter().map(column).collect::<Vec<_>>(),
        });
        if arguments.raw {
            let raw = traffic.classes().map(|(column, of, totals)| {
                let mut value = class(of.to_string(), totals, None);
                value["column"] = json!(column.name());
                value
            });
            value["raw_classes"] = raw.collect();
        }
        value
    }
}

fn statistics(of: &DiskStatistics) -> Value {
    json!({
        "read_requests": of.read_requests,
        "read_bytes": of.read_bytes,
        "written_requests": of.written_requests,
        "written_bytes": of.written_bytes,
        "discarded_bytes": of.discarded_bytes,
        "flushes": of.flushes,
    })
}

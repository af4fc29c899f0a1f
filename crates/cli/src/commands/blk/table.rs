//! The report for people: first the table of paper C (share of volume `s` in percent and mean
//! length `a` in KiB for each class), then counts and what follows.

use super::report::Report;
use super::{Arguments, By};
use crate::size;
use baro_trace::blk::{Column, Process, Totals, Traffic, figures};

const LABEL_CHARS: usize = 24;

pub(super) fn print(report: &Report, arguments: &Arguments) {
    let by_device = report.accounting.by_device();
    if by_device.is_empty() {
        out!("no requests in {}", size::show_ns(report.interval_ns));
        return;
    }
    let columns: Vec<Column> = shown(by_device.values());
    head(&columns).iter().for_each(|line| out!("{line}"));
    for (device, traffic) in &by_device {
        out!("{}", row(&report.name(*device), report, traffic, &columns, true));
        if arguments.by == By::Process {
            let mut processes: Vec<_> = report.accounting.by_process(*device).into_iter().collect();
            processes.sort_by_key(|(_, of)| {
                std::cmp::Reverse(of.read_bytes().saturating_add(of.written_bytes()))
            });
            for (who, traffic) in &processes {
                out!("{}", row(&format!("  {}", label(who)), report, traffic, &columns, false));
            }
        }
    }
    out!("s: share of volume (%), a: mean request (KiB); MB/s over {}", interval(report));
    for (device, traffic) in &by_device {
        out!("");
        out!("{} ({device})", report.name(*device));
        classes(traffic, arguments.raw);
        follows(report, traffic, arguments);
        if let Some(of) = report.statistics.get(device) {
            let zeroes = traffic.column(Column::Zeroes).done_bytes;
            out!(
                "  diskstats: read {} B (here {}), written {} B (here {})",
                of.read_bytes,
                traffic.read_bytes(),
                of.written_bytes,
                traffic.written_bytes().saturating_add(zeroes)
            );
        }
    }
}

fn interval(report: &Report) -> String {
    size::show_ns(report.interval_ns)
}

fn label(who: &Process) -> String {
    if who.pid < 0 { who.comm.to_string() } else { format!("{} {}", who.comm, who.pid) }
}

/// The paper leaves out classes that nobody has.
fn shown<'a>(all: impl Iterator<Item = &'a Traffic>) -> Vec<Column> {
    let all: Vec<&Traffic> = all.collect();
    let has = |column: &Column| all.iter().any(|of| of.column(*column) != Totals::default());
    Column::OF_DATA.into_iter().filter(has).collect()
}

fn head(columns: &[Column]) -> [String; 2] {
    let (mut names, mut units) = (" ".repeat(LABEL_CHARS), " ".repeat(LABEL_CHARS));
    for column in columns {
        names += &format!("{:^16}", column.name());
        units += &format!("{:>7} {:>7} ", "s", "a");
    }
    names += &format!("{:>9}{:>9}{:>9}{:>9}", "read", "written", "app.", "Kwa");
    units += &format!("{:>9}{:>9}{:>9}", "MB/s", "MB/s", "MB/s");
    [names, units].map(|line| line.trim_end().to_owned())
}

fn row(
    label: &str,
    report: &Report,
    traffic: &Traffic,
    columns: &[Column],
    of_device: bool,
) -> String {
    let label: String = label.chars().take(LABEL_CHARS - 1).collect();
    let mut text = format!("{label:LABEL_CHARS$}");
    for column in columns {
        let totals = traffic.column(*column);
        text += &match totals.mean_bytes() {
            None if totals.done_bytes == 0 => format!("{:>7} {:>7} ", "-", "-"),
            mean => {
                let mean = mean.map_or("-".to_owned(), |bytes| format!("{:.1}", bytes / 1024.0));
                format!("{:>7.2} {mean:>7} ", traffic.share(*column) * 100.0)
            }
        };
    }
    let rate = |bytes: u64| {
        let rate = figures::bytes_per_s(bytes, report.interval_ns);
        rate.map_or("-".to_owned(), |rate| format!("{:.2}", rate / 1e6))
    };
    text += &format!("{:>9}{:>9}", rate(traffic.read_bytes()), rate(traffic.written_bytes()));
    if of_device {
        let application = report.application.as_ref().map(|of| rate(of.bytes));
        let kwa = report.amplification(traffic).map(|kwa| format!("{kwa:.3}"));
        let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        text += &format!("{:>9}{:>9}", dash(application), dash(kwa));
    }
    text
}

fn classes(traffic: &Traffic, raw: bool) {
    out!(
        "  {:8} {:>10} {:>10} {:>10} {:>8} {:>7}",
        "class",
        "requests",
        "done",
        "bytes",
        "mean",
        "failed"
    );
    let line = |name: &str, totals: &Totals| {
        let mean = totals.mean_bytes().filter(|bytes| *bytes > 0.0);
        let mean = mean.map_or("-".to_owned(), |bytes| format!("{:.1} K", bytes / 1024.0));
        out!(
            "  {name:8} {:>10} {:>10} {:>10} {mean:>8} {:>7}",
            totals.requests,
            totals.done_requests,
            size::show_bytes(totals.done_bytes),
            totals.failed_requests
        );
    };
    if raw {
        traffic.classes().for_each(|(_, class, totals)| line(&class.to_string(), totals));
    } else {
        let some = |column: &Column| traffic.column(*column) != Totals::default();
        Column::ALL.iter().filter(|column| some(column)).for_each(|column| {
            line(column.name(), &traffic.column(*column));
        });
    }
}

fn follows(report: &Report, traffic: &Traffic, arguments: &Arguments) {
    let written = traffic.written_bytes();
    if let (Some(kwa), Some(of)) = (report.amplification(traffic), &report.application) {
        out!(
            "  Kwa {kwa:.3}: {} to the device for {} of the application ({})",
            size::show_bytes(written),
            size::show_bytes(of.bytes),
            of.source
        );
    }
    if let Some(rate) = figures::tb_per_day(written, report.interval_ns) {
        let lasts = arguments.tbw.and_then(|tb| {
            let days = figures::lifetime_days(written, report.interval_ns, tb)?;
            let digits = if days < 10.0 { 1 } else { 0 };
            Some(format!("; {tb} TB last {days:.digits$} days"))
        });
        out!("  {rate:.4} TB written a day at this rate{}", lasts.unwrap_or_default());
    }
}
